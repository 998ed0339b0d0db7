"""The text of a file in, the places of its lines and the text of each of its documents out."""

from __future__ import annotations

import re
from bisect import bisect_right
from operator import itemgetter
from typing import Any

from kubectl_tas.diagnostics import Location

_MARKER = re.compile(r"^(?:---|\.\.\.)(?:[ \t]*\r?\n|(?=[ \t])|\Z)", re.MULTILINE)
_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_AROUND = 240
"""Characters of a line on either side of a place that are kept with it: a file may be a single line."""


class Lines:
    """The lines of one file, split when first asked for."""

    __slots__ = ("_markers", "_starts", "path", "text")

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self._starts: list[int] | None = None
        self._markers: list[tuple[int, int]] | None = None

    @property
    def has_aliases(self) -> bool:
        """Whether the text may refer to an anchor."""
        return "*" in self.text

    def document(self, start: int) -> str:
        """The text of the document whose first value begins at ``start``, from its ``---`` to the next.

        Comments above the first ``---`` of a file belong to its first document.
        """
        if self._markers is None:
            self._markers = [marker.span() for marker in _MARKER.finditer(self.text)]
        behind = bisect_right(self._markers, start, key=itemgetter(0))
        end = self._markers[behind][0] if behind < len(self._markers) else len(self.text)
        text = self.text[self._markers[behind - 1][1] if behind else 0 : end]
        above = self.text[: self._markers[0][0]].splitlines(keepends=True) if behind == 1 else []
        if behind == 1 and all(line.startswith(("#", "%")) or not line.strip() for line in above):
            text = "".join(line for line in above if not line.startswith("%")) + text
        return text if text.endswith(("\n", "\r")) else f"{text}\n"

    def location(self, start: Any, end: Any = None) -> Location:
        """The place of a parser's marks, clamped to the text.

        Counted from the marks' offsets: YAML parsers also end a line at characters where no editor does.
        """
        if self._starts is None:
            ends = (match.end() for match in _LINE_BREAK.finditer(self.text))
            # Behind the last line break there is no line.
            self._starts = [0, *(end for end in ends if end < len(self.text))]
        line = bisect_right(self._starts, start.index) - 1
        first = self._starts[line]
        following = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        while following > first and self.text[following - 1] in "\r\n":
            following -= 1
        begin = min(start.index, following)
        if end is not None and end.index <= following:
            stop = end.index
        else:
            stop = following
            while stop > begin and self.text[stop - 1].isspace():
                stop -= 1
        left = max(first, begin - _AROUND)
        source = self.text[left : min(following, begin + _AROUND)]
        return Location(self.path, line + 1, begin - first + 1, source, max(1, stop - begin), left - first + 1)
