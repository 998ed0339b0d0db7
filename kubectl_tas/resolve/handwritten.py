"""PodGroups that people wrote by hand: the cluster that each is for, what it consists of, and the Pods beside it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from kubectl_tas.diagnostics import Location
from kubectl_tas.kai import NON_PREEMPTIBLE_FROM, PRIORITY_CLASSES
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.config import ConfigSpec
from kubectl_tas.model.osmo_workflow import PRIORITIES, Priority
from kubectl_tas.model.repository import Declared
from kubectl_tas.quantities import Amounts, total
from kubectl_tas.records import dataclass
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import Dangling, FleetBackend
from kubectl_tas.resolve.companions import namespaces_of
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool, Known, Submission

if TYPE_CHECKING:
    from kubectl_tas.model.manifest import PodGroup, SubGroup, TopologyConstraint
    from kubectl_tas.model.workload_kinds import AnyWorkload, BarePod


@dataclass(frozen=True, slots=True)
class FleetPodGroup:
    """A hand-written PodGroup, and the cluster it is for."""

    declared: Declared[PodGroup]
    backend: FleetBackend
    namespaces: tuple[str, ...]
    """Where work of its queue may run, the first by default; of a queue that is not declared here, all the namespaces
    of its cluster's pools.
    """
    pool: FleetPool | None = None
    """The pool of its queue; None where nothing here declares that."""
    subpool: FleetSubpool | None = None
    """The subpool of its queue; None where it is in the pool's own, or in another one."""
    pods: tuple[Declared[BarePod], ...] = ()
    """The Pods that are declared here and join it."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.declared.spec.metadata.name

    @property
    def namespace(self) -> str:
        """Its own namespace, or the first one where work of its queue runs."""
        return self.declared.spec.metadata.namespace or self.namespaces[0]

    @property
    def sub_groups(self) -> tuple[tuple[SubGroup, KeyPath], ...]:
        """Every SubGroup with its place."""
        written = self.declared.spec.spec.subGroups
        return tuple((item, ("spec", "subGroups", index)) for index, item in enumerate(written))

    @property
    def constraints(self) -> tuple[tuple[TopologyConstraint, KeyPath], ...]:
        """Every constraint with its place: its own, then those of its SubGroups."""
        found: list[tuple[TopologyConstraint | None, KeyPath]]
        found = [(self.declared.spec.spec.topologyConstraint, ("spec",))]
        found += [(item.topologyConstraint, path) for item, path in self.sub_groups]
        return tuple((item, (*path, "topologyConstraint")) for item, path in found if item is not None)


@dataclass(frozen=True)
class SubmittedPodGroup(Submission):
    """A hand-written PodGroup whose queue is declared here, with the Pods beside it."""

    declared: Declared[PodGroup]
    name: str
    pool: FleetPool
    subpool: FleetSubpool | None
    group: FleetPodGroup
    classes: Mapping[str, Priority]
    """The priority that each PriorityClass of the Config stands for."""

    @property
    def kind(self) -> str:
        """PodGroup."""
        return "PodGroup"

    @property
    def priority(self) -> Priority:
        """By its preemptibility, else by its PriorityClass; one that is not known counts as 50, as in KAI."""
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
        """What all its Pods ask for."""
        return total(item.asks for pod in self.group.pods for item in pod.spec.pod_sets)

    @property
    def place(self) -> Location:
        """Where its queue stands."""
        return self.declared.at("spec", "queue")


def submitted_pod_groups(groups: Sequence[FleetPodGroup], config: ConfigSpec) -> tuple[SubmittedPodGroup, ...]:
    """Those that stand with their Pods, and whose queue is declared here."""
    classes: dict[str, Priority] = {getattr(config.priorityClasses, priority): priority for priority in PRIORITIES}
    return tuple(
        SubmittedPodGroup(group.declared, group.name, group.pool, group.subpool, group, classes)
        for group in groups
        if group.pool is not None and group.pods
    )


def joins(workload: AnyWorkload, groups: Container[str]) -> bool:
    """Whether a workload is a Pod of one of the ``groups``, by their names, which the tool does not group itself.

    KAI's podgrouper leaves a Pod alone that nothing owns and that names its PodGroup (0.5 to 0.17, pod_controller.go,
    isOrphanPodWithPodGroup).
    """
    wanted = workload.metadata.annotations.get(labels.POD_GROUP)
    own = (labels.GANG, labels.OWNED)
    return workload.kind == "Pod" and wanted in groups and not any(key in workload.metadata.labels for key in own)


def resolve_pod_group(
    declared: Declared[PodGroup], pods: Sequence[Declared[BarePod]], known: Known
) -> FleetPodGroup | None:
    """A hand-written PodGroup goes where its queue is, else where its namespace is; None where nobody knows. ``pods``
    are those that name it.
    """
    queue, namespace = declared.spec.spec.queue, declared.spec.metadata.namespace
    by_queue = [pool.backend for pool in known.pools.values() if _is_below(queue, pool)]
    by_namespace = [backend for backend in known.backends if namespace in namespaces_of(backend, known)]
    for candidates in (known.backends, by_queue, by_namespace):
        if len({backend.name for backend in candidates}) == 1:
            backend = candidates[0]
            pool, subpool = _owner(queue, backend, known)
            owner = subpool or pool
            namespaces = owner.namespaces if owner else namespaces_of(backend, known)
            return FleetPodGroup(declared, backend, namespaces, pool, subpool, tuple(pods))
    backends = tuple(backend.name for backend in known.backends)
    known.dangling.append(Dangling("backend of a PodGroup", queue, backends, declared, ("spec", "queue")))
    return None


def _is_below(queue: str, pool: FleetPool) -> bool:
    """Whether a queue is one of a pool's leaves, by its name where it may be one that is not declared."""
    leaves = (pool.shared_queue, *(subpool.queue for subpool in pool.subpools))
    return queue in leaves or queue.startswith(pool.queue + names.SEPARATOR)


def _owner(queue: str, backend: FleetBackend, known: Known) -> tuple[FleetPool | None, FleetSubpool | None]:
    """The pool, and the subpool, of a leaf queue of a cluster."""
    for pool in known.pools.values():
        if pool.backend == backend and queue == pool.shared_queue:
            return pool, None
        for subpool in pool.subpools if pool.backend == backend else ():
            if queue == subpool.queue:
                return pool, subpool
    return None, None
