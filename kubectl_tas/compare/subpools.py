"""Subpools whose state changes in a way that it may not, that let more work finish than was there, or whose document
is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Any

from kubectl_tas.compare.change import Change
from kubectl_tas.compare.pools import renamed
from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity, Waiving
from kubectl_tas.model.pool import Subpool
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import BEHAVIOUR, TRANSITIONS, work_name

SUBPOOL_STATE_CHANGED = Rule(
    "subpool-state-changed",
    Severity.ERROR,
    "A subpool goes from one state to another that may not follow it, or changes while it is frozen.",
    "ACTIVE goes to DELETING, or to ARCHIVED where nothing runs; DELETING is frozen until it is ARCHIVED; ARCHIVED "
    "can only be made ACTIVE again. A subpool that is DELETING lets finish what was declared for it when it became so, "
    "and nothing else. `kubectl tas subpool` makes these changes.",
    protects=Waiving.CONFIG,
)
SUBPOOL_REMOVED = Rule(
    "subpool-removed",
    Severity.ERROR,
    "The document of a subpool is gone.",
    "Subpools are never deleted: ARCHIVED ones stay as the record of what there was. Bring the document back, with "
    "state ARCHIVED. It may go together with the pool; once the pool is gone, the record stays.",
    protects=Waiving.CONFIG,
)


def _subpools(fleet: Fleet) -> dict[tuple[str, str], Declared[Subpool]]:
    """By parent and name; of two with one name the first counts."""
    found: dict[tuple[str, str], Declared[Subpool]] = {}
    for item in fleet.repository.subpools:
        found.setdefault((item.spec.spec.parent, item.spec.metadata.name), item)
    return found


def changed_subpools(change: Change) -> Iterator[Diagnostic]:
    """Every subpool of before, where its pool is called now."""
    after, successors = _subpools(change.after), renamed(change)
    parents = {pool.spec.metadata.name: pool for pool in change.after.repository.pools}
    for key, before in _subpools(change.before).items():
        pool = successors.get(key[0])
        now = (pool.name, key[1]) if pool and (pool.name, key[1]) in after else key
        parent = parents.get(key[0])
        if now in after:
            yield from _changed_subpool(change, names.SEPARATOR.join(key), before, after[now])
        elif change.complete and (parent is not None or key[0] not in change.before.pool_by_name):
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
    if new.state == "ARCHIVED" != old.state and _runs(change, name):
        message = f"subpool {name} goes from {old.state} to ARCHIVED, but workloads still run in it"
        yield Diagnostic(SUBPOOL_STATE_CHANGED, message, place, hint="Write state: DELETING until it is empty.")
    if new.state == "DELETING" and not change.unreadable:
        yield from _let_finish(change, name, old.draining, after)


def _let_finish(change: Change, name: str, before: Sequence[str], after: Declared[Subpool]) -> Iterator[Diagnostic]:
    """What is listed as draining, or is there because it is, and was not there at the revision."""
    there = set(_work(change.before, name))
    known = there | {work_name(*item.split("/")) for item in before}
    now = names.SEPARATOR.join((after.spec.spec.parent, after.spec.metadata.name))
    declared = _work(change.after, now)
    for index, item in enumerate(after.spec.spec.draining):
        work = work_name(*item.split("/"))
        place = after.at("spec", "draining", index)
        if work not in known:
            message = f"subpool {now} lists {item} as draining, which was not there at {change.revision}"
            hint = "Remove it: only work that was declared for it before may finish there."
            yield Diagnostic(SUBPOOL_STATE_CHANGED, message, place, hint=hint)
        elif work in declared and work not in there:
            message = f"{item} is new since {change.revision} in subpool {now}, which is DELETING"
            related = (Related("it bears a name that was listed as draining", place),)
            hint = "Send it elsewhere: what was listed has ended."
            yield Diagnostic(SUBPOOL_STATE_CHANGED, message, declared[work].at(), related, hint=hint)


def _runs(change: Change, canonical: str) -> bool:
    """Whether it is known that something runs in a subpool of before, whatever its backend is called by now."""
    for pool in change.before.pools:
        queues = [item.queue for item in pool.subpools if item.canonical == canonical]
        same = change.after.pool_by_name.get(pool.name, pool)
        backends = {pool.backend.name, same.backend.name}
        if any(change.queues.get((backend, queue), False) for backend in backends for queue in queues):
            return True
    return False


def _work(fleet: Fleet, canonical: str) -> dict[str, Declared[Any]]:
    """What is declared for a subpool."""
    found = (item for pool in fleet.pools for item in pool.subpools if item.canonical == canonical)
    return next((fleet.work_in(item.pool, item.queue) for item in found), {})
