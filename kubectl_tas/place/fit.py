"""A workflow and the nodes that there are in; whether its gangs have a placement, whether KAI finds it, and what would
help out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, partial
from itertools import permutations

from kubectl_tas.gangs.gang import Gang, Member
from kubectl_tas.gangs.workflow import ANY, build, gangs_of_workflow
from kubectl_tas.model.labels import NODE_POOL
from kubectl_tas.place import order
from kubectl_tas.place.exists import ALL, Existence, capacities, exists
from kubectl_tas.place.nodes import Domain, Node, Nodes
from kubectl_tas.place.room import Room, Unit, room_for, unusable, wanted_of
from kubectl_tas.place.shapes import Shape, shape_of
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.topologies import Level
from kubectl_tas.resolve.workflows import FleetGroup, FleetWorkflow, Requirement

MAX_ORDERS = 120
"""Orders of SubGroups that are tried, those of five."""
MAX_FEWER = 64
"""Ways of leaving tasks out that are tried, to find how many would fit."""
_SHOWN = 3
"""Domains that are shown of a level."""


class Outcome(Enum):
    """What becomes of a gang."""

    FITS = "fits"
    """KAI finds a placement."""
    MISSED = "missed"
    """There is one, but KAI does not find it."""
    NO_ROOM = "no-room"
    """There is none."""
    UNKNOWN = "unknown"
    """KAI finds none, and nobody knows whether there is one."""
    RUNS = "runs"
    """Pods of it are on nodes already."""


@dataclass(frozen=True, slots=True)
class Best:
    """What a domain has room for."""

    domain: Domain
    pods: int
    """No more than these; several shapes may take each other's room."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """The first constraint that fails, from the gang down."""

    unit: str
    """The gang, or a SubGroup."""
    level: Level | None
    """The level that its pods must share; None: all nodes are too few."""
    pods: int
    best: tuple[Best, ...]
    """The domains with the most room."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A preferred level that KAI does not keep."""

    unit: str
    level: Level
    domains: int
    """How many domains its pods are in."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the file with which KAI finds a placement."""

    kind: str
    """``names``, ``preferred``, ``level`` or ``tasks``."""
    text: str


@dataclass(frozen=True, slots=True)
class Fit:
    """The answer for one gang."""

    workflow: FleetWorkflow
    gang: Gang
    outcome: Outcome
    running: int
    """Pods of it that are on nodes."""
    nodes: int
    unusable: Mapping[str, int]
    """How many of the nodes it cannot use, by the reason."""
    placed: order.Placed
    """Where KAI places its pods; empty where it does not."""
    shortage: Shortage | None = None
    changes: tuple[Change, ...] = ()
    spreads: tuple[Spread, ...] = ()

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels of its topology, from the coarsest."""
        return self.workflow.pool.levels


def fit(fleet: Fleet, workflow: FleetWorkflow, nodes: Nodes) -> Iterator[Fit]:
    """The answer for each gang of a workflow, each alone on what is free."""
    shard = workflow.pool.shard_labels.get(NODE_POOL)
    own = tuple(node for node in nodes.nodes if node.labels.get(NODE_POOL) == shard)
    for group, gang in zip(workflow.groups, gangs_of_workflow(fleet, workflow), strict=True):
        found = _Question(workflow, group, gang, own).answer(nodes.running.get(gang.name, 0))
        elsewhere = len(nodes.nodes) - len(own)
        reasons = {**found.unusable, **({"of another shard of the scheduler": elsewhere} if elsewhere else {})}
        yield replace(found, nodes=len(nodes.nodes), unusable=reasons)


@dataclass(frozen=True)
class _Question:
    """One gang on the nodes of its shard."""

    workflow: FleetWorkflow
    group: FleetGroup
    gang: Gang
    nodes: tuple[Node, ...]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(level.label for level in self.workflow.pool.levels)

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """By the names of the tasks."""
        return {member.name: shape_of(member.spec) for member in self._members(set())}

    def answer(self, running: int) -> Fit:
        wanted = wanted_of(self.gang, self.labels, self.shapes)
        room = room_for(wanted, self.nodes, self.labels)
        levels = self.labels if any(unit.is_constrained for unit in wanted.unit.units) else ()
        reasons = unusable(self.nodes, levels, tuple(shape.rules for shape in wanted.shapes))
        found = Fit(self.workflow, self.gang, Outcome.RUNS, running, len(self.nodes), reasons, {})
        if running:
            return found
        shortage = _shortage(room, wanted.unit, self.workflow.pool.levels)
        placed = None if shortage else order.find(room, wanted.unit)
        if placed is not None:
            spreads = tuple(_spreads(wanted.unit, placed, self.workflow.pool.levels))
            return replace(found, outcome=Outcome.FITS, placed=placed, spreads=spreads)
        renamed = [] if shortage else _other_order(room, wanted.unit)
        existence = Existence.NO if shortage else Existence.YES if renamed else exists(room, wanted.unit)
        outcome = {
            Existence.YES: Outcome.MISSED,
            Existence.NO: Outcome.NO_ROOM,
            Existence.UNKNOWN: Outcome.UNKNOWN,
        }[existence]
        changes = (Change("names", _in_order(renamed)),) if renamed else ()
        return replace(found, outcome=outcome, shortage=shortage, changes=(*changes, *self._changes(shortage)))

    def _changes(self, shortage: Shortage | None) -> Iterator[Change]:
        """The levels and the number of tasks with which KAI finds a placement, the finest level first."""
        asked = [item for task in self.group.tasks for item in task.resource.requirements if item.required]
        for depth in sorted({item.depth for item in asked}, reverse=True):
            level = self.workflow.pool.levels[depth]
            if self._finds(partial(_softer, depth)):
                yield Change("preferred", f"prefer {level.key} instead of requiring it (requirementType: preferred)")
            if depth and self._finds(partial(self._coarser, depth)):
                coarser = self.workflow.pool.levels[depth - 1]
                yield Change("level", f"require {coarser.key} instead of {level.key}")
        yield from self._fewer(shortage)

    def _fewer(self, shortage: Shortage | None) -> Iterator[Change]:
        """As many tasks as fit: fewer of the part that is short, else of the largest that helps."""
        leaves = {part.name: part.members for part in self.gang.leaves} or {self.gang.name: self.gang.members}
        short = shortage.unit if shortage else ""
        parts = sorted(leaves, key=lambda name: (name != short, -len(leaves[name]), name))
        most = max(map(len, leaves.values()))
        tries = [(part, left_out) for left_out in range(1, most) for part in parts if left_out < len(leaves[part])]
        for part, left_out in tries[:MAX_FEWER]:
            members = [member.name for member in leaves[part]]
            if self._places(self._members(set(members[-left_out:])), _same):
                of = f" in {part}" if part != self.gang.name else ""
                yield Change("tasks", f"run {plural(len(members) - left_out, 'task')}{of} instead of {len(members)}")
                return

    def _members(self, without: set[str]) -> list[Member]:
        parts = (self.gang, *self.gang.leaves) if self.gang.parts else (self.gang,)
        return [member for part in parts for member in part.members if member.name not in without]

    def _finds(self, changed: Callable[[Requirement], Sequence[Requirement]]) -> bool:
        return self._places(self._members(set()), changed)

    def _places(self, members: Sequence[Member], changed: Callable[[Requirement], Sequence[Requirement]]) -> bool:
        """Whether KAI places these tasks with other requirements."""
        asked = {task.name: task.resource.requirements for task in self.group.tasks}
        tasks = [(member, _settled(new for item in asked[member.name] for new in changed(item))) for member in members]
        gang = build(tasks, "topology")
        wanted = wanted_of(gang, self.labels, self.shapes)
        room = room_for(wanted, self.nodes, self.labels)
        has_room = _shortage(room, wanted.unit, self.workflow.pool.levels) is None
        return has_room and order.find(room, wanted.unit) is not None

    def _coarser(self, depth: int, item: Requirement) -> Sequence[Requirement]:
        if item.depth != depth:
            return (item,)
        return (replace(item, depth=depth - 1, level=self.workflow.pool.levels[depth - 1]),)


def _spreads(unit: Unit, placed: order.Placed, levels: Sequence[Level]) -> Iterator[Spread]:
    for item in unit.units:
        if item.preferred is None:
            continue
        domains = (domain for inner in item.units for domain in placed.get(inner.name, ()))
        found = {domain[: item.preferred + 1] for domain in domains if domain is not None}
        if len(found) > 1:
            yield Spread(item.name, levels[item.preferred], len(found))


def _same(item: Requirement) -> Sequence[Requirement]:
    return (item,)


def _softer(depth: int, item: Requirement) -> Sequence[Requirement]:
    return (replace(item, required=False) if item.depth == depth else item,)


def _settled(asked: Iterator[Requirement]) -> list[Requirement]:
    """One requirement of each level, from the coarsest: of two the one that the file has there."""
    found: dict[int, Requirement] = {}
    for item in asked:
        found.setdefault(item.depth, item)
    return [found[depth] for depth in sorted(found)]


def _other_order(room: Room, unit: Unit) -> list[str]:
    """An order of SubGroups of one parent in which KAI would place all; none where there is none."""
    for parent in unit.units:
        if len(parent.below) < 2:
            continue
        by_size = sorted(parent.below, key=lambda item: (-len(item.all_pods), item.name))
        for tried, below in enumerate((by_size, *permutations(parent.below))):
            if tried > MAX_ORDERS:
                break
            if any(item.name.endswith(ANY) for item in below[:-1]):
                continue  # tasks without a group are in one that always comes last
            named = tuple(replace(item, name=f"{place:04}") for place, item in enumerate(below))
            if order.find(room, _with(unit, parent, replace(parent, below=named))) is not None:
                return [item.name for item in below]
    return []


def _with(unit: Unit, old: Unit, new: Unit) -> Unit:
    if unit is old:
        return new
    return replace(unit, below=tuple(_with(item, old, new) for item in unit.below))


def _in_order(names: Sequence[str]) -> str:
    return f"name the groups so that they come in this order: {', '.join(names)}"


def _shortage(room: Room, unit: Unit, levels: Sequence[Level]) -> Shortage | None:
    """The first unit that has room in no domain, though it were alone, so that there is no placement; None where each
    has.
    """
    counts = {shape: capacities(room, shape) for shape in set(unit.all_pods)}
    for item in unit.units:
        needed = Counter(item.all_pods)
        places = [()] if item.required is None else _domains(room, item.required + 1)
        found = [Best(place, sum(min(n, counts[shape][place]) for shape, n in needed.items())) for place in places]
        if item.required is None and not item.is_constrained:
            found = [Best((), sum(min(n, counts[shape][ALL]) for shape, n in needed.items()))]
        best = sorted(found, key=lambda one: (-one.pods, one.domain))
        if not best or best[0].pods < len(item.all_pods):
            level = levels[item.required] if item.required is not None else None
            return Shortage(item.name, level, len(item.all_pods), tuple(best[:_SHOWN]))
    return None


def _domains(room: Room, depth: int) -> list[Domain]:
    return sorted({leaf.domain[:depth] for leaf in room.leaves if leaf.domain is not None})
