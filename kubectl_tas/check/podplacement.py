"""Placements of workloads: levels in order, and none on a part that KAI does not know."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity
from kubectl_tas.gangs.podgrouper import has_sub_group, row, whole_placement
from kubectl_tas.kai import Feature
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.placement import Placement, ReplicaType
from kubectl_tas.resolve.workload import FleetWorkload

PLACEMENT_ORDER = Rule(
    "placement-order",
    Severity.ERROR,
    "The preferred level of a workload or of its segments is not finer than the required one.",
    "What is required already holds for every coarser level, so the two are the wrong way round or one of "
    "them says nothing. Prefer a finer level than the required one.",
)
PLACEMENT_UNSUPPORTED = Rule(
    "placement-unsupported",
    Severity.WARNING,
    "A pod template has a placement of its own, and KAI makes no SubGroup of all its pods.",
    "Of most kinds KAI's PodGrouper makes one gang without parts, and of a LeaderWorkerSet with segments no part that "
    "holds all workers; a preview shows what is asked for. Place the whole workload, or let the tool own the PodGroup "
    "with the label kubectl-tas/podgroup: owned, which a LeaderWorkerSet cannot have.",
)
PLACEMENT_OVERRIDDEN = Rule(
    "placement-overridden",
    Severity.WARNING,
    "A level that a workload asks for is lost, because its pod template asks for another placement.",
    "Pods of one template have one placement, in one Topology. Of two topologies the template's precedes, and so do "
    "its levels where the topology is not declared here. Ask for all levels on the template, or name one topology.",
)


def check_pod_placement(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every placement of a workload, of its replica types and of their segments."""
    for workload in fleet.workloads:
        for placement in workload.placements:
            yield from _order(workload, placement)
        for item in workload.templates:
            yield from _unsupported_placement(workload, item)
        yield from _merged(workload)


def _order(workload: FleetWorkload, placement: Placement | None) -> Iterator[Diagnostic]:
    if placement is None or placement.known is None or not (placement.required and placement.preferred):
        return
    levels = placement.known.levels
    required, preferred = placement.required, placement.preferred
    if levels.index(preferred.level) <= levels.index(required.level):
        message = f'the preferred level "{preferred.written}" is not finer than the required "{required.written}"'
        finer = placement.known.finer_keys(required.level)
        hint = f"Prefer {' or '.join(finer)}, or leave it out." if finer else "Nothing is finer; leave it out."
        apart = required.path[:-1] != preferred.path[:-1]
        related = (Related("required here", workload.declared.at(*required.path)),) if apart else ()
        yield Diagnostic(PLACEMENT_ORDER, message, workload.declared.at(*preferred.path), related, hint=hint)


def _merged(workload: FleetWorkload) -> Iterator[Diagnostic]:
    """Levels of the workload and of its only template, where both hold for the same pods."""
    placement, lost = whole_placement(workload)
    if placement not in (workload.placement, *(item.placement for item in workload.replicas)):
        yield from _order(workload, placement)
    for asked in lost:
        message = f'nothing keeps the pods within one "{asked.written}": their template asks for another placement'
        place = workload.declared.origin.locate(asked.path, key=True)
        hint = "Ask for it on the pod template, or leave it out."
        yield Diagnostic(PLACEMENT_OVERRIDDEN, message, place, hint=hint)


def _unsupported_placement(workload: FleetWorkload, item: ReplicaType) -> Iterator[Diagnostic]:
    if workload.is_owned or not workload.pool.backend.has(Feature.SUBGROUP_TREE):
        return  # without a tree check.versions says it
    if not has_sub_group(workload, item):
        why = f"KAI makes no SubGroup of all workers of a {workload.kind} with segments"
        hint = f"Move it to metadata.annotations of the {workload.kind}, which places the leader and all workers."
    elif item in workload.outside or (not row(workload).sub_groups and len(workload.replicas) > 1):
        why = f"KAI makes no SubGroup of {item.name} in a {workload.kind}"
        hint = "Place the whole workload, or add the label kubectl-tas/podgroup: owned."
    else:
        return
    for asked in item.placement.asked if item.placement else ():
        message = f'{why}, so nothing keeps them within one "{asked.written}"'
        place = workload.declared.origin.locate(asked.path, key=True)
        yield Diagnostic(PLACEMENT_UNSUPPORTED, message, place, hint=hint)
