"""What the search of a site knows: a list in a script, which is read when somebody searches."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kubectl_tas.emit.site_files import MARK
from kubectl_tas.report.style import printable
from kubectl_tas.site import places
from kubectl_tas.site.blocks import Link
from kubectl_tas.site.content import Content


def index(content: Content) -> str:
    """The list: of each thing its name, what it is, what else finds it, and where it is."""
    rows = [[printable(link.text), kind, printable(more), link.target] for link, kind, more in _entries(content)]
    lines = ",\n".join(json.dumps(row) for row in rows)
    return f"// {MARK}\nwindow.tasIndex = [\n{lines}\n];\n"


def _entries(content: Content) -> Iterator[tuple[Link, str, str]]:
    where = content.places
    for backend in content.fleet.backends:
        yield where.cluster(backend), "Cluster", backend.namespace
    for row in content.accounts:
        link = where.subpool(row.pool, row.subpool) if row.subpool else where.pool(row.pool)
        yield link, "Subpool" if row.subpool else "Pool", f"{row.pool.backend.name} {row.file}"
    for topology in content.fleet.topologies:
        yield where.topology(topology), "Topology", " ".join(level.key for level in topology.levels)
    for item in where.work:
        more = f"{item.target} {content.verdict(item).outcome} {item.declared.origin.path}"
        yield where.submission(item), item.kind, more
    for code in sorted({item.rule.code for item in content.findings}):
        yield Link(code, places.rule_place(code)), "Rule", ""
