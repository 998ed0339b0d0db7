"""Finds comments that waive rules, and characters that only look like YAML's spaces and quotes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.late import late_pattern
from kubectl_tas.load.document import Document, Lines
from kubectl_tas.load.syntax import ODD_SPACE
from kubectl_tas.model.repository import Waiver

_MARK = "kubectl-tas:"
_COMMENT = late_pattern(rf"(?<!\S)#[ \t]*{_MARK}([^\r\n]*)")
_IGNORE = late_pattern(r"[ \t]*ignore\[[ \t]*([\w.-]+(?:[ \t]*,[ \t]*[\w.-]+)*)[ \t]*\]")
_NO_CONTENT = late_pattern(r"[ \t]*(#.*)?")


def waivers(path: str, text: str, documents: Sequence[Document]) -> Iterator[Waiver]:
    """Yields every comment of a file that addresses this tool; ignores text within values."""
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
    """Returns the line that a comment in ``line`` refers to."""
    if lines[line - 1].lstrip().startswith("#"):
        following = range(line + 1, len(lines) + 1)
        return next((number for number in following if not _NO_CONTENT.fullmatch(lines[number - 1])), line)
    return line


YAML_LOOKALIKE = Rule(
    "yaml-lookalike",
    Severity.WARNING,
    "YAML reads a look-alike of a space or quote as text.",
    "Word processors, chats and web pages replace plain spaces and quotes by no-break spaces and curly quotes. YAML "
    "reads these as part of the word, so a name is not what it looks like. Type a plain one. If you mean the "
    "character, put the value in plain quotes.",
)
_ODD = late_pattern(rf"{ODD_SPACE.pattern}|[\u2018-\u201f]")


def lookalikes(path: str, text: str, documents: Sequence[Document]) -> Iterator[Diagnostic]:
    """Yields a finding for the first odd space of each unquoted value or key, and for a curly quote at its start."""
    if text.isascii():
        return
    lines = Lines(path, text)
    told: set[int] = set()
    for odd in _ODD.finditer(text):
        scalar = next(filter(None, (document.scalar_at(odd.start()) for document in documents)), None)
        is_space = ODD_SPACE.match(odd[0]) is not None
        if scalar is None or scalar.style or scalar.start in told or not (is_space or scalar.start == odd.start()):
            continue
        told.add(scalar.start)
        name = f"{unicodedata.name(odd[0]).lower()} (U+{ord(odd[0]):04X})"
        message = f"a {name} is text here" if is_space else f"a {name} quotes nothing; it is a part of the text"
        hint = "Type a plain space." if is_space else "Type a plain quote: \" or '."
        yield Diagnostic(YAML_LOOKALIKE, message, lines.at(odd.start(), odd.end()), hint=hint)
