"""The accounting of pools: what each is guaranteed, what is used of it, what is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kubectl_tas.gangs.admission import Admission, QueueUsage
from kubectl_tas.gpus import Gpus
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import UNLIMITED, FleetPool, FleetSubpool


@dataclass(frozen=True, slots=True)
class Account:
    """One pool or subpool."""

    pool: FleetPool
    subpool: FleetSubpool | None
    """None: the pool itself, by what its subpools leave to it."""
    used: Gpus | None
    """GPUs of HIGH and NORMAL work; None: not known."""
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
    def quota(self) -> int | None:
        """GPUs guaranteed, none to a subpool that is not ACTIVE; None: no limit."""
        quota = self.subpool.quota if self.subpool else self.pool.shared_quota
        return None if quota == UNLIMITED else quota

    @property
    def available(self) -> Gpus | None:
        """GPUs left, negative while a queue drains; None: no limit, or not known what is used."""
        return None if self.quota is None or self.used is None else self.quota - self.used

    @property
    def total(self) -> int | None:
        """GPUs guaranteed to a pool with subpools, theirs included; otherwise None."""
        return self.pool.guarantee if self.subpool is None and self.pool.is_split else None

    @property
    def limit(self) -> int | None:
        """The most GPUs; None: no limit."""
        return None if self.pool.maximum == UNLIMITED else self.pool.maximum

    @property
    def file(self) -> str:
        """Where it is declared."""
        return (self.subpool or self.pool).declared.origin.path


def accounts(fleet: Fleet, queues: Mapping[str, QueueUsage] | None, *, archived: bool = False) -> Iterator[Account]:
    """Every pool followed by its subpools. What is used is what ``queues`` of a cluster say; None: what the repository
    declares.
    """
    declared = Admission(fleet).declared
    for pool in fleet.pools:
        for subpool in (None, *pool.subpools):
            if subpool is None or subpool.state != "ARCHIVED" or archived:
                queue = subpool.queue if subpool else pool.shared_queue
                used = declared.get(queue, 0)
                yield Account(pool, subpool, used) if queues is None else _held(Account(pool, subpool, 0), queues)


def _held(account: Account, queues: Mapping[str, QueueUsage]) -> Account:
    """The account with what a cluster says of its queue."""
    if account.queue is None:
        return account
    usage = queues.get(account.queue)
    return replace(account, used=usage.used if usage else None, running=usage.running if usage else None)
