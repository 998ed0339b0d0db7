"""Pages as HTML, by templates that escape whatever they are given."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from kubectl_tas.emit.site_files import MARK
from kubectl_tas.report.style import printable
from kubectl_tas.resources import resource_root
from kubectl_tas.site.blocks import Page
from kubectl_tas.site.places import HOME, SECTIONS


def render(page: Page, title: str) -> str:
    """The text of one page of the site with that title."""
    return _template().render(page=page, site=title, mark=MARK, sections=SECTIONS, home=HOME)


@cache
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(resource_root() / "templates/site", encoding="utf-8"),
        undefined=StrictUndefined,
        auto_reload=False,
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("page.html.j2")


def _shown(value: Any) -> Any:
    """What nobody could see, or what would turn the line around, as an escape."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
