"""Who gets what of one cluster when all ask at once: the shares of its pools and subpools, and what bounds each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import groupby

from kubectl_tas.place.fairshare import Queue, QueueTree, fair_shares
from kubectl_tas.place.queues import Shard
from kubectl_tas.quantities import NO_LIMIT, Amounts, ResourceName, each, smaller, total
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool


class Bound(Enum):
    """Why a queue gets no more of a resource than it does."""

    ASKED = "asked"
    """It gets all that it asks for."""
    LIMIT = "limit"
    NOTHING_LEFT = "nothing-left"
    """Nothing is left of what there is, after what queues are guaranteed and ask for."""
    PRIORITY = "priority"
    """Queues of a higher priority take what is left."""
    NO_WEIGHT = "no-weight"
    WEIGHT = "weight"
    """It has its part of what is left, by its weight."""


class Kind(Enum):
    """What a queue is for."""

    POOL = "pool"
    OWN = "own"
    """The work that is sent to a pool itself."""
    SUBPOOL = "subpool"
    ROOT = "root"
    """All pools of a cluster."""
    OTHER = "other"
    """Nothing that the repository declares."""


@dataclass(frozen=True)
class Demand:
    """What is asked for and held, by leaf queue."""

    asked: Mapping[str, Amounts]
    fixed: Mapping[str, Amounts]
    """Of that, what cannot be preempted, as far as that is known."""
    held: Mapping[str, Amounts] | None = None
    """None where no cluster was asked."""


@dataclass(frozen=True, slots=True)
class Called:
    """What a queue is to users."""

    name: str
    kind: Kind
    pool: FleetPool | None = None


@dataclass(frozen=True, slots=True)
class Rest:
    """What is left to queues beside each other, of one priority, after all of them have what they are guaranteed."""

    whole: Amounts
    """Less than 0 where they are guaranteed more than there is."""
    left: Amounts
    """What higher priorities leave of it."""
    weights: Amounts
    """The sum of the weights of those that want some of it."""


@dataclass(frozen=True, eq=False)
class Part:
    """What one queue gets, with all below it; no two are the same."""

    queue: Queue
    called: Called
    asked: Amounts
    fixed: Amounts
    held: Amounts | None
    guaranteed: Amounts
    """What of its share is its guarantee."""
    share: Amounts
    rest: Rest

    @property
    def borrowed(self) -> Amounts:
        """What of its share is more than its guarantee."""
        return self.share - self.guaranteed

    def bound(self, resource: ResourceName) -> Bound:
        """Why it gets no more of a resource."""
        share = self.share.of(resource)
        if share >= self.asked.of(resource):
            return Bound.ASKED
        if share >= self.queue.limit.of(resource):
            return Bound.LIMIT
        if self.rest.whole.of(resource) <= 0:
            return Bound.NOTHING_LEFT
        if self.queue.weight.of(resource) == 0:
            return Bound.NO_WEIGHT
        return Bound.WEIGHT if self.rest.left.of(resource) > 0 else Bound.PRIORITY


@dataclass(frozen=True)
class Division:
    """How the scheduler, or a shard of it, divides what there is."""

    backend: str
    shard: Shard
    capacity: Amounts
    parts: tuple[Part, ...]
    """Each before those below it; what is sent to a pool itself before its subpools, the others by name."""

    @cached_property
    def _below(self) -> Mapping[str | None, Sequence[Part]]:
        found: dict[str | None, list[Part]] = defaultdict(list)
        for part in self.parts:
            found[part.queue.parent].append(part)
        return found

    def below(self, queue: str | None) -> Sequence[Part]:
        """Those of which this queue is the parent; None: those at the top."""
        return self._below.get(queue, ())

    @cached_property
    def by_queue(self) -> Mapping[str, Part]:
        """Each by the name of its queue."""
        return {part.queue.name: part for part in self.parts}

    def shown(self, wanted: Collection[str] = ()) -> Iterator[tuple[Part, int]]:
        """What users know of, with its depth: no queue that says the same as the one above it, or stands for all. Where
        pools and subpools are ``wanted``, these alone, with all that is below them.
        """
        chosen: int | None = None
        for part, depth in self._known():
            chosen = chosen if chosen is not None and depth > chosen else None
            if chosen is None and part.called.kind in (Kind.POOL, Kind.SUBPOOL) and part.called.name in wanted:
                chosen = depth
            if chosen is not None or not wanted:
                yield part, depth - (chosen or 0)

    def _known(self) -> Iterator[tuple[Part, int]]:
        is_alone = [part.called.kind for part in self.below(None)] == [Kind.ROOT]
        depths: dict[str | None, int] = {None: -1}
        for part in self.parts:
            name, parent = part.queue.name, part.queue.parent
            is_hidden = (is_alone and parent is None) or (part.called.kind is Kind.OWN and len(self.below(parent)) == 1)
            depths[name] = depths[parent] + (not is_hidden)
            if not is_hidden:
                yield part, depths[name]


def called(fleet: Fleet, backend: str) -> dict[str, Called]:
    """What the queues of a cluster are to users, by their names."""
    found: dict[str, Called] = {}
    for pool in fleet.pools:
        if pool.backend.name != backend:
            continue
        root = pool.backend.root_queue(fleet.config.queuePrefix)
        if root is not None:
            found[root] = Called("all pools", Kind.ROOT)
        found[pool.queue] = Called(pool.name, Kind.POOL, pool)
        own = f"{pool.name} itself" if pool.is_split else pool.name
        found[pool.shared_queue] = Called(own, Kind.OWN, pool)
        found |= {item.queue: Called(item.canonical, Kind.SUBPOOL, pool) for item in pool.subpools}
    return found


def divide(
    where: tuple[str, Shard], tree: QueueTree, capacity: Amounts, demand: Demand, names: Mapping[str, Called]
) -> Division:
    """The shares of all queues of a backend's shard; ``names`` say which of them users know."""
    shares = fair_shares(capacity, tree, demand.asked)
    asked, fixed = tree.sums(demand.asked), tree.sums(demand.fixed)
    held = None if demand.held is None else tree.sums(demand.held)
    parts: list[Part] = []

    left: list[tuple[Queue, Rest, Amounts]] = []

    def begin(above: str | None, whole: Amounts) -> None:
        """Those below a queue come next, what is sent to a pool itself first."""
        below = tree.below(above)
        guaranteed = {queue.name: _guaranteed(queue, asked[queue.name], whole) for queue in below}
        rests = _rests(below, asked, guaranteed, shares, whole)
        in_order = sorted(below, key=lambda queue: (named(queue).kind is not Kind.OWN, named(queue).name))
        left.extend((queue, rests[queue.priority], guaranteed[queue.name]) for queue in reversed(in_order))

    def named(queue: Queue) -> Called:
        return names.get(queue.name, Called(queue.name, Kind.OTHER))

    begin(None, capacity)
    while left:
        queue, rest, guaranteed = left.pop()
        name = queue.name
        has = None if held is None else held[name]
        parts.append(Part(queue, named(queue), asked[name], fixed[name], has, guaranteed, shares[name], rest))
        begin(name, shares[name])
    return Division(*where, capacity, tuple(parts))


def _guaranteed(queue: Queue, asked: Amounts, whole: Amounts) -> Amounts:
    """What a queue has of ``whole`` before the rest is divided; all of it where its guarantee has no limit."""
    quota = each(lambda name: whole.of(name) if queue.quota.of(name) == NO_LIMIT else queue.quota.of(name))
    return smaller(quota, smaller(asked, queue.limit))


def _rests(
    beside: Sequence[Queue],
    asked: Mapping[str, Amounts],
    guaranteed: Mapping[str, Amounts],
    shares: Mapping[str, Amounts],
    whole: Amounts,
) -> dict[int, Rest]:
    """What is left to queues beside each other, by their priority."""
    left = rest = whole - total(guaranteed[queue.name] for queue in beside)
    found: dict[int, Rest] = {}
    by_priority = sorted(beside, key=lambda queue: -queue.priority)
    for priority, items in groupby(by_priority, lambda queue: queue.priority):
        equals = list(items)
        weights = total(_weight(queue, asked[queue.name], guaranteed[queue.name]) for queue in equals)
        found[priority] = Rest(rest, left, weights)
        left -= total(shares[queue.name] - guaranteed[queue.name] for queue in equals)
    return found


def _weight(queue: Queue, asked: Amounts, guaranteed: Amounts) -> Amounts:
    """Its weights of what it may have more of than it is guaranteed."""
    wants = smaller(asked, queue.limit)
    return each(lambda name: queue.weight.of(name) if wants.of(name) > guaranteed.of(name) else 0)
