"""Places as ranges of the Language Server Protocol, lines from 0, columns in units of its encoding; and edits there."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise

from lsprotocol.types import Position, PositionEncodingKind, Range, TextEdit

from kubectl_tas.diagnostics import Diagnostic, Location
from kubectl_tas.records import dataclass
from kubectl_tas.yaml import scalar

UNITS = {
    PositionEncodingKind.Utf8: ("utf-8", 1),
    PositionEncodingKind.Utf16: ("utf-16-le", 2),
    PositionEncodingKind.Utf32: ("utf-32-le", 4),
}
"""How text is encoded to count its units, and the bytes of one."""
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


class Text:
    """The text of one file, as an editor counts in it. ``encoding`` is what client and server agreed on."""

    def __init__(self, text: str, encoding: str = PositionEncodingKind.Utf16) -> None:
        self.text = text
        self._codec, self._size = UNITS[PositionEncodingKind(encoding)]
        self._starts = [0, *(found.end() for found in _LINE_BREAK.finditer(text))]

    def position(self, offset: int) -> Position:
        """The position in front of a character, from 0."""
        line = bisect_right(self._starts, offset) - 1
        return Position(line, self._width(self.text[self._starts[line] : offset]))

    def offset(self, position: Position) -> int:
        """The character, from 0, that a position stands in front of; what lies behind the end of a line is its end."""
        if position.line >= len(self._starts):
            return len(self.text)
        offset, end = self._starts[position.line], self._end(position.line)
        left = position.character
        while offset < end and left > 0:
            left -= self._width(self.text[offset])
            offset += 1
        return offset

    def span(self, place: Location) -> tuple[int, int]:
        """The characters of a place, from one to another; those of the first line where it is the whole file.

        A place that the text does not have, since it has changed, is cut to its end.
        """
        line = min(max(place.line, 1), len(self._starts)) - 1
        first, end = self._starts[line], self._end(line)
        if not place.line:
            return first, end
        start = min(first + place.column - 1, end)
        return start, min(start + place.length, end)

    def range(self, place: Location) -> Range:
        """The range of a place."""
        start, end = self.span(place)
        return Range(self.position(start), self.position(end))

    def edits(self, after: str) -> list[TextEdit]:
        """What makes another text of this one: a line each where both have as many, else from the first to the last."""
        new = [0, *(found.end() for found in _LINE_BREAK.finditer(after))]
        pairs = zip([*self._starts, len(self.text)], [*new, len(after)], strict=False)
        bounds = [*pairs] if len(new) == len(self._starts) else [(0, 0), (len(self.text), len(after))]
        return [
            TextEdit(Range(self.position(start), self.position(end)), after[first:last])
            for (start, first), (end, last) in pairwise(bounds)
            if self.text[start:end] != after[first:last]
        ]

    def _end(self, line: int) -> int:
        """Where a line ends, without its line break."""
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
    """The first character, from 0, that is replaced."""
    end: int
    """The one behind the last."""
    text: str


def fix(finding: Diagnostic, place: Location, text: Text) -> Fix | None:
    """The edit that mends a finding at a place of a file; None where there is none, or the text is another by now."""
    meant = finding.fix
    if meant is None or not place.line:
        return None
    start, end = text.span(place)
    there = text.text[start:end]
    quote = there[:1] if there[:1] in _QUOTES and there[-1:] == there[:1] and len(there) > 1 else ""
    if there[len(quote) : len(there) - len(quote)] != meant.written:
        return None
    new = scalar(meant.meant, quote, flow=True)
    return Fix(f'Replace "{meant.written}" by "{meant.meant}"', start, end, new)
