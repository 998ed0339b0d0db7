"""Answers exactly whether a placement exists, and if not, names the first constraint that fails, from the gang down.

A placement has domains for all required levels and nodes for all pods. Since domains are nested, pods of one shape fit
if no chosen domain gets more pods than it has room for. So a search over domains is exact for a gang of equal pods.
With several shapes the search can only rule a placement out; then OR-Tools' solver answers, if installed. As in KAI,
nodes outside of the topology count only for units without a level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.place import solver
from kubectl_tas.place.node_cells import LeafDomain, Room, Unit, multiples
from kubectl_tas.place.node_resources import Domain
from kubectl_tas.resolve.topologies import Level

MAX_STEPS = 4000
"""Most choices of a domain before a search gives up."""
ALL, _OUTSIDE = "all", "outside"
Place = Domain | str
"""A domain, all nodes, or the nodes outside of the topology."""


class Existence(Enum):
    """Knowledge about whether a placement exists."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


def exists(room: Room, unit: Unit) -> Existence:
    """Answers whether a placement exists."""
    existence = searched(room, unit)
    return solved(room, unit) if existence is Existence.UNKNOWN else existence


def searched(room: Room, unit: Unit) -> Existence:
    """Answers like ``exists`` without a solver. For pods of several shapes the answer is never YES."""
    answers = [_Search(room, shape).answer(unit) for shape in sorted(set(unit.all_pods))]
    if Existence.NO in answers:
        return Existence.NO
    return Existence.UNKNOWN if len(answers) > 1 or Existence.UNKNOWN in answers else Existence.YES


def solved(room: Room, unit: Unit) -> Existence:
    """Asks OR-Tools' solver; UNKNOWN if it is not installed or gives up."""
    existence = solver.solve(room, unit)
    return Existence.UNKNOWN if existence is None else Existence.YES if existence else Existence.NO


def capacities(room: Room, shape: int) -> Mapping[Place, int]:
    """Returns the number of pods of a shape that fit in each domain, on all nodes, and on the nodes outside."""
    return _capacities(room.leaves, shape, room.asks[shape])


@lru_cache(maxsize=256)
def _capacities(leaves: tuple[LeafDomain, ...], shape: int, asks: tuple[int, ...]) -> Mapping[Place, int]:
    pods_by_domain: dict[Place, int] = {ALL: 0, _OUTSIDE: 0, (): 0}
    for leaf in leaves:
        takes = sum(multiples(asks, cell.free) * count for cell, count in leaf.cells if cell.admits[shape])
        for domain in _chain(_OUTSIDE if leaf.domain is None else leaf.domain):
            pods_by_domain[domain] = pods_by_domain.get(domain, 0) + takes
    return pods_by_domain


def _chain(domain: Place) -> Iterator[Place]:
    """Yields a place and all places that contain it."""
    if isinstance(domain, tuple):
        yield from (domain[:depth] for depth in range(len(domain), -1, -1))
    elif domain == _OUTSIDE:
        yield domain
    yield ALL


def allowed(unit: Unit, parent: Place, domains: Sequence[Domain]) -> Iterator[Place]:
    """Yields the places that a unit may choose, given the place of the unit above."""
    within: Place = () if unit.is_constrained and parent == ALL else parent
    if unit.required is None or not isinstance(within, tuple) or len(within) > unit.required:
        yield within
        return
    for domain in domains:
        if len(domain) == unit.required + 1 and domain[: len(within)] == within:
            yield domain


_Waiting = tuple[tuple[Unit, Place], "_Waiting | None"]
"""A unit with the place that must contain it, and a linked list of the units after it."""


class _GaveUpError(Exception):
    """Raised if a search takes more than ``MAX_STEPS`` choices."""


class _Search:
    """Search for the pods of one shape."""

    def __init__(self, room: Room, shape: int) -> None:
        self._shape = shape
        self._left = dict(capacities(room, shape))
        self._domains = sorted(key for key in self._left if isinstance(key, tuple))
        self._below: dict[Domain, list[Domain]] = {}
        for domain in self._domains[1:]:
            self._below.setdefault(domain[:-1], []).append(domain)
        self._steps = 0

    def answer(self, unit: Unit) -> Existence:
        """Answers whether the unit's pods of this shape have a placement."""
        choices = [self._choices(((unit, ALL), None))]
        try:
            while choices:
                for waiting in choices[-1]:
                    if waiting is None:
                        return Existence.YES
                    choices.append(self._choices(waiting))
                    break
                else:
                    choices.pop()
        except _GaveUpError:
            return Existence.UNKNOWN
        return Existence.NO

    def _choices(self, waiting: _Waiting) -> Iterator[_Waiting | None]:
        """Places the first waiting unit in each possible way, and yields the units that still wait."""
        (unit, parent), waiting_after = waiting
        needed, own_pods = self._count(unit.all_pods), self._count(unit.pods)
        if not needed:
            yield waiting_after
            return
        below = sorted(unit.below, key=lambda inner_unit: (self._count(inner_unit.all_pods), inner_unit.name))
        tried: set[object] = set()
        for domain in sorted(
            allowed(unit, parent, self._domains), key=lambda domain: (self._left[domain], str(domain))
        ):
            alike = self._alike(domain)
            if self._left[domain] < needed or alike in tried:
                continue
            tried.add(alike)
            self._step()
            chain = list(_chain(domain))
            if any(self._left[outer] < own_pods for outer in chain):
                continue
            self._take(chain, own_pods)
            then = waiting_after
            for inner_unit in below:
                then = ((inner_unit, domain), then)
            yield then
            self._take(chain, -own_pods)

    def _count(self, pods: Sequence[int]) -> int:
        return pods.count(self._shape)

    def _take(self, chain: Sequence[Place], pods: int) -> None:
        for domain in chain:
            self._left[domain] -= pods

    def _alike(self, domain: Place) -> object:
        """Returns a key; sibling domains with equal keys are interchangeable."""
        if not isinstance(domain, tuple):
            return domain
        return domain[:-1], self._content(domain)

    def _content(self, domain: Domain) -> tuple[object, ...]:
        inner = sorted((self._content(inner_domain) for inner_domain in self._below.get(domain, ())), key=repr)
        return (self._left[domain], *inner)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise _GaveUpError


_SHOWN = 3
"""Number of domains shown per level."""


@json_fields("domain pods")
@dataclass(frozen=True, slots=True)
class Best:
    """A domain and the number of pods that fit there."""

    domain: Domain
    pods: int
    """At most this many pods: several shapes may take each other's room."""


@json_fields("part=unit level=level.key pods best")
@dataclass(frozen=True, slots=True)
class Shortage:
    """The first constraint that fails, from the gang down."""

    unit: str
    """Name of the gang or SubGroup."""
    level: Level | None
    """The level whose domain the pods must share; None if all nodes together are too few."""
    pods: int
    best: tuple[Best, ...]
    """The domains with the most room."""


@json_fields("resource asked=requested most")
@dataclass(frozen=True, slots=True)
class Lack:
    """A resource that a pod asks for and no usable node has."""

    resource: str
    requested: int
    """Amount: cpu in thousandths of a core, all others in whole units or bytes."""
    most: int
    """The most that any usable node has free."""


def lacking(room: Room, unit: Unit) -> tuple[Lack, ...]:
    """Returns the resources that are too scarce for pods that may use some nodes but fit on none."""
    lacks: dict[str, Lack] = {}
    for shape in sorted(set(unit.all_pods)):
        free = [cell.free for leaf in room.leaves for cell, _ in leaf.cells if cell.admits[shape]]
        if free and not capacities(room, shape)[ALL]:
            for index, (name, amount) in enumerate(zip(room.resources, room.asks[shape], strict=True)):
                most = max(0, *(amounts[index] for amounts in free))
                if amount > most:
                    lacks.setdefault(name, Lack(name, amount, most))
    return tuple(lacks.values())


def shortage_of(room: Room, unit: Unit, levels: Sequence[Level]) -> Shortage | None:
    """Returns the first unit that fits in no domain even alone, so that no placement exists; None if all units fit."""
    counts = {shape: capacities(room, shape) for shape in set(unit.all_pods)}
    for inner_unit in unit.units:
        needed = Counter(inner_unit.all_pods)
        places = [()] if inner_unit.required is None else _domains(room, inner_unit.required + 1)
        room_by_domain = [
            Best(domain, sum(min(n, counts[shape][domain]) for shape, n in needed.items())) for domain in places
        ]
        if inner_unit.required is None and not inner_unit.is_constrained:
            room_by_domain = [Best((), sum(min(n, counts[shape][ALL]) for shape, n in needed.items()))]
        best = sorted(room_by_domain, key=lambda candidate: (-candidate.pods, candidate.domain))
        if not best or best[0].pods < len(inner_unit.all_pods):
            level = levels[inner_unit.required] if inner_unit.required is not None else None
            return Shortage(inner_unit.name, level, len(inner_unit.all_pods), tuple(best[:_SHOWN]))
    return None


def best_by_level(room: Room, unit: Unit, levels: Sequence[Level]) -> tuple[tuple[Level | None, Best], ...]:
    """Returns the domain of each level with the most room for a gang, finest level first, then all usable nodes."""
    needed = Counter(unit.all_pods)
    counts = {shape: capacities(room, shape) for shape in needed}

    def best(places: Sequence[Place]) -> Best:
        pods_and_domains = [
            (
                -sum(min(n, counts[shape][domain]) for shape, n in needed.items()),
                domain if isinstance(domain, tuple) else (),
            )
            for domain in places
        ]
        pods, domain = min(pods_and_domains)
        return Best(domain, -pods)

    depths = [depth for depth in range(len(levels) - 1, -1, -1) if _domains(room, depth + 1)]
    whole: list[Place] = [()] if any(inner_unit.is_constrained for inner_unit in unit.units) else [ALL]
    return (*((levels[depth], best(_domains(room, depth + 1))) for depth in depths), (None, best(whole)))


def _domains(room: Room, depth: int) -> list[Domain]:
    return sorted({leaf.domain[:depth] for leaf in room.leaves if leaf.domain is not None})
