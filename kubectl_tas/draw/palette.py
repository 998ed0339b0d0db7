"""Holds colours and strokes of pictures as CSS, light and dark, and the head of a page. Words repeat the meaning."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Mapping

from kubectl_tas.base.late import dataclass
from kubectl_tas.draw.figure import BoxLook

NAMESPACE = "tas"
"""Prefix of all class names. An SVG inside a page shares the style sheet of the page."""


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of one theme."""

    page: str
    text: str
    quiet: str
    """Colour of lines and of less important text."""
    looks: Mapping[BoxLook, tuple[str, str]]
    """Fill colour and line colour of each look."""
    size: str
    """Colour of the whole of a bar."""
    filled: str
    added: str
    over: str
    """Colour of an amount beyond the whole."""


LIGHT = Theme(
    page="#ffffff",
    text="#1f2328",
    quiet="#57606a",
    looks={
        BoxLook.PLAIN: ("#f6f8fa", "#6e7781"),
        BoxLook.REQUIRED: ("#e8f2ff", "#0550ae"),
        BoxLook.PREFERRED: ("#f7f0ff", "#6639ba"),
        BoxLook.CHOSEN: ("#e6f7ea", "#116329"),
        BoxLook.OUT: ("#fff4ec", "#953800"),
        BoxLook.ITEM: ("#ffffff", "#6e7781"),
        BoxLook.MORE: ("#ffffff", "#6e7781"),
    },
    size="#ffffff",
    filled="#0969da",
    added="#1a7f37",
    over="#bc4c00",
)
DARK = Theme(
    page="#0d1117",
    text="#e6edf3",
    quiet="#9da7b1",
    looks={
        BoxLook.PLAIN: ("#161b22", "#8b949e"),
        BoxLook.REQUIRED: ("#0f2440", "#79c0ff"),
        BoxLook.PREFERRED: ("#251a3d", "#d2a8ff"),
        BoxLook.CHOSEN: ("#0f2a18", "#56d364"),
        BoxLook.OUT: ("#2d1a0e", "#ffa657"),
        BoxLook.ITEM: ("#0d1117", "#8b949e"),
        BoxLook.MORE: ("#0d1117", "#8b949e"),
    },
    size="#0d1117",
    filled="#58a6ff",
    added="#56d364",
    over="#f0883e",
)
STROKES = {
    BoxLook.PLAIN: ("1", ""),
    BoxLook.REQUIRED: ("2.5", ""),
    BoxLook.PREFERRED: ("2", "7 4"),
    BoxLook.CHOSEN: ("2.5", ""),
    BoxLook.OUT: ("2", "2 3"),
    BoxLook.ITEM: ("1", ""),
    BoxLook.MORE: ("1", "3 3"),
}
"""Line width and dash pattern of each look."""
LEGEND = {
    BoxLook.REQUIRED: "solid: required, all pods in one domain or none runs",
    BoxLook.PREFERRED: "dashed: preferred, in one domain if possible",
    BoxLook.CHOSEN: "thick: takes pods of this gang; in bars, its part has stripes",
    BoxLook.OUT: "dotted: takes no new pods",
}
"""Explanations of the line styles."""


def style_sheet(always: Iterable[str], rules: Callable[[Theme], Iterable[str]]) -> str:
    """Builds a style sheet of fixed rules and theme rules. The reader's system chooses the light or the dark theme."""
    light, dark = (
        "".join(f"{rule}\n" for rule in theme_rules) for theme_rules in ((*always, *rules(LIGHT)), rules(DARK))
    )
    return f"{light}@media (prefers-color-scheme: dark) {{\n{dark}}}\n"


def css_class(look: BoxLook) -> str:
    """Returns the CSS class of a box."""
    return f"{NAMESPACE}-{look.value}"


def head(title: str, style: str) -> str:
    """Returns the page up to the body. ``title`` must be escaped. The content policy allows only this style sheet, by
    its digest: a browser runs and loads nothing, whatever the page contains.
    """
    sheet = f"\n{style}"
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{sheet}</style>\n</head>\n"
    )
