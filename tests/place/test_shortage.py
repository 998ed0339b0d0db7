"""Tests what is said of a gang without a placement: which constraint fails first, and how much room there is."""

from __future__ import annotations

import pytest

from kubectl_tas.facts.gpus import GPU
from kubectl_tas.place.feasibility import Best, Lack, Shortage, best_by_level, lacking, shortage_of
from kubectl_tas.place.node_cells import PlacementRequest, Room, Unit, room_for, unusable
from kubectl_tas.place.node_resources import CPU, NodeResources, Taint
from kubectl_tas.place.shapes import Rules
from kubectl_tas.resolve.topologies import Level
from tests.place.clusters import LEVELS, node, shape

ZONE, RACK = (Level(label, label) for label in LEVELS)
NODES = (
    node("n1", ("a", "1"), 2),
    node("n2", ("a", "2"), 3),
    node("n3", ("b", "1"), 1),
    node("n4", ("b", "2"), 1),
    node("n5", ("b",), 4),
    node("n6", ("a", "1"), 4, is_cordoned=True),
)
"""Two zones of two racks each, a node outside of the topology, and one that is cordoned."""
SMALL, LARGE = shape(1, 1), shape(2, 1)


def room(unit: Unit) -> Room:
    return room_for(PlacementRequest(unit, (SMALL, LARGE)), NODES, LEVELS)


def gang(pods: int, required: int | None = None, preferred: int | None = None, large: int = 0) -> Unit:
    return Unit("g", required, preferred, (0,) * pods + (1,) * large)


@pytest.mark.parametrize(
    ("unit", "shortage"),
    [
        (gang(11), None),
        (gang(12), Shortage("g", None, 12, (Best((), 11),))),
        (gang(7, preferred=1), None),
        (gang(8, preferred=1), Shortage("g", None, 8, (Best((), 7),))),
        (gang(5, required=0), None),
        (gang(6, required=0), Shortage("g", ZONE, 6, (Best(("a",), 5), Best(("b",), 2)))),
        (gang(3, required=1), None),
        (gang(4, required=1), Shortage("g", RACK, 4, (Best(("a", "2"), 3), Best(("a", "1"), 2), Best(("b", "1"), 1)))),
        (
            gang(3, required=1, large=2),
            Shortage("g", RACK, 5, (Best(("a", "2"), 4), Best(("a", "1"), 3), Best(("b", "1"), 1))),
        ),
        (
            Unit("g", 0, None, (), (Unit("x", 1, None, (0,)), Unit("y", 1, None, (0,) * 4))),
            Shortage("y", RACK, 4, (Best(("a", "2"), 3), Best(("a", "1"), 2), Best(("b", "1"), 1))),
        ),
        (
            Unit("g", 0, None, (), (Unit("x", 1, None, (0,) * 4), Unit("y", 1, None, (0,) * 4))),
            Shortage("g", ZONE, 8, (Best(("a",), 5), Best(("b",), 2))),
        ),
    ],
    ids=range(11),
)
def test_the_first_constraint_that_fails_is_named_with_the_three_domains_that_have_the_most_room(
    unit: Unit, shortage: Shortage | None
) -> None:
    """From the gang down. Without a level the node outside of the topology counts; a preferred one leaves it out."""
    assert shortage_of(room(unit), unit, (ZONE, RACK)) == shortage


def test_a_level_in_which_no_node_is_has_no_domain() -> None:
    unit = gang(1, required=1)
    outside = room_for(PlacementRequest(unit, (SMALL,)), NODES[4:5], LEVELS)
    assert shortage_of(outside, unit, (ZONE, RACK)) == Shortage("g", RACK, 1, ())
    assert best_by_level(outside, unit, (ZONE, RACK)) == ((None, Best((), 0)),)


@pytest.mark.parametrize(
    ("unit", "best"),
    [
        (gang(4), ((RACK, Best(("a", "2"), 3)), (ZONE, Best(("a",), 4)), (None, Best((), 4)))),
        (gang(12), ((RACK, Best(("a", "2"), 3)), (ZONE, Best(("a",), 5)), (None, Best((), 11)))),
        (gang(12, preferred=1), ((RACK, Best(("a", "2"), 3)), (ZONE, Best(("a",), 5)), (None, Best((), 7)))),
        (gang(0, required=0, large=9), ((RACK, Best(("a", "1"), 1)), (ZONE, Best(("a",), 2)), (None, Best((), 2)))),
    ],
    ids=range(4),
)
def test_the_domain_of_each_level_with_the_most_room(unit: Unit, best: object) -> None:
    assert best_by_level(room(unit), unit, (ZONE, RACK)) == best


@pytest.mark.parametrize(
    ("gpus", "cpu", "lacks"),
    [
        (4, 9, ()),
        (5, 9, (Lack(GPU, 5, 4),)),
        (5, 10, (Lack(CPU, 10, 9), Lack(GPU, 5, 4))),
        (0, 10, (Lack(CPU, 10, 9),)),
    ],
)
def test_what_no_node_has_is_named_with_the_most_that_one_has(gpus: int, cpu: int, lacks: object) -> None:
    unit = Unit("g", pods=(0, 0, 1))
    there = room_for(PlacementRequest(unit, (SMALL, shape(gpus, cpu))), NODES, LEVELS)
    assert lacking(there, unit) == lacks


def test_of_pods_that_may_use_no_node_nothing_is_lacking() -> None:
    unit = gang(1)
    assert lacking(room_for(PlacementRequest(unit, (shape(9, 1),)), NODES[5:], LEVELS), unit) == ()


def test_nodes_that_cannot_be_used_are_counted_by_the_first_reason() -> None:
    """The most frequent first; with levels, also those outside of the topology by the first label that they lack."""
    tainted = NodeResources("t", {"zone": "a", "rack": "1"}, {}, {}, (Taint("gpu", "", "NoSchedule"),))
    bare = NodeResources("u", {}, {}, {})
    nodes = (*NODES, tainted, bare, node("n7", ("a", "1"), 1, is_cordoned=True))
    none = {"cordoned": 2, "with the taint gpu:NoSchedule": 1}
    assert list(unusable(nodes, (), (Rules(),)).items()) == list(none.items())
    assert list(unusable(nodes, LEVELS, (Rules(), Rules((("zone", "c"),)))).items()) == [
        ("cordoned", 2),
        ("outside of the topology, without the label rack", 1),
        ("outside of the topology, without the label zone", 1),
        ("with the taint gpu:NoSchedule", 1),
    ]
    assert unusable(NODES[:1], LEVELS, (Rules((("zone", "b"),)), Rules())) == {}
    assert unusable(NODES[:1], (), (Rules((("zone", "b"),)), Rules((("zone", "c"),)))) == {
        "without the label zone=b": 1
    }
