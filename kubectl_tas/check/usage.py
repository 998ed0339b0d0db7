"""The accounting of pools: what each is guaranteed, what is used of it, what is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kubectl_tas.resolve.fleet import UNLIMITED, Fleet, FleetPool, FleetSubpool


@dataclass(frozen=True, slots=True)
class Account:
    """One pool or subpool."""

    pool: FleetPool
    subpool: FleetSubpool | None
    """None: the pool itself, by what its subpools leave to it."""
    used: int
    """GPUs of HIGH and NORMAL work."""

    @property
    def name(self) -> str:
        """As users name it."""
        return self.subpool.canonical if self.subpool else self.pool.name

    @property
    def state(self) -> str | None:
        """State of a subpool; None for a pool."""
        return self.subpool.state if self.subpool else None

    @property
    def quota(self) -> int | None:
        """GPUs guaranteed; None: no limit."""
        quota = self.subpool.asked if self.subpool else self.pool.shared_quota
        return None if quota == UNLIMITED else quota

    @property
    def available(self) -> int | None:
        """GPUs left, negative while a queue drains; None: no limit. A subpool on its way out has no quota."""
        quota = self.subpool.quota if self.subpool else self.quota
        return None if quota is None else quota - self.used


def accounts(fleet: Fleet, used: Mapping[str, int], *, archived: bool = False) -> Iterator[Account]:
    """Every pool followed by its subpools; ``used`` is in GPUs by queue, 0 where a queue is not in it."""
    for pool in fleet.pools:
        yield Account(pool, None, used.get(pool.shared_queue, 0))
        for subpool in pool.subpools:
            if archived or subpool.state != "ARCHIVED":
                yield Account(pool, subpool, used.get(subpool.queue, 0))
