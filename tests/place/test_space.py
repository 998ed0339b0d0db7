"""Tests the room that nodes have left while gangs are placed on them one after the other."""

from __future__ import annotations

from kubectl_tas.facts.gpus import GPU
from kubectl_tas.place.node_cells import Cell, PlacementRequest, Room, Space, Unit, ranked, room_for, without_copy
from kubectl_tas.place.node_resources import CPU, PODS, NodeResources
from kubectl_tas.place.shapes import PodShape, Rules
from tests.place.clusters import LEVELS, node, shape

WANTED = PlacementRequest(
    Unit("g", pods=(0, 1)), (shape(1, 1), PodShape(((PODS, 1), ("x", 2)), Rules((("zone", "b"),))))
)
NODES = (node("n1", ("a", "1"), 3), node("n2", ("a", "1"), 3), node("n3", ("b", "1"), 0), node("n4", (), 1))


def cells(room: Room) -> dict[object, list[tuple[Cell, tuple[str, ...]]]]:
    return {leaf.domain: list(leaf.nodes) for leaf in room.leaves}


def test_equal_nodes_are_counted_together_in_the_domains_of_the_finest_level() -> None:
    """Amounts come by the names of their resources; nodes outside of the topology come last."""
    room = room_for(WANTED, NODES, LEVELS)
    assert (room.levels, room.resources, room.asks) == (LEVELS, (CPU, GPU, PODS, "x"), ((1, 1, 1, 0), (0, 0, 1, 2)))
    assert list(cells(room).items()) == [
        (("a", "1"), [(Cell((9, 3, 10, 0), (True, False), has_gpus=True), ("n1", "n2"))]),
        (("b", "1"), [(Cell((9, 0, 10, 0), (True, True), has_gpus=False), ("n3",))]),
        (None, [(Cell((9, 1, 10, 0), (True, False), has_gpus=True), ("n4",))]),
    ]
    assert [leaf.cells[0][1] for leaf in room.leaves] == [2, 1, 1]
    cell = room.leaves[0].cells[0][0]
    assert (room.takes(cell, 0), room.takes(cell, 1)) == (3, 0)


def test_what_is_taken_is_not_free_until_it_is_given_back() -> None:
    space = Space(NODES)
    before = cells(space.room_for(WANTED, LEVELS))
    assert before == cells(room_for(WANTED, NODES, LEVELS))
    space.take("n1", {GPU: 2, "x": 1})
    assert cells(space.room_for(WANTED, LEVELS))["a", "1"] == [
        (Cell((9, 1, 10, -1), (True, False), has_gpus=True), ("n1",)),
        (Cell((9, 3, 10, 0), (True, False), has_gpus=True), ("n2",)),
    ]
    assert (space.free_of("n1", GPU), space.free_of("n1", "x"), space.free_of("n1", "y")) == (1, -1, 0)
    assert [space.has("n1", asked) for asked in ({GPU: 1}, {GPU: 2}, {"y": 1}, {})] == [True, False, False, True]
    assert [one.free[GPU] for one in space.now()] == [1, 3, 0, 1]
    space.give_back("n1", {GPU: 2, "x": 1})
    assert cells(space.room_for(WANTED, LEVELS)) == before


def test_nodes_come_and_go() -> None:
    space = Space(NODES[:1])
    assert list(cells(space.room_for(WANTED, LEVELS))) == [("a", "1")]
    more = (node("m1", ("c", "1"), 2), node("m2", ("a", "1"), 3))
    space.add(more)
    found = cells(space.room_for(WANTED, LEVELS))
    assert found == cells(room_for(WANTED, (*NODES[:1], *more), LEVELS))
    assert found == cells(Space((*NODES[:1], *more)).room_for(WANTED, LEVELS))
    space.take("n1", {GPU: 1})
    space.remove(more)
    assert list(space.nodes) == ["n1"]
    assert cells(space.room_for(WANTED, LEVELS)) == {("a", "1"): [(Cell((9, 2, 10, 0), (True, False), True), ("n1",))]}


def test_what_pods_that_go_give_back_is_not_idle_at_once() -> None:
    space = Space(NODES[:1])
    space.take("n1", {GPU: 2})
    space.room_for(WANTED, LEVELS)
    space.keep_idle(is_kept=True)
    space.give_back("n1", {GPU: 2})
    ((cell, _),) = cells(space.room_for(WANTED, LEVELS))["a", "1"]
    assert (cell.free, cell.idle) == ((9, 3, 10, 0), (9, 1, 10, 0))
    space.keep_idle(is_kept=False)
    ((cell, _),) = cells(space.room_for(WANTED, LEVELS))["a", "1"]
    assert (cell.free, cell.idle) == ((9, 3, 10, 0), ())


def test_copies_of_a_gang_are_placed_in_their_order_and_named_without_it() -> None:
    unit = Unit("g", 0, None, (), (Unit("b", 1, None, (0,)), Unit("a", None, 1, (0, 1))))
    wanted = PlacementRequest(unit, WANTED.shapes)
    assert wanted.times(1) is wanted
    twice = wanted.times(2).unit
    assert (twice.name, twice.required, twice.pods) == ("g", None, ())
    assert [one.name for one in twice.units] == [
        "g", "0000/g", "0000/b", "0000/a", "0001/g", "0001/b", "0001/a",
    ]  # fmt: skip
    assert [(one.required, one.preferred, one.all_pods) for one in twice.below] == [(0, None, (0, 0, 1))] * 2
    assert [without_copy(name) for name in ("0001/a", "a")] == ["a", "a"]
    assert [(one.name, one.pods) for one in ranked(unit).units] == [
        ("", ()), ("/000001", (0,)), ("/000000", (0, 1)),
    ]  # fmt: skip


def test_a_node_without_gpus_takes_no_pod_that_asks_for_more_than_it_has() -> None:
    few = NodeResources("n", {}, {}, {CPU: 1})
    room = room_for(PlacementRequest(Unit("g"), (shape(0, 2),)), (few,), ())
    assert [(leaf.domain, room.takes(cell, 0)) for leaf in room.leaves for cell, _ in leaf.cells] == [((), 0)]
