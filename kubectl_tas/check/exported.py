"""Objects as a cluster prints them are no manifests: what ``kubectl get -o yaml`` adds to a workload."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.load.schema import written
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve.fleet import Fleet

OBJECT_EXPORTED = Rule(
    "object-exported",
    Severity.ERROR,
    "A workload is the export of an object in a cluster, with fields that cannot be applied again.",
    "An API server refuses a new object with a resourceVersion, and one that is there with another uid; server-side "
    "apply refuses managedFields. A Job's selector and its label controller-uid belong to one object. An object whose "
    "owner is not there is deleted at once. Delete what the message names.",
)
SERVER_FIELDS = Rule(
    "server-fields",
    Severity.WARNING,
    "A workload has fields that the API server writes itself.",
    "Nothing is made of them, and a tool that compares the file with the cluster sees a difference for ever. Delete "
    "what the message names.",
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


def check_exported(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every workload and PodCliqueSet: one finding that says all that is to be deleted."""
    workloads = [(item.spec.kind, item.origin) for item in fleet.repository.workloads]
    sets = [(item.spec.kind, item.origin) for item in fleet.repository.pod_clique_sets]
    for kind, origin in (*workloads, *sets):
        refused = [*_there(origin, _REFUSED), *(_of_job(origin) if kind == "Job" else ())]
        found = [*refused, *_there(origin, _WRITTEN)]
        if found:
            rule = OBJECT_EXPORTED if refused else SERVER_FIELDS
            why = "cannot be applied" if refused else "the API server writes itself"
            what = f"this {kind} is an export of an object in a cluster"
            message = f"{what}: it has {_listed(refused or found)}, which {why}"
            yield Diagnostic(rule, message, origin.locate(found[0], key=True), hint=f"Delete {_listed(found)}.")


def _listed(paths: list[KeyPath]) -> str:
    return ", ".join(written(path) for path in paths)


def _there(origin: Origin, paths: tuple[KeyPath, ...]) -> Iterator[KeyPath]:
    """Those that say something: ``kubectl create --dry-run`` writes empty ones too."""
    return (path for path in paths if origin.value(path) not in (None, "", {}, []))


def _of_job(origin: Origin) -> Iterator[KeyPath]:
    """What makes a Job that of one object (Kubernetes 1.35: ``ValidateGeneratedSelector`` of pkg/apis/batch/validation,
    ``generateSelector`` of pkg/registry/batch/job).
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
