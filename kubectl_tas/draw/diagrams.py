"""Renders figures as graphs: a Mermaid 11 flowchart for pull requests and wikis, and dot for Graphviz."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count

from kubectl_tas.base.late import late_pattern
from kubectl_tas.draw import html, svg, tree
from kubectl_tas.draw.figure import Box, BoxLook, Figure, rooted, within
from kubectl_tas.draw.palette import LIGHT, STROKES
from kubectl_tas.report.style import printable

MOST_BOXES = 200
"""Maximum number of boxes of one chart. Mermaid refuses more than 500 arrows or 50,000 characters."""
_SETTINGS = '%%{init: {"flowchart": {"wrappingWidth": 480}}}%%'
"""Mermaid settings: a line of a box may be 480 pixels wide before Mermaid breaks the line."""
_SPECIAL = late_pattern(r"[^\w .,:/()=█▒░-]")
"""Characters that Mermaid might read as markup."""
_FONT = "Helvetica,Arial,sans-serif"


def mermaid(figures: Sequence[Figure]) -> str:
    """Renders the figures as one flowchart, drawn from left to right."""
    title = _numbered(", ".join(figure.title for figure in figures))
    shown = [within(rooted(figure), MOST_BOXES // len(figures)) for figure in figures]
    used = {inner.look for box in shown for inner in box.all}
    lines = [
        f"accTitle: {title}",
        f"accDescr: {title}, and what is in it from the left to the right",
        *_graph(shown, _mermaid_node, "n{} --- n{}"),
        *(f"classDef {look.value} {_mermaid_style(look)}" for look in BoxLook if look in used),
    ]
    return f"{_SETTINGS}\nflowchart LR\n" + "".join(f"  {line}\n" for line in lines)


def dot(figures: Sequence[Figure]) -> str:
    """Renders the figures as one dot graph, drawn from left to right."""
    title = ", ".join(figure.title for figure in figures)
    lines = [
        f'graph [rankdir=LR, bgcolor="{LIGHT.page}", tooltip={_quoted(title)}];',
        f'node [shape=box, fontname="{_FONT}", fontsize=11, fontcolor="{LIGHT.text}"];',
        f'edge [color="{LIGHT.quiet}", arrowhead=none, tailport=e, headport=w];',
        *_graph(map(rooted, figures), _dot_node, "n{} -> n{};"),
    ]
    return f"digraph {_quoted(title)} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def _graph(boxes: Iterator[Box] | Sequence[Box], node: Callable[[int, Box], str], arrow: str) -> Iterator[str]:
    """Yields a line for each numbered box, and a line for the arrow from a box to each box inside it."""
    numbers = count()

    def below(box: Box, parent: int) -> Iterator[str]:
        yield node(parent, box)
        for child in box.children:
            number = next(numbers)
            yield from below(child, number)
            yield arrow.format(parent, number)

    for box in boxes:
        yield from below(box, next(numbers))


def _mermaid_node(number: int, box: Box) -> str:
    text = "<br/>".join(map(_numbered, (box.title, *box.lines, *map(tree.bar, box.bars))))
    return f'n{number}["{text}"]:::{box.look.value}'


def _numbered(content: str) -> str:
    """Replaces each character that has a meaning in Mermaid or HTML by its character number."""
    return _SPECIAL.sub(lambda match: f"#{ord(match[0])};", printable(content))


def _mermaid_style(look: BoxLook) -> str:
    """Returns the style of a box. The text has a colour too: Mermaid has one style for light and dark pages."""
    (fill, line), (wide, dashes) = LIGHT.looks[look], STROKES[look]
    dashed = f",stroke-dasharray:{dashes}" if dashes else ""
    return f"fill:{fill},stroke:{line},color:{LIGHT.text},stroke-width:{wide}px{dashed}"


def _dot_node(number: int, box: Box) -> str:
    text = "".join(f"{_escaped(line)}\\l" for line in (box.title, *box.lines, *map(tree.bar, box.bars)))
    (fill, line), (wide, dashes) = LIGHT.looks[box.look], STROKES[box.look]
    style = "dotted" if box.look is BoxLook.OUT else "dashed" if dashes else "solid"
    drawn = f'style="rounded,filled,{style}", fillcolor="{fill}", color="{line}", penwidth={wide}'
    return f'n{number} [label="{text}", {drawn}];'


def _quoted(content: str) -> str:
    return f'"{_escaped(content)}"'


def _escaped(content: str) -> str:
    """Escapes text so that dot finds no escape sequences and no HTML entities in it."""
    return printable(content).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')


FORMATS: Mapping[str, Callable[[Sequence[Figure]], str]] = {
    "tree": tree.render,
    "mermaid": mermaid,
    "dot": dot,
    "svg": svg.render,
    "html": html.render,
}
"""The function that renders figures, by the name of the format. Only "tree" is for people; programs read the others."""
