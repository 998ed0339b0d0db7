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
from dataclasses import replace
from itertools import islice

from kubectl_tas.place.cycle import Cycle, Job, pods_of
from kubectl_tas.place.held import Held
from kubectl_tas.place.order import Bound
from kubectl_tas.place.reclaim import Reclaim
from kubectl_tas.records import dataclass

MAX_TRIES = 12
"""Sets of gangs with which it is tried to place one that waits, once it is known how many are enough."""


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


@dataclass(frozen=True, slots=True)
class Search:
    """What was found."""

    way: Way | None
    is_cut: bool = False
    """Whether there was more to look at: another way, or fewer gangs that go."""


def go(cycle: Cycle, job: Job, way: Way) -> None:
    """Lets a gang start."""
    for item in way.victims:
        cycle.release(item.held)
    cycle.hold(job.on(way.bound))
    for item in way.victims:
        if item.to is not None:
            cycle.hold(item.to)


def reclaim(cycle: Cycle, job: Job) -> Search | None:
    """How a gang starts by what other queues hold; None where KAI does not look for it."""
    rules = Reclaim(cycle.tree, {name: cycle.standing(name) for name in cycle.tree.by_name}, job)
    if not rules.may_try:
        return None
    queues = {item.queue for item in _preemptible(cycle)} - {job.queue}
    gives = {queue: rules.may_end(str(queue)) for queue in queues if rules.may_lose(str(queue))}
    # What may not be ended goes only where it finds other nodes, which is not known of what the repository has not.
    others = [item for item in _preemptible(cycle) if item.queue in gives and (item.asked or gives[item.queue])]
    return _search(cycle, job, others, rules)


def preempt(cycle: Cycle, job: Job) -> Search | None:
    """How a gang starts by what its own queue holds for work of lower priority; None where KAI does not look for it."""
    refused = cycle.refusal(job)
    if refused is not None and refused.reason == "NonPreemptibleOverQuota":
        return Search(None)
    own = [item for item in _preemptible(cycle) if item.queue == job.queue and item.priority < job.priority]
    return _search(cycle, job, own, None)


def _preemptible(cycle: Cycle) -> list[Held]:
    return [item for item in cycle.held.values() if item.is_preemptible]


def _search(cycle: Cycle, job: Job, others: Sequence[Held], rules: Reclaim | None) -> Search:
    """``rules``: what may go together; None: whatever is among the others."""
    if not others or not cycle.fits_at_all(job.asked):
        return Search(None)
    order, victims = cycle.last_first(others), list[Held]()
    least = 0
    while _place(cycle, job, victims) is None:
        if len(victims) == len(others):
            return Search(None)
        least = len(victims) + 1
        victims += islice(order, least)
    sets = range(len(victims) + 1)
    count = bisect_left(sets, 1, least, key=lambda count: _place(cycle, job, victims[:count]) is not None)
    tries, seen = _Tries(), set[tuple[str, ...]]()
    for more in range(count, len(others) + 1):
        if not tries.take():
            break
        victims += islice(order, max(0, more - len(victims)))
        found = _try(cycle, job, victims[:more])
        names = tuple(item.held.name for item in found.victims) if found else ()
        if found is None or names in seen:
            continue
        seen.add(names)
        fewest = _fewest(cycle, job, found, tries)
        if rules is None or rules.allows(fewest.gone):
            return Search(fewest, is_cut=tries.is_out)
    return Search(None, is_cut=tries.is_out)


def _place(cycle: Cycle, job: Job, gone: Sequence[Held]) -> tuple[Bound, ...] | None:
    """Where a gang comes to when these have gone; all is as before afterwards."""
    for held in gone:
        cycle.release(held)
    bound = None if cycle.refusal(job) else cycle.place(job.asked)
    for held in gone:
        cycle.hold(held)
    return bound


class _Tries:
    """How often it is tried to place a gang."""

    def __init__(self) -> None:
        self.left, self.is_out = MAX_TRIES, False

    def take(self) -> bool:
        """Whether there is another one."""
        self.is_out = not self.left
        self.left = max(0, self.left - 1)
        return not self.is_out


def _fewest(cycle: Cycle, job: Job, found: Way, tries: _Tries) -> Way:
    """A way without those that are not needed."""
    needed = [item.held for item in found.victims]
    for item in reversed(needed):
        if item in needed and tries.take():
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
    if held.asked is None:
        return None
    bound = cycle.place(held.asked)
    return None if bound is None else replace(held, pods=pods_of(held.asked.wanted, bound))


def _can_stay(cycle: Cycle, held: Held) -> bool:
    """Whether all pods of a gang still have room where they are."""
    needed: dict[str, Counter[str]] = {}
    for node, asked in held.pods:
        needed.setdefault(node, Counter()).update(asked)
    return all(cycle.space.has(node, asked) for node, asked in needed.items())
