"""Queues and PodGroups of a cluster in, what runs in each queue out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from kubectl_tas.errors import TasError
from kubectl_tas.kai import GPU
from kubectl_tas.live import kubectl
from kubectl_tas.live.kubectl import Access

QUEUES = "queues.scheduling.run.ai"
POD_GROUPS = "podgroups.scheduling.run.ai"

_QUANTITY = re.compile(r"([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,2})?)([numkMGTPE]|[KMGTPE]i)?")
_SUFFIXES = {
    **{suffix: Decimal(1000) ** power for power, suffix in enumerate(("n", "u", "m", "", "k", *"MGTPE"), -3)},
    **{f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)},
}
"""What a quantity is multiplied by."""


@dataclass(frozen=True, slots=True)
class QueueUsage:
    """What one queue holds."""

    allocated: int
    """GPUs, rounded up."""
    non_preemptible: int
    """Of those, GPUs of work that cannot be preempted."""
    workflows: int
    """PodGroups with running pods."""

    @property
    def in_use(self) -> bool:
        """Whether anything runs there."""
        return self.workflows > 0 or self.allocated > 0


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The queues of a cluster by name."""

    queues: dict[str, QueueUsage]


def from_cluster(access: Access) -> ClusterState:
    """The state of the cluster that ``access`` names. Raises TasError where it cannot be read."""
    objects = kubectl.get(access, QUEUES)
    return _state([*objects, *kubectl.get(access, POD_GROUPS, namespaced=True)])


def from_file(path: str, namespace: str | None = None) -> ClusterState:
    """The state in a file, with the PodGroups of ``namespace`` only where it is given.

    Raises TasError where it holds something else.
    """
    return _state(item for item in kubectl.read_file(path) if _is_in(item, namespace))


def _is_in(item: dict[str, Any], namespace: str | None) -> bool:
    if namespace is None or item.get("kind") != "PodGroup":
        return True
    metadata = item.get("metadata")
    return isinstance(metadata, dict) and metadata.get("namespace", "default") == namespace


def _state(objects: Iterable[dict[str, Any]]) -> ClusterState:
    by_kind: dict[str, list[dict[str, Any]]] = {"Queue": [], "PodGroup": []}
    for item in objects:
        kind = str(item.get("kind"))
        if kind in by_kind:
            by_kind[kind].append(item)
    try:
        running: dict[str, int] = {}
        for item in by_kind["PodGroup"]:
            if _runs(item):
                queue = str((item.get("spec") or {}).get("queue"))
                running[queue] = running.get(queue, 0) + 1
        queues = {
            str(item["metadata"]["name"]): QueueUsage(
                _gpus(item, "allocated"),
                _gpus(item, "allocatedNonPreemptible"),
                running.get(str(item["metadata"]["name"]), 0),
            )
            for item in by_kind["Queue"]
        }
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is not built as KAI builds it"
        hint = "It must be what `kubectl get ... -o json` prints."
        raise TasError(f"a Queue or PodGroup of the cluster cannot be read: {reason}", hint=hint) from error
    return ClusterState(queues)


def _runs(pod_group: dict[str, Any]) -> bool:
    """Whether pods of a PodGroup run: older releases count them, newer ones report what they hold."""
    status = pod_group.get("status") or {}
    held = (status.get("resourcesStatus") or {}).get("allocated") or {}
    return _quantity(status.get("running") or 0) > 0 or any(_quantity(amount) > 0 for amount in held.values())


def _gpus(queue: dict[str, Any], field: str) -> int:
    amounts = (queue.get("status") or {}).get(field) or {}
    return math.ceil(_quantity(amounts.get(GPU, 0)))


def _quantity(value: str | int | float) -> Decimal:
    """A Kubernetes quantity as a number. Raises ValueError for anything else."""
    found = _QUANTITY.fullmatch(str(value))
    if found is None:
        raise ValueError(f"{value!r} is no quantity")
    return Decimal(found[1]) * _SUFFIXES[found[2] or ""]
