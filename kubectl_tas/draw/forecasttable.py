"""Renders when gangs start and end: a table in the order of their starts, or JSON data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from typing import NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.draw.pendingtable import gang_name, listed
from kubectl_tas.facts.quantities import said, show
from kubectl_tas.place.actions import TurnOutcome
from kubectl_tas.place.earlier_starts import EarlierStart, Grown
from kubectl_tas.place.fairshare import QuotaRefusal
from kubectl_tas.place.gangs_to_place import GangToPlace, LeftOut
from kubectl_tas.place.pending_work import PredictedStart
from kubectl_tas.place.run_limits import DEADLINE, MAX_RUNS, Clock, ShardPlan, later_pods
from kubectl_tas.place.schedulers import ShardScheduler
from kubectl_tas.place.timeline import Forecast, GangForecast, RunLimit, StartOutcome
from kubectl_tas.report import style
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.pools import Submission

MAX_SECONDS = 900 * 366 * 86400
"""Times that are later are not written as dates, since years have four digits."""
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
NO_LIMIT = "no limit"
UNPLAYED = "what comes later takes long to play; ask `kubectl tas forecast`"
HEADER = ("Name", "Pool", "Priority", "Pods", "GPUs", "Starts", "Ends by", "Why then")
_ONLY_WIDE = (2, 3)
"""The columns that only the wide table has."""
MOST_COLUMNS = 120
"""Most columns of the table, unless names are very long."""


@json_fields("start end")
class RunTimes(NamedTuple):
    """A time in which a gang has pods on nodes."""

    start: str | None
    end: str | None
    """null: behind the horizon."""


@json_fields("time winner pods")
class EvictedAt(NamedTuple):
    """The loss of pods to another gang."""

    time: str | None
    winner: str
    pods: int


@json_fields("outcome startsAfterSeconds=starts")
class GrownStart(NamedTuple):
    """The start of a gang with further nodes."""

    outcome: StartOutcome
    starts: int | None


@json_fields(
    "kind name podGroup=gang.name queue=gang.planned.work.queue priority=gang.planned.work.priority pods=gang.pods "
    "gpus=gang.gpus outcome=gang.outcome startsAfterSeconds=gang.starts starts endsAfterSeconds=gang.ends "
    "endsAtTheLatest=ends limit=gang.planned.limit because waitsFor=gang.cause.ended evicts=gang.cause.evicted "
    "action=gang.cause.action|null runs evictions earlier grown"
)
class ForecastGang(NamedTuple):
    """The start and the end of one gang."""

    forecasted: Forecasted
    gang: GangForecast

    @property
    def kind(self) -> str | None:
        """The kind of the work that the gang is of. null if the repository does not have it."""
        gang = self.forecasted.planned.gangs_to_place.get(self.gang.name)
        return gang.sent.kind if gang else None

    @property
    def name(self) -> str | None:
        """The name of that work."""
        gang = self.forecasted.planned.gangs_to_place.get(self.gang.name)
        return gang.sent.name if gang else None

    @property
    def starts(self) -> str | None:
        """The time at which the gang has its minimum of pods."""
        return self._moment(self.gang.starts)

    @property
    def ends(self) -> str | None:
        """The time at which the gang has ended at the latest."""
        return self._moment(self.gang.ends)

    @property
    def because(self) -> str:
        """The reason in words."""
        return because(self.forecasted, self.gang)

    @property
    def runs(self) -> list[RunTimes]:
        """The times in which the gang has pods on nodes."""
        return [RunTimes(self._moment(span.start), self._moment(span.end)) for span in self.gang.spans]

    @property
    def evictions(self) -> list[EvictedAt]:
        """The losses of pods to other gangs."""
        return [EvictedAt(self._moment(one.time), one.winner, one.pods) for one in self.gang.evictions]

    @property
    def earlier(self) -> EarlierStart | None:
        """The change that brings the gang forward most."""
        return self.forecasted.earlier.get(self.gang.name)

    @property
    def grown(self) -> GrownStart | None:
        """The start with the nodes of --grow."""
        other = self.forecasted.grown_gang(self.gang.name)
        return None if other is None else GrownStart(other.outcome, other.starts)

    def _moment(self, seconds: int | None) -> str | None:
        now = self.forecasted.clock.now
        if seconds is None or seconds > MAX_SECONDS:
            return None
        return f"{now + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%SZ}"


@json_fields("kind=gang.sent.kind name=gang.sent.name podGroup=gang.gang.name")
class IdleGang(NamedTuple):
    """A gang that does not start, since its object is suspended, or its schedule has no run within the horizon."""

    gang: GangToPlace
    starts: str
    """The start in words."""
    because: str
    """The reason in words."""


@json_fields(
    "backend=scheduler.backend shard=scheduler.shard now horizonSeconds=clock.horizon limited=is_cut "
    "limitedAfterSeconds=planned.cut_at? gangs=rows suspended withoutRuns=without_runs"
)
@dataclass(frozen=True, slots=True)
class Forecasted:
    """The forecast of one shard of a scheduler, as it is shown."""

    scheduler: ShardScheduler
    planned: ShardPlan
    forecast: Forecast
    clock: Clock
    shown: frozenset[str] | None = None
    """Names of the PodGroups that are shown; None: all."""
    named: frozenset[int] | None = None
    """Identities of the work that is shown; None: all."""
    earlier: Mapping[str, EarlierStart | None] = field(default_factory=dict)
    """The change that brings a gang forward most, by PodGroup; gangs that were not tried are absent."""
    grown: Grown | None = None
    """The forecast with the racks of --grow."""

    @property
    def gangs(self) -> tuple[GangForecast, ...]:
        """The gangs that are shown."""
        return tuple(gang for gang in self.forecast.gangs if self.shown is None or gang.name in self.shown)

    @property
    def rows(self) -> list[ForecastGang]:
        """The gangs that are shown, in the order of their starts."""
        return [ForecastGang(self, gang) for gang in self.gangs]

    @property
    def suspended(self) -> list[IdleGang]:
        """The gangs whose objects are suspended."""
        return self._idle(self.planned.suspended, "never", "it is suspended")

    @property
    def without_runs(self) -> list[IdleGang]:
        """The gangs whose schedules have no run within the horizon."""
        beyond = f"not within {lasting(self.clock.horizon)}"
        return self._idle(self.planned.without_runs, beyond, "its schedule has no run")

    @property
    def idle(self) -> list[IdleGang]:
        """All gangs that nobody starts."""
        return [*self.suspended, *self.without_runs]

    def _idle(self, gangs: Sequence[GangToPlace], *texts: str) -> list[IdleGang]:
        return [IdleGang(gang, *texts) for gang in gangs if self.named is None or id(gang.sent) in self.named]

    @property
    def now(self) -> str:
        """The time of the forecast."""
        return f"{self.clock.now:%Y-%m-%dT%H:%M:%SZ}"

    @property
    def is_cut(self) -> bool:
        """Whether KAI may do more than was tried."""
        return self.forecast.is_cut or self.planned.cut_at is not None

    def grown_gang(self, pod_group: str) -> GangForecast | None:
        """Returns the forecast of a gang with further nodes; None without such a forecast."""
        gangs = self.grown.forecast.gangs if self.grown is not None else ()
        return next((gang for gang in gangs if gang.name == pod_group), None)

    def name_of(self, pod_group: str) -> str:
        """Returns the displayed name of a gang."""
        gang = self.planned.gangs_to_place.get(pod_group)
        return pod_group if gang is None else gang_name(gang, pod_group if pod_group in self._copies else "")

    @property
    def _copies(self) -> Mapping[str, GangToPlace]:
        running = {group for _, groups in self.scheduler.running for group in groups}
        return {name: gang for name, gang in self.planned.gangs_to_place.items() if name not in running}

    def queue(self, name: str) -> str:
        """Returns the name that users give a queue."""
        return self.scheduler.called.get(name, name)


def lasting(seconds: int) -> str:
    """Returns a time span in its two largest units, rounded up: 3 h 20 min."""
    if seconds < _MINUTE:
        return f"{seconds} s"
    minutes = -(-seconds // _MINUTE)
    if minutes < _DAY // _MINUTE:
        hours, rest = divmod(minutes, 60)
        return " ".join(part for part in (f"{hours} h" if hours else "", f"{rest} min" if rest else "") if part)
    days, hours = divmod(-(-seconds // _HOUR), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


@json_fields("version:1 schedulers leftOut=left_out")
class Forecasts(NamedTuple):
    """The starts and ends of gangs."""

    schedulers: Sequence[Forecasted]
    left_out: Sequence[LeftOut]


def render(forecasts: Sequence[Forecasted], *, wide: bool = False) -> str:
    """Renders a table for each scheduler."""
    return "\n".join(_one(each, wide=wide) for each in forecasts)


def _one(each: Forecasted, *, wide: bool) -> str:
    rows = [_row(each, gang, wide=wide) for gang in each.gangs if wide or each.planned.is_first(gang.planned)]
    extra = ("Limit", "What would help") if wide else ()
    grown = (f"With {each.grown.words} more",) if each.grown is not None else ()
    blank = [("",) * len(names) for names in (grown, extra)]
    rows += [(*_idle(idle.gang), idle.starts, "-", *blank[0], idle.because, *blank[1]) for idle in each.idle]
    table = [(*HEADER[:-1], *grown, HEADER[-1], *extra), *rows]
    if not wide:
        table = [tuple(cell for column, cell in enumerate(row) if column not in _ONLY_WIDE) for row in table]
    text = f"{head(each)}\n" + style.table(table[0], table[1:], rule=True, most=0 if wide else MOST_COLUMNS)
    notes = [f"{each.name_of(name)}: {_helps(gain)}" for name, gain in each.earlier.items() if gain is not None]
    if notes and not wide:
        text += "\nWhat would help most:\n" + "".join(f"  {style.printable(note)}\n" for note in notes)
    return text


def head(each: Forecasted) -> str:
    """Returns the line above the table: the scheduler, the time of the forecast and where it stops."""
    shard = f", shard {each.scheduler.shard}" if each.scheduler.shard else ""
    stop = f"{lasting(each.clock.horizon)} from {_stamp(each.clock.now)}"
    cut = "; KAI may do more than was tried" if each.forecast.is_cut else ""
    runs = ""
    if each.planned.cut_at is not None:
        after = lasting(each.planned.cut_at)
        runs = f"; starts after {after} may be too early: of each schedule only {MAX_RUNS} runs count"
    grown = f"; {each.grown.words} more, like {each.grown.like}" if each.grown is not None and each.grown.like else ""
    return f"{each.scheduler.backend}{shard}: {stop}{grown}{cut}{runs}\n"


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _row(each: Forecasted, gang: GangForecast, *, wide: bool) -> tuple[str, ...]:
    work = gang.planned.work
    to_place = each.planned.gangs_to_place.get(gang.name)
    priority = to_place.sent.priority if to_place is not None else "LOW" if work.is_preemptible else "NORMAL"
    pods = gang.pods
    cells = [
        each.name_of(gang.name),
        each.queue(work.queue),
        priority,
        str(pods),
        show("gpu", gang.gpus),
        starts(gang, each.clock),
        ends(gang, each.clock),
    ]
    if each.grown is not None:
        other = each.grown_gang(gang.name)
        cells.append("" if other is None else _moved(gang, other, each.clock))
    cells.append(because(each, gang))
    if wide:
        cells += [limit_text(gang.planned.limit), _helps(each.earlier.get(gang.name)) or "-"]
    return tuple(cells)


def _idle(gang: GangToPlace) -> tuple[str, ...]:
    """Returns the first cells of a gang that nobody starts."""
    sent = gang.sent
    return gang_name(gang), sent.target, sent.priority, str(len(gang.request.unit.all_pods)), show("gpu", sent.gpus)


def starts(gang: GangForecast, clock: Clock) -> str:
    """Returns when a gang starts, in words."""
    match gang.outcome:
        case StartOutcome.RUNS:
            return "runs"
        case StartOutcome.GIVES_UP:
            return "gives up"
        case StartOutcome.BEYOND:
            return f"not within {lasting(clock.horizon)}"
        case StartOutcome.UNKNOWN | StartOutcome.NEVER | StartOutcome.SKIPPED:
            return str(gang.outcome.value)
    return _after(gang.starts or 0)


def _after(seconds: int) -> str:
    return f"after {lasting(seconds)}" if seconds > 0 else "at once"


def ends(gang: GangForecast, clock: Clock) -> str:
    """Returns when a gang has ended at the latest, in words."""
    if gang.outcome is StartOutcome.SKIPPED:
        return "-"
    if gang.ends is None:
        if gang.starts is None:
            return "-"
        return f"not within {lasting(clock.horizon)}" if gang.planned.limit.is_known else NO_LIMIT
    return _after(gang.ends) if gang.ends > 0 else "now"


def _moved(gang: GangForecast, other: GangForecast, clock: Clock) -> str:
    """Says when a gang starts with further nodes, and how much earlier that is."""
    text = starts(other, clock)
    if gang.starts is not None and other.starts is not None and other.starts != gang.starts:
        gain = gang.starts - other.starts
        return f"{text} ({lasting(abs(gain))} {'earlier' if gain > 0 else 'later'})"
    return text if text != starts(gang, clock) else "="


def last_start(each: Forecasted, sent: Submission) -> PredictedStart | None:
    """Returns the start of the last gang of work that waits; None if none of its gangs waits."""
    if each.forecast.horizon < each.clock.horizon:
        later = f"not within {lasting(each.forecast.horizon)}" if each.forecast.horizon else "not at once"
        return PredictedStart(None, None, None, later, UNPLAYED)
    for idle in each.idle:
        if idle.gang.sent is sent:
            outcome = StartOutcome.NEVER if idle.gang in each.planned.suspended else StartOutcome.BEYOND
            return PredictedStart(idle.gang.gang.name, outcome, None, idle.starts, idle.because)
    waiting = [
        gang
        for gang in each.gangs
        if each.planned.gangs_to_place[gang.name].sent is sent
        and gang.outcome is not StartOutcome.RUNS
        and each.planned.is_first(gang.planned)
    ]
    if not waiting:
        return None
    last = waiting[-1]
    texts = starts(last, each.clock), because(each, last)
    return PredictedStart(last.name, last.outcome, last.starts, *texts, last.cause.ended, len(waiting), each.is_cut)


def limit_text(limit: RunLimit) -> str:
    """Returns a limit in words."""
    spans = [(limit.run, ""), (limit.whole, " from its creation"), (limit.pod, " a pod")]
    times = [f"{lasting(seconds)}{words}" for seconds, words in spans if seconds is not None]
    again = f", {plural(limit.again, 'pod')} again" if limit.again and limit.pod is not None else ""
    again += f", up to {limit.attempts} times" if limit.attempts > 1 and limit.whole is not None else ""
    return f"{' and '.join(times)}{again} ({limit.source})" if times else "none"


def because(each: Forecasted, gang: GangForecast) -> str:
    """Says why a gang starts then and not before, or why it does not start."""
    names = [each.name_of(name) for name in gang.cause.ended]
    texts: list[str] = []
    match gang.outcome:
        case StartOutcome.RUNS:
            texts = []
        case StartOutcome.GIVES_UP:
            limit = gang.planned.limit
            waits = limit.patience is not None and (limit.whole is None or limit.patience <= limit.whole)
            word = limit.wait_source if waits else DEADLINE
            texts = [f"{word} ends before it starts"]
        case StartOutcome.SKIPPED:
            texts = ["an earlier run of its schedule has not ended"]
        case StartOutcome.UNKNOWN:
            has = "has" if len(names) == 1 else "have"
            texts = [f"{listed(names)} {has} no limit" if names else "what it waits for has no limit"]
        case StartOutcome.BEYOND:
            texts = [f"{listed(names)} {'ends' if len(names) == 1 else 'end'} later" if names else ""]
        case StartOutcome.NEVER:
            texts = [_never(each, gang)]
        case _:
            texts = _reasons(each, gang, names)
    for eviction in gang.evictions[:1]:
        more = f", {len(gang.evictions) - 1} times more" if len(gang.evictions) > 1 else ""
        winner = each.name_of(eviction.winner)
        pods, moment = plural(eviction.pods, "pod"), f"{_after(eviction.time)}{more}"
        move = f"moves {pods} for {winner}, {moment}, whose time begins anew"
        texts.append(move if eviction.is_move else f"loses {pods} to {winner}, {moment}")
    to_place = each.planned.gangs_to_place.get(gang.name)
    if to_place is not None and gang.outcome in (StartOutcome.AT_ONCE, StartOutcome.LATER):
        reason = later_pods(to_place)
        texts.append(f"all its pods count from its start, although {reason}" if reason else "")
    runs = each.planned.runs.get(gang.name, 0)
    if runs > 1:
        texts.append(f"first of {runs} runs by its schedule")
    return "; ".join(filter(None, texts))


def _reasons(each: Forecasted, gang: GangForecast, names: Sequence[str]) -> list[str]:
    cause, texts = gang.cause, []
    if names and gang.starts != gang.planned.comes:
        end = f"{listed(names)} {'ends' if len(names) == 1 else 'end'} at the latest then"
        quota = cause.refusal and f", and {_bound(cause.refusal)} of {each.queue(cause.refusal.queue)} has room"
        texts.append(f"{end}{quota or ''}")
    if cause.evicted:
        verb = _VERBS[cause.action][len(cause.evicted) > 1]
        texts.append(f"{listed([each.name_of(name) for name in cause.evicted])} {verb}")
    if cause.follows:
        texts.append(f"starts after {listed([each.name_of(name) for name in cause.follows])}")
    return texts


_VERBS = {
    "reclaim": ("gives GPUs back", "give GPUs back"),
    "preempt": ("is preempted", "are preempted"),
    "consolidation": ("moves", "move"),
}
"""The effect of each action of KAI on one gang, and on several."""


def _bound(refusal: QuotaRefusal) -> str:
    return "the limit" if refusal.reason == "OverLimit" else "the quota"


def _never(each: Forecasted, gang: GangForecast) -> str:
    turn = gang.turn
    if turn is None or turn.outcome is TurnOutcome.NO_QUEUE:
        return "its queue is not there, or has other queues below it"
    if turn.outcome is TurnOutcome.AFTER:
        return f"{listed([each.name_of(name) for name in turn.ahead])} of the same object never start"
    if turn.refusal is None:
        return "KAI finds no room for it, even on empty nodes"
    sent = each.planned.gangs_to_place[gang.name].sent
    if sent.is_draining and not sent.is_preemptible:
        return f"{sent.target} is DELETING and has no quota: only LOW work starts"
    refusal = turn.refusal
    asks, most = said(refusal.resource, refusal.requested), show(refusal.resource, refusal.most)
    return f"it asks for {asks}, and {_bound(refusal)} of {each.queue(refusal.queue)} is {most}"


def _helps(gain: EarlierStart | None) -> str:
    return "" if gain is None else f"{gain.text}: starts {_after(gain.starts)}"
