"""Converts places to ranges of the Language Server Protocol, with lines from 0 and columns in its encoding."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise

from lsprotocol.types import Position, PositionEncodingKind, Range, TextEdit

from kubectl_tas.base.diagnostics import Diagnostic, Location
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.yaml import scalar

UNITS = {
    PositionEncodingKind.Utf8: ("utf-8", 1),
    PositionEncodingKind.Utf16: ("utf-16-le", 2),
    PositionEncodingKind.Utf32: ("utf-32-le", 4),
}
"""The codec in which units are counted, and the bytes of one unit."""
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


class Text:
    """The text of one file, with positions as an editor counts them. Client and server agreed on ``encoding``."""

    def __init__(self, text: str, encoding: str = PositionEncodingKind.Utf16) -> None:
        self.text = text
        self._codec, self._size = UNITS[PositionEncodingKind(encoding)]
        self._starts = [0, *(match.end() for match in _LINE_BREAK.finditer(text))]

    def position(self, offset: int) -> Position:
        """Returns the position before a character, counted from 0."""
        line = bisect_right(self._starts, offset) - 1
        return Position(line, self._width(self.text[self._starts[line] : offset]))

    def offset(self, position: Position) -> int:
        """Returns the character, from 0, after a position. A position behind a line's end means that end."""
        if position.line >= len(self._starts):
            return len(self.text)
        offset, end = self._starts[position.line], self._end(position.line)
        units_left = position.character
        while offset < end and units_left > 0:
            units_left -= self._width(self.text[offset])
            offset += 1
        return offset

    def span(self, location: Location) -> tuple[int, int]:
        """Returns the first character of a place and the one after its last; for a whole file those of its first line.
        If the text has changed and is shorter, the place is cut at the end of the text.
        """
        line = min(max(location.line, 1), len(self._starts)) - 1
        line_start, end = self._starts[line], self._end(line)
        if not location.line:
            return line_start, end
        start = min(line_start + location.column - 1, end)
        return start, min(start + location.length, end)

    def range(self, location: Location) -> Range:
        """Returns the range of a place."""
        start, end = self.span(location)
        return Range(self.position(start), self.position(end))

    def edits(self, after: str) -> list[TextEdit]:
        """Returns the edits from this text to another: one for each changed line, or one if line counts differ."""
        new = [0, *(match.end() for match in _LINE_BREAK.finditer(after))]
        pairs = zip([*self._starts, len(self.text)], [*new, len(after)], strict=False)
        bounds = [*pairs] if len(new) == len(self._starts) else [(0, 0), (len(self.text), len(after))]
        return [
            TextEdit(Range(self.position(start), self.position(end)), after[new_start:last])
            for (start, new_start), (end, last) in pairwise(bounds)
            if self.text[start:end] != after[new_start:last]
        ]

    def _end(self, line: int) -> int:
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        return self._starts[line] + len(self.text[self._starts[line] : end].rstrip("\r\n"))

    def _width(self, text: str) -> int:
        return len(text) if text.isascii() else len(text.encode(self._codec, "surrogatepass")) // self._size


_QUOTES = ("'", '"')


@dataclass(frozen=True, slots=True)
class Fix:
    """An edit of one file."""

    title: str
    start: int
    """Offset of the first character to replace, from 0."""
    end: int
    """Offset after the last character to replace."""
    text: str


def fix(finding: Diagnostic, location: Location, text: Text) -> Fix | None:
    """Returns the edit that mends a finding at a place; None if the finding has no fix, or the text has changed."""
    replacement = finding.fix
    if replacement is None or not location.line:
        return None
    start, end = text.span(location)
    current = text.text[start:end]
    quote = current[:1] if current[:1] in _QUOTES and current[-1:] == current[:1] and len(current) > 1 else ""
    if current[len(quote) : len(current) - len(quote)] != replacement.written:
        return None
    new = scalar(replacement.meant, quote, flow=True)
    return Fix(f'Replace "{replacement.written}" by "{replacement.meant}"', start, end, new)
