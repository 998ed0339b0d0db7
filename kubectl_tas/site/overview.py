"""Makes the pages that say what to look at: the first page, and the page about changes since a revision.

The first page has totals, their state, and the work and findings that need attention. The page about changes tells them
by pool and subpool, and then everything that ``diff`` says.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from kubectl_tas.base.diagnostics import Severity
from kubectl_tas.base.words import shortened
from kubectl_tas.compare.impact import Impact, QueueChange, WorkChange
from kubectl_tas.draw.impacthtml import RISKS
from kubectl_tas.draw.impactsections import NOTHING, ImpactSection, counted, quota_text, risk_line, sections
from kubectl_tas.facts.quantities import show, total
from kubectl_tas.gangs.quota_usage import totals
from kubectl_tas.site import blocks, places
from kubectl_tas.site.blocks import Badge, Block, Cell, Link, Page, Table, TextBlock, Tiles, Tone
from kubectl_tas.site.content import Content
from kubectl_tas.site.found import finding, worst
from kubectl_tas.site.inventory import account_table, cluster_table
from kubectl_tas.site.work import LOOK_AT, waiting

_FIRST = 10
"""Rows to show of a table that another page shows completely."""
_POOLS = 50
_SHORT = 8
"""Digits of a commit to show."""


def page(content: Content) -> Page:
    """Returns the overview."""
    fleet = content.fleet
    worst_findings = worst(content, _FIRST)
    all_findings = (
        Link(f"All {len(content.findings)} findings", places.FINDINGS) if len(content.findings) > _FIRST else None
    )
    body = (
        _tiles(content),
        blocks.begun(waiting(content), _FIRST, places.OPEN_WORK),
        blocks.FindingsBlock("Findings", worst_findings, none="Nothing was found.", more=all_findings),
        TextBlock(f"Used: {content.used_from}."),
        *((blocks.begun(cluster_table(content), _FIRST, places.CLUSTERS),) if len(fleet.backends) > 1 else ()),
        blocks.begun(account_table(content), _POOLS, places.POOLS),
    )
    return Page(places.HOME, content.title, "", "Overview", (), body)


def _tiles(content: Content) -> Tiles:
    fleet = content.fleet
    counts = Counter(finding.severity for finding in content.findings)
    open_work = len(waiting(content).rows)
    sums = totals([row for row in content.accounts if row.state != "ARCHIVED"])
    quotas = [backend_total.quota for backend_total in sums if backend_total.quota is not None]
    guaranteed = show("gpu", total(quotas).gpu) if len(quotas) == len(sums) else "unknown"
    used = [backend_total.used for backend_total in sums if backend_total.used is not None]
    is_used_known = len(used) == len(sums)
    gpus_used = show("gpu", total(used).gpu) if is_used_known else "unknown"
    lefts = [backend_total.available for backend_total in sums if backend_total.available is not None]
    gpus_left = show("gpu", total(lefts).gpu) if len(lefts) == len(sums) else "unknown"
    errors, warnings = counts[Severity.ERROR], counts[Severity.WARNING]
    rows: list[tuple[str, str, str, Tone]] = [
        ("Clusters", places.CLUSTERS, str(len(fleet.backends)), "plain"),
        ("Pools", places.POOLS, str(len(fleet.pools)), "plain"),
        ("GPUs guaranteed", places.POOLS, guaranteed, "plain"),
        ("GPUs used", places.POOLS, gpus_used, "plain"),
        ("GPUs available", places.POOLS, gpus_left, "plain"),
        ("Topologies", places.TOPOLOGIES, str(len(fleet.topologies)), "plain"),
        ("Workflows, workloads", places.WORK, str(len(content.places.work)), "plain"),
        (LOOK_AT, places.OPEN_WORK, str(open_work), "fair" if open_work else "good"),
        ("Errors", places.FINDINGS, str(errors), "bad" if errors else "good"),
        ("Warnings", places.FINDINGS, str(warnings), "fair" if warnings else "good"),
    ]
    if content.since is not None:
        changes_text = "not compared" if content.changes is None else f"risk: {content.changes.risk.level}"
        rows.append((f"Changes since {content.since}", places.CHANGES, changes_text, "plain"))
    tiles: list[tuple[Link | str, str, Tone]] = []
    tiles += ((Link(name, target), number, tone) for name, target, number, tone in rows)
    if content.commit is not None:
        name, day = content.commit
        tiles.append((f"Last commit, {day.isoformat()}", name[:_SHORT], "plain"))
    return Tiles(tuple(tiles))


_NAMES = ("Pool", "Subpool", "Of")
"""Columns that contain names of pools or subpools."""


def changes(content: Content) -> Iterator[Page]:
    """Yields the page, if the repository is compared with a revision."""
    if content.since is None:
        return
    title = f"Changes since {content.since}"
    if content.changes is None:
        body: tuple[Block, ...] = (
            TextBlock("Nothing is compared while the repository has errors. Correct them first."),
        )
    else:
        body = tuple(_blocks(content, content.changes))
    yield Page(places.CHANGES, title, "", "Changes", (), body)


def _blocks(content: Content, impact: Impact) -> Iterator[Block]:
    yield TextBlock(f"{counted(impact)}. {risk_line(impact)}.", Badge(impact.risk.level, RISKS[impact.risk.level]))
    if whom := tuple(_for_whom(content, impact)):
        owner = ("Owner",) if content.owners else ()
        yield _cut(content, Table("For whom", ("Pool", *owner, "GPU quota", "Work"), whom))
    if impact.findings:
        yield blocks.FindingsBlock("Findings", tuple(map(finding, impact.findings)))
    for section in sections(impact):
        yield _cut(content, Table(section.title, section.header, tuple(_rows(content, section))))


def _cut(content: Content, table: Table) -> Table:
    """Returns the rows of a table that fit on one page, and a row that counts the others."""
    if len(table.rows) <= blocks.ROWS:
        return table
    hidden_rows = f"{len(table.rows) - blocks.ROWS} more: kubectl tas diff --base {content.since}"
    last_row: tuple[Cell, ...] = (hidden_rows, *("" for _ in table.header[1:]))
    return Table(table.title, table.header, (*table.rows[: blocks.ROWS], last_row))


def _for_whom(content: Content, impact: Impact) -> Iterator[tuple[Cell, ...]]:
    """Yields for each pool and subpool how its own quota and its work change."""
    quotas = {
        queue_change.state.target: queue_change for queue_change in impact.queues if not queue_change.state.is_container
    }
    work: dict[str, list[WorkChange]] = defaultdict(list)
    for work_change in impact.work:
        for target in dict.fromkeys(state.target for state in (work_change.before, work_change.after) if state):
            work[target].append(work_change)
    for target in sorted({*quotas, *work}):
        pool_and_subpool = content.fleet.target(target)
        owner = ("" if pool_and_subpool is None else content.owner_of(*pool_and_subpool),) if content.owners else ()
        yield (
            _link(content, target),
            *owner,
            _quota(quotas.get(target)),
            "; ".join(_work(target, work[target])) or NOTHING,
        )


def _quota(queue: QueueChange | None) -> str:
    return NOTHING if queue is None else quota_text(queue, "gpu")


def _work(target: str, changes: list[WorkChange]) -> Iterator[str]:
    """Describes work that is new, is gone, or gets another verdict."""
    names_by_change: dict[str, list[str]] = defaultdict(list)
    for change in changes:
        was, now = (state if state and state.target == target else None for state in (change.before, change.after))
        if now is None:
            names_by_change[f"goes to {change.after.target}" if change.after else "gone"].append(change.name)
        elif was is None:
            names_by_change[
                f"{f'from {change.before.target}' if change.before else 'new'}, {now.verdict.outcome}"
            ].append(change.name)
        elif was.verdict.outcome != now.verdict.outcome:
            names_by_change[f"{was.verdict.outcome} -> {now.verdict.outcome}"].append(change.name)
        else:
            names_by_change["changed"].append(change.name)
    for change_text, names in names_by_change.items():
        yield f"{change_text}: {shortened(names)}"


def _rows(content: Content, section: ImpactSection) -> Iterator[tuple[Cell, ...]]:
    for row in section.rows:
        named = zip(section.header, row, strict=True)
        yield tuple(_link(content, cell) if name in _NAMES else cell for name, cell in named)


def _link(content: Content, target: str) -> Cell:
    """Links to the page of a pool or subpool, if it still exists."""
    pool_and_subpool = content.fleet.target(target)
    if pool_and_subpool is None:
        return target
    pool, subpool = pool_and_subpool
    return content.places.subpool(pool, subpool) if subpool else content.places.pool(pool)
