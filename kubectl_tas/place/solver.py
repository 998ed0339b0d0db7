"""Asks CP-SAT, the solver of OR-Tools (optional extra ``kubectl-tas[fit]``), whether a placement exists. If none
exists, finds the most pods that have one, or the fewest nodes to mend.

A unit with a required level gets one domain of that level. Equal nodes are filled by patterns: a pattern is a number of
pods of each shape that fills one node. The solver chooses how many nodes get each pattern.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from kubectl_tas.base.late import dataclass
from kubectl_tas.place.node_cells import Cell, LeafDomain, Room, Unit
from kubectl_tas.place.node_resources import Domain

MAX_PATTERNS = 200
"""Most patterns for equal nodes; beyond that number, each node is modeled on its own."""
MAX_PODS = 10**9
"""Most pods of one shape on a node: more than any gang has."""
MAX_EFFORT = 20
"""Most effort of the solver, in its own seconds, which do not depend on the machine."""
MAX_EFFORT_FOR_BEST = 4
"""Most effort if only suggestions depend on the answer."""

MAX_AMOUNT = 2**60
"""The largest amount that the solver can count."""


def is_installed() -> bool:
    """Whether the solver is installed."""
    return find_spec("ortools") is not None


def solve(room: Room, unit: Unit) -> bool | None:
    """Returns whether a placement exists; None if the solver is not installed, or gives up."""
    model = _model(room, unit, {})
    return None if model is None else model.answer()


def most_pods(room: Room, unit: Unit) -> list[tuple[int, ...]] | None:
    """Returns the shapes of the most pods that fit at once, by unit with pods, in the order of ``units``. Each of these
    units keeps at least one pod. Returns None if no such pods fit, or if the answer is unknown.
    """
    model = _model(room, unit, {}, all_pods=False)
    if model is None:
        return None
    placed = [count for counts in model.counts for count in counts.values()]
    if model.answer(-sum(placed)) is not True or not model.is_best:
        return None
    return [
        tuple(shape for shape, count in counts.items() for _ in range(model.value(count))) for counts in model.counts
    ]


@dataclass(frozen=True, slots=True)
class Mended:
    """A node as it would be after mending."""

    cell: Cell
    cost: int
    """Cost of mending the node. Of equally many nodes, those with the least total cost are chosen."""


def fewest_nodes(room: Room, unit: Unit, mended: Mapping[str, Mended]) -> Iterator[tuple[str, ...]]:
    """Yields the names of the fewest nodes that make a placement possible once they are mended. Then yields further
    sets of the same size, with other domains or unequal nodes. Yields nothing if no set is enough, or if the answer is
    unknown.
    """
    model = _model(room, unit, mended)
    if model is None or not model.mends:
        return
    most = 1 + max(mend.cost for mend in mended.values()) * len(mended)
    nodes = sum(use for use, _, _ in model.mends)
    cost = sum(use * cost for use, cost, _ in model.mends)
    fewest: int | None = None
    while model.answer(nodes * most + cost) is True and model.is_best:
        used = [(model.value(use), use, names) for use, _, names in model.mends]
        count = sum(number for number, _, _ in used)
        if count > (count if fewest is None else fewest):
            return
        fewest = count
        yield tuple(sorted(name for number, _, names in used for name in names[:number]))
        model.exclude([(use, number) for number, use, _ in used if number])


def _model(room: Room, unit: Unit, mended: Mapping[str, Mended], *, all_pods: bool = True) -> _Model | None:
    """Returns the model; None if the solver is not installed, or an amount is too large to count."""
    cells = (cell for leaf in room.leaves for cell, _ in leaf.cells)
    rows = (*room.asks, *(cell.free for cell in cells), *(mend.cell.free for mend in mended.values()))
    if not is_installed() or max((amount for row in rows for amount in row), default=0) > MAX_AMOUNT:
        return None
    return _Model(room, unit, mended, all_pods=all_pods)


class _Scope:
    """The places that pods of a unit may use."""

    def __init__(self, depth: int | None, domains: dict[Domain, Any], *, is_inside: bool) -> None:
        self.depth = depth
        """Number of labels of the domains; None if the unit is bound to no domain."""
        self.domains = domains
        """Variable of each domain that is 1 if the domain is chosen."""
        self.is_inside = is_inside
        """Whether nodes outside of the topology are excluded."""


@dataclass(frozen=True)
class _Nodes:
    """Equal nodes of a leaf."""

    cell: Cell
    then: Cell | None
    """Cell of each node after mending; None if mending changes nothing."""
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
        """Number of placed pods by shape, for each unit with pods."""
        self.mends: list[tuple[Any, int, tuple[str, ...]]] = []
        """Number of mended nodes among some equal nodes, the cost of each, and their names."""
        self.is_best = False
        """Whether no answer is better than the last one."""
        taken: list[dict[int, list[Any]]] = [{} for _ in room.leaves]
        self._unit(unit, _Scope(None, {}, is_inside=False), taken)
        for leaf, by_shape in enumerate(taken):
            if by_shape:
                self._leaf(leaf, by_shape)

    def answer(self, least: Any = None) -> bool | None:
        """Returns whether a placement exists, one with the smallest ``least``; None if the solver gives up."""
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
        """Returns the value of a variable in the last answer."""
        return int(self._solver.value(variable))

    def exclude(self, answer: Sequence[tuple[Any, int]]) -> None:
        """Rules an answer out: these variables may not all reach their values again."""
        same = []
        for variable, value in answer:
            least = self._model.new_int_var(0, value, "")
            self._model.add_min_equality(least, [variable, value])
            same.append(least)
        self._model.add(sum(same) <= sum(value for _, value in answer) - 1)

    def _unit(self, unit: Unit, above: _Scope, taken: list[dict[int, list[Any]]]) -> None:
        if not unit.all_pods:
            return
        scope = self._scope(unit, above)
        counts: dict[int, Any] = {}
        for shape in sorted(set(unit.pods)):
            count, amounts = unit.pods.count(shape), []
            for leaf, room_of_leaf in enumerate(self._room.leaves):
                chosen = _chosen(scope, room_of_leaf.domain)
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
        prefixes = dict.fromkeys(leaf.domain[:depth] for leaf in self._room.leaves if leaf.domain is not None)
        domains = {domain: self._model.new_bool_var("") for domain in prefixes}
        self._model.add_exactly_one(domains.values())
        for domain, chosen in domains.items():
            if above.depth is not None:
                self._model.add_implication(chosen, above.domains[domain[: above.depth]])
        return _Scope(depth, domains, is_inside=is_inside)

    def _takes(self, leaf: int, shape: int) -> int:
        """Returns how many pods of a shape a leaf could have room for, with mending."""
        room = self._room
        return sum(
            len(nodes.names) * max(room.takes(nodes.cell, shape), room.takes(nodes.then, shape) if nodes.then else 0)
            for nodes in self._nodes[leaf]
        )

    def _leaf(self, leaf: int, by_shape: dict[int, list[Any]]) -> None:
        """Limits what pods take from a leaf to what its nodes have."""
        shapes = sorted(by_shape)
        held: dict[int, list[Any]] = {shape: [] for shape in shapes}
        for nodes in self._nodes[leaf]:
            count: Any = len(nodes.names)
            if nodes.then is not None:
                use = self._model.new_int_var(0, len(nodes.names), "")
                self.mends.append((use, nodes.cost, nodes.names))
                self._cell(nodes.then, use, len(nodes.names), held)
                count = len(nodes.names) - use
            self._cell(nodes.cell, count, len(nodes.names), held)
        for shape, amounts in by_shape.items():
            self._model.add(sum(amounts) <= sum(held[shape]))

    def _cell(self, cell: Cell, count: Any, most: int, held: dict[int, list[Any]]) -> None:
        """Adds to ``held`` the pods that ``count`` nodes of a cell, at most ``most``, can hold."""
        shapes = tuple(held)
        if not any(self._room.takes(cell, shape) for shape in shapes):
            return
        if (cell, shapes) not in self._known:
            self._known[cell, shapes] = _patterns(self._room, cell, shapes)
        patterns = self._known[cell, shapes]
        if patterns is None:
            self._each_node(cell, count, most, held)
            return
        uses = [self._model.new_int_var(0, most, "") for _ in patterns]
        self._model.add(sum(uses) <= count)
        for column, shape in enumerate(shapes):
            held[shape] += [use * pattern[column] for use, pattern in zip(uses, patterns, strict=True)]

    def _each_node(self, cell: Cell, count: Any, most: int, held: dict[int, list[Any]]) -> None:
        for number in range(most):
            is_there = self._model.new_bool_var("")
            self._model.add(count >= number + 1).only_enforce_if(is_there)
            amounts = {shape: self._model.new_int_var(0, self._room.takes(cell, shape), "") for shape in held}
            for column, free in enumerate(cell.free):
                asks = self._room.asks
                requested = [asks[shape][column] * amount for shape, amount in amounts.items() if asks[shape][column]]
                if requested:
                    self._model.add(sum(requested) <= max(0, free) * is_there)
            for shape, amount in amounts.items():
                held[shape].append(amount)


def _alike(leaf: LeafDomain, mended: Mapping[str, Mended]) -> Iterator[_Nodes]:
    """Yields groups of nodes of a leaf that are equal now and after mending."""
    for cell, names in leaf.nodes:
        alike: dict[Mended | None, list[str]] = {}
        for name in names:
            alike.setdefault(mended.get(name), []).append(name)
        for then, same in alike.items():
            yield _Nodes(cell, then.cell if then else None, then.cost if then else 0, tuple(same))


def _chosen(scope: _Scope, domain: Domain | None) -> Any:
    """Returns whether pods of the scope may be in a leaf: a variable of the solver, or 1; None if they may not."""
    if domain is None:
        return None if scope.is_inside else 1
    return 1 if scope.depth is None else scope.domains[domain[: scope.depth]]


def _patterns(room: Room, cell: Cell, shapes: tuple[int, ...]) -> list[tuple[int, ...]] | None:
    """Returns the ways to fill a node, with no room for more of the last shape; None if there are too many."""
    patterns = []
    for pattern in _fillings(room, cell, shapes, cell.free):
        patterns.append(pattern)
        if len(patterns) > MAX_PATTERNS:
            return None
    return patterns


def _fillings(room: Room, cell: Cell, shapes: tuple[int, ...], free: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    shape, smaller_shapes = shapes[0], shapes[1:]
    most = min(room.takes(Cell(free, cell.admits, cell.has_gpus), shape), MAX_PODS)
    if not smaller_shapes:
        yield (most,)
        return
    for count in range(most, -1, -1):
        free_after = tuple(
            available - count * requested for available, requested in zip(free, room.asks[shape], strict=True)
        )
        for filling in _fillings(room, cell, smaller_shapes, free_after):
            yield (count, *filling)
