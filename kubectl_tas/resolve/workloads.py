"""A workload as it was read in; its queue, its placements and its segments out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kubectl_tas.model import labels
from kubectl_tas.model.repository import Declared, KeyPath
from kubectl_tas.model.workload import AnyWorkload, LeaderWorkerSet
from kubectl_tas.resolve.fleet import Dangling, FleetPool, FleetTopology, Level
from kubectl_tas.resolve.placement import Asked, FleetReplicas, Placement, Segments
from kubectl_tas.resolve.replicas import WORKERS, ReplicaType, shape, whole_number
from kubectl_tas.resolve.targets import pick_target
from kubectl_tas.resolve.workload import FleetWorkload, is_owned

ROOT: KeyPath = ("metadata", "annotations")
"""Where the annotations of a workload stand."""
NO_PART = "its pod is no part of the gang"
"""Why segments of pods beside a gang are ignored."""
_OF_PODS = (labels.PLACEMENT_REQUIRED, labels.PLACEMENT_PREFERRED)
_OF_SEGMENTS = (labels.SEGMENT_REQUIRED, labels.SEGMENT_PREFERRED)


def resolve_workload(
    declared: Declared[AnyWorkload],
    pools: Mapping[str, FleetPool],
    declared_pools: frozenset[str],
    topologies: Mapping[str, FleetTopology],
    dangling: list[Dangling],
) -> FleetWorkload | None:
    """The resolved workload; None where it has no pool, or one that could not be resolved."""
    path = ("metadata", "labels", labels.POOL)
    wanted = declared.spec.metadata.labels.get(labels.POOL)
    target = pick_target(wanted, declared, path, pools, declared_pools, dangling) if wanted else None
    if target is None:
        return None
    pool, subpool = target
    form = shape(declared.spec, owned=is_owned(declared.spec))
    reader = _Reader(declared, pool, topologies, dangling)
    placement = reader.placement(declared.spec.metadata.annotations, ROOT, _OF_PODS)
    replicas = tuple(reader.replicas(item) for item in form.types)
    beside = tuple(reader.beside(item) for item in form.beside)
    reader.note_unread(declared.spec.metadata.annotations, ROOT)
    fill, unread = tuple(reader.fill.items()), tuple(reader.unread)
    name = declared.spec.metadata.name
    return FleetWorkload(declared, name, pool, subpool, form, placement, replicas, beside, fill, unread)


@dataclass
class _Reader:
    """Reads the annotations of one workload and of its templates."""

    declared: Declared[AnyWorkload]
    pool: FleetPool
    topologies: Mapping[str, FleetTopology]
    dangling: list[Dangling]
    fill: dict[KeyPath, str] = field(default_factory=dict)
    """Annotations that must be added for placements to be read."""
    unread: list[Asked] = field(default_factory=list)
    """Levels of segments that are ignored."""

    @property
    def root(self) -> dict[str, str]:
        """The workload's own annotations."""
        return self.declared.spec.metadata.annotations

    def replicas(self, item: ReplicaType) -> FleetReplicas:
        """A replica type with what its template asks for."""
        annotations, where = item.annotations, item.annotations_path
        placement = self.placement(annotations, where, _OF_PODS)
        segments, ignored = self._segments(item, annotations, where)
        if segments is None:
            self.note_unread(annotations, where)
        return FleetReplicas(item, placement, segments, ignored)

    def beside(self, item: ReplicaType) -> FleetReplicas:
        """Pods that are no part of the gang, and so in none of its segments."""
        annotations, where = item.annotations, item.annotations_path
        self.note_unread(annotations, where)
        asked = any(name in annotations for name in labels.SEGMENT_ANNOTATIONS)
        ignored = NO_PART if asked else ""
        return FleetReplicas(item, self.placement(annotations, where, _OF_PODS), None, ignored)

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
                self.dangling.append(
                    Dangling("topology key", annotations[name], (), self.declared, (*where, name), context)
                )
            return None
        topology, known = found
        required, preferred = (self._asked(annotations, where, name, topology, known) for name in names)
        return Placement(topology, known, required, preferred)

    def note_unread(self, annotations: Mapping[str, str], where: KeyPath) -> None:
        """Takes in the levels of segments that are not made: they are written like all others, where the topology
        that they would be in is known. None is filled in for them.
        """
        written, _ = self._written_topology(annotations, where)
        known = self._known(written) if written else self.pool.topology
        if known is not None:
            name = known.name_on(self.pool.backend)
            asked = (self._asked(annotations, where, level, name, known) for level in _OF_SEGMENTS)
            self.unread += [item for item in asked if item is not None]

    def _topology(self, annotations: Mapping[str, str], where: KeyPath) -> tuple[str, FleetTopology | None] | None:
        """The template's own topology, else the workload's, else the pool's, by the name of its Topology object.

        Where the file has none, or one that stands for an existing Topology, that name is to be filled in.
        """
        written, path = self._written_topology(annotations, where)
        known = self._known(written) if written else self.pool.topology
        name = known.name_on(self.pool.backend) if known else written
        if name is None:
            return None
        if name != written and (written or (*ROOT, labels.TOPOLOGY) not in self.fill):
            self.fill[path] = name
        return name, known

    def _written_topology(self, annotations: Mapping[str, str], where: KeyPath) -> tuple[str | None, KeyPath]:
        """The topology that the file names, and the place of its annotation; of one that is missing, the template's."""
        for place, found in ((where, annotations), (ROOT, self.root)):
            if found.get(labels.TOPOLOGY):
                return found[labels.TOPOLOGY], (*place, labels.TOPOLOGY)
        return None, (*where, labels.TOPOLOGY)

    def _known(self, name: str) -> FleetTopology | None:
        """The topology of that name, or the one that an existing Topology of that name stands for."""
        backend, own = self.pool.backend, self.pool.topology
        if own is not None and name in (own.name, own.name_on(backend)):
            return own
        bound = (item for item in self.topologies.values() if item.binding(backend) == name)
        return self.topologies.get(name) or next(bound, None)

    def _asked(
        self, annotations: Mapping[str, str], where: KeyPath, name: str, topology: str, known: FleetTopology | None
    ) -> Asked | None:
        written = annotations.get(name)
        if written is None:
            return None
        path = (*where, name)
        if known is None:
            return Asked(name, path, Level(written, written), written)
        level = next((level for level in known.levels if written in (level.key, level.label)), None)
        if level is None:
            keys = tuple(level.key for level in known.levels)
            self.dangling.append(Dangling("topology key", written, keys, self.declared, path, f"topology {topology}"))
            return None
        return Asked(name, path, level, written)

    def _segments(
        self, item: ReplicaType, annotations: Mapping[str, str], where: KeyPath
    ) -> tuple[Segments | None, str]:
        """The segments of a replica type, or why what it says about segments is ignored."""
        size, leader_excluded = whole_number(annotations.get(labels.SEGMENT_SIZE, "")), False
        spec = self.declared.spec
        if isinstance(spec, LeaderWorkerSet):
            if item.name != WORKERS:
                return None, ""
            policy = spec.spec.leaderWorkerTemplate.subGroupPolicy
            if policy is not None:
                size = size or (policy.subGroupSize if (policy.subGroupSize or 0) > 0 else None)
                leader_excluded = policy.leader_excluded
        if size is None:
            return None, ""
        label = annotations.get(labels.POD_INDEX_LABEL) or item.index_label
        wants = any(name in annotations for name in (labels.SEGMENT_SIZE, *_OF_SEGMENTS))
        backend = self.pool.backend
        if not backend.is_kai:
            return None, f"backend {backend.name} has no KAI Scheduler" if wants else ""
        if label is None:
            return None, _no_index(self.declared.spec.kind) if wants else ""
        placement = self._segment_placement(annotations, where)
        if placement is None:
            return None, "there is no kai.scheduler/topology" if wants else ""
        return Segments(size, placement, label, leader_excluded), ""

    def _segment_placement(self, annotations: Mapping[str, str], where: KeyPath) -> Placement | None:
        """How close a segment's pods must run; None where no topology is named, and none can be filled in."""
        placed = any(name in self.root or name in annotations for name in _OF_PODS)
        asked = any(name in annotations for name in _OF_SEGMENTS)
        named, _ = self._written_topology(annotations, where)
        found = self._topology(annotations, where) if asked or placed or named else None
        if found is None:
            return None
        return self.placement(annotations, where, _OF_SEGMENTS) if asked else Placement(*found, None, None)


def _no_index(kind: str) -> str:
    """Why a kind without index label has no segments."""
    if kind == "Job":
        return "the pods of a Job bear an index only with completionMode: Indexed"
    return f"they are not read on a {kind}, whose pods bear no index that is known"
