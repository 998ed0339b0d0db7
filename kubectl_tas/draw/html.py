"""Renders figures as HTML, light and dark, without scripts: a complete page, or a part of another page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from kubectl_tas.draw import svg
from kubectl_tas.draw.figure import SMALL, Bar, Box, BoxLook, Figure
from kubectl_tas.draw.palette import DARK, LEGEND, LIGHT, NAMESPACE, STROKES, Theme, css_class, head, style_sheet
from kubectl_tas.report.style import printable

_RULES = {
    "-boxes, -legend": ("list-style: none", "margin: .6rem 0 0", "padding: 0"),
    "-boxes": ("display: flex", "flex-wrap: wrap", "gap: .5rem"),
    "-small": ("display: grid", "grid-template-columns: repeat(auto-fill, minmax(10.5rem, 1fr))"),
    "-box": (
        "border-radius: 6px",
        "box-sizing: border-box",
        "min-width: 0",
        "overflow-wrap: anywhere",
        "padding: .3rem .6rem .5rem",
    ),
    "-wide": ("flex: 1 1 22rem",),
    "-half": ("flex: 1 1 14rem",),
    "-box p": ("font-size: .85rem", "line-height: 1.4", "margin: 0"),
    "-box > p:first-child": ("font-size: .9rem", "font-weight: 600"),
    "-figure > ul > li": ("flex-basis: 100%",),
    "-bar": ("align-items: center", "display: flex", "gap: .5rem"),
    "-bar svg": ("flex: none",),
    "-facts": (
        "display: grid",
        "gap: .15rem 1rem",
        "grid-template-columns: minmax(5rem, max-content) 1fr",
        "margin: 0",
    ),
    "-facts dd": ("margin: 0", "overflow-wrap: anywhere"),
    "-legend": ("font-size: .85rem",),
    "-sample": (
        "border-radius: 3px",
        "box-sizing: border-box",
        "display: inline-block",
        "height: .8rem",
        "vertical-align: middle",
        "width: 1.6rem",
    ),
}
"""Positions and sizes, by CSS class."""


def render(figures: Sequence[Figure]) -> str:
    """Renders the figures as a complete page."""
    title = _text(", ".join(figure.title for figure in figures))
    body = "".join(_section(figure) for figure in figures)
    return f"{head(title, _PAGE + STYLE)}<body>\n<main>\n{body}</main>\n</body>\n</html>\n"


def _section(figure: Figure) -> str:
    """Renders a figure with its heading and its facts."""
    rows = (("File", figure.file), *figure.facts)
    facts = "".join(f"<dt>{_text(name)}</dt><dd>{_text(text)}</dd>\n" for name, text in rows)
    return (
        f"<section>\n<h1>{_text(figure.title)}</h1>\n"
        f'<dl class="{NAMESPACE}-facts">\n{facts}</dl>\n{boxes(figure)}</section>\n'
    )


def boxes(figure: Figure) -> str:
    """Renders only the boxes of a figure, as nested lists, with a legend of the lines. The page must include STYLE."""
    looks = {box.look for box in figure.all}
    legend = "".join(
        f'<li><span class="{NAMESPACE}-sample {css_class(look)}" aria-hidden="true"></span> {_text(text)}</li>\n'
        for look, text in LEGEND.items()
        if look in looks
    )
    drawn = "".join(_boxes(figure.boxes))
    drawn = f'<div class="{NAMESPACE}-figure">\n{drawn}</div>\n'
    return drawn + (f'<ul class="{NAMESPACE}-legend" role="list">\n{legend}</ul>\n' if legend else "")


def _boxes(boxes: Sequence[Box]) -> Iterator[str]:
    """Renders a list of boxes. Some screen readers announce a list without markers only if it has the role "list"."""
    if not boxes:
        return
    large = [box for box in boxes if box.look not in SMALL]
    grid = "" if large else f" {NAMESPACE}-small"
    yield f'<ul class="{NAMESPACE}-boxes{grid}" role="list">\n'
    beside = f" {NAMESPACE}-{'wide' if any(box.children for box in large) else 'half'}"
    for box in boxes:
        size = "" if box.look in SMALL else beside
        yield f'<li class="{NAMESPACE}-box {css_class(box.look)}{size}">\n'
        for line in (box.title, *box.lines):
            yield f"<p>{_text(line)}</p>\n"
        for bar in box.bars:
            yield _bar(bar)
        yield from _boxes(box.children)
        yield "</li>\n"
    yield "</ul>\n"


def _bar(bar: Bar) -> str:
    wide, high = f"{svg.BAR_WIDTH + 2:.0f}", f"{svg.BAR_HEIGHT + 2:.0f}"
    shapes = "".join(svg.bar_shapes(bar, 1, 1))
    return (
        f'<p class="{NAMESPACE}-bar"><svg aria-hidden="true" focusable="false" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}">{shapes}</svg> <span>{_text(bar.text)}</span></p>\n'
    )


def _text(content: str) -> str:
    return escape(printable(content))


def _rules(theme: Theme) -> Iterator[str]:
    """Yields the CSS rules for the colours of a theme."""
    for look, (fill, line) in theme.looks.items():
        name = f".{NAMESPACE}-box.{css_class(look)}, .{NAMESPACE}-sample.{css_class(look)}"
        yield f"{name} {{ background: {fill}; border-color: {line}; color: {theme.text} }}"
    quiet = (f"{css_class(BoxLook.MORE)} p", f"{NAMESPACE}-facts dt", f"{NAMESPACE}-legend")
    yield f"{', '.join(f'.{name}' for name in quiet)} {{ color: {theme.quiet} }}"


def _shapes() -> Iterator[str]:
    name = f".{NAMESPACE}"
    for selectors, rules in _RULES.items():
        yield f"{', '.join(name + selector for selector in selectors.split(', '))} {{ {'; '.join(rules)} }}"
    one_column = f"{name}-facts {{ grid-template-columns: 1fr }} {name}-facts dd {{ margin-bottom: .4rem }}"
    yield f"@media (max-width: 30rem) {{ {one_column} }}"
    for look, (line, dashes) in STROKES.items():
        kind = "dotted" if look is BoxLook.OUT else "dashed" if dashes else "solid"
        yield f"{name}-box.{css_class(look)}, {name}-sample.{css_class(look)} {{ border: {line}px {kind} }}"


STYLE = svg.STYLE + style_sheet(_shapes(), _rules)
"""The style sheet of boxes. Its rules match nothing else on a page."""
_PAGE = f"""\
:root {{ color-scheme: light dark }}
body {{ background: {LIGHT.page}; color: {LIGHT.text}; font: 15px/1.5 {svg.FONT} }}
body {{ margin: 1.5rem auto; max-width: 60rem; padding: 0 1rem }}
@media (prefers-color-scheme: dark) {{ body {{ background: {DARK.page}; color: {DARK.text} }} }}
h1 {{ font-size: 1.4rem; overflow-wrap: anywhere }}
section + section {{ margin-top: 2.5rem }}
"""
