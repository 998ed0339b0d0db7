"""Reads from annotations the topology levels and the segments that pods request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import Gpus
from kubectl_tas.facts.kai import Feature
from kubectl_tas.model import labels
from kubectl_tas.model.base import OWN_METADATA, KeyPath, whole_number
from kubectl_tas.model.podsets import PodSet
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.clusters import Dangling
from kubectl_tas.resolve.pools import Declarations, FleetPool
from kubectl_tas.resolve.topologies import FleetTopology, Level

if TYPE_CHECKING:
    from kubectl_tas.model.workloads import Workload


@dataclass(frozen=True, slots=True)
class LevelAnnotation:
    """One annotation that names a level."""

    annotation: str
    path: KeyPath
    """Path of the annotation."""
    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Topology levels for pods, as annotations request them."""

    topology: str
    """Name of the Topology."""
    fleet_topology: FleetTopology | None
    """The topology. None if the repository does not declare it; then its levels stay as written."""
    required: LevelAnnotation | None
    preferred: LevelAnnotation | None

    @property
    def asked(self) -> tuple[LevelAnnotation, ...]:
        """The requested levels."""
        return tuple(annotation for annotation in (self.required, self.preferred) if annotation is not None)


@dataclass(frozen=True, slots=True)
class Segments:
    """Segments of a replica type."""

    size: int
    """Pods in a segment. The last segment may have fewer."""
    size_path: KeyPath
    """Path of the size."""
    placement: Placement | None
    """Topology levels for the pods of one segment. None if no annotation places segments."""
    index_label: str
    """The label with the index of a pod."""
    leader_excluded: bool = False
    """Whether the leader of a LeaderWorkerSet is in no segment."""


class Ignored(Enum):
    """The reason why the segments that a pod template requests do not exist."""

    NO_KAI = auto()
    """The backend has no KAI Scheduler."""
    NO_INDEX = auto()
    """Its pods bear no index that is known."""
    NO_TOPOLOGY = auto()
    NOT_IN_GANG = auto()
    """Its pods are not in the gang."""
    NOT_DIVIDED = auto()
    """Other pods of the kind are divided."""


_OF_PLACES = ("affinity", "nodeSelector", "priorityClassName", "schedulerName", "tolerations")
"""Fields of a PodSpec that kinds without a PodSpec adopt."""


@dataclass(frozen=True, slots=True)
class ReplicaType(PodSet):
    """Identical pods of a workload, with the requests of their template. Its name is an RFC 1123 label."""

    is_divided: bool = False
    """Whether KAI's podgrouper divides these pods into segments by the size alone."""
    written: str | None = None
    """The name that the user gave to the type. None if the kind defines the name."""
    placement: Placement | None = None
    """The placement from the annotations of the type's template and of its jobs' template."""
    lost: tuple[LevelAnnotation, ...] = ()
    """Levels of the jobs that ``placement`` cannot express."""
    segments: Segments | None = None
    """The segments. None if the template requests none, or if they are ignored."""
    ignored: Ignored | None = None
    """The reason why requested segments are ignored. With ``segments``, only their levels are ignored."""

    @property
    def gpus(self) -> Gpus:
        """GPUs of one pod."""
        return self.asks.gpu

    @property
    def segment_count(self) -> int:
        """The number of segments. A LeaderWorkerSet may have one fewer."""
        return -(-self.indices // self.segments.size) if self.segments else 0

    @property
    def annotations_path(self) -> KeyPath:
        """Path of the annotations of the pods."""
        return (*self.metadata_path, "annotations")

    def pod_spec(self, data: Any) -> Any:
        """Returns the PodSpec of the pods from the ``data`` of the workload. If the kind has no PodSpec, returns its
        placement fields and the containers.
        """
        for step in self.spec_path:
            data = data[step]
        if self.is_pod_spec or self.template is None:
            return data
        pods = self.template.spec
        containers = {
            name: [container.model_dump(by_alias=True, exclude_defaults=True) for container in getattr(pods, name)]
            for name in ("containers", "initContainers")
        }
        return {**{key: data[key] for key in _OF_PLACES if key in data}, **containers}

    @property
    def job_annotations(self) -> tuple[KeyPath, dict[str, str]] | None:
        """Path and content of the annotations of the jobs."""
        return ((*self.job[0], "annotations"), self.job[1].annotations) if self.job else None

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of the template."""
        return self.template.metadata.annotations if self.template else {}

    @property
    def pod_group(self) -> str | None:
        """The PodGroup that the template names."""
        return self.annotations.get(labels.POD_GROUP)


def combined(outer: Placement | None, inner: Placement | None) -> tuple[Placement | None, tuple[LevelAnnotation, ...]]:
    """Combines the placements of an outer object, ``root``, and an inner one. Also returns the levels that the result
    cannot express. The inner topology wins. Of two levels, the finer one includes the other.
    """
    if outer is None or inner is None:
        return inner or outer, ()
    if outer.topology != inner.topology:
        return inner, outer.asked
    required, lost_required = _finer_level(inner, outer.required, inner.required)
    preferred, lost_preferred = _finer_level(inner, outer.preferred, inner.preferred)
    if (
        preferred is outer.preferred
        and preferred
        and required is inner.required
        and _implies(inner, required, preferred)
    ):
        preferred = None
    return Placement(inner.topology, inner.fleet_topology, required, preferred), (*lost_required, *lost_preferred)


def _finer_level(
    placement: Placement, outer: LevelAnnotation | None, inner: LevelAnnotation | None
) -> tuple[LevelAnnotation | None, tuple[LevelAnnotation, ...]]:
    """Returns the level that implies the other one. If unknown, returns the template's, and the other as lost."""
    if outer is None or inner is None:
        return inner or outer, ()
    if _implies(placement, inner, outer):
        return inner, ()
    return (outer, ()) if _implies(placement, outer, inner) else (inner, (outer,))


def _implies(placement: Placement, level: LevelAnnotation | None, other_level: LevelAnnotation) -> bool:
    """Whether pods in one domain of the ``asked`` level are always in one domain of the other level too."""
    if level is None or placement.fleet_topology is None:
        return level is not None and level.level == other_level.level
    levels = placement.fleet_topology.levels
    return levels.index(level.level) >= levels.index(other_level.level)


ROOT: KeyPath = ("metadata", "annotations")
"""Path of the annotations of a workload."""
OF_PODS = (labels.PLACEMENT_REQUIRED, labels.PLACEMENT_PREFERRED)
"""The annotations with the required and the preferred level of pods."""
OF_SEGMENTS = (labels.SEGMENT_REQUIRED, labels.SEGMENT_PREFERRED)
"""The annotations with the required and the preferred level of segments."""


@dataclass
class AnnotationReader:
    """Reads the annotations of one workload and of its templates."""

    declared: Declared[Workload]
    pool: FleetPool
    declarations: Declarations
    is_owned: bool
    """Whether the tool writes the PodGroup."""
    topology_names: dict[KeyPath, str] = field(default_factory=dict)
    """Topology names that annotations must have for KAI to read placements, by the path of the annotation."""
    levels: dict[KeyPath, LevelAnnotation] = field(default_factory=dict)
    """All written levels, by the path of their annotation."""
    outer: tuple[tuple[KeyPath, Mapping[str, str]], ...] = ()
    """Annotations of jobs between a template and the workload, with their paths."""

    @property
    def root(self) -> dict[str, str]:
        """The workload's own annotations."""
        return self.declared.spec.metadata.annotations

    def replicas(self, replica_type: ReplicaType, *, in_gang: bool) -> ReplicaType:
        """Returns a replica type with the requests of its template. Without ``in_gang``, it has no segments."""
        if replica_type.metadata_path == OWN_METADATA:  # what is asked for there is read of the workload itself
            return replica_type
        annotations, where = replica_type.annotations, replica_type.annotations_path
        self.outer = (replica_type.job_annotations,) if replica_type.job_annotations else ()
        placement = self.placement(annotations, where, OF_PODS)
        lost: tuple[LevelAnnotation, ...] = ()
        for annotations_path, job_annotations in self.outer:
            placement, lost = combined(self.placement(job_annotations, annotations_path, OF_PODS), placement)
        if in_gang:
            segments, ignored = self._segments(replica_type, annotations, where)
        else:
            is_asked = any(name in annotations for name in labels.SEGMENT_ANNOTATIONS)
            segments, ignored = None, Ignored.NOT_IN_GANG if is_asked else None
        if segments is None:
            self.read_levels_of_no_segments(annotations, where)
        return replace(replica_type, placement=placement, lost=lost, segments=segments, ignored=ignored)

    def placement(self, annotations: Mapping[str, str], where: KeyPath, names: tuple[str, str]) -> Placement | None:
        """Returns the placement from two annotations, for a required and a preferred level. None if both are absent.

        A level without a topology, or one that the topology lacks, is dangling.
        """
        requested_names = [name for name in names if name in annotations]
        if not requested_names:
            return None
        named_topology = self._topology(annotations, where)
        if named_topology is None:
            self.declarations.dangling.extend(
                Dangling("topology key", annotations[name], (), self.declared, (*where, name), f"pool {self.pool.name}")
                for name in requested_names
            )
            return None
        topology, fleet_topology = named_topology
        required, preferred = (self._asked(annotations, where, name, topology, fleet_topology) for name in names)
        return Placement(topology, fleet_topology, required, preferred)

    def read_levels_of_no_segments(self, annotations: Mapping[str, str], where: KeyPath) -> None:
        """Reads the levels of segments that do not exist. `render` writes these levels like all others, if the topology
        is known.
        """
        name_in_file, _ = self._written_topology(annotations, where)
        fleet_topology = self._topology_called(name_in_file) if name_in_file else self.pool.topology
        if fleet_topology is not None:
            name = fleet_topology.name_on(self.pool.backend)
            for level in OF_SEGMENTS:
                self._asked(annotations, where, level, name, fleet_topology)

    def _topology(self, annotations: Mapping[str, str], where: KeyPath) -> tuple[str, FleetTopology | None] | None:
        """Returns the topology of the template, else of the workload, else of the pool, with its Topology's name.

        Adds this name to ``topology_names`` if the file has no name, or names a topology that is bound to another
        Topology.
        """
        name_in_file, path = self._written_topology(annotations, where)
        fleet_topology = self._topology_called(name_in_file) if name_in_file else self.pool.topology
        name = fleet_topology.name_on(self.pool.backend) if fleet_topology else name_in_file
        if name is None:
            return None
        if name != name_in_file and (name_in_file or (*ROOT, labels.TOPOLOGY) not in self.topology_names):
            self.topology_names[path] = name
        return name, fleet_topology

    def _written_topology(self, annotations: Mapping[str, str], where: KeyPath) -> tuple[str | None, KeyPath]:
        """Returns the topology in the file, and the path of its annotation: the template's if absent."""
        for annotations_path, outer_annotations in ((where, annotations), *self.outer, (ROOT, self.root)):
            if outer_annotations.get(labels.TOPOLOGY):
                return outer_annotations[labels.TOPOLOGY], (*annotations_path, labels.TOPOLOGY)
        return None, (*where, labels.TOPOLOGY)

    def _topology_called(self, name: str) -> FleetTopology | None:
        """Returns the topology with this name, or the one that is bound to an existing Topology of this name."""
        backend, pool_topology = self.pool.backend, self.pool.topology
        if pool_topology is not None and name in (pool_topology.name, pool_topology.name_on(backend)):
            return pool_topology
        bound = (topology for topology in self.declarations.topologies.values() if topology.binding(backend) == name)
        return self.declarations.topologies.get(name) or next(bound, None)

    def _asked(
        self,
        annotations: Mapping[str, str],
        where: KeyPath,
        name: str,
        topology: str,
        fleet_topology: FleetTopology | None,
    ) -> LevelAnnotation | None:
        text = annotations.get(name)
        if text is None:
            return None
        path = (*where, name)
        level = Level(text, text)
        if fleet_topology is not None:
            level_of_topology = fleet_topology.level(text)
            if level_of_topology is None:
                keys = tuple(level.key for level in fleet_topology.levels)
                context = f"topology {topology}"
                self.declarations.dangling.append(Dangling("topology key", text, keys, self.declared, path, context))
                return None
            level = level_of_topology
        self.levels[path] = LevelAnnotation(name, path, level, text)
        return self.levels[path]

    def _segments(
        self, replica_type: ReplicaType, annotations: Mapping[str, str], where: KeyPath
    ) -> tuple[Segments | None, Ignored | None]:
        """Returns the segments of a replica type, or the reason why the request for segments is ignored."""
        spec, backend = self.declared.spec, self.pool.backend
        size = next((size for size in segment_sizes(spec, replica_type) if size.pods), None)
        if spec.page.gang.divided and not replica_type.is_divided and backend.is_kai:
            is_asked = any(name in annotations for name in labels.SEGMENT_ANNOTATIONS)
            return None, Ignored.NOT_DIVIDED if is_asked else None
        if size is None or size.pods is None:
            return None, None
        by_size = replica_type.is_divided and not self.is_owned and backend.has(Feature.SEGMENTS)
        label = (None if by_size else annotations.get(labels.POD_INDEX_LABEL)) or replica_type.index_label
        asks_level = any(name in annotations for name in OF_SEGMENTS)
        is_asked = asks_level or labels.SEGMENT_SIZE in annotations
        if not backend.is_kai:
            return None, Ignored.NO_KAI if is_asked else None
        if label is None:
            return None, Ignored.NO_INDEX if is_asked else None
        placed = any(name in self.root or name in annotations for name in OF_PODS)
        named, _ = self._written_topology(annotations, where)
        has_topology = bool(asks_level or placed or named) and self._topology(annotations, where) is not None
        if not (by_size or has_topology):
            return None, Ignored.NO_TOPOLOGY if is_asked else None
        placement = self.placement(annotations, where, OF_SEGMENTS) if has_topology else None
        excluded = spec.own_division is not None and spec.own_division.leader_excluded
        ignored = Ignored.NO_TOPOLOGY if asks_level and not has_topology else None
        return Segments(size.pods, size.path, placement, label, excluded), ignored


@dataclass(frozen=True, slots=True)
class SegmentSize:
    """A size of segments in the file."""

    text: str
    path: KeyPath

    @property
    def pods(self) -> int | None:
        """The number of pods. None if the text is no valid number."""
        return whole_number(self.text)


def segment_sizes(workload: Workload, replica_type: ReplicaType) -> tuple[SegmentSize, ...]:
    """Returns the sizes in the file for one replica type. KAI uses the first one."""
    sizes, own_division = list[SegmentSize](), workload.own_division
    if replica_type.is_divided and own_division is not None and own_division.size is not None:
        sizes.append(SegmentSize(str(own_division.size), own_division.path))
    places = [(replica_type.annotations, replica_type.annotations_path)]
    if (
        replica_type.is_divided
        and workload.page.gang.reads_size
        and labels.SEGMENT_SIZE in workload.metadata.annotations
    ):
        places.insert(0, (workload.metadata.annotations, ROOT))
    for texts, where in places:
        if labels.SEGMENT_SIZE in texts:
            sizes.append(SegmentSize(texts[labels.SEGMENT_SIZE], (*where, labels.SEGMENT_SIZE)))
    return tuple(sizes)
