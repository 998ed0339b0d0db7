"""Figures of draw/ as blocks of pages, no larger than a page can be."""

from __future__ import annotations

from dataclasses import replace

from kubectl_tas.draw import html
from kubectl_tas.draw.figure import Figure, within
from kubectl_tas.site.blocks import Drawing

BOXES = 600
"""Boxes of one picture."""
STYLE = html.STYLE
"""What the style sheet of the site must have for them."""


def drawing(title: str, figure: Figure) -> Drawing:
    """The boxes of a figure, as deep as there is room for them."""
    most = BOXES // max(1, len(figure.boxes))
    return Drawing(title, html.boxes(replace(figure, boxes=tuple(within(box, most) for box in figure.boxes))))
