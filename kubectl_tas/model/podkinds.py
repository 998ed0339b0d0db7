"""Kinds of which a row of data says where their pods are: those that KAI groups by its default, and those that the
Config declares.

What each operator makes: SparkApplication, spark-operator 2.3 (``SparkPodSpec``); InferenceService, KServe 0.16
(``PredictorSpec``); Argo's Workflow, 3.7 (``workflowpod.go``); DynamoGraphDeployment, Dynamo 1.2 (``v1alpha1`` and
``v1beta1``); Volcano's Job, 1.13; SeldonDeployment, Seldon Core 1.18; PaddleJob, training operator 1.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from kubectl_tas.model import labels
from kubectl_tas.model.base import Many, Model, Positive, Text, said
from kubectl_tas.records import dataclass

PodPath = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]*(\[\]|\.\*|\.[A-Za-z][A-Za-z0-9_-]*)*$"),
    said(
        'must be a path such as "spec.template" or "spec.roles[].template"',
        hint="Join keys with dots; [] is each item of a list, .* each key of a mapping.",
    ),
]


@dataclass(frozen=True, slots=True)
class PodPart:
    """Equal pods of a kind; each item of a list, and each key of a mapping, on the way has its own."""

    path: str
    """Of what the pods are made from, as in ``PodPath``."""
    count: str = ""
    """Of their number; 1 where it is empty, or where the object leaves it out."""
    times: str = ""
    """Of a number that multiplies theirs: the nodes of each."""
    most: str = ""
    """Of the number up to which a controller adds pods, where that is more than their number."""
    at_least: int = 0
    """The number that a controller makes of a lower one."""
    least: str = ""
    """Of the number that starts together, where the kind says ``least``."""
    is_counted: bool = True
    """Whether KAI counts 1 where the object leaves that number out."""
    name: str = ""
    """What the pods are called; empty: by where their template stands."""
    form: str = "podtemplate:PodTemplate"
    """The model that reads what is there, ``module:class``."""


@dataclass(frozen=True, slots=True)
class PodKind:
    """A kind, its pods, and what KAI makes of them."""

    kind: str
    versions: tuple[str, ...]
    pods: tuple[PodPart, ...]
    called: str = ""
    """What it is called where another kind has its name: the kind and its group, as kubectl writes it."""
    each: bool = False
    """Whether each pod has a PodGroup of its own; else all of an object have one."""
    minimum: int | str = 1
    """Pods that start together: a number, ``all``, the path of a number, or ``least``, which each part says."""
    sub_groups: bool = False
    """Whether each part is a SubGroup."""
    group_name: str = ""
    """What follows on the UID in the name of its PodGroup, which then has no name before it."""
    unpredicted: str = ""
    """Why the file does not say what its PodGroup will be; empty where it does."""
    plural: str = ""
    """Its name in URLs, where that is not the kind in lower case and an s."""
    not_owned: str = ""
    """Why the tool cannot write its PodGroup; empty where it can."""
    queue_annotation: str = ""
    """The annotation of the object from which its operator takes the queue of all pods."""

    @property
    def name(self) -> str:
        """Its name among all kinds that are read."""
        return self.called or self.kind

    @property
    def model_name(self) -> str:
        """The class of its model, and its schema in lower case: ``Job.batch.volcano.sh`` is VolcanoJob."""
        return _MODEL_NAMES.get(self.called, self.kind)

    @property
    def resource(self) -> str:
        """Its name in URLs."""
        return self.plural or f"{self.kind.lower()}s"


_MODEL_NAMES = {"Job.batch.volcano.sh": "VolcanoJob", "Workflow.argoproj.io": "ArgoWorkflow"}
_ARGO = tuple(
    PodPart(f"{{}}.templates[]{step}", form="podforms:ArgoTemplate")
    for step in ("", ".steps[][].inline", ".dag.tasks[].inline")
)


def _argo(spec: str) -> tuple[PodPart, ...]:
    """The templates of a workflow, and those that stand in its steps."""
    return tuple(PodPart(part.path.format(spec), form=part.form) for part in _ARGO)


_SPARK = (
    PodPart("spec.driver", form="podforms:SparkPod"),
    PodPart(
        "spec.executor", "spec.executor.instances", most="spec.dynamicAllocation.maxExecutors", form="podforms:SparkPod"
    ),
)
_RUNS = "the file does not say how many of its pods run at a time"
_GROVE = "Dynamo's operator makes a PodCliqueSet, or a Deployment of each component, and KAI goes by that"

PLAIN: tuple[PodKind, ...] = (
    PodKind("ReplicaSet", ("apps/v1",), (PodPart("spec.template", "spec.replicas"),)),
    PodKind("ReplicationController", ("v1",), (PodPart("spec.template", "spec.replicas"),)),
    PodKind(
        "PaddleJob",
        ("kubeflow.org/v1",),
        (PodPart("spec.paddleReplicaSpecs.*.template", "spec.paddleReplicaSpecs.*.replicas"),),
    ),
    PodKind(
        "Job",
        ("batch.volcano.sh/v1alpha1",),
        (PodPart("spec.tasks[].template", "spec.tasks[].replicas"),),
        called="Job.batch.volcano.sh",
    ),
    PodKind(
        "DynamoGraphDeployment",
        ("nvidia.com/v1beta1", "nvidia.com/v1alpha1"),
        (
            PodPart(
                "spec.components[].podTemplate", "spec.components[].replicas", "spec.components[].multinode.nodeCount"
            ),
            PodPart(
                "spec.services.*",
                "spec.services.*.replicas",
                "spec.services.*.multinode.nodeCount",
                form="podforms:DynamoService",
            ),
        ),
        unpredicted=_GROVE,
        not_owned="Grove makes its gangs",
        queue_annotation=labels.DYNAMO_QUEUE,
    ),
    PodKind(
        "Workflow", ("argoproj.io/v1alpha1",), _argo("spec"), called="Workflow.argoproj.io", each=True, not_owned=_RUNS
    ),
    PodKind("CronWorkflow", ("argoproj.io/v1alpha1",), _argo("spec.workflowSpec"), not_owned=_RUNS),
    PodKind(
        "InferenceService",
        ("serving.kserve.io/v1beta1",),
        tuple(
            PodPart(
                f"spec.{part}",
                f"spec.{part}.minReplicas",
                most=f"spec.{part}.maxReplicas",
                at_least=1,  # hpa_reconciler.go; Knative makes one pod again with the first request
                form="podforms:Predictor",
            )
            for part in ("predictor", "transformer", "explainer")
        ),
    ),
    PodKind("SparkApplication", ("sparkoperator.k8s.io/v1beta2",), _SPARK),
    PodKind(
        "SeldonDeployment",
        tuple(f"machinelearning.seldon.io/{version}" for version in ("v1", "v1alpha3", "v1alpha2")),
        (PodPart("spec.predictors[].componentSpecs[]", "spec.predictors[].replicas"),),
    ),
)
"""Those that every repository may have, in the order in which messages list them."""


KINDS = frozenset((version, row.kind) for row in PLAIN for version in row.versions)
"""Their apiVersions and kinds."""


class DeclaredPods(Model):
    """Equal pods of a declared kind."""

    template: PodPath
    """Where their pod template stands, such as spec.template. ``[]`` is each item of a list and ``.*`` each key of a
    mapping, such as spec.roles[].template: each has pods of its own.
    """
    replicas: PodPath | None = None
    """Where their number stands, such as spec.roles[].replicas. Without it, or where an object leaves it out: 1."""


class DeclaredKind(Model):
    """A kind of a platform that makes pods."""

    apiVersion: Text
    """Its API, such as ml.example.com/v1."""
    kind: Text
    """Its name, such as Training."""
    plural: Text | None = None
    """Its name in URLs; without it the kind in lower case with an s."""
    pods: Annotated[Many[DeclaredPods], Field(min_length=1)]
    """Its pods."""
    podGroups: Literal["one", "each"] = "one"
    """What KAI makes of an object. one: one PodGroup, as of every kind that KAI does not know. each: one for each pod,
    as where its controller is no owner of the pods.
    """
    minimum: Positive | Literal["all"] | PodPath = 1
    """How many pods start together: a number, all, or the path of a number in the object. KAI itself takes 1; another
    one holds where the controller of the kind, or a plugin of KAI, makes the PodGroup.
    """

    @property
    def row(self) -> PodKind:
        """Its row."""
        pods = tuple(PodPart(item.template, item.replicas or "") for item in self.pods)
        return PodKind(
            self.kind,
            (self.apiVersion,),
            pods,
            each=self.podGroups == "each",
            minimum=self.minimum,
            plural=self.plural or "",
        )


def rows(declared: Iterable[DeclaredKind]) -> Iterator[PodKind]:
    """The kinds that every repository may have, then those that its Config declares."""
    yield from PLAIN
    yield from (item.row for item in declared)
