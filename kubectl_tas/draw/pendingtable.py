"""Renders what KAI does with pending gangs: a table in KAI's order, or JSON data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.facts import times
from kubectl_tas.facts.quantities import Amounts, said, show
from kubectl_tas.kinds import SET
from kubectl_tas.place.actions import ACTIONS, ALLOCATE, EVICTING, Pending, Turn, TurnOutcome
from kubectl_tas.place.answers import place_name
from kubectl_tas.place.fairshare import QuotaQueue, QuotaRefusal
from kubectl_tas.place.gangs_to_place import GangToPlace, LeftOut
from kubectl_tas.place.scenarios import VictimPods
from kubectl_tas.place.schedulers import ShardScheduler
from kubectl_tas.place.scheduling_session import asks_of, sum_of
from kubectl_tas.report import style
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.workflows import FleetWorkflow

_FEWER = "; KAI may end less"
_NOT_ALL = "; KAI may end or move other work for it"
_SHOWN = 3
"""Maximum number of names or domains that are shown for one gang."""
Row = tuple[str, str, str, str, str, str, str]


@json_fields(
    "name=queue.name parent=queue.parent guarantee=queue.quota.gpu limit=queue.limit.gpu holds=holds.gpus "
    "asks=asks.gpus fairShare=fair.gpus"
)
class PendingQueue(NamedTuple):
    """GPUs of a queue."""

    queue: QuotaQueue
    holds: Amounts
    """GPUs that gangs of the queue hold."""
    asks: Amounts
    """GPUs that gangs of the queue hold or wait for."""
    fair: Amounts
    """The share that KAI gives the queue."""


@json_fields(
    "kind=gang.sent.kind name=gang.sent.name workflow=gang.sent.name podGroup=turn.work.name queue=turn.work.queue "
    "priority=gang.sent.priority pods=gang.request.unit.all_pods.len gpus=turn.asks.gpus outcome=turn.outcome "
    "placed=turn.placed_pods ahead=turn.ahead refusal=turn.refusal action=turn.action|null evicted=turn.evicted "
    "moved=turn.moved limited=turn.is_cut"
)
class PendingGang(NamedTuple):
    """The outcome for a pending gang."""

    turn: Turn
    gang: GangToPlace


@json_fields(
    "kind=gang.sent.kind name=gang.sent.name workflow=gang.sent.name podGroup=gang.gang.name gangs=pod_groups.len"
)
class RunningGang(NamedTuple):
    """A gang that runs."""

    gang: GangToPlace
    pod_groups: tuple[str, ...]


@json_fields(
    "backend=scheduler.backend shard=scheduler.shard gpus=pending.start.total.gpus queues gangs running "
    "further=pending.further"
)
class ShardAnswer(NamedTuple):
    """The outcome for all pending gangs of one shard of KAI's scheduler."""

    scheduler: ShardScheduler
    pending: Pending

    @property
    def queues(self) -> list[PendingQueue]:
        """All queues of the shard."""
        pending = self.pending
        return [
            PendingQueue(queue, pending.allocated[name], pending.requests[name], pending.fair[name])
            for name, queue in pending.start.tree.by_name.items()
        ]

    @property
    def gangs(self) -> list[PendingGang]:
        """The pending gangs, in KAI's order."""
        return [PendingGang(turn, self.scheduler.gangs[turn.work.name]) for turn in self.pending.turns]

    @property
    def running(self) -> list[RunningGang]:
        """The gangs that already have pods on nodes."""
        return [RunningGang(*running) for running in self.scheduler.running]


@json_fields("version:2 schedulers leftOut=left_out")
class PendingAnswers(NamedTuple):
    """The gangs that start and the gangs that stay pending, with --all."""

    schedulers: Sequence[ShardAnswer]
    left_out: Sequence[LeftOut]


def render(answers: Sequence[ShardAnswer], node_options: str) -> str:
    """Renders the gangs and queues of each scheduler. ``node_options`` names the source of the nodes."""
    return "\n".join(_one(scheduler, pending, node_options) for scheduler, pending in answers)


def _one(scheduler: ShardScheduler, pending: Pending, node_options: str) -> str:
    names = _names(scheduler)
    header = ("#", "Name", "Pool", "Priority", "Pods", "GPUs", "What becomes of it")
    rows = [
        (
            str(number),
            *_cells(names[turn.work.name], scheduler.gangs[turn.work.name]),
            _said(turn, names, scheduler, node_options),
        )
        for number, turn in enumerate(pending.turns, start=1)
    ]
    for gang, groups in scheduler.running:
        runs = "runs" if gang.copies == 1 else f"{len(groups)} of {gang.copies} run"
        rows.append(("-", *_cells(gang_name(gang), gang), runs))
    rows += [_further(turn, names, scheduler, node_options) for turn in pending.further]
    leaves = [name for name in pending.start.tree.by_name if pending.start.tree.is_leaf(name)]
    queues = [_queue(scheduler, name, pending) for name in leaves if pending.requests[name].asked]
    sections = [_head(scheduler, pending) + _settings(scheduler), style.table(header, rows, rule=True)]
    if queues:
        sections.append(style.section("GPUs by pool", ("Pool", "Guarantee", "Holds", "Asks", "Fair share"), queues))
    return "\n".join(sections)


def _further(turn: Turn, names: Mapping[str, str], scheduler: ShardScheduler, node_options: str) -> Row:
    """Returns the row about further pods of a running gang."""
    work, gpus = turn.work, sum_of(pod for pod, _, _ in turn.placed).gpu
    pool = scheduler.called.get(work.queue, work.queue)
    pods = str(len(turn.placed))
    cells = "-", names.get(work.name, work.name), pool, "", pods, show("gpu", gpus)
    return *cells, f"runs; {plural(len(turn.placed), 'more pod')}: {_said(turn, names, scheduler, node_options)}"


def _queue(scheduler: ShardScheduler, name: str, pending: Pending) -> tuple[str, ...]:
    columns = (
        pending.start.tree.by_name[name].quota,
        pending.allocated[name],
        pending.requests[name],
        pending.fair[name],
    )
    return scheduler.called.get(name, name), *(show("gpu", amounts.gpu) for amounts in columns)


def _head(scheduler: ShardScheduler, pending: Pending) -> str:
    shard = f", shard {scheduler.shard}" if scheduler.shard else ""
    waiting = sum(turn.asks.gpu for turn in pending.turns)
    has = f"{show('gpu', pending.start.total.gpu)} GPUs, {pending.held} held"
    wait = "waits" if len(pending.turns) == 1 else "wait"
    return f"{scheduler.backend}{shard}: {has}; {plural(len(pending.turns), 'gang')} that {wait} for {waiting}\n"


def _settings(scheduler: ShardScheduler) -> str:
    """Says what the SchedulingShard sets that decides about the gangs."""
    settings = scheduler.start.settings
    strategies = (("with GPUs", settings.gpu_strategy), ("without GPUs", settings.cpu_strategy))
    spread = [work for work, strategy in strategies if strategy == "spread"]
    idle = [name for name in ACTIONS if name not in settings.actions]
    texts = [
        *([f"spreads work {' and '.join(spread)}"] if spread else []),
        *([f"does without {' and '.join(idle)}"] if idle else []),
    ]
    return f"SchedulingShard {settings.shard} {', and '.join(texts)}\n" if texts else ""


def _names(scheduler: ShardScheduler) -> dict[str, str]:
    """Returns the displayed name of each gang, by the name of its PodGroup."""
    running = {group: gang_name(gang) for gang, groups in scheduler.running for group in groups}
    return running | {job.name: gang_name(scheduler.gangs[job.name], job.name) for job in scheduler.jobs}


def gang_name(gang: GangToPlace, job: str = "") -> str:
    """Returns the displayed name of a gang; ``job``: the name of its PodGroup, or of one of its copies."""
    has_several = isinstance(gang.sent, FleetWorkflow) and len(gang.sent.groups) > 1
    group = f"/{gang.group.name}" if gang.group is not None and has_several else ""
    if gang.order is not None and (gang.sent.kind != SET.kind or any(gang.order.before)):
        group = f"/{gang.order.names[0]}"
    copy = job[job.index(" (") :] if " (" in job else ""
    where = job[: job.rindex("/") + 1] if "/" in job else ""
    return f"{where}{gang.sent.name}{group}{copy}"


def _cells(name: str, gang: GangToPlace) -> tuple[str, str, str, str, str]:
    sent, pods = gang.sent, len(gang.request.unit.all_pods)
    return name, sent.target, sent.priority, str(pods), show("gpu", asks_of(gang.request).gpu)


def _said(turn: Turn, names: Mapping[str, str], scheduler: ShardScheduler, node_options: str) -> str:
    limited = _FEWER if turn.placed else _NOT_ALL
    text, hint = _becomes(turn, names, scheduler) + _kept(turn, names, scheduler), ""
    if turn.outcome is TurnOutcome.NO_ROOM:
        hint = f"; why: kubectl tas fit {scheduler.gangs[turn.work.name].sent.name}{node_options}"
    return f"{text}{limited if turn.is_cut else ''}{hint}"


def _becomes(turn: Turn, names: Mapping[str, str], scheduler: ShardScheduler) -> str:
    match turn.outcome:
        case TurnOutcome.STARTS:
            further_pods = f"; others of its pods once {_gone(turn, names, scheduler.called)}" if turn.action else ""
            return f"starts{_where(turn)}{_after(turn, names)}{further_pods}{_moved(turn, names)}"
        case TurnOutcome.LATER:
            return f"starts{_where(turn)} next, once what goes for others is gone"
        case TurnOutcome.EVICTS:
            return f"starts{_where(turn)} once {_gone(turn, names, scheduler.called)}"
        case TurnOutcome.WAITS if turn.ahead:
            return f"waits: the nodes that it would have go to {listed(_called(turn.ahead, names))}"
        case TurnOutcome.WAITS:
            return "waits: what starts before it leaves too little room"
        case TurnOutcome.NO_ROOM:
            return "KAI finds no room on what is free, even for it alone"
        case TurnOutcome.AFTER:
            return f"waits for {listed(_called(turn.ahead, names))} to start{_why_after(turn, scheduler)}"
        case TurnOutcome.UNTRIED if ALLOCATE in scheduler.start.settings.actions:
            return "KAI does not try it: of a queue it tries only the first gang in a cycle (queueDepthPerAction)"
        case TurnOutcome.UNTRIED:
            return "KAI starts nothing: the action allocate is off"
        case TurnOutcome.NO_QUEUE:
            if turn.work.queue in scheduler.start.tree.by_name:
                return "never starts: its queue has other queues below it, and KAI starts work of the lowest alone"
            return "never starts: its queue is not there"
        case TurnOutcome.REFUSED:
            assert turn.refusal is not None
            sent = scheduler.gangs[turn.work.name].sent
            if sent.is_draining and not sent.is_preemptible:  # its queue has no quota any more
                return f"starts no more: {sent.target} is DELETING, where only what runs may finish"
            queue = scheduler.called.get(turn.refusal.queue, turn.refusal.queue)
            return _refused(turn.refusal, queue, _called(turn.ahead, names))


def _kept(turn: Turn, names: Mapping[str, str], scheduler: ShardScheduler) -> str:
    """Says for how long KAI takes no other work for a gang that waits."""
    end = turn.work.delay_end
    if turn.placed or not EVICTING.intersection(scheduler.start.settings.actions):
        return ""
    if end is not None and end > scheduler.start.now:
        delay = times.duration(scheduler.gangs[turn.work.name].delay)
        return f"; KAI evicts nothing for it in the first {delay} of its wait (preemptionDelay)"
    if not turn.spared:
        return ""
    first = min(turn.spared, key=lambda spared: spared.until)
    works = list(dict.fromkeys(spared.work for spared in turn.spared))
    batches = [VictimPods(work, work.active) for work in works]
    victims = listed(_victims(batches, names, scheduler.called))
    return f"; KAI ends none of {victims} before {times.stamp(first.until)} ({first.field})"


def _moved(turn: Turn, names: Mapping[str, str]) -> str:
    """Says for which gangs KAI takes away pods that it has just started."""
    if not turn.moved_for:
        return ""
    return f"; then KAI moves or ends pods of it for {listed(_called(list(dict.fromkeys(turn.moved_for)), names))}"


def _after(turn: Turn, names: Mapping[str, str]) -> str:
    """Says which gangs of the same object start first."""
    return f" after {listed(_called(turn.work.before, names))}" if turn.work.before else ""


def _why_after(turn: Turn, scheduler: ShardScheduler) -> str:
    order = scheduler.gangs[turn.work.name].order
    return f": {order.why}" if order is not None else ""


def _where(turn: Turn) -> str:
    domains = list(dict.fromkeys(domain for _, _, domain in turn.placed))
    inside = [place_name(domain) for domain in domains if domain]
    places = [f"in {listed(inside)}"] if inside else []
    places += [place_name(None)] if None in domains else []
    started, pods = len(turn.placed), len(turn.work.pods)
    share_of_pods = f" with {started} of its {pods} pods" if started < pods and turn.work.age[0] else ""
    return f" {' and '.join(places)}{share_of_pods}" if places else share_of_pods


def _gone(turn: Turn, names: Mapping[str, str], queues: Mapping[str, str]) -> str:
    ends = "ended, since its pool holds more than its share" if turn.action == "reclaim" else "preempted"
    phrases = [
        f"{listed(_victims(batches, names, queues))} "
        f"{'is' if len(batches) == 1 and _is_whole(batches[0]) else 'are'} {verb}"
        for batches, verb in ((turn.evicted, ends), (turn.moved, "moved to other nodes"))
        if batches
    ]
    return ", and ".join(phrases)


def _is_whole(batch: VictimPods) -> bool:
    return len(batch.pods) == len(batch.work.pods)


def _victims(batches: Iterable[VictimPods], names: Mapping[str, str], queues: Mapping[str, str]) -> list[str]:
    victims = []
    for batch in batches:
        work = batch.work
        fraction = "" if _is_whole(batch) else f"{len(batch.pods)} of {len(work.pods)} pods of "
        gpus = said("gpu", sum_of(batch.pods).gpu)
        victims.append(f"{fraction}{names.get(work.name, work.name)} ({gpus} of {queues.get(work.queue, work.queue)})")
    return victims


def _refused(refused: QuotaRefusal, queue: str, ahead: Sequence[str]) -> str:
    bound = "limit" if refused.reason == "OverLimit" else "quota"
    asks = f"it asks for {said(refused.resource, refused.requested)}"
    if refused.requested > refused.most:
        return f"never starts: {asks}, and the {bound} of {queue} is {show(refused.resource, refused.most)}"
    by = f", {listed(ahead)} among them" if ahead else ""
    held = f"of {said(refused.resource, refused.most)} {show(refused.resource, refused.held)} are held{by}"
    return f"waits for the {bound} of {queue}: {held}, and {asks}"


def _called(pod_groups: Iterable[str], names: Mapping[str, str]) -> list[str]:
    return [names.get(name, name) for name in pod_groups]


def listed(names: Sequence[str]) -> str:
    """Returns some names in words, and how many more there are."""
    hidden = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    shown = [*names[:_SHOWN], *hidden]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
