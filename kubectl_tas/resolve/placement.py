"""What annotations ask for: how close pods must run, in which segments, and of which replica type."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_tas.model import labels
from kubectl_tas.model.repository import KeyPath
from kubectl_tas.resolve.fleet import FleetTopology, Level
from kubectl_tas.resolve.replicas import ReplicaType
from kubectl_tas.resolve.segments import Segment, cut


@dataclass(frozen=True, slots=True)
class Asked:
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
    required: Asked | None
    preferred: Asked | None

    @property
    def asked(self) -> tuple[Asked, ...]:
        """The levels that it asks for."""
        return tuple(asked for asked in (self.required, self.preferred) if asked is not None)


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments of a replica type."""

    size: int
    """Pods of each, the last one's perhaps fewer."""
    placement: Placement
    """How close the pods of one segment must run; perhaps no level at all."""
    index_label: str
    """The label that tells a pod's index."""
    leader_excluded: bool = False
    """Of a LeaderWorkerSet: whether its leader is in no segment."""


@dataclass(frozen=True, slots=True)
class FleetReplicas:
    """A replica type with its placement and its segments."""

    type: ReplicaType
    placement: Placement | None
    """By the annotations of its own template."""
    segments: Segments | None
    """None where it asks for none, or where they are ignored."""
    ignored: str = ""
    """Why the segments it asks for are ignored."""

    @property
    def cuts(self) -> tuple[Segment, ...]:
        """Its segments by index; none of a LeaderWorkerSet, whose groups are cut with their leader."""
        if self.segments is None:
            return ()
        return cut(self.type.indices, self.type.minimum, self.segments.size, self.type.replicas)

    @property
    def segment_count(self) -> int:
        """How many segments it has; of a LeaderWorkerSet perhaps one fewer."""
        return -(-self.type.indices // self.segments.size) if self.segments else 0

    @property
    def annotations_path(self) -> KeyPath:
        """Where the annotations of its template stand."""
        return self.type.annotations_path

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of its template."""
        return self.type.annotations

    @property
    def pod_group(self) -> str | None:
        """The PodGroup that its template names."""
        return self.annotations.get(labels.POD_GROUP)


def merged(root: Placement | None, own: Placement | None) -> tuple[Placement | None, tuple[Asked, ...]]:
    """The placement of pods for which a workload's annotations and those of their template both hold, and the levels
    that it cannot say. Of two topologies the template's precedes; of two levels the finer one says both.
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


def _finer(placement: Placement, root: Asked | None, own: Asked | None) -> tuple[Asked | None, tuple[Asked, ...]]:
    """Of two levels the one that implies the other; where that is not known the template's, and what is lost."""
    if root is None or own is None:
        return own or root, ()
    if _says(placement, own, root):
        return own, ()
    return (root, ()) if _says(placement, root, own) else (own, (root,))


def _says(placement: Placement, asked: Asked | None, other: Asked) -> bool:
    """Whether pods within one domain of a level are within one of the other level too."""
    if asked is None or placement.known is None:
        return asked is not None and asked.level == other.level
    levels = placement.known.levels
    return levels.index(asked.level) >= levels.index(other.level)
