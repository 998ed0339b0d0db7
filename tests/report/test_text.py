"""Tests findings as text for people."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.report import style, text

ERROR = Rule("some-error", Severity.ERROR, "", "")
WARNING = Rule("some-warning", Severity.WARNING, "", "")
NOTE = Rule("some-note", Severity.INFO, "", "")
PLACE = Location("pools/a.yaml", 7, 10, source="  quota: forty", length=5)
FOUND = Diagnostic(ERROR, "forty is no number", PLACE)


def test_place_message_rule_line_and_caret() -> None:
    assert text.render([FOUND], 3) == (
        "pools/a.yaml:7:10: error: forty is no number [some-error]\n"
        "  7 |   quota: forty\n"
        "    |          ^^^^^\n"
        "\n"
        "1 error in 3 files.\n"
    )


def test_notes_and_help() -> None:
    other = Location("pools/b.yaml", 1, 2)
    related = (Related("first here", other), Related("and nowhere", None))
    assert text.render([replace(FOUND, related=related, hint="Write 40.")], 1).splitlines()[3:6] == [
        "  = note: first here (pools/b.yaml:1:2)",
        "  = note: and nowhere",
        "  = help: Write 40.",
    ]


def test_without_a_place() -> None:
    assert text.render([Diagnostic(ERROR, "all is wrong", None)], 1) == (
        "error: all is wrong [some-error]\n\n1 error in 1 file.\n"
    )


def test_file_as_a_whole_has_no_line() -> None:
    shown = text.render([Diagnostic(ERROR, "too large", Location("x.yaml"))], 1)
    assert shown.splitlines()[:2] == ["x.yaml: error: too large [some-error]", ""]


def test_gutter_is_as_wide_as_the_number() -> None:
    lines = text.render([replace(FOUND, location=replace(PLACE, line=1234))], 1).splitlines()
    assert lines[1:3] == ["  1234 |   quota: forty", "       |          ^^^^^"]


@pytest.mark.parametrize(
    ("rules", "summary"),
    [
        ([], "No problems found in 2 files.\n"),
        ([ERROR], "1 error in 2 files.\n"),
        ([NOTE, WARNING, ERROR, ERROR], "2 errors, 1 warning, 1 info in 2 files.\n"),
        ([NOTE, NOTE, WARNING, WARNING], "2 warnings, 2 infos in 2 files.\n"),
    ],
)
def test_summary(rules: list[Rule], summary: str) -> None:
    assert text.summary([Diagnostic(rule, "x", None) for rule in rules], 2) == summary


class TestCaret:
    def lines(self, source: str, column: int, length: int = 1) -> list[str]:
        place = Location("x.yaml", 1, column, source=source, length=length)
        return [line[6:] for line in text.render([Diagnostic(ERROR, "m", place)], 1).splitlines()[1:3]]

    def test_tab(self) -> None:
        assert self.lines("\ta: b", 5) == [" a: b", "    ^"]

    def test_wide_characters(self) -> None:
        assert self.lines("名前: x", 5) == ["名前: x", "      ^"]
        assert self.lines("名前: x", 1, length=2) == ["名前: x", "^^^^"]

    def test_combining_characters(self) -> None:
        assert self.lines("e\u0301: x", 5) == ["e\u0301: x", "   ^"]

    def test_end_of_the_line(self) -> None:
        assert self.lines("a:", 3) == ["a:", "  ^"]

    def test_does_not_pass_the_end(self) -> None:
        assert self.lines("a: bc", 4, length=99) == ["a: bc", "   ^^"]

    def test_long_line_is_cut_around_the_place(self) -> None:
        shown, carets = self.lines("x" * 500 + "HERE" + "x" * 500, 501, length=4)
        assert len(shown) == text.MAX_WIDTH
        assert shown[carets.index("^") : carets.rindex("^") + 1] == "HERE"

    def test_long_line_with_the_place_at_its_beginning(self) -> None:
        assert self.lines("HERE" + "x" * 500, 1, length=4)[1] == "^^^^"


class TestColour:
    @pytest.mark.parametrize(("rule", "code"), [(ERROR, "1;31"), (WARNING, "1;33"), (NOTE, "1;36")])
    def test_severity(self, rule: Rule, code: str) -> None:
        shown = text.render([replace(FOUND, rule=rule)], 1, colour=True)
        assert f"\x1b[{code}m{rule.severity.value}\x1b[0m: " in shown

    def test_words_are_the_same(self) -> None:
        found = [replace(FOUND, related=(Related("r", PLACE),), hint="h"), Diagnostic(WARNING, "m", None)]
        plain = re.sub(r"\x1b\[[0-9;]*m", "", text.render(found, 2, colour=True))
        assert plain == text.render(found, 2)

    def test_the_whole_text(self) -> None:
        found = replace(FOUND, related=(Related("r", PLACE),), hint="h")
        bold, dim, red, blue, off = (f"\x1b[{code}m" for code in ("1", "2", "1;31", "34", "0"))
        assert text.render([found], 1, colour=True).splitlines() == [
            f"{bold}pools/a.yaml:7:10{off}: {red}error{off}: forty is no number {dim}[some-error]{off}",
            f"  {blue}7{off} {blue}|{off}   quota: forty",
            f"    {blue}|{off}          {blue}^^^^^{off}",
            "  = note: r (pools/a.yaml:7:10)",
            "  = help: h",
            "",
            f"{bold}1 error{off} in 1 file.",
        ]


@pytest.mark.parametrize(
    ("evil", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b2J", "\\x9b2J"),
        ("a\nb", "a\\nb"),
        ("a\r\tb", "a\\r\\tb"),
        ("\x7f", "\\x7f"),
        ("\u202eabc", "\\u202eabc"),
        ("\u2028", "\\u2028"),
        ("\udcff", "\\udcff"),
        ("é名🚀", "é名🚀"),
    ],
)
def test_nothing_commands_the_terminal(evil: str, shown: str) -> None:
    place = Location(f"{evil}.yaml", 1, 1, source=f"a: {evil}")
    found = Diagnostic(ERROR, f"m {evil}", place, (Related(f"r {evil}", place),), hint=f"h {evil}")
    lines = text.render([found], 1).splitlines()
    assert lines[0] == f"{shown}.yaml:1:1: error: m {shown} [some-error]"
    assert lines[3:5] == [f"  = note: r {shown} ({shown}.yaml:1:1)", f"  = help: h {shown}"]
    assert lines[1].startswith("  1 | a: ")
    assert len(lines) == 7


@pytest.mark.parametrize(
    ("words", "colour", "shown"), [("a", True, "\x1b[1ma\x1b[0m"), ("a", False, "a"), ("", True, "")]
)
def test_nothing_has_no_colour(words: str, colour: bool, shown: str) -> None:
    assert style.paint(words, style.BOLD, colour=colour) == shown


def test_many_related_places_are_counted() -> None:
    found = replace(FOUND, related=(Related("r", None),) * (text.MAX_RELATED + 2))
    notes = [line for line in text.blocks([found]).splitlines() if "= note" in line]
    assert notes == [*["  = note: r"] * text.MAX_RELATED, "  = note: and 2 more"]


def test_waived_findings_are_counted() -> None:
    assert text.summary([], 1, waived=2) == "No problems found in 1 file; 2 waived.\n"
    assert text.summary([FOUND], 2, waived=1) == "1 error in 2 files; 1 waived.\n"
