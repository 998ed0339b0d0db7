"""Findings in, those out that do not merely follow from others: one cause is said once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from kubectl_tas.check.references import RULES
from kubectl_tas.diagnostics import Diagnostic, Related, Severity, in_order

UNREAD = "unread"
"""In place of a rule: a document could not be read."""
_FIELDS = ("unknown-field", "operator-field", "missing-field")
FOLLOWS_IN_FILE: dict[str, tuple[str, ...]] = {
    "workload-pool": (*_FIELDS, "workload-label", "key-unknown"),
    "restart-policy": _FIELDS,
    "workload-minimum": _FIELDS,
    "fields-conflict": _FIELDS,
    "operator-refuses": _FIELDS,
    "volume-unknown": _FIELDS,
    "podgroup-member": (*_FIELDS, "key-unknown", "key-misplaced"),
    "subpool-closed": ("reference-unknown",),
    "nodes-left": ("fields-conflict", "wrong-type"),
    "compute-domain": (*_FIELDS, "invalid-value", "reference-unknown", "wrong-type"),
    "gpus-unknown": (*_FIELDS, "invalid-value", "reference-unknown", "wrong-type"),
    "placement-without-level": ("key-unknown", "topology-key-unknown"),
    "domain-order": ("hostname-not-last", "level-duplicate"),
    "hostname-not-last": ("level-duplicate",),
    "level-label-unknown": ("host-label",),
    "podgroup-queue": ("podgroup-namespace",),
    "podgroup-topology": ("podgroup-namespace",),
    "topology-levels-changed": ("topology-key-unknown",),
    "topology-removed": ("topology-unknown", "set-topology-unknown"),
}
"""Rules whose findings most likely follow from others that touch the same file, which are said alone."""
_NAMES = ("parent-unknown", "parent-invalid", "backend-unknown", "name-invalid", "name-delimiter", "name-reserved")
FOLLOWS: dict[str, tuple[str, ...]] = {
    "companion-namespace": (UNREAD, *_NAMES),
    "compute-domain": (UNREAD, *_NAMES, "pool-unknown"),
    "compute-domain-spread": ("domain-order", "level-duplicate", "level-label-unknown"),
    "gpus-unknown": (UNREAD,),
    "podgroup-unknown": (UNREAD,),
    "podgroup-priority": (UNREAD,),
    "podgroup-short": (UNREAD, "podgroup-member", "podgroup-unknown"),
    "podgroup-queue": (UNREAD, *_NAMES, "pool-unknown", "subpool-closed"),
    "podgroup-namespace": (UNREAD, *_NAMES),
    "podgroup-topology": (UNREAD, *_NAMES, "topology-unknown"),
    "workload-topology": (UNREAD, *_NAMES, "topology-unknown"),
    "reference-unknown": (UNREAD, *_NAMES, "pool-unknown", "companion-namespace"),
    "reference-elsewhere": (UNREAD, *_NAMES, "pool-unknown", "companion-namespace"),
    "selects-too-few": (UNREAD, *_NAMES, "pool-unknown", "companion-namespace"),
    "placement-without-level": ("level-duplicate",),
    "topology-key-unknown": ("level-duplicate",),
    "pack-domain-unknown": ("level-duplicate",),
    "change-refused": ("topology-scheduler",),
    "change-kept": ("topology-scheduler",),
    "over-quota": ("maximum-below-quota", "quota-exceeds-pool", "quota-unlimited-pool"),
    "over-quota-running": ("maximum-below-quota", "quota-exceeds-pool", "quota-unlimited-pool"),
    "over-shared-quota": ("quota-exceeds-pool", "quota-unlimited-pool"),
}
"""The same, wherever the others are found."""
SAID_ONCE = frozenset(
    {
        "finished-recreated",
        "grove-unsupported",
        "pack-domain-unknown",
        "placement-order",
        "podgroup-namespace",
        "podgroup-priority",
        "podgroup-queue",
        "podgroup-topology",
        "set-topology-default",
        "tas-disabled",
        "version-unsupported",
        "workload-scheduler",
        "workload-topology",
    }
)
"""Rules whose messages name what many documents depend on: those that say the same have one cause."""
_BADNESS = {Severity.INFO: 0, Severity.WARNING: 1, Severity.ERROR: 2}


def without_consequences(found: Sequence[Diagnostic], *, complete: bool) -> tuple[Diagnostic, ...]:
    """Those that stand for themselves. A cause counts while nobody waives it and it is as bad as what follows, so that
    a run that would fail does.
    """
    causes = [item for item in found if item.waiver is None]
    rules = {} if complete else {UNREAD: _BADNESS[Severity.ERROR]}
    by_file: dict[tuple[str, str], int] = {}
    for item in causes:
        code, bad = item.rule.code, _BADNESS[item.severity]
        rules[code] = max(bad, rules.get(code, 0))
        for path in {place.path for place in item.places}:
            by_file[path, code] = max(bad, by_file.get((path, code), 0))

    def follows(item: Diagnostic) -> bool:
        code, bad = item.rule.code, _BADNESS[item.severity]
        path = item.location.path if item.location else ""
        near = (by_file.get((path, cause), -1) for cause in FOLLOWS_IN_FILE.get(code, ()))
        far = (rules.get(cause, -1) for cause in FOLLOWS.get(code, ()))
        return any(cause >= bad for cause in (*near, *far))

    return tuple(item for item in found if not follows(item))


def gathered(found: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Findings that have one cause as one, at the first of their places, with the others beside it."""
    groups: dict[Hashable, list[Diagnostic]] = {}
    for item in found:
        groups.setdefault(_cause(item), []).append(item)
    return in_order(first if not rest else _joined(first, rest) for first, *rest in groups.values())


def _cause(item: Diagnostic) -> Hashable:
    """Equal for findings with one cause."""
    if item.waiver is not None or item.rule in RULES:  # of names that are unknown there is one for each already
        return item.sort_key
    if item.cause is not None:
        return item.severity, item.cause
    return (item.severity, item.rule.code, item.message) if item.rule.code in SAID_ONCE else item.sort_key


def _joined(first: Diagnostic, rest: Sequence[Diagnostic]) -> Diagnostic:
    elsewhere = [item for item in rest if item.location != first.location]
    related = [note for item in (first, *rest) if item not in elsewhere for note in item.related]
    if not elsewhere:
        related.sort(key=_where)
    for item in elsewhere:
        related.append(Related("likewise" if item.message == first.message else item.message, item.location))
    return replace(first, related=tuple(related))


def _where(note: Related) -> tuple[str, int]:
    return (note.location.path, note.location.line) if note.location else ("", 0)
