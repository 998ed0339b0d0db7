"""Parses the HTML of sites: the links, ids and headings of each page."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field, replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kubectl_tas.cli.session import check_source
from kubectl_tas.load.source import FolderSource
from kubectl_tas.site.content import Content
from tests.support.cli import kubectl_tas, write
from tests.support.golden import EXAMPLES

NEVER_RUNS = """\
workflow:
  name: too-large
  pool: foundation--evals
  groups:
  - name: workers
    tasks:
    - {name: a, image: i, resource: gpus}
    - {name: b, image: i, resource: gpus}
resources:
  gpus: {gpu: 8, cpu: 1, memory: 1Gi, topology: [{key: rack, group: g}]}
"""
SLIP = """\
workflow:
  name: misspelled
  pool: foundation--evals
  tasks:
  - {name: a, image: i, resource: gpus}
resources:
  gpus: {gpu: 1, cpu: 1, memory: 1Gi, topology: [{key: rakc, group: g}]}
"""
_EMPTY = {"meta", "link", "input", "br", "hr", "img", "path", "rect"}


@dataclass
class Html(HTMLParser):
    """The references, elements and text of a page."""

    text: str
    links: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    words: str = ""
    _open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)
        self.close()
        assert self._open == [], "not all elements end"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        assert len(known) == len(attrs), attrs
        self.tags.append(tag)
        self.links += [known[name] for name in ("href", "src") if name in known and known[name] != "data:,"]
        self.ids += [known["id"]] if "id" in known else []
        self._open += [] if tag in _EMPTY else [tag]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        assert tag in _EMPTY, tag

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        self.words += " "

    def handle_data(self, data: str) -> None:
        self.words += data


_LINES = {"dd", "desc", "div", "h1", "h2", "h3", "li", "main", "nav", "p", "pre", "summary", "title", "tr", "ul"}
"""Elements that end a line."""
_CELLS = {"td": " | ", "th": " | ", "dt": ": ", "a": " ", "span": " ", "option": ", "}


def text_of(page: str) -> str:
    """Returns the visible text of a page: a line for each block, row or item, without blank lines."""
    page = re.sub(r"<(style|script)\b.*?</\1>", "", page.replace("\n", " "), flags=re.DOTALL)
    page = re.sub(r"</(\w+)>", lambda end: "\n" if end[1] in _LINES else _CELLS.get(end[1], ""), page)
    lines = (" ".join(unescape(re.sub(r"<[^>]*>", "", line)).split()) for line in page.splitlines())
    return "".join(f"{line.removesuffix(' |').strip()}\n" for line in lines if line.strip(" |"))


_SEEN = {"aria-current", "class", "data-up", "href", "id", "src", "width"}
"""Attributes that affect links or looks."""


@dataclass
class _Marks(Html):
    lines: list[str] = field(default_factory=lambda: [""])
    drawing: int = 0
    """Number of open elements at the beginning of a drawing; 0 outside of drawings."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        shown = "".join(f" {name}={value}" for name, value in attrs if name in _SEEN)
        if not self.drawing and "class=drawing" in shown:
            self.drawing = len(self._open)
        self.lines[-1] += "" if self.drawing or not shown else f"<{tag}{shown}>"
        super().handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        super().handle_endtag(tag)
        if len(self._open) == self.drawing:
            self.drawing = 0
        self.lines += [""] if tag in _LINES and not self.drawing else []


def marks_of(page: str) -> str:
    """Returns the links and looks of a page's elements, a line for each row or item. Pictures have their own tests."""
    return "".join(f"{line}\n" for line in _Marks(page).lines if line)


def pages(site: Path) -> dict[str, Html]:
    """Returns all pages by path."""
    return {path.relative_to(site).as_posix(): Html(path.read_text()) for path in sorted(site.rglob("*.html"))}


def dead_links(site: Path) -> list[str]:
    """Returns links whose file or anchor does not exist."""
    known = pages(site)
    found = []
    for name, page in known.items():
        for link in page.links:
            parts = urlsplit(link)
            assert not parts.scheme, link
            assert not parts.netloc, link
            target = (site / name).parent.joinpath(parts.path).resolve() if parts.path else site / name
            inside = target.relative_to(site.resolve()).as_posix() if target.is_relative_to(site.resolve()) else ""
            is_there = target.is_file() and (not parts.fragment or parts.fragment in known[inside].ids)
            found += [] if is_there else [f"{name}: {link}"]
    return found


def company(root: Path, *, is_broken: bool = True) -> Path:
    """Copies a repository with two clusters, departments and each kind of work. ``is_broken`` adds two wrong files."""
    shutil.copytree(EXAMPLES / "company", root)
    if is_broken:
        write(root, {"workflows/never.yaml": NEVER_RUNS, "workflows/slip.yaml": SLIP})
    return root


FLOW = """\
workflow: {{name: {name}, pool: {pool}, priority: {priority}, tasks: [{{name: t, image: i}}]}}
resources: {{default: {{gpu: {gpus}}}}}
"""


def flow(name: str, gpus: int, to: str = "team", priority: str = "NORMAL") -> dict[str, str]:
    """Returns the file of a workflow with one task."""
    return {f"workflows/{name}.yaml": FLOW.format(name=name, pool=to, gpus=gpus, priority=priority)}


def content(root: Path, **more: Any) -> Content:
    """Returns the content of a repository's site without a cluster. ``more`` are fields with other values."""
    session = check_source(root, FolderSource(root))
    return replace(Content("GPU pools", session.fleet, session.shown, session.waived, None, "declared"), **more)


def report(root: Path, site: Path, *more: str) -> int:
    """Writes the site of a repository, and returns the exit code."""
    return kubectl_tas("-C", root, "report", "--to", site, *more).code
