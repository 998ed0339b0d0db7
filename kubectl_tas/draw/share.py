"""Divisions of clusters among their queues in, tables out, or the same as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kubectl_tas.place.division import Bound, Division, Kind, Part
from kubectl_tas.quantities import NO_LIMIT, OTHERS, RESOURCES, UNITS, Amount, Amounts, ResourceName, said, show
from kubectl_tas.report import table

VERSION = 1
_HEADER = ("Pool", "Guarantee", "Asks", "Share", "Why")
_HELD = ("Pool", "Guarantee", "Holds", "Asks", "Share", "Why")
_INDENT = "  "


def render(divisions: Sequence[Division], wanted: Sequence[str]) -> str:
    """The tables of each, a blank line between two: of GPUs, and of whatever else somebody gets too little of.

    Only what is ``wanted`` of them, pools with all below them, where that names any.
    """
    return "\n".join(_one(division, wanted) for division in divisions)


def _one(division: Division, wanted: Sequence[str]) -> str:
    rows = _rows(division, wanted)
    short = [
        name
        for name in OTHERS
        if any(division.bound(part, name) is not Bound.ASKED for part, _ in rows)
    ]  # fmt: skip
    parts = [_table(division, rows, name) for name in ("gpu", *short)]
    notes = [f"- {note}\n" for note in _notes(division, [part for part, _ in rows])]
    return "\n".join([*parts, *(["".join(notes)] if notes else [])])


def _rows(division: Division, wanted: Sequence[str]) -> list[tuple[Part, int]]:
    """The parts that are shown, each with its depth below the first of them."""
    found: list[tuple[Part, int]] = []
    chosen: list[tuple[int, int]] = []
    for part, depth in division.shown():
        while chosen and chosen[-1][0] >= depth:
            chosen.pop()
        if not wanted:
            found.append((part, depth))
        elif chosen or part.called.name in wanted:
            chosen = chosen or [(depth, 0)]
            found.append((part, depth - chosen[0][0]))
    return found


def _table(division: Division, rows: Sequence[tuple[Part, int]], resource: ResourceName) -> str:
    asked = sum(part.asked.of(resource) for part in division.top)
    has = show(resource, division.capacity.of(resource))
    shard = f", shard {division.shard}" if division.shard else ""
    title = f"{division.backend}{shard}: {has} {UNITS[resource]}, {show(resource, asked)} asked for"
    lines = [_cells(division, part, depth, resource) for part, depth in rows]
    header = _HEADER if division.top and division.top[0].held is None else _HELD
    return f"{title}\n{table.render(header, lines, rule=True)}"


def _cells(division: Division, part: Part, depth: int, resource: ResourceName) -> tuple[str, ...]:
    amounts = (part.queue.quota, *([] if part.held is None else [part.held]), part.asked, part.share)
    return (
        f"{_INDENT * depth}{part.called.name}",
        *(show(resource, amount.of(resource)) for amount in amounts),
        _why(division, part, resource),
    )


def _why(division: Division, part: Part, resource: ResourceName) -> str:
    """Where its share comes from, and why it is no larger."""
    if part.asked.of(resource) == 0:
        return "asks for nothing"
    guaranteed, borrowed = part.guaranteed(resource), part.borrowed(resource)
    origin = f"{show(resource, guaranteed)} guaranteed"
    origin = f"{origin}, {show(resource, borrowed)} borrowed" if borrowed > 0 else origin
    bound = division.bound(part, resource)
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
            reason = _by_weight(division, part, resource)
    return f"{origin}; {reason}"


def _by_weight(division: Division, part: Part, resource: ResourceName) -> str:
    rivals = division.rivals(part, resource)
    left = show(resource, division.left_at(part, resource))
    weights = sum(one.queue.weight.of(resource) for one in rivals)
    return (
        f"of {left} left, by weight {part.queue.weight.of(resource)} of {weights}"
        if len(rivals) > 1
        else "takes what is left"
    )


def _notes(division: Division, parts: Sequence[Part]) -> Iterator[str]:
    """What the numbers alone do not tell."""
    for level in dict.fromkeys(part.queue.parent for part in parts):
        yield from _promised(division, level)
    for part in parts:
        yield from _of_part(part)


def _promised(division: Division, level: str | None) -> Iterator[str]:
    """What the queues below one are promised and it does not have."""
    below = division.below(level)
    for name in RESOURCES:
        over = sum(part.share.of(name) for part in below) - below[0].whole.of(name)
        if over > 0:
            has = division.name_of(level)
            yield (
                f"{said(name, over)} more are guaranteed and asked for than {has} has. KAI promises them all the same: "
                "who comes first has them, and the others wait."
            )


def _of_part(part: Part) -> Iterator[str]:
    name, pool = part.called.name, part.called.pool
    short = [resource for resource in RESOURCES if part.fixed.of(resource) > part.queue.quota.of(resource)]
    if short and part.called.kind in (Kind.OWN, Kind.SUBPOOL):
        fixed, quota = (
            ", ".join(said(resource, amounts.of(resource)) for resource in short)
            for amounts in (part.fixed, part.queue.quota)
        )
        yield (
            f"{name}: HIGH and NORMAL work asks for {fixed}, and never holds more than the guarantee of {quota}. KAI "
            "counts all of it; the rest waits, since only LOW work borrows."
        )
    reclaim = pool.declared.spec.spec.reclaimMinRuntime if pool and part.called.kind is Kind.POOL else None
    borrowed = part.borrowed("gpu")
    if reclaim and borrowed > 0:
        yield f"What {name} borrows comes back to others only after it has run for {reclaim} (reclaimMinRuntime)."
    over = 0 if part.held is None else part.held.gpu - part.share.gpu
    if over > 0 and part.called.kind is Kind.POOL:
        yield f"{name} holds {said('gpu', over)} more than its share: others may reclaim what LOW work holds of it."


def data(divisions: Sequence[Division], wanted: Sequence[str], source: str) -> dict[str, Any]:
    """The same for programs; ``source`` says where what is asked for comes from."""
    return {"version": VERSION, "askedFrom": source, "clusters": [_record(one, wanted) for one in divisions]}


def _record(division: Division, wanted: Sequence[str]) -> dict[str, Any]:
    return {
        "backend": division.backend,
        "shard": division.shard,
        "capacity": {name: _value(name, division.capacity) for name in RESOURCES},
        "queues": [_queue(division, part, depth) for part, depth in _rows(division, wanted)],
        "notes": list(_notes(division, [part for part, _ in _rows(division, wanted)])),
    }


def _queue(division: Division, part: Part, depth: int) -> dict[str, Any]:
    return {
        "name": part.called.name,
        "kind": part.called.kind.value,
        "queue": part.queue.name,
        "parent": part.queue.parent,
        "depth": depth,
        "priority": part.queue.priority,
        **{name: _amounts(division, part, name) for name in RESOURCES},
    }


def _amounts(division: Division, part: Part, name: ResourceName) -> dict[str, Any]:
    queue = part.queue
    return {
        "guarantee": _value(name, queue.quota),
        "limit": _value(name, queue.limit),
        "weight": queue.weight.of(name),
        "asked": _value(name, part.asked),
        "held": None if part.held is None else _value(name, part.held),
        "share": _value(name, part.share),
        "bound": division.bound(part, name).value,
    }


def _value(resource: ResourceName, amounts: Amounts) -> Amount | str | None:
    """GPUs as a number, others as Kubernetes quantities, None for no limit."""
    amount = amounts.of(resource)
    if amount == NO_LIMIT:
        return None
    return amount if resource == "gpu" else show(resource, amount)
