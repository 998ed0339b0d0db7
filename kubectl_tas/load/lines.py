"""The text of a file in, the places of its lines and the text of each of its documents out."""

from __future__ import annotations

import re
from typing import Any

from kubectl_tas.diagnostics import Location

_MARKER = re.compile(r"^(?:---|\.\.\.)(?:[ \t]*\r?\n|(?=[ \t])|\Z)", re.MULTILINE)


class Lines:
    """The lines of one file, split when first asked for."""

    __slots__ = ("_split", "_text", "path")

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self._text = text
        self._split: list[str] | None = None

    @property
    def has_aliases(self) -> bool:
        """Whether the text may refer to an anchor."""
        return "*" in self._text

    def document(self, start: int) -> str:
        """The text of the document whose first value begins at ``start``, from its ``---`` to the next.

        Comments above the first ``---`` of a file belong to its first document.
        """
        markers = list(_MARKER.finditer(self._text))
        before = [marker for marker in markers if marker.start() <= start]
        end = next((marker.start() for marker in markers if marker.start() > start), len(self._text))
        text = self._text[before[-1].end() if before else 0 : end]
        above = self._text[: before[0].start()].splitlines(keepends=True) if before else []
        if all(line.startswith(("#", "%")) or not line.strip() for line in above):
            text = "".join(line for line in above if not line.startswith("%")) + text
        return text if text.endswith(("\n", "\r")) else f"{text}\n"

    def location(self, start: Any, end: Any = None) -> Location:
        """The place of libyaml's 0-based marks, clamped to the text."""
        if self._split is None:
            self._split = re.split(r"\r\n|\r|\n", self._text)
        line, column = start.line, start.column
        while line > 0 and (line >= len(self._split) or (line == len(self._split) - 1 and not self._split[line])):
            line -= 1
            column = len(self._split[line])
        source = self._split[line]
        stop = end.column if end is not None and end.line == line else len(source.rstrip())
        return Location(self.path, line + 1, column + 1, source, max(1, stop - column))
