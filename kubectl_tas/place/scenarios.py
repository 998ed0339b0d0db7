"""Searches the pods that KAI evicts for a pending gang. KAI tries scenarios: each one takes pods of other gangs away,
and places these pods and the gang anew.

Follows release 0.17: ``job_solver.go``, ``by_pod_solver.go``, ``pod_scenario_builder.go`` and
``sub_scenario_emitter.go`` of pkg/scheduler/actions/common/solvers, and the plugins nodelocalgreedy and multinodegang.
KAI seeks room for one pod of the gang, then for two, four and so on up to all. What KAI took for fewer pods, it takes
for more. A pod that finds room on its old node stays there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import field
from heapq import nlargest
from itertools import accumulate
from typing import NamedTuple, Protocol

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import GPU, Gpus
from kubectl_tas.place.scheduling_session import Place, SchedulingSession, SessionPod, Spared, Work, sum_of

MAX_TRIES = 200
"""Most scenarios that are tried for one gang in one action."""


@json_fields(
    "podGroup=work.name queue=work.queue priority=work.priority gpus pods=known_names podCount=pods.len "
    "podsOfGang=work.pods.len"
)
@dataclass(frozen=True, eq=False)
class VictimPods:
    """Pods of one gang that KAI takes away together."""

    work: Work
    pods: tuple[SessionPod, ...]

    @property
    def gpus(self) -> Gpus:
        """GPUs of the pods."""
        return sum_of(self.pods).gpu

    @property
    def known_names(self) -> list[str]:
        """Names of the pods; empty for a gang that does not run yet."""
        return [] if self.work.age[0] else [pod.name for pod in self.pods]


@dataclass(frozen=True, eq=False)
class Way:
    """A way to place pods of a gang."""

    placed: tuple[Place, ...]
    gone: tuple[VictimPods, ...]
    """Pods that find no node any more."""
    moved: tuple[tuple[Work, Place], ...]
    """Pods that move to other nodes."""
    batches: tuple[VictimPods, ...]
    """Batches that were taken away, without batches that stay completely."""


@dataclass(frozen=True)
class Search:
    """Result of a search."""

    way: Way | None
    is_cut: bool = False
    """Whether the search stopped before it had tried all scenarios."""
    spared: tuple[Spared, ...] = ()
    """Work that KAI does not take, since it has not run long enough."""


class Allows(Protocol):
    """Function that tells whether KAI may use a scenario for these pods of a gang."""

    def __call__(self, work: Work, pods: Sequence[SessionPod], scenario: Scenario, /) -> bool:
        """Whether it may."""


class Scenario(NamedTuple):
    """The effect on other gangs if KAI makes room for one."""

    taken: Collection[VictimPods]
    """Batches that KAI takes away, with pods that it places anew."""
    gone: Sequence[VictimPods]
    """Pods that find no node any more."""


@dataclass(eq=False)
class Solver:
    """The search for one gang."""

    session: SchedulingSession
    work: Work
    victims: Sequence[Work]
    allows: Allows
    waiting: Sequence[Work]
    """All gangs with pending pods."""
    tries: int = 0
    _failed: set[tuple[int, frozenset[int]]] = field(default_factory=set)
    _free: set[str] | None = None

    def solve(self) -> Search:
        """Searches a way to place all pods of the gang that KAI takes next."""
        pods = self.work.next_pods()
        if self.session.tries_left <= 0:
            return Search(None, is_cut=True)
        if not pods or not self.victims or not self.session.fits_at_all(self.work, pods):
            return Search(None)
        self._free = self._free_nodes()
        has = self.session.settings.has
        generators = (("sg-nodelocalgreedy", self._by_node), ("sg-multinodegang", self._by_nodes))
        for scenarios in (generator for plugin, generator in generators if has(plugin)):
            recorded: tuple[VictimPods, ...] = ()

            def probe(count: int, scenarios: _Scenarios = scenarios) -> bool:
                nonlocal recorded
                way = self._first(pods[:count], scenarios, recorded)
                recorded = recorded if way is None else way.batches
                return way is not None

            if _most(len(pods), probe):
                way = self._first(pods, scenarios, recorded)
                if way is not None:
                    return Search(way)
        return Search(None, is_cut=self._is_spent)

    @property
    def _is_spent(self) -> bool:
        return self.tries >= MAX_TRIES or self.session.tries_left <= 0

    def _free_nodes(self) -> set[str] | None:
        """Returns the nodes that KAI considers besides those of evicted pods; None means all. They are the nodes with
        idle GPUs, even if these are promised to pods that wait, and those that get GPUs back (feasible_nodes.go).
        """
        if any(not _gpus(pod) for pod in self.work.pods):
            return None
        space = self.session.space
        idle = {name: space.idle_of(name, GPU) for name in space.nodes}
        return {name for name in space.nodes if idle[name] > 0 or space.free_of(name, GPU) > idle[name]}

    def _first(self, pods: Sequence[SessionPod], scenarios: _Scenarios, recorded: tuple[VictimPods, ...]) -> Way | None:
        """Returns the first way by which a scenario places these pods."""
        for batches in scenarios(pods, recorded):
            gone = dict.fromkeys(pod for batch in batches for pod in batch.pods)
            key = len(pods), frozenset(map(id, gone))
            if key in self._failed or not gone:
                continue
            if self._is_spent:
                return None
            self.tries += 1
            self.session.tries_left -= 1
            way = self._try(pods, batches)
            if way is not None:
                return way
            self._failed.add(key)
        return None

    def _try(self, pods: Sequence[SessionPod], batches: Sequence[VictimPods]) -> Way | None:
        """Tries a scenario, then restores the session."""
        session = self.session
        owners = {pod: batch for batch in reversed(batches) for pod in batch.pods}
        homes = {pod: pod.node for pod in owners}
        for pod, batch in owners.items():
            session.move(batch.work, pod, None)
        placed: dict[SessionPod, tuple[Work, Place]] = {}
        among = None if self._free is None else self._free | {str(node) for node in homes.values()}
        mine = self._fill(pods, owners, homes, placed, among)
        way = None
        if mine is not None:
            gone: dict[Work, list[SessionPod]] = {}
            for pod, batch in owners.items():
                if pod.node is None:
                    gone.setdefault(batch.work, []).append(pod)
            ended = tuple(VictimPods(work, tuple(evicted)) for work, evicted in gone.items())
            moved = [each for pod, each in placed.items() if pod in owners and pod.node != homes[pod]]
            if self.allows(self.work, pods, Scenario(dict.fromkeys(owners.values()), ended)):
                taken = dict.fromkeys(owners[pod] for pod in owners if pod.node != homes[pod])
                way = Way(mine, ended, tuple(moved), tuple(taken))
        for pod, (work, _) in placed.items():
            session.move(work, pod, None)
        for pod, node in homes.items():
            session.move(owners[pod].work, pod, node)
        return way

    def _fill(
        self,
        pods: Sequence[SessionPod],
        owners: Owners,
        homes: Mapping[SessionPod, str | None],
        placed: dict[SessionPod, tuple[Work, Place]],
        among: Container[str] | None,
    ) -> tuple[Place, ...] | None:
        """Places the pods of the gang and of the other gangs in KAI's order. Returns None if the gang's own pods find
        no nodes.
        """
        session, mine = self.session, None
        evicted_works = {batch.work for batch in owners.values()}
        others = session.that_matter(self.waiting, {work.queue for work in (self.work, *evicted_works)})
        order = session.starting(work for work in {*others, *evicted_works} if work is not self.work)
        order.push(self.work, pods)
        awaited = {self.work, *(work for work in evicted_works if work.next_pods())}
        while awaited and (next_gang := order.pop()) is not None:
            work = next_gang.work
            if work is not self.work and work not in evicted_works:
                continue
            awaited.discard(work)
            next_pods = pods if work is self.work else work.next_pods()
            if session.refusal(work, sum_of(next_pods)) is not None:
                spots = None
            elif work.request is None:
                spots = self._back(next_pods, homes)
            else:
                spots = session.place(work, next_pods, among)
            for spot in spots or ():
                session.move(work, spot[0], spot[1])
                placed[spot[0]] = work, spot
            if work is self.work:
                mine = spots
                if mine is None:
                    return None
        return mine

    def _back(self, pods: Sequence[SessionPod], homes: Mapping[SessionPod, str | None]) -> tuple[Place, ...] | None:
        """Returns pods to their old nodes, if nobody knows which others they may use; None if a node has no room."""
        needed: dict[str, Counter[str]] = {}
        for pod in pods:
            node = homes.get(pod)
            if node is None:
                return None
            needed.setdefault(node, Counter()).update(pod.asks)
        if all(self.session.space.has(node, asks) for node, asks in needed.items()):
            return tuple((pod, str(homes[pod]), None) for pod in pods)
        return None

    def _by_node(self, pods: Sequence[SessionPod], recorded: tuple[VictimPods, ...]) -> Iterator[Sequence[VictimPods]]:
        """Yields scenarios for one node: the gangs taken so far that have pods there, with all their taken pods."""
        on_node: dict[str, dict[Work, None]] = {}
        of_work: dict[Work, list[SessionPod]] = {}
        for batch in recorded:
            of_work.setdefault(batch.work, []).extend(batch.pods)
        seen_batches = 0
        for batches in self._accumulated(pods, recorded):
            if not batches:
                yield recorded
                continue
            for batch in batches[seen_batches:]:
                of_work.setdefault(batch.work, []).extend(batch.pods)
                for pod in batch.pods:
                    on_node.setdefault(str(pod.node), {})[batch.work] = None
            seen_batches, seen = len(batches), set()
            for node in sorted({str(pod.node) for pod in batches[-1].work.active}):
                works_on_node = tuple(on_node.get(node, ()))
                if works_on_node and frozenset(works_on_node) not in seen:
                    seen.add(frozenset(works_on_node))
                    yield (*recorded, *(VictimPods(work, tuple(of_work[work])) for work in works_on_node))

    def _by_nodes(self, pods: Sequence[SessionPod], recorded: tuple[VictimPods, ...]) -> Iterator[Sequence[VictimPods]]:
        """Yields scenarios for as many nodes as could be enough, fewest GPUs first, then for more nodes."""
        space, least = self.session.space, min(_gpus(pod) for pod in pods)
        needed = sum(map(_gpus, pods))
        freed = Counter[str]()
        for batch in recorded:
            for pod in batch.pods:
                freed[str(pod.node)] += _gpus(pod)
        for batches in self._accumulated(pods, recorded):
            if not batches:
                yield recorded
                continue
            gives: Counter[str] = Counter()
            for batch in batches:
                for pod in batch.pods:
                    gives[str(pod.node)] += _gpus(pod)
            has = {node: freed[node] + space.free_of(node, GPU) + gpus for node, gpus in gives.items()}
            nodes = sorted((node for node in has if has[node] >= least), key=lambda node: has[node])
            free_elsewhere = sum(freed[node] + space.free_of(node, GPU) for node in space.nodes if node not in gives)
            node_count = _covering([has[node] for node in nodes], needed - free_elsewhere)
            step = 1
            while node_count <= len(nodes):
                chosen = set(nodes[:node_count])
                yield (*recorded, *(batch for batch in batches if any(pod.node in chosen for pod in batch.pods)))
                if node_count == len(nodes):
                    break
                node_count, step = min(node_count + step, len(nodes)), step * 2

    def _accumulated(
        self, pods: Sequence[SessionPod], recorded: tuple[VictimPods, ...]
    ) -> Iterator[Sequence[VictimPods]]:
        """Yields the pods that may go, one gang after the other, whenever the GPUs of the nodes could be enough."""
        space = self.session.space
        free = {node: space.free_of(node, GPU) for node in space.nodes}
        requested_gpus = sorted(map(_gpus, pods), reverse=True)
        recorded_pods = {pod for batch in recorded for pod in batch.pods}
        for pod in recorded_pods:
            free[str(pod.node)] += _gpus(pod)
        large = {node: gpus for node, gpus in free.items() if gpus >= requested_gpus[-1]}
        order, batches = self.session.leaving(self.victims), list[VictimPods]()
        if _could_hold(large, requested_gpus):
            yield batches
        while (next_gang := order.pop()) is not None:
            goes = next_gang.work.next_to_go(next_gang.pods)
            taken = recorded_pods if recorded_pods & set(goes) else set(goes)
            pods_left = [pod for pod in next_gang.pods if pod not in taken]
            if pods_left:
                order.push(next_gang.work, pods_left)
            if taken is recorded_pods:
                continue
            batches.append(VictimPods(next_gang.work, goes))
            for pod in goes:
                node = str(pod.node)
                free[node] += _gpus(pod)
                if free[node] >= requested_gpus[-1]:
                    large[node] = free[node]
            if _could_hold(large, requested_gpus):
                yield batches


_Scenarios = Callable[[Sequence[SessionPod], tuple[VictimPods, ...]], Iterator[Sequence[VictimPods]]]
Owners = Mapping[SessionPod, VictimPods]
"""The batch with which each pod was taken away."""


def _most(count: int, probe: Callable[[int], bool]) -> int:
    """Returns for how many pods ``probe`` finds room, by doubling and halving."""
    low, tried = 0, 1
    while probe(tried):
        low = tried
        if tried == count:
            return count
        tried = min(2 * tried, count)
    while tried - low > 1:
        middle = (low + tried) // 2
        low, tried = (middle, tried) if probe(middle) else (low, middle)
    return low


def _gpus(pod: SessionPod) -> int:
    return pod.asks.get(GPU, 0)


def _covering(amounts: Sequence[int], needed: int) -> int:
    """Returns how many amounts, from the first on, add up to ``needed``; one more than all amounts if they are too
    little.
    """
    for count, whole in enumerate(accumulate((0, *amounts))):
        if whole >= needed:
            return count
    return len(amounts) + 1


def _could_hold(free: Mapping[str, int], requested_gpus: Sequence[int]) -> bool:
    """Whether the nodes have the GPUs for the pods; ``requested_gpus`` holds the largest request first."""
    nodes = nlargest(len(requested_gpus), free.values())
    for gpus in requested_gpus:
        if not gpus:
            return True
        index = next((at for at, free_gpus in enumerate(nodes) if free_gpus >= gpus), None)
        if index is None:
            return False
        nodes[index] -= gpus
    return True
