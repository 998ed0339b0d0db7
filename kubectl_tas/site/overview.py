"""Makes the first page: totals, their state, and the work and findings that need attention."""

from __future__ import annotations

from collections import Counter

from kubectl_tas.diagnostics import Severity
from kubectl_tas.gangs.quota_usage import totals
from kubectl_tas.quantities import show, total
from kubectl_tas.site import blocks, places
from kubectl_tas.site.blocks import Link, Page, Text, Tiles, Tone
from kubectl_tas.site.content import Content
from kubectl_tas.site.found import worst
from kubectl_tas.site.inventory import account_table, cluster_table
from kubectl_tas.site.work import LOOK_AT, waiting

_FIRST = 10
"""Rows to show of a table that another page shows completely."""
_POOLS = 50


def page(content: Content) -> Page:
    """Returns the overview."""
    fleet = content.fleet
    first = worst(content, _FIRST)
    more = Link(f"All {len(content.findings)} findings", places.FINDINGS) if len(content.findings) > _FIRST else None
    body = (
        _tiles(content),
        blocks.begun(waiting(content), _FIRST, places.OPEN_WORK),
        blocks.Findings("Findings", first, none="Nothing was found.", more=more),
        Text(f"Used: {content.used_from}."),
        *((blocks.begun(cluster_table(content), _FIRST, places.CLUSTERS),) if len(fleet.backends) > 1 else ()),
        blocks.begun(account_table(content), _POOLS, places.POOLS),
    )
    return Page(places.HOME, content.title, "", "Overview", (), body)


def _tiles(content: Content) -> Tiles:
    fleet = content.fleet
    counts = Counter(item.severity for item in content.findings)
    open_work = len(waiting(content).rows)
    guaranteed = total(item.quota for item in totals([row for row in content.accounts if row.state != "ARCHIVED"]))
    errors, warnings = counts[Severity.ERROR], counts[Severity.WARNING]
    rows: list[tuple[str, str, str, Tone]] = [
        ("Clusters", places.CLUSTERS, str(len(fleet.backends)), "plain"),
        ("Pools", places.POOLS, str(len(fleet.pools)), "plain"),
        ("GPUs guaranteed", places.POOLS, show("gpu", guaranteed.gpu), "plain"),
        ("Topologies", places.TOPOLOGIES, str(len(fleet.topologies)), "plain"),
        ("Workflows, workloads", places.WORK, str(len(content.places.work)), "plain"),
        (LOOK_AT, places.OPEN_WORK, str(open_work), "fair" if open_work else "good"),
        ("Errors", places.FINDINGS, str(errors), "bad" if errors else "good"),
        ("Warnings", places.FINDINGS, str(warnings), "fair" if warnings else "good"),
    ]
    if content.since is not None:
        told = "not compared" if content.changes is None else f"risk: {content.changes.risk[0]}"
        rows.append((f"Changes since {content.since}", places.CHANGES, told, "plain"))
    return Tiles(tuple((Link(name, target), number, tone) for name, target, number, tone in rows))
