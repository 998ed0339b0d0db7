"""Two fleets in, an earlier one and what follows it; the changes that must not be made out.

What Grove guards by webhooks and finalizers, the life of subpools, and the values of PriorityClasses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kubectl_tas.compare.change import Change
from kubectl_tas.compare.cliquesets import changed_constraints, changed_references
from kubectl_tas.compare.priorityclasses import changed_classes
from kubectl_tas.compare.subpools import changed_subpools
from kubectl_tas.compare.topologies import changed_levels, removed_topologies
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity

BASE_UNREAD = Rule(
    "base-unread",
    Severity.INFO,
    "Documents of the revision that is compared with have errors.",
    "What cannot be read cannot be compared, so a change that must not be made may pass unseen.",
)


def check_transitions(change: Change) -> tuple[Diagnostic, ...]:
    """Every change that must not be made."""
    return tuple(diagnostic for check in CHECKS for diagnostic in check(change))


def _unread(change: Change) -> Iterator[Diagnostic]:
    if change.unread:
        shown = ", ".join(change.unread[:3]) + (", ..." if len(change.unread) > 3 else "")
        message = f"what has errors at {change.revision}, and what depends on it, is not compared: {shown}"
        hint = "Look at what changed there yourself, or compare with a revision that is valid."
        yield Diagnostic(BASE_UNREAD, message, None, hint=hint)


CHECKS: tuple[Callable[[Change], Iterator[Diagnostic]], ...] = (
    removed_topologies,
    changed_levels,
    changed_constraints,
    changed_references,
    changed_subpools,
    changed_classes,
    _unread,
)
"""In the order in which they run."""
