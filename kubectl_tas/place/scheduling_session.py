"""Simulates one scheduler: its nodes, its queues, and its gangs pod by pod.

Follows release 0.17 of pkg/scheduler: ``job_order_by_queue.go`` of actions/utils, the plugins proportion, priority,
elastic and subgrouporder, and ``allocation_info.go`` and ``eviction_info.go`` of api/podgroup_info. A gang below its
minimum gets all missing pods at once; above it, pods start and go one by one. Fair shares are those at the start.
"""

from __future__ import annotations

import sys
from bisect import insort
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import NOTHING, Amounts, total
from kubectl_tas.model.scheduler_settings import SchedulerSettings, default_settings
from kubectl_tas.place.fairshare import QueueTree, QuotaRefusal, Ranked, Standing, fair_shares, refusal
from kubectl_tas.place.kai_allocate import place
from kubectl_tas.place.node_cells import PlacementRequest, Space, Unit
from kubectl_tas.place.node_resources import Domain, NodeResources, Vector, domain_of
from kubectl_tas.place.queues import counted

BEFORE_ALL = datetime(1970, 1, 1)
MAX_ABOVE = 100
"""Deepest level of queues for which the order is computed."""


@dataclass(eq=False)
class SessionPod:
    """A pod of a gang."""

    name: str
    unit: str
    """Name of the gang or SubGroup that the pod is in."""
    asks: Vector
    shape: int | None = None
    """Index among the gang's shapes; None if nobody knows which nodes the pod may use."""
    node: str | None = None
    """The pod's node, or the node that it will get."""
    is_gone: bool = False
    """Whether KAI evicted the pod in this cycle."""

    @cached_property
    def amounts(self) -> Amounts:
        """Amounts of the pod that count toward quotas."""
        return counted(self.asks)


Age = tuple[bool, str, str]
"""Age of a gang: whether it was pending until now, its creation time, and its name."""


@dataclass(eq=False)
class Work:
    """A gang that runs, is pending, or both."""

    name: str
    """Name of the gang's PodGroup."""
    queue: str
    priority: int
    is_preemptible: bool
    age: Age
    pods: tuple[SessionPod, ...]
    """Pods in the order in which KAI starts them; KAI evicts them in reverse order."""
    least: Mapping[str, int]
    """Minimum of pods by unit, without which no pod starts."""
    request: PlacementRequest | None = None
    """Levels and shapes of the gang; None if nobody knows where else the gang may run."""
    levels: tuple[str, ...] = ()
    """Node labels of the gang's topology, coarsest first."""
    is_known: bool = True
    """Whether the minimum of the gang is known."""
    before: tuple[str, ...] = ()
    """Names of the gangs of the same object that must have started before the pods of this gang may start."""
    started: datetime | None = None
    """Time at which KAI last started the gang; None if it is pending, or if that is unknown."""
    delay_end: datetime | None = None
    """Time from which KAI evicts or moves other pods for the gang; None if it always does."""

    @property
    def is_elastic(self) -> bool:
        """Whether a unit has more pods than it needs."""
        has = Counter(pod.unit for pod in self.pods)
        return any(count > self.least.get(name, 0) for name, count in has.items())

    @property
    def has_started(self) -> bool:
        """Whether every unit has its minimum of pods."""
        has = Counter(pod.unit for pod in self.active)
        return bool(has) and all(has[name] >= least for name, least in self.least.items())

    @property
    def active(self) -> tuple[SessionPod, ...]:
        """Pods that have nodes."""
        return tuple(pod for pod in self.pods if pod.node is not None)

    @property
    def has_active(self) -> bool:
        """Whether any pod has a node."""
        return any(pod.node is not None for pod in self.pods)

    def next_pods(self) -> tuple[SessionPod, ...]:
        """Returns the pods that KAI starts next: all that the minimum lacks, none if too few exist, or else one."""
        has = Counter(pod.unit for pod in self.active)
        waiting = [pod for pod in self.pods if pod.node is None and not pod.is_gone]
        missing = {name: least - has[name] for name, least in sorted(self.least.items()) if has[name] < least}
        if missing:
            of_unit = {name: [pod for pod in waiting if pod.unit == name][:count] for name, count in missing.items()}
            is_short = any(len(of_unit[name]) < count for name, count in missing.items())
            return () if is_short else tuple(pod for pods in of_unit.values() for pod in pods)
        return tuple(sorted(waiting, key=lambda pod: self._fullness(has, pod.unit))[:1])

    def _fullness(self, has: Mapping[str, int], unit: str) -> tuple[bool, float, str]:
        """Returns the sort key of a SubGroup among the SubGroups that have their minimum."""
        least = self.least.get(unit, 0)
        return not least, has[unit] / (least or 1), unit

    def next_to_go(self, pods_left: Sequence[SessionPod]) -> tuple[SessionPod, ...]:
        """Returns the pods that go next of those in ``pods_left``: the last one beyond the minimum, or else all."""
        has = Counter(pod.unit for pod in pods_left)
        units = sorted(has, key=lambda name: self._fullness(has, name), reverse=True)
        surplus = next((name for name in units if has[name] > self.least.get(name, 0)), None)
        is_started = any(has[name] >= least for name, least in self.least.items())
        if surplus is None or not is_started:
            return tuple(reversed(pods_left))
        return (next(pod for pod in reversed(pods_left) if pod.unit == surplus),)

    def rank(self, pods_left: Sequence[SessionPod]) -> tuple[int, int, Age]:
        """Returns the gang's sort key in its queue, with these pods on nodes: priority, part of the minimum, age."""
        has = Counter(pod.unit for pod in pods_left)
        pairs = [(has[name], least) for name, least in self.least.items()]
        is_below = any(count < least for count, least in pairs)
        return -self.priority, 0 if is_below else 1 + any(count > least for count, least in pairs), self.age


class Spared(NamedTuple):
    """Work that KAI spares."""

    work: Work
    until: datetime
    field: str
    """Field of a queue that says so."""


@dataclass(frozen=True, eq=False)
class QueuedGang:
    """A gang in an ``Order``."""

    work: Work
    pods: tuple[SessionPod, ...]
    """Pods that the gang still has, in an order of eviction."""
    rank: tuple[int, int, Age]
    asks: Amounts
    """Resources that the gang asks for next, or would give back."""


@dataclass(frozen=True)
class ShardStart:
    """State with which one scheduler begins."""

    nodes: tuple[NodeResources, ...]
    total: Amounts
    """Resources to divide among the queues."""
    tree: QueueTree
    works: tuple[Work, ...]
    """Gangs with pods on the nodes, including gangs in unknown queues."""
    settings: SchedulerSettings = field(default_factory=default_settings, hash=False)
    now: datetime = BEFORE_ALL
    """The time in the cluster."""


Place = tuple[SessionPod, str, Domain | None]
"""A pod, its node, and the finest domain of the node."""


class SchedulingSession:
    """State of one scheduler while it works."""

    def __init__(self, start: ShardStart, waiting: Sequence[Work]) -> None:
        """Raises TasError if the queues are nested too deep."""
        above: dict[str | None, int] = {}
        for name, queue in start.tree.by_name.items():
            above[name] = above.get(queue.parent, 0) + 1
            if above[name] > MAX_ABOVE:
                message = f"the queue {name} lies more than {MAX_ABOVE} queues deep: the order of KAI is not told"
                raise TasError(message, hint="Lay the queues out flatter.")
        self.tree, self.total, self.space = start.tree, start.total, Space(start.nodes)
        self.settings, self.now = start.settings, start.now
        self.works = [*(work for work in start.works if work.queue in self.tree.by_name), *waiting]
        self.tries_left = sys.maxsize
        """Number of scenarios that may still be tried, for all gangs together."""
        self._matters: dict[frozenset[str], dict[str, bool]] = {}
        self._queued: dict[Work, QueuedGang | None] = {}
        """Each gang that waits, as an order takes it, until its pods change."""
        self.nominated: dict[SessionPod, Work] = {}
        """Pods that get their nodes once other pods have gone, with their gangs."""
        self.starters: set[SessionPod] = set()
        """The nominated pods that had no node before, so that they do not move."""
        self.occupied: dict[SessionPod, str] = {}
        """Nodes of starters that KAI evicts in the same cycle. There the pods count as pods that still have to go
        (``addTaskResources`` of node_info.go), so the node is no longer idle.
        """
        self.repeats: list[tuple[Work, Amounts]] = []
        """Amounts that queues of gangs seem not to hold until the cycle ends, since KAI took pods more than once."""
        self._standings: Mapping[str, Standing] | None = None
        self._places: dict[str, tuple[QueuedGang, Ranked]] = {}
        """The next gang of each queue, and the queue's rank with that gang, until the queue's holdings change."""
        self.signatures: dict[Work, object] = {}
        """For each gang the levels of its units and the rules of its pending pods, as they were at first. Gangs that
        agree in that are alike for KAI (scheduling_constraints_signature.go and podset.go of pkg/scheduler/api).
        """
        self._requested: dict[str, Amounts] = {}
        self._count(self.works)
        self.divide()
        pods = [(work, pod) for work in self.works for pod in work.pods]
        held = _by_queue((work.queue, pod.amounts) for work, pod in pods if pod.node)
        fixed = _by_queue((work.queue, pod.amounts) for work, pod in pods if pod.node and not work.is_preemptible)
        self.allocated, self._fixed = self.tree.sums(held), self.tree.sums(fixed)
        gone = [(pod.node, pod.asks) for work, pod in pods if pod.node and work.is_preemptible]
        self._emptied = Space(start.nodes)
        for node, asks in gone:
            self._emptied.give_back(node, asks)

    def admit(self, works: Iterable[Work]) -> None:
        """Adds gangs whose pods may start from now on, and divides the resources among the queues again."""
        works = list(works)
        self.works += works
        self._count(works)
        self.divide()

    def leave(self, work: Work, pod: SessionPod) -> None:
        """Takes a pod that has ended from its node."""
        if work.queue in self.tree.by_name:
            self.move(work, pod, None)
        elif pod.node is not None:  # no queue is charged for it, and its gang is not among those of the session
            for space in (self.space, self._emptied):
                space.give_back(pod.node, pod.asks)
            pod.node = None

    def returns(self, work: Work, pods: Collection[SessionPod] = ()) -> None:
        """Takes pods that were evicted for pods that wait. ``pods`` are made again, so they are the youngest."""
        if pods:
            work.pods = tuple(sorted(work.pods, key=set(pods).__contains__))
        self.signatures[work] = _signature(work)
        self.changes(work)

    def dismiss(self, work: Work, pods: Collection[SessionPod]) -> None:
        """Removes pods that nobody makes again, and a gang without further pods. ``divide`` must follow."""
        for pod in pods:
            if pod.node is not None:
                self.leave(work, pod)
        if work in self.signatures:
            self._requested[work.queue] -= sum_of(pods)
            if len(pods) == len(work.pods):
                self.works.remove(work)
        gone = set(pods)
        self.changes(work)
        work.pods = tuple(pod for pod in work.pods if pod not in gone)

    def _count(self, works: Sequence[Work]) -> None:
        for queue, amounts in _by_queue((work.queue, pod.amounts) for work in works for pod in work.pods).items():
            self._requested[queue] = self._requested.get(queue, NOTHING) + amounts

    def divide(self) -> None:
        """Divides the resources among the queues, as KAI does at the beginning of a cycle."""
        self.signatures |= {work: _signature(work) for work in self.works if work not in self.signatures}
        self.requests = self.tree.sums(self._requested)
        """Resources that each queue holds or waits for."""
        self.fair = fair_shares(self.total, self.tree, self._requested)
        self._places.clear()
        self._standings = None

    def standing(self, queue: str, job: Amounts = NOTHING) -> Standing:
        """Returns the current state of a queue, with what its next gang asks for."""
        return Standing(self.tree.by_name[queue], self.fair[queue], self.allocated[queue], self._fixed[queue], job)

    @property
    def standings(self) -> Mapping[str, Standing]:
        """The current state of all queues."""
        if self._standings is None:
            self._standings = {name: self.standing(name) for name in self.tree.by_name}
        return self._standings

    def ranked(self, queue: str, next_gang: QueuedGang) -> Ranked:
        """Returns the current rank of a queue, with its next gang."""
        cached = self._places.get(queue)
        if cached is None or cached[0] is not next_gang:
            cached = self._places[queue] = next_gang, Ranked(self.standing(queue, next_gang.asks), self.total)
        return cached[1]

    def refusal(self, work: Work, asks: Amounts) -> QuotaRefusal | None:
        """Returns the limit or quota that keeps a gang from more resources; None if no queue does."""
        chain = [self.standing(queue.name) for queue in self.tree.chain(work.queue)]
        return refusal(chain, asks, preemptible=work.is_preemptible)

    def move(self, work: Work, pod: SessionPod, node: str | None) -> None:
        """Gives a pod another node, or none, and charges the queues."""
        self._queued.pop(work, None)
        amounts, before = pod.amounts, pod.node
        if before is not None:
            self.space.give_back(before, pod.asks)
        if node is not None:
            self.space.take(node, pod.asks)
        if pod in self.starters:
            self._occupy(pod, before, node)
        if not work.is_preemptible:
            if before is not None:
                self._emptied.give_back(before, pod.asks)
            if node is not None:
                self._emptied.take(node, pod.asks)
        pod.node = node
        if (before is None) == (node is None):
            return
        self.charge(work, amounts * (-1 if node is None else 1))

    def _occupy(self, pod: SessionPod, before: str | None, node: str | None) -> None:
        occupied = self.occupied.get(pod)
        if occupied is None and before is not None and node is None:
            self.occupied[pod] = before
            self.space.occupy(before, pod.asks)
        elif occupied is not None and occupied == node:
            del self.occupied[pod]
            self.space.occupy(node, pod.asks, -1)

    def charge(self, work: Work, amounts: Amounts) -> None:
        """Lets the queues of a gang hold more, or less, than before."""
        self._standings = None
        for queue in self.tree.chain(work.queue):
            self._places.pop(queue.name, None)
            self.allocated[queue.name] += amounts
            if not work.is_preemptible:
                self._fixed[queue.name] += amounts

    def place(
        self, work: Work, pods: Sequence[SessionPod], among: Container[str] | None = None
    ) -> tuple[Place, ...] | None:
        """Returns nodes for further pods of a gang; None if KAI finds none. ``among`` limits the nodes."""
        return self._placed(self.space, work, pods, among)

    def fits_at_all(self, work: Work, pods: Sequence[SessionPod]) -> bool:
        """Whether KAI would place these pods if no preemptible work held resources."""
        return self._placed(self._emptied, work, pods) is not None

    def _placed(
        self, space: Space, work: Work, pods: Sequence[SessionPod], among: Container[str] | None = None
    ) -> tuple[Place, ...] | None:
        if work.request is None or any(pod.shape is None for pod in pods):
            return None
        if sum(pod.asks.get(GPU, 0) for pod in pods) > space.free_gpus:
            return None
        unit = with_pods(work.request.unit, pods)
        running_domains = dict(self._kept(work, work.request.unit))
        bound = place(space.room_for(replace(work.request, unit=unit), work.levels), unit, running_domains, among)
        if bound is None:
            return None
        unplaced: dict[str, list[SessionPod]] = {}
        for pod in reversed(pods):
            unplaced.setdefault(pod.unit, []).append(pod)
        return tuple((unplaced[bound_pod.unit].pop(), bound_pod.node, bound_pod.domain) for bound_pod in bound)

    def _kept(self, work: Work, unit: Unit) -> Iterator[tuple[str, frozenset[Domain]]]:
        """Yields for each unit with a required level the domains in which its pods run."""
        if not work.levels or not work.active:
            return
        for subtree in unit.units:
            names = {descendant.name for descendant in subtree.units}
            nodes = {pod.node for pod in work.active if pod.unit in names}
            if subtree.required is not None and nodes:
                domains = {domain_of(self.space.nodes[node], work.levels) for node in nodes if node in self.space.nodes}
                yield (
                    subtree.name,
                    frozenset(domain[: subtree.required + 1] for domain in domains if domain is not None),
                )

    def queued(self, work: Work) -> QueuedGang | None:
        """Returns a gang as an order takes it; None if KAI starts no further pods of it."""
        if work not in self._queued:
            pods = work.next_pods()
            rank = self.rank_of(work, work.active) if pods else None
            self._queued[work] = QueuedGang(work, work.active, rank, sum_of(pods)) if rank is not None else None
        return self._queued[work]

    def rank_of(self, work: Work, pods_left: Sequence[SessionPod]) -> tuple[int, int, Age]:
        """Returns a gang's sort key in its queue, as far as the scheduler has the plugins for it."""
        has, (priority, minimum, age) = self.settings.has, work.rank(pods_left)
        return priority if has("priority") else 0, minimum if has("elastic") else 0, age

    def changes(self, work: Work) -> None:
        """Takes note that other pods of a gang wait than before."""
        self._queued.pop(work, None)

    def that_matter(self, works: Sequence[Work], queues: Collection[str]) -> list[Work]:
        """Returns the pending gangs that can change the order of gangs of these queues: gangs in the same queues, and
        gangs below a queue that KAI compares with a sibling, if some of these queues are below both.
        """
        key = frozenset(queues)
        by_queue = self._matters.setdefault(key, {})
        chosen = []
        for work in works:
            matters = by_queue.get(work.queue)
            if matters is None:
                matters = by_queue[work.queue] = self._matter(work.queue, key)
            if matters:
                chosen.append(work)
        return chosen

    def _matter(self, queue: str, queues: Collection[str]) -> bool:
        chain = [above.name for above in self.tree.chain(queue)]
        if queue in queues:
            return True
        chains = [[above.name for above in self.tree.chain(name)] for name in queues]
        shared = next((depth for depth, name in enumerate(chain) if any(name in other for other in chains)), len(chain))
        levels = zip(chain[shared:], [*chain[shared + 1 :], None], strict=False)
        return any(
            any(name not in other and (above is None or above in other) for other in chains) for name, above in levels
        )

    def starting(self, works: Iterable[Work], most: int | None = None) -> Order:
        """Returns the order in which KAI starts gangs. ``most`` is the number of gangs that it tries of each queue."""
        order = Order(self, is_leaving=False)
        for work in works:
            order.push(work)
        order.keep_first(most)
        return order

    def leaving(self, works: Iterable[Work]) -> Order:
        """Returns the order in which KAI evicts gangs."""
        order = Order(self, is_leaving=True)
        for work in works:
            order.push(work)
        return order


def _signature(work: Work) -> object:
    placement_request = work.request
    if placement_request is None:
        return work

    def parts(unit: Unit, above: tuple[object, ...]) -> Iterator[object]:
        levels = (unit.required, unit.preferred, *above)
        rules = Counter(
            placement_request.shapes[pod.shape].rules
            for pod in work.pods
            if pod.unit == unit.name and pod.shape is not None and pod.node is None
        )
        if rules:
            yield levels, frozenset(rules.items())
        for inner_unit in unit.below:
            yield from parts(inner_unit, levels)

    return work.priority, work.levels, frozenset(Counter(parts(placement_request.unit, ())).items())


def with_pods(unit: Unit, pods: Sequence[SessionPod]) -> Unit:
    """Returns a unit with only these pods."""
    shapes = tuple(pod.shape for pod in pods if pod.unit == unit.name and pod.shape is not None)
    return replace(unit, pods=shapes, below=tuple(with_pods(child, pods) for child in unit.below))


class Order:
    """Gangs in the order in which KAI takes them, by what the queues hold at each time.

    Follows the heaps of ``job_order_by_queue.go``: KAI sorts a queue among its siblings only after it took a gang from
    there, or added one, and once the queue is the first one. It compares a queue by the next gang of the queue below
    that was first when KAI last looked there, even if that queue is no longer the first. Queues start out sorted here;
    in KAI their first order is that of a Go map.
    """

    def __init__(self, session: SchedulingSession, *, is_leaving: bool) -> None:
        self._session, self._is_leaving = session, is_leaving
        self._entries: dict[str, list[QueuedGang]] = {}
        self._firsts: dict[str | None, str] = {}
        """The first queue below each queue that has gangs; empty until the first gang is taken."""
        self._unsorted: set[str] = set()
        """Queues that KAI sorts anew among their siblings."""
        self._gone: dict[str, Amounts] = {}
        """Resources of gangs that this order has evicted already, by queue."""
        self._places: dict[str, Ranked] = {}

    def push(self, work: Work, pods: Sequence[SessionPod] | None = None) -> None:
        """Adds a gang. In an order of eviction, ``pods`` are the pods that the gang still has; otherwise the pods that
        the gang asks for.
        """
        if pods is None and not self._is_leaving:
            next_gang = self._session.queued(work)
        else:
            pods_left = work.active if pods is None or not self._is_leaving else tuple(pods)
            next_pods = pods_left if self._is_leaving else pods
            rank = self._session.rank_of(work, pods_left) if next_pods else None
            # KAI does not count what pods that wait for others to go would give back (AllocatedVector of job_info.go)
            promised = self._session.nominated if self._is_leaving else {}
            counted_pods = (pod for pod in next_pods or () if pod not in promised)
            next_gang = QueuedGang(work, pods_left, rank, sum_of(counted_pods)) if rank and next_pods else None
        if next_gang is None:
            return
        insort(self._entries.setdefault(work.queue, []), next_gang, key=attrgetter("rank"))
        if self._firsts:
            self._enter(work.queue)
            self._changes(work.queue)

    def keep_first(self, most: int | None) -> None:
        """Leaves out all but the first gang of each queue if ``most`` is 1. If it is more, KAI takes the first one and
        others by chance, in each cycle anew (priority_queue.go of pkg/scheduler/scheduler_util).
        """
        if most == 1:
            self._entries = {queue: gangs[:1] for queue, gangs in self._entries.items()}

    def pop(self) -> QueuedGang | None:
        """Removes and returns the next gang; None if no gang is left."""
        if not self._firsts:
            self._sort_all(None)
        queue = self._firsts.get(None)
        if queue is None:
            return None
        above = None
        while queue is not None:
            if queue in self._unsorted:
                self._unsorted.remove(queue)
                self._sort(above)
            else:
                above = queue
            queue = self._firsts.get(above)
        leaf = str(above)
        next_gang = self._entries[leaf].pop(-1 if self._is_leaving else 0)
        if self._is_leaving:
            self._gone[leaf] = self._gone.get(leaf, NOTHING) + next_gang.asks
        for emptied in self._session.tree.chain(leaf):
            if self._has_gangs(emptied.name):
                break
            self._unsorted.discard(emptied.name)
            self._sort(emptied.parent)
        self._changes(leaf)
        return next_gang

    def _has_gangs(self, queue: str) -> bool:
        return bool(self._entries.get(queue)) or queue in self._firsts

    def _changes(self, leaf: str) -> None:
        """Takes note that a queue has other gangs than before."""
        for above in self._session.tree.chain(leaf):
            self._places.pop(above.name, None)
            if self._has_gangs(above.name):
                self._unsorted.add(above.name)

    def _enter(self, leaf: str) -> None:
        """Puts a queue among its siblings if it had no gangs."""
        for queue in self._session.tree.chain(leaf):
            before = self._firsts.get(queue.parent)
            if before is None or (len(self._entries[leaf]) == 1 and self._is_before(queue.name, before)):
                self._firsts[queue.parent] = queue.name
            if before is not None:
                return

    def _sort_all(self, above: str | None) -> None:
        for queue in self._session.tree.below(above):
            self._sort_all(queue.name)
        self._sort(above)

    def _sort(self, above: str | None) -> None:
        """Looks anew which queue below is the first one."""
        self._firsts.pop(above, None)
        for queue in self._session.tree.below(above):
            before = self._firsts.get(above)
            if self._has_gangs(queue.name) and (before is None or self._is_before(queue.name, before)):
                self._firsts[above] = queue.name
        for queue in self._session.tree.chain(above) if above is not None else ():
            self._places.pop(queue.name, None)

    def _is_before(self, queue: str, sibling: str) -> bool:
        rank, sibling_rank = self._ranked(queue), self._ranked(sibling)
        return sibling_rank < rank if self._is_leaving else rank < sibling_rank

    def _ranked(self, name: str) -> Ranked:
        leaf = name
        while leaf in self._firsts:
            leaf = self._firsts[leaf]
        next_gang = self._entries[leaf][-1 if self._is_leaving else 0]
        if not self._is_leaving:
            return self._session.ranked(name, next_gang)
        if name not in self._places:
            lost = self._gone.get(leaf, NOTHING) + next_gang.asks
            self._places[name] = Ranked(replace(self._session.standing(name), leaving=lost), self._session.total)
        return self._places[name]


def sum_of(pods: Iterable[SessionPod]) -> Amounts:
    """Adds up what pods ask for."""
    return total(pod.amounts for pod in pods)


def asks_of(placement_request: PlacementRequest) -> Amounts:
    """Adds up what all pods of a gang ask for."""
    each = [counted(dict(shape.asks)) for shape in placement_request.shapes]
    return total(each[pod] for pod in placement_request.unit.all_pods)


def _by_queue(pairs: Iterable[tuple[str, Amounts]]) -> dict[str, Amounts]:
    sums: dict[str, Amounts] = {}
    for queue, amounts in pairs:
        sums[queue] = sums.get(queue, NOTHING) + amounts
    return sums
