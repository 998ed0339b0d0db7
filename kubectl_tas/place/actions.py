"""The gangs that wait, taken in KAI's order against the same nodes: which start, which wait and for what, and which
pods of others go or move for them.

Follows the actions of release 0.17 (pkg/scheduler/actions) in their order: allocate, consolidation, reclaim, preempt,
and allocate once more, as in the next cycle. A gang that its queues may not hold, or for which KAI's order comes to no
placement, takes nothing from those behind it. KAI also spares what has not run for the least runtime of its queue:
that is not looked at here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial

from kubectl_tas.gpus import GPU
from kubectl_tas.place.fairshare import Refusal, Standing
from kubectl_tas.place.kai_allocate import place
from kubectl_tas.place.node_cells import Space, Unit
from kubectl_tas.place.reclaim import Reclaim
from kubectl_tas.place.scenarios import Allows, Batch, Search, Solver, Way
from kubectl_tas.place.scheduling_session import Place, Pod, Session, Start, Work, sum_of, with_pods
from kubectl_tas.quantities import Amount, Amounts
from kubectl_tas.records import dataclass

MAX_MOVED = 17
"""Gangs that KAI looks at to move them for another one (maxNumberConsolidationPreemptees 16): where there are more it
takes any of them.
"""


class Outcome(Enum):
    """What becomes of a gang when its turn comes."""

    STARTS = "starts"
    """There is room for it."""
    EVICTS = "evicts"
    """It starts as soon as others have gone."""
    LATER = "later"
    """There is room once those have gone that go for others."""
    WAITS = "waits"
    """There would be room without those that come before it."""
    NO_ROOM = "no-room"
    """KAI places it on no nodes that are free now, though it were alone."""
    REFUSED = "refused"
    """A queue may not hold it."""
    NO_QUEUE = "no-queue"
    """Its queue is not there."""


@dataclass(frozen=True)
class Turn:
    """The answer for one gang."""

    work: Work
    outcome: Outcome
    placed: tuple[Place, ...] = ()
    """Where its pods come to; empty where it does not start."""
    asks: Amounts = Amounts()
    """What the pods ask for that it starts with."""
    refusal: Refusal | None = None
    """Why a queue may not hold it."""
    ahead: tuple[str, ...] = ()
    """Gangs that come before it: those on the nodes that it would have alone, or, where a queue may not hold it, those
    that this queue holds.
    """
    evicted: tuple[Batch, ...] = ()
    """What goes for it."""
    moved: tuple[Batch, ...] = ()
    """What is ended for it, and finds room elsewhere at once."""
    action: str = ""
    """Of KAI, by which others go or move for it."""
    is_cut: bool = False
    """Whether there was more to look at than was looked at."""


@dataclass(frozen=True)
class Pending:
    """The answer for all that waits for one scheduler."""

    start: Start
    fair: Mapping[str, Amounts]
    """The fair share of each queue."""
    allocated: Mapping[str, Amounts]
    """What each queue held before."""
    requests: Mapping[str, Amounts]
    """What each asks for: what it held and what waits."""
    turns: tuple[Turn, ...]
    """In KAI's order."""
    further: tuple[Turn, ...] = ()
    """Of gangs that run: where further pods of them start."""
    held: Amount = 0
    """GPUs that gangs held before, those in no queue that is known too."""


def pending(start: Start, waiting: Sequence[Work]) -> Pending:
    """What becomes of the gangs that wait. The pods of ``waiting`` and of ``start`` are those of the end afterwards."""
    sent = [work for work in waiting if start.tree.is_leaf(work.queue)]
    lost = [
        Turn(work, Outcome.NO_QUEUE, asks=sum_of(work.next_pods()))
        for work in waiting
        if not start.tree.is_leaf(work.queue)
    ]
    session = Session(start, sent)
    allocated, held = dict(session.allocated), sum(sum_of(work.active).gpu for work in start.works)
    turns: dict[Work, Turn] = {}
    _allocate(session, turns, Outcome.STARTS)
    session.space.keep_idle(is_kept=True)
    for name, action in (("consolidation", _consolidate), ("reclaim", _reclaim), ("preempt", _preempt)):
        _act(session, turns, name, action)
    for pod in (pod for work in sent if not work.active for pod in work.pods):
        pod.is_gone = False  # what started in this cycle, and went for others, waits as before
    if any(turn.evicted or turn.moved for turn in turns.values()):
        session.space.keep_idle(is_kept=False)
        _allocate(session, turns, Outcome.LATER)
    alone = Space(start.nodes)
    new = set(sent)
    started = [work for work in turns if work in new and work.active]
    found = tuple(_explained(session, turn, alone, started) for work, turn in turns.items() if work in new)
    further = tuple(turn for work, turn in turns.items() if work not in new and turn.placed)
    return Pending(start, session.fair, allocated, session.requests, (*found, *lost), further, held)


def _allocate(session: Session, turns: dict[Work, Turn], outcome: Outcome) -> None:
    """KAI's action allocate: gangs, and then further pods of gangs that have what they need."""
    order = session.starting(session.works)
    while (entry := order.pop()) is not None:
        work, pods, before = entry.work, entry.work.next_pods(), turns.get(entry.work)
        refused = session.refusal(work, entry.asks)
        found = None if refused is not None else session.place(work, pods)
        if found is not None:
            for pod, node, _ in found:
                session.move(work, pod, node)
            order.push(work)
        if found is not None:
            more = before.placed if before else ()
            kept = replace(before, placed=(*more, *found)) if before and more else None
            turns[work] = kept or Turn(work, outcome, found, entry.asks)
        elif before is None or not before.placed:
            is_cut = before is not None and before.is_cut
            what = Outcome.REFUSED if refused is not None else Outcome.WAITS
            turns[work] = Turn(work, what, asks=entry.asks, refusal=refused, is_cut=is_cut)


def _act(session: Session, turns: dict[Work, Turn], name: str, action: _Action) -> None:
    failed = _Failed()
    waiting = [work for work in session.works if work.next_pods()]
    order = session.starting(waiting)
    while (entry := order.pop()) is not None:
        work, pods = entry.work, entry.work.next_pods()
        has_queue = name != "consolidation"
        if work.wanted is None or failed.covers(work, has_queue=has_queue):
            continue
        found = action(session, work, pods, waiting)
        if found is None:
            continue
        taken = dict.fromkeys(batch.work for batch in found.way.batches) if found.way else _victims(session, work)
        is_cut = found.is_cut or any(not one.is_known for one in taken)  # KAI may take fewer pods of such
        turn = turns.get(work) or Turn(work, Outcome.WAITS, asks=entry.asks)
        if found.way is None:
            failed.add(work, has_queue=has_queue)
            turns[work] = replace(turn, is_cut=turn.is_cut or is_cut)
            continue
        way = found.way
        _go(session, turns, work, way)
        moved: dict[Work, list[Pod]] = {}
        for other, spot in way.moved:
            moved.setdefault(other, []).append(spot[0])
        others = (*way.gone, *way.moved)
        turns[work] = replace(
            turn,
            outcome=turn.outcome if turn.placed else Outcome.EVICTS if others else Outcome.LATER,
            placed=(*turn.placed, *way.placed),
            refusal=None,
            evicted=(*turn.evicted, *way.gone),
            moved=(*turn.moved, *(Batch(other, tuple(own)) for other, own in moved.items())),
            action=name,
            is_cut=is_cut,
        )


def _go(session: Session, turns: dict[Work, Turn], work: Work, way: Way) -> None:
    """Lets pods of a gang come to nodes."""
    leaving = [(batch.work, pod) for batch in way.gone for pod in batch.pods]
    for other, pod in (*leaving, *((other, spot[0]) for other, spot in way.moved)):
        session.move(other, pod, None)
    for _, pod in leaving:
        pod.is_gone = True
    places = {spot[0]: spot for _, spot in way.moved}
    for other, (pod, node, _) in (*((work, spot) for spot in way.placed), *way.moved):
        session.move(other, pod, node)
    for other in dict.fromkeys((*(one for one, _ in leaving), *(one for one, _ in way.moved))):
        if other in turns and turns[other].placed:
            turn = turns[other]
            left = tuple(places.get(spot[0], spot) for spot in turn.placed if not spot[0].is_gone)
            turns[other] = replace(turn, placed=left) if left else Turn(other, Outcome.WAITS, asks=turn.asks)


_Action = Callable[[Session, Work, Sequence[Pod], Sequence[Work]], Search | None]


def _victims(session: Session, work: Work) -> Iterator[Work]:
    return (one for one in session.works if one.is_preemptible and one is not work and one.active)


def _consolidate(session: Session, work: Work, pods: Sequence[Pod], waiting: Sequence[Work]) -> Search | None:
    """By moving others to other nodes: only for what can be preempted itself, where there are enough free GPUs."""
    free = sum(session.space.free_of(name, GPU) for name, node in session.space.nodes.items() if node.is_ready)
    if not work.is_preemptible or free < sum(pod.asks.get(GPU, 0) for pod in pods):
        return None if not work.is_preemptible else Search(None)
    victims = list(_victims(session, work))
    found = Solver(session, work, victims, lambda _, __, gone: not gone, waiting).solve()
    return replace(found, is_cut=True) if len(victims) > MAX_MOVED else found


def _reclaim(session: Session, work: Work, pods: Sequence[Pod], waiting: Sequence[Work]) -> Search | None:
    """By what other queues hold."""
    standings = {name: session.standing(name) for name in session.tree.by_name}
    rules = partial(_Claim, session, standings)
    first = rules(work, pods).rules
    if not first.may_try:
        return None
    queues = {one.queue for one in _victims(session, work)} - {work.queue}
    giving = {queue for queue in queues if first.may_lose(queue)}
    victims = [one for one in _victims(session, work) if one.queue in giving]
    allows: Allows = lambda job, part, gone: rules(job, part).allows(gone)  # noqa: E731
    return Solver(session, work, victims, allows, waiting).solve()


def _preempt(session: Session, work: Work, pods: Sequence[Pod], waiting: Sequence[Work]) -> Search | None:
    """By what its own queue holds for work of lower priority."""
    refused = session.refusal(work, sum_of(pods))
    if refused is not None and refused.reason == "NonPreemptibleOverQuota":
        return Search(None)
    victims = [one for one in _victims(session, work) if one.queue == work.queue and one.priority < work.priority]
    return Solver(session, work, victims, lambda *_: True, waiting).solve()


class _Lost:
    """What a gang would give up."""

    def __init__(self, queue: str, asks: Amounts) -> None:
        self.queue, self.asks = queue, asks


class _Claim:
    """What pods of a gang may take from other queues."""

    queue: str

    def __init__(self, session: Session, standings: Mapping[str, Standing], work: Work, pods: Sequence[Pod]) -> None:
        self.queue, self.is_preemptible, self.asks = work.queue, work.is_preemptible, sum_of(pods)
        self.rules = Reclaim(session.tree, standings, self)

    def allows(self, gone: Sequence[Batch]) -> bool:
        """Whether all these may go: of a gang the pods that it does not need one by one, the others together."""
        lost = []
        for batch in gone:
            needed = sum(batch.work.least.values())
            lost += [_Lost(batch.work.queue, pod.amounts) for pod in batch.pods[needed:]]
            lost.append(_Lost(batch.work.queue, sum_of(batch.pods[:needed])))
        return self.rules.allows(lost)


class _Failed:
    """The gangs for which one action found nothing, of each kind the one that asks for least: KAI looks for nothing
    for another one that is no easier to place (minimal_job_comparison.go of pkg/scheduler/actions/common).
    """

    def __init__(self) -> None:
        self._least: dict[object, list[Asks]] = {}

    def covers(self, work: Work, *, has_queue: bool) -> bool:
        """Whether nothing was found for one of its kind, than which it is not easier to place."""
        known, own = self._least.get(_kind(work, has_queue=has_queue)), _waiting(work)
        if known is None or len(known) > len(own):
            return False
        return not any(_is_within(one, other) and one != other for one, other in zip(own, known, strict=False))

    def add(self, work: Work, *, has_queue: bool) -> None:
        """One that failed."""
        kind, own = _kind(work, has_queue=has_queue), _waiting(work)
        known = self._least.get(kind)
        if known is None or (len(own) <= len(known) and all(map(_is_within, own, known))):
            self._least[kind] = own


Asks = tuple[tuple[str, int], ...]


def _kind(work: Work, *, has_queue: bool) -> object:
    """Equal for gangs that differ in names, in how many pods wait, in what each asks for, and in no more."""
    wanted = work.wanted
    assert wanted is not None

    def parts(unit: Unit, above: tuple[object, ...]) -> Iterator[object]:
        levels = (unit.required, unit.preferred, *above)
        rules = {wanted.shapes[pod.shape].rules for pod in work.pods if pod.unit == unit.name and pod.shape is not None}
        if rules:
            yield levels, frozenset(rules)
        for item in unit.below:
            yield from parts(item, levels)

    return has_queue and work.queue, work.priority, work.levels, frozenset(Counter(parts(wanted.unit, ())).items())


def _waiting(work: Work) -> list[Asks]:
    """What each pod asks for that waits, sorted."""
    return sorted(tuple(sorted(pod.asks.items())) for pod in work.pods if pod.node is None and not pod.is_gone)


def _is_within(one: Asks, other: Asks) -> bool:
    most = dict(other)
    return all(amount <= most.get(name, 0) for name, amount in one)


def _explained(session: Session, turn: Turn, alone: Space, started: Sequence[Work]) -> Turn:
    """With what is in its way."""
    work = turn.work
    if turn.refusal is not None:
        return replace(turn, ahead=tuple(one.name for one in started if _counts(session, one, turn.refusal)))
    if turn.outcome is not Outcome.WAITS or work.wanted is None:
        return turn
    unit = with_pods(work.wanted.unit, work.next_pods())
    bound = place(alone.room_for(replace(work.wanted, unit=unit), work.levels), unit)
    if bound is None:
        return replace(turn, outcome=Outcome.NO_ROOM)
    nodes = {pod.node for pod in bound}
    return replace(turn, ahead=tuple(one.name for one in started if any(pod.node in nodes for pod in one.active)))


def _counts(session: Session, work: Work, refused: Refusal) -> bool:
    """Whether what a gang holds is part of why a queue may not hold another."""
    is_below = any(queue.name == refused.queue for queue in session.tree.chain(work.queue))
    counts = refused.reason == "OverLimit" or not work.is_preemptible
    return is_below and counts and sum_of(work.active).of(refused.resource) > 0
