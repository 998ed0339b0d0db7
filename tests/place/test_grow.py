"""Tests how many more racks a set of gangs needs, by placing the gangs on clusters with any number of racks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.node_places import HOSTNAME
from kubectl_tas.gangs.gang import Constraint, Gang, Part, SubGroup
from kubectl_tas.place.feasibility import Lack
from kubectl_tas.place.gangs_to_place import GangToPlace
from kubectl_tas.place.grow import ClusterGrowth, Waiting, grow
from kubectl_tas.place.kai_allocate import place
from kubectl_tas.place.node_cells import Space, Unit
from kubectl_tas.place.node_resources import NodeResources, RunningPod, Taint
from kubectl_tas.place.shapes import PodShape, PodToleration, Rules
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.resolve.topologies import Level
from tests.place.clusters import LEVELS, Case, any_placement, cases, node, shape

RACK, ZONE = 1, 0
LACKS = (Lack(GPU, 4, 1),)
LEVEL = tuple(Level(label, label) for label in LEVELS)


def asked(unit: Unit, shapes: tuple[PodShape, ...]) -> GangToPlace:
    """A gang that is placed as a unit is."""
    parts: list[SubGroup] = []
    needed: dict[str | None, tuple[PodShape, ...]] = {None: tuple(shapes[pod] for pod in unit.pods)}

    def part(item: Unit, parent: str | None) -> None:
        needed[item.name] = tuple(shapes[pod] for pod in item.pods)
        parts.append(SubGroup(**vars(of(item)), parent=parent))
        for below in item.below:
            part(below, item.name)

    for below in unit.below:
        part(below, None)
    gang = Gang(**vars(of(unit)), sub_groups=tuple(parts))
    return GangToPlace(cast(Submission, None), gang, LEVEL, needed, re.compile(""))


def of(unit: Unit) -> Part:
    levels = [None if depth is None else LEVEL[depth] for depth in (unit.required, unit.preferred)]
    constraint = Constraint("topology", *levels) if unit.is_constrained else None
    return Part(unit.name, len(unit.all_pods), None, 0, constraint)


def racks(*sizes: int, zones: str = "") -> tuple[NodeResources, ...]:
    """Racks 1, 2, ... with so many nodes of one GPU, in zone a or in those named."""
    return tuple(
        node(f"n{rack}-{number}", (zones[rack - 1] if zones else "a", str(rack)), 1)
        for rack, size in enumerate(sizes, start=1)
        for number in range(size)
    )


def needs(nodes: Sequence[NodeResources], *units: Unit) -> ClusterGrowth:
    (found,) = grow([(asked(unit, (shape(1, 1),)), 1) for unit in units], tuple(nodes))
    return found


def group(name: str, pods: int, required: int | None = RACK) -> Unit:
    return Unit(name, required, None, (0,) * pods)


def test_what_there_is_room_for_needs_no_rack() -> None:
    found = needs(racks(4, 4), group("a", 4), group("b", 3))
    assert (found.gangs, found.racks_needed, found.waiting) == (2, 0, ())


def test_racks_are_counted_until_all_go() -> None:
    found = needs(racks(4, 4), group("a", 4), group("b", 3), group("c", 2), group("d", 2), group("e", 1))
    assert [(item.to_place.gang.name, item.racks) for item in found.waiting] == [("c", 1), ("d", 1)]
    assert (found.racks_needed, found.like, len(found.rack), found.word, found.gpus) == (1, ("a", "1"), 4, "rack", 4)


def test_a_gang_that_is_larger_than_a_rack_never_goes() -> None:
    found = needs(racks(4, 4), group("large", 5), group("small", 4), group("more", 4), group("most", 4))
    assert [(item.to_place.gang.name, item.racks) for item in found.waiting] == [("large", None), ("most", 1)]
    assert found.waiting[0].shortage is not None
    assert found.racks_needed == 1


def test_of_many_gangs_no_more_racks_are_asked_for_than_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other they take four."""
    monkeypatch.setattr("kubectl_tas.place.grow.MAX_PLACED", 1)
    gangs = group("g0", 4, ZONE), group("g1", 3, ZONE), group("g2", 5, ZONE), group("g3", 6)
    assert needs(racks(3, 3), *gangs).racks_needed == 3


def test_new_zones_are_as_large_as_those_that_there_are() -> None:
    """Zone a has two racks, zone b one: the first new rack is its second."""
    both = racks(2, 2, 2, zones="aab")
    assert needs(both, group("a", 4, ZONE), group("b", 4, ZONE)).racks_needed == 1
    assert needs(both, *(group(name, 4, ZONE) for name in "abc")).racks_needed == 3
    assert needs(both, group("wide", 5, ZONE)).waiting[0].racks is None


def test_racks_are_like_those_that_what_waits_can_use() -> None:
    """There are more racks without GPUs."""
    without = tuple(node(f"c{rack}", ("b", f"c{rack}"), 0) for rack in range(3))
    assert needs((*without, *racks(2)), group("a", 2), group("b", 2)).like == ("a", "1")


def test_new_racks_are_in_the_zones_that_have_fewer_and_then_in_new_ones() -> None:
    """Each with the nodes of the rack that it is like, under names of their own."""
    found = needs(racks(2, 2, 2, zones="aab"), *(group(name, 2) for name in "abcdef"))
    assert (found.racks_needed, found.like, found.gpus) == (3, ("a", "1"), 2)
    places = ("b", "new-rack-1"), ("new-zone-1", "new-rack-2"), ("new-zone-1", "new-rack-3")
    assert [(item.name, item.labels) for item in found.added] == [
        (f"new-{number}-{at}", {"zone": zone, "rack": rack, HOSTNAME: f"new-{number}-{at}"})
        for number, (zone, rack) in enumerate(places, start=1)
        for at in (1, 2)
    ]
    assert all(item.free == item.allocatable and item.is_ready for item in found.added)


def test_a_new_rack_is_a_domain_of_its_own_of_each_other_topology() -> None:
    other = replace(asked(group("other", 1, None), (shape(1, 1),)), levels=(Level("host", "host"),))
    nodes = tuple(replace(item, labels={**item.labels, "host": item.name}) for item in racks(2))
    found, _ = grow([(asked(group("one", 2), (shape(1, 1),)), 2), (other, 1)], nodes)
    assert [(item.name, item.labels["rack"], item.labels["host"]) for item in found.added] == [
        ("new-1-1", "new-rack-1", "new-1"),
        ("new-1-2", "new-rack-1", "new-1"),
    ]


def test_a_new_node_is_empty_ready_and_open() -> None:
    """Taints that people set stay, and so do the pods of a node itself."""
    taints = Taint("gpu", "", "NoSchedule"), Taint("node.kubernetes.io/not-ready", "", "NoExecute")
    own, others = (RunningPod("x", name, "", {GPU: 1}, is_of_node=name == "own") for name in ("own", "others"))
    (old,) = racks(1)
    old = replace(
        old,
        allocatable={**old.allocatable, GPU: 3},
        taints=taints,
        is_ready=False,
        is_cordoned=True,
        pods=(own, others),
    )
    tolerates = replace(shape(1, 1), rules=Rules(tolerations=(PodToleration("gpu", None, None),)))
    item = asked(group("a", 2), (tolerates,))
    (found,) = grow([(item, 1)], (old,))
    assert [(new.free[GPU], new.taints, new.is_ready, new.is_cordoned, new.pods) for new in found.added] == [
        (2, taints[:1], True, False, (own,))
    ]


def test_a_rack_without_gpus_has_none() -> None:
    assert ClusterGrowth((), (), (NodeResources("a", {}, {}, {}), *racks(2)), (), 0).gpus == 2


def test_a_level_that_no_node_has_is_named() -> None:
    """The coarsest of them: a rack to copy needs all."""
    nodes = tuple(replace(item, labels={"rack": "1"}) for item in racks(1))
    found = needs(nodes, group("a", 1))
    assert (found.missing, found.rack, found.like) == (LEVEL[0], (), ())
    assert [(one.racks, one.lacks) for one in found.waiting] == [(None, ())]
    assert needs((), group("a", 1)).missing == LEVEL[0]
    assert grow([], racks(1)) == (ClusterGrowth((), (), (), (), 0),)


def test_without_levels_nodes_are_added() -> None:
    item = replace(asked(Unit("g", None, None, (0,) * 5), (shape(1, 1),)), levels=())
    (found,) = grow([(item, 1)], racks(2))
    assert (found.racks_needed, found.word) == (3, "node")


def test_pods_that_use_other_nodes_have_their_own_racks() -> None:
    """Most racks have one GPU a node; a pod that asks for two goes to none of them."""
    large = tuple(node(f"l{number}", ("b", "l"), 2) for number in range(2))
    items = [asked(Unit(f"g{gpus}", RACK, None, (0,) * 2), (shape(gpus, 1),)) for gpus in (1, 2)]
    small, other = grow([(items[0], 3), (items[1], 2)], (*racks(2, 2), *large))
    assert (small.to_place, small.like, small.racks_needed) == ((items[0],), ("a", "1"), 0)
    assert (other.to_place, other.like, other.racks_needed) == ((items[1],), ("b", "l"), 2)


def test_of_what_no_node_has_a_rack_has_nothing_either() -> None:
    """A pod of the gang goes to these racks, the other one to no node."""
    item = asked(Unit("g", RACK, None, (0, 1)), (shape(1, 1), shape(4, 1)))
    (found,) = grow([(item, 1)], racks(2))
    assert (found.like, found.waiting) == (("a", "1"), (Waiting(item, None, found.waiting[0].shortage, LACKS),))


def test_racks_of_one_kind_are_not_for_those_that_use_another() -> None:
    """Both ask for nodes without any topology but one; what there is they share."""
    placed = asked(group("placed", 2), (shape(1, 1),))
    loose = replace(asked(Unit("loose", None, None, (0,) * 3), (shape(1, 1),)), levels=())
    first, second = grow([(placed, 2), (loose, 1)], racks(2, 1))
    assert (first.racks_needed, first.word, second.racks_needed, second.word) == (1, "rack", 2, "node")


@settings(max_examples=100, deadline=None)
@given(cases(), st.integers(1, 3))
def test_with_so_many_racks_all_go_and_with_no_fewer(case: Case, copies: int) -> None:
    nodes, wanted, _ = case
    item = asked(wanted.unit, wanted.shapes)
    (found,) = grow([(item, copies)], tuple(nodes))
    helps = all(one.racks is not None for one in found.waiting)
    for racks in range(found.racks_needed + 1 if found.at_once else 0):
        added = found.added[: racks * len(found.rack)]
        assert all_go(nodes, added, item, copies) == (helps and racks == found.racks_needed)
    if helps:
        assert any_placement((*nodes, *found.added), item.request.times(copies))


def all_go(nodes: Sequence[NodeResources], added: Sequence[NodeResources], item: GangToPlace, copies: int) -> bool:
    """Whether all copies go, where those that there is room for have gone before the nodes were added."""
    space, wait = Space(nodes), copies
    while wait and goes(space, item):
        wait -= 1
    space.add(added)
    return all(goes(space, item) for _ in range(wait))


def goes(space: Space, item: GangToPlace) -> bool:
    bound = place(space.room_for(item.request, LEVELS), item.request.unit)
    for pod in bound or ():
        space.take(pod.node, dict(item.request.shapes[pod.shape].asks))
    return bound is not None
