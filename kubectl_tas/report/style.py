"""Text for a terminal: colours, the width of characters, and nothing in it that would command the terminal."""

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
    """``text`` in a colour, or as it is."""
    return f"{code}{text}{RESET}" if colour and text else text


def severity(value: Severity, *, colour: bool) -> str:
    """The word for a severity in its colour."""
    return paint(value.value, _COLOURS[value], colour=colour)


_UNPRINTABLE = late_pattern(f"[{UNPRINTABLE}]")
_COLOUR = "|".join(re.escape(code) for code in (RESET, BOLD, DIM, BLUE, *_COLOURS.values()))
_LINES = late_pattern(f"(?![\\n\\t])[{UNPRINTABLE}]")
_PAINTED = late_pattern(f"(?P<colour>{_COLOUR})|{_LINES.pattern}")
_COMMAND = late_pattern(r"^(\s*):(?=:)|#(?=#\[|#vso\[)", re.MULTILINE)
"""What makes a line of output a command to the CI job that runs the tool: ``::`` in front, or ``##[`` anywhere."""


def printable(text: str) -> str:
    """``text`` on one line, with what a terminal or a CI job would obey, or nobody could see, as an escape."""
    if text.isascii() and text.isprintable() and "::" not in text and "##" not in text:
        return text  # most texts, without the patterns
    return _COMMAND.sub(_no_command, _UNPRINTABLE.sub(_escape, text))


def printable_lines(text: str, *, colour: bool = False) -> str:
    """The same for lines and tabs, which stay; with ``colour`` those of ``paint`` do too."""
    pattern = _PAINTED if colour else _LINES
    return _COMMAND.sub(_no_command, pattern.sub(_escape, text))


def unlinked(text: str) -> str:
    """``text`` in which nothing is a link of Markdown; some of these name commands that an editor runs."""
    return text.replace("](", "] (")


def escaped(text: str) -> str:
    """A JSON text that says the same without any such character, in escapes of JSON; its own line breaks stay."""
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
    """``text`` on one line with a character in place of each that is not printable, so that columns stay."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\t", " "))


def width(text: str) -> int:
    """Columns that ``text`` takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
