"""Pictures on their way out."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_tas.cli.terminal import hand_over, show
from kubectl_tas.draw.figure import Figure


def show_figures(figures: Sequence[Figure], output: str) -> None:
    """Prints figures in one of PICTURES."""
    from kubectl_tas.draw.formats import FORMATS  # most runs draw nothing

    tell = show if output == "tree" else hand_over
    tell(FORMATS[output](figures))
