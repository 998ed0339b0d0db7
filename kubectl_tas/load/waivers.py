"""The comments of a file that waive rules: ``# kubectl-tas: ignore[RULE, RULE] why``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kubectl_tas.load.document import Document, Lines
from kubectl_tas.model.repository import Waiver

_MARK = "kubectl-tas:"
_COMMENT = re.compile(rf"(?<!\S)#[ \t]*{_MARK}([^\r\n]*)")
_IGNORE = re.compile(r"[ \t]*ignore\[[ \t]*([\w.-]+(?:[ \t]*,[ \t]*[\w.-]+)*)[ \t]*\]")
_NO_CONTENT = re.compile(r"[ \t]*(#.*)?")


def waivers(path: str, text: str, documents: Sequence[Document]) -> Iterator[Waiver]:
    """Every comment of a file that speaks to this tool; text within values is none."""
    if _MARK not in text:
        return
    lines = Lines(path, text)
    below = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for comment in _COMMENT.finditer(text):
        if any(document.scalar_at(comment.start()) for document in documents):
            continue
        place = lines.at(comment.start(), comment.end())
        found = _IGNORE.match(comment[1])
        codes = tuple(code.strip() for code in found[1].split(",")) if found else ()
        yield Waiver(codes, place, _about(below, place.line))


def _about(lines: Sequence[str], line: int) -> int:
    """The line that a comment in ``line`` is about."""
    if lines[line - 1].lstrip().startswith("#"):
        following = range(line + 1, len(lines) + 1)
        return next((number for number in following if not _NO_CONTENT.fullmatch(lines[number - 1])), line)
    return line
