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

from kubectl_tas.late import dataclass
from kubectl_tas.place import solver
from kubectl_tas.place.node_cells import Leaf, Room, Unit, multiples
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
    found = searched(room, unit)
    return solved(room, unit) if found is Existence.UNKNOWN else found


def searched(room: Room, unit: Unit) -> Existence:
    """Answers like ``exists`` without a solver. For pods of several shapes the answer is never YES."""
    answers = [_Search(room, shape).answer(unit) for shape in sorted(set(unit.all_pods))]
    if Existence.NO in answers:
        return Existence.NO
    return Existence.UNKNOWN if len(answers) > 1 or Existence.UNKNOWN in answers else Existence.YES


def solved(room: Room, unit: Unit) -> Existence:
    """Asks OR-Tools' solver; UNKNOWN if it is not installed or gives up."""
    found = solver.solve(room, unit)
    return Existence.UNKNOWN if found is None else Existence.YES if found else Existence.NO


def capacities(room: Room, shape: int) -> Mapping[Place, int]:
    """Returns the number of pods of a shape that fit in each domain, on all nodes, and on the nodes outside."""
    return _capacities(room.leaves, shape, room.asks[shape])


@lru_cache(maxsize=256)
def _capacities(leaves: tuple[Leaf, ...], shape: int, asks: tuple[int, ...]) -> Mapping[Place, int]:
    found: dict[Place, int] = {ALL: 0, _OUTSIDE: 0, (): 0}
    for leaf in leaves:
        takes = sum(multiples(asks, cell.free) * count for cell, count in leaf.cells if cell.admits[shape])
        for place in _chain(_OUTSIDE if leaf.domain is None else leaf.domain):
            found[place] = found.get(place, 0) + takes
    return found


def _chain(place: Place) -> Iterator[Place]:
    """Yields a place and all places that contain it."""
    if isinstance(place, tuple):
        yield from (place[:depth] for depth in range(len(place), -1, -1))
    elif place == _OUTSIDE:
        yield place
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
        self._domains = sorted(place for place in self._left if isinstance(place, tuple))
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
        (unit, parent), rest = waiting
        needed, own = self._count(unit.all_pods), self._count(unit.pods)
        if not needed:
            yield rest
            return
        below = sorted(unit.below, key=lambda item: (self._count(item.all_pods), item.name))
        tried: set[object] = set()
        for place in sorted(allowed(unit, parent, self._domains), key=lambda place: (self._left[place], str(place))):
            alike = self._alike(place)
            if self._left[place] < needed or alike in tried:
                continue
            tried.add(alike)
            self._step()
            chain = list(_chain(place))
            if any(self._left[item] < own for item in chain):
                continue
            self._take(chain, own)
            then = rest
            for item in below:
                then = ((item, place), then)
            yield then
            self._take(chain, -own)

    def _count(self, pods: Sequence[int]) -> int:
        return pods.count(self._shape)

    def _take(self, chain: Sequence[Place], pods: int) -> None:
        for place in chain:
            self._left[place] -= pods

    def _alike(self, place: Place) -> object:
        """Returns a key; sibling domains with equal keys are interchangeable."""
        if not isinstance(place, tuple):
            return place
        return place[:-1], self._content(place)

    def _content(self, domain: Domain) -> tuple[object, ...]:
        inner = sorted((self._content(item) for item in self._below.get(domain, ())), key=repr)
        return (self._left[domain], *inner)

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise _GaveUpError


_SHOWN = 3
"""Number of domains shown per level."""


@dataclass(frozen=True, slots=True)
class Best:
    """A domain and the number of pods that fit there."""

    domain: Domain
    pods: int
    """At most this many pods: several shapes may take each other's room."""


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


@dataclass(frozen=True, slots=True)
class Lack:
    """A resource that a pod asks for and no usable node has."""

    resource: str
    asked: int
    """Amount, in the units of ``node_resources.Vector``."""
    most: int
    """The most that any usable node has free."""


def lacking(room: Room, unit: Unit) -> tuple[Lack, ...]:
    """Returns the resources that are too scarce for pods that may use some nodes but fit on none."""
    found: dict[str, Lack] = {}
    for shape in sorted(set(unit.all_pods)):
        free = [cell.free for leaf in room.leaves for cell, _ in leaf.cells if cell.admits[shape]]
        if free and not capacities(room, shape)[ALL]:
            for place, (name, asked) in enumerate(zip(room.resources, room.asks[shape], strict=True)):
                most = max(0, *(amounts[place] for amounts in free))
                if asked > most:
                    found.setdefault(name, Lack(name, asked, most))
    return tuple(found.values())


def shortage_of(room: Room, unit: Unit, levels: Sequence[Level]) -> Shortage | None:
    """Returns the first unit that fits in no domain even alone, so that no placement exists; None if all units fit."""
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


def best_by_level(room: Room, unit: Unit, levels: Sequence[Level]) -> tuple[tuple[Level | None, Best], ...]:
    """Returns the domain of each level with the most room for a gang, finest level first, then all usable nodes."""
    needed = Counter(unit.all_pods)
    counts = {shape: capacities(room, shape) for shape in needed}

    def best(places: Sequence[Place]) -> Best:
        found = [
            (
                -sum(min(n, counts[shape][place]) for shape, n in needed.items()),
                place if isinstance(place, tuple) else (),
            )
            for place in places
        ]
        pods, place = min(found)
        return Best(place, -pods)

    depths = [depth for depth in range(len(levels) - 1, -1, -1) if _domains(room, depth + 1)]
    whole: list[Place] = [()] if any(item.is_constrained for item in unit.units) else [ALL]
    return (*((levels[depth], best(_domains(room, depth + 1))) for depth in depths), (None, best(whole)))


def _domains(room: Room, depth: int) -> list[Domain]:
    return sorted({leaf.domain[:depth] for leaf in room.leaves if leaf.domain is not None})
