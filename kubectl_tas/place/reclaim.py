"""Decides which work of other queues KAI may evict for a pending gang.

Follows release 0.17: pkg/scheduler/plugins/proportion/reclaimable (reclaimable.go, filter_victims.go, strategies), with
its default of 1 for ``relcaimerSaturationMultiplier``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import NO_LIMIT, RESOURCES, Amount, Amounts, ResourceName, total
from kubectl_tas.place.fairshare import QueueTree, Standing


class EvictedWork(Protocol):
    """Work that KAI would evict for the gang."""

    @property
    def queue(self) -> str | None:
        """Leaf queue of the work."""

    @property
    def asks(self) -> Amounts:
        """Resources that the work holds."""


class Reclaimer(Protocol):
    """The pending gang."""

    @property
    def queue(self) -> str:
        """Leaf queue of the gang."""

    @property
    def is_preemptible(self) -> bool:
        """Whether the gang is preemptible, so that its queue may hold more than the quota."""

    @property
    def asks(self) -> Amounts:
        """Resources that all pods of the gang ask for."""


@dataclass(frozen=True)
class Reclaim:
    """The resources that a gang may reclaim from other queues, computed from the usage of all queues."""

    tree: QueueTree
    standings: Mapping[str, Standing]
    job: Reclaimer

    @property
    def may_try(self) -> bool:
        """Whether the gang's queue stays within its fair share, and within its quota if the gang is not preemptible."""
        standing = self.standings[self.job.queue]
        if not _within(standing.allocated + self.job.asks, standing.fair):
            return False
        return self.job.is_preemptible or _within(standing.non_preemptible + self.job.asks, standing.queue.quota)

    def may_lose(self, queue: str) -> bool:
        """Whether a queue holds anything that the gang may reclaim."""
        winner, loser = self._competing(queue)
        if not self._is_in_quota(winner):
            return not _within(loser.allocated, loser.allocatable)
        resources = [name for name in self.job.asks.asked if loser.queue.quota.of(name) != NO_LIMIT]
        quota = loser.queue.quota
        if any(loser.allocated.of(name) > quota.of(name) for name in resources):
            return True
        return not any(loser.allocated.of(name) < quota.of(name) for name in resources)

    def allows(self, gone: Iterable[Sequence[EvictedWork]], *, always: bool = False) -> bool:
        """Whether KAI may evict all this work for the gang. Each item is what one gang would lose.

        A queue within its share loses nothing more, so the order counts: a large gang may go as the last one, and as
        the first one it keeps the others. KAI takes the gangs of a queue in the order of a Go map (``GetVictims`` of
        base_scenario.go). For a few gangs, that is most often the order in which they came into the map, here that of
        ``gone``. With ``always``, the worst order must be allowed too.
        """
        by_queue: dict[str, list[Sequence[EvictedWork]]] = {}
        for lost_of_gang in gone:
            by_queue.setdefault(str(lost_of_gang[0].queue), []).append(lost_of_gang)
        orders = [list(by_queue.values())]
        if always:
            worst = [sorted(lost_gangs, key=_size, reverse=True) for lost_gangs in by_queue.values()]
            orders.append(sorted(worst, key=lambda lost_gangs: _size(lost_gangs[0]), reverse=True))
        return all(
            self._allows([lost for block in order for lost_of_gang in block for lost in lost_of_gang])
            for order in orders
        )

    def _allows(self, gone: Sequence[EvictedWork]) -> bool:
        """Whether KAI may evict this work in this order."""
        remaining = {name: standing.allocated for name, standing in self.standings.items()}
        touched: dict[str, set[ResourceName]] = {}
        for held in gone:
            queue = str(held.queue)
            winner, loser = self._competing(queue)
            if not self._gives(winner, loser, remaining[loser.queue.name]):
                return False
            for queue_above in self.tree.chain(queue):
                remaining[queue_above.name] -= held.asks
                touched.setdefault(queue_above.name, set()).update(held.asks.asked)
        return all(
            self._stays_behind(queue_above.name, remaining, touched) for queue_above in self.tree.chain(self.job.queue)
        )

    def _stays_behind(
        self, name: str, remaining: Mapping[str, Amounts], touched: Mapping[str, set[ResourceName]]
    ) -> bool:
        """Whether a queue, with the gang, holds a smaller part of its fair share than the siblings that gave room."""
        winner = self.standings[name]
        held = remaining[name] + self.job.asks
        for sibling in self.tree.below(winner.queue.parent):
            if sibling.name == name or sibling.name not in touched:
                continue
            fair = self.standings[sibling.name].fair
            for resource in {*touched[sibling.name], *self.job.asks.asked}:
                of_winner = _part(held.of(resource), winner.fair.of(resource))
                of_sibling = _part(remaining[sibling.name].of(resource), fair.of(resource))
                if of_winner > 1 and fair.of(resource) > 0 and of_winner >= of_sibling:
                    return False
        return self.job.is_preemptible or _within(winner.non_preemptible + self.job.asks, winner.queue.quota)

    def _gives(self, winner: Standing, loser: Standing, remaining: Amounts) -> bool:
        """Whether a sibling that still holds ``remaining`` has to give more to the gang's queue."""
        if not _within(remaining, loser.allocatable):
            return True
        return self._is_in_quota(winner) and not _within(remaining, loser.queue.quota)

    def _is_in_quota(self, winner: Standing) -> bool:
        return _within(winner.allocated + self.job.asks, winner.queue.quota)

    def _competing(self, queue: str) -> tuple[Standing, Standing]:
        """Returns the siblings at which the chains of the gang's queue and of another queue part."""
        chains = [[queue_above.name for queue_above in self.tree.chain(name)][::-1] for name in (self.job.queue, queue)]
        winner, loser = next(
            (pair for pair in zip(*chains, strict=False) if pair[0] != pair[1]), (self.job.queue, queue)
        )
        return self.standings[winner], self.standings[loser]


def _size(lost_of_gang: Sequence[EvictedWork]) -> tuple[Amount, ...]:
    lost = total(lost.asks for lost in lost_of_gang)
    return tuple(lost.of(name) for name in RESOURCES)


def _within(held: Amounts, most: Amounts) -> bool:
    return all(held.of(name) <= most.of(name) for name in RESOURCES)


def _part(held: Amount, fair: Amount) -> float:
    if fair == 0:
        return math.inf if held > 0 else 0
    return float(held) / float(fair)
