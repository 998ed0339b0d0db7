"""Checks quotas: shared + ACTIVE subpools + child pools = pool, for each resource with a finite guarantee. Also checks
which work exceeds its quota, and whether listed draining or over-quota work still exists.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from pydantic import BaseModel

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity, Waiving
from kubectl_tas.base.words import misspelled, question
from kubectl_tas.base.yaml import flow
from kubectl_tas.check.companion_names import REFERENCE_UNKNOWN
from kubectl_tas.facts.quantities import NO_LIMIT, NOTHING, RESOURCES, UNITS, Amount, Amounts, ResourceName, said, show
from kubectl_tas.gangs.admission import (
    OVER_QUOTA,
    OVER_QUOTA_RUNNING,
    OVER_SHARED_QUOTA,
    QUOTA_SHARED,
    SUBPOOL_CLOSED,
    Admission,
    Verdict,
    needless_over_quota,
    over_quota_amounts,
)
from kubectl_tas.gangs.admission import non_preemptible_requests as asked_by_queue
from kubectl_tas.gangs.lasting import Past
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.pool_kinds import MaximumAmounts, amount
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool, Part, Submission, work_name

QUOTA_EXCEEDS_POOL = Rule.error(
    "quota-exceeds-pool",
    "The ACTIVE parts of a pool have more quota than the pool is guaranteed.",
    "KAI does not check this. It would promise the same resources twice, and chance decides who gets them. Lower one "
    "of the quotas, or raise the guarantee of the pool.",
)
QUOTA_UNLIMITED_POOL = Rule.error(
    "quota-unlimited-pool",
    "A pool or child pool has no finite guarantee of a resource that parts divide.",
    "The pool itself keeps its guarantee less those of its parts. Without a number there is nothing to divide, and a "
    "part without a number would take everything. Set spec.resources.gpu.guarantee, and that of cpu and memory if any "
    "part has a quota of it.",
)
MAXIMUM_BELOW_QUOTA = Rule.error(
    "maximum-below-quota",
    "The maximum of a pool or subpool is below what it is guaranteed.",
    "The limit would keep the queue from its guarantee. Raise the maximum, or use -1.",
)
MAXIMUM_ABOVE_PARENT = Rule.warning(
    "maximum-above-parent",
    "The maximum of a subpool or child pool is above that of its parent.",
    "KAI compares usage with the limit of each queue from the leaf up, so the subpool can never use that much. Its "
    "queue gets the limit of the pool above. Lower the maximum, leave it out, or raise that of the pool.",
)
QUOTA_RESOURCE_MISSING = Rule.warning(
    "quota-resource-missing",
    "The quota of a subpool lacks a resource that its pool guarantees.",
    "A bare number counts GPUs only. If a quota does not name a resource, the subpool is guaranteed none of it, and "
    "HIGH and NORMAL pods that ask for it never run there. Name each resource, with 0 if you mean none, or give the "
    "subpool a share of everything that the pool is guaranteed.",
    protects=Waiving.CONFIG,
)
POOL_UNLIMITED = Rule.warning(
    "pool-unlimited",
    "A pool at the top has no guarantee of GPUs, and so no limit.",
    "All its HIGH and NORMAL work counts as guaranteed, and KAI never takes a GPU back from it. Other pools of the "
    "cluster may miss their guarantees. If no other pool has a guarantee, this is only an info. Set "
    "spec.resources.gpu.guarantee, to -1 if you mean no limit.",
    protects=Waiving.CONFIG,
)


TOO_MUCH = frozenset({OVER_QUOTA, OVER_QUOTA_RUNNING, OVER_SHARED_QUOTA})
"""Rules whose findings depend on work that existed before the change."""
_VERDICTS = TOO_MUCH | {QUOTA_SHARED, SUBPOOL_CLOSED}
"""Rules of all findings of ``check_admission``."""
MAX_NAMED = 5
"""Maximum number of workloads of a queue that a finding names."""


def check_quotas(pool: FleetPool, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks guarantees, quotas and maximums of a pool."""
    for name in RESOURCES:
        yield from _maximum(pool, name)
        if pool.parent is not None:
            location = pool.declared.at("spec", "resources", name, "maximum")
            yield from _above(f"pool {pool.name}", pool.own_maximum.of(name), pool.parent, name, location)
        if pool.guarantee.of(name) == NO_LIMIT:
            # One finding for a pool with parts but no finite guarantee. The place is its first live subpool
            # (for cpu and memory: the first with a quota of the resource), or else its first child pool with a finite
            # guarantee.
            live = [subpool for subpool in pool.subpools if subpool.state != "ARCHIVED"]
            if name != "gpu":
                live = [s for s in live if s.written is not None and name in s.written.model_fields_set]
            guaranteed = (child for child in pool.children if child.guarantee.of(name) != NO_LIMIT)
            dividing: list[Part] = [*live, *guaranteed]
            if dividing:
                location = dividing[0].declared.at(*dividing[0].quota_path(name))
                of_resource = "" if name == "gpu" else f" of {name}"
                message = f"pool {pool.name} has {pool.parts_are} but no finite guarantee{of_resource}"
                related = (Related(f"pool {pool.name}", pool.declared.at(*_guarantee(name))),)
                number = "a number of GPUs" if name == "gpu" else "an amount"
                hint = f"Set spec.resources.{name}.guarantee of pool {pool.name} to {number}."
                yield Diagnostic(QUOTA_UNLIMITED_POOL, message, location, related, hint=hint)
        if pool.parent is not None:
            yield from _unlimited_child(pool, pool.parent, name)
    # A pool at the top, without parts, that has no limit because it names no guarantee.
    is_said = "guarantee" in pool.declared.spec.spec.resources.gpu.model_fields_set
    if not is_said and pool.parent is None and not pool.is_split and pool.backend.is_kai:
        guaranteed_pools = (p for p in fleet.pools if p.backend == pool.backend and p.guarantee.gpu != NO_LIMIT)
        guaranteed_pool = next(guaranteed_pools, None)
        also = f", those that pool {guaranteed_pool.name} is guaranteed too" if guaranteed_pool else ""
        message = f"pool {pool.name} names no guarantee of GPUs, so it has no limit: its work may take all GPUs{also}"
        its_place: tuple[Related, ...] = ()
        if guaranteed_pool:
            its_place = (Related(f"pool {guaranteed_pool.name}", guaranteed_pool.declared.at(*_guarantee("gpu"))),)
        hint = "Set spec.resources.gpu.guarantee to a number of GPUs, or to -1 if you mean no limit."
        level = None if guaranteed_pool else Severity.INFO
        location = pool.declared.at(*_guarantee("gpu"))
        yield Diagnostic(POOL_UNLIMITED, message, location, its_place, hint=hint, level=level)
    for subpool in pool.active:
        yield from _own_maximum(pool, subpool)
        yield from _missing(pool, subpool)
    yield from _exceeded(fleet, pool, frozenset())


def blamed(findings: Iterable[Diagnostic], before: Fleet, after: Fleet) -> Iterator[Diagnostic]:
    """Yields the findings in the fleet ``after``, with sums of quotas moved to the change since ``before``."""
    yield from (finding for finding in findings if finding.rule is not QUOTA_EXCEEDS_POOL)
    earlier = _specs(before)
    changed = frozenset(name for name, spec in _specs(after).items() if earlier.get(name) != spec)
    for pool in after.pools:
        yield from _exceeded(after, pool, changed)


def _specs(fleet: Fleet) -> dict[str, BaseModel]:
    """Returns the specs of pools and subpools by name."""
    pools = {pool.name: pool.declared.spec.spec for pool in fleet.pools}
    return {
        **pools,
        **{subpool.canonical: subpool.declared.spec.spec for pool in fleet.pools for subpool in pool.subpools},
    }


def _exceeded(fleet: Fleet, pool: FleetPool, changed: Container[str]) -> Iterator[Diagnostic]:
    for name in pool.taken.exceeding(pool.guarantee):
        yield _exceeds(pool, name, changed, asked_by_queue(fleet))


def check_admission(fleet: Fleet, past: Past | None = None) -> Iterator[Diagnostic]:
    """Finds work that can never run, and work that may only run on because it ran before. Also finds every queue whose
    work cannot all run at once.
    """
    admission = Admission(fleet, past)
    waiting: dict[tuple[str, str], list[Submission]] = {}
    running_on: dict[tuple[str, str], list[Submission]] = {}
    unlisted: dict[str, list[tuple[Submission, Verdict]]] = {}
    for submission in fleet.submissions:
        if admission.is_admitted(submission):
            continue
        verdict = admission.verdict(submission)
        queue = submission.pool.backend.name, submission.queue
        if verdict.outcome == "pending":
            waiting.setdefault(queue, []).append(submission)
        elif verdict.rule is OVER_QUOTA_RUNNING:
            if not submission.is_preemptible:
                running_on.setdefault(queue, []).append(submission)
            if verdict.unlisted:
                unlisted.setdefault(submission.target, []).append((submission, verdict))
            else:
                yield _listed(submission, verdict)
        elif verdict.rule is not None:
            cause = _cause(submission, verdict)
            yield Diagnostic(verdict.rule, verdict.text, submission.place, hint=verdict.hint, cause=cause)
    for refused in unlisted.values():
        # Over-quota work of one pool or subpool that may run on. The hint has the complete list to write.
        queue_owner = refused[0][0]
        entries = {n: m.model_dump(exclude_unset=True) for n, m in queue_owner.over_quota.spec.spec.overQuota.items()}
        for submission, verdict in refused:
            name = submission.over_quota_key or work_name(submission.kind, submission.name)
            entries[name] = over_quota_amounts(admission.to_be_listed(submission), verdict.unlisted)
        document = f"{queue_owner.over_quota.spec.kind.lower()} {queue_owner.target}"
        hint = f"Write into the spec of {document}, so that later runs know it: overQuota: {flow(entries)}"
        for submission, verdict in refused:
            yield Diagnostic(
                OVER_QUOTA_RUNNING, verdict.text, submission.place, hint=hint, cause=_cause(submission, verdict)
            )
    for key, pending in waiting.items():
        yield _crowded([*pending, *running_on.get(key, ())], admission.declared(pending[0])[key[1]])


def judged_with(findings: Iterable[Diagnostic], fleet: Fleet, past: Past) -> Iterator[Diagnostic]:
    """Replaces the verdicts on over-quota work in ``findings`` by verdicts that consider the ``past``."""
    without_past = list(findings)
    if not any(finding.rule in TOO_MUCH for finding in without_past):
        yield from without_past
        return
    yield from (finding for finding in without_past if finding.rule not in _VERDICTS)
    yield from check_admission(fleet, past)


def _listed(submission: Submission, verdict: Verdict) -> Diagnostic:
    """Returns an info for over-quota work that spec.overQuota lists."""
    location = submission.over_quota.origin.locate(("spec", "overQuota", submission.over_quota_key or ""), key=True)
    related, hint = (Related("listed here", location),), "Nothing to do until it has ended."
    return Diagnostic(OVER_QUOTA_RUNNING, verdict.text, submission.place, related, hint, level=Severity.INFO)


def _cause(submission: Submission, verdict: Verdict) -> Location:
    """Returns the cause of a refusal: the state of the subpool, the quota, or the maximum of the pool."""
    is_closed, short = verdict.rule is SUBPOOL_CLOSED, verdict.short
    if submission.is_preemptible and not is_closed:
        return submission.pool.bounded_by(short).declared.at("spec", "resources", short, "maximum")
    if submission.subpool is None:
        return submission.pool.declared.at(*_guarantee(short))
    return submission.subpool.declared.at(*(("spec", "state") if is_closed else submission.subpool.quota_path(short)))


def _crowded(submissions: list[Submission], demand: Amounts) -> Diagnostic:
    """Reports one finding for a queue, at its quota, that names the first few workloads in the queue."""
    pool = submissions[0].pool
    subpool = submissions[0].subpool
    target = submissions[0].target
    whole = submissions[0].quota
    over = demand.exceeding(whole)
    location = subpool.declared.at(*subpool.quota_path(over[0])) if subpool else pool.declared.at(*_guarantee(over[0]))
    named = sorted(submissions, key=lambda item: (item.place.path, item.place.line))[:MAX_NAMED]
    related = tuple(Related(f"{s.kind} {s.name} asks {_amounts(s.asks, over)}", s.place) for s in named)
    unnamed_count = len(submissions) - len(named)
    workload_names = ", ".join(submission.name for submission in named) + (
        f" and {unnamed_count} more" if unnamed_count else ""
    )
    asks = " and ".join(said(name, demand.of(name)) for name in over)
    most = (
        " and ".join(said(name, whole.of(name)) for name in over) if len(over) > 1 else show(over[0], whole.of(over[0]))
    )
    quota = f"the quota of {target}"
    message = f"{workload_names} asks for {asks}; {quota} is {most}: not all of it can run at once"
    if len(submissions) > 1:
        message = f"{workload_names} ask for {asks} together; {quota} is {most}: they cannot all run at once"
    hint = f"If some may wait until others have ended, do nothing. Otherwise raise {quota}, or use LOW."
    return Diagnostic(QUOTA_SHARED, message, location, related, hint=hint)


def _amounts(amounts: Amounts, names: Iterable[ResourceName]) -> str:
    return ", ".join(show(name, amounts.of(name)) for name in names)


def _guarantee(resource: ResourceName) -> KeyPath:
    """Returns the path of a pool's guarantee."""
    return ("spec", "resources", resource, "guarantee")


def _maximum(pool: FleetPool, resource: ResourceName) -> Iterator[Diagnostic]:
    maximum, guarantee = pool.own_maximum.of(resource), pool.guarantee.of(resource)
    if guarantee <= maximum:
        return
    message = f"the maximum of pool {pool.name} is {said(resource, maximum)}, below its guarantee "
    location = pool.declared.at("spec", "resources", resource, "maximum")
    least = "" if guarantee == NO_LIMIT else f"{show(resource, guarantee)} or more, or "
    hint = f"Use {least}-1 for no limit."
    yield Diagnostic(MAXIMUM_BELOW_QUOTA, f"{message}({show(resource, guarantee)})", location, hint=hint)


def _own_maximum(pool: FleetPool, subpool: FleetSubpool) -> Iterator[Diagnostic]:
    """Checks the maximum that a subpool sets itself. Another check compares the pool's maximum with its guarantee."""
    declared_maximum = subpool.declared.spec.spec.maximum
    for name in RESOURCES:
        is_named = isinstance(declared_maximum, MaximumAmounts)
        declared_amount: int | str | None = getattr(declared_maximum, name) if is_named else None
        declared_amount = declared_maximum if isinstance(declared_maximum, int) and name == "gpu" else declared_amount
        if declared_amount is None:
            continue
        quota, maximum = subpool.quota.of(name), amount(name, declared_amount)
        location = subpool.declared.at(*(("spec", "maximum", name) if is_named else ("spec", "maximum")))
        yield from _above(f"subpool {subpool.canonical}", maximum, pool, name, location)
        if quota > maximum:
            least = show(name, quota)
            message = f"the maximum of subpool {subpool.canonical} is {said(name, maximum)}, below its quota ({least})"
            yield Diagnostic(MAXIMUM_BELOW_QUOTA, message, location, hint=f"Use {least} or more, or -1 for no limit.")


def _above(
    owner: str, maximum: Amount, upper: FleetPool, resource: ResourceName, location: Location
) -> Iterator[Diagnostic]:
    """Reports a maximum above that of the parent pool. No limit is valid: it means the parent's maximum."""
    most = upper.maximum.of(resource)
    if NO_LIMIT != maximum > most:
        bound = upper.bounded_by(resource)
        over = f"{said(resource, maximum)}, above that of pool {bound.name} ({show(resource, most)})"
        message = f"the maximum of {owner} is {over}"
        related = (Related(f"pool {bound.name}", bound.declared.at("spec", "resources", resource, "maximum")),)
        hint = f"Use {show(resource, most)} or less, or leave it out."
        yield Diagnostic(MAXIMUM_ABOVE_PARENT, message, location, related, hint=hint)


def _unlimited_child(pool: FleetPool, parent: FleetPool, resource: ResourceName) -> Iterator[Diagnostic]:
    whole = parent.guarantee.of(resource)
    if pool.guarantee.of(resource) == NO_LIMIT != whole:
        message = (
            f"pool {pool.name} has no finite guarantee of {UNITS[resource]}, but its parent {parent.name} is "
            f"guaranteed {show(resource, whole)}"
        )
        related = (Related(f"pool {parent.name}", parent.declared.at(*_guarantee(resource))),)
        hint = f"Set spec.resources.{resource}.guarantee of pool {pool.name} to its part of that, or to 0."
        yield Diagnostic(QUOTA_UNLIMITED_POOL, message, pool.declared.at(*_guarantee(resource)), related, hint=hint)


def _missing(pool: FleetPool, subpool: FleetSubpool) -> Iterator[Diagnostic]:
    """Reports resources that the quota of a subpool does not name."""
    quota = subpool.declared.spec.spec.quota
    named = RESOURCES if isinstance(quota, str) else subpool.written.model_fields_set if subpool.written else ("gpu",)
    missing = [name for name in pool.finite if name not in named and pool.guarantee.of(name) > 0]
    if missing:
        missing_units = " and no ".join(UNITS[name] for name in missing)
        message = (
            f"subpool {subpool.canonical} is guaranteed no {missing_units}: "
            "HIGH and NORMAL pods that ask for any never run"
        )
        guarantees = " and ".join(said(name, pool.guarantee.of(name)) for name in missing)
        quota_keys = ", ".join(f"{name}: ..." for name in RESOURCES if name in named or name in missing)
        hint = f"Pool {pool.name} is guaranteed {guarantees}: write quota: {{{quota_keys}}}, with 0 if you mean none."
        yield Diagnostic(QUOTA_RESOURCE_MISSING, message, subpool.declared.at("spec", "quota"), hint=hint)


def _exceeds(
    pool: FleetPool, resource: ResourceName, changed: Container[str], held: Mapping[str, Amounts]
) -> Diagnostic:
    """Reports one finding for a resource of a pool, with all parts. If the pool changed and its unchanged parts alone
    exceed the guarantee, the place is the guarantee. Else it is the part that first exceeds it, with changed parts
    last.
    """
    whole, taken = pool.guarantee.of(resource), pool.taken.of(resource)
    holding = [share for share in pool.parts if resource == "gpu" or share.quota.of(resource)]
    in_order = sorted(holding, key=lambda part: (part.canonical in changed, _place(part, resource)))
    sums = list(accumulate(share.quota.of(resource) for share in in_order))
    culprit = next(share for share, sum_ in zip(in_order, sums, strict=True) if sum_ > whole)
    held_by_pool = held.get(pool.shared_queue, NOTHING).of(
        resource
    )  # what the pool's own work asks for must be left to it
    needed_guarantee = show(resource, taken + held_by_pool)
    total = f"the {pool.parts_are} of pool {pool.name} add up to {said(resource, taken)}"
    total += f", but the pool is guaranteed {show(resource, whole)}"
    raise_it = f"aise the guarantee of pool {pool.name} to {needed_guarantee}"
    if pool.name in changed and culprit.canonical not in changed:
        hint = f"R{raise_it} or more, or lower quotas."
        location = pool.declared.at(*_guarantee(resource))
        return Diagnostic(QUOTA_EXCEEDS_POOL, total, location, _quotas(in_order, resource), hint=hint)
    other_shares = [share for share in in_order if share is not culprit]
    room = whole - sum(share.quota.of(resource) for share in other_shares)
    room -= held_by_pool
    least = held.get(culprit.queue, NOTHING).of(resource) if isinstance(culprit, FleetSubpool) else 0
    lower = f"Lower this quota to {show(resource, room)} or less, or r{raise_it}."
    hint = lower if room >= least else f"R{raise_it}, or lower quotas."
    message = f"{total}; {culprit.name} has {show(resource, culprit.quota.of(resource))}"
    location = culprit.declared.at(*culprit.quota_path(resource))
    return Diagnostic(QUOTA_EXCEEDS_POOL, message, location, _quotas(other_shares, resource), hint=hint)


def _quotas(shares: Iterable[Part], resource: ResourceName) -> tuple[Related, ...]:
    return tuple(
        Related(
            f"{share.declared.spec.kind.lower()} {share.name} has {show(resource, share.quota.of(resource))}",
            share.declared.at(*share.quota_path(resource)),
        )
        for share in shares
    )


def _place(share: Part, resource: ResourceName) -> tuple[str, int]:
    location = share.declared.at(*share.quota_path(resource))
    return location.path, location.line


DRAINING_UNUSED = Rule.info(
    "draining-unused",
    "spec.draining or spec.overQuota lists work that no longer needs it.",
    "spec.draining lets work finish in a DELETING subpool. spec.overQuota lets work run although its queue has less "
    "quota now. An entry for work that is gone does nothing. When no work of draining is left and nothing runs, "
    "`kubectl tas subpool drain` archives the subpool and removes the list.",
)


def check_draining(fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds entries of spec.draining and spec.overQuota that have no effect or are misspelled."""
    for leaf, name, reason in needless_over_quota(fleet):
        location = leaf.declared.at_key("spec", "overQuota", name)
        submissions = [submission for submission in fleet.submissions if submission.target == leaf.name]
        unlisted_work = sorted(work_name(s.kind, s.name) for s in submissions if s.over_quota_key is None)
        is_there = any(submission.over_quota_key == name for submission in submissions)
        intended = None if is_there else _meant(name, unlisted_work)
        if intended is not None:
            message = f"{name} is not sent to {leaf.name}"
            yield Diagnostic(REFERENCE_UNKNOWN, message, location, hint=question(name, intended))
            continue
        yield Diagnostic(
            DRAINING_UNUSED, f"overQuota lists {name}, {reason}", location, hint="Remove it from overQuota."
        )
    for subpool in (subpool for pool in fleet.pools for subpool in pool.subpools):
        listed = subpool.declared.spec.spec.draining
        if listed and subpool.state != "DELETING":
            message = f"subpool {subpool.canonical} is {subpool.state}, so draining has no effect"
            location = subpool.declared.at_key("spec", "draining")
            yield Diagnostic(DRAINING_UNUSED, message, location, hint="Remove it.")
            continue
        work_in_subpool = set(fleet.work_in(subpool.pool, subpool.queue)) if listed else set()
        named = [work_name(*name.split("/")) for name in listed]
        unlisted_work = sorted(work_in_subpool.difference(named))
        for index, name in enumerate(listed):
            if named[index] not in work_in_subpool:
                message, intended = f"{name} is not sent to subpool {subpool.canonical}", _meant(name, unlisted_work)
                location = subpool.declared.at("spec", "draining", index)
                if intended is not None:
                    related = tuple(Related(f"{intended} is sent there", w) for w in _places(fleet, subpool, intended))
                    hint: str = question(name, intended)
                    yield Diagnostic(REFERENCE_UNKNOWN, message, location, related, hint=hint)
                    continue
                hint = "Remove it from the list, or leave it there."
                yield Diagnostic(DRAINING_UNUSED, f"{message} any more", location, hint=hint)


def _meant(name: str, work_names: Sequence[str]) -> str | None:
    """Returns the work whose name ``name`` misspells. Ignores case."""
    same = (work_name for work_name in work_names if work_name.casefold() == name.casefold())
    return next(same, None) or misspelled(name, work_names)


def _places(fleet: Fleet, subpool: FleetSubpool, name: str) -> Iterator[Location]:
    """Yields the places of work with that name in a subpool."""
    for submission in fleet.submissions:
        if (submission.pool.name, submission.queue, work_name(submission.kind, submission.name)) == (
            subpool.pool,
            subpool.queue,
            name,
        ):
            yield submission.place
