"""Builds the initial state of each shard of a cluster's scheduler, and the gangs of a repository that are pending for
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts import times
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.config import PRIORITY_VALUES
from kubectl_tas.model.labels import NODE_POOL, POD_GROUP
from kubectl_tas.place.fairshare import QueueTree
from kubectl_tas.place.gangs_to_place import GangToPlace, beginning_of, beside_running_pods, selectors_of, unplaced
from kubectl_tas.place.node_cells import PlacementRequest, Unit
from kubectl_tas.place.node_resources import ENDED, ClusterNodes
from kubectl_tas.place.queues import (
    CREATED,
    LAST_EVICTION,
    HeldGang,
    HeldPod,
    Shard,
    held_gangs,
    total_resources,
)
from kubectl_tas.place.scheduling_session import BEFORE_ALL, SessionPod, ShardStart, Work
from kubectl_tas.place.shapes import PodShape
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.pools import Submission


@dataclass(frozen=True)
class ShardScheduler:
    """One shard of a cluster's scheduler."""

    backend: str
    shard: Shard
    start: ShardStart
    jobs: tuple[Work, ...]
    gangs: Mapping[str, GangToPlace]
    """Pending gangs by name."""
    running: tuple[tuple[GangToPlace, tuple[str, ...]], ...]
    """Gangs of the repository that already have pods on nodes, each with the PodGroups of its copies."""
    called: Mapping[str, str]
    """Name that users give each queue."""


@dataclass(frozen=True)
class SeenCluster:
    """The known state of one cluster."""

    nodes: ClusterNodes
    objects: Sequence[Mapping[str, Any]]
    """Objects of the cluster that kubectl printed."""
    trees: Mapping[Shard, QueueTree]
    """Queues of the cluster, by shard."""
    called: Mapping[str, str]
    """Name that users give each queue."""
    now: datetime = BEFORE_ALL
    """The time at which it was so."""


def schedulers(backend: FleetBackend, gangs: Sequence[GangToPlace], seen: SeenCluster) -> Iterator[ShardScheduler]:
    """Yields the shards to which the gangs are sent, all of one cluster. Raises TasError if an object of the cluster
    cannot be read.
    """
    nodes = seen.nodes
    gangs = sorted(gangs, key=_in_files)
    held, totals = held_gangs(seen.objects), total_resources(nodes, seen.objects, backend.scheduler_name)
    started = {gang.name for gang in held}
    for shard in dict.fromkeys(gang.sent.pool.shard for gang in gangs):
        gangs_of_shard = [gang for gang in gangs if gang.sent.pool.shard == shard]
        nodes_of_shard = tuple(node for node in nodes.nodes if node.labels.get(NODE_POOL) == shard)
        names = {node.name for node in nodes_of_shard}
        selectors = selectors_of(nodes_of_shard)
        gangs_of_shard = [beside_running_pods(gang, selectors) for gang in gangs_of_shard]
        works, running = _running(held, gangs_of_shard, names)
        groups = [
            (str(metadata.get("namespace") or "default"), metadata)
            for fields in seen.objects
            if fields.get("kind") == "PodGroup" and (metadata := fields["metadata"])["name"] not in started
        ]
        jobs, waiting = _jobs(gangs_of_shard, running, _Clock(seen.now, groups))
        there_already = tuple((gangs_of_shard[at], tuple(groups)) for at, groups in running.items())
        settings = gangs_of_shard[0].settings
        start = ShardStart(nodes_of_shard, totals[shard], seen.trees[shard], tuple(works), settings, seen.now)
        yield ShardScheduler(backend.name, shard, start, jobs, waiting, there_already, seen.called)


def in_cluster(
    fleet: Fleet, works: Sequence[Submission], objects: Iterable[Mapping[str, Any]], asked: Collection[int]
) -> Iterator[GangToPlace]:
    """Yields the gangs with a pod in the cluster that has not ended, and all gangs of the work with the identities
    ``asked``.
    """
    names: dict[str, dict[str, None]] = {}
    for fields in objects:
        if fields.get("kind") == "Pod" and (fields.get("status") or {}).get("phase") not in ENDED:
            metadata = fields["metadata"]
            group = (metadata.get("annotations") or {}).get(POD_GROUP)
            names.setdefault(metadata.get("namespace") or "default", {})[str(group)] = None
    texts = {namespace: "\n".join(groups) for namespace, groups in names.items()}

    def may_be_there(work: Submission) -> bool:
        is_shared = isinstance(work, FleetWorkload) and work.shared_gang is not None
        return id(work) in asked or is_shared or beginning_of(work) in texts.get(work.namespace, "")

    for gang in unplaced(fleet, filter(may_be_there, works)):
        if isinstance(gang, GangToPlace):
            is_there = any(gang.called_among(names.get(gang.sent.namespace, ())))
            if is_there or id(gang.sent) in asked:
                yield gang


class _Clock:
    """The time in the cluster, and the PodGroups that wait there."""

    def __init__(self, now: datetime, groups: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        self._now, self._groups = now, groups

    def delay_end(self, gang: GangToPlace, copy: int) -> datetime | None:
        """Returns when the preemption delay of a copy of a gang ends; None if the gang has none. The delay begins when
        KAI last evicted the gang, or else with its PodGroup, or else now.
        """
        if not gang.delay:
            return None
        called = [
            metadata
            for namespace, metadata in self._groups
            if namespace == gang.sent.namespace and gang.is_called(metadata["name"])
        ]
        own = sorted(called, key=lambda metadata: str(metadata.get(CREATED)))[copy : copy + 1]
        texts = [text for metadata in own for text in (metadata.get(CREATED), _evicted(metadata))]
        begin = max((time for text in texts if (time := times.moment(text)) is not None), default=self._now)
        return times.after(begin, gang.delay)


def _evicted(metadata: Mapping[str, Any]) -> object:
    return (metadata.get("annotations") or {}).get(LAST_EVICTION)


def _in_files(gang: GangToPlace) -> tuple[str, int, KeyPath]:
    """Returns the sort key of a gang by the place of its document, which stands for its age."""
    origin = gang.sent.declared.origin
    return origin.path, origin.index, origin.within


def _running(
    held: Iterable[HeldGang], gangs: Sequence[GangToPlace], nodes: Collection[str]
) -> tuple[list[Work], dict[int, list[str]]]:
    """Returns the work that runs on these nodes, with what the repository knows of it. Also returns the PodGroups of
    each of the repository's gangs, by index.
    """
    exact: dict[tuple[str, str], int] = {}
    inexact: dict[str, list[int]] = {}
    for at, gang in enumerate(gangs):
        if gang.is_called(gang.gang.name):
            exact[gang.sent.namespace, gang.gang.name] = at
        else:
            inexact.setdefault(gang.sent.namespace, []).append(at)
    works, running = [], dict[int, list[str]]()
    for held_gang in held:
        candidates = inexact.get(held_gang.namespace, ())
        gang_index = exact.get(
            (held_gang.namespace, held_gang.name),
            next((at for at in candidates if gangs[at].is_called(held_gang.name)), None),
        )
        if gang_index is not None:
            running.setdefault(gang_index, []).append(held_gang.name)
        if any(node in nodes for node, _ in held_gang.pods):
            works.append(_work(held_gang, None if gang_index is None else gangs[gang_index], nodes))
    return works, running


def _work(held: HeldGang, gang: GangToPlace | None, nodes: Collection[str]) -> Work:
    """Converts a running gang with its pods on these nodes and its pending pods; ``gang``: the repository's gang."""
    placement_request: PlacementRequest | None
    least: Mapping[str, int] | None
    members = [pod for pod in held.members if pod.node is None or pod.node in nodes]
    if gang is not None:
        sent, placement_request, least = gang.sent, _whole(gang), _least(gang)
        priority, is_preemptible = PRIORITY_VALUES[sent.priority], sent.is_preemptible
        queue, levels = held.queue or sent.queue, gang.labels
    else:
        placement_request, least = _wanted(held, members), held.least
        priority, is_preemptible, queue, levels = held.priority, held.is_preemptible, held.queue or "", ()
    root = held.name if placement_request is None else placement_request.unit.name
    units = {root} if placement_request is None else {unit.name for unit in placement_request.unit.units}
    pods = tuple(
        _pod(pod, pod.sub_group if pod.sub_group in units else root, placement_request, gang) for pod in members
    )
    if least is None:
        least = Counter(pod.unit for pod in pods)
    else:
        least = {name if name in units else root: count for name, count in least.items()}
    is_known = gang is not None or held.least is not None or len(pods) == 1
    age = False, held.created, held.name
    work = Work(
        held.name, queue, priority, is_preemptible, age, pods, least, placement_request, levels, is_known=is_known
    )
    work.started = held.started
    return work


def _pod(pod: HeldPod, unit: str, placement_request: PlacementRequest | None, gang: GangToPlace | None) -> SessionPod:
    """Converts a pod; ``gang``: the repository's gang of the pod."""
    shape = None
    for at, known_shape in enumerate(placement_request.shapes if placement_request else ()):
        if known_shape == pod.shape or (gang is not None and dict(known_shape.asks) == dict(pod.asks)):
            shape = at
            break
    return SessionPod(pod.name, unit, pod.asks, shape, pod.node)


def _wanted(held: HeldGang, members: Sequence[HeldPod]) -> PlacementRequest | None:
    """Returns the shapes of a gang that the repository lacks; None if it asks for levels, or if anything is unknown."""
    shapes = tuple(dict.fromkeys(pod.shape for pod in members if pod.shape is not None))
    if not held.is_free or not shapes or any(pod.shape is None for pod in members):
        return None
    names = [name for name in held.least or {} if name]
    return PlacementRequest(Unit(held.name, below=tuple(Unit(name) for name in names)), shapes)


def _whole(gang: GangToPlace) -> PlacementRequest:
    """Returns the units and shapes of a gang, including the shapes of pods that start later."""
    further = (shape for shapes in gang.further.values() for shape in shapes)
    return replace(gang.request, shapes=tuple(dict.fromkeys((*gang.request.shapes, *further))))


def _least(gang: GangToPlace) -> dict[str, int]:
    """Returns the number of pods that a gang needs, by unit."""
    return {unit.name: len(unit.pods) for unit in gang.request.unit.units if unit.pods}


def _pods(gang: GangToPlace, placement_request: PlacementRequest) -> Iterator[SessionPod]:
    """Yields the pods of a pending gang, the needed pods first."""
    at = {shape: index for index, shape in enumerate(placement_request.shapes)}
    needed = [(unit.name, placement_request.shapes[pod]) for unit in placement_request.unit.units for pod in unit.pods]
    units = {unit.name for unit in placement_request.unit.units}
    further = [
        (name if name in units else placement_request.unit.name, shape)
        for name, shapes in gang.further.items()
        for shape in shapes
    ]
    pairs: list[tuple[str | None, PodShape]] = [*needed, *further]
    for number, (name, shape) in enumerate(pairs):
        yield SessionPod(str(number), name or placement_request.unit.name, dict(shape.asks), at[shape])


def _jobs(
    gangs: Sequence[GangToPlace], running: Mapping[int, Sequence[str]], clock: _Clock
) -> tuple[tuple[Work, ...], dict[str, GangToPlace]]:
    """Returns the pending gangs, oldest first. Gangs with the same name get kind and namespace before their names."""
    jobs: list[Work] = []
    waiting: dict[str, GangToPlace] = {}
    names = _names_of_copies(gangs, running)
    named = Counter(gang.gang.name for gang in gangs)
    for at, gang in enumerate(gangs):
        is_alone = named[gang.gang.name] == 1
        placement_request, sent = _whole(gang), gang.sent
        for copy in range(gang.copies):
            if gang.groups_of_copy(copy, running.get(at, ())):
                continue
            name = _name_of_copy(gang, copy, is_alone=is_alone)
            age, pods = (True, f"{len(jobs):09}", name), tuple(_pods(gang, placement_request))
            priority = PRIORITY_VALUES[sent.priority]
            jobs.append(
                Work(
                    name,
                    sent.queue,
                    priority,
                    sent.is_preemptible,
                    age,
                    pods,
                    _least(gang),
                    placement_request,
                    gang.labels,
                    before=_before(gang, copy, names),
                    delay_end=clock.delay_end(gang, copy),
                )
            )
            waiting[name] = gang
    return tuple(jobs), waiting


def _name_of_copy(gang: GangToPlace, copy: int, *, is_alone: bool) -> str:
    name = gang.gang.name if is_alone else f"{gang.sent.kind}/{gang.sent.namespace}/{gang.gang.name}"
    return name if gang.copies == 1 else f"{name} ({copy + 1} of {gang.copies})"


_OfObject = tuple[str, str, str, str]
"""Kind, namespace and name of an object, and a name in the order of its gangs."""


def _of_object(gang: GangToPlace, name: str) -> _OfObject:
    return gang.sent.kind, gang.sent.namespace, gang.sent.name, name


def _names_of_copies(
    gangs: Sequence[GangToPlace], running: Mapping[int, Sequence[str]]
) -> Mapping[_OfObject, Sequence[str]]:
    """Returns the names of the gangs, running or pending, by their names in the orders of their objects."""
    named = Counter(gang.gang.name for gang in gangs)
    names: dict[_OfObject, list[str]] = {}
    for at, gang in enumerate(gangs):
        if gang.order is None:
            continue
        is_alone = named[gang.gang.name] == 1
        for copy, name in enumerate(gang.order.names):
            groups = gang.groups_of_copy(copy, running.get(at, ()))
            copy_names = groups or [_name_of_copy(gang, copy, is_alone=is_alone)]
            names.setdefault(_of_object(gang, name), []).extend(copy_names)
    return names


def _before(gang: GangToPlace, copy: int, names: Mapping[_OfObject, Sequence[str]]) -> tuple[str, ...]:
    """Returns the names of the gangs that must start before a copy of a gang."""
    if gang.order is None:
        return ()
    before = (names.get(_of_object(gang, name), ()) for name in gang.order.before[copy])
    return tuple(dict.fromkeys(work_name for work_names in before for work_name in work_names))
