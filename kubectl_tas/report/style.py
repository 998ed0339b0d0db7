"""Prepares text for a terminal: adds colours, measures widths, and escapes characters with special effects."""

from __future__ import annotations

import json
import re
import unicodedata

from kubectl_tas.diagnostics import Severity
from kubectl_tas.late import late_pattern
from kubectl_tas.yaml import UNPRINTABLE

RESET = "\x1b[0m"
BOLD = "\x1b[1m"
DIM = "\x1b[2m"
BLUE = "\x1b[34m"
_COLOURS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.INFO: "\x1b[1;36m"}


def paint(text: str, code: str, *, colour: bool) -> str:
    """Returns ``text`` in a colour, or unchanged."""
    return f"{code}{text}{RESET}" if colour and text else text


def severity(value: Severity, *, colour: bool) -> str:
    """Returns the word for a severity, in its colour."""
    return paint(value.value, _COLOURS[value], colour=colour)


_UNPRINTABLE = late_pattern(f"[{UNPRINTABLE}]")
_COLOUR = "|".join(re.escape(code) for code in (RESET, BOLD, DIM, BLUE, *_COLOURS.values()))
_LINES = late_pattern(f"(?![\\n\\t])[{UNPRINTABLE}]")
_PAINTED = late_pattern(f"(?P<colour>{_COLOUR})|{_LINES.pattern}")
_COMMAND = late_pattern(r"^(\s*):(?=:)|#(?=#\[|#vso\[)", re.MULTILINE)
"""Text that a CI job would run as a command in a line of output: ``::`` at the start, or ``##[`` anywhere."""


def printable(text: str) -> str:
    """Returns ``text`` on one line. Escapes replace invisible characters, and commands to a terminal or a CI job."""
    if text.isascii() and text.isprintable() and "::" not in text and "##" not in text:
        return text  # most texts, without the patterns
    return _COMMAND.sub(_no_command, _UNPRINTABLE.sub(_escape, text))


def printable_lines(text: str, *, colour: bool = False) -> str:
    """Returns ``text`` like ``printable``, but keeps lines and tabs, and with ``colour`` the codes of ``paint``."""
    pattern = _PAINTED if colour else _LINES
    return _COMMAND.sub(_no_command, pattern.sub(_escape, text))


def unlinked(text: str) -> str:
    """Returns ``text`` without Markdown links, since some links make an editor run commands."""
    return text.replace("](", "] (")


def escaped(text: str) -> str:
    """Returns the JSON text with escapes for what would control a terminal or a CI job. Line breaks stay."""
    return _COMMAND.sub("\\\\u0023", _LINES.sub(_json_escape, text))


def _escape(match: re.Match[str]) -> str:
    if match.lastgroup == "colour":
        return match[0]
    return match[0].encode("unicode_escape").decode("ascii")


def _json_escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"


def _no_command(match: re.Match[str]) -> str:
    return "\\x23" if match[1] is None else f"{match[1]}\\x3a"


def same_width(text: str) -> str:
    """Returns ``text`` on one line. One visible character replaces each unprintable one, so columns stay the same."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\t", " "))


def width(text: str) -> int:
    """Returns the number of columns that ``text`` takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
