"""Findings in, those out that do not merely follow from others: one cause is said once."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_tas.diagnostics import Diagnostic, Severity

UNREAD = "unread"
"""In place of a rule: a document could not be read."""
_FIELDS = ("unknown-field", "operator-field", "missing-field")
FOLLOWS_IN_FILE: dict[str, tuple[str, ...]] = {
    "workload-pool": (*_FIELDS, "workload-label", "key-unknown"),
    "restart-policy": _FIELDS,
    "workload-minimum": _FIELDS,
    "podgroup-member": (*_FIELDS, "key-unknown", "key-misplaced"),
    "placement-without-level": ("key-unknown", "topology-key-unknown"),
}
"""Rules whose findings most likely follow from others in the same file, which are said alone."""
_NAMES = ("parent-unknown", "backend-unknown", "name-invalid", "name-delimiter", "name-reserved")
FOLLOWS: dict[str, tuple[str, ...]] = {
    "podgroup-unknown": (UNREAD,),
    "podgroup-short": (UNREAD, "podgroup-member", "podgroup-unknown"),
    "podgroup-queue": (UNREAD, *_NAMES),
    "podgroup-namespace": (UNREAD, *_NAMES),
    "podgroup-topology": (UNREAD, *_NAMES, "topology-unknown"),
    "placement-without-level": ("level-duplicate",),
    "topology-key-unknown": ("level-duplicate",),
    "pack-domain-unknown": ("level-duplicate",),
}
"""The same, wherever the others are found."""


def without_consequences(found: Sequence[Diagnostic], *, complete: bool) -> tuple[Diagnostic, ...]:
    """Those that stand for themselves. A cause counts while it is an error that nobody waives, so that something
    always fails where one is left out.
    """
    causes = [item for item in found if item.waiver is None and item.severity is Severity.ERROR]
    rules = {item.rule.code for item in causes} | (set() if complete else {UNREAD})
    by_file = {(_file(item), item.rule.code) for item in causes}
    return tuple(
        item
        for item in found
        if not any((_file(item), cause) in by_file for cause in FOLLOWS_IN_FILE.get(item.rule.code, ()))
        and not rules.intersection(FOLLOWS.get(item.rule.code, ()))
    )


def _file(item: Diagnostic) -> str:
    return item.location.path if item.location else ""
