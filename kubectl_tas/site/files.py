"""A fleet and its findings in, all files of the site out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kubectl_tas.resources import read_resource
from kubectl_tas.site import found, html, levels, overview, queues, search, work
from kubectl_tas.site.blocks import Page
from kubectl_tas.site.content import Content
from kubectl_tas.site.drawings import STYLE

Tick = Callable[[int, int], None]
"""Told how many of how many steps are done."""


def files(content: Content, tick: Tick | None = None) -> dict[str, str]:
    """The text of every file, by its path from the root of the site."""
    texts = {name: read_resource(f"templates/site/{name}") for name in ("style.css", "search.js")}
    texts["style.css"] += STYLE
    texts["search-index.js"] = search.index(content)
    for page in _pages(content):
        texts[page.path] = html.render(page, content.title)
        if tick:
            tick(min(len(texts), len(content.places.work)), len(content.places.work))
    return texts


def _pages(content: Content) -> Iterator[Page]:
    yield overview.page(content)
    yield from queues.pages(content)
    yield from levels.pages(content)
    yield from found.pages(content)
    yield from work.pages(content)
