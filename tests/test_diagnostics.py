"""Tests findings: their order, their severity, and that none is too long to read."""

from __future__ import annotations

import pytest

from kubectl_tas.base.diagnostics import (
    Diagnostic,
    Location,
    Related,
    Rule,
    Severity,
    Suggestion,
    Waiving,
    has_errors,
    in_order,
)

ERROR = Rule("an-error", Severity.ERROR, "", "")
WARNING = Rule("a-warning", Severity.WARNING, "", "")
NOTE = Rule("a-note", Severity.INFO, "", "")


@pytest.mark.parametrize(("size", "shown"), [(4000, "x" * 4000), (4001, "x" * 4000 + "...")])
def test_a_text_that_is_too_long_is_cut(size: int, shown: str) -> None:
    found = Diagnostic(ERROR, "x" * size, None, (Related("x" * size, None),), "x" * size)
    assert (found.message, found.hint, found.related[0].message) == (shown,) * 3


def test_findings_are_in_the_order_of_their_places() -> None:
    """Those without a place come first, then path, line, column, rule and message; each once."""
    expected = [
        Diagnostic(WARNING, "b", None),
        Diagnostic(ERROR, "a", None),
        Diagnostic(ERROR, "z", Location("a.yaml")),
        Diagnostic(ERROR, "z", Location("a.yaml", 2, 9)),
        Diagnostic(ERROR, "z", Location("a.yaml", 10, 1)),
        Diagnostic(ERROR, "z", Location("a.yaml", 10, 2)),
        Diagnostic(WARNING, "z", Location("b.yaml", 1, 1)),
        Diagnostic(ERROR, "y", Location("b.yaml", 1, 1)),
        Diagnostic(ERROR, "z", Location("b.yaml", 1, 1)),
    ]
    assert list(in_order([*reversed(expected), *expected])) == expected


@pytest.mark.parametrize(
    ("found", "fails", "fails_strictly"),
    [
        ([], False, False),
        ([Diagnostic(NOTE, "", None)], False, False),
        ([Diagnostic(NOTE, "", None), Diagnostic(WARNING, "", None)], False, True),
        ([Diagnostic(ERROR, "", None)], True, True),
        ([Diagnostic(ERROR, "", None, level=Severity.WARNING)], False, True),
        ([Diagnostic(WARNING, "", None, level=Severity.ERROR)], True, True),
    ],
)
def test_findings_that_fail_a_run(found: list[Diagnostic], *, fails: bool, fails_strictly: bool) -> None:
    assert (has_errors(found), has_errors(found, strict=True)) == (fails, fails_strictly)


@pytest.mark.parametrize(
    ("severity", "protects", "who"),
    [
        (Severity.ERROR, None, Waiving.NOBODY),
        (Severity.WARNING, None, Waiving.ANYBODY),
        (Severity.INFO, None, Waiving.ANYBODY),
        (Severity.ERROR, Waiving.CONFIG, Waiving.CONFIG),
    ],
)
def test_who_may_change_a_rule(severity: Severity, protects: Waiving | None, who: Waiving) -> None:
    assert Rule("x", severity, "", "", protects).waiving is who


def test_places_and_the_fix_of_a_finding() -> None:
    here, there = Location("a.yaml", 1, 2), Location("b.yaml")
    fix = Suggestion("Did you mean b?", "a", "b")
    found = Diagnostic(ERROR, "", here, (Related("", there), Related("", None)), fix)
    assert (found.places, found.fix is fix.fix, [str(place) for place in found.places]) == (
        *((here, there), True),
        ["a.yaml:1:2", "b.yaml"],
    )
    plain = Diagnostic(ERROR, "", None, hint="Use b.")
    assert (plain.places, plain.fix) == ((), None)
    assert (fix.fix.written, fix.fix.meant) == ("a", "b")


def test_the_source_of_a_place_is_no_part_of_it() -> None:
    assert Location("a", 1, 2, source="x: y", length=3, source_column=4) == Location("a", 1, 2)
    assert repr(Location("a", 1, 2, source="x: y")) == "Location(path='a', line=1, column=2)"
    bare = Location("a")
    assert (bare.line, bare.column, bare.source, bare.length, bare.source_column) == (0, 0, "", 1, 1)
