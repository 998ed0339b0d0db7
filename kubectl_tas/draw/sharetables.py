"""Renders how KAI divides clusters among their queues: tables, or JSON data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.facts.quantities import NO_LIMIT, OTHERS, RESOURCES, Amount, ResourceName, by_meaning, said, show
from kubectl_tas.place.fairshare import ShareRange
from kubectl_tas.place.fairshare_report import FairShareDivision, QueueShare, ShareBound, TargetKind
from kubectl_tas.place.shard_history import ShardHistory
from kubectl_tas.report import style

_INDENT = "  "


@json_fields("guarantee limit weight asked held share bound pastUsage=past_usage? least? most?")
class ResourceShare(NamedTuple):
    """The division of one resource."""

    guarantee: Amount | str | None
    limit: Amount | str | None
    """None: no limit."""
    weight: Amount
    asked: Amount | str | None
    held: Amount | str | None
    """None if no cluster was asked."""
    share: Amount | str | None
    bound: ShareBound
    """The reason why the queue gets no more."""
    past_usage: float | None
    """Past usage as a part of what the cluster had; None if it is unknown, or does not count."""
    least: Amount | str | None
    """The share if the queue alone used the whole cluster; None if past usage is known, or does not count."""
    most: Amount | str | None
    """The share if the queue used nothing, and those beside it used the whole cluster."""


@json_fields(
    "name=queue_share.called.name kind=queue_share.called.kind queue=queue_share.queue.name "
    "parent=queue_share.queue.parent depth priority=queue_share.queue.priority gpu cpu memory"
)
class ShownShare(NamedTuple):
    """The share of one queue."""

    queue_share: QueueShare
    depth: int
    """The number of shown queues above."""

    @property
    def gpu(self) -> ResourceShare:
        """GPUs as numbers."""
        return self._of("gpu")

    @property
    def cpu(self) -> ResourceShare:
        """cpu as Kubernetes quantities."""
        return self._of("cpu")

    @property
    def memory(self) -> ResourceShare:
        """memory as Kubernetes quantities."""
        return self._of("memory")

    def _of(self, resource: ResourceName) -> ResourceShare:
        queue_share, queue, ends = self.queue_share, self.queue_share.queue, self.queue_share.range
        amounts = {
            "guarantee": queue.quota,
            "limit": queue.limit,
            "asked": queue_share.requested,
            "held": queue_share.held,
            "share": queue_share.share,
            "least": None if ends is None else ends.least,
            "most": None if ends is None else ends.most,
        }
        bound, weight = queue_share.bound(resource), queue.weight.of(resource)
        past_usage = _past_usage(queue_share, resource)
        return ResourceShare(**by_meaning(resource, amounts), weight=weight, bound=bound, past_usage=past_usage)


@json_fields(
    "backend=division.backend shard=division.shard capacity=division.capacity queues notes pastUsage=past_usage?"
)
class ShownDivision(NamedTuple):
    """The division of one shard's resources among queues."""

    division: FairShareDivision
    targets: Sequence[str]

    @property
    def queues(self) -> list[ShownShare]:
        """The queues that users know."""
        return [ShownShare(*shown) for shown in self.division.shown(self.targets)]

    @property
    def notes(self) -> list[str]:
        """Facts that the numbers alone do not show."""
        return list(_notes(self.division, [shown.queue_share for shown in self.queues]))

    @property
    def past_usage(self) -> ShardHistory | None:
        """The history that counts; None if none does."""
        return self.division.history if self.division.history.source else None


@json_fields("version:1 askedFrom=source clusters")
class Shares(NamedTuple):
    """The division of clusters by KAI's scheduler."""

    source: str
    """The source of the requested amounts."""
    clusters: Sequence[ShownDivision]


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
    header = _header(rows[0][0])
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


def _header(queue_share: QueueShare) -> tuple[str, ...]:
    held = () if queue_share.held is None else ("Holds",)
    used = () if _past_usage(queue_share, "gpu") is None else ("Past usage",)
    ranges = () if queue_share.range is None else ("Range",)
    return "Pool", "Guarantee", *held, "Asks", *used, "Share", *ranges, "Why"


def _cells(queue_share: QueueShare, depth: int, resource: ResourceName) -> tuple[str, ...]:
    held, past_usage, ends = queue_share.held, _past_usage(queue_share, resource), queue_share.range
    return (
        f"{_INDENT * depth}{queue_share.called.name}",
        show(resource, queue_share.queue.quota.of(resource)),
        *(() if held is None else [show(resource, held.of(resource))]),
        show(resource, queue_share.requested.of(resource)),
        *(() if past_usage is None else [f"{past_usage:.1%}"]),
        show(resource, queue_share.share.of(resource)),
        *(() if ends is None else [_range(ends, resource)]),
        _why(queue_share, resource),
    )


def _range(ends: ShareRange, resource: ResourceName) -> str:
    least, most = (show(resource, end.of(resource)) for end in (ends.least, ends.most))
    return least if least == most else f"{least} to {most}"


def _past_usage(queue_share: QueueShare, resource: ResourceName) -> float | None:
    """Returns the past usage of a queue; None if it does not count, or is unknown."""
    history = queue_share.history
    return None if history.past_usage is None or not history.k_value else history.of(queue_share.queue.name, resource)


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
        case ShareBound.PAST_USAGE:
            reason = "it used so much before that it borrows nothing"
        case ShareBound.WEIGHT:
            reason = _by_weight(queue_share, resource)
    return f"{origin}; {reason}"


def _by_weight(queue_share: QueueShare, resource: ResourceName) -> str:
    weight, weights = queue_share.queue.weight.of(resource), queue_share.remainder.weights.of(resource)
    remaining = show(resource, queue_share.remainder.available.of(resource))
    if weight == weights:
        return "takes what is left"
    past_usage = "" if _past_usage(queue_share, resource) is None else " and past usage"
    return f"of {remaining} left, by weight {weight} of {weights}{past_usage}"


def _notes(division: FairShareDivision, queue_shares: Sequence[QueueShare]) -> Iterator[str]:
    """Yields facts that the numbers alone do not show."""
    yield from division.history.remarks
    if division.history.usage.is_open:
        yield (
            f"Past usage decides what queues borrow (kValue {division.history.usage.k_value:g}), but it is unknown. "
            "Share counts none. Range begins with the share of a queue that alone used the whole cluster. It ends with "
            "its share if it used nothing, and those beside it all. Pass --usage FILE with what queues used."
        )
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
