"""Records a cluster in a file that replaces the cluster for ``--cluster-state``, with no more than commands read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.kinds import SET
from kubectl_tas.live import cliquesets, kubectl
from kubectl_tas.live.kubectl import ClusterAccess, ForbiddenError, NoSuchResourceError
from kubectl_tas.live.live_cluster import NODES, POD_GROUPS, PODS, QUEUES
from kubectl_tas.live.objects import RUNS_KAI, STATE, shown
from kubectl_tas.model.labels import MIRROR, NODE_POOL, POD_GROUP, QUEUE, SKIP_PODGROUPER, SUBGROUP, TASK, WORKFLOW

SHARDS = "schedulingshards.kai.scheduler"
TOPOLOGIES = ("topologies.kai.scheduler", "topologies.kueue.x-k8s.io")
"""KAI's Topology, in its newer and its older API group."""
PRIORITY_CLASSES = "priorityclasses.scheduling.k8s.io"
DEPLOYMENTS = "deployments.apps"
KAI_NAMESPACE = "kai-scheduler"
"""Namespace of KAI in KAI's own guide; the images there tell the release."""

Shape = dict[str, Any] | list[Any] | None
"""The part to keep of a value: ALL of it, some keys of an object, or the same part of each item of a list."""
ALL: Shape = None

_NAMED: dict[str, Shape] = {"name": ALL, "labels": ALL}
_MARKED: dict[str, Shape] = {**_NAMED, "annotations": ALL}
_SPACED: dict[str, Shape] = {"name": ALL, "namespace": ALL}
_CONSTRAINT = {"topologyConstraint": ALL}
_RESOURCES: dict[str, Shape] = {"resources": {"requests": ALL, "limits": ALL}}
_OWNERS: dict[str, Shape] = {"ownerReferences": [{"kind": ALL, "name": ALL}]}
_DELETED: dict[str, Shape] = {"deletionTimestamp": ALL, "finalizers": ALL}
_SAID: dict[str, Shape] = {"reason": ALL, "message": ALL}
_CONDITION: dict[str, Shape] = {"type": ALL, "status": ALL, **_SAID}
_POD: dict[str, Shape] = {
    "nodeName": ALL,
    "schedulerName": ALL,
    "overhead": ALL,
    "containers": [_RESOURCES],
    "initContainers": [{**_RESOURCES, "restartPolicy": ALL}],
    **_RESOURCES,
}
_ON_NODE: dict[str, Shape] = {
    "metadata": {
        **_SPACED,
        **_OWNERS,
        **_DELETED,
        "labels": {WORKFLOW: ALL},
        "annotations": {POD_GROUP: ALL, MIRROR: ALL},
        "creationTimestamp": ALL,
    },
    "spec": _POD,
    "status": {"phase": ALL, "startTime": ALL},
}
SHAPES: dict[str, Shape] = {
    "Queue": {
        "metadata": {**_MARKED, "creationTimestamp": ALL},
        "spec": ALL,
        "status": {"allocated": ALL, "allocatedNonPreemptible": ALL, "requested": ALL},
    },
    "PodGroup": {
        "metadata": {
            **_SPACED,
            **_OWNERS,
            **_DELETED,
            "labels": {WORKFLOW: ALL, NODE_POOL: ALL},
            "creationTimestamp": ALL,
        },
        "spec": {
            "queue": ALL,
            "priorityClassName": ALL,
            "preemptibility": ALL,
            "minMember": ALL,
            "subGroups": ALL,
            "topologyConstraint": ALL,
        },
        "status": {
            "running": ALL,
            "resourcesStatus": {"allocated": ALL},
            "schedulingConditions": [{"nodePool": ALL, **_CONDITION, "reasons": [_SAID]}],
        },
    },
    "Node": {
        "metadata": _NAMED,
        "spec": {"unschedulable": ALL, "taints": ALL},
        "status": {"allocatable": ALL, "conditions": [{"type": ALL, "status": ALL}]},
    },
    "Pod": _ON_NODE,
    "Topology": {"metadata": _MARKED, "spec": ALL},
    "SchedulingShard": {"metadata": {"name": ALL}, "spec": ALL},
    "PriorityClass": {"metadata": _MARKED, "value": ALL, "globalDefault": ALL, "description": ALL},
    RUNS_KAI: {
        "metadata": _SPACED,
        "spec": {"template": {"spec": {"containers": [{"name": ALL, "image": ALL}]}}},
    },
    SET.kind: {
        "metadata": _SPACED,
        "spec": {
            "template": {
                "clusterTopologyName": ALL,
                "podCliqueScalingGroups": [_CONSTRAINT],
                "cliques": [_CONSTRAINT],
                **_CONSTRAINT,
            }
        },
    },
    "PodClique": {
        "metadata": {"name": ALL, "namespace": ALL, "labels": {cliquesets.PART_OF: ALL}},
        "status": {"scheduledReplicas": ALL},
    },
    "ClusterTopology": {"metadata": {"name": ALL}, "spec": {"levels": ALL}},
    "ClusterTopologyBinding": {"metadata": {"name": ALL}, "spec": {"levels": ALL}},
}
"""The part to keep of each kind, without what pods are given, and without what changes every second."""
_WAITING: Shape = {
    "metadata": {
        **_SPACED,
        **_OWNERS,
        **_DELETED,
        "annotations": {POD_GROUP: ALL, SKIP_PODGROUPER: ALL},
        "labels": {cliquesets.PART_OF: ALL, SUBGROUP: ALL, WORKFLOW: ALL, TASK: ALL},
    },
    "spec": {
        **_POD,
        **dict.fromkeys(("nodeSelector", "affinity", "tolerations", "schedulingGates", "restartPolicy"), ALL),
    },
    "status": {"phase": ALL, "conditions": [_CONDITION]},
}
"""The part to keep of a pod that waits for KAI, with its rules for nodes, which may differ from those in its file."""
_CONTAINERS: Shape = [
    {"name": ALL, "state": {"waiting": {"reason": ALL}, "terminated": {"reason": ALL, "exitCode": ALL}}}
]
"""The part to keep of containers, without messages, since an ended container writes its message itself."""
_STUCK: Shape = {
    **_ON_NODE,
    "status": {
        "phase": ALL,
        "startTime": ALL,
        **_SAID,
        "containerStatuses": _CONTAINERS,
        "initContainerStatuses": _CONTAINERS,
    },
}
"""The part to keep of a pod that has a node, but has not started or has failed."""


@dataclass(frozen=True, slots=True)
class _KindToRead:
    """A kind of object that a record reads."""

    kind: str
    resource: str
    namespaced: bool = False
    needed: bool = False
    """Whether a record is impossible without this kind."""
    of_nodes: bool = False
    """Whether to keep only pods on nodes and pods that wait for KAI, of all namespaces, since all share the nodes."""


ASKED = (
    _KindToRead("Queue", QUEUES, needed=True),
    _KindToRead("PodGroup", POD_GROUPS, namespaced=True, needed=True),
    _KindToRead("Node", NODES),
    _KindToRead("Pod", PODS, namespaced=True, of_nodes=True),
    *(_KindToRead("Topology", resource) for resource in TOPOLOGIES),
    _KindToRead("SchedulingShard", SHARDS),
    _KindToRead("PriorityClass", PRIORITY_CLASSES),
    _KindToRead(SET.kind, cliquesets.SETS, namespaced=True),
    _KindToRead("PodClique", cliquesets.CLIQUES, namespaced=True),
    _KindToRead("ClusterTopology", cliquesets.TOPOLOGIES),
    _KindToRead("ClusterTopologyBinding", cliquesets.BINDINGS),
)


@dataclass(frozen=True, slots=True)
class Record:
    """The objects that were read from a cluster."""

    objects: tuple[dict[str, Any], ...]
    """Objects, sorted by kind, namespace and name."""
    kinds: tuple[str, ...]
    """Kinds that were read completely, sorted, including kinds without objects."""
    hidden: Mapping[str, str]
    """Reason why a kind could not be read, by kind."""
    namespace: str | None = None
    """The only namespace that was read, except for pods; None means all namespaces."""

    @property
    def counts(self) -> dict[str, int]:
        """Number of objects by kind."""
        counts = Counter(str(manifest["kind"]) for manifest in self.objects)
        return {kind: counts[kind] for kind in sorted({*counts, *self.kinds})}

    @property
    def text(self) -> str:
        """Content of the file; the same cluster gives the same bytes."""
        header = {"apiVersion": "tas/v1alpha1", "kind": STATE, "kinds": list(self.kinds)}
        header |= {"namespace": self.namespace} if self.namespace else {}
        listing = {"apiVersion": "v1", "kind": "List", "items": [header, *self.objects]}
        return json.dumps(listing, indent=1, sort_keys=True) + "\n"


def record(access: ClusterAccess) -> Record:
    """Reads a cluster. Raises TasError if the cluster cannot be reached, or has no queues.

    Leaves out kinds that the cluster does not have, and, with the reason, kinds that may not be read. Also leaves out
    pods if there are too many.
    """
    objects_read: list[dict[str, Any]] = []
    kinds: set[str] = set()
    hidden: dict[str, str] = {}
    for kind_to_read in ASKED:
        try:
            where = replace(access, namespace=None) if kind_to_read.of_nodes else access
            objects_of_kind = kubectl.get(where, kind_to_read.resource, namespaced=kind_to_read.namespaced)
            if kind_to_read.of_nodes:
                objects_of_kind = [fields for fields in objects_of_kind if _is_on_node(fields) or _waits(fields)]
            objects_read += objects_of_kind
            kinds.add(kind_to_read.kind)
        except NoSuchResourceError:
            if kind_to_read.needed:
                raise
        except TasError as error:
            if kind_to_read.needed or not (kind_to_read.of_nodes or isinstance(error, ForbiddenError)):
                raise
            hidden[kind_to_read.kind] = error.message
    try:
        objects_read += kubectl.get(replace(access, namespace=KAI_NAMESPACE), DEPLOYMENTS, namespaced=True)
    except ForbiddenError as error:
        hidden[RUNS_KAI] = error.message
    objects = tuple(sorted(map(_kept_of, objects_read), key=_place))
    return Record(objects, tuple(sorted(kinds)), hidden, access.namespace)


def read(path: str) -> Record:
    """Returns what a file holds that ``record`` or ``kubectl get`` wrote. Raises TasError if it cannot be read."""
    objects = kubectl.read_file(path)
    kinds = kubectl.complete_kinds(objects)
    return Record(tuple(fields for fields in objects if fields.get("kind") in SHAPES), tuple(sorted(kinds)), {})


def _is_on_node(pod: Mapping[str, Any]) -> bool:
    spec = pod.get("spec")
    return isinstance(spec, dict) and bool(spec.get("nodeName"))


def _waits(pod: Mapping[str, Any]) -> bool:
    metadata = pod.get("metadata")
    if _phase(pod) != "Pending" or not isinstance(metadata, dict):
        return False
    pairs = ((metadata.get("annotations"), POD_GROUP), (metadata.get("labels"), QUEUE))
    return any(isinstance(holder, dict) and key in holder for holder, key in pairs)


def _phase(pod: Mapping[str, Any]) -> object:
    status = pod.get("status")
    return status.get("phase") if isinstance(status, dict) else None


def _kept_of(fields: dict[str, Any]) -> dict[str, Any]:
    """Returns an object without the parts that nobody reads. Raises TasError for a kind that was not asked for."""
    shape = SHAPES.get(str(fields.get("kind")))
    if fields.get("kind") == "Pod":
        is_stuck = _phase(fields) in ("Pending", "Failed")
        shape = _WAITING if not _is_on_node(fields) else _STUCK if is_stuck else _ON_NODE
    if shape is None:
        hint = "KUBECTL_PATH may name a program that is not kubectl."
        raise TasError(f"the cluster answers with a {shown(fields.get('kind'))}, which was not asked for", hint=hint)
    assert isinstance(shape, dict)
    trimmed = _kept(fields, {"apiVersion": ALL, "kind": ALL, **shape})
    assert isinstance(trimmed, dict)
    return trimmed


def _kept(value: object, shape: Shape) -> object:
    if isinstance(shape, dict) and isinstance(value, dict):
        return {key: _kept(value[key], inner) for key, inner in shape.items() if key in value}
    if isinstance(shape, list) and isinstance(value, list):
        return [_kept(inner, shape[0]) for inner in value]
    return value


def _place(fields: Mapping[str, Any]) -> tuple[str, ...]:
    metadata = fields.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    return tuple(str(key or "") for key in (fields.get("kind"), named.get("namespace"), named.get("name")))
