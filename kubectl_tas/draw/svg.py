"""Renders figures as one self-contained SVG, light and dark, without scripts or embedded fonts.

The reader's font cannot be measured here. So text widths are estimated with a wide font, and are never too small.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import NamedTuple

from kubectl_tas.base.late import dataclass
from kubectl_tas.draw import tree
from kubectl_tas.draw.figure import SMALL, Bar, Box, BoxLook, Figure
from kubectl_tas.draw.palette import LEGEND, NAMESPACE, STROKES, Theme, css_class, style_sheet
from kubectl_tas.facts.quantities import summed
from kubectl_tas.report.style import printable, width

WIDTH = 880.0
"""Width of a picture in SVG units, unless nested boxes need more."""
LEAST = 260.0
"""Minimum room for a box in SVG units, however deep it is nested."""
HALF = 400.0
"""Minimum width of a column of boxes that contain boxes; below it there is only one column."""
BAR_WIDTH, BAR_HEIGHT = 100.0, 12.0
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, 'DejaVu Sans', sans-serif"
_MARGIN, _PAD, _GAP = 16.0, 10.0, 8.0
_SIZES = {"heading": 20.0, "title": 14.0, "word": 13.0, "fact": 13.0}
"""Font sizes."""
_LINE = 1.4
"""Line height as a multiple of the font size."""
_LABELS = 176.0
"""Distance from the left where the texts of facts begin, after their names."""
_NARROW, _WIDE = set("!'(),.:;I[]fijlrt|` "), set("@MWmw%")


@dataclass(frozen=True, slots=True)
class _TextLine:
    """One line of text."""

    style: str
    text: str

    @property
    def width(self) -> float:
        return measure(self.style, self.text)

    @property
    def height(self) -> float:
        return _SIZES[self.style] * _LINE


@dataclass(frozen=True, slots=True)
class _Laid:
    """A box with its computed size."""

    box: Box
    width: float
    height: float
    lines: tuple[_TextLine, ...]
    bars: tuple[tuple[Bar, float, tuple[_TextLine, ...]], ...]
    """Bars, each with its distance from the top and the lines beside it."""
    inside: _Rows


class _Row(NamedTuple):
    """Boxes side by side."""

    down: float
    """Distance from the top."""
    height: float
    boxes: tuple[_Laid, ...]
    columns: int
    """Number of columns of equal width; 0: each box has its own width."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Boxes that are laid out in rows."""

    width: float
    """Width of the widest row."""
    bottom: float
    rows: tuple[_Row, ...]

    def spread(self, wide: float) -> Iterator[tuple[_Laid, float, float, float, float]]:
        """Yields each box with its position and size, when the rows are ``wide`` units wide."""
        for row in self.rows:
            right = 0.0
            for laid_box in row.boxes:
                box_width = (wide + _GAP) / row.columns - _GAP if row.columns else laid_box.width
                yield laid_box, right, row.down, box_width, row.height
                right += box_width + _GAP


def render(figures: Sequence[Figure]) -> str:
    """Renders the figures one below the other."""
    body: list[str] = []
    reach, down = WIDTH, _MARGIN
    for figure in figures:
        drawn, width, down = _figure(figure, down)
        body += drawn
        reach = max(reach, width)
    title = ", ".join(figure.title for figure in figures)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{NAMESPACE}-picture" role="img" '
        f'aria-labelledby="{NAMESPACE}-title {NAMESPACE}-desc" width="{_n(reach)}" height="{_n(down)}" '
        f'viewBox="0 0 {_n(reach)} {_n(down)}">\n'
        f'<title id="{NAMESPACE}-title">{_text(title)}</title>\n'
        f'<desc id="{NAMESPACE}-desc">{escape(tree.render(figures))}</desc>\n'
        f"<style>\n{STYLE}</style>\n"
        f'<rect class="{NAMESPACE}-page" width="100%" height="100%"/>\n'
        + "".join(f"{line}\n" for line in body)
        + "</svg>\n"
    )


def _figure(figure: Figure, down: float) -> tuple[list[str], float, float]:
    """Draws a figure from ``down`` on. Returns the SVG lines, the width and the bottom of the figure."""
    drawn: list[str] = []
    most = WIDTH - 2 * _MARGIN
    for line in _wrapped("heading", figure.title, most):
        down += line.height
        drawn.append(_draw(line, _MARGIN, down))
    down += _GAP
    for name, text in (("File", figure.file), *figure.facts):
        labels, values = _wrapped("fact", name, _LABELS - _GAP), _wrapped("fact", text, most - _LABELS)
        for row, line in enumerate(labels):
            drawn.append(_draw(line, _MARGIN, down + line.height * (row + 1), quiet=True))
        for row, line in enumerate(values):
            drawn.append(_draw(line, _MARGIN + _LABELS, down + line.height * (row + 1)))
        down += max(summed(line.height for line in lines) for lines in (labels, values))
    down += 2 * _GAP
    reach = 0.0
    for box in figure.boxes:
        laid = _lay(box, most)
        wide = max(most, laid.width)
        drawn += _box(laid, _MARGIN, down, (wide, laid.height))
        reach, down = max(reach, wide), down + laid.height + _GAP
    for look in LEGEND:
        if any(box.look is look for box in figure.all):
            drawn += _sample(look, down)
            down += _line_height("fact")
    return drawn, reach + 2 * _MARGIN, down + _MARGIN


def _lay(box: Box, most: float) -> _Laid:
    """Computes the layout of a box within ``most`` units, or within LEAST if that is more."""
    inner = max(most, LEAST) - 2 * _PAD
    lines = _wrapped("title", box.title, inner)
    lines += [line for word in box.lines for line in _wrapped("word", word, inner)]
    down = _PAD / 2 + summed(line.height for line in lines)
    bars = []
    for bar in box.bars:
        beside = tuple(_wrapped("word", bar.text, inner - BAR_WIDTH - _GAP))
        bars.append((bar, down, beside))
        down += summed(line.height for line in beside)
    inside = _rows(box.children, inner, down)
    beside_bars = [BAR_WIDTH + _GAP + line.width for _, _, beside in bars for line in beside]
    wide = max(inside.width, *(line.width for line in lines), *beside_bars)
    return _Laid(box, wide + 2 * _PAD, inside.bottom + _PAD, tuple(lines), tuple(bars), inside)


def _rows(boxes: Sequence[Box], most: float, down: float) -> _Rows:
    """Lays out boxes from ``down`` on. A box with many boxes in it gets the whole width where that takes less height
    than a column of its own beside an empty one. Only the last two levels are laid out both ways: the work would
    double with each level.
    """
    beside = _beside(boxes, most, down)
    groups = [tuple(group) for _, group in groupby(boxes, key=lambda box: bool(box.children))]
    if len(groups) <= 1 or any(child.children for box in boxes for child in box.children):
        return beside
    parts: list[_Rows] = []
    for group in groups:
        parts.append(_beside(group, most, parts[-1].bottom if parts else down))
    apart = _Rows(
        max(part.width for part in parts), parts[-1].bottom, tuple(row for part in parts for row in part.rows)
    )
    return apart if apart.bottom < beside.bottom else beside


def _beside(boxes: Sequence[Box], most: float, down: float) -> _Rows:
    """Lays out boxes from ``down`` on: large boxes in columns, others in rows of about equal length."""
    large = [box for box in boxes if box.look not in SMALL]
    least = HALF if any(box.children for box in large) else LEAST
    beside = max(1, int((most + _GAP) // (least + _GAP))) if large else len(boxes)
    columns = -(-len(boxes) // max(1, -(-len(boxes) // max(1, beside))))  # as many in each row, if possible
    laid = [_lay(box, (most + _GAP) / columns - _GAP if large else most) for box in boxes]
    column = max((box.width for box in laid), default=0.0)
    rows = _broken(laid, columns, math.inf if large else most)
    if not large and rows:
        rows = _broken(laid, -(-len(laid) // len(rows)), most)
    placed = []
    for row in rows:
        height = max(box.height for box in row)
        placed.append(_Row(down + _GAP, height, tuple(row), columns if large else 0))
        down += _GAP + height
    widest = max((summed(box.width + _GAP for box in row) - _GAP for row in rows), default=0.0)
    return _Rows(columns * (column + _GAP) - _GAP if large else widest, down, tuple(placed))


def _broken(laid: Sequence[_Laid], columns: int, most: float) -> list[list[_Laid]]:
    """Breaks boxes into rows of at most ``columns`` boxes and ``most`` units."""
    rows: list[list[_Laid]] = []
    for box in laid:
        together = summed(left_box.width + _GAP for left_box in rows[-1]) + box.width if rows else 0.0
        if not rows or len(rows[-1]) == columns or together > most:
            rows.append([])
        rows[-1].append(box)
    return rows


def _box(laid: _Laid, x: float, y: float, size: tuple[float, float]) -> Iterator[str]:
    """Draws a box and all boxes in it, in a place that may be larger than necessary."""
    wide, high = size
    yield (
        f'<rect class="{css_class(laid.box.look)}" x="{_n(x)}" y="{_n(y)}" '
        f'width="{_n(wide)}" height="{_n(high)}" rx="6"/>'
    )
    down = y + _PAD / 2
    for line in laid.lines:
        down += line.height
        yield _draw(line, x + _PAD, down, quiet=laid.box.look is BoxLook.MORE)
    for bar, at, beside in laid.bars:
        down = y + at
        yield from bar_shapes(bar, x + _PAD, down + (beside[0].height - BAR_HEIGHT) / 2)
        for line in beside:
            down += line.height
            yield _draw(line, x + _PAD + BAR_WIDTH + _GAP, down)
    for child, right, at, child_width, height in laid.inside.spread(wide - 2 * _PAD):
        yield from _box(child, x + _PAD + right, y + at, (child_width, height))


def bar_shapes(bar: Bar, x: float, y: float) -> Iterator[str]:
    """Yields the shapes of a bar of BAR_WIDTH by BAR_HEIGHT."""
    size, filled = bar.part(bar.size) * BAR_WIDTH, bar.part(bar.filled) * BAR_WIDTH
    yield _bar("size", x, y, size)
    yield _bar("filled", x, y, min(size, filled))
    if filled > size:
        yield _striped("over", x + size, y, filled - size)
    if bar.added:
        yield _striped("added", x + filled, y, bar.part(bar.added) * BAR_WIDTH)


def _bar(css: str, x: float, y: float, wide: float) -> str:
    return f'<rect class="{NAMESPACE}-{css}" x="{_n(x)}" y="{_n(y)}" width="{_n(wide)}" height="{_n(BAR_HEIGHT)}"/>'


def _striped(css: str, x: float, y: float, wide: float) -> str:
    """Draws a striped part of a bar, which readers can recognise without colour."""
    path = f"M{_n(x)} {_n(y + BAR_HEIGHT / 2)}h{_n(wide)}"
    return f'<path class="{NAMESPACE}-{css}" stroke-width="{_n(BAR_HEIGHT)}" d="{path}"/>'


def _sample(look: BoxLook, down: float) -> Iterator[str]:
    """Draws a line of the legend."""
    yield f'<rect class="{css_class(look)}" x="{_n(_MARGIN)}" y="{_n(down + 5)}" width="24" height="12" rx="3"/>'
    yield _draw(_TextLine("fact", LEGEND[look]), _MARGIN + 32, down + _line_height("fact"), quiet=True)


def _draw(line: _TextLine, x: float, bottom: float, *, quiet: bool = False) -> str:
    """Draws a line of text whose lower edge is at ``bottom``."""
    baseline = bottom - line.height * 0.25
    classes = f"{NAMESPACE}-{line.style}" + (f" {NAMESPACE}-quiet" if quiet else "")
    return f'<text class="{classes}" x="{_n(x)}" y="{_n(baseline)}">{_text(line.text)}</text>'


def _wrapped(style: str, text: str, most: float) -> list[_TextLine]:
    """Breaks text into lines of at most ``most`` units: at blanks, after hyphens and slashes, or anywhere."""
    whole, start = printable(text), 0
    lines: list[_TextLine] = []
    while True:
        end = _fitting(style, whole, start, most)
        if end == len(whole):
            return [*lines, _TextLine(style, whole[start:])]
        at = max(whole.rfind(" ", start, end + 1), *(whole.rfind(char, start, end) + 1 for char in "-/"))
        end = at if at > start + (end - start) / 3 else end
        lines.append(_TextLine(style, whole[start:end].rstrip()))
        start = end + (whole[end] == " ")


def _fitting(style: str, text: str, start: int, most: float) -> int:
    """Returns where the line that begins at ``start`` ends; it has at least one character."""
    end, wide = start, 0.0
    while end < len(text):
        wide += measure(style, text[end])
        if wide > most and end > start:
            break
        end += 1
    return end


def _line_height(style: str) -> float:
    return _SIZES[style] * _LINE


def measure(style: str, text: str) -> float:
    """Estimates the width of a text in the widest of the fonts that a reader may have."""
    bold = 1.1 if style in ("heading", "title") else 1.0
    return summed(map(_advance, text)) * _SIZES[style] * bold


def _advance(char: str) -> float:
    """Estimates the width of a character as a multiple of the font size."""
    if char.isascii():
        return 0.4 if char in _NARROW else 1.0 if char in _WIDE else 0.72 if char.isupper() else 0.63
    return 0.7 * width(char)


def _text(content: str) -> str:
    return escape(printable(content), quote=False)


def _n(number: float) -> str:
    """Formats a number with one decimal place if needed."""
    return f"{number:.1f}".removesuffix(".0")


def _rules(theme: Theme) -> Iterator[str]:
    """Yields the CSS rules for the colours of a theme."""
    name = f".{NAMESPACE}"
    yield f"{name}-page {{ fill: {theme.page} }}"
    yield f"{name}-heading, {name}-title, {name}-word, {name}-fact {{ fill: {theme.text} }}"
    yield f"text{name}-quiet {{ fill: {theme.quiet} }}"
    for look, (fill, line) in theme.looks.items():
        yield f"rect.{css_class(look)} {{ fill: {fill}; stroke: {line} }}"
    yield f"{name}-size {{ fill: {theme.size}; stroke: {theme.quiet} }}"
    yield f"{name}-filled {{ fill: {theme.filled} }}"
    yield f"{name}-added {{ stroke: {theme.added} }}"
    yield f"{name}-over {{ stroke: {theme.over} }}"


def _fonts() -> Iterator[str]:
    yield f".{NAMESPACE}-picture {{ max-width: 100%; height: auto; font-family: {FONT} }}"
    for style, size in _SIZES.items():
        bold = "; font-weight: 600" if style in ("heading", "title") else ""
        yield f".{NAMESPACE}-{style} {{ font-size: {_n(size)}px{bold} }}"
    for look, (line, dashes) in STROKES.items():
        dashed = f"; stroke-dasharray: {dashes}" if dashes else ""
        yield f"rect.{css_class(look)} {{ stroke-width: {line}{dashed} }}"
    yield f".{NAMESPACE}-added {{ stroke-dasharray: 4 2 }}"
    yield f".{NAMESPACE}-over {{ stroke-dasharray: 2 2 }}"


STYLE = style_sheet(_fonts(), _rules)
"""The style sheet of pictures."""
