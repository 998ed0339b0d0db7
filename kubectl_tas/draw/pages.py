"""A pool or a topology in, a page about it out, in the manner of kubectl describe."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compare.cluster import CONDITION, condition, declared_levels, domains
from kubectl_tas.kai import Feature
from kubectl_tas.report import table, usage
from kubectl_tas.resolve.cliqueset import FleetPodCliqueSet
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import UNLIMITED, FleetPool, FleetSubpool
from kubectl_tas.resolve.topologies import FleetTopology


def pool_page(fleet: Fleet, pool: FleetPool, subpool: FleetSubpool | None) -> str:
    """All about a pool, or about one of its subpools."""
    parts = [table.pairs(_subpool_facts(subpool) if subpool else _pool_facts(pool))]
    if subpool is None:
        parts.append(table.section("Topology keys", ("KEY", "LABEL"), [(x.key, x.label) for x in pool.levels]))
        parts.append(table.section("Queues", ("NAME", "STATE", "QUOTA", "LIMIT", "WEIGHT"), _queues(pool)))
    parts.append(table.section("Workflows", ("NAME", "POOL", "PRIORITY", "GPUS"), _workflows(fleet, pool, subpool)))
    workloads = _workloads(fleet, pool, subpool)
    if workloads:
        parts.append(table.section("Workloads", ("NAME", "KIND", "POOL", "PRIORITY", "GPUS"), workloads))
    return "\n".join(parts)


def _pool_facts(pool: FleetPool) -> list[tuple[str, str]]:
    backend, spec = pool.backend, pool.declared.spec.spec
    scheduler = f"{backend.scheduler_name} {backend.release.version}" if backend.release else backend.scheduler_name
    return [
        ("Name", pool.name),
        ("Description", spec.description or "none"),
        ("File", pool.declared.origin.path),
        ("Backend", f"{backend.name} (namespace {backend.namespace}, {scheduler})"),
        ("Guarantee", _gpus(pool.guarantee)),
        ("Maximum", _gpus(pool.maximum)),
        ("Weight", str(pool.weight)),
        ("Topology", pool.topology.name if pool.topology else "none"),
    ]


def _subpool_facts(subpool: FleetSubpool) -> list[tuple[str, str]]:
    return [
        ("Name", subpool.canonical),
        ("File", subpool.declared.origin.path),
        ("State", subpool.state),
        ("Quota", f"{_gpus(subpool.quota)} (declared: {subpool.declared.spec.spec.quota})"),
        ("Queue", subpool.queue if subpool.state != "ARCHIVED" else "none"),
    ]


def _queues(pool: FleetPool) -> list[tuple[str, ...]]:
    rest = (_number(pool.maximum), str(pool.weight))
    rows: list[tuple[str, ...]] = [
        (pool.queue, "-", _number(pool.guarantee), *rest),
        (pool.shared_queue, "-", _number(pool.shared_quota), *rest),
    ]
    live = (subpool for subpool in pool.subpools if subpool.state != "ARCHIVED")
    return rows + [(subpool.queue, subpool.state, _number(subpool.quota), *rest) for subpool in live]


def _workflows(fleet: Fleet, pool: FleetPool, subpool: FleetSubpool | None) -> list[tuple[str, ...]]:
    return [
        (workflow.name, workflow.target, workflow.priority, str(workflow.gpus))
        for workflow in fleet.workflows
        if workflow.pool == pool and (subpool is None or workflow.subpool == subpool)
    ]


def _workloads(fleet: Fleet, pool: FleetPool, subpool: FleetSubpool | None) -> list[tuple[str, ...]]:
    return [
        (workload.name, workload.kind, workload.target, workload.priority, str(workload.gpus))
        for workload in (*fleet.workloads, *fleet.submitted_sets)
        if workload.pool == pool and (subpool is None or workload.subpool == subpool)
    ]


def _gpus(number: int) -> str:
    return "no limit" if number == UNLIMITED else f"{number} GPUs"


def _number(number: int) -> str:
    return "unlimited" if number == UNLIMITED else str(number)


def topology_page(fleet: Fleet, topology: FleetTopology) -> str:
    """Its levels, what it becomes on each cluster, and who uses it."""
    facts = [
        ("Name", topology.name),
        ("Kind", topology.declared.spec.kind),
        ("File", topology.declared.origin.path),
        *(("Topology", text) for text in _objects(fleet, topology)),
    ]
    header = ("KEY", "LABEL") if topology.pool else ("DOMAIN", "LABEL")
    levels = [(level.key, level.label) for level in topology.levels]
    pools = [(pool.name, pool.backend.name) for pool in fleet.pools if pool.topology == topology]
    parts = [table.pairs(facts), table.section("Levels", header, levels)]
    parts.append(table.section("Pools", ("NAME", "BACKEND"), pools))
    work = [(item.what, item.queue) for item in fleet.placed_by(topology)]
    parts.append(table.section("Placed work", ("NAME", "QUEUE"), work))
    if topology.pool is None:
        parts.append(table.section("PodCliqueSets", ("NAME", CONDITION), list(_sets(fleet, topology))))
    return "\n".join(parts)


def _objects(fleet: Fleet, topology: FleetTopology) -> Iterator[str]:
    """What stands for it on each cluster."""
    for backend in (topology.backend,) if topology.backend else fleet.backends:
        where = f" on backend {backend.name}"
        if not backend.has(Feature.TOPOLOGY):
            yield f"none{where}, which has no KAI Scheduler with topologies"
        elif topology.binding(backend) is not None:
            yield f"{topology.name_on(backend)}{where}, which exists already"
        elif topology.is_created_on(backend):
            yield f"{topology.name}{where}, rendered here"
        else:
            yield f"{topology.name}{where}, not rendered: createTopologyResources is false"


def sets_of(fleet: Fleet, topology: FleetTopology) -> list[FleetPodCliqueSet]:
    """The PodCliqueSets that use a cluster topology."""
    if topology.pool is not None:
        return []
    return [item for item in fleet.pod_clique_sets if item.topology_name == topology.name]


def set_cluster(fleet: Fleet, item: FleetPodCliqueSet) -> str | None:
    """The cluster of a set, where there are several."""
    return item.backend.name if item.backend and len(fleet.backends) > 1 else None


def set_name(fleet: Fleet, item: FleetPodCliqueSet) -> str:
    """Cluster, where there are several, namespace and name."""
    return usage.full_name(set_cluster(fleet, item), *item.key)


def _sets(fleet: Fleet, topology: FleetTopology) -> Iterator[tuple[str, str]]:
    known = domains(declared_levels(fleet))
    for item in sets_of(fleet, topology):
        state = condition(item.spec, known)
        missing = f" (it lacks {', '.join(state.missing)})" if state and state.missing else ""
        yield set_name(fleet, item), f"{state.status if state else '-'}{missing}"
