"""Renders accounts of pools as the table of OSMO's command line or in other formats, and a page about one pool."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubectl_tas.gangs.quota_usage import Account, Total, depths, totals
from kubectl_tas.model.pool_kinds import QuotaAmounts
from kubectl_tas.quantities import (
    NO_LIMIT,
    OTHERS,
    RESOURCES,
    Amount,
    Amounts,
    ResourceName,
    as_data,
    said,
    show,
    total,
)
from kubectl_tas.report import style
from kubectl_tas.report.style import printable, width
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.platforms import FleetPlatform
from kubectl_tas.resolve.pools import Allowed, FleetPool, FleetSubpool, Submission, Target, access_to

if TYPE_CHECKING:
    from kubectl_tas.model.platform import Toleration
    from kubectl_tas.place.uncharged import Uncharged
    from kubectl_tas.report import json_shapes as shapes

HEADER = ("Pool", "Status", "Subpool State", "GPU Quota", "Used", "Available")
WIDTHS = (14, 13, 13, 15, 4, 9)
"""Minimum width of each column, as in OSMO's table."""
NARROW = ("Pool", "State", "GPU Quota", "Used", "Available")
"""Columns of the narrow table: without the status, which is always the same."""
MOST = 80
"""The width of a terminal, in characters. The table fits it unless names are too long."""
BACKEND = "Backend"
"""The column of the cluster; shown if there are several clusters."""
WIDE = (
    "Limit",
    "Weight",
    "CPU Quota",
    "CPU Used",
    "Memory Quota",
    "Memory Used",
    "Running",
    BACKEND,
    "Queue",
    "File",
)
AMOUNTS = ("quota", "total", "used", "available", "limit", "weight")
"""The amounts of each resource."""
FIELDS = (
    "name", "kind", "state", "quota", "total", "used", "available",
    "limit", "weight", "running", "backend", "queue", "file",
    *(f"{name}{field.capitalize()}" for name in OTHERS for field in AMOUNTS),
    "parent", "depth", "totalUsed", *(f"{name}TotalUsed" for name in OTHERS), "notCounted",
)  # fmt: skip
_LAST, _INNER, _PAST, _BLANK = "└─ ", "├─ ", "│  ", "   "


def render(rows: Sequence[Account], *, wide: bool = False) -> str:
    """Renders the table: subpools and child pools below their pool, and a sum for each cluster with several pools. A
    table that is wider than a terminal is made as narrow as possible.
    """
    lines = [
        _cells(row, branch) + (_wide_cells(row) if wide else ())
        for row, branch in zip(rows, _branches(depths(rows)), strict=True)
    ]
    sums = [item for item in totals(rows) if item.pools > 1]
    lines += [_sum(item) + (_wide_sum(item) if wide else ()) for item in sums]
    if wide:
        return style.table(HEADER + WIDE, lines, rule=True, widths=WIDTHS)
    last: tuple[str, ...] = ()
    backends = [*(row.pool.backend.name for row in rows), *(item.backend for item in sums)]
    if len(set(backends)) > 1:
        last = (BACKEND,)
        lines = [(*cells, backend) for cells, backend in zip(lines, backends, strict=True)]
    text = style.table(HEADER + last, lines, rule=True, widths=WIDTHS)
    if not _fits(text):
        text = style.table(HEADER + last, lines, rule=True)
    if not _fits(text):
        text = style.table(NARROW + last, [(name, *cells) for name, _, *cells in lines], rule=True)
    return text


def _fits(text: str) -> bool:
    return all(width(line) <= MOST for line in text.splitlines())


def _branches(depths: Sequence[int]) -> list[str]:
    """Returns the branch lines before each name, which connect it to its parent row."""
    found: list[str] = []
    following: set[int] = set()  # the depths at which another row follows below the same parent
    for depth in reversed(depths):
        past = "".join(_PAST if above in following else _BLANK for above in range(1, depth))
        found.append(f"{past}{_INNER if depth in following else _LAST}" if depth else "")
        following = {above for above in following if above < depth} | {depth}
    return found[::-1]


def _sum(item: Total) -> tuple[str, ...]:
    return (
        f"Total ({item.backend})",
        "-",
        "-",
        *(amount_text("gpu", part) for part in (item.quota, item.used, item.available)),
    )


def _wide_sum(item: Total) -> tuple[str, ...]:
    others = (amount_text(name, part) for name in OTHERS for part in (item.quota, item.used))
    return ("-", "-", *others, "-", item.backend, "-", "-")


def _cells(row: Account, branch: str) -> tuple[str, ...]:
    amounts = (quota_text("gpu", row), used_text("gpu", row), amount_text("gpu", row.available))
    return (f"{branch}{row.name}", "ONLINE", row.state or "-", *amounts)


def quota_text(resource: ResourceName, row: Account) -> str:
    """Returns the quota, and for a divided pool also its whole amount."""
    quota = amount_text(resource, row.quota)
    whole = NO_LIMIT if row.total is None else row.total.of(resource)
    return quota if whole == NO_LIMIT else f"{quota} (Total: {show(resource, whole)})"


def used_text(resource: ResourceName, row: Account) -> str:
    """Returns the usage, and for a pool with child pools also the sum of everything below it."""
    used = amount_text(resource, row.used)
    has_sum = row.used is not None and row.subpool is None and row.pool.children
    return f"{used} (Total: {amount_text(resource, row.whole)})" if has_sum else used


def amount_text(resource: ResourceName, amounts: Amounts | None) -> str:
    """Returns an amount as text; "unknown" for None."""
    return "unknown" if amounts is None else show(resource, amounts.of(resource))


def _wide_cells(row: Account) -> tuple[str, ...]:
    running = "-" if row.running is None else str(row.running)
    others = (cell for name in OTHERS for cell in (quota_text(name, row), used_text(name, row)))
    mine = (amount_text("gpu", row.limit), str(row.weight.gpu))
    return (*mine, *others, running, row.pool.backend.name, row.queue or "-", row.file)


def data(
    rows: Sequence[Account], source: str, uncharged: Mapping[str, Iterable[Uncharged]] | None = None
) -> shapes.PoolList:
    """Returns the rows as JSON data. ``source`` says where ``used`` comes from. ``uncharged`` is by backend."""
    sums = [_total_record(item) for item in totals(rows)]
    found: shapes.PoolList = {"version": 1, "usedFrom": source, "pools": [_record(row) for row in rows], "totals": sums}
    if uncharged is not None:
        found["uncharged"] = [
            {
                "backend": backend,
                "gpus": item.gpus,
                "work": item.work,
                "namespace": item.namespace,
                "since": item.since or None,
                "why": f"held {item.why}",
            }
            for backend, items in uncharged.items()
            for item in items
        ]
    return found


def _total_record(item: Total) -> shapes.Total:
    return {
        "backend": item.backend,
        **_total_amounts(item, "gpu"),
        "cpu": _total_amounts(item, "cpu"),
        "memory": _total_amounts(item, "memory"),
    }


def _total_amounts(item: Total, resource: ResourceName) -> shapes.TotalAmounts:
    return {
        "quota": _amount(resource, item.quota),
        "used": _amount(resource, item.used),
        "available": _amount(resource, item.available),
    }


def _amount(resource: ResourceName, amounts: Amounts | None) -> Amount | str | None:
    """Returns GPUs as a number, and others as Kubernetes quantities. None means: no limit, or not known."""
    return None if amounts is None else as_data(resource, amounts.of(resource))


def comma_separated(rows: Sequence[Account], not_counted: Sequence[str] = ()) -> str:
    """Renders the rows as CSV with a header. An empty cell means: no limit, or not known. ``not_counted`` are the
    places of documents that no sum has.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        record: dict[str, Any] = {**_record(row), "notCounted": " ".join(not_counted)}
        for resource in OTHERS:
            own = record.pop(resource).items()
            record |= {f"{resource}{field[0].upper()}{field[1:]}": value for field, value in own}
        cells = {name: printable(value) if isinstance(value, str) else value for name, value in record.items()}
        writer.writerow(cells)
    return out.getvalue()


def _record(row: Account) -> shapes.PoolQueue:
    return {
        "name": row.name,
        "kind": "pool" if row.state is None else "subpool",
        "state": row.state,
        **_amounts_of(row, "gpu"),
        "running": row.running,
        "backend": row.pool.backend.name,
        "queue": row.queue,
        "file": row.file,
        "cpu": {**_amounts_of(row, "cpu"), "weight": int(row.weight.cpu)},
        "memory": {**_amounts_of(row, "memory"), "weight": int(row.weight.memory)},
        "parent": row.parent,
        "depth": row.depth,
    }


def _amounts_of(row: Account, resource: ResourceName) -> shapes.QueueAmounts:
    return {
        "quota": _amount(resource, row.quota),
        "total": _amount(resource, row.total),
        "used": _amount(resource, row.used),
        "available": _amount(resource, row.available),
        "limit": _amount(resource, row.limit),
        "weight": _amount(resource, row.weight),
        "totalUsed": _amount(resource, row.whole),
    }


def subpools(items: Sequence[FleetSubpool], *, wide: bool = False) -> str:
    """Renders subpools as a table."""
    header = ("POOL", "NAME", "STATE", "DECLARED", "QUOTA", "FILE")
    rows = []
    for item in items:
        more = (_all(item.maximum), weight(item.weight), _queue(item) or "-") if wide else ()
        declared = item.declared.spec.spec.quota_text
        rows.append((item.pool, item.name, item.state, declared, _all(item.quota), _file(item), *more))
    return style.table((*header, *(("LIMIT", "WEIGHT", "QUEUE") if wide else ())), rows)


def _queue(item: FleetSubpool) -> str | None:
    return item.queue if item.state != "ARCHIVED" else None


def subpools_data(items: Sequence[FleetSubpool]) -> shapes.SubpoolList:
    """Returns subpools as JSON data."""
    found: list[shapes.ListedSubpool] = [
        {
            "pool": item.pool,
            "name": item.name,
            "state": item.state,
            "declaredQuota": _declared_quota(item),
            "quota": item.quota.gpu,
            "cpu": as_data("cpu", item.quota.cpu),
            "memory": as_data("memory", item.quota.memory),
            "queue": _queue(item),
            "file": _file(item),
        }
        for item in items
    ]
    return {"version": 1, "subpools": found}


def _declared_quota(item: FleetSubpool) -> int | str | dict[str, int | str]:
    quota = item.declared.spec.spec.quota
    return quota.model_dump(exclude_unset=True) if isinstance(quota, QuotaAmounts) else quota


def _all(amounts: Amounts) -> str:
    """Returns the GPUs and all other limited resources as text."""
    others = (said(name, amounts.of(name)) for name in OTHERS if amounts.of(name) != NO_LIMIT)
    return ", ".join((show("gpu", amounts.gpu), *others))


def keys(pool: FleetPool, *, wide: bool = False) -> str:
    """Renders the topology keys of a pool as a table."""
    more = (pool.topology.name,) if wide and pool.topology else ()
    rows = [(level.key, level.label, *more) for level in pool.levels]
    return style.table(("KEY", "LABEL", *(("TOPOLOGY",) if wide else ())), rows)


def keys_data(pool: FleetPool) -> shapes.TopologyKeys:
    """Returns the topology keys of a pool as JSON data."""
    found: list[shapes.Level] = [{"key": level.key, "label": level.label} for level in pool.levels]
    return {"version": 1, "pool": pool.name, "topologyKeys": found}


def _file(item: FleetSubpool) -> str:
    return item.declared.origin.path


def facts(pool: FleetPool, subpool: FleetSubpool | None) -> list[tuple[str, str]]:
    """Returns the facts about a pool or one of its subpools, without its work."""
    return _subpool_facts(pool, subpool) if subpool else _pool_facts(pool)


def page(fleet: Fleet, target: Target, rows: Sequence[Account]) -> str:
    """Renders all about a pool and the pools below it, or about one subpool. ``rows`` are their accounts."""
    pool, subpool = target
    if subpool is None:
        levels = [(level.key, level.label) for level in pool.levels]
        header = ("NAME", "STATE", "QUOTA", "USED", "LIMIT", "WEIGHT")
        parts = [
            style.pairs(facts(pool, None)),
            style.section("Topology keys", ("KEY", "LABEL"), levels),
            style.section("Queues", header, queues(pool, rows)),
        ]
    else:
        (row,) = rows
        parts = [style.pairs([*facts(pool, subpool), ("Used", _used(row.used))])]
    workflows = [(item.name, *_work_cells(item)) for item in _sent_to(target, fleet.workflows)]
    parts.append(style.section("Workflows", ("NAME", "POOL", "PRIORITY", "GPUS"), workflows))
    others = (*fleet.workloads, *fleet.submitted_sets, *fleet.submitted_pod_groups)
    workloads = [(item.name, item.kind, *_work_cells(item)) for item in _sent_to(target, others)]
    if workloads:
        parts.append(style.section("Workloads", ("NAME", "KIND", "POOL", "PRIORITY", "GPUS"), workloads))
    return "\n".join(parts)


def _pool_facts(pool: FleetPool) -> list[tuple[str, str]]:
    backend, spec = pool.backend, pool.declared.spec.spec
    scheduler = f"{backend.scheduler_name} {backend.release.version}" if backend.release else backend.scheduler_name
    return [
        ("Name", pool.name),
        ("Description", spec.description or "none"),
        ("File", pool.declared.origin.path),
        ("Backend", f"{backend.name} (namespace {backend.namespace}, {scheduler})"),
        *((("Parent", pool.parent.name),) if pool.parent else ()),
        *((("Children", ", ".join(child.name for child in pool.children)),) if pool.children else ()),
        ("Guarantee", _sentence(pool.guarantee)),
        ("Maximum", _sentence(pool.maximum)),
        ("Weight", weight(pool.weight)),
        *_order(pool.declared.spec.spec.priority),
        *(("Runs before preempted", text) for text in (spec.preemptMinRuntime,) if text is not None),
        *(("Runs before reclaimed", text) for text in (spec.reclaimMinRuntime,) if text is not None),
        ("Topology", pool.topology.name if pool.topology else "none"),
        *_places(pool),
        *(("Platform", _platform(pool, item)) for item in pool.platforms.by_name.values()),
        *_access(access_to(pool)),
    ]


def _platform(pool: FleetPool, platform: FleetPlatform) -> str:
    """Returns the name, the nodes and the permissions of a platform."""
    spec, told = platform.spec, []
    nodes = platform.merged.data.get("spec", {}).get("nodeSelector", {})
    selector = {**platform.spec.nodes.selector, **(nodes if isinstance(nodes, dict) else {})}
    if selector:
        told.append(", ".join(f"{key}={value}" for key, value in selector.items()))
    allowed = [("privileged", spec.privileged_allowed), ("hostNetwork", spec.host_network_allowed)]
    names = [name for name, is_allowed in allowed if is_allowed] + [f"mounts of {path}" for path in spec.allowed_mounts]
    if names:
        told.append(f"allows {', '.join(names)}")
    called = f"{platform.name} (default)" if platform is pool.platforms.default else platform.name
    return f"{called}: {'; '.join(told)}" if told else called


def _places(pool: FleetPool) -> Iterator[tuple[str, str]]:
    """Yields where the work of a pool runs, as far as the Pool says."""
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
    """Formats a toleration like ``kubectl describe``."""
    value = f"={item.value}" if item.value else ""
    effect = f":{item.effect}" if item.effect else ""
    exists = " op=Exists" if item.operator == "Exists" else ""
    seconds = f" for {item.tolerationSeconds}s" if item.tolerationSeconds is not None else ""
    return f"{item.key or ''}{value}{effect}{exists}{seconds}"


def _subpool_facts(pool: FleetPool, subpool: FleetSubpool) -> list[tuple[str, str]]:
    written = subpool.declared.spec.spec.namespaces
    return [
        ("Name", subpool.canonical),
        ("File", subpool.declared.origin.path),
        ("State", subpool.state),
        ("Quota", f"{_sentence(subpool.quota)} (declared: {subpool.declared.spec.spec.quota_text})"),
        *((("Maximum", _sentence(subpool.maximum)),) if subpool.declared.spec.spec.maximum is not None else ()),
        *((("Weight", weight(subpool.weight)),) if subpool.declared.spec.spec.weight is not None else ()),
        *_order(subpool.declared.spec.spec.priority),
        ("Queue", subpool.queue if subpool.state != "ARCHIVED" else "none"),
        *([("Namespaces", ", ".join(written))] if written else []),
        *_access(access_to(pool, subpool)),
    ]


def _access(allowed: Allowed) -> Iterator[tuple[str, str]]:
    """Yields who may use a pool or subpool, if it names groups."""
    if allowed.submit or allowed.view:
        yield "May submit", ", ".join(allowed.submit) or "everybody who may create work"
    if allowed.view:
        yield "May view", ", ".join(allowed.view)


def _order(priority: int | None) -> list[tuple[str, str]]:
    return [] if priority is None else [("Priority", str(priority))]


def queues(pool: FleetPool, rows: Sequence[Account]) -> list[tuple[str, ...]]:
    """Returns the queues of a pool, each with its state, quota, usage, limit and weight."""
    own = [
        (row.queue, row.state or "-", _quota(row), _used(row.used), _all(row.limit), weight(row.weight))
        for row in rows
        if row.pool.name == pool.name and row.queue is not None
    ]
    used = _used(used_by(rows))
    return [(pool.queue, "-", _all(pool.guarantee), used, _all(pool.maximum), weight(pool.weight)), *own]


def _quota(row: Account) -> str:
    return "unknown" if row.quota is None else _all(row.quota)


def used_by(rows: Sequence[Account]) -> Amounts | None:
    """Returns the total usage of the rows; None if the usage of a row is not known."""
    known = [row.used for row in rows if row.used is not None]
    return total(known) if len(known) == len(rows) else None


def _used(amounts: Amounts | None) -> str:
    """Returns the used GPUs and other used resources as text."""
    if amounts is None:
        return "unknown"
    others = (said(name, amounts.of(name)) for name in OTHERS if amounts.of(name))
    return ", ".join((show("gpu", amounts.gpu), *others))


def describe_data(fleet: Fleet, target: Target, rows: Sequence[Account], source: str) -> shapes.PoolPage:
    """Returns the page as JSON data. ``source`` says where ``used`` comes from."""
    pool, subpool = target
    return {
        "version": 1,
        "name": subpool.canonical if subpool else pool.name,
        "kind": "subpool" if subpool else "pool",
        "usedFrom": source,
        "queues": [_record(row) for row in rows],
        "topology": pool.topology.name if pool.topology else None,
        "topologyKeys": [{"key": level.key, "label": level.label} for level in pool.levels],
        "workflows": [
            {"kind": item.kind, "name": item.name, "pool": item.target, "priority": item.priority, "gpus": item.gpus}
            for item in work_of(fleet, rows)
        ],
    }


def work_of(fleet: Fleet, rows: Sequence[Account]) -> list[Submission]:
    """Returns the work that is sent to the queues of the rows."""
    places = {row.name for row in rows}
    return [item for item in fleet.submissions if item.target in places]


def _sent_to(target: Target, items: Sequence[Submission]) -> Iterator[Submission]:
    pool, subpool = target
    return (item for item in items if item.pool == pool and (subpool is None or item.subpool == subpool))


def _work_cells(item: Submission) -> tuple[str, ...]:
    return item.target, item.priority, str(item.gpus)


def _sentence(amounts: Amounts) -> str:
    """Returns the GPUs and all other limited resources as text with units."""
    gpus = "no limit" if amounts.gpu == NO_LIMIT else said("gpu", amounts.gpu)
    others = (said(name, amounts.of(name)) for name in OTHERS if amounts.of(name) != NO_LIMIT)
    return ", ".join((gpus, *others))


def weight(weights: Amounts) -> str:
    """Returns one weight, or the weights of GPUs, cpu and memory if they differ."""
    parts = [f"{name} {weights.of(name)}" for name in RESOURCES]
    return str(weights.gpu) if weights.gpu == weights.cpu == weights.memory else ", ".join(parts)
