"""The gangs that wait, taken in KAI's order against the same nodes: which start, which wait and for what, and which
work that can be preempted goes for them.

Follows one cycle of release 0.17 (pkg/scheduler/actions: allocate, reclaim and preempt, with job_order_by_queue.go):

- From the top of the tree down the queue that ``share.order`` puts first; in a leaf the gang of the highest priority,
  of these the oldest. What waits is taken for made in the order in which it is given.
- Fair shares are those at the start of the cycle. A gang that its queues may not hold, or for which KAI's order comes
  to no placement, takes nothing from those behind it.
- What is left then tries to reclaim from other queues, and after that to preempt work of its own queue. The gangs that
  could go are collected in the opposite order until there is room; those that can stay where they are then stay.

KAI also moves work aside without ending it (its action consolidation), takes single pods from a gang that has more than
it needs, and spares what has not run for the least runtime of its queue: none of that is looked at here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TypeVar

from kubectl_tas.place.held import Held, amounts_of
from kubectl_tas.place.nodes import Node
from kubectl_tas.place.order import Bound, place
from kubectl_tas.place.quotas import Refusal, refusal
from kubectl_tas.place.reclaim import Reclaim
from kubectl_tas.place.room import Space, Wanted
from kubectl_tas.place.share import QueueTree, Standing, fair_shares, order
from kubectl_tas.quantities import NOTHING, Amounts, total


@dataclass(frozen=True)
class Job:
    """A gang that waits."""

    name: str
    """Of its PodGroup."""
    queue: str
    """The leaf."""
    priority: int
    is_preemptible: bool
    wanted: Wanted
    levels: tuple[str, ...]
    """Node labels of its topology, from the coarsest."""

    @cached_property
    def asks(self) -> Amounts:
        """What all its pods ask for."""
        each = [amounts_of(dict(shape.asks)) for shape in self.wanted.shapes]
        return total(each[pod] for pod in self.wanted.unit.all_pods)

    @property
    def kind(self) -> object:
        """Equal for jobs that are the same but for their names."""
        return (
            self.queue,
            self.is_preemptible,
            replace(self.wanted, unit=replace(self.wanted.unit, name="")),
            self.levels,
        )


class Outcome(Enum):
    """What becomes of a gang when its turn comes."""

    STARTS = "starts"
    """There is room for it."""
    EVICTS = "evicts"
    """It starts as soon as others have gone."""
    WAITS = "waits"
    """It had room before others were placed."""
    NO_ROOM = "no-room"
    """KAI places it on no nodes that are free now, though it were alone."""
    REFUSED = "refused"
    """A queue may not hold it."""


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
    """Gangs that were placed before it: those on the nodes that it would have alone, or, where a queue may not hold it,
    those that this queue holds.
    """
    evicted: tuple[Held, ...] = ()
    """What goes for it."""
    is_reclaim: bool = False
    """Whether that is work of other queues, over their share."""


@dataclass(frozen=True)
class Pending:
    """The answer for all that waits for one scheduler."""

    total: Amounts
    """What its nodes have for its pods."""
    tree: QueueTree
    fair: Mapping[str, Amounts]
    """The fair share of each queue."""
    allocated: Mapping[str, Amounts]
    """What each queue held before."""
    requests: Mapping[str, Amounts]
    """What each asks for: what it held and what waits."""
    turns: tuple[Turn, ...]
    """In KAI's order."""


def pending(nodes: Sequence[Node], tree: QueueTree, jobs: Sequence[Job], held: Sequence[Held]) -> Pending:
    """What becomes of the jobs, which are given in the order of their age."""
    return _Cycle(nodes, tree, jobs, held).run()


_Entry = TypeVar("_Entry", bound=Job | Held)


def _rank(age: Mapping[str, int], entry: Job | Held) -> tuple[int, bool, object]:
    """Where a gang comes among those of its queue."""
    if isinstance(entry, Held):
        return -entry.priority, False, (entry.created, entry.name)
    return -entry.priority, True, age[entry.name]


@dataclass(frozen=True, slots=True)
class _Ordered:
    """A queue among those beside it."""

    standing: Standing
    total: Amounts

    def __lt__(self, other: _Ordered) -> bool:
        return order(self.standing, other.standing, self.total) < 0


class _Cycle:
    def __init__(self, nodes: Sequence[Node], tree: QueueTree, jobs: Sequence[Job], held: Sequence[Held]) -> None:
        self.nodes, self.tree, self.held = nodes, tree, [item for item in held if item.queue in tree.by_name]
        self.jobs = jobs
        self.age = {job.name: age for age, job in enumerate(jobs)}
        self.space = Space(nodes)
        self.allocated = tree.sums(_by_queue(self.held))
        self.fixed = tree.sums(_by_queue(item for item in self.held if not item.is_preemptible))
        self.requests = tree.sums(_by_queue([*self.held, *jobs]))
        self.total = capacity(nodes, held)
        self.fair = fair_shares(self.total, tree, _by_queue([*self.held, *jobs]))
        self.turns: dict[str, Turn] = {}
        self.started: list[Held] = []

    def run(self) -> Pending:
        before = dict(self.allocated)
        for job in self._in_order(self.jobs):
            self.turns[job.name] = self._allocate(job)
        for is_reclaim in (True, False):
            failed: set[object] = set()
            waiting = [job for job in self.jobs if self.turns[job.name].outcome not in (Outcome.STARTS, Outcome.EVICTS)]
            for job in self._in_order(waiting):
                if job.kind in failed:
                    continue
                turn = self._evict(job, is_reclaim=is_reclaim)
                if turn is None:
                    failed.add(job.kind)
                else:
                    self.turns[job.name] = turn
        alone = Space(self.nodes)
        turns = tuple(self._explained(turn, alone) for turn in self.turns.values())
        return Pending(self.total, self.tree, self.fair, before, self.requests, turns)

    def _in_order(self, entries: Iterable[_Entry]) -> Iterator[_Entry]:
        """Gangs as KAI takes them, by what queues hold at each time."""
        waiting: dict[str, list[_Entry]] = {}
        for entry in entries:
            waiting.setdefault(str(entry.queue), []).append(entry)
        for own in waiting.values():
            own.sort(key=lambda entry: _rank(self.age, entry), reverse=True)
        known: dict[str | None, _Entry | None] = {}
        while True:
            first = self._first(None, waiting, known)
            if first is None:
                return
            waiting[str(first.queue)].pop()
            yield first
            known.pop(None, None)
            for queue in self.tree.chain(str(first.queue)):
                known.pop(queue.name, None)

    def _first(
        self, above: str | None, waiting: Mapping[str, list[_Entry]], known: dict[str | None, _Entry | None]
    ) -> _Entry | None:
        """The gang that is next of a queue and all below it."""
        if above not in known:
            below = self.tree.below(above)
            own = waiting.get(above, []) if above else []
            if below:
                found = [(queue.name, self._first(queue.name, waiting, known)) for queue in below]
                standings = [(self.standing(name, item.asks), item) for name, item in found if item is not None]
                known[above] = min(standings, key=self._by_order)[1] if standings else None
            else:
                known[above] = own[-1] if own else None
        return known[above]

    def _by_order(self, one: tuple[Standing, object]) -> _Ordered:
        return _Ordered(one[0], self.total)

    def standing(self, queue: str, job: Amounts = NOTHING) -> Standing:
        """A queue as it is now, with what its next gang asks for."""
        return Standing(self.tree.by_name[queue], self.fair[queue], self.allocated[queue], self.fixed[queue], job)

    def _chain(self, queue: str) -> list[Standing]:
        return [self.standing(item.name) for item in self.tree.chain(queue)]

    def _allocate(self, job: Job) -> Turn:
        refused = self._refusal(job)
        if refused is not None:
            return Turn(job, Outcome.REFUSED, refusal=refused)
        bound = place(self.space.room_for(job.wanted, job.levels), job.wanted.unit)
        if bound is None:
            return Turn(job, Outcome.WAITS)
        self._start(job, bound)
        return Turn(job, Outcome.STARTS, bound)

    def _refusal(self, job: Job) -> Refusal | None:
        return refusal(self._chain(job.queue), job.asks, preemptible=job.is_preemptible)

    def _start(self, job: Job, bound: Sequence[Bound]) -> None:
        pods = tuple((pod.node, dict(job.wanted.shapes[pod.shape].asks)) for pod in bound)
        now = f"~{self.age[job.name]:09}"  # after every time that Kubernetes writes
        held = Held(job.name, job.queue, job.priority, job.is_preemptible, now, pods)
        self.started.append(held)
        self._hold(held)

    def _hold(self, held: Held) -> None:
        for node, asked in held.pods:
            self.space.take(node, asked)
        self._charge(held, 1)

    def _release(self, held: Held) -> None:
        for node, asked in held.pods:
            self.space.give_back(node, asked)
        self._charge(held, -1)

    def _charge(self, held: Held, sign: int) -> None:
        amounts = held.asks if sign > 0 else NOTHING - held.asks
        for queue in self.tree.chain(str(held.queue)):
            self.allocated[queue.name] += amounts
            if not held.is_preemptible:
                self.fixed[queue.name] += amounts

    def _evict(self, job: Job, *, is_reclaim: bool) -> Turn | None:
        """A job's start once others have gone; None where that helps nothing, or may not be."""
        rules = Reclaim(self.tree, {name: self.standing(name) for name in self.tree.by_name}, job)
        if not (rules.may_try if is_reclaim else self._within_quota(job)):
            return None
        victims = self._victims(job, rules if is_reclaim else None)
        least = bisect_left(range(len(victims) + 1), 1, key=lambda count: self._try(job, victims[:count]) is not None)
        found = self._try(job, victims[:least]) if least <= len(victims) else None
        if found is None:
            return None
        bound, gone = found
        if is_reclaim and not rules.allows(gone):
            return None
        for held in gone:
            self._release(held)
        self.held = [item for item in self.held if item not in gone]
        self.started = [item for item in self.started if item not in gone]
        self._start(job, bound)
        return Turn(job, Outcome.EVICTS, bound, evicted=tuple(gone), is_reclaim=is_reclaim)

    def _within_quota(self, job: Job) -> bool:
        found = self._refusal(job)
        return found is None or found.reason != "NonPreemptibleOverQuota"

    def _victims(self, job: Job, rules: Reclaim | None) -> list[Held]:
        """What could go for a job, first what goes first."""
        running = [item for item in (*self.held, *self.started) if item.is_preemptible]
        if rules is None:
            own = [item for item in running if item.queue == job.queue and item.priority < job.priority]
            return sorted(own, key=lambda item: _rank(self.age, item), reverse=True)
        others = [item for item in running if item.queue != job.queue and rules.may_lose(str(item.queue))]
        return list(self._last_first(others))

    def _last_first(self, running: Sequence[Held]) -> Iterator[Held]:
        """Gangs in the opposite order, by what queues hold without those that went before."""
        left: dict[str, list[Held]] = {}
        for item in running:
            left.setdefault(str(item.queue), []).append(item)
        for own in left.values():
            own.sort(key=lambda item: _rank(self.age, item))
        gone: dict[str, Amounts] = {}

        def last(above: str | None) -> Held | None:
            below = self.tree.below(above)
            if not below:
                return left[above][-1] if above and left.get(above) else None
            found = [(queue.name, last(queue.name)) for queue in below]
            standings = [
                (replace(self.standing(name), leaving=gone.get(str(item.queue), NOTHING) + item.asks), item)
                for name, item in found
                if item is not None
            ]
            return max(standings, key=self._by_order)[1] if standings else None

        while (next_ := last(None)) is not None:
            queue = str(next_.queue)
            left[queue].pop()
            gone[queue] = gone.get(queue, NOTHING) + next_.asks
            yield next_

    def _try(self, job: Job, victims: Sequence[Held]) -> tuple[tuple[Bound, ...], list[Held]] | None:
        """Where a job comes to when these have gone, and which of them cannot stay; all is as before afterwards."""
        if not victims:
            return None
        for held in victims:
            self._release(held)
        stay: list[Held] = []
        bound: tuple[Bound, ...] | None = None
        placed: Held | None = None
        entries: list[Job | Held] = [job, *victims]
        for entry in self._in_order(entries):
            if isinstance(entry, Held):
                if self._can_stay(entry):
                    self._hold(entry)
                    stay.append(entry)
                continue
            if self._refusal(job) is None:
                bound = place(self.space.room_for(job.wanted, job.levels), job.wanted.unit)
            if bound is None:
                break
            self._start(job, bound)
            placed = self.started.pop()
        for held in (*stay, *([placed] if placed else [])):
            self._release(held)
        for held in victims:
            self._hold(held)
        return None if bound is None else (bound, [held for held in victims if held not in stay])

    def _can_stay(self, held: Held) -> bool:
        """Whether all pods of a gang still have room where they are."""
        needed: dict[str, dict[str, int]] = {}
        for node, asked in held.pods:
            of_node = needed.setdefault(node, {})
            for name, amount in asked.items():
                of_node[name] = of_node.get(name, 0) + amount
        return all(self.space.has(node, asked) for node, asked in needed.items())

    def _explained(self, turn: Turn, alone: Space) -> Turn:
        """With what is in its way."""
        job = turn.job
        if turn.refusal is not None and turn.outcome is Outcome.REFUSED:
            ahead = (item.name for item in self.started if self._counts(item, turn.refusal))
            return replace(turn, ahead=tuple(ahead))
        if turn.outcome is not Outcome.WAITS:
            return turn
        bound = place(alone.room_for(job.wanted, job.levels), job.wanted.unit)
        if bound is None:
            return replace(turn, outcome=Outcome.NO_ROOM)
        nodes = {pod.node for pod in bound}
        ahead = (item.name for item in self.started if any(node in nodes for node, _ in item.pods))
        return replace(turn, ahead=tuple(ahead))

    def _counts(self, held: Held, refused: Refusal) -> bool:
        """Whether what a gang holds is part of why a queue may not hold another."""
        above = any(queue.name == refused.queue for queue in self.tree.chain(str(held.queue)))
        return (
            above and held.asks.of(refused.resource) > 0 and (refused.reason == "OverLimit" or not held.is_preemptible)
        )


def capacity(nodes: Iterable[Node], held: Iterable[Held]) -> Amounts:
    """What KAI divides: what nodes that are ready have for pods, less what pods hold there that are not its own
    (``getNodeResources`` of proportion.go, 0.17). Cordoned nodes count.
    """
    ready = {node.name: node for node in nodes if node.is_ready}
    own = (amounts_of(asked) for item in held for node, asked in item.pods if node in ready)
    return total(amounts_of(node.free) for node in ready.values()) + total(own)


def _by_queue(entries: Iterable[Job | Held]) -> dict[str, Amounts]:
    found: dict[str, Amounts] = {}
    for entry in entries:
        if entry.queue:
            found[entry.queue] = found.get(entry.queue, NOTHING) + entry.asks
    return found
