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

from kubectl_tas.place.cycle import Cycle, Job, pods_of
from kubectl_tas.place.held import Held
from kubectl_tas.place.order import Bound
from kubectl_tas.place.reclaim import Reclaim

MAX_TRIES = 40
"""Sets of gangs that are tried for one that waits, beside those that find out how many it needs."""


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
    return _way(cycle, job, list(cycle.last_first(others)), rules)


def preempt(cycle: Cycle, job: Job) -> Way | None:
    """How a gang starts by what its own queue holds for work of lower priority; None where it does not, or may not."""
    refused = cycle.refusal(job)
    if refused is not None and refused.reason == "NonPreemptibleOverQuota":
        return None
    own = [item for item in _preemptible(cycle) if item.queue == job.queue and item.priority < job.priority]
    return _way(cycle, job, sorted(own, key=lambda item: item.rank, reverse=True), None)


def _preemptible(cycle: Cycle) -> list[Held]:
    return [item for item in cycle.held.values() if item.is_preemptible]


def _way(cycle: Cycle, job: Job, victims: Sequence[Held], rules: Reclaim | None) -> Way | None:
    """``rules``: what may go together; None: whatever is among the victims."""
    count = bisect_left(range(len(victims) + 1), 1, key=lambda count: _try(cycle, job, victims[:count]) is not None)
    for more in range(count, min(count + MAX_TRIES, len(victims) + 1)):
        found = _fewest(cycle, job, victims[:more])
        if found is not None and (rules is None or rules.allows(found.gone)):
            return found
    return None


def _fewest(cycle: Cycle, job: Job, victims: Sequence[Held]) -> Way | None:
    """Without those that are not needed."""
    found = _try(cycle, job, victims)
    needed = [item.held for item in found.victims] if found else []
    for item in list(reversed(needed))[:MAX_TRIES]:
        fewer = _try(cycle, job, [other for other in needed if other is not item])
        if fewer is not None:
            found, needed = fewer, [other.held for other in fewer.victims]
    return found


def _try(cycle: Cycle, job: Job, victims: Sequence[Held]) -> Way | None:
    """Where a gang comes to when these have gone, and what becomes of them; all is as before afterwards."""
    if not victims:
        return None
    for held in victims:
        cycle.release(held)
    there: list[Held] = []
    ended: list[Victim] = []
    bound: tuple[Bound, ...] | None = None
    entries: list[Job | Held] = [job, *victims]
    for entry in cycle.in_order(entries):
        if isinstance(entry, Job):
            bound = None if cycle.refusal(entry) else cycle.place(entry.asked)
            if bound is None:
                break
            again: Held | None = entry.on(bound)
        else:
            again = _again(cycle, entry)
            if again is None or again.nodes != entry.nodes:
                ended.append(Victim(entry, again))
        if again is not None:
            there.append(again)
            cycle.hold(again)
    for held in there:
        cycle.release(held)
    for held in victims:
        cycle.hold(held)
    return None if bound is None else Way(bound, tuple(ended))


def _again(cycle: Cycle, held: Held) -> Held | None:
    """A gang once it has nodes again: KAI's choice, or, where it is not known what it needs, those that it had."""
    if held.asked is None:
        return held if _can_stay(cycle, held) else None
    bound = None if cycle.refusal(held) else cycle.place(held.asked)
    return None if bound is None else replace(held, pods=pods_of(held.asked.wanted, bound))


def _can_stay(cycle: Cycle, held: Held) -> bool:
    """Whether all pods of a gang still have room where they are."""
    needed: dict[str, Counter[str]] = {}
    for node, asked in held.pods:
        needed.setdefault(node, Counter()).update(asked)
    return all(cycle.space.has(node, asked) for node, asked in needed.items())
