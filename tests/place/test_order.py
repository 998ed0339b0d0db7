"""Tests KAI's order against observed rules of its scheduler: by name, tightest domain first, no backtracking."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_tas.facts.kai import NEWEST_RELEASE, release
from kubectl_tas.place.feasibility import Existence, exists
from kubectl_tas.place.kai_allocate import find
from kubectl_tas.place.node_cells import PlacementRequest, Room, Unit, room_for
from kubectl_tas.place.node_resources import NodeResources
from tests.place.clusters import LEVELS, node, shape

RACK, ZONE = 1, 0
ANSWERS = json.loads((Path(__file__).parent / "answers_of_kai_0_17.json").read_text())
"""Clusters and gangs made by chance, each with whether the scheduler of KAI 0.17.0 places the gang, as its own snapshot
tool says. Of those that it does not place two in three have a placement.
"""

BY_RELEASE = json.loads((Path(__file__).parent / "answers_by_release.json").read_text())
"""The same by release, as the tools of 0.12.23, 0.13.4, 0.14.7, 0.15.3, 0.16.8 and 0.17.0 say: mostly gangs that some
of them place, and others not.
"""


def racks(*sizes: int, zones: str = "") -> Room:
    """Racks 1, 2, ... with so many nodes of one GPU, in zone a or in those named, for pods that ask for one GPU."""
    nodes = tuple(
        node(f"n{rack}-{number}", (zones[rack - 1] if zones else "a", str(rack)), 1)
        for rack, size in enumerate(sizes, start=1)
        for number in range(size)
    )
    return room_for(PlacementRequest(Unit("g"), (shape(1, 1),)), nodes, LEVELS)


def part(name: str, pods: int, required: int | None = RACK, preferred: int | None = None) -> Unit:
    return Unit(name, required, preferred, (0,) * pods)


def gang(*parts: Unit, required: int | None = None, preferred: int | None = None) -> Unit:
    return Unit("g", required, preferred, (), parts)


def by_greed(sizes: Sequence[int], groups: Sequence[int]) -> bool:
    """Whether groups in order, each in the tightest rack that has room, all find one."""
    free = list(sizes)
    for pods in groups:
        racks = [index for index, left in enumerate(free) if left >= pods]
        if not racks:
            return False
        free[min(racks, key=lambda index: free[index])] -= pods
    return True


def unit_of(told: dict[str, Any]) -> Unit:
    below = tuple(map(unit_of, told["below"]))
    return Unit(told["name"], told["required"], told["preferred"], tuple(told["pods"]), below)


def told(case: dict[str, Any]) -> tuple[tuple[NodeResources, ...], PlacementRequest]:
    """The nodes and the gang of a case."""
    nodes = tuple(
        node(f"n{index}", place, gpus, cpu, is_cordoned=is_cordoned)
        for index, (place, gpus, cpu, is_cordoned) in enumerate(case["nodes"])
    )
    return nodes, PlacementRequest(unit_of(case["gang"]), tuple(shape(gpus, cpu) for gpus, cpu in case["shapes"]))


@pytest.mark.parametrize("case", ANSWERS, ids=range(len(ANSWERS)))
def test_kai_gives_the_same_answer(case: dict[str, Any]) -> None:
    nodes, wanted = told(case)
    room = room_for(wanted, nodes, LEVELS)
    assert (find(room, wanted.unit) is not None) is case["found"]
    assert not case["found"] or exists(room, wanted.unit) is not Existence.NO


@pytest.mark.parametrize("case", BY_RELEASE, ids=range(len(BY_RELEASE)))
def test_each_release_gives_the_same_answer(case: dict[str, Any]) -> None:
    nodes, wanted = told(case)
    known = {name: release(name) or NEWEST_RELEASE for name in case["found"]}
    by_release = {name: replace(wanted, release=found) for name, found in known.items()}
    found = {name: find(room_for(item, nodes, LEVELS), item.unit) is not None for name, item in by_release.items()}
    assert found == case["found"]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.lists(st.integers(1, 4), min_size=1, max_size=5))
def test_nothing_is_promised_that_greed_denies(sizes: list[int], groups: list[int]) -> None:
    unit = gang(*(part(f"group-{index}", pods) for index, pods in enumerate(groups)))
    assert (find(racks(*sizes), unit) is not None) == by_greed(sizes, groups)


def test_a_gang_stays_pending_though_there_is_a_placement() -> None:
    """Two and two fill the rack of four; by name three come last, and the rack of three is taken."""
    room = racks(4, 3)
    first = gang(part("a", 2), part("b", 2), part("c", 3))
    assert (find(room, first), exists(room, first)) == (None, Existence.YES)
    assert find(room, gang(part("b", 2), part("c", 2), part("a", 3))) is not None


@pytest.mark.parametrize(("name", "is_found"), [("any", False), ("zz-any", True)])
def test_a_catch_all_takes_what_others_need_unless_it_comes_last(name: str, is_found: bool) -> None:
    unit = gang(part(name, 1, None, RACK), part("m", 2), part("n", 2))
    assert (find(racks(3, 2), unit) is not None) is is_found
    assert exists(racks(3, 2), unit) is Existence.YES


def test_the_unit_above_does_go_on_to_its_next_domain() -> None:
    """In zone a both racks have room for one group each, but not for these two."""
    room = racks(3, 1, 2, 2, zones="aabb")
    found = find(room, gang(part("a", 2), part("b", 2), required=ZONE))
    assert found == {"a": {("b", "3"): 2}, "b": {("b", "4"): 2}}


def test_a_preferred_level_is_tried_first() -> None:
    assert find(racks(2, 4), part("g", 2, None, RACK)) == {"g": {("a", "1"): 2}}
    assert find(racks(2, 2), part("g", 3, None, RACK)) is not None
    assert find(racks(2, 2, zones="ab"), part("g", 3, ZONE, RACK)) is None


def test_nodes_outside_of_the_topology_are_no_room_for_a_preferred_level_either() -> None:
    nodes = (node("in", ("a", "1"), 1), node("out", ("a",), 4))
    room = room_for(PlacementRequest(Unit("g"), (shape(1, 1),)), nodes, LEVELS)
    assert find(room, part("g", 2, None, RACK)) is None
    assert exists(room, part("g", 2, None, RACK)) is Existence.NO
    assert find(room, part("g", 5, None)) is not None


def test_a_level_is_not_found_when_all_nodes_share_a_finer_one() -> None:
    """KAI counts from the smallest domain that all nodes are in, and then sees no zone with room."""
    assert find(racks(4), part("g", 2, ZONE)) is None
    assert exists(racks(4), part("g", 2, ZONE)) is Existence.YES
    assert find(racks(4, 1), part("g", 2, ZONE)) is not None


def test_room_is_counted_by_a_pod_that_asks_for_the_most_of_everything() -> None:
    """One pod wants the GPUs, another the cores: each has its node, but KAI counts nodes that have both."""
    nodes = (node("gpus", ("a", "1"), 2, 1), node("cores", ("a", "1"), 1, 4), node("other", ("a", "2"), 0))
    wanted = PlacementRequest(Unit("g", RACK, None, (0, 1)), (shape(2, 1), shape(1, 4)))
    room = room_for(wanted, nodes, LEVELS)
    assert find(room, wanted.unit) is None
    assert exists(room, wanted.unit) is not Existence.NO
