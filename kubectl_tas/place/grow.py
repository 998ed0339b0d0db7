"""Computes how many more racks KAI needs to place all given gangs.

A rack is a domain of the finest level, or a node if there are no levels; new racks copy the most common rack. Gangs
with different topologies, or with pods for different racks, have different kinds of rack. New racks first go below
domains with fewer children than others of their level, then below new domains.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import ceil, prod

from kubectl_tas.gpus import GPU
from kubectl_tas.late import dataclass
from kubectl_tas.node_places import HOSTNAME
from kubectl_tas.place import kai_allocate
from kubectl_tas.place.feasibility import Lack, Shortage, lacking, shortage_of
from kubectl_tas.place.gangs_to_place import Unplaced
from kubectl_tas.place.mending import OF_KUBERNETES, freed
from kubectl_tas.place.node_cells import Space, Wanted, ranked
from kubectl_tas.place.node_resources import Domain, Node, domain_of
from kubectl_tas.place.shapes import Shape
from kubectl_tas.resolve.topologies import Level

MAX_PLACED = 500
"""Most gangs placed while searching for a smaller number of racks that is enough if all exist from the start."""
MAX_MORE = 8
"""Least number of further rack counts to try: with more racks, KAI may choose other domains and fail."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A gang that has no placement now."""

    item: Unplaced
    racks: int | None
    """Racks to add until KAI places the gang, after the gangs before it; None if no number of racks helps."""
    shortage: Shortage | None = None
    """Constraint that fails with any number of racks, if known."""
    lacks: tuple[Lack, ...] = ()
    """Resources that a pod asks for and no node has, even an empty one."""


@dataclass(frozen=True)
class Growth:
    """Growth of a cluster for gangs that use one kind of rack."""

    levels: tuple[Level, ...]
    """Levels of the topology to which racks are added."""
    like: Domain
    """The domain that new racks copy."""
    rack: tuple[Node, ...]
    """Nodes of that domain, as if they were new."""
    items: tuple[Unplaced, ...]
    """The gangs, one of each set of equal gangs."""
    gangs: int
    """Number of gangs, without running ones."""
    more: int = 0
    """Racks with which KAI places all pending gangs that can be placed."""
    at_once: bool = True
    """Whether all racks may exist from the start; if not, KAI places all gangs only if racks come one by one."""
    waiting: tuple[Waiting, ...] = ()
    added: tuple[Node, ...] = ()
    """Nodes of the added racks."""
    missing: Level | None = None
    """The coarsest level whose label no node has; then the topology has no rack to copy."""

    @property
    def word(self) -> str:
        """Word for a rack: the finest level, or node."""
        return self.levels[-1].key if self.levels else "node"

    @property
    def gpus(self) -> int:
        """GPUs of a rack."""
        return sum(node.allocatable.get(GPU, 0) for node in self.rack)


def grow(gangs: Sequence[tuple[Unplaced, int]], nodes: tuple[Node, ...]) -> tuple[Growth, ...]:
    """Returns the growth for each kind of rack that gangs of one shard use. Takes each gang with its number of pending
    copies, in the order in which gangs come.

    Gangs that fit now take their room first. Only gangs that use a kind of rack may use new racks of that kind.
    """
    wanted = [(item, item.wanted) for item, copies in gangs for _ in range(copies)]
    if not wanted:
        return (Growth((), (), (), (), 0),)
    space, there = Space(nodes), _There(nodes, [item for item, _ in wanted])
    groups: dict[tuple[tuple[Level, ...], object], list[_Pair]] = {}
    waiting: dict[tuple[tuple[Level, ...], object], list[_Pair]] = {}
    for pair in wanted:
        key = pair[0].levels, there.kind_for(pair[0])
        groups.setdefault(key, []).append(pair)
        waits = waiting.setdefault(key, [])
        if not _place(space, *pair):
            waits.append(pair)
    found = []
    for key, own in groups.items():
        growth, space = _grown(own, waiting[key], space, there)
        found.append(growth)
    return tuple(found)


def _grown(gangs: Sequence[_Pair], waiting: Sequence[_Pair], space: Space, there: _There) -> tuple[Growth, Space]:
    """Returns the growth for gangs that use one kind of rack, and the room left on the existing nodes."""
    items = tuple({id(item): item for item, _ in gangs}.values())
    racks = _Racks(there, items)
    found = Growth(racks.levels, racks.like, racks.rack, items, len(gangs))
    if not waiting:
        return found, space
    if not racks.rack:
        never = tuple(Waiting(item, None, lacks=there.lacks(item)) for item, _ in waiting)
        return replace(found, waiting=never, missing=there.missing(racks.levels)), space
    left = space.now()
    grown = Space(left)
    answers = list(_one_by_one(waiting, grown, racks))
    can_be = [pair for pair, answer in zip(waiting, answers, strict=True) if answer.racks is not None]
    last = max(answer.racks or 0 for answer in answers)
    fewest = _at_once(can_be, left, racks, last)
    more, grown = fewest or (last, grown)
    answers = [replace(item, racks=None if item.racks is None else min(item.racks, more)) for item in answers]
    found = replace(found, more=more, at_once=fewest is not None, waiting=tuple(answers), added=racks.nodes(0, more))
    return found, Space([node for node in grown.now() if node.name in space.nodes])


_Pair = tuple[Unplaced, Wanted]


def _place(space: Space, item: Unplaced, wanted: Wanted) -> bool:
    """Whether KAI places a gang; if so, takes the gang's resources from the space."""
    bound = kai_allocate.place(space.room_for(wanted, item.labels), wanted.unit)
    for pod in bound or ():
        space.take(pod.node, dict(wanted.shapes[pod.shape].asks))
    return bound is not None


def _one_by_one(waiting: Sequence[_Pair], space: Space, racks: _Racks) -> Iterator[Waiting]:
    """Yields for each gang the number of racks that it needs after the gangs before it."""
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
                short = shortage_of(room, wanted.unit, item.levels)
                never[alike] = Waiting(item, None, short, racks.there.lacks(item))
                yield never[alike]


def _fits_with(nodes: tuple[Node, ...], item: Unplaced, wanted: Wanted, space: Space) -> bool:
    """Whether KAI would place a gang if these nodes existed too."""
    space.add(nodes)
    found = kai_allocate.find(space.room_for(wanted, item.labels), wanted.unit)
    space.remove(nodes)
    return found is not None


def _added(item: Unplaced, wanted: Wanted, space: Space, racks: Iterable[tuple[Node, ...]]) -> int | None:
    """Adds racks until KAI places a gang, and returns their number. If all fail, removes them and returns None."""
    added: list[Node] = []
    for count, nodes in enumerate(racks, start=1):
        space.add(nodes)
        added += nodes
        if _place(space, item, wanted):
            return count
    space.remove(added)
    return None


def _at_once(waiting: Sequence[_Pair], nodes: Sequence[Node], racks: _Racks, most: int) -> tuple[int, Space] | None:
    """Returns the least number of racks that is enough if all exist from the start, and the room left then. Returns
    None if no tried number is enough, though KAI has placed all gangs while ``most`` racks were added.
    """
    tries = MAX_PLACED // max(1, len(waiting))

    def after(count: int) -> Space | None:
        space = Space((*nodes, *racks.nodes(0, count)))
        return space if all(_place(space, item, wanted) for item, wanted in waiting) else None

    least = racks.at_least(waiting, nodes)
    if most - tries > least:  # more than can be tried one by one: most often a larger number is enough, too
        most = bisect_left(range(most), 1, least, key=lambda count: after(count) is not None)
    for count in range(max(least, most - tries), most + max(tries, MAX_MORE) + 1):
        space = after(count)
        if space is not None:
            return count, space
    return None


class _There:
    """Existing racks by topology, as if they were new."""

    def __init__(self, nodes: tuple[Node, ...], gangs: Sequence[Unplaced]) -> None:
        self.labels = tuple(dict.fromkeys(label for item in gangs for label in item.labels))
        """Labels of the levels of all topologies."""
        self._nodes = tuple((old, _new(node)) for old, node in zip(nodes, freed(nodes), strict=True))
        self._racks: dict[tuple[Level, ...], dict[Domain, list[Node]]] = {}
        self._kinds: dict[tuple[tuple[Level, ...], Domain], object] = {}
        self._takers: dict[tuple[tuple[Level, ...], Shape], frozenset[Domain]] = {}
        self._likes: dict[tuple[tuple[Level, ...], frozenset[Shape]], Domain] = {}

    def racks(self, levels: tuple[Level, ...]) -> Mapping[Domain, Sequence[Node]]:
        """Returns the nodes of each rack of a topology."""
        if levels not in self._racks:
            found = self._racks[levels] = {}
            labels = tuple(level.label for level in levels)
            for old, node in self._nodes:
                domain = domain_of(old, labels) if levels else (old.name,)
                if domain is not None:
                    found.setdefault(domain, []).append(node)
        return self._racks[levels]

    def usable(self, item: Unplaced) -> list[Domain]:
        """Returns the racks that all pods of a gang can use; if there are none, the racks that some pods can use."""
        found = [self._taking(item.levels, shape) for shape in dict.fromkeys(item.wanted.shapes)]
        usable = frozenset.intersection(*found) or frozenset.union(*found) if found else frozenset()
        return [domain for domain in self.racks(item.levels) if domain in usable]

    def _taking(self, levels: tuple[Level, ...], shape: Shape) -> frozenset[Domain]:
        key = levels, shape
        if key not in self._takers:
            racks = self.racks(levels).items()
            self._takers[key] = frozenset(
                domain for domain, own in racks if any(_takes((node,), shape) for node in own)
            )
        return self._takers[key]

    def like(self, item: Unplaced) -> Domain:
        """Returns the first rack of the most common kind that a gang can use; () if it can use none."""
        key = item.levels, frozenset(item.wanted.shapes)
        if key not in self._likes:
            usable = self.usable(item)
            kinds = Counter(self._kind(item.levels, domain) for domain in usable)
            best = max(kinds.values(), default=0)
            most = (domain for domain in usable if kinds[self._kind(item.levels, domain)] == best)
            self._likes[key] = min(most, default=())
        return self._likes[key]

    def kind_for(self, item: Unplaced) -> object:
        """Returns the kind of rack that a gang would get; None if it can use none."""
        like = self.like(item)
        return self._kind(item.levels, like) if like else None

    def _kind(self, levels: tuple[Level, ...], domain: Domain) -> object:
        """Returns a key that is equal for racks of one kind."""
        key = levels, domain
        if key not in self._kinds:
            own = {HOSTNAME, *self.labels}
            nodes_of = (
                (
                    sorted(node.allocatable.items()),
                    sorted(map(str, node.taints)),
                    sorted((name, value) for name, value in node.labels.items() if name not in own),
                )
                for node in self.racks(levels)[domain]
            )
            self._kinds[key] = repr(sorted(nodes_of))
        return self._kinds[key]

    @cached_property
    def _space(self) -> Space:
        return Space([node for _, node in self._nodes])

    def lacks(self, item: Unplaced) -> tuple[Lack, ...]:
        """Returns the resources that a pod of a gang asks for and no node has."""
        return lacking(self._space.room_for(item.wanted, item.labels), item.wanted.unit)

    def missing(self, levels: Sequence[Level]) -> Level | None:
        """Returns the coarsest level whose label no node has; None if nodes have all labels."""
        return next((one for one in levels if not any(one.label in node.labels for node, _ in self._nodes)), None)


class _Racks:
    """Racks that are added one by one."""

    def __init__(self, there: _There, gangs: Sequence[Unplaced]) -> None:
        """Takes gangs that use one kind of rack."""
        self.there, self.levels = there, gangs[0].levels
        self._labels = gangs[0].labels
        self._others = tuple(label for label in there.labels if label not in self._labels)
        """Labels of other topologies; each new rack is its own domain there."""
        found = there.racks(self.levels)
        self._usable = dict.fromkeys(domain for item in gangs for domain in there.usable(item))
        self.like: Domain = min((like for like in map(there.like, gangs) if like), default=())
        self.rack = tuple(found.get(self.like, ()))
        self._places = self._new_places(list(found)) if self.levels else iter(())
        self._made: list[tuple[Node, ...]] = []

    def nodes(self, first: int, count: int) -> tuple[Node, ...]:
        """Returns the nodes of ``count`` racks from number ``first`` on."""
        while len(self._made) < first + count:
            self._made.append(tuple(self._rack(len(self._made) + 1)))
        return tuple(node for rack in self._made[first : first + count] for node in rack)

    def after(self, first: int, count: int) -> Iterator[tuple[Node, ...]]:
        """Yields the nodes of each of ``count`` racks from number ``first`` on."""
        return (self.nodes(number, 1) for number in range(first, first + count))

    def _rack(self, number: int) -> Iterator[Node]:
        domain = next(self._places, ())
        labels = dict(zip(self._labels, domain, strict=True)) | dict.fromkeys(self._others, f"new-{number}")
        for index, node in enumerate(self.rack, start=1):
            name = f"new-{number}-{index}"
            yield replace(node, name=name, labels={**node.labels, **labels, HOSTNAME: name})

    def _new_places(self, domains: list[Domain]) -> Iterator[Domain]:
        """Yields new domains of the finest level, without end."""
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
                place = (*place, f"new-{self.levels[len(place)].key}-{made[len(place)]}")
                below[place] = 0
            yield place

    def _widths(self, below: dict[Domain, int]) -> list[int]:
        """Returns the largest number of child domains at each depth."""
        return [
            max(count for place, count in below.items() if len(place) == depth) for depth in range(len(self._labels))
        ]

    @cached_property
    def _of_top(self) -> int:
        """Most racks in one domain of the coarsest level."""
        domains = {domain[:depth] for domain in self._usable for depth in range(len(self._labels) + 1)}
        counts: dict[Domain, int] = dict.fromkeys(domains, 0)
        for domain in domains - {()}:
            counts[domain[:-1]] += 1
        return prod(self._widths(counts)[1:]) if self._labels else 1

    def enough_for(self, wanted: Wanted) -> int:
        """Returns a number of racks beyond which more cannot help: each SubGroup has its own, in new domains."""
        racks = 0
        for unit in wanted.unit.units:
            for shape, pods in Counter(unit.pods).items():
                takes = _takes(self.rack, wanted.shapes[shape])
                racks += ceil(pods / takes) if takes else 0
        return 2 * racks + 2 * self._of_top

    def at_least(self, waiting: Sequence[_Pair], nodes: Sequence[Node]) -> int:
        """Returns the number of racks without which the gangs ask for more than all nodes have."""
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
    """Returns a node as if it were new: ready, not cordoned, without Kubernetes' taints, and only with its own pods."""
    taints = tuple(taint for taint in node.taints if not taint.key.startswith(OF_KUBERNETES))
    return replace(
        node, taints=taints, is_ready=True, is_cordoned=False, pods=tuple(pod for pod in node.pods if pod.is_of_node)
    )


def _takes(nodes: Sequence[Node], shape: Shape) -> int:
    """Returns how many pods of a shape these nodes have room for."""
    found = 0
    for node in nodes:
        if not shape.rules.refusal(node):
            found += max(0, min(node.free.get(name, 0) // amount for name, amount in shape.asks if amount))
    return found
