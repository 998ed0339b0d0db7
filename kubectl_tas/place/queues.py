"""Reads from a cluster its queues, the resources to divide among them, and the gangs that hold nodes. Also computes
what work asks the queues for.

The resources to divide follow ``setTotalResources`` of KAI's proportion plugin (0.12 to 0.17, proportion.go): those of
ready nodes that are not cordoned, minus what pods of other schedulers hold there.

Gangs follow KAI 0.17 (``setPodGroupPriorityAndPreemptibility`` of pkg/scheduler/cache/cluster_info/cluster_info.go, and
pkg/common/podgroup/preemptible.go). A PodGroup has the priority of its class. A PodGroup is preemptible if it says so,
or if it says nothing and its priority is below 100. Without the PodGroup, the labels and priority of its pods tell.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts import gpus, times
from kubectl_tas.facts.quantities import Amounts, ResourceName, each, from_kai, total
from kubectl_tas.gangs.admission import requests_by_queue
from kubectl_tas.live.objects import STATE
from kubectl_tas.model import manifest
from kubectl_tas.model.labels import NODE_POOL, POD_GROUP, PREEMPTIBILITY, QUEUE, RUNAI_QUEUE, SUBGROUP
from kubectl_tas.place.fairshare import DEFAULT_PRIORITY, QueueTree, QuotaQueue
from kubectl_tas.place.neighbours import taken
from kubectl_tas.place.node_resources import CPU, ENDED, ClusterNodes, Vector, requests
from kubectl_tas.place.shapes import PodShape, shape_of, unpredicted
from kubectl_tas.resolve.fleet import Fleet

MIN_RUNTIMES = ("preemptMinRuntime", "reclaimMinRuntime")
Shard = str | None
"""Shard of the scheduler, by the value of its label; None is the shard without the label."""


def trees(rendered: Iterable[manifest.Queue], existing: Iterable[Mapping[str, Any]] = ()) -> dict[Shard, QueueTree]:
    """Returns a queue tree for each shard of a cluster's scheduler, which sees no queues of other shards (0.12 to 0.17:
    pkg/scheduler/cache/cluster_info/data_lister/kubernetes_lister.go).

    The queues are those ``rendered``, and all others ``existing`` there, as kubectl prints its Queues. Creation
    times come from the cluster.
    """
    objects = {str(queue["metadata"]["name"]): queue for queue in existing}
    by_shard: dict[Shard, list[QuotaQueue]] = defaultdict(list)
    for queue in rendered:
        fields = queue.model_dump()
        metadata = objects.pop(queue.metadata.name, {"metadata": {}})["metadata"]
        fields["metadata"]["creationTimestamp"] = metadata.get("creationTimestamp")
        by_shard[queue.metadata.labels.get(NODE_POOL)].append(_queue(fields))
    for outside_queue in objects.values():
        by_shard[_shard(outside_queue)].append(_queue(outside_queue))
    return {shard: QueueTree(tuple(queues)) for shard, queues in by_shard.items()}


def _shard(queue: Mapping[str, Any]) -> Shard:
    shard: Shard = (queue["metadata"].get("labels") or {}).get(NODE_POOL)
    return shard


def _queue(fields: Mapping[str, Any]) -> QuotaQueue:
    """Reads a Queue object as KAI's scheduler does: absent amounts count as 0."""
    spec, metadata = fields.get("spec") or {}, fields["metadata"]
    resources, priority = spec.get("resources") or {}, spec.get("priority")

    def number(resource: ResourceName, field: str) -> float:
        return float((resources.get(resource) or {}).get(field, 0))

    def amounts(field: str) -> Amounts:
        return each(lambda resource: from_kai(resource, number(resource, field)))

    return QuotaQueue(
        metadata["name"],
        spec.get("parentQueue") or None,
        amounts("quota"),
        amounts("limit"),
        each(lambda resource: from_kai("gpu", max(0, number(resource, "overQuotaWeight")))),
        DEFAULT_PRIORITY if priority is None else priority,
        metadata.get("creationTimestamp") or "",
        *(times.nanoseconds(str(spec[name])) if spec.get(name) else None for name in MIN_RUNTIMES),
    )


def declared(fleet: Fleet, backend: str) -> dict[str, Amounts]:
    """Returns what all work of a repository asks for in a cluster, by leaf queue. Includes LOW work and work that never
    runs, since KAI counts all pending work.
    """
    return requests_by_queue(submission for submission in fleet.submissions if submission.pool.backend.name == backend)


MEMORY = "memory"
OF_KAI = ("kai-resource-reservation", "kai-scale-adjust")
"""Namespaces of pods that stand for other pods. KAI counts what they hold where it counts those other pods."""


def total_resources(
    nodes: ClusterNodes, objects: Iterable[Mapping[str, Any]], scheduler: str
) -> Mapping[Shard, Amounts]:
    """Returns the resources that each shard of the named scheduler has to divide, from the ``nodes`` and the pods among
    the objects; nothing for a shard without nodes.
    """
    nodes_in_use = [node for node in nodes.nodes if node.is_ready and not node.is_cordoned]
    shards = {node.name: node.labels.get(NODE_POOL) for node in nodes_in_use}
    resources: dict[Shard, Amounts] = defaultdict(Amounts)
    for node in nodes_in_use:
        resources[shards[node.name]] += counted(node.allocatable)
    for fields in objects:
        node_name = held_by_others(fields, scheduler)
        if node_name in shards:
            resources[shards[node_name]] -= counted(requests(fields["spec"]))
    return resources


def held_by_others(pod: Mapping[str, Any], scheduler: str) -> str | None:
    """Returns the node of a pod that another scheduler has placed; None for any other object.

    A pod without a schedulerName counts as KAI's if it is in a PodGroup.
    """
    if pod.get("kind") != "Pod":
        return None
    spec, metadata = pod.get("spec") or {}, pod["metadata"]
    is_own = POD_GROUP in (metadata.get("annotations") or {})
    is_own = spec["schedulerName"] == scheduler if "schedulerName" in spec else is_own
    is_over = (pod.get("status") or {}).get("phase") in ENDED
    is_free = is_own or is_over or metadata.get("namespace") in OF_KAI
    return None if is_free else spec.get("nodeName")


def counted(amounts: Vector) -> Amounts:
    """Returns the amounts of the resources that KAI divides among queues."""
    whole = gpus.of_node({name: Decimal(amount) for name, amount in amounts.items()})
    return Amounts(whole, amounts.get(CPU, 0), amounts.get(MEMORY, 0))


GROUP_PRIORITY = 50
"""Priority of a PodGroup whose class is unknown."""
CREATED = "creationTimestamp"
LAST_START = "kai.scheduler/last-start-timestamp"
"""Annotation of a PodGroup with the time at which KAI last placed it."""
LAST_EVICTION = "kai.scheduler/last-eviction-timestamp"
"""Annotation of a PodGroup with the time at which KAI last evicted it."""
NON_PREEMPTIBLE = 100
"""Lowest priority at which a PodGroup without a stated preemptibility is non-preemptible."""


@dataclass(frozen=True)
class HeldPod:
    """A pod of a gang."""

    name: str
    sub_group: str
    """Name of the pod's SubGroup; empty if the pod names none."""
    node: str | None
    """Node of the pod; None if the pod is pending."""
    asks: Vector
    shape: PodShape | None
    """Shape of the pod; None if nobody knows which other nodes the pod may use."""


@dataclass(frozen=True, eq=False)
class HeldGang:
    """A gang with pods on nodes."""

    name: str
    """Name of the PodGroup; KAI ignores its namespace."""
    queue: str | None
    """Queue of the gang; None if unknown."""
    priority: int
    is_preemptible: bool
    created: str
    """Creation time of the PodGroup, or of its first pod, as Kubernetes writes it; empty if unknown."""
    pods: tuple[tuple[str, Vector], ...]
    """Node of each pod, and what the pod takes there."""
    namespace: str
    """Namespace of the gang's first pod."""
    members: tuple[HeldPod, ...]
    """All pods, including pending ones, in the order in which KAI takes them."""
    least: Mapping[str, int] | None
    """Number of pods that the gang needs, by SubGroup, under "" those in no SubGroup; None if unknown."""
    is_free: bool
    """Whether the PodGroup is known and asks for no level."""
    started: datetime | None = None
    """Time at which KAI last started the gang, by its PodGroup, or else by its first pod; None if unknown."""

    @cached_property
    def asks(self) -> Amounts:
        """Resources that all pods hold."""
        return total(counted(requested) for _, requested in self.pods)


def held_gangs(objects: Iterable[Mapping[str, Any]]) -> tuple[HeldGang, ...]:
    """Returns the gangs with pods on nodes, by name."""
    pods: dict[str, list[Mapping[str, Any]]] = {}
    objects = list(objects)
    is_whole = not any(fields.get("kind") == STATE for fields in objects)  # a record has no selectors
    groups: dict[str, Mapping[str, Any]] = {}
    classes: dict[str, int] = {}
    for fields in objects:
        kind, metadata = fields.get("kind"), fields.get("metadata") or {}
        if kind == "PodGroup":
            started = (metadata.get("annotations") or {}).get(LAST_START)
            groups[metadata["name"]] = {
                **(fields.get("spec") or {}),
                CREATED: metadata.get(CREATED),
                LAST_START: started,
            }
        elif kind == "PriorityClass":
            classes[metadata["name"]] = fields["value"]
        elif kind == "Pod" and (fields.get("status") or {}).get("phase") not in ENDED:
            group = (metadata.get("annotations") or {}).get(POD_GROUP)
            if group and "containers" in (fields.get("spec") or {}):
                pods.setdefault(group, []).append(fields)
    return tuple(
        _held(name, gang_pods, groups.get(name, {}), classes, is_whole=is_whole)
        for name, gang_pods in sorted(pods.items())
        if any(pod["spec"].get("nodeName") for pod in gang_pods)
    )


def _held(
    name: str,
    all_pods: Sequence[Mapping[str, Any]],
    group: Mapping[str, Any],
    classes: Mapping[str, int],
    *,
    is_whole: bool,
) -> HeldGang:
    pods = [pod for pod in all_pods if pod["spec"].get("nodeName")]
    first_pod = pods[0]
    labels, spec = first_pod["metadata"].get("labels") or {}, first_pod["spec"]
    queue = group.get("queue") or labels.get(QUEUE) or labels.get(RUNAI_QUEUE)
    priority_class = group.get("priorityClassName") or spec.get("priorityClassName")
    priority = classes.get(str(priority_class))
    if priority is None:
        priority = spec.get("priority", GROUP_PRIORITY) if priority_class else GROUP_PRIORITY
    preemptibility = group.get("preemptibility") or labels.get(PREEMPTIBILITY)
    return HeldGang(
        name,
        str(queue) if queue else None,
        priority,
        preemptibility == "preemptible"
        if preemptibility in ("preemptible", "non-preemptible")
        else priority < NON_PREEMPTIBLE,
        str(group.get(CREATED) or min(str(pod["metadata"].get(CREATED) or "") for pod in pods)),
        tuple((str(pod["spec"]["nodeName"]), requests(pod["spec"])) for pod in pods),
        namespace=str(first_pod["metadata"].get("namespace") or "default"),
        members=tuple(_member(pod, is_whole=is_whole) for pod in sorted(all_pods, key=_order)),
        least=_least(group),
        is_free=bool(group.get("queue")) and is_whole and not _asks_for_level(group),
        started=times.moment(group.get(LAST_START)) or _first_start(pods),
    )


def _first_start(pods: Iterable[Mapping[str, Any]]) -> datetime | None:
    starts = (times.moment((pod.get("status") or {}).get("startTime")) for pod in pods)
    return min((start for start in starts if start is not None), default=None)


def newest_time(objects: Iterable[Mapping[str, Any]]) -> datetime | None:
    """Returns the newest time that objects of a cluster name, which stands for the time at which they were read."""
    return max((time for fields in objects for text in _times(fields) if (time := times.moment(text))), default=None)


def _times(fields: Mapping[str, Any]) -> Iterator[object]:
    metadata, status = fields.get("metadata") or {}, fields.get("status") or {}
    yield metadata.get(CREATED)
    yield from ((metadata.get("annotations") or {}).get(name) for name in (LAST_START, LAST_EVICTION))
    yield status.get("startTime")
    yield fields.get("lastTimestamp")
    for condition in status.get("conditions") or ():
        yield from (condition.get(name) for name in ("lastHeartbeatTime", "lastTransitionTime"))


def _order(pod: Mapping[str, Any]) -> tuple[str, str, str]:
    """Returns the key by which KAI sorts the pods of a gang: age, then UID."""
    metadata = pod["metadata"]
    return str(metadata.get(CREATED) or ""), str(metadata.get("uid") or ""), str(metadata.get("name"))


def _member(pod: Mapping[str, Any], *, is_whole: bool) -> HeldPod:
    metadata, spec = pod["metadata"], pod["spec"]
    node = spec.get("nodeName")
    unplaced_spec = {key: value for key, value in spec.items() if key != "nodeName"}
    own = str(metadata.get("namespace") or "default"), metadata.get("labels") or {}
    is_known = is_whole and not unpredicted(unplaced_spec, metadata.get("annotations") or {}, *own)
    return HeldPod(
        str(metadata.get("name")),
        str((metadata.get("labels") or {}).get(SUBGROUP) or ""),
        str(node) if node else None,
        {**requests(spec), **taken(spec, *own)},
        shape_of(unplaced_spec, *own) if is_known else None,
    )


def _least(group: Mapping[str, Any]) -> Mapping[str, int] | None:
    sub_groups = group.get("subGroups") or ()
    above = {sub_group.get("parent") for sub_group in sub_groups}
    if sub_groups:
        return {
            str(sub_group["name"]): int(sub_group.get("minMember", 1))
            for sub_group in sub_groups
            if sub_group["name"] not in above
        }
    return {"": int(group["minMember"])} if group.get("minMember") is not None else None


def _asks_for_level(group: Mapping[str, Any]) -> bool:
    return any(group.get("topologyConstraint") for group in (group, *(group.get("subGroups") or ())))
