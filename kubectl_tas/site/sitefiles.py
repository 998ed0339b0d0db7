"""Renders all files of the site from a fleet and its findings: HTML pages, and the index of the site's search."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from kubectl_tas.base.resources import read_resource, resource_root
from kubectl_tas.emit.file_plan import SITE_MARK
from kubectl_tas.report.style import printable
from kubectl_tas.site import found, inventory, overview, places, work
from kubectl_tas.site.blocks import STYLE, Link, Page
from kubectl_tas.site.content import Content
from kubectl_tas.site.places import HOME, SECTIONS

Tick = Callable[[int, int], None]
"""Callback that gets the number of finished steps and of all steps."""


def files(content: Content, tick: Tick | None = None) -> Iterator[tuple[str, str]]:
    """Yields every file: its path from the root of the site, and its text."""
    for name, more in (("style.css", STYLE), ("search.js", ""), ("filter.js", "")):
        yield name, read_resource(f"templates/site/{name}") + more
    yield "search-index.js", _index(content)
    yield "work-list.js", _data("tasWork", work.listed(content))
    for number, page in enumerate(_pages(content)):
        yield page.path, _html(page, content)
        if tick:
            tick(min(number + 1, len(content.places.work)), len(content.places.work))


def _pages(content: Content) -> Iterator[Page]:
    yield overview.page(content)
    yield from inventory.pages(content)
    yield from inventory.topology_pages(content)
    yield from found.pages(content)
    yield from work.pages(content)
    yield from work.starts(content)
    yield from overview.changes(content)


def _html(page: Page, content: Content) -> str:
    """Renders one page of the site."""
    sections = {**SECTIONS, **({work.STARTS: places.STARTS} if content.forecasts else {})}
    sections |= {} if content.since is None else {"Changes": places.CHANGES}
    shared = {"site": content.title, "mark": SITE_MARK, "sections": sections, "home": HOME, "gap": content.fleet.gap}
    return _template().render(page=page, **shared)


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(resource_root() / "templates/site", encoding="utf-8"),
        undefined=StrictUndefined,
        auto_reload=False,
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html.j2")


def _shown(value: Any) -> Any:
    """Escapes invisible characters and characters that change the text direction."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _index(content: Content) -> str:
    """Renders the search index: the name, kind, further search words and place of each thing."""
    index_rows = _entries(content)
    return _data(
        "tasIndex",
        ([printable(link.text), kind, printable(search_words), link.target] for link, kind, search_words in index_rows),
    )


def _data(name: str, rows: Iterable[object]) -> str:
    """Renders rows as a script, because pages opened from disk can load scripts too."""
    lines = ",\n".join(json.dumps(row) for row in rows)
    return f"// {SITE_MARK}\nwindow.{name} = [\n{lines}\n];\n"


def _entries(content: Content) -> Iterator[tuple[Link, str, str]]:
    where = content.places
    for backend in content.fleet.backends:
        yield where.cluster(backend), "Cluster", backend.namespace
    for row in content.accounts:
        link = where.subpool(row.pool, row.subpool) if row.subpool else where.pool(row.pool)
        yield link, "Subpool" if row.subpool else "Pool", f"{row.pool.backend.name} {row.file}"
    for topology in content.fleet.topologies:
        yield where.topology(topology), "Topology", " ".join(level.key for level in topology.levels)
    for submission in where.work:
        outcome, path = content.verdict(submission).outcome, submission.declared.origin.path
        search_words = f"{submission.target} {outcome} {path} {content.owner(submission)}".strip()
        yield where.submission(submission), submission.kind, search_words
    for code in sorted({finding.rule.code for finding in content.findings}):
        yield Link(code, places.rule_place(code)), "Rule", ""
