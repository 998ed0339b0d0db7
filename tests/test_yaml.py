"""Tests the only writer of YAML: its output is read back unchanged, with quotes where necessary."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from kubectl_tas.base.yaml import LargeNumber, block, comment, entry, flow, literal, scalar


@pytest.mark.parametrize(
    "value",
    [
        {"version": 1, "pools": [{"name": "a", "quota": None, "keys": []}, {"name": "b", "inner": {"x": [1, [2, 3]]}}]},
        ["yes", "no", "y", "on", "null", "~", "true", "1", "1.5", "1e3", "012", "0x1f", "12:30", "2001-01-01"],
        ["", " ", "a: b", "a #b", "- a", "a\nb", "'", '"', "\\", "*a", "&a", "!a", "%", "@", "`", "{", "é", "🚀"],
        {"yes": 1, "a b": {"": "x"}, "1": True, "nothing": None, "empty": {}, "list": []},
        [],
        {},
        [[], {}, [{}]],
    ],
)  # fmt: skip
def test_yaml_is_read_back(value: Any) -> None:
    """By a parser of YAML 1.1, which takes more for something else than text."""
    assert yaml.safe_load(block(value)) == value


@settings(max_examples=500, deadline=None)
@given(st.text(st.sampled_from(" \n\n\tab#:-|%'\"\r\x00\x85\u2028é🚀{")))
@example("#!/bin/bash\n\necho\n")
def test_a_text_is_read_back_by_its_lines(text: str) -> None:
    for following in ("", "  j: 1\n"):
        document = f"data:\n  k:{literal(text, '    ')}\n{following}"
        assert yaml.safe_load(document)["data"]["k"] == text
        assert YAML(typ="safe", pure=True).load(document)["data"]["k"] == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\nb\n", " |\n  a\n  b"),
        ("a\nb", " |-\n  a\n  b"),
        ("a\n\n", " |+\n  a\n"),
        (" a\nb\n", " |2\n   a\n  b"),
        ("a\n", " |\n  a"),
        ("a", " a"),
        ("\na\n", ' "\\na\\n"'),
        ("a\r\nb\n", ' "a\\r\\nb\\n"'),
    ],
)
def test_a_text_of_lines_is_written_as_lines(text: str, written: str) -> None:
    assert literal(text, "  ") == written


def test_yaml_is_in_block_style() -> None:
    assert block({"pools": [{"name": "team", "levels": [{"key": "rack"}]}], "none": []}) == (
        "pools:\n"
        "- name: team\n"
        "  levels:\n"
        "  - key: rack\n"
        "none: []\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "style", "written"),
    [
        ("a/b:c", "", "a/b:c"),
        ("on", "", '"on"'),
        ("Y", "", '"Y"'),
        ("1", "", '"1"'),
        ("a", "'", "'a'"),
        ("it's", "'", "'it''s'"),
        ("a\nb", "'", '"a\\nb"'),
        ("a", '"', '"a"'),
        ("a\x85\u2028\ufeff", "", '"a\\u0085\\u2028\\ufeff"'),
        (True, "'", "true"),
        (1, '"', "1"),
        (1e-7, "", "1.0e-07"),
        (LargeNumber("+0012e400"), "", "12.0e+400"),
        (LargeNumber("012345678901234567890"), "", "12345678901234567890"),
        (LargeNumber("-.5e999"), "", "-0.5e+999"),
    ],
)
def test_scalar(value: object, style: str, written: str) -> None:
    assert scalar(value, style) == written


@pytest.mark.parametrize("value", [None, [], {}, LargeNumber("a")])
def test_what_is_no_scalar(value: object) -> None:
    with pytest.raises(TypeError):
        scalar(value)


@pytest.mark.parametrize("word", ["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
def test_words_that_some_reader_takes_for_something_else(word: str) -> None:
    for spelled in (word, word.upper(), word.capitalize()):
        assert scalar(spelled) == f'"{spelled}"'
        assert scalar(f"{spelled}x") == f"{spelled}x"


UNSEEN = (
    *("\x00", "\x1f", "\x7f", "\x9f", "\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069", "\u00ad"),
    *("\u034f", "\u115f", "\u1160", "\u17b4", "\u17b5", "\u180b", "\u180f", "\u200b", "\u200d", "\u2060", "\u2065"),
    *("\u206a", "\u206f", "\u3164", "\ufeff", "\uffa0", "\ufff0", "\ufffb", "\u2028", "\u2029", "\ufffe", "\uffff"),
    *("\ud800", "\udfff", "\U0001bca0", "\U0001bca3", "\U0001d173", "\U0001d17a", "\U000e0000", "\U000e0fff"),
)
"""Controls, marks of direction, what nobody sees, further line breaks, and halves of characters: ends of each range."""


@pytest.mark.parametrize("character", UNSEEN, ids=ascii)
def test_a_character_that_nobody_sees_is_escaped(character: str) -> None:
    code = ord(character)
    written = scalar(f"a{character}")
    assert written == ascii(f"a{character}").replace("'", '"').replace("\\x", "\\u00")
    assert code >= 0xD800 or yaml.safe_load(written) == f"a{character}"


@pytest.mark.parametrize("text", ["a ~", "a \u00a0", "a \u2027", "a \ufffd", "a é", "##", "a ##[", "##vso[", "##vs["])
def test_what_people_see_stays_as_it_is(text: str) -> None:
    """But for the beginning of a command in the log of a CI job."""
    shown = f'"{text}"' if "##[" not in text and "##vso[" not in text else f'"{text}"'.replace("##", "\\u0023#")
    assert scalar(text) == shown
    assert yaml.safe_load(shown) == text


def test_flow() -> None:
    assert flow([1, ["a"], {}]) == "[1, [a], {}]"
    assert flow({"a:b": {"c": 1}, "d": "e"}) == '{"a:b": {c: 1}, d: e}'
    assert flow({"a": "b"}, '"') == '{"a": "b"}'


def test_entry() -> None:
    assert entry("a", {"b": {"c": "d"}, "e": {}}, "  ") == ["  a:", "    b:", "      c: d", "    e: {}"]


def test_a_key_too_long_for_parsers_gets_a_question_mark() -> None:
    assert block({"k" * 1000: 1}) == f"{'k' * 1000}: 1\n"
    assert block({"k" * 1001: 1}) == f"? {'k' * 1001}\n: 1\n"
    key = "k" * 2000
    assert block({key: [1], "b": {key: 2}}) == f"? {key}\n:\n- 1\nb:\n  ? {key}\n  : 2\n"


def test_comment() -> None:
    assert comment("größe/a b") == "größe/a b"
    assert comment("a\nb\u202e") == "a\\nb\\u202e"


@pytest.mark.parametrize(
    ("value", "style", "in_flow", "written"),
    [
        ("a:b", "", True, '"a:b"'),
        ("a:b", "", False, "a:b"),
        ("ab", "", True, "ab"),
        ("ab", '"', False, '"ab"'),
        ("it's", "'", False, "'it''s'"),
        ("a\nb", "'", False, '"a\\nb"'),
    ],
)
def test_a_text_has_quotes_where_they_were_or_must_be(value: str, style: str, in_flow: bool, written: str) -> None:
    assert scalar(value, style, flow=in_flow) == written
