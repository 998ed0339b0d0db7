"""Figures as a Mermaid flowchart, for pull requests and wikis. Follows Mermaid 11."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count

from kubectl_tas.draw import tree
from kubectl_tas.draw.figure import Box, Figure, Look, rooted, within
from kubectl_tas.draw.palette import LIGHT, STROKES
from kubectl_tas.report.style import printable

MOST_BOXES = 200
"""Boxes of a chart, at most: renderers refuse more than 500 arrows, or 50,000 characters."""
_SETTINGS = '%%{init: {"flowchart": {"wrappingWidth": 480}}}%%'
"""Lines of boxes are not broken before that many pixels."""
_SPECIAL = re.compile(r"[^\w .,:/()=█▒░-]")
"""What Mermaid might read as more than text."""


def render(figures: Sequence[Figure]) -> str:
    """The flowchart, from the left to the right."""
    title = _text(", ".join(figure.title for figure in figures))
    shown = [within(rooted(figure), MOST_BOXES // len(figures)) for figure in figures]
    used = {item.look for box in shown for item in box.all}
    numbers = count()
    lines = [
        f"accTitle: {title}",
        f"accDescr: {title}, and what is in it from the left to the right",
        *(line for box in shown for line in _node(box, next(numbers), numbers)),
        *(f"classDef {look.value} {_drawn(look)}" for look in Look if look in used),
    ]
    return f"{_SETTINGS}\nflowchart LR\n" + "".join(f"  {line}\n" for line in lines)


def _node(box: Box, own: int, numbers: Iterator[int]) -> Iterator[str]:
    text = "<br/>".join(map(_text, (box.title, *box.lines, *map(tree.bar, box.bars))))
    yield f'n{own}["{text}"]:::{box.look.value}'
    for child in box.children:
        number = next(numbers)
        yield from _node(child, number, numbers)
        yield f"n{own} --- n{number}"


def _text(content: str) -> str:
    """Text with a number for each character that means something to Mermaid, or to HTML."""
    return _SPECIAL.sub(lambda match: f"#{ord(match[0])};", printable(content))


def _drawn(look: Look) -> str:
    """The style of a box; as Mermaid has but one style for light and dark pages, its text has a colour too."""
    (fill, line), (wide, dashes) = LIGHT.looks[look], STROKES[look]
    dashed = f",stroke-dasharray:{dashes}" if dashes else ""
    return f"fill:{fill},stroke:{line},color:{LIGHT.text},stroke-width:{wide}px{dashed}"
