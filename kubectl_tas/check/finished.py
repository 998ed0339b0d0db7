"""Workloads that delete themselves once they have finished, and that a GitOps tool would then make anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.kindlists import KUBEFLOW
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workload import FleetWorkload

if TYPE_CHECKING:
    from kubectl_tas.model.workload import AnyWorkload

FINISHED_RECREATED = Rule(
    "finished-recreated",
    Severity.WARNING,
    "A workload is deleted once it has finished, and the GitOps tool makes it anew.",
    "What is in the repository must be in the cluster: Flux makes a deleted object anew when it reconciles next, Argo "
    "CD at once with self-heal, else with the next sync. So the work runs again, and again once it has finished. "
    "Leave the time to live out, and remove the file when the result is no longer needed; a CronJob is made for what "
    "shall run again. One finding names all such work.",
)
_TTL = "ttlSecondsAfterFinished"
_TOOLS = {"argocd": "Argo CD", "flux": "Flux"}


def check_finished(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every workload of a repository that a GitOps tool applies."""
    tool = _TOOLS.get(fleet.config.gitops)
    for workload in fleet.workloads if tool else ():
        for path in _deleting(workload.declared.spec, workload):
            again = "in the next sync, with self-heal at once" if tool == "Argo CD" else "when it reconciles next"
            field = path[-1] if path[-1] == _TTL else "the policy DeleteSelf"
            lasts = f"{field} deletes finished work that the repository still has"
            message = f"{lasts}: {tool} makes it anew {again}, and it runs again"
            hint = f"Leave {path[-1]} out." if path[-1] == _TTL else "Use another deletion policy than DeleteSelf."
            place = workload.declared.origin.locate(path, key=True)
            yield Diagnostic(FINISHED_RECREATED, message, place, hint=hint)


def _deleting(spec: AnyWorkload, workload: FleetWorkload) -> Iterator[KeyPath]:
    """The fields by which the object itself is deleted.

    Of a Job by Kubernetes (pkg/controller/ttlafterfinished, 1.35), of a JobSet by its controller
    (pkg/controllers/ttl_after_finished.go, 0.12), of Kubeflow's kinds by the training operator (CleanupJob of
    pkg/controller.v1/common/job.go, 1.9). The MPI operator hands the time on to the Job of the launcher alone
    (newLauncherJob of pkg/controller/mpi_job_controller.go, 0.8), and KubeRay deletes the cluster, the RayJob only
    where a policy is DeleteSelf (executeDeletionPolicy of rayjob_controller.go, 1.7).
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
    """The policies of a RayJob's deletion strategy that are DeleteSelf, at any depth."""
    if value == "DeleteSelf":
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _deleting_themselves(item, (*path, key))
