"""What annotations ask for: how close pods must run, and in which segments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from kubectl_tas.gpus import Gpus
from kubectl_tas.kai import Feature
from kubectl_tas.model import labels
from kubectl_tas.model.base import MAX_COUNT, OWN_METADATA, KeyPath
from kubectl_tas.model.repository import Declared
from kubectl_tas.quantities import Amounts
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.clusters import Dangling
from kubectl_tas.resolve.pools import FleetPool, Known
from kubectl_tas.resolve.topologies import FleetTopology, Level

if TYPE_CHECKING:
    from kubectl_tas.model.podtemplate import Meta, PodTemplate
    from kubectl_tas.model.workload_kinds import AnyWorkload


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


_OF_PLACES = ("affinity", "nodeSelector", "priorityClassName", "schedulerName", "tolerations")
"""Fields of a PodSpec that kinds take over which write no PodSpec."""


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
    metadata_path: KeyPath = ()
    """Where the labels and annotations of its pods stand."""
    spec_path: KeyPath = ()
    """Where the fields of its pods stand."""
    is_pod_spec: bool = True
    """Whether these fields are those of a PodSpec, and not the kind's own that stand for them."""
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
    def annotations_path(self) -> KeyPath:
        """Where the annotations of its pods stand."""
        return (*self.metadata_path, "annotations")

    def pod_spec(self, data: Any) -> Any:
        """The PodSpec that its pods get by the ``data`` of the workload; where that writes none, the fields that decide
        where they run.
        """
        for step in self.spec_path:
            data = data[step]
        if self.is_pod_spec or self.template is None:
            return data
        pods = self.template.spec
        made = {
            name: [item.model_dump(by_alias=True, exclude_defaults=True) for item in getattr(pods, name)]
            for name in ("containers", "initContainers")
        }
        return {**{key: data[key] for key in _OF_PLACES if key in data}, **made}

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


ROOT: KeyPath = ("metadata", "annotations")
"""Where the annotations of a workload stand."""
OF_PODS = (labels.PLACEMENT_REQUIRED, labels.PLACEMENT_PREFERRED)
"""The annotations that name a level for pods: a required and a preferred one."""
OF_SEGMENTS = (labels.SEGMENT_REQUIRED, labels.SEGMENT_PREFERRED)
"""The same for segments."""


@dataclass
class AnnotationReader:
    """Reads the annotations of one workload and of its templates."""

    declared: Declared[AnyWorkload]
    pool: FleetPool
    known: Known
    is_owned: bool
    """Whether the tool writes its PodGroup."""
    topology_names: dict[KeyPath, str] = field(default_factory=dict)
    """Annotations that must name a Topology for placements to be read."""
    levels: dict[KeyPath, LevelAnnotation] = field(default_factory=dict)
    """All levels that are written, by the path of their annotation."""
    outer: tuple[tuple[KeyPath, Mapping[str, str]], ...] = ()
    """Between a template and the workload: the annotations of its jobs, and where they stand."""

    @property
    def root(self) -> dict[str, str]:
        """The workload's own annotations."""
        return self.declared.spec.metadata.annotations

    def replicas(self, item: ReplicaType, *, in_gang: bool) -> ReplicaType:
        """A replica type with what its template asks for; pods that are not ``in_gang`` are in none of its segments."""
        if item.metadata_path == OWN_METADATA:  # what is asked for there is read of the workload itself
            return item
        annotations, where = item.annotations, item.annotations_path
        self.outer = (item.job_annotations,) if item.job_annotations else ()
        placement = self.placement(annotations, where, OF_PODS)
        lost: tuple[LevelAnnotation, ...] = ()
        for place, written in self.outer:
            placement, lost = combined(self.placement(written, place, OF_PODS), placement)
        if in_gang:
            segments, ignored = self._segments(item, annotations, where)
        else:
            is_asked = any(name in annotations for name in labels.SEGMENT_ANNOTATIONS)
            segments, ignored = None, Ignored.NOT_IN_GANG if is_asked else None
        if segments is None:
            self.read_levels_of_no_segments(annotations, where)
        return replace(item, placement=placement, lost=lost, segments=segments, ignored=ignored)

    def placement(self, annotations: Mapping[str, str], where: KeyPath, names: tuple[str, str]) -> Placement | None:
        """What two annotations ask for: a required and a preferred level. None where neither is there.

        A level without any topology, or one that its topology lacks, is dangling.
        """
        asked = [name for name in names if name in annotations]
        if not asked:
            return None
        found = self._topology(annotations, where)
        if found is None:
            for name in asked:
                context = f"pool {self.pool.name}"
                self.known.dangling.append(
                    Dangling("topology key", annotations[name], (), self.declared, (*where, name), context)
                )
            return None
        topology, known = found
        required, preferred = (self._asked(annotations, where, name, topology, known) for name in names)
        return Placement(topology, known, required, preferred)

    def read_levels_of_no_segments(self, annotations: Mapping[str, str], where: KeyPath) -> None:
        """Takes in the levels of segments that are not made: they are written like all others, where the topology
        that they would be in is known.
        """
        written, _ = self._written_topology(annotations, where)
        known = self._topology_called(written) if written else self.pool.topology
        if known is not None:
            name = known.name_on(self.pool.backend)
            for level in OF_SEGMENTS:
                self._asked(annotations, where, level, name, known)

    def _topology(self, annotations: Mapping[str, str], where: KeyPath) -> tuple[str, FleetTopology | None] | None:
        """The template's own topology, else the workload's, else the pool's, by the name of its Topology object.

        Where the file has none, or one that stands for an existing Topology, that name is to be filled in.
        """
        written, path = self._written_topology(annotations, where)
        known = self._topology_called(written) if written else self.pool.topology
        name = known.name_on(self.pool.backend) if known else written
        if name is None:
            return None
        if name != written and (written or (*ROOT, labels.TOPOLOGY) not in self.topology_names):
            self.topology_names[path] = name
        return name, known

    def _written_topology(self, annotations: Mapping[str, str], where: KeyPath) -> tuple[str | None, KeyPath]:
        """The topology that the file names, and the place of its annotation; of one that is missing, the template's."""
        for place, found in ((where, annotations), *self.outer, (ROOT, self.root)):
            if found.get(labels.TOPOLOGY):
                return found[labels.TOPOLOGY], (*place, labels.TOPOLOGY)
        return None, (*where, labels.TOPOLOGY)

    def _topology_called(self, name: str) -> FleetTopology | None:
        """The topology of that name, or the one that an existing Topology of that name stands for."""
        backend, own = self.pool.backend, self.pool.topology
        if own is not None and name in (own.name, own.name_on(backend)):
            return own
        bound = (item for item in self.known.topologies.values() if item.binding(backend) == name)
        return self.known.topologies.get(name) or next(bound, None)

    def _asked(
        self, annotations: Mapping[str, str], where: KeyPath, name: str, topology: str, known: FleetTopology | None
    ) -> LevelAnnotation | None:
        written = annotations.get(name)
        if written is None:
            return None
        path = (*where, name)
        level = Level(written, written)
        if known is not None:
            found = known.level(written)
            if found is None:
                keys = tuple(level.key for level in known.levels)
                context = f"topology {topology}"
                self.known.dangling.append(Dangling("topology key", written, keys, self.declared, path, context))
                return None
            level = found
        self.levels[path] = LevelAnnotation(name, path, level, written)
        return self.levels[path]

    def _segments(
        self, item: ReplicaType, annotations: Mapping[str, str], where: KeyPath
    ) -> tuple[Segments | None, Ignored | None]:
        """The segments of a replica type, or why what it says about segments is ignored."""
        spec, backend = self.declared.spec, self.pool.backend
        size = next((size for size in segment_sizes(spec, item) if size.pods), None)
        if spec.divided is not None and not item.is_divided and backend.is_kai:
            is_asked = any(name in annotations for name in labels.SEGMENT_ANNOTATIONS)
            return None, Ignored.NOT_DIVIDED if is_asked else None
        if size is None or size.pods is None:
            return None, None
        by_size = item.is_divided and not self.is_owned and backend.has(Feature.SEGMENTS)
        label = (None if by_size else annotations.get(labels.POD_INDEX_LABEL)) or item.index_label
        asks_level = any(name in annotations for name in OF_SEGMENTS)
        is_asked = asks_level or labels.SEGMENT_SIZE in annotations
        if not backend.is_kai:
            return None, Ignored.NO_KAI if is_asked else None
        if label is None:
            return None, Ignored.NO_INDEX if is_asked else None
        has_topology = self._has_topology(annotations, where, asks_level=asks_level)
        if not (by_size or has_topology):
            return None, Ignored.NO_TOPOLOGY if is_asked else None
        placement = self.placement(annotations, where, OF_SEGMENTS) if has_topology else None
        excluded = spec.own_division is not None and spec.own_division.leader_excluded
        ignored = Ignored.NO_TOPOLOGY if asks_level and not has_topology else None
        return Segments(size.pods, size.path, placement, label, excluded), ignored

    def _has_topology(self, annotations: Mapping[str, str], where: KeyPath, *, asks_level: bool) -> bool:
        """Whether a topology is named for segments, or can be filled in."""
        placed = any(name in self.root or name in annotations for name in OF_PODS)
        named, _ = self._written_topology(annotations, where)
        return bool(asks_level or placed or named) and self._topology(annotations, where) is not None


@dataclass(frozen=True, slots=True)
class SegmentSize:
    """A size of segments as the file has it."""

    written: str
    path: KeyPath

    @property
    def pods(self) -> int | None:
        """None where it is no number of pods."""
        return whole_number(self.written)


def segment_sizes(workload: AnyWorkload, item: ReplicaType) -> tuple[SegmentSize, ...]:
    """The sizes that a file has for one replica type, the one that KAI takes first."""
    found, own = list[SegmentSize](), workload.own_division
    if item.is_divided and own is not None and own.size is not None:
        found.append(SegmentSize(str(own.size), own.path))
    places = [(item.annotations, item.annotations_path)]
    if item.is_divided and labels.SEGMENT_SIZE in workload.root_annotations:
        places.insert(0, (workload.metadata.annotations, ROOT))
    for written, where in places:
        if labels.SEGMENT_SIZE in written:
            found.append(SegmentSize(written[labels.SEGMENT_SIZE], (*where, labels.SEGMENT_SIZE)))
    return tuple(found)
