"""Whether any placement exists, exactly: domains for all required levels, and nodes for all pods. If none does: the
first constraint of a gang that fails, from the gang down, with the domains that come nearest to it.

Pods of one shape fit into the domains that were chosen for them if, and only if, no domain holds more of them than it
has room for, since domains are nested; so a search over domains alone is exact for a gang whose pods are alike. With
several shapes it can rule out, by one shape after the other, but not confirm: then OR-Tools' solver answers, where it
is installed. Nodes outside of the topology count only for units that ask for no level, as for KAI.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache

from kubectl_tas.place import solver
from kubectl_tas.place.node_cells import Leaf, Room, Unit, multiples
from kubectl_tas.place.node_resources import Domain
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.topologies import Level

MAX_STEPS = 4000
"""Choices of a domain after which a search gives up."""
ALL, _OUTSIDE = "all", "outside"
Place = Domain | str
"""A domain, all nodes, or those outside of the topology."""


class Existence(Enum):
    """What is known of a placement."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


def exists(room: Room, unit: Unit) -> Existence:
    """Whether there is a placement."""
    found = searched(room, unit)
    return solved(room, unit) if found is Existence.UNKNOWN else found


def searched(room: Room, unit: Unit) -> Existence:
    """The same without a solver, which tells of pods that differ only where those of one shape have no placement."""
    answers = [_Search(room, shape).answer(unit) for shape in sorted(set(unit.all_pods))]
    if Existence.NO in answers:
        return Existence.NO
    return Existence.UNKNOWN if len(answers) > 1 or Existence.UNKNOWN in answers else Existence.YES


def solved(room: Room, unit: Unit) -> Existence:
    """What OR-Tools' solver answers; unknown where it is not installed, or gives up."""
    found = solver.solve(room, unit)
    return Existence.UNKNOWN if found is None else Existence.YES if found else Existence.NO


def capacities(room: Room, shape: int) -> Mapping[Place, int]:
    """How many pods of a shape each domain has room for, and all nodes together, and those outside."""
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
    """A place and all that it is part of."""
    if isinstance(place, tuple):
        yield from (place[:depth] for depth in range(len(place), -1, -1))
    elif place == _OUTSIDE:
        yield place
    yield ALL


def allowed(unit: Unit, parent: Place, domains: Sequence[Domain]) -> Iterator[Place]:
    """The places among which that of a unit is to be chosen, by that of the unit above."""
    within: Place = () if unit.is_constrained and parent == ALL else parent
    if unit.required is None or not isinstance(within, tuple) or len(within) > unit.required:
        yield within
        return
    for domain in domains:
        if len(domain) == unit.required + 1 and domain[: len(within)] == within:
            yield domain


_Waiting = tuple[tuple[Unit, Place], "_Waiting | None"]
"""A unit with the place that it is to be within, and those that wait behind it."""


class _GaveUpError(Exception):
    """The search has taken too long."""


class _Search:
    """For pods of one shape."""

    def __init__(self, room: Room, shape: int) -> None:
        self._shape = shape
        self._left = dict(capacities(room, shape))
        self._domains = sorted(place for place in self._left if isinstance(place, tuple))
        self._below: dict[Domain, list[Domain]] = {}
        for domain in self._domains[1:]:
            self._below.setdefault(domain[:-1], []).append(domain)
        self._steps = 0

    def answer(self, unit: Unit) -> Existence:
        """Whether its pods of this shape have a placement."""
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
        """Places the first unit that waits, within its place, in one way after the other; what then waits of each."""
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
        """Domains of one domain for which this is equal are interchangeable."""
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
"""Domains that are shown of a level."""


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
class Lack:
    """What a pod asks for, and no node that it may use has."""

    resource: str
    asked: int
    """In the units of ``nodes.Vector``."""
    most: int
    """The most that any of those nodes has free."""


def lacking(room: Room, unit: Unit) -> tuple[Lack, ...]:
    """Of pods that no node has room for, though some may be used: of which resources they ask for too much."""
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


def best_by_level(room: Room, unit: Unit, levels: Sequence[Level]) -> tuple[tuple[Level | None, Best], ...]:
    """The domain of each level that has room for the most pods of a gang, from the finest level on, and all nodes
    that it may be on.
    """
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
