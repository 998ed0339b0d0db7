"""Who gets what of one cluster when all ask at once: the shares of its pools and subpools, and what bounds each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from kubectl_tas.place.queues import Shard
from kubectl_tas.place.share import Queue, QueueTree, fair_shares
from kubectl_tas.quantities import NO_LIMIT, Amount, Amounts, ResourceName
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


@dataclass(frozen=True, eq=False)
class Part:
    """What one queue gets, with all below it; no two are the same."""

    queue: Queue
    called: Called
    asked: Amounts
    fixed: Amounts
    held: Amounts | None
    share: Amounts
    whole: Amounts
    """What there is for it and those beside it."""

    def wants(self, resource: ResourceName) -> Amount:
        """What it asks for and may have."""
        return min(self.asked.of(resource), self.queue.limit.of(resource))

    def guaranteed(self, resource: ResourceName) -> Amount:
        """What of its share is its guarantee."""
        quota = self.queue.quota.of(resource)
        return min(self.whole.of(resource) if quota == NO_LIMIT else quota, self.wants(resource))

    def borrowed(self, resource: ResourceName) -> Amount:
        """What of its share is more than its guarantee."""
        return self.share.of(resource) - self.guaranteed(resource)


@dataclass(frozen=True)
class Division:
    """How the scheduler, or a shard of it, divides what there is."""

    backend: str
    shard: Shard
    capacity: Amounts
    parts: tuple[Part, ...]
    """Each before those below it; what is sent to a pool itself before its subpools, the others by name."""

    @cached_property
    def _beside(self) -> Mapping[str | None, Sequence[Part]]:
        found: dict[str | None, list[Part]] = defaultdict(list)
        for part in self.parts:
            found[part.queue.parent].append(part)
        return found

    def beside(self, part: Part) -> Sequence[Part]:
        """Those of the same parent, itself among them."""
        return self.below(part.queue.parent)

    @property
    def top(self) -> Sequence[Part]:
        """Those that nothing is above."""
        return self.below(None)

    def below(self, queue: str | None) -> Sequence[Part]:
        """Those of which this queue is the parent; None: those at the top."""
        return self._beside[queue]

    def name_of(self, queue: str | None) -> str:
        """What users call the queue that others are below."""
        own = (part.called for part in self.parts if part.queue.name == queue and part.called.kind is not Kind.ROOT)
        return next((one.name for one in own), "the cluster")

    def shown(self) -> Iterator[tuple[Part, int]]:
        """What users know of, with its depth: no queue that says the same as the one above it, or stands for all."""
        is_alone = len(self.top) == 1 and self.top[0].called.kind is Kind.ROOT
        depths: dict[str | None, int] = {None: -1}
        for part in self.parts:
            name, parent = part.queue.name, part.queue.parent
            is_hidden = (is_alone and parent is None) or (part.called.kind is Kind.OWN and len(self.beside(part)) == 1)
            depths[name] = depths[parent] + (not is_hidden)
            if not is_hidden:
                yield part, depths[name]

    def left(self, part: Part, resource: ResourceName) -> Amount:
        """What is left for those beside a part after what they are guaranteed; less than 0 where they are guaranteed
        more than there is.
        """
        taken = sum(one.guaranteed(resource) for one in self.beside(part))
        return part.whole.of(resource) - taken

    def left_at(self, part: Part, resource: ResourceName) -> Amount:
        """What queues of a higher priority leave of that."""
        higher = (one.borrowed(resource) for one in self.beside(part) if one.queue.priority > part.queue.priority)
        return self.left(part, resource) - sum(higher)

    def rivals(self, part: Part, resource: ResourceName) -> list[Part]:
        """Those beside a part with which it shares what is left by weight, itself among them."""
        return [
            one
            for one in self.beside(part)
            if one.queue.priority == part.queue.priority and one.wants(resource) > one.guaranteed(resource)
        ]

    def bound(self, part: Part, resource: ResourceName) -> Bound:
        """Why a part gets no more of a resource."""
        share = part.share.of(resource)
        if share >= part.asked.of(resource):
            return Bound.ASKED
        if share >= part.queue.limit.of(resource):
            return Bound.LIMIT
        if self.left(part, resource) <= 0:
            return Bound.NOTHING_LEFT
        if part.queue.weight.of(resource) == 0:
            return Bound.NO_WEIGHT
        return Bound.WEIGHT if self.left_at(part, resource) > 0 else Bound.PRIORITY


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
        found[pool.shared_queue] = Called(f"{pool.name} itself", Kind.OWN, pool)
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

    def walk(above: str | None) -> None:
        whole = capacity if above is None else shares[above]
        below = [(names.get(queue.name, Called(queue.name, Kind.OTHER)), queue) for queue in tree.below(above)]
        for one, queue in sorted(below, key=lambda item: (item[0].kind is not Kind.OWN, item[0].name)):
            own = None if held is None else held[queue.name]
            parts.append(Part(queue, one, asked[queue.name], fixed[queue.name], own, shares[queue.name], whole))
            walk(queue.name)

    walk(None)
    return Division(*where, capacity, tuple(parts))
