"""How KAI divides a cluster among the queues: the fair share of each, which queue goes first, and whether a queue may
hold what a gang asks for, which KAI checks before it looks at any node.

Follows pkg/scheduler/plugins/proportion of 0.17 (resource_division/resource_division.go, queue_order/queue_order.go),
with which 0.12 to 0.16 agree. Time-based fair share is left out: it is off unless a cluster keeps a history of usage.
The checks follow capacity_policy/ of that plugin (max_allowed_check.go, quota_check.go), the same in 0.12 to 0.17.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from functools import cached_property
from itertools import groupby
from typing import Literal

from kubectl_tas.gpus import Hundredths
from kubectl_tas.quantities import (
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
from kubectl_tas.records import dataclass

DEFAULT_PRIORITY = 100
"""Of a queue that says nothing: pkg/common/constants/constants.go."""
_EVEN = Amounts(1, 1, 1)
_MOST = 2**63 - 1
"""What Kubernetes takes a larger amount for."""
_NO_SHARE = 1000
"""What is held of a resource of which a queue may have nothing counts as so many shares."""


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue as the scheduler reads it."""

    name: str
    parent: str | None = None
    quota: Amounts = UNLIMITED
    """What it is guaranteed."""
    limit: Amounts = UNLIMITED
    """The most that it may hold."""
    weight: Amounts = _EVEN
    """Over-quota weights."""
    priority: int = DEFAULT_PRIORITY
    created: str = ""
    """When, as Kubernetes writes it; empty where that is not known. Of those of one time the names decide."""


@dataclass(frozen=True)
class QueueTree:
    """The queues that one scheduler sees. Those whose parent is not among them are left out, as KAI does."""

    queues: tuple[Queue, ...]

    @cached_property
    def by_name(self) -> Mapping[str, Queue]:
        """Every queue that counts, each after that above it, those beside each other by name."""
        found: dict[str, Queue] = {}
        left = list(reversed(self.below(None)))
        while left:
            queue = left.pop()
            found[queue.name] = queue
            left += reversed(self.below(queue.name))
        return found

    @cached_property
    def _below(self) -> Mapping[str | None, tuple[Queue, ...]]:
        by_parent = sorted(self.queues, key=lambda queue: (queue.parent or "", queue.name))
        return {parent or None: tuple(items) for parent, items in groupby(by_parent, lambda queue: queue.parent or "")}

    def below(self, name: str | None) -> tuple[Queue, ...]:
        """The queues of which this one is the parent, by name; None: those at the top."""
        return self._below.get(name, ())

    def is_leaf(self, name: str) -> bool:
        """Whether it takes work: it is there, and nothing is below it."""
        return name in self.by_name and not self.below(name)

    def chain(self, name: str) -> Iterator[Queue]:
        """A queue, that above it, and so on up to the top."""
        above: str | None = name
        while above:
            queue = self.by_name[above]
            yield queue
            above = queue.parent

    def sums(self, leaves: Mapping[str, Amounts]) -> dict[str, Amounts]:
        """Of every queue what it and all below it have, by what the leaves do."""
        found = dict.fromkeys(self.by_name, NOTHING)
        for name, amounts in leaves.items():
            for queue in self.chain(name) if self.is_leaf(name) else ():
                found[queue.name] += amounts
        return found


@dataclass(slots=True)
class _Claim:
    """What one queue has of one resource while it is divided."""

    name: str
    priority: int
    created: str
    quota: float
    wants: float
    """What it asks for, up to its limit."""
    weight: float
    share: float = 0

    @property
    def left(self) -> float:
        """What it does not have yet."""
        return max(0.0, self.wants - self.share)


@dataclass(slots=True)
class _Rest:
    """What a queue did not get of its part because parts are given in whole numbers."""

    claim: _Claim
    amount: float

    @property
    def rank(self) -> tuple[float, str, str]:
        """The largest first, then the oldest queue."""
        return -self.amount, self.claim.created, self.claim.name


@dataclass(slots=True)
class _Division:
    """How one resource is divided among all queues of a tree."""

    tree: QueueTree
    resource: ResourceName
    asked: Mapping[str, Amounts]
    shares: dict[str, float] = field(default_factory=dict)

    def divide(self, total: float) -> None:
        """Gives the queues at the top their shares of ``total``, and those below each of them of what it got."""
        left: list[tuple[str | None, float]] = [(None, total)]
        while left:
            above, whole = left.pop()
            claims = [self._claim(queue) for queue in self.tree.below(above)]
            _divide(whole, claims)
            self.shares.update((claim.name, claim.share) for claim in claims)
            left += ((claim.name, claim.share) for claim in claims)

    def _claim(self, queue: Queue) -> _Claim:
        quota, limit, weight, asked = (
            _number(amounts.of(self.resource))
            for amounts in (queue.quota, queue.limit, queue.weight, self.asked[queue.name])
        )
        return _Claim(queue.name, queue.priority, queue.created, quota, min(limit, asked), weight)


def fair_shares(capacity: Amounts, tree: QueueTree, requests: Mapping[str, Amounts]) -> dict[str, Amounts]:
    """The fair share of every queue of a tree when all leaves ask at once for their ``requests``: what they hold and
    what they wait for.

    A queue first gets what it is guaranteed, as far as it asks for it, though that be more than there is. What is left
    goes by priority, and among those of one priority by weight, up to what they ask for and may have.
    """
    asked = tree.sums(requests)
    divisions = {resource: _Division(tree, resource, asked) for resource in RESOURCES}
    for resource, division in divisions.items():
        division.divide(_number(capacity.of(resource)))
    return {name: _amounts(name, divisions) for name in tree.by_name}


def _amounts(queue: str, divisions: Mapping[ResourceName, _Division]) -> Amounts:
    return each(lambda resource: _amount(divisions[resource].shares[queue]))


def _number(amount: Amount) -> float:
    return math.inf if amount == NO_LIMIT else float(min(amount, _MOST))


def _amount(share: float) -> Amount:
    """A share without the noise of sums of fractions."""
    if math.isinf(share):
        return NO_LIMIT
    number = Decimal(f"{share:.6f}")
    return int(number) if number == number.to_integral_value() else Hundredths(number.normalize())


def _divide(total: float, claims: Sequence[_Claim]) -> None:
    left = total
    for claim in claims:
        claim.share = min(claim.quota if math.isfinite(claim.quota) else total, claim.wants)
        left -= claim.share
    if left <= 0:
        return
    rests = []
    by_priority = sorted(claims, key=lambda claim: -claim.priority)
    for _, equals in groupby(by_priority, lambda claim: claim.priority):
        left, rest = _by_weight(left, list(equals))
        rests.append(rest)
    for rest in rests:
        for one in sorted(rest, key=lambda one: one.rank):
            if left <= 0:
                return
            given = min(1.0, left)
            one.claim.share += given
            left -= given


def _by_weight(total: float, claims: Sequence[_Claim]) -> tuple[float, Iterable[_Rest]]:
    """Gives whole parts by weight until nobody gets less than its part; what is left then, and who got less than its
    part by a fraction.
    """
    rests: dict[str, _Rest] = {}
    while total != 0:
        still = [claim for claim in claims if claim.left > 0]
        weights = summed(claim.weight for claim in still)
        if weights == 0:
            break
        whole, parts = total, [claim.weight / weights for claim in still]
        sum_ = summed(parts)
        more = False
        for claim, part in zip(still, parts, strict=True):
            if total == 0 or claim.weight == 0:
                continue
            fair, wanted = whole * (part / sum_), claim.left
            if wanted <= fair:
                given = wanted
                rests.pop(claim.name, None)
            else:
                given = max(0.0, float(math.floor(fair)))
                if fair > given:
                    rests[claim.name] = _Rest(claim, fair - given)
            claim.share += given
            total -= given
            more = more or wanted < fair
        if not more:
            break
    return total, rests.values()


@dataclass(frozen=True)
class Standing:
    """A queue while the scheduler goes through what waits."""

    queue: Queue
    fair: Amounts
    """Its fair share, which stays as it is until all have been looked at."""
    allocated: Amounts = NOTHING
    """What it and all below it hold."""
    non_preemptible: Amounts = NOTHING
    """Of that, what work holds that cannot be preempted."""
    job: Amounts = NOTHING
    """What is asked for by the gang that is next in it, or below it."""
    leaving: Amounts = NOTHING
    """What it would lose, where queues are put in order to find out whose work goes."""

    @cached_property
    def allocatable(self) -> Amounts:
        """What it may hold before it takes from others."""
        quota, limit, fair = self.queue.quota, self.queue.limit, self.fair
        return each(lambda name: limit.of(name) if quota.of(name) == NO_LIMIT else _within(limit, quota, fair, name))

    @property
    def with_job(self) -> Amounts:
        """What it will hold with the next gang."""
        return self.allocated + self.job


def _within(limit: Amounts, quota: Amounts, fair: Amounts, name: ResourceName) -> Amount:
    return smaller(limit, larger(quota, fair)).of(name)


@dataclass(frozen=True)
class Ranked:
    """A queue among those beside it, of which the lesser goes first.

    In turn: who holds no more than its fair share of some resource; who stays within its guarantee with its next
    gang; priority; who holds nothing that it may not have; the smaller part of what it may have, with the next gang
    and without; who may have less; the older queue. Of queues of one time KAI takes either: here that whose name comes
    first.
    """

    standing: Standing
    total: Amounts
    """What the cluster has."""

    def __lt__(self, other: Ranked) -> bool:
        if self._rank != other._rank:
            return self._rank < other._rank
        first, second = self.standing, other.standing
        if first.allocatable != second.allocatable:
            may = [(first.allocatable.of(name), second.allocatable.of(name)) for name in RESOURCES]
            if all(own <= others for own, others in may):
                return True
            if all(own >= others for own, others in may):
                return False
        return (first.queue.created, first.queue.name) < (second.queue.created, second.queue.name)

    @cached_property
    def _rank(self) -> tuple[float, ...]:
        """All but who may have less, and which is older."""
        one = self.standing
        return (
            _is_over_share(one),
            _is_over_quota(one),
            -one.queue.priority,
            _has_violation(one),
            _dominant(one, one.allocated + (one.job - one.leaving), self.total),
            _dominant(one, one.allocated, self.total),
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
    """The part of what a queue may have that ``held`` is, of the resource of which that is the largest."""
    may = standing.allocatable
    most = each(lambda name: total.of(name) if may.of(name) == NO_LIMIT else may.of(name))
    return max(
        _number(held.of(name)) / _number(most.of(name)) if most.of(name) else _number(held.of(name)) * _NO_SHARE
        for name in RESOURCES
    )


Reason = Literal["OverLimit", "NonPreemptibleOverQuota"]
"""As KAI writes it into the PodGroup."""
_RESOURCES: tuple[ResourceName, ...] = ("cpu", "memory", "gpu")
"""In the order in which KAI compares them."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a gang does not start, whatever nodes are free."""

    reason: Reason
    queue: str
    """Whose limit or quota it is: its own queue's, or one's above it."""
    resource: ResourceName
    most: Amount
    """The limit, or the quota."""
    held: Amount
    """What counts against it already."""
    asked: Amount


def refusal(chain: Sequence[Standing], asked: Amounts, *, preemptible: bool) -> Refusal | None:
    """The first check that a gang which asks for ``asked`` fails; None where it may start.

    ``chain`` is its queue, that above it, and so on. No queue may hold more than its limit, and work that cannot be
    preempted no more than its quota. A resource that is not asked for is not compared.
    """
    for item in chain:
        if found := _exceeded("OverLimit", item, item.queue.limit, item.allocated, asked):
            return found
    for item in () if preemptible else chain:
        if found := _exceeded("NonPreemptibleOverQuota", item, item.queue.quota, item.non_preemptible, asked):
            return found
    return None


def _exceeded(reason: Reason, item: Standing, most: Amounts, held: Amounts, asked: Amounts) -> Refusal | None:
    for name in _RESOURCES:
        if asked.of(name) > 0 and held.of(name) + asked.of(name) > most.of(name):
            return Refusal(reason, item.queue.name, name, most.of(name), held.of(name), asked.of(name))
    return None
