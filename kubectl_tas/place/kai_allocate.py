"""Finds the placement that KAI's scheduler finds. KAI tries domains and nodes in a fixed order, not all placements.

Follows releases 0.12 to 0.17: ``pkg/scheduler/actions/common/allocate.go``, and ``job_filtering.go``, ``common.go`` and
``node_scoring.go`` of ``pkg/scheduler/plugins/topology``.

- KAI places SubGroups one by one in the order of their names; before 0.15, SubGroups with children come first. A
  SubGroup keeps its nodes if a later SubGroup fails; only the unit above tries its next domain.
- A unit with a level tries the domains that have room by count: first those of its preferred level, then coarser ones
  up to its required level or the whole topology. Among siblings the tightest domain comes first.
- KAI counts room on all nodes, even nodes that the pods cannot use. It counts pods that ask for the largest request of
  each resource; if only some pods ask for GPUs or storage, KAI compares sums. So KAI may skip a domain with room.
- Within a domain a pod takes the node with the fewest free GPUs, or cores if the pod asks for no GPU. A scheduler that
  spreads takes the node with the largest free part of them (spread.go of plugins/nodeplacement). With a preferred
  level, nodes of the domain that is tried last come first. Of equal nodes the first by name wins. A node with room now
  comes before a node whose pods still have to go (plugin nodeavailability).
- The pods of a SubGroup are taken here in the order of the file; KAI takes them by creation time.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.kai import Feature
from kubectl_tas.place.neighbours import is_of_one
from kubectl_tas.place.node_cells import Cell, LeafDomain, Room, Unit, multiples
from kubectl_tas.place.node_resources import CPU, PODS, Domain

MEMORY = "memory"
_NOTHING_FREE = 1000.0
"""Ratio of asked to free resources if a domain has nothing free."""
Scores = tuple[int, ...]
"""Score by leaf; KAI takes nodes with a larger score first."""


@dataclass(frozen=True, slots=True)
class PlacedPod:
    """A pod and its node."""

    unit: str
    shape: int
    node: str
    domain: Domain | None
    """The finest domain of the node; None if the node is outside of the topology."""


@dataclass
class _State:
    """Resources that placed pods have taken so far."""

    leaves: tuple[LeafDomain, ...]
    free: list[dict[Cell, list[str]] | None]
    """Nodes of each leaf, by cell and name; None if nothing was taken from the leaf yet."""
    steps: list[tuple[PlacedPod, int, Cell, Cell]] = field(default_factory=list)
    """Placed pods in order, each with its leaf and the cell of its node before and after."""

    def take(self, bound: PlacedPod, leaf: int, before: Cell, after: Cell) -> None:
        self.steps.append((bound, leaf, before, after))
        self._move(bound.node, leaf, before, after)

    def nodes(self, leaf: int) -> Iterable[tuple[Cell, Sequence[str]]]:
        """Returns the nodes of a leaf by their current cell."""
        now = self.free[leaf]
        return self.leaves[leaf].nodes if now is None else now.items()

    def undo(self, steps: int) -> None:
        """Undoes the last steps until ``steps`` are left."""
        while len(self.steps) > steps:
            bound, leaf, before, after = self.steps.pop()
            self._move(bound.node, leaf, after, before)

    def _move(self, node: str, leaf: int, source: Cell, target: Cell) -> None:
        nodes = self.free[leaf]
        if nodes is None:
            nodes = self.free[leaf] = {cell: list(names) for cell, names in self.leaves[leaf].nodes}
        nodes[source].remove(node)
        if not nodes[source]:
            del nodes[source]
        insort(nodes.setdefault(target, []), node)


@json_fields("part domain pods")
class PlacedPods(NamedTuple):
    """The number of pods of a part in one domain."""

    part: str
    domain: Domain | None
    """The finest domain; None: outside of the topology."""
    pods: int


Placed = dict[str, dict[Domain | None, int]]
"""Number of pods by unit and finest domain; None stands for outside of the topology."""


def find(room: Room, unit: Unit) -> Placed | None:
    """Returns the placement that KAI finds; None if KAI finds none, though one may exist."""
    bound = place(room, unit)
    return None if bound is None else by_domain(bound)


ReleasedOrigin = Mapping[str, frozenset[Domain]]
"""Domains of the required level in which pods of a unit already run, by unit."""


def place(
    room: Room, unit: Unit, running_domains: ReleasedOrigin = MappingProxyType({}), among: Container[str] | None = None
) -> tuple[PlacedPod, ...] | None:
    """Returns the node of each pod in the order of placement; None if KAI finds no placement. ``among`` holds the nodes
    that KAI considers, not all nodes if KAI evicts work for the gang; None means all nodes.
    """
    search = _AllocateSearch(room, running_domains)
    if not room.release.has(Feature.MIXED_SUBGROUPS) and any(map(_is_mixed, unit.units)):
        return None
    leaves = (at for at, leaf in enumerate(room.leaves) if among is None or _has_any(leaf, among))
    if not search.place(unit, tuple(leaves), ()):
        return None
    return tuple(bound for bound, _, _, _ in search.state.steps)


def _has_any(leaf: LeafDomain, nodes: Container[str]) -> bool:
    return any(name in nodes for _, names in leaf.nodes for name in names)


def by_domain(bound: Iterable[PlacedPod]) -> Placed:
    """Counts the pods of each unit by domain."""
    placed: Placed = {}
    for pod in bound:
        pods_by_domain = placed.setdefault(pod.unit, {})
        pods_by_domain[pod.domain] = pods_by_domain.get(pod.domain, 0) + 1
    return placed


def _is_mixed(unit: Unit) -> bool:
    return len({bool(child.below) for child in unit.below}) > 1


class _NodeChoice(NamedTuple):
    """A node for a pod. KAI takes the smallest: fields compare in this order."""

    negated_score: int
    is_later: bool
    """Whether the pod has to wait until running pods end."""
    wrong_type: bool
    """Whether a pod without GPUs would go to a node with GPUs."""
    rank: float
    """The free amount of the resource by which nodes are packed, or the negated free part of it if pods are spread."""
    node: str
    leaf: int
    cell: Cell


class _AllocateSearch:
    def __init__(self, room: Room, running_domains: ReleasedOrigin) -> None:
        self._room, self._release, self._kept = room, room.release, running_domains
        self.state = _State(room.leaves, [None] * len(room.leaves))
        index = {name: column for column, name in enumerate(room.resources)}
        self._gpu, self._cpu, self._pods = index[GPU], index[CPU], index[PODS]
        self.counted = tuple(
            tuple(0 if is_of_one(name) else amount for name, amount in zip(room.resources, shape_asks, strict=True))
            for shape_asks in room.asks
        )
        """Amounts by shape, without the resources that KAI does not count in a domain."""
        self._plain = {self._gpu, self._cpu, index.get(MEMORY, self._cpu)}
        settings = room.settings
        has = settings.has
        strategies = {self._gpu: settings.gpu_strategy, self._cpu: settings.cpu_strategy}
        self._strategies: Mapping[int, str] = strategies if has("nodeplacement") else {}
        self._by_type, self._by_availability = has("resourcetype"), has("nodeavailability")

    def place(self, unit: Unit, leaves: tuple[int, ...], scores: Scores) -> bool:
        """Places all pods of a unit on nodes of these leaves, or none of them."""
        if not unit.all_pods:
            return True
        for candidate, unit_scores in self._candidates(unit, leaves):
            steps = len(self.state.steps)
            if self._members(unit, candidate, unit_scores or scores):
                return True
            self.state.undo(steps)
        return False

    def _members(self, unit: Unit, leaves: tuple[int, ...], scores: Scores) -> bool:
        return all(self._pod(unit, pod, leaves, scores) for pod in unit.pods) and all(
            self.place(child, leaves, scores) for child in self._in_order(unit.below)
        )

    def _in_order(self, units: Sequence[Unit]) -> Sequence[Unit]:
        by_name = sorted(units, key=lambda unit: unit.name)
        if self._release.has(Feature.SUBGROUPS_BY_NAME):
            return by_name
        return sorted(by_name, key=lambda unit: not unit.below)

    def _pod(self, unit: Unit, shape: int, leaves: tuple[int, ...], scores: Scores) -> bool:
        asks = self._room.asks[shape]
        best: _NodeChoice | None = None
        by = self._gpu if asks[self._gpu] else self._cpu
        strategy = self._strategies.get(by)
        for leaf in leaves:
            for cell, nodes in self.state.nodes(leaf):
                if not cell.admits[shape] or any(map(int.__gt__, asks, cell.free)):
                    continue
                later = self._by_availability and any(map(int.__gt__, asks, cell.idle))
                wrong_type = self._by_type and not asks[self._gpu] and cell.has_gpus
                score = -scores[leaf] if scores else 0
                rank: float = cell.free[by] if strategy == "binpack" else 0
                if strategy == "spread":
                    whole = cell.whole[by == self._cpu]
                    rank = -cell.free[by] / whole if whole else 0
                choice = _NodeChoice(score, later, wrong_type, rank, nodes[0], leaf, cell)
                best = choice if best is None or choice < best else best
        if best is None:
            return False
        node, leaf, cell = best.node, best.leaf, best.cell
        after = Cell(tuple(map(int.__sub__, cell.free, asks)), cell.admits, cell.has_gpus, cell.idle, cell.whole)
        self.state.take(PlacedPod(unit.name, shape, node, self._room.leaves[leaf].domain), leaf, cell, after)
        return True

    def _candidates(self, unit: Unit, leaves: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Scores]]:
        """Yields the leaves of each domain in the order in which KAI tries domains, with the scores of nodes by a
        preferred level; without such a level the scores are empty.
        """
        if not unit.is_constrained:
            yield leaves, ()
            return
        room, levels = self._room, self._levels(unit)
        valid = {leaf for leaf in leaves if room.leaves[leaf].domain is not None}
        top = self._common(unit, valid)
        counts = _Counts(self, unit, top)
        if not levels or not counts.fits(top):
            return
        scores = () if unit.preferred is None else self._scores(counts, unit.preferred + 1)
        for depth in levels:
            # KAI counts no room above the common domain; a unit without requests fits.
            if depth < len(top) and counts.asks_nothing:
                yield tuple(valid), scores
            for domain in counts.ranked(filter(counts.fits, counts.domains(depth))):
                if unit.name in self._kept and domain[: (unit.required or 0) + 1] not in self._kept[unit.name]:
                    continue
                yield tuple(leaf for leaf in self.below(domain) if leaf in valid), scores

    def below(self, top: Domain) -> Sequence[int]:
        """Returns the leaves of a domain."""
        return self._by_domain.get(top, ())

    @cached_property
    def _by_domain(self) -> Mapping[Domain, Sequence[int]]:
        return _places(tuple(leaf.domain for leaf in self._room.leaves))

    def _levels(self, unit: Unit) -> list[int]:
        """Returns the depths, as numbers of labels, of the domains that KAI tries, in order. Returns none if the
        preferred level is coarser than the required one, and in older releases also if both are the same.
        """
        last = 0 if unit.required is None else unit.required + 1
        finest = last if unit.preferred is None else unit.preferred + 1
        if unit.required == unit.preferred and not self._release.has(Feature.LEVEL_OF_BOTH):
            return []
        return list(range(finest, last - 1, -1))

    def _common(self, unit: Unit, leaves: set[int]) -> Domain:
        """Returns the smallest domain that contains all these leaves, but none below the preferred level."""
        domains = [domain for leaf in leaves if (domain := self._room.leaves[leaf].domain) is not None]
        most = len(self._room.levels) if unit.preferred is None else unit.preferred + 1
        depth = 0
        while depth < most and len({domain[depth] for domain in domains}) == 1 and domains[0][depth]:
            depth += 1
        return domains[0][:depth] if domains else ()

    def _scores(self, counts: _Counts, depth: int) -> Scores:
        domains = counts.ranked(counts.domains(depth))
        scores = [0] * len(self._room.leaves)
        for rank, domain in enumerate(domains, start=1):
            for leaf in self.below(domain):
                scores[leaf] = math.floor(rank / len(domains) * 10)
        return tuple(scores)


class _Counts:
    """Room for the pods of a unit in the domains below ``top``, as KAI counts room."""

    def __init__(self, search: _AllocateSearch, unit: Unit, top: Domain) -> None:
        room = search._room
        self._rounded = set[int]() if room.release.has(Feature.ROOM_OF_MILLICORES) else {search._cpu}
        asks = [search.counted[shape] for shape in unit.all_pods]
        self._top, self._count = top, len(asks)
        self._sum = tuple(map(sum, zip(*asks, strict=True)))
        self._asked = [(column, n) for column, n in enumerate(self._sum) if n and column != search._pods]
        self._ratios: dict[Domain, float] = {}
        self._most: tuple[int, ...] = tuple(map(max, zip(*asks, strict=True)))
        self._by_pod = _are_alike(asks, search._gpu, search._plain)
        self.asks_nothing = not self._asked
        at_least = self._count if self.asks_nothing else 0
        level: dict[Domain, Content] = {}
        for leaf in search.below(top):
            leaf_room = room.leaves[leaf]
            if leaf_room.domain is not None:
                level[leaf_room.domain] = _content_of(leaf_room, search.state.free[leaf], self._most, at_least)
        self._levels = {len(room.levels): level}
        for depth in range(len(room.levels) - 1, len(top) - 1, -1):
            level = self._levels[depth] = _above(level)

    def domains(self, depth: int) -> Iterable[Domain]:
        """Returns the domains of a level."""
        return self._levels.get(depth, ())

    def fits(self, domain: Domain) -> bool:
        """Whether a domain has room by KAI's count."""
        content = self._levels[len(domain)].get(domain)
        if content is None:
            return False
        return content[0] >= self._count if self._by_pod else self._ratio(domain) <= 1

    def _ratio(self, domain: Domain) -> float:
        """Returns the ratio of asked to free resources, for the scarcest resource."""
        ratio = self._ratios.get(domain)
        if ratio is None:
            free = self._levels[len(domain)][domain][1]
            ratios = (self._part(column, amount, free[column]) for column, amount in self._asked)
            ratio = self._ratios[domain] = max(ratios, default=0)
        return ratio

    def _part(self, column: int, amount: int, free: int) -> float:
        unit = 1000 if column in self._rounded else 1  # whole cores, rounded up
        free_units = -(-free // unit)
        return -(-amount // unit) / free_units if free_units > 0 else _NOTHING_FREE

    def ranked(self, domains: Iterable[Domain]) -> list[Domain]:
        """Sorts domains of a level: first those below the tightest domain above, among siblings the tightest first."""
        steps: dict[Domain, tuple[float, str]] = {}

        def rank(domain: Domain) -> list[tuple[float, str]]:
            chain = [domain[:length] for length in range(len(self._top) + 1, len(domain) + 1)]
            for step in chain:
                if step not in steps:
                    steps[step] = (-self._ratio(step), ".".join(step))
            return [steps[step] for step in chain]

        return sorted(domains, key=rank)


@lru_cache(maxsize=64)
def _places(finest: tuple[Domain | None, ...]) -> Mapping[Domain, Sequence[int]]:
    """Returns for each domain the indices of its finest domains."""
    leaves_by_domain: dict[Domain, list[int]] = {}
    for index, domain in enumerate(finest):
        if domain is not None:
            for depth in range(len(domain) + 1):
                leaves_by_domain.setdefault(domain[:depth], []).append(index)
    return leaves_by_domain


def _above(level: Mapping[Domain, Content]) -> dict[Domain, Content]:
    """Adds up the contents of a level's domains for the domains above."""
    contents: dict[Domain, Content] = {}
    for domain, (takes, free) in level.items():
        before = contents.get(domain[:-1])
        sums = (takes, free) if before is None else (before[0] + takes, tuple(map(int.__add__, before[1], free)))
        contents[domain[:-1]] = sums
    return contents


Content = tuple[int, tuple[int, ...]]
"""The number of largest pods that some nodes have room for, and the free resources of these nodes."""


def _content_of(
    leaf: LeafDomain, now: Mapping[Cell, Sequence[str]] | None, most: tuple[int, ...], at_least: int
) -> Content:
    """Returns the content of a leaf, cached until something is taken from the leaf."""
    if now is not None:
        return _content([(cell, len(names)) for cell, names in now.items()], most, at_least)
    content = leaf.contents.get((most, at_least))
    if content is None:
        content = leaf.contents[most, at_least] = _content(leaf.cells, most, at_least)
    return content


def _content(cells: Sequence[tuple[Cell, int]], most: tuple[int, ...], at_least: int) -> Content:
    """Counts pods that ask for ``most``; each node takes at least ``at_least`` of them."""
    takes = sum(max(at_least, multiples(most, cell.free)) * count for cell, count in cells)
    return takes, tuple(sum(cell.free[column] * count for cell, count in cells) for column in range(len(most)))


def _are_alike(asks: Sequence[tuple[int, ...]], gpu: int, plain: set[int]) -> bool:
    """Whether all pods or none ask for GPUs, and the same for every resource besides cpu and memory."""
    counted = [gpu, *(column for column in range(len(asks[0])) if column not in plain)]
    return all(sum(ask[column] > 0 for ask in asks) in (0, len(asks)) for column in counted)
