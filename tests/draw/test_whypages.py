"""Tests what a page says of the causes for which work is pending."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubectl_tas.diagnostics import Location
from kubectl_tas.draw import tree, whypage
from kubectl_tas.gangs.workload_gang import PodSegment
from kubectl_tas.live.reasons import Saying
from kubectl_tas.place.gangs_to_place import LeftOut
from kubectl_tas.place.pending_reasons import About, Cause
from kubectl_tas.place.pending_work import State, Why
from kubectl_tas.quantities import NO_LIMIT, Amounts
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.pools import Submission

ORIGIN = SimpleNamespace(spec=None, origin=SimpleNamespace(path="workflows/w.yaml"))
SENT = cast(
    Submission,
    SimpleNamespace(
        kind="Job", name="w", namespace="ml", target="team", priority="LOW", is_preemptible=True, declared=ORIGIN
    ),
)


def why(*causes: Cause, **more: Any) -> Why:
    given = {"gangs": (), "lone": {}, "queue": "q", "quota": None, "usage": None, "fits": (), **more}
    return Why(SENT, State.WAITS, causes=causes, **given)


def page(*causes: Cause, **more: Any) -> list[str]:
    return [line.strip() for line in whypage.render([why(*causes, **more)], "").splitlines()]


@pytest.mark.parametrize(
    ("quota", "text"),
    [(None, "q"), (Amounts(NO_LIMIT), "q, no quota"), (Amounts(1), "q, quota 1 GPU")],
)
def test_the_quota_of_the_queue_is_told(quota: Amounts | None, text: str) -> None:
    assert f"Queue:  {text}" in page(quota=quota)


def test_a_cause_of_which_nobody_says_more_is_one_line() -> None:
    assert page(Cause(About.OTHER, "nobody knows"))[-1] == "1. Nobody knows"
    (found,) = whypage.data([why(Cause(About.OTHER, "nobody knows"))])["workflows"]
    assert found["causes"] == [{"about": "other", "text": "nobody knows", "hint": "", "place": None, "said": []}]


def test_a_cause_has_its_place_and_what_helps() -> None:
    cause = Cause(About.QUOTA, "it is full", place=Location("a.yaml", 3, 5), hint="Wait.")
    assert page(cause)[-2:] == ["File:  a.yaml:3:5", "Help:  Wait."]
    (found,) = whypage.data([why(cause)])["workflows"]
    assert found["causes"][0]["place"] == {"file": "a.yaml", "line": 3, "column": 5}


def said(*sayings: Saying) -> list[str]:
    return page(Cause(About.OTHER, "a cause", sayings))[6:]


@pytest.mark.parametrize(
    ("saying", "line"),
    [
        (Saying("Pod", "Failed", "no room"), "Pod:  Failed: no room"),
        (Saying("Pod", "Failed", "no room", times=2), "Pod:  Failed (2 pods): no room"),
        (Saying("Pod", "Failed", ""), "Pod:  Failed"),
        (Saying("Pod", "Failed", "x", is_event=True), "Event:  Failed (1 time): x"),
        (
            Saying("Pod", "Failed", "x", is_event=True, times=3, last="12:00"),
            "Event:  Failed (3 times, last 12:00): x",
        ),
    ],
)
def test_a_message_is_shown_with_how_often_it_came(saying: Saying, line: str) -> None:
    assert said(saying) == [line]


GROUP = Saying("PodGroup g", "Unschedulable", "no room for it.")


@pytest.mark.parametrize(
    ("again", "line"),
    [
        (Saying("PodGroup g", "Other", "no room for it at all"), "by 1 reason"),
        (Saying("Pod", "Failed", "no room for it", times=2), "by 2 pods"),
        (
            Saying("Pod", "Failed", "no room for it", is_event=True, times=3, last="12:00"),
            "3 times in events, last 12:00",
        ),
        (Saying("Pod", "Failed", "no room for it", is_event=True), "1 time in events"),
    ],
)
def test_what_repeats_a_message_is_counted(again: Saying, line: str) -> None:
    assert said(GROUP, again) == ["PodGroup:  Unschedulable: no room for it.", f"Repeated:  {line}"]


def test_a_message_without_a_text_is_repeated_by_none() -> None:
    empty, other = Saying("PodGroup g", "Odd", ""), Saying("PodGroup g", "Other", "text")
    assert said(empty, other) == ["PodGroup:  Odd", "PodGroup:  Other: text"]


def test_work_of_which_the_room_is_not_known_is_told() -> None:
    left = LeftOut(SENT, "its pods are not known")
    assert page(fits=(left,))[-1] == "What nodes have room for is not known: its pods are not known"
    (found,) = whypage.data([why(fits=(left,))])["workflows"]
    assert found["fit"]["gangs"] == []
    assert found["fit"]["leftOut"] == [{"kind": "Job", "name": "w", "reason": "its pods are not known"}]


@pytest.mark.parametrize(("last", "pods"), [(4, "pod 4"), (7, "pods 4 to 7")])
def test_the_segment_of_a_pod_is_a_sentence(last: int, pods: str) -> None:
    found = [(cast(FleetWorkload, SENT), PodSegment("Worker", "worker-1", (4, last), "example.com/index"))]
    assert tree.pod_segments(4, found) == (f"w: pod 4 of Worker is in segment worker-1, {pods} (example.com/index)\n")
