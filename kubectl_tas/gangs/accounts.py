"""The accounting of pools: what each is guaranteed, what is used of it, what is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kubectl_tas.gangs.admission import QueueUsage, asked
from kubectl_tas.quantities import NOTHING, Amounts
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool


@dataclass(frozen=True, slots=True)
class Account:
    """One pool or subpool."""

    pool: FleetPool
    subpool: FleetSubpool | None
    """None: the pool itself, by what its subpools leave to it."""
    used: Amounts | None
    """What HIGH and NORMAL work holds; None: not known."""
    running: int | None = None
    """Workflows that run; None: not known."""

    @property
    def name(self) -> str:
        """As users name it."""
        return self.subpool.canonical if self.subpool else self.pool.name

    @property
    def state(self) -> str | None:
        """State of a subpool; None for a pool."""
        return self.subpool.state if self.subpool else None

    @property
    def queue(self) -> str | None:
        """The queue of its work; None for an ARCHIVED subpool."""
        if self.subpool is None:
            return self.pool.shared_queue
        return None if self.subpool.state == "ARCHIVED" else self.subpool.queue

    @property
    def quota(self) -> Amounts:
        """What is guaranteed, nothing to a subpool that is not ACTIVE."""
        return self.subpool.quota if self.subpool else self.pool.shared_quota

    @property
    def available(self) -> Amounts | None:
        """What is left, negative while a queue drains; None: not known what is used."""
        return None if self.used is None else self.quota - self.used

    @property
    def total(self) -> Amounts | None:
        """What is guaranteed to a pool with subpools, theirs included; otherwise None."""
        return self.pool.guarantee if self.subpool is None and self.pool.is_split else None

    @property
    def limit(self) -> Amounts:
        """The most that it may hold."""
        return self.subpool.maximum if self.subpool else self.pool.maximum

    @property
    def weight(self) -> Amounts:
        """Over-quota weights."""
        return self.subpool.weight if self.subpool else self.pool.weight

    @property
    def file(self) -> str:
        """Where it is declared."""
        return (self.subpool or self.pool).declared.origin.path


def accounts(fleet: Fleet, queues: Mapping[str, QueueUsage] | None, *, archived: bool = False) -> Iterator[Account]:
    """Every pool followed by its subpools. What is used is what ``queues`` of a cluster say; None: what the repository
    declares.
    """
    declared = asked(fleet)
    for pool in fleet.pools:
        for subpool in (None, *pool.subpools):
            if subpool is None or subpool.state != "ARCHIVED" or archived:
                queue = subpool.queue if subpool else pool.shared_queue
                used = declared.get(queue, NOTHING)
                yield Account(pool, subpool, used) if queues is None else _held(Account(pool, subpool, NOTHING), queues)


def _held(account: Account, queues: Mapping[str, QueueUsage]) -> Account:
    """The account with what a cluster says of its queue."""
    if account.queue is None:
        return account
    usage = queues.get(account.queue)
    return replace(account, used=usage.used if usage else None, running=usage.running if usage else None)
