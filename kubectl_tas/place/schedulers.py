"""Gangs of a repository, and the nodes, pods and queues of one cluster in; what each shard of its scheduler begins
with, and what waits for it, out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kubectl_tas.model.config import PRIORITY_VALUES
from kubectl_tas.model.labels import NODE_POOL
from kubectl_tas.place.cycle import Job, Start
from kubectl_tas.place.held import Asked, Held, held_gangs
from kubectl_tas.place.nodes import Nodes
from kubectl_tas.place.queues import Shard
from kubectl_tas.place.share import QueueTree
from kubectl_tas.place.totals import total_resources
from kubectl_tas.place.unplaced import Unplaced
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.clusters import FleetBackend


@dataclass(frozen=True)
class Scheduler:
    """One shard of a cluster's scheduler."""

    backend: str
    shard: Shard
    start: Start
    jobs: tuple[Job, ...]
    gangs: Mapping[str, Unplaced]
    """What waits, by the name of the job."""
    running: tuple[tuple[Unplaced, int], ...]
    """The gangs of the repository that have pods on nodes already, with how many of their copies."""
    called: Mapping[str, str]
    """What its queues are to users, by their names."""


@dataclass(frozen=True)
class Seen:
    """What there is of one cluster."""

    nodes: Nodes
    objects: Sequence[Mapping[str, Any]]
    """What kubectl printed of it."""
    trees: Mapping[Shard, QueueTree]
    """Its queues."""
    called: Mapping[str, str]
    """What they are to users, by their names."""


def schedulers(backend: FleetBackend, gangs: Sequence[Unplaced], seen: Seen) -> Iterator[Scheduler]:
    """The shards to which any of the gangs is sent, all of them for one cluster. Raises TasError where an object of it
    cannot be read.
    """
    nodes = seen.nodes
    held, totals = held_gangs(seen.objects), total_resources(nodes, seen.objects, backend.scheduler_name)
    for shard in dict.fromkeys(item.sent.pool.shard for item in gangs):
        own = [item for item in gangs if item.sent.pool.shard == shard]
        there = tuple(node for node in nodes.nodes if node.labels.get(NODE_POOL) == shard)
        names = {node.name for node in there}
        known, running = _known(held, own)
        on_nodes = (replace(item, pods=tuple(pod for pod in item.pods if pod[0] in names)) for item in known)
        start = Start(there, totals[shard], seen.trees[shard], tuple(item for item in on_nodes if item.pods))
        jobs, waiting = _jobs(own, running)
        there_already = tuple((own[at], copies) for at, copies in running.items())
        yield Scheduler(backend.name, shard, start, jobs, waiting, there_already, seen.called)


def _known(held: Iterable[Held], gangs: Sequence[Unplaced]) -> tuple[list[Held], dict[int, int]]:
    """What runs, with what the repository knows of it; and how many of each of its gangs run, by place."""
    exact: dict[tuple[str, str], int] = {}
    others: dict[str, list[int]] = {}
    for at, item in enumerate(gangs):
        if item.is_called(item.gang.name):
            exact[item.sent.namespace, item.gang.name] = at
        else:
            others.setdefault(item.sent.namespace, []).append(at)
    found, running = [], dict[int, int]()
    for one in held:
        here = others.get(one.namespace, ())
        place = exact.get((one.namespace, one.name), next((at for at in here if gangs[at].is_called(one.name)), None))
        if place is None:
            found.append(one)
            continue
        item = gangs[place]
        running[place] = running.get(place, 0) + 1
        is_whole = len(one.pods) == len(item.wanted.unit.all_pods)
        asked = Asked(item.wanted, item.labels) if is_whole else None
        sent = item.sent
        priority, is_preemptible = PRIORITY_VALUES[sent.priority], sent.is_preemptible
        queue = one.queue or sent.queue
        found.append(replace(one, queue=queue, priority=priority, is_preemptible=is_preemptible, asked=asked))
    return found, running


def _jobs(gangs: Sequence[Unplaced], running: Mapping[int, int]) -> tuple[tuple[Job, ...], dict[str, Unplaced]]:
    """What waits of the gangs, the oldest first; those of one name by kind and namespace too."""
    jobs: list[Job] = []
    waiting: dict[str, Unplaced] = {}
    named = Counter(item.gang.name for item in gangs)
    for at, item in enumerate(gangs):
        is_alone = named[item.gang.name] == 1
        own = item.gang.name if is_alone else f"{item.sent.kind}/{item.sent.namespace}/{item.gang.name}"
        for copy in range(running.get(at, 0), item.copies):
            name = own if item.copies == 1 else f"{own} ({copy + 1} of {item.copies})"
            sent, asked = item.sent, Asked(item.wanted, item.labels)
            jobs.append(Job(name, sent.queue, PRIORITY_VALUES[sent.priority], sent.is_preemptible, asked, len(jobs)))
            waiting[name] = item
    return tuple(jobs), waiting
