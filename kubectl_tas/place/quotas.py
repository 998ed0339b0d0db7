"""Whether a queue, and each above it, may hold what a gang asks for: KAI's checks before it looks at any node.

Follows capacity_policy/ of the proportion plugin (max_allowed_check.go, quota_check.go), the same in 0.12 to 0.17.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from kubectl_tas.place.fairshare import Standing
from kubectl_tas.quantities import Amount, Amounts, ResourceName
from kubectl_tas.records import dataclass

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
