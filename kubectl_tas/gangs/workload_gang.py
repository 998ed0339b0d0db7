"""Builds the gang of a Kubernetes workload, as KAI's podgrouper or this tool makes it. Also finds the segments of pods,
and how long the gang waits by the annotations that KAI reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from kubectl_tas import times
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
from kubectl_tas.kai import Feature
from kubectl_tas.late import dataclass
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.placement import ROOT, LevelAnnotation, Placement, ReplicaType, Segments, combined


def whole_placement(workload: FleetWorkload) -> tuple[Placement | None, tuple[LevelAnnotation, ...]]:
    """Returns the placement of a workload's gang as a whole, and the levels that this placement cannot express.

    If all pods have one template and nothing is placed apart, the template's placement holds for the whole gang.
    """
    if not podgrouper.places_at(workload) and not workload.is_owned:
        return None, ()
    if is_placed_as_a_whole(workload):
        only = next((item for item in workload.replicas if item.replicas), workload.replicas[0])
        return combined(workload.placement, only.placement)
    return workload.placement, ()


def is_placed_as_a_whole(workload: FleetWorkload) -> bool:
    """Whether the placement of a template holds for all pods."""
    templates = {item.path for item in workload.replicas if item.replicas or len(workload.replicas) == 1}
    if len(templates) != 1 or (workload.is_owned and podgrouper.has_sub_groups(workload)):
        return False
    return not places_parts(workload) and podgrouper.is_one_pod_group(workload)


def places_parts(workload: FleetWorkload) -> bool:
    """Whether each template places the pods that are made from it, apart from all others."""
    if workload.is_owned:
        return podgrouper.has_sub_groups(workload)
    feature = podgrouper.row(workload).placed_parts
    return feature is not None and workload.pool.backend.has(feature)


def part_placement(workload: FleetWorkload, replica_type: ReplicaType) -> Placement | None:
    """Returns the placement of a replica type's SubGroup; for a JobSet, of each of its jobs."""
    return replica_type.placement if places_parts(workload) else None


def placed(workload: FleetWorkload) -> dict[KeyPath, Placement | None]:
    """Returns the placement that the annotations which KAI reads must ask for, by path. If the gang has no placement as
    a whole, these annotations may not even name a topology: KAI never places a PodGroup with a topology and no level.
    """
    if not podgrouper.is_made_by_kai(workload):
        return {}
    found: dict[KeyPath, Placement | None] = {}
    for item in workload.replicas if places_parts(workload) else ():
        if item.placement is not None and item.placement.asked:
            found[item.job_annotations[0] if item.job_annotations else item.annotations_path] = item.placement
    whole, _ = whole_placement(workload)
    if at := podgrouper.places_at(workload):
        found[at] = whole if whole is not None and whole.asked else None
    return found


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
    gang = (
        shared_gang([item for item in fleet.workloads if item.shared_gang is shared]) if shared else own_gang(workload)
    )
    if workload.pool.backend.is_kai and podgrouper.is_predicted(workload):
        return gang
    pods = workload.pods + sum(item.replicas for item in workload.outside)
    return Gang(workload.name, pods, None, workload.gpus, gang.constraint, kind=workload.kind)


def own_gang(workload: FleetWorkload) -> Gang:
    """Returns the gang of a workload's own pods; for a LeaderWorkerSet, the gang of one group."""
    types, minimums, needed_parts = workload.replicas, podgrouper.minimums(workload), None
    if not podgrouper.is_one_pod_group(workload):
        types, minimums = tuple(replace(item, replicas=1, indices=1) for item in types), [1]
    if podgrouper.row(workload).leads_segments and podgrouper.has_sub_groups(workload):
        drafts = list(_group(workload))
    elif podgrouper.makes_jobs(workload):
        drafts, needed_parts = list(_jobs(workload)), podgrouper.needed_jobs(workload)
    elif podgrouper.has_sub_groups(workload):
        pairs = [pair for pair in zip(types, minimums, strict=True) if podgrouper.is_part(workload, pair[0])]
        drafts = [draft for item, least in pairs for draft in _replica_type(workload, item, least, divided=True)]
    else:
        drafts = []
    return Gang(
        name=podgrouper.pod_group_name(workload),
        pods=sum(item.replicas for item in types),
        minimum=sum(minimums),
        gpus=sum(item.replicas * item.gpus for item in types),
        constraint=_constraint(whole_placement(workload)[0]),
        needed_parts=needed_parts,
        sub_groups=_named(drafts),
    )


def shared_gang(workloads: Sequence[FleetWorkload]) -> Gang:
    """Returns the gang that all ``workloads`` share: a SubGroup for each, above the workload's own SubGroups."""
    parts: list[SubGroup] = []
    owns = [own_gang(workload) for workload in workloads]
    for workload, own in zip(workloads, owns, strict=True):
        name = member(workload)
        parts.append(SubGroup(name, own.pods, own.minimum, own.gpus, own.constraint))
        parts += (replace(part, parent=part.parent or name) for part in own.sub_groups)
    return Gang(
        name=podgrouper.pod_group_name(workloads[0]),
        pods=sum(own.pods for own in owns),
        minimum=sum(own.minimum or 0 for own in owns),
        gpus=sum(own.gpus for own in owns),
        sub_groups=tuple(parts),
    )


def member(workload: FleetWorkload) -> str:
    """Returns the SubGroup of a workload in its shared gang."""
    shared = workload.shared_gang
    return shared.sub_groups[workload.file_name, ""] if shared else names.as_label(workload.file_name)


def sub_group(workload: FleetWorkload, replica_type: ReplicaType) -> str | None:
    """Returns the SubGroup of a replica type; None if the replica type has none."""
    own = podgrouper.part_name(workload, replica_type) if podgrouper.has_sub_groups(workload) else None
    if workload.shared_gang is None:
        return own
    return workload.shared_gang.sub_groups[workload.file_name, own or ""]


def segments_of_pods(items: Iterable[FleetWorkload], index: int) -> list[tuple[FleetWorkload, PodSegment]]:
    """Returns the segments of the pods with ``index`` in several workloads."""
    return [(item, found) for item in items for found in segments_of_pod(item, index)]


def segments_of_pod(workload: FleetWorkload, index: int) -> Iterator[PodSegment]:
    """Yields the segment of the pod with ``index`` for each replica type whose segments have this index."""
    leads = podgrouper.row(workload).leads_segments
    for item, minimum in zip(workload.replicas, podgrouper.minimums(workload), strict=True):
        segments = item.segments
        if segments is None or index >= item.indices + int(leads) or (index == 0 and segments.leader_excluded):
            continue
        if leads:
            number = worker_segment(index, item.replicas, segments.size)
            one = group_segment_at(number, item.replicas, segments.size, leader_excluded=segments.leader_excluded)
        else:
            number = segment_of(index, segments.size)
            one = segment_at(number, item.indices, podgrouper.mandatory(workload, item, minimum), segments.size)
        # In the first segment of a LeaderWorkerSet there may be the leader too.
        name = (
            next(leader.name for leader in workload.replicas if leader.is_leader) if leads and not index else item.name
        )
        span = (0 if one.has_leader else one.first, one.last)
        yield PodSegment(name, _segment_name(workload, item, number), span, segments.index_label)


def _segment_name(workload: FleetWorkload, replica_type: ReplicaType, number: int) -> str:
    """Returns the SubGroup of a segment; if segments are too many to list, the name that the SubGroup would have."""
    leads = podgrouper.row(workload).leads_segments
    if not workload.lists_segments:
        return f"segment-{number}" if leads else names.as_label(f"{replica_type.name}-{number}")
    gang = own_gang(workload)
    if leads:
        return [part.name for part in gang.below(gang) if part.name != workload.replicas[0].name][number]
    own = next(part for part in gang.below(gang) if part.name == sub_group(workload, replica_type))
    return gang.below(own)[number].name


def _replica_type(
    workload: FleetWorkload, replica_type: ReplicaType, minimum: int, *, divided: bool
) -> Iterator[Draft]:
    """Yields the SubGroup of a replica type and, if ``divided``, the SubGroups of its segments."""
    name = sub_group(workload, replica_type) or replica_type.name
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
    for one in cuts:
        yield (name, f"{replica_type.name}-{one.number}"), _segment(one, replica_type, segments)


def _jobs(workload: FleetWorkload) -> Iterator[Draft]:
    """Yields the SubGroups of a JobSet: its replicated jobs, and below each a SubGroup for each of its jobs."""
    for item, least in zip(workload.replicas, podgrouper.job_minimums(workload), strict=True):
        name, pods = podgrouper.part_name(workload, item), item.replicas // max(1, item.jobs)
        whole = SubGroup("", item.replicas, item.jobs * least, item.replicas * item.gpus, needs_all_parts=True)
        yield (name,), whole
        constraint = _constraint(part_placement(workload, item))
        job = SubGroup("", pods, least, pods * item.gpus, constraint)
        if podgrouper.lists_parts(workload):
            yield from (((name, f"{name}-replica-{number}"), job) for number in range(item.jobs))


def _segment(one: Segment, replica_type: ReplicaType, segments: Segments | None) -> SubGroup:
    return SubGroup(
        name="",
        pods=one.pods,
        minimum=one.minimum,
        gpus=one.pods * replica_type.gpus,
        constraint=_constraint(segments.placement if segments else None),
        indices=(one.first, one.last),
    )


def _group(workload: FleetWorkload) -> Iterator[Draft]:
    """Yields the SubGroups of one group of a LeaderWorkerSet; without segments, the leader and the workers."""
    leader, workers = workload.replicas
    least, minimum = podgrouper.minimums(workload)
    ((path, first),) = _replica_type(workload, leader, least, divided=False)
    lead = (path, replace(first, indices=(0, 0)))
    segments = workers.segments
    if segments is None or not workload.lists_segments:
        yield lead
        if workers.replicas:
            ((path, rest),) = _replica_type(workload, workers, minimum, divided=False)
            yield path, replace(rest, indices=(1, workers.replicas))
    else:
        yield from _group_segments(workers, segments, lead)


def _group_segments(workers: ReplicaType, segments: Segments, lead: Draft) -> Iterator[Draft]:
    """Yields the segments and the leader: the leader is apart, or in the first segment with that segment's workers."""
    path, leader = lead
    below: list[Draft] = []
    if segments.leader_excluded:
        yield lead
    for one in cut_group(workers.replicas, segments.size, leader_excluded=segments.leader_excluded):
        name, part = f"segment-{one.number}", _segment(one, workers, segments)
        if one.has_leader:
            own, span = part, (0, max(one.last, one.first - 1))
            part = replace(own, pods=own.pods + 1, gpus=own.gpus + leader.gpus, indices=span, needs_all_parts=True)
            below.append(((name, *path), leader))
            if own.pods:
                rest = replace(own, minimum=own.pods, constraint=None)
                below.append(((name, workers.name), rest))
        yield (name,), part
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
    wanted = [("/".join(path), path[-1] if len(path) == 1 else names.as_label(path[-1])) for path in paths]
    given = dict(zip(paths, names.distinct(wanted), strict=True))
    return tuple(replace(part, name=given[path], parent=given.get(path[:-1])) for path, part in drafts)


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
    for item in workload.replicas:
        left = item.replicas if is_shared else min(1, item.replicas)
        if not gang.sub_groups:
            yield Batch(item, None, left)
        for part in _leaves_of(workload, gang, item):  # pods with the highest indices may not be there yet
            own = min(part.pods, left)
            left -= own
            if own:
                yield Batch(item, part.name, own)


def leaves(workload: FleetWorkload, gang: Gang) -> Iterator[tuple[SubGroup, ReplicaType]]:
    """Yields the SubGroups that have pods of a workload's own gang, each with the replica type of its pods."""
    return ((part, item) for item in workload.replicas for part in _leaves_of(workload, gang, item))


def _leaves_of(workload: FleetWorkload, gang: Gang, replica_type: ReplicaType) -> Sequence[SubGroup]:
    """Returns the SubGroups that have the pods of a replica type, in the order of the pods' indices."""
    if podgrouper.row(workload).leads_segments:  # segments stand side by side, and the leader has index 0
        own = ((part.indices or (0, 0), part) for part in gang.leaves)
        return [
            part for span, part in sorted(own, key=lambda pair: pair[0]) if (span == (0, 0)) == replica_type.is_leader
        ]
    name = sub_group(workload, replica_type) or replica_type.name
    top = next((part for part in gang.below(gang) if part.name == name), None)
    return () if top is None else gang.below(top) or (top,)


def waits(workload: FleetWorkload, name: str) -> Iterator[tuple[KeyPath, str]]:
    """Yields where a workload says in the annotation ``name`` how long its gang waits, and the text there. The places
    that KAI reads come first; KAI takes the first of them.
    """
    metadata = {ROOT: workload.declared.spec.metadata.annotations}
    metadata |= dict(item.job_annotations for item in workload.replicas if item.job_annotations)
    pods = {item.annotations_path: item.annotations for item in workload.replicas}
    at = podgrouper.places_at(workload)
    for place, written in ({at: metadata.get(at, {})} | pods | metadata).items():
        if name in written:
            yield (*place, name), written[name]


def reads_wait(workload: FleetWorkload, path: KeyPath) -> bool:
    """Whether KAI reads an annotation of ``waits``: on the object that makes the pods, or on the pods themselves. There
    ``render`` writes it if KAI may not read the object.
    """
    if path[:-1] == ROOT and podgrouper.copies_waits(workload):
        return True
    return path[:-1] in (podgrouper.places_at(workload), *(item.annotations_path for item in workload.replicas))


def wait(workload: FleetWorkload, name: str, feature: Feature) -> str | None:
    """Returns the duration of that name in the workload's PodGroup, as Go writes it; None if the PodGroup has none."""
    if not workload.pool.backend.has(feature):
        return None
    read = (times.nanoseconds(text) for path, text in waits(workload, name) if reads_wait(workload, path))
    found = next((item for item in read if item is not None), None)
    return None if found is None else times.duration(found)
