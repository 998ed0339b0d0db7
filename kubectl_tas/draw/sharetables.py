"""Renders how KAI divides clusters among their queues: tables, or JSON data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kubectl_tas.place.fairshare_report import Bound, Division, Kind, Part
from kubectl_tas.quantities import NO_LIMIT, OTHERS, RESOURCES, Amount, Amounts, ResourceName, as_data, said, show
from kubectl_tas.report import style

if TYPE_CHECKING:
    from kubectl_tas.report import json_shapes as shapes

VERSION = 1
_HEADER = ("Pool", "Guarantee", "Asks", "Share", "Why")
_HELD = ("Pool", "Guarantee", "Holds", "Asks", "Share", "Why")
_INDENT = "  "


def render(divisions: Sequence[Division], wanted: Sequence[str]) -> str:
    """Renders tables of each division: of GPUs, and of each other resource that is short for a queue. If ``wanted``
    names pools, only these pools and everything below them are shown.
    """
    return "\n".join(_one(division, wanted) for division in divisions)


def _one(division: Division, wanted: Sequence[str]) -> str:
    rows = list(division.shown(wanted))
    parts = [_table(division, rows, "gpu")]
    for name in OTHERS:
        if short := [(part, 0) for part, _ in rows if part.bound(name) is not Bound.ASKED]:
            parts.append(_table(division, short, name))
    if notes := "".join(f"- {note}\n" for note in _notes(division, [part for part, _ in rows])):
        parts.append(notes)
    return "\n".join(parts)


def _table(division: Division, rows: Sequence[tuple[Part, int]], resource: ResourceName) -> str:
    shard = f", shard {division.shard}" if division.shard else ""
    title = f"{division.backend}{shard}: {_title(division, resource)}"
    lines = [_cells(part, depth, resource) for part, depth in rows]
    header = _HEADER if rows[0][0].held is None else _HELD
    return f"{title}\n{style.table(header, lines, rule=True)}"


def _title(division: Division, resource: ResourceName) -> str:
    asked, has = sum(part.asked.of(resource) for part in division.below(None)), division.capacity.of(resource)
    if has == NO_LIMIT:
        return f"{said(resource, asked)} asked for, as much as there may be; these get less"
    few = "" if resource == "gpu" else "; these get less"
    return f"{said(resource, has)}, {show(resource, asked)} asked for{few}"


def _cells(part: Part, depth: int, resource: ResourceName) -> tuple[str, ...]:
    amounts = (part.queue.quota, *([] if part.held is None else [part.held]), part.asked, part.share)
    return (
        f"{_INDENT * depth}{part.called.name}",
        *(show(resource, amount.of(resource)) for amount in amounts),
        _why(part, resource),
    )


def _why(part: Part, resource: ResourceName) -> str:
    """Says where the share of a queue comes from, and why it is not larger."""
    if part.asked.of(resource) == 0:
        return "asks for nothing"
    guaranteed, borrowed = part.guaranteed.of(resource), part.borrowed.of(resource)
    origin = f"{show(resource, guaranteed)} guaranteed"
    origin = f"{origin}, {show(resource, borrowed)} borrowed" if borrowed > 0 else origin
    bound = part.bound(resource)
    match bound:
        case Bound.ASKED:
            return origin if borrowed > 0 else "within its guarantee"
        case Bound.LIMIT:
            reason = f"its limit is {show(resource, part.queue.limit.of(resource))}"
        case Bound.NOTHING_LEFT:
            reason = "nothing is left to borrow"
        case Bound.PRIORITY:
            reason = "higher priorities take what is left"
        case Bound.NO_WEIGHT:
            reason = "with weight 0 it borrows nothing"
        case Bound.WEIGHT:
            reason = _by_weight(part, resource)
    return f"{origin}; {reason}"


def _by_weight(part: Part, resource: ResourceName) -> str:
    weight, weights = part.queue.weight.of(resource), part.rest.weights.of(resource)
    left = show(resource, part.rest.left.of(resource))
    return "takes what is left" if weight == weights else f"of {left} left, by weight {weight} of {weights}"


def _notes(division: Division, parts: Sequence[Part]) -> Iterator[str]:
    """Yields facts that the numbers alone do not show."""
    for level in dict.fromkeys(part.queue.parent for part in parts):
        yield from _promised(division, level)
    if len({tuple(sorted(part.called.pool.nodes.selector.items())) for part in division.parts if part.called.pool}) > 1:
        yield (
            "Pools ask for different nodes (nodes.selector), but KAI divides all GPUs as if they were of one kind: a "
            "share may be more than the nodes have that a pool can use."
        )
    for part in parts:
        yield from _of_part(part, is_leaf=len(division.below(part.queue.name)) <= 1)


def _promised(division: Division, level: str | None) -> Iterator[str]:
    """Says how much more is promised to the queues below a queue than it has."""
    below, above = division.below(level), division.by_queue.get(level or "")
    has = above.share if above else division.capacity
    who = above.called.name if above and above.called.kind is not Kind.ROOT else "the cluster"
    for name in RESOURCES:
        over = sum(part.share.of(name) for part in below) - has.of(name)
        if over > 0:
            yield (
                f"{said(name, over)} more are guaranteed and asked for than {who} has. KAI promises them anyway: "
                "the first work gets them, and the rest waits."
            )


def _of_part(part: Part, *, is_leaf: bool) -> Iterator[str]:
    name, pool = part.called.name, part.called.pool
    short = [resource for resource in RESOURCES if part.fixed.of(resource) > part.queue.quota.of(resource)]
    if short and is_leaf:
        fixed, quota = (
            ", ".join(said(resource, amounts.of(resource)) for resource in short)
            for amounts in (part.fixed, part.queue.quota)
        )
        yield (
            f"{name}: HIGH and NORMAL work asks for {fixed}, and never holds more than the guarantee of {quota}. KAI "
            "counts all of it; the rest waits, since only LOW work borrows."
        )
    reclaim = pool.declared.spec.spec.reclaimMinRuntime if pool and part.called.kind is Kind.POOL else None
    borrowed = part.borrowed.gpu
    if reclaim and borrowed > 0:
        yield f"What {name} borrows comes back to others only after it has run for {reclaim} (reclaimMinRuntime)."
    over = 0 if part.held is None else part.held.gpu - part.share.gpu
    if over > 0 and part.called.kind is Kind.POOL:
        yield f"{name} holds {said('gpu', over)} more than its share: others may reclaim what LOW work holds of it."


def data(divisions: Sequence[Division], wanted: Sequence[str], source: str) -> shapes.Shares:
    """Returns the divisions as JSON data. ``source`` says where the requested amounts come from."""
    return {"version": VERSION, "askedFrom": source, "clusters": [_record(one, wanted) for one in divisions]}


def _record(division: Division, wanted: Sequence[str]) -> shapes.Share:
    rows = list(division.shown(wanted))
    return {
        "backend": division.backend,
        "shard": division.shard,
        "capacity": {
            "gpu": _value("gpu", division.capacity),
            "cpu": _value("cpu", division.capacity),
            "memory": _value("memory", division.capacity),
        },
        "queues": [_queue(part, depth) for part, depth in rows],
        "notes": list(_notes(division, [part for part, _ in rows])),
    }


def _queue(part: Part, depth: int) -> shapes.ShareQueue:
    return {
        "name": part.called.name,
        "kind": part.called.kind.value,
        "queue": part.queue.name,
        "parent": part.queue.parent,
        "depth": depth,
        "priority": part.queue.priority,
        "gpu": _amounts(part, "gpu"),
        "cpu": _amounts(part, "cpu"),
        "memory": _amounts(part, "memory"),
    }


def _amounts(part: Part, name: ResourceName) -> shapes.ShareAmounts:
    queue = part.queue
    return {
        "guarantee": _value(name, queue.quota),
        "limit": _value(name, queue.limit),
        "weight": queue.weight.of(name),
        "asked": _value(name, part.asked),
        "held": None if part.held is None else _value(name, part.held),
        "share": _value(name, part.share),
        "bound": part.bound(name).value,
    }


def _value(resource: ResourceName, amounts: Amounts) -> Amount | str | None:
    return as_data(resource, amounts.of(resource))
