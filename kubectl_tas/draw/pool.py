"""A pool in, a page about it out, in the manner of ``kubectl describe``."""

from __future__ import annotations

from kubectl_tas.report import table
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import UNLIMITED, FleetPool, FleetSubpool


def page(fleet: Fleet, pool: FleetPool, subpool: FleetSubpool | None) -> str:
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
