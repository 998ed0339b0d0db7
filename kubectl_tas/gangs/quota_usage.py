"""Accounts for quotas: what each pool is guaranteed, what it uses and has left, and the sums of each cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import NOTHING, Amount, Amounts, ResourceName, by_meaning, total
from kubectl_tas.gangs.admission import QueueUsage, non_preemptible_requests
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool

AmountName = Literal["quota", "total", "used", "available", "limit", "weight", "totalUsed"]
SumName = Literal["quota", "used", "available"]


@json_fields(
    "name kind state quota=quota.gpu total=total.gpu used=used.gpu available=available.gpu limit=limit.gpu "
    "weight=weight.gpus totalUsed=whole.gpu running backend=pool.backend.name queue file cpu memory parent depth"
)
@dataclass(frozen=True, slots=True)
class Account:
    """Account of one pool or subpool. The amounts are GPUs."""

    pool: FleetPool
    subpool: FleetSubpool | None
    """The subpool; None for the pool itself, with what its subpools leave."""
    used: Amounts | None
    """Resources that HIGH and NORMAL work holds; None if unknown."""
    running: int | None = None
    """Number of running workflows; None if unknown."""
    whole: Amounts | None = None
    """Usage of a pool with child pools and all pools below; None if unknown, or for a pool without child pools."""
    free: Mapping[str, int] | None = None
    """GPUs on each node that guaranteed work can have; None if unknown."""
    is_rest_known: bool = True
    """Whether all pools and subpools that may divide the pool are counted."""

    @property
    def name(self) -> str:
        """The name that users give the pool or subpool."""
        return self.subpool.canonical if self.subpool else self.pool.name

    @property
    def kind(self) -> Literal["pool", "subpool"]:
        """pool or subpool."""
        return "subpool" if self.subpool else "pool"

    @property
    def parent(self) -> str | None:
        """Name of the pool above; None if there is no pool above."""
        upper = self.pool if self.subpool else self.pool.parent
        return upper.name if upper else None

    @property
    def depth(self) -> int:
        """Number of pools above."""
        return len(self.pool.chain) - (0 if self.subpool else 1)

    @property
    def state(self) -> str | None:
        """State of a subpool; None for a pool."""
        return self.subpool.state if self.subpool else None

    @property
    def queue(self) -> str | None:
        """Queue for work of the pool or subpool; None for an ARCHIVED subpool."""
        if self.subpool is None:
            return self.pool.shared_queue
        return self.subpool.current_queue

    @property
    def quota(self) -> Amounts | None:
        """Guaranteed resources; nothing for a subpool that is not ACTIVE. None if what others take of it is unknown."""
        if self.subpool is not None:
            return self.subpool.quota
        return self.pool.shared_quota if self.is_rest_known else None

    @property
    def available(self) -> Amounts | None:
        """Resources that are left, negative while a queue drains, and no more than the nodes have; None if unknown."""
        return _available(self.quota, self.used, self.free)

    @property
    def total(self) -> Amounts | None:
        """Guarantee of a pool that others divide, or may divide, theirs included; otherwise None."""
        is_split = self.pool.is_split or not self.is_rest_known
        return self.pool.guarantee if self.subpool is None and is_split else None

    @property
    def limit(self) -> Amounts:
        """The most that the pool or subpool may hold."""
        return self.subpool.maximum if self.subpool else self.pool.maximum

    @property
    def weight(self) -> Amounts:
        """Over-quota weight by resource."""
        return self.subpool.weight if self.subpool else self.pool.weight

    @property
    def cpu(self) -> dict[AmountName, Amount | str | None]:
        """The same amounts of cpu."""
        return self._amounts("cpu")

    @property
    def memory(self) -> dict[AmountName, Amount | str | None]:
        """The same amounts of memory."""
        return self._amounts("memory")

    def _amounts(self, resource: ResourceName) -> dict[AmountName, Amount | str | None]:
        amounts: dict[AmountName, Amounts | None] = {
            "quota": self.quota,
            "total": self.total,
            "used": self.used,
            "available": self.available,
            "limit": self.limit,
            "weight": None,
            "totalUsed": self.whole,
        }
        return {**by_meaning(resource, amounts), "weight": self.weight.of(resource)}

    @property
    def file(self) -> str:
        """File with the declaration of the pool or subpool."""
        return (self.subpool or self.pool).declared.origin.path


def accounts(
    fleet: Fleet,
    queues: Mapping[str, QueueUsage] | None,
    *,
    archived: bool = False,
    free: Callable[[FleetPool], Mapping[str, int] | None] = lambda _pool: None,
) -> list[Account]:
    """Returns every pool followed by its subpools, then by the pools below. Usage is what ``queues`` of a cluster say;
    for None, what the repository declares. ``free`` returns what the nodes of a pool have free.
    """
    declared, rows = non_preemptible_requests(fleet), list[Account]()
    is_rest_known = all(document.is_work for document in fleet.not_counted)
    for pool in _by_tree(fleet.pools):
        for subpool in (None, *pool.subpools):
            if subpool is None or subpool.state != "ARCHIVED" or archived:
                queue = subpool.queue if subpool else pool.shared_queue
                used = None if fleet.not_counted else declared.get(queue, NOTHING)
                row = Account(pool, subpool, used if queues is None else NOTHING, is_rest_known=is_rest_known)
                rows.append(row if queues is None else _held(row, queues))
    wholes: dict[str, Amounts | None] = {}
    for row in reversed(rows):  # what is below a pool comes first
        name, upper = row.pool.name, row.pool.parent
        wholes[name] = _sum_if_known(wholes.get(name, NOTHING), row.used)
        if row.subpool is None and upper is not None:
            wholes[upper.name] = _sum_if_known(wholes.get(upper.name, NOTHING), wholes[name])
    return [
        replace(
            row,
            whole=wholes[row.pool.name] if row.subpool is None and row.pool.children else None,
            free=free(row.pool),
        )
        for row in rows
    ]


def _by_tree(pools: Sequence[FleetPool]) -> Iterator[FleetPool]:
    """Yields every pool followed by the pools below, siblings by name."""
    by_name = {pool.name: pool for pool in pools}
    pending = [pool for pool in reversed(pools) if pool.parent is None]
    while pending:
        pool = pending.pop()
        yield pool
        pending += (by_name[child.name] for child in reversed(pool.children))


@json_fields("backend quota=quota.gpu used=used.gpu available=available.gpu cpu memory")
@dataclass(frozen=True, slots=True)
class Total:
    """The sums of the pools of one cluster. The amounts are GPUs."""

    backend: str
    pools: int
    """Number of rows that are added up: rows without a listed pool above."""
    quota: Amounts | None
    """Guaranteed resources; None if a pool may be missing."""
    used: Amounts | None
    """Resources that HIGH and NORMAL work holds; None if unknown for any row."""
    free: Mapping[str, int] | None = None
    """GPUs on each node that guaranteed work can have; None if unknown."""

    @property
    def available(self) -> Amounts | None:
        """Resources that are left, and no more than the nodes have; None if the usage is unknown."""
        return _available(self.quota, self.used, self.free)

    @property
    def cpu(self) -> dict[SumName, Amount | str | None]:
        """The same sums of cpu."""
        return self._amounts("cpu")

    @property
    def memory(self) -> dict[SumName, Amount | str | None]:
        """The same sums of memory."""
        return self._amounts("memory")

    def _amounts(self, resource: ResourceName) -> dict[SumName, Amount | str | None]:
        return by_meaning(resource, {"quota": self.quota, "used": self.used, "available": self.available})


def depths(rows: Sequence[Account]) -> list[int]:
    """Returns for each row how many listed rows are above; parents come before their children."""
    depth_by_name: dict[str, int] = {}
    for row in rows:
        depth_by_name[row.name] = 0 if row.parent not in depth_by_name else depth_by_name[row.parent] + 1
    return list(depth_by_name.values())


def totals(rows: Sequence[Account]) -> list[Total]:
    """Returns the sums of each cluster, over its listed rows."""
    totals = []
    for backend in sorted({row.pool.backend.name for row in rows}):
        rows_of_backend = [
            (row, depth) for row, depth in zip(rows, depths(rows), strict=True) if row.pool.backend.name == backend
        ]
        tops = [row.quota if row.total is None else row.total for row, depth in rows_of_backend if depth == 0]
        used = [row.used for row, _ in rows_of_backend]
        known_amounts = [amounts for amounts in used if amounts is not None]
        free = [row.free for row, _ in rows_of_backend if row.free is not None]
        is_free_known = len(free) == len(rows_of_backend)
        merged = {name: gpus for nodes in free for name, gpus in nodes.items()} if is_free_known else None
        is_quota_known = all(row.is_rest_known for row, _ in rows_of_backend)
        quota = total(amounts for amounts in tops if amounts) if is_quota_known else None
        held = total(known_amounts) if len(known_amounts) == len(used) else None
        totals.append(Total(backend, len(tops), quota, held, merged))
    return totals


def _sum_if_known(used: Amounts | None, further: Amounts | None) -> Amounts | None:
    return None if used is None or further is None else used + further


def _available(quota: Amounts | None, used: Amounts | None, free: Mapping[str, int] | None) -> Amounts | None:
    if quota is None or used is None:
        return None
    available = quota - used
    return available if free is None else replace(available, gpu=min(available.gpu, sum(free.values())))


def _held(account: Account, queues: Mapping[str, QueueUsage]) -> Account:
    """Returns the account with what a cluster says of its queue."""
    if account.queue is None:
        return account
    usage = queues.get(account.queue)
    return replace(account, used=usage.used if usage else None, running=usage.running if usage else None)
