"""Tests what a page says of the causes for which work is pending."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.draw import tree, whypage
from kubectl_tas.facts.quantities import NO_LIMIT, Amounts
from kubectl_tas.gangs.workload_gang import PodSegment
from kubectl_tas.live.live_cluster import LiveQueueUsage
from kubectl_tas.live.reasons import Saying
from kubectl_tas.place.gangs_to_place import LeftOut
from kubectl_tas.place.pending_reasons import Cause, CauseKind
from kubectl_tas.place.pending_work import GangNow, State, Why
from kubectl_tas.report.json import as_json
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


FIVE = tuple(
    Saying(
        "Event" if n else "PodGroup g", f"R{n}", f"text {n}", is_event=bool(n), times=n, last="12:00" if n == 1 else ""
    )
    for n in range(5)
)
FULL = why(
    Cause(CauseKind.QUOTA, "it is full", FIVE, location=Location("a.yaml", 3, 5), hint="Wait."),
    Cause(CauseKind.OTHER, "odd", (Saying("Pod w-0", "Failed", "x" * 401, times=2),)),
    gangs=(
        GangNow("ml", "g0", {}, 3, State.ABSENT),
        GangNow("ml", "g1", {"Running": 2, "Pending": 1}, None, State.WAITS),
        *(GangNow("ml", f"g{n}", {"Running": 3}, 3, State.RUNS) for n in range(2, 8)),
    ),
    lone={"Pending": 2, "Failed": 1},
    quota=Amounts(8),
    usage=LiveQueueUsage(Amounts(6), Amounts(2), 1),
    gaps={"Pod": "no right", "Policy": "no such"},
    fits=(LeftOut(SENT, "why not"),),
)


def test_all_that_a_page_says() -> None:
    assert (
        whypage.render([FULL], "")
        == f"""\
Job:        w (workflows/w.yaml)
State:      waits
Pool:       team, LOW (preemptible)
Queue:      q, quota 8 GPUs, 6 GPUs held, 2 of them not preemptible
PodGroup:   ml/g0: pods not known; starts with 3
PodGroup:   ml/g1: 1 Pending, 2 Running
PodGroup:   ml/g2: 3 Running; starts with 3
PodGroup:   ml/g3: 3 Running; starts with 3
PodGroup:   ml/g4: 3 Running; starts with 3
More:       3 PodGroups; -o json has all
Pods:       1 Failed, 2 Pending, without a PodGroup
Not known:  Pods: no right
Not known:  Policies: no such

1. It is full
   PodGroup:  R0: text 0
   Event:     R1 (1 time, last 12:00): text 1
   Event:     R2 (2 times): text 2
   More:      2 reasons; -o json has all
   File:      a.yaml:3:5
   Help:      Wait.

2. Odd
   Pod:  Failed (2 pods): {"x" * 400}...

What nodes have room for is not known: why not
"""
    )


def test_a_pod_group_without_pods_is_told() -> None:
    group = GangNow("ml", "g", {}, None, State.ABSENT)
    assert "PodGroup:  ml/g: no pods" in page(gangs=(group,))


def test_five_pod_groups_are_all_that_a_page_shows() -> None:
    groups = tuple(GangNow("ml", f"g{n}", {"Running": 3}, 3, State.RUNS) for n in range(5))
    assert len([line for line in page(gangs=groups) if line.startswith(("PodGroup:", "More:"))]) == 5


def test_all_data_of_a_page() -> None:
    (found,) = as_json(whypage.Whys([FULL]))["workflows"]
    assert (found["kind"], found["name"], found["namespace"]) == ("Job", "w", "ml")
    assert (found["file"], found["pool"], found["state"]) == ("workflows/w.yaml", "team", "waits")
    assert found["queue"] == {"name": "q", "quota": 8, "held": 6, "heldNonPreemptible": 2}
    runs = ({"name": f"g{n}", "state": "runs", "pods": {"Running": 3}, "startsWith": 3} for n in range(2, 8))
    assert found["podGroups"] == [
        {"namespace": "ml", "name": "g0", "state": "absent", "pods": {}, "startsWith": 3},
        {"namespace": "ml", "name": "g1", "state": "waits", "pods": {"Pending": 1, "Running": 2}, "startsWith": None},
        *({"namespace": "ml", **one} for one in runs),
    ]
    assert found["podsWithoutPodGroup"] == {"Failed": 1, "Pending": 2}
    full, _ = found["causes"]
    assert full["said"][:2] == [
        {"by": "PodGroup g", "event": False, "reason": "R0", "text": "text 0", "times": 0, "last": None},
        {"by": "Event", "event": True, "reason": "R1", "text": "text 1", "times": 1, "last": "12:00"},
    ]
    assert (full["about"], full["hint"], len(full["said"])) == ("quota", "Wait.", 5)
    assert found["notKnown"] == {"Pod": "no right", "Policy": "no such"}
    (unknown,) = as_json(whypage.Whys([why(usage=LiveQueueUsage(Amounts(6), Amounts(2), 1, doubt="odd"))]))["workflows"]
    assert unknown["queue"] == {"name": "q", "quota": None, "held": None, "heldNonPreemptible": None}


@pytest.mark.parametrize(
    ("usage", "text"),
    [
        (None, "q"),
        (LiveQueueUsage(Amounts(0), Amounts(0), 0), "q, no GPU held"),
        (LiveQueueUsage(Amounts(1), Amounts(0), 1), "q, 1 GPU held, 0 of them not preemptible"),
        (LiveQueueUsage(Amounts(1), Amounts(0), 1, doubt="odd"), "q"),
    ],
)
def test_what_the_queue_holds_is_told_if_known(usage: LiveQueueUsage | None, text: str) -> None:
    assert f"Queue:  {text}" in page(usage=usage)


def test_a_cause_of_which_nobody_says_more_is_one_line() -> None:
    assert page(Cause(CauseKind.OTHER, "nobody knows"))[-1] == "1. Nobody knows"
    (found,) = as_json(whypage.Whys([why(Cause(CauseKind.OTHER, "nobody knows"))]))["workflows"]
    assert found["causes"] == [{"about": "other", "text": "nobody knows", "hint": "", "place": None, "said": []}]


def test_a_cause_has_its_place_and_what_helps() -> None:
    cause = Cause(CauseKind.QUOTA, "it is full", location=Location("a.yaml", 3, 5), hint="Wait.")
    assert page(cause)[-2:] == ["File:  a.yaml:3:5", "Help:  Wait."]
    (found,) = as_json(whypage.Whys([why(cause)]))["workflows"]
    assert found["causes"][0]["place"] == {"file": "a.yaml", "line": 3, "column": 5}


def said(*sayings: Saying) -> list[str]:
    return page(Cause(CauseKind.OTHER, "a cause", sayings))[6:]


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
    (found,) = as_json(whypage.Whys([why(fits=(left,))]))["workflows"]
    assert found["fit"]["gangs"] == []
    assert found["fit"]["leftOut"] == [{"kind": "Job", "name": "w", "reason": "its pods are not known"}]


@pytest.mark.parametrize(("last", "pods"), [(4, "pod 4"), (7, "pods 4 to 7")])
def test_the_segment_of_a_pod_is_a_sentence(last: int, pods: str) -> None:
    found = [(cast(FleetWorkload, SENT), PodSegment("Worker", "worker-1", (4, last), "example.com/index"))]
    assert tree.pod_segments(4, found) == (f"w: pod 4 of Worker is in segment worker-1, {pods} (example.com/index)\n")
