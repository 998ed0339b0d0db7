"""Compares texts before and after a change, and returns a unified diff."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

from kubectl_tas.credentials import hidden_lines
from kubectl_tas.report.style import printable

Difference = tuple[str, str | None, str | None]
"""A path, the text before and the text after. None means that the file does not exist."""


def unified(differences: Iterable[Difference]) -> str:
    """Returns the diff of all files. '' if nothing differs."""
    return "".join(map(_diff, differences))


def _diff(difference: Difference) -> str:
    from difflib import unified_diff  # most runs differ in nothing

    path, old, new = printable(difference[0]), *difference[1:]
    before = f"a/{path}" if old is not None else "/dev/null"
    after = f"b/{path}" if new is not None else "/dev/null"
    lines = unified_diff(_lines(old), _lines(new), before, after)
    lines = hidden_lines(lines)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str | None) -> list[str]:
    decoded = (text or "").encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return StringIO(decoded).readlines()  # str.splitlines also splits where a diff has no line
