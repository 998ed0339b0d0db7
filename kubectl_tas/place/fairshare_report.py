"""Computes the share of each pool and subpool of a cluster if all ask at once, and what bounds each share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from itertools import groupby

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import NO_LIMIT, Amounts, ResourceName, each, smaller, total
from kubectl_tas.place.fairshare import (
    NO_HISTORY,
    QueueTree,
    QuotaQueue,
    ShareRange,
    UsageHistory,
    fair_shares,
    share_ranges,
    share_weight,
)
from kubectl_tas.place.queues import Shard
from kubectl_tas.place.shard_history import ShardHistory
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool


class ShareBound(Enum):
    """Reason why a queue gets no more of a resource."""

    ASKED = "asked"
    """The queue gets all that it asks for."""
    LIMIT = "limit"
    NOTHING_LEFT = "nothing-left"
    """The guarantees that queues use leave nothing to divide."""
    PRIORITY = "priority"
    """Queues of a higher priority take the rest."""
    NO_WEIGHT = "no-weight"
    WEIGHT = "weight"
    """The queue gets its part of the rest, by its weight and past usage."""
    PAST_USAGE = "past-usage"
    """The queue used so much in the past that it borrows nothing."""


class TargetKind(Enum):
    """Kind of a queue, for users."""

    POOL = "pool"
    OWN = "own"
    """The queue for work that names the pool and no subpool."""
    SUBPOOL = "subpool"
    ROOT = "root"
    """The queue above all pools of a cluster."""
    OTHER = "other"
    """A queue that the repository does not declare."""


@dataclass(frozen=True)
class QueueDemand:
    """Requested and held resources, by leaf queue, and past usage, by queue."""

    requested: Mapping[str, Amounts]
    fixed: Mapping[str, Amounts]
    """The part of ``requested`` that is non-preemptible, as far as known."""
    held: Mapping[str, Amounts] | None = None
    """Held resources; None if no cluster was asked."""
    history: ShardHistory = ShardHistory()


@dataclass(frozen=True, slots=True)
class Called:
    """Name and kind of a queue, for users."""

    name: str
    kind: TargetKind
    pool: FleetPool | None = None


@dataclass(frozen=True, slots=True)
class Remainder:
    """Resources left to siblings of one priority, after every sibling has its guarantee."""

    whole: Amounts
    """Rest for all priorities; less than 0 if the guarantees exceed the resources."""
    available: Amounts
    """The part of ``whole`` that higher priorities leave."""
    weights: Amounts
    """Sum of the weights of the queues that want some of the rest."""


@dataclass(frozen=True, eq=False)
class QueueShare:
    """Share of one queue with all queues below it; compared by identity."""

    queue: QuotaQueue
    called: Called
    requested: Amounts
    fixed: Amounts
    held: Amounts | None
    guaranteed: Amounts
    """The part of the share that the queue is guaranteed."""
    share: Amounts
    remainder: Remainder
    history: UsageHistory = NO_HISTORY
    range: ShareRange | None = None
    """The shares that past usage can lead to; None if past usage is known, or does not count."""

    @property
    def borrowed(self) -> Amounts:
        """The part of the share beyond the guarantee."""
        return self.share - self.guaranteed

    def bound(self, resource: ResourceName) -> ShareBound:
        """Returns why the queue gets no more of a resource."""
        share = self.share.of(resource)
        if share >= self.requested.of(resource):
            return ShareBound.ASKED
        if share >= self.queue.limit.of(resource):
            return ShareBound.LIMIT
        if self.remainder.whole.of(resource) <= 0:
            return ShareBound.NOTHING_LEFT
        if self.queue.weight.of(resource) == 0:
            return ShareBound.NO_WEIGHT
        if self.remainder.available.of(resource) <= 0:
            return ShareBound.PRIORITY
        return ShareBound.PAST_USAGE if self._is_outweighed(resource) else ShareBound.WEIGHT

    def _is_outweighed(self, resource: ResourceName) -> bool:
        """Whether the queue borrows nothing of a resource because of its past usage."""
        part = float(self.queue.weight.of(resource)) / float(self.remainder.weights.of(resource) or 1)
        past_usage = self.history.of(self.queue.name, resource)
        return self.borrowed.of(resource) <= 0 and share_weight(part, past_usage, self.history.k_value) == 0


@dataclass(frozen=True)
class FairShareDivision:
    """Division of the resources of the scheduler, or of one of its shards."""

    backend: str
    shard: Shard
    capacity: Amounts
    queue_shares: tuple[QueueShare, ...]
    """Parts of all queues: parents first, a pool's own queue before its subpools, other siblings by name."""
    history: ShardHistory = ShardHistory()

    @cached_property
    def _below(self) -> Mapping[str | None, Sequence[QueueShare]]:
        parts_by_parent: dict[str | None, list[QueueShare]] = defaultdict(list)
        for queue_share in self.queue_shares:
            parts_by_parent[queue_share.queue.parent].append(queue_share)
        return parts_by_parent

    def below(self, queue: str | None) -> Sequence[QueueShare]:
        """Returns the parts of a queue's children; for None, of the queues at the top."""
        return self._below.get(queue, ())

    @cached_property
    def by_queue(self) -> Mapping[str, QueueShare]:
        """Parts by the name of their queue."""
        return {queue_share.queue.name: queue_share for queue_share in self.queue_shares}

    def shown(self, targets: Collection[str] = ()) -> Iterator[tuple[QueueShare, int]]:
        """Yields the parts that users know, with their depth. Skips the queue above all pools, and a pool's own queue
        without siblings. With ``targets``, yields only these pools and subpools and all parts below them.
        """
        chosen: int | None = None
        for queue_share, depth in self._known():
            chosen = chosen if chosen is not None and depth > chosen else None
            if (
                chosen is None
                and queue_share.called.kind in (TargetKind.POOL, TargetKind.SUBPOOL)
                and queue_share.called.name in targets
            ):
                chosen = depth
            if chosen is not None or not targets:
                yield queue_share, depth - (chosen or 0)

    def _known(self) -> Iterator[tuple[QueueShare, int]]:
        is_alone = [queue_share.called.kind for queue_share in self.below(None)] == [TargetKind.ROOT]
        depths: dict[str | None, int] = {None: -1}
        for queue_share in self.queue_shares:
            name, parent = queue_share.queue.name, queue_share.queue.parent
            is_hidden = (is_alone and parent is None) or (
                queue_share.called.kind is TargetKind.OWN and len(self.below(parent)) == 1
            )
            depths[name] = depths[parent] + (not is_hidden)
            if not is_hidden:
                yield queue_share, depths[name]


def called(fleet: Fleet, backend: str) -> dict[str, Called]:
    """Returns for each queue of a cluster its name and kind for users."""
    called_by_queue: dict[str, Called] = {}
    for pool in fleet.pools:
        if pool.backend.name != backend:
            continue
        root = pool.backend.root_queue(fleet.config.queuePrefix)
        if root is not None:
            called_by_queue[root] = Called("all pools", TargetKind.ROOT)
        called_by_queue[pool.queue] = Called(pool.name, TargetKind.POOL, pool)
        own_name = f"{pool.name} itself" if pool.is_split else pool.name
        called_by_queue[pool.shared_queue] = Called(own_name, TargetKind.OWN, pool)
        called_by_queue |= {
            subpool.queue: Called(subpool.canonical, TargetKind.SUBPOOL, pool) for subpool in pool.subpools
        }
    return called_by_queue


def divide(
    where: tuple[str, Shard], tree: QueueTree, capacity: Amounts, demand: QueueDemand, names: Mapping[str, Called]
) -> FairShareDivision:
    """Divides the resources of a backend's shard among all queues; ``names`` holds the queues that users know."""
    history = demand.history.usage
    shares = fair_shares(capacity, tree, demand.requested, history)
    ranges = share_ranges(capacity, tree, demand.requested, history.k_value) if history.is_open else {}
    requested, fixed = tree.sums(demand.requested), tree.sums(demand.fixed)
    held = None if demand.held is None else tree.sums(demand.held)
    queue_shares: list[QueueShare] = []

    undivided: list[tuple[QuotaQueue, Remainder, Amounts]] = []

    def begin(above: str | None, whole: Amounts) -> None:
        """Puts the children of ``above`` next in line, a pool's own queue first."""
        below = tree.below(above)
        guaranteed = {queue.name: _guaranteed(queue, requested[queue.name], whole) for queue in below}
        rests = _rests(below, requested, guaranteed, shares, whole)
        in_order = sorted(below, key=lambda queue: (named(queue).kind is not TargetKind.OWN, named(queue).name))
        undivided.extend((queue, rests[queue.priority], guaranteed[queue.name]) for queue in reversed(in_order))

    def named(queue: QuotaQueue) -> Called:
        return names.get(queue.name, Called(queue.name, TargetKind.OTHER))

    begin(None, capacity)
    while undivided:
        queue, remainder, guaranteed = undivided.pop()
        name = queue.name
        has = None if held is None else held[name]
        amounts = requested[name], fixed[name], has, guaranteed, shares[name]
        queue_shares.append(QueueShare(queue, named(queue), *amounts, remainder, history, ranges.get(name)))
        begin(name, shares[name])
    return FairShareDivision(*where, capacity, tuple(queue_shares), demand.history)


def _guaranteed(queue: QuotaQueue, requested: Amounts, whole: Amounts) -> Amounts:
    """Returns what a queue gets of ``whole`` before the rest is divided; up to all of it if the quota has no limit."""
    quota = each(lambda name: whole.of(name) if queue.quota.of(name) == NO_LIMIT else queue.quota.of(name))
    return smaller(quota, smaller(requested, queue.limit))


def _rests(
    beside: Sequence[QuotaQueue],
    requested: Mapping[str, Amounts],
    guaranteed: Mapping[str, Amounts],
    shares: Mapping[str, Amounts],
    whole: Amounts,
) -> dict[int, Remainder]:
    """Returns the rest for siblings, by their priority."""
    undivided = unguaranteed = whole - total(guaranteed[queue.name] for queue in beside)
    rests: dict[int, Remainder] = {}
    by_priority = sorted(beside, key=lambda queue: -queue.priority)
    for priority, siblings in groupby(by_priority, lambda queue: queue.priority):
        equals = list(siblings)
        weights = total(_weight(queue, requested[queue.name], guaranteed[queue.name]) for queue in equals)
        rests[priority] = Remainder(unguaranteed, undivided, weights)
        undivided -= total(shares[queue.name] - guaranteed[queue.name] for queue in equals)
    return rests


def _weight(queue: QuotaQueue, requested: Amounts, guaranteed: Amounts) -> Amounts:
    """Returns the weights of a queue for resources that it wants beyond its guarantee; 0 for other resources."""
    wants = smaller(requested, queue.limit)
    return each(lambda name: queue.weight.of(name) if wants.of(name) > guaranteed.of(name) else 0)
