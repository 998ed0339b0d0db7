"""Resolves hand-written PodGroups: the cluster, the parts and the Pods of each."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.kai import NON_PREEMPTIBLE_FROM, PRIORITY_CLASSES
from kubectl_tas.facts.quantities import Amounts, total
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.config import ConfigSpec
from kubectl_tas.model.osmo_workflow import PRIORITIES, Priority
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import Dangling, FleetBackend
from kubectl_tas.resolve.companions import namespaces_of
from kubectl_tas.resolve.pools import Declarations, FleetPool, FleetSubpool, Submission

if TYPE_CHECKING:
    from kubectl_tas.model.manifest import PodGroup, SubGroup, TopologyConstraint
    from kubectl_tas.model.workloads import Workload


@dataclass(frozen=True, slots=True)
class FleetPodGroup:
    """A hand-written PodGroup with its cluster."""

    declared: Declared[PodGroup]
    backend: FleetBackend
    namespaces: tuple[str, ...]
    """Namespaces for work of the PodGroup's queue, the first by default. If no document declares the queue: all
    namespaces of the cluster's pools.
    """
    pool: FleetPool | None = None
    """The pool of the queue. None if no document declares the queue."""
    subpool: FleetSubpool | None = None
    """The subpool of the queue. None for the pool's shared queue or an unknown queue."""
    pods: tuple[Declared[Workload], ...] = ()
    """The declared Pods that join the PodGroup."""

    @property
    def name(self) -> str:
        """Name of the PodGroup."""
        return self.declared.spec.metadata.name

    @property
    def namespace(self) -> str:
        """The PodGroup's own namespace, or the first namespace for work of its queue."""
        return self.declared.spec.metadata.namespace or self.namespaces[0]

    @property
    def sub_groups(self) -> tuple[tuple[SubGroup, KeyPath], ...]:
        """All SubGroups with their paths."""
        sub_groups = self.declared.spec.spec.subGroups
        return tuple((sub_group, ("spec", "subGroups", index)) for index, sub_group in enumerate(sub_groups))

    @property
    def constraints(self) -> tuple[tuple[TopologyConstraint, KeyPath], ...]:
        """All constraints with their paths: first the PodGroup's, then those of its SubGroups."""
        constraints: list[tuple[TopologyConstraint | None, KeyPath]]
        constraints = [(self.declared.spec.spec.topologyConstraint, ("spec",))]
        constraints += [(item.topologyConstraint, path) for item, path in self.sub_groups]
        return tuple((item, (*path, "topologyConstraint")) for item, path in constraints if item is not None)


@dataclass(frozen=True)
class SubmittedPodGroup(Submission):
    """A hand-written PodGroup with declared Pods and a declared queue."""

    declared: Declared[PodGroup]
    name: str
    pool: FleetPool
    subpool: FleetSubpool | None
    group: FleetPodGroup
    classes: Mapping[str, Priority]
    """The priority for each PriorityClass of the Config."""

    @property
    def kind(self) -> str:
        """PodGroup."""
        return "PodGroup"

    @property
    def priority(self) -> Priority:
        """The priority by preemptibility, else by PriorityClass. An unknown class counts as 50, as in KAI."""
        spec = self.declared.spec.spec
        by_class = self.classes.get(spec.priorityClassName or "")
        if by_class is None:
            value = PRIORITY_CLASSES.get(spec.priorityClassName or "", 0)
            by_class = "NORMAL" if value >= NON_PREEMPTIBLE_FROM else "LOW"
        if spec.preemptibility is None:
            return by_class
        if spec.preemptibility == "preemptible":
            return "LOW"
        return "NORMAL" if by_class == "LOW" else by_class

    @cached_property
    def asks(self) -> Amounts:
        """The request of all Pods."""
        return total(pod_set.asks for pod in self.group.pods for pod_set in pod.spec.pod_sets)

    @property
    def place(self) -> Location:
        """The place of the queue's name."""
        return self.declared.at("spec", "queue")


def submitted_pod_groups(groups: Sequence[FleetPodGroup], config: ConfigSpec) -> tuple[SubmittedPodGroup, ...]:
    """Returns the PodGroups that have declared Pods and a declared queue."""
    classes: dict[str, Priority] = {getattr(config.priorityClasses, priority): priority for priority in PRIORITIES}
    return tuple(
        SubmittedPodGroup(group.declared, group.name, group.pool, group.subpool, group, classes)
        for group in groups
        if group.pool is not None and group.pods
    )


def joins(workload: Workload, groups: Container[str]) -> bool:
    """Whether a workload is a Pod that joins one of the named ``groups``, and that the tool does not group itself.

    KAI's podgrouper ignores a Pod that has no owner and names its PodGroup (0.5 to 0.17, pod_controller.go,
    isOrphanPodWithPodGroup).
    """
    pod_group_name = workload.metadata.annotations.get(labels.POD_GROUP)
    is_grouped_here = not workload.metadata.labels.keys().isdisjoint((labels.GANG, labels.OWNED))
    return workload.kind == "Pod" and pod_group_name in groups and not is_grouped_here


def resolve_pod_group(
    declared: Declared[PodGroup], pods: Sequence[Declared[Workload]], declarations: Declarations
) -> FleetPodGroup | None:
    """Finds the cluster of a hand-written PodGroup by its queue, else by its namespace. None if unknown. ``pods`` are
    the Pods that name the PodGroup.
    """
    queue, namespace = declared.spec.spec.queue, declared.spec.metadata.namespace
    by_queue = [pool.backend for pool in declarations.pools.values() if _is_below(queue, pool)]
    by_namespace = [backend for backend in declarations.backends if namespace in namespaces_of(backend, declarations)]
    for candidates in (declarations.backends, by_queue, by_namespace):
        if len({backend.name for backend in candidates}) == 1:
            backend = candidates[0]
            pool, subpool = _owner(queue, backend, declarations)
            owner = subpool or pool
            namespaces = owner.namespaces if owner else namespaces_of(backend, declarations)
            return FleetPodGroup(declared, backend, namespaces, pool, subpool, tuple(pods))
    backends = tuple(backend.name for backend in declarations.backends)
    declarations.dangling.append(Dangling("backend of a PodGroup", queue, backends, declared, ("spec", "queue")))
    return None


def _is_below(queue: str, pool: FleetPool) -> bool:
    """Whether a queue is the pool's, or a leaf of it. An undeclared queue is a leaf if its name starts like those."""
    leaves = (pool.queue, pool.shared_queue, *(subpool.queue for subpool in pool.subpools))
    return queue in leaves or queue.startswith(pool.queue + names.SEPARATOR)


def _owner(
    queue: str, backend: FleetBackend, declarations: Declarations
) -> tuple[FleetPool | None, FleetSubpool | None]:
    """Returns the pool, and the subpool if any, of a leaf queue of a cluster."""
    for pool in declarations.pools.values():
        if pool.backend == backend and queue == pool.shared_queue:
            return pool, None
        for subpool in pool.subpools if pool.backend == backend else ():
            if queue == subpool.queue:
                return pool, subpool
    return None, None
