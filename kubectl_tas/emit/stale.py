"""Committed manifests that are not what would be rendered, as findings."""

from __future__ import annotations

from itertools import zip_longest

from kubectl_tas.diagnostics import Diagnostic, Location, Rule, Severity
from kubectl_tas.emit.disk import is_leftover
from kubectl_tas.emit.plan import Change, Plan

MANIFESTS_STALE = Rule(
    "manifests-stale",
    Severity.ERROR,
    "A committed manifest is not what would be rendered.",
    "Argo CD and Flux apply what is committed, so the cluster would not get what the files of the repository say, or "
    "would keep what they say no more. Only `check` looks at manifests. Run `kubectl tas render` and commit what it "
    "writes; nobody edits a manifest by hand.",
)


def stale(plan: Plan, command: str) -> list[Diagnostic]:
    """A finding for each file that is missing, differs or has no source any more; ``command`` mends them."""
    changes = (change for change in plan.changes if not is_leftover(change.path))
    return [_finding(change, f"Run: {command}") for change in changes]


def _finding(change: Change, hint: str) -> Diagnostic:
    if change.before is None:
        return Diagnostic(MANIFESTS_STALE, "this manifest is missing", Location(change.path), hint=hint)
    if change.after is None:
        return Diagnostic(MANIFESTS_STALE, "nothing declares this manifest any more", Location(change.path), hint=hint)
    place = _first_difference(change.path, change.before, change.after)
    return Diagnostic(MANIFESTS_STALE, "this manifest differs from what is rendered", place, hint=hint)


def _first_difference(path: str, before: str, after: str) -> Location:
    """The first line of the committed text that is not as it would be; its last line where lines are missing."""
    old, new = before.split("\n"), after.split("\n")
    pairs = enumerate(zip_longest(old, new), 1)
    line = min(next(number for number, (one, other) in pairs if one != other), len(old))
    return Location(path, line, 1, source=old[line - 1], length=max(1, len(old[line - 1])))
