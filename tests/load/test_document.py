"""Tests how YAML text becomes data with positions: plain scalars, places, and refused texts."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from ruamel.yaml.nodes import Node

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.base.yaml import LargeNumber
from kubectl_tas.load.compose import MAX_DEPTH
from kubectl_tas.load.document import MANY_KEYS, RECENT, Document, parse
from kubectl_tas.load.reader import MAX_VALUES
from kubectl_tas.load.source import decode
from kubectl_tas.model.base import KeyPath

COLON = "x: {image: python:3.13}\n"
"""A line that libyaml refuses and YAML 1.2 does not: what follows is composed in the other way."""


def document(text: str) -> Document:
    """The one document of ``text``."""
    documents, problems = parse("f.yaml", text)
    assert not problems, problems[0].message
    assert len(documents) == 1
    return documents[0]


def problem(text: str) -> tuple[str, int, str]:
    """Where the one problem of ``text`` is, how much of the line is underlined, and what it says."""
    documents, problems = parse("f.yaml", text)
    assert not documents
    assert len(problems) == 1
    place = problems[0].location
    assert place is not None
    assert problems[0].hint
    return f"{place.line}:{place.column}", place.length, problems[0].message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("Null", None),
        ('""', ""),
        ('"null"', "null"),
        ("true", True),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("yes", "yes"),
        ("off", "off"),
        ("0", 0),
        ("-12", -12),
        ("+12", 12),
        ("017", 15),
        ("-017", -15),
        ("018", 18),
        ("00", 0),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b1", "0b1"),
        ("1_000", "1_000"),
        ("1e3", 1000.0),
        ("0.10", 0.1),
        (".5", 0.5),
        ("1.", 1.0),
        (".inf", ".inf"),
        ("1e999", "1e999"),
        ("9" * 30, LargeNumber("9" * 30)),
        ("0." + "1" * 38, 0.1111111111111111),
        ("0." + "1" * 39, LargeNumber("0." + "1" * 39)),
        ("2026-11-21", "2026-11-21"),
        ("12:30", "12:30"),
        ("0.17.2", "0.17.2"),
        ("-", [None]),
        ("64 GPUs # of them", "64 GPUs"),
        ("'it''s'", "it's"),
        ("|\n  a\n  b\n", "a\nb\n"),
        (">-\n  a\n  b\n", "a b"),
    ],
)
@pytest.mark.parametrize("before", ["", COLON], ids=["composed", "from events"])
def test_scalar(before: str, text: str, value: Any) -> None:
    """By the core schema of YAML 1.2: yes is text, and nothing is a date."""
    separator = "\n  " if text == "-" else " "
    read = document(f"{before}a:{separator}{text}\n").data["a"]
    assert read == value
    assert type(read) is type(value)


LEVELS = """\
# levels
spec:
  keys:
  - {key: zone, label: "a/b"}
  - key: rack
    note: |
      one
      two
  "quoted key": 'x'
  über: größe
"""


@pytest.mark.parametrize(
    ("path", "key", "place", "underlined"),
    [
        ((), False, "2:1", "spec:"),
        (("spec",), True, "2:1", "spec"),
        (("spec",), False, "3:3", "keys:"),
        (("spec", "keys", 0), False, "4:5", '{key: zone, label: "a/b"}'),
        (("spec", "keys", 0, "label"), False, "4:24", '"a/b"'),
        (("spec", "keys", 0, "label"), True, "4:17", "label"),
        (("spec", "keys", 1), False, "5:5", "key: rack"),
        (("spec", "keys", 1, "note"), False, "6:11", "|"),
        (("spec", "quoted key"), True, "9:3", '"quoted key"'),
        (("spec", "über"), False, "10:9", "größe"),
        (("SPEC", "Keys", 1, "KEY"), False, "5:10", "rack"),
        (("spec", "keys", 1, "label"), False, "5:5", "key: rack"),
        (("spec", "keys", 7), False, "3:3", "keys"),
        (("spec", "missing", "below"), False, "2:1", "spec"),
        (("missing",), False, "2:1", "spec:"),
        (("spec", "keys", 0, "key", "below"), False, "4:6", "key"),
    ],
)
def test_place(path: KeyPath, key: bool, place: str, underlined: str) -> None:
    """What is absent is at its nearest parent; columns count characters."""
    found = document(LEVELS).locate(path, key=key)
    assert f"{found.line}:{found.column}" == place
    assert found.source[found.column - 1 :][: found.length] == underlined


@pytest.mark.parametrize(
    "text",
    [LEVELS.replace("\n", "\r\n"), LEVELS.replace("\n", "\r"), LEVELS.rstrip("\n"), LEVELS + "...\n", "---\n" + LEVELS],
    ids=["CRLF", "CR", "no final newline", "end mark", "start mark"],
)
def test_place_whatever_the_line_ends(text: str) -> None:
    read = document(text)
    assert read.data == document(LEVELS).data
    found = read.locate(("spec", "über"))
    assert (found.line, found.column, found.source) == (10 + text.startswith("---"), 9, "  über: größe")


def test_place_behind_an_alias_or_a_merge_key_is_where_it_is_written() -> None:
    read = document("base: &base\n  gpu: 8\nnode:\n  <<: *base\n  cpu: 4\nother: *base\n")
    assert str(read.locate(("node", "gpu"))) == "f.yaml:2:8"
    assert str(read.locate(("node", "cpu"))) == "f.yaml:5:8"
    assert str(read.locate(("other", "gpu"))) == "f.yaml:2:8"


def test_place_of_a_key_that_several_mappings_have_is_that_of_the_one_that_counts() -> None:
    read = document("a: &a {x: 1}\nb: &b {x: 2}\nc: {X: 3, <<: *a}\nd: {<<: [*a, *b]}\n")
    assert str(read.locate(("c", "x"))) == "f.yaml:3:8"
    assert str(read.locate(("d", "x"))) == "f.yaml:1:11"


def test_place_on_several_lines_ends_before_the_blanks_of_the_first() -> None:
    found = document("a:   \n  b: 1\n").locate(())
    assert (str(found), found.length) == ("f.yaml:1:1", 2)


def test_an_item_beyond_the_end_of_a_list_has_no_value() -> None:
    assert document("a: [1]\n").value(("a", 1)) is None


def test_source_text_is_what_was_written() -> None:
    read = document("a: 0.10\nb: [0o17]\nc: 'x'\n")
    assert read.source_text(("a",)) == "0.10"
    assert read.source_text(("b", 0)) == "0o17"
    assert read.source_text(("c",)) == "x"
    assert read.source_text(("b",)) is None
    assert read.source_text(("d",)) is None


def test_documents_of_a_file_are_told_apart() -> None:
    """An empty document is none; each knows its own lines."""
    documents, problems = parse("f.yaml", "---\n# nothing\n---\na: 1\n---\n---\nb:\n")
    assert not problems
    assert [(read.index, read.data, read.has_null) for read in documents] == [
        (0, {"a": 1}, False),
        (1, {"b": None}, True),
    ]
    assert str(documents[1].locate(("b",), key=True)) == "f.yaml:7:1"


def test_the_text_of_a_document_has_its_comments_and_no_directives() -> None:
    documents, _ = parse("f.yaml", "%YAML 1.2\n# the first\n---\na: 1\n---\n# the second\nb: 1")
    assert [read.text for read in documents] == ["# the first\na: 1\n", "# the second\nb: 1\n"]


def read_others() -> None:
    """Reads so many texts that the nodes of all before them are let go."""
    for number in range(RECENT):
        document(f"other: {number}")


def test_nodes_of_what_was_read_long_ago_are_let_go() -> None:
    gc.collect()
    others = sum(isinstance(item, Node) for item in gc.get_objects())
    kept = [document(f"a: {{b: [{number}]}}") for number in range(3 * RECENT)]
    gc.collect()
    nodes = sum(isinstance(item, Node) for item in gc.get_objects()) - others
    assert [item.data["a"]["b"] for item in kept] == [[number] for number in range(3 * RECENT)]
    assert nodes <= 6 * RECENT


def test_places_are_the_same_once_nodes_were_let_go() -> None:
    many = "".join(f"  k{number}: {number}\n" for number in range(MANY_KEYS + 1))
    text = f"first: 1\n---\n---\nmany:\n{many}items:\n- name: a\n- name: b  # comment\n  same: &x [1]\n  twice: *x\n"
    paths: list[KeyPath] = [("many", "k7"), ("items", 1, "name"), ("items", 1, "twice"), ("absent",)]

    def told() -> object:
        whole, part = second, second.part(("items", 1))
        found = [(whole.locate(path), whole.source_text(path)) for path in paths]
        around = whole.scalar_at(text.index("b  #")), whole.path_at(74, 3), whole.path_around(text.index("b  #"))
        return found, around, part.locate(("name",)), part.text, whole.text

    (_, second), _ = parse("f.yaml", text)
    before = told()
    read_others()
    assert told() == before
    read_others()
    assert told() == before


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: &a {x: 1, y: 1}\nb: {<<: *a, y: 2}\n", {"x": 1, "y": 2}),
        ("a: &a {x: 1, y: 1}\nb: {y: 2, <<: *a}\n", {"x": 1, "y": 2}),
        ("a: &a {x: 1}\nc: &c {x: 2, y: 2}\nb: {<<: [*a, *c]}\n", {"x": 1, "y": 2}),
        ("a: &a {x: 1}\nc: &c {<<: *a, y: 2}\nb: {<<: *c}\n", {"x": 1, "y": 2}),
        ('b: {"<<": 1}\n', {"<<": 1}),
        ("a: &a {x: 1}\nb: *a\n", {"x": 1}),
        ("a: &a {x: 1}\nc: &a {x: 2}\nb: *a\n", {"x": 2}),
    ],
    ids=["own key wins", "whatever the order", "the first wins", "of a merge", "quoted", "alias", "anchor again"],
)
def test_merge_and_alias(text: str, data: Any) -> None:
    assert document(text).data["b"] == data


@pytest.mark.parametrize("before", ["", COLON], ids=["composed", "from events"])
def test_depth_is_bounded(before: str) -> None:
    brackets = MAX_DEPTH - 1
    assert document(f"{before}a: {'[' * brackets}{']' * brackets}\n").data
    for inner in ("", "b"):
        place, _, message = problem(f"{before}a: {'[' * MAX_DEPTH}{inner}{']' * MAX_DEPTH}\n")
        assert message == "nested more than 64 levels deep"
        assert place.endswith(f":{MAX_DEPTH + 2}")


@pytest.mark.parametrize("before", ["", COLON], ids=["composed", "from events"])
def test_an_alias_may_stand_as_deep_as_any_value(before: str) -> None:
    brackets = MAX_DEPTH - 1
    assert document(f"{before}b: &b 1\na: {'[' * brackets}*b{']' * brackets}\n").data


def test_what_aliases_multiply_is_bounded() -> None:
    """The same text is harmless where the values stand but once."""
    row = f"[{', '.join(['x'] * 1000)}]"
    many = MAX_VALUES // 1000 + 1
    assert document(f"a: &a {row}\nb: [{', '.join(['*a'] * 9)}]\n").data["b"][8][999] == "x"
    place, _, message = problem(f"a: &a {row}\nb: [{', '.join(['*a'] * many)}]\n")
    assert (place, message) == ("2:4", f"more than {MAX_VALUES:,} values once aliases are written out")


SECOND_COLON = "a second ':' in one line, or a key that is indented wrongly"
UNFIT = "this line does not fit the mapping it stands in"


@pytest.mark.parametrize("before", ["", COLON], ids=["composed", "from events"])
@pytest.mark.parametrize(
    ("text", "place", "length", "message"),
    [
        ("a:\n\tb: 1\n", "2:1", 1, "a tab indents this line; YAML allows spaces only"),
        ("a: @b\n", "1:4", 1, "a value cannot begin with '@'"),
        ("a: `b`\n", "1:4", 1, "a value cannot begin with '`'"),
        ("a: b: c\n", "1:5", 1, SECOND_COLON),
        ("a: b\n  c: d\n", "2:4", 1, SECOND_COLON),
        ("a:\n    b: 1\n   c: 1\n", "3:4", 4, UNFIT),
        ("a:\n  - b\n - c\n", "3:2", 3, UNFIT),
        ("a: 1\nb\nc: 1\n", "2:1", 1, "a key without ':'"),
        ("a: [1, 2\nb: 1\n", "2:2", 1, "a ',' or the closing ']' is missing before this"),
        ("a: {b: 1\nc: 1\n", "2:2", 1, "a ',' or the closing '}' is missing before this"),
        ("a:\n  b: [1\n      ...\n  number: 2\n", "4:9", 1, "a ',' or the closing ']' is missing before this"),
        ("a: [1, , 2]\n", "1:8", 1, "a value is missing"),
        ('a: 1\nb: "c\n', "2:4", 1, "a quote is not closed"),
        ("a: *b\n", "1:4", 1, "an alias without an anchor"),
        ("a: - b\n", "1:4", 1, "a list cannot begin in the middle of a line"),
        ("a: | b\n", "1:6", 1, "text in the same line as '|' or '>'"),
        ("<<<<<<< HEAD\na: 1\n", "1:1", 12, "a merge conflict that is not resolved"),
        ("a: 1\n>>>>>>> theirs\n", "2:1", 14, "a merge conflict that is not resolved"),
        ("a: 1\nb: {a: 1, a: 2}\n", "2:11", 1, 'the key "a" is here twice'),
        ("a: !!str 1\n", "1:4", 7, "the tag !!str is not read"),
        ("a: !env [B]\n", "1:4", 8, "the tag !env is not read"),
        ("a: &a [*a]\n", "1:4", 7, "this part contains itself, by an alias of its own anchor"),
        ("a: {<<: b}\n", "1:9", 1, "a merge key must name a mapping"),
        ("? [a]\n: b\n", "1:3", 3, "a key must be a name, not a list"),
        ("a: &a\n  x: 1\nb: {*a : c}\n", "1:4", 2, "a key must be a name, not a mapping"),
        ("a: {{ b }}\n", "1:4", 7, "'{{' begins a mapping within a mapping, and nothing fills in a placeholder here"),
    ],
)
def test_refused(before: str, text: str, place: str, length: int, message: str) -> None:
    """Both ways lead to the same words at the same place."""
    line, column = (int(number) for number in place.split(":"))
    assert problem(before + text) == (f"{line + before.count(chr(10))}:{column}", length, message)


def test_refused_escape() -> None:
    assert problem('a: "\\d"\n') == ("1:5", 1, "YAML has no such escape")


def test_refused_names_where_the_first_one_is() -> None:
    _, problems = parse("f.yaml", "a: 1\nb: 2\na: 3\n")
    assert [str(related.location) for related in problems[0].related] == ["f.yaml:1:1"]


def test_refused_says_where_it_begins() -> None:
    _, problems = parse("f.yaml", "a: [1,\n  2\nb: 1\n")
    assert [(related.message, str(related.location)) for related in problems[0].related] == [
        ("a flow sequence begins here", "f.yaml:1:4")
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a: 1\n", "a: 1\n"),
        (b"\xef\xbb\xbfa: 1\r\n", "a: 1\r\n"),
        ("a: größe 中 \U0001f600\n".encode(), "a: größe 中 \U0001f600\n"),
        (b"", ""),
    ],
    ids=["plain", "byte order mark", "beyond ASCII", "empty"],
)
def test_decoded(content: bytes, text: str) -> None:
    assert decode("f.yaml", content) == (text, None)


@pytest.mark.parametrize(
    ("content", "place", "message"),
    [
        ("a: 1\n".encode("utf-16"), "1:1", "the file is UTF-16"),
        (b"\xfe\xff\x00a", "1:1", "the file is UTF-16"),
        ("a: 1\r\nb: é\r\n".encode("latin-1"), "2:4", "the byte 0xe9 is not UTF-8"),
        (b"\xef\xbb\xbfa\xff", "1:2", "the byte 0xff is not UTF-8"),
        ("é: \x1b[0m\n".encode(), "1:4", "the control character U+001B is not text"),
        (b"a\0b", "1:2", "the control character U+0000 is not text"),
    ],
)
def test_not_decoded(content: bytes, place: str, message: str) -> None:
    text, found = decode("f.yaml", content)
    assert text == ""
    assert found is not None
    assert found.location is not None
    assert (f"{found.location.line}:{found.location.column}", found.message) == (place, message)


MIXED = "a: 1\nb:\n- x: 'y'\n- [c, d]\nlong: |\n  text\ne: {f: g}\nn:\n"
X, ITEM, F = ("b", 0, "x"), ("b", 1), ("e", "f")


@pytest.mark.parametrize(
    ("line", "paths"),
    [
        (1, {1: (), 4: ("a",)}),
        (2, {1: ("b",)}),
        (3, {1: ("b",), 3: ("b", 0), 6: X}),
        (4, {3: ITEM, 4: (*ITEM, 0), 7: (*ITEM, 1)}),
        (5, {1: ("long",), 7: ("long",)}),
        (6, {}),
        (7, {1: ("e",), 4: ("e",), 5: F, 8: F}),
        (8, {1: ("n",), 3: ("n",)}),
    ],
)
def test_paths_that_begin_at_a_place(line: int, paths: dict[int, KeyPath]) -> None:
    mixed = document(MIXED)
    found = {column: mixed.path_at(line, column) for column in range(12)}
    assert {column: path for column, path in found.items() if path is not None} == paths


def test_paths_around_a_character() -> None:
    """Of each character: the path of the scalar that contains it, or that ends there."""
    mixed = document(MIXED)
    around = {
        "a: 1": [("a",), ("a",), None, ("a",), ("a",)],
        "b:": [("b",), ("b",), None],
        "- x: 'y'": [None, None, X, X, None, X, X, X, X],
        "- [c, d]": [None, None, None, (*ITEM, 0), (*ITEM, 0), None, (*ITEM, 1), (*ITEM, 1), None],
        "long: |": [*[("long",)] * 5, None, ("long",), ("long",)],
        "  text": [("long",)] * 7,
        "e: {f: g}": [("e",), ("e",), None, None, F, F, None, F, F, None],
        "n:": [("n",), ("n",), ("n",)],
    }
    found = [mixed.path_around(index) for index in range(len(MIXED) + 1)]
    assert found == [*(path for paths in around.values() for path in paths), None]


def test_scalars_that_contain_a_character() -> None:
    mixed = document(MIXED)
    found = [mixed.scalar_at(index) for index in range(len(MIXED))]
    spans = [(item.start, item.style) for item in found if item is not None]
    assert list(dict.fromkeys(spans)) == [
        *((0, ""), (3, ""), (5, ""), (10, ""), (13, "'"), (20, ""), (23, ""), (26, ""), (32, "|")),
        *((41, ""), (45, ""), (48, ""), (51, "")),
    ]
    assert [spans.count((start, style)) for start, style in ((13, "'"), (26, ""), (32, "|"))] == [3, 4, 9]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), MIXED.rstrip()),
        (("a",), "a: 1"),
        (("b",), "b:\n- x: 'y'\n- [c, d]"),
        (("b", 0), "x: 'y'"),
        (X, "x: 'y'"),
        (ITEM, "[c, d]"),
        ((*ITEM, 1), "d"),
        (("long",), "long: |\n  text"),
        (("e",), "e: {f: g}"),
        (F, "f: g"),
        (("e", "none"), "e: {f: g}"),
        (("none",), MIXED.rstrip()),
    ],
)
def test_the_characters_of_a_value(path: KeyPath, text: str) -> None:
    start, end = document(MIXED).span(path)
    assert MIXED[start:end] == text


def test_a_value_of_another_file_keeps_its_place() -> None:
    own, place = document(MIXED), Location("values.yaml", 3)
    changed = own.with_value(("e", "f"), 2, place)
    assert (changed.value(F), changed.locate(F), own.value(F)) == (2, place, "g")
    assert changed.locate(("a",)) == own.locate(("a",))
    again = changed.with_value(("z",), 3, Location("other.yaml"))
    assert (again.locate(F), again.locate(("z",)), again.value(("z",))) == (place, Location("other.yaml"), 3)
    assert own.with_value(("a", "x"), 2, place).data == own.data
    part = own.part(("e",)).part(("f",))
    assert (part.data, part.within, part.locate(())) == ("g", F, own.locate(F))
