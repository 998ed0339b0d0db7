"""The formats of figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kubectl_tas.draw import dot, html, mermaid, svg, tree
from kubectl_tas.draw.figure import Figure

FORMATS: Mapping[str, Callable[[Sequence[Figure]], str]] = {
    "tree": tree.render,
    "mermaid": mermaid.render,
    "dot": dot.render,
    "svg": svg.render,
    "html": html.render,
}
"""What renders figures, by the name of the format; all but the tree are for programs."""
