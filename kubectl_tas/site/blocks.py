"""What a page is made of: facts, tables, pictures and findings, with links to other pages in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Literal

from kubectl_tas.draw import html
from kubectl_tas.draw.figure import Figure, within
from kubectl_tas.records import dataclass

ROWS = 200
"""Rows of a table that stand on one page."""
Tone = Literal["good", "fair", "bad", "plain"]
"""How something stands; words say the same."""


@dataclass(frozen=True, slots=True)
class Link:
    """A text that leads to a place of the site."""

    kind: ClassVar[str] = "link"
    text: str
    target: str
    """Path from the root of the site, with an anchor."""


@dataclass(frozen=True, slots=True)
class Badge:
    """A word that says how something stands."""

    kind: ClassVar[str] = "badge"
    text: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Bar:
    """How much of something is used, drawn beside numbers that say the same."""

    kind: ClassVar[str] = "bar"
    percent: int
    """0 to 100."""
    tone: Tone


@dataclass(frozen=True, slots=True)
class Indented:
    """What hangs below the rows above it."""

    kind: ClassVar[str] = "indented"
    content: Link | str
    depth: int


Cell = str | Link | Badge | Bar | Indented | tuple["Cell", ...]
"""A tuple is shown as a list, with commas."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and what is to be said of each."""

    kind: ClassVar[str] = "facts"
    rows: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True, slots=True)
class Tiles:
    """The numbers that one looks at first."""

    kind: ClassVar[str] = "tiles"
    rows: tuple[tuple[Link, str, Tone], ...]
    """What is counted and where it is listed, and how many there are."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below a header; the first cell names the row."""

    kind: ClassVar[str] = "table"
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    none: str = "None."
    """What stands there without rows."""
    anchors: tuple[str, ...] = ()
    """One for each row, where others lead to it."""
    more: Link | None = None
    """Where all of it is, where this is the beginning."""

    @property
    def anchor(self) -> str:
        """Where it begins on its page."""
        return self.title.lower().replace(" ", "-")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture of draw/."""

    kind: ClassVar[str] = "drawing"
    title: str
    html: str
    """Which escapes what it shows."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding, and where its rule is explained."""

    severity: Badge
    place: str
    message: str
    rule: Link
    excerpt: tuple[str, ...]
    """The line, and below it carets at what is meant; nothing where there is no line."""
    notes: tuple[str, ...]
    hint: str
    waived: bool


@dataclass(frozen=True, slots=True)
class Findings:
    """Some findings below a heading."""

    kind: ClassVar[str] = "findings"
    title: str
    items: tuple[Finding, ...]
    none: str = ""
    anchor: str = ""
    about: tuple[Link, ...] = ()
    """The pages of what stands there."""
    more: Link | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph, perhaps with a word in front that says how things stand."""

    kind: ClassVar[str] = "text"
    text: str
    """What stands between backticks is code."""
    badge: Badge | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Pager:
    """The pages that something is divided into."""

    kind: ClassVar[str] = "pager"
    title: str
    number: int
    """Of this page."""
    pages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Filters:
    """What a reader with scripts may choose of the work in the table below."""

    kind: ClassVar[str] = "filters"
    choices: tuple[tuple[str, tuple[str, ...]], ...]
    """Names, each with what there is to choose."""


Block = Facts | Tiles | Table | Drawing | Findings | Text | Pager | Filters


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the site."""

    path: str
    """From the root of the site."""
    title: str
    about: str
    """What it is a page of, such as a pool."""
    section: str
    """The entry of the menu that it belongs to."""
    crumbs: tuple[Link, ...]
    """The pages above it."""
    blocks: tuple[Block, ...]

    @property
    def has_filters(self) -> bool:
        """Whether its list can be narrowed."""
        return any(block.kind == "filters" for block in self.blocks)

    @property
    def up(self) -> str:
        """The way to the root of the site."""
        return "../" * self.path.count("/")


def further(path: str, number: int) -> str:
    """Where the page with that number is of what begins on the page at ``path``."""
    return path if number == 1 else f"{path.removesuffix('.html')}/{number}.html"


def begun(table: Table, most: int, target: str) -> Table:
    """The first rows of a table, and a link to where all of it is."""
    if len(table.rows) <= most:
        return table
    return replace(table, rows=table.rows[:most], more=Link(f"{table.title}: all {len(table.rows)}", target))


def divided(page: Page, most: int = ROWS) -> Iterator[Page]:
    """The page, and others with the rest of its last block, where that is a table of more than ``most`` rows."""
    *others, table = page.blocks
    assert isinstance(table, Table)
    starts = range(0, max(1, len(table.rows)), most)
    paths = tuple(further(page.path, number) for number in range(1, len(starts) + 1))
    for number, start in enumerate(starts, 1):
        rows, anchors = table.rows[start : start + most], table.anchors[start : start + most]
        part = replace(table, rows=rows, anchors=anchors)
        pager = [Pager(table.title, number, paths)] if len(paths) > 1 else []
        before = others if number == 1 else []
        title = page.title if number == 1 else f"{page.title}, page {number}"
        crumbs = page.crumbs if number == 1 else (*page.crumbs, Link(page.title, page.path))
        yield replace(page, path=paths[number - 1], title=title, crumbs=crumbs, blocks=(*before, part, *pager))


BOXES = 600
"""Boxes of one picture."""
STYLE = html.STYLE
"""What the style sheet of the site must have for them."""


def drawing(title: str, figure: Figure) -> Drawing:
    """The boxes of a figure, as deep as there is room for them."""
    most = BOXES // max(1, len(figure.boxes))
    return Drawing(title, html.boxes(replace(figure, boxes=tuple(within(box, most) for box in figure.boxes))))
