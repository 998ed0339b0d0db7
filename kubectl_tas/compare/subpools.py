"""Subpools whose state changes in a way that it may not, or whose document is gone."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from kubectl_tas.compare.change import Change
from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity, Waiving
from kubectl_tas.model.pool import Subpool
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import BEHAVIOUR, TRANSITIONS

SUBPOOL_STATE_CHANGED = Rule(
    "subpool-state-changed",
    Severity.ERROR,
    "A subpool goes from one state to another that may not follow it, or changes while it is frozen.",
    "ACTIVE goes to DELETING, or to ARCHIVED where nothing runs; DELETING is frozen until it is ARCHIVED; ARCHIVED "
    "can only be made ACTIVE again. `kubectl tas subpool` makes these changes.",
    protects=Waiving.CONFIG,
)
SUBPOOL_REMOVED = Rule(
    "subpool-removed",
    Severity.ERROR,
    "The document of a subpool is gone.",
    "Subpools are never deleted: ARCHIVED ones stay as the record of what there was. Bring the document back, with "
    "state ARCHIVED.",
    protects=Waiving.CONFIG,
)


def _subpools(fleet: Fleet) -> dict[tuple[str, str], Declared[Subpool]]:
    """By parent and name; of two with one name the first counts."""
    found: dict[tuple[str, str], Declared[Subpool]] = {}
    for item in fleet.repository.subpools:
        found.setdefault((item.spec.spec.parent, item.spec.metadata.name), item)
    return found


def changed_subpools(change: Change) -> Iterator[Diagnostic]:
    """Every subpool of before."""
    after = _subpools(change.after)
    for key, before in _subpools(change.before).items():
        if key in after:
            yield from _changed_subpool(change, names.SEPARATOR.join(key), before, after[key])
        elif change.complete:
            parents = {pool.spec.metadata.name: pool for pool in change.after.repository.pools}
            parent = parents.get(key[0])
            message = (
                f"the document of subpool {names.SEPARATOR.join(key)} is gone since {change.revision}, "
                "but subpools are never deleted"
            )
            related = (Related(f"declared at {change.revision}", before.at("metadata", "name")),)
            place = parent.at("metadata", "name") if parent else None
            hint = f"Bring it back, with state ARCHIVED: git checkout {change.revision} -- {quote(before.origin.path)}"
            yield Diagnostic(SUBPOOL_REMOVED, message, place, related, hint=hint)


def _changed_subpool(
    change: Change, name: str, before: Declared[Subpool], after: Declared[Subpool]
) -> Iterator[Diagnostic]:
    old, new = before.spec.spec, after.spec.spec
    place = after.origin.locate(("spec", "state"), key="state" not in new.model_fields_set)
    if new.state != old.state and new.state not in TRANSITIONS[old.state]:
        allowed = " or ".join(TRANSITIONS[old.state])
        message = (
            f"subpool {name} goes from {old.state} to {new.state} since {change.revision}; "
            f"a subpool that is {old.state} {BEHAVIOUR[old.state]}"
        )
        yield Diagnostic(SUBPOOL_STATE_CHANGED, message, place, hint=f"From {old.state} it goes to {allowed}.")
        return
    if "ACTIVE" not in (old.state, new.state) and new.quota != old.quota:
        message = (
            f"the quota of subpool {name} changes since {change.revision} from {old.quota_text} to {new.quota_text}; "
            f"a subpool that is {old.state} {BEHAVIOUR[old.state]}"
        )
        quota = after.at("spec", "quota")
        yield Diagnostic(SUBPOOL_STATE_CHANGED, message, quota, hint=f"Write quota: {old.quota_text} again.")
    if new.state == "ARCHIVED" != old.state and change.queues.get(_queue(change.before, name), False):
        message = f"subpool {name} goes from {old.state} to ARCHIVED, but workloads still run in it"
        yield Diagnostic(SUBPOOL_STATE_CHANGED, message, place, hint="Write state: DELETING until it is empty.")


def _queue(fleet: Fleet, canonical: str) -> str:
    found = (item.queue for pool in fleet.pools for item in pool.subpools if item.canonical == canonical)
    return next(found, "")
