"""Figures as a graph for Graphviz' dot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from kubectl_tas.draw import tree
from kubectl_tas.draw.figure import Box, Figure, Look, rooted
from kubectl_tas.draw.palette import LIGHT, STROKES
from kubectl_tas.report.style import printable

_FONT = "Helvetica,Arial,sans-serif"


def render(figures: Sequence[Figure]) -> str:
    """The graph, from the left to the right."""
    title = ", ".join(figure.title for figure in figures)
    numbers = count()
    lines = [
        f'graph [rankdir=LR, bgcolor="{LIGHT.page}", tooltip={_quoted(title)}];',
        f'node [shape=box, fontname="{_FONT}", fontsize=11, fontcolor="{LIGHT.text}"];',
        f'edge [color="{LIGHT.quiet}", arrowhead=none, tailport=e, headport=w];',
        *(line for figure in figures for line in _node(rooted(figure), next(numbers), numbers)),
    ]
    return f"digraph {_quoted(title)} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def _node(box: Box, own: int, numbers: Iterator[int]) -> Iterator[str]:
    text = "".join(f"{_escaped(line)}\\l" for line in (box.title, *box.lines, *map(tree.bar, box.bars)))
    (fill, line), (wide, dashes) = LIGHT.looks[box.look], STROKES[box.look]
    style = "dotted" if box.look is Look.OUT else "dashed" if dashes else "solid"
    drawn = f'style="rounded,filled,{style}", fillcolor="{fill}", color="{line}", penwidth={wide}'
    yield f'n{own} [label="{text}", {drawn}];'
    for child in box.children:
        number = next(numbers)
        yield from _node(child, number, numbers)
        yield f"n{own} -> n{number};"


def _quoted(content: str) -> str:
    return f'"{_escaped(content)}"'


def _escaped(content: str) -> str:
    """Text in which dot finds no escapes, and none of HTML's entities."""
    return printable(content).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
