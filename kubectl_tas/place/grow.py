"""Gangs and the nodes that there are in; how many racks more KAI needs to place all of them out.

A rack is a domain of the finest level, a new one like those that there are most of; where there are no levels, a node.
New ones are added as the cluster is built: below domains that have fewer than others of their level, then below new
ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, prod

from kubectl_tas.gpus import GPU
from kubectl_tas.place import order
from kubectl_tas.place.mending import OF_KUBERNETES, freed
from kubectl_tas.place.nodes import Domain, Node, domain_of
from kubectl_tas.place.room import Space, Wanted, ranked
from kubectl_tas.place.shapes import Shape
from kubectl_tas.place.shortage import Shortage, shortage_of
from kubectl_tas.place.synthetic import HOSTNAME
from kubectl_tas.place.unplaced import Unplaced
from kubectl_tas.resolve.topologies import Level

MAX_PLACED = 500
"""Gangs that are placed to find a smaller number of racks, all there from the start, that is enough."""
MAX_MORE = 8
"""Larger numbers that are tried at least: with more racks KAI may take another way, and find less."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A gang for which there is no place now."""

    item: Unplaced
    racks: int | None
    """How many racks more there must be until KAI places it, behind those before it; None: no number of them helps."""
    shortage: Shortage | None = None
    """What is short for it whatever is added, where that is known."""


@dataclass(frozen=True)
class Growth:
    """How a cluster must grow."""

    levels: tuple[Level, ...]
    """Of the topology whose finest domains are added."""
    like: Domain
    """The domain that the new ones are like."""
    rack: tuple[Node, ...]
    """Its nodes, as they would be new."""
    gangs: int
    """Gangs that were placed, those that run not counted."""
    more: int
    """Racks with which all are placed that wait and can be."""
    at_once: bool = True
    """Whether they may be there from the start; else KAI places all only while they come one after the other."""
    waiting: tuple[Waiting, ...] = ()
    added: tuple[Node, ...] = ()
    """The nodes of those racks, as they are added."""

    @property
    def word(self) -> str:
        """What is added."""
        return self.levels[-1].key if self.levels else "node"

    @property
    def gpus(self) -> int:
        """GPUs of a rack."""
        return sum(node.allocatable.get(GPU, 0) for node in self.rack)


def grow(gangs: Sequence[tuple[Unplaced, int]], nodes: tuple[Node, ...]) -> Growth:
    """The growth that gangs of one shard need, each as often as copies of it wait, in the order in which they come.

    Those that there is room for take it first.
    """
    wanted = [(item, item.wanted) for item, copies in gangs for _ in range(copies)]
    space = Space(nodes)
    waiting = [(item, one) for item, one in wanted if not _place(space, item, one)]
    left = space.now()
    asked = [item for item, _ in waiting or wanted]
    levels = Counter(item.levels for item in asked).most_common(1)[0][0] if asked else ()
    racks = _Racks(nodes, levels, asked)
    found = Growth(levels, racks.like, racks.rack, len(wanted), 0)
    if not waiting:
        return found
    if not racks.rack:
        return replace(found, waiting=tuple(Waiting(item, None) for item, _ in waiting))
    answers = list(_one_by_one(waiting, space, racks))
    can_be = [pair for pair, answer in zip(waiting, answers, strict=True) if answer.racks is not None]
    last = max((answer.racks or 0 for answer in answers), default=0)
    fewest = _at_once(can_be, left, racks, last)
    more = last if fewest is None else fewest
    answers = [replace(item, racks=None if item.racks is None else min(item.racks, more)) for item in answers]
    added = racks.nodes(0, more)
    return replace(found, more=more, at_once=fewest is not None, waiting=tuple(answers), added=added)


_Pair = tuple[Unplaced, Wanted]


def _place(space: Space, item: Unplaced, wanted: Wanted) -> bool:
    """Whether KAI places a gang; it then takes what it asks for."""
    bound = order.place(space.room_for(wanted, item.labels), wanted.unit)
    for pod in bound or ():
        space.take(pod.node, dict(wanted.shapes[pod.shape].asks))
    return bound is not None


def _one_by_one(waiting: Sequence[_Pair], space: Space, racks: _Racks) -> Iterator[Waiting]:
    """For each gang the number of racks with which it goes, each taking what those before it have left."""
    count, helped, never = 0, set[object](), dict[object, Waiting]()
    for item, wanted in waiting:
        alike = ranked(wanted.unit), wanted.shapes, item.labels
        most = racks.enough_for(wanted)
        if alike in never:
            yield replace(never[alike], item=item)
        elif _place(space, item, wanted):
            yield Waiting(item, count)
        else:
            helps = alike in helped or _fits_with(racks.nodes(count, most), item, wanted, space)
            further = _added(item, wanted, space, racks.after(count, most if helps else MAX_MORE))
            if further is not None:
                helped.add(alike)
                count += further
                yield Waiting(item, count)
            else:
                room = Space(racks.nodes(count, most)).room_for(wanted, item.labels)
                never[alike] = Waiting(item, None, shortage_of(room, wanted.unit, item.levels))
                yield never[alike]


def _fits_with(nodes: tuple[Node, ...], item: Unplaced, wanted: Wanted, space: Space) -> bool:
    """Whether KAI would place a gang if these nodes were there too."""
    space.add(nodes)
    found = order.find(space.room_for(wanted, item.labels), wanted.unit)
    space.remove(nodes)
    return found is not None


def _added(item: Unplaced, wanted: Wanted, space: Space, racks: Iterable[tuple[Node, ...]]) -> int | None:
    """How many racks are added until KAI places a gang; None where all of them are not enough, and none stays."""
    added: list[Node] = []
    for count, nodes in enumerate(racks, start=1):
        space.add(nodes)
        added += nodes
        if _place(space, item, wanted):
            return count
    space.remove(added)
    return None


def _at_once(waiting: Sequence[_Pair], nodes: Sequence[Node], racks: _Racks, most: int) -> int | None:
    """The least number of racks that is enough where all are there from the start; None where none is that was tried,
    though KAI has placed all while ``most`` were added.
    """
    tries = MAX_PLACED // max(1, len(waiting))
    for count in range(max(racks.at_least(waiting, nodes), most - tries), most + max(tries, MAX_MORE) + 1):
        space = Space((*nodes, *racks.nodes(0, count)))
        if all(_place(space, item, wanted) for item, wanted in waiting):
            return count
    return None


class _Racks:
    """The racks that are added, one after the other."""

    def __init__(self, nodes: tuple[Node, ...], levels: tuple[Level, ...], gangs: Sequence[Unplaced]) -> None:
        self._levels = levels
        self._labels = tuple(level.label for level in levels)
        others = (label for item in gangs for label in item.labels if label not in self._labels)
        self._others = tuple(dict.fromkeys(others))
        """Labels of other topologies, of which each new rack is a domain of its own."""
        found: dict[Domain, list[Node]] = {}
        for old, node in zip(nodes, freed(nodes), strict=True):
            domain = domain_of(old, self._labels) if levels else (old.name,)
            if domain is not None:
                found.setdefault(domain, []).append(_new(node))
        shapes = dict.fromkeys(shape for item in gangs for shape in item.wanted.shapes)
        self._usable = {domain: own for domain, own in found.items() if any(_takes(own, shape) for shape in shapes)}
        kinds = Counter(self._kind(own) for own in self._usable.values())
        best = max(kinds.values(), default=0)
        self.like: Domain = min(
            (domain for domain, own in self._usable.items() if kinds[self._kind(own)] == best), default=()
        )
        self.rack = tuple(self._usable.get(self.like, ()))
        self._places = self._new_places(list(found)) if levels else iter(())
        self._made: list[tuple[Node, ...]] = []

    def _kind(self, nodes: Sequence[Node]) -> object:
        """What racks that are alike have in common."""
        own = {HOSTNAME, *self._labels, *self._others}
        nodes_of = (
            (
                sorted(node.allocatable.items()),
                sorted(map(str, node.taints)),
                sorted((name, value) for name, value in node.labels.items() if name not in own),
            )
            for node in nodes
        )
        return repr(sorted(nodes_of))

    def nodes(self, first: int, count: int) -> tuple[Node, ...]:
        """The nodes of some of the racks."""
        while len(self._made) < first + count:
            self._made.append(tuple(self._rack(len(self._made) + 1)))
        return tuple(node for rack in self._made[first : first + count] for node in rack)

    def after(self, first: int, count: int) -> Iterator[tuple[Node, ...]]:
        """Some of the racks, one after the other."""
        return (self.nodes(number, 1) for number in range(first, first + count))

    def _rack(self, number: int) -> Iterator[Node]:
        domain = next(self._places, ())
        labels = dict(zip(self._labels, domain, strict=True)) | dict.fromkeys(self._others, f"new-{number}")
        for index, node in enumerate(self.rack, start=1):
            name = f"new-{number}-{index}"
            yield replace(node, name=name, labels={**node.labels, **labels, HOSTNAME: name})

    def _new_places(self, domains: list[Domain]) -> Iterator[Domain]:
        """New domains of the finest level, without end."""
        below: dict[Domain, int] = {}
        for place in sorted({domain[:depth] for domain in domains for depth in range(len(self._labels) + 1)}):
            below.setdefault(place, 0)
            if place:
                below[place[:-1]] += 1
        width = self._widths(below)
        made: Counter[int] = Counter()
        while True:
            depths = range(len(self._labels) - 1, 0, -1)
            narrow = (
                place
                for depth in depths
                for place in sorted(below)
                if len(place) == depth and below[place] < width[depth]
            )
            place = next(narrow, ())
            while len(place) < len(self._labels):
                below[place] += 1
                made[len(place)] += 1
                place = (*place, f"new-{self._levels[len(place)].key}-{made[len(place)]}")
                below[place] = 0
            yield place

    def _widths(self, below: dict[Domain, int]) -> list[int]:
        """By depth, the most domains that one of them has below it."""
        return [
            max(count for place, count in below.items() if len(place) == depth) for depth in range(len(self._labels))
        ]

    @cached_property
    def _of_top(self) -> int:
        """Racks of a domain of the coarsest level."""
        domains = {domain[:depth] for domain in self._usable for depth in range(len(self._labels) + 1)}
        counts: dict[Domain, int] = dict.fromkeys(domains, 0)
        for domain in domains - {()}:
            counts[domain[:-1]] += 1
        return prod(self._widths(counts)[1:]) if self._labels else 1

    def enough_for(self, wanted: Wanted) -> int:
        """Racks of which no more can help: each SubGroup has its own, in domains that are new from the top."""
        racks = 0
        for unit in wanted.unit.units:
            for shape, pods in Counter(unit.pods).items():
                takes = _takes(self.rack, wanted.shapes[shape])
                racks += ceil(pods / takes) if takes else 0
        return 2 * racks + 2 * self._of_top

    def at_least(self, waiting: Sequence[_Pair], nodes: Sequence[Node]) -> int:
        """Racks without which what is asked for is more than there is."""
        asked: Counter[str] = Counter()
        for _, wanted in waiting:
            for shape, pods in Counter(wanted.unit.all_pods).items():
                for name, amount in wanted.shapes[shape].asks:
                    asked[name] += pods * amount
        least = 0
        for name, amount in asked.items():
            free = sum(max(0, node.free.get(name, 0)) for node in nodes)
            of_rack = sum(node.free.get(name, 0) for node in self.rack)
            least = max(least, ceil((amount - free) / of_rack) if of_rack > 0 else 0)
        return least


def _new(node: Node) -> Node:
    """A node like it with nothing on it but what belongs to it, that is well."""
    taints = tuple(taint for taint in node.taints if not taint.key.startswith(OF_KUBERNETES))
    return replace(
        node, taints=taints, is_ready=True, is_cordoned=False, pods=tuple(pod for pod in node.pods if pod.is_of_node)
    )


def _takes(nodes: Sequence[Node], shape: Shape) -> int:
    """How many pods of a shape such nodes have room for."""
    found = 0
    for node in nodes:
        if not shape.rules.refusal(node):
            found += max(0, min(node.free.get(name, 0) // amount for name, amount in shape.asks if amount))
    return found
