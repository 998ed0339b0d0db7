"""Whether a placement exists, asked of CP-SAT, the solver of OR-Tools: the optional extra ``kubectl-tas[fit]``.

A unit with a required level has one domain of it. Nodes that are equal are filled by patterns, each so many pods of
each shape on one node that no more fit: of every pattern it is counted how many nodes have it.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from kubectl_tas.place.nodes import Domain
from kubectl_tas.place.room import Cell, Room, Unit

MAX_PATTERNS = 200
"""More than these, and each node is looked at by itself."""
MAX_PODS = 10**9
"""Pods of one shape on a node: more than any gang has."""
MAX_EFFORT = 20
"""What the solver may take, in its own seconds, which do not depend on the machine."""

MAX_AMOUNT = 2**60
"""More of anything than this it cannot count."""


def is_installed() -> bool:
    """Whether the solver is there."""
    return find_spec("ortools") is not None


def solve(room: Room, unit: Unit) -> bool | None:
    """Whether there is a placement; None where the solver is not there, or gives up."""
    amounts = (
        amount for row in (*room.asks, *(cell.free for leaf in room.leaves for cell, _ in leaf.cells)) for amount in row
    )
    if not is_installed() or max(amounts, default=0) > MAX_AMOUNT:
        return None
    from ortools.sat.python import cp_model  # takes most of a second

    model = cp_model.CpModel()
    taken: list[dict[int, list[Any]]] = [{} for _ in room.leaves]
    _unit(model, room, unit, _Scope(None, {}, is_inside=False), taken)
    for leaf, by_shape in enumerate(taken):
        if by_shape:
            _leaf(model, room, leaf, by_shape)
    own = cp_model.CpSolver()
    own.parameters.num_workers = 1
    own.parameters.random_seed = 1
    own.parameters.max_deterministic_time = MAX_EFFORT
    status = own.solve(model)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return True
    return False if status == cp_model.INFEASIBLE else None


class _Scope:
    """Where the pods of a unit may be."""

    def __init__(self, depth: int | None, domains: dict[Domain, Any], *, is_inside: bool) -> None:
        self.depth = depth
        """How many labels its domains have; None where it is bound to none."""
        self.domains = domains
        """Whether each domain is the chosen one."""
        self.is_inside = is_inside
        """Whether nodes outside of the topology are none."""


def _unit(model: Any, room: Room, unit: Unit, above: _Scope, taken: list[dict[int, list[Any]]]) -> None:
    if not unit.all_pods:
        return
    scope = _scope(model, room, unit, above)
    for shape in sorted(set(unit.pods)):
        count, amounts = unit.pods.count(shape), []
        for leaf, item in enumerate(room.leaves):
            chosen = _chosen(scope, item.domain)
            if chosen is None:
                continue
            amount = model.new_int_var(0, count, "")
            model.add(amount <= count * chosen)
            taken[leaf].setdefault(shape, []).append(amount)
            amounts.append(amount)
        model.add(sum(amounts) == count)
    for below in unit.below:
        _unit(model, room, below, scope, taken)


def _scope(model: Any, room: Room, unit: Unit, above: _Scope) -> _Scope:
    is_inside = above.is_inside or unit.is_constrained
    if unit.required is None or (above.depth is not None and above.depth > unit.required):
        return _Scope(above.depth, above.domains, is_inside=is_inside)
    depth = unit.required + 1
    found = dict.fromkeys(leaf.domain[:depth] for leaf in room.leaves if leaf.domain is not None)
    domains = {domain: model.new_bool_var("") for domain in found}
    model.add_exactly_one(domains.values())
    for domain, chosen in domains.items():
        if above.depth is not None:
            model.add_implication(chosen, above.domains[domain[: above.depth]])
    return _Scope(depth, domains, is_inside=is_inside)


def _chosen(scope: _Scope, domain: Domain | None) -> Any:
    """Whether pods of the scope may be in a leaf: what the solver chooses, or 1; None where they may not."""
    if domain is None:
        return None if scope.is_inside else 1
    return 1 if scope.depth is None else scope.domains[domain[: scope.depth]]


def _leaf(model: Any, room: Room, leaf: int, by_shape: dict[int, list[Any]]) -> None:
    """What is taken of a leaf is no more than its nodes have."""
    shapes = sorted(by_shape)
    given: dict[int, list[Any]] = {shape: [] for shape in shapes}
    for cell, count in room.leaves[leaf].cells:
        patterns = _patterns(room, cell, shapes)
        if patterns is None:
            _each_node(model, room, cell, count, given)
            continue
        uses = [model.new_int_var(0, count, "") for _ in patterns]
        model.add(sum(uses) <= count)
        for place, shape in enumerate(shapes):
            given[shape] += [use * pattern[place] for use, pattern in zip(uses, patterns, strict=True)]
    for shape, amounts in by_shape.items():
        model.add(sum(amounts) <= sum(given[shape]))


def _each_node(model: Any, room: Room, cell: Cell, count: int, given: dict[int, list[Any]]) -> None:
    for _ in range(count):
        amounts = {shape: model.new_int_var(0, room.takes(cell, shape), "") for shape in given}
        for place, free in enumerate(cell.free):
            asked = [room.asks[shape][place] * amount for shape, amount in amounts.items() if room.asks[shape][place]]
            if asked:
                model.add(sum(asked) <= max(0, free))
        for shape, amount in amounts.items():
            given[shape].append(amount)


def _patterns(room: Room, cell: Cell, shapes: list[int]) -> list[tuple[int, ...]] | None:
    """How many pods of each shape a node may hold, where no more fit of the last one; None where those are many."""
    found = []
    for pattern in _fillings(room, cell, shapes, cell.free):
        found.append(pattern)
        if len(found) > MAX_PATTERNS:
            return None
    return found


def _fillings(room: Room, cell: Cell, shapes: list[int], free: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    first, rest = shapes[0], shapes[1:]
    most = min(room.takes(Cell(free, cell.admits, cell.has_gpus), first), MAX_PODS)
    if not rest:
        yield (most,)
        return
    for count in range(most, -1, -1):
        left = tuple(there - count * asked for there, asked in zip(free, room.asks[first], strict=True))
        for others in _fillings(room, cell, rest, left):
            yield (count, *others)
