"""What annotations ask for: how close pods must run, and in which segments."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from kubectl_tas.gpus import Gpus
from kubectl_tas.model import labels
from kubectl_tas.model.base import MAX_COUNT, KeyPath
from kubectl_tas.quantities import Amounts
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.topologies import FleetTopology, Level

if TYPE_CHECKING:
    from kubectl_tas.model.podtemplate import Meta, PodTemplate


@dataclass(frozen=True, slots=True)
class LevelAnnotation:
    """One annotation that names a level."""

    annotation: str
    path: KeyPath
    """Of the annotation."""
    level: Level
    written: str


@dataclass(frozen=True, slots=True)
class Placement:
    """How close pods must run, as annotations ask for it."""

    topology: str
    """Name of the Topology."""
    known: FleetTopology | None
    """None where the repository does not render it; its levels are then taken as they are written."""
    required: LevelAnnotation | None
    preferred: LevelAnnotation | None

    @property
    def asked(self) -> tuple[LevelAnnotation, ...]:
        """The levels that it asks for."""
        return tuple(asked for asked in (self.required, self.preferred) if asked is not None)


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments of a replica type."""

    size: int
    """Pods of each, the last one's perhaps fewer."""
    size_path: KeyPath
    """Where the size stands."""
    placement: Placement | None
    """How close the pods of one segment must run; None where nothing places them."""
    index_label: str
    """The label that tells a pod's index."""
    leader_excluded: bool = False
    """Of a LeaderWorkerSet: whether its leader is in no segment."""


class Ignored(Enum):
    """Why the segments that a pod template asks for are not made."""

    NO_KAI = "the backend has no KAI Scheduler"
    NO_INDEX = "its pods bear no index that is known"
    NO_TOPOLOGY = "there is no topology"
    NOT_IN_GANG = "its pods are not in the gang"
    NOT_DIVIDED = "other pods of the kind are divided"


@dataclass(frozen=True, slots=True)
class ReplicaType:
    """Equal pods of a workload, with what their template asks for."""

    name: str
    """An RFC 1123 label, such as worker."""
    replicas: int
    """Pods at a time."""
    asks: Amounts
    """What one pod asks for."""
    path: KeyPath
    """Where what they are made from stands."""
    template: PodTemplate | None
    """None where another object has it."""
    indices: int
    """Pods that have an index of their own: ``replicas``, but for an Indexed Job its completions."""
    index_label: str | None = None
    """The label in which pods of this kind bear their index."""
    is_leader: bool = False
    """Whether it is the one pod that leads others."""
    is_divided: bool = False
    """Whether KAI's podgrouper makes segments of these pods, by their size alone."""
    bears_root: bool = False
    """Whether its pods have the labels and annotations of the workload itself, and none of their own."""
    written: str | None = None
    """The name that the user gave it; None where its kind does."""
    job: tuple[KeyPath, Meta] | None = None
    """Where the metadata of the jobs that its pods belong to stands, and that; None where there are no such jobs."""
    jobs: int = 1
    """Jobs that its pods are shared out to."""
    placement: Placement | None = None
    """By the annotations of its own template, and of that of its jobs."""
    lost: tuple[LevelAnnotation, ...] = ()
    """Levels of its jobs that ``placement`` cannot say."""
    segments: Segments | None = None
    """None where it asks for none, or where they are ignored."""
    ignored: Ignored | None = None
    """Why the segments it asks for are ignored; of those that KAI makes all the same, their levels."""

    @property
    def gpus(self) -> Gpus:
        """GPUs of one pod."""
        return self.asks.gpu

    @property
    def segment_count(self) -> int:
        """How many segments it has; of a LeaderWorkerSet perhaps one fewer."""
        return -(-self.indices // self.segments.size) if self.segments else 0

    @property
    def metadata_path(self) -> KeyPath:
        """Where the labels and annotations of its pods stand."""
        return ("metadata",) if self.bears_root else (*self.path, "metadata")

    @property
    def annotations_path(self) -> KeyPath:
        """Where the annotations of its pods stand."""
        return (*self.metadata_path, "annotations")

    @property
    def job_annotations(self) -> tuple[KeyPath, dict[str, str]] | None:
        """Where the annotations of its jobs stand, and those."""
        return ((*self.job[0], "annotations"), self.job[1].annotations) if self.job else None

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of its template."""
        return self.template.metadata.annotations if self.template else {}

    @property
    def pod_group(self) -> str | None:
        """The PodGroup that its template names."""
        return self.annotations.get(labels.POD_GROUP)


def combined(root: Placement | None, own: Placement | None) -> tuple[Placement | None, tuple[LevelAnnotation, ...]]:
    """The placement of pods for which two annotated objects both hold, ``root`` the outer one, and the levels that it
    cannot say. Of two topologies the inner one's precedes; of two levels the finer one says both.
    """
    if root is None or own is None:
        return own or root, ()
    if root.topology != own.topology:
        return own, root.asked
    required, less = _finer(own, root.required, own.required)
    preferred, least = _finer(own, root.preferred, own.preferred)
    if preferred is root.preferred and preferred and required is own.required and _says(own, required, preferred):
        preferred = None
    return Placement(own.topology, own.known, required, preferred), (*less, *least)


def _finer(
    placement: Placement, root: LevelAnnotation | None, own: LevelAnnotation | None
) -> tuple[LevelAnnotation | None, tuple[LevelAnnotation, ...]]:
    """Of two levels the one that implies the other; where that is not known the template's, and what is lost."""
    if root is None or own is None:
        return own or root, ()
    if _says(placement, own, root):
        return own, ()
    return (root, ()) if _says(placement, root, own) else (own, (root,))


def _says(placement: Placement, asked: LevelAnnotation | None, other: LevelAnnotation) -> bool:
    """Whether pods within one domain of a level are within one of the other level too."""
    if asked is None or placement.known is None:
        return asked is not None and asked.level == other.level
    levels = placement.known.levels
    return levels.index(asked.level) >= levels.index(other.level)


def whole_number(text: str) -> int | None:
    """A positive number that an annotation holds, as far as Kubernetes counts, or None."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MAX_COUNT)) else 0
    return number if 0 < number <= MAX_COUNT else None
