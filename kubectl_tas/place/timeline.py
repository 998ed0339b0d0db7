"""Plays one scheduler forward: gangs end at their limits, and each end starts other cycles, up to a horizon.

Times are seconds from the start of the forecast. Between two ends, cycles follow one another until none of them changes
anything. A pod that KAI evicts, or moves, is made again if its controller does that, and its time begins anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import timedelta
from enum import Enum
from heapq import heappop, heappush
from math import ceil

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import Gpus
from kubectl_tas.place.actions import Turn, TurnOutcome, run_actions
from kubectl_tas.place.fairshare import QuotaRefusal
from kubectl_tas.place.scheduling_session import SchedulingSession, SessionPod, ShardStart, Work, sum_of

MAX_CYCLES = 20
"""Most cycles between two ends. Then the answer says that KAI may go on."""
MAX_COST, LEAST_TRIES = 1_000_000_000, 200
"""Most scenarios for evictions that one forecast tries, times nodes times gangs; and the least that it tries."""
MAX_EVENTS = 20_000
"""Most points in time at which something ends or begins."""


class StartOutcome(Enum):
    """The kind of answer about the start of a gang."""

    RUNS = "runs"
    AT_ONCE = "at-once"
    LATER = "later"
    GIVES_UP = "gives-up"
    """A limit ends the work before any pod of it has started."""
    BEYOND = "beyond"
    """The gang waits for work that ends behind the horizon."""
    UNKNOWN = "unknown"
    """The gang waits for work that has no limit."""
    SKIPPED = "skipped"
    """The schedule leaves the run out, since an earlier run has not ended."""
    NEVER = "never"
    """The gang would not start on empty nodes and in empty queues either."""


@json_fields("podSeconds=pod objectSeconds=whole runSeconds=run waitSeconds=patience source=known_source|null")
@dataclass(frozen=True, slots=True)
class RunLimit:
    """The most time that a gang takes. All times are seconds."""

    pod: int | None = None
    """Time that each pod may run, from its own start."""
    whole: int | None = None
    """Time that the object may take, from its creation. It passes while pods wait, too."""
    run: int | None = None
    """Time from the start of the gang to its end."""
    attempts: int = 1
    """Number of times that the object runs as a whole, each time with ``whole`` and ``patience`` anew."""
    is_final: bool = False
    """Whether work that waits when ``whole`` ends does not run again."""
    lingers: int = 0
    """Time that pods stay on their nodes after ``whole``, when the object has run for the last time."""
    patience: int | None = None
    """Time after which the work gives up if no pod of it has started. It counts from the same time as ``whole``."""
    wait_source: str = ""
    """The name of ``patience``, as messages write it."""
    again: int | None = 0
    """Number of pods that the controller makes in place of pods that have ended; None: without end."""
    is_together: bool = False
    """Whether all pods end when one of them does."""
    is_remade: bool = True
    """Whether a controller makes evicted pods again."""
    stays: bool = False
    """Whether the pods stay on their nodes although the work is done."""
    source: str = ""
    """The name of the limit, as messages write it."""

    @property
    def is_known(self) -> bool:
        """Whether the gang ends by itself at some time."""
        return self.whole is not None or self.run is not None or (self.pod is not None and self.again is not None)

    @property
    def known_source(self) -> str:
        """The name of the limit; empty if nothing ends the gang."""
        return self.source if self.is_known else ""


class Overlap(Enum):
    """The effect of a run of a schedule that comes before an earlier run has ended (concurrencyPolicy)."""

    ALLOW = "Allow"
    FORBID = "Forbid"
    """The new run does not come."""
    REPLACE = "Replace"
    """The earlier run ends."""


@dataclass(frozen=True, slots=True)
class PlannedGang:
    """A gang with its limit."""

    work: Work
    limit: RunLimit
    created: int = 0
    """Time from which the limit of the object counts; negative if it was before the forecast."""
    comes: int = 0
    """Time at which the object is made, at most the horizon."""
    pods_since: Mapping[str, int] = field(default_factory=dict)
    """Time at which each pod on a node has started, by name; most often negative."""
    series: str = ""
    """The schedule that makes the gang; empty if none does."""
    overlap: Overlap = Overlap.ALLOW


@dataclass(frozen=True, slots=True)
class StartCause:
    """The reason for which a gang starts at its time, and not before."""

    ended: tuple[str, ...] = ()
    """Gangs that end at that time, on the nodes or in the queue that the gang needs."""
    evicted: tuple[str, ...] = ()
    """Gangs that lose pods to the gang."""
    action: str = ""
    """KAI's action that evicts them: reclaim or preempt; consolidation if they only move."""
    refusal: QuotaRefusal | None = None
    """The limit or quota that had refused the gang until then."""
    follows: tuple[str, ...] = ()
    """Gangs of the same object that had to start first."""


@dataclass(frozen=True, slots=True)
class RunSpan:
    """A time in which a gang has pods on nodes."""

    start: int
    end: int | None
    """None: behind the horizon."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """The time at which pods of a gang go for another gang."""

    time: int
    winner: str
    pods: int
    is_move: bool = False
    """Whether they start again on other nodes at that time."""


@dataclass(frozen=True, slots=True, eq=False)
class GangForecast:
    """The answer for one gang."""

    planned: PlannedGang
    outcome: StartOutcome
    starts: int | None
    """Time at which the gang has its minimum of pods; None if unknown or never."""
    ends: int | None
    """Time at which the last pod has ended at the latest, or the work gives up; None if unknown."""
    cause: StartCause
    spans: tuple[RunSpan, ...]
    evictions: tuple[Eviction, ...]
    turn: Turn | None
    """The last answer of the scheduler that let the gang wait."""
    pods: int
    """Number of pods that the gang has at first."""
    gpus: Gpus
    """GPUs of all these pods."""

    @property
    def name(self) -> str:
        """Name of the gang's PodGroup."""
        return self.planned.work.name


@dataclass(frozen=True, slots=True)
class Forecast:
    """The answers of one scheduler."""

    gangs: tuple[GangForecast, ...]
    """Gangs in the order of their starts; what never starts comes last."""
    horizon: int
    events: int
    """Number of points in time at which something ended or began."""
    is_cut: bool
    """Whether a bound of the search was met, so that KAI may do more."""
    running: tuple[tuple[int, frozenset[str]], ...]
    """The gangs with their minimum of pods, after each point in time."""


@dataclass(frozen=True, slots=True)
class Awaited:
    """Lets a forecast stop as soon as some gangs have started; the answer may lack other gangs."""

    names: frozenset[str]
    turns: int
    """Most turns of gangs. Then it stops too: ``horizon`` of the answer is the time until then, and gangs that have not
    started are absent.
    """
    tries: int
    """Most scenarios for evictions."""


def play(
    start: ShardStart,
    planned: Sequence[PlannedGang],
    horizon: int,
    tick: Callable[[int, int], None] = lambda _done, _total: None,
    awaited: Awaited | None = None,
) -> Forecast:
    """Plays the scheduler forward to the horizon. ``planned`` holds the gangs of ``start`` and those that wait or come
    later. ``tick`` is told how many seconds of the horizon have passed. With ``awaited`` it stops earlier.
    """
    copies = {gang.work: replace(gang.work, pods=tuple(map(replace, gang.work.pods))) for gang in planned}
    start = replace(start, works=tuple(copies[work] for work in start.works))
    return _Play(start, [replace(gang, work=copies[gang.work]) for gang in planned], horizon, awaited).answer(tick)


@dataclass(slots=True, eq=False)
class _PlayedGang:
    """A gang while it is played."""

    planned: PlannedGang
    again: int | None
    created: int
    """Time from which the limit of the object counts."""
    attempts: int
    pods: int
    gpus: Gpus
    """Pods of the gang at first, and their GPUs."""
    is_here: bool
    """Whether the object has been made."""
    since: dict[SessionPod, int] = field(default_factory=dict)
    """Time since which each pod runs."""
    first: int | None = None
    cause: StartCause = field(default_factory=StartCause)
    over: int | None = None
    """Time at which the gang has ended or given up."""
    spans: list[RunSpan] = field(default_factory=list)
    evictions: list[Eviction] = field(default_factory=list)
    turn: Turn | None = None
    decided: int | None = None
    """Last answer of the scheduler that let the gang wait, and its time."""

    @property
    def work(self) -> Work:
        return self.planned.work

    @property
    def is_answered(self) -> bool:
        """Whether the gang has started, ended or given up."""
        return self.first is not None or self.over is not None

    @property
    def deadline(self) -> int | None:
        """Time at which the present attempt of the object ends; None if nothing ends it."""
        limit, is_last = self.planned.limit, self.attempts == 1 and bool(self.since)
        return None if limit.whole is None else self.created + limit.whole + (limit.lingers if is_last else 0)

    @property
    def next_end(self) -> int | None:
        """Time at which the next pod, or the whole gang, ends; None if nothing ends it."""
        limit, ends = self.planned.limit, list[int]()
        if self.deadline is not None:
            ends.append(self.deadline)
        if limit.pod is not None and self.since and self.again is not None:
            ends.append(min(self.since.values()) + limit.pod)
        if limit.run is not None and self.since:
            ends.append(self.spans[-1].start + limit.run)
        if limit.patience is not None and self.first is None:
            ends.append(self.created + limit.patience)
        return min(ends, default=None)


def _run(gang: PlannedGang) -> _PlayedGang:
    limit, pods = gang.limit, gang.work.pods
    return _PlayedGang(gang, limit.again, gang.created, limit.attempts, len(pods), sum_of(pods).gpus, gang.comes <= 0)


class _Play:
    def __init__(
        self, start: ShardStart, planned: Sequence[PlannedGang], horizon: int, awaited: Awaited | None
    ) -> None:
        self._start, self._horizon, self._awaited = start, horizon, awaited
        self._runs = {gang.work: _run(gang) for gang in planned}
        self._session = SchedulingSession(start, ())
        self._session.tries_left = max(LEAST_TRIES, MAX_COST // (1 + len(start.nodes) * len(planned)))
        if awaited is not None:
            self._session.tries_left = min(self._session.tries_left, awaited.tries)
        self._turns = 0
        self._later: list[Work] = []
        """Gangs whose pods do not exist yet, since they wait for other gangs of their object."""
        self._queue: list[tuple[int, int, _PlayedGang]] = []
        self._entries = 0
        self._started = {work.name for work in start.works if work.has_started}
        """Names of gangs that have had their minimum of pods."""
        self._ended: dict[str, tuple[str, frozenset[str]]] = {}
        """Queue and nodes of the gangs that end at the present time, by name."""
        self._wake: int | None = None
        """Time at which KAI spares a gang no longer that it spared when it last decided, or a gang may first evict."""
        self._events, self._is_cut = 0, False
        self._running: list[tuple[int, frozenset[str]]] = []
        for run in self._runs.values():
            for pod in run.work.pods:
                if pod.node is not None:
                    run.since[pod] = run.planned.pods_since.get(pod.name, 0)
            if run.since:
                run.first = min(run.since.values())
                run.spans.append(RunSpan(run.first, None))
            elif run.is_here:
                self._come(run)
            self._await(run)

    def answer(self, tick: Callable[[int, int], None]) -> Forecast:
        awaited = self._awaited
        asked = {run for run in self._runs.values() if awaited is None or run.work.name in awaited.names}
        self._settle(0)
        at = 0
        while (time := self._next_time()) <= self._horizon:
            if awaited is not None and (self._is_spent or all(run.is_answered for run in asked)):
                break
            at = time
            tick(at, self._horizon)
            self._ended, is_event = {}, at == self._wake
            while self._queue and self._queue[0][0] == at:
                is_event = self._due(heappop(self._queue)[2], at) or is_event
            if is_event:
                self._events += 1
                self._settle(at)
            if self._events > MAX_EVENTS:
                self._is_cut = True
                break
        tick(self._horizon, self._horizon)
        answers = {run: self._answer(run) for run in self._runs.values() if run.is_answered}
        running, is_spent = tuple(self._running), self._is_spent
        waiting = [run for run in self._runs.values() if run not in answers]
        for run, answer in () if is_spent or answers.keys() >= asked else self._of_waiting(waiting):
            answers[run] = answer
            if answers.keys() >= asked:
                break
        rank = {outcome: number for number, outcome in enumerate(StartOutcome)}
        gangs = [answers[run] for run in self._runs.values() if run in answers]
        gangs.sort(key=lambda gang: (gang.starts is None, gang.starts or 0, rank[gang.outcome]))
        return Forecast(tuple(gangs), at if is_spent else self._horizon, self._events, self._is_cut, running)

    @property
    def _is_spent(self) -> bool:
        """Whether gangs have had as many turns as they may."""
        return self._awaited is not None and self._turns > self._awaited.turns

    def _next_time(self) -> int:
        """Returns the time at which something may happen next; a time behind the horizon if nothing does."""
        times = [entry[0] for entry in self._queue[:1]] + ([] if self._wake is None else [self._wake])
        return min(times, default=self._horizon + 1)

    def _come(self, run: _PlayedGang) -> None:
        run.is_here = True
        if self._start.tree.is_leaf(run.work.queue):
            self._later.append(run.work)

    def _await(self, run: _PlayedGang) -> None:
        """Enters the next time at which a gang comes, ends or gives up. Times that no longer count stay, and are
        passed over.
        """
        time = run.next_end if run.is_here else run.planned.comes
        if run.over is None and time is not None:
            heappush(self._queue, (max(0, time), self._entries, run))
            self._entries += 1

    def _due(self, run: _PlayedGang, at: int) -> bool:
        """Makes a gang come, lets it give up, or ends its pods whose time has come. Returns False if the time does not
        count any more.
        """
        if run.over is not None:
            return False
        if not run.is_here:
            self._arrive(run, at)
            return True
        end = run.next_end
        if end is None or end > at:
            return False
        limit = run.planned.limit
        is_whole = run.deadline is not None and run.deadline <= at
        is_retried = run.attempts > 1 and (bool(run.since) or not limit.is_final)
        is_over = limit.run is not None and bool(run.since) and run.spans[-1].start + limit.run <= at
        gives_up = limit.patience is not None and run.first is None and run.created + limit.patience <= at
        if (is_whole and is_retried) or (gives_up and run.attempts > 1):
            run.attempts, run.created = run.attempts - 1, at
            self._leave(run, list(run.since), at)
        elif is_whole or is_over or gives_up:
            self._end(run, at)
        else:
            due = [pod for pod, since in run.since.items() if limit.pod is not None and since + limit.pod <= at]
            again = len(due) if run.again is None else min(run.again, len(due))
            run.again = None if run.again is None else run.again - again
            self._leave(run, due[:again], at)
            self._dismiss(run, due[again:], at)
        self._await(run)
        return True

    def _arrive(self, run: _PlayedGang, at: int) -> None:
        """Makes a gang whose time has come; or leaves it out, or ends another run, as its schedule says."""
        gang = run.planned
        earlier = [
            other
            for other in self._runs.values()
            if gang.series and other.planned.series == gang.series and other.is_here and other.over is None
        ]
        run.is_here = True
        if earlier and gang.overlap is Overlap.FORBID:
            run.over = at
            return
        for other in earlier if gang.overlap is Overlap.REPLACE else ():
            self._end(other, at)
        self._come(run)
        self._await(run)

    def _leave(self, run: _PlayedGang, pods: Sequence[SessionPod], at: int) -> None:
        """Takes pods from their nodes; their controller makes others, which wait."""
        self._free(run, pods, at)
        for pod in pods:
            self._session.leave(run.work, pod)

    def _dismiss(self, run: _PlayedGang, pods: Sequence[SessionPod], at: int) -> None:
        """Takes pods away that nobody makes again."""
        self._free(run, [pod for pod in pods if pod in run.since], at)
        if run.work in self._later:
            self._later.remove(run.work)
            run.work.pods = ()
        elif pods:
            self._session.dismiss(run.work, pods)
        if not run.work.pods:
            run.over = at

    def _end(self, run: _PlayedGang, at: int) -> None:
        """Ends a gang."""
        self._dismiss(run, run.work.pods, at)
        run.over = at

    def _free(self, run: _PlayedGang, pods: Sequence[SessionPod], at: int) -> None:
        if pods:
            before = self._ended.get(run.work.name, ("", frozenset()))[1]
            self._ended[run.work.name] = run.work.queue, before | {str(pod.node) for pod in pods}
        for pod in pods:
            del run.since[pod]
        if not run.since:
            self._close(run, at)

    def _close(self, run: _PlayedGang, at: int) -> None:
        if run.spans and run.spans[-1].end is None:
            run.spans[-1] = RunSpan(run.spans[-1].start, at)

    def _settle(self, at: int) -> None:
        """Runs cycles until nothing changes."""
        if self._start.now is not None:
            self._session.now = self._start.now + timedelta(seconds=at)
        turns: dict[Work, Turn] = {}
        for number in range(MAX_CYCLES):
            ready = [work for work in self._later if self._started.issuperset(work.before)]
            self._later = [work for work in self._later if work not in ready]
            self._session.admit(ready)
            turns = {}
            if any(work.next_pods() for work in self._session.works):
                run_actions(self._session, turns)
            self._turns += len(turns)
            went = self._note(turns, at)
            if not went and not any(self._started.issuperset(work.before) for work in self._later):
                break
            self._is_cut = self._is_cut or number == MAX_CYCLES - 1
        now = self._session.now
        wakes = [spared.until for turn in turns.values() for spared in turn.spared]
        wakes += (work.delay_end for work in self._session.works if work.delay_end is not None and work.next_pods())
        wake = min((time for time in wakes if time > now), default=None)
        self._wake = None if wake is None else at + ceil((wake - now).total_seconds())
        names = (run.work.name for run in self._runs.values() if run.since and run.work.has_started)
        self._running.append((at, frozenset(names)))

    def _note(self, turns: Mapping[Work, Turn], at: int) -> bool:
        """Notes what a cycle has done. Returns whether pods had to go, so that the next cycle decides anew."""
        for work, turn in turns.items():
            for batch in turn.evicted:
                self._evict(self._runs[batch.work], batch.pods, work.name, at)
            for batch in turn.moved:
                self._note_move(self._runs[batch.work], batch.pods, work.name, at)
        moved = {pod for turn in turns.values() for batch in turn.moved for pod in batch.pods}
        nominated: dict[Work, list[SessionPod]] = {}
        for pod, work in self._session.nominated.items():
            nominated.setdefault(work, []).append(pod)
            if pod.node is not None:
                self._session.leave(work, pod)
        for work, pods in nominated.items():
            self._remake(self._runs[work], [pod for pod in pods if pod in moved], at)
        for work, turn in turns.items():
            run = self._runs[work]
            self._is_cut = self._is_cut or turn.is_cut
            new = [pod for pod in work.pods if pod.node is not None and pod not in run.since]
            if new:
                if not run.since:
                    run.spans.append(RunSpan(at, None))
                run.since |= dict.fromkeys(new, at)
                self._session.returns(work)
                if run.first is None and work.has_started:
                    run.first, run.cause = at, self._cause(run, turn, at)
                    self._started.add(work.name)
                self._await(run)
            else:
                run.turn, run.decided = turn, at
        return bool(self._session.nominated) or any(turn.evicted for turn in turns.values())

    def _evict(self, run: _PlayedGang, pods: Iterable[SessionPod], winner: str, at: int) -> None:
        pods = [pod for pod in pods if pod.node is None]
        run.evictions.append(Eviction(at, winner, len(pods)))
        self._remake(run, pods, at)

    def _note_move(self, run: _PlayedGang, pods: Iterable[SessionPod], winner: str, at: int) -> None:
        """Notes that running pods go to other nodes, where their controller makes them again, if there is one."""
        count = sum(pod in run.since for pod in pods)
        if count:
            run.evictions.append(Eviction(at, winner, count, run.planned.limit.is_remade))

    def _remake(self, run: _PlayedGang, pods: Sequence[SessionPod], at: int) -> None:
        """Makes pods again that had to go, if their controller does that."""
        for pod in pods:
            run.since.pop(pod, None)
            pod.is_gone = False
        self._session.returns(run.work, pods)
        if not run.since:
            self._close(run, at)
        if pods and not run.planned.limit.is_remade:
            self._session.dismiss(run.work, pods)
            if not run.work.pods:
                run.over = at
        self._await(run)

    def _cause(self, run: _PlayedGang, turn: Turn, at: int) -> StartCause:
        """Returns why a gang starts now. What had to go for it went in an earlier cycle of the same time."""
        if not turn.action and run.turn is not None and run.decided == at:
            turn = replace(turn, evicted=run.turn.evicted, moved=run.turn.moved, action=run.turn.action)
        nodes = {node for _, node, _ in turn.placed}
        refused = run.turn.refusal if run.turn is not None else None
        on_nodes = [name for name, (_, freed) in self._ended.items() if freed & nodes]
        in_queue = [
            name for name, (queue, _) in self._ended.items() if refused and self._is_below(queue, refused.queue)
        ]
        ended = in_queue if refused else on_nodes
        evicted = dict.fromkeys(batch.work.name for batch in (*turn.evicted, *turn.moved))
        return StartCause(
            tuple(ended or on_nodes or self._ended), tuple(evicted), turn.action, refused, run.work.before
        )

    def _is_below(self, queue: str, above: str) -> bool:
        tree = self._start.tree
        return queue in tree.by_name and any(each.name == above for each in tree.chain(queue))

    def _answer(self, run: _PlayedGang) -> GangForecast:
        """Returns the answer for a gang that starts, or gives up."""
        there = run.first is not None and run.first <= 0 and run.work in self._start.works
        if run.first is None:
            is_skipped = run.planned.overlap is Overlap.FORBID and run.over == run.planned.comes > 0
            outcome = StartOutcome.SKIPPED if is_skipped else StartOutcome.GIVES_UP
        elif there:
            outcome = StartOutcome.RUNS
        else:
            outcome = StartOutcome.AT_ONCE if run.first == run.planned.comes else StartOutcome.LATER
        ends = run.over if run.over is not None else self._last_end(run)
        return self._made(run, outcome, ends)

    def _last_end(self, run: _PlayedGang) -> int | None:
        """Returns the time behind the horizon at which a running gang has ended at the latest; None if unknown."""
        limit, ends = run.planned.limit, list[int]()
        if limit.whole is not None:
            ends.append(run.created + limit.whole * run.attempts + limit.lingers)
        if limit.run is not None and run.since:
            ends.append(run.spans[-1].start + limit.run)
        if limit.pod is not None and run.since and run.again == 0:
            ends.append(max(run.since.values()) + limit.pod)
        return min(ends, default=None)

    def _made(self, run: _PlayedGang, outcome: StartOutcome, ends: int | None = None) -> GangForecast:
        is_open = outcome in (StartOutcome.BEYOND, StartOutcome.UNKNOWN, StartOutcome.NEVER)
        return GangForecast(
            run.planned,
            outcome,
            None if is_open else run.first,
            ends,
            run.cause,
            () if is_open else tuple(run.spans),
            tuple(run.evictions),
            run.turn,
            run.pods,
            run.gpus,
        )

    def _of_waiting(self, waiting: list[_PlayedGang]) -> Iterator[tuple[_PlayedGang, GangForecast]]:
        """Yields the answers for gangs that wait at the end: takes away first what ends behind the horizon, then what
        has no limit, and looks what starts then.
        """
        horizon = self._horizon
        for outcome in (StartOutcome.BEYOND, StartOutcome.UNKNOWN):
            while waiting:
                gone = [
                    run
                    for run in self._runs.values()
                    if run.since and (run.planned.limit.is_known or outcome is StartOutcome.UNKNOWN)
                ]
                self._ended = {}
                for run in gone:
                    self._end(run, horizon)
                self._settle(horizon)
                begun = [run for run in waiting if run.first is not None]
                endless = {run.work.name for run in gone if not run.planned.limit.is_known}
                for run in begun:
                    blocking = tuple(name for name in run.cause.ended if name in endless) or run.cause.ended
                    run.cause = replace(run.cause, ended=blocking)
                    yield run, self._made(run, outcome)
                waiting = [run for run in waiting if run not in begun]
                if not begun:
                    break
        for run in waiting:
            if run.turn is None:
                has_queue = self._start.tree.is_leaf(run.work.queue)
                names = tuple(name for name in run.work.before if name not in self._started)
                run.turn = Turn(run.work, TurnOutcome.AFTER if has_queue else TurnOutcome.NO_QUEUE, ahead=names)
            yield run, self._made(run, StartOutcome.NEVER)
