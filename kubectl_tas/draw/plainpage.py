"""Lays out one answer as a self-contained HTML page that looks like the site of ``report``: no menu, no script."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Literal, NewType

from kubectl_tas.base.resources import read_resource
from kubectl_tas.draw.palette import head
from kubectl_tas.report.style import printable

Html = NewType("Html", str)
"""Text in which everything that was read is escaped."""
Tone = Literal["good", "fair", "bad", "plain"]


def page(title: str, body: Iterable[Html], more_style: str = "") -> str:
    """Returns the page with its heading and the style sheet of the site; ``more_style`` is that of its pictures."""
    _, _, style = read_resource("templates/site/style.css").partition("\n")  # without the mark of the site's files
    heading, sheet = text(title), style + more_style
    return f"{head(heading, sheet)}<body>\n<main>\n<h1>{heading}</h1>\n{''.join(body)}</main>\n</body>\n</html>\n"


def text(content: str) -> Html:
    """Escapes what was read."""
    return Html(escape(printable(content)))


def paragraph(content: Html) -> Html:
    """Returns a paragraph."""
    return Html(f"<p>{content}</p>\n")


def badge(word: str, tone: Tone) -> Html:
    """Returns a word with a rating."""
    return Html(f'<span class="badge {tone}">{text(word)}</span>')


def share(percent: int, tone: Tone) -> Html:
    """Returns a bar and its number, which never wrap."""
    bar = f'<svg class="bar {tone}" aria-hidden="true"><rect width="{min(100, percent)}%" height="100%"/></svg>'
    return Html(f'<span class="share">{bar} {percent}%</span>')


def indented(content: Html, depth: int) -> Html:
    """Returns a cell that is indented below the rows above."""
    return Html('<span class="indented">' * depth + content + "</span>" * depth)


def table(header: Sequence[str], rows: Iterable[Sequence[Html]], *, title: str = "") -> Html:
    """Returns a table whose first cells name the rows, below a heading if it has a title."""
    heading = f"<h2>{text(title)}</h2>\n" if title else ""
    names = "".join(f'<th scope="col">{text(name)}</th>' for name in header)
    lines = "".join(map(_row, rows))
    grid = f"<table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table>"
    return Html(f'<section>\n{heading}<div class="scroll" tabindex="0">\n{grid}\n</div>\n</section>\n')


def _row(cells: Sequence[Html]) -> str:
    first, *others = cells
    return f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in others)}</tr>\n'
