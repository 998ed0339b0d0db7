"""Checks the labels of workloads, and that no field of a workload contradicts its pool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from kubectl_tas.base.diagnostics import Diagnostic, Rule, Waiving
from kubectl_tas.base.words import did_you_mean, shortened, within, write_instead
from kubectl_tas.check.resource_requests import pods_of
from kubectl_tas.facts.node_places import admits, choices, instead, values_at
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.pool_demands import Demand, Mode, demands
from kubectl_tas.kinds.backdoors import Part
from kubectl_tas.model import labels
from kubectl_tas.model.base import MAX_COUNT, OWN_METADATA, KeyPath, whole_number
from kubectl_tas.model.osmo_workflow import PRIORITIES
from kubectl_tas.model.platform import Nodes
from kubectl_tas.model.repository import Declared, Origin
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import OWNED, FleetWorkload
from kubectl_tas.resolve.placement import ROOT
from kubectl_tas.resolve.podcliqueset import SubmittedSet

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import CliqueSet
    from kubectl_tas.model.podtemplate import Companion, Meta
    from kubectl_tas.model.workloads import Workload

WORKLOAD_POOL = Rule.error(
    "workload-pool",
    "A workload does not say which pool it belongs to.",
    "Without a pool the workload has no queue, and KAI would put it into a default queue without a guarantee. Add the "
    "label kubectl-tas/pool with the name of a pool, or pool--subpool.",
)
WORKLOAD_LABEL = Rule.error(
    "workload-label",
    "A kubectl-tas/ label of a workload, or its value, is unknown.",
    "A misspelled label has no effect: a workload that should be LOW would run as NORMAL. kubectl-tas reads the labels "
    "kubectl-tas/pool, kubectl-tas/priority (HIGH, NORMAL, LOW), kubectl-tas/podgroup (owned), kubectl-tas/gang (a "
    "name) and kubectl-tas/replace (true), all on the workload itself.",
)
WORKLOAD_CONFLICT = Rule.error(
    "workload-conflict",
    "A workload contradicts the queue, scheduler, priority, namespace or SubGroup of its pool.",
    "`render` never overwrites what a user wrote, and two values would contradict each other in the cluster. KAI reads "
    "the labels priorityClassName and kai.scheduler/preemptibility before any field: on the object, on the objects "
    "made from it, and on pods. The page of quota-bypass lists all keys that count. Remove the value, or choose the "
    "pool or the priority that it belongs to.",
)
WORKLOAD_MINIMUM = Rule.error(
    "workload-minimum",
    "A workload needs fewer than one pod to start, or more than it has.",
    "KAI would refuse the gang, or wait for pods that never exist. Use a number from 1 to the number of pods.",
)
PODGROUP_UNKNOWN = Rule.error(
    "podgroup-unknown",
    "A Pod joins a PodGroup that is not declared, and names no pool.",
    "A Pod goes where its PodGroup goes. If the PodGroup is elsewhere, nothing tells which queue pays for the Pod. "
    "Declare the PodGroup, or add the label kubectl-tas/pool.",
)
WORKLOAD_TOPOLOGY = Rule.warning(
    "workload-topology",
    "A workload names a Topology that is not rendered.",
    "The Topology may exist elsewhere. kubectl-tas cannot check its levels, and leaves them unchanged.",
)
WORKLOAD_SCHEDULER = Rule.info(
    "workload-scheduler",
    "A workload has no pod template, so its scheduler cannot be set here.",
    "Kubeflow Trainer takes the pods from the runtime that a job names. Set schedulerName there. `render` sets the "
    "queue and the priority on the job, where KAI reads them. The guard judges pods by their own labels. If it is on, "
    "label them in the runtime, in podTemplateOverrides (Kubeflow Trainer 2.1) or in runtimePatches (from 2.2). Seldon "
    "Core makes the pods of its own servers without a scheduler, unless componentSpecs has their containers.",
)
NODES_LEFT = Rule.warning(
    "nodes-left",
    "A workload chooses other nodes than those of its pool.",
    "`render` keeps what a workload says itself. A nodeSelector in addition to that of the pool takes nodes of other "
    "pools, but charges the queue of this pool. An affinity against the pool's selector leaves no node. If each "
    "platform of a pool names a label of its nodes, such as nvidia.com/gpu.product, the nodes have one of these "
    "values. Remove the key, or send the work to the pool with the nodes that it asks for.",
    protects=Waiving.CONFIG,
)
_Sent: TypeAlias = "Declared[Workload] | Declared[CliqueSet]"
_Labelled: TypeAlias = "_Sent | Declared[Companion]"
_READ = (labels.POOL, labels.PRIORITY, labels.OWNED, labels.GANG, labels.REPLACE)
_READ_OF_SETS = (labels.POOL, labels.PRIORITY)
"""Labels that are read on a PodCliqueSet, whose gangs Grove makes."""


def check_labels(declared: _Sent, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the labels of a workload or a PodCliqueSet, whether its pool exists or not."""
    if id(declared) not in fleet.joined:
        yield from _pool(declared)
    yield from own_labels(declared, _READ_OF_SETS if declared.spec.page.makes.is_set else _READ)


def check_submitted(sent: FleetWorkload | SubmittedSet, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks what a workload or PodCliqueSet says against what `render` sets."""
    yield from check_demands(sent.declared.origin, demands(fleet, sent))
    # Pods that select nodes which the pool lacks, by the labels of the pool's nodes and platforms.
    pool = sent.pool
    for pod in pods_of(sent) if pool.node_labels else ():
        spec = pod.spec.model_extra
        for key, path in choices(spec):
            known_values = pool.node_labels.get(key)
            is_told = path[0] == "nodeSelector" and key in pool.nodes.selector  # check_demands says it
            if (
                known_values
                and not is_told
                and not any(admits(spec, {key: value}, keys=(key,)) for value in known_values)
            ):
                selected = values_at(spec, path)
                message = f"pool {pool.name} has no node with the {key} that {sent.kind} {sent.name} asks for"
                message += f": {shortened(selected)}" if selected else ""
                location = pod.origin.locate((*pod.path, *path))
                yield Diagnostic(NODES_LEFT, message, location, hint=instead(selected, known_values))


def check_workload(workload: FleetWorkload, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the minimum, the topologies and the scheduler of a workload."""
    yield from _minimum(workload)
    root: KeyPath = ("metadata", "annotations")
    places = [(root, workload.declared.spec.metadata.annotations)]
    places += [(template.annotations_path, template.annotations) for template in workload.templates]
    for path, values in places:
        name = values.get(labels.TOPOLOGY)
        if not name:
            continue
        known_names = {topology.name_on(workload.pool.backend) for topology in fleet.topologies}
        known_names |= {topology.name for topology in fleet.topologies}
        if name not in known_names:
            message = f'the Topology "{name}" is not declared here, so its levels are not checked'
            hint = (
                f"Declared: {', '.join(sorted(known_names))}." if known_names else "If it exists elsewhere, do nothing."
            )
            yield Diagnostic(WORKLOAD_TOPOLOGY, message, workload.declared.at(*path, labels.TOPOLOGY), hint=hint)
    if podgrouper.row(workload).templates_elsewhere and workload.pool.backend.is_kai:
        name = workload.pool.backend.scheduler_name
        label = f", and its pods need the label {labels.QUEUE}: {workload.queue}" if fleet.config.guard else ""
        nodes = f", and what spec.nodes of pool {workload.pool.name} asks for" if workload.pool.nodes != Nodes() else ""
        message = f"a {workload.kind} has no pod template: its runtime must set schedulerName: {name}{nodes}{label}"
        yield Diagnostic(WORKLOAD_SCHEDULER, message, workload.declared.at("kind"))
    elif workload.declared.spec.page.pod_rules.none[0] and not workload.replicas:
        message, hint = workload.declared.spec.page.pod_rules.none
        yield Diagnostic(WORKLOAD_SCHEDULER, message, workload.declared.at("kind"), hint=hint)


def _pool(declared: _Sent) -> Iterator[Diagnostic]:
    metadata = declared.spec.metadata
    if declared.spec.page.gang.names_its_own and labels.POD_GROUP in metadata.annotations and not _says_pool(metadata):
        message = (
            f'the PodGroup "{metadata.annotations[labels.POD_GROUP]}" is not declared here, nor a pool of this Pod'
        )
        hint = "Declare that PodGroup here, or add the label kubectl-tas/pool, so that its GPUs are counted."
        yield Diagnostic(PODGROUP_UNKNOWN, message, declared.at(*ROOT, labels.POD_GROUP), hint=hint)
    elif not _says_pool(metadata):
        message = f"{declared.spec.kind} {declared.spec.metadata.name} does not say which pool it belongs to"
        hint = "Add the label kubectl-tas/pool with the name of a pool, or pool--subpool."
        yield Diagnostic(WORKLOAD_POOL, message, declared.at_key("metadata", "labels", labels.POOL), hint=hint)


def _says_pool(metadata: Meta) -> bool:
    return bool(metadata.labels.get(labels.POOL))


def own_labels(declared: _Labelled, read: tuple[str, ...]) -> Iterator[Diagnostic]:
    """Reports labels of kubectl-tas with an unknown name or value. ``read`` are the labels that count in this place."""
    metadata = declared.spec.metadata
    for name in metadata.annotations:
        if name in read:
            yield _label(declared, "annotations", name, f"{name} is read as a label, not as an annotation")
    for name, value in metadata.labels.items():
        if name.startswith(labels.OWN_PREFIX) and name not in read:
            hint = did_you_mean(name, read, f"kubectl-tas reads {', '.join(read)} here.", quote="")
            yield _label(declared, "labels", name, f'the label "{name}" is not read', hint)
        elif name == labels.PRIORITY and value not in PRIORITIES:
            near = value.upper() if value.upper() in PRIORITIES else ""
            hint = write_instead(value, near) if near else "Use HIGH, NORMAL or LOW."
            message = f'{name} must be one of {", ".join(PRIORITIES)}, not "{value}"'
            yield _label(declared, "labels", name, message, hint)
        elif name == labels.OWNED and value != OWNED:
            yield _label(declared, "labels", name, f'{name} must be owned, not "{value}"', "Write owned, or remove it.")
        elif name == labels.REPLACE and value != "true":
            hint = 'Write "true", in quotes, or remove it.'
            yield _label(declared, "labels", name, f'{name} must be "true", not "{value}"', hint)
        elif name == labels.GANG and not names.is_label(value):
            message = f'{name} becomes the name of a PodGroup, which "{value}" cannot be'
            yield _label(declared, "labels", name, message, 'Use lower-case letters, digits and "-".')


def _label(declared: _Labelled, where: str, name: str, message: str, hint: str = "") -> Diagnostic:
    location = declared.origin.locate(("metadata", where, name), key=where == "annotations" or name not in _READ)
    return Diagnostic(WORKLOAD_LABEL, message, location, hint=hint or "Move it to metadata.labels.")


def labels_below(origin: Origin, section_part: Part) -> Iterator[Diagnostic]:
    """Reports labels that would choose a pool, priority or gang for only some pods of a workload. A copy of the
    workload's own label is harmless.
    """
    where, path, mapping = section_part
    if where not in ("labels", "annotations") or path[:-1] == OWN_METADATA:
        return
    where_it_counts = "on its template" if path[-2:-1] == ("metadata",) else "on what is made from it"
    kind = origin.data["kind"]
    for name, value in mapping.items():
        if str(name).startswith(labels.OWN_PREFIX) and origin.value((*OWN_METADATA, "labels", name)) != value:
            message = f"{name} is read on the workload itself, not {where_it_counts}"
            hint = f"Move it to metadata.labels of the {kind}, or remove it."
            yield Diagnostic(WORKLOAD_LABEL, message, origin.locate((*path, name), key=True), hint=hint)


def check_demands(origin: Origin, demands: tuple[Demand, ...]) -> Iterator[Diagnostic]:
    """Reports values that contradict a demand."""
    for demand in demands:
        present = origin.value(demand.path)
        if present is not None and present != demand.value and demand.mode is Mode.ADD:
            yield conflict(origin, demand.path, demand.value, demand.reason, present)
        elif present is not None and demand.mode is Mode.ABSENT:
            message = f'{_name(demand.path)} is "{present}", but {demand.reason} has none'
            yield Diagnostic(WORKLOAD_CONFLICT, message, origin.locate(demand.path), hint="Remove it.")
        elif demand.path[-2:-1] == ("nodeSelector",) and present not in (None, demand.value):
            message = (
                f'{demand.path[-1]} is "{present}", but {demand.reason} have "{demand.value}": the pods leave them'
            )
            hint = f"Remove it, or write {demand.value}."
            yield Diagnostic(NODES_LEFT, message, origin.locate(demand.path), hint=hint)


def conflict(origin: Origin, path: KeyPath, value: object, reason: str, written_value: object) -> Diagnostic:
    """Returns a finding for ``written_value`` at ``path``, because ``reason`` demands ``value``."""
    shown = "no plain text" if isinstance(written_value, (dict, list)) else f'"{written_value}"'
    message = f'{_name(path)} is {shown}, but {reason} is "{value}"'
    return Diagnostic(WORKLOAD_CONFLICT, message, origin.locate(path), hint=f"Remove it, or write {value}.")


def _name(path: KeyPath) -> str:
    """Returns the last step of a path that is a text."""
    return next((str(step) for step in reversed(path) if isinstance(step, str)), "the document")


def _minimum(workload: FleetWorkload) -> Iterator[Diagnostic]:
    path = podgrouper.minimum_path(workload)
    pods = sum(podgrouper.minimums(workload))
    if pods > MAX_COUNT:
        message = f"this {workload.kind} needs {pods} pods before it starts; a PodGroup counts at most {MAX_COUNT}"
        yield Diagnostic(WORKLOAD_MINIMUM, message, workload.declared.at("kind"), hint="Ask for fewer pods.")
    if podgrouper.row(workload).by_karta and not workload.is_owned:
        # Checks the pod counts that KAI reads by a Karta (constructSubgroup of KAI 0.17's plugin).
        kind = workload.kind
        for replica_type, least in zip(workload.replicas, podgrouper.minimums(workload), strict=True):
            location = workload.declared.at(*replica_type.path)
            if least < 1 and podgrouper.makes_sub_groups(workload):
                message = (
                    f"KAI makes no PodGroup of this {kind}, so it never runs: its Karta reads 0 pods for "
                    f"{replica_type.name}"
                )
                yield Diagnostic(WORKLOAD_MINIMUM, message, location, hint="Write how many there are, from 1.")
            elif least > replica_type.replicas:
                message = (
                    f"this {kind} needs {least} pods of {replica_type.name} before it starts, and has "
                    f"{replica_type.replicas}"
                )
                yield Diagnostic(WORKLOAD_MINIMUM, message, location, hint=f"Ask for at most {replica_type.replicas}.")
    if path is None:
        return
    written_value = workload.declared.origin.value(path)
    asked_minimum = whole_number(written_value) if isinstance(written_value, str) else written_value
    pods = sum(replica_type.replicas for replica_type in workload.replicas)
    number = asked_minimum if isinstance(asked_minimum, int) else None
    if number is None or number < 1 or number > pods > 0:
        shown = f'"{written_value}"' if isinstance(written_value, str) else written_value
        span = f" to {pods}, the pods of this {workload.kind}" if pods else ""
        message = f"{_name(path)} must be a number from 1{span}, not {shown}"
        yield Diagnostic(WORKLOAD_MINIMUM, message, workload.declared.at(*path), hint=within(number, pods))
