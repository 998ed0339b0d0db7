"""The queues that are rendered, as the scheduler reads them, and what the work of a repository asks them for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from kubectl_tas.gangs.admission import by_queue
from kubectl_tas.model import manifest
from kubectl_tas.model.labels import NODE_POOL
from kubectl_tas.place.share import DEFAULT_PRIORITY, Queue, QueueTree
from kubectl_tas.quantities import Amounts, from_kai
from kubectl_tas.resolve.fleet import Fleet

Shard = str | None
"""The shard of the scheduler, by the value of its label; None: the one without."""


def trees(queues: Iterable[manifest.Queue], created: Mapping[str, str] | None = None) -> dict[Shard, QueueTree]:
    """The trees of one cluster's queues, one for each shard of the scheduler, which sees no queues of others (0.12 to
    0.17: pkg/scheduler/cache/cluster_info/data_lister/kubernetes_lister.go).

    ``created`` says when each came to be, as far as that is known.
    """
    found: dict[Shard, list[Queue]] = defaultdict(list)
    for queue in queues:
        labels = queue.metadata.labels or {}
        found[labels.get(NODE_POOL)].append(_queue(queue, (created or {}).get(queue.metadata.name, "")))
    return {shard: QueueTree(tuple(items)) for shard, items in found.items()}


def _queue(queue: manifest.Queue, created: str) -> Queue:
    spec = queue.spec
    gpu, cpu, memory = spec.resources.gpu, spec.resources.cpu, spec.resources.memory
    return Queue(
        queue.metadata.name,
        spec.parentQueue,
        Amounts(from_kai("gpu", gpu.quota), from_kai("cpu", cpu.quota), from_kai("memory", memory.quota)),
        Amounts(from_kai("gpu", gpu.limit), from_kai("cpu", cpu.limit), from_kai("memory", memory.limit)),
        Amounts(gpu.overQuotaWeight, cpu.overQuotaWeight, memory.overQuotaWeight),
        DEFAULT_PRIORITY if spec.priority is None else spec.priority,
        created,
    )


def declared(fleet: Fleet, backend: str) -> dict[str, Amounts]:
    """What all work of a repository for a cluster asks for, by leaf queue, LOW work and what never runs included: KAI
    counts whatever waits.
    """
    return by_queue(item for item in fleet.submissions if item.pool.backend.name == backend)
