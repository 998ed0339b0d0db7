"""Which work goes for a gang that waits: KAI's actions reclaim, which takes from other queues, and preempt, which takes
from its own.

The gangs that may go are collected in the order that is opposite to that of starting (release 0.17:
``getOrderedVictimsQueue`` of pkg/scheduler/actions/reclaim and preempt) until there is room. Then those that are not
needed are spared, the last of them first, and of the others those stay that still have room where they are. KAI comes
to as few by trying nodes one by one (pkg/scheduler/plugins/nodelocalgreedy, multinodegang): which of several that would
do it takes is not known here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from kubectl_tas.place.cycle import Cycle, Job, pods_of
from kubectl_tas.place.held import Held
from kubectl_tas.place.order import Bound
from kubectl_tas.place.reclaim import Reclaim

MAX_SETS = 2
"""Sets of gangs that are looked at for one that waits, where not all that have room may go."""
MAX_SPARED = 12
"""Gangs of a set that it is tried to spare."""


@dataclass(frozen=True, slots=True)
class Victim:
    """A gang that is ended."""

    held: Held
    to: Held | None
    """The same on other nodes; None where it finds none."""


@dataclass(frozen=True, slots=True)
class Way:
    """How a gang could start."""

    bound: tuple[Bound, ...]
    victims: tuple[Victim, ...]

    @property
    def gone(self) -> tuple[Held, ...]:
        """What finds no other nodes."""
        return tuple(item.held for item in self.victims if item.to is None)


def go(cycle: Cycle, job: Job, way: Way) -> None:
    """Lets a gang start."""
    for item in way.victims:
        cycle.release(item.held)
    cycle.hold(job.on(way.bound))
    for item in way.victims:
        if item.to is not None:
            cycle.hold(item.to)


def reclaim(cycle: Cycle, job: Job) -> Way | None:
    """How a gang starts by what other queues hold; None where it does not, or may not."""
    rules = Reclaim(cycle.tree, {name: cycle.standing(name) for name in cycle.tree.by_name}, job)
    if not rules.may_try:
        return None
    others = [item for item in _preemptible(cycle) if item.queue != job.queue and rules.may_lose(str(item.queue))]
    return _way(cycle, job, others, rules) if others else None


def preempt(cycle: Cycle, job: Job) -> Way | None:
    """How a gang starts by what its own queue holds for work of lower priority; None where it does not, or may not."""
    refused = cycle.refusal(job)
    if refused is not None and refused.reason == "NonPreemptibleOverQuota":
        return None
    own = [item for item in _preemptible(cycle) if item.queue == job.queue and item.priority < job.priority]
    return _way(cycle, job, own, None) if own else None


def _preemptible(cycle: Cycle) -> list[Held]:
    return [item for item in cycle.held.values() if item.is_preemptible]


def _way(cycle: Cycle, job: Job, others: Sequence[Held], rules: Reclaim | None) -> Way | None:
    """``rules``: what may go together; None: whatever is among the others."""
    if not cycle.fits_at_all(job.asked) or _place(cycle, job, others) is None:
        return None
    in_order, victims = cycle.last_first(others), list[Held]()
    least = 0
    while _place(cycle, job, victims) is None:
        least = len(victims) + 1
        victims += islice(in_order, least)
    sets = range(len(victims) + 1)
    count = bisect_left(sets, 1, least, key=lambda count: _place(cycle, job, victims[:count]) is not None)
    victims += islice(in_order, max(0, count + MAX_SETS - len(victims)))
    for more in range(count, min(count + MAX_SETS, len(victims) + 1)):
        found = _fewest(cycle, job, victims[:more])
        if found is not None and (rules is None or rules.allows(found.gone)):
            return found
    return None


def _place(cycle: Cycle, job: Job, gone: Sequence[Held]) -> tuple[Bound, ...] | None:
    """Where a gang comes to when these have gone; all is as before afterwards."""
    for held in gone:
        cycle.release(held)
    bound = None if cycle.refusal(job) else cycle.place(job.asked)
    for held in gone:
        cycle.hold(held)
    return bound


def _fewest(cycle: Cycle, job: Job, victims: Sequence[Held]) -> Way | None:
    """Without those that are not needed."""
    found = _try(cycle, job, victims)
    needed = [item.held for item in found.victims] if found else []
    for item in list(reversed(needed))[:MAX_SPARED]:
        fewer = _try(cycle, job, [other for other in needed if other is not item])
        if fewer is not None:
            found, needed = fewer, [other.held for other in fewer.victims]
    return found


def _try(cycle: Cycle, job: Job, victims: Sequence[Held]) -> Way | None:
    """Where a gang comes to when these have gone, and what becomes of them, the last first; all is as before
    afterwards.
    """
    if not victims:
        return None
    for held in victims:
        cycle.release(held)
    there: list[Held] = []
    ended: list[Victim] = []
    bound = None if cycle.refusal(job) else cycle.place(job.asked)
    if bound is not None:
        there.append(job.on(bound))
        cycle.hold(there[0])
        for held in reversed(victims):
            again = _again(cycle, held)
            if again is None or again.nodes != held.nodes:
                ended.append(Victim(held, again))
            if again is not None:
                there.append(again)
                cycle.hold(again)
    for held in there:
        cycle.release(held)
    for held in victims:
        cycle.hold(held)
    return None if bound is None else Way(bound, tuple(ended))


def _again(cycle: Cycle, held: Held) -> Held | None:
    """A gang once it has nodes again: those that it had, or, where it is known what it needs, others."""
    if cycle.refusal(held):
        return None
    if _can_stay(cycle, held):
        return held
    bound = cycle.place(held.asked) if held.asked else None
    return replace(held, pods=pods_of(held.asked.wanted, bound)) if held.asked and bound is not None else None


def _can_stay(cycle: Cycle, held: Held) -> bool:
    """Whether all pods of a gang still have room where they are."""
    needed: dict[str, Counter[str]] = {}
    for node, asked in held.pods:
        needed.setdefault(node, Counter()).update(asked)
    return all(cycle.space.has(node, asked) for node, asked in needed.items())
