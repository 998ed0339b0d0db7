"""A topology in; the work that is placed by it out: workflows, workloads and hand-written PodGroups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_tas.diagnostics import Location
from kubectl_tas.resolve.fleet import Fleet, FleetTopology, FleetWorkflow
from kubectl_tas.resolve.podgroup import FleetPodGroup
from kubectl_tas.resolve.workload import FleetWorkload


@dataclass(frozen=True, slots=True)
class PlacedWork:
    """Work that asks for levels of a topology. PodCliqueSets say themselves which one they use."""

    what: str
    """Kind and name."""
    queue: str
    place: Location


def placed_by(fleet: Fleet, topology: FleetTopology) -> Iterator[PlacedWork]:
    """The work of ``fleet`` that ``topology`` places, which ``fleet`` itself may no longer declare."""
    for workflow in fleet.workflows:
        if _is_placed(workflow, topology):
            yield PlacedWork(f"workflow {workflow.name}", workflow.queue, workflow.declared.at("workflow", "name"))
    for workload in fleet.workloads:
        if topology.name_on(workload.pool.backend) in _names(workload):
            place = workload.declared.at("metadata", "name")
            yield PlacedWork(f"{workload.kind} {workload.name}", workload.queue, place)
    for item in fleet.pod_groups:
        if topology.name_on(item.backend) in _topologies(item):
            spec = item.declared.spec
            yield PlacedWork(f"PodGroup {spec.metadata.name}", spec.spec.queue, item.declared.at("metadata", "name"))


def _is_placed(workflow: FleetWorkflow, topology: FleetTopology) -> bool:
    own = workflow.pool.topology
    is_used = own is not None and own.name == topology.name
    return is_used and any(task.resource.requirements for group in workflow.groups for task in group.tasks)


def _names(workload: FleetWorkload) -> set[str]:
    """The Topologies that a workload's placements refer to."""
    return {placement.topology for placement in workload.placements}


def _topologies(item: FleetPodGroup) -> set[str | None]:
    return {constraint.topology for constraint, _ in item.constraints}
