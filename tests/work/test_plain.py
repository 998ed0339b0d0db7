"""Tests that findings and summaries are the same again after they were text."""

from __future__ import annotations

import pytest

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Severity, Suggestion
from kubectl_tas.base.resources import all_rules
from kubectl_tas.facts.gpus import Hundredths
from kubectl_tas.facts.quantities import NO_LIMIT, Amounts
from kubectl_tas.gangs.summary import KeptValues, Request
from kubectl_tas.model.repository import Waiver
from kubectl_tas.work.plain import (
    Plain,
    from_diagnostic,
    from_kept_values,
    from_location,
    from_waiver,
    of_bytes,
    of_entry,
    of_text,
    to_bytes,
    to_diagnostic,
    to_kept_values,
    to_location,
    to_text,
    to_waiver,
)

PLACE = Location("a.yaml", 3, 5, "pool: téam", 4, 2)
OTHER = Location("b.yaml", 1, 1, "x", 1, 1)
RULE = all_rules()["quota-shared"]


def again(plain: Plain) -> Plain:
    return of_text(to_text(plain))


def every(place: Location | None) -> object:
    """All of a place: its source and length do not count where places are compared."""
    return place and (place, place.source, place.length, place.source_column)


@pytest.mark.parametrize("place", [PLACE, None])
def test_a_place_is_the_same_again(place: Location | None) -> None:
    plain = from_location(place)
    assert every(to_location(None if plain is None else again(plain))) == every(place)


@pytest.mark.parametrize(
    "found",
    [
        Diagnostic(RULE, "message", None),
        Diagnostic(RULE, "message", PLACE, hint="hint"),
        Diagnostic(RULE, "message", PLACE, (Related("one", OTHER), Related("two", None)), level=Severity.ERROR),
        Diagnostic(RULE, "message", PLACE, hint=Suggestion("mean b?", "a", "b"), cause=OTHER),
    ],
)
def test_a_finding_is_the_same_again(found: Diagnostic) -> None:
    there = to_diagnostic(again(from_diagnostic(found)))
    assert there == found
    assert every(there.location) == every(found.location)
    assert every(there.cause) == every(found.cause)
    assert [every(item.location) for item in there.related] == [every(item.location) for item in found.related]
    assert (there.fix and (there.fix.written, there.fix.meant)) == (found.fix and (found.fix.written, found.fix.meant))


def test_a_comment_that_waives_rules_is_the_same_again() -> None:
    waiver = Waiver(("quota-shared", "cron-overlap"), PLACE, 7)
    there = to_waiver(again(from_waiver(waiver)))
    assert there == waiver
    assert every(there.place) == every(waiver.place)


def test_a_summary_is_the_same_again() -> None:
    """Whole numbers, hundredths, and what has no limit."""
    one, two = Amounts(1, 2000, 3 * 2**30), Amounts(Hundredths("0.25"), NO_LIMIT, 0)
    request = Request(one, two, Amounts(4, 5, 6), is_one_gang=False)
    sent = KeptValues(
        "Job", "train", "LOW", "default", "all", Amounts(7, 8, 9), request, ("big", "small"), 12, "vision"
    )
    there = to_kept_values(again(from_kept_values(sent)))
    assert there == sent
    assert type(there.request.largest.gpu) is Hundredths
    none = KeptValues("Job", "train", "LOW", "default", None, one, Request(), (), 0)
    assert to_kept_values(again(from_kept_values(none))) == none


def test_text_is_short_and_keeps_what_is_no_text() -> None:
    """Names of files may hold bytes that are no UTF-8."""
    plain = ["é", {"a": [1, None, True]}, "\udcff"]
    assert to_text(plain) == '["é",{"a":[1,null,true]},"\udcff"]'
    assert of_bytes(to_bytes(plain)) == plain


@pytest.mark.parametrize("content", [None, b"", b"{}", b"[1", b"\xff"])
def test_an_entry_of_another_format_counts_as_absent(content: bytes | None) -> None:
    assert of_entry(content) is None
    assert of_entry(b"[1]") == [1]
