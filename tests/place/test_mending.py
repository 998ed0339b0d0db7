"""Tests remedies for a gang without a placement, by trying every remedy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_tas.facts.gpus import GPU
from kubectl_tas.gangs.gang import Gang
from kubectl_tas.place import mending, solver
from kubectl_tas.place.gangs_to_place import GangToPlace
from kubectl_tas.place.kai_allocate import find
from kubectl_tas.place.node_cells import PlacementRequest, Unit, room_for
from kubectl_tas.place.node_resources import PODS, NodeResources, RunningPod, Taint
from kubectl_tas.place.shapes import PodShape, Rules
from kubectl_tas.resolve.pools import Submission
from tests.place.clusters import LEVELS, Case, any_placement, cases, node, shape

pytestmark = pytest.mark.solver


@st.composite
def taken(draw: st.DrawFn) -> Case:
    """Of some nodes of a case pods hold GPUs, or are kept by their node."""
    nodes, wanted, _ = draw(cases())
    nodes = [with_pod(item, draw(st.integers(0, 3)), draw(st.integers(0, 4)) == 0) for item in nodes]
    return nodes, wanted, room_for(wanted, tuple(nodes), LEVELS)


def with_pod(item: NodeResources, gpus: int, is_of_node: bool) -> NodeResources:
    asks = {GPU: gpus, PODS: 1}
    has = {name: amount + asks.get(name, 0) for name, amount in item.free.items()}
    pods = (RunningPod("team", f"of-{item.name}", "", asks, is_of_node),) if gpus else ()
    return replace(item, allocatable=has if gpus else item.free, pods=pods)


def fewest(nodes: Sequence[NodeResources], mended: Sequence[NodeResources], wanted: PlacementRequest) -> int | None:
    """How many nodes must be mended, by trying all sets of them; None where no set is enough."""
    changed = [place for place, (old, new) in enumerate(zip(nodes, mended, strict=True)) if old is not new]
    for count in range(len(changed) + 1):
        for places in combinations(changed, count):
            if any_placement([mended[n] if n in places else item for n, item in enumerate(nodes)], wanted):
                return count
    return None


@pytest.mark.parametrize("way", [mending.freed, mending.admitting])
@settings(max_examples=100, deadline=None)
@given(taken())
def test_the_nodes_to_mend_are_enough_and_no_fewer_are(way: object, case: Case) -> None:
    assert callable(way)
    nodes, wanted, _ = case
    mended = way(tuple(nodes))
    expected = fewest(nodes, mended, wanted)
    if expected == 0:
        return
    found = mending.enough(wanted, tuple(nodes), mended, LEVELS)
    if found:
        assert expected is not None
        assert len(found) == expected or not any(kai_finds(nodes, mended, wanted, expected))
        after = [new if new.name in found else old for old, new in zip(nodes, mended, strict=True)]
        assert find(room_for(wanted, tuple(after), LEVELS), wanted.unit) is not None
        assert any_placement(after, wanted)
    else:
        assert expected is None or not any(kai_finds(nodes, mended, wanted, len(nodes)))


def kai_finds(
    nodes: Sequence[NodeResources], mended: Sequence[NodeResources], wanted: PlacementRequest, count: int
) -> Iterator[bool]:
    """For each set of so many nodes whether KAI finds a placement once they are mended."""
    for places in combinations(range(len(nodes)), count):
        after = [mended[n] if n in places else item for n, item in enumerate(nodes)]
        yield find(room_for(wanted, tuple(after), LEVELS), wanted.unit) is not None


@settings(max_examples=100, deadline=None)
@given(cases())
def test_the_most_pods_are_as_many_as_fit(case: Case) -> None:
    nodes, wanted, room = case
    leaves = [unit for unit in wanted.unit.units if unit.pods]
    found = solver.most_pods(room, wanted.unit)
    best = max((sum(map(len, kept)) for kept in fewer(leaves) if fits(nodes, wanted, leaves, kept)), default=None)
    assert (None if found is None else sum(map(len, found))) == (best if leaves else 0)
    if found:
        assert fits(nodes, wanted, leaves, found)


def fewer(leaves: Sequence[Unit]) -> Iterator[list[tuple[int, ...]]]:
    """All ways to leave pods out, of which no leaf loses all."""
    if not leaves:
        yield []
        return
    for size in range(1, len(leaves[0].pods) + 1):
        for kept in set(combinations(leaves[0].pods, size)):
            for others in fewer(leaves[1:]):
                yield [kept, *others]


def fits(
    nodes: Sequence[NodeResources], wanted: PlacementRequest, leaves: Sequence[Unit], kept: Sequence[tuple[int, ...]]
) -> bool:
    left = {leaf.name: pods for leaf, pods in zip(leaves, kept, strict=True)}

    def with_pods(unit: Unit) -> Unit:
        return replace(unit, pods=left.get(unit.name, ()), below=tuple(map(with_pods, unit.below)))

    return any_placement(nodes, replace(wanted, unit=with_pods(wanted.unit)))


def test_more_nodes_are_freed_where_kai_finds_nothing_with_the_fewest() -> None:
    """With one of several nodes there is a placement, which KAI's order of names does not come to."""
    sizes = [("2", 3, 2), ("1", 3, 3), ("2", 1, 1)]
    nodes = tuple(with_pod(node(f"n{n}", ("a", rack), free), held, False) for n, (rack, free, held) in enumerate(sizes))
    below = tuple(Unit(name, 1, None, (0,) * pods) for name, pods in (("ga", 2), ("gb", 3), ("gc", 2)))
    wanted = PlacementRequest(Unit("g", None, None, (), below), (shape(1, 1),))
    names = mending.enough(wanted, nodes, mending.freed(nodes), LEVELS)
    after = [new if new.name in names else old for old, new in zip(nodes, mending.freed(nodes), strict=True)]
    assert names
    assert find(room_for(wanted, tuple(after), LEVELS), wanted.unit) is not None


def test_of_as_many_nodes_those_with_fewer_pods_are_freed() -> None:
    rack = [with_pod(node(f"n{n}", ("a", "1"), 0), 2, False) for n in range(3)]
    busy = replace(rack[0], pods=(*rack[0].pods, RunningPod("team", "other", "", {PODS: 1}, False)))
    nodes = (busy, *rack[1:])
    wanted = PlacementRequest(Unit("g", 1, None, (0, 0)), (shape(2, 1),))
    assert mending.enough(wanted, nodes, mending.freed(nodes), LEVELS) == ("n1", "n2")


def test_a_freed_node_keeps_its_own_pods() -> None:
    own, others = (RunningPod("x", name, "", {GPU: 2, PODS: 1}, is_of_node=name == "own") for name in ("own", "others"))
    has = {GPU: 8, PODS: 9}
    both = NodeResources("both", {}, has, {GPU: 4, PODS: 7}, pods=(own, others))
    kept = NodeResources("kept", {}, has, {GPU: 6, PODS: 8}, pods=(own,))
    mended, same = mending.freed((both, kept))
    assert mended.free == {GPU: 6, PODS: 8}
    assert same is kept


def test_an_admitting_node_has_no_cordon_and_no_taint_but_those_that_kubernetes_takes_away() -> None:
    lasts, goes, cordon = (
        Taint(key, "", "NoSchedule")
        for key in ("node.kubernetes.io/disk-pressure", "gpu", "node.kubernetes.io/unschedulable")
    )
    nodes = (
        NodeResources("a", {}, {}, {}, (lasts, goes, cordon), is_cordoned=True),
        NodeResources("b", {}, {}, {}, (goes,)),
        NodeResources("c", {}, {}, {}, is_cordoned=True),
        NodeResources("d", {}, {}, {}),
    )
    found = mending.admitting(nodes)
    assert [(node.name, node.taints, node.is_cordoned) for node in found] == [
        ("a", (lasts,), False),
        ("b", (), False),
        ("c", (), False),
        ("d", (), False),
    ]
    assert found[3] is nodes[3]


def of_two(*nodes: NodeResources) -> list[mending.PlacementChange]:
    """The nodes to mend for a gang of a pod of 8 GPUs on each node."""
    pod = PodShape(((GPU, 8), (PODS, 1)), Rules())
    wanted = PlacementRequest(Unit("g", pods=(0,) * len(nodes)), (pod,))
    item = GangToPlace(cast(Submission, None), Gang("g", 1, None, 8), (), {None: (pod,)}, re.compile(""))
    return list(mending.mending(item, wanted, nodes))


def test_what_is_to_be_done_to_several_nodes_is_one_line() -> None:
    """Each taint once, with its nodes, and not those that a cordon adds; pods by their PodGroups."""
    full, none = {GPU: 8, PODS: 9}, {GPU: 0, PODS: 9}
    cordon = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
    gpu, slow = Taint("gpu", "yes", "NoSchedule"), Taint("slow", "", "NoExecute")
    names = [f"n{number}" for number in range(8)]
    closed = [
        NodeResources(name, {}, full, full, (cordon, gpu, slow) if number else (gpu,), is_cordoned=number > 0)
        for number, name in enumerate(names)
    ]
    (admit,) = of_two(*closed)
    assert (admit.kind, admit.nodes, admit.pods, admit.fewer) == ("admit", tuple(names), (), 0)
    assert admit.text == (
        "uncordon n1, n2, n3, n4, n5, n6 and 1 more; "
        "remove the taint gpu=yes:NoSchedule from n0, n1, n2, n3, n4, n5 and 2 more; "
        "remove the taint slow:NoExecute from n1, n2, n3, n4, n5, n6 and 1 more"
    )
    taken = [
        NodeResources(
            name, {}, full, none, pods=(RunningPod("x", f"p{name}", group, {GPU: 8, PODS: 1}, is_of_node=False),)
        )
        for name, group in (("a", "g"), ("b", ""), ("c", "g"), ("d", "h"))
    ]
    (free,) = of_two(*taken)
    assert (free.kind, free.nodes, free.pods) == ("free", ("a", "b", "c", "d"), ("x/pa", "x/pb", "x/pc", "x/pd"))
    assert free.text == "free 4 nodes: a, b, c, d, where 4 pods of g, h would have to go"
