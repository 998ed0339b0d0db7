"""The accounting of pools: what each is guaranteed, what is used of it, what is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import UNLIMITED, FleetPool, FleetSubpool


@dataclass(frozen=True, slots=True)
class Account:
    """One pool or subpool."""

    pool: FleetPool
    subpool: FleetSubpool | None
    """None: the pool itself, by what its subpools leave to it."""
    used: int | None
    """GPUs of HIGH and NORMAL work; None: not known."""

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
    def available(self) -> int | None:
        """GPUs left, negative while a queue drains; None: no limit, or not known what is used."""
        return None if self.quota is None or self.used is None else self.quota - self.used


def accounts(fleet: Fleet, used: Mapping[str, int | None], *, archived: bool = False) -> Iterator[Account]:
    """Every pool followed by its subpools; ``used`` is in GPUs by queue, 0 where a queue is not in it."""
    for pool in fleet.pools:
        yield Account(pool, None, used.get(pool.shared_queue, 0))
        for subpool in pool.subpools:
            if archived or subpool.state != "ARCHIVED":
                yield Account(pool, subpool, used.get(subpool.queue, 0))
