"""The queues of a cluster, as its scheduler reads them, what it has to divide among them, and what work asks them for.

What there is to divide follows ``setTotalResources`` of KAI's proportion plugin (0.12 to 0.17, proportion.go): what
ready nodes have that are not cordoned, less what pods of other schedulers hold there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from kubectl_tas import gpus
from kubectl_tas.errors import TasError
from kubectl_tas.gangs.admission import by_queue
from kubectl_tas.live.kubectl import shown, text_of
from kubectl_tas.model import manifest
from kubectl_tas.model.labels import NODE_POOL, POD_GROUP
from kubectl_tas.place.fairshare import DEFAULT_PRIORITY, Queue, QueueTree
from kubectl_tas.place.node_resources import CPU, ENDED, Nodes, Vector, requests
from kubectl_tas.quantities import Amounts, ResourceName, each, from_kai
from kubectl_tas.resolve.fleet import Fleet

Shard = str | None
"""The shard of the scheduler, by the value of its label; None: the one without."""
_HINT = "It must be what `kubectl get queues.scheduling.run.ai -o json` prints."


def trees(rendered: Iterable[manifest.Queue], there: Iterable[Mapping[str, Any]] = ()) -> dict[Shard, QueueTree]:
    """The trees of one cluster's queues, one for each shard of the scheduler, which sees no queues of others (0.12 to
    0.17: pkg/scheduler/cache/cluster_info/data_lister/kubernetes_lister.go).

    They are those that are ``rendered``, and what else is ``there``, in the cluster: its Queues as kubectl prints them.
    They also tell when each was created. Raises TasError where one of them cannot be read.
    """
    objects = {_name(item): item for item in there}
    found: dict[Shard, list[Queue]] = defaultdict(list)
    for queue in rendered:
        own = queue.model_dump(exclude_none=True)
        known = objects.pop(queue.metadata.name, {"metadata": {}})["metadata"]
        own["metadata"]["creationTimestamp"] = known.get("creationTimestamp")
        found[queue.metadata.labels.get(NODE_POOL)].append(_queue(own))
    for item in objects.values():
        found[_shard(item)].append(_queue(item))
    return {shard: QueueTree(tuple(items)) for shard, items in found.items()}


def _name(queue: Mapping[str, Any]) -> str:
    try:
        return text_of(queue["metadata"]["name"])
    except (KeyError, TypeError, ValueError) as error:
        raise TasError("a Queue of the cluster cannot be read: it has no name", hint=_HINT) from error


def _shard(queue: Mapping[str, Any]) -> Shard:
    labels = queue["metadata"].get("labels")
    shard = labels.get(NODE_POOL) if isinstance(labels, dict) else None
    return None if shard is None else str(shard)


def _queue(item: Mapping[str, Any]) -> Queue:
    """A Queue object as KAI's scheduler reads it, for which what is left out is 0."""
    name = _name(item)
    try:
        spec, metadata = item.get("spec") or {}, item["metadata"]
        resources = spec.get("resources") or {}
        priority = spec.get("priority")

        def number(resource: ResourceName, field: str) -> float:
            return _number((resources.get(resource) or {}).get(field, 0))

        def amounts(field: str) -> Amounts:
            return each(lambda resource: from_kai(resource, number(resource, field)))

        return Queue(
            name,
            text_of(spec["parentQueue"]) if spec.get("parentQueue") else None,
            amounts("quota"),
            amounts("limit"),
            each(lambda resource: from_kai("gpu", max(0, number(resource, "overQuotaWeight")))),
            DEFAULT_PRIORITY if priority is None else int(_number(priority)),
            str(metadata.get("creationTimestamp") or ""),
        )
    except (TypeError, AttributeError, ValueError) as error:
        reason = str(error) if isinstance(error, ValueError) else "it is not built as KAI builds it"
        raise TasError(f"the Queue {name} of the cluster cannot be read: {reason}", hint=_HINT) from error


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e18:
        raise ValueError(f"{shown(value)} is no number")
    return value


def declared(fleet: Fleet, backend: str) -> dict[str, Amounts]:
    """What all work of a repository for a cluster asks for, by leaf queue, LOW work and what never runs included: KAI
    counts whatever waits.
    """
    return by_queue(item for item in fleet.submissions if item.pool.backend.name == backend)


MEMORY = "memory"
OF_KAI = ("kai-resource-reservation", "kai-scale-adjust")
"""Namespaces of pods that stand for others: KAI counts what they hold where it counts those."""


def total_resources(nodes: Nodes, objects: Iterable[Mapping[str, Any]], scheduler: str) -> Mapping[Shard, Amounts]:
    """What each shard of the scheduler of that name has to divide, by the ``nodes`` that were read, and the pods among
    the objects; nothing for a shard without nodes. Raises TasError where a pod cannot be read.
    """
    own = [node for node in nodes.nodes if node.is_ready and not node.is_cordoned]
    shards = {node.name: node.labels.get(NODE_POOL) for node in own}
    found: dict[Shard, Amounts] = defaultdict(Amounts)
    for node in own:
        found[shards[node.name]] += counted(node.allocatable)
    for item in objects:
        node_name = held_by_others(item, scheduler)
        if node_name in shards:
            found[shards[node_name]] -= counted(requests(item["spec"]))
    return found


def held_by_others(pod: Mapping[str, Any], scheduler: str) -> str | None:
    """The node of a pod that another scheduler has placed; None of any other object.

    What tells nothing of its scheduler is taken for KAI's where it is in a PodGroup.
    """
    if pod.get("kind") != "Pod":
        return None
    try:
        spec, metadata = pod.get("spec") or {}, pod["metadata"]
        is_own = POD_GROUP in (metadata.get("annotations") or {})
        is_own = spec["schedulerName"] == scheduler if "schedulerName" in spec else is_own
        is_over = (pod.get("status") or {}).get("phase") in ENDED
        is_free = is_own or is_over or metadata.get("namespace") in OF_KAI
        return None if is_free else spec.get("nodeName")
    except (KeyError, TypeError, AttributeError) as error:
        hint = "It must be what `kubectl get pods -A -o json` prints."
        raise TasError(
            "a Pod of the cluster cannot be read: it is not built as Kubernetes builds it", hint=hint
        ) from error


def counted(amounts: Vector) -> Amounts:
    """The resources that KAI divides among queues."""
    whole = gpus.of_node({name: Decimal(amount) for name, amount in amounts.items()})
    return Amounts(whole, amounts.get(CPU, 0), amounts.get(MEMORY, 0))
