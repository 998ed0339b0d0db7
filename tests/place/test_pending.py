"""The queue of pending work against KAI's scheduler, and against what its rules say of small cases."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.gpus import GPU
from kubectl_tas.place.cycle import Job, Start
from kubectl_tas.place.held import Asked, Held
from kubectl_tas.place.nodes import CPU, PODS, Node
from kubectl_tas.place.pending import Outcome, Pending, Turn, pending
from kubectl_tas.place.room import Space, Unit, Wanted
from kubectl_tas.place.share import Queue, QueueTree
from kubectl_tas.place.totals import counted
from kubectl_tas.quantities import NO_LIMIT, Amounts, total
from tests.place.clusters import LEVELS, shape

ANSWERS = json.loads((Path(__file__).parent / "queues_of_kai_0_17.json").read_text())
"""Clusters, queues and gangs made by chance, each with what the scheduler of KAI 0.17.0 does in one cycle, as its own
snapshot tool says: the nodes of gangs that start, and by which action, and from which gangs, others get room.

Where its actions reclaim and preempt are asked, only clusters are here for which the same work goes, which is so of
five in six: KAI may choose others of which as many would do.
"""
RACK, ZONE = 1, 0
CORES = 1000


def node(name: str, place: Sequence[str], gpus: int, free: int) -> Node:
    has = {GPU: gpus, CPU: 64 * CORES, PODS: 110}
    return Node(name, dict(zip(LEVELS, place, strict=True)), has, {**has, GPU: free})


def asked(name: str, pods: int, gpus: int, required: int | None = None) -> Asked:
    return Asked(Wanted(Unit(name, required, None, (0,) * pods), (shape(gpus, CORES),)), LEVELS)


def queue(
    name: str, parent: str | None = None, quota: int = -1, limit: int = -1, weight: int = 1, priority: int = 100,
    created: str = "",
) -> Queue:  # fmt: skip
    most, least = (Amounts(NO_LIMIT if number < 0 else number, NO_LIMIT, NO_LIMIT) for number in (limit, quota))
    return Queue(name, parent, least, most, Amounts(weight, 1, 1), priority, created)


def held(name: str, queue: str, priority: int, created: str, pods: Sequence[tuple[str, int]]) -> Held:
    """A gang of pods with as many GPUs, on nodes."""
    takes = tuple((where, {GPU: gpus, CPU: CORES, PODS: 1}) for where, gpus in pods)
    return Held(name, queue, priority, priority < 100, created, takes, asked(name, len(pods), pods[0][1]))


def job(
    name: str, queue: str, priority: int, pods: int, gpus: int, required: int | None = None, *, age: int = 0
) -> Job:
    return Job(name, queue, priority, priority < 100, asked(name, pods, gpus, required), age)


def answer(case: dict[str, Any]) -> Pending:
    running = [held(*one) for one in case["held"]]
    used = [pod for one in running for pod in one.pods]
    nodes = tuple(
        node(name, place, gpus, gpus - sum(takes[GPU] for where, takes in used if where == name))
        for name, place, gpus in sorted(case["nodes"])
    )
    whole = total(counted(item.allocatable) for item in nodes)
    tree = QueueTree(tuple(queue(*one) for one in case["queues"]))
    return pending(
        Start(nodes, whole, tree, tuple(running)), [job(*one, age=age) for age, one in enumerate(case["jobs"])]
    )


def turns(case: dict[str, Any]) -> dict[str, Turn]:
    return {turn.job.name: turn for turn in answer(case).turns}


@pytest.mark.parametrize("case", ANSWERS, ids=range(len(ANSWERS)))
def test_kai_does_the_same(case: dict[str, Any]) -> None:
    found = turns(case)
    starts = {name: turn for name, turn in found.items() if turn.outcome is Outcome.STARTS}
    assert {name: sorted(pod.node for pod in turn.pods) for name, turn in starts.items()} == case["starts"]
    evicts = {
        name: ["reclaim" if turn.is_reclaim else "preempt", sorted(one.name for one in (*turn.evicted, *turn.moved))]
        for name, turn in found.items()
        if turn.outcome is Outcome.EVICTS
    }
    assert evicts == case.get("evicts", evicts)


ONE_RACK = {"nodes": [[f"n{at}", ["a", "1"], 8] for at in range(4)] + [["other", ["b", "2"], 0]], "held": []}
"""Four nodes of 8 GPUs."""
TWO_QUEUES = [["top", None], ["left", "top", 16], ["right", "top", 16]]


def case(jobs: Sequence[Sequence[Any]], **more: Any) -> dict[str, Any]:
    return {**ONE_RACK, "queues": TWO_QUEUES, "jobs": [[*one, None] if len(one) == 5 else one for one in jobs], **more}


def test_the_queue_that_holds_the_smaller_part_of_its_share_goes_first() -> None:
    found = answer(case([("a", "left", 100, 1, 8), ("b", "left", 100, 1, 8), ("c", "right", 100, 1, 8)]))
    assert [turn.job.name for turn in found.turns] == ["a", "c", "b"]


def test_in_a_queue_priority_goes_before_age() -> None:
    found = answer(case([("old", "left", 100, 1, 8), ("new", "left", 125, 1, 8)]))
    assert [turn.job.name for turn in found.turns] == ["new", "old"]


def test_what_can_never_run_takes_nothing_from_the_others() -> None:
    found = turns(case([("large", "left", 125, 3, 8), ("small", "left", 100, 2, 8)]))
    assert (found["large"].outcome, found["small"].outcome) == (Outcome.REFUSED, Outcome.STARTS)
    refused = found["large"].refusal
    assert refused is not None
    assert (refused.reason, refused.queue, refused.held, refused.asked) == ("NonPreemptibleOverQuota", "left", 0, 24)


def test_of_two_that_fit_one_by_one_the_second_waits_for_the_first() -> None:
    found = turns(case([("first", "left", 100, 2, 8), ("second", "left", 100, 1, 8)]))
    assert found["first"].outcome is Outcome.STARTS
    assert (found["second"].outcome, found["second"].ahead) == (Outcome.REFUSED, ("first",))


def test_what_takes_its_nodes_is_named() -> None:
    """Work that can be preempted may exceed the quota, but the nodes are taken."""
    found = turns(case([("first", "left", 60, 3, 8), ("second", "left", 50, 2, 8)]))
    assert (found["second"].outcome, found["second"].ahead) == (Outcome.WAITS, ("first",))
    assert turns(case([("alone", "left", 50, 5, 8)]))["alone"].outcome is Outcome.NO_ROOM


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
    assert (found.outcome, found.is_reclaim, [one.name for one in found.evicted]) == (Outcome.EVICTS, False, ["new"])


@pytest.mark.parametrize(("pods", "outcome"), [(2, Outcome.EVICTS), (3, Outcome.NO_ROOM)])
def test_no_more_is_reclaimed_than_the_fair_share(pods: int, outcome: Outcome) -> None:
    """Left holds all 32 GPUs, 16 over its quota, and right asks for its own quota, or more."""
    running = [[f"h{at}", "left", 50, "", [(f"n{at}", 8)]] for at in range(4)]
    found = turns(case([("a", "right", 50, pods, 8)], held=running))["a"]
    assert found.outcome is outcome
    assert len(found.evicted) == (pods if outcome is Outcome.EVICTS else 0)
    assert found.is_reclaim is (outcome is Outcome.EVICTS)


@pytest.mark.parametrize(("others", "outcome", "nodes"), [(2, Outcome.STARTS, ["n4"]), (1, Outcome.WAITS, [])])
def test_what_has_just_started_may_go_too(others: int, outcome: Outcome, nodes: list[str]) -> None:
    """Small has a node before large makes room for itself in the rack; with it goes old, which is the first to find
    room in the other rack.
    """
    racks = [*([f"n{at}", ["a", "1"], 8] for at in range(3)), *([f"n{at + 3}", ["b", "2"], 8] for at in range(others))]
    running = [["old", "left", 50, "", [("n0", 8)]]]
    jobs = [("large", "left", 70, 3, 8, RACK), ("small", "left", 50, 1, 8)]
    found = turns(case(jobs, nodes=racks, held=running, queues=[["top", None], ["left", "top", 64]]))
    assert found["large"].outcome is Outcome.EVICTS
    assert {one.name for one in (*found["large"].evicted, *found["large"].moved)} == {"old", "small"}
    assert (found["small"].outcome, [pod.node for pod in found["small"].pods]) == (outcome, nodes)
    assert found["small"].ahead == (("large",) if outcome is Outcome.WAITS else ())


@pytest.mark.parametrize("case", ANSWERS[:20], ids=range(20))
def test_no_node_holds_more_than_it_has(case: dict[str, Any]) -> None:
    left = {name: gpus for name, _, gpus in case["nodes"]}
    found = turns(case)
    gone = {one.name for turn in found.values() for one in (*turn.evicted, *turn.moved)}
    if any(turn.moved for turn in found.values()):
        return
    for name, *_, pods in case["held"]:
        for node_name, gpus in pods if name not in gone else ():
            left[node_name] -= gpus
    for turn in found.values():
        for pod in turn.pods:
            left[pod.node] -= dict(turn.job.asked.wanted.shapes[pod.shape].asks)[GPU]
    assert min(left.values()) >= 0


@pytest.mark.parametrize(("count", "is_cut"), [(10, False), (30, True)])
def test_that_not_all_were_tried_to_be_spared_is_told(count: int, is_cut: bool) -> None:
    running = [[f"h{at}", "left", 50, "", [("n0", 1)]] for at in range(count)]
    nodes, queues = [["n0", ["a", "1"], count]], [["top", None], ["left", "top", 8]]
    found = turns(case([("a", "left", 70, 1, count)], nodes=nodes, held=running, queues=queues))["a"]
    assert (found.outcome, len(found.evicted), found.is_cut) == (Outcome.EVICTS, count, is_cut)


@pytest.mark.parametrize(("count", "is_cut"), [(2, False), (4, True)])
def test_that_not_every_way_to_make_room_was_tried_is_told(count: int, is_cut: bool) -> None:
    """Left keeps what it holds, so what goes for right must find room elsewhere, and finds none."""
    running = [[f"h{at}", "left", 50, "", [(f"n{at // 4}", 3)]] for at in range(4 * count)]
    nodes = [[f"n{at}", ["a", "1"], 14] for at in range(count)]
    queues = [["top", None], ["left", "top", 12 * count], ["right", "top", 8]]
    found = turns(case([("a", "right", 50, 1, 8)], nodes=nodes, held=running, queues=queues))["a"]
    assert (found.outcome, found.is_cut) == (Outcome.NO_ROOM, is_cut)


@pytest.mark.parametrize(("gpus", "outcome"), [(8, Outcome.EVICTS), (24, Outcome.NO_ROOM)])
def test_a_gang_that_is_no_easier_than_one_that_failed_is_not_tried(gpus: int, outcome: Outcome) -> None:
    """The first cannot be preempted, and may not hold so much; that the second can KAI does not look at here."""
    first = Job("first", "left", 60, False, asked("first", 1, 24))
    second = replace(first, name="second", is_preemptible=True, asked=asked("second", 1, gpus), age=1)
    before = held("h", "left", 50, "", [("n0", 24)])
    tree = QueueTree((queue("top"), queue("left", "top", 16)))
    start = Start((node("n0", ("a", "1"), 24, 0),), Amounts(24, 64 * CORES), tree, (before,))
    found = {turn.job.name: turn.outcome for turn in pending(start, [first, second]).turns}
    assert found == {"first": Outcome.REFUSED, "second": outcome}


def test_the_next_cycle_uses_what_evictions_leave() -> None:
    running = [["wide", "left", 50, "", [(f"n{at}", 8) for at in range(4)]]]
    found = turns(case([("a", "left", 70, 1, 8), ("b", "left", 50, 1, 8)], held=running))
    assert (found["a"].outcome, found["b"].outcome) == (Outcome.EVICTS, Outcome.LATER)


def test_a_gang_without_a_queue_never_starts() -> None:
    assert turns(case([("a", "lost", 100, 1, 8)]))["a"].outcome is Outcome.NO_QUEUE


def test_space_is_what_was_there_once_all_is_given_back() -> None:
    nodes = (node("n0", ("a", "1"), 8, 8), node("n1", ("a", "1"), 8, 4))
    space, wants = Space(nodes), asked("g", 1, 1)
    before = [leaf.nodes for leaf in space.room_for(wants.wanted, LEVELS).leaves]
    space.take("n0", {GPU: 4})
    taken = [leaf.nodes for leaf in space.room_for(wants.wanted, LEVELS).leaves]
    assert taken != before
    assert [names for _, names in taken[0]] == [("n0", "n1")]
    space.give_back("n0", {GPU: 4})
    assert [leaf.nodes for leaf in space.room_for(wants.wanted, LEVELS).leaves] == before
