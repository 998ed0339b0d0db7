"""Computes how KAI divides a cluster among queues: fair shares, the order of queues, and the checks of limit and quota.

Follows pkg/scheduler/plugins/proportion of 0.17 (resource_division/resource_division.go, queue_order/queue_order.go),
with which 0.12 to 0.16 agree. A queue that used much in the past borrows less, if the cluster keeps usage of the past.
The checks, which KAI makes before it looks at nodes, follow capacity_policy/ of that plugin (max_allowed_check.go,
quota_check.go), the same in 0.12 to 0.17.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Literal

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import Hundredths
from kubectl_tas.facts.quantities import (
    NO_LIMIT,
    NOTHING,
    RESOURCES,
    UNLIMITED,
    Amount,
    Amounts,
    ResourceName,
    each,
    larger,
    smaller,
    summed,
)

DEFAULT_PRIORITY = 100
"""Priority of a queue that states none: pkg/common/constants/constants.go."""
_EVEN = Amounts(1, 1, 1)
_MOST = 2**63 - 1
"""The largest amount in Kubernetes, which stands for any larger one."""
_NO_SHARE = 1000
"""Shares that one held unit counts for, if the queue may hold nothing of the resource."""


@dataclass(frozen=True, slots=True)
class QuotaQueue:
    """A queue, as the scheduler reads it."""

    name: str
    parent: str | None = None
    quota: Amounts = UNLIMITED
    """Guaranteed resources of the queue."""
    limit: Amounts = UNLIMITED
    """The most that the queue may hold."""
    weight: Amounts = _EVEN
    """Over-quota weight by resource."""
    priority: int = DEFAULT_PRIORITY
    created: str = ""
    """Creation time, as Kubernetes writes it; empty if unknown. Of queues with one creation time, the names decide."""
    preempt_min_runtime: int | None = None
    """Nanoseconds that work runs before KAI preempts it; None if the queue does not say."""
    reclaim_min_runtime: int | None = None
    """Nanoseconds that work runs before KAI reclaims its resources; None if the queue does not say."""


@dataclass(frozen=True)
class QueueTree:
    """The queues that one scheduler sees. Leaves out queues whose parent is missing, as KAI does."""

    queues: tuple[QuotaQueue, ...]

    @cached_property
    def by_name(self) -> Mapping[str, QuotaQueue]:
        """Queues by name, parents before their children, siblings sorted by name."""
        queues_by_name: dict[str, QuotaQueue] = {}
        unvisited = list(reversed(self.below(None)))
        while unvisited:
            queue = unvisited.pop()
            queues_by_name[queue.name] = queue
            unvisited += reversed(self.below(queue.name))
        return queues_by_name

    @cached_property
    def _below(self) -> Mapping[str | None, tuple[QuotaQueue, ...]]:
        by_parent = sorted(self.queues, key=lambda queue: (queue.parent or "", queue.name))
        return {
            parent or None: tuple(children) for parent, children in groupby(by_parent, lambda queue: queue.parent or "")
        }

    def below(self, name: str | None) -> tuple[QuotaQueue, ...]:
        """Returns the children of a queue, sorted by name; for None, the queues at the top."""
        return self._below.get(name, ())

    def is_leaf(self, name: str) -> bool:
        """Whether the queue takes work: it exists and has no children."""
        return name in self.by_name and not self.below(name)

    def chain(self, name: str) -> Iterator[QuotaQueue]:
        """Yields a queue and the queues above it, up to the top."""
        above: str | None = name
        while above:
            queue = self.by_name[above]
            yield queue
            above = queue.parent

    def sums(self, leaves: Mapping[str, Amounts]) -> dict[str, Amounts]:
        """Returns the amounts of every queue, added up from the leaf queues below it."""
        totals = dict.fromkeys(self.by_name, NOTHING)
        for name, amounts in leaves.items():
            for queue in self.chain(name) if self.is_leaf(name) else ():
                totals[queue.name] += amounts
        return totals


PastUsage = Mapping[ResourceName, float]
"""Usage of a queue over a period, by resource, as a fraction of what the cluster had."""


@dataclass(frozen=True, slots=True)
class UsageHistory:
    """The past usage of queues, and how much it counts."""

    k_value: float = 0
    """Weight of past usage when the rest is divided; 0: it does not count."""
    past_usage: Mapping[str, PastUsage] | None = field(default_factory=dict)
    """Past usage of every queue, parents too, by name; 0 for queues that are left out. None if unknown."""

    def of(self, queue: str, resource: ResourceName) -> float:
        """Returns the past usage of a queue as a fraction of what the cluster had; 0 if unknown."""
        return (self.past_usage or {}).get(queue, {}).get(resource, 0)

    @property
    def is_open(self) -> bool:
        """Whether past usage decides shares, but is unknown."""
        return self.past_usage is None and self.k_value > 0


NO_HISTORY = UsageHistory()


@dataclass(frozen=True, slots=True)
class ShareRange:
    """The shares of a queue that past usage can lead to, whatever it was."""

    least: Amounts
    """The share if the queue alone used the whole cluster."""
    most: Amounts
    """The share if the queue used nothing, and those beside it used the whole cluster: each as much as it would
    borrow without past usage.
    """


@dataclass(slots=True)
class _Claim:
    """State of one queue while KAI divides one resource."""

    name: str
    priority: int
    created: str
    quota: float
    wants: float
    """Amount that the queue asks for, up to its limit."""
    weight: float
    past_usage: float = 0
    share: float = 0

    @property
    def left(self) -> float:
        """Amount that the queue still wants."""
        return max(0.0, self.wants - self.share)


@dataclass(slots=True)
class _Rest:
    """Fraction that a queue did not get of its part, because KAI gives whole numbers."""

    claim: _Claim
    amount: float

    @property
    def rank(self) -> tuple[float, str, str]:
        """Sort key: the largest fraction first, then the oldest queue."""
        return -self.amount, self.claim.created, self.claim.name


@dataclass(slots=True)
class _Division:
    """Division of one resource among all queues of a tree."""

    tree: QueueTree
    resource: ResourceName
    requested: Mapping[str, Amounts]
    history: UsageHistory
    shares: dict[str, float] = field(default_factory=dict)

    def divide(self, total: float) -> None:
        """Divides ``total`` among the queues at the top, then the share of each queue among its children."""
        undivided: list[tuple[str | None, float]] = [(None, total)]
        while undivided:
            above, whole = undivided.pop()
            claims = [self._claim(queue) for queue in self.tree.below(above)]
            _divide(whole, claims, self.history.k_value)
            self.shares.update((claim.name, claim.share) for claim in claims)
            undivided += ((claim.name, claim.share) for claim in claims)

    def ranges(self, total: float) -> dict[str, tuple[float, float]]:
        """Returns the least and the largest share of every queue, whatever queues used in the past."""
        ranges: dict[str | None, tuple[float, float]] = {None: (total, total)}
        for above in (None, *self.tree.by_name):
            claims = [self._claim(queue) for queue in self.tree.below(above)]
            for claim in claims:
                least, most = ranges[above]
                ranges[claim.name] = self._least(least, claim, claims), self._most(most, claim, claims)
        return {name: shares for name, shares in ranges.items() if name is not None}

    def _least(self, whole: float, claim: _Claim, siblings: Sequence[_Claim]) -> float:
        for sibling in siblings:
            sibling.past_usage = float(sibling is claim)
        _divide(whole, siblings, self.history.k_value)
        return claim.share

    def _most(self, whole: float, claim: _Claim, siblings: Sequence[_Claim]) -> float:
        for sibling in siblings:
            sibling.past_usage = 0
        _divide(whole, siblings, self.history.k_value)
        borrowed = [0.0 if sibling is claim else max(0.0, sibling.share - sibling.quota) for sibling in siblings]
        borrowed_by_all = summed(borrowed)
        for sibling, amount in zip(siblings, borrowed, strict=True):
            sibling.past_usage = amount / borrowed_by_all if borrowed_by_all else 0
        _divide(whole, siblings, self.history.k_value)
        return claim.share

    def _claim(self, queue: QuotaQueue) -> _Claim:
        quota, limit, weight, requested = (
            _number(amounts.of(self.resource))
            for amounts in (queue.quota, queue.limit, queue.weight, self.requested[queue.name])
        )
        past_usage = self.history.of(queue.name, self.resource)
        return _Claim(queue.name, queue.priority, queue.created, quota, min(limit, requested), weight, past_usage)


def fair_shares(
    capacity: Amounts, tree: QueueTree, requests: Mapping[str, Amounts], history: UsageHistory = NO_HISTORY
) -> dict[str, Amounts]:
    """Returns the fair share of every queue if all leaf queues ask at once for their ``requests``, held or pending.

    A queue first gets its quota, as far as it asks for it, even if the quotas exceed the capacity. KAI divides the rest
    by priority, and at equal priority by weight, up to what each queue asks for and its limit. Past usage lowers the
    weight.
    """
    requested = tree.sums(requests)
    divisions = {resource: _Division(tree, resource, requested, history) for resource in RESOURCES}
    for resource, division in divisions.items():
        division.divide(_number(capacity.of(resource)))
    return {name: _amounts(name, divisions) for name in tree.by_name}


def share_ranges(
    capacity: Amounts, tree: QueueTree, requests: Mapping[str, Amounts], k_value: float
) -> dict[str, ShareRange]:
    """Returns the least and the largest fair share of every queue, whatever queues used in the past."""
    requested, history = tree.sums(requests), UsageHistory(k_value)
    ranges = {
        resource: _Division(tree, resource, requested, history).ranges(_number(capacity.of(resource)))
        for resource in RESOURCES
    }

    def at(queue: str, end: int) -> Amounts:
        return each(lambda resource: _amount(ranges[resource][queue][end]))

    return {name: ShareRange(at(name, 0), at(name, 1)) for name in tree.by_name}


def _amounts(queue: str, divisions: Mapping[ResourceName, _Division]) -> Amounts:
    return each(lambda resource: _amount(divisions[resource].shares[queue]))


def _number(amount: Amount) -> float:
    return math.inf if amount == NO_LIMIT else float(min(amount, _MOST))


def _amount(share: float) -> Amount:
    """Converts a share to an amount, without the noise of adding fractions."""
    if math.isinf(share):
        return NO_LIMIT
    number = Decimal(f"{share:.6f}")
    return int(number) if number == number.to_integral_value() else Hundredths(number.normalize())


def _divide(total: float, claims: Sequence[_Claim], k_value: float) -> None:
    undivided = total
    for claim in claims:
        claim.share = min(claim.quota if math.isfinite(claim.quota) else total, claim.wants)
        undivided -= claim.share
    if undivided <= 0:
        return
    rests = []
    by_priority = sorted(claims, key=lambda claim: -claim.priority)
    for _, equals in groupby(by_priority, lambda claim: claim.priority):
        undivided, fractions = _by_weight(undivided, list(equals), k_value)
        rests.append(fractions)
    for fractions in rests:
        for fraction in sorted(fractions, key=lambda fraction: fraction.rank):
            if undivided <= 0:
                return
            granted = min(1.0, undivided)
            fraction.claim.share += granted
            undivided -= granted


def share_weight(weight: float, past_usage: float, k_value: float) -> float:
    """Returns the part of a queue in what is left: its part ``weight`` of all weights, less what it used beyond it."""
    return max(0.0, weight + k_value * (weight - past_usage))


def _by_weight(total: float, claims: Sequence[_Claim], k_value: float) -> tuple[float, Iterable[_Rest]]:
    """Gives whole parts by weight until no queue wants less than its part. Returns what is left, and the fractions that
    queues miss.
    """
    rests: dict[str, _Rest] = {}
    while total != 0:
        still = [claim for claim in claims if claim.left > 0]
        weights = summed(claim.weight for claim in still)
        if weights == 0:
            break
        whole = total
        weight_parts = [share_weight(claim.weight / weights, claim.past_usage, k_value) for claim in still]
        sum_of_weights = summed(weight_parts)
        if sum_of_weights == 0:
            break
        goes_on = False
        for claim, weight_part in zip(still, weight_parts, strict=True):
            if total == 0 or claim.weight == 0:
                continue
            fair, unmet = whole * (weight_part / sum_of_weights), claim.left
            if unmet <= fair:
                granted = unmet
                rests.pop(claim.name, None)
            else:
                granted = max(0.0, float(math.floor(fair)))
                if fair > granted:
                    rests[claim.name] = _Rest(claim, fair - granted)
            claim.share += granted
            total -= granted
            goes_on = goes_on or unmet < fair
        if not goes_on:
            break
    return total, rests.values()


@dataclass(frozen=True)
class Standing:
    """State of a queue while the scheduler takes gangs."""

    queue: QuotaQueue
    fair: Amounts
    """Fair share of the queue, constant until the scheduler has taken all gangs."""
    allocated: Amounts = NOTHING
    """Resources that the queue and all queues below it hold."""
    non_preemptible: Amounts = NOTHING
    """The part of ``allocated`` that non-preemptible work holds."""
    job: Amounts = NOTHING
    """Resources that the next gang in or below the queue asks for."""
    leaving: Amounts = NOTHING
    """Resources that the queue would lose, if KAI orders queues for eviction."""

    @cached_property
    def allocatable(self) -> Amounts:
        """Resources that the queue may hold: the larger of quota and fair share, but no more than the limit."""
        return _allocatable(self.queue.quota, self.queue.limit, self.fair)

    @property
    def with_job(self) -> Amounts:
        """Resources that the queue will hold with the next gang."""
        return self.allocated + self.job


@lru_cache(maxsize=4096)
def _allocatable(quota: Amounts, limit: Amounts, fair: Amounts) -> Amounts:
    most = smaller(limit, larger(quota, fair))
    return each(lambda name: limit.of(name) if quota.of(name) == NO_LIMIT else most.of(name))


@dataclass(frozen=True)
class Ranked:
    """A queue's rank among its siblings; the lower rank goes first.

    A queue goes first, in this order of criteria: if it holds no more than its fair share of some resource; if it stays
    within its quota with the next gang; by priority; if it holds nothing that it may not hold; by the smaller used part
    of what it may hold, with the next gang, then without; if it may hold less; if it is older. At equal ages KAI takes
    either queue; here the name decides.
    """

    standing: Standing
    total: Amounts
    """Resources of the cluster."""

    def __lt__(self, sibling: Ranked) -> bool:
        if self._rank != sibling._rank:
            return self._rank < sibling._rank
        standing, sibling_standing = self.standing, sibling.standing
        if standing.allocatable != sibling_standing.allocatable:
            may = [(standing.allocatable.of(name), sibling_standing.allocatable.of(name)) for name in RESOURCES]
            if all(mine <= theirs for mine, theirs in may):
                return True
            if all(mine >= theirs for mine, theirs in may):
                return False
        return (standing.queue.created, standing.queue.name) < (
            sibling_standing.queue.created,
            sibling_standing.queue.name,
        )

    @cached_property
    def _rank(self) -> tuple[float, ...]:
        """All criteria except the last two: the smaller allocatable amount, and the age."""
        standing = self.standing
        return (
            _is_over_share(standing),
            _is_over_quota(standing),
            -standing.queue.priority,
            _has_violation(standing),
            _dominant(standing, standing.allocated + (standing.job - standing.leaving), self.total),
            _dominant(standing, standing.allocated, self.total),
        )


def _is_over_share(standing: Standing) -> int:
    return all(standing.fair.of(name) < standing.allocated.of(name) for name in RESOURCES)


def _is_over_quota(standing: Standing) -> int:
    held = standing.with_job
    return any(held.of(name) > standing.queue.quota.of(name) for name in RESOURCES)


def _has_violation(standing: Standing) -> int:
    may, held = standing.allocatable, standing.with_job
    return any(may.of(name) == 0 and held.of(name) > 0 for name in RESOURCES)


def _dominant(standing: Standing, held: Amounts, total: Amounts) -> float:
    """Returns the largest part that ``held`` is of what the queue may hold, over all resources."""
    may = standing.allocatable
    most = each(lambda name: total.of(name) if may.of(name) == NO_LIMIT else may.of(name))
    return max(
        _number(held.of(name)) / _number(most.of(name)) if most.of(name) else _number(held.of(name)) * _NO_SHARE
        for name in RESOURCES
    )


Reason = Literal["OverLimit", "NonPreemptibleOverQuota"]
"""Reason that KAI writes into the PodGroup."""
_RESOURCES: tuple[ResourceName, ...] = ("cpu", "memory", "gpu")
"""Resources in the order in which KAI compares them."""


@json_fields("reason queue resource most held asked=requested")
@dataclass(frozen=True, slots=True)
class QuotaRefusal:
    """The limit or quota for which a gang does not start, whatever nodes are free."""

    reason: Reason
    queue: str
    """The queue with this limit or quota: the gang's own queue, or a queue above."""
    resource: ResourceName
    most: Amount
    """The limit or the quota."""
    held: Amount
    """Amount that counts toward the limit or quota already."""
    requested: Amount


def refusal(chain: Sequence[Standing], requested: Amounts, *, preemptible: bool) -> QuotaRefusal | None:
    """Returns the first check that a gang fails if it asks for ``requested``; None if the gang may start.

    ``chain`` holds the gang's queue and the queues above. No queue may hold more than its limit, and non-preemptible
    work no more than the quota. A resource that the gang does not ask for is not compared.
    """
    for standing in chain:
        if exceeded := _exceeded("OverLimit", standing, standing.queue.limit, standing.allocated, requested):
            return exceeded
    for standing in () if preemptible else chain:
        if exceeded := _exceeded(
            "NonPreemptibleOverQuota", standing, standing.queue.quota, standing.non_preemptible, requested
        ):
            return exceeded
    return None


def _exceeded(
    reason: Reason, standing: Standing, most: Amounts, held: Amounts, requested: Amounts
) -> QuotaRefusal | None:
    for name in _RESOURCES:
        if requested.of(name) > 0 and held.of(name) + requested.of(name) > most.of(name):
            return QuotaRefusal(reason, standing.queue.name, name, most.of(name), held.of(name), requested.of(name))
    return None
