"""A workload in; its picture, and the segment of one of its pods, out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from kubectl_tas.compile.gangs import Part, gang_of, is_predicted, joint_gang
from kubectl_tas.compile.previews import note
from kubectl_tas.draw.picture import Branch, Picture, picture_of
from kubectl_tas.report.text import plural
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet, Level
from kubectl_tas.resolve.placement import FleetReplicas, Placement, Segments
from kubectl_tas.resolve.replicas import LEADER
from kubectl_tas.resolve.segments import group_segment_at, segment_at, segment_of, worker_segment
from kubectl_tas.resolve.workload import MAX_SEGMENTS, FleetWorkload


@dataclass(frozen=True, slots=True)
class Seat:
    """The segment that a pod is in."""

    replica_type: str
    segment: str
    indices: tuple[int, int]
    index_label: str
    """The label that holds the pod's index."""


def picture(fleet: Fleet, workload: FleetWorkload) -> Picture:
    """The picture of one workload."""
    gang = _gang(fleet, workload)
    tree = _branch(gang, "PodGroup") if _is_predicted(workload) else _pods(workload, gang)
    facts = (("PodGroup", _note(workload, gang)), *_beside(workload), *_indices(workload), *_unlisted(workload))
    return picture_of(fleet, workload, _topology(workload), (tree,), facts)


def seats(workload: FleetWorkload, index: int) -> tuple[Seat, ...]:
    """Where the pod with ``index`` is, for each replica type with segments; none where no segment has it."""
    return tuple(seat for item in workload.replicas for seat in _seat(workload, item, index))


def _replica_type(workload: FleetWorkload, item: FleetReplicas, index: int) -> str:
    """What the pod with ``index`` is: in the first segment of a LeaderWorkerSet there may be the leader too."""
    return LEADER if workload.kind == "LeaderWorkerSet" and index == 0 else item.type.name


def _beside(workload: FleetWorkload) -> Iterator[tuple[str, str]]:
    """Pods that the tree of the gang does not show."""
    for item in workload.beside if _is_predicted(workload) else ():
        pods, gpus = plural(item.type.replicas, "pod"), plural(item.type.replicas * item.type.gpus, "GPU")
        yield "Beside", f"{item.type.name}, {pods} with {gpus}, is no part of the gang"


def _indices(workload: FleetWorkload) -> Iterator[tuple[str, str]]:
    """Segments are by index, of which an Indexed Job may have more than pods at a time."""
    for item in workload.replicas:
        if item.segments is not None and item.type.indices > item.type.replicas:
            yield "Indices", f"{item.type.indices} of {item.type.name}, {item.type.replicas} at a time"


def _unlisted(workload: FleetWorkload) -> Iterator[tuple[str, str]]:
    """What stands for segments that are too many to be listed."""
    for item in workload.replicas:
        if item.segments is not None and not workload.lists_segments:
            text = f"{item.segment_count} segments of {plural(item.segments.size, 'pod')} of {item.type.name}"
            levels = (*_words("required", item.segments), *_words("preferred", item.segments))
            yield "Segments", ", ".join([text, *levels, f"more than the {MAX_SEGMENTS} that are listed"])


def _words(what: Literal["required", "preferred"], segments: Segments) -> Iterator[str]:
    asked = getattr(segments.placement, what)
    if asked is not None:
        yield f"each {what} in one {asked.level.key} ({asked.level.label})"


def _seat(workload: FleetWorkload, item: FleetReplicas, index: int) -> Iterator[Seat]:
    kind, segments = item.type, item.segments
    if segments is None or index >= kind.indices + int(workload.kind == "LeaderWorkerSet"):
        return
    if workload.kind == "LeaderWorkerSet":
        if index == 0 and segments.leader_excluded:
            return
        number = worker_segment(index, kind.replicas, segments.size)
        one = group_segment_at(number, kind.replicas, segments.size, leader_excluded=segments.leader_excluded)
        span = (0 if one.has_leader else one.first, one.last)
    else:
        number = segment_of(index, segments.size)
        one = segment_at(number, kind.indices, kind.minimum, segments.size)
        span = (one.first, one.last)
    name = _segment_name(workload, item, number)
    yield Seat(_replica_type(workload, item, index), name, span, segments.index_label)


def _segment_name(workload: FleetWorkload, item: FleetReplicas, number: int) -> str:
    """The SubGroup of a segment; of those that are too many to be listed, what it would be called."""
    is_group = workload.kind == "LeaderWorkerSet"
    if not workload.lists_segments:
        return f"segment-{number}" if is_group else names.as_label(f"{item.type.name}-{number}")
    parts = gang_of(workload).parts
    if is_group:
        return [part.name for part in parts if part.name != LEADER][number]
    own = next(part for part in parts if part.name == workload.sub_group(item))
    return own.parts[number].name


def _gang(fleet: Fleet, workload: FleetWorkload) -> Part:
    """The gang that it is in, with all others of it."""
    if workload.joint is None:
        return gang_of(workload)
    return joint_gang(workload.joint.name, (item for item in fleet.workloads if item.joint is workload.joint))


def _note(workload: FleetWorkload, gang: Part) -> str:
    if workload.gang is not None:
        return f"{workload.gang}, shared by the workloads of this gang"
    if workload.is_owned:
        return f"{workload.pod_group}, written by kubectl-tas"
    if not workload.pool.backend.is_kai:
        return f"none; backend {workload.pool.backend.name} has no KAI Scheduler"
    own = [item.pod_group for item in workload.replicas if workload.names_its_own(item)]
    if own:
        named = " and ".join(dict.fromkeys(name for name in own if name is not None))
        return f"{named}, named by the pods themselves" if named else "none; the pods name none, and KAI makes none"
    if not is_predicted(workload):
        return f"made by KAI's PodGrouper; not predicted for a {workload.kind}"
    return note(workload, divided=bool(gang.parts))


def _topology(workload: FleetWorkload) -> str | None:
    """The Topology that its placements refer to, else its pool's."""
    placements = [workload.merged[0], *(item.placement for item in workload.replicas)]
    placements += [item.segments.placement for item in workload.replicas if item.segments]
    named = next((placement.topology for placement in placements if placement), None)
    return named or (workload.pool.topology.name_on(workload.pool.backend) if workload.pool.topology else None)


def _is_predicted(workload: FleetWorkload) -> bool:
    return workload.pool.backend.is_kai and is_predicted(workload)


def _pods(workload: FleetWorkload, gang: Part) -> Branch:
    """The pods of a workload; how many KAI waits for, and in which parts, is not known."""
    pods = workload.pods + sum(item.type.replicas for item in workload.beside)
    branch = _branch(gang, workload.kind)
    return replace(branch, name=workload.name, pods=pods, gpus=workload.gpus, minimum=None, branches=())


def _branch(part: Part, kind: str) -> Branch:
    required, preferred = _levels(part.placement)
    return Branch(
        kind=kind,
        name=part.name,
        pods=part.pods,
        minimum=None if part.parts else part.minimum,
        gpus=part.gpus,
        required=required,
        preferred=preferred,
        branches=tuple(_branch(child, "SubGroup") for child in part.parts),
        indices=part.indices,
    )


def _levels(placement: Placement | None) -> tuple[Level | None, Level | None]:
    if placement is None:
        return None, None
    required, preferred = placement.required, placement.preferred
    return required.level if required else None, preferred.level if preferred else None
