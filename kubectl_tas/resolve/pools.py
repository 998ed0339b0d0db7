"""Pools and subpools with their quotas, queues and topology, and what is sent to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from kubectl_tas.diagnostics import Location
from kubectl_tas.gpus import Gpus
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.config import ConfigSpec
from kubectl_tas.model.pool import Nodes, Pool, Subpool, SubpoolState
from kubectl_tas.model.repository import Declared, Repository
from kubectl_tas.model.workflow import PRIORITIES, Priority
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import Dangling, FleetBackend, names_of, pick_backend
from kubectl_tas.resolve.topologies import FleetTopology, Level, pool_topology

UNLIMITED = -1
TRANSITIONS: dict[SubpoolState, tuple[SubpoolState, ...]] = {
    "ACTIVE": ("DELETING", "ARCHIVED"),
    "DELETING": ("ARCHIVED",),
    "ARCHIVED": ("ACTIVE",),
}
"""Which state of a subpool may follow which. An ACTIVE subpool is ARCHIVED at once where nothing runs in it, and by
way of DELETING otherwise.
"""
BEHAVIOUR: dict[SubpoolState, str] = {
    "ACTIVE": "takes work; its quota can be changed and it can be deleted",
    "DELETING": "is frozen until it is empty; then it is archived",
    "ARCHIVED": "is only a record; it can only be recreated",
}
"""What each state of a subpool means, for messages."""


@dataclass(frozen=True, slots=True)
class FleetSubpool:
    """A guaranteed part of a pool."""

    declared: Declared[Subpool]
    pool: str
    name: str
    """Within the pool."""
    asked: int
    """GPUs that its quota comes to, whatever its state."""
    queue: str
    namespaces: tuple[str, ...]
    """Where its work may run, the first by default."""

    @property
    def state(self) -> SubpoolState:
        """ACTIVE, DELETING or ARCHIVED."""
        return self.declared.spec.spec.state

    @property
    def quota(self) -> int:
        """GPUs it is guaranteed now: none unless it is ACTIVE."""
        return self.asked if self.state == "ACTIVE" else 0

    @property
    def canonical(self) -> str:
        """``pool--subpool``."""
        return f"{self.pool}{names.SEPARATOR}{self.name}"


@dataclass(frozen=True)
class FleetPool:
    """A pool with its queues and its topology."""

    declared: Declared[Pool]
    name: str
    backend: FleetBackend
    subpools: tuple[FleetSubpool, ...]
    """Sorted by name."""
    topology: FleetTopology | None
    queue: str
    shared_queue: str

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Where its work may run, the first by default."""
        return self.declared.spec.spec.namespaces or (self.backend.namespace,)

    @property
    def nodes(self) -> Nodes:
        """What its pods need of a node."""
        return self.declared.spec.spec.nodes

    @property
    def shard_labels(self) -> dict[str, str]:
        """The label that its queues, PodGroups and pods bear where KAI's scheduler has several shards.

        A shard lists the Nodes, Queues and PodGroups that bear it with its own value (KAI 0.9 to 0.17,
        pkg/scheduler/cache/cluster_info/data_lister/kubernetes_lister.go), the one without a value those that do not
        bear it. The podgrouper copies it from the workload, else from the pod (pkg/podgrouper/pod_controller.go).
        """
        shard = self.declared.spec.spec.nodePool
        return {labels.NODE_POOL: shard} if shard is not None and self.backend.is_kai else {}

    @property
    def guarantee(self) -> int:
        """Guaranteed GPUs; -1: no limit."""
        return self.declared.spec.spec.resources.gpu.guarantee

    @property
    def maximum(self) -> int:
        """The most GPUs; -1: no limit."""
        return self.declared.spec.spec.resources.gpu.maximum

    @property
    def weight(self) -> int:
        """Over-quota weight."""
        return self.declared.spec.spec.resources.gpu.weight

    @cached_property
    def taken(self) -> int:
        """GPUs that the ACTIVE subpools hold."""
        return sum(subpool.quota for subpool in self.subpools)

    @property
    def shared_quota(self) -> int:
        """GPUs that are left to the pool itself, none where its subpools hold too much; -1: no limit."""
        return UNLIMITED if self.guarantee == UNLIMITED else max(0, self.guarantee - self.taken)

    @property
    def is_split(self) -> bool:
        """Whether any subpool has a queue."""
        return any(subpool.state != "ARCHIVED" for subpool in self.subpools)

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels that its workflows may ask for."""
        return self.topology.levels if self.topology else ()


Target = tuple[FleetPool, FleetSubpool | None]
"""A pool, or one of its subpools."""


def priority_of(written: Mapping[str, str]) -> Priority:
    """The priority by the label of a workload or a PodCliqueSet; NORMAL where there is none, or one that is unknown."""
    return next((known for known in PRIORITIES if known == written.get(labels.PRIORITY)), "NORMAL")


class Submission(ABC):
    """What is sent to a queue: a workflow, a workload or a PodCliqueSet."""

    declared: Declared[Any]
    name: str
    pool: FleetPool
    subpool: FleetSubpool | None
    """None: the pool's shadow queue."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Workflow, or the kind of the object."""

    @property
    @abstractmethod
    def priority(self) -> Priority:
        """HIGH, NORMAL or LOW."""

    @property
    @abstractmethod
    def gpus(self) -> Gpus:
        """GPUs that all its pods ask for."""

    @property
    @abstractmethod
    def place(self) -> Location:
        """Where its pool stands."""

    @property
    def own_namespace(self) -> str | None:
        """The namespace that it names itself."""
        return None

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Where it may run, the first by default."""
        return self.subpool.namespaces if self.subpool else self.pool.namespaces

    @property
    def namespace(self) -> str:
        """Where it runs: its own namespace where it may run there."""
        own, allowed = self.own_namespace, self.namespaces
        return own if own in allowed else allowed[0]

    @property
    def kai_labels(self) -> dict[str, str]:
        """The labels by which KAI sends its pods and PodGroups to a queue, and to a shard of the scheduler."""
        found = dict.fromkeys(self.pool.backend.queue_labels, self.queue)
        return found | self.pool.shard_labels

    @property
    def is_preemptible(self) -> bool:
        """Whether it may exceed its quota, and gives way to others."""
        return self.priority == "LOW"

    @property
    def gang(self) -> str | None:
        """The gang that it shares with others; None where its gangs are its own."""
        return None

    @property
    def queue(self) -> str:
        """Name of the leaf queue."""
        return self.subpool.queue if self.subpool else self.pool.shared_queue

    @property
    def quota(self) -> int:
        """GPUs guaranteed to that queue; -1: no limit."""
        return self.subpool.quota if self.subpool else self.pool.shared_quota

    @property
    def target(self) -> str:
        """The pool or pool--subpool, as users name it."""
        return self.subpool.canonical if self.subpool else self.pool.name


@dataclass(frozen=True, slots=True)
class Known:
    """What names can lead to, and the list of those that lead nowhere."""

    backends: tuple[FleetBackend, ...]
    topologies: Mapping[str, FleetTopology]
    """Cluster topologies, and the pools' own."""
    pools: Mapping[str, FleetPool]
    declared_pools: frozenset[str]
    """Those that could not be resolved themselves included."""
    dangling: list[Dangling]

    def target(self, wanted: str, declared: Declared[Any], path: KeyPath) -> Target | None:
        """What ``wanted``, a pool or pool--subpool that stands at ``path``, names; None where it is unknown or could
        not be resolved itself.
        """
        pool_name, separator, short = names.fold(wanted).partition(names.SEPARATOR)
        pool = self.pools.get(pool_name)
        if pool is None:
            if pool_name not in self.declared_pools:
                known = tuple(sorted(self.declared_pools))
                self.dangling.append(Dangling("pool", wanted, known, declared, path))
            return None
        subpool = next((item for item in pool.subpools if item.name == short), None)
        if separator and subpool is None:
            known = tuple(item.canonical for item in pool.subpools)
            self.dangling.append(Dangling("subpool", wanted, known, declared, path, f"pool {pool.name}"))
            return None
        return pool, subpool


def resolve_pools(
    repository: Repository,
    config: ConfigSpec,
    backends: tuple[FleetBackend, ...],
    topologies: dict[str, FleetTopology],
    dangling: list[Dangling],
) -> dict[str, FleetPool]:
    """Pools by name, sorted; those whose backend is unknown are left out. Of two with one name the first counts."""
    pools: dict[str, FleetPool] = {}
    by_parent: dict[str, list[Declared[Subpool]]] = {}
    known = names_of(repository.pools)
    for subpool in repository.subpools:
        parent = subpool.spec.spec.parent
        by_parent.setdefault(parent, []).append(subpool)
        if parent not in known:
            dangling.append(Dangling("parent", parent, tuple(sorted(known)), subpool, ("spec", "parent")))
    for declared in sorted(repository.pools, key=lambda pool: (pool.spec.metadata.name, pool.origin.path)):
        name, spec = declared.spec.metadata.name, declared.spec.spec
        backend = pick_backend(declared, spec.backend, backends, ("spec", "backend"), dangling)
        if backend is None or name in pools:
            continue
        where = (config.queuePrefix, backend.namespace, name)
        subpools: dict[str, FleetSubpool] = {}
        for item in by_parent.get(name, ()):
            short = item.spec.metadata.name
            quota = asked_quota(item.spec.spec.quota, spec.resources.gpu.guarantee)
            within = item.spec.spec.namespaces or spec.namespaces or (backend.namespace,)
            subpools.setdefault(short, FleetSubpool(item, name, short, quota, names.leaf_queue(*where, short), within))
        pools[name] = FleetPool(
            declared=declared,
            name=name,
            backend=backend,
            subpools=tuple(subpools[short] for short in sorted(subpools)),
            topology=pool_topology(declared, backend, names.pool_topology(*where), topologies, dangling),
            queue=names.pool_queue(*where),
            shared_queue=names.leaf_queue(*where, names.SHARED),
        )
    return pools


def asked_quota(quota: int | str, guarantee: int) -> int:
    """GPUs that a subpool's ``quota`` comes to: a number, or a share of the parent's ``guarantee`` such as
    "33%", rounded down. A share of an unlimited parent is 0; check.quota refuses it.
    """
    if isinstance(quota, int):
        return quota
    share = Decimal(quota.removesuffix("%"))
    return int(share * max(guarantee, 0) / 100)
