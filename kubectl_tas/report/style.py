"""Lays out text for a terminal: colours, widths, tables and diffs, with escapes for characters that have effects."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from kubectl_tas.base.diagnostics import Severity
from kubectl_tas.base.late import late_pattern
from kubectl_tas.base.yaml import UNPRINTABLE

LEAST_WIDTH = 18
"""Least width of a column that is broken into lines."""
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


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    rule: bool = False,
    widths: Sequence[int] = (),
    most: int = 0,
) -> str:
    """Returns left-aligned columns, two spaces apart. ``rule`` adds a line of dashes below the header.

    ``widths`` are the minimum widths of the first columns. With ``most``, the width of the whole table, long cells of
    the last column go on in further lines.
    """
    body = [tuple(header), *(tuple(map(printable, row)) for row in rows)]
    least = (*widths, *(0 for _ in header))
    if most:
        before = sum(max(width(row[column]) for row in body) + 2 for column in range(len(header) - 1))
        body = [line for row in body for line in _lines_of_row(row, max(LEAST_WIDTH, most - before))]
    chosen = [max(least[column], *(width(row[column]) for row in body)) for column in range(len(header))]
    if rule:
        body.insert(1, tuple("-" * size for size in chosen))
    return "".join(_line(row, chosen) for row in body)


def _lines_of_row(row: tuple[str, ...], most: int) -> Iterator[tuple[str, ...]]:
    """Yields a row whose last cell is at most so wide, and the lines for the rest of that cell."""
    texts = [""]
    for word in row[-1].split(" "):
        together = f"{texts[-1]} {word}".lstrip()
        texts = [*texts[:-1], together] if not texts[-1] or width(together) <= most else [*texts, word]
    yield (*row[:-1], texts[0])
    yield from ((*("" for _ in row[:-1]), text) for text in texts[1:])


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    """Returns lines with a label and a value each. The values are aligned."""
    widest = max(width(f"{label}:") for label, _ in rows)
    return "".join(f"{_pad(f'{label}:', widest)}  {printable(value)}".rstrip() + "\n" for label, value in rows)


def section(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns an indented table with a title. Without rows, returns a line with the title and "none"."""
    if not rows:
        return f"{title}: none\n"
    body = "".join(f"  {line}\n" for line in table(header, rows).splitlines())
    return f"{title}:\n{body}"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(_pad(cell, size) for cell, size in zip(row, widths, strict=True)).rstrip() + "\n"


def _pad(text: str, size: int) -> str:
    return text + " " * (size - width(text))


Difference = tuple[str, str | None, str | None]
"""A path, the text before and the text after. None means that the file does not exist."""


def unified(differences: Iterable[Difference]) -> str:
    """Returns the diff of all files. '' if nothing differs."""
    return "".join(map(_diff, differences))


def _diff(difference: Difference) -> str:
    from difflib import unified_diff  # most runs differ in nothing

    from kubectl_tas.base.credentials import hidden_lines

    path, old, new = printable(difference[0]), *difference[1:]
    before = f"a/{path}" if old is not None else "/dev/null"
    after = f"b/{path}" if new is not None else "/dev/null"
    lines = unified_diff(_lines(old), _lines(new), before, after)
    lines = hidden_lines(lines)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str | None) -> list[str]:
    decoded = (text or "").encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return StringIO(decoded).readlines()  # str.splitlines also splits where a diff has no line
