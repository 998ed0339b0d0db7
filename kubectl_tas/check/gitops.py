"""Finds files that a GitOps tool cannot apply as intended: exported objects, suspended work, self-deleting work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.check.growth import scalers
from kubectl_tas.check.keys import KUEUE
from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity
from kubectl_tas.gangs.podgrouper import is_made_by_kai, is_ray
from kubectl_tas.load.schema import written
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.kindlists import KUBEFLOW, SCALED_ALONE, Phase
from kubectl_tas.model.labels import POOL
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from kubectl_tas.words import MAX_LISTED, shortened

if TYPE_CHECKING:
    from kubectl_tas.model.workload_kinds import AnyWorkload

OBJECT_EXPORTED = Rule(
    "object-exported",
    Severity.ERROR,
    "A workload has fields of an export that the API server refuses.",
    "The API server refuses a new object with a resourceVersion, and an existing one with another uid. Server-side "
    "apply refuses managedFields. A Job's selector and its label controller-uid belong to one object. Kubernetes "
    "deletes an object whose owner does not exist. Delete what the message names.",
)
SERVER_FIELDS = Rule(
    "server-fields",
    Severity.WARNING,
    "A workload has fields that the API server writes itself.",
    "The API server ignores them, and a tool that compares the file with the cluster sees a difference for ever. "
    "Delete what the message names.",
)
_UID = ("controller-uid", "batch.kubernetes.io/controller-uid")
_JOB = ("job-name", "batch.kubernetes.io/job-name")
_NOTES = ("kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision")
_REFUSED: tuple[KeyPath, ...] = tuple(
    ("metadata", name) for name in ("managedFields", "ownerReferences", "resourceVersion", "uid")
)
_WRITTEN: tuple[KeyPath, ...] = (
    *(
        ("metadata", name)
        for name in ("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "selfLink")
    ),
    *(("metadata", "annotations", name) for name in _NOTES),
    *(("metadata", "labels", name) for name in _UID),
    ("status",),
)
_POD_LABELS: KeyPath = ("spec", "template", "metadata", "labels")
SUSPENDED = Rule(
    "suspended",
    Severity.WARNING,
    "A workload is suspended: no pod of it starts.",
    "The controller makes no pods while spec.suspend or runPolicy.suspend is true, or spec.paused of a new Deployment. "
    "Only a change of the file starts it: a GitOps tool reverts changes in the cluster. Remove the field, or remove "
    "the file. If the work should wait, waive the rule.",
)
_SUSPENDING: tuple[KeyPath, ...] = (
    ("spec", "suspend"),
    ("spec", "paused"),
    ("spec", "runPolicy", "suspend"),
    ("spec", "jobTemplate", "spec", "suspend"),
    ("spec", "rayClusterSpec", "suspend"),
    ("spec", "rayClusterConfig", "suspend"),
)
"""Fields by which kinds suspend work. Sources: Kubernetes 1.35, ``Suspend`` of pkg/apis/batch/types.go and
``syncDeployment`` of pkg/controller/deployment (a paused Deployment makes no new ReplicaSet); JobSet 0.12 and Trainer
2.3, ``suspend``; training operator 1.9 and MPI operator 0.8, ``RunPolicy``; KubeRay 1.7, ``Suspend``.
"""
FINISHED_RECREATED = Rule(
    "finished-recreated",
    Severity.WARNING,
    "A finished workload is deleted, and the GitOps tool makes it anew.",
    "A GitOps tool keeps the cluster equal to the repository. Flux recreates a deleted object in its next "
    "reconciliation; Argo CD at once with self-heal, or else in the next sync. So the work runs again and again. "
    "Remove the lifetime, and remove the file when you no longer need the result. Use a CronJob for work that should "
    "run again. One finding lists all such work.",
)
PLATFORM_WAITS = Rule(
    "platform-waits",
    Severity.WARNING,
    "The platform folder has an object that waits for work of a pool.",
    "In the sharded layout, Argo CD with progressive syncs and Flux with `wait: true` apply pools when all of the "
    "platform is healthy. A claim waits for a pod and an autoscaler for its target, so no pool would ever be applied. "
    "A companion belongs to the pool in its label kubectl-tas/pool, else to the pool of all work in its file, else to "
    "the platform. Write the label. If the cluster has the object already, first keep it from being pruned "
    "(docs/gitops.md).",
)
TWO_OWNERS = Rule(
    "two-owners",
    Severity.WARNING,
    "The GitOps tool and a controller set the same field.",
    "Argo CD with self-heal puts the value of the file back within seconds, Flux when it reconciles: the pods that an "
    "autoscaler added end, and work that Kueue started is suspended again. Leave the field out: quotas then count the "
    "autoscaler's maximum. Lists of operators' kinds, such as workerGroupSpecs of a RayCluster, are compared as a "
    "whole: let the tool ignore the field, as docs/gitops.md says, and waive the rule here.",
)
_TTL = "ttlSecondsAfterFinished"
_TOOLS = {"argocd": "Argo CD", "flux": "Flux"}


def check_exported(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks every workload and PodCliqueSet. One finding names all fields to delete."""
    workloads = [(item.spec.kind, item.origin) for item in fleet.repository.workloads]
    sets = [(item.spec.kind, item.origin) for item in fleet.repository.pod_clique_sets]
    for kind, origin in (*workloads, *sets):
        refused = [*_there(origin, _REFUSED), *(_of_job(origin) if kind == "Job" else ())]
        found = [*refused, *_there(origin, _WRITTEN)]
        if found:
            rule = OBJECT_EXPORTED if refused else SERVER_FIELDS
            why = "cannot be applied" if refused else "the API server writes itself"
            what = f"this {kind} is an export of an object in a cluster"
            message = f"{what}: it has {_paths(refused or found)}, which {why}"
            yield Diagnostic(rule, message, origin.locate(found[0], key=True), hint=f"Delete {_paths(found)}.")


def _paths(paths: list[KeyPath]) -> str:
    return ", ".join(written(path) for path in paths)


def _there(origin: Origin, paths: tuple[KeyPath, ...]) -> Iterator[KeyPath]:
    """Yields the paths with a value that is not empty: ``kubectl create --dry-run`` writes empty fields too."""
    return (path for path in paths if origin.value(path) not in (None, "", {}, []))


def _of_job(origin: Origin) -> Iterator[KeyPath]:
    """Yields the fields that tie a Job to one object in a cluster (Kubernetes 1.35: ``ValidateGeneratedSelector`` of
    pkg/apis/batch/validation, ``generateSelector`` of pkg/registry/batch/job).
    """
    if origin.value(("spec", "manualSelector")) is True:
        return
    selector: KeyPath = ("spec", "selector", "matchLabels")
    if list(_there(origin, tuple((*selector, name) for name in _UID))):
        yield selector[:-1]
    yield from _there(origin, tuple((*_POD_LABELS, name) for name in _UID))
    name = origin.value(("metadata", "name"))
    for path in _there(origin, tuple((*_POD_LABELS, label) for label in _JOB)):
        if origin.value(path) != name:
            yield path


def check_suspended(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks every workload. Skips workloads that Kueue starts: another rule reports them."""
    for declared in fleet.repository.workloads:
        origin, spec = declared.origin, declared.spec
        path = next((path for path in _SUSPENDING if origin.value(path) is True), None)
        if path is not None and KUEUE not in spec.metadata.labels:
            what = "paused" if path[-1] == "paused" else "suspended"
            message = f"{spec.kind} {spec.metadata.name} is {what}: no new pod of it starts until you change this file"
            if "jobTemplate" in path:
                message = f"each Job of {spec.kind} {spec.metadata.name} is suspended: no pod of it starts"
            hint = f"Remove {path[-1]}, or remove the file."
            yield Diagnostic(SUSPENDED, message, origin.locate(path, key=True), hint=hint)


def check_finished(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks every workload of a repository that a GitOps tool applies."""
    tool = _TOOLS.get(fleet.config.gitops)
    for workload in fleet.workloads if tool else ():
        for path in _deleting(workload.declared.spec, workload):
            again = "in the next sync, with self-heal at once" if tool == "Argo CD" else "when it reconciles next"
            field = path[-1] if path[-1] == _TTL else "the policy DeleteSelf"
            lasts = f"{field} deletes finished work that the repository still has"
            message = f"{lasts}: {tool} makes it anew {again}, and it runs again"
            hint = f"Leave {path[-1]} out." if path[-1] == _TTL else "Use another deletion policy than DeleteSelf."
            yield Diagnostic(FINISHED_RECREATED, message, workload.declared.origin.locate(path, key=True), hint=hint)


def check_platform(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the companions that the sharded layout puts into the platform folder. Flux takes an object without a
    status of its own as ready, such as an autoscaler (``Compute`` of fluxcd/cli-utils, pkg/kstatus/status, 1.2).
    """
    tool = _TOOLS.get(fleet.config.gitops)
    late = {Phase.LATE_COMPANION} if tool == "Argo CD" else set()
    waiting = {Phase.SLOW_COMPANION, *late}
    for item in fleet.companions if tool and fleet.config.layout == "sharded" else ():
        beside = fleet.pools_of(item)
        if item.phase not in waiting or len(beside) == 1:
            continue
        near = (pool.name for pool in fleet.pools if pool.backend == item.backend and item.namespace in pool.namespaces)
        why = f"its file has work of pools {shortened(beside)}" if beside else "its file has no work"
        message = f"{item.kind} {item.name} is applied with the platform: {why}; {tool} may apply no pool before it is "
        hint = f"Add the label {POOL}: {' or '.join((beside or tuple(near))[:MAX_LISTED]) or 'POOL'}."
        yield Diagnostic(PLATFORM_WAITS, f"{message}healthy", item.place, hint=hint)


def check_owners(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the targets of autoscalers, Ray clusters with an autoscaler, and work that Kueue starts. Grove keeps the
    replicas that an autoscaler sets in what it makes of a set (0.1.0-alpha.11: podclique.go, podcliquescalinggroup.go).
    """
    tool = _TOOLS.get(fleet.config.gitops)
    if tool is None:
        return
    for scaler, scaled in scalers(fleet):
        if scaled is None or (scaler.kind, scaler.name) != (scaled.item.kind, scaled.item.name):
            continue
        item, by = scaled.item, scaler.companion
        path = _replicas_path(item)
        value = _rendered(item, path)
        if value is None or scaler.least == scaler.most == value:
            continue
        hint = f"Let {_ignoring(tool, written(path))}"
        if item.kind in SCALED_ALONE:
            hint = f"Leave replicas out of the {item.kind}. Or let {_ignoring(tool, written(path))}"
        related = Related(f"{by.kind} {by.name}", by.place)
        yield _owned(item, path, (tool, f"{by.kind} {by.name}"), hint, related)
    for workload in fleet.workloads:
        spec, origin = workload.declared.spec, workload.declared.origin
        if is_ray(spec) and spec.cluster_path == ("spec",) and _has_two_owners(workload, tool):
            both = f"{tool} and Ray's autoscaler both set replicas in spec.workerGroupSpecs"
            message = f"{both} of {workload.kind} {workload.name}: {tool} puts the list back"
            place = origin.locate(("spec", "enableInTreeAutoscaling"), key=True)
            yield Diagnostic(TWO_OWNERS, message, place, hint=f"Let {_ignoring(tool, 'them')}")
        field = next((path for path in _SUSPENDING if type(origin.value(path)) is bool and path[-1] == "suspend"), None)
        if field is not None and KUEUE in spec.metadata.labels:
            hint = "Leave suspend out: Kueue's webhook sets it."
            yield _owned(workload, field, (tool, "Kueue"), hint)


def _has_two_owners(workload: FleetWorkload, tool: str) -> bool:
    """Whether the autoscaler of a Ray cluster sets replicas that the tool sets too (KuberayNodeProvider of
    python/ray/autoscaler/_private/kuberay/node_provider.py). Argo CD sees no difference in what the manifest leaves out
    of an item of a list (RemoveMapFields of gitops-engine, 3.5). Flux owns a list as a whole.
    """
    origin = workload.declared.origin
    groups = origin.value(("spec", "workerGroupSpecs"))
    if origin.value(("spec", "enableInTreeAutoscaling")) is not True or not isinstance(groups, list):
        return False
    for index, group in enumerate(item if isinstance(item, dict) else {} for item in groups):
        least, most = group.get("minReplicas"), group.get("maxReplicas")
        is_set = tool == "Flux" or _rendered(workload, ("spec", "workerGroupSpecs", index, "replicas")) is not None
        if is_set and (least is None or least != most):
            return True
    return False


def _rendered(item: FleetWorkload | SubmittedSet, path: KeyPath) -> object:
    """Returns a value of the manifest: that of the file, or a count that `render` adds for KAI."""
    value = item.declared.origin.value(path)
    if value is None and isinstance(item, FleetWorkload) and is_made_by_kai(item):
        return dict(item.declared.spec.implied_counts).get(path)
    return value


def _replicas_path(item: FleetWorkload | SubmittedSet) -> KeyPath:
    """Returns the path of the number that an autoscaler sets: of a Kubeflow job that of its workers."""
    workers = (part.path for part in getattr(item, "replicas", ()) if isinstance(item, FleetWorkload))
    of_workers = next((path for path in workers if path[2:3] == ("Worker",)), None)
    return ("spec", "replicas") if of_workers is None else (*of_workers[:3], "replicas")


def _ignoring(tool: str, what: str) -> str:
    """Returns the end of a hint to ignore a field."""
    return f"the {'Application' if tool == 'Argo CD' else 'Kustomization'} ignore {what}: docs/gitops.md."


def _owned(
    item: FleetWorkload | SubmittedSet, path: KeyPath, owners: tuple[str, str], hint: str, *related: Related
) -> Diagnostic:
    """Reports a field of the manifest. ``owners`` are the tool and the other owner."""
    tool, other = owners
    value, what = str(_rendered(item, path)).lower(), f"{written(path)} of {item.kind} {item.name}"
    message = f"{tool} and {other} both set {what}: {tool} puts it back to {value}"
    return Diagnostic(TWO_OWNERS, message, item.declared.origin.locate(path, key=True), related, hint=hint)


def _deleting(spec: AnyWorkload, workload: FleetWorkload) -> Iterator[KeyPath]:
    """Yields the fields that make a controller delete the object itself.

    Kubernetes deletes a Job (pkg/controller/ttlafterfinished, 1.35), and JobSet's controller a JobSet
    (pkg/controllers/ttl_after_finished.go, 0.12). The training operator deletes Kubeflow's kinds (CleanupJob of
    pkg/controller.v1/common/job.go, 1.9). The MPI operator only passes the time to the launcher's Job (newLauncherJob
    of pkg/controller/mpi_job_controller.go, 0.8). KubeRay deletes the cluster, and the RayJob only if a policy is
    DeleteSelf (executeDeletionPolicy of rayjob_controller.go, 1.7).
    """
    origin = workload.declared.origin
    match spec.apiVersion, spec.kind:
        case _, "Job" | "JobSet":
            path: KeyPath = ("spec", _TTL)
        case "kubeflow.org/v1", kind if kind in KUBEFLOW:
            path = ("spec", "runPolicy", _TTL)
        case _, "RayJob":
            yield from _deleting_themselves(origin.value(("spec", "deletionStrategy")), ("spec", "deletionStrategy"))
            return
        case _:
            return
    if origin.value(path) is not None:
        yield path


def _deleting_themselves(value: object, path: KeyPath) -> Iterator[KeyPath]:
    """Yields the policies of a RayJob's deletion strategy that are DeleteSelf, at any depth."""
    if value == "DeleteSelf":
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _deleting_themselves(item, (*path, key))
