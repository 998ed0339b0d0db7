"""Where KAI reads how close the pods of a workload must run, and what is asked for there."""

from __future__ import annotations

from kubectl_tas.gangs import podgrouper
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve.placement import LevelAnnotation, Placement, ReplicaType, combined
from kubectl_tas.resolve.workload import FleetWorkload


def whole_placement(workload: FleetWorkload) -> tuple[Placement | None, tuple[LevelAnnotation, ...]]:
    """The placement of a workload's gang as a whole, and the levels that it cannot say.

    Where all pods are of one template, and nothing is placed apart, what the template asks for holds for the whole.
    """
    if is_placed_as_a_whole(workload):
        only = next((item for item in workload.replicas if item.replicas), workload.replicas[0])
        return combined(workload.placement, only.placement)
    return workload.placement, ()


def is_placed_as_a_whole(workload: FleetWorkload) -> bool:
    """Whether what a template asks for is asked for all pods."""
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


def part_placement(workload: FleetWorkload, item: ReplicaType) -> Placement | None:
    """The placement of the SubGroup of a replica type; of a JobSet that of each of its jobs."""
    return item.placement if places_parts(workload) else None


def placed(workload: FleetWorkload) -> dict[KeyPath, Placement | None]:
    """What the annotations that KAI reads must ask for, by the path at which they stand. Where nothing is asked for
    as a whole, not even a topology may be named there: KAI never places a PodGroup with a topology and no level.
    """
    if not podgrouper.is_made_by_kai(workload):
        return {}
    found: dict[KeyPath, Placement | None] = {}
    for item in workload.replicas if places_parts(workload) else ():
        if item.placement is not None and item.placement.asked:
            found[item.job_annotations[0] if item.job_annotations else item.annotations_path] = item.placement
    whole, _ = whole_placement(workload)
    found[podgrouper.row(workload).placed_at] = whole if whole is not None and whole.asked else None
    return found
