"""Renders what KAI does with pending gangs: a table in KAI's order, or JSON data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from kubectl_tas.draw.fitpages import left_out_data, place_name
from kubectl_tas.place.actions import Outcome, Pending, Turn
from kubectl_tas.place.fairshare import Refusal
from kubectl_tas.place.gangs_to_place import LeftOut, Unplaced
from kubectl_tas.place.scenarios import Batch
from kubectl_tas.place.schedulers import Scheduler
from kubectl_tas.place.scheduling_session import asks_of, sum_of
from kubectl_tas.quantities import as_data, said, show
from kubectl_tas.report import style
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.workflows import FleetWorkflow

if TYPE_CHECKING:
    from kubectl_tas.report import json_shapes as shapes

VERSION = 1
_FEWER = "; KAI may end less"
_NOT_ALL = "; KAI may end or move other work for it"
_SHOWN = 3
"""Maximum number of names or domains that are shown for one gang."""
Answer = tuple[Scheduler, Pending]
Row = tuple[str, str, str, str, str, str, str]


def render(answers: Sequence[Answer], given: str) -> str:
    """Renders the gangs and queues of each scheduler. ``given``: options that name the source of the nodes."""
    return "\n".join(_one(scheduler, found, given) for scheduler, found in answers)


def _one(scheduler: Scheduler, found: Pending, given: str) -> str:
    names = _names(scheduler)
    header = ("#", "Name", "Pool", "Priority", "Pods", "GPUs", "What becomes of it")
    rows = [
        (
            str(number),
            *_cells(names[turn.work.name], scheduler.gangs[turn.work.name]),
            _said(turn, names, scheduler, given),
        )
        for number, turn in enumerate(found.turns, start=1)
    ]
    rows += [("-", *_cells(_name(item), item), _runs(item, len(groups))) for item, groups in scheduler.running]
    rows += [_further(turn, names, scheduler, given) for turn in found.further]
    leaves = [name for name in found.start.tree.by_name if found.start.tree.is_leaf(name)]
    queues = [_queue(scheduler, name, found) for name in leaves if found.requests[name].asked]
    parts = [_head(scheduler, found), style.table(header, rows, rule=True)]
    if queues:
        parts.append(style.section("GPUs by pool", ("Pool", "Guarantee", "Holds", "Asks", "Fair share"), queues))
    return "\n".join(parts)


def _further(turn: Turn, names: Mapping[str, str], scheduler: Scheduler, given: str) -> Row:
    """Returns the row about further pods of a running gang."""
    work, gpus = turn.work, sum_of(pod for pod, _, _ in turn.placed).gpu
    pool = scheduler.called.get(work.queue, work.queue)
    pods = str(len(turn.placed))
    cells = "-", names.get(work.name, work.name), pool, "", pods, show("gpu", gpus)
    return *cells, f"runs; {plural(len(turn.placed), 'more pod')}: {_said(turn, names, scheduler, given)}"


def _queue(scheduler: Scheduler, name: str, found: Pending) -> tuple[str, ...]:
    columns = (found.start.tree.by_name[name].quota, found.allocated[name], found.requests[name], found.fair[name])
    return scheduler.called.get(name, name), *(show("gpu", amounts.gpu) for amounts in columns)


def _head(scheduler: Scheduler, found: Pending) -> str:
    shard = f", shard {scheduler.shard}" if scheduler.shard else ""
    waiting = sum(turn.asks.gpu for turn in found.turns)
    has = f"{show('gpu', found.start.total.gpu)} GPUs, {found.held} held"
    wait = "waits" if len(found.turns) == 1 else "wait"
    return f"{scheduler.backend}{shard}: {has}; {plural(len(found.turns), 'gang')} that {wait} for {waiting}\n"


def _names(scheduler: Scheduler) -> dict[str, str]:
    """Returns the displayed name of each gang, by the name of its PodGroup."""
    running = {group: _name(item) for item, groups in scheduler.running for group in groups}
    return running | {job.name: _name(scheduler.gangs[job.name], job.name) for job in scheduler.jobs}


def _name(item: Unplaced, job: str = "") -> str:
    has_several = isinstance(item.sent, FleetWorkflow) and len(item.sent.groups) > 1
    group = f"/{item.group.name}" if item.group is not None and has_several else ""
    copy = job[job.index(" (") :] if " (" in job else ""
    where = job[: job.rindex("/") + 1] if "/" in job else ""
    return f"{where}{item.sent.name}{group}{copy}"


def _cells(name: str, item: Unplaced) -> tuple[str, str, str, str, str]:
    sent, pods = item.sent, len(item.wanted.unit.all_pods)
    return name, sent.target, sent.priority, str(pods), show("gpu", asks_of(item.wanted).gpu)


def _runs(item: Unplaced, copies: int) -> str:
    return "runs" if item.copies == 1 else f"{copies} of {item.copies} run"


def _said(turn: Turn, names: Mapping[str, str], scheduler: Scheduler, given: str) -> str:
    limited = _FEWER if turn.placed else _NOT_ALL
    text, hint = _becomes(turn, names, scheduler), ""
    if turn.outcome is Outcome.NO_ROOM:
        hint = f"; why: kubectl tas fit {scheduler.gangs[turn.work.name].sent.name}{given}"
    return f"{text}{limited if turn.is_cut else ''}{hint}"


def _becomes(turn: Turn, names: Mapping[str, str], scheduler: Scheduler) -> str:
    match turn.outcome:
        case Outcome.STARTS:
            more = f"; others of its pods once {_gone(turn, names, scheduler.called)}" if turn.action else ""
            return f"starts{_where(turn)}{more}"
        case Outcome.LATER:
            return f"starts{_where(turn)} next, once what goes for others is gone"
        case Outcome.EVICTS:
            return f"starts{_where(turn)} once {_gone(turn, names, scheduler.called)}"
        case Outcome.WAITS if turn.ahead:
            return f"waits: the nodes that it would have go to {_listed(_called(turn.ahead, names))}"
        case Outcome.WAITS:
            return "waits: what starts before it leaves too little room"
        case Outcome.NO_ROOM:
            return "KAI finds no room on what is free, even for it alone"
        case Outcome.NO_QUEUE:
            if turn.work.queue in scheduler.start.tree.by_name:
                return "never starts: its queue has other queues below it, and KAI starts work of the lowest alone"
            return "never starts: its queue is not there"
        case Outcome.REFUSED:
            assert turn.refusal is not None
            sent = scheduler.gangs[turn.work.name].sent
            if sent.is_draining and not sent.is_preemptible:  # its queue has no quota any more
                return f"starts no more: {sent.target} is DELETING, where only what runs may finish"
            queue = scheduler.called.get(turn.refusal.queue, turn.refusal.queue)
            return _refused(turn.refusal, queue, _called(turn.ahead, names))


def _where(turn: Turn) -> str:
    found = list(dict.fromkeys(domain for _, _, domain in turn.placed))
    inside = [place_name(domain) for domain in found if domain]
    places = [f"in {_listed(inside)}"] if inside else []
    places += [place_name(None)] if None in found else []
    started, pods = len(turn.placed), len(turn.work.pods)
    part = f" with {started} of its {pods} pods" if started < pods and turn.work.age[0] else ""
    return f" {' and '.join(places)}{part}" if places else part


def _gone(turn: Turn, names: Mapping[str, str], queues: Mapping[str, str]) -> str:
    ends = "ended, since its pool holds more than its share" if turn.action == "reclaim" else "preempted"
    parts = [
        f"{_listed(_victims(items, names, queues))} {'is' if len(items) == 1 and _is_whole(items[0]) else 'are'} {what}"
        for items, what in ((turn.evicted, ends), (turn.moved, "moved to other nodes"))
        if items
    ]
    return ", and ".join(parts)


def _is_whole(batch: Batch) -> bool:
    return len(batch.pods) == len(batch.work.pods)


def _victims(items: Iterable[Batch], names: Mapping[str, str], queues: Mapping[str, str]) -> list[str]:
    found = []
    for item in items:
        work = item.work
        part = "" if _is_whole(item) else f"{len(item.pods)} of {len(work.pods)} pods of "
        gpus = said("gpu", sum_of(item.pods).gpu)
        found.append(f"{part}{names.get(work.name, work.name)} ({gpus} of {queues.get(work.queue, work.queue)})")
    return found


def _refused(refused: Refusal, queue: str, ahead: Sequence[str]) -> str:
    what = "limit" if refused.reason == "OverLimit" else "quota"
    asks = f"it asks for {said(refused.resource, refused.asked)}"
    if refused.asked > refused.most:
        return f"never starts: {asks}, and the {what} of {queue} is {show(refused.resource, refused.most)}"
    by = f", {_listed(ahead)} among them" if ahead else ""
    held = f"of {said(refused.resource, refused.most)} {show(refused.resource, refused.held)} are held{by}"
    return f"waits for the {what} of {queue}: {held}, and {asks}"


def _called(pod_groups: Iterable[str], names: Mapping[str, str]) -> list[str]:
    return [names.get(name, name) for name in pod_groups]


def _listed(names: Sequence[str]) -> str:
    more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    shown = [*names[:_SHOWN], *more]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def data(answers: Sequence[Answer], left_out: Sequence[LeftOut] = ()) -> shapes.Pending:
    """Returns the answers, and the work without an answer, as JSON data."""
    return {
        "version": VERSION,
        "schedulers": [_record(scheduler, found) for scheduler, found in answers],
        "leftOut": left_out_data(left_out),
    }


def _record(scheduler: Scheduler, found: Pending) -> shapes.PendingScheduler:
    tree = found.start.tree
    return {
        "backend": scheduler.backend,
        "shard": scheduler.shard,
        "gpus": found.start.total.gpu,
        "queues": [
            {
                "name": name,
                "parent": queue.parent,
                "guarantee": as_data("gpu", queue.quota.gpu),
                "limit": as_data("gpu", queue.limit.gpu),
                "holds": found.allocated[name].gpu,
                "asks": found.requests[name].gpu,
                "fairShare": found.fair[name].gpu,
            }
            for name, queue in tree.by_name.items()
        ],
        "gangs": [_turn(turn, scheduler.gangs[turn.work.name]) for turn in found.turns],
        "running": [
            {"workflow": item.sent.name, "kind": item.sent.kind, "podGroup": item.gang.name, "gangs": len(groups)}
            for item, groups in scheduler.running
        ],
        "further": [
            {"podGroup": turn.work.name, "queue": turn.work.queue, "placed": _placed(turn), **_others(turn)}
            for turn in found.further
        ],
    }


def _placed(turn: Turn) -> list[shapes.Placed]:
    """Counts the placed pods of a gang by SubGroup and domain."""
    counts = Counter((pod.unit, domain) for pod, _, domain in turn.placed)
    return [
        {"part": name, "domain": None if domain is None else list(domain), "pods": count}
        for (name, domain), count in counts.items()
    ]


def _turn(turn: Turn, item: Unplaced) -> shapes.PendingGang:
    work, refused = turn.work, turn.refusal
    return {
        "workflow": item.sent.name,
        "kind": item.sent.kind,
        "podGroup": work.name,
        "queue": work.queue,
        "priority": item.sent.priority,
        "pods": len(item.wanted.unit.all_pods),
        "gpus": turn.asks.gpu,
        "outcome": turn.outcome.value,
        "placed": _placed(turn),
        "ahead": list(turn.ahead),
        "refusal": None
        if refused is None
        else {
            "reason": refused.reason,
            "queue": refused.queue,
            "resource": refused.resource,
            "most": refused.most,
            "held": refused.held,
            "asked": refused.asked,
        },
        **_others(turn),
    }


def _others(turn: Turn) -> shapes.Consequences:
    """Returns what KAI evicts and moves for the gang."""
    return {
        "action": turn.action or None,
        "evicted": [_batch(batch) for batch in turn.evicted],
        "moved": [_batch(batch) for batch in turn.moved],
        "limited": turn.is_cut,
    }


def _batch(batch: Batch) -> shapes.Batch:
    work = batch.work
    runs = not work.age[0]
    return {
        "podGroup": work.name,
        "queue": work.queue,
        "priority": work.priority,
        "gpus": sum_of(batch.pods).gpu,
        "pods": [pod.name for pod in batch.pods] if runs else [],
        "podCount": len(batch.pods),
        "podsOfGang": len(work.pods),
    }
