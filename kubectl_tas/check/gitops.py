"""Finds files that a GitOps tool cannot apply as intended: exported objects, suspended work, self-deleting work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Diagnostic, Related, Rule
from kubectl_tas.base.words import MAX_LISTED, shortened
from kubectl_tas.check.growth import Scaled
from kubectl_tas.check.other_schedulers import KUEUE
from kubectl_tas.facts import times
from kubectl_tas.gangs.podgrouper import is_made_by_kai
from kubectl_tas.kinds import page_of_document
from kubectl_tas.kinds.section import key_path, path_steps, value_at, values_at, written
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.kindlists import Phase, group_of
from kubectl_tas.model.labels import POOL
from kubectl_tas.model.repository import Declared, Origin
from kubectl_tas.resolve.autoscalers import Autoscaler
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.podcliqueset import SubmittedSet

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import CliqueSet
    from kubectl_tas.model.workloads import Workload

OBJECT_EXPORTED = Rule.error(
    "object-exported",
    "A workload has fields of an export that the API server refuses.",
    "The API server refuses a new object with a resourceVersion, and an existing one with another uid. Server-side "
    "apply refuses managedFields. A Job's selector and its label controller-uid belong to one object. Kubernetes "
    "deletes an object whose owner does not exist. Delete what the message names.",
)
SERVER_FIELDS = Rule.warning(
    "server-fields",
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
_KEYS = frozenset(path[-1] for path in (*_REFUSED, *_WRITTEN))
_POD_LABELS: KeyPath = ("spec", "template", "metadata", "labels")
SUSPENDED = Rule.warning(
    "suspended",
    "A workload is suspended: no pod of it starts.",
    "The controller makes no pods while spec.suspend or runPolicy.suspend is true, or spec.paused where a kind has it. "
    "Only a change of the file starts it: a GitOps tool reverts changes in the cluster. Remove the field, or remove "
    "the file. A schedule may name a day that never comes, such as 31 February, and managedBy a controller of another "
    "cluster, such as MultiKueue's. If the work should wait, waive the rule.",
)
_MANAGED = tuple(key_path(f"spec.{path}managedBy") for path in ("", "runPolicy.", "jobTemplate.spec."))
_JOB_CONTROLLER, _OTHER_CLUSTER = "kubernetes.io/job-controller", "kueue.x-k8s.io/multikueue"
"""Values of managedBy: the controller of Jobs, and Kueue's that sends work to another cluster."""
FINISHED_RECREATED = Rule.warning(
    "finished-recreated",
    "A finished workload is deleted, and the GitOps tool makes it anew.",
    "A GitOps tool keeps the cluster equal to the repository. Flux recreates a deleted object in its next "
    "reconciliation; Argo CD at once with self-heal, or else in the next sync. So the work runs again and again. "
    "Remove the lifetime, and remove the file when you no longer need the result. Give work that should run again a "
    "schedule. One finding lists all such work.",
)
PLATFORM_WAITS = Rule.warning(
    "platform-waits",
    "The platform folder has an object that waits for work of a pool.",
    "In the sharded layout, Argo CD with progressive syncs and Flux with `wait: true` apply pools when all of the "
    "platform is healthy. A claim waits for a pod and an autoscaler for its target, so no pool would ever be applied. "
    "A companion belongs to the pool in its label kubectl-tas/pool, else to the pool of all work in its file, else to "
    "the platform. Write the label. If the cluster has the object already, first keep it from being pruned "
    "(docs/gitops.md).",
)
TWO_OWNERS = Rule.warning(
    "two-owners",
    "The GitOps tool and a controller set the same field.",
    "Argo CD with self-heal puts the value of the file back within seconds, Flux when it reconciles: the pods that an "
    "autoscaler added end, and work that Kueue started is suspended again. Leave the field out: quotas then count the "
    "autoscaler's maximum. Lists of operators' kinds, such as workerGroupSpecs of Ray, are compared as a "
    "whole: let the tool ignore the field, as docs/gitops.md says, and waive the rule here.",
)
_TTL = "ttlSecondsAfterFinished"
_TOOLS = {"argocd": "Argo CD", "flux": "Flux"}


def check_exported(declared: Declared[Workload] | Declared[CliqueSet], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a workload or a PodCliqueSet. One finding names all fields to delete."""
    kind, origin = declared.spec.kind, declared.origin
    refused, written_by_server = exported(origin)
    if written_by_server:
        rule = OBJECT_EXPORTED if refused else SERVER_FIELDS
        effect = "cannot be applied" if refused else "the API server writes itself"
        description = f"this {kind} is an export of an object in a cluster"
        message = f"{description}: it has {_paths(refused or written_by_server)}, which {effect}"
        location = origin.locate(written_by_server[0], key=True)
        yield Diagnostic(rule, message, location, hint=f"Delete {_paths(written_by_server)}.")


def exported(origin: Origin) -> tuple[list[KeyPath], list[KeyPath]]:
    """Returns the fields of an export that the API server refuses, and all fields that it writes itself."""
    metadata = origin.value(("metadata",))
    holders = [metadata, *(value_at(metadata, name) for name in ("annotations", "labels"))]
    mappings = [holder for holder in holders if isinstance(holder, dict)]
    is_export = "status" in origin.data or any(not _KEYS.isdisjoint(holder) for holder in mappings)
    refused = [*(_there(origin, _REFUSED) if is_export else ()), *(_of_job(origin) if _makes_selector(origin) else ())]
    return refused, [*refused, *(_there(origin, _WRITTEN) if is_export else ())]


def _paths(paths: list[KeyPath]) -> str:
    return ", ".join(written(path) for path in paths)


def _there(origin: Origin, paths: tuple[KeyPath, ...]) -> Iterator[KeyPath]:
    """Yields the paths with a value that is not empty: ``kubectl create --dry-run`` writes empty fields too."""
    return (path for path in paths if origin.value(path) not in (None, "", {}, []))


def _makes_selector(origin: Origin) -> bool:
    page = page_of_document(origin.data)
    return page is not None and page.pod_rules.makes_selector


def _of_job(origin: Origin) -> Iterator[KeyPath]:
    """Yields the fields that tie a Job to one object in a cluster (Kubernetes 1.35: ``ValidateGeneratedSelector`` of
    pkg/apis/batch/validation, ``generateSelector`` of pkg/registry/batch/job).
    """
    if origin.value(("spec", "manualSelector")) is True:
        return
    selector: KeyPath = ("spec", "selector", "matchLabels")
    carried = origin.value(_POD_LABELS)
    if origin.value(selector) is None and isinstance(carried, dict) and carried.keys().isdisjoint((*_UID, *_JOB)):
        return
    if list(_there(origin, tuple((*selector, name) for name in _UID))):
        yield selector[:-1]
    yield from _there(origin, tuple((*_POD_LABELS, name) for name in _UID))
    name = origin.value(("metadata", "name"))
    for path in _there(origin, tuple((*_POD_LABELS, label) for label in _JOB)):
        if origin.value(path) != name:
            yield path


def check_suspended(declared: Declared[Workload], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a workload. Skips workloads that Kueue starts: another rule reports them."""
    origin, spec = declared.origin, declared.spec
    suspending = map(key_path, spec.page.stop.suspended_by)
    path = next((path for path in suspending if origin.value(path) is True), None)
    if path is not None and KUEUE not in spec.metadata.labels:
        state = "paused" if path[-1] == "paused" else "suspended"
        message = f"{spec.kind} {spec.metadata.name} is {state}: no new pod of it starts until you change this file"
        if spec.page.makes.is_scheduled and path != ("spec", "suspend"):
            run = spec.page.makes.objects[0].kind
            message = f"each {run} of {spec.kind} {spec.metadata.name} is suspended: no pod of it starts"
        hint = f"Remove {path[-1]}, or remove the file."
        yield Diagnostic(SUSPENDED, message, origin.locate(path, key=True), hint=hint)
    # Work that the controller of its kind leaves to another (comments of managedBy in the API of Kubernetes
    # 1.35, and in the CRDs of Kubeflow, JobSet and KubeRay).
    origin, spec = declared.origin, declared.spec
    for path in _MANAGED if KUEUE not in spec.metadata.labels else ():
        manager = origin.value(path)
        is_job = group_of(spec.apiVersion) == "batch"  # the CRDs of other kinds take no third value
        is_other = isinstance(manager, str) and "/" in manager and manager != _JOB_CONTROLLER
        if manager == _OTHER_CLUSTER or (is_job and is_other):
            message = f"{spec.kind} {spec.metadata.name} is left to {manager}: no controller here makes a pod of it"
            yield Diagnostic(SUSPENDED, message, origin.locate(path), hint="Remove managedBy, or remove the file.")
    # Schedules that never come.
    origin, spec = declared.origin, declared.spec
    for at in ("spec.schedule", "spec.schedules[]") if spec.page.makes.is_scheduled else ():
        for path, schedule in values_at(origin.data, path_steps(at)):
            if isinstance(schedule, str) and times.never_comes(schedule):
                message = f'{spec.kind} {spec.metadata.name} never runs: no month of "{schedule}" has such a day'
                hint = "Correct the day or the month. If you start it by hand alone, waive the rule."
                yield Diagnostic(SUSPENDED, message, origin.locate(path), hint=hint)


def check_finished(workload: FleetWorkload, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a workload of a repository that a GitOps tool applies."""
    tool = _TOOLS.get(fleet.config.gitops)
    spec = workload.declared.spec
    for path in spec.page.stop.deletes_itself(spec.document) if tool else ():
        again = "in the next sync, with self-heal at once" if tool == "Argo CD" else "when it reconciles next"
        field = path[-1] if path[-1] == _TTL else "the policy DeleteSelf"
        lasts = f"{field} deletes finished work that the repository still has"
        message = f"{lasts}: {tool} makes it anew {again}, and it runs again"
        hint = f"Leave {path[-1]} out." if path[-1] == _TTL else "Use another deletion policy than DeleteSelf."
        yield Diagnostic(FINISHED_RECREATED, message, workload.declared.at_key(*path), hint=hint)


def check_platform(companion: FleetCompanion, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a companion that the sharded layout puts into the platform folder. Flux takes an object without a status
    of its own as ready, such as an autoscaler (``Compute`` of fluxcd/cli-utils, pkg/kstatus/status, 1.2).
    """
    tool = _TOOLS.get(fleet.config.gitops)
    if tool is None or fleet.config.layout != "sharded":
        return
    late = {Phase.LATE_COMPANION} if tool == "Argo CD" else set()
    work_pools = fleet.pools_of(companion)
    if companion.phase not in {Phase.SLOW_COMPANION, *late} or len(work_pools) == 1:
        return
    backend, namespace = companion.backend, companion.namespace
    near = (pool.name for pool in fleet.pools if pool.backend == backend and namespace in pool.namespaces)
    mixed_file = f"its file has work of pools {shortened(work_pools)}" if work_pools else "its file has no work"
    applied = f"{companion.kind} {companion.name} is applied with the platform: {mixed_file}"
    message = f"{applied}; {tool} may apply no pool before it is healthy"
    hint = f"Add the label {POOL}: {' or '.join((work_pools or tuple(near))[:MAX_LISTED]) or 'POOL'}."
    yield Diagnostic(PLATFORM_WAITS, message, companion.place, hint=hint)


def check_scaled(target: tuple[Autoscaler, Scaled | None], fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the target of an autoscaler. Grove keeps the replicas that an autoscaler sets in what it makes of a set
    (0.1.0-alpha.11: podclique.go, podcliquescalinggroup.go).
    """
    tool, (scaler, scaled) = _TOOLS.get(fleet.config.gitops), target
    if tool is None or scaled is None or (scaler.kind, scaler.name) != (scaled.item.kind, scaled.item.name):
        return
    work, by = scaled.item, scaler.companion
    workers = (t.path for t in getattr(work, "replicas", ()) if isinstance(work, FleetWorkload))
    of_workers = next((path for path in workers if path[2:3] == ("Worker",)), None)
    path = ("spec", "replicas") if of_workers is None else (*of_workers[:3], "replicas")
    replicas = _rendered(work, path)
    if replicas is None or scaler.least == scaler.most == replicas:
        return
    hint = f"Let {_ignoring(tool, written(path))}"
    if isinstance(work, FleetWorkload) and work.is_scaled_alone:
        hint = f"Leave replicas out of the {work.kind}. Or let {_ignoring(tool, written(path))}"
    yield _owned(work, path, (tool, f"{by.kind} {by.name}"), hint, Related(f"{by.kind} {by.name}", by.place))


def check_controlled(workload: FleetWorkload, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a Ray cluster with an autoscaler of its own, and work that Kueue starts."""
    tool = _TOOLS.get(fleet.config.gitops)
    if tool is None:
        return
    spec, origin = workload.declared.spec, workload.declared.origin
    if _has_two_owners(workload, tool):
        both = f"{tool} and Ray's autoscaler both set replicas in spec.workerGroupSpecs"
        message = f"{both} of {workload.kind} {workload.name}: {tool} puts the list back"
        location = origin.locate(("spec", "enableInTreeAutoscaling"), key=True)
        yield Diagnostic(TWO_OWNERS, message, location, hint=f"Let {_ignoring(tool, 'them')}")
    suspending = map(key_path, spec.page.stop.suspended_by)
    suspend = next((path for path in suspending if type(origin.value(path)) is bool and path[-1] == "suspend"), None)
    if suspend is not None and KUEUE in spec.metadata.labels:
        yield _owned(workload, suspend, (tool, "Kueue"), "Leave suspend out: Kueue's webhook sets it.")


def _has_two_owners(workload: FleetWorkload, tool: str) -> bool:
    """Whether the autoscaler of a Ray cluster sets replicas that the tool sets too (KuberayNodeProvider of
    python/ray/autoscaler/_private/kuberay/node_provider.py). Argo CD sees no difference in what the manifest leaves out
    of an item of a list (RemoveMapFields of gitops-engine, 3.5). Flux owns a list as a whole.
    """
    origin = workload.declared.origin
    groups = origin.value(("spec", "workerGroupSpecs"))
    if origin.value(("spec", "enableInTreeAutoscaling")) is not True or not isinstance(groups, list):
        return False
    for index, group in enumerate(owner_group if isinstance(owner_group, dict) else {} for owner_group in groups):
        least, most = group.get("minReplicas"), group.get("maxReplicas")
        is_set = tool == "Flux" or _rendered(workload, ("spec", "workerGroupSpecs", index, "replicas")) is not None
        if is_set and (least is None or least != most):
            return True
    return False


def _rendered(workload: FleetWorkload | SubmittedSet, path: KeyPath) -> object:
    """Returns a value of the manifest: that of the file, or a count that `render` adds for KAI."""
    value = workload.declared.origin.value(path)
    if value is None and isinstance(workload, FleetWorkload) and is_made_by_kai(workload):
        return dict(workload.declared.spec.implied_counts).get(path)
    return value


def _ignoring(tool: str, difference: str) -> str:
    """Returns the end of a hint to ignore a field."""
    return f"the {'Application' if tool == 'Argo CD' else 'Kustomization'} ignore {difference}: docs/gitops.md."


def _owned(
    workload: FleetWorkload | SubmittedSet, path: KeyPath, owners: tuple[str, str], hint: str, *related: Related
) -> Diagnostic:
    """Reports a field of the manifest. ``owners`` are the tool and the other owner."""
    tool, other_owner = owners
    value, owned_field = str(_rendered(workload, path)).lower(), f"{written(path)} of {workload.kind} {workload.name}"
    message = f"{tool} and {other_owner} both set {owned_field}: {tool} puts it back to {value}"
    return Diagnostic(TWO_OWNERS, message, workload.declared.at_key(*path), related, hint=hint)
