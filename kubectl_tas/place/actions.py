"""Simulates KAI on pending gangs: which start, which stay pending and why, and which pods KAI evicts or moves for them.

Follows the actions of release 0.17 (pkg/scheduler/actions) in their order: allocate, consolidation, reclaim, preempt,
and allocate once more, as in the next cycle. A gang that exceeds a limit or quota, or has no placement, takes nothing
from later gangs. An action that is off for the shard is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import Amount, Amounts
from kubectl_tas.place.fairshare import QuotaRefusal, Standing
from kubectl_tas.place.kai_allocate import PlacedPods, place
from kubectl_tas.place.min_runtimes import MinRuntimes, keeps_minimum
from kubectl_tas.place.node_cells import Space
from kubectl_tas.place.reclaim import Reclaim
from kubectl_tas.place.scenarios import Allows, Scenario, Search, Solver, VictimPods, Way
from kubectl_tas.place.scheduling_session import (
    Place,
    SchedulingSession,
    SessionPod,
    ShardStart,
    Spared,
    Work,
    sum_of,
    with_pods,
)

ALLOCATE = "allocate"
SIGNATURES = "use-scheduling-signatures"
"""Flag with which KAI skips gangs that are no easier to place than one that failed."""
MAX_PREEMPTEES = 16
"""Default of the flag max-consolidation-preemptees. If more gangs than one more could move, KAI takes any of them."""


class TurnOutcome(Enum):
    """Outcome of a gang's turn."""

    STARTS = "starts"
    """The gang has room on free nodes."""
    EVICTS = "evicts"
    """The gang starts as soon as KAI has evicted or moved other pods."""
    LATER = "later"
    """The gang has room once the pods that KAI evicts for other gangs have gone."""
    WAITS = "waits"
    """The gang would have room without the gangs before it."""
    NO_ROOM = "no-room"
    """KAI finds no placement on the free resources of the nodes, even for the gang alone."""
    REFUSED = "refused"
    """A limit or quota of a queue keeps the gang from starting."""
    NO_QUEUE = "no-queue"
    """The gang's queue does not exist, or is not a leaf queue."""
    AFTER = "after"
    """The gang waits for another gang of its object, which does not start."""
    UNTRIED = "untried"
    """The shard's scheduler does not try the gang: it has no action that starts gangs, or tries only the first of a
    queue, which does not start.
    """


@json_fields("podGroup=work.name queue=work.queue placed=placed_pods action|null evicted moved limited=is_cut")
@dataclass(frozen=True)
class Turn:
    """The answer for one gang."""

    work: Work
    outcome: TurnOutcome
    placed: tuple[Place, ...] = ()
    """Nodes of the pods that start; empty if the gang does not start."""
    asks: Amounts = Amounts()
    """Resources of the pods with which the gang starts."""
    refusal: QuotaRefusal | None = None
    """The limit or quota that keeps the gang from starting."""
    ahead: tuple[str, ...] = ()
    """Gangs that started earlier on the nodes that this gang would get alone; or, if a queue refuses this gang, in that
    queue; or gangs of its object that must start first.
    """
    evicted: tuple[VictimPods, ...] = ()
    """Pods that KAI evicts for the gang."""
    moved: tuple[VictimPods, ...] = ()
    """Pods that KAI evicts for the gang and places elsewhere at once."""
    action: str = ""
    """KAI's action that evicts or moves pods for the gang: consolidation, reclaim or preempt."""
    is_cut: bool = False
    """Whether the search left out possibilities that KAI has, or KAI takes pods away for a gang that does not start."""
    moved_for: tuple[str, ...] = ()
    """Gangs for which KAI moves or ends pods of this gang that it has just started."""
    spared: tuple[Spared, ...] = ()
    """Work that KAI does not take for the gang, since it has not run long enough."""

    @property
    def placed_pods(self) -> tuple[PlacedPods, ...]:
        """The placed pods by SubGroup and domain."""
        counts = Counter((pod.unit, domain) for pod, _, domain in self.placed)
        return tuple(PlacedPods(name, domain, pods) for (name, domain), pods in counts.items())


@dataclass(frozen=True)
class Pending:
    """The answers for all gangs that are pending for one scheduler."""

    start: ShardStart
    fair: Mapping[str, Amounts]
    """Fair share of each queue."""
    allocated: Mapping[str, Amounts]
    """Resources that each queue held at the start."""
    requests: Mapping[str, Amounts]
    """Resources that each queue held at the start or waits for."""
    turns: tuple[Turn, ...]
    """Answers in KAI's order; gangs without a leaf queue come last."""
    further: tuple[Turn, ...]
    """Answers for running gangs that start further pods."""
    held: Amount
    """GPUs that gangs held at the start, in known and unknown queues."""


def pending(start: ShardStart, waiting: Sequence[Work]) -> Pending:
    """Predicts what KAI does with the pending gangs. Moves the pods of ``waiting`` and ``start`` to their new nodes."""
    sent = [work for work in waiting if start.tree.is_leaf(work.queue)]
    lost = [
        Turn(work, TurnOutcome.NO_QUEUE, asks=sum_of(work.next_pods()))
        for work in waiting
        if not start.tree.is_leaf(work.queue)
    ]
    started_names = {work.name for work in start.works if work.has_started}
    later = [work for work in sent if not started_names.issuperset(work.before)]
    session = SchedulingSession(start, [work for work in sent if work not in later])
    allocated, held = dict(session.allocated), sum(sum_of(work.active).gpu for work in start.works)
    turns: dict[Work, Turn] = {}
    _cycle(session, turns, sent)
    while ready := [work for work in later if _started_names(session).issuperset(work.before)]:
        later = [work for work in later if work not in ready]
        session.admit(ready)
        _cycle(session, turns, sent)
    alone = Space(start.nodes)
    new = set(sent)
    started = [work for work in turns if work in new and work.active]
    explained_turns = tuple(_explained(session, turn, alone, started) for work, turn in turns.items() if work in new)
    started_names = _started_names(session)
    held_back = tuple(
        Turn(
            work,
            TurnOutcome.AFTER,
            asks=sum_of(work.next_pods()),
            ahead=tuple(name for name in work.before if name not in started_names),
        )
        for work in later
    )
    further = tuple(turn for work, turn in turns.items() if work not in new and turn.placed)
    answers = (*explained_turns, *held_back, *lost)
    return Pending(start, session.fair, allocated, session.requests, answers, further, held)


def _started_names(session: SchedulingSession) -> set[str]:
    return {work.name for work in session.works if work.has_started}


def _cycle(session: SchedulingSession, turns: dict[Work, Turn], sent: Sequence[Work]) -> None:
    """Runs KAI's actions once, and allocate once more if pods go, or if a cycle tries only one gang of a queue."""
    run_actions(session, turns)
    for work in [work for work in sent if not work.active]:
        for pod in work.pods:
            pod.is_gone = False  # what started in this cycle, and went for others, waits as before
        session.changes(work)
    if ALLOCATE in session.settings.actions and any(turn.evicted or turn.moved for turn in turns.values()):
        _allocate(session, turns, TurnOutcome.LATER)
    while session.settings.queue_depth.get(ALLOCATE) == 1 and _allocate(session, turns, TurnOutcome.LATER):
        pass
    for work in session.works:
        if work not in turns and work.next_pods():
            turns[work] = Turn(work, TurnOutcome.UNTRIED, asks=sum_of(work.next_pods()))


def run_actions(session: SchedulingSession, turns: dict[Work, Turn]) -> None:
    """Runs KAI's actions once. Afterwards ``nominated`` of the session holds the pods that get their nodes only once
    other pods have gone; KAI decides anew about them in the next cycle.
    """
    session.nominated.clear()
    session.starters.clear()
    session.occupied.clear()
    for work, amounts in session.repeats:
        session.charge(work, amounts)
    session.repeats.clear()
    if ALLOCATE in session.settings.actions:
        _allocate(session, turns, TurnOutcome.STARTS)
    if not any(work.is_preemptible and work.has_active for work in session.works):
        return
    session.space.keep_idle(is_kept=True)
    for name in session.settings.actions:
        if name in _ACTIONS:
            _act(session, turns, name, _ACTIONS[name])
    session.space.keep_idle(is_kept=False)


def _allocate(session: SchedulingSession, turns: dict[Work, Turn], outcome: TurnOutcome) -> bool:
    """Runs KAI's action allocate: starts gangs, then adds pods to gangs that have their minimum. Returns whether a pod
    starts.
    """
    order, has_any = session.starting(session.works, session.settings.queue_depth.get(ALLOCATE)), False
    while (next_gang := order.pop()) is not None:
        work, pods, before = next_gang.work, next_gang.work.next_pods(), turns.get(next_gang.work)
        refused = session.refusal(work, next_gang.asks)
        placed = None if refused is not None else session.place(work, pods)
        if placed is not None:
            has_any, work.started = True, work.started if work.active else session.now
            for pod, node, _ in placed:
                session.move(work, pod, node)
            order.push(work)
        if placed is not None:
            placed_before = before.placed if before else ()
            continued = replace(before, placed=(*placed_before, *placed)) if before and placed_before else None
            turns[work] = continued or Turn(work, outcome, placed, next_gang.asks)
        elif before is None or not before.placed:
            refused_outcome = TurnOutcome.REFUSED if refused is not None else TurnOutcome.WAITS
            before = before or Turn(work, refused_outcome)
            turns[work] = replace(before, outcome=refused_outcome, asks=next_gang.asks, refusal=refused)
    return has_any


def _act(session: SchedulingSession, turns: dict[Work, Turn], name: str, action: _Action) -> None:
    failed, has_signatures = _Failed(session.signatures), session.settings.flags.get(SIGNATURES) != "false"
    waiting = [work for work in session.works if work.next_pods()]
    claiming = (work for work in waiting if work.delay_end is None or work.delay_end <= session.now)
    if name == "consolidation":
        claiming = (work for work in claiming if work.is_preemptible)
    order = session.starting(claiming, session.settings.queue_depth.get(name))
    while (next_gang := order.pop()) is not None:
        work, pods = next_gang.work, next_gang.work.next_pods()
        has_queue = name != "consolidation"
        if work.request is None or (has_signatures and failed.covers(work, has_queue=has_queue)):
            continue
        search = action(session, work, pods, waiting)
        if search is None:
            continue
        taken = dict.fromkeys(batch.work for batch in search.way.batches) if search.way else _victims(session, work)
        is_cut = search.is_cut or any(not victim.is_known for victim in taken)  # KAI may take fewer pods of such
        turn = turns.get(work) or Turn(work, TurnOutcome.UNTRIED, asks=next_gang.asks)
        if search.way is None:
            failed.add(work, has_queue=has_queue)
            turns[work] = replace(turn, is_cut=turn.is_cut or is_cut, spared=(*turn.spared, *search.spared))
            continue
        way = search.way
        _go(session, turns, work, way)
        moved: dict[Work, list[SessionPod]] = {}
        for moved_work, spot in way.moved:
            moved.setdefault(moved_work, []).append(spot[0])
        cleared = (*way.gone, *way.moved)
        turns[work] = replace(
            turn,
            outcome=turn.outcome if turn.placed else TurnOutcome.EVICTS if cleared else TurnOutcome.LATER,
            placed=(*turn.placed, *way.placed),
            refusal=None,
            evicted=(*turn.evicted, *way.gone),
            moved=(
                *turn.moved,
                *(VictimPods(moved_work, tuple(moved_pods)) for moved_work, moved_pods in moved.items()),
            ),
            action=name,
            is_cut=is_cut,
        )


def _go(session: SchedulingSession, turns: dict[Work, Turn], work: Work, way: Way) -> None:
    """Carries out a way: evicts and moves pods of other gangs, and places pods of the gang."""
    leaving = [(batch.work, pod) for batch in way.gone for pod in batch.pods]
    for moved_work, pod in (*leaving, *((moved_work, spot[0]) for moved_work, spot in way.moved)):
        session.move(moved_work, pod, None)
    for gone_work, pod in leaving:
        pod.is_gone = True
        session.changes(gone_work)
    for batch in way.repeats:
        session.charge(batch.work, sum_of(batch.pods) * -1)
        session.repeats.append((batch.work, sum_of(batch.pods)))
    places = {spot[0]: spot for _, spot in way.moved}
    for moved_work, (pod, node, _) in (*((work, spot) for spot in way.placed), *way.moved):
        session.move(moved_work, pod, node)
        session.nominated[pod] = moved_work
    session.starters.update(pod for pod, _, _ in way.placed)
    for moved_work in dict.fromkeys((*(victim for victim, _ in leaving), *(victim for victim, _ in way.moved))):
        if moved_work in turns and turns[moved_work].placed:
            turn = turns[moved_work]
            remaining = tuple(places.get(spot[0], spot) for spot in turn.placed if not spot[0].is_gone)
            turns[moved_work] = (
                replace(turn, placed=remaining, moved_for=(*turn.moved_for, work.name))
                if remaining
                else replace(turn, outcome=TurnOutcome.WAITS, placed=(), is_cut=bool(turn.evicted or turn.moved))
            )


_Action = Callable[[SchedulingSession, Work, Sequence[SessionPod], Sequence[Work]], Search | None]


def _victims(session: SchedulingSession, work: Work) -> Iterator[Work]:
    return (
        other_work
        for other_work in session.works
        if other_work.is_preemptible and other_work is not work and other_work.has_active
    )


def _consolidate(
    session: SchedulingSession, work: Work, pods: Sequence[SessionPod], waiting: Sequence[Work]
) -> Search | None:
    """Searches a way that only moves other gangs, if enough GPUs are free."""
    free = sum(session.space.free_of(name, GPU) for name, node in session.space.nodes.items() if node.is_ready)
    most = session.settings.number("max-consolidation-preemptees", MAX_PREEMPTEES)
    if most == 0 or free < sum(pod.asks.get(GPU, 0) for pod in pods):
        return Search(None)
    victims = list(_victims(session, work))
    search = Solver(session, work, victims, lambda _, __, scenario: not scenario.gone, waiting).solve()
    return replace(search, is_cut=True) if most >= 0 and len(victims) > most + 1 else search


def _reclaim(
    session: SchedulingSession, work: Work, pods: Sequence[SessionPod], waiting: Sequence[Work]
) -> Search | None:
    """Searches a way that evicts work of other queues."""
    standings = session.standings
    rules = partial(_EvictionClaim, session, standings)
    claim_rules = rules(work, pods).rules
    if not claim_rules.may_try:
        return None
    queues = {victim.queue for victim in _victims(session, work)} - {work.queue}
    giving = {queue for queue in queues if claim_rules.may_lose(queue)}
    holders = (victim for victim in _victims(session, work) if victim.queue in giving)
    sparing = _Sparing(session, work, "reclaim", holders)
    allows: Allows = lambda job, claimed_pods, scenario: (  # noqa: E731
        rules(job, claimed_pods).allows(scenario.gone) and sparing.allows(job, claimed_pods, scenario)
    )
    search = sparing.told(Solver(session, work, sparing.victims, allows, waiting).solve())
    is_by_chance = search.way is not None and not rules(work, pods).allows(search.way.gone, always=True)
    return replace(search, is_cut=True) if is_by_chance else search


def _preempt(
    session: SchedulingSession, work: Work, pods: Sequence[SessionPod], waiting: Sequence[Work]
) -> Search | None:
    """Searches a way that evicts work of lower priority from the gang's own queue."""
    refused = session.refusal(work, sum_of(pods))
    if refused is not None and refused.reason == "NonPreemptibleOverQuota":
        return Search(None)
    below = (other for other in session.works if other.queue == work.queue and other.priority < work.priority)
    lower = (victim for victim in below if victim.is_preemptible and victim.has_active)
    sparing = _Sparing(session, work, "preempt", lower)
    return sparing.told(Solver(session, work, sparing.victims, sparing.allows, waiting).solve())


_ACTIONS: Mapping[str, _Action] = {"consolidation": _consolidate, "reclaim": _reclaim, "preempt": _preempt}


EVICTING = frozenset(_ACTIONS)
"""The actions that evict or move pods for others."""
ACTIONS = (ALLOCATE, *_ACTIONS)
"""The actions that decide about gangs."""


class _Sparing:
    """The work that KAI spares from an action for one gang."""

    def __init__(self, session: SchedulingSession, work: Work, action: str, victims: Iterable[Work]) -> None:
        runtimes, candidates = MinRuntimes(session.settings, session.tree, session.now), list(victims)
        reasons = ((victim, runtimes.spared(work, victim, action)) for victim in candidates)
        self.spared: dict[Work, Spared] = {victim: reason for victim, reason in reasons if reason is not None}
        self.victims = [victim for victim in candidates if victim not in self.spared or victim.is_elastic]
        """Gangs whose pods KAI may take."""

    def told(self, search: Search) -> Search:
        """Returns a search with the spared work."""
        return replace(search, spared=tuple(self.spared.values()))

    def allows(self, _: Work, __: Sequence[SessionPod], scenario: Scenario) -> bool:
        """Whether all spared gangs keep their minimum."""
        taken: dict[Work, list[SessionPod]] = {}
        for batch in scenario.taken:
            taken.setdefault(batch.work, []).extend(batch.pods)
        return all(keeps_minimum(work, pods) for work, pods in taken.items() if work in self.spared)


class _Lost:
    """Pods that KAI would evict, as ``Reclaim`` reads them."""

    def __init__(self, queue: str, asks: Amounts) -> None:
        self.queue, self.asks = queue, asks


class _EvictionClaim:
    """Pods of a pending gang, as ``Reclaim`` reads them, and the rules for what KAI may evict for them."""

    queue: str

    def __init__(
        self, session: SchedulingSession, standings: Mapping[str, Standing], work: Work, pods: Sequence[SessionPod]
    ) -> None:
        self.queue, self.is_preemptible, self.asks = work.queue, work.is_preemptible, sum_of(pods)
        self.rules = Reclaim(session.tree, standings, self)

    def allows(self, gone: Sequence[VictimPods], *, always: bool = False) -> bool:
        """Whether KAI may evict all these pods: pods beyond a gang's minimum count one by one, the others together.
        ``always``: whether it may in any order of the gangs.
        """
        lost = []
        for batch in gone:
            needed = sum(batch.work.least.values())
            elastic = [_Lost(batch.work.queue, pod.amounts) for pod in batch.pods[needed:]]
            lost.append([*elastic, _Lost(batch.work.queue, sum_of(batch.pods[:needed]))])
        return self.rules.allows(lost, always=always)


class _Failed:
    """The easiest gang of each kind for which an action found nothing. KAI skips a gang of that kind that is no easier
    to place (minimal_job_comparison.go of pkg/scheduler/actions/common).
    """

    def __init__(self, signatures: Mapping[Work, object]) -> None:
        self._signatures = signatures
        self._least: dict[object, list[Asks]] = {}

    def covers(self, work: Work, *, has_queue: bool) -> bool:
        """Whether a gang of the same kind has failed, and this gang is no easier to place."""
        kind = has_queue and work.queue, self._signatures[work]
        failed_requests, pod_requests = self._least.get(kind), _waiting(work)
        if failed_requests is None or len(failed_requests) > len(pod_requests):
            return False
        return not any(
            _is_within(request, failed_request) and request != failed_request
            for request, failed_request in zip(pod_requests, failed_requests, strict=False)
        )

    def add(self, work: Work, *, has_queue: bool) -> None:
        """Records a gang for which the action found nothing."""
        kind, pod_requests = (has_queue and work.queue, self._signatures[work]), _waiting(work)
        failed_requests = self._least.get(kind)
        if failed_requests is None or (
            len(pod_requests) <= len(failed_requests) and all(map(_is_within, pod_requests, failed_requests))
        ):
            self._least[kind] = pod_requests


Asks = tuple[tuple[str, int], ...]


def _waiting(work: Work) -> list[Asks]:
    """Returns the requests of each pending pod, sorted."""
    return sorted(tuple(sorted(pod.asks.items())) for pod in work.pods if pod.node is None and not pod.is_gone)


def _is_within(smaller: Asks, larger: Asks) -> bool:
    most = dict(larger)
    return all(amount <= most.get(name, 0) for name, amount in smaller)


def _explained(session: SchedulingSession, turn: Turn, alone: Space, started: Sequence[Work]) -> Turn:
    """Adds to an answer the gangs that are in the way."""
    work = turn.work
    if turn.refusal is not None:
        return replace(
            turn,
            ahead=tuple(started_work.name for started_work in started if _counts(session, started_work, turn.refusal)),
        )
    if turn.outcome is not TurnOutcome.WAITS or work.request is None:
        return turn
    unit = with_pods(work.request.unit, work.next_pods())
    bound = place(alone.room_for(replace(work.request, unit=unit), work.levels), unit)
    if bound is None:
        return replace(turn, outcome=TurnOutcome.NO_ROOM)
    nodes = {pod.node for pod in bound}
    return replace(
        turn,
        ahead=tuple(
            started_work.name for started_work in started if any(pod.node in nodes for pod in started_work.active)
        ),
    )


def _counts(session: SchedulingSession, work: Work, refused: QuotaRefusal) -> bool:
    """Whether the pods of a gang count toward the limit or quota that refuses another gang."""
    is_below = any(queue.name == refused.queue for queue in session.tree.chain(work.queue))
    counts = refused.reason == "OverLimit" or not work.is_preemptible
    return is_below and counts and sum_of(work.active).of(refused.resource) > 0
