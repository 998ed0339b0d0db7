"""What CP-SAT answers, the solver of OR-Tools, the optional extra ``kubectl-tas[fit]``: whether a placement exists, and
else of how many pods there is one, or with how few nodes mended.

A unit with a required level has one domain of it. Nodes that are equal are filled by patterns, each so many pods of
each shape on one node that no more fit: of every pattern it is counted how many nodes have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from kubectl_tas.place.node_cells import Cell, Leaf, Room, Unit
from kubectl_tas.place.node_resources import Domain
from kubectl_tas.records import dataclass

MAX_PATTERNS = 200
"""More than these, and each node is looked at by itself."""
MAX_PODS = 10**9
"""Pods of one shape on a node: more than any gang has."""
MAX_EFFORT = 20
"""What the solver may take, in its own seconds, which do not depend on the machine."""
MAX_EFFORT_FOR_BEST = 4
"""The same, where nothing depends on the answer but what would help."""

MAX_AMOUNT = 2**60
"""More of anything than this it cannot count."""


def is_installed() -> bool:
    """Whether the solver is there."""
    return find_spec("ortools") is not None


def solve(room: Room, unit: Unit) -> bool | None:
    """Whether there is a placement; None where the solver is not there, or gives up."""
    model = _model(room, unit, {})
    return None if model is None else model.answer()


def most_pods(room: Room, unit: Unit) -> list[tuple[int, ...]] | None:
    """The shapes of the pods that fit at once, as many as possible in all, of each unit that has pods at least one, in
    the order of ``units``; None where there are none, or that is not known.
    """
    model = _model(room, unit, {}, all_pods=False)
    if model is None:
        return None
    kept = [count for counts in model.counts for count in counts.values()]
    if model.answer(-sum(kept)) is not True or not model.is_best:
        return None
    return [
        tuple(shape for shape, count in counts.items() for _ in range(model.value(count))) for counts in model.counts
    ]


@dataclass(frozen=True, slots=True)
class Mended:
    """What a node could be."""

    cell: Cell
    cost: int
    """Among as many nodes, those are taken of which the sum of these is the least."""


def fewest_nodes(room: Room, unit: Unit, mended: Mapping[str, Mended]) -> Iterator[tuple[str, ...]]:
    """The names of nodes with which there is a placement once they are mended, no more of them than are needed; then
    further ones, as few, on other domains or nodes that are not equal. Nothing where there are none, or that is not
    known.
    """
    model = _model(room, unit, mended)
    if model is None or not model.mends:
        return
    most = 1 + max(item.cost for item in mended.values()) * len(mended)
    nodes = sum(use for use, _, _ in model.mends)
    cost = sum(use * cost for use, cost, _ in model.mends)
    fewest: int | None = None
    while model.answer(nodes * most + cost) is True and model.is_best:
        found = [(model.value(use), use, names) for use, _, names in model.mends]
        count = sum(number for number, _, _ in found)
        if count > (count if fewest is None else fewest):
            return
        fewest = count
        yield tuple(sorted(name for number, _, names in found for name in names[:number]))
        model.exclude([(use, number) for number, use, _ in found if number])


def _model(room: Room, unit: Unit, mended: Mapping[str, Mended], *, all_pods: bool = True) -> _Model | None:
    """None where the solver is not there, or there is more of anything than it can count."""
    cells = (cell for leaf in room.leaves for cell, _ in leaf.cells)
    rows = (*room.asks, *(cell.free for cell in cells), *(item.cell.free for item in mended.values()))
    if not is_installed() or max((amount for row in rows for amount in row), default=0) > MAX_AMOUNT:
        return None
    return _Model(room, unit, mended, all_pods=all_pods)


class _Scope:
    """Where the pods of a unit may be."""

    def __init__(self, depth: int | None, domains: dict[Domain, Any], *, is_inside: bool) -> None:
        self.depth = depth
        """How many labels its domains have; None where it is bound to none."""
        self.domains = domains
        """Whether each domain is the chosen one."""
        self.is_inside = is_inside
        """Whether nodes outside of the topology are none."""


@dataclass(frozen=True)
class _Nodes:
    """Nodes of a leaf that are equal."""

    cell: Cell
    then: Cell | None
    """What each of them could be; None: nothing else."""
    cost: int
    names: tuple[str, ...]


class _Model:
    """The model of one unit in a room."""

    def __init__(self, room: Room, unit: Unit, mended: Mapping[str, Mended], *, all_pods: bool) -> None:
        from ortools.sat.python import cp_model  # takes most of a second

        self._status = cp_model
        self._model = cp_model.CpModel()
        self._solver = cp_model.CpSolver()
        self._room, self._all_pods = room, all_pods
        self._nodes = [list(_alike(leaf, mended)) for leaf in room.leaves]
        self._known: dict[tuple[Cell, tuple[int, ...]], list[tuple[int, ...]] | None] = {}
        self.counts: list[dict[int, Any]] = []
        """Of each unit that has pods, how many of each shape are placed."""
        self.mends: list[tuple[Any, int, tuple[str, ...]]] = []
        """How many of some equal nodes are mended, what each costs, and their names."""
        self.is_best = False
        """Whether nothing is better than the last answer."""
        taken: list[dict[int, list[Any]]] = [{} for _ in room.leaves]
        self._unit(unit, _Scope(None, {}, is_inside=False), taken)
        for leaf, by_shape in enumerate(taken):
            if by_shape:
                self._leaf(leaf, by_shape)

    def answer(self, least: Any = None) -> bool | None:
        """Whether there is a placement, one for which ``least`` is as small as can be; None where it gives up."""
        if least is not None:
            self._model.minimize(least)
        self._solver.parameters.num_workers = 1
        self._solver.parameters.random_seed = 1
        self._solver.parameters.max_deterministic_time = MAX_EFFORT if least is None else MAX_EFFORT_FOR_BEST
        status = self._solver.solve(self._model)
        self.is_best = status == self._status.OPTIMAL
        if status in (self._status.OPTIMAL, self._status.FEASIBLE):
            return True
        return False if status == self._status.INFEASIBLE else None

    def value(self, variable: Any) -> int:
        """What it is in the last answer."""
        return int(self._solver.value(variable))

    def exclude(self, found: Sequence[tuple[Any, int]]) -> None:
        """Rules an answer out: of these variables not all may be as large again."""
        same = []
        for variable, value in found:
            least = self._model.new_int_var(0, value, "")
            self._model.add_min_equality(least, [variable, value])
            same.append(least)
        self._model.add(sum(same) <= sum(value for _, value in found) - 1)

    def _unit(self, unit: Unit, above: _Scope, taken: list[dict[int, list[Any]]]) -> None:
        if not unit.all_pods:
            return
        scope = self._scope(unit, above)
        counts: dict[int, Any] = {}
        for shape in sorted(set(unit.pods)):
            count, amounts = unit.pods.count(shape), []
            for leaf, item in enumerate(self._room.leaves):
                chosen = _chosen(scope, item.domain)
                most = min(count, self._takes(leaf, shape)) if chosen is not None else 0
                if not most:
                    continue
                amount = self._model.new_int_var(0, most, "")
                self._model.add(amount <= most * chosen)
                taken[leaf].setdefault(shape, []).append(amount)
                amounts.append(amount)
            counts[shape] = count if self._all_pods else self._model.new_int_var(0, count, "")
            self._model.add(sum(amounts) == counts[shape])
        if counts and not self._all_pods:
            self._model.add(sum(counts.values()) >= 1)
            self.counts.append(counts)
        for below in unit.below:
            self._unit(below, scope, taken)

    def _scope(self, unit: Unit, above: _Scope) -> _Scope:
        is_inside = above.is_inside or unit.is_constrained
        if unit.required is None or (above.depth is not None and above.depth > unit.required):
            return _Scope(above.depth, above.domains, is_inside=is_inside)
        depth = unit.required + 1
        found = dict.fromkeys(leaf.domain[:depth] for leaf in self._room.leaves if leaf.domain is not None)
        domains = {domain: self._model.new_bool_var("") for domain in found}
        self._model.add_exactly_one(domains.values())
        for domain, chosen in domains.items():
            if above.depth is not None:
                self._model.add_implication(chosen, above.domains[domain[: above.depth]])
        return _Scope(depth, domains, is_inside=is_inside)

    def _takes(self, leaf: int, shape: int) -> int:
        """How many pods of a shape a leaf could have room for."""
        room = self._room
        return sum(
            len(item.names) * max(room.takes(item.cell, shape), room.takes(item.then, shape) if item.then else 0)
            for item in self._nodes[leaf]
        )

    def _leaf(self, leaf: int, by_shape: dict[int, list[Any]]) -> None:
        """What is taken of a leaf is no more than its nodes have."""
        shapes = sorted(by_shape)
        given: dict[int, list[Any]] = {shape: [] for shape in shapes}
        for item in self._nodes[leaf]:
            count: Any = len(item.names)
            if item.then is not None:
                use = self._model.new_int_var(0, len(item.names), "")
                self.mends.append((use, item.cost, item.names))
                self._cell(item.then, use, len(item.names), given)
                count = len(item.names) - use
            self._cell(item.cell, count, len(item.names), given)
        for shape, amounts in by_shape.items():
            self._model.add(sum(amounts) <= sum(given[shape]))

    def _cell(self, cell: Cell, count: Any, most: int, given: dict[int, list[Any]]) -> None:
        """What ``count`` nodes of a cell, no more than ``most``, may be given."""
        shapes = tuple(given)
        if not any(self._room.takes(cell, shape) for shape in shapes):
            return
        if (cell, shapes) not in self._known:
            self._known[cell, shapes] = _patterns(self._room, cell, shapes)
        patterns = self._known[cell, shapes]
        if patterns is None:
            self._each_node(cell, count, most, given)
            return
        uses = [self._model.new_int_var(0, most, "") for _ in patterns]
        self._model.add(sum(uses) <= count)
        for place, shape in enumerate(shapes):
            given[shape] += [use * pattern[place] for use, pattern in zip(uses, patterns, strict=True)]

    def _each_node(self, cell: Cell, count: Any, most: int, given: dict[int, list[Any]]) -> None:
        for number in range(most):
            is_there = self._model.new_bool_var("")
            self._model.add(count >= number + 1).only_enforce_if(is_there)
            amounts = {shape: self._model.new_int_var(0, self._room.takes(cell, shape), "") for shape in given}
            for place, free in enumerate(cell.free):
                asks = self._room.asks
                asked = [asks[shape][place] * amount for shape, amount in amounts.items() if asks[shape][place]]
                if asked:
                    self._model.add(sum(asked) <= max(0, free) * is_there)
            for shape, amount in amounts.items():
                given[shape].append(amount)


def _alike(leaf: Leaf, mended: Mapping[str, Mended]) -> Iterator[_Nodes]:
    """The nodes of a leaf that are equal, and would be if they were mended."""
    for cell, names in leaf.nodes:
        found: dict[Mended | None, list[str]] = {}
        for name in names:
            found.setdefault(mended.get(name), []).append(name)
        for then, same in found.items():
            yield _Nodes(cell, then.cell if then else None, then.cost if then else 0, tuple(same))


def _chosen(scope: _Scope, domain: Domain | None) -> Any:
    """Whether pods of the scope may be in a leaf: what the solver chooses, or 1; None where they may not."""
    if domain is None:
        return None if scope.is_inside else 1
    return 1 if scope.depth is None else scope.domains[domain[: scope.depth]]


def _patterns(room: Room, cell: Cell, shapes: tuple[int, ...]) -> list[tuple[int, ...]] | None:
    """How many pods of each shape a node may hold, where no more fit of the last one; None where those are many."""
    found = []
    for pattern in _fillings(room, cell, shapes, cell.free):
        found.append(pattern)
        if len(found) > MAX_PATTERNS:
            return None
    return found


def _fillings(room: Room, cell: Cell, shapes: tuple[int, ...], free: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    first, rest = shapes[0], shapes[1:]
    most = min(room.takes(Cell(free, cell.admits, cell.has_gpus), first), MAX_PODS)
    if not rest:
        yield (most,)
        return
    for count in range(most, -1, -1):
        left = tuple(there - count * asked for there, asked in zip(free, room.asks[first], strict=True))
        for others in _fillings(room, cell, rest, left):
            yield (count, *others)
