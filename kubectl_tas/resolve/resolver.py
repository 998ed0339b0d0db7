"""A repository in, its fleet out. What cannot be followed is listed as dangling, never guessed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from kubectl_tas import kai
from kubectl_tas.model.config import Backend, ConfigSpec
from kubectl_tas.model.repository import Declared, KeyPath, Repository
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Dangling, Fleet, FleetBackend, FleetPool, FleetSubpool, FleetTopology
from kubectl_tas.resolve.grove import resolve_grove, resolve_sets
from kubectl_tas.resolve.joint import join_gangs
from kubectl_tas.resolve.levels import cluster_topologies, pool_topology
from kubectl_tas.resolve.podgroup import FleetPodGroup
from kubectl_tas.resolve.queues import asked_quota
from kubectl_tas.resolve.workflows import resolve_workflow
from kubectl_tas.resolve.workloads import resolve_workload

T = TypeVar("T")


def resolve(repository: Repository) -> Fleet:
    """The fleet that a repository declares. Of two things with one name, the first one counts."""
    config = repository.config.spec.spec if repository.config else ConfigSpec()
    backends = tuple(_backend(spec, index) for index, spec in enumerate(config.backends))
    dangling: list[Dangling] = []
    grove = resolve_grove(repository)
    topologies = cluster_topologies(repository.topologies, grove)
    pools = _pools(repository, config, backends, topologies, dangling)
    declared_pools = _names(repository.pools)
    workflows = [resolve_workflow(item, pools, declared_pools, config, dangling) for item in repository.workflows]
    pod_groups = [_pod_group(item, backends, pools, dangling) for item in repository.pod_groups]
    sets = resolve_sets(repository, grove, backends, pools, topologies, dangling)
    own = tuple(pool.topology for pool in pools.values() if pool.topology and pool.topology.pool)
    every = {**topologies, **{topology.name: topology for topology in own}}
    found = [resolve_workload(item, pools, declared_pools, every, dangling) for item in repository.workloads]
    workloads = join_gangs(sorted(filter(None, found), key=lambda workload: (workload.name, workload.kind)))
    return Fleet(
        repository=repository,
        config=config,
        backends=backends,
        topologies=(*topologies.values(), *own),
        pools=tuple(pools.values()),
        workflows=tuple(sorted(filter(None, workflows), key=lambda workflow: workflow.name)),
        pod_groups=tuple(sorted(filter(None, pod_groups), key=lambda p: (p.namespace, p.declared.spec.metadata.name))),
        grove=grove,
        pod_clique_sets=sets,
        workloads=workloads,
        dangling=tuple(dangling),
    )


def _backend(spec: Backend, index: int) -> FleetBackend:
    release = kai.release(spec.scheduler.version) if spec.scheduler.type == "kai" else None
    return FleetBackend(spec, index, release)


def _names(declared: Iterable[Declared[Any]]) -> frozenset[str]:
    return frozenset(item.spec.metadata.name for item in declared)


def _pools(
    repository: Repository,
    config: ConfigSpec,
    backends: tuple[FleetBackend, ...],
    topologies: dict[str, FleetTopology],
    dangling: list[Dangling],
) -> dict[str, FleetPool]:
    """Pools by name, sorted; those whose backend is unknown are left out."""
    pools: dict[str, FleetPool] = {}
    by_parent: dict[str, list[Declared[Any]]] = {}
    known = _names(repository.pools)
    for subpool in repository.subpools:
        parent = subpool.spec.spec.parent
        by_parent.setdefault(parent, []).append(subpool)
        if parent not in known:
            dangling.append(Dangling("parent", parent, tuple(sorted(known)), subpool, ("spec", "parent")))
    for declared in sorted(repository.pools, key=lambda pool: (pool.spec.metadata.name, pool.origin.path)):
        name, spec = declared.spec.metadata.name, declared.spec.spec
        backend = _pick_backend(declared, spec.backend, backends, ("spec", "backend"), dangling)
        if backend is None or name in pools:
            continue
        where = (config.queuePrefix, backend.namespace, name)
        subpools: dict[str, FleetSubpool] = {}
        for item in by_parent.get(name, ()):
            short = item.spec.metadata.name
            quota = asked_quota(item.spec.spec.quota, spec.resources.gpu.guarantee)
            queue = names.leaf_queue(*where, short)
            subpools.setdefault(short, FleetSubpool(item, name, short, quota, queue))
        pools[name] = FleetPool(
            declared=declared,
            name=name,
            backend=backend,
            subpools=tuple(subpools[short] for short in sorted(subpools)),
            topology=pool_topology(declared, backend, names.pool_topology(*where), topologies, dangling),
            queue=names.pool_queue(*where),
            shared_queue=names.leaf_queue(*where, names.SHARED),
        )
    return pools


def _pick_backend(
    declared: Declared[Any],
    name: str | None,
    backends: tuple[FleetBackend, ...],
    path: KeyPath,
    dangling: list[Dangling],
) -> FleetBackend | None:
    """The backend called ``name``; without a name the only one."""
    if name is None and len(backends) == 1:
        return backends[0]
    found = next((backend for backend in backends if backend.name == name), None)
    if found is None:
        known = tuple(backend.name for backend in backends)
        dangling.append(Dangling("backend", name or "", known, declared, path))
    return found


def _pod_group(
    declared: Declared[Any],
    backends: tuple[FleetBackend, ...],
    pools: dict[str, FleetPool],
    dangling: list[Dangling],
) -> FleetPodGroup | None:
    """A hand-written PodGroup goes where its queue is, else where its namespace is."""
    queue, namespace = declared.spec.spec.queue, declared.spec.metadata.namespace
    by_queue = [pool.backend for pool in pools.values() if queue.startswith(pool.queue + names.SEPARATOR)]
    by_namespace = [backend for backend in backends if backend.namespace == namespace]
    for candidates in (backends, by_queue, by_namespace):
        if len({backend.name for backend in candidates}) == 1:
            return FleetPodGroup(declared, candidates[0])
    known = tuple(backend.name for backend in backends)
    dangling.append(Dangling("backend of a PodGroup", queue, known, declared, ("spec", "queue")))
    return None
