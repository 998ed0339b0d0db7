"""Nodes and pods of a cluster in, what each node has free out: the picture on which ``fit`` answers.

Free is what KAI's scheduler takes for free: allocatable less what the pods on the node ask for, of whichever scheduler,
until they have ended (0.17: pkg/scheduler/api/node_info/node_info.go). Whole GPUs of all vendors are one number, as
there: ``nvidia.com/gpu`` (0.17: ``ResourceFromResourceList`` of pkg/scheduler/api/resource_info/resource_info.go).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any

from kubectl_tas import gpus, quantities
from kubectl_tas.errors import TasError
from kubectl_tas.live.kubectl import shown, text_of
from kubectl_tas.live.live_cluster import is_well
from kubectl_tas.model.labels import MIRROR, POD_GROUP
from kubectl_tas.records import dataclass

PODS = "pods"
"""The resource of which every pod takes one."""
CPU = "cpu"
MAX_AMOUNT = 2**63 - 1
"""What Kubernetes takes a larger amount for."""
ENDED = ("Succeeded", "Failed")
"""Phases of pods that hold nothing any more."""

Vector = Mapping[str, int]
"""Amounts by resource: cpu in thousandths of a core, all others in whole units or bytes."""
Domain = tuple[str, ...]
"""The values of the labels of levels from the coarsest down; () is the whole topology."""


@dataclass(frozen=True, slots=True)
class Taint:
    """What keeps pods away from a node that do not tolerate it."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}{f'={self.value}' if self.value else ''}:{self.effect}"


@dataclass(frozen=True, slots=True)
class RunningPod:
    """A pod that is on a node, and has not ended."""

    namespace: str
    name: str
    group: str
    """Name of its PodGroup; empty where it has none."""
    asks: Vector
    """What it takes of its node, itself among ``pods``."""
    is_of_node: bool
    """Whether it belongs to its node, as those of DaemonSets do, and comes back there."""

    @property
    def key(self) -> str:
        """NAMESPACE/NAME."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, eq=False)
class Node:
    """One node; no two are the same."""

    name: str
    labels: Mapping[str, str]
    allocatable: Vector
    """What it has for pods."""
    free: Vector
    """What of that no pod has asked for."""
    taints: tuple[Taint, ...] = ()
    """Those that keep pods away."""
    is_ready: bool = True
    is_cordoned: bool = False
    pods: tuple[RunningPod, ...] = ()
    """Sorted by namespace and name."""


@dataclass(frozen=True)
class Nodes:
    """The nodes of a cluster, by name."""

    nodes: tuple[Node, ...]
    knows_pods: bool = True
    """Whether there was anything to tell what is free."""

    @cached_property
    def running(self) -> Mapping[tuple[str, str], int]:
        """Pods on nodes by the namespace and the name of their PodGroup."""
        return Counter((pod.namespace, pod.group) for node in self.nodes for pod in node.pods if pod.group)


def domain_of(node: Node, levels: Sequence[str]) -> Domain | None:
    """The finest domain that a node is in; None where it lacks the label of any level, and so is outside."""
    if any(label not in node.labels for label in levels):
        return None
    return tuple(node.labels[label] for label in levels)


def read_nodes(items: Iterable[Mapping[str, Any]], complete: Iterable[str] = ()) -> Nodes:
    """The nodes among objects of a cluster, with what its pods leave of them; others are passed over.

    ``complete`` are the kinds of which all objects are there, though there may be none. Raises TasError where one
    cannot be read, or none is a node.
    """
    held: dict[str, list[RunningPod]] = {}
    found: dict[str, Mapping[str, Any]] = {}
    knows_pods = "Pod" in complete
    for item in items:
        if item.get("kind") == "Node":
            found[_called(item, "Node")] = item
        elif item.get("kind") == "Pod":
            knows_pods = True
            _hold(item, held)
    if not found:
        hint = "Give what `kubectl get nodes -o json` prints, or what `kubectl tas nodes generate` wrote."
        raise TasError("the input has no Node to place work on", hint=hint)
    return Nodes(tuple(_node(name, found[name], held.get(name, ())) for name in sorted(found)), knows_pods)


def _called(item: Mapping[str, Any], kind: str) -> str:
    try:
        return text_of(item["metadata"]["name"])
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(kind, "it has no name") from error


def _unreadable(kind: str, reason: str) -> TasError:
    hint = f"It must be what `kubectl get {kind.lower()}s -o json` prints."
    return TasError(f"a {kind} of the cluster cannot be read: {reason}", hint=hint)


def _hold(item: Mapping[str, Any], held: dict[str, list[RunningPod]]) -> None:
    """Notes a pod with its node."""
    name = _called(item, "Pod")
    try:
        spec, phase = item["spec"], (item.get("status") or {}).get("phase")
        node = spec.get("nodeName")
        if not node or phase in ENDED:
            return
        if not isinstance(spec.get("containers"), list) or not spec["containers"]:
            raise ValueError("it has no containers, so that what it takes is unknown")
        metadata = item["metadata"]
        annotations, owners = metadata.get("annotations") or {}, metadata.get("ownerReferences") or ()
        pod = RunningPod(
            str(metadata.get("namespace") or "default"),
            name,
            str(annotations.get(POD_GROUP) or ""),
            requests(spec),
            MIRROR in annotations or any(owner.get("kind") == "DaemonSet" for owner in owners),
        )
        held.setdefault(text_of(node), []).append(pod)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is not built as Kubernetes builds it"
        raise _unreadable("Pod", f"{name}: {reason}") from error


def requests(spec: Mapping[str, Any]) -> dict[str, int]:
    """What a pod takes of a node, itself among ``pods``, by the data of its ``PodSpec``: containers and sidecars
    together, or more where it takes more while it starts, and its overhead. Raises ValueError for what is no quantity.
    """
    init = [(item.get("restartPolicy") == "Always", _requested(item)) for item in spec.get("initContainers") or ()]
    running = [_requested(item) for item in spec.get("containers") or ()]
    whole, overhead = _requested(spec), _amounts(spec.get("overhead") or {}, math.ceil)
    names = {name for part in (*running, *(part for _, part in init), whole, overhead) for name in part}
    found = {PODS: 1}
    for name in sorted(names):
        starting = ((is_sidecar, part.get(name, 0)) for is_sidecar, part in init)
        most = gpus.at_most(starting, (part.get(name, 0) for part in running))
        amount = max(most, whole.get(name, 0)) + overhead.get(name, 0)
        if amount:
            found[name] = amount
    return found


def _requested(holder: Mapping[str, Any]) -> dict[str, int]:
    resources = holder.get("resources") or {}
    # An API server fills in requests by limits; files may have been written by hand.
    return _amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})}, math.ceil)


def _amounts(written: Mapping[str, object], rounded: Callable[[Decimal], int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in written.items():
        resource = gpus.GPU if name in gpus.WHOLE else str(name)
        amount = rounded(_parsed(value) * (1000 if name == CPU else 1))
        found[resource] = min(found.get(resource, 0) + amount, MAX_AMOUNT)
    return found


def _parsed(value: object) -> Decimal:
    found = quantities.parse(value)
    if found is None:
        raise ValueError(f"{shown(value)} is no quantity")
    if found < 0:
        raise ValueError(f"{shown(value)} is negative")
    return found


def _node(name: str, item: Mapping[str, Any], pods: Sequence[RunningPod]) -> Node:
    held: Counter[str] = Counter()
    for pod in pods:
        held.update(pod.asks)
    try:
        spec, status = item.get("spec") or {}, item.get("status") or {}
        labels = {str(key): str(value) for key, value in (item["metadata"].get("labels") or {}).items()}
        allocatable = _amounts(status.get("allocatable") or {}, math.floor)
        return Node(
            name,
            labels,
            allocatable,
            {resource: amount - held[resource] for resource, amount in allocatable.items()},
            tuple(_taints(spec.get("taints") or ())),
            is_ready=all(map(is_well, status.get("conditions") or ())),
            is_cordoned=spec.get("unschedulable") is True,
            pods=tuple(sorted(pods, key=lambda pod: (pod.namespace, pod.name))),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is not built as Kubernetes builds it"
        raise _unreadable("Node", f"{name}: {reason}") from error


def _taints(written: Sequence[Mapping[str, Any]]) -> Iterable[Taint]:
    """Those that keep pods away: PreferNoSchedule does not."""
    for item in written:
        taint = Taint(text_of(item["key"]), str(item.get("value") or ""), str(item.get("effect")))
        if taint.effect in ("NoSchedule", "NoExecute"):
            yield taint
