"""Text for a terminal: colours, the width of characters, and nothing in it that would command the terminal."""

from __future__ import annotations

import re
import unicodedata

from kubectl_tas.diagnostics import Severity

RESET = "\x1b[0m"
BOLD = "\x1b[1m"
DIM = "\x1b[2m"
BLUE = "\x1b[34m"
_COLOURS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.INFO: "\x1b[1;36m"}


def paint(text: str, code: str, *, colour: bool) -> str:
    """``text`` in a colour, or as it is."""
    return f"{code}{text}{RESET}" if colour and text else text


def severity(value: Severity, *, colour: bool) -> str:
    """The word for a severity in its colour."""
    return paint(value.value, _COLOURS[value], colour=colour)


_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line breaks, marks that turn the direction of writing, and bytes that are no text."""


def printable(text: str) -> str:
    """``text`` on one line, with what a terminal would obey, or could not show, as an escape."""
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def same_width(text: str) -> str:
    """``text`` on one line with a character in place of each that is not printable, so that columns stay."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\t", " "))


def width(text: str) -> int:
    """Columns that ``text`` takes in a terminal."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
