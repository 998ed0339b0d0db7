"""A workload in; the tree of its gang out: what KAI's PodGrouper will make of it, or what the tool makes itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kubectl_tas.kai import Feature
from kubectl_tas.resolve import names
from kubectl_tas.resolve.placement import FleetReplicas, Placement
from kubectl_tas.resolve.replicas import LEADER, WORKERS
from kubectl_tas.resolve.segments import Segment, cut_group
from kubectl_tas.resolve.workload import PREDICTED_KINDS, FleetWorkload


@dataclass(frozen=True, slots=True)
class Part:
    """A gang, or a part of one."""

    name: str
    pods: int
    minimum: int
    """Pods needed before any pod of the gang starts."""
    gpus: int
    """GPUs of all its pods."""
    placement: Placement | None = None
    indices: tuple[int, int] | None = None
    """The lowest and the highest index of its pods, where it is known by them."""
    parts: tuple[Part, ...] = ()
    counts_parts: bool = False
    """Whether all its parts are needed, however few pods each of them needs: it is divided into segments."""


def is_predicted(workload: FleetWorkload) -> bool:
    """Whether it is known which PodGroup a workload gets, or asks for."""
    if any(workload.names_its_own(item) for item in workload.replicas):
        return False
    if workload.is_owned or workload.kind in PREDICTED_KINDS:
        return True
    return workload.is_segmented and workload.pool.backend.has(Feature.SUBGROUP_TREE)


def gang_of(workload: FleetWorkload) -> Part:
    """The gang of a workload; of a LeaderWorkerSet, that of one of its groups."""
    if workload.kind == "LeaderWorkerSet":
        parts, divided = _group(workload)
    elif workload.has_sub_groups:
        parts, divided = tuple(_replicas(workload, item) for item in workload.replicas), False
    else:
        parts, divided = (), False
    types = [item.type for item in workload.replicas]
    placement, _ = workload.merged
    return Part(
        name=workload.pod_group,
        pods=sum(item.replicas for item in types),
        minimum=sum(item.minimum for item in types),
        gpus=sum(item.replicas * item.gpus for item in types),
        placement=placement,
        parts=distinct(parts),
        counts_parts=divided,
    )


def joint_gang(name: str, workloads: Iterable[FleetWorkload]) -> Part:
    """The gang of several workloads: a part for each."""
    members = [replace(gang_of(workload), name=workload.member) for workload in workloads]
    pods, minimum, gpus = (sum(getattr(part, what) for part in members) for what in ("pods", "minimum", "gpus"))
    return Part(name, pods, minimum, gpus, parts=tuple(members))


def _replicas(workload: FleetWorkload, item: FleetReplicas) -> Part:
    """The SubGroup of a replica type, with its segments below it."""
    kind, segments = item.type, item.segments
    parts: tuple[Part, ...] = ()
    if segments is not None and workload.lists_segments:
        parts = tuple(_segment(kind.name, one, kind.gpus, segments.placement) for one in item.cuts)
    return Part(
        name=workload.sub_group(item) or kind.name,
        pods=kind.replicas,
        minimum=kind.minimum,
        gpus=kind.replicas * kind.gpus,
        placement=item.placement,
        parts=parts,
        counts_parts=bool(parts),
    )


def _segment(prefix: str, segment: Segment, gpus: int, placement: Placement) -> Part:
    return Part(
        name=names.as_label(f"{prefix}-{segment.number}"),
        pods=segment.pods,
        minimum=segment.minimum,
        gpus=segment.pods * gpus,
        placement=placement,
        indices=(segment.first, segment.last),
    )


def _group(workload: FleetWorkload) -> tuple[tuple[Part, ...], bool]:
    """The parts of one group of a LeaderWorkerSet, and whether they are segments."""
    by_name = {item.type.name: item for item in workload.replicas}
    leader = _replicas(workload, by_name[LEADER])
    leader = replace(leader, indices=(0, 0))
    workers = by_name.get(WORKERS)
    if workers is None:
        return (leader,), False
    kind, segments = workers.type, workers.segments
    if segments is None or not workload.lists_segments:
        plain = _replicas(workload, workers)
        return (leader, replace(plain, indices=(1, kind.replicas))), False
    parts = []
    for one in cut_group(kind.replicas, segments.size, leader_excluded=segments.leader_excluded):
        part = _segment("segment", one, kind.gpus, segments.placement)
        parts.append(_with_leader(part, leader, workers) if one.has_leader else part)
    return ((leader, *parts) if segments.leader_excluded else tuple(parts)), True


def _with_leader(segment: Part, leader: Part, workers: FleetReplicas) -> Part:
    """The first segment, which holds the leader and its own workers."""
    parts = [leader]
    if segment.pods:
        own = replace(segment, name=WORKERS, minimum=segment.pods, placement=workers.placement)
        parts.append(own)
    first, last = segment.indices or (1, 0)
    return replace(
        segment,
        pods=segment.pods + leader.pods,
        gpus=segment.gpus + leader.gpus,
        indices=(0, max(last, first - 1)),
        parts=tuple(parts),
    )


def distinct(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts with no name twice. Replica types keep theirs, their segments give way."""
    level = [(part.name, part) for part in parts]
    found: list[tuple[str, Part]] = []
    while level:
        found += level
        level = [(f"{path}/{child.name}", child) for path, part in level for child in part.parts]
    given = names.distinct([(path, part.name) for path, part in found])
    return _renamed(parts, "", dict(zip((path for path, _ in found), given, strict=True)))


def _renamed(parts: Sequence[Part], above: str, given: Mapping[str, str]) -> tuple[Part, ...]:
    return tuple(
        replace(part, name=given[f"{above}{part.name}"], parts=_renamed(part.parts, f"{above}{part.name}/", given))
        for part in parts
    )
