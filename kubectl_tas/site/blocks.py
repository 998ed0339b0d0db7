"""Defines the blocks of a page: facts, tables, pictures and findings, with links to other pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Literal

from kubectl_tas.base.late import dataclass
from kubectl_tas.draw import html
from kubectl_tas.draw.figure import Figure, within

ROWS = 200
"""Maximum number of rows of a table on one page."""
Tone = Literal["good", "fair", "bad", "plain"]
"""A rating, shown as a colour. Words on the page say the same."""


@dataclass(frozen=True, slots=True)
class Link:
    """A text that links to a place on the site."""

    kind: ClassVar[str] = "link"
    text: str
    target: str
    """Path from the root of the site, with an anchor."""


@dataclass(frozen=True, slots=True)
class Badge:
    """A word with a rating, shown in colour."""

    kind: ClassVar[str] = "badge"
    text: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class BarBlock:
    """The used part of an amount. The numbers beside the bar say the same."""

    kind: ClassVar[str] = "bar"
    percent: int
    """From 0 to 100."""
    tone: Tone


@dataclass(frozen=True, slots=True)
class Indented:
    """A cell that is indented below the rows above."""

    kind: ClassVar[str] = "indented"
    content: Link | str
    depth: int


Cell = str | Link | Badge | BarBlock | Indented | tuple["Cell", ...]
"""The content of a table cell. A tuple is shown as a list with commas."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Named facts about one thing."""

    kind: ClassVar[str] = "facts"
    rows: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True, slots=True)
class Tiles:
    """The numbers that a reader looks at first."""

    kind: ClassVar[str] = "tiles"
    rows: tuple[tuple[Link | str, str, Tone], ...]
    """The name, with a link to the list of counted things if there is one; their number; and a rating."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below a header. The first cell names the row."""

    kind: ClassVar[str] = "table"
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    none: str = "None."
    """The text to show if there are no rows."""
    anchors: tuple[str, ...] = ()
    """An anchor for each row, if other pages link to the rows."""
    more: Link | None = None
    """Link to the complete table, if this is only its beginning."""

    @property
    def anchor(self) -> str:
        """Anchor of the table on its page."""
        return self.title.lower().replace(" ", "-")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture that ``draw`` makes."""

    kind: ClassVar[str] = "drawing"
    title: str
    html: str
    """HTML of the picture, in which all text is escaped."""


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One finding, with a link to the explanation of its rule."""

    severity: Badge
    place: str
    message: str
    rule: Link
    excerpt: tuple[str, ...]
    """The source line, and carets below the relevant part; empty if the finding has no line."""
    notes: tuple[str, ...]
    hint: str
    waived: bool


@dataclass(frozen=True, slots=True)
class FindingsBlock:
    """Findings below a heading."""

    kind: ClassVar[str] = "findings"
    title: str
    items: tuple[FindingRow, ...]
    none: str = ""
    anchor: str = ""
    about: tuple[Link, ...] = ()
    """Links to the pages of the things that the file declares."""
    more: Link | None = None


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A paragraph, with an optional badge in front."""

    kind: ClassVar[str] = "text"
    text: str
    """Text between backticks is code."""
    badge: Badge | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Pager:
    """Links between the pages of a divided list."""

    kind: ClassVar[str] = "pager"
    title: str
    number: int
    """Number of this page."""
    pages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters for the table of work below. They need scripts in the browser."""

    kind: ClassVar[str] = "filters"
    choices: tuple[tuple[str, tuple[str, ...]], ...]
    """Names of the filters, each with its choices."""


Block = Facts | Tiles | Table | Drawing | FindingsBlock | TextBlock | Pager | Filters


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the site."""

    path: str
    """Path from the root of the site."""
    title: str
    about: str
    """The kind of thing that the page is about, for example a pool."""
    section: str
    """The menu entry of the page."""
    crumbs: tuple[Link, ...]
    """Links to the pages above this page."""
    blocks: tuple[Block, ...]

    @property
    def has_filters(self) -> bool:
        """Whether the page has filters for its list."""
        return any(block.kind == "filters" for block in self.blocks)

    @property
    def up(self) -> str:
        """Relative path from the page to the root of the site."""
        return "../" * self.path.count("/")


def further(path: str, number: int) -> str:
    """Returns the path of the page with this number in a list whose first page is at ``path``."""
    return path if number == 1 else f"{path.removesuffix('.html')}/{number}.html"


def begun(table: Table, most: int, target: str) -> Table:
    """Returns the first rows of a table, with a link to the complete table."""
    if len(table.rows) <= most:
        return table
    return replace(table, rows=table.rows[:most], more=Link(f"{table.title}: all {len(table.rows)}", target))


def divided(page: Page) -> Iterator[Page]:
    """Yields the page, and further pages if its last block, a table, has more than ROWS rows."""
    *above_table, table = page.blocks
    assert isinstance(table, Table)
    starts = range(0, max(1, len(table.rows)), ROWS)
    paths = tuple(further(page.path, number) for number in range(1, len(starts) + 1))
    for number, start in enumerate(starts, 1):
        rows, anchors = table.rows[start : start + ROWS], table.anchors[start : start + ROWS]
        page_table = replace(table, rows=rows, anchors=anchors)
        pager = [Pager(table.title, number, paths)] if len(paths) > 1 else []
        before = above_table if number == 1 else []
        title = page.title if number == 1 else f"{page.title}, page {number}"
        crumbs = page.crumbs if number == 1 else (*page.crumbs, Link(page.title, page.path))
        yield replace(page, path=paths[number - 1], title=title, crumbs=crumbs, blocks=(*before, page_table, *pager))


BOXES = 600
"""Maximum number of boxes of one picture."""
STYLE = html.STYLE
"""CSS rules for pictures that the style sheet of the site must contain."""


def drawing(title: str, figure: Figure) -> Drawing:
    """Draws the boxes of a figure, as deep as BOXES allows."""
    most = BOXES // max(1, len(figure.boxes))
    return Drawing(title, html.boxes(replace(figure, boxes=tuple(within(box, most) for box in figure.boxes))))
