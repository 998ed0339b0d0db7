"""One scheduler while it works: its nodes, its queues, and its gangs pod by pod.

Follows release 0.17 of pkg/scheduler: ``job_order_by_queue.go`` of actions/utils, the plugins proportion, priority,
elastic and subgrouporder, and ``allocation_info.go`` and ``eviction_info.go`` of api/podgroup_info. A gang that has
fewer pods than it needs starts with as many as are missing; one that has enough takes them one by one, and gives them
back one by one. Fair shares are those at the start.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter, itemgetter

from kubectl_tas.errors import TasError
from kubectl_tas.place.fairshare import QueueTree, Ranked, Refusal, Standing, fair_shares, refusal
from kubectl_tas.place.kai_allocate import place
from kubectl_tas.place.node_cells import Space, Unit, Wanted
from kubectl_tas.place.node_resources import Domain, Node, Vector, domain_of
from kubectl_tas.place.queues import counted
from kubectl_tas.quantities import NOTHING, Amounts, total
from kubectl_tas.records import dataclass

MAX_ABOVE = 100
"""Queues above one another in a cluster of which the order is told."""


@dataclass(eq=False)
class Pod:
    """A pod of a gang."""

    name: str
    unit: str
    """The gang, or the SubGroup that it is in."""
    asks: Vector
    shape: int | None = None
    """Its place among the gang's shapes; None where nobody knows which nodes it may use."""
    node: str | None = None
    """Where it is, or is to be."""
    is_gone: bool = False
    """Whether it was ended in this cycle."""

    @cached_property
    def amounts(self) -> Amounts:
        """What counts against quotas."""
        return counted(self.asks)


Age = tuple[bool, str, str]
"""Whether it waited until now, when it was made, and its name."""


@dataclass(eq=False)
class Work:
    """A gang that runs, or waits, or both."""

    name: str
    """Of its PodGroup."""
    queue: str
    priority: int
    is_preemptible: bool
    age: Age
    pods: tuple[Pod, ...]
    """In the order in which KAI takes them; the other way round they go."""
    least: Mapping[str, int]
    """The pods that are needed before any of it starts, by unit."""
    wanted: Wanted | None = None
    """Its levels and shapes; None where nobody knows where else it may run."""
    levels: tuple[str, ...] = ()
    """Node labels of its topology, from the coarsest."""
    is_known: bool = True
    """Whether it is known how many pods it needs."""

    @property
    def active(self) -> tuple[Pod, ...]:
        """Its pods that have nodes."""
        return tuple(pod for pod in self.pods if pod.node is not None)

    def next_pods(self) -> tuple[Pod, ...]:
        """The pods that KAI takes next: all that are missing to start, else one."""
        has = Counter(pod.unit for pod in self.active)
        waiting = [pod for pod in self.pods if pod.node is None and not pod.is_gone]
        missing = {name: least - has[name] for name, least in sorted(self.least.items()) if has[name] < least}
        if missing:
            of_unit = {name: [pod for pod in waiting if pod.unit == name][:count] for name, count in missing.items()}
            is_short = any(len(of_unit[name]) < count for name, count in missing.items())
            return () if is_short else tuple(pod for pods in of_unit.values() for pod in pods)
        return tuple(sorted(waiting, key=lambda pod: self._fullness(has, pod.unit))[:1])

    def _fullness(self, has: Mapping[str, int], unit: str) -> tuple[bool, float, str]:
        """Where a SubGroup comes among those that have enough pods."""
        least = self.least.get(unit, 0)
        return not least, has[unit] / (least or 1), unit

    def next_to_go(self, left: Sequence[Pod]) -> tuple[Pod, ...]:
        """Of the pods that are left those that go next: the last one that is not needed, else all."""
        has = Counter(pod.unit for pod in left)
        units = sorted(has, key=lambda name: self._fullness(has, name), reverse=True)
        surplus = next((name for name in units if has[name] > self.least.get(name, 0)), None)
        is_started = any(has[name] >= least for name, least in self.least.items())
        if surplus is None or not is_started:
            return tuple(reversed(left))
        return (next(pod for pod in reversed(left) if pod.unit == surplus),)

    def rank(self, left: Sequence[Pod]) -> tuple[int, int, Age]:
        """Where it comes among those of its queue, with these pods on nodes: by priority, by how much it has of what it
        needs, and by age.
        """
        has = Counter(pod.unit for pod in left)
        pairs = [(has[name], least) for name, least in self.least.items()]
        is_below = any(count < least for count, least in pairs)
        return -self.priority, 0 if is_below else 1 + any(count > least for count, least in pairs), self.age


@dataclass(frozen=True, eq=False)
class Entry:
    """A gang in an order."""

    work: Work
    pods: tuple[Pod, ...]
    """Those that it has left, where it is about what goes."""
    rank: tuple[int, int, Age]
    asks: Amounts
    """What it asks for next, or would give back."""


@dataclass(frozen=True)
class Start:
    """What one scheduler begins with."""

    nodes: tuple[Node, ...]
    total: Amounts
    """What it has to divide among the queues."""
    tree: QueueTree
    works: tuple[Work, ...]
    """The gangs with pods on the nodes, those in queues that are not known among them."""


Place = tuple[Pod, str, Domain | None]
"""A pod, its node, and the finest domain that this is in."""


class Session:
    """One scheduler at work."""

    def __init__(self, start: Start, waiting: Sequence[Work]) -> None:
        """Raises TasError where queues lie too deep below one another."""
        above: dict[str | None, int] = {}
        for name, queue in start.tree.by_name.items():
            above[name] = above.get(queue.parent, 0) + 1
            if above[name] > MAX_ABOVE:
                message = f"the queue {name} lies more than {MAX_ABOVE} queues deep: the order of KAI is not told"
                raise TasError(message, hint="Lay the queues out flatter.")
        self.tree, self.total, self.space = start.tree, start.total, Space(start.nodes)
        self.works = [*(work for work in start.works if work.queue in self.tree.by_name), *waiting]
        self._places: dict[str, tuple[Entry, Ranked]] = {}
        """Of each queue the gang that is next, and where that puts it, as long as nothing that it holds changes."""
        pods = [(work, pod) for work in self.works for pod in work.pods]
        asked = _by_queue((work.queue, pod.amounts) for work, pod in pods)
        held = _by_queue((work.queue, pod.amounts) for work, pod in pods if pod.node)
        fixed = _by_queue((work.queue, pod.amounts) for work, pod in pods if pod.node and not work.is_preemptible)
        self.requests = self.tree.sums(asked)
        """What each queue asks for: what it holds and what waits."""
        self.fair = fair_shares(self.total, self.tree, asked)
        self.allocated, self._fixed = self.tree.sums(held), self.tree.sums(fixed)
        gone = [(pod.node, pod.asks) for work, pod in pods if pod.node and work.is_preemptible]
        self._emptied = Space(start.nodes)
        for node, asks in gone:
            self._emptied.give_back(node, asks)

    def standing(self, queue: str, job: Amounts = NOTHING) -> Standing:
        """A queue as it is now, with what its next gang asks for."""
        return Standing(self.tree.by_name[queue], self.fair[queue], self.allocated[queue], self._fixed[queue], job)

    def ranked(self, queue: str, entry: Entry) -> Ranked:
        """A queue as it is now, with the gang that is next in it."""
        known = self._places.get(queue)
        if known is None or known[0] is not entry:
            known = self._places[queue] = entry, Ranked(self.standing(queue, entry.asks), self.total)
        return known[1]

    def refusal(self, work: Work, asks: Amounts) -> Refusal | None:
        """Why a queue may not hold more of a gang; None where all may."""
        chain = [self.standing(item.name) for item in self.tree.chain(work.queue)]
        return refusal(chain, asks, preemptible=work.is_preemptible)

    def move(self, work: Work, pod: Pod, node: str | None) -> None:
        """Gives a pod another node, or none, and charges its queues."""
        amounts, before = pod.amounts, pod.node
        if before is not None:
            self.space.give_back(before, pod.asks)
        if node is not None:
            self.space.take(node, pod.asks)
        pod.node = node
        if (before is None) == (node is None):
            return
        amounts = amounts * (-1 if node is None else 1)
        for queue in self.tree.chain(work.queue):
            self._places.pop(queue.name, None)
            self.allocated[queue.name] += amounts
            if not work.is_preemptible:
                self._fixed[queue.name] += amounts

    def place(self, work: Work, pods: Sequence[Pod], among: Container[str] | None = None) -> tuple[Place, ...] | None:
        """The nodes to which pods of a gang come by now, beside those that it has; None where KAI finds none."""
        return self._placed(self.space, work, pods, among)

    def fits_at_all(self, work: Work, pods: Sequence[Pod]) -> bool:
        """Whether KAI would place them if nothing were held that can be preempted."""
        return self._placed(self._emptied, work, pods) is not None

    def _placed(
        self, space: Space, work: Work, pods: Sequence[Pod], among: Container[str] | None = None
    ) -> tuple[Place, ...] | None:
        if work.wanted is None or any(pod.shape is None for pod in pods):
            return None
        unit = with_pods(work.wanted.unit, pods)
        kept = dict(self._kept(work, work.wanted.unit))
        bound = place(space.room_for(replace(work.wanted, unit=unit), work.levels), unit, kept, among)
        if bound is None:
            return None
        left: dict[str, list[Pod]] = {}
        for pod in reversed(pods):
            left.setdefault(pod.unit, []).append(pod)
        return tuple((left[one.unit].pop(), one.node, one.domain) for one in bound)

    def _kept(self, work: Work, unit: Unit) -> Iterator[tuple[str, frozenset[Domain]]]:
        """Of the units with a required level the domains in which pods of them are."""
        if not work.levels or not work.active:
            return
        for one in unit.units:
            names = {item.name for item in one.units}
            nodes = {pod.node for pod in work.active if pod.unit in names}
            if one.required is not None and nodes:
                found = {domain_of(self.space.nodes[node], work.levels) for node in nodes if node in self.space.nodes}
                yield one.name, frozenset(domain[: one.required + 1] for domain in found if domain is not None)

    def starting(self, works: Iterable[Work]) -> Order:
        """The order in which gangs start."""
        order = Order(self, is_leaving=False)
        for work in works:
            order.push(work)
        return order

    def leaving(self, works: Iterable[Work]) -> Order:
        """The order in which they go."""
        order = Order(self, is_leaving=True)
        for work in works:
            order.push(work)
        return order


def with_pods(unit: Unit, pods: Sequence[Pod]) -> Unit:
    """A unit with these pods alone."""
    own = tuple(pod.shape for pod in pods if pod.unit == unit.name and pod.shape is not None)
    return replace(unit, pods=own, below=tuple(with_pods(item, pods) for item in unit.below))


class Order:
    """Gangs as KAI takes them, by what queues hold at each time."""

    def __init__(self, session: Session, *, is_leaving: bool) -> None:
        self._session, self._is_leaving = session, is_leaving
        self._entries: dict[str, list[Entry]] = {}
        self._known: dict[str | None, Entry | None] = {}
        self._gone: dict[str, Amounts] = {}
        """What those of each queue hold that went before."""
        self._places: dict[str, Ranked] = {}

    def push(self, work: Work, pods: Sequence[Pod] | None = None) -> None:
        """Takes a gang in; ``pods`` are those that it has left, where it is about what goes, or else those that it asks
        for.
        """
        left = work.active if pods is None or not self._is_leaving else tuple(pods)
        asked = left if self._is_leaving else work.next_pods() if pods is None else pods
        if asked:
            entry = Entry(work, left, work.rank(left), sum_of(asked))
            insort(self._entries.setdefault(work.queue, []), entry, key=attrgetter("rank"))
            self._forget(work.queue)

    def pop(self) -> Entry | None:
        """The next one."""
        entry = self._first(None)
        if entry is None:
            return None
        queue = entry.work.queue
        self._entries[queue].remove(entry)
        if self._is_leaving:
            self._gone[queue] = self._gone.get(queue, NOTHING) + entry.asks
        self._forget(queue)
        return entry

    def _forget(self, queue: str) -> None:
        self._known.pop(None, None)
        for above in self._session.tree.chain(queue):
            self._known.pop(above.name, None)
            self._places.pop(above.name, None)

    def _first(self, above: str | None) -> Entry | None:
        """The gang that is next of a queue and all below it."""
        if above not in self._known:
            below = self._session.tree.below(above)
            found = [(queue.name, self._first(queue.name)) for queue in below]
            ranked = [(self._ranked(name, entry), entry) for name, entry in found if entry is not None]
            own = self._entries.get(above or "", ())
            if ranked:
                self._known[above] = (max if self._is_leaving else min)(ranked, key=itemgetter(0))[1]
            else:
                self._known[above] = own[-1 if self._is_leaving else 0] if own else None
        return self._known[above]

    def _ranked(self, name: str, entry: Entry) -> Ranked:
        if not self._is_leaving:
            return self._session.ranked(name, entry)
        if name not in self._places:
            lost = self._gone.get(entry.work.queue, NOTHING) + entry.asks
            self._places[name] = Ranked(replace(self._session.standing(name), leaving=lost), self._session.total)
        return self._places[name]


def sum_of(pods: Iterable[Pod]) -> Amounts:
    """What pods ask for in all."""
    return total(pod.amounts for pod in pods)


def asks_of(wanted: Wanted) -> Amounts:
    """What all pods of a gang ask for."""
    each = [counted(dict(shape.asks)) for shape in wanted.shapes]
    return total(each[pod] for pod in wanted.unit.all_pods)


def _by_queue(pairs: Iterable[tuple[str, Amounts]]) -> dict[str, Amounts]:
    found: dict[str, Amounts] = {}
    for queue, amounts in pairs:
        found[queue] = found.get(queue, NOTHING) + amounts
    return found
