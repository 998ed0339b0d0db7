"""Workloads with every reference followed: their queue, their placements and their segments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from kubectl_tas.diagnostics import Location
from kubectl_tas.kai import Feature
from kubectl_tas.model import labels
from kubectl_tas.model.repository import Declared, KeyPath
from kubectl_tas.model.workflow import Priority
from kubectl_tas.model.workload import AnyWorkload
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import FleetPool, FleetSubpool
from kubectl_tas.resolve.placement import Asked, FleetReplicas, Placement, merged
from kubectl_tas.resolve.replicas import Shape
from kubectl_tas.resolve.segments import waited_for, worker_segment
from kubectl_tas.resolve.submission import Submission

PRIORITIES: dict[str, Priority] = {"HIGH": "HIGH", "NORMAL": "NORMAL", "LOW": "LOW"}
OWNED = "owned"
"""The one value of the label kubectl-tas/podgroup."""
SEGMENTED_KINDS = ("PyTorchJob", "LeaderWorkerSet")
"""The kinds that KAI's own PodGrouper divides into segments."""
KAI_SUBGROUP_KINDS = SEGMENTED_KINDS
"""The kinds whose replica types KAI's own PodGrouper makes SubGroups of."""
PREDICTED_KINDS = ("Job", "PyTorchJob", "TFJob", "XGBoostJob", "JAXJob", "MPIJob", "LeaderWorkerSet")
"""The kinds whose PodGroup is predicted."""
MAX_SEGMENTS = 1000
"""Segments of a workload up to which they are listed and a preview is written."""


@dataclass(frozen=True, slots=True)
class Together:
    """Workloads that start together."""

    gpus: int = 0
    """GPUs of all pods that run at a time."""
    largest: int = 0
    """GPUs of the pods that must start together."""
    is_one_gang: bool = True
    """Whether nothing of them runs before all of it can."""


@dataclass(frozen=True, eq=False)
class JointGang:
    """Workloads that share a PodGroup."""

    name: str
    workloads: tuple[FleetWorkload, ...]
    """Those of one cluster, as they are alone."""
    names: Mapping[tuple[str, str], str]
    """SubGroups: of a workload, by its file name and "", and of its replica types, by its file name and theirs."""

    @cached_property
    def together(self) -> Mapping[tuple[str, Priority], Together]:
        """Its workloads by queue and priority: those in another queue cannot be in it."""
        found: dict[tuple[str, Priority], Together] = {}
        for item in self.workloads:
            sum_, own = found.get(item.lane, Together()), item.alone
            one = sum_.is_one_gang and own.is_one_gang
            found[item.lane] = Together(sum_.gpus + own.gpus, sum_.largest + own.largest, one)
        return found


@dataclass(frozen=True)
class FleetWorkload(Submission):
    """A workload, and the queue it goes to."""

    declared: Declared[AnyWorkload]
    name: str
    pool: FleetPool
    subpool: FleetSubpool | None
    shape: Shape
    placement: Placement | None
    """By the annotations of the workload itself."""
    replicas: tuple[FleetReplicas, ...]
    """Its replica types, in the order of the file."""
    beside: tuple[FleetReplicas, ...]
    """Its pods that are no part of its gang."""
    fill: tuple[tuple[KeyPath, str], ...]
    """Where the name of the Topology is missing or another one, as a path of the annotation, and the name."""
    unread: tuple[Asked, ...]
    """Levels of segments that are ignored."""
    joint: JointGang | None = None
    """The gang that it is in with others; None where it is a gang of its own."""

    @property
    def kind(self) -> str:
        """Kind of the object."""
        return self.declared.spec.kind

    @property
    def file_name(self) -> str:
        """What its files are called, however long: unique among workloads of a namespace."""
        return f"{self.kind.lower()}-{self.name}"

    @property
    def labels(self) -> dict[str, str]:
        """The labels that the user wrote."""
        return self.declared.spec.metadata.labels

    @property
    def priority(self) -> Priority:
        """By its label; NORMAL where there is none."""
        return PRIORITIES.get(self.labels.get(labels.PRIORITY, ""), "NORMAL")

    @property
    def gang(self) -> str | None:
        """The PodGroup that it shares with other workloads."""
        return self.labels.get(labels.GANG)

    @property
    def is_owned(self) -> bool:
        """Whether the tool writes its PodGroup, and not KAI's PodGrouper."""
        return is_owned(self.declared.spec)

    @property
    def pod_group(self) -> str:
        """Name of its PodGroup, or what KAI's PodGrouper lets it begin with."""
        if self.is_owned:
            return self.gang or names.as_label(self.file_name)
        return names.shorten(f"pg-{self.name}", names.MAX_NAME)

    @property
    def place(self) -> Location:
        """Where its pool stands."""
        return self.declared.at("metadata", "labels", labels.POOL)

    @property
    def pods(self) -> int:
        """Pods that run at a time."""
        return self.shape.copies * sum(item.type.replicas for item in self.replicas)

    @cached_property
    def gpus(self) -> int:
        """GPUs of all its pods that run at a time."""
        return self.shape.copies * sum(item.type.replicas * item.type.gpus for item in self.templates)

    @property
    def templates(self) -> tuple[FleetReplicas, ...]:
        """All that has a pod template."""
        return (*self.replicas, *self.beside)

    @property
    def placements(self) -> tuple[Placement, ...]:
        """All that it asks for: as a whole, of its replica types, and of their segments."""
        found = [self.placement]
        for item in self.templates:
            found += [item.placement, item.segments.placement if item.segments else None]
        return tuple(placement for placement in found if placement is not None)

    @cached_property
    def merged(self) -> tuple[Placement | None, tuple[Asked, ...]]:
        """Where all its pods are of one template and no SubGroup parts them: what it asks for as a whole and what the
        template asks for, in one, and the levels that are lost by it.
        """
        if self.has_sub_groups or len(self.replicas) != 1:
            return self.placement, ()
        return merged(self.placement, self.replicas[0].placement)

    @property
    def gang_gpus(self) -> int:
        """GPUs of all pods of its gang that run at a time."""
        return self._together.gpus

    @property
    def largest_gang(self) -> int:
        """GPUs of the pods that must start together, those of its gang included."""
        return self._together.largest

    @property
    def is_one_gang(self) -> bool:
        """Whether nothing of it, or of its gang, runs before all of it can."""
        return self._together.is_one_gang

    @property
    def lane(self) -> tuple[str, Priority]:
        """What all of a gang have in common: a queue and a priority."""
        return self.queue, self.priority

    @property
    def alone(self) -> Together:
        """Its own pods, without those of its gang."""
        largest = sum(self.needed(item) * item.type.gpus for item in self.replicas)
        one = self.shape.copies == 1 and all(self.needed(item) == item.type.replicas for item in self.replicas)
        return Together(self.gpus, largest, one)

    @cached_property
    def _together(self) -> Together:
        """Its own pods with those of its gang."""
        return self.joint.together[self.lane] if self.joint else self.alone

    def names_its_own(self, item: FleetReplicas) -> bool:
        """Whether these pods say themselves which PodGroup they are in, or that KAI's PodGrouper makes them none."""
        if self.is_owned or not self.pool.backend.is_kai:
            return False
        return item.pod_group is not None or self.is_skipped(item)

    def is_skipped(self, item: FleetReplicas) -> bool:
        """Whether KAI's PodGrouper leaves these pods alone."""
        asked = item.annotations.get(labels.SKIP_PODGROUPER) == "true"
        return asked and self.pool.backend.has(Feature.SKIP_PODGROUPER)

    def scatters(self, item: FleetReplicas) -> bool:
        """Whether these workers of a LeaderWorkerSet are in segments, with nothing above them but the gang."""
        segments, workers = item.segments, item.type.replicas
        if self.kind != "LeaderWorkerSet" or segments is None or not self.kai_segments:
            return False
        return segments.leader_excluded or worker_segment(workers, workers, segments.size) > 0

    def needed(self, item: FleetReplicas) -> int:
        """Pods of a replica type that KAI waits for: of segments that it makes itself, whole ones.

        A SubGroup that needs none counts as 1 where the release cannot say 0.
        """
        backend = self.pool.backend
        least = 0 if backend.has(Feature.ZERO_MIN_MEMBER) else 1
        if self.is_owned or self.kind != "PyTorchJob" or not backend.has(Feature.SUBGROUP_TREE):
            return item.type.minimum
        if item.segments and self.kai_segments:
            return waited_for(item.type.indices, item.type.minimum, item.segments.size, least=least)
        return max(item.type.minimum, min(item.type.replicas, least))

    @property
    def is_segmented(self) -> bool:
        """Whether any of its replica types has segments."""
        return any(item.segments for item in self.replicas)

    @property
    def lists_segments(self) -> bool:
        """Whether its segments are few enough for people to read."""
        return sum(item.segment_count for item in self.replicas) <= MAX_SEGMENTS

    @property
    def kai_segments(self) -> bool:
        """Whether the KAI release there makes segments of this kind itself."""
        return self.kind in SEGMENTED_KINDS and self.pool.backend.has(Feature.SEGMENTS)

    @property
    def has_sub_groups(self) -> bool:
        """Whether its replica types are SubGroups."""
        if self.is_segmented or (self.kind in KAI_SUBGROUP_KINDS and not self.is_owned):
            return True
        return len(self.replicas) > 1 and (self.is_owned or any(item.placement for item in self.replicas))

    def sub_group(self, item: FleetReplicas) -> str | None:
        """The SubGroup of a replica type where the tool owns the PodGroup; None where it has none."""
        own = item.type.name if self.has_sub_groups else None
        if self.joint is None:
            return own
        return self.joint.names[self.file_name, own or ""]

    @property
    def member(self) -> str:
        """The SubGroup that the workload is in its gang."""
        return self.joint.names[self.file_name, ""] if self.joint else names.as_label(self.file_name)


def is_owned(workload: AnyWorkload) -> bool:
    """Whether a workload's labels ask the tool to write its PodGroup."""
    return labels.GANG in workload.metadata.labels or workload.metadata.labels.get(labels.OWNED) == OWNED
