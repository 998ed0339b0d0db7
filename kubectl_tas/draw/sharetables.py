"""Renders how KAI divides clusters among their queues: tables, or JSON data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kubectl_tas.facts.quantities import NO_LIMIT, OTHERS, RESOURCES, Amount, Amounts, ResourceName, as_data, said, show
from kubectl_tas.place.fairshare_report import FairShareDivision, QueueShare, ShareBound, TargetKind
from kubectl_tas.report import style

if TYPE_CHECKING:
    from kubectl_tas.report import json_shapes as shapes

VERSION = 1
_HEADER = ("Pool", "Guarantee", "Asks", "Share", "Why")
_HELD = ("Pool", "Guarantee", "Holds", "Asks", "Share", "Why")
_INDENT = "  "


def render(divisions: Sequence[FairShareDivision], targets: Sequence[str]) -> str:
    """Renders tables of each division: of GPUs, and of each other resource that is short for a queue. If ``targets``
    names pools, only these pools and everything below them are shown.
    """
    return "\n".join(_one(division, targets) for division in divisions)


def _one(division: FairShareDivision, targets: Sequence[str]) -> str:
    rows = list(division.shown(targets))
    tables = [_table(division, rows, "gpu")]
    for name in OTHERS:
        if short := [(queue_share, 0) for queue_share, _ in rows if queue_share.bound(name) is not ShareBound.ASKED]:
            tables.append(_table(division, short, name))
    if notes := "".join(f"- {note}\n" for note in _notes(division, [queue_share for queue_share, _ in rows])):
        tables.append(notes)
    return "\n".join(tables)


def _table(division: FairShareDivision, rows: Sequence[tuple[QueueShare, int]], resource: ResourceName) -> str:
    shard = f", shard {division.shard}" if division.shard else ""
    title = f"{division.backend}{shard}: {_title(division, resource)}"
    lines = [_cells(queue_share, depth, resource) for queue_share, depth in rows]
    header = _HEADER if rows[0][0].held is None else _HELD
    return f"{title}\n{style.table(header, lines, rule=True)}"


def _title(division: FairShareDivision, resource: ResourceName) -> str:
    requested, has = (
        sum(queue_share.requested.of(resource) for queue_share in division.below(None)),
        division.capacity.of(resource),
    )
    if has == NO_LIMIT:
        return f"{said(resource, requested)} asked for, as much as there may be; these get less"
    few = "" if resource == "gpu" else "; these get less"
    return f"{said(resource, has)}, {show(resource, requested)} asked for{few}"


def _cells(queue_share: QueueShare, depth: int, resource: ResourceName) -> tuple[str, ...]:
    amounts = (
        queue_share.queue.quota,
        *([] if queue_share.held is None else [queue_share.held]),
        queue_share.requested,
        queue_share.share,
    )
    return (
        f"{_INDENT * depth}{queue_share.called.name}",
        *(show(resource, amount.of(resource)) for amount in amounts),
        _why(queue_share, resource),
    )


def _why(queue_share: QueueShare, resource: ResourceName) -> str:
    """Says where the share of a queue comes from, and why it is not larger."""
    if queue_share.requested.of(resource) == 0:
        return "asks for nothing"
    guaranteed, borrowed = queue_share.guaranteed.of(resource), queue_share.borrowed.of(resource)
    origin = f"{show(resource, guaranteed)} guaranteed"
    origin = f"{origin}, {show(resource, borrowed)} borrowed" if borrowed > 0 else origin
    bound = queue_share.bound(resource)
    match bound:
        case ShareBound.ASKED:
            return origin if borrowed > 0 else "within its guarantee"
        case ShareBound.LIMIT:
            reason = f"its limit is {show(resource, queue_share.queue.limit.of(resource))}"
        case ShareBound.NOTHING_LEFT:
            reason = "nothing is left to borrow"
        case ShareBound.PRIORITY:
            reason = "higher priorities take what is left"
        case ShareBound.NO_WEIGHT:
            reason = "with weight 0 it borrows nothing"
        case ShareBound.WEIGHT:
            reason = _by_weight(queue_share, resource)
    return f"{origin}; {reason}"


def _by_weight(queue_share: QueueShare, resource: ResourceName) -> str:
    weight, weights = queue_share.queue.weight.of(resource), queue_share.remainder.weights.of(resource)
    remaining = show(resource, queue_share.remainder.available.of(resource))
    return "takes what is left" if weight == weights else f"of {remaining} left, by weight {weight} of {weights}"


def _notes(division: FairShareDivision, queue_shares: Sequence[QueueShare]) -> Iterator[str]:
    """Yields facts that the numbers alone do not show."""
    for level in dict.fromkeys(queue_share.queue.parent for queue_share in queue_shares):
        yield from _promised(division, level)
    if (
        len(
            {
                tuple(sorted(queue_share.called.pool.nodes.selector.items()))
                for queue_share in division.queue_shares
                if queue_share.called.pool
            }
        )
        > 1
    ):
        yield (
            "Pools ask for different nodes (nodes.selector), but KAI divides all GPUs as if they were of one kind: a "
            "share may be more than the nodes have that a pool can use."
        )
    for queue_share in queue_shares:
        yield from _of_part(queue_share, is_leaf=len(division.below(queue_share.queue.name)) <= 1)


def _promised(division: FairShareDivision, level: str | None) -> Iterator[str]:
    """Says how much more is promised to the queues below a queue than it has."""
    below, above = division.below(level), division.by_queue.get(level or "")
    has = above.share if above else division.capacity
    owner = above.called.name if above and above.called.kind is not TargetKind.ROOT else "the cluster"
    for name in RESOURCES:
        over = sum(queue_share.share.of(name) for queue_share in below) - has.of(name)
        if over > 0:
            yield (
                f"{said(name, over)} more are guaranteed and asked for than {owner} has. KAI promises them anyway: "
                "the first work gets them, and the rest waits."
            )


def _of_part(queue_share: QueueShare, *, is_leaf: bool) -> Iterator[str]:
    name, pool = queue_share.called.name, queue_share.called.pool
    short = [
        resource for resource in RESOURCES if queue_share.fixed.of(resource) > queue_share.queue.quota.of(resource)
    ]
    if short and is_leaf:
        fixed, quota = (
            ", ".join(said(resource, amounts.of(resource)) for resource in short)
            for amounts in (queue_share.fixed, queue_share.queue.quota)
        )
        yield (
            f"{name}: HIGH and NORMAL work asks for {fixed}, and never holds more than the guarantee of {quota}. KAI "
            "counts all of it; the rest waits, since only LOW work borrows."
        )
    reclaim = pool.declared.spec.spec.reclaimMinRuntime if pool and queue_share.called.kind is TargetKind.POOL else None
    borrowed = queue_share.borrowed.gpu
    if reclaim and borrowed > 0:
        yield f"What {name} borrows comes back to others only after it has run for {reclaim} (reclaimMinRuntime)."
    over = 0 if queue_share.held is None else queue_share.held.gpu - queue_share.share.gpu
    if over > 0 and queue_share.called.kind is TargetKind.POOL:
        yield f"{name} holds {said('gpu', over)} more than its share: others may reclaim what LOW work holds of it."


def data(divisions: Sequence[FairShareDivision], targets: Sequence[str], source: str) -> shapes.SharesJson:
    """Returns the divisions as JSON data. ``source`` says where the requested amounts come from."""
    return {"version": VERSION, "askedFrom": source, "clusters": [_record(division, targets) for division in divisions]}


def _record(division: FairShareDivision, targets: Sequence[str]) -> shapes.ShareJson:
    rows = list(division.shown(targets))
    return {
        "backend": division.backend,
        "shard": division.shard,
        "capacity": {
            "gpu": _value("gpu", division.capacity),
            "cpu": _value("cpu", division.capacity),
            "memory": _value("memory", division.capacity),
        },
        "queues": [_queue(queue_share, depth) for queue_share, depth in rows],
        "notes": list(_notes(division, [queue_share for queue_share, _ in rows])),
    }


def _queue(queue_share: QueueShare, depth: int) -> shapes.ShareQueueJson:
    return {
        "name": queue_share.called.name,
        "kind": queue_share.called.kind.value,
        "queue": queue_share.queue.name,
        "parent": queue_share.queue.parent,
        "depth": depth,
        "priority": queue_share.queue.priority,
        "gpu": _amounts(queue_share, "gpu"),
        "cpu": _amounts(queue_share, "cpu"),
        "memory": _amounts(queue_share, "memory"),
    }


def _amounts(queue_share: QueueShare, name: ResourceName) -> shapes.ShareAmountsJson:
    queue = queue_share.queue
    return {
        "guarantee": _value(name, queue.quota),
        "limit": _value(name, queue.limit),
        "weight": queue.weight.of(name),
        "asked": _value(name, queue_share.requested),
        "held": None if queue_share.held is None else _value(name, queue_share.held),
        "share": _value(name, queue_share.share),
        "bound": queue_share.bound(name).value,
    }


def _value(resource: ResourceName, amounts: Amounts) -> Amount | str | None:
    return as_data(resource, amounts.of(resource))
