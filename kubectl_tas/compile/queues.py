"""Queues: the root above all pools, a container for each pool, the leaves that take work; and the PriorityClasses."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compile.metadata import metadata
from kubectl_tas.kai import Feature
from kubectl_tas.model.artifact import Artifact, Phase
from kubectl_tas.model.config import PRIORITY_VALUES
from kubectl_tas.model.labels import POOL
from kubectl_tas.model.manifest import PriorityClass, Queue, QueueResources, QueueSpec, Share
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import UNLIMITED, FleetPool

_NO_LIMIT = Share(quota=UNLIMITED, limit=UNLIMITED, overQuotaWeight=1)
_FOLDER = "queues"


def compile_queues(fleet: Fleet) -> Iterator[Artifact]:
    """The queues of every KAI backend that has pools."""
    for backend in fleet.backends:
        pools = [pool for pool in fleet.pools if pool.backend == backend]
        if not backend.is_kai or not pools:
            continue
        root = None
        if backend.has(Feature.DEEP_QUEUES) and not all(pool.shard_labels for pool in pools):
            root = names.root_queue(fleet.config.queuePrefix, backend.namespace)
            yield _queue(fleet, backend, Phase.ROOT_QUEUE, root, None, root, _NO_LIMIT, {}, fleet.settings)
        for pool in pools:
            # A shard sees no queue without its label, and drops those whose parent it does not see (queue.go of
            # pkg/scheduler/cache/cluster_info, 0.13 to 0.17).
            yield from _pool(fleet, backend, pool, None if pool.shard_labels else root)


def _pool(fleet: Fleet, backend: FleetBackend, pool: FleetPool, parent: str | None) -> Iterator[Artifact]:
    """The container of a pool, its shadow queue, and a leaf for each subpool that is not ARCHIVED."""
    source, labels = pool.declared.origin.path, {POOL: pool.name, **pool.shard_labels}
    share = _share(pool, pool.guarantee)
    yield _queue(fleet, backend, Phase.POOL_QUEUE, pool.queue, parent, pool.name, share, labels, source)
    display = f"{pool.name}{names.SEPARATOR}_{names.SHARED}"
    share = _share(pool, pool.shared_quota)
    leaf = Phase.LEAF_QUEUE
    yield _queue(fleet, backend, leaf, pool.shared_queue, pool.queue, display, share, labels, source)
    for subpool in pool.subpools:
        if subpool.state != "ARCHIVED":
            source, labels = subpool.declared.origin.path, {POOL: subpool.canonical, **pool.shard_labels}
            share = _share(pool, subpool.quota)
            display = subpool.canonical
            yield _queue(fleet, backend, leaf, subpool.queue, pool.queue, display, share, labels, source)


def _share(pool: FleetPool, quota: int) -> Share:
    """Every queue of a pool has the pool's limit and weight."""
    return Share(quota=quota, limit=pool.maximum, overQuotaWeight=pool.weight)


def _queue(
    fleet: Fleet,
    backend: FleetBackend,
    phase: Phase,
    name: str,
    parent: str | None,
    display: str,
    gpu: Share,
    labels: dict[str, str],
    source: str,
) -> Artifact:
    manifest = Queue(
        metadata=metadata(fleet, name, phase, labels=labels),
        spec=QueueSpec(
            displayName=display,
            parentQueue=parent,
            resources=QueueResources(gpu=gpu, cpu=_NO_LIMIT, memory=_NO_LIMIT),
        ),
    )
    return Artifact(backend.name, phase, _FOLDER, f"{name}.yaml", manifest, source)


_DESCRIPTIONS = {
    "HIGH": "OSMO priority HIGH: stays within its quota and is not preempted.",
    "NORMAL": "OSMO priority NORMAL: stays within its quota and is not preempted.",
    "LOW": "OSMO priority LOW: may exceed its quota and is preempted first.",
}


def compile_priority_classes(fleet: Fleet) -> Iterator[Artifact]:
    """One for each priority on each backend."""
    for backend in fleet.backends:
        for priority, name in fleet.config.priorityClasses.model_dump().items():
            manifest = PriorityClass(
                metadata=metadata(fleet, name, Phase.PRIORITY_CLASS),
                value=PRIORITY_VALUES[priority],
                description=_DESCRIPTIONS[priority],
            )
            file = names.file(name)
            yield Artifact(backend.name, Phase.PRIORITY_CLASS, "priorityclasses", file, manifest, fleet.settings)
