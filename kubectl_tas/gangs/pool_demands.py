"""Computes what a pool demands of a workload's or PodCliqueSet's manifest: lines to add, and values that must agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.grove import TEMPLATE
from kubectl_tas.facts.kai import Feature
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.workload_gang import placed, sub_group_name, waits, whole_placement
from kubectl_tas.kinds.backdoors import Decides
from kubectl_tas.kinds.section import key_path
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.kindlists import Phase, sync_wave
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.handwritten import FleetPodGroup
from kubectl_tas.resolve.placement import ROOT, Placement, ReplicaType
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from kubectl_tas.resolve.pools import FleetPool, Submission
from kubectl_tas.resolve.shards import FleetShard

_Agreed = Mapping[Decides, tuple[str, str]]
"""Value that a manifest must have for each decision, and the reason for the value."""


class Mode(Enum):
    """Treatment of a value that the manifest has already."""

    ADD = "add"
    """A different value is an error."""
    KEEP = "keep"
    """The existing value stays."""
    RESOLVE = "resolve"
    """The existing value names the same thing in the pool's words, and is replaced."""
    APPEND = "append"
    """The existing value is a list, and the new items are appended."""
    ABSENT = "absent"
    """Any existing value is an error; nothing is added."""
    REMOVE = "remove"
    """The existing value is removed, because it differs from what the workload asks for."""


@dataclass(frozen=True, slots=True)
class Demand:
    """A demand for one value of a manifest."""

    path: KeyPath
    value: str | int | tuple[Mapping[str, str | int], ...]
    """The value; a tuple has items of a list."""
    reason: str
    """Reason for the value, for messages."""
    mode: Mode = Mode.ADD


def demands(fleet: Fleet, sent: FleetWorkload | SubmittedSet) -> tuple[Demand, ...]:
    """Returns all demands, in the order in which lines are added; of two demands for one path, the later one counts."""
    object_demands = _Demands(fleet, agreed(fleet, sent), sent.pool.backend, sent.declared.origin)
    in_order = object_demands.of_workload(sent) if isinstance(sent, FleetWorkload) else object_demands.of_set(sent)
    return tuple({demand.path: demand for demand in in_order}.values())


def changes(origin: Origin, demand: Demand) -> bool:
    """Whether a demand that nothing contradicts changes the text of a document."""
    present = origin.value(demand.path)
    if demand.mode is Mode.RESOLVE:
        return present != demand.value
    if demand.mode is Mode.REMOVE:
        return present is not None
    if demand.mode is Mode.APPEND:
        return True
    return demand.mode is not Mode.ABSENT and present is None


def agreed(fleet: Fleet, sent: Submission) -> _Agreed:
    """Returns what the pool of ``sent`` decides, with the reason, for every place where a manifest can say it."""
    backend = sent.pool.backend
    priority_class = str(getattr(fleet.config.priorityClasses, sent.priority))
    preemptibility = "preemptible" if sent.is_preemptible else "non-preemptible"
    agreed_values = {
        Decides.NAMESPACE: (sent.namespace, _namespace_reason(sent)),
        Decides.SCHEDULER: (backend.scheduler_name, f"the scheduler of backend {backend.name}"),
        Decides.PRIORITY: (priority_class, f"the PriorityClass of {sent.priority}"),
        Decides.PREEMPTIBILITY: (preemptibility, f"the preemptibility of {sent.priority}"),
    }
    if backend.is_kai:
        agreed_values[Decides.QUEUE] = sent.queue, f"the queue of {sent.target}"
    return {**agreed_values, **agreed_shard(sent.pool)}


def agreed_shard(pool: FleetPool) -> _Agreed:
    """Returns the shard of the scheduler that places the work of ``pool``, if the pool names one."""
    shard = pool.shard
    return {} if shard is None else {Decides.SHARD: (shard, f"the nodePool of pool {pool.name}")}


def _namespace_reason(sent: Submission) -> str:
    allowed = sent.namespaces
    if sent.own_namespace in allowed:
        return f"the namespace of the {sent.kind}"
    if allowed == (sent.pool.backend.namespace,):
        return f"the namespace of backend {sent.pool.backend.name}"
    if len(allowed) == 1:
        return f"the namespace of {sent.target}"
    return f"work of {sent.target} runs in {' or '.join(allowed)}, and the default"


def companion_demands(fleet: Fleet, companion: FleetCompanion) -> tuple[Demand, ...]:
    """Returns the demands on a companion of workloads."""
    reason = f"the namespace of the work of backend {companion.backend.name}"
    namespace = Demand(("metadata", "namespace"), companion.namespace, reason)
    return (*_marks(fleet.config.gitops, companion.phase, companion.declared.origin), namespace)


def shard_demands(fleet: Fleet, shard: FleetShard) -> tuple[Demand, ...]:
    """Returns the demands on a SchedulingShard."""
    return tuple(_marks(fleet.config.gitops, Phase.SHARD, shard.declared.origin))


def agreed_with(group: FleetPodGroup) -> _Agreed:
    """Returns what a hand-written PodGroup decides for a Pod that joins it, with the reason."""
    spec, backend, reason = group.declared.spec.spec, group.backend, f"that of PodGroup {group.name}"
    agreed_values = {
        Decides.NAMESPACE: (group.namespace, reason),
        Decides.SCHEDULER: (backend.scheduler_name, f"the scheduler of backend {backend.name}"),
        Decides.QUEUE: (spec.queue, reason),
    }
    for decides, value in ((Decides.PRIORITY, spec.priorityClassName), (Decides.PREEMPTIBILITY, spec.preemptibility)):
        if value is not None:
            agreed_values[decides] = value, reason
    return {**agreed_values, **(agreed_shard(group.pool) if group.pool else {})}


def member_demands(fleet: Fleet, group: FleetPodGroup, origin: Origin) -> tuple[Demand, ...]:
    """Returns the demands on a Pod that joins a hand-written PodGroup; ``origin`` is the Pod's document."""
    return tuple(_Demands(fleet, agreed_with(group), group.backend, origin).of_member(group))


def is_replaced(origin: Origin) -> bool:
    """Whether a document asks by its label to recreate its object if the object cannot be changed."""
    return origin.value(("metadata", "labels", labels.REPLACE)) == "true"


def _marks(gitops: str, phase: Phase, origin: Origin) -> Iterator[Demand]:
    yield Demand(("metadata", "labels", labels.MANAGED_BY), "kubectl-tas", "who renders it", Mode.KEEP)
    if gitops == "argocd":
        reason = "the wave after that of its queue"
        yield Demand(("metadata", "annotations", labels.SYNC_WAVE), str(sync_wave(phase)), reason, Mode.KEEP)
    for name, value in labels.RECREATE[gitops].items() if is_replaced(origin) else ():
        path = ("metadata", "annotations", name)
        present = origin.value(path)
        reason = f"what the label {labels.REPLACE} asks for"
        if name == labels.SYNC_OPTIONS and isinstance(present, str):  # further options stay
            options = (*present.split(","), *value.split(","))
            yield Demand(path, ",".join(dict.fromkeys(map(str.strip, options))), reason, Mode.RESOLVE)
        else:
            yield Demand(path, value, reason)
    if gitops == "flux":
        path, reason = ("metadata", "annotations", labels.FLUX_SUBSTITUTE), "what keeps Flux from changing it"
        yield Demand(path, "disabled", reason)


class _Demands:
    """The demands on one object, at the paths that its kind uses."""

    def __init__(self, fleet: Fleet, agreed: _Agreed, backend: FleetBackend, origin: Origin) -> None:
        self._gitops, self._agreed, self._backend, self._origin = fleet.config.gitops, agreed, backend, origin

    def of_workload(self, workload: FleetWorkload) -> Iterator[Demand]:
        """Yields the demands on the workload itself, then on its placements and its pod templates."""
        row = podgrouper.row(workload)
        yield self._namespace()
        yield from self._queue(("metadata", "labels"))
        annotation = workload.declared.spec.page.marks.queue
        if annotation and self._backend.is_kai:
            yield Demand(("metadata", "annotations", annotation), *self._agreed[Decides.QUEUE])
        # Of a TrainJob KAI sees no pod template: without the label it takes it for `train`, which can be preempted.
        if row.templates_elsewhere and self._backend.is_kai:
            yield self._priority(("metadata", "labels", labels.PRIORITY_CLASS))
        yield from _marks(self._gitops, Phase.POD, self._origin)
        yield from _placements(workload)
        yield from _counts(workload)
        for replica_type in workload.templates:
            if replica_type.template is not None:
                yield from self._template(workload, replica_type)

    def of_set(self, submitted: SubmittedSet) -> Iterator[Demand]:
        """Yields the demands on the set itself, then on the pods of its cliques."""
        yield self._namespace()
        yield from self._queue(("metadata", "labels"))
        yield from _marks(self._gitops, Phase.POD, self._origin)
        yield self._priority((*TEMPLATE, "priorityClassName"))
        for clique in submitted.set.cliques:
            yield from self._queue((*clique.path, "labels"))
            pods = (*clique.path, "spec", "podSpec")
            yield from self._scheduler(pods)
            yield self._priority((*pods, "priorityClassName"))
            yield from _nodes(submitted.pool, self._origin, pods)

    def of_member(self, group: FleetPodGroup) -> Iterator[Demand]:
        """Yields the demands on a Pod that joins a hand-written PodGroup."""
        yield from self._queue(("metadata", "labels"))
        if group.pool is not None:
            yield from _nodes(group.pool, self._origin, ("spec",))
        yield from _marks(self._gitops, Phase.POD, self._origin)
        yield self._namespace()
        if self._backend.has(Feature.SKIP_PODGROUPER):
            path = ("metadata", "annotations", labels.SKIP_PODGROUPER)
            yield Demand(path, "true", f"that of PodGroup {group.name}")
        if Decides.PRIORITY in self._agreed:
            yield self._priority(("spec", "priorityClassName"))
        yield from self._scheduler(("spec",))

    def _template(self, workload: FleetWorkload, replica_type: ReplicaType) -> Iterator[Demand]:
        metadata, spec = replica_type.metadata_path, replica_type.spec_path
        yield from self._queue((*metadata, "labels"))
        if workload.is_owned and self._backend.has(Feature.SKIP_PODGROUPER):
            sub_group_label = sub_group_name(workload, replica_type)
            reason = "the PodGroup that the workload's labels ask for"
            mode = Mode.ABSENT if sub_group_label is None else Mode.ADD
            yield Demand((*metadata, "labels", labels.SUBGROUP), sub_group_label or "", reason, mode)
            yield Demand((*metadata, "annotations", labels.POD_GROUP), podgrouper.pod_group_name(workload), reason)
            yield Demand((*metadata, "annotations", labels.SKIP_PODGROUPER), "true", reason)
        elif replica_type in workload.outside and self._backend.has(Feature.REPLICA_SUBGROUPS):
            reason = "where KAI runs the pod that submits a job"  # without a SubGroup it is never placed
            yield Demand((*metadata, "labels", labels.SUBGROUP), podgrouper.row(workload).late_sub_group, reason)
        for name in (labels.PREEMPTION_DELAY, labels.STALENESS_GRACE) if podgrouper.copies_waits(workload) else ():
            for path, text in waits(workload, name):
                if path[:-1] == ROOT:
                    yield Demand((*metadata, "annotations", name), text, f"that of the {workload.kind}", Mode.KEEP)
        yield self._priority((*spec, "priorityClassName"))
        yield from self._scheduler(spec)
        above = key_path(workload.declared.spec.page.pod_rules.defaults_at)
        yield from _nodes(workload.pool, self._origin, spec, above)

    def _namespace(self) -> Demand:
        return Demand(("metadata", "namespace"), *self._agreed[Decides.NAMESPACE])

    def _queue(self, labels_path: KeyPath) -> Iterator[Demand]:
        """Yields the labels by which KAI finds the queue and, with several shards, the shard of the scheduler."""
        for label in self._backend.queue_labels:
            yield Demand((*labels_path, label), *self._agreed[Decides.QUEUE])
        if Decides.SHARD in self._agreed:
            yield Demand((*labels_path, labels.NODE_POOL), *self._agreed[Decides.SHARD])

    def _scheduler(self, spec: KeyPath) -> Iterator[Demand]:
        if self._backend.is_kai:
            yield Demand((*spec, "schedulerName"), *self._agreed[Decides.SCHEDULER])

    def _priority(self, path: KeyPath) -> Demand:
        return Demand(path, *self._agreed[Decides.PRIORITY])


def _nodes(pool: FleetPool, origin: Origin, spec: KeyPath, above: KeyPath = ()) -> Iterator[Demand]:
    """Yields what the pool's pods need of a node, besides what is written. A value ``above`` all pods counts only for
    pods without their own (addSchedulingConstraints of Argo's workflowpod.go, 3.7), and is then written there too.
    """
    if not pool.nodes.selector and not pool.nodes.tolerations:
        return
    reason = f"the nodes of pool {pool.name}"
    for_all = {
        name: origin.value((*above, name)) if above and not origin.value((*spec, name)) else None
        for name in ("nodeSelector", "tolerations")
    }
    selector = for_all["nodeSelector"]
    for key, value in selector.items() if isinstance(selector, dict) and pool.nodes.selector else ():
        yield Demand((*spec, "nodeSelector", key), value, reason, Mode.KEEP)
    for key, value in pool.nodes.selector.items():
        yield Demand((*spec, "nodeSelector", key), value, reason, Mode.KEEP)
    path = (*spec, "tolerations")
    tolerations = origin.value(path)
    present = [_compared(toleration) for toleration in tolerations] if isinstance(tolerations, list) else []
    missing = tuple(each.data for each in pool.nodes.tolerations if _compared(each.data) not in present)
    if missing:
        inherited = for_all["tolerations"] if isinstance(for_all["tolerations"], list) else []
        yield Demand(path, (*(x for x in inherited if isinstance(x, dict)), *missing), reason, Mode.APPEND)


def _placements(workload: FleetWorkload) -> Iterator[Demand]:
    """Yields the names of Topology objects, levels by their node labels, and both where KAI reads them."""
    for path, topology in workload.topology_names:
        yield Demand(path, topology, f"the topology of pool {workload.pool.name}", Mode.RESOLVE)
    for level_annotation in workload.levels:
        level, reason = level_annotation.level, f"the node label of {level_annotation.level.key}"
        yield Demand(level_annotation.path, level.label, reason, Mode.RESOLVE)
    for annotations_path, placement in placed(workload).items():
        for name, value in _annotations(placement):
            reason = f"what places the pods of this {workload.kind}"
            yield Demand((*annotations_path, name), value, reason, Mode.RESOLVE if value else Mode.REMOVE)
    yield from _topologies_of_segments(workload)


def _annotations(placement: Placement | None) -> Iterator[tuple[str, str]]:
    """Yields the annotations of a placement, with an empty value for what the placement does not ask for."""
    required = placement.required if placement else None
    preferred = placement.preferred if placement else None
    yield labels.TOPOLOGY, placement.topology if placement else ""
    yield labels.PLACEMENT_REQUIRED, required.level.label if required else ""
    yield labels.PLACEMENT_PREFERRED, preferred.level.label if preferred else ""


def _topologies_of_segments(workload: FleetWorkload) -> Iterator[Demand]:
    """Yields the topology of segments, on their own template, if the workload's annotations name another or none."""
    if not podgrouper.is_made_by_kai(workload):
        return
    whole, _ = whole_placement(workload)
    for replica_type in workload.replicas:
        placement = replica_type.segments.placement if replica_type.segments else None
        if placement and (whole is None or not whole.asked or whole.topology != placement.topology):
            path, reason = replica_type.annotations_path, f"the topology of the segments of {replica_type.name}"
            yield Demand((*path, labels.TOPOLOGY), placement.topology, reason, Mode.RESOLVE)


def _counts(workload: FleetWorkload) -> Iterator[Demand]:
    """Yields what an operator fills in: names, and counts that KAI looks for in the object itself."""
    for path, name in workload.declared.spec.implied_names:
        yield Demand(path, name, "what its webhook fills in", Mode.RESOLVE)
    if podgrouper.is_made_by_kai(workload):
        for path, count in workload.declared.spec.implied_counts:
            yield Demand(path, count, "what its operator counts", Mode.RESOLVE)


def _compared(toleration: object) -> object:
    """Returns a toleration with Kubernetes' defaults and without meaningless values; None if it is no mapping."""
    if not isinstance(toleration, Mapping):
        return None
    significant = {name: value for name, value in toleration.items() if value is not None and value != ""}
    return {"operator": "Equal", **significant}
