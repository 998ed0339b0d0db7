"""A gang and the nodes that there are, as both questions of ``fit`` need them: levels by their depth, equal pods and
equal nodes counted together, so that thousands of nodes stay small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from kubectl_tas.gangs.gang import Gang, Part
from kubectl_tas.gpus import GPU
from kubectl_tas.place.nodes import CPU, PODS, Domain, Node, domain_of
from kubectl_tas.place.shapes import Rules, Shape


@dataclass(frozen=True)
class Unit:
    """A gang, or a SubGroup."""

    name: str
    required: int | None = None
    """Depth of the level that its pods must share, 0 for the coarsest; None where there is none."""
    preferred: int | None = None
    pods: tuple[int, ...] = ()
    """The shape of each pod that is in no unit below."""
    below: tuple[Unit, ...] = ()

    @property
    def is_constrained(self) -> bool:
        """Whether it asks for any level."""
        return self.required is not None or self.preferred is not None

    @cached_property
    def all_pods(self) -> tuple[int, ...]:
        """The shapes of all its pods."""
        return (*self.pods, *(pod for unit in self.below for pod in unit.all_pods))

    @property
    def units(self) -> Iterator[Unit]:
        """Itself and all below it, each before those below it."""
        yield self
        for unit in self.below:
            yield from unit.units


@dataclass(frozen=True)
class Wanted:
    """What is to be placed."""

    unit: Unit
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True, order=True)
class Cell:
    """Nodes that are equal for a gang."""

    free: tuple[int, ...]
    """By resource of the room."""
    admits: tuple[bool, ...]
    """By shape, whether pods of it may use them."""
    has_gpus: bool


@dataclass(frozen=True, eq=False)
class Leaf:
    """The nodes of a finest domain, or those that are outside of the topology; no two are the same."""

    domain: Domain | None
    """None: outside."""
    cells: tuple[tuple[Cell, int], ...]
    """With how many nodes each is; sorted."""

    @cached_property
    def chain(self) -> tuple[Domain, ...]:
        """All domains that it is in, from the whole topology down; none outside."""
        return () if self.domain is None else tuple(self.domain[:depth] for depth in range(len(self.domain) + 1))


@dataclass(frozen=True)
class Room:
    """What there is for a gang."""

    levels: tuple[str, ...]
    """Node labels, from the coarsest."""
    resources: tuple[str, ...]
    asks: tuple[tuple[int, ...], ...]
    """What a pod asks for, by shape and resource."""
    leaves: tuple[Leaf, ...]

    def takes(self, cell: Cell, shape: int) -> int:
        """How many pods of a shape one node of a cell has room for."""
        return multiples(self.asks[shape], cell.free) if cell.admits[shape] else 0


def multiples(asked: Sequence[int], free: Sequence[int]) -> int:
    """How many times what is asked is there."""
    return max(0, min(there // amount for amount, there in zip(asked, free, strict=True) if amount))


def wanted_of(gang: Gang, levels: Sequence[str], known: Mapping[str, Shape]) -> Wanted:
    """The units and shapes of a workflow's gang; ``levels`` are the node labels of its topology, coarsest first, and
    ``known`` the shapes by the names of its tasks.
    """
    shapes: dict[Shape, int] = {}
    depths = {label: depth for depth, label in enumerate(levels)}

    def unit(part: Part) -> Unit:
        pods = tuple(shapes.setdefault(known[item.name], len(shapes)) for item in part.members)
        required, preferred = part.constraint.labels if part.constraint else (None, None)
        below = tuple(map(unit, gang.below(part)))
        return Unit(
            part.name,
            depths[required] if required else None,
            depths[preferred] if preferred else None,
            pods,
            below,
        )

    return Wanted(unit(gang), tuple(shapes))


def room_for(wanted: Wanted, nodes: tuple[Node, ...], levels: Sequence[str]) -> Room:
    """What the nodes have for pods of these shapes."""
    resources = tuple(sorted({CPU, GPU, PODS} | {name for shape in wanted.shapes for name, _ in shape.asks}))
    rules = tuple(shape.rules for shape in wanted.shapes)
    asks = tuple(tuple(dict(shape.asks).get(name, 0) for name in resources) for shape in wanted.shapes)
    return Room(tuple(levels), resources, asks, _leaves(nodes, tuple(levels), resources, rules))


@lru_cache(maxsize=256)
def _leaves(
    nodes: tuple[Node, ...], levels: tuple[str, ...], resources: tuple[str, ...], rules: tuple[Rules, ...]
) -> tuple[Leaf, ...]:
    """The nodes by finest domain, those outside last. Most gangs of a pool see the same."""
    distinct = tuple(dict.fromkeys(rules))
    places = [distinct.index(rule) for rule in rules]
    found: dict[Domain | None, Counter[Cell]] = {}
    for node in nodes:
        may = [not rule.refusal(node) for rule in distinct]
        cell = Cell(
            tuple(node.free.get(name, 0) for name in resources),
            tuple(may[place] for place in places),
            node.allocatable.get(GPU, 0) > 0,
        )
        found.setdefault(domain_of(node, levels), Counter())[cell] += 1
    inside = sorted(domain for domain in found if domain is not None)
    return tuple(
        Leaf(domain, tuple(sorted(found[domain].items()))) for domain in (*inside, *([None] if None in found else []))
    )


@lru_cache(maxsize=256)
def unusable(nodes: tuple[Node, ...], levels: tuple[str, ...], rules: tuple[Rules, ...]) -> Mapping[str, int]:
    """How many nodes no pod with any of these rules may use, by the reason, most of them first; with levels also those
    that are outside of their topology.
    """
    found: Counter[str] = Counter()
    for node in nodes:
        refusals = [rule.refusal(node) for rule in rules]
        if all(refusals):
            found[refusals[0]] += 1
        elif domain_of(node, levels) is None:
            missing = next(label for label in levels if label not in node.labels)
            found[f"outside of the topology, without the label {missing}"] += 1
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
