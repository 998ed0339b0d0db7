"""A workload in; its picture, and the segment of one of its pods, out."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kubectl_tas.compile.gangs import Part, gang_of, is_predicted, joint_gang
from kubectl_tas.compile.previews import note
from kubectl_tas.draw.picture import Branch, Picture, picture_of
from kubectl_tas.resolve.fleet import Fleet, Level
from kubectl_tas.resolve.replicas import LEADER
from kubectl_tas.resolve.workload import FleetWorkload, Placement


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
    return picture_of(fleet, workload, _topology(workload), (tree,), (("PodGroup", _note(workload, gang)),))


def seats(workload: FleetWorkload, index: int) -> tuple[Seat, ...]:
    """Where the pod with ``index`` is, for each replica type with segments; none where no segment has it."""
    found = []
    for item in workload.replicas:
        if item.segments is not None:
            parts = gang_of(workload).parts
            if workload.kind == "LeaderWorkerSet":
                parts = tuple(part for part in parts if part.name != LEADER)
            else:
                parts = next(part.parts for part in parts if part.name == workload.sub_group(item))
            for part in parts:
                if part.indices is not None and part.indices[0] <= index <= part.indices[1]:
                    found.append(Seat(item.type.name, part.name, part.indices, item.segments.index_label))
    return tuple(found)


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
    if not is_predicted(workload):
        return f"made by KAI's PodGrouper; not predicted for a {workload.kind}"
    return note(workload, divided=bool(gang.parts))


def _topology(workload: FleetWorkload) -> str | None:
    """The Topology that its placements refer to, else its pool's."""
    placements = [workload.placement, *(item.placement for item in workload.replicas)]
    placements += [item.segments.placement for item in workload.replicas if item.segments]
    named = next((placement.topology for placement in placements if placement), None)
    return named or (workload.pool.topology.name_on(workload.pool.backend) if workload.pool.topology else None)


def _is_predicted(workload: FleetWorkload) -> bool:
    return workload.pool.backend.is_kai and is_predicted(workload)


def _pods(workload: FleetWorkload, gang: Part) -> Branch:
    """The pods of a workload; how many KAI waits for, and in which parts, is not known."""
    return replace(_branch(gang, workload.kind), name=workload.name, minimum=None, branches=())


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
