"""Reads nodes and pods of a cluster, and computes what each node has free. ``fit`` answers from these nodes.

Free is what KAI's scheduler considers free: allocatable minus the requests of all pods on the node that have not ended,
whatever their scheduler (0.17: pkg/scheduler/api/node_info/node_info.go). KAI counts GPUs of all vendors as one number,
``nvidia.com/gpu`` (0.17: ``ResourceFromResourceList`` of pkg/scheduler/api/resource_info/resource_info.go).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from functools import cached_property
from typing import Any

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts import gpus, quantities
from kubectl_tas.live.live_cluster import is_well
from kubectl_tas.live.objects import shown
from kubectl_tas.model.labels import MIRROR, POD_GROUP
from kubectl_tas.place.neighbours import capacity_of, is_of_one, taken

PODS = "pods"
"""Resource that counts pods: every pod takes one."""
CPU = "cpu"
MAX_AMOUNT = 2**63 - 1
"""The largest amount in Kubernetes, which stands for any larger one."""
ENDED = ("Succeeded", "Failed")
"""Phases of pods that hold no resources any more."""

Vector = Mapping[str, int]
"""Amounts by resource: cpu in thousandths of a core, all others in whole units or bytes."""
Domain = tuple[str, ...]
"""Values of the labels of levels, coarsest first; () is the whole topology."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint, which keeps away pods that do not tolerate it."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}{f'={self.value}' if self.value else ''}:{self.effect}"


@dataclass(frozen=True, slots=True)
class RunningPod:
    """A pod that is on a node and has not ended."""

    namespace: str
    name: str
    group: str
    """Name of the pod's PodGroup; empty if the pod has none."""
    asks: Vector
    """Resources that the pod takes from its node, with 1 for ``pods``."""
    is_of_node: bool
    """Whether the pod belongs to its node and comes back there, such as a mirror pod or a pod of a DaemonSet."""
    labels: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def key(self) -> str:
        """The pod as NAMESPACE/NAME."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, eq=False)
class NodeResources:
    """A node; compared by identity."""

    name: str
    labels: Mapping[str, str]
    allocatable: Vector
    """Resources that the node has for pods."""
    free: Vector
    """Allocatable resources minus the requests of the pods."""
    taints: tuple[Taint, ...] = ()
    """Taints that keep pods away."""
    is_ready: bool = True
    is_cordoned: bool = False
    pods: tuple[RunningPod, ...] = ()
    """Pods on the node, sorted by namespace and name."""
    unreachable: frozenset[tuple[str, str]] = frozenset()
    """Namespaces and names of PersistentVolumeClaims whose pods cannot use the node."""


@dataclass(frozen=True)
class ClusterNodes:
    """Nodes of a cluster, sorted by name."""

    nodes: tuple[NodeResources, ...]
    knows_pods: bool = True
    """Whether the input says which pods are on the nodes, so that free resources are known."""
    known_claims: frozenset[tuple[str, str]] = frozenset()
    """Namespaces and names of the PersistentVolumeClaims whose volumes, or rules for new volumes, are known."""

    @cached_property
    def running(self) -> Mapping[tuple[str, str], int]:
        """Number of pods on nodes, by namespace and name of their PodGroup."""
        return Counter((pod.namespace, pod.group) for node in self.nodes for pod in node.pods if pod.group)


def domain_of(node: NodeResources, levels: Sequence[str]) -> Domain | None:
    """Returns the finest domain of a node; None if the node lacks the label of a level, and so is outside."""
    if any(label not in node.labels for label in levels):
        return None
    return tuple(node.labels[label] for label in levels)


def read_nodes(objects: Iterable[Mapping[str, Any]], complete: Iterable[str] = ()) -> ClusterNodes:
    """Returns the nodes among objects of a cluster, with what their pods leave free. Ignores objects of other kinds.

    ``complete`` holds the kinds that were read completely, even those without objects. Raises TasError if a pod on a
    node has no containers, or if there is no node.
    """
    held: dict[str, list[RunningPod]] = {}
    node_objects: dict[str, Mapping[str, Any]] = {}
    knows_pods = "Pod" in complete
    for manifest in objects:
        if manifest.get("kind") == "Node":
            node_objects[manifest["metadata"]["name"]] = manifest
        elif manifest.get("kind") == "Pod":
            knows_pods = True
            _hold(manifest, held)
    if not node_objects:
        hint = "Give what `kubectl get nodes -o json` prints, or what `kubectl tas nodes generate` wrote."
        raise TasError("the input has no Node to place work on", hint=hint)
    return ClusterNodes(
        tuple(_node(name, node_objects[name], held.get(name, ())) for name in sorted(node_objects)), knows_pods
    )


def _hold(manifest: Mapping[str, Any], held: dict[str, list[RunningPod]]) -> None:
    """Records a pod under its node."""
    metadata, spec = manifest["metadata"], manifest.get("spec")
    if spec is not None and (not spec.get("nodeName") or (manifest.get("status") or {}).get("phase") in ENDED):
        return
    if spec is None or not spec.get("containers"):
        hint = "It must be what `kubectl get pods -o json` prints."
        reason = "it has no containers, so that what it takes is unknown"
        raise TasError(f"a Pod of the cluster cannot be read: {metadata['name']}: {reason}", hint=hint)
    annotations, owners = metadata.get("annotations") or {}, metadata.get("ownerReferences") or ()
    pod_labels = metadata.get("labels") or {}
    pod = RunningPod(
        metadata.get("namespace") or "default",
        metadata["name"],
        annotations.get(POD_GROUP) or "",
        {**requests(spec), **taken(spec, metadata.get("namespace") or "default", pod_labels)},
        MIRROR in annotations or any(owner.get("kind") == "DaemonSet" for owner in owners),
        pod_labels,
    )
    held.setdefault(spec["nodeName"], []).append(pod)


def requests(spec: Mapping[str, Any]) -> dict[str, int]:
    """Returns what a pod takes from a node, by its ``PodSpec``, with 1 for ``pods``: containers and sidecars together,
    or more if the pod takes more while it starts, and the overhead. Raises ValueError for an invalid quantity.
    """
    init = [
        (container.get("restartPolicy") == "Always", _requested(container))
        for container in spec.get("initContainers") or ()
    ]
    running = [_requested(container) for container in spec.get("containers") or ()]
    whole, overhead = _requested(spec), _amounts(spec.get("overhead") or {}, math.ceil)
    names = {
        name for requested in (*running, *(requested for _, requested in init), whole, overhead) for name in requested
    }
    taken = {PODS: 1}
    for name in sorted(names):
        starting = ((is_sidecar, requested.get(name, 0)) for is_sidecar, requested in init)
        most = gpus.at_most(starting, (requested.get(name, 0) for requested in running))
        amount = max(most, whole.get(name, 0)) + overhead.get(name, 0)
        if amount:
            taken[name] = amount
    return taken


def _requested(holder: Mapping[str, Any]) -> dict[str, int]:
    resources = holder.get("resources") or {}
    # An API server fills in requests by limits; files may have been written by hand.
    return _amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})}, math.ceil)


def _amounts(quantities_by_name: Mapping[str, object], rounded: Callable[[Decimal], int]) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for name, value in quantities_by_name.items():
        resource = gpus.GPU if name in gpus.WHOLE else str(name)
        amount = rounded(_parsed(value) * (1000 if name == CPU else 1))
        amounts[resource] = min(amounts.get(resource, 0) + amount, MAX_AMOUNT)
    return amounts


def _parsed(value: object) -> Decimal:
    quantity = quantities.parse(value)
    if quantity is None:
        raise ValueError(f"{shown(value)} is no quantity")
    if quantity < 0:
        raise ValueError(f"{shown(value)} is negative")
    return quantity


def _node(name: str, node: Mapping[str, Any], pods: Sequence[RunningPod]) -> NodeResources:
    held: Counter[str] = Counter()
    for pod in pods:
        held.update(pod.asks)
    spec, status = node.get("spec") or {}, node.get("status") or {}
    allocatable = _amounts(status.get("allocatable") or {}, math.floor)
    return NodeResources(
        name,
        node["metadata"].get("labels") or {},
        allocatable,
        free_of(allocatable, held),
        tuple(_taints(spec.get("taints") or ())),
        is_ready=all(map(is_well, status.get("conditions") or ())),
        is_cordoned=spec.get("unschedulable") is True,
        pods=tuple(sorted(pods, key=lambda pod: (pod.namespace, pod.name))),
    )


def free_of(allocatable: Vector, held: Mapping[str, int]) -> dict[str, int]:
    """Returns the free amounts of a node, also of the resources in ``neighbours``."""
    of_one = {resource: capacity_of(resource) for resource in held if is_of_one(resource)}
    return {resource: amount - held.get(resource, 0) for resource, amount in {**allocatable, **of_one}.items()}


def _taints(taints: Sequence[Mapping[str, Any]]) -> Iterable[Taint]:
    """Yields the taints that keep pods away; PreferNoSchedule does not."""
    for fields in taints:
        taint = Taint(fields["key"], fields.get("value") or "", fields.get("effect") or "")
        if taint.effect in ("NoSchedule", "NoExecute"):
            yield taint
