"""Queues, PodGroups and nodes of a cluster in, what runs in each queue and what each node is labelled with out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from kubectl_tas import quantities
from kubectl_tas.errors import TasError
from kubectl_tas.gpus import GPU
from kubectl_tas.live import cliquesets, kubectl
from kubectl_tas.live.kubectl import Access, shown, text_of
from kubectl_tas.quantities import NOTHING, RESOURCES, Amounts, said

QUEUES = "queues.scheduling.run.ai"
POD_GROUPS = "podgroups.scheduling.run.ai"
NODES = "nodes"


@dataclass(frozen=True, slots=True)
class QueueUsage:
    """What one queue holds."""

    allocated: Amounts
    """All that is held; GPUs are rounded up."""
    non_preemptible: Amounts
    """Of that, what work holds that cannot be preempted."""
    workflows: int
    """PodGroups with running pods."""
    doubt: str = ""
    """Why the numbers above do not tell what it holds; empty where they do."""

    @property
    def in_use(self) -> bool | None:
        """Whether anything runs there; None where that is not known."""
        if self.workflows > 0 or self.allocated.asked:
            return True
        return None if self.doubt else False

    @property
    def used(self) -> Amounts | None:
        """What work holds that cannot be preempted; None where that is not known."""
        return None if self.doubt else self.non_preemptible

    @property
    def running(self) -> int | None:
        """PodGroups with running pods; None where that is not known."""
        return None if self.doubt else self.workflows

    def unknown(self, queue: str) -> str:
        """The sentence about the queue of this name, where its usage is in doubt."""
        return f"of the queue {queue} the cluster does not say what it holds: {self.doubt}"


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a cluster."""

    name: str
    labels: frozenset[str]
    """Keys of its labels."""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """The queues of a cluster by name."""

    queues: dict[str, QueueUsage]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster, or a file with its objects. Nothing is read before it is asked for."""

    access: Access
    file: str | None = None
    """JSON of ``kubectl get`` instead of a cluster."""

    def state(self) -> ClusterState:
        """Its queues. Raises TasError where they cannot be read."""
        return from_cluster(self.access) if self.file is None else from_file(self.file, self.access.namespace)

    def grove(self) -> cliquesets.GroveState:
        """Grove's objects. Raises TasError where they cannot be read, NoSuchResourceError where Grove is not there."""
        if self.file is None:
            return cliquesets.from_cluster(self.access)
        return cliquesets.from_file(self.file, self.access.namespace)

    def nodes(self) -> list[Node] | None:
        """Its nodes; None where a file has none. Raises TasError where they cannot be read."""
        items = kubectl.get(self.access, NODES) if self.file is None else kubectl.read_file(self.file)
        found = [_node(item) for item in items if item.get("kind") == "Node"]
        return None if self.file is not None and not found else found

    def must_be_readable(self) -> None:
        """Raises TasError where there is a file that cannot be read."""
        if self.file is not None:
            kubectl.read_file(self.file)


def from_cluster(access: Access) -> ClusterState:
    """The state of the cluster that ``access`` names. Raises TasError where it cannot be read."""
    objects = kubectl.get(access, QUEUES)
    return _state([*objects, *kubectl.get(access, POD_GROUPS, namespaced=True)])


def from_file(path: str, namespace: str | None = None) -> ClusterState:
    """The state in a file, with the PodGroups of ``namespace`` only where it is given.

    Raises TasError where it holds something else.
    """
    return _state(item for item in kubectl.read_file(path) if _is_in(item, namespace))


def _node(item: dict[str, Any]) -> Node:
    """Raises TasError where it is none."""
    try:
        metadata = item["metadata"]
        return Node(text_of(metadata["name"]), frozenset(map(text_of, dict(metadata.get("labels") or {}))))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        hint = "It must be what `kubectl get nodes -o json` prints."
        reason = str(error) if isinstance(error, ValueError) else "it has no name, or labels that are none"
        raise TasError(f"a Node of the cluster cannot be read: {reason}", hint=hint) from error


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
        queues = _usage(by_kind["Queue"], by_kind["PodGroup"])
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is not built as KAI builds it"
        hint = "It must be what `kubectl get ... -o json` prints."
        raise TasError(f"a Queue or PodGroup of the cluster cannot be read: {reason}", hint=hint) from error
    return ClusterState(queues)


def _usage(queues: Iterable[dict[str, Any]], pod_groups: Iterable[dict[str, Any]]) -> dict[str, QueueUsage]:
    running: Counter[str] = Counter()
    doubts: dict[str, str] = {}
    for item in pod_groups:
        queue, pods = str((item.get("spec") or {}).get("queue")), _running(item)
        if pods < 0:
            doubts[queue] = "one of its PodGroups says that fewer than no pods run"
        running[queue] += pods > 0
    found: dict[str, QueueUsage] = {}
    for item in queues:
        name = text_of(item["metadata"]["name"])
        usage = _held(item, running[name], doubts.get(name, ""))
        if found.setdefault(name, usage) != usage:
            found[name] = replace(usage, doubt="it is there twice, with different numbers")
    return found


def _held(queue: dict[str, Any], running: int, doubt: str) -> QueueUsage:
    """What a queue holds. KAI leaves out of a status what is empty; without one it may not have looked at the queue."""
    status = queue.get("status")
    if status is None:
        return QueueUsage(NOTHING, NOTHING, running, doubt or "it has no status")
    allocated, non_preemptible = _amounts(status, "allocated"), _amounts(status, "allocatedNonPreemptible")
    for name in RESOURCES:
        least = min(allocated.of(name), non_preemptible.of(name))
        if least < 0:
            doubt = doubt or f"it says that {said(name, least)} are allocated"
    return QueueUsage(allocated, non_preemptible, running, doubt)


def _running(pod_group: dict[str, Any]) -> Decimal:
    """More than 0 where pods of a PodGroup run, less where nobody knows.

    Older releases count pods, newer ones report what they hold.
    """
    status = pod_group.get("status") or {}
    held = (status.get("resourcesStatus") or {}).get("allocated") or {}
    amounts = [_quantity(status.get("running") or 0), *(_quantity(amount) for amount in held.values())]
    return max(amounts) if max(amounts) > 0 else min(amounts)


def _amounts(status: dict[str, Any], field: str) -> Amounts:
    """What a list of resources holds, in whole GPUs, millicores and bytes, each rounded away from 0."""
    found = status.get(field) or {}
    gpu, cpu, memory = (_quantity(found.get(name, 0)) for name in (GPU, "cpu", "memory"))
    return Amounts(_away_from_0(gpu), _away_from_0(cpu * 1000), _away_from_0(memory))


def _away_from_0(amount: Decimal) -> int:
    return math.ceil(amount) if amount > 0 else math.floor(amount)


def _quantity(value: object) -> Decimal:
    """A Kubernetes quantity as a number. Raises ValueError for anything else."""
    found = quantities.parse(value)
    if found is None:
        raise ValueError(f"{shown(value)} is no quantity")
    return found
