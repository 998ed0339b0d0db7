"""Workloads with every reference followed: their queue, their placements and their segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared
from kubectl_tas.quantities import Amounts, total
from kubectl_tas.records import dataclass
from kubectl_tas.resolve import names
from kubectl_tas.resolve.placement import OF_PODS, ROOT, AnnotationReader, LevelAnnotation, Placement, ReplicaType
from kubectl_tas.resolve.pools import FleetPool, FleetSubpool, Known, LabelledSubmission

if TYPE_CHECKING:
    from kubectl_tas.model.workload_kinds import AnyWorkload

OWNED = "owned"
"""The one value of the label kubectl-tas/podgroup."""
MAX_SEGMENTS = 1000
"""Segments of a workload up to which they are listed and a preview is written."""


@dataclass(frozen=True, eq=False)
class SharedGang:
    """Workloads of one cluster that share a PodGroup."""

    name: str
    workloads: tuple[FleetWorkload, ...]
    """As they are without it."""
    sub_groups: Mapping[tuple[str, str], str]
    """SubGroups: of a workload, by its file name and "", and of its replica types, by its file name and theirs."""


@dataclass(frozen=True)
class FleetWorkload(LabelledSubmission):
    """A workload, and the queue it goes to."""

    declared: Declared[AnyWorkload]
    name: str
    pool: FleetPool
    subpool: FleetSubpool | None
    placement: Placement | None
    """By the annotations of the workload itself."""
    replicas: tuple[ReplicaType, ...]
    """Its replica types, in the order of the file."""
    outside: tuple[ReplicaType, ...]
    """Its pods that are not in its gang."""
    topology_names: tuple[tuple[KeyPath, str], ...]
    """Where the name of the Topology is missing or another one, as a path of the annotation, and the name."""
    levels: tuple[LevelAnnotation, ...]
    """All levels that its annotations name, those of segments that are not made too."""
    shared_gang: SharedGang | None = None
    """The gang that it is in with others; None where it is a gang of its own."""

    @property
    def file_name(self) -> str:
        """What its files are called, however long: unique among workloads of a namespace."""
        return f"{self.kind.lower()}-{self.name}"

    @property
    def labels(self) -> dict[str, str]:
        """The labels that the user wrote."""
        return self.declared.spec.metadata.labels

    @property
    def gang(self) -> str | None:
        """The PodGroup that it shares with other workloads."""
        return self.labels.get(labels.GANG)

    @property
    def is_owned(self) -> bool:
        """Whether the tool writes its PodGroup, and not KAI's PodGrouper."""
        return is_owned(self.declared.spec)

    @property
    def copies(self) -> int:
        """Gangs of this shape: the groups of a LeaderWorkerSet."""
        return self.declared.spec.copies

    @property
    def pods(self) -> int:
        """Pods that run at a time."""
        return self.copies * sum(item.replicas for item in self.replicas)

    @cached_property
    def asks(self) -> Amounts:
        """What all its pods that run at a time ask for."""
        return self.copies * total(item.replicas * item.asks for item in self.templates)

    @property
    def templates(self) -> tuple[ReplicaType, ...]:
        """All that has a pod template."""
        return (*self.replicas, *self.outside)

    @property
    def placements(self) -> tuple[Placement, ...]:
        """All that it asks for: as a whole, of its replica types, and of their segments."""
        found = [self.placement]
        for item in self.templates:
            found += [item.placement, item.segments.placement if item.segments else None]
        return tuple(placement for placement in found if placement is not None)

    @cached_property
    def is_segmented(self) -> bool:
        """Whether any of its replica types has segments."""
        return any(item.segments for item in self.replicas)

    @cached_property
    def lists_segments(self) -> bool:
        """Whether its segments are few enough for people to read."""
        return sum(item.segment_count for item in self.replicas) <= MAX_SEGMENTS

    @property
    def is_divided(self) -> bool:
        """Whether what it says itself divides its gang: into segments, or where the tool writes its PodGroup into
        replica types. KAI divides others too (gangs.podgrouper).
        """
        return self.is_segmented or (self.is_owned and len(self.replicas) > 1)


def resolve_workload(declared: Declared[AnyWorkload], known: Known) -> FleetWorkload | None:
    """The resolved workload; None where it has no pool, or one that could not be resolved."""
    path = ("metadata", "labels", labels.POOL)
    wanted = declared.spec.metadata.labels.get(labels.POOL)
    target = known.target(wanted, declared, path) if wanted else None
    if target is None:
        return None
    pool, subpool = target
    in_gang, outside = replica_types(declared.spec)
    reader = AnnotationReader(declared, pool, known, is_owned=is_owned(declared.spec))
    placement = reader.placement(declared.spec.metadata.annotations, ROOT, OF_PODS)
    replicas = tuple(reader.replicas(item, in_gang=True) for item in in_gang)
    others = tuple(reader.replicas(item, in_gang=False) for item in outside)
    reader.outer = ()
    reader.read_levels_of_no_segments(declared.spec.metadata.annotations, ROOT)
    return FleetWorkload(
        declared=declared,
        name=declared.spec.metadata.name,
        pool=pool,
        subpool=subpool,
        placement=placement,
        replicas=replicas,
        outside=others,
        topology_names=tuple(reader.topology_names.items()),
        levels=tuple(reader.levels.values()),
    )


def replica_types(workload: AnyWorkload) -> tuple[tuple[ReplicaType, ...], tuple[ReplicaType, ...]]:
    """The replica types of a workload, in the order of the file: those of its gang, and those outside of it.

    Pods that come late are in the gang only where the tool writes the PodGroup: KAI's PodGrouper would make a second
    gang of them, which waits for pods that are in the first one.
    """
    pod_sets = workload.pod_sets
    given = names.distinct([(item.name, names.as_label(item.label or item.name)) for item in pod_sets])
    found: tuple[list[ReplicaType], list[ReplicaType]] = ([], [])
    for name, item in zip(given, pod_sets, strict=True):
        types = found[int(item.comes_late and not is_owned(workload))]
        types.append(
            ReplicaType(
                name=name,
                replicas=item.replicas,
                asks=item.asks,
                path=item.path,
                template=item.template,
                indices=item.indices,
                index_label=item.index_label,
                is_leader=item.is_leader,
                metadata_path=item.metadata_path,
                spec_path=item.spec_path,
                is_pod_spec=item.is_pod_spec,
                is_divided=item.name == workload.divided,
                written=item.written.text if item.written else None,
                job=item.job,
                jobs=item.jobs,
            )
        )
    return tuple(found[0]), tuple(found[1])


def join_shared_gangs(workloads: Sequence[FleetWorkload]) -> tuple[FleetWorkload, ...]:
    """The workloads in their order, each with the gang that it shares with others of its cluster."""
    members: dict[tuple[str, str], list[FleetWorkload]] = {}
    for workload in workloads:
        if workload.gang is not None:
            members.setdefault(_gang_key(workload), []).append(workload)
    gangs = {key: SharedGang(key[1], tuple(own), _sub_groups(own)) for key, own in members.items()}
    return tuple(
        replace(item, shared_gang=gangs[_gang_key(item)]) if item.gang is not None else item for item in workloads
    )


def _gang_key(workload: FleetWorkload) -> tuple[str, str]:
    return workload.pool.backend.name, workload.gang or ""


def _sub_groups(workloads: Iterable[FleetWorkload]) -> dict[tuple[str, str], str]:
    """A workload's SubGroup is called like its files; those of its replica types begin with that name."""
    keys: list[tuple[str, str]] = []
    wanted: list[tuple[str, str]] = []
    for workload in workloads:
        own = names.as_label(workload.file_name)
        types = [item.name for item in workload.replicas] if workload.is_divided else []
        keys += [(workload.file_name, ""), *((workload.file_name, name) for name in types)]
        wanted.append((workload.file_name, own))
        wanted += [(f"{workload.file_name}/{name}", names.as_label(f"{own}-{name}")) for name in types]
    return dict(zip(keys, names.distinct(wanted), strict=True))


def is_owned(workload: AnyWorkload) -> bool:
    """Whether a workload's labels ask the tool to write its PodGroup."""
    return labels.GANG in workload.metadata.labels or workload.metadata.labels.get(labels.OWNED) == OWNED
