"""Findings in, edits out that mend them, where the tool is sure of what should stand there."""

from __future__ import annotations

from kubectl_tas.diagnostics import Diagnostic, Location
from kubectl_tas.editor.positions import Text
from kubectl_tas.records import dataclass
from kubectl_tas.yaml import scalar

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
