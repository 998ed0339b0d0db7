"""Makes the objects that all work of a cluster shares: Queues, PriorityClasses, namespaces and Topologies.

Queues are a root above all pools, a parent queue for each pool, and leaf queues that take work. Topologies are those of
pools and of cluster topologies, with the ClusterTopologyBindings that Grove reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from kubectl_tas.base.late import dataclass
from kubectl_tas.compile.metadata import metadata
from kubectl_tas.facts import quantities
from kubectl_tas.facts.grove import KAI_SCHEDULER
from kubectl_tas.facts.kai import Feature
from kubectl_tas.facts.quantities import UNLIMITED, Amounts, ResourceName
from kubectl_tas.model.artifact import Artifact
from kubectl_tas.model.base import QUALIFIED_NAME
from kubectl_tas.model.config import PRIORITY_VALUES
from kubectl_tas.model.kindlists import Phase
from kubectl_tas.model.labels import POOL
from kubectl_tas.model.manifest import (
    Metadata,
    Namespace,
    PriorityClass,
    Queue,
    QueueResources,
    QueueSpec,
    Share,
    Topology,
    TopologyLevel,
    TopologySpec,
)
from kubectl_tas.model.pool_kinds import QueueMeta
from kubectl_tas.model.topology_kinds import (
    ClusterTopology,
    ClusterTopologySpec,
    DomainLevel,
    ObjectMeta,
    SchedulerTopologyBinding,
)
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool
from kubectl_tas.resolve.topologies import FleetTopology, Level

_FOLDER = "queues"
_EVEN = Amounts(1, 1, 1)
"""Weights of a queue without competitors."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """Settings of a queue."""

    meta: QueueMeta
    display: str
    """Display name, if ``meta`` has none."""
    quota: Amounts = UNLIMITED
    maximum: Amounts = UNLIMITED
    weight: Amounts = _EVEN
    priority: int | None = None
    preempt: str | None = None
    """Minimum time that the queue's work runs before KAI may preempt it."""
    reclaim: str | None = None
    """Minimum time that the queue's work runs before KAI may reclaim its resources."""
    sums: Mapping[str, str] = field(default_factory=dict)
    """Comments that explain the quota, by resource."""


def compile_queues(fleet: Fleet) -> Iterator[Artifact]:
    """Yields the queues of every KAI backend with pools."""
    for backend in fleet.backends:
        pools = [pool for pool in fleet.pools if pool.backend == backend]
        if not backend.is_kai or not pools:
            continue
        heights: dict[str, int] = {}  # levels of pools below each
        for pool in pools:
            for height, ancestor in enumerate(pool.chain):
                heights[ancestor.name] = max(heights.get(ancestor.name, 0), height)
        root = backend.root_queue(fleet.config.queuePrefix)
        if root is not None and not all(pool.shard_labels for pool in pools):
            root_meta = backend.spec.rootQueue
            shape = _Shape(root_meta if isinstance(root_meta, QueueMeta) else QueueMeta.model_construct(), root)
            phase = Phase.ROOT_QUEUE - max(heights.values())
            yield _queue(fleet, backend, phase, (root, None), shape, {}, fleet.settings_source)
        for pool in pools:
            # A shard sees no queue without its label, and drops those whose parent it does not see (queue.go of
            # pkg/scheduler/cache/cluster_info, 0.13 to 0.17).
            above = pool.parent.queue if pool.parent else None if pool.shard_labels else root
            yield from _pool(fleet, pool, above, Phase.POOL_QUEUE - heights[pool.name])


def _pool(fleet: Fleet, pool: FleetPool, parent: str | None, phase: int) -> Iterator[Artifact]:
    """Yields the parent queue of a pool, its shared leaf queue, and a leaf queue for each subpool that is not ARCHIVED.

    Only the parent queue has minimum runtimes. KAI looks for that of preemption from the leaf queue upwards, and for
    that of reclaim from below the nearest common queue upwards (``resolver.go`` of the minruntime plugin, 0.6 to 0.17).
    """
    source, spec, backend = pool.declared.origin.path, pool.declared.spec.spec, pool.backend
    labels = {POOL: pool.name, **pool.shard_labels}
    amounts, runtimes = (pool.guarantee, pool.maximum, pool.weight), (spec.preemptMinRuntime, spec.reclaimMinRuntime)
    whole = _Shape(spec.queue, pool.name, *amounts, spec.priority, *runtimes)
    yield _queue(fleet, backend, phase, (pool.queue, parent), whole, labels, source)
    display = f"{pool.name}{names.SEPARATOR}_{names.SHARED}"
    amounts = (pool.shared_quota, pool.maximum, pool.weight)
    shared = _Shape(spec.sharedQueue, display, *amounts, spec.priority, sums=_sums(pool))
    yield _queue(fleet, backend, Phase.LEAF_QUEUE, (pool.shared_queue, pool.queue), shared, labels, source)
    for subpool in pool.subpools:
        if subpool.state != "ARCHIVED":
            source, labels = subpool.declared.origin.path, {POOL: subpool.canonical, **pool.shard_labels}
            queue_and_parent = subpool.queue, pool.queue
            yield _queue(fleet, backend, Phase.LEAF_QUEUE, queue_and_parent, _leaf(pool, subpool), labels, source)


def _leaf(pool: FleetPool, subpool: FleetSubpool) -> _Shape:
    spec = subpool.declared.spec.spec
    priority = pool.declared.spec.spec.priority if spec.priority is None else spec.priority
    return _Shape(spec.queue, subpool.canonical, subpool.quota, subpool.limit, subpool.weight, priority)


def _sums(pool: FleetPool) -> dict[str, str]:
    """Returns the rest of a pool after subpools and child pools, as a sum: 64 - research 16 - serving 24 = 24.

    The sum is a comment after the quota. So git reports a conflict if two branches spend the same rest.
    """
    return {
        name: f"{quantities.show(name, pool.guarantee.of(name))}"
        + "".join(f" - {child.name} {quantities.show(name, child.quota.of(name))}" for child in pool.parts)
        + f" = {quantities.show(name, pool.shared_quota.of(name))}"
        for name in (pool.finite if pool.parts else ())
    }


def _queue(
    fleet: Fleet,
    backend: FleetBackend,
    phase: int,
    queue_and_parent: tuple[str, str | None],
    shape: _Shape,
    labels: dict[str, str],
    source: str,
) -> Artifact:
    """Returns the queue with the names ``queue_and_parent``: its own and that of its parent."""
    name, parent = queue_and_parent
    gpu, cpu, memory = (_share(shape, resource) for resource in quantities.RESOURCES)
    manifest = Queue(
        metadata=metadata(
            fleet, name, phase, labels={**shape.meta.labels, **labels}, annotations=shape.meta.annotations
        ),
        spec=QueueSpec(
            displayName=shape.meta.display(shape.display),
            parentQueue=parent,
            priority=shape.priority,
            preemptMinRuntime=shape.preempt,
            reclaimMinRuntime=shape.reclaim,
            resources=QueueResources(gpu=gpu, cpu=cpu, memory=memory),
        ),
    )
    return Artifact(backend.name, phase, _FOLDER, f"{name}.yaml", manifest, source, comments=shape.sums)


def _share(shape: _Shape, resource: ResourceName) -> Share:
    return Share(
        quota=quantities.kai_number(resource, shape.quota.of(resource)),
        limit=quantities.kai_number(resource, shape.maximum.of(resource)),
        overQuotaWeight=int(shape.weight.of(resource)),
    )


_DESCRIPTIONS = {
    "HIGH": "OSMO priority HIGH: stays within its quota and is not preempted.",
    "NORMAL": "OSMO priority NORMAL: stays within its quota and is not preempted.",
    "LOW": "OSMO priority LOW: may exceed its quota and is preempted first.",
}


def compile_priority_classes(fleet: Fleet) -> Iterator[Artifact]:
    """Yields a PriorityClass for each priority on each backend."""
    for backend in fleet.backends:
        for priority, name in fleet.config.priorityClasses.model_dump().items():
            meta, value = metadata(fleet, name, Phase.PRIORITY_CLASS), PRIORITY_VALUES[priority]
            manifest = PriorityClass(metadata=meta, value=value, description=_DESCRIPTIONS[priority])
            file = names.file(name)
            yield Artifact(backend.name, Phase.PRIORITY_CLASS, "priorityclasses", file, manifest, fleet.settings_source)


ALWAYS_THERE = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
"""Namespaces that an API server makes, and that nobody can delete."""


def compile_namespaces(fleet: Fleet) -> Iterator[Artifact]:
    """Yields the namespaces of pools if the Config asks for them. GitOps tools keep each one because of its content."""
    if not fleet.config.createNamespaces:
        return
    for backend in fleet.backends:
        sources: dict[str, list[str]] = {}
        for pool in (pool for pool in fleet.pools if pool.backend == backend):
            source = pool.declared.origin.path if pool.declared.spec.spec.namespaces else fleet.settings_source
            for name in pool.namespaces:
                sources.setdefault(name, []).append(source)
        for name in sorted(sources.keys() - ALWAYS_THERE):
            manifest = Namespace(metadata=metadata(fleet, name, Phase.NAMESPACE, keep=True))
            source = " and ".join(dict.fromkeys(sources[name]))
            yield Artifact(backend.name, Phase.NAMESPACE, "namespaces", f"{name}.yaml", manifest, source)


def compile_topologies(fleet: Fleet) -> Iterator[Artifact]:
    """Yields each topology on each of its backends."""
    for topology in fleet.topologies:
        for backend in (topology.backend,) if topology.backend else fleet.backends:
            if backend.has(Feature.TOPOLOGY) and topology.is_created_on(backend):
                yield _topology(fleet, topology, backend)


def topologies_elsewhere(fleet: Fleet, backend: FleetBackend) -> Iterator[Topology]:
    """Yields the Topologies of a backend that are declared here, but that Grove or another tool makes."""
    for topology in fleet.topologies if backend.has(Feature.TOPOLOGY) else ():
        if topology.backend is None and not topology.is_created_on(backend):
            made = _topology(fleet, topology, backend).manifest
            assert isinstance(made, Topology)
            yield made.model_copy(update={"metadata": Metadata(name=topology.name_on(backend))})


def compile_bindings(fleet: Fleet) -> Iterator[Artifact]:
    """Yields a ClusterTopologyBinding for each cluster topology that sets of a backend use (Grove 0.1.0-alpha.9 and
    later).

    Grove refuses a set without a binding. The binding names the rendered Topology: without it Grove makes a Topology,
    and its operator exits at its start if one with the same name exists (scheduler/kai/topology.go, SyncTopology).
    """
    for backend in fleet.backends:
        used = {x.set.topology.name for x in fleet.submitted_sets if x.pool.backend == backend and x.set.topology}
        for name in sorted(used) if backend.grove_release.schedulers else ():
            topology = fleet.cluster_topologies[name]
            bindings = topology.bindings
            if backend.has(Feature.TOPOLOGY) and topology.is_created_on(backend):
                kai_binding = SchedulerTopologyBinding(schedulerName=KAI_SCHEDULER, topologyReference=name)
                bindings = (*(binding for binding in bindings if binding.schedulerName != KAI_SCHEDULER), kai_binding)
            meta = metadata(fleet, name, Phase.TOPOLOGY)
            levels = tuple(DomainLevel(domain=level.key, key=level.label) for level in topology.levels)
            manifest = ClusterTopology(
                apiVersion="grove.io/v1alpha1",
                kind="ClusterTopologyBinding",
                metadata=ObjectMeta(name=name, labels=meta.labels, annotations=meta.annotations),
                spec=ClusterTopologySpec(levels=levels, schedulerTopologyBindings=bindings),
            )
            file, source = names.file(f"clustertopologybinding-{name}"), topology.declared.origin.path
            yield Artifact(backend.name, Phase.TOPOLOGY, "topologies", file, manifest, source)


def _topology(fleet: Fleet, topology: FleetTopology, backend: FleetBackend) -> Artifact:
    assert backend.release is not None
    assert backend.release.topology_api is not None
    labels = {POOL: topology.pool} if topology.pool else {}
    labelled = {level.label for level in topology.levels}
    aliases = backend.has(Feature.LEVEL_ALIAS) and backend.spec.levelAliases
    manifest = Topology.model_validate(
        {
            "apiVersion": backend.release.topology_api,
            "metadata": metadata(fleet, topology.name, Phase.TOPOLOGY, labels=labels, recreate=True),
            "spec": TopologySpec(levels=tuple(_level(level, labelled, aliases=aliases) for level in topology.levels)),
        }
    )
    source = topology.declared.origin.path
    return Artifact(backend.name, Phase.TOPOLOGY, "topologies", names.file(topology.name), manifest, source)


def _level(level: Level, labelled: set[str], *, aliases: bool) -> TopologyLevel:
    """Returns a level with its key as alias. KAI refuses an alias that is already a label or not a valid name."""
    is_alias = aliases and level.key not in labelled and re.fullmatch(QUALIFIED_NAME, level.key)
    alias = level.key if is_alias else None
    return TopologyLevel(nodeLabel=level.label, alias=alias)
