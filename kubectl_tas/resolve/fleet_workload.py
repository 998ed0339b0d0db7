"""Resolves workloads to their queue, their placements and their segments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, TypeVar

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.quantities import Amounts, total
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.podsets import PodSet
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.placement import OF_PODS, ROOT, AnnotationReader, LevelAnnotation, Placement, ReplicaType
from kubectl_tas.resolve.pools import Declarations, FleetPool, FleetSubpool, LabelledSubmission

if TYPE_CHECKING:
    from kubectl_tas.model.workloads import Workload

T = TypeVar("T")
OWNED = "owned"
"""The only value of the label kubectl-tas/podgroup."""
MAX_SEGMENTS = 1000
"""The most segments of a workload that the tool lists and writes a preview for."""


@dataclass(frozen=True, eq=False)
class SharedGang:
    """Workloads of one cluster that share a PodGroup."""

    name: str
    workloads: tuple[FleetWorkload, ...]
    """The workloads, without their reference to this gang."""
    sub_groups: Mapping[tuple[str, str], str]
    """Names of SubGroups, by a workload's file name and a replica type. "" stands for the whole workload."""


@dataclass(frozen=True)
class FleetWorkload(LabelledSubmission):
    """A workload with its queue."""

    declared: Declared[Workload]
    name: str
    pool: FleetPool
    subpool: FleetSubpool | None
    placement: Placement | None
    """The placement from the annotations of the workload itself."""
    replicas: tuple[ReplicaType, ...]
    """The replica types in the gang, in the order of the file."""
    outside: tuple[ReplicaType, ...]
    """The replica types outside of the gang."""
    topology_names: tuple[tuple[KeyPath, str], ...]
    """Paths of annotations that need another Topology name, because theirs is absent or different, with that name."""
    levels: tuple[LevelAnnotation, ...]
    """All levels in the annotations, including levels of segments that do not exist."""
    autoscaled: int | None = None
    """The number of groups that an autoscaler may make. None: the file says the number."""
    shared_gang: SharedGang | None = None
    """The gang that the workload shares with others. None if its gang is its own."""

    @property
    def file_name(self) -> str:
        """The stem of the workload's file names, of any length: unique among workloads of a namespace."""
        return f"{self.kind.lower()}-{self.name}"

    @property
    def labels(self) -> dict[str, str]:
        """The labels that the user wrote."""
        return self.declared.spec.metadata.labels

    @property
    def gang(self) -> str | None:
        """The PodGroup that the workload shares with others."""
        return self.labels.get(labels.GANG)

    @cached_property
    def is_owned(self) -> bool:
        """Whether the tool writes the PodGroup, and not KAI's podgrouper."""
        return is_owned(self.declared.spec)

    @property
    def is_scaled_alone(self) -> bool:
        """Whether KAI places each replica by itself, so that an autoscaler may make any number of them."""
        return self.declared.spec.page.growth.scaled_alone

    @property
    def copies(self) -> int:
        """The number of gangs with this shape: the groups of a LeaderWorkerSet."""
        return self.declared.spec.copies if self.autoscaled is None else self.autoscaled

    @property
    def pods(self) -> int:
        """The number of pods that run at the same time."""
        return self.copies * sum(replica_type.replicas for replica_type in self.replicas)

    @cached_property
    def asks(self) -> Amounts:
        """The request of all pods that run at the same time."""
        return self.copies * total(replica_type.replicas * replica_type.asks for replica_type in self.templates)

    @property
    def templates(self) -> tuple[ReplicaType, ...]:
        """All replica types, in the gang and outside."""
        return (*self.replicas, *self.outside)

    @property
    def placements(self) -> tuple[Placement, ...]:
        """All requested placements: of the workload, of its replica types, and of their segments."""
        placements = [self.placement]
        for replica_type in self.templates:
            placements += [replica_type.placement, replica_type.segments.placement if replica_type.segments else None]
        return tuple(placement for placement in placements if placement is not None)

    @cached_property
    def is_segmented(self) -> bool:
        """Whether any replica type has segments."""
        return any(replica_type.segments for replica_type in self.replicas)

    @cached_property
    def lists_segments(self) -> bool:
        """Whether the segments are few enough for people to read."""
        return sum(replica_type.segment_count for replica_type in self.replicas) <= MAX_SEGMENTS

    @property
    def is_divided(self) -> bool:
        """Whether the workload itself divides its gang: into segments, or into replica types if the tool writes its
        PodGroup. KAI divides other workloads too (gangs.podgrouper).
        """
        return self.is_segmented or (self.is_owned and len(self.replicas) > 1)


def fact(function: Callable[[FleetWorkload], T]) -> Callable[[FleetWorkload], T]:
    """Decorates a function that says something about a workload: many rules ask, and it is computed once."""
    key = f"{function.__module__}.{function.__name__}"

    @wraps(function)
    def recall(workload: FleetWorkload) -> T:
        facts = workload.__dict__
        if key not in facts:
            facts[key] = function(workload)
        return facts[key]  # type: ignore[no-any-return]

    return recall


def resolve_workload(declared: Declared[Workload], declarations: Declarations) -> FleetWorkload | None:
    """Returns the resolved workload. None if its pool is absent, unknown or not resolved."""
    path = ("metadata", "labels", labels.POOL)
    pool_name = declared.spec.metadata.labels.get(labels.POOL)
    target = declarations.target(pool_name, declared, path) if pool_name else None
    if target is None:
        return None
    pool, subpool = target
    in_gang, outside = replica_types(declared.spec)
    reader = AnnotationReader(declared, pool, declarations, is_owned=is_owned(declared.spec))
    placement = reader.placement(declared.spec.metadata.annotations, ROOT, OF_PODS)
    replicas = tuple(reader.replicas(replica_type, in_gang=True) for replica_type in in_gang)
    outside_types = tuple(reader.replicas(replica_type, in_gang=False) for replica_type in outside)
    reader.outer = ()
    reader.read_levels_of_no_segments(declared.spec.metadata.annotations, ROOT)
    return FleetWorkload(
        declared=declared,
        name=declared.spec.metadata.name,
        pool=pool,
        subpool=subpool,
        placement=placement,
        replicas=replicas,
        outside=outside_types,
        topology_names=tuple(reader.topology_names.items()),
        levels=tuple(reader.levels.values()),
    )


def replica_types(workload: Workload) -> tuple[tuple[ReplicaType, ...], tuple[ReplicaType, ...]]:
    """Returns the replica types in the gang of a workload, and those outside, in the order of the file.

    Pods that start late are in the gang only if the tool writes the PodGroup. KAI's podgrouper would make a second gang
    of them, which waits for pods of the first gang.
    """
    pod_sets = workload.pod_sets
    type_names = names.distinct([(pod_set.name, names.as_label(pod_set.label or pod_set.name)) for pod_set in pod_sets])
    types_in_and_outside: tuple[list[ReplicaType], list[ReplicaType]] = ([], [])
    for name, pod_set in zip(type_names, pod_sets, strict=True):
        types = types_in_and_outside[int(pod_set.comes_late and not is_owned(workload))]
        shared = {each.name: getattr(pod_set, each.name) for each in fields(PodSet)}
        written = pod_set.given_name.text if pod_set.given_name else None
        is_divided = pod_set.name == workload.page.gang.divided
        types.append(ReplicaType(**{**shared, "name": name}, is_divided=is_divided, written=written))
    return tuple(types_in_and_outside[0]), tuple(types_in_and_outside[1])


def join_shared_gangs(workloads: Sequence[FleetWorkload]) -> tuple[FleetWorkload, ...]:
    """Returns the workloads in the same order, each with the gang that it shares with others of its cluster."""
    keys = [(workload.pool.backend.name, workload.gang) for workload in workloads]
    members: dict[tuple[str, str | None], list[FleetWorkload]] = {}
    for key, workload in zip(keys, workloads, strict=True):
        members.setdefault(key, []).append(workload)
    named = ((key, key[1], of_gang) for key, of_gang in members.items())
    gangs = {key: SharedGang(name, tuple(x), _sub_groups(x)) if name is not None else None for key, name, x in named}
    return tuple(
        replace(workload, shared_gang=gangs[key]) if gangs[key] else workload
        for key, workload in zip(keys, workloads, strict=True)
    )


def _sub_groups(workloads: Iterable[FleetWorkload]) -> dict[tuple[str, str], str]:
    """Names SubGroups. A workload's has its file name, and those of its replica types start with that name."""
    keys: list[tuple[str, str]] = []
    preferred_names: list[tuple[str, str]] = []
    for workload in workloads:
        workload_label = names.as_label(workload.file_name)
        type_names = [replica_type.name for replica_type in workload.replicas] if workload.is_divided else []
        keys += [(workload.file_name, ""), *((workload.file_name, name) for name in type_names)]
        preferred_names.append((workload.file_name, workload_label))
        preferred_names += [(f"{workload.file_name}/{x}", names.as_label(f"{workload_label}-{x}")) for x in type_names]
    return dict(zip(keys, names.distinct(preferred_names), strict=True))


def is_owned(workload: Workload) -> bool:
    """Whether the labels of a workload request that the tool writes its PodGroup."""
    return labels.GANG in workload.metadata.labels or workload.metadata.labels.get(labels.OWNED) == OWNED
