"""Builds the gang of a Kubernetes workload, as KAI's podgrouper or this tool makes it. Also finds the segments of pods,
and how long the gang waits by the annotations that KAI reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts import times
from kubectl_tas.facts.kai import Feature
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.gang import Constraint, Gang, SubGroup
from kubectl_tas.gangs.segment_cuts import (
    Segment,
    cut,
    cut_group,
    group_segment_at,
    segment_at,
    segment_of,
    worker_segment,
)
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload, fact
from kubectl_tas.resolve.placement import ROOT, LevelAnnotation, Placement, ReplicaType, Segments, combined


@fact
def whole_placement(workload: FleetWorkload) -> tuple[Placement | None, tuple[LevelAnnotation, ...]]:
    """Returns the placement of a workload's gang as a whole, and the levels that this placement cannot express.

    If all pods have one template and nothing is placed apart, the template's placement holds for the whole gang.
    """
    if not podgrouper.places_at(workload) and not workload.is_owned:
        return None, ()
    if is_placed_as_a_whole(workload):
        only_type = next((replica for replica in workload.replicas if replica.replicas), workload.replicas[0])
        return combined(workload.placement, only_type.placement)
    return workload.placement, ()


@fact
def is_placed_as_a_whole(workload: FleetWorkload) -> bool:
    """Whether the placement of a template holds for all pods."""
    templates = {replica.path for replica in workload.replicas if replica.replicas or len(workload.replicas) == 1}
    if len(templates) != 1 or (workload.is_owned and podgrouper.has_sub_groups(workload)):
        return False
    return not places_parts(workload) and podgrouper.is_one_pod_group(workload)


@fact
def places_parts(workload: FleetWorkload) -> bool:
    """Whether each template places the pods that are made from it, apart from all others."""
    if workload.is_owned:
        return podgrouper.has_sub_groups(workload)
    feature = podgrouper.row(workload).placed_parts
    return feature is not None and workload.pool.backend.has(feature)


def part_placement(workload: FleetWorkload, replica_type: ReplicaType) -> Placement | None:
    """Returns the placement of a replica type's SubGroup; for a JobSet, of each of its jobs."""
    return replica_type.placement if places_parts(workload) else None


@fact
def placed(workload: FleetWorkload) -> dict[KeyPath, Placement | None]:
    """Returns the placement that the annotations which KAI reads must ask for, by path. If the gang has no placement as
    a whole, these annotations may not even name a topology: KAI never places a PodGroup with a topology and no level.
    """
    if not podgrouper.is_made_by_kai(workload):
        return {}
    placements: dict[KeyPath, Placement | None] = {}
    for replica_type in workload.replicas if places_parts(workload) else ():
        if replica_type.placement is not None and replica_type.placement.asked:
            placements[
                replica_type.job_annotations[0] if replica_type.job_annotations else replica_type.annotations_path
            ] = replica_type.placement
    whole, _ = whole_placement(workload)
    if annotations_path := podgrouper.places_at(workload):
        placements[annotations_path] = whole if whole is not None and whole.asked else None
    return placements


Path = tuple[str, ...]
"""Preferred names of a SubGroup and the SubGroups above, from the top."""
Draft = tuple[Path, SubGroup]
"""A SubGroup that has no final name and parent yet."""


@dataclass(frozen=True, slots=True)
class PodSegment:
    """The segment that a pod is in."""

    replica_type: str
    segment: str
    """Name of the segment's SubGroup."""
    indices: tuple[int, int]
    """Lowest and highest index in the segment."""
    index_label: str
    """Label that holds the pod's index."""


def gang_of(fleet: Fleet, workload: FleetWorkload) -> Gang:
    """Returns the gang that a workload shares with others or has alone; for a LeaderWorkerSet, the gang of one group.

    If the PodGroup is unknown, returns all pods of the workload without a minimum.
    """
    shared = workload.shared_gang
    if shared is None:
        gang = own_gang(workload)
    else:
        gang = shared_gang([member for member in fleet.workloads if member.shared_gang is shared])
    if workload.pool.backend.is_kai and podgrouper.is_predicted(workload):
        return gang
    pods = workload.pods + sum(replica_type.replicas for replica_type in workload.outside)
    return Gang(workload.name, pods, None, workload.gpus, gang.constraint, kind=workload.kind)


def own_gang(workload: FleetWorkload) -> Gang:
    """Returns the gang of a workload's own pods; for a LeaderWorkerSet, the gang of one group."""
    replica_types, minimums, needed_jobs = workload.replicas, podgrouper.minimums(workload), None
    if not podgrouper.is_one_pod_group(workload):
        replica_types, minimums = tuple(replace(each, replicas=1, indices=1) for each in replica_types), [1]
    if podgrouper.row(workload).leads_segments and podgrouper.has_sub_groups(workload):
        drafts = list(_group(workload))
    elif podgrouper.makes_jobs(workload):
        drafts, needed_jobs = list(_jobs(workload)), podgrouper.needed_jobs(workload)
    elif podgrouper.has_sub_groups(workload):
        pairs = [pair for pair in zip(replica_types, minimums, strict=True) if podgrouper.is_part(workload, pair[0])]
        drafts = [
            x for replica_type, minimum in pairs for x in _replica_type(workload, replica_type, minimum, divided=True)
        ]
    else:
        drafts = []
    return Gang(
        name=podgrouper.pod_group_name(workload),
        pods=sum(replica_type.replicas for replica_type in replica_types),
        minimum=sum(minimums),
        gpus=sum(replica_type.replicas * replica_type.gpus for replica_type in replica_types),
        constraint=_constraint(whole_placement(workload)[0]),
        needed_parts=needed_jobs,
        sub_groups=_named(drafts),
    )


def shared_gang(workloads: Sequence[FleetWorkload]) -> Gang:
    """Returns the gang that all ``workloads`` share: a SubGroup for each, above the workload's own SubGroups."""
    sub_groups: list[SubGroup] = []
    gangs = [own_gang(workload) for workload in workloads]
    for workload, gang in zip(workloads, gangs, strict=True):
        name = member_name(workload)
        sub_groups.append(SubGroup(name, gang.pods, gang.minimum, gang.gpus, gang.constraint))
        sub_groups += (replace(sub_group, parent=sub_group.parent or name) for sub_group in gang.sub_groups)
    return Gang(
        name=podgrouper.pod_group_name(workloads[0]),
        pods=sum(gang.pods for gang in gangs),
        minimum=sum(gang.minimum or 0 for gang in gangs),
        gpus=sum(gang.gpus for gang in gangs),
        sub_groups=tuple(sub_groups),
    )


def member_name(workload: FleetWorkload) -> str:
    """Returns the SubGroup of a workload in its shared gang."""
    shared = workload.shared_gang
    return shared.sub_groups[workload.file_name, ""] if shared else names.as_label(workload.file_name)


def sub_group_name(workload: FleetWorkload, replica_type: ReplicaType) -> str | None:
    """Returns the SubGroup of a replica type; None if the replica type has none."""
    name = podgrouper.part_name(workload, replica_type) if podgrouper.has_sub_groups(workload) else None
    if workload.shared_gang is None:
        return name
    return workload.shared_gang.sub_groups[workload.file_name, name or ""]


def segments_of_pods(workloads: Iterable[FleetWorkload], index: int) -> list[tuple[FleetWorkload, PodSegment]]:
    """Returns the segments of the pods with ``index`` in several workloads."""
    return [(workload, segment) for workload in workloads for segment in segments_of_pod(workload, index)]


def segments_of_pod(workload: FleetWorkload, index: int) -> Iterator[PodSegment]:
    """Yields the segment of the pod with ``index`` for each replica type whose segments have this index."""
    leads = podgrouper.row(workload).leads_segments
    for replica_type, minimum in zip(workload.replicas, podgrouper.minimums(workload), strict=True):
        segments = replica_type.segments
        if segments is None or index >= replica_type.indices + int(leads) or (index == 0 and segments.leader_excluded):
            continue
        if leads:
            workers, size = replica_type.replicas, segments.size
            segment_number = worker_segment(index, workers, size)
            segment = group_segment_at(segment_number, workers, size, leader_excluded=segments.leader_excluded)
        else:
            segment_number = segment_of(index, segments.size)
            mandatory = podgrouper.mandatory(workload, replica_type, minimum)
            segment = segment_at(segment_number, replica_type.indices, mandatory, segments.size)
        # In the first segment of a LeaderWorkerSet there may be the leader too.
        has_leader = leads and not index
        name = next(each.name for each in workload.replicas if each.is_leader) if has_leader else replica_type.name
        span = (0 if segment.has_leader else segment.first, segment.last)
        yield PodSegment(name, _segment_name(workload, replica_type, segment_number), span, segments.index_label)


def _segment_name(workload: FleetWorkload, replica_type: ReplicaType, number: int) -> str:
    """Returns the SubGroup of a segment; if segments are too many to list, the name that the SubGroup would have."""
    leads = podgrouper.row(workload).leads_segments
    if not workload.lists_segments:
        return f"segment-{number}" if leads else names.as_label(f"{replica_type.name}-{number}")
    gang = own_gang(workload)
    if leads:
        return [sub_group.name for sub_group in gang.below(gang) if sub_group.name != workload.replicas[0].name][number]
    sub_group_of_type = next(each for each in gang.below(gang) if each.name == sub_group_name(workload, replica_type))
    return gang.below(sub_group_of_type)[number].name


def _replica_type(
    workload: FleetWorkload, replica_type: ReplicaType, minimum: int, *, divided: bool
) -> Iterator[Draft]:
    """Yields the SubGroup of a replica type and, if ``divided``, the SubGroups of its segments."""
    name = sub_group_name(workload, replica_type) or replica_type.name
    segments = replica_type.segments if divided and workload.lists_segments else None
    mandatory = podgrouper.mandatory(workload, replica_type, minimum)
    cuts = cut(replica_type.indices, mandatory, segments.size, replica_type.replicas) if segments else ()
    yield (
        (name,),
        SubGroup(
            name=name,
            pods=replica_type.replicas,
            minimum=minimum,
            gpus=replica_type.replicas * replica_type.gpus,
            constraint=_constraint(part_placement(workload, replica_type)),
            needs_all_parts=bool(cuts),
        ),
    )
    for segment in cuts:
        yield (name, f"{replica_type.name}-{segment.number}"), _segment(segment, replica_type, segments)


def _jobs(workload: FleetWorkload) -> Iterator[Draft]:
    """Yields the SubGroups of a JobSet: its replicated jobs, and below each a SubGroup for each of its jobs."""
    for replica_type, least in zip(workload.replicas, podgrouper.job_minimums(workload), strict=True):
        name, pods = podgrouper.part_name(workload, replica_type), replica_type.replicas // max(1, replica_type.jobs)
        gpus = replica_type.replicas * replica_type.gpus
        yield (name,), SubGroup("", replica_type.replicas, replica_type.jobs * least, gpus, needs_all_parts=True)
        constraint = _constraint(part_placement(workload, replica_type))
        job = SubGroup("", pods, least, pods * replica_type.gpus, constraint)
        if podgrouper.lists_parts(workload):
            yield from (((name, f"{name}-replica-{number}"), job) for number in range(replica_type.jobs))


def _segment(segment: Segment, replica_type: ReplicaType, segments: Segments | None) -> SubGroup:
    return SubGroup(
        name="",
        pods=segment.pods,
        minimum=segment.minimum,
        gpus=segment.pods * replica_type.gpus,
        constraint=_constraint(segments.placement if segments else None),
        indices=(segment.first, segment.last),
    )


def _group(workload: FleetWorkload) -> Iterator[Draft]:
    """Yields the SubGroups of one group of a LeaderWorkerSet; without segments, the leader and the workers."""
    leader, workers = workload.replicas
    leader_minimum, minimum = podgrouper.minimums(workload)
    ((path, leader_sub_group),) = _replica_type(workload, leader, leader_minimum, divided=False)
    leader_draft = (path, replace(leader_sub_group, indices=(0, 0)))
    segments = workers.segments
    if segments is None or not workload.lists_segments:
        yield leader_draft
        if workers.replicas:
            ((path, workers_sub_group),) = _replica_type(workload, workers, minimum, divided=False)
            yield path, replace(workers_sub_group, indices=(1, workers.replicas))
        return
    # The leader is apart, or in the first segment with that segment's workers.
    path, lead = leader_draft
    below: list[Draft] = []
    if segments.leader_excluded:
        yield leader_draft
    for segment in cut_group(workers.replicas, segments.size, leader_excluded=segments.leader_excluded):
        name, sub_group = f"segment-{segment.number}", _segment(segment, workers, segments)
        if segment.has_leader:
            workers_sub_group, span = sub_group, (0, max(segment.last, segment.first - 1))
            sub_group = replace(
                workers_sub_group,
                pods=workers_sub_group.pods + 1,
                gpus=workers_sub_group.gpus + lead.gpus,
                indices=span,
                needs_all_parts=True,
            )
            below.append(((name, *path), lead))
            if workers_sub_group.pods:
                workers_only = replace(workers_sub_group, minimum=workers_sub_group.pods, constraint=None)
                below.append(((name, workers.name), workers_only))
        yield (name,), sub_group
    yield from below


def _constraint(placement: Placement | None) -> Constraint | None:
    if placement is None or not placement.asked:
        return None
    required, preferred = placement.required, placement.preferred
    return Constraint(placement.topology, required.level if required else None, preferred.level if preferred else None)


def _named(drafts: Iterable[Draft]) -> tuple[SubGroup, ...]:
    """Returns the SubGroups with unique names. Replica types keep their names, segments give way."""
    drafts = list(drafts)
    paths = sorted((path for path, _ in drafts), key=len)
    wanted_names = [("/".join(path), path[-1] if len(path) == 1 else names.as_label(path[-1])) for path in paths]
    name_of_path = dict(zip(paths, names.distinct(wanted_names), strict=True))
    return tuple(
        replace(sub_group, name=name_of_path[path], parent=name_of_path.get(path[:-1])) for path, sub_group in drafts
    )


@dataclass(frozen=True, slots=True)
class Batch:
    """Equal pods of a gang."""

    template: ReplicaType
    sub_group: str | None
    """Name of the pods' SubGroup; None if the pods are in none."""
    pods: int


def batches(workload: FleetWorkload, gang: Gang) -> Iterator[Batch]:
    """Yields all pods of a workload's own gang, by replica type, then by index. ``gang`` is what ``own_gang`` returns.

    If each pod has its own PodGroup, yields one pod for each replica type.
    """
    is_shared = podgrouper.is_one_pod_group(workload)
    for replica_type in workload.replicas:
        remaining_pods = replica_type.replicas if is_shared else min(1, replica_type.replicas)
        if not gang.sub_groups:
            yield Batch(replica_type, None, remaining_pods)
        for sub_group in _leaves_of(workload, gang, replica_type):  # pods with the highest indices may not be there yet
            pods_of_sub_group = min(sub_group.pods, remaining_pods)
            remaining_pods -= pods_of_sub_group
            if pods_of_sub_group:
                yield Batch(replica_type, sub_group.name, pods_of_sub_group)


def leaves(workload: FleetWorkload, gang: Gang) -> Iterator[tuple[SubGroup, ReplicaType]]:
    """Yields the SubGroups that have pods of a workload's own gang, each with the replica type of its pods."""
    return ((sub_group, replica) for replica in workload.replicas for sub_group in _leaves_of(workload, gang, replica))


def _leaves_of(workload: FleetWorkload, gang: Gang, replica_type: ReplicaType) -> Sequence[SubGroup]:
    """Returns the SubGroups that have the pods of a replica type, in the order of the pods' indices."""
    if podgrouper.row(workload).leads_segments:  # segments stand side by side, and the leader has index 0
        by_indices = ((sub_group.indices or (0, 0), sub_group) for sub_group in gang.leaves)
        return [
            sub_group
            for span, sub_group in sorted(by_indices, key=lambda pair: pair[0])
            if (span == (0, 0)) == replica_type.is_leader
        ]
    name = sub_group_name(workload, replica_type) or replica_type.name
    sub_group_of_type = next((sub_group for sub_group in gang.below(gang) if sub_group.name == name), None)
    return () if sub_group_of_type is None else gang.below(sub_group_of_type) or (sub_group_of_type,)


def waits(workload: FleetWorkload, name: str) -> Iterator[tuple[KeyPath, str]]:
    """Yields where a workload says in the annotation ``name`` how long its gang waits, and the text there. The places
    that KAI reads come first; KAI takes the first of them.
    """
    metadata = {ROOT: workload.declared.spec.metadata.annotations}
    metadata |= dict(replica_type.job_annotations for replica_type in workload.replicas if replica_type.job_annotations)
    pod_annotations = {replica_type.annotations_path: replica_type.annotations for replica_type in workload.replicas}
    read_path = podgrouper.places_at(workload)
    for annotations_path, texts in ({read_path: metadata.get(read_path, {})} | pod_annotations | metadata).items():
        if name in texts:
            yield (*annotations_path, name), texts[name]


def reads_wait(workload: FleetWorkload, path: KeyPath) -> bool:
    """Whether KAI reads an annotation of ``waits``: on the object that makes the pods, or on the pods themselves. There
    ``render`` writes it if KAI may not read the object.
    """
    if path[:-1] == ROOT and podgrouper.copies_waits(workload):
        return True
    of_pods = [replica_type.annotations_path for replica_type in workload.replicas]
    return path[:-1] in (podgrouper.places_at(workload), *of_pods)


def wait(workload: FleetWorkload, name: str, feature: Feature) -> str | None:
    """Returns the duration of that name in the workload's PodGroup, as Go writes it; None if the PodGroup has none."""
    if not workload.pool.backend.has(feature):
        return None
    durations = (times.nanoseconds(text) for path, text in waits(workload, name) if reads_wait(workload, path))
    wait_nanoseconds = next((duration for duration in durations if duration is not None), None)
    return None if wait_nanoseconds is None else times.duration(wait_nanoseconds)
