"""Renders findings for people, each with its place, message, source line and hint. Also renders the text of a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule, Severity
from kubectl_tas.report.style import BLUE, BOLD, DIM, paint, printable, same_width, severity, width

MAX_WIDTH = 160
"""The most characters that a shown source line has."""
MAX_RELATED = 5
"""The most related places that a finding shows."""


def render(diagnostics: Sequence[Diagnostic], files: int, *, waived: int = 0, colour: bool = False) -> str:
    """Returns all findings, each followed by a blank line, and a line with the number of findings and waived ones."""
    blocks = [_block(diagnostic, colour=colour) for diagnostic in diagnostics]
    return "\n".join([*blocks, summary(diagnostics, files, waived=waived, colour=colour)])


def blocks(diagnostics: Sequence[Diagnostic], *, colour: bool = False) -> str:
    """Returns the findings without the summary."""
    return "\n".join(_block(diagnostic, colour=colour) for diagnostic in diagnostics)


def summary(diagnostics: Sequence[Diagnostic], files: int, *, waived: int = 0, colour: bool = False) -> str:
    """Returns one line with the number of findings of each severity."""
    counts = Counter(diagnostic.severity for diagnostic in diagnostics)
    where = f"in {plural(files, 'file')}"
    besides = f"; {waived} waived" if waived else ""
    if not diagnostics:
        return f"No problems found {where}{besides}.\n"
    names = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "info"}
    phrases = [plural(counts[kind], name) for kind, name in names.items() if counts[kind]]
    return f"{paint(', '.join(phrases), BOLD, colour=colour)} {where}{besides}.\n"


def plural(number: int | Decimal, noun: str) -> str:
    """Returns the number with its noun: ``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def indices(span: tuple[int, int]) -> str:
    """Returns a range as text: ``4 to 7``, or ``4``."""
    start, last = span
    return str(start) if start == last else f"{start} to {last}"


def _block(diagnostic: Diagnostic, *, colour: bool) -> str:
    location = f"{paint(printable(str(diagnostic.location)), BOLD, colour=colour)}: " if diagnostic.location else ""
    kind = severity(diagnostic.severity, colour=colour)
    code = paint(f"[{diagnostic.rule.code}]", DIM, colour=colour)
    lines = [f"{location}{kind}: {printable(diagnostic.message)} {code}"]
    if diagnostic.location is not None:
        lines += snippet(diagnostic.location, colour=colour)
    for related in diagnostic.related[:MAX_RELATED]:
        where = f" ({related.location})" if related.location else ""
        lines.append(f"  = note: {printable(f'{related.message}{where}')}")
    if len(diagnostic.related) > MAX_RELATED:
        lines.append(f"  = note: and {len(diagnostic.related) - MAX_RELATED} more")
    if diagnostic.hint:
        lines.append(f"  = help: {printable(diagnostic.hint)}")
    return "\n".join(lines) + "\n"


def snippet(location: Location, *, colour: bool = False) -> list[str]:
    """Returns the source line of a place with carets below the marked part. Empty without a source line."""
    if not location.source.strip():
        return []
    source = same_width(location.source)
    column = location.column - location.source_column + 1
    start = max(0, column - MAX_WIDTH // 2) if len(source) > MAX_WIDTH else 0
    shown = source[start : start + MAX_WIDTH]
    column -= start
    carets = "^" * max(1, width(shown[column - 1 : column - 1 + location.length]))
    gutter = " " * len(str(location.line))
    bar = paint("|", BLUE, colour=colour)
    return [
        f"  {paint(str(location.line), BLUE, colour=colour)} {bar} {shown.rstrip()}",
        f"  {gutter} {bar} {' ' * width(shown[: column - 1])}{paint(carets, BLUE, colour=colour)}",
    ]


def rule_page(rule: Rule) -> str:
    """Returns the text of one rule."""
    return (
        f"# {rule.code}\n\n**{rule.severity.value}**: {rule.summary}\n\n{rule.rationale}\n\n{rule.waiving.sentence}\n"
    )
