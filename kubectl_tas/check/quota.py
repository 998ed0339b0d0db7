"""Quotas add up: shared + ACTIVE subpools = pool, in whole GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity
from kubectl_tas.gangs.admission import QUOTA_SHARED, Admission
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
        active = [subpool for subpool in pool.subpools if subpool.state == "ACTIVE"]
        if pool.guarantee == UNLIMITED:
            yield from _unlimited(pool)
        elif pool.taken > pool.guarantee:
            yield _exceeds(pool, active)


def check_admission(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every workflow, workload and PodCliqueSet that can never run, and every queue with more than runs at once."""
    admission = Admission(fleet)
    waiting: dict[str, list[Submission]] = {}
    for item in fleet.submissions:
        verdict = admission.verdict(item)
        if verdict.outcome == "pending":
            waiting.setdefault(item.queue, []).append(item)
        elif verdict.rule is not None:
            yield Diagnostic(verdict.rule, verdict.text, item.place, hint=verdict.hint)
    for queue, items in waiting.items():
        yield _crowded(items, admission.declared[queue])


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


def _exceeds(pool: FleetPool, active: list[FleetSubpool]) -> Diagnostic:
    """One finding for the pool, at the subpool that is read last; the others are named beside it."""
    in_file_order = sorted(active, key=lambda subpool: _place(subpool))
    total, culprit = 0, in_file_order[-1]
    for subpool in in_file_order:
        total += subpool.quota
        if total > pool.guarantee:
            culprit = subpool
            break
    others = [subpool for subpool in in_file_order if subpool is not culprit]
    related = tuple(
        Related(f"subpool {other.name} has {other.quota}", other.declared.at("spec", "quota")) for other in others
    )
    room = pool.guarantee - sum(other.quota for other in others)
    message = (
        f"the subpools of pool {pool.name} add up to {pool.taken} > {pool.guarantee} GPUs; "
        f"{culprit.name} has {culprit.quota}"
    )
    hint = f"Raise the guarantee of pool {pool.name} to {pool.taken}"
    hint = (
        f"Lower this quota to {room} or less, or {hint[0].lower()}{hint[1:]}."
        if room >= 0
        else f"{hint}, or lower quotas."
    )
    return Diagnostic(QUOTA_EXCEEDS_POOL, message, culprit.declared.at("spec", "quota"), related, hint=hint)


def _place(subpool: FleetSubpool) -> tuple[str, int]:
    place = subpool.declared.at("spec", "quota")
    return place.path, place.line
