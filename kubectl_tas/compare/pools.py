"""Pools that are gone, or are called otherwise: their queues, and those of their subpools, change with them; and pools
that have another parent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubectl_tas.compare.change import Change
from kubectl_tas.compare.immutable import Effect
from kubectl_tas.compare.objects import TOOLS, object_changes
from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity, Waiving
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool

POOL_GONE = Rule(
    "pool-gone",
    Severity.INFO,
    "A pool is gone or has another name, and its queues with it.",
    "Work that runs keeps the old queue. Once that is pruned, KAI counts its pods for no pool although they hold their "
    "GPUs, and neither reclaims nor starts any of them. What a GitOps tool replaces begins anew in the new queue. Let "
    "the work end first: docs/draining.md.",
    protects=Waiving.CONFIG,
)
POOL_BUSY = Rule(
    "pool-busy",
    Severity.WARNING,
    "A pool is gone or has another name, and the cluster says that work runs in its queues.",
    "Once the queues are pruned, KAI counts these pods for no pool although they hold their GPUs: it promises GPUs "
    "that are taken. Wait until the work has ended: docs/draining.md.",
    protects=Waiving.CONFIG,
)
POOL_MOVED = Rule(
    "pool-moved",
    Severity.INFO,
    "A pool gets another parent, or has none any more.",
    "Its queue changes its parent in place: the names of its queues stay, and so does the work that runs. From the "
    "next cycle of the scheduler on it counts for the new parent and those above it, for the old one no more. KAI "
    "(0.13 to 0.17) refuses no such change.",
    protects=Waiving.CONFIG,
)
MEANING = (
    "Pods that run keep the old queue and their GPUs, but count for no pool once it is pruned; those that wait there "
    "never run. Best where nothing runs: let work end first."
)
"""What it means for running work that its queue is gone, by KAI 0.17. pkg/scheduler/cache/cluster_info/cluster_info.go
(validatePodgroupQueue) notes QueueDoesNotExist for its PodGroup. pkg/scheduler/actions/utils/input_jobs.go leaves it
out of what is started and of what is reclaimed or preempted. pkg/scheduler/plugins/proportion/proportion.go
(updateQueuesCurrentResourceUsage) adds what it holds to queues that exist, so to none; its nodes stay taken. 0.12
leaves such PodGroups out as well.
"""


def after_rename(before: Fleet, after: Fleet) -> Iterator[str]:
    """What becomes of the work that stays under its name while its queue has another one: a sentence for each fate.

    The podgrouper leaves a PodGroup that has pods in its queue (KAI 0.17), so a Pod with another label stays there.
    """
    by_fate: dict[str, list[str]] = {}
    gitops = after.config.gitops
    for item in object_changes(Change(before, after, "")):
        refused = item.of(Effect.REFUSED)
        name = f"{item.after.kind}/{item.after.name} in namespace {item.after.namespace}"
        if item.is_replaced(gitops):
            by_fate.setdefault(f"{TOOLS[gitops]} deletes and makes anew", []).append(name)
        elif refused:
            fate = f"Delete first, since {refused[0].row.by} refuses their new queue"
            by_fate.setdefault(fate, []).append(name)
        elif item.of(Effect.KEPT) or (item.after.kind == "Pod" and item.before.wanted != item.after.wanted):
            by_fate.setdefault("What runs of these goes on in its old queue", []).append(name)
    for fate in sorted(by_fate, key=lambda fate: (not fate.startswith("Delete"), fate)):
        yield f"{fate}: {', '.join(by_fate[fate])}."


def renamed(change: Change) -> Mapping[str, FleetPool]:
    """The pools that seem to have another name now, by their old one: same spec, same subpools."""
    new = [pool for pool in change.after.pools if pool.name not in change.before.pool_by_name]
    found: dict[str, FleetPool] = {}
    for pool in _gone(change):
        same = next((item for item in new if _likeness(item) == _likeness(pool)), None)
        if same is not None:
            new.remove(same)
            found[pool.name] = same
    return found


def gone_pools(change: Change) -> Iterator[Diagnostic]:
    """Every pool of before that has another name, or none."""
    successors = renamed(change)
    for pool in _gone(change):
        new, queues = successors.get(pool.name), pool.queues
        if new is not None:
            pairs = [(old, name) for old, name in zip(pool.queues, new.queues, strict=False) if old != name]
            if not pairs:  # all of them keep names that follow no scheme
                continue
            message = f"pool {pool.name} is called {new.name} since {change.revision}, so its queues have other names"
            place = new.declared.at("metadata", "name")
            related = tuple(Related(f"{old} -> {name}", place) for old, name in pairs)
            queues = tuple(old for old, _ in pairs)
        elif change.complete:
            message = f"pool {pool.name} is gone since {change.revision}, and its queues: {', '.join(pool.queues)}"
            related = (Related(f"declared at {change.revision}", pool.declared.at("metadata", "name")),)
            place = None
        else:
            continue
        busy = [queue for queue in queues if change.queues.get((pool.backend.name, queue))]
        runs = f"; work still runs in {', '.join(busy)}" if busy else ""
        rule = POOL_BUSY if busy else POOL_GONE
        yield Diagnostic(rule, f"{message}{runs}", place, related, hint=MEANING)


def moved_pools(change: Change) -> Iterator[Diagnostic]:
    """Every pool with another parent than before. KAI's webhook compares no parents (``queue_validator.go`` of
    pkg/admission/webhook/queuehooks, 0.17; ``queue_webhook.go``, 0.13), its controller counts the children of both anew
    (``queue_controller.go``), and its scheduler reads the tree in each cycle.
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
        way = f"from {_spot(old)} to {_spot(new)}"
        message = f"pool {after.name} moves {way} since {change.revision}; its queues keep their names and their work"
        place = after.declared.at("spec", "parent") if new else after.declared.at("metadata", "name")
        hint = "Work that runs goes on, and counts for the new parent from the next cycle of the scheduler on."
        yield Diagnostic(POOL_MOVED, message, place, hint=hint)


def _spot(parent: FleetPool | None) -> str:
    return f"below {parent.name}" if parent else "the top"


def _gone(change: Change) -> list[FleetPool]:
    declared = {pool.spec.metadata.name for pool in change.after.repository.pools}
    return [pool for pool in change.before.pools if pool.name not in declared]


def _likeness(pool: FleetPool) -> object:
    return pool.declared.spec.spec.model_copy(update={"parent": None}), [item.name for item in pool.subpools]
