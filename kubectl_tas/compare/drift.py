"""A plan in, a unified diff out: how the committed files differ from what would be rendered."""

from __future__ import annotations

from difflib import unified_diff
from io import StringIO

from kubectl_tas.emit.disk import is_leftover
from kubectl_tas.emit.plan import Change, Plan
from kubectl_tas.report.style import printable


def unified(plan: Plan) -> str:
    """The diff from the committed files to the rendered ones; '' where they are the same."""
    return "".join(_diff(change) for change in plan.changes if not is_leftover(change.path))


def unified_text(path: str, before: bytes | None, after: bytes) -> str:
    """The diff of one file; ``before`` is None where it is new."""
    old = None if before is None else before.decode("utf-8", "replace")
    return _diff(Change(path, old, after.decode("utf-8", "replace")))


def _diff(change: Change) -> str:
    path = printable(change.path)
    before = f"a/{path}" if change.before is not None else "/dev/null"
    after = f"b/{path}" if change.after is not None else "/dev/null"
    lines = unified_diff(_lines(change.before), _lines(change.after), before, after)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str | None) -> list[str]:
    printable = (text or "").encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return StringIO(printable).readlines()  # str.splitlines also splits where a diff has no line
