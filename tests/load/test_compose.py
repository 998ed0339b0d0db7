"""Tests that libyaml finds the same nodes and places as ruamel's own parser, after a rewrite of refused texts."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode

from kubectl_tas.load import compose as composers
from kubectl_tas.load.compose import compose
from kubectl_tas.load.document import parse


def reference(text: str) -> list[Any]:
    """The same nodes by ruamel's own parser, some forty times slower."""
    yaml = YAML(typ="safe", pure=True)
    constructor, _ = yaml.get_constructor_parser(text)
    composer = constructor.composer
    composer.warn_double_anchors = False
    nodes = []
    while composer.check_node():
        nodes.append(composer.get_node())
    return nodes


def shape(node: Any, above: tuple[int, ...] = ()) -> Any:
    """What there is to know of a node: a scalar's text, style and ends, and where lists and mappings begin."""
    if type(node) is ScalarNode:
        empty = not node.value and not node.style
        return node.value, node.style or "", None if empty else (node.start_mark.index, node.end_mark.index)
    if id(node) in above:
        return "itself"
    above = (*above, id(node))
    if type(node) is MappingNode:
        return (
            node.start_mark.index,
            node.flow_style,
            [(shape(key, above), shape(value, above)) for key, value in node.value],
        )
    return node.start_mark.index, node.flow_style, [shape(item, above) for item in node.value]


# A colon at either end of a word is none of it to libyaml, and to kubectl.
words = st.text("ab1:/.-'\"#? ", min_size=1, max_size=8).filter(lambda word: not re.search(r"(^|\s):|:(\s|$)", word))
names = st.sampled_from(["&a ", "&b ", "", "", ""])
items = st.one_of(st.builds("{}{}".format, names, words), st.sampled_from(["*a", "*b", "[a:b]", "{a:b: c:d}"]))
flows = st.one_of(
    st.lists(items, max_size=4).map(lambda parts: "[" + ", ".join(parts) + "]"),
    st.lists(st.tuples(words, items), max_size=3).map(lambda p: "{" + ", ".join(f"{k}: {v}" for k, v in p) + "}"),
)
texts = st.lists(st.builds("k{}: {}{}\n".format, st.integers(0, 99), names, flows | items), min_size=1, max_size=4).map(
    "".join
)


@settings(max_examples=400, deadline=None)
@example("x: {image: python:3.13}\n")
@example("x: [http://a:80/b, it's:x, a::b, {a:b: c}] # a:b\n")
@example("a: &a 1\nb: &a [*a, c:d]\nc: *a\n--- {d: e:f}\n")
@example('{"a":b, \'c\':d, e:f: "g:h"}\n')
@given(texts)
def test_both_parsers_find_the_same(text: str) -> None:
    try:
        expected = [shape(node) for node in reference(text)]
        found = [shape(root.node) for root in compose(text)]
    except YAMLError:
        return  # kubectl's parser is libyaml's, so its refusals count
    assert found == expected


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("{image: python:3.13}", {"image": "python:3.13"}),
        ("[it's:x, a\":b]", ["it's:x", 'a":b']),
        ("[a::b, http://c:80/]", ["a::b", "http://c:80/"]),
        ("{a: \ue000, b: c:d}", {"a": "\ue000", "b": "c:d"}),
        ('{a: "b:c", d: e:f} # g:h', {"a": "b:c", "d": "e:f"}),
    ],
)
def test_colons_within_words(text: str, data: Any) -> None:
    (document,), problems = parse("f.yaml", text)
    assert not problems
    assert document.data == data


def test_too_many_odd_colons_are_an_error_where_they_stand() -> None:
    text = "[" + "a':b, " * 20 + "]\n"
    documents, problems = parse("f.yaml", text)
    assert documents == ()
    (problem,) = problems
    assert problem.rule.code == "yaml-syntax"
    assert problem.location is not None
    assert text[problem.location.column - 1] == ":"
    assert problem.message == "a ':' within a word in braces"


def size(node: Any) -> int:
    """How many nodes there are from a node on."""
    if node is None or type(node) is ScalarNode:
        return 1
    return 1 + sum(size(part) for item in node.value for part in (item if isinstance(item, tuple) else (item,)))


def test_only_large_or_tagged_texts_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    counter = composers._Counter
    monkeypatch.setattr(composers, "_Counter", lambda text: counted.append(text) or counter(text))
    texts = ["a: [b, {c: d}]\n", "a: !b c\n", f"a: {'b' * (composers.MAX_NODES // 4)}\n"]
    assert [compose(text)[0].has_tags for text in texts] == [False, True, False]
    assert counted == texts[1:]


@pytest.mark.parametrize("text", ["a: [b, {c: d}]\n", "a: [b, {c: d:e}]\n"], ids=["plain", "a colon in braces"])
def test_a_text_may_have_as_many_nodes_as_the_limit(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composers, "MAX_NODES", 7)
    assert size(compose(text)[0].node) == 7
    monkeypatch.setattr(composers, "MAX_NODES", 6)
    with pytest.raises(composers.TooManyError):
        compose(text)


def test_no_text_has_more_nodes_than_are_counted_on() -> None:
    """Of all short texts of what YAML reads as its own; in longer ones a character makes less."""
    found = 0
    for length in range(1, 5):
        for characters in product("[]{}:,?-a \n", repeat=length):
            try:
                roots = compose("".join(characters))
            except YAMLError:
                continue
            found += 1
            assert sum(size(root.node) for root in roots) <= composers._NODES_A_CHARACTER * length
    assert found > 1000
