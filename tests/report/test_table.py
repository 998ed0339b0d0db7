"""Tables, and data as YAML."""

from __future__ import annotations

from typing import Any

import pytest
import yaml as pyyaml

from kubectl_tas.report import table, yaml


def test_columns_are_aligned() -> None:
    assert table.render(("NAME", "GPUS"), [("a", "1"), ("longer", "100")]) == (
        "NAME    GPUS\n"
        "a       1\n"
        "longer  100\n"
    )  # fmt: skip


def test_rule_below_the_header() -> None:
    assert table.render(("NAME", "N"), [("a", "1000")], rule=True) == "NAME  N\n----  ----\na     1000\n"


def test_least_widths() -> None:
    assert table.render(("A", "B"), [("x", "y")], rule=True, widths=(3, 2)).splitlines()[1] == "---  --"


def test_header_alone() -> None:
    assert table.render(("NAME", "GPUS"), []) == "NAME  GPUS\n"


def test_wide_characters() -> None:
    assert table.render(("A", "B"), [("名", "1"), ("abc", "2")]) == "A    B\n名   1\nabc  2\n"


def test_no_blanks_at_the_end_of_a_line() -> None:
    assert table.render(("NAME", "NOTE"), [("a", ""), ("b", "x")]) == "NAME  NOTE\na\nb     x\n"


def test_pairs() -> None:
    assert table.pairs([("Name", "a"), ("Backend", "prod"), ("None", "")]) == (
        "Name:     a\n"
        "Backend:  prod\n"
        "None:\n"
    )  # fmt: skip


def test_nothing_commands_the_terminal() -> None:
    assert table.render(("A",), [("\x1b[2J\n",)]) == "A\n\\x1b[2J\\n\n"
    assert table.pairs([("A", "\x1b[2J\n")]) == "A:  \\x1b[2J\\n\n"


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
    assert pyyaml.safe_load(yaml.dump(value)) == value


def test_yaml_is_in_block_style() -> None:
    assert yaml.dump({"pools": [{"name": "team", "levels": [{"key": "rack"}]}], "none": []}) == (
        "pools:\n"
        "- name: team\n"
        "  levels:\n"
        "  - key: rack\n"
        "none: []\n"
    )  # fmt: skip
