"""Quotas add up: shared + ACTIVE subpools = pool, in whole GPUs."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import accumulate

from pydantic import BaseModel

from kubectl_tas.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.gangs.admission import QUOTA_SHARED, SUBPOOL_CLOSED, Admission
from kubectl_tas.gpus import Gpus
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import UNLIMITED, FleetPool, FleetSubpool, Submission

QUOTA_EXCEEDS_POOL = Rule(
    "quota-exceeds-pool",
    Severity.ERROR,
    "The quotas of a pool's ACTIVE subpools add up to more than the pool is guaranteed.",
    "KAI does not check this: it would promise the same GPUs twice, and who gets them is decided at night. "
    "Lower one of the quotas, or raise the guarantee of the pool.",
)
QUOTA_UNLIMITED_POOL = Rule(
    "quota-unlimited-pool",
    Severity.ERROR,
    "A pool with subpools has no finite guarantee.",
    "What is left for the pool itself is its guarantee less the quotas of its subpools; without a number "
    "there is nothing to divide. Set spec.resources.gpu.guarantee.",
)
MAXIMUM_BELOW_QUOTA = Rule(
    "maximum-below-quota",
    Severity.ERROR,
    "A pool's maximum is lower than its guarantee.",
    "The limit would keep the pool from ever holding what it is guaranteed. Raise the maximum, or use -1.",
)


_GUARANTEE = ("spec", "resources", "gpu", "guarantee")
MAX_NAMED = 5
"""Workloads of a queue that a finding names."""


def check_quotas(fleet: Fleet) -> Iterator[Diagnostic]:
    """The arithmetic of every pool."""
    for pool in fleet.pools:
        yield from _maximum(pool)
        if pool.guarantee == UNLIMITED:
            yield from _unlimited(pool)
    yield from _exceeded(fleet, frozenset())


def blamed(found: Iterable[Diagnostic], before: Fleet, after: Fleet) -> Iterator[Diagnostic]:
    """What was found in the fleet ``after``, sums of quotas at what has changed since ``before``."""
    yield from (item for item in found if item.rule is not QUOTA_EXCEEDS_POOL)
    earlier = _specs(before)
    changed = frozenset(name for name, spec in _specs(after).items() if earlier.get(name) != spec)
    yield from _exceeded(after, changed)


def _specs(fleet: Fleet) -> dict[str, BaseModel]:
    """What pools and subpools say, by name."""
    pools = {pool.name: pool.declared.spec.spec for pool in fleet.pools}
    return {**pools, **{part.canonical: part.declared.spec.spec for pool in fleet.pools for part in pool.subpools}}


def _exceeded(fleet: Fleet, changed: Container[str]) -> Iterator[Diagnostic]:
    for pool in fleet.pools:
        if pool.taken > pool.guarantee != UNLIMITED:
            yield _exceeds(pool, changed)


def check_admission(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every workflow, workload and PodCliqueSet that can never run, and every queue with more than runs at once."""
    admission = Admission(fleet)
    waiting: dict[str, list[Submission]] = {}
    for item in fleet.submissions:
        verdict = admission.verdict(item)
        if verdict.outcome == "pending":
            waiting.setdefault(item.queue, []).append(item)
        elif verdict.rule is not None:
            cause = _cause(item, verdict.rule)
            yield Diagnostic(verdict.rule, verdict.text, item.place, hint=verdict.hint, cause=cause)
    for queue, items in waiting.items():
        yield _crowded(items, admission.declared[queue])


def _cause(item: Submission, rule: Rule) -> Location:
    """What a submission that can never run contradicts: its subpool's state, its quota, or its pool's maximum."""
    if item.is_preemptible and rule is not SUBPOOL_CLOSED:
        return item.pool.declared.at("spec", "resources", "gpu", "maximum")
    if item.subpool is None:
        return item.pool.declared.at(*_GUARANTEE)
    return item.subpool.declared.at("spec", "state" if rule is SUBPOOL_CLOSED else "quota")


def _crowded(items: list[Submission], asked: Gpus) -> Diagnostic:
    """One finding for a queue, where its quota stands, with the first of those that share it."""
    pool, subpool, target = items[0].pool, items[0].subpool, items[0].target
    place = subpool.declared.at("spec", "quota") if subpool else pool.declared.at(*_GUARANTEE)
    named = sorted(items, key=lambda item: (item.place.path, item.place.line))[:MAX_NAMED]
    related = tuple(Related(f"{item.kind} {item.name} asks {item.gpus}", item.place) for item in named)
    left = len(items) - len(named)
    who = ", ".join(item.name for item in named) + (f" and {left} more" if left else "")
    verb = "asks" if len(items) == 1 else "ask"
    quota = f"the quota of {target}"
    message = f"{who} {verb} {asked} > {items[0].quota} GPUs, {quota}: not all at once, the rest stays Pending"
    hint = f"Nothing to do where some may wait until others have ended; else raise {quota}, or use LOW."
    return Diagnostic(QUOTA_SHARED, message, place, related, hint=hint)


def _maximum(pool: FleetPool) -> Iterator[Diagnostic]:
    if pool.maximum == UNLIMITED or (pool.guarantee <= pool.maximum != UNLIMITED and pool.guarantee >= 0):
        return
    guarantee = "unlimited" if pool.guarantee == UNLIMITED else str(pool.guarantee)
    message = f"the maximum of pool {pool.name} is {pool.maximum} GPUs, below its guarantee ({guarantee})"
    place = pool.declared.at("spec", "resources", "gpu", "maximum")
    hint = (
        "Use -1 for no limit." if pool.guarantee == UNLIMITED else f"Use {pool.guarantee} or more, or -1 for no limit."
    )
    yield Diagnostic(MAXIMUM_BELOW_QUOTA, message, place, hint=hint)


def _unlimited(pool: FleetPool) -> Iterator[Diagnostic]:
    """One finding for the pool, at its first subpool that is not ARCHIVED."""
    live = [subpool for subpool in pool.subpools if subpool.state != "ARCHIVED"]
    if live:
        place = live[0].declared.at("spec", "quota")
        message = f"pool {pool.name} has subpools but no finite guarantee"
        related = (Related(f"pool {pool.name}", pool.declared.at(*_GUARANTEE)),)
        hint = f"Set spec.resources.gpu.guarantee of pool {pool.name} to a number of GPUs."
        yield Diagnostic(QUOTA_UNLIMITED_POOL, message, place, related, hint=hint)


def _exceeds(pool: FleetPool, changed: Container[str]) -> Diagnostic:
    """One finding for the pool, with all that adds up beside it: at its guarantee where that has changed and is below
    what has not, else at the subpool that is read last, those that have changed behind the others.
    """
    active = [subpool for subpool in pool.subpools if subpool.state == "ACTIVE"]
    in_order = sorted(active, key=lambda subpool: (subpool.canonical in changed, _place(subpool)))
    sums = list(accumulate(subpool.quota for subpool in in_order))
    culprit = next(subpool for subpool, total in zip(in_order, sums, strict=True) if total > pool.guarantee)
    total = f"the subpools of pool {pool.name} add up to {pool.taken} > {pool.guarantee} GPUs"
    raise_it = f"aise the guarantee of pool {pool.name} to {pool.taken}"
    if pool.name in changed and culprit.canonical not in changed:
        hint = f"R{raise_it} or more, or lower quotas."
        return Diagnostic(QUOTA_EXCEEDS_POOL, total, pool.declared.at(*_GUARANTEE), _quotas(in_order), hint=hint)
    others = [subpool for subpool in in_order if subpool is not culprit]
    room = pool.guarantee - sum(other.quota for other in others)
    lower = f"Lower this quota to {room} or less, or r{raise_it}."
    hint = lower if room >= 0 else f"R{raise_it}, or lower quotas."
    message = f"{total}; {culprit.name} has {culprit.quota}"
    return Diagnostic(QUOTA_EXCEEDS_POOL, message, culprit.declared.at("spec", "quota"), _quotas(others), hint=hint)


def _quotas(subpools: Iterable[FleetSubpool]) -> tuple[Related, ...]:
    return tuple(
        Related(f"subpool {item.name} has {item.quota}", item.declared.at("spec", "quota")) for item in subpools
    )


def _place(subpool: FleetSubpool) -> tuple[str, int]:
    place = subpool.declared.at("spec", "quota")
    return place.path, place.line
