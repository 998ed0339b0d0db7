"""Collects what a cluster says of pending work: each message once, however often the cluster repeated it.

KAI 0.12 to 0.17 writes messages here (pkg/scheduler/cache/status_updater/default_status_updater.go):

- ``status.schedulingConditions`` of a PodGroup: one condition for each shard, with a list of reasons. KAI does not
  write it while pods of the PodGroup are on nodes. From 0.17.0 on KAI removes it when all have started; before, it
  stays.
- The condition PodScheduled of each pod, unless the PodGroup says ``markUnschedulable: false``.
- Events of the type Normal at a PodGroup: Unschedulable, NotReady (only an event), StaleJob and Evict.
- Events at a pod: Unschedulable, FailedBinding and Pipelined; BindingError from the binder (bindrequest_controller.go
  of pkg/binder/controllers); PodGrouperWarning from the podgrouper, which then makes no PodGroup, or has a race with
  itself for one (pkg/podgrouper/pod_controller.go).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, TypeVar

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.live import kubectl
from kubectl_tas.live.cliquesets import PART_OF
from kubectl_tas.live.kubectl import ForbiddenError
from kubectl_tas.live.live_cluster import NODES, POD_GROUPS, PODS, QUEUES, Cluster
from kubectl_tas.live.owners import Controller, controller, owners_of
from kubectl_tas.model.base import MAX_COUNT
from kubectl_tas.model.labels import NODE_POOL, POD_GROUP, SKIP_PODGROUPER, SUBGROUP, WORKFLOW

T = TypeVar("T")
EVENTS = "events"
_RESOURCES = {"PodGroup": POD_GROUPS, "Pod": PODS, "Event": EVENTS, "Queue": QUEUES, "Node": NODES}
"""Resources that are always read, by kind; without PodGroups, nothing can be said."""
_PRINTED = (NODES, PODS, EVENTS, QUEUES, POD_GROUPS)
_OF_CLUSTER = ("Queue", "Node", "Topology", "SchedulingShard")
"""Kinds that are not namespaced."""
POD_NAME = "POD"
"""Placeholder for the name of a pod in a message about several pods."""
_NORMAL = frozenset({"Unschedulable", "NotReady", "StaleJob", "Evict", "Preempted", "Preempting"})
"""Reasons of Normal events that tell why work is pending, all from KAI. Other Normal events report progress."""
_RACE = re.compile("already exists|the object has been modified")
"""Text of KAI's podgrouper about a race with itself: the podgrouper tries again, and the PodGroup exists."""


@json_fields("by=where event=is_event reason text times last|null")
@dataclass(frozen=True, slots=True)
class Saying:
    """A message of the cluster."""

    where: str
    """``PodGroup NAME``, ``Pod NAME``, or the kind and name of another object."""
    reason: str
    """Reason of the message, usually one word."""
    text: str
    """Text of the message, in one line."""
    is_event: bool = False
    times: int = 1
    """Number of times that the message was repeated for the same object."""
    last: str = ""
    """Time of the last event, by the cluster's clock."""


@dataclass(frozen=True, slots=True)
class LivePod:
    """A pod of the cluster."""

    namespace: str
    name: str
    phase: str
    is_on_node: bool
    group: str | None
    """Name of the pod's PodGroup."""
    set_name: str | None
    """Name of the PodCliqueSet that the pod belongs to."""
    owners: tuple[tuple[str, str], ...]
    """Kind and name of each owner."""
    scheduler: str | None
    """Scheduler that is to place the pod; None if unknown."""
    sayings: tuple[Saying, ...]
    """Conditions of the pod, and what its containers wait for."""
    sub_group: str | None
    """Name of the SubGroup that the pod is to be in."""
    workflow: str | None
    """Name of the workflow that the pod was made from."""
    skips: bool
    """Whether the pod asks KAI's podgrouper to skip it."""
    deleted: str
    """Time at which somebody deleted the pod; empty if nobody has."""
    finalizers: tuple[str, ...]
    """Finalizers, which must be removed before the pod goes."""
    gates: tuple[str, ...]
    """Scheduling gates that keep schedulers from the pod."""
    labels: Mapping[str, str] = field(hash=False)
    spec: Mapping[str, Any] = field(hash=False)
    """Spec of the pod as the API server has it, with defaults filled in; a file may have less."""

    @property
    def waits(self) -> bool:
        """Whether the pod is to get a node, and has none."""
        return self.phase == "Pending" and not self.is_on_node


@dataclass(frozen=True, slots=True)
class LiveGroup:
    """A PodGroup of the cluster."""

    namespace: str
    name: str
    owners: tuple[tuple[str, str], ...]
    """Kind and name of each owner."""
    workflow: str | None
    """Name of the workflow that the PodGroup was made from."""
    is_allocated: bool
    """Whether the PodGroup holds any resources."""
    sayings: tuple[Saying, ...]
    """Conditions of the PodGroup."""
    queue: str | None
    shard: str | None
    """Shard of the scheduler that reads the PodGroup; None is the shard without a label."""
    deleted: str
    """Time at which somebody deleted the PodGroup; empty if nobody has."""
    finalizers: tuple[str, ...]
    """Finalizers, which must be removed before the PodGroup goes."""
    minimum: int | None
    """Number of pods that the PodGroup itself starts with; None if it does not say."""
    sub_groups: Mapping[str, int | None] | None = field(hash=False)
    """Number of pods that each SubGroup starts with, or None if it does not say; None if the SubGroups are unknown."""
    topologies: frozenset[str]
    """Topologies that the PodGroup and its SubGroups name."""


@dataclass(frozen=True, slots=True)
class QueueInCluster:
    """A Queue of the cluster."""

    name: str
    shown: str
    """displayName of the queue, which KAI uses in messages (pkg/scheduler/api/queue_info); without one, the name."""
    parent: str
    """Name of the parent queue; empty if there is no parent."""
    shard: str | None


@dataclass(frozen=True, slots=True)
class ClusterAnswers:
    """Everything that a cluster says."""

    objects: Sequence[Mapping[str, Any]]
    """All objects that were read."""
    groups: tuple[LiveGroup, ...]
    pods: tuple[LivePod, ...]
    events: Mapping[tuple[str, str], tuple[Saying, ...]]
    """Events by namespace, and by kind and name of the object."""
    gaps: Mapping[str, str]
    """Reason why objects of a kind are unknown, or not all known."""

    controllers: tuple[Controller, ...] = ()
    """Objects of the requested kinds that make pods, or that other such objects have made."""
    queues: tuple[QueueInCluster, ...] = ()
    topologies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Node labels of the levels, by name of the Topology."""
    shards: frozenset[str] | None = None
    """The values of the SchedulingShards; None if none was read."""


def ask_cluster(cluster: Cluster, namespace: str, further_kinds: Mapping[str, str] | None = None) -> ClusterAnswers:
    """Reads what a cluster says of the work in a namespace. ``further_kinds`` are read too, by kubectl's names.

    Raises TasError if PodGroups cannot be read, or if a file has neither PodGroups nor Pods. Everything else that
    cannot be read is a gap. Without permission for all namespaces, reads only this namespace.
    """
    gaps: dict[str, str] = {}
    resources = {**_RESOURCES, **(further_kinds or {})}
    if cluster.file is not None:
        objects = kubectl.read_file(cluster.file)
        kinds_in_file = {str(fields.get("kind")) for fields in objects} | kubectl.complete_kinds(objects)
        unread = (kind for kind in resources if kind not in kinds_in_file and kind != "SchedulingShard")
        gaps = dict.fromkeys(unread, f"{cluster.file} has none")
        if "PodGroup" in gaps and "Pod" in gaps:
            message = f"{cluster.file} has neither PodGroups nor Pods: whether work waits cannot be told"
            raise TasError(message, hint=f"Give what this prints: kubectl get {','.join(_PRINTED)} -A -o json")
    else:
        objects = list(_asked(cluster, namespace, resources, gaps))
    return _read(objects, gaps, further_kinds or {})


def _asked(
    cluster: Cluster, namespace: str, resources: Mapping[str, str], gaps: dict[str, str]
) -> Iterator[dict[str, Any]]:
    for kind, resource in resources.items():
        spaced = kind not in _OF_CLUSTER
        is_of_all = kind in ("PodGroup", "Pod") or not spaced
        access = cluster.access if is_of_all else replace(cluster.access, namespace=namespace)
        if kind == "Pod" and access.namespace is not None:
            gaps[kind] = f"only those of namespace {access.namespace} are asked for"
        try:
            try:
                yield from kubectl.get(access, resource, namespaced=spaced)
            except ForbiddenError as error:
                if not spaced or access.namespace is not None:
                    raise
                gaps[kind] = f"only those of namespace {namespace} are: {error.message}"
                yield from kubectl.get(replace(access, namespace=namespace), resource, namespaced=True)
        except TasError as error:
            if kind == "PodGroup":
                raise
            if kind != "SchedulingShard":  # few may read it, and it tells one cause only
                gaps[kind] = error.message


def _read(objects: Sequence[dict[str, Any]], gaps: Mapping[str, str], kinds: Collection[str]) -> ClusterAnswers:
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for fields in objects:
        by_kind.setdefault(str(fields.get("kind")), []).append(fields)
    events: dict[tuple[str, str], list[Saying]] = {}
    broken: list[str] = []
    for fields in by_kind.get("Event", ()):
        try:
            ((key, saying),) = _each(_event, [fields])
        except TasError as error:
            broken.append(error.message)
            continue
        if fields.get("type") != "Normal" or saying.reason in _NORMAL:
            events.setdefault(key, []).append(saying)
    if broken:
        and_more = f"; and {len(broken) - 1} more" if len(broken) > 1 else ""
        gaps = {"Event": f"{broken[0]}{and_more}", **gaps}
    spaced_kinds = [kind for kind in kinds if kind not in _OF_CLUSTER]
    specs_of_shards = (fields.get("spec") or {} for fields in by_kind.get("SchedulingShard", ()))
    shard_values = frozenset(str(spec.get("partitionLabelValue") or "") for spec in specs_of_shards)
    return ClusterAnswers(
        objects,
        tuple(sorted(map(_group, by_kind.get("PodGroup", ())), key=lambda group: (group.namespace, group.name))),
        tuple(sorted(map(_pod, by_kind.get("Pod", ())), key=lambda pod: (pod.namespace, pod.name))),
        {key: gathered(sayings) for key, sayings in events.items()},
        gaps,
        tuple(_each(controller, (fields for kind in spaced_kinds for fields in by_kind.get(kind, ())))),
        tuple(map(_queue, by_kind.get("Queue", ()))),
        dict(map(_topology, by_kind.get("Topology", ()))),
        shard_values or None,
    )


def _each(read: Callable[[Mapping[str, Any]], T], objects: Iterable[Mapping[str, Any]]) -> Iterator[T]:
    """Yields what is read of each object of a kind whose fields ``read_object`` does not check. Raises TasError, with
    the object's name, if one cannot be read.
    """
    for fields in objects:
        try:
            yield read(fields)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            reason = str(error) if isinstance(error, ValueError) else "it is not built as Kubernetes builds it"
            message = f"{'an' if fields['kind'] == 'Event' else 'a'} {fields['kind']} of the cluster cannot be read"
            hint = "It must be what `kubectl get ... -o json` prints."
            name = (fields.get("metadata") or {}).get("name") or "without a name"
            raise TasError(f"{message}: {name}: {reason}", hint=hint) from error


def gathered(sayings: Iterable[Saying]) -> tuple[Saying, ...]:
    """Returns each message once, with its count and last time: conditions of PodGroups, then of pods, then events, the
    latest event first.
    """
    times: Counter[Saying] = Counter()
    last: dict[Saying, str] = {}
    for saying in sayings:
        same = replace(saying, times=1, last="")
        times[same] += saying.times
        last[same] = max(last.get(same, ""), saying.last)
    distinct = [replace(saying, times=count, last=last[saying]) for saying, count in times.items()]
    distinct.sort(key=lambda said: (not said.where.startswith("PodGroup"), said.where, said.reason, said.text))
    distinct.sort(key=lambda saying: saying.last, reverse=True)
    return tuple(sorted(distinct, key=lambda saying: saying.is_event))


def _place(fields: Mapping[str, Any]) -> tuple[str, str]:
    metadata = fields["metadata"]
    return metadata.get("namespace") or "default", metadata["name"]


def _group(fields: Mapping[str, Any]) -> LiveGroup:
    namespace, name = _place(fields)
    status = fields.get("status") or {}
    sayings = [
        Saying(f"PodGroup {name}", reason, text)
        for condition in status.get("schedulingConditions") or ()
        if condition.get("status", "True") == "True"
        for reason, text in _reasons(condition)
    ]
    held = (status.get("resourcesStatus") or {}).get("allocated") or {}
    is_allocated = any(str(amount) not in ("", "0") for amount in held.values())
    metadata, spec = fields["metadata"], fields.get("spec") or {}
    labels, sub_groups = metadata.get("labels") or {}, spec.get("subGroups") or ()
    named = (sub_group.get("topologyConstraint") or {} for sub_group in (spec, *sub_groups))
    return LiveGroup(
        namespace,
        name,
        owners_of(fields),
        _word(labels, WORKFLOW),
        is_allocated,
        gathered(sayings),
        _word(spec, "queue"),
        _word(labels, NODE_POOL),
        _deleted(metadata),
        tuple(map(str, metadata.get("finalizers") or ())),
        spec.get("minMember"),
        None if "minMember" not in spec and not sub_groups else {x["name"]: x.get("minMember") for x in sub_groups},
        frozenset(str(constraint["topology"]) for constraint in named if constraint.get("topology")),
    )


def _queue(fields: Mapping[str, Any]) -> QueueInCluster:
    metadata, spec = fields["metadata"], fields.get("spec") or {}
    name = metadata["name"]
    shown, parent = (str(spec.get(key) or "") for key in ("displayName", "parentQueue"))
    return QueueInCluster(name, shown or name, parent, _word(metadata.get("labels") or {}, NODE_POOL))


def _topology(fields: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    levels = (fields.get("spec") or {}).get("levels") or ()
    return fields["metadata"]["name"], tuple(level["nodeLabel"] for level in levels)


def _reasons(condition: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the explanations of a condition; the message if a release or condition has none."""
    shard = str(condition.get("nodePool") or "")
    prefix = f"(shard {shard}) " if shard not in ("", "default") else ""
    listed = condition.get("reasons") or [condition]
    for reason in listed:
        yield str(reason.get("reason") or "Unschedulable"), prefix + in_one_line(reason.get("message"))


def _pod(fields: Mapping[str, Any]) -> LivePod:
    namespace, name = _place(fields)
    metadata, spec, status = fields["metadata"], fields.get("spec") or {}, fields.get("status") or {}
    where = f"Pod {name}"
    sayings = [
        Saying(where, str(condition.get("reason") or condition.get("type")), in_one_line(condition.get("message")))
        for condition in status.get("conditions") or ()
        if condition.get("type") in ("PodScheduled", "PodBound") and condition.get("status") == "False"
    ]
    sayings += [Saying(where, reason, text) for reason, text in _containers(status)]
    if status.get("phase") == "Failed" and (status.get("reason") or status.get("message")):
        sayings.append(Saying(where, str(status.get("reason") or "Failed"), in_one_line(status.get("message"))))
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    phase, deleted = str(status.get("phase") or "Pending"), _deleted(metadata)
    return LivePod(
        namespace,
        name,
        "Terminating" if deleted and phase not in ("Succeeded", "Failed") else phase,
        bool(spec.get("nodeName")),
        _word(annotations, POD_GROUP),
        _word(labels, PART_OF),
        owners_of(fields),
        _word(spec, "schedulerName"),
        tuple(sayings),
        _word(labels, SUBGROUP),
        _word(labels, WORKFLOW),
        _word(annotations, SKIP_PODGROUPER) == "true",
        deleted,
        tuple(map(str, metadata.get("finalizers") or ())),
        tuple(str(gate["name"]) for gate in spec.get("schedulingGates") or ()),
        labels,
        spec,
    )


def _word(holder: Mapping[str, Any], key: str) -> str | None:
    return None if holder.get(key) is None else str(holder[key])


def _deleted(metadata: Mapping[str, Any]) -> str:
    return str(metadata.get("deletionTimestamp") or "")


def _containers(status: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    listed = (*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ()))
    for container in listed:
        state = container.get("state") or {}
        waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
        if waiting.get("reason") not in (None, "PodInitializing", "ContainerCreating"):
            yield str(waiting["reason"]), in_one_line(waiting.get("message") or f"container {container.get('name')}")
        if ended.get("exitCode"):
            yield str(ended.get("reason") or "Error"), f"container {container.get('name')}: exit {ended['exitCode']}"


def _event(fields: Mapping[str, Any]) -> tuple[tuple[str, str], Saying]:
    """Converts an event of either API: v1, or events.k8s.io/v1."""
    involved = fields.get("involvedObject") or fields.get("regarding") or {}
    series = fields.get("series") or {}
    object_name = f"{involved.get('kind')} {involved.get('name')}"
    times = series.get("count") or fields.get("count") or fields.get("deprecatedCount") or 1
    if not isinstance(times, int) or not 0 < times <= MAX_COUNT:
        raise ValueError("an event was not said so often")
    moments = (series.get("lastObservedTime"), fields.get("lastTimestamp"), fields.get("eventTime"))
    last = next((str(moment) for moment in moments if moment), "")
    text = in_one_line(fields.get("message") or fields.get("note"))
    when = f"{last[:19]}Z" if last else ""
    saying = Saying(object_name, str(fields.get("reason") or ""), text, is_event=True, times=times, last=when)
    return (str(involved.get("namespace") or "default"), object_name), saying


def is_race(saying: Saying) -> bool:
    """Whether KAI's podgrouper reports a race with itself, which has no effect."""
    return saying.reason == "PodGrouperWarning" and _RACE.search(saying.text) is not None


def in_one_line(text: object) -> str:
    """Joins a text of several lines to one line."""
    return " ".join(str(text or "").split())


def unnamed(saying: Saying, namespace: str, pod: str) -> Saying:
    """Returns the message without the name of the pod, so that it can be counted over several pods."""
    names = f"(?<![a-z0-9.-])(?:{re.escape(namespace)}/)?{re.escape(pod)}(?![a-z0-9-])"
    return replace(saying, where="Pod", text=re.sub(names, POD_NAME, saying.text))
