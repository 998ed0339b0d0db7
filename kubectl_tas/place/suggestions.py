"""Suggests the smallest changes with which KAI would place a gang; each suggestion has been tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import islice, permutations

from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import shortened
from kubectl_tas.gangs.workflow_gang import ANY, build
from kubectl_tas.kinds import SET
from kubectl_tas.place import kai_allocate, solver
from kubectl_tas.place.feasibility import Existence, Shortage, exists, shortage_of
from kubectl_tas.place.gangs_to_place import GangToPlace
from kubectl_tas.place.mending import PlacementChange, mending
from kubectl_tas.place.node_cells import PlacementRequest, Room, Unit, placement_request_of, ranked, room_for
from kubectl_tas.place.node_resources import NodeResources
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.topologies import Level
from kubectl_tas.resolve.workflows import Requirement

MAX_ORDERS = 120
"""Most orders of SubGroups that are tried: all orders of five."""
MAX_FEWER = 64
"""Most ways to leave pods out that are tried."""
_NAMED_TASKS = 6
"""Most tasks named in a line."""
MAX_PARTS = 8
"""Most parts for which fewer pods are tried."""
_NAMED = {"Workflow": "the groups", SET.kind: "the cliques", "PodGroup": "the SubGroups"}
"""Word for SubGroups in each kind of file in which people choose their names."""
_SOFTLY = {
    "Workflow": "requirementType: preferred",
    SET.kind: "pack: {preferred: ...}",
    "PodGroup": "preferredTopologyLevel",
}
"""Syntax for a preferred level in each kind of file; workloads use an annotation."""
_SOFTLY_ELSEWHERE = "the annotation that ends in preferred-placement"


@dataclass(frozen=True)
class Question:
    """One or more equal gangs that KAI cannot all place on the nodes of their shard."""

    to_place: GangToPlace
    nodes: tuple[NodeResources, ...]
    copies: int
    shortage: Shortage | None
    is_short: bool
    """Whether it is certain that no placement exists."""
    changed: PlacementRequest | None = None
    """One copy with other levels; None if the levels are those of the file."""

    @cached_property
    def room(self) -> Room:
        """Room that the nodes have for the gangs."""
        return room_for(self.request, self.nodes, self.to_place.labels)

    @cached_property
    def request(self) -> PlacementRequest:
        """All copies."""
        return self.one.times(self.copies)

    @property
    def one(self) -> PlacementRequest:
        """One copy."""
        return self.changed or self.to_place.request

    def finds(self, placement_request: PlacementRequest) -> bool:
        """Whether KAI places ``placement_request`` on the nodes of the question."""
        room = room_for(placement_request, self.nodes, self.to_place.labels)
        return (
            shortage_of(room, placement_request.unit, self.to_place.levels) is None
            and kai_allocate.find(room, placement_request.unit) is not None
        )


def changes(question: Question) -> Iterator[PlacementChange]:
    """Yields changes: other levels (finest first), then fewer copies or pods, then the fewest nodes to mend. If no
    single change is enough, combines other levels with another change.
    """
    single = [*_levels(question), *_others(question)]
    yield from single or _both(question)


def _others(question: Question) -> Iterator[PlacementChange]:
    yield from _fewer_copies(question) if question.copies > 1 else _fewer_pods(question)
    if question.is_short:
        yield from mending(question.to_place, question.request, question.nodes)


def _both(question: Question) -> Iterator[PlacementChange]:
    """Yields combined changes for the levels that leave out the fewest pods, or for which other nodes are enough."""
    best: list[PlacementChange] = []
    for softened in other_levels(question.to_place):
        with_levels = replace(question, changed=softened.request)
        short = shortage_of(with_levels.room, with_levels.request.unit, question.to_place.levels)
        is_short = short is not None or exists(with_levels.room, with_levels.request.unit) is Existence.NO
        further = _others(replace(with_levels, shortage=short, is_short=is_short))
        combined = [replace(change, text=f"{softened.text}, and {change.text}") for change in further]
        if combined and (not best or combined[0].fewer < best[0].fewer):
            best = combined
    yield from best


def renaming(gang: GangToPlace, names: Sequence[str]) -> Iterator[PlacementChange]:
    """Yields the change that puts SubGroups in the order of ``names``, if a file can express that."""
    if names and gang.sent.kind in _NAMED:
        text = f"name {_NAMED[gang.sent.kind]} so that they come in this order: {', '.join(names)}"
        yield PlacementChange("names", text)


@dataclass(frozen=True)
class ChangedLevels:
    """A gang with other levels."""

    kind: str
    text: str
    request: PlacementRequest
    """One copy of the gang."""


def _levels(question: Question) -> Iterator[PlacementChange]:
    for softened in other_levels(question.to_place):
        if question.finds(softened.request.times(question.copies)):
            yield PlacementChange(softened.kind, softened.text)


def other_levels(gang: GangToPlace) -> Iterator[ChangedLevels]:
    """Yields a gang with each required level preferred, or replaced by the next coarser one; finest level first."""
    levels = gang.levels
    softly = _SOFTLY.get(gang.sent.kind, _SOFTLY_ELSEWHERE)
    depths = {unit.required for unit in gang.request.unit.units if unit.required is not None}
    for depth in sorted(depths, reverse=True):
        text = f"prefer {levels[depth].key} instead of requiring it ({softly})"
        yield ChangedLevels("preferred", text, _changed(gang, _Softer(depth)))
        if depth:
            text = f"require {levels[depth - 1].key} instead of {levels[depth].key}"
            yield ChangedLevels("level", text, _changed(gang, _Coarser(depth, levels)))


@dataclass(frozen=True, slots=True)
class _Softer:
    """Prefers a level instead of requiring it."""

    depth: int

    def of_task(self, requirement: Requirement) -> Requirement:
        return replace(requirement, required=False) if requirement.depth == self.depth else requirement

    def of_unit(self, unit: Unit) -> Unit:
        preferred = self.depth if unit.preferred is None else unit.preferred
        return replace(unit, required=None, preferred=preferred) if unit.required == self.depth else unit


@dataclass(frozen=True, slots=True)
class _Coarser:
    """Requires the next coarser level instead of one."""

    depth: int
    levels: tuple[Level, ...]

    def of_task(self, requirement: Requirement) -> Requirement:
        if requirement.depth != self.depth:
            return requirement
        return replace(requirement, depth=self.depth - 1, level=self.levels[self.depth - 1])

    def of_unit(self, unit: Unit) -> Unit:
        return replace(unit, required=self.depth - 1) if unit.required == self.depth else unit


def _changed(gang_to_place: GangToPlace, change: _Softer | _Coarser) -> PlacementRequest:
    """Returns the gang with other levels; the tree of a workflow's gang then differs too."""
    if gang_to_place.group is None:
        return replace(gang_to_place.request, unit=_each(gang_to_place.request.unit, change.of_unit))
    requirements_by_task = {
        task.name: map(change.of_task, task.resource.requirements) for task in gang_to_place.group.tasks
    }
    gang = build(
        [(member, _settled(requirements_by_task[member.name])) for member in gang_to_place.gang.all_members], "topology"
    )
    return replace(
        placement_request_of(gang, gang_to_place.labels, gang_to_place.of_tasks(gang)),
        release=gang_to_place.request.release,
        settings=gang_to_place.request.settings,
    )


def _settled(requirements: Iterator[Requirement]) -> list[Requirement]:
    """Returns one requirement for each level, coarsest first; of two, the one that the file has at that level."""
    by_depth: dict[int, Requirement] = {}
    for requirement in requirements:
        by_depth.setdefault(requirement.depth, requirement)
    return [by_depth[depth] for depth in sorted(by_depth)]


def _each(unit: Unit, change: Callable[[Unit], Unit]) -> Unit:
    """Applies a change to a unit and all units below."""
    return replace(change(unit), below=tuple(_each(child, change) for child in unit.below))


def _fewer_copies(question: Question) -> Iterator[PlacementChange]:
    """Yields the largest number of copies that KAI places; KAI places copies one by one."""
    fits, too_many = 0, question.copies
    while too_many - fits > 1:
        tried = (fits + too_many) // 2
        fits, too_many = (tried, too_many) if question.finds(question.one.times(tried)) else (fits, tried)
    if fits:
        text = f"run {fits} of the {question.copies} gangs; the others wait"
        yield PlacementChange("copies", text, fewer=question.copies - fits)


def _fewer_pods(question: Question) -> Iterator[PlacementChange]:
    """Yields as many pods as fit: fewer in the part that is short, else in the largest that helps, or in several."""
    leaves = [leaf for leaf in question.request.unit.units if leaf.pods]
    for fitting in islice(_kept(question, leaves), MAX_FEWER):
        smaller = {leaf.name: _left(leaf, Counter(pods)) for leaf, pods in zip(leaves, fitting, strict=True)}
        unit = _with_pods(question.request.unit, smaller)
        if question.finds(replace(question.request, unit=unit)):
            fewer = [leaf for leaf in leaves if len(smaller[leaf.name].pods) < len(leaf.pods)]
            text = _run(question.to_place, [(leaf, smaller[leaf.name]) for leaf in fewer])
            count = sum(len(leaf.pods) - len(smaller[leaf.name].pods) for leaf in fewer)
            yield PlacementChange("tasks", text, fewer=count)
            return


def _left(leaf: Unit, counts: Counter[int]) -> Unit:
    """Returns a unit with as many pods of each shape as ``counts`` says, the first ones in the order of the file."""
    return replace(leaf, pods=tuple(leaf.pods[at] for at in _places(leaf, counts)))


def _places(leaf: Unit, counts: Counter[int]) -> list[int]:
    seen: Counter[int] = Counter()
    positions = []
    for at, shape in enumerate(leaf.pods):
        seen[shape] += 1
        if seen[shape] <= counts[shape]:
            positions.append(at)
    return positions


def _with_pods(unit: Unit, leaves: Mapping[str, Unit]) -> Unit:
    return _each(unit, lambda leaf: leaves[leaf.name] if leaf.pods else leaf)


def _kept(question: Question, leaves: Sequence[Unit]) -> Iterator[list[tuple[int, ...]]]:
    """Yields pods to keep in each leaf, the most pods in all first, as far as that is known."""
    shortage = question.shortage
    least = shortage.pods - shortage.best[0].pods if shortage and shortage.best else 1
    yield from _without(question, leaves, least)
    if question.is_short and solver.is_installed():
        most = _most_pods(question.room, ranked(question.request.unit))
        if most is None:
            return  # not even one pod of each fits
        fewest = len(question.request.unit.all_pods) - sum(map(len, most))
        if fewest > least:
            yield from _without(question, leaves, fewest)  # as many pods, of one leaf
        yield most
        least = max(least, fewest)
    for fewer in range(least + 1, max(len(leaf.pods) for leaf in leaves)):
        yield from _without(question, leaves, fewer)


def _without(question: Question, leaves: Sequence[Unit], fewer: int) -> Iterator[list[tuple[int, ...]]]:
    """Yields pods to keep if one leaf loses ``fewer`` pods: first the leaf that is short, then a large leaf."""
    short = question.shortage.unit if question.shortage else ""
    ordered = sorted(leaves, key=lambda leaf: (leaf.name != short, -len(leaf.pods), leaf.name))
    for candidate in ordered[:MAX_PARTS]:
        if 0 < fewer < len(candidate.pods):
            yield [leaf.pods[: len(leaf.pods) - fewer] if leaf is candidate else leaf.pods for leaf in leaves]


@lru_cache(maxsize=256)
def _most_pods(room: Room, unit: Unit) -> list[tuple[int, ...]] | None:
    """Asks the solver. Cached, since equal gangs get the same answer."""
    return solver.most_pods(room, unit)


def _run(gang: GangToPlace, fewer: Sequence[tuple[Unit, Unit]]) -> str:
    noun = "task" if gang.group is not None else "pod"
    is_elastic = gang.gang.minimum is not None and gang.gang.minimum < gang.gang.pods
    phrases = [
        f"{plural(len(smaller.pods), noun)}{f' in {leaf.name}' if leaf.name not in ('', gang.gang.name) else ''}"
        f" instead of {len(leaf.pods)}{_without_which(gang, leaf, smaller)}"
        for leaf, smaller in fewer
    ]
    return f"{'start with' if is_elastic else 'run'} {' and '.join(phrases)}"


def _without_which(gang: GangToPlace, leaf: Unit, smaller: Unit) -> str:
    """Says which pods are left out, if the pods are not all alike."""
    if len(set(leaf.pods)) < 2:
        return ""
    positions = set(_places(leaf, Counter(smaller.pods)))
    group = next((candidate for candidate in (gang.gang, *gang.gang.leaves) if candidate.name == leaf.name), None)
    members = () if group is None else group.members
    if len(members) == len(leaf.pods):
        left_out = [member.name for at, member in enumerate(members) if at not in positions]
        return f", without {shortened(left_out, _NAMED_TASKS)}"
    needed = gang.needed.get(None if leaf.name == gang.gang.name else leaf.name, ())
    names = Counter(shape.name for at, shape in enumerate(needed) if at not in positions)
    left_out = [f"{plural(count, 'pod')} of{name}" if name[:1] == " " else name for name, count in names.items()]
    return f", without {shortened(left_out, _NAMED_TASKS)}"


def other_order(room: Room, unit: Unit) -> list[str]:
    """Returns an order of sibling SubGroups with which KAI would place all pods; empty if no such order is found."""
    for parent in unit.units:
        if len(parent.below) < 2:
            continue
        by_size = sorted(parent.below, key=lambda child: (-len(child.all_pods), child.name))
        for tried, below in enumerate((by_size, *permutations(parent.below))):
            if tried > MAX_ORDERS:
                break
            if any(child.name.endswith(ANY) for child in below[:-1]):
                continue  # tasks without a group are in one that always comes last
            named = tuple(replace(child, name=f"{rank:04}") for rank, child in enumerate(below))
            if kai_allocate.find(room, _replaced(unit, parent, replace(parent, below=named))) is not None:
                return [child.name for child in below]
    return []


def _replaced(unit: Unit, old: Unit, new: Unit) -> Unit:
    if unit is old:
        return new
    return replace(unit, below=tuple(_replaced(child, old, new) for child in unit.below))
