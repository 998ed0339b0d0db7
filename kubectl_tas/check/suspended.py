"""Work that is rendered and applied, and that nothing starts."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.check.keys import KUEUE
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.model.base import KeyPath
from kubectl_tas.resolve.fleet import Fleet

SUSPENDED = Rule(
    "suspended",
    Severity.WARNING,
    "A workload is suspended: no pod of it starts.",
    "Its controller makes no pods while spec.suspend, runPolicy.suspend, or spec.paused of a Deployment that is not "
    "there yet, is true. Only a change of the file starts it: what you set in the cluster, a GitOps tool sets back. "
    "Remove the field, or remove the file. Waive the rule where the work is to wait.",
)
_FIELDS: tuple[KeyPath, ...] = (
    ("spec", "suspend"),
    ("spec", "paused"),
    ("spec", "runPolicy", "suspend"),
    ("spec", "jobTemplate", "spec", "suspend"),
    ("spec", "rayClusterSpec", "suspend"),
    ("spec", "rayClusterConfig", "suspend"),
)
"""Where kinds say so. Sources: Kubernetes 1.35, ``Suspend`` of pkg/apis/batch/types.go and ``syncDeployment`` of
pkg/controller/deployment (a paused Deployment makes no new ReplicaSet); JobSet 0.12 and Trainer 2.3, ``suspend``; the
training operator 1.9 and the MPI operator 0.8, ``RunPolicy``; KubeRay 1.7, ``Suspend`` of its kinds.
"""


def check_suspended(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every workload; Kueue starts what it holds itself, which is another finding."""
    for declared in fleet.repository.workloads:
        origin, spec = declared.origin, declared.spec
        path = next((path for path in _FIELDS if origin.value(path) is True), None)
        if path is not None and KUEUE not in spec.metadata.labels:
            what = "paused" if path[-1] == "paused" else "suspended"
            message = f"{spec.kind} {spec.metadata.name} is {what}: no new pod of it starts until you change this file"
            if "jobTemplate" in path:
                message = f"each Job of {spec.kind} {spec.metadata.name} is suspended: no pod of it starts"
            hint = f"Remove {path[-1]}, or remove the file."
            yield Diagnostic(SUSPENDED, message, origin.locate(path, key=True), hint=hint)
