"""Builds the initial state of each shard of a cluster's scheduler, and the gangs of a repository that are pending for
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kubectl_tas.late import dataclass
from kubectl_tas.model.config import PRIORITY_VALUES
from kubectl_tas.model.labels import NODE_POOL
from kubectl_tas.place.fairshare import QueueTree
from kubectl_tas.place.gangs_to_place import Unplaced
from kubectl_tas.place.node_cells import Unit, Wanted
from kubectl_tas.place.node_resources import Nodes
from kubectl_tas.place.queues import Held, HeldPod, Shard, held_gangs, total_resources
from kubectl_tas.place.scheduling_session import Pod, Start, Work
from kubectl_tas.place.shapes import Shape
from kubectl_tas.resolve.clusters import FleetBackend


@dataclass(frozen=True)
class Scheduler:
    """One shard of a cluster's scheduler."""

    backend: str
    shard: Shard
    start: Start
    jobs: tuple[Work, ...]
    gangs: Mapping[str, Unplaced]
    """Pending gangs by name."""
    running: tuple[tuple[Unplaced, tuple[str, ...]], ...]
    """Gangs of the repository that already have pods on nodes, each with the PodGroups of its copies."""
    called: Mapping[str, str]
    """Name that users give each queue."""


@dataclass(frozen=True)
class Seen:
    """The known state of one cluster."""

    nodes: Nodes
    objects: Sequence[Mapping[str, Any]]
    """Objects of the cluster that kubectl printed."""
    trees: Mapping[Shard, QueueTree]
    """Queues of the cluster, by shard."""
    called: Mapping[str, str]
    """Name that users give each queue."""


def schedulers(backend: FleetBackend, gangs: Sequence[Unplaced], seen: Seen) -> Iterator[Scheduler]:
    """Yields the shards to which the gangs are sent, all of one cluster. Raises TasError if an object of the cluster
    cannot be read.
    """
    nodes = seen.nodes
    held, totals = held_gangs(seen.objects), total_resources(nodes, seen.objects, backend.scheduler_name)
    for shard in dict.fromkeys(item.sent.pool.shard for item in gangs):
        own = [item for item in gangs if item.sent.pool.shard == shard]
        there = tuple(node for node in nodes.nodes if node.labels.get(NODE_POOL) == shard)
        names = {node.name for node in there}
        works, running = _running(held, own, names)
        jobs, waiting = _jobs(own, running)
        there_already = tuple((own[at], tuple(groups)) for at, groups in running.items())
        start = Start(there, totals[shard], seen.trees[shard], tuple(works))
        yield Scheduler(backend.name, shard, start, jobs, waiting, there_already, seen.called)


def _running(
    held: Iterable[Held], gangs: Sequence[Unplaced], nodes: Collection[str]
) -> tuple[list[Work], dict[int, list[str]]]:
    """Returns the work that runs on these nodes, with what the repository knows of it. Also returns the PodGroups of
    each of the repository's gangs, by index.
    """
    exact: dict[tuple[str, str], int] = {}
    others: dict[str, list[int]] = {}
    for at, item in enumerate(gangs):
        if item.is_called(item.gang.name):
            exact[item.sent.namespace, item.gang.name] = at
        else:
            others.setdefault(item.sent.namespace, []).append(at)
    found, running = [], dict[int, list[str]]()
    for one in held:
        here = others.get(one.namespace, ())
        place = exact.get((one.namespace, one.name), next((at for at in here if gangs[at].is_called(one.name)), None))
        if place is not None:
            running.setdefault(place, []).append(one.name)
        if any(node in nodes for node, _ in one.pods):
            found.append(_work(one, None if place is None else gangs[place], nodes))
    return found, running


def _work(held: Held, item: Unplaced | None, nodes: Collection[str]) -> Work:
    """Converts a running gang with its pods on these nodes and its pending pods; ``item``: the repository's gang."""
    wanted: Wanted | None
    least: Mapping[str, int] | None
    members = [pod for pod in held.members if pod.node is None or pod.node in nodes]
    if item is not None:
        sent, wanted, least = item.sent, _whole(item), _least(item)
        priority, is_preemptible = PRIORITY_VALUES[sent.priority], sent.is_preemptible
        queue, levels = held.queue or sent.queue, item.labels
    else:
        wanted, least = _wanted(held, members), held.least
        priority, is_preemptible, queue, levels = held.priority, held.is_preemptible, held.queue or "", ()
    root = held.name if wanted is None else wanted.unit.name
    units = {root} if wanted is None else {unit.name for unit in wanted.unit.units}
    pods = tuple(_pod(pod, pod.sub_group if pod.sub_group in units else root, wanted, item) for pod in members)
    if least is None:
        least = Counter(pod.unit for pod in pods)
    else:
        least = {name if name in units else root: count for name, count in least.items()}
    is_known = item is not None or held.least is not None or len(pods) == 1
    age = False, held.created, held.name
    return Work(held.name, queue, priority, is_preemptible, age, pods, least, wanted, levels, is_known=is_known)


def _pod(pod: HeldPod, unit: str, wanted: Wanted | None, item: Unplaced | None) -> Pod:
    """Converts a pod; ``item``: the repository's gang of the pod."""
    shape = None
    for at, known in enumerate(wanted.shapes if wanted else ()):
        if known == pod.shape or (item is not None and dict(known.asks) == dict(pod.asks)):
            shape = at
            break
    return Pod(pod.name, unit, pod.asks, shape, pod.node)


def _wanted(held: Held, members: Sequence[HeldPod]) -> Wanted | None:
    """Returns the shapes of a gang that the repository lacks; None if it asks for levels, or if anything is unknown."""
    shapes = tuple(dict.fromkeys(pod.shape for pod in members if pod.shape is not None))
    if not held.is_free or not shapes or any(pod.shape is None for pod in members):
        return None
    names = [name for name in held.least or {} if name]
    return Wanted(Unit(held.name, below=tuple(Unit(name) for name in names)), shapes)


def _whole(item: Unplaced) -> Wanted:
    """Returns the units and shapes of a gang, including the shapes of pods that start later."""
    further = (shape for shapes in item.further.values() for shape in shapes)
    return replace(item.wanted, shapes=tuple(dict.fromkeys((*item.wanted.shapes, *further))))


def _least(item: Unplaced) -> dict[str, int]:
    """Returns the number of pods that a gang needs, by unit."""
    return {unit.name: len(unit.pods) for unit in item.wanted.unit.units if unit.pods}


def _pods(item: Unplaced, wanted: Wanted) -> Iterator[Pod]:
    """Yields the pods of a pending gang, the needed pods first."""
    at = {shape: place for place, shape in enumerate(wanted.shapes)}
    needed = [(unit.name, wanted.shapes[pod]) for unit in wanted.unit.units for pod in unit.pods]
    units = {unit.name for unit in wanted.unit.units}
    further = [
        (name if name in units else wanted.unit.name, shape)
        for name, shapes in item.further.items()
        for shape in shapes
    ]
    pairs: list[tuple[str | None, Shape]] = [*needed, *further]
    for number, (name, shape) in enumerate(pairs):
        yield Pod(str(number), name or wanted.unit.name, dict(shape.asks), at[shape])


def _jobs(
    gangs: Sequence[Unplaced], running: Mapping[int, Sequence[str]]
) -> tuple[tuple[Work, ...], dict[str, Unplaced]]:
    """Returns the pending gangs, oldest first. Gangs with the same name get kind and namespace before their names."""
    jobs: list[Work] = []
    waiting: dict[str, Unplaced] = {}
    named = Counter(item.gang.name for item in gangs)
    for at, item in enumerate(gangs):
        is_alone = named[item.gang.name] == 1
        own = item.gang.name if is_alone else f"{item.sent.kind}/{item.sent.namespace}/{item.gang.name}"
        wanted, sent = _whole(item), item.sent
        for copy in range(len(running.get(at, ())), item.copies):
            name = own if item.copies == 1 else f"{own} ({copy + 1} of {item.copies})"
            age, pods = (True, f"{len(jobs):09}", name), tuple(_pods(item, wanted))
            priority = PRIORITY_VALUES[sent.priority]
            jobs.append(
                Work(name, sent.queue, priority, sent.is_preemptible, age, pods, _least(item), wanted, item.labels)
            )
            waiting[name] = item
    return tuple(jobs), waiting
