"""The first constraint of a gang that fails, from the gang down, with the domains that come nearest to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kubectl_tas.place.feasibility import ALL, Place, capacities
from kubectl_tas.place.node_cells import Room, Unit
from kubectl_tas.place.node_resources import Domain
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.topologies import Level

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
