"""Tests tables, and data as YAML."""

from __future__ import annotations

from kubectl_tas.report import style


def test_columns_are_aligned() -> None:
    assert style.table(("NAME", "GPUS"), [("a", "1"), ("longer", "100")]) == (
        "NAME    GPUS\n"
        "a       1\n"
        "longer  100\n"
    )  # fmt: skip


def test_rule_below_the_header() -> None:
    assert style.table(("NAME", "N"), [("a", "1000")], rule=True) == "NAME  N\n----  ----\na     1000\n"


def test_least_widths() -> None:
    assert style.table(("A", "B"), [("x", "y")], rule=True, widths=(3, 2)).splitlines()[1] == "---  --"


def test_header_alone() -> None:
    assert style.table(("NAME", "GPUS"), []) == "NAME  GPUS\n"


def test_wide_characters() -> None:
    assert style.table(("A", "B"), [("名", "1"), ("abc", "2")]) == "A    B\n名   1\nabc  2\n"


def test_no_blanks_at_the_end_of_a_line() -> None:
    assert style.table(("NAME", "NOTE"), [("a", ""), ("b", "x")]) == "NAME  NOTE\na\nb     x\n"


def test_pairs() -> None:
    assert style.pairs([("Name", "a"), ("Backend", "prod"), ("None", "")]) == (
        "Name:     a\n"
        "Backend:  prod\n"
        "None:\n"
    )  # fmt: skip


def test_nothing_commands_the_terminal() -> None:
    assert style.table(("A",), [("\x1b[2J\n",)]) == "A\n\\x1b[2J\\n\n"
    assert style.pairs([("A", "\x1b[2J\n")]) == "A:  \\x1b[2J\\n\n"
