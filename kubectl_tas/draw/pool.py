"""Accounts of pools in, OSMO's table of them out, or the same in other formats; and a page about one of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any

from kubectl_tas.gangs.accounts import Account
from kubectl_tas.gpus import Gpus
from kubectl_tas.model.pod import Toleration
from kubectl_tas.report import table
from kubectl_tas.report.style import printable
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import UNLIMITED, FleetPool, FleetSubpool

HEADER = ("Pool", "Status", "Subpool State", "GPU Quota", "Used", "Available")
WIDTHS = (14, 13, 13, 15, 4, 9)
"""The least width of each column, as in OSMO's table."""
WIDE = ("Limit", "Weight", "Running", "Backend", "Queue", "File")
FIELDS = (
    "name", "kind", "state", "quota", "total", "used", "available",
    "limit", "weight", "running", "backend", "queue", "file",
)  # fmt: skip
_LAST, _INNER = "└─ ", "├─ "


def render(rows: Sequence[Account], *, wide: bool = False) -> str:
    """The table: subpools hang below their pool."""
    lines = []
    for index, row in enumerate(rows):
        following = rows[index + 1] if index + 1 < len(rows) else None
        branch = "" if row.state is None else _INNER if following and following.state is not None else _LAST
        lines.append(_cells(row, branch) + (_wide_cells(row) if wide else ()))
    return table.render(HEADER + (WIDE if wide else ()), lines, rule=True, widths=WIDTHS)


def _cells(row: Account, branch: str) -> tuple[str, ...]:
    quota = _limit(row.quota) + (f" (Total: {row.total})" if row.total is not None else "")
    used = "unknown" if row.used is None else str(row.used)
    available = "unknown" if row.used is None else _limit(row.available)
    return (f"{branch}{row.name}", "ONLINE", row.state or "-", quota, used, available)


def _wide_cells(row: Account) -> tuple[str, ...]:
    running = "-" if row.running is None else str(row.running)
    return (_limit(row.limit), str(row.pool.weight), running, row.pool.backend.name, row.queue or "-", row.file)


def data(rows: Sequence[Account], source: str) -> dict[str, Any]:
    """The rows for programs; ``source`` says where ``used`` comes from."""
    return {"version": 1, "usedFrom": source, "pools": [_record(row) for row in rows]}


def comma_separated(rows: Sequence[Account]) -> str:
    """The rows as CSV with a header; nothing stands for no limit and for not known."""
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        values = _record(row).items()
        writer.writerow({name: printable(value) if isinstance(value, str) else value for name, value in values})
    return out.getvalue()


def _record(row: Account) -> dict[str, Any]:
    return {
        "name": row.name,
        "kind": "pool" if row.state is None else "subpool",
        "state": row.state,
        "quota": row.quota,
        "total": row.total,
        "used": row.used,
        "available": row.available,
        "limit": row.limit,
        "weight": row.pool.weight,
        "running": row.running,
        "backend": row.pool.backend.name,
        "queue": row.queue,
        "file": row.file,
    }


def _limit(number: Gpus | None) -> str:
    return "unlimited" if number is None else str(number)


def subpools(items: Sequence[FleetSubpool]) -> str:
    """Subpools as a table."""
    rows = [
        (item.pool, item.name, item.state, str(item.declared.spec.spec.quota), str(item.quota), _file(item))
        for item in items
    ]
    return table.render(("POOL", "NAME", "STATE", "DECLARED", "QUOTA", "FILE"), rows)


def subpools_data(items: Sequence[FleetSubpool]) -> dict[str, Any]:
    """The same for programs."""
    found = [
        {
            "pool": item.pool,
            "name": item.name,
            "state": item.state,
            "declaredQuota": item.declared.spec.spec.quota,
            "quota": item.quota,
            "queue": item.queue if item.state != "ARCHIVED" else None,
            "file": _file(item),
        }
        for item in items
    ]
    return {"version": 1, "subpools": found}


def keys(pool: FleetPool) -> str:
    """The topology keys of a pool as a table."""
    return table.render(("KEY", "LABEL"), [(level.key, level.label) for level in pool.levels])


def keys_data(pool: FleetPool) -> dict[str, Any]:
    """The same for programs."""
    found = [{"key": level.key, "label": level.label} for level in pool.levels]
    return {"version": 1, "pool": pool.name, "topologyKeys": found}


def _file(item: FleetSubpool) -> str:
    return item.declared.origin.path


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
        *_places(pool),
    ]


def _places(pool: FleetPool) -> Iterator[tuple[str, str]]:
    """Where its work runs, as far as the pool says it."""
    spec = pool.declared.spec.spec
    if spec.namespaces:
        yield "Namespaces", ", ".join(spec.namespaces)
    if spec.nodePool is not None:
        yield "Node pool", spec.nodePool
    if spec.nodes.selector:
        yield "Node selector", ", ".join(f"{key}={value}" for key, value in spec.nodes.selector.items())
    if spec.nodes.tolerations:
        yield "Tolerations", ", ".join(_toleration(item) for item in spec.nodes.tolerations)


def _toleration(item: Toleration) -> str:
    """As kubectl describe prints it."""
    value = f"={item.value}" if item.value else ""
    effect = f":{item.effect}" if item.effect else ""
    exists = " op=Exists" if item.operator == "Exists" else ""
    seconds = f" for {item.tolerationSeconds}s" if item.tolerationSeconds is not None else ""
    return f"{item.key or ''}{value}{effect}{exists}{seconds}"


def _subpool_facts(subpool: FleetSubpool) -> list[tuple[str, str]]:
    written = subpool.declared.spec.spec.namespaces
    return [
        ("Name", subpool.canonical),
        ("File", subpool.declared.origin.path),
        ("State", subpool.state),
        ("Quota", f"{_gpus(subpool.quota)} (declared: {subpool.declared.spec.spec.quota})"),
        ("Queue", subpool.queue if subpool.state != "ARCHIVED" else "none"),
        *([("Namespaces", ", ".join(written))] if written else []),
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
        for workload in (*fleet.workloads, *fleet.submitted_sets, *fleet.submitted_pod_groups)
        if workload.pool == pool and (subpool is None or workload.subpool == subpool)
    ]


def _gpus(number: int) -> str:
    return "no limit" if number == UNLIMITED else f"{number} GPUs"


def _number(number: int) -> str:
    return "unlimited" if number == UNLIMITED else str(number)
