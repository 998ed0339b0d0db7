"""Finds removed, renamed and moved pools, and forbidden changes of a subpool's state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from shlex import quote
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic, Related, Rule, Severity, Waiving
from kubectl_tas.compare.change import Change
from kubectl_tas.compare.object_changes import TOOLS, object_changes
from kubectl_tas.kinds.page import Effect
from kubectl_tas.model.pool_kinds import Subpool
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import BEHAVIOUR, TRANSITIONS, FleetPool, work_name

POOL_GONE = Rule(
    "pool-gone",
    Severity.INFO,
    "A pool is gone or has another name, and its queues with it.",
    "Running work keeps the old queue. Once the GitOps tool prunes that queue, KAI charges the pods to no pool "
    "although they hold their GPUs, and neither reclaims nor starts any of them. Work that a GitOps tool replaces "
    "starts again in the new queue. Let the work end first: docs/draining.md.",
    protects=Waiving.CONFIG,
)
POOL_BUSY = Rule(
    "pool-busy",
    Severity.WARNING,
    "A pool is gone or has another name, and its queues hold running work.",
    "Once the GitOps tool prunes the queues, KAI charges these pods to no pool although they hold their GPUs. It then "
    "promises GPUs that are taken. Wait until the work has ended: docs/draining.md.",
    protects=Waiving.CONFIG,
)
POOL_MOVED = Rule(
    "pool-moved",
    Severity.INFO,
    "A pool gets another parent, or loses its parent.",
    "KAI (0.13 to 0.17) accepts the change. Queues keep their names, and running work keeps running. From the next "
    "scheduling cycle on, the work counts for the new parent and those above it, and no longer for the old one.",
    protects=Waiving.CONFIG,
)
MEANING = (
    "Pods that run keep the old queue and their GPUs, but count for no pool once it is pruned; those that wait there "
    "never run. Best where nothing runs: let work end first."
)
"""Effect of a removed queue on running work, in KAI 0.17. pkg/scheduler/cache/cluster_info/cluster_info.go
(validatePodgroupQueue) records QueueDoesNotExist for the PodGroup. pkg/scheduler/actions/utils/input_jobs.go excludes
the PodGroup from starting, reclaiming and preempting. pkg/scheduler/plugins/proportion/proportion.go
(updateQueuesCurrentResourceUsage) charges usage only to existing queues, but nodes stay occupied. 0.12 excludes such
PodGroups too.
"""


def renamed(change: Change) -> Mapping[str, FleetPool]:
    """Returns the pools that probably have a new name, by old name: their spec and subpools are the same."""
    new = [pool for pool in change.after.pools if pool.name not in change.before.pool_by_name]
    renames: dict[str, FleetPool] = {}
    for pool in _gone(change):
        same = next((candidate for candidate in new if _likeness(candidate) == _likeness(pool)), None)
        if same is not None:
            new.remove(same)
            renames[pool.name] = same
    return renames


def gone_pools(change: Change) -> Iterator[Diagnostic]:
    """Reports every removed or renamed pool."""
    successors = renamed(change)
    for pool in _gone(change):
        new, queues = successors.get(pool.name), pool.queues
        if new is not None:
            pairs = [(old, name) for old, name in zip(pool.queues, new.queues, strict=False) if old != name]
            if not pairs:  # all of them keep names that follow no scheme
                continue
            message = f"pool {pool.name} is called {new.name} since {change.revision}, so its queues have other names"
            location = new.declared.at("metadata", "name")
            related = tuple(Related(f"{old} -> {name}", location) for old, name in pairs)
            queues = tuple(old for old, _ in pairs)
        elif change.complete:
            message = f"pool {pool.name} is gone since {change.revision}, and its queues: {', '.join(pool.queues)}"
            related = (Related(f"declared at {change.revision}", pool.declared.at("metadata", "name")),)
            location = None
        else:
            continue
        busy = [queue for queue in queues if change.queues.get((pool.backend.name, queue))]
        runs = f"; work still runs in {', '.join(busy)}" if busy else ""
        rule = POOL_BUSY if busy else POOL_GONE
        yield Diagnostic(rule, f"{message}{runs}", location, related, hint=MEANING)


def moved_pools(change: Change) -> Iterator[Diagnostic]:
    """Reports every pool with a new parent. KAI's webhook does not compare parents (``queue_validator.go`` of
    pkg/admission/webhook/queuehooks, 0.17; ``queue_webhook.go``, 0.13). KAI's controller recounts the children of both
    parents (``queue_controller.go``), and the scheduler reads the tree in each cycle.
    """
    successors = renamed(change)
    for before in change.before.pools:
        after = successors.get(before.name) or change.after.pool_by_name.get(before.name)
        old = successors.get(before.parent.name, before.parent) if before.parent else None
        new = after.parent if after else None
        if after is None or (old and old.name) == (new and new.name):
            continue
        if new is None and after.declared.spec.spec.parent is not None:
            continue  # its parent has a finding
        spots = [f"below {parent.name}" if parent else "the top" for parent in (old, new)]
        way = f"from {spots[0]} to {spots[1]}"
        message = f"pool {after.name} moves {way} since {change.revision}; its queues keep their names and their work"
        location = after.declared.at("spec", "parent") if new else after.declared.at("metadata", "name")
        hint = "Work that runs goes on, and counts for the new parent from the next cycle of the scheduler on."
        yield Diagnostic(POOL_MOVED, message, location, hint=hint)


def _gone(change: Change) -> list[FleetPool]:
    declared = {pool.spec.metadata.name for pool in change.after.repository.pools}
    return [pool for pool in change.before.pools if pool.name not in declared]


def _likeness(pool: FleetPool) -> object:
    return pool.declared.spec.spec.model_copy(update={"parent": None}), [item.name for item in pool.subpools]


SUBPOOL_STATE_CHANGED = Rule(
    "subpool-state-changed",
    Severity.ERROR,
    "A subpool takes a forbidden step between states, or changes while frozen.",
    "An ACTIVE subpool may become DELETING, or ARCHIVED if nothing runs. A DELETING one is frozen until it is "
    "ARCHIVED. An ARCHIVED one may only become ACTIVE again. A DELETING subpool accepts only work that it had when it "
    "became DELETING. `kubectl tas subpool` makes these changes.",
    protects=Waiving.CONFIG,
)
SUBPOOL_REMOVED = Rule(
    "subpool-removed",
    Severity.ERROR,
    "The document of a subpool is gone.",
    "Nobody deletes subpools: ARCHIVED ones stay as a record. Restore the document, with state ARCHIVED. It may go "
    "together with the pool; once the pool is gone, the record stays.",
    protects=Waiving.CONFIG,
)


def _subpools(fleet: Fleet) -> dict[tuple[str, str], Declared[Subpool]]:
    """Returns subpools by parent and name. Of two with one name, the first counts."""
    subpools: dict[tuple[str, str], Declared[Subpool]] = {}
    for subpool in fleet.repository.subpools:
        subpools.setdefault((subpool.spec.spec.parent, subpool.spec.metadata.name), subpool)
    return subpools


def changed_subpools(change: Change) -> Iterator[Diagnostic]:
    """Checks every earlier subpool against the current one, also in a renamed pool."""
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
            location = parent.at("metadata", "name") if parent else None
            path, is_there = before.origin.path, before.origin.path in change.after.repository.files
            shown = f"git show {change.revision}:./{quote(path)}" if is_there else ""
            way = f"its text is in {shown}" if shown else f"git checkout {change.revision} -- {quote(path)}"
            hint = f"Restore it, with state ARCHIVED: {way}"
            yield Diagnostic(SUBPOOL_REMOVED, message, location, related, hint=hint)


def _changed_subpool(
    change: Change, name: str, before: Declared[Subpool], after: Declared[Subpool]
) -> Iterator[Diagnostic]:
    old, new = before.spec.spec, after.spec.spec
    location = after.origin.locate(("spec", "state"), key="state" not in new.model_fields_set)
    if new.state != old.state and new.state not in TRANSITIONS[old.state]:
        allowed = " or ".join(TRANSITIONS[old.state])
        message = (
            f"subpool {name} goes from {old.state} to {new.state} since {change.revision}; "
            f"a subpool that is {old.state} {BEHAVIOUR[old.state]}"
        )
        yield Diagnostic(SUBPOOL_STATE_CHANGED, message, location, hint=f"From {old.state} it goes to {allowed}.")
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
        yield Diagnostic(SUBPOOL_STATE_CHANGED, message, location, hint="Write state: DELETING until it is empty.")
    if new.state == "DELETING" and not change.unreadable:
        yield from _let_finish(change, name, old.draining, after)


def _let_finish(change: Change, name: str, before: Sequence[str], after: Declared[Subpool]) -> Iterator[Diagnostic]:
    """Reports draining entries that were not there at the revision, and new work under a draining name."""
    earlier_work = set(_work(change.before, name))
    known_work = earlier_work | {work_name(*work_entry.split("/")) for work_entry in before}
    now = names.SEPARATOR.join((after.spec.spec.parent, after.spec.metadata.name))
    declared = _work(change.after, now)
    for index, draining in enumerate(after.spec.spec.draining):
        work = work_name(*draining.split("/"))
        location = after.at("spec", "draining", index)
        if work not in known_work:
            message = f"subpool {now} lists {draining} as draining, which was not there at {change.revision}"
            hint = "Remove it: only work that was declared for it before may finish there."
            yield Diagnostic(SUBPOOL_STATE_CHANGED, message, location, hint=hint)
        elif work in declared and work not in earlier_work:
            message = f"{draining} is new since {change.revision} in subpool {now}, which is DELETING"
            related = (Related("it has a name that was listed as draining", location),)
            hint = "Send it to another pool or subpool: the listed work has ended."
            yield Diagnostic(SUBPOOL_STATE_CHANGED, message, declared[work].at(), related, hint=hint)


def _runs(change: Change, canonical: str) -> bool:
    """Whether work is known to run in an earlier subpool, even if its backend has a new name."""
    for pool in change.before.pools:
        queues = [subpool.queue for subpool in pool.subpools if subpool.canonical == canonical]
        same = change.after.pool_by_name.get(pool.name, pool)
        backends = {pool.backend.name, same.backend.name}
        if any(change.queues.get((backend, queue), False) for backend in backends for queue in queues):
            return True
    return False


def _work(fleet: Fleet, canonical: str) -> dict[str, Declared[Any]]:
    """Returns the work declared for a subpool."""
    subpools = (subpool for pool in fleet.pools for subpool in pool.subpools if subpool.canonical == canonical)
    return next((fleet.work_in(subpool.pool, subpool.queue) for subpool in subpools), {})


def after_rename(before: Fleet, after: Fleet) -> Iterator[str]:
    """Yields sentences about work that keeps its name while its queue gets a new one, one for each effect.

    The podgrouper leaves a PodGroup with pods in its queue (KAI 0.17), so a Pod with a new queue label stays there.
    """
    by_fate: dict[str, list[str]] = {}
    gitops = after.config.gitops
    for object_change in object_changes(Change(before, after, "")):
        refused = object_change.of(Effect.REFUSED)
        name = f"{object_change.after.kind}/{object_change.after.name} in namespace {object_change.after.namespace}"
        if object_change.is_replaced(gitops):
            by_fate.setdefault(f"{TOOLS[gitops]} deletes and makes anew", []).append(name)
        elif refused:
            fate = f"Delete first, since {refused[0].row.by} refuses their new queue"
            by_fate.setdefault(fate, []).append(name)
        elif object_change.of(Effect.KEPT) or (
            object_change.after.kind == "Pod" and object_change.before.demands != object_change.after.demands
        ):
            by_fate.setdefault("Work whose running pods stay in the old queue", []).append(name)
    for fate in sorted(by_fate, key=lambda fate: (not fate.startswith("Delete"), fate)):
        yield f"{fate}: {', '.join(by_fate[fate])}."
