"""Nodes and pods of a cluster in, what its scheduler has to divide out.

Follows ``setTotalResources`` of KAI's proportion plugin (0.12 to 0.17, proportion.go): what nodes have that are ready,
and not cordoned, less what pods of other schedulers hold there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from kubectl_tas import gpus
from kubectl_tas.errors import TasError
from kubectl_tas.model.labels import NODE_POOL, POD_GROUP
from kubectl_tas.place.node_resources import CPU, ENDED, Nodes, Vector, requests
from kubectl_tas.place.queues import Shard
from kubectl_tas.quantities import Amounts

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
