"""Finds who holds the GPUs that work waits for, and why KAI takes them from nobody.

KAI takes GPUs of a pool only above its guarantee, and preempts only work of a lower priority in the same queue (0.17:
pkg/scheduler/plugins/proportion/reclaimable). It leaves both alone for the minimum runtime of the pool, or else of the
SchedulingShard (resolver.go of the plugin minruntime), and forever if the shard has the action off.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

from kubectl_tas.facts import times
from kubectl_tas.facts.quantities import NO_LIMIT
from kubectl_tas.place.livework import LiveWork
from kubectl_tas.place.pending_reasons import Cause, CauseKind
from kubectl_tas.place.queues import HeldGang, held_gangs
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool, Submission


def held_by_others(work: LiveWork, sent: Submission) -> Cause | None:
    """Returns the cause if KAI may take none of the GPUs that others hold; None if it may, or if that is unknown."""
    ours = {group.name for group in work.groups}
    gangs = [gang for gang in held_gangs(work.cluster.objects) if gang.asks.gpu and gang.name not in ours]
    leaves = {gang.name: _pool_of(work, gang) for gang in gangs}
    if not gangs or None in leaves.values():
        return None
    lower = [gang for gang in gangs if gang.queue == work.queue and gang.is_preemptible and not sent.is_preemptible]
    if lower:
        return _off(work, lower, "preempt") or _protected(work, lower, sent.pool, "preemptMinRuntime")
    above = {pool.name for pool in sent.pool.chain}
    pools = {name: _sibling(leaf, above) for name, leaf in leaves.items() if leaf is not None}
    others = {pool.name: pool for pool in pools.values() if pool is not None}
    held: Counter[str] = Counter()
    for gang in gangs:
        pool = pools[gang.name]
        if pool is not None:
            held[pool.name] += math.ceil(gang.asks.gpu)
    over = [pool for pool in others.values() if pool.guarantee.gpu != NO_LIMIT and held[pool.name] > pool.guarantee.gpu]
    if len(over) == 1:
        victims = [gang for gang in gangs if gang.is_preemptible and pools[gang.name] is over[0]]
        return _off(work, victims, "reclaim") or _protected(work, victims, over[0], "reclaimMinRuntime")
    if over or not held:
        return None
    holders = ", ".join(f"pool {name} holds {gpus} GPUs ({_guarantee(others[name])})" for name, gpus in held.items())
    text = f"{holders}, and KAI takes none from a pool within its guarantee"
    largest = others[max(held, key=lambda name: held[name])]
    is_fixed = not any(gang.is_preemptible for gang in gangs if pools[gang.name] is largest)
    other_way = "ask for less" if is_fixed else "have its guarantee lowered"  # KAI never ends non-preemptible work
    hint = f"Wait until work of pool {largest.name} has ended, or {other_way}."
    location = largest.declared.at("spec", "resources", "gpu", "guarantee")
    return Cause(CauseKind.ROOM, text, location=location, hint=hint)


def _sibling(pool: FleetPool, above: Collection[str]) -> FleetPool | None:
    """Returns the pool that KAI compares with those above the work, itself or a parent; None if it is one of these."""
    return next((parent for parent in reversed(pool.chain) if parent.name not in above), None)


def _guarantee(pool: FleetPool) -> str:
    return "all are guaranteed" if pool.guarantee.gpu == NO_LIMIT else f"guarantee {pool.guarantee.gpu}"


def _pool_of(work: LiveWork, gang: HeldGang) -> FleetPool | None:
    owner = work.owner_of(gang.queue or "")
    if isinstance(owner, FleetSubpool):
        return next((pool for pool in work.fleet.pools if owner in pool.subpools), None)
    return owner


def _off(work: LiveWork, gangs: Sequence[HeldGang], action: str) -> Cause | None:
    """Returns the cause if the shard of the work has an action off by which KAI would take what these gangs hold."""
    shard = work.fleet.shard_of(work.sent.pool)
    if shard is None or not gangs or action in work.fleet.settings_of(work.sent.pool).actions:
        return None
    text = f"{_held(gangs)}, and KAI {action}s none of it: SchedulingShard {shard.name} has the action {action} off"
    hint = f"Wait until it has ended, or have the action {action} turned on."
    location = shard.declared.at("spec", "actions", action)
    return Cause(CauseKind.ROOM, text, location=location, hint=hint)


def _held(gangs: Sequence[HeldGang]) -> str:
    name = gangs[0].name if len(gangs) == 1 else f"{gangs[0].name} and {len(gangs) - 1} more"
    return f"LOW work ({name}) holds {math.ceil(sum(gang.asks.gpu for gang in gangs))} GPUs"


def _protected(work: LiveWork, gangs: Sequence[HeldGang], pool: FleetPool, field: str) -> Cause | None:
    """Returns the cause if all these gangs run for less than the minimum runtime of a pool or of the next above it."""
    runtimes = ((parent, getattr(parent.declared.spec.spec, field)) for parent in pool.chain)
    owner, least = next(((parent, runtime) for parent, runtime in runtimes if runtime), (pool, None))
    settings, shard = work.fleet.settings_of(work.sent.pool), work.fleet.shard_of(work.sent.pool)
    default = settings.preempt_min_runtime if field == "preemptMinRuntime" else settings.reclaim_min_runtime
    length = times.nanoseconds(least) if least else default
    if not length or not gangs or not settings.has("minruntime"):
        return None
    ends = [times.after(gang.started, length) for gang in gangs if gang.started is not None]
    now = max((time for saying in work.said if (time := times.moment(saying.last)) is not None), default=None)
    if len(ends) < len(gangs) or (now is not None and min(ends) <= now):
        return None
    takes = "preempts" if field == "preemptMinRuntime" else "reclaims"
    until = times.stamp(min(ends))
    text = f"{_held(gangs)}, and KAI {takes} none of it before {until}: {field} is {least or times.duration(length)}"
    if shard is not None and not least:
        says, location = f"SchedulingShard {shard.name}", shard.declared.at("spec", "minRuntime", field)
    else:
        says, location = f"pool {owner.name}", owner.declared.at("spec", field)
    hint = f"Wait until then, or have {field} of {says} shortened."
    return Cause(CauseKind.ROOM, text, location=location, hint=hint)
