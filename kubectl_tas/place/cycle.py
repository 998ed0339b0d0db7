"""The nodes and queues of one scheduler while it goes through what waits: what is free, what each queue holds, and
which gang is next.

Follows release 0.17: ``job_order_by_queue.go`` of pkg/scheduler/actions/utils, and the plugins priority and proportion.
From the top of the tree down the queue that ``share.Ranked`` puts first; in a leaf the gang of the highest priority, of
these the oldest. Fair shares are those at the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from typing import TypeVar

from kubectl_tas.errors import TasError
from kubectl_tas.place.held import Asked, Held
from kubectl_tas.place.nodes import Node, Vector
from kubectl_tas.place.order import Bound, place
from kubectl_tas.place.quotas import Refusal, refusal
from kubectl_tas.place.room import Space, Wanted
from kubectl_tas.place.share import QueueTree, Ranked, Standing, fair_shares
from kubectl_tas.place.totals import counted
from kubectl_tas.quantities import NOTHING, Amounts, total
from kubectl_tas.records import dataclass


@dataclass(frozen=True)
class Job:
    """A gang that waits."""

    name: str
    """Of its PodGroup."""
    queue: str
    """The leaf."""
    priority: int
    is_preemptible: bool
    asked: Asked
    age: int = 0
    """Its place among those that wait, the oldest first."""

    @cached_property
    def asks(self) -> Amounts:
        """What all its pods ask for."""
        return asks_of(self.asked.wanted)

    @property
    def rank(self) -> tuple[int, bool, tuple[str, str]]:
        """Where it comes among those of its queue."""
        return -self.priority, True, (f"{self.age:09}", self.name)

    def on(self, bound: Iterable[Bound]) -> Held:
        """The same once its pods are on nodes: newer than all that were there before."""
        created, pods = f"{self.age:09}", pods_of(self.asked.wanted, bound)
        return Held(self.name, self.queue, self.priority, self.is_preemptible, created, pods, self.asked, is_new=True)


@dataclass(frozen=True)
class Start:
    """What one scheduler begins with."""

    nodes: tuple[Node, ...]
    total: Amounts
    """What it has to divide among the queues."""
    tree: QueueTree
    held: tuple[Held, ...]
    """The gangs with pods on the nodes."""


MAX_ABOVE = 100
"""Queues above one another in a cluster of which the order is told."""
_Entry = TypeVar("_Entry", bound=Job | Held)


class Cycle:
    """One scheduler at work."""

    def __init__(self, start: Start, jobs: Sequence[Job]) -> None:
        """Raises TasError where queues lie too deep below one another."""
        above: dict[str | None, int] = {}
        for name, queue in start.tree.by_name.items():
            above[name] = above.get(queue.parent, 0) + 1
            if above[name] > MAX_ABOVE:
                message = f"the queue {name} lies more than {MAX_ABOVE} queues deep: the order of KAI is not told"
                raise TasError(message, hint="Lay the queues out flatter.")
        self.tree, self.total, self.space = start.tree, start.total, Space(start.nodes)
        held = [item for item in start.held if item.queue in self.tree.by_name]
        self._nodes, self._held_before = start.nodes, held
        self._at_all: dict[object, bool] = {}
        self._places: dict[str, tuple[Job | Held, Ranked]] = {}
        """Of each queue the gang that is next, and where that puts it, as long as nothing that it holds changes."""
        self.held = {item.name: item for item in held}
        """By the name of the PodGroup: those of its queues."""
        requests = by_queue([*held, *jobs])
        self.requests = self.tree.sums(requests)
        """What each queue asks for: what it holds and what waits."""
        self.fair = fair_shares(self.total, self.tree, requests)
        self.allocated = self.tree.sums(by_queue(held))
        self._fixed = self.tree.sums(by_queue(item for item in held if not item.is_preemptible))

    def in_order(self, entries: Iterable[_Entry]) -> Iterator[_Entry]:
        """Gangs as KAI takes them, by what queues hold at each time."""
        waiting: dict[str, list[_Entry]] = {}
        for entry in entries:
            waiting.setdefault(str(entry.queue), []).append(entry)
        for own in waiting.values():
            own.sort(key=lambda entry: entry.rank, reverse=True)
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
                ranked = [(self._ranked(name, item), item) for name, item in found if item is not None]
                known[above] = min(ranked, key=itemgetter(0))[1] if ranked else None
            else:
                known[above] = own[-1] if own else None
        return known[above]

    def last_first(self, held: Iterable[Held]) -> Iterator[Held]:
        """Gangs in the opposite order, by what queues hold without those that went before."""
        left: dict[str, list[Held]] = {}
        for item in held:
            left.setdefault(str(item.queue), []).append(item)
        for own in left.values():
            own.sort(key=lambda item: item.rank)
        gone: dict[str, Amounts] = {}
        known: dict[str | None, Held | None] = {}
        places: dict[str, Ranked] = {}

        def last(above: str | None) -> Held | None:
            if above not in known:
                below = self.tree.below(above)
                found = [(queue.name, last(queue.name)) for queue in below]
                ranked = [(leaving(name, item), item) for name, item in found if item is not None]
                own = left[above][-1] if above and left.get(above) else None
                known[above] = max(ranked, key=itemgetter(0))[1] if ranked else own
            return known[above]

        def leaving(name: str, item: Held) -> Ranked:
            if name not in places:
                lost = gone.get(str(item.queue), NOTHING) + item.asks
                places[name] = Ranked(replace(self.standing(name), leaving=lost), self.total)
            return places[name]

        while (next_ := last(None)) is not None:
            queue = str(next_.queue)
            left[queue].pop()
            gone[queue] = gone.get(queue, NOTHING) + next_.asks
            yield next_
            known.pop(None, None)
            for above in self.tree.chain(queue):
                known.pop(above.name, None)
                places.pop(above.name, None)

    def _ranked(self, queue: str, entry: Job | Held) -> Ranked:
        """A queue as it is now, with the gang that is next in it."""
        known = self._places.get(queue)
        if known is None or known[0] is not entry:
            known = self._places[queue] = entry, Ranked(self.standing(queue, entry.asks), self.total)
        return known[1]

    def standing(self, queue: str, job: Amounts = NOTHING) -> Standing:
        """A queue as it is now, with what its next gang asks for."""
        return Standing(self.tree.by_name[queue], self.fair[queue], self.allocated[queue], self._fixed[queue], job)

    def refusal(self, job: Job | Held) -> Refusal | None:
        """Why a queue may not hold a gang; None where all may."""
        chain = [self.standing(item.name) for item in self.tree.chain(str(job.queue))]
        return refusal(chain, job.asks, preemptible=job.is_preemptible)

    def place(self, asked: Asked) -> tuple[Bound, ...] | None:
        """The nodes to which the pods of a gang come by now; None where KAI finds none."""
        return place(self.space.room_for(asked.wanted, asked.levels), asked.wanted.unit)

    def fits_at_all(self, asked: Asked) -> bool:
        """Whether KAI would place a gang if nothing were held that can be preempted."""
        key = replace(asked.wanted, unit=replace(asked.wanted.unit, name="")), asked.levels
        if key not in self._at_all:
            self._at_all[key] = place(self._emptied.room_for(asked.wanted, asked.levels), asked.wanted.unit) is not None
        return self._at_all[key]

    @cached_property
    def _emptied(self) -> Space:
        space = Space(self._nodes)
        for held in self._held_before:
            for node, asked in held.pods if held.is_preemptible else ():
                space.give_back(node, asked)
        return space

    def hold(self, held: Held) -> None:
        """Takes the nodes of a gang, and charges its queues."""
        self.held[held.name] = held
        for node, asked in held.pods:
            self.space.take(node, asked)
        self._charge(held, held.asks)

    def release(self, held: Held) -> None:
        """The opposite."""
        del self.held[held.name]
        for node, asked in held.pods:
            self.space.give_back(node, asked)
        self._charge(held, held.asks * -1)

    def _charge(self, held: Held, amounts: Amounts) -> None:
        for queue in self.tree.chain(str(held.queue)):
            self._places.pop(queue.name, None)
            self.allocated[queue.name] += amounts
            if not held.is_preemptible:
                self._fixed[queue.name] += amounts


def asks_of(wanted: Wanted) -> Amounts:
    """What all pods of a gang ask for."""
    each = [counted(dict(shape.asks)) for shape in wanted.shapes]
    return total(each[pod] for pod in wanted.unit.all_pods)


def pods_of(wanted: Wanted, bound: Iterable[Bound]) -> tuple[tuple[str, Vector], ...]:
    """The node of each pod, and what it takes there."""
    return tuple((pod.node, dict(wanted.shapes[pod.shape].asks)) for pod in bound)


def by_queue(entries: Iterable[Job | Held]) -> dict[str, Amounts]:
    """What gangs ask for or hold, by leaf."""
    found: dict[str, Amounts] = {}
    for entry in entries:
        if entry.queue:
            found[entry.queue] = found.get(entry.queue, NOTHING) + entry.asks
    return found
