"""Resolves pools and subpools with their quotas, queues and topology, and defines work that users submit to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.diagnostics import Location
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import Gpus
from kubectl_tas.facts.quantities import (
    NO_LIMIT,
    RESOURCES,
    UNLIMITED,
    Amount,
    Amounts,
    ResourceName,
    each,
    share,
    smaller,
    total,
)
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.config import ConfigSpec
from kubectl_tas.model.osmo_workflow import PRIORITIES, Priority
from kubectl_tas.model.platform import Nodes, PodTemplate, ResourceValidation
from kubectl_tas.model.pool_kinds import (
    KeptAmounts,
    MaximumAmounts,
    Pool,
    QuotaAmounts,
    Subpool,
    SubpoolState,
    Weights,
    amount,
)
from kubectl_tas.model.repository import Declared, Repository
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import Dangling, FleetBackend, names_of, pick_backend
from kubectl_tas.resolve.platforms import Platforms, RepositoryTemplates
from kubectl_tas.resolve.topologies import FleetTopology, Level, pool_topology

T = TypeVar("T", bound=PodTemplate | ResourceValidation)

TRANSITIONS: dict[SubpoolState, tuple[SubpoolState, ...]] = {
    "ACTIVE": ("DELETING", "ARCHIVED"),
    "DELETING": ("ARCHIVED",),
    "ARCHIVED": ("ACTIVE",),
}
"""The states that may follow a state of a subpool. An ACTIVE subpool becomes ARCHIVED at once if it has no work, else
it becomes DELETING first.
"""
BEHAVIOUR: dict[SubpoolState, str] = {
    "ACTIVE": "takes work; its quota can be changed and it can be deleted",
    "DELETING": "is frozen until it is empty; then it is archived",
    "ARCHIVED": "is only a record; it can only be recreated",
}
"""The meaning of each state of a subpool, for messages."""


@json_fields(
    "pool name state declaredQuota=declared_quota quota=quota.gpus cpu=quota.cpu memory=quota.memory "
    "queue=current_queue file=declared.origin.path"
)
@dataclass(frozen=True, slots=True)
class FleetSubpool:
    """A guaranteed part of a pool."""

    declared: Declared[Subpool]
    pool: str
    name: str
    """Name of the subpool within the pool."""
    requested: Amounts
    """The written quota as amounts, in any state. No limit if the pool's guarantee of a resource has none."""
    maximum: Amounts
    """The most that the subpool may hold, with its pool's maximum applied."""
    limit: Amounts
    """The limit of the queue, which may exceed the pool's maximum, since KAI enforces both."""
    weight: Amounts
    """Over-quota weights."""
    queue: str
    namespaces: tuple[str, ...]
    """Namespaces for the subpool's work, the first by default: its own list from the pool's, or all of the pool's."""

    @property
    def state(self) -> SubpoolState:
        """ACTIVE, DELETING or ARCHIVED."""
        return self.declared.spec.spec.state

    @property
    def quota(self) -> Amounts:
        """The current quota. Unless the subpool is ACTIVE, it is 0, except for resources without a limit."""
        return (
            self.requested
            if self.state == "ACTIVE"
            else each(lambda name: NO_LIMIT if self.requested.of(name) == NO_LIMIT else 0)
        )

    @property
    def declared_quota(self) -> int | str | dict[str, int | str]:
        """The quota as written: a number of GPUs, a share, or amounts by resource."""
        quota = self.declared.spec.spec.quota
        return quota.model_dump(exclude_unset=True) if isinstance(quota, QuotaAmounts) else quota

    @property
    def current_queue(self) -> str | None:
        """The queue. None if the subpool is ARCHIVED, since its queue is gone."""
        return None if self.state == "ARCHIVED" else self.queue

    @property
    def written(self) -> QuotaAmounts | None:
        """The quota by resource name. None if it is one number or a share."""
        quota = self.declared.spec.spec.quota
        return quota if isinstance(quota, QuotaAmounts) else None

    def quota_path(self, resource: ResourceName) -> KeyPath:
        """Returns the path of the quota of a resource."""
        named = self.written is not None and resource in self.written.model_fields_set
        return ("spec", "quota", resource) if named else ("spec", "quota")

    @property
    def canonical(self) -> str:
        """The name ``pool--subpool``."""
        return f"{self.pool}{names.SEPARATOR}{self.name}"

    def lets_finish(self, kind: str, name: str) -> bool:
        """Whether the work may finish although the subpool takes no new work."""
        if self.state != "DELETING":
            return False
        return work_name(kind, name) in {work_name(*entry.split("/")) for entry in self.declared.spec.spec.draining}


@dataclass(frozen=True, slots=True)
class ChildPool:
    """A pool as a part of its parent."""

    declared: Declared[Pool]

    @property
    def name(self) -> str:
        """Name of the pool."""
        return self.declared.spec.metadata.name

    @property
    def canonical(self) -> str:
        """Name of the pool, which does not contain the parent's name."""
        return self.name

    @property
    def guarantee(self) -> Amounts:
        """The guarantee of the pool."""
        return self.declared.spec.spec.resources.guarantee

    @property
    def quota(self) -> Amounts:
        """The pool's share of its parent's guarantee. 0 for a guarantee without a limit, which check.quota reports."""
        guarantee = self.guarantee
        return each(lambda name: 0 if guarantee.of(name) == NO_LIMIT else guarantee.of(name))

    def quota_path(self, resource: ResourceName) -> KeyPath:
        """Returns the path of the guarantee of a resource."""
        return ("spec", "resources", resource, "guarantee")


Part = FleetSubpool | ChildPool
"""A part of a pool that takes from its guarantee."""


@dataclass(frozen=True, slots=True)
class LeafQueue:
    """A queue that takes work: the shared queue of a pool, or the queue of a subpool."""

    name: str
    """The name pool or pool--subpool, as users write it."""
    queue: str
    declared: Declared[Pool] | Declared[Subpool]
    state: SubpoolState = "ACTIVE"

    @property
    def over_quota(self) -> Mapping[str, KeptAmounts]:
        """The work that may continue although the quota or limit was lowered."""
        return self.declared.spec.spec.overQuota


def work_name(kind: str, name: str) -> str:
    """Returns ``Kind/name`` in the form of ``spec.draining``, with the names of workflows folded."""
    return f"{kind}/{names.fold(name) if kind == 'Workflow' else name}"


@dataclass(frozen=True)
class FleetPool:
    """A pool with its queues and its topology."""

    declared: Declared[Pool]
    name: str
    backend: FleetBackend
    subpools: tuple[FleetSubpool, ...]
    """Subpools, sorted by name."""
    topology: FleetTopology | None
    queue: str
    shared_queue: str
    platforms: Platforms
    parent: FleetPool | None = None
    """The parent pool."""
    children: tuple[ChildPool, ...] = ()
    """Child pools, sorted by name."""

    @property
    def chain(self) -> tuple[FleetPool, ...]:
        """The pool, its parent, and so on up to the top."""
        chain = [self]
        while (parent := chain[-1].parent) is not None:
            chain.append(parent)
        return tuple(chain)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Namespaces for the pool's work, the first by default."""
        return self.declared.spec.spec.namespaces or (self.backend.namespace,)

    @property
    def nodes(self) -> Nodes:
        """Node labels and tolerations for the pods."""
        return self.declared.spec.spec.nodes

    @cached_property
    def node_labels(self) -> dict[str, frozenset[str]]:
        """The labels of every node of the pool, each with its values, by the selectors of pool and platforms."""
        shared = self.nodes.selector
        platform_labels = [{**shared, **platform.chosen} for platform in self.platforms.by_name.values()] or [shared]
        keys = [key for key in platform_labels[0] if all(key in selected for selected in platform_labels)]
        return {key: frozenset(selected[key] for selected in platform_labels) for key in keys}

    @property
    def shard(self) -> str | None:
        """The shard of KAI's scheduler that places the pool's work. None for the shard without a label."""
        return self.shard_labels.get(labels.NODE_POOL)

    @property
    def shard_labels(self) -> dict[str, str]:
        """The label of the pool's queues, PodGroups and pods if KAI's scheduler has several shards.

        A shard lists the Nodes, Queues and PodGroups whose label has its value. The shard without a value lists those
        without the label (KAI 0.9 to 0.17, pkg/scheduler/cache/cluster_info/data_lister/kubernetes_lister.go). The
        podgrouper copies the label from the workload, else from the pod (pkg/podgrouper/pod_controller.go).
        """
        shard = self.declared.spec.spec.nodePool
        return {labels.NODE_POOL: shard} if shard is not None and self.backend.is_kai else {}

    @cached_property
    def guarantee(self) -> Amounts:
        """The guarantee of the pool."""
        return self.declared.spec.spec.resources.guarantee

    @cached_property
    def maximum(self) -> Amounts:
        """The most that the pool may hold, with the maximum of its parent applied."""
        own_maximum = self.own_maximum
        return smaller(own_maximum, self.parent.maximum) if self.parent else own_maximum

    @property
    def own_maximum(self) -> Amounts:
        """The maximum that the pool itself declares."""
        return self.declared.spec.spec.resources.maximum

    def bounded_by(self, resource: ResourceName) -> FleetPool:
        """Returns the pool in the chain with the lowest own maximum, the nearest of several. KAI checks the limit of
        each queue from the leaf up (0.6 to 0.17, capacity_policy/max_allowed_check.go of its proportion plugin).
        """
        return min(self.chain, key=lambda pool: pool.own_maximum.of(resource))

    @cached_property
    def weight(self) -> Amounts:
        """Over-quota weights."""
        return self.declared.spec.spec.resources.weight

    @property
    def finite(self) -> tuple[ResourceName, ...]:
        """The resources with a limited guarantee, which subpools and child pools divide."""
        return tuple(name for name in RESOURCES if self.guarantee.of(name) != NO_LIMIT)

    @cached_property
    def active(self) -> tuple[FleetSubpool, ...]:
        """The ACTIVE subpools."""
        return tuple(subpool for subpool in self.subpools if subpool.state == "ACTIVE")

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts that take from the guarantee: the ACTIVE subpools and the child pools."""
        return (*self.active, *self.children)

    @property
    def parts_are(self) -> str:
        """The kinds of parts that take from the guarantee, in words."""
        has_subpools = any(subpool.state != "ARCHIVED" for subpool in self.subpools)
        kinds = (("subpools", has_subpools), ("child pools", self.children))
        return " and ".join(kind for kind, is_present in kinds if is_present)

    @cached_property
    def taken(self) -> Amounts:
        """The sum of the parts' quotas."""
        return total(part.quota for part in self.parts)

    @cached_property
    def shared_quota(self) -> Amounts:
        """The guarantee that is left for the shared queue. 0 if the parts take too much."""
        remaining = self.guarantee - self.taken
        return each(lambda name: max(0, remaining.of(name)))

    @property
    def is_split(self) -> bool:
        """Whether the pool has child pools, or subpools that are not ARCHIVED."""
        return bool(self.parts_are)

    @property
    def queues(self) -> tuple[str, ...]:
        """All queues of the pool, starting with the container."""
        live = (subpool.queue for subpool in self.subpools if subpool.state != "ARCHIVED")
        return self.queue, self.shared_queue, *live

    @property
    def leaves(self) -> tuple[LeafQueue, ...]:
        """The shared queue of the pool, and the queues of its subpools."""
        subpool_leaves = (LeafQueue(each.canonical, each.queue, each.declared, each.state) for each in self.subpools)
        return LeafQueue(self.name, self.shared_queue, self.declared), *subpool_leaves

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels that workflows may request."""
        return self.topology.levels if self.topology else ()


Target = tuple[FleetPool, FleetSubpool | None]
"""A pool, or one of its subpools."""


@json_fields("kind name pool=target priority gpus")
class Submission(ABC):
    """Work that users submit to a queue: a workflow, a workload or a PodCliqueSet."""

    declared: Declared[Any]
    name: str
    """The name of the work."""
    pool: FleetPool
    subpool: FleetSubpool | None
    """The subpool. None: the pool's shared queue."""

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
    def asks(self) -> Amounts:
        """The request of all pods."""

    @property
    def gpus(self) -> Gpus:
        """GPUs that all pods request."""
        return self.asks.gpu

    @property
    @abstractmethod
    def place(self) -> Location:
        """The place of the pool's name."""

    @property
    def used_platforms(self) -> tuple[str, ...]:
        """The platforms of the pool on which tasks run."""
        return ()

    @property
    def objects(self) -> int:
        """The least number of objects that are applied for the work."""
        return 1

    @property
    def own_namespace(self) -> str | None:
        """The namespace that the work itself names."""
        return None

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Allowed namespaces, the first by default."""
        return self.subpool.namespaces if self.subpool else self.pool.namespaces

    @property
    def namespace(self) -> str:
        """The namespace of the work: its own if allowed, else the first allowed one."""
        namespace, allowed = self.own_namespace, self.namespaces
        return namespace if namespace in allowed else allowed[0]

    @property
    def kai_labels(self) -> dict[str, str]:
        """The labels by which KAI assigns pods and PodGroups to a queue, and to a shard of the scheduler."""
        return dict.fromkeys(self.pool.backend.queue_labels, self.queue) | self.pool.shard_labels

    @property
    def is_preemptible(self) -> bool:
        """Whether the work may exceed its quota, and KAI may evict it."""
        return self.priority == "LOW"

    @property
    def gang(self) -> str | None:
        """The gang that the work shares with other work. None if it shares none."""
        return None

    @property
    def queue(self) -> str:
        """Name of the leaf queue."""
        return self.subpool.queue if self.subpool else self.pool.shared_queue

    @property
    def quota(self) -> Amounts:
        """The quota of the leaf queue."""
        return self.subpool.quota if self.subpool else self.pool.shared_quota

    @property
    def maximum(self) -> Amounts:
        """The most that the leaf queue may hold."""
        return self.subpool.maximum if self.subpool else self.pool.maximum

    @property
    def is_draining(self) -> bool:
        """Whether the subpool is DELETING and the work may finish."""
        return self.subpool is not None and self.subpool.lets_finish(self.kind, self.name)

    @property
    def over_quota(self) -> Declared[Pool] | Declared[Subpool]:
        """The document whose ``spec.overQuota`` may list the work: that of its subpool, else of its pool."""
        return (self.subpool or self.pool).declared

    @property
    def over_quota_key(self) -> str | None:
        """The key of the work in that ``spec.overQuota``. None if absent."""
        listed = self.over_quota.spec.spec.overQuota
        name_of_work = work_name(self.kind, self.name) if listed else ""
        return next((name for name in listed if work_name(*name.split("/")) == name_of_work), None)

    @property
    def target(self) -> str:
        """The name pool or pool--subpool, as users write it."""
        return self.subpool.canonical if self.subpool else self.pool.name


class LabelledSubmission(Submission):
    """An object with its pool and its priority in labels: a workload or a PodCliqueSet."""

    @property
    def kind(self) -> str:
        """Kind of the object."""
        return str(self.declared.spec.kind)

    @property
    def own_namespace(self) -> str | None:
        """The namespace that the object itself names."""
        namespace: str | None = self.declared.spec.metadata.namespace
        return namespace

    @property
    def priority(self) -> Priority:
        """The priority in the label. NORMAL if the label is absent or unknown."""
        label = self.declared.spec.metadata.labels.get(labels.PRIORITY)
        return PRIORITIES[PRIORITIES.index(label)] if label in PRIORITIES else "NORMAL"

    @property
    def place(self) -> Location:
        """The place of the pool's name."""
        return self.declared.at("metadata", "labels", labels.POOL)


@dataclass(frozen=True, slots=True)
class Declarations:
    """The objects that names can refer to, and the list of dangling names."""

    backends: tuple[FleetBackend, ...]
    topologies: Mapping[str, FleetTopology]
    """Cluster topologies, and the pools' own topologies."""
    pools: Mapping[str, FleetPool]
    declared_pools: frozenset[str]
    """Names of all declared pools, resolved or not."""
    dangling: list[Dangling]

    def target(self, name: str, declared: Declared[Any], path: KeyPath) -> Target | None:
        """Returns the pool and subpool that ``name`` at ``path`` means. None if unknown or not resolved."""
        pool_name, separator, short = names.fold(name).partition(names.SEPARATOR)
        pool = self.pools.get(pool_name)
        if pool is None:
            if pool_name not in self.declared_pools:
                known_names = tuple(sorted(self.declared_pools))
                self.dangling.append(Dangling("pool", name, known_names, declared, path))
            return None
        subpool = next((subpool for subpool in pool.subpools if subpool.name == short), None)
        if separator and subpool is None:
            known_names = tuple(subpool.canonical for subpool in pool.subpools)
            self.dangling.append(Dangling("subpool", name, known_names, declared, path, f"pool {pool.name}"))
            return None
        return pool, subpool


def resolve_pools(
    repository: Repository,
    config: ConfigSpec,
    backends: tuple[FleetBackend, ...],
    topologies: dict[str, FleetTopology],
    dangling: list[Dangling],
) -> dict[str, FleetPool]:
    """Returns pools by name, sorted. Pools with an unknown backend are left out. Of two with the same name, the first
    counts. An invalid parent, which check.pool_settings reports, counts as none.
    """
    pools: dict[str, FleetPool] = {}
    by_parent: dict[str, list[Declared[Subpool]]] = {}
    pool_names = names_of(repository.pools)
    shared = RepositoryTemplates(
        _first_of_each_name(repository.pod_templates), _first_of_each_name(repository.resource_validations), dangling
    )
    for subpool in repository.subpools:
        parent = subpool.spec.spec.parent
        by_parent.setdefault(parent, []).append(subpool)
        if parent not in pool_names and subpool.spec.spec.state != "ARCHIVED":  # a record stays, its pool may go
            dangling.append(Dangling("parent", parent, tuple(sorted(pool_names)), subpool, ("spec", "parent")))
    connected_pools = _connected_pools(repository, backends, dangling)
    children: dict[str, list[ChildPool]] = {}
    for connected in connected_pools:
        if connected.parent is not None:
            children.setdefault(connected.parent, []).append(ChildPool(connected.declared))
    for connected in connected_pools:
        declared, backend, name = connected.declared, connected.backend, connected.declared.spec.metadata.name
        spec = declared.spec.spec
        where = (config.queuePrefix, backend.namespace, name)
        subpools: dict[str, FleetSubpool] = {}
        parent_pool = pools[connected.parent] if connected.parent is not None else None
        most = smaller(spec.resources.maximum, parent_pool.maximum if parent_pool else UNLIMITED)
        for subpool_document in by_parent.get(name, ()):
            short = subpool_document.spec.metadata.name
            subpools.setdefault(short, _subpool(subpool_document, declared.spec, most, where))
        pools[name] = FleetPool(
            declared=declared,
            name=name,
            backend=backend,
            subpools=tuple(subpools[short] for short in sorted(subpools)),
            topology=pool_topology(declared, backend, names.pool_topology(*where), topologies, dangling),
            queue=spec.queue.name or names.pool_queue(*where),
            shared_queue=spec.sharedQueue.name or names.leaf_queue(*where, names.SHARED),
            platforms=shared.platforms(declared),
            parent=parent_pool,
            children=tuple(children.get(name, ())),
        )
    return {name: pools[name] for name in sorted(pools)}


def _first_of_each_name(declared: Iterable[Declared[T]]) -> dict[str, Declared[T]]:
    """Returns documents by name. The first of each name counts."""
    by_name: dict[str, Declared[T]] = {}
    for document in declared:
        by_name.setdefault(document.spec.metadata.name, document)
    return by_name


@dataclass(frozen=True, slots=True)
class _ConnectedPool:
    """A pool with its cluster and its parent."""

    declared: Declared[Pool]
    backend: FleetBackend
    parent: str | None


def _connected_pools(
    repository: Repository, backends: tuple[FleetBackend, ...], dangling: list[Dangling]
) -> list[_ConnectedPool]:
    """Returns the pools with a known backend, parents before their children, siblings by name."""
    declared: dict[str, Declared[Pool]] = {}
    for pool in sorted(repository.pools, key=lambda pool: (pool.spec.metadata.name, pool.origin.path)):
        declared.setdefault(pool.spec.metadata.name, pool)
    circular = {name for circle in circles(declared) for name in circle}
    pool_names, below = tuple(declared), dict[str | None, list[str]]()
    for name, pool in declared.items():
        parent = pool.spec.spec.parent
        if parent is not None and parent not in declared:
            dangling.append(Dangling("parent", parent, pool_names, pool, ("spec", "parent")))
        below.setdefault(parent if parent in declared and name not in circular else None, []).append(name)
    connected: dict[str, _ConnectedPool] = {}
    pending: list[tuple[str, str | None]] = [(name, None) for name in reversed(below.get(None, ()))]
    while pending:
        name, parent = pending.pop()
        pending += ((child, name) for child in reversed(below.get(name, ())))
        pool, upper = declared[name], connected.get(parent) if parent is not None else None
        spec = pool.spec.spec
        if upper is None and spec.parent is not None and spec.backend is None and len(backends) > 1:
            continue  # its parent has a finding
        backend_name = upper.backend.name if upper and spec.backend is None else spec.backend
        backend = pick_backend(pool, backend_name, backends, ("spec", "backend"), dangling)
        if backend is not None:
            connected[name] = _ConnectedPool(pool, backend, parent if upper and upper.backend == backend else None)
    return list(connected.values())


def circles(pools: Mapping[str, Declared[Pool]]) -> list[tuple[str, ...]]:
    """Returns cycles of pools, by name. The parent of each pool follows it, and the last one's parent is the first."""
    return circles_of({name: declared.spec.spec.parent for name, declared in pools.items()})


def circles_of(parents: Mapping[str, str | None]) -> list[tuple[str, ...]]:
    """Returns cycles in a mapping from names to their parents."""
    circles: list[tuple[str, ...]] = []
    seen: dict[str, str] = {}
    for start in sorted(parents):
        chain: list[str] = []
        name: str | None = start
        while name is not None and name in parents and name not in seen:
            seen[name] = start
            chain.append(name)
            name = parents[name]
        if name is not None and seen.get(name) == start:
            circles.append(tuple(chain[chain.index(name) :]))
    return circles


def _subpool(declared: Declared[Subpool], pool: Pool, most: Amounts, where: tuple[str, str, str]) -> FleetSubpool:
    """Resolves a subpool. ``most`` is the maximum of the pool. ``where`` has the queue prefix, the backend's namespace
    and the pool's name.
    """
    spec, whole = declared.spec.spec, pool.spec.resources
    namespaces = pool.spec.namespaces or (where[1],)
    limit = most
    if isinstance(spec.maximum, int):
        limit = replace(most, gpu=amount("gpu", spec.maximum))
    elif spec.maximum is not None:
        limit = _with_pool_defaults(spec.maximum, most, amount)
    return FleetSubpool(
        declared=declared,
        pool=pool.metadata.name,
        name=declared.spec.metadata.name,
        requested=requested_quota(spec.quota, whole.guarantee),
        maximum=smaller(limit, most),
        limit=limit,
        weight=whole.weight if spec.weight is None else _with_pool_defaults(spec.weight, whole.weight),
        queue=spec.queue.name or names.leaf_queue(*where, declared.spec.metadata.name),
        namespaces=tuple(name for name in spec.namespaces if name in namespaces) or namespaces,
    )


def requested_quota(quota: int | str | QuotaAmounts, guarantee: Amounts) -> Amounts:
    """Converts a subpool's ``quota`` to amounts: GPUs, a share of the parent's ``guarantee`` such as "33%", or each
    resource by name. If the guarantee of cpu or memory has no limit, neither has the quota. If that of GPUs has none, a
    number of GPUs counts and a share is 0, which check.quota reports.
    """
    match quota:
        case int():
            amounts = Amounts(quota)
        case str():
            amounts = share(quota, guarantee)
        case QuotaAmounts():
            amounts = Amounts(*(_resource_quota(name, getattr(quota, name), guarantee) for name in RESOURCES))
    free = each(lambda name: NO_LIMIT if guarantee.of(name) == NO_LIMIT else amounts.of(name))
    return replace(free, gpu=amounts.gpu)


def _resource_quota(resource: ResourceName, amount_text: int | str, guarantee: Amounts) -> Amount:
    if isinstance(amount_text, str) and amount_text.endswith("%"):
        return share(amount_text, guarantee).of(resource)
    return amount(resource, amount_text)


def _with_pool_defaults(
    amounts: int | MaximumAmounts | Weights,
    pool: Amounts,
    read: Callable[[ResourceName, Any], Amount] = lambda _, number: number,
) -> Amounts:
    """Returns amounts from one number for all resources, or by resource, with the pool's amounts as defaults."""
    if isinstance(amounts, int):
        return each(lambda _: amounts)
    return each(lambda name: pool.of(name) if (own := getattr(amounts, name)) is None else read(name, own))


@dataclass(frozen=True, slots=True)
class Allowed:
    """The groups that may use a pool or subpool."""

    submit: tuple[str, ...] = ()
    """Groups that may submit work. Empty: everybody who may create work."""
    view: tuple[str, ...] = ()
    """Further groups that may view the work."""


def access_to(pool: FleetPool, subpool: FleetSubpool | None = None) -> Allowed:
    """Returns the groups that may use a pool, or one of its subpools: first those of the pools above, then its own,
    without duplicates. In the same way, an OSMO role for pool/team* covers everything below a pool.
    """
    grants = [grant.declared.spec.spec.access for grant in reversed(pool.chain)]
    if subpool is not None:
        grants.append(subpool.declared.spec.spec.access)
    submit = _once(grant.submit for grant in grants)
    return Allowed(submit, tuple(group for group in _once(grant.view for grant in grants) if group not in submit))


def _once(groups_of_levels: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(group for groups in groups_of_levels for group in groups))
