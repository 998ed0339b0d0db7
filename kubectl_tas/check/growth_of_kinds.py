"""Says how the pods of each kind may grow by themselves beyond the number that is counted: by their controller's
autoscaler, by an update, by a second run beside the first, or by loops.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, cast

from kubectl_tas import times
from kubectl_tas.check.conflicts import Fields
from kubectl_tas.check.step_pods import NO_LIMIT, StepPods
from kubectl_tas.gpus import Gpus
from kubectl_tas.late import dataclass
from kubectl_tas.model.base import MAX_COUNT, KeyPath
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.placement import ReplicaType
from kubectl_tas.resolve.pools import Submission

if TYPE_CHECKING:
    from kubectl_tas.model.operatorkinds import RayWorkload


@dataclass(frozen=True, slots=True)
class Growth:
    """Parts of a workload whose number may grow."""

    path: KeyPath
    """Path of the field with the maximum number."""
    start: Gpus
    """Number of parts that is counted."""
    most: Gpus | None
    """Maximum number of parts; None: no limit."""
    gpus: Gpus
    """GPUs of one part."""
    what: str
    when: str = ""
    """Words that say when the number grows; empty: at any time."""
    hint: str = "Lower it, or write as many replicas."
    is_default: bool = False
    """Whether the growth comes from a default. Reported only if the quota has no room for it."""
    is_counted: bool = False
    """Whether the maximum number is counted. Reported only if the workload alone then exceeds its quota."""


_QUARTER = "25%"
"""The pods that an update of a Deployment adds. Source: ``SetDefaults_Deployment`` of Kubernetes 1.35
(pkg/apis/apps/v1/defaults.go).
"""
_DURING_UPDATE = " during an update"
_LEAVE_ROOM = "Leave room for it in the quota, or use LOW."
_GRACE, _DEFAULT_GRACE, _LONG_GRACE = "terminationGracePeriodSeconds", 30, 600
"""The field for the seconds that a pod has to end, its default, and more than that of ``maxGracePeriod``."""


def growth_of(workload: FleetWorkload) -> Iterator[Growth]:
    """Yields the growth of a workload by itself."""
    for pods in workload.replicas:
        if pods.added:
            start, what = pods.replicas - pods.added, f"the pods of {pods.written or pods.name}"
            yield Growth(pods.path, start, pods.replicas, pods.gpus, what, hint="Lower the maximum.", is_counted=True)
    for grows in _GROWS.get(workload.kind, ()):
        yield from grows(workload)


def number_at(sent: Submission, path: KeyPath) -> int | None:
    """Returns the number at a path; None if it is absent or not a count that a cluster could reach."""
    value = sent.declared.origin.value(path)
    return value if type(value) is int and 0 <= value < MAX_COUNT else None


def replicas_of(workload: FleetWorkload) -> tuple[int, Gpus]:
    """Returns the replicas of a workload and the GPUs of one: groups of a LeaderWorkerSet, workers if pods have roles,
    else pods. Of a kind with several pod templates, a replica has a pod of each.
    """
    if workload.kind == "LeaderWorkerSet":
        return workload.copies, sum(pods.replicas * pods.gpus for pods in workload.replicas)
    each = [pods for pods in workload.replicas if pods.name == "worker"] or workload.replicas
    return min((pods.replicas for pods in each), default=0), sum(pods.gpus for pods in each)


def _added(value: object, pods: int) -> int:
    """Returns the pods that an update adds, from a number or a percentage, which Kubernetes rounds up."""
    if isinstance(value, str) and re.fullmatch("[0-9]{1,9}%", value):
        return -(-pods * int(value[:-1]) // 100)
    return value if type(value) is int and 0 <= value < MAX_COUNT else 0


def _update(workload: FleetWorkload, path: tuple[str, ...], default: object) -> Iterator[Growth]:
    """Yields the pods, or groups of pods, that an update adds before it removes old ones."""
    origin, (start, gpus) = workload.declared.origin, replicas_of(workload)
    value = origin.value(path)
    if origin.value((*path[:2], "type")) != "Recreate":
        what = "the groups" if workload.kind == "LeaderWorkerSet" else "the pods"
        hint = f"Write maxSurge: 0 and maxUnavailable: 1 in {'.'.join(path[:-1])}."
        most = start + _added(default if value is None else value, start)
        yield Growth(path, start, most, gpus, what, _DURING_UPDATE, hint, is_default=value is None)


def _elastic(workload: FleetWorkload) -> Iterator[Growth]:
    """Yields the growth of an elastic job of Kubeflow's training operator."""
    path: KeyPath = ("spec", "elasticPolicy", "maxReplicas")
    most = number_at(workload, path)
    for pods in workload.replicas:
        if most is not None and pods.path[2] == "Worker":  # a master is always one
            yield Growth(path, workload.pods, most, pods.gpus, "the pods")


def _runs(workload: FleetWorkload) -> Iterator[Growth]:
    """Yields the growth of runs by a schedule: the controller starts the next run during the last one, unless told
    otherwise. With Replace, the pods of the last run keep their GPUs until they have ended.
    """
    path: KeyPath = ("spec", "concurrencyPolicy")
    origin = workload.declared.origin
    policy = origin.value(path)
    if origin.value(("spec", "suspend")) is True:
        return
    if policy in (None, "Allow"):
        yield Growth(
            path, 1, None, workload.gpus, "the runs", " at a time", "Write concurrencyPolicy: Forbid, or Replace."
        )
    elif policy == "Replace":
        grace, at = max(((_grace(pods), pods.spec_path) for pods in workload.templates), default=(0, path))
        interval = times.shortest_interval(str(origin.value(("spec", "schedule"))))
        if grace > min(interval, _LONG_GRACE):
            when = f" while pods of earlier runs end, each within {times.duration(grace * 10**9)}"
            hint = f"Write concurrencyPolicy: Forbid, or a shorter {_GRACE}."
            yield Growth((*at, _GRACE), 1, 1 - -grace // interval, workload.gpus, "the runs", when, hint)


def _grace(pods: ReplicaType) -> int:
    """Returns the seconds that pods have to end."""
    value = (pods.template.spec.model_extra or {}).get(_GRACE) if pods.template is not None else None
    return value if type(value) is int else _DEFAULT_GRACE


def _loops(workload: FleetWorkload, path: tuple[str, ...]) -> Iterator[Growth]:
    """Yields the growth of a workflow of steps. Each of its templates is counted once."""
    spec = workload.declared.origin.value(path)
    if isinstance(spec, dict):
        pods = StepPods(spec, path, {pods.path: pods.gpus for pods in workload.replicas})
        few = int(workload.gpus // pods.largest) if pods.largest else 0
        hint = f"Write parallelism: {max(1, few)} in {'.'.join(path)}, or fewer items."
        most = None if pods.most == NO_LIMIT else pods.most
        yield Growth(pods.place, workload.gpus, most, 1, "the GPUs of its pods", " at a time", hint)


def _ray_workers(workload: FleetWorkload) -> Iterator[Growth]:
    """Yields the growth of Ray workers (KubeRay 1.7): only with its autoscaler; maxReplicas has no limit by default."""
    spec = cast("RayWorkload", workload.declared.spec)
    if not spec.cluster.enableInTreeAutoscaling:
        return
    for index, group in enumerate(spec.cluster.workerGroupSpecs):
        path = (*spec.cluster_path, "workerGroupSpecs", index, "maxReplicas")
        gpus = group.template.spec.gpus_with(group.template.metadata.annotations) * group.numOfHosts
        most = number_at(workload, path)
        is_refused = most is None and workload.declared.origin.value(path) is not None
        if not group.suspend and not is_refused:
            start = group.pods // group.numOfHosts
            yield Growth(path, start, most, gpus, f"the workers of {group.groupName}")


def _second_cluster(workload: FleetWorkload) -> Iterator[Growth]:
    """Yields the cluster that an upgrade of a RayService makes beside the first one (``shouldPrepareNewCluster`` of
    rayservice_controller.go, KubeRay 1.7).
    """
    path: KeyPath = ("spec", "upgradeStrategy", "type")
    strategy = workload.declared.origin.value(path)
    if strategy != "None":
        hint = "Write None: an upgrade then waits until you delete the cluster."
        is_default = strategy is None
        yield Growth(path, 1, 2, workload.gpus, "the clusters", " during an upgrade", hint, is_default=is_default)


_STANDARD = ("Standard", "RawDeployment")


def _served(workload: FleetWorkload) -> Iterator[Growth]:
    """Yields the growth of the parts of an InferenceService (KServe 0.16): by Knative, unless its annotation names a
    Deployment. Knative knows no maximum but its own (``SetAutoScalingAnnotations``), and starts each revision with
    initial-scale whatever the maximum is. A new revision starts beside the old one.
    """
    above = workload.declared.spec.metadata.annotations
    for pods in workload.replicas:
        fields = Fields(workload.declared.origin, pods.path, workload.declared.origin.value(pods.path))
        what = f"the pods of {pods.written or pods.name}"
        if above.get("serving.kserve.io/deploymentMode") in _STANDARD:
            yield from _of_deployment(pods, fields, what)
            continue
        own = pods.template.metadata.annotations if pods.template is not None else {}
        known = {**above, **own}
        path, counted = (*pods.path, "maxReplicas"), pods.replicas
        if not fields.get("maxReplicas"):
            most = _of_knative(known, "max-scale", "maxScale")
            hint = "Write maxReplicas, or the annotation serving.kserve.io/deploymentMode: Standard."
            yield Growth(path, counted, most or None, pods.gpus, what, " with Knative", hint)
        for key in ("initial-scale", "initialScale"):
            place = (*pods.path, "annotations") if f"{_KNATIVE}{key}" in own else ("metadata", "annotations")
            first = _of_knative(known, key)
            yield Growth((*place, f"{_KNATIVE}{key}"), counted, first, pods.gpus, what, " at the start of a revision")
        percent = fields.get("canaryTrafficPercent")
        if type(percent) is int and percent < 100:
            path, when = (*pods.path, "canaryTrafficPercent"), " while a canary runs beside the last revision"
            yield Growth(path, counted, 2 * counted, pods.gpus, what, when, "Remove it, or leave room in the quota.")
        else:
            more = fields.get("minReplicas")
            most = counted + max(1, more if type(more) is int else 1)
            yield Growth(path, counted, most, pods.gpus, what, _DURING_UPDATE, _LEAVE_ROOM, is_default=True)


_KNATIVE = "autoscaling.knative.dev/"


def _of_knative(annotations: Mapping[str, str], *keys: str) -> int:
    """Returns the number in an annotation of Knative; 0 if it has none."""
    texts = (annotations.get(f"{_KNATIVE}{key}", "") for key in keys)
    return next((int(text) for text in texts if re.fullmatch("[0-9]{1,9}", text)), 0)


def _of_deployment(pods: ReplicaType, fields: Fields, what: str) -> Iterator[Growth]:
    """Yields the pods that an update of a Deployment of KServe adds."""
    strategy = fields.get("deploymentStrategy")
    strategy = strategy if isinstance(strategy, dict) else {}
    rolling = strategy.get("rollingUpdate")
    value = rolling.get("maxSurge") if isinstance(rolling, dict) else None
    if strategy.get("type") != "Recreate":
        path = (*pods.path, "deploymentStrategy", "rollingUpdate", "maxSurge")
        most = pods.replicas + _added(_QUARTER if value is None else value, pods.replicas)
        hint = "Write deploymentStrategy with maxSurge: 0 and maxUnavailable: 1 in its rollingUpdate."
        yield Growth(path, pods.replicas, most, pods.gpus, what, _DURING_UPDATE, hint, is_default=value is None)


def _seldon_update(workload: FleetWorkload) -> Iterator[Growth]:
    """Yields the pods that an update of Seldon's Deployments adds. They have the default of Kubernetes."""
    for pods in workload.replicas:
        most = pods.replicas + _added(_QUARTER, pods.replicas)
        what = f"the pods of {pods.written or pods.name}"
        yield Growth(pods.path, pods.replicas, most, pods.gpus, what, _DURING_UPDATE, _LEAVE_ROOM, is_default=True)


_MAX_SURGE = "nvidia.com/deployment-rolling-update-max-surge"


def _graph(workload: FleetWorkload) -> Iterator[Growth]:
    """Yields the growth of a graph of Dynamo 1.2 (deploy/operator/api/v1alpha1 and v1beta1). Releases that made an
    autoscaler of ``autoscaling`` are older.
    """
    origin = workload.declared.origin
    named: dict[object, Gpus] = {}
    for pods in workload.replicas:
        where = pods.path[:3]  # the podTemplate of v1beta1 is one below its component
        fields = Fields(origin, where, origin.value(where))
        named[fields.get("name")] = named.get(fields.get("name"), 0) + pods.replicas * pods.gpus
        yield from _component(pods, fields)
        if "planner" in (fields.get("type"), fields.get("componentType")):
            hint = "Remove it, or scale the components by hand."
            rest = max((other.gpus for other in workload.replicas), default=0)
            yield Growth(where, workload.pods, None, rest, "the pods", " by the planner", hint)
    groups = Fields(origin, ("spec", "experimental"), origin.value(("spec", "experimental"))).each("componentGroups")
    for group in groups:
        what, count = f"the replicas of {group.get('name')}", group.get("replicas")
        gpus = sum(named.get(item.get("name"), 0) for item in group.each("components"))
        if type(count) is int:
            yield Growth((*group.path, "replicas"), 1, count, gpus, what, hint="Write 1.")
        if group.get("scalingAdapter") is not None:
            yield Growth((*group.path, "scalingAdapter"), 1, None, gpus, what, _BY_ADAPTER, _NO_ADAPTER)


_BY_ADAPTER, _NO_ADAPTER = " by the scaling adapter", "Remove it, and write as many replicas as are needed."


def _component(pods: ReplicaType, fields: Fields) -> Iterator[Growth]:
    """Yields the growth of a component, whose replicas may have several pods each."""
    nodes = fields.below("multinode").get("nodeCount", 2) if isinstance(fields.get("multinode"), dict) else 1
    nodes = nodes if type(nodes) is int and nodes > 0 else 1
    start, gpus, what = pods.replicas // nodes, nodes * pods.gpus, f"the replicas of {pods.written or pods.name}"
    autoscaling, most = fields.below("autoscaling"), fields.below("autoscaling").get("maxReplicas")
    if autoscaling.get("enabled") is True and type(most) is int:
        yield Growth((*autoscaling.path, "maxReplicas"), start, most, gpus, what)
    adapter = fields.get("scalingAdapter")
    if isinstance(adapter, dict) and adapter.get("enabled", True):
        yield Growth((*fields.path, "scalingAdapter"), start, None, gpus, what, _BY_ADAPTER, _NO_ADAPTER)
    for snapshot in (fields.below("checkpoint"), fields.below("experimental", "checkpoint")):
        is_made = snapshot.get("enabled") is True and not snapshot.get("checkpointRef")
        if is_made and snapshot.get("startupPolicy") != "WaitForCheckpoint":
            when, hint = " while a checkpoint is made", "Write checkpointRef, or leave room for it in the quota."
            yield Growth(
                snapshot.path,
                pods.replicas,
                pods.replicas + 1,
                pods.gpus,
                f"the pods of {pods.written or pods.name}",
                when,
                hint,
            )
    for place in (pods.annotations_path, (*fields.path, "annotations"), ("spec", "annotations")):
        notes = fields.origin.value(place)
        surge = notes.get(_MAX_SURGE) if isinstance(notes, dict) else None
        if isinstance(surge, str):
            more = _added(int(surge) if re.fullmatch("[0-9]{1,9}", surge) else surge, start)
            hint = 'Write "0", and "1" in the annotation for max-unavailable.'
            yield Growth((*place, _MAX_SURGE), start, start + more, gpus, what, _DURING_UPDATE, hint)
            break


_GROWS: dict[str, tuple[Callable[[FleetWorkload], Iterator[Growth]], ...]] = {
    "Deployment": (partial(_update, path=("spec", "strategy", "rollingUpdate", "maxSurge"), default=_QUARTER),),
    "LeaderWorkerSet": (  # LeaderWorkerSet 0.7
        partial(_update, path=("spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge"), default=0),
    ),
    "CronJob": (_runs,),
    "CronWorkflow": (_runs, partial(_loops, path=("spec", "workflowSpec"))),
    "Workflow.argoproj.io": (partial(_loops, path=("spec",)),),
    "PyTorchJob": (_elastic,),
    "PaddleJob": (_elastic,),
    "RayCluster": (_ray_workers,),
    "RayJob": (_ray_workers,),
    "RayService": (_ray_workers, _second_cluster),
    "InferenceService": (_served,),
    "SeldonDeployment": (_seldon_update,),
    "DynamoGraphDeployment": (_graph,),
}
"""Functions that yield the growth of a kind, by its name."""
GROWS_BY_DEFAULT = ("Deployment", "LeaderWorkerSet", "RayService", "InferenceService", "SeldonDeployment")
"""Kinds that may grow by a default."""
