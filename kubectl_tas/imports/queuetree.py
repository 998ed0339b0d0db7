"""Sorts the queues of a cluster into a root, pools, subpools, and queues that cannot be imported, with reasons.

A pool is imported completely or not at all. An omitted queue would keep quota that the pool gives to others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from pydantic import BaseModel, ValidationError

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import (
    NO_LIMIT,
    RESOURCES,
    Amount,
    Amounts,
    ResourceName,
    each,
    kai_number,
    said,
    show,
    total,
)
from kubectl_tas.live.objects import shown
from kubectl_tas.model.base import MAX_COUNT
from kubectl_tas.model.labels import MAX_LABEL, NODE_POOL, setter
from kubectl_tas.model.pool_kinds import MEMORY, PoolSpec, QueueMeta

MARKS = ("labels", "annotations")
"""The metadata of objects beside their names."""
_PART = Fraction(1, 10**6)
"""Tolerance for numbers with more digits than KAI's own. For memory, the tolerance is one byte."""


class NoPlaceError(Exception):
    """A queue, or a part of it, cannot be declared. The text says why."""


@dataclass(frozen=True, slots=True)
class LiveQueue:
    """A Queue of a cluster."""

    name: str
    parent: str | None
    display: str | None
    spec: Mapping[str, Any]
    shard: str | None
    """The shard of KAI's scheduler that uses the queue."""
    marks: Mapping[str, Mapping[str, str]]
    """Labels and annotations that a file can have, by these two words."""

    @property
    def quota(self) -> Amounts:
        """Quota of the queue. Raises NoPlaceError if no file can express it."""
        return each(lambda name: self._amount(name, "quota"))

    @property
    def limit(self) -> Amounts:
        """Limit of the queue. Raises NoPlaceError if no file can express it."""
        return each(lambda name: self._amount(name, "limit"))

    @property
    def weight(self) -> Amounts:
        """Over-quota weights. Raises NoPlaceError if no file can express one."""
        return each(self._weight)

    @property
    def priority(self) -> int | None:
        """Priority among sibling queues."""
        priority = self.spec.get("priority")
        return priority if isinstance(priority, int) else None

    def runtime(self, field: str) -> str | None:
        """Returns a minimum runtime."""
        runtime = self.spec.get(field)
        return runtime if isinstance(runtime, str) else None

    def _number(self, name: ResourceName, field: str) -> Fraction:
        """Returns the number in a field. KAI reads a missing field as 0."""
        shares = self.spec.get("resources") or {}
        share = shares.get(name) if isinstance(shares, dict) else None
        value = (share or {}).get(field, 0) if isinstance(share or {}, dict) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not (0 <= value < 10**18 or value == -1):
            raise NoPlaceError(f"the {field} of its {name} is {shown(value)}, which is no amount")
        if value > MAX_COUNT * {"gpu": 1, "cpu": 1000, "memory": 10**8}[name]:
            raise NoPlaceError(f"the {field} of its {name} is {shown(value)}, more than files count to")
        return Fraction(repr(value))

    def _amount(self, name: ResourceName, field: str) -> Amount:
        number = self._number(name, field)
        if number == -1:
            return NO_LIMIT
        amount = int(number) if name != "memory" else round(number * 10**6)
        unit = {"gpu": "GPUs", "cpu": "thousandths of a core", "memory": "bytes that can be written with a unit"}[name]
        is_near = abs(Fraction(kai_number(name, amount)) - number) < _PART and (
            name != "memory" or (amount == 0 or re.fullmatch(MEMORY[1:-1], show("memory", amount)) is not None)
        )
        if not is_near:
            raise NoPlaceError(f"the {field} of its {name} is {_plain(number)}, which is not in whole {unit}")
        return amount

    def _weight(self, name: ResourceName) -> int:
        number = self._number(name, "overQuotaWeight")
        if number < 0 or number.denominator != 1:
            raise NoPlaceError(f"the weight of its {name} is {_plain(number)}; weights are whole numbers here")
        return int(number)


def _plain(number: Fraction) -> str:
    return str(float(number)) if number.denominator != 1 else str(int(number))


def live_queue(queue: Mapping[str, Any]) -> LiveQueue:
    """Reads a Queue."""
    metadata, spec = queue["metadata"], queue.get("spec") or {}
    return LiveQueue(
        metadata["name"],
        spec.get("parentQueue") or None,
        spec.get("displayName") or None,
        dict(spec),
        (metadata.get("labels") or {}).get(NODE_POOL) or None,
        {each: marks for each in MARKS if (marks := _allowed_marks(each, metadata.get(each) or {}))},
    )


def _allowed_marks(field: str, marks: Mapping[str, Any]) -> dict[str, str]:
    """Returns the labels or annotations of a Queue that a file can have."""
    return {
        key: value for key, value in marks.items() if setter(key) is None and _is_valid(QueueMeta, field, {key: value})
    }


def _is_valid(model: type[BaseModel], field: str, value: object) -> bool:
    try:
        model.model_validate({field: value})
    except ValidationError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class LivePool:
    """A queue that becomes a pool, with the queues below it."""

    container: LiveQueue
    shared: LiveQueue | None
    """The queue for the pool's own work; None if the cluster has none yet."""
    leaves: tuple[LiveQueue, ...]
    """Queues that become subpools, by name."""
    guarantee: Amounts
    """Guarantee of the pool. It may exceed the quota of the queue if sums are requested."""

    @property
    def queues(self) -> tuple[LiveQueue, ...]:
        """All queues of the pool, from the top."""
        return (self.container, *((self.shared,) if self.shared else ()), *self.leaves)


@dataclass(frozen=True, slots=True)
class Forest:
    """The result for all queues of a cluster."""

    root: LiveQueue | None
    """The queue above all pools; None: pools are at the top."""
    pools: tuple[LivePool, ...]
    """Pools, by name of the queue."""
    unplaced: Mapping[str, str]
    """Reasons why other queues cannot be imported, by name."""


@dataclass(frozen=True, slots=True)
class _QueueTree:
    """Queues with their children."""

    queues: Mapping[str, LiveQueue]
    children: Mapping[str | None, tuple[LiveQueue, ...]]
    sums: bool
    """Whether the sum of its subpools' quotas may become the guarantee of a pool."""

    def below(self, queue: LiveQueue) -> tuple[LiveQueue, ...]:
        return self.children.get(queue.name, ())


def forest(queues: Iterable[LiveQueue], *, has_root: bool, sums: bool) -> Forest:
    """Chooses a root and pools so that most queues are imported. ``has_root``: whether this KAI has queues above pools.
    With ``sums``, a pool with less quota than its subpools together, or without a limit, gets their sum.
    """
    by_name = {queue.name: queue for queue in sorted(queues, key=lambda queue: queue.name)}
    children: dict[str | None, list[LiveQueue]] = {}
    for queue in by_name.values():
        children.setdefault(queue.parent, []).append(queue)
    tree = _QueueTree(by_name, {name: tuple(siblings) for name, siblings in children.items()}, sums)
    roots = [queue for queue in tree.children.get(None, ()) if has_root and _may_be_root(tree, queue)]
    best = max(roots, key=lambda root: _placed_below(tree, root), default=None)
    candidates = (best, None) if best else (None,)
    return max((_with_root(tree, root) for root in candidates), key=lambda forest_: -len(forest_.unplaced))


def _placed_below(tree: _QueueTree, root: LiveQueue) -> int:
    """Counts the queues that can be imported if this queue is the root."""
    pools: list[LivePool] = []
    for child in tree.below(root):
        if tree.below(child):
            _take(tree, child, pools, {})
    return sum(len(pool.queues) for pool in pools)


def _may_be_root(tree: _QueueTree, queue: LiveQueue) -> bool:
    """Whether the queue is above pools, and as unlimited as the root queue that ``render`` makes."""
    if queue.shard is not None or not any(tree.below(child) for child in tree.below(queue)):
        return False
    keys = {"displayName", "resources"}
    try:
        amounts = (queue.quota, queue.limit, queue.weight)
    except NoPlaceError:
        return False
    unlimited = each(lambda _: NO_LIMIT)
    return amounts == (unlimited, unlimited, Amounts(1, 1, 1)) and queue.spec.keys() <= keys


def _with_root(tree: _QueueTree, root: LiveQueue | None) -> Forest:
    pools: list[LivePool] = []
    reasons: dict[str, str] = {}
    for top in tree.children.get(None, ()):
        if top == root:
            for child in tree.below(top):
                if tree.below(child):
                    _take(tree, child, pools, reasons)
                else:
                    reasons[child.name] = (
                        f"it is a leaf next to pools, below {top.name}; work runs in leaves below a pool's own queue"
                    )
        elif not tree.below(top):
            reasons[top.name] = "it has neither a parent nor children; work runs in leaves below a pool's own queue"
        elif root is not None and top.shard is None:
            _refuse(tree, top, f"{top.name} is at the top next to {root.name}, the parent of the other pools", reasons)
        else:
            _take(tree, top, pools, reasons)
    placed = {queue.name for pool in pools for queue in pool.queues}
    if root is not None and not any(pool.container.parent == root.name for pool in pools):
        reasons[root.name] = "no pool below it has a place"
        root = None
    elif root is not None:
        placed.add(root.name)
    for name, queue in tree.queues.items():
        if name not in placed and name not in reasons:
            is_gone = queue.parent is not None and queue.parent not in tree.queues
            reasons[name] = f"its parent {queue.parent} is not there" if is_gone else "no queue at the top is above it"
    return Forest(root, tuple(sorted(pools, key=lambda pool: pool.container.name)), dict(sorted(reasons.items())))


def _take(tree: _QueueTree, queue: LiveQueue, pools: list[LivePool], reasons: dict[str, str]) -> None:
    """Makes a pool of a queue, or notes the reason for the queue and all queues below it."""
    try:
        pools.append(_pool(tree, queue))
    except NoPlaceError as error:
        _refuse(tree, queue, str(error), reasons)


def _refuse(tree: _QueueTree, queue: LiveQueue, reason: str, reasons: dict[str, str]) -> None:
    refused_queues = [queue]
    for refused_queue in refused_queues:  # each has one parent, so none appears twice
        reasons[refused_queue.name] = reason
        refused_queues += tree.below(refused_queue)


def _pool(tree: _QueueTree, container: LiveQueue) -> LivePool:
    """Makes a pool of a queue and its children. Raises NoPlaceError if no file can express one of them."""
    below = tree.below(container)
    for queue in (container, *below):
        _must_be_whole(tree, container, queue)
    shared = _shared(container, below)
    leaves = tuple(queue for queue in below if queue != shared)
    guarantee = each(lambda name: _guaranteed(tree, container, leaves, name)) if leaves else container.quota
    for queue, quota in ((container, guarantee), *((queue, queue.quota) for queue in below)):
        _must_hold(queue, quota)
    return LivePool(container, shared, leaves, guarantee)


def _must_be_whole(tree: _QueueTree, container: LiveQueue, queue: LiveQueue) -> None:
    """Raises NoPlaceError if a queue of a pool has a feature that no file can express."""
    is_leaf = queue != container
    if is_leaf and tree.below(queue):
        raise NoPlaceError(
            f"{queue.name} below {container.name} has queues of its own: departments are not imported, but declared by "
            "hand, with spec.parent"
        )
    for field in ("priority", "preemptMinRuntime", "reclaimMinRuntime"):
        value = queue.spec.get(field)
        if value not in (None, "") and not _is_valid(PoolSpec, field, value):
            raise NoPlaceError(f"the {field} of {queue.name} is {shown(value)}, which no file can express")
    if is_leaf and (queue.runtime("preemptMinRuntime") or queue.runtime("reclaimMinRuntime")):
        raise NoPlaceError(f"{queue.name} has a least runtime of its own; here it is that of the pool")
    if queue.shard != container.shard:
        raise NoPlaceError(f"{queue.name} and {container.name} are of different shards of the scheduler")
    if container.shard is not None and container.parent is not None:
        raise NoPlaceError(f"{container.name} is of the shard {container.shard}, but has a parent")
    if len(queue.name) > MAX_LABEL:
        raise NoPlaceError(f"the name {queue.name} has more than {MAX_LABEL} characters")
    try:
        _ = queue.quota, queue.limit, queue.weight
    except NoPlaceError as error:
        raise NoPlaceError(f"{queue.name}: {error}" if is_leaf else str(error)) from None


def _must_hold(queue: LiveQueue, guarantee: Amounts) -> None:
    for name in RESOURCES:
        quota, limit = guarantee.of(name), queue.limit.of(name)
        if limit < quota:
            has = f"no limit to its quota of {name}" if quota == NO_LIMIT else f"a quota of {said(name, quota)}"
            raise NoPlaceError(f"{queue.name} has {has}, but may hold at most {said(name, limit)}")


def _shared(container: LiveQueue, below: Sequence[LiveQueue]) -> LiveQueue | None:
    """Finds the queue for the pool's own work, by name or as the only one, with the remaining quota."""
    called = [x for x in below if x.name.endswith("--shared") or (x.display or "").endswith("--_shared")]
    for queue in (*called, *(below if len(below) == 1 else ())):
        remaining_quota = container.quota - total(sibling.quota for sibling in below if sibling != queue)
        settings, container_settings = ((each.limit, each.weight, each.priority) for each in (queue, container))
        if queue.quota == remaining_quota and settings == container_settings:
            return queue
    return None


def _guaranteed(tree: _QueueTree, container: LiveQueue, leaves: Sequence[LiveQueue], name: ResourceName) -> Amount:
    """Returns the guarantee of a pool with subpools. Raises NoPlaceError if the guarantee is less than their sum."""
    whole, quotas = container.quota.of(name), [leaf.quota.of(name) for leaf in leaves]
    endless = [leaf.name for leaf, quota in zip(leaves, quotas, strict=True) if quota == NO_LIMIT]
    if whole == NO_LIMIT and len(endless) == len(leaves) and name != "gpu":
        return NO_LIMIT
    if endless:
        raise NoPlaceError(f"{endless[0]} has no limit to its quota of {name}, but a subpool is guaranteed a number")
    sum_ = sum(quotas)
    if whole == NO_LIMIT or sum_ > whole:
        if tree.sums:
            return sum_
        shown_quota = "unlimited" if whole == NO_LIMIT else said(name, whole)
        needs = said(name, sum_)
        raise NoPlaceError(
            f"the {name} quota of {container.name} is {shown_quota}, its children need {needs}. `--sums` sets {needs}"
        )
    return whole
