"""Renders accounts of pools as the table of OSMO's command line or in other formats, and a page about one pool."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.draw import plainpage
from kubectl_tas.facts.quantities import (
    NO_LIMIT,
    OTHERS,
    RESOURCES,
    UNITS,
    Amounts,
    ResourceName,
    said,
    show,
    total,
)
from kubectl_tas.gangs.quota_usage import Account, Total, depths, totals
from kubectl_tas.report import style
from kubectl_tas.report.json import as_json
from kubectl_tas.report.style import printable, width
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.platforms import FleetPlatform
from kubectl_tas.resolve.pools import Allowed, FleetPool, FleetSubpool, Submission, Target, access_to

if TYPE_CHECKING:
    from kubectl_tas.model.platform import Toleration
    from kubectl_tas.place.uncharged import Uncharged

HEADER = ("Pool", "Status", "Subpool State", "GPU Quota", "Used", "Available")
WIDTHS = (14, 13, 13, 15, 4, 9)
"""Minimum width of each column, as in OSMO's table."""
_FULL = 100
"""Percent of a quota that is used up."""
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
    sums = [cluster_total for cluster_total in totals(rows) if cluster_total.pools > 1]
    lines += [_sum(cluster_total) + (_wide_sum(cluster_total) if wide else ()) for cluster_total in sums]
    if wide:
        return style.table(HEADER + WIDE, lines, rule=True, widths=WIDTHS)
    last: tuple[str, ...] = ()
    backends = [*(row.pool.backend.name for row in rows), *(cluster_total.backend for cluster_total in sums)]
    if len(set(backends)) > 1:
        last = (BACKEND,)
        lines = [(*cells, backend) for cells, backend in zip(lines, backends, strict=True)]
    text = style.table(HEADER + last, lines, rule=True, widths=WIDTHS)
    if not _fits(text):
        text = style.table(HEADER + last, lines, rule=True)
    if not _fits(text):
        text = style.table(NARROW + last, [(name, *cells) for name, _, *cells in lines], rule=True)
    if not _fits(text):
        short = [(name, *(cell.replace("(Total: ", "(") for cell in cells)) for name, _, *cells in lines]
        text = style.table(NARROW + last, short, rule=True)
    return text


def _fits(text: str) -> bool:
    return all(width(line) <= MOST for line in text.splitlines())


def _branches(depths: Sequence[int]) -> list[str]:
    """Returns the branch lines before each name, which connect it to its parent row."""
    branches: list[str] = []
    following: set[int] = set()  # the depths at which another row follows below the same parent
    for depth in reversed(depths):
        past = "".join(_PAST if above in following else _BLANK for above in range(1, depth))
        branches.append(f"{past}{_INNER if depth in following else _LAST}" if depth else "")
        following = {above for above in following if above < depth} | {depth}
    return branches[::-1]


def _sum(cluster_total: Total) -> tuple[str, ...]:
    return (
        f"Total ({cluster_total.backend})",
        "-",
        "-",
        *(amount_text("gpu", amount) for amount in (cluster_total.quota, cluster_total.used, cluster_total.available)),
    )


def _wide_sum(cluster_total: Total) -> tuple[str, ...]:
    amounts = (amount_text(name, amount) for name in OTHERS for amount in (cluster_total.quota, cluster_total.used))
    return ("-", "-", *amounts, "-", cluster_total.backend, "-", "-")


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


def percent_used(row: Account) -> int | None:
    """Returns the used part of the quota of a row and all below it; None if either is unknown, or the quota is 0."""
    quota, used = (row.quota, row.used) if row.total is None else (row.total, row.whole)
    return None if used is None or quota is None or quota.gpu in (0, NO_LIMIT) else int(100 * used.gpu / quota.gpu)


def html(rows: Sequence[Account], notes: Iterable[str]) -> str:
    """Renders the rows as a page, with a bar for the used part of each quota."""
    header = (*NARROW, "Used of the quota")
    cells = [_html_cells(row, depth) for row, depth in zip(rows, depths(rows), strict=True)]
    body = [plainpage.table(header, cells), *(plainpage.paragraph(plainpage.text(note)) for note in notes)]
    return plainpage.page("Pools", body)


def _html_cells(row: Account, depth: int) -> list[plainpage.Html]:
    amounts = (row.state or "-", quota_text("gpu", row), used_text("gpu", row), amount_text("gpu", row.available))
    percent = percent_used(row)
    bar = "" if percent is None else plainpage.share(percent, "bad" if percent > _FULL else "good")
    name = plainpage.indented(plainpage.text(row.name), depth)
    return [name, *map(plainpage.text, amounts), plainpage.Html(bar)]


def _wide_cells(row: Account) -> tuple[str, ...]:
    running = "-" if row.running is None else str(row.running)
    cells = (cell for name in OTHERS for cell in (quota_text(name, row), used_text(name, row)))
    mine = (amount_text("gpu", row.limit), str(row.weight.gpu))
    return (*mine, *cells, running, row.pool.backend.name, row.queue or "-", row.file)


@json_fields(
    "backend gpus=holding.gpus work=holding.work namespace=holding.namespace since=holding.since|null "
    "why=holding.sentence"
)
class UnchargedWork(NamedTuple):
    """GPUs that count against no queue."""

    backend: str
    holding: Uncharged


@json_fields("version:1 usedFrom=source pools totals uncharged?")
class PoolList(NamedTuple):
    """Pools and subpools with their quota, used and available resources."""

    source: str
    """The source of ``used``: cluster or declared."""
    pools: Sequence[Account]
    uncharged: Sequence[UnchargedWork] | None
    """None if no cluster was asked."""

    @property
    def totals(self) -> list[Total]:
        """The sums of each cluster."""
        return totals(self.pools)


def comma_separated(rows: Sequence[Account], not_counted: Sequence[str] = ()) -> str:
    """Renders the rows as CSV with a header. An empty cell means: no limit, or not known. ``not_counted`` are the
    places of documents that no sum has.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        record: dict[str, Any] = {**as_json(row), "notCounted": " ".join(not_counted)}
        for resource in OTHERS:
            amounts = record.pop(resource).items()
            record |= {f"{resource}{field[0].upper()}{field[1:]}": value for field, value in amounts}
        cells = {name: printable(value) if isinstance(value, str) else value for name, value in record.items()}
        writer.writerow(cells)
    return out.getvalue()


def subpools(listed_subpools: Sequence[FleetSubpool], *, wide: bool = False) -> str:
    """Renders subpools as a table."""
    header = ("POOL", "NAME", "STATE", "DECLARED", "QUOTA", "FILE")
    rows = []
    for subpool in listed_subpools:
        wide_cells = (_all(subpool.maximum), weight(subpool.weight), subpool.current_queue or "-") if wide else ()
        declared = subpool.declared.spec.spec.quota_text
        file = subpool.declared.origin.path
        rows.append((subpool.pool, subpool.name, subpool.state, declared, _all(subpool.quota), file, *wide_cells))
    return style.table((*header, *(("LIMIT", "WEIGHT", "QUEUE") if wide else ())), rows)


@json_fields("version:1 subpools")
class SubpoolList(NamedTuple):
    """Subpools."""

    subpools: Sequence[FleetSubpool]


def _all(amounts: Amounts) -> str:
    """Returns the GPUs and all other limited resources as text."""
    limited = (said(name, amounts.of(name)) for name in OTHERS if amounts.of(name) != NO_LIMIT)
    return ", ".join((show("gpu", amounts.gpu), *limited))


def keys(pool: FleetPool, *, wide: bool = False) -> str:
    """Renders the topology keys of a pool as a table."""
    wide_cells = (pool.topology.name,) if wide and pool.topology else ()
    rows = [(level.key, level.label, *wide_cells) for level in pool.levels]
    return style.table(("KEY", "LABEL", *(("TOPOLOGY",) if wide else ())), rows)


@json_fields("version:1 pool=pool.name topologyKeys=pool.levels")
class TopologyKeys(NamedTuple):
    """The topology keys of a pool, from the coarsest."""

    pool: FleetPool


def facts(pool: FleetPool, subpool: FleetSubpool | None) -> list[tuple[str, str]]:
    """Returns the facts about a pool or one of its subpools, without its work."""
    return _subpool_facts(pool, subpool) if subpool else _pool_facts(pool)


def page(fleet: Fleet, target: Target, rows: Sequence[Account]) -> str:
    """Renders all about a pool and the pools below it, or about one subpool. ``rows`` are their accounts."""
    pool, subpool = target
    if subpool is None:
        levels = [(level.key, level.label) for level in pool.levels]
        header = ("NAME", "STATE", "QUOTA", "USED", "LIMIT", "WEIGHT")
        sections = [
            style.pairs(facts(pool, None)),
            style.section("Topology keys", ("KEY", "LABEL"), levels),
            style.section("Queues", header, queues(pool, rows)),
        ]
    else:
        (row,) = rows
        sections = [style.pairs([*facts(pool, subpool), ("Used", _used(row.used))])]
    workflows = [(workflow.name, *_work_cells(workflow)) for workflow in _sent_to(target, fleet.workflows)]
    sections.append(style.section("Workflows", ("NAME", "POOL", "PRIORITY", "GPUS"), workflows))
    other_work = (*fleet.workloads, *fleet.submitted_sets, *fleet.submitted_pod_groups)
    workloads = [(workload.name, workload.kind, *_work_cells(workload)) for workload in _sent_to(target, other_work)]
    if workloads:
        sections.append(style.section("Workloads", ("NAME", "KIND", "POOL", "PRIORITY", "GPUS"), workloads))
    return "\n".join(sections)


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
        *(("Platform", _platform(pool, platform)) for platform in pool.platforms.by_name.values()),
        *_access(access_to(pool)),
    ]


def _platform(pool: FleetPool, platform: FleetPlatform) -> str:
    """Returns the name, the nodes and the permissions of a platform."""
    spec, phrases = platform.spec, []
    nodes = platform.merged.data.get("spec", {}).get("nodeSelector", {})
    selector = {**platform.spec.nodes.selector, **(nodes if isinstance(nodes, dict) else {})}
    if selector:
        phrases.append(", ".join(f"{key}={value}" for key, value in selector.items()))
    allowed = [("privileged", spec.privileged_allowed), ("hostNetwork", spec.host_network_allowed)]
    names = [name for name, is_allowed in allowed if is_allowed] + [f"mounts of {path}" for path in spec.allowed_mounts]
    if names:
        phrases.append(f"allows {', '.join(names)}")
    called = f"{platform.name} (default)" if platform is pool.platforms.default else platform.name
    return f"{called}: {'; '.join(phrases)}" if phrases else called


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
        yield "Tolerations", ", ".join(_toleration(toleration) for toleration in spec.nodes.tolerations)


def _toleration(toleration: Toleration) -> str:
    """Formats a toleration like ``kubectl describe``."""
    value = f"={toleration.value}" if toleration.value else ""
    effect = f":{toleration.effect}" if toleration.effect else ""
    exists = " op=Exists" if toleration.operator == "Exists" else ""
    seconds = f" for {toleration.tolerationSeconds}s" if toleration.tolerationSeconds is not None else ""
    return f"{toleration.key or ''}{value}{effect}{exists}{seconds}"


def _subpool_facts(pool: FleetPool, subpool: FleetSubpool) -> list[tuple[str, str]]:
    namespaces = subpool.declared.spec.spec.namespaces
    return [
        ("Name", subpool.canonical),
        ("File", subpool.declared.origin.path),
        ("State", subpool.state),
        ("Quota", _quota_and_declared(subpool)),
        *((("Maximum", _sentence(subpool.maximum)),) if subpool.declared.spec.spec.maximum is not None else ()),
        *((("Weight", weight(subpool.weight)),) if subpool.declared.spec.spec.weight is not None else ()),
        *_order(subpool.declared.spec.spec.priority),
        ("Queue", subpool.current_queue or "none"),
        *([("Namespaces", ", ".join(namespaces))] if namespaces else []),
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
    subpool_rows = [
        (row.queue, row.state or "-", _quota(row), _used(row.used), _all(row.limit), weight(row.weight))
        for row in rows
        if row.pool.name == pool.name and row.queue is not None
    ]
    used = _used(used_by(rows))
    return [(pool.queue, "-", _all(pool.guarantee), used, _all(pool.maximum), weight(pool.weight)), *subpool_rows]


def _quota(row: Account) -> str:
    return "unknown" if row.quota is None else _all(row.quota)


def used_by(rows: Sequence[Account]) -> Amounts | None:
    """Returns the total usage of the rows; None if the usage of a row is not known."""
    usages = [row.used for row in rows if row.used is not None]
    return total(usages) if len(usages) == len(rows) else None


def _used(amounts: Amounts | None) -> str:
    """Returns the used GPUs and other used resources as text."""
    if amounts is None:
        return "unknown"
    used_amounts = (said(name, amounts.of(name)) for name in OTHERS if amounts.of(name))
    return ", ".join((show("gpu", amounts.gpu), *used_amounts))


@json_fields(
    "version:1 name kind usedFrom=source queues topology=pool.topology.name topologyKeys=pool.levels workflows=work"
)
class PoolPage(NamedTuple):
    """A pool or a subpool with its queues and its work."""

    pool: FleetPool
    subpool: FleetSubpool | None
    source: str
    """The source of ``used``: cluster or declared."""
    queues: Sequence[Account]
    work: list[Submission]

    @property
    def name(self) -> str:
        """The name of the pool, or POOL--SUBPOOL."""
        return self.subpool.canonical if self.subpool else self.pool.name

    @property
    def kind(self) -> str:
        """pool or subpool."""
        return "subpool" if self.subpool else "pool"


def work_of(fleet: Fleet, rows: Sequence[Account]) -> list[Submission]:
    """Returns the work that is sent to the queues of the rows."""
    places = {row.name for row in rows}
    return [submission for submission in fleet.submissions if submission.target in places]


def _sent_to(target: Target, submissions: Sequence[Submission]) -> Iterator[Submission]:
    pool, subpool = target
    return (
        submission
        for submission in submissions
        if submission.pool == pool and (subpool is None or submission.subpool == subpool)
    )


def _work_cells(submission: Submission) -> tuple[str, ...]:
    return submission.target, submission.priority, str(submission.gpus)


def _quota_and_declared(subpool: FleetSubpool) -> str:
    """Returns the quota that counts, and what the file says where that is something else, such as a share."""
    written, counted = subpool.declared_quota, _sentence(subpool.quota)
    amounts = written if isinstance(written, dict) else {"gpu": written}
    declared = ", ".join(_as_written(name, amounts[name]) for name in RESOURCES if name in amounts)
    return counted if declared in ("", counted) else f"{counted} (declared: {declared})"


def _as_written(resource: ResourceName, amount: int | str) -> str:
    """Returns an amount of a file with its unit: 8 GPUs, or 50% of the GPUs."""
    if isinstance(amount, str) and amount.endswith("%"):
        return f"{amount} of the {UNITS[resource]}"
    return said(resource, amount) if resource == "gpu" and isinstance(amount, int) else f"{amount} {UNITS[resource]}"


def _sentence(amounts: Amounts) -> str:
    """Returns the GPUs and all other limited resources as text with units."""
    gpus = "no limit" if amounts.gpu == NO_LIMIT else said("gpu", amounts.gpu)
    limited = (said(name, amounts.of(name)) for name in OTHERS if amounts.of(name) != NO_LIMIT)
    return ", ".join((gpus, *limited))


def weight(weights: Amounts) -> str:
    """Returns one weight, or the weights of GPUs, cpu and memory if they differ."""
    weights_by_name = [f"{name} {weights.of(name)}" for name in RESOURCES]
    return str(weights.gpu) if weights.gpu == weights.cpu == weights.memory else ", ".join(weights_by_name)
