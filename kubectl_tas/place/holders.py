"""Finds who holds the GPUs that work waits for, and why KAI takes them from nobody.

KAI takes GPUs of a pool only above its guarantee, and preempts only work of a lower priority in the same queue (0.17:
pkg/scheduler/plugins/proportion/reclaimable). It leaves both alone for the pool's minimum runtime (resolver.go of the
plugin minruntime). Defaults of a SchedulingShard are not known here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from kubectl_tas.facts import times
from kubectl_tas.facts.quantities import NO_LIMIT
from kubectl_tas.model.labels import POD_GROUP
from kubectl_tas.place.livework import LiveWork
from kubectl_tas.place.pending_reasons import Cause, CauseKind
from kubectl_tas.place.queues import HeldGang, held_gangs
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool, Submission

_STARTED = "kai.scheduler/last-start-timestamp"
"""Annotation of a PodGroup with the time at which KAI last placed it."""


def held_by_others(work: LiveWork, sent: Submission) -> Cause | None:
    """Returns the cause if KAI may take none of the GPUs that others hold; None if it may, or if that is unknown."""
    ours = {group.name for group in work.groups}
    gangs = [gang for gang in held_gangs(work.cluster.objects) if gang.asks.gpu and gang.name not in ours]
    leaves = {gang.name: _pool_of(work, gang) for gang in gangs}
    if not gangs or None in leaves.values():
        return None
    lower = [gang for gang in gangs if gang.queue == work.queue and gang.is_preemptible and not sent.is_preemptible]
    if lower:
        return _protected(work, lower, sent.pool, "preemptMinRuntime")
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
        return _protected(work, victims, over[0], "reclaimMinRuntime")
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


def _protected(work: LiveWork, gangs: Sequence[HeldGang], pool: FleetPool, field: str) -> Cause | None:
    """Returns the cause if all these gangs run for less than the minimum runtime of a pool or of the next above it."""
    runtimes = ((parent, getattr(parent.declared.spec.spec, field)) for parent in pool.chain)
    pool, least = next(((parent, runtime) for parent, runtime in runtimes if runtime), (pool, None))
    length = times.nanoseconds(least) if least else None
    if not length or not gangs:
        return None
    starts = [_started(work.cluster.objects, gang) for gang in gangs]
    ends = [start + timedelta(microseconds=length // 1000) for start in starts if start is not None]
    now = max((time for saying in work.said if (time := _time(saying.last)) is not None), default=None)
    if len(ends) < len(gangs) or (now is not None and min(ends) <= now):
        return None
    name = gangs[0].name if len(gangs) == 1 else f"{gangs[0].name} and {len(gangs) - 1} more"
    takes = "preempts" if field == "preemptMinRuntime" else "reclaims"
    until = f"{min(ends).isoformat()[:19]}Z"
    gpus = math.ceil(sum(gang.asks.gpu for gang in gangs))
    text = f"LOW work ({name}) holds {gpus} GPUs, and KAI {takes} none of it before {until}: {field} is {least}"
    hint = f"Wait until then, or have {field} of pool {pool.name} shortened."
    return Cause(CauseKind.ROOM, text, location=pool.declared.at("spec", field), hint=hint)


def _started(objects: Iterable[object], gang: HeldGang) -> datetime | None:
    """Returns when KAI last placed a gang, by its PodGroup, or else by its first pod."""
    starts = []
    for fields in objects:
        if not isinstance(fields, dict):
            continue
        metadata, status = fields.get("metadata") or {}, fields.get("status") or {}
        annotations = metadata.get("annotations") or {}
        if fields.get("kind") == "PodGroup" and metadata.get("name") == gang.name and annotations.get(_STARTED):
            return _time(annotations[_STARTED])
        if fields.get("kind") == "Pod" and annotations.get(POD_GROUP) == gang.name and status.get("startTime"):
            starts.append(_time(status["startTime"]))
    return min((start for start in starts if start is not None), default=None)


def _time(text: object) -> datetime | None:
    """Returns a time as Kubernetes writes it, without its zone, which is UTC; None for anything else."""
    try:
        return datetime.fromisoformat(str(text)[:19])
    except ValueError:
        return None
