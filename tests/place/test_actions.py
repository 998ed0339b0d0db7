"""Tests the order of pending work against KAI's scheduler, and against its rules in small cases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import NO_LIMIT, Amounts, total
from kubectl_tas.place import scenarios
from kubectl_tas.place.actions import Pending, Turn, TurnOutcome, pending
from kubectl_tas.place.fairshare import QueueTree, QuotaQueue
from kubectl_tas.place.node_cells import PlacementRequest, Space, Unit
from kubectl_tas.place.node_resources import CPU, PODS, NodeResources
from kubectl_tas.place.queues import counted
from kubectl_tas.place.scheduling_session import SessionPod, ShardStart, Work
from tests.place.clusters import LEVELS, shape

ANSWERS = json.loads((Path(__file__).parent / "queues_of_kai_0_17.json").read_text())
"""Clusters, queues and gangs made by chance, each with what the scheduler of KAI 0.17.0 does in one cycle, as its own
snapshot tool says: the nodes of gangs that start, and by which action, and from which gangs, others get room.
"""
LOW_JOBS = json.loads((Path(__file__).parent / "low_jobs_of_kai_0_17.json").read_text())
"""The same for clusters in which LOW Jobs run that need one pod and have more, with the pods that go and those that
move. Of 1,000 such clusters 947 come out alike to the pod; these are some of them.
"""
RACK, ZONE = 1, 0
CORES = 1000


def node(name: str, place: Sequence[str], gpus: int, free: int) -> NodeResources:
    has = {GPU: gpus, CPU: 64 * CORES, PODS: 110}
    return NodeResources(name, dict(zip(LEVELS, place, strict=True)), has, {**has, GPU: free})


def queue(
    name: str, parent: str | None = None, quota: int = -1, limit: int = -1, weight: int = 1, priority: int = 100,
    created: str = "",
) -> QuotaQueue:  # fmt: skip
    most, least = (Amounts(NO_LIMIT if number < 0 else number, NO_LIMIT, NO_LIMIT) for number in (limit, quota))
    return QuotaQueue(name, parent, least, most, Amounts(weight, 1, 1), priority, created)


def gang(
    name: str, queue: str, priority: int, age: tuple[bool, str], pods: Sequence[tuple[str | None, int]],
    least: int | None = None, required: int | None = None,
) -> Work:  # fmt: skip
    """A gang of pods with as many GPUs, on nodes or not; it needs ``least`` of them, or all."""
    shapes = tuple(dict.fromkeys(shape(gpus, CORES) for _, gpus in pods))
    made = tuple(
        SessionPod(f"{name}-{at}", name, dict(shape(gpus, CORES).asks), shapes.index(shape(gpus, CORES)), where)
        for at, (where, gpus) in enumerate(pods)
    )
    wanted = PlacementRequest(Unit(name, required), shapes)
    return Work(name, queue, priority, priority < 100, (*age, name), made, {name: least or len(pods)}, wanted, LEVELS)


def held(name: str, queue: str, priority: int, created: str, pods: Any, least: int | None = None) -> Work:
    """One that runs."""
    return gang(name, queue, priority, (False, created), pods, least)


def job(
    name: str, queue: str, priority: int, pods: int, gpus: int, required: int | None = None, least: int | None = None,
    *, age: int = 0,
) -> Work:  # fmt: skip
    """One that waits."""
    return gang(name, queue, priority, (True, f"{age:09}"), [(None, gpus)] * pods, least, required)


def answer(case: dict[str, Any]) -> Pending:
    running = [held(*one) for one in case["held"]]
    used = [(pod.node, pod.asks.get(GPU, 0)) for one in running for pod in one.pods]
    nodes = tuple(
        node(name, place, gpus, gpus - sum(takes for where, takes in used if where == name))
        for name, place, gpus in sorted(case["nodes"])
    )
    whole = total(counted(item.allocatable) for item in nodes)
    tree = QueueTree(tuple(queue(*one) for one in case["queues"]))
    return pending(
        ShardStart(nodes, whole, tree, tuple(running)), [job(*one, age=age) for age, one in enumerate(case["jobs"])]
    )


def turns(case: dict[str, Any]) -> dict[str, Turn]:
    return {turn.work.name: turn for turn in answer(case).turns}


def gone(turn: Turn) -> list[str]:
    """The gangs of which pods go for it."""
    return [batch.work.name for batch in turn.evicted]


def nodes_of(turn: Turn) -> list[str]:
    return sorted(node for _, node, _ in turn.placed)


@pytest.mark.parametrize("case", ANSWERS, ids=range(len(ANSWERS)))
def test_kai_does_the_same(case: dict[str, Any]) -> None:
    found = turns(case)
    moved = {batch.work.name for turn in found.values() for batch in turn.moved}
    starts = {name: turn for name, turn in found.items() if turn.outcome is TurnOutcome.STARTS and name not in moved}
    expected = {name: nodes for name, nodes in case["starts"].items() if name not in moved}
    assert {name: nodes_of(turn) for name, turn in starts.items()} == expected
    evicts = {
        name: [turn.action, sorted({one.work.name for one in (*turn.evicted, *turn.moved)})]
        for name, turn in found.items()
        if turn.action
    }
    assert evicts == case.get("evicts", evicts)


@pytest.mark.parametrize("case", LOW_JOBS, ids=range(len(LOW_JOBS)))
def test_kai_takes_the_same_pods_of_low_jobs(case: dict[str, Any]) -> None:
    found = answer(case)
    acts = {
        turn.work.name: [
            turn.action,
            *(sorted(pod.name for batch in part for pod in batch.pods) for part in (turn.evicted, turn.moved)),
        ]
        for turn in (*found.turns, *found.further)
        if turn.action
    }
    assert acts == {name: [action, gone, moved] for name, (action, _, gone, moved) in case["acts"].items()}
    starts = {*case["starts"], *case["acts"]}
    waits = {turn.work.name for turn in found.turns if not turn.placed or turn.outcome is TurnOutcome.LATER}
    assert {job[0] for job in case["jobs"]} - starts <= waits


ONE_RACK = {"nodes": [[f"n{at}", ["a", "1"], 8] for at in range(4)] + [["other", ["b", "2"], 0]], "held": []}
"""Four nodes of 8 GPUs."""
TWO_QUEUES = [["top", None], ["left", "top", 16], ["right", "top", 16]]


def case(jobs: Sequence[Sequence[Any]], **more: Any) -> dict[str, Any]:
    return {**ONE_RACK, "queues": TWO_QUEUES, "jobs": [[*one, None] if len(one) == 5 else one for one in jobs], **more}


def test_the_queue_that_holds_the_smaller_part_of_its_share_goes_first() -> None:
    found = answer(case([("a", "left", 100, 1, 8), ("b", "left", 100, 1, 8), ("c", "right", 100, 1, 8)]))
    assert [turn.work.name for turn in found.turns] == ["a", "c", "b"]


def test_in_a_queue_priority_goes_before_age() -> None:
    found = answer(case([("old", "left", 100, 1, 8), ("new", "left", 125, 1, 8)]))
    assert [turn.work.name for turn in found.turns] == ["new", "old"]


def test_what_can_never_run_takes_nothing_from_the_others() -> None:
    found = turns(case([("large", "left", 125, 3, 8), ("small", "left", 100, 2, 8)]))
    assert (found["large"].outcome, found["small"].outcome) == (TurnOutcome.REFUSED, TurnOutcome.STARTS)
    refused = found["large"].refusal
    assert refused is not None
    assert (refused.reason, refused.queue, refused.held, refused.requested) == (
        "NonPreemptibleOverQuota",
        "left",
        0,
        24,
    )


def test_of_two_that_fit_one_by_one_the_second_waits_for_the_first() -> None:
    found = turns(case([("first", "left", 100, 2, 8), ("second", "left", 100, 1, 8)]))
    assert found["first"].outcome is TurnOutcome.STARTS
    assert (found["second"].outcome, found["second"].ahead) == (TurnOutcome.REFUSED, ("first",))


def test_what_takes_its_nodes_is_named() -> None:
    """Work that can be preempted may exceed the quota, but the nodes are taken."""
    found = turns(case([("first", "left", 60, 3, 8), ("second", "left", 50, 2, 8)]))
    assert (found["second"].outcome, found["second"].ahead) == (TurnOutcome.WAITS, ("first",))
    assert turns(case([("alone", "left", 50, 5, 8)]))["alone"].outcome is TurnOutcome.NO_ROOM


def test_work_of_its_own_queue_is_preempted_the_newest_of_the_lowest_priority_first() -> None:
    pods = [("n0", 8)], [("n1", 8)], [("n2", 8)], [("n3", 8)]
    running = [
        ["high", "left", 60, "2026-01-03T00:00:00Z", pods[0]],
        ["old", "left", 50, "2026-01-01T00:00:00Z", pods[1]],
        ["new", "left", 50, "2026-01-02T00:00:00Z", pods[2]],
        ["fixed", "left", 100, "2026-01-04T00:00:00Z", pods[3]],
    ]
    queues = [["top", None], ["left", "top", 16]]
    found = turns(case([("a", "left", 70, 1, 8)], held=running, queues=queues))["a"]
    assert (found.outcome, found.action, gone(found)) == (TurnOutcome.EVICTS, "preempt", ["new"])


@pytest.mark.parametrize(("pods", "outcome"), [(2, TurnOutcome.EVICTS), (3, TurnOutcome.NO_ROOM)])
def test_no_more_is_reclaimed_than_the_fair_share(pods: int, outcome: TurnOutcome) -> None:
    """Left holds all 32 GPUs, 16 over its quota, and right asks for its own quota, or more."""
    running = [[f"h{at}", "left", 50, "", [(f"n{at}", 8)]] for at in range(4)]
    found = turns(case([("a", "right", 50, pods, 8)], held=running))["a"]
    assert found.outcome is outcome
    assert len(found.evicted) == (pods if outcome is TurnOutcome.EVICTS else 0)
    assert found.action == ("reclaim" if outcome is TurnOutcome.EVICTS else "")


@pytest.mark.parametrize(("others", "outcome", "nodes"), [(2, TurnOutcome.STARTS, ["n4"]), (1, TurnOutcome.WAITS, [])])
def test_what_has_just_started_may_go_too(others: int, outcome: TurnOutcome, nodes: list[str]) -> None:
    """Small has a node before large makes room for itself in the rack; with it goes old, which is the first to find
    room in the other rack.
    """
    racks = [*([f"n{at}", ["a", "1"], 8] for at in range(3)), *([f"n{at + 3}", ["b", "2"], 8] for at in range(others))]
    running = [["old", "left", 50, "", [("n0", 8)]]]
    jobs = [("large", "left", 70, 3, 8, RACK), ("small", "left", 50, 1, 8)]
    found = turns(case(jobs, nodes=racks, held=running, queues=[["top", None], ["left", "top", 64]]))
    assert found["large"].outcome is TurnOutcome.EVICTS
    assert {one.work.name for one in (*found["large"].evicted, *found["large"].moved)} == {"old", "small"}
    assert (found["small"].outcome, nodes_of(found["small"])) == (outcome, nodes)
    assert found["small"].ahead == (("large",) if outcome is TurnOutcome.WAITS else ())


@pytest.mark.parametrize("case", ANSWERS[:20], ids=range(20))
def test_no_node_holds_more_than_it_has(case: dict[str, Any]) -> None:
    left = {name: gpus for name, _, gpus in case["nodes"]}
    found = answer(case)
    for work in (*found.start.works, *(turn.work for turn in found.turns)):
        for pod in work.active:
            left[str(pod.node)] -= pod.asks.get(GPU, 0)
    assert min(left.values()) >= 0


@pytest.mark.parametrize(
    ("most", "outcome", "is_cut"), [(200, TurnOutcome.EVICTS, False), (0, TurnOutcome.NO_ROOM, True)]
)
def test_that_not_every_way_to_make_room_was_tried_is_told(
    most: int, outcome: TurnOutcome, is_cut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenarios, "MAX_TRIES", most)
    running = [[f"h{at}", "left", 50, "", [(f"n{at}", 8)]] for at in range(4)]
    found = turns(case([("a", "left", 70, 1, 8)], held=running))["a"]
    assert (found.outcome, found.is_cut) == (outcome, is_cut)


def test_where_the_minimum_of_what_goes_is_not_known_that_is_told() -> None:
    """KAI may take one pod of it, or all."""
    running = held("h", "left", 50, "", [("n0", 4), ("n0", 4)])
    running.is_known = False
    tree = QueueTree((queue("top"), queue("left", "top", 64)))
    start = ShardStart((node("n0", ("a", "1"), 8, 0),), Amounts(8, 64 * CORES), tree, (running,))
    (turn,) = pending(start, [job("a", "left", 70, 1, 4)]).turns
    assert (turn.outcome, turn.is_cut) == (TurnOutcome.EVICTS, True)


@pytest.mark.parametrize(("gpus", "outcome"), [(8, TurnOutcome.EVICTS), (24, TurnOutcome.NO_ROOM)])
def test_a_gang_that_is_no_easier_than_one_that_failed_is_not_tried(gpus: int, outcome: TurnOutcome) -> None:
    """The first cannot be preempted, and may not hold so much; that the second can KAI does not look at here."""
    first = job("first", "left", 60, 1, 24)
    first.is_preemptible = False
    second = job("second", "left", 60, 1, gpus, age=1)
    before = held("h", "left", 50, "", [("n0", 24)])
    tree = QueueTree((queue("top"), queue("left", "top", 16)))
    start = ShardStart((node("n0", ("a", "1"), 24, 0),), Amounts(24, 64 * CORES), tree, (before,))
    found = {turn.work.name: turn.outcome for turn in pending(start, [first, second]).turns}
    assert found == {"first": TurnOutcome.REFUSED, "second": outcome}


def test_single_pods_go_of_a_gang_that_has_more_than_it_needs() -> None:
    """The newest pod of the newest gang first; a pod that finds room elsewhere moves."""
    running = [["job", "left", 50, "", [(f"n{at}", 8) for at in range(4)], 1]]
    found = turns(case([("a", "left", 100, 2, 8)], held=running))["a"]
    assert [pod.name for batch in found.evicted for pod in batch.pods] == ["job-3", "job-2"]


def test_pods_beyond_the_minimum_start_one_by_one() -> None:
    found = turns(case([("job", "left", 50, 6, 8, None, 1)]))["job"]
    assert (found.outcome, nodes_of(found), found.asks.gpu) == (TurnOutcome.STARTS, ["n0", "n1", "n2", "n3"], 8)


def test_work_is_moved_to_make_room() -> None:
    """Two nodes are half full; moved together, one of them is free."""
    running = [["x", "left", 50, "", [("n0", 4)]], ["y", "left", 50, "", [("n1", 4)]]]
    nodes = [["n0", ["a", "1"], 8], ["n1", ["a", "1"], 8]]
    found = turns(case([("a", "left", 50, 1, 8)], nodes=nodes, held=running, queues=[["top", None], ["left", "top"]]))
    assert (found["a"].outcome, found["a"].action, gone(found["a"])) == (TurnOutcome.EVICTS, "consolidation", [])
    assert [batch.work.name for batch in found["a"].moved] == ["y"]


def test_nothing_is_named_of_a_queue_above_its_own_maximum_where_kai_evicts_nothing() -> None:
    """KAI starts g1 and g3, and takes nothing from q0, which holds 11 of at most 10."""
    nodes = [(("a", "2"), 2), (("b", "1"), 4), (("b", "1"), 4), (("a", "1"), 2), (("a", "2"), 2), (("b", "2"), 2)]
    where = [["n1", "n1", "n0", "n5", "n4"], ["n5", "n4", "n0", "n1", "n1", "n2"]]
    running = [
        [f"h{at}", "q0", priority, f"2026-01-01T01:4{at}:00Z", [(name, 1) for name in names], least]
        for at, (names, priority, least) in enumerate(zip(where, (50, 60), (5, 1), strict=True))
    ]
    queues = [["p0"], ["q0", "p0", 2, 10], ["q1", "p0", 2, 16, 3], ["q2", "p0", 10, 10, 3]]
    jobs = [
        ("g0", "q2", 100, 2, 4, 0, 2),
        ("g1", "q1", 60, 4, 2, 1, 1),
        ("g2", "q0", 50, 2, 4, None, 1),
        ("g3", "q2", 50, 1, 2, None, 1),
    ]
    listed = [[f"n{at}", list(place), gpus] for at, (place, gpus) in enumerate(nodes)]
    found = turns(case(jobs, nodes=listed, held=running, queues=queues))
    assert [batch for turn in found.values() for batch in turn.evicted] == []
    assert [name for name, turn in found.items() if turn.placed] == ["g1", "g3"]


def test_the_next_cycle_uses_what_evictions_leave() -> None:
    running = [["wide", "left", 50, "", [(f"n{at}", 8) for at in range(4)]]]
    found = turns(case([("a", "left", 70, 1, 8), ("b", "left", 50, 1, 8)], held=running))
    assert (found["a"].outcome, found["b"].outcome) == (TurnOutcome.EVICTS, TurnOutcome.LATER)


def test_a_gang_without_a_queue_never_starts() -> None:
    assert turns(case([("a", "lost", 100, 1, 8)]))["a"].outcome is TurnOutcome.NO_QUEUE


def test_space_is_what_was_there_once_all_is_given_back() -> None:
    nodes = (node("n0", ("a", "1"), 8, 8), node("n1", ("a", "1"), 8, 4))
    space, wanted = Space(nodes), PlacementRequest(Unit("g", None, None, (0,)), (shape(1, CORES),))
    before = [leaf.nodes for leaf in space.room_for(wanted, LEVELS).leaves]
    space.take("n0", {GPU: 4})
    taken = [leaf.nodes for leaf in space.room_for(wanted, LEVELS).leaves]
    assert taken != before
    assert [names for _, names in taken[0]] == [("n0", "n1")]
    space.give_back("n0", {GPU: 4})
    assert [leaf.nodes for leaf in space.room_for(wanted, LEVELS).leaves] == before


def test_gangs_with_other_numbers_of_pods_are_not_alike() -> None:
    """The first asks for more than the quota; KAI 0.17.0 still tries the second (seen with its snapshot tool)."""
    running = [["h", "left", 50, "", [("n0", 8)]]]
    full = [["n0", ["a", "1"], 8]]
    jobs = [("first", "left", 100, 3, 8), ("second", "left", 100, 4, 8, None, 1)]
    found = turns(case(jobs, nodes=full, held=running))
    assert {name: turn.outcome for name, turn in found.items()} == {
        "first": TurnOutcome.REFUSED,
        "second": TurnOutcome.EVICTS,
    }


def test_pods_that_kai_starts_and_then_moves_are_told() -> None:
    racks = [[f"n{at}", ["a" if at < 3 else "b", "1" if at < 3 else "2"], 8] for at in range(5)]
    running = [["old", "left", 50, "", [("n0", 8)]]]
    jobs = [("large", "left", 70, 3, 8, RACK), ("small", "left", 50, 1, 8)]
    found = turns(case(jobs, nodes=racks, held=running, queues=[["top", None], ["left", "top", 64]]))
    assert found["small"].moved_for == ("large",)
    assert found["large"].moved_for == ()


def test_pods_stay_moved_if_the_gang_they_were_moved_for_is_preempted() -> None:
    """KAI 0.17.0 moves pods for ``small``, and then preempts it for ``large``."""
    four = [[f"n{at}", ["a", "1"], 2] for at in range(4)]
    running = [
        ["run", "left", 50, "", [("n0", 1), ("n1", 1)]],
        ["fixed", "left", 100, "", [("n2", 2), ("n3", 2)]],
    ]
    jobs = [("large", "left", 100, 1, 2), ("small", "left", 50, 1, 2)]
    found = turns(case(jobs, nodes=four, held=running))
    assert (found["large"].outcome, gone(found["large"])) == (TurnOutcome.EVICTS, ["small"])
    assert not found["small"].placed
    assert [batch.work.name for batch in found["small"].moved] == ["run"]
    assert found["small"].is_cut


BELOW_A_LIMIT = {
    "nodes": [[f"n{at}", ["a", "1"], 2] for at in range(7)],
    "queues": [
        ["top", None, 2, 6],
        ["left", "top", 2, 6, 2, 90],
        ["right", "top", 0, 6, 2, 110],
        ["middle", "top", 0, 6, 3, 100],
    ],
    "held": [
        ["big", "left", 50, "2026-11-02", [("n1", 2), ("n2", 2)]],
        ["one", "left", 50, "2026-11-04", [("n6", 1)]],
        ["first", "right", 50, "2026-11-06", [("n0", 1)]],
        ["second", "right", 50, "2026-11-03", [("n3", 1)]],
        ["other", "middle", 50, "2026-11-04", [("n5", 2)]],
    ],
}
"""A queue that holds more than its limit, with queues below it that hold more than their shares."""


def test_work_is_reclaimed_from_siblings_below_a_limit() -> None:
    """KAI 0.17.0 reclaims both in some runs and nothing in others: it takes gangs in the order of a Go map, and may not
    take ``one`` once ``big`` has gone.
    """
    found = turns(case([("a", "right", 50, 1, 2)], **BELOW_A_LIMIT))["a"]
    assert (found.outcome, found.action, sorted(gone(found))) == (TurnOutcome.EVICTS, "reclaim", ["big", "one"])
    assert found.is_cut


def test_a_gang_starts_after_the_gang_that_it_waits_for() -> None:
    def outcomes(gpus: int) -> dict[str, TurnOutcome]:
        base, scaled = job("base", "left", 70, 1, gpus), job("scaled", "left", 70, 1, 8, age=1)
        scaled.before = ("base",)
        start = ShardStart(
            tuple(node(f"n{at}", ("a", "1"), 8, 8) for at in range(2)),
            Amounts(16, 64 * CORES),
            QueueTree((queue("top"), queue("left", "top", 64))),
            (),
        )
        found = pending(start, [scaled, base])
        assert [turn.ahead for turn in found.turns if turn.outcome is TurnOutcome.AFTER] in ([], [("base",)])
        return {turn.work.name: turn.outcome for turn in found.turns}

    assert outcomes(8) == {"base": TurnOutcome.STARTS, "scaled": TurnOutcome.STARTS}
    assert outcomes(16) == {"base": TurnOutcome.NO_ROOM, "scaled": TurnOutcome.AFTER}
