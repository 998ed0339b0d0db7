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

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.node_places import HOSTNAME
from kubectl_tas.place import kai_allocate
from kubectl_tas.place.feasibility import Lack, Shortage, lacking, shortage_of
from kubectl_tas.place.gangs_to_place import GangToPlace
from kubectl_tas.place.mending import OF_KUBERNETES, freed
from kubectl_tas.place.node_cells import PlacementRequest, Space, ranked
from kubectl_tas.place.node_resources import Domain, NodeResources, domain_of
from kubectl_tas.place.shapes import PodShape
from kubectl_tas.resolve.topologies import Level

MAX_PLACED = 500
"""Most gangs placed while searching for a smaller number of racks that is enough if all exist from the start."""
MAX_MORE = 8
"""Least number of further rack counts to try: with more racks, KAI may choose other domains and fail."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A gang that has no placement now."""

    to_place: GangToPlace
    racks: int | None
    """Racks to add until KAI places the gang, after the gangs before it; None if no number of racks helps."""
    shortage: Shortage | None = None
    """Constraint that fails with any number of racks, if known."""
    lacks: tuple[Lack, ...] = ()
    """Resources that a pod asks for and no node has, even an empty one."""


@dataclass(frozen=True)
class ClusterGrowth:
    """Growth of a cluster for gangs that use one kind of rack."""

    levels: tuple[Level, ...]
    """Levels of the topology to which racks are added."""
    like: Domain
    """The domain that new racks copy."""
    rack: tuple[NodeResources, ...]
    """Nodes of that domain, as if they were new."""
    to_place: tuple[GangToPlace, ...]
    """The gangs, one of each set of equal gangs."""
    gangs: int
    """Number of gangs, without running ones."""
    racks_needed: int = 0
    """Racks with which KAI places all pending gangs that can be placed."""
    at_once: bool = True
    """Whether all racks may exist from the start; if not, KAI places all gangs only if racks come one by one."""
    waiting: tuple[Waiting, ...] = ()
    added: tuple[NodeResources, ...] = ()
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


def grow(gangs: Sequence[tuple[GangToPlace, int]], nodes: tuple[NodeResources, ...]) -> tuple[ClusterGrowth, ...]:
    """Returns the growth for each kind of rack that gangs of one shard use. Takes each gang with its number of pending
    copies, in the order in which gangs come.

    Gangs that fit now take their room first. Only gangs that use a kind of rack may use new racks of that kind.
    """
    requests = [(gang, gang.request) for gang, copies in gangs for _ in range(copies)]
    if not requests:
        return (ClusterGrowth((), (), (), (), 0),)
    space, existing = Space(nodes), _ExistingRacks(nodes, [gang for gang, _ in requests])
    groups: dict[tuple[tuple[Level, ...], object], list[_Pair]] = {}
    waiting: dict[tuple[tuple[Level, ...], object], list[_Pair]] = {}
    for pair in requests:
        key = pair[0].levels, existing.kind_for(pair[0])
        groups.setdefault(key, []).append(pair)
        waits = waiting.setdefault(key, [])
        if not _place(space, *pair):
            waits.append(pair)
    growths = []
    for key, kind_gangs in groups.items():
        growth, space = _grown(kind_gangs, waiting[key], space, existing)
        growths.append(growth)
    return tuple(growths)


def further_racks(gangs: Sequence[GangToPlace], nodes: tuple[NodeResources, ...], count: int) -> ClusterGrowth:
    """Returns ``count`` racks more, of the kind that most of the gangs of one shard use."""
    existing = _ExistingRacks(nodes, gangs)
    by_kind: dict[tuple[tuple[Level, ...], object], list[GangToPlace]] = {}
    for gang in gangs:
        by_kind.setdefault((gang.levels, existing.kind_for(gang)), []).append(gang)
    alike = max(by_kind.values(), key=len)
    racks = _AddedRacks(existing, alike)
    added = racks.nodes(0, count) if racks.rack else ()
    return ClusterGrowth(racks.levels, racks.like, racks.rack, tuple(alike), len(alike), count, added=added)


def _grown(
    gangs: Sequence[_Pair], waiting: Sequence[_Pair], space: Space, existing: _ExistingRacks
) -> tuple[ClusterGrowth, Space]:
    """Returns the growth for gangs that use one kind of rack, and the room left on the existing nodes."""
    distinct_gangs = tuple({id(gang): gang for gang, _ in gangs}.values())
    racks = _AddedRacks(existing, distinct_gangs)
    growth = ClusterGrowth(racks.levels, racks.like, racks.rack, distinct_gangs, len(gangs))
    if not waiting:
        return growth, space
    if not racks.rack:
        never = tuple(Waiting(gang, None, lacks=existing.lacks(gang)) for gang, _ in waiting)
        return replace(growth, waiting=never, missing=existing.missing(racks.levels)), space
    nodes_left = space.now()
    grown = Space(nodes_left)
    answers = list(_one_by_one(waiting, grown, racks))
    can_be = [pair for pair, answer in zip(waiting, answers, strict=True) if answer.racks is not None]
    last = max(answer.racks or 0 for answer in answers)
    fewest = _at_once(can_be, nodes_left, racks, last)
    racks_added, grown = fewest or (last, grown)
    answers = [
        replace(answer, racks=None if answer.racks is None else min(answer.racks, racks_added)) for answer in answers
    ]
    growth = replace(
        growth,
        racks_needed=racks_added,
        at_once=fewest is not None,
        waiting=tuple(answers),
        added=racks.nodes(0, racks_added),
    )
    return growth, Space([node for node in grown.now() if node.name in space.nodes])


_Pair = tuple[GangToPlace, PlacementRequest]


def _place(space: Space, gang: GangToPlace, request: PlacementRequest) -> bool:
    """Whether KAI places a gang; if so, takes the gang's resources from the space."""
    bound = kai_allocate.place(space.room_for(request, gang.labels), request.unit)
    for pod in bound or ():
        space.take(pod.node, dict(request.shapes[pod.shape].asks))
    return bound is not None


def _one_by_one(waiting: Sequence[_Pair], space: Space, racks: _AddedRacks) -> Iterator[Waiting]:
    """Yields for each gang the number of racks that it needs after the gangs before it."""
    count, helped, never = 0, set[object](), dict[object, Waiting]()
    for gang, request in waiting:
        alike = ranked(request.unit), request.shapes, gang.labels
        most = racks.enough_for(request)
        if alike in never:
            yield replace(never[alike], to_place=gang)
        elif _place(space, gang, request):
            yield Waiting(gang, count)
        else:
            helps = alike in helped or _fits_with(racks.nodes(count, most), gang, request, space)
            further = _added(gang, request, space, racks.after(count, most if helps else MAX_MORE))
            if further is not None:
                helped.add(alike)
                count += further
                yield Waiting(gang, count)
            else:
                room = Space(racks.nodes(count, most)).room_for(request, gang.labels)
                short = shortage_of(room, request.unit, gang.levels)
                never[alike] = Waiting(gang, None, short, racks.there.lacks(gang))
                yield never[alike]


def _fits_with(nodes: tuple[NodeResources, ...], gang: GangToPlace, request: PlacementRequest, space: Space) -> bool:
    """Whether KAI would place a gang if these nodes existed too."""
    space.add(nodes)
    placement = kai_allocate.find(space.room_for(request, gang.labels), request.unit)
    space.remove(nodes)
    return placement is not None


def _added(
    gang: GangToPlace, request: PlacementRequest, space: Space, racks: Iterable[tuple[NodeResources, ...]]
) -> int | None:
    """Adds racks until KAI places a gang, and returns their number. If all fail, removes them and returns None."""
    added: list[NodeResources] = []
    for count, nodes in enumerate(racks, start=1):
        space.add(nodes)
        added += nodes
        if _place(space, gang, request):
            return count
    space.remove(added)
    return None


def _at_once(
    waiting: Sequence[_Pair], nodes: Sequence[NodeResources], racks: _AddedRacks, most: int
) -> tuple[int, Space] | None:
    """Returns the least number of racks that is enough if all exist from the start, and the room left then. Returns
    None if no tried number is enough, though KAI has placed all gangs while ``most`` racks were added.
    """
    tries = MAX_PLACED // max(1, len(waiting))

    def after(count: int) -> Space | None:
        space = Space((*nodes, *racks.nodes(0, count)))
        return space if all(_place(space, gang, request) for gang, request in waiting) else None

    least = racks.at_least(waiting, nodes)
    if most - tries > least:  # more than can be tried one by one: most often a larger number is enough, too
        most = bisect_left(range(most), 1, least, key=lambda count: after(count) is not None)
    for count in range(max(least, most - tries), most + max(tries, MAX_MORE) + 1):
        space = after(count)
        if space is not None:
            return count, space
    return None


class _ExistingRacks:
    """Existing racks by topology, as if they were new."""

    def __init__(self, nodes: tuple[NodeResources, ...], gangs: Sequence[GangToPlace]) -> None:
        self.labels = tuple(dict.fromkeys(label for gang in gangs for label in gang.labels))
        """Labels of the levels of all topologies."""
        self._nodes = tuple((old, _new(node)) for old, node in zip(nodes, freed(nodes), strict=True))
        self._racks: dict[tuple[Level, ...], dict[Domain, list[NodeResources]]] = {}
        self._kinds: dict[tuple[tuple[Level, ...], Domain], object] = {}
        self._takers: dict[tuple[tuple[Level, ...], PodShape], frozenset[Domain]] = {}
        self._likes: dict[tuple[tuple[Level, ...], frozenset[PodShape]], Domain] = {}

    def racks(self, levels: tuple[Level, ...]) -> Mapping[Domain, Sequence[NodeResources]]:
        """Returns the nodes of each rack of a topology."""
        if levels not in self._racks:
            nodes_by_rack = self._racks[levels] = {}
            labels = tuple(level.label for level in levels)
            for old, node in self._nodes:
                domain = domain_of(old, labels) if levels else (old.name,)
                if domain is not None:
                    nodes_by_rack.setdefault(domain, []).append(node)
        return self._racks[levels]

    def usable(self, gang: GangToPlace) -> list[Domain]:
        """Returns the racks that all pods of a gang can use; if there are none, the racks that some pods can use."""
        racks_by_shape = [self._taking(gang.levels, shape) for shape in dict.fromkeys(gang.request.shapes)]
        usable = (
            frozenset.intersection(*racks_by_shape) or frozenset.union(*racks_by_shape)
            if racks_by_shape
            else frozenset()
        )
        return [domain for domain in self.racks(gang.levels) if domain in usable]

    def _taking(self, levels: tuple[Level, ...], shape: PodShape) -> frozenset[Domain]:
        key = levels, shape
        if key not in self._takers:
            racks = self.racks(levels).items()
            self._takers[key] = frozenset(
                domain for domain, rack_nodes in racks if any(_takes((node,), shape) for node in rack_nodes)
            )
        return self._takers[key]

    def like(self, gang: GangToPlace) -> Domain:
        """Returns the first rack of the most common kind that a gang can use; () if it can use none."""
        key = gang.levels, frozenset(gang.request.shapes)
        if key not in self._likes:
            usable = self.usable(gang)
            kinds = Counter(self._kind(gang.levels, domain) for domain in usable)
            best = max(kinds.values(), default=0)
            most = (domain for domain in usable if kinds[self._kind(gang.levels, domain)] == best)
            self._likes[key] = min(most, default=())
        return self._likes[key]

    def kind_for(self, gang: GangToPlace) -> object:
        """Returns the kind of rack that a gang would get; None if it can use none."""
        like = self.like(gang)
        return self._kind(gang.levels, like) if like else None

    def _kind(self, levels: tuple[Level, ...], domain: Domain) -> object:
        """Returns a key that is equal for racks of one kind."""
        key = levels, domain
        if key not in self._kinds:
            own_labels = {HOSTNAME, *self.labels}
            nodes_of = (
                (
                    sorted(node.allocatable.items()),
                    sorted(map(str, node.taints)),
                    sorted((name, value) for name, value in node.labels.items() if name not in own_labels),
                )
                for node in self.racks(levels)[domain]
            )
            self._kinds[key] = repr(sorted(nodes_of))
        return self._kinds[key]

    @cached_property
    def _space(self) -> Space:
        return Space([node for _, node in self._nodes])

    def lacks(self, gang: GangToPlace) -> tuple[Lack, ...]:
        """Returns the resources that a pod of a gang asks for and no node has."""
        return lacking(self._space.room_for(gang.request, gang.labels), gang.request.unit)

    def missing(self, levels: Sequence[Level]) -> Level | None:
        """Returns the coarsest level whose label no node has; None if nodes have all labels."""
        return next((level for level in levels if not any(level.label in node.labels for node, _ in self._nodes)), None)


class _AddedRacks:
    """Racks that are added one by one."""

    def __init__(self, existing: _ExistingRacks, gangs: Sequence[GangToPlace]) -> None:
        """Takes gangs that use one kind of rack."""
        self.there, self.levels = existing, gangs[0].levels
        self._labels = gangs[0].labels
        self._others = tuple(label for label in existing.labels if label not in self._labels)
        """Labels of other topologies; each new rack is its own domain there."""
        existing_racks = existing.racks(self.levels)
        self._usable = dict.fromkeys(domain for gang in gangs for domain in existing.usable(gang))
        self.like: Domain = min((like for like in map(existing.like, gangs) if like), default=())
        self.rack = tuple(existing_racks.get(self.like, ()))
        self._places = self._new_places(list(existing_racks)) if self.levels else iter(())
        self._made: list[tuple[NodeResources, ...]] = []

    def nodes(self, start: int, count: int) -> tuple[NodeResources, ...]:
        """Returns the nodes of ``count`` racks from number ``start`` on."""
        while len(self._made) < start + count:
            self._made.append(tuple(self._rack(len(self._made) + 1)))
        return tuple(node for rack in self._made[start : start + count] for node in rack)

    def after(self, start: int, count: int) -> Iterator[tuple[NodeResources, ...]]:
        """Yields the nodes of each of ``count`` racks from number ``start`` on."""
        return (self.nodes(number, 1) for number in range(start, start + count))

    def _rack(self, number: int) -> Iterator[NodeResources]:
        domain = next(self._places, ())
        labels = dict(zip(self._labels, domain, strict=True)) | dict.fromkeys(self._others, f"new-{number}")
        for index, node in enumerate(self.rack, start=1):
            name = f"new-{number}-{index}"
            yield replace(node, name=name, labels={**node.labels, **labels, HOSTNAME: name})

    def _new_places(self, domains: list[Domain]) -> Iterator[Domain]:
        """Yields new domains of the finest level, without end."""
        below: dict[Domain, int] = {}
        for parent_domain in sorted({domain[:depth] for domain in domains for depth in range(len(self._labels) + 1)}):
            below.setdefault(parent_domain, 0)
            if parent_domain:
                below[parent_domain[:-1]] += 1
        width = self._widths(below)
        made: Counter[int] = Counter()
        while True:
            depths = range(len(self._labels) - 1, 0, -1)
            narrow = (
                parent_domain
                for depth in depths
                for parent_domain in sorted(below)
                if len(parent_domain) == depth and below[parent_domain] < width[depth]
            )
            parent_domain = next(narrow, ())
            while len(parent_domain) < len(self._labels):
                below[parent_domain] += 1
                made[len(parent_domain)] += 1
                parent_domain = (
                    *parent_domain,
                    f"new-{self.levels[len(parent_domain)].key}-{made[len(parent_domain)]}",
                )
                below[parent_domain] = 0
            yield parent_domain

    def _widths(self, below: dict[Domain, int]) -> list[int]:
        """Returns the largest number of child domains at each depth."""
        return [
            max(count for domain, count in below.items() if len(domain) == depth) for depth in range(len(self._labels))
        ]

    @cached_property
    def _of_top(self) -> int:
        """Most racks in one domain of the coarsest level."""
        domains = {domain[:depth] for domain in self._usable for depth in range(len(self._labels) + 1)}
        counts: dict[Domain, int] = dict.fromkeys(domains, 0)
        for domain in domains - {()}:
            counts[domain[:-1]] += 1
        return prod(self._widths(counts)[1:]) if self._labels else 1

    def enough_for(self, request: PlacementRequest) -> int:
        """Returns a number of racks beyond which more cannot help: each SubGroup has its own, in new domains."""
        racks = 0
        for unit in request.unit.units:
            for shape, pods in Counter(unit.pods).items():
                takes = _takes(self.rack, request.shapes[shape])
                racks += ceil(pods / takes) if takes else 0
        return 2 * racks + 2 * self._of_top

    def at_least(self, waiting: Sequence[_Pair], nodes: Sequence[NodeResources]) -> int:
        """Returns the number of racks without which the gangs ask for more than all nodes have."""
        requested: Counter[str] = Counter()
        for _, request in waiting:
            for shape, pods in Counter(request.unit.all_pods).items():
                for name, amount in request.shapes[shape].asks:
                    requested[name] += pods * amount
        least = 0
        for name, amount in requested.items():
            free = sum(max(0, node.free.get(name, 0)) for node in nodes)
            of_rack = sum(node.free.get(name, 0) for node in self.rack)
            least = max(least, ceil((amount - free) / of_rack) if of_rack > 0 else 0)
        return least


def _new(node: NodeResources) -> NodeResources:
    """Returns a node as if it were new: ready, not cordoned, without Kubernetes' taints, and only with its own pods."""
    taints = tuple(taint for taint in node.taints if not taint.key.startswith(OF_KUBERNETES))
    return replace(
        node, taints=taints, is_ready=True, is_cordoned=False, pods=tuple(pod for pod in node.pods if pod.is_of_node)
    )


def _takes(nodes: Sequence[NodeResources], shape: PodShape) -> int:
    """Returns how many pods of a shape these nodes have room for."""
    pods = 0
    for node in nodes:
        if not shape.rules.refusal(node):
            pods += max(0, min(node.free.get(name, 0) // amount for name, amount in shape.asks if amount))
    return pods
