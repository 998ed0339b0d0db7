"""Which work of other queues may be ended for a gang that waits.

Follows release 0.17: pkg/scheduler/plugins/proportion/reclaimable (reclaimable.go, filter_victims.go, strategies), with
its default for ``relcaimerSaturationMultiplier``, 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Protocol

from kubectl_tas.place.fairshare import QueueTree, Standing
from kubectl_tas.quantities import NO_LIMIT, RESOURCES, Amount, Amounts, ResourceName
from kubectl_tas.records import dataclass


class Lost(Protocol):
    """What would go for it."""

    @property
    def queue(self) -> str | None:
        """Its leaf."""

    @property
    def asks(self) -> Amounts:
        """What it holds."""


class Reclaimer(Protocol):
    """The gang that waits."""

    @property
    def queue(self) -> str:
        """Its leaf."""

    @property
    def is_preemptible(self) -> bool:
        """Whether it may hold more than its quota."""

    @property
    def asks(self) -> Amounts:
        """What all its pods ask for."""


@dataclass(frozen=True)
class Reclaim:
    """What a gang may take from other queues, by what all hold before."""

    tree: QueueTree
    standings: Mapping[str, Standing]
    job: Reclaimer

    @property
    def may_try(self) -> bool:
        """Whether its queue stays within its fair share, and work that cannot be preempted within its quota."""
        own = self.standings[self.job.queue]
        if not _within(own.allocated + self.job.asks, own.fair):
            return False
        return self.job.is_preemptible or _within(own.non_preemptible + self.job.asks, own.queue.quota)

    def may_lose(self, queue: str) -> bool:
        """Whether a queue has anything that could be taken."""
        own, other = self._beside(queue)
        if not self._is_in_quota(own):
            return not _within(other.allocated, other.allocatable)
        asked = [name for name in self.job.asks.asked if other.queue.quota.of(name) != NO_LIMIT]
        quota = other.queue.quota
        if any(other.allocated.of(name) > quota.of(name) for name in asked):
            return True
        return not any(other.allocated.of(name) < quota.of(name) for name in asked)

    def allows(self, gone: Iterable[Lost]) -> bool:
        """Whether all these may go for it."""
        left = {name: standing.allocated for name, standing in self.standings.items()}
        touched: dict[str, set[ResourceName]] = {}
        for held in sorted(gone, key=lambda item: str(item.queue)):
            queue = str(held.queue)
            own, other = self._beside(queue)
            if not self._gives(own, other, left[other.queue.name]):
                return False
            for item in self.tree.chain(queue):
                left[item.name] -= held.asks
                touched.setdefault(item.name, set()).update(held.asks.asked)
        return all(self._stays_behind(item.name, left, touched) for item in self.tree.chain(self.job.queue))

    def _stays_behind(self, name: str, left: Mapping[str, Amounts], touched: Mapping[str, set[ResourceName]]) -> bool:
        """Whether a queue with the gang does not hold more of its share than those that gave it room."""
        own = self.standings[name]
        held = left[name] + self.job.asks
        for sibling in self.tree.below(own.queue.parent):
            if sibling.name == name or sibling.name not in touched:
                continue
            fair = self.standings[sibling.name].fair
            for resource in {*touched[sibling.name], *self.job.asks.asked}:
                part = _part(held.of(resource), own.fair.of(resource))
                of_sibling = _part(left[sibling.name].of(resource), fair.of(resource))
                if part > 1 and fair.of(resource) > 0 and part >= of_sibling:
                    return False
        return self.job.is_preemptible or _within(own.non_preemptible + self.job.asks, own.queue.quota)

    def _gives(self, own: Standing, other: Standing, remaining: Amounts) -> bool:
        """Whether a queue that holds this by now gives more to the other."""
        if not _within(remaining, other.allocatable):
            return True
        return self._is_in_quota(own) and not _within(remaining, other.queue.quota)

    def _is_in_quota(self, own: Standing) -> bool:
        return _within(own.allocated + self.job.asks, own.queue.quota)

    def _beside(self, queue: str) -> tuple[Standing, Standing]:
        """The queues beside each other below which the gang's queue and another one are."""
        chains = [[item.name for item in self.tree.chain(name)][::-1] for name in (self.job.queue, queue)]
        own, other = next((pair for pair in zip(*chains, strict=False) if pair[0] != pair[1]), (self.job.queue, queue))
        return self.standings[own], self.standings[other]


def _within(held: Amounts, most: Amounts) -> bool:
    return all(held.of(name) <= most.of(name) for name in RESOURCES)


def _part(held: Amount, fair: Amount) -> float:
    if fair == 0:
        return math.inf if held > 0 else 0
    return float(held) / float(fair)
