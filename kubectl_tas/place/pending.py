"""The gangs that wait, taken in KAI's order against the same nodes: which start, which wait and for what, and which
work that can be preempted goes for them.

Follows the actions of release 0.17 (pkg/scheduler/actions) in their order: allocate, reclaim, preempt, and allocate
once more, as in the next cycle. A gang that its queues may not hold, or for which KAI's order comes to no placement,
takes nothing from those behind it. KAI also moves work aside to make room (its action consolidation), takes single pods
from a gang that has more than it needs, and spares what has not run for the least runtime of its queue: none of that is
looked at here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import Enum

from kubectl_tas.place.cycle import Cycle, Job, Start
from kubectl_tas.place.failed import Failed
from kubectl_tas.place.held import Held
from kubectl_tas.place.nodes import domain_of
from kubectl_tas.place.order import Bound, place
from kubectl_tas.place.quotas import Refusal
from kubectl_tas.place.room import Space
from kubectl_tas.place.victims import go, preempt, reclaim
from kubectl_tas.quantities import Amounts
from kubectl_tas.records import dataclass


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

    job: Job
    outcome: Outcome
    pods: tuple[Bound, ...] = ()
    """Where its pods come to; empty where it does not start."""
    refusal: Refusal | None = None
    """Why a queue may not hold it."""
    ahead: tuple[str, ...] = ()
    """Gangs that come before it: those on the nodes that it would have alone, or, where a queue may not hold it, those
    that this queue holds.
    """
    evicted: tuple[Held, ...] = ()
    """What goes for it."""
    moved: tuple[Held, ...] = ()
    """What is ended for it, and finds room elsewhere at once."""
    is_reclaim: bool = False
    """Whether that is work of other queues."""
    is_cut: bool = False
    """Whether there was more to look at than was looked at: another way to make room, or fewer gangs that go."""


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


def pending(start: Start, jobs: Sequence[Job]) -> Pending:
    """What becomes of the jobs."""
    sent = [job for job in jobs if start.tree.is_leaf(job.queue)]
    lost = [Turn(job, Outcome.NO_QUEUE) for job in jobs if not start.tree.is_leaf(job.queue)]
    cycle = Cycle(start, sent)
    before = dict(cycle.allocated)
    turns = {job.name: _allocate(cycle, job, Outcome.STARTS) for job in cycle.in_order(sent)}
    _evict(cycle, turns)
    if any(turn.outcome is Outcome.EVICTS for turn in turns.values()):
        for job in cycle.in_order(_waiting(turns)):
            turn = _allocate(cycle, job, Outcome.LATER)
            turns[job.name] = replace(turn, is_cut=turns[job.name].is_cut and not turn.pods)
    alone = Space(start.nodes)
    found = tuple(_explained(cycle, turn, alone) for turn in turns.values())
    return Pending(start, cycle.fair, before, cycle.requests, (*found, *lost))


def _waiting(turns: Mapping[str, Turn]) -> list[Job]:
    return [turn.job for turn in turns.values() if not turn.pods]


def _allocate(cycle: Cycle, job: Job, outcome: Outcome) -> Turn:
    refused = cycle.refusal(job)
    if refused is not None:
        return Turn(job, Outcome.REFUSED, refusal=refused)
    bound = cycle.place(job.asked)
    if bound is None:
        return Turn(job, Outcome.WAITS)
    cycle.hold(job.on(bound))
    return Turn(job, outcome, bound)


def _evict(cycle: Cycle, turns: dict[str, Turn]) -> None:
    for action in (reclaim, preempt):
        failed = Failed()
        for job in cycle.in_order(_waiting(turns)):
            found = failed.covering(job)
            if found is None:
                found = action(cycle, job)
                if found is not None and found.way is None:
                    failed.add(job, found)
            if found is None:
                continue
            if found.way is None:
                turns[job.name] = replace(turns[job.name], is_cut=found.is_cut or turns[job.name].is_cut)
                continue
            way = found.way
            go(cycle, job, way)
            for item in way.victims:
                if item.held.is_new:
                    turns[item.held.name] = _ended(cycle, turns[item.held.name], item.to)
            moved = tuple(item.held for item in way.victims if item.to is not None)
            turn = Turn(job, Outcome.EVICTS, way.bound, evicted=way.gone, moved=moved, is_cut=found.is_cut)
            turns[job.name] = replace(turn, is_reclaim=action is reclaim)


def _ended(cycle: Cycle, turn: Turn, to: Held | None) -> Turn:
    """The turn of a gang that started in this cycle, and goes for another one; ``to``: where it finds room again."""
    if to is None:
        return Turn(turn.job, Outcome.WAITS)
    levels, nodes = turn.job.asked.levels, cycle.space.nodes
    pairs = zip(turn.pods, to.pods, strict=True)
    pods = (replace(pod, node=node, domain=domain_of(nodes[node], levels)) for pod, (node, _) in pairs)
    return replace(turn, pods=tuple(pods))


def _explained(cycle: Cycle, turn: Turn, alone: Space) -> Turn:
    """With what is in its way."""
    job, started = turn.job, [item for item in cycle.held.values() if item.is_new]
    if turn.refusal is not None:
        return replace(turn, ahead=tuple(item.name for item in started if _counts(cycle, item, turn.refusal)))
    if turn.outcome is not Outcome.WAITS:
        return turn
    wanted = job.asked.wanted
    bound = place(alone.room_for(wanted, job.asked.levels), wanted.unit)
    if bound is None:
        return replace(turn, outcome=Outcome.NO_ROOM)
    nodes = {pod.node for pod in bound}
    return replace(turn, ahead=tuple(item.name for item in started if any(node in nodes for node, _ in item.pods)))


def _counts(cycle: Cycle, held: Held, refused: Refusal) -> bool:
    """Whether what a gang holds is part of why a queue may not hold another."""
    is_below = any(queue.name == refused.queue for queue in cycle.tree.chain(str(held.queue)))
    counts = refused.reason == "OverLimit" or not held.is_preemptible
    return is_below and counts and held.asks.of(refused.resource) > 0
