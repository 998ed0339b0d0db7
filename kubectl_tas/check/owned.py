"""Checks workloads whose PodGroup ``render`` writes, alone or for a gang of several workloads."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.base.diagnostics import Diagnostic, Related, Rule, Waiving
from kubectl_tas.check.workload_labels import WORKLOAD_CONFLICT
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.pool_demands import agreed
from kubectl_tas.kinds.backdoors import Decides
from kubectl_tas.model import labels
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.handwritten import FleetPodGroup
from kubectl_tas.resolve.placement import ReplicaType

PODGROUP_OWNED = Rule.error(
    "podgroup-owned",
    "kubectl-tas cannot write the PodGroup that a workload asks for.",
    "Pods join a PodGroup by their template, so all pods of one template are in one SubGroup of one PodGroup. This "
    "excludes segments, kinds that make copies of all their pods, runs of a schedule, and kinds without a template. "
    "Leave those to KAI's PodGrouper. KAI starts no pod of the gang before all of them exist, so no pod may wait for "
    "another to be ready. The help names the field that makes the controller start all pods at once.",
)
GANG_MISMATCH = Rule.error(
    "gang-mismatch",
    "Workloads of one gang have different queues, priorities or namespaces.",
    "A gang is one PodGroup, with one queue and one priority, in one namespace. Give all of them the same pool, the "
    "same priority and the same namespace, or make two gangs.",
)
PODGROUP_ELSEWHERE = Rule.warning(
    "podgroup-elsewhere",
    "Pods of a workload name a PodGroup that is not declared.",
    "With kai.scheduler/skip-podgrouper, KAI's PodGrouper makes no PodGroup, so the named one must exist. Without it, "
    "the PodGrouper may replace that PodGroup by its own. `render` writes no preview. Declare the PodGroup that "
    "pod-group-name names, remove the annotations, or let kubectl-tas write it with the label kubectl-tas/podgroup: "
    "owned.",
    protects=Waiving.CONFIG,
)
PODGROUP_NONE = Rule.error(
    "podgroup-none",
    "Pods are hidden from KAI's PodGrouper, and name no PodGroup.",
    "With kai.scheduler/skip-podgrouper on a pod, or on any object that owns it, KAI's PodGrouper makes no PodGroup. "
    "KAI never schedules a pod without one. Remove the annotation, or let kubectl-tas write the PodGroup with the "
    "label kubectl-tas/podgroup: owned. If your own controller adds pod-group-name, lower this rule in the Config.",
    protects=Waiving.CONFIG,
)


def check_gangs(workload: FleetWorkload, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a workload with kubectl-tas/podgroup or kubectl-tas/gang, or whose pods name a PodGroup themselves."""
    if not workload.is_owned:
        yield from _elsewhere(fleet, workload)
        return
    yield from _owned(workload)
    if workload.shared_gang is not None:
        first_workload = workload.shared_gang.workloads[0]
        for field_name in ("pool", "priority", "namespace"):
            value_here, value_there = (
                getattr(either_workload, "target" if field_name == "pool" else field_name)
                for either_workload in (workload, first_workload)
            )
            if value_here == value_there:
                continue
            message = (
                f"the {field_name} is {value_here}, but {first_workload.kind} {first_workload.name} "
                f'of gang "{workload.gang}" has {value_there}'
            )
            location = workload.declared.at("metadata", "labels", labels.GANG)
            related = (Related("the other one", first_workload.declared.at("metadata", "labels", labels.GANG)),)
            yield Diagnostic(GANG_MISMATCH, message, location, related, hint="Make them equal, or use two gangs.")


def _elsewhere(fleet: Fleet, workload: FleetWorkload) -> Iterator[Diagnostic]:
    """Checks pods that name a PodGroup themselves, or that KAI's PodGrouper skips."""
    backend = workload.pool.backend
    ungrouped_types = {t.path: t for t in workload.templates if podgrouper.names_its_own(workload, t)}
    groups = [replica_type for replica_type in fleet.pod_groups if ungrouped_types and replica_type.backend == backend]
    declared = {r.declared.spec.metadata.name: r for r in groups if r.namespace == workload.namespace}
    for replica_type in ungrouped_types.values():
        if replica_type.pod_group in declared:
            yield from _joined(fleet, workload, replica_type, declared[replica_type.pod_group])
        skipping = podgrouper.skipping(workload, replica_type)
        if skipping is not None and replica_type.pod_group in declared:
            continue
        pods, hint = f"the pods of {replica_type.name}", "Remove the annotation, or add kubectl-tas/podgroup: owned."
        rule, path = PODGROUP_ELSEWHERE, (*replica_type.annotations_path, labels.POD_GROUP)
        if skipping is None:
            message = (
                f'{pods} name the PodGroup "{replica_type.pod_group}", which KAI\'s PodGrouper may replace by its own'
            )
        elif replica_type.pod_group is not None:
            message = f'KAI\'s PodGrouper leaves {pods} alone, so their PodGroup "{replica_type.pod_group}" must exist'
            hint = "Declare that PodGroup, or remove the annotations. If it exists elsewhere, do nothing."
        else:
            rule, path = PODGROUP_NONE, skipping
            message = f"{pods} never run: KAI's PodGrouper leaves them alone, and they name no PodGroup"
        yield Diagnostic(rule, message, workload.declared.at_key(*path), hint=hint)


def _joined(
    fleet: Fleet, workload: FleetWorkload, replica_type: ReplicaType, group: FleetPodGroup
) -> Iterator[Diagnostic]:
    """Reports where a PodGroup differs from the pool of its pods. KAI uses the queue and priority of the PodGroup."""
    values, spec = agreed(fleet, workload), group.declared.spec.spec
    for field, decides, written_value in (
        ("queue", Decides.QUEUE, spec.queue),
        ("priorityClassName", Decides.PRIORITY, spec.priorityClassName),
        ("preemptibility", Decides.PREEMPTIBILITY, spec.preemptibility),
    ):
        value, reason = values.get(decides, (written_value, ""))
        if written_value and written_value != value:
            message = f'pods join PodGroup {group.name}, whose {field} is "{written_value}", but {reason} is "{value}"'
            location = workload.declared.at(*replica_type.annotations_path, labels.POD_GROUP)
            related = (Related("that PodGroup", group.declared.at("spec", field)),)
            hint = "Join a PodGroup of the same queue and priority, or let the tool write it"
            yield Diagnostic(
                WORKLOAD_CONFLICT, message, location, related, hint=f"{hint}: kubectl-tas/podgroup: owned."
            )


def _label(workload: FleetWorkload) -> str:
    return labels.GANG if workload.gang is not None else labels.OWNED


def _owned(workload: FleetWorkload) -> Iterator[Diagnostic]:
    reason = podgrouper.row(workload).not_owned
    if workload.is_segmented or any(labels.SEGMENT_SIZE in t.annotations for t in workload.replicas):
        reason = reason or "pods of one template cannot be told apart into segments"
    if not workload.pool.backend.is_kai:
        reason = f"backend {workload.pool.backend.name} has no KAI Scheduler"
    if reason:
        message = f"the PodGroup of {workload.kind} {workload.name} cannot be written here: {reason}"
        location = workload.declared.at_key("metadata", "labels", _label(workload))
        yield Diagnostic(PODGROUP_OWNED, message, location, hint="Remove the label.")
        return
    for wait in podgrouper.waits(workload):
        message = f"the gang of {workload.kind} {workload.name} can never start: {wait.reason}"
        is_written = workload.declared.origin.value(wait.path) is not None
        location = workload.declared.at(*(wait.path if is_written else ("kind",)))
        hint = f"{wait.instead}, or remove the label {_label(workload)}."
        yield Diagnostic(PODGROUP_OWNED, message, location, hint=hint)
