"""Tests whether a placement exists, by trying every placement."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from kubectl_tas.facts.gpus import GPU
from kubectl_tas.place import solver
from kubectl_tas.place.feasibility import Existence, exists
from kubectl_tas.place.kai_allocate import find
from kubectl_tas.place.node_cells import PlacementRequest, Unit, room_for
from kubectl_tas.place.node_resources import PODS
from tests.place.clusters import LEVELS, Case, any_placement, cases, node, shape


@settings(max_examples=300, deadline=None)
@given(cases(shapes=1))
def test_pods_that_are_alike_are_answered_exactly_without_a_solver(case: Case) -> None:
    nodes, wanted, room = case
    assert exists(room, wanted.unit).value == ("yes" if any_placement(nodes, wanted) else "no")


@pytest.mark.solver
@settings(max_examples=150, deadline=None)
@given(cases(shapes=2))
def test_the_solver_is_never_wrong(case: Case) -> None:
    nodes, wanted, room = case
    expected = any_placement(nodes, wanted)
    assert solver.solve(room, wanted.unit) is expected
    assert exists(room, wanted.unit) is (Existence.YES if expected else Existence.NO)


@settings(max_examples=200, deadline=None)
@given(cases(shapes=2))
def test_without_a_solver_no_is_no(case: Case) -> None:
    nodes, wanted, room = case
    found = exists(room, wanted.unit)
    assert found is Existence.UNKNOWN or (found is Existence.YES) == any_placement(nodes, wanted)


@settings(max_examples=300, deadline=None)
@given(cases(shapes=2))
def test_kai_never_finds_what_does_not_exist(case: Case) -> None:
    nodes, wanted, room = case
    if find(room, wanted.unit) is not None:
        assert any_placement(nodes, wanted)


@pytest.mark.solver
def test_nodes_with_many_patterns_are_looked_at_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "MAX_PATTERNS", 1)
    nodes = [node("n1", ("a", "1"), 3), node("n2", ("a", "1"), 3)]
    for pods, expected in (((0, 0, 1, 1), True), ((0, 0, 0), False)):
        wanted = PlacementRequest(Unit("g", 1, None, pods), (shape(2, 1), shape(1, 1)))
        assert solver.solve(room_for(wanted, tuple(nodes), LEVELS), wanted.unit) is expected


def test_a_gang_may_have_thousands_of_sub_groups() -> None:
    nodes = tuple(node(f"n{n}", ("a", str(n)), 3, 2000) for n in range(3))
    nodes = tuple(replace(item, free={**item.free, GPU: 1000, PODS: 2000}) for item in nodes)
    unit = Unit("g", 0, None, (), tuple(Unit(f"part-{n}", 1, None, (0,)) for n in range(2000)))
    assert exists(room_for(PlacementRequest(unit, (shape(1, 1),)), nodes, LEVELS), unit) is Existence.YES
