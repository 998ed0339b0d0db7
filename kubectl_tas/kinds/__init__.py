"""Holds a page for each kind of workload, which says all that the tool knows of it.

This module has the names alone, so that a repository imports only the pages of its own kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from kubectl_tas.base.late import imported

if TYPE_CHECKING:
    from kubectl_tas.kinds.page import WorkloadKind

_BATCH, _APPS, _RAY, _KUBEFLOW = ("batch/v1",), ("apps/v1",), ("ray.io/v1", "ray.io/v1alpha1"), ("kubeflow.org/v1",)


class Listed(NamedTuple):
    """The names by which the tool recognises a kind, without the page of the kind."""

    kind: str
    versions: tuple[str, ...]
    module: str
    """The module of the page. Empty: the kind in lower case."""
    name: str
    """The kind, with its group if another kind has the same name."""

    @property
    def page(self) -> WorkloadKind:
        """The page of the kind."""
        return imported(f"kubectl_tas.kinds.{self.module}:PAGE")  # type: ignore[no-any-return]


def _listed(kind: str, versions: tuple[str, ...], module: str = "", name: str = "") -> Listed:
    return Listed(kind, versions, module or kind.lower(), name or kind)


LISTED = (
    _listed("Job", _BATCH),
    _listed("CronJob", _BATCH),
    _listed("Pod", ("v1",), "bare_pod"),
    _listed("Deployment", _APPS),
    _listed("StatefulSet", _APPS),
    _listed("Notebook", ("kubeflow.org/v1", "kubeflow.org/v1beta1")),
    _listed("JobSet", ("jobset.x-k8s.io/v1alpha2",)),
    _listed("RayJob", _RAY),
    _listed("RayCluster", _RAY),
    _listed("RayService", _RAY),
    _listed("TrainJob", ("trainer.kubeflow.org/v1alpha1",)),
    _listed("PyTorchJob", _KUBEFLOW),
    _listed("TFJob", _KUBEFLOW),
    _listed("XGBoostJob", _KUBEFLOW),
    _listed("JAXJob", _KUBEFLOW),
    _listed("MPIJob", ("kubeflow.org/v2beta1", "kubeflow.org/v1")),
    _listed("LeaderWorkerSet", ("leaderworkerset.x-k8s.io/v1",)),
    _listed("ReplicaSet", _APPS),
    _listed("ReplicationController", ("v1",)),
    _listed("PaddleJob", _KUBEFLOW),
    _listed("Job", ("batch.volcano.sh/v1alpha1",), "volcanojob", "Job.batch.volcano.sh"),
    _listed("DynamoGraphDeployment", ("nvidia.com/v1beta1", "nvidia.com/v1alpha1")),
    _listed("Workflow", ("argoproj.io/v1alpha1",), "argo_workflow", "Workflow.argoproj.io"),
    _listed("CronWorkflow", ("argoproj.io/v1alpha1",)),
    _listed("InferenceService", ("serving.kserve.io/v1beta1",)),
    _listed("SparkApplication", ("sparkoperator.k8s.io/v1beta2",)),
    _listed("RayCronJob", ("ray.io/v1",)),
    _listed("ScheduledSparkApplication", ("sparkoperator.k8s.io/v1beta2",)),
    _listed("SeldonDeployment", tuple(f"machinelearning.seldon.io/{name}" for name in ("v1", "v1alpha3", "v1alpha2"))),
)
"""The kinds that every repository may use, in the order in which messages list them."""
DEFAULT_SCALED = "Deployment"
"""The kind of a scaled object if the autoscaler names none: KEDA's default."""
SetKind = Literal["PodCliqueSet"]
SET = _listed(get_args(SetKind)[0], ("grove.io/v1alpha1",), "grove_set")
"""Grove's kind, whose documents have a model of their own."""
KINDS_OF_BATCH = "a Job, a JobSet or a PyTorchJob"
"""Kinds that may take the place of work of another batch scheduler."""
INSTEAD: dict[tuple[str | None, str], str] = {
    ("serving.knative.dev", "Service"): "Write a Deployment, or an InferenceService of KServe in Standard mode.",
    ("run.ai", ""): "Write a Job, PyTorchJob or MPIJob: kubectl-tas reads no work of run.ai.",
}
"""Kinds of work that the tool does not read, by group and kind (empty: any), and what to write instead."""
BY_NAME = {listed.name: listed for listed in LISTED}
BY_API = {(version, listed.kind): listed for listed in LISTED for version in listed.versions}
"""The kinds by apiVersion and name."""
_WITH_SETS = BY_API | {(version, SET.kind): SET for version in SET.versions}


def page_of(name: str) -> WorkloadKind | None:
    """Returns the page of a kind by its unique name. None if the tool has no page of it."""
    listed = SET if name == SET.name else BY_NAME.get(name)
    return listed.page if listed is not None else None


def page_of_document(document: Any) -> WorkloadKind | None:
    """Returns the page of a document's kind. None if the tool has no page of it."""
    listed = _WITH_SETS.get((document.get("apiVersion"), document.get("kind")))
    return listed.page if listed is not None else None


@cache
def pages() -> tuple[WorkloadKind, ...]:
    """Returns all pages. This imports all of them."""
    return tuple(listed.page for listed in LISTED)


def divided_kinds() -> Iterator[str]:
    """Yields the kinds that KAI divides into segments."""
    return (page.recognition.kind for page in pages() if page.gang.divided)
