"""Kinds of which a row of data says where their pods are: those that KAI groups by its default, and those that the
Config declares.

What each operator makes: SparkApplication, spark-operator 2.3 (``SparkPodSpec``); InferenceService, KServe 0.16
(``PredictorSpec``); Argo's Workflow, 3.7 (``workflowpod.go``); DynamoGraphDeployment, Dynamo 1.2 (``v1alpha1`` and
``v1beta1``); Volcano's Job, 1.13; SeldonDeployment, Seldon Core 1.18; PaddleJob, training operator 1.9.

KAI's podgrouper goes up from a pod, from owner to owner, as far as it may read them (``getResourceOwners`` of
podgrouper.go, 0.17). A standard install lets it read ReplicaSets, StatefulSets, Deployments, Jobs, Argo's Workflows and
SeldonDeployments (deployments/kai-scheduler/templates/rbac/podgrouper.yaml), but none of the other kinds here: it stops
at the object below them, or at the pod itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from kubectl_tas.model import labels
from kubectl_tas.model.base import Many, Model, Positive, Text, said
from kubectl_tas.model.kindlists import COMPANIONS, OWN, WORKLOADS, group_of
from kubectl_tas.records import dataclass

LIST, MAPPING = "[]", "*"
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
    """Of numbers up to which a controller adds pods, where one is more than their number; with blanks between them."""
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
    each_where: tuple[str, tuple[str, ...]] = ("", ())
    """An annotation, and the values with which each pod has one and ``unpredicted`` does not hold."""
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
    named_by: tuple[str, str] = ("", "")
    """What the name of its PodGroup begins with, and what that goes on with; empty: pg, its own name and a UID."""
    placed_at: str = ""
    """The path of the annotations that place its PodGroup, where KAI does not read its own."""
    above: str = ""
    """The path of fields of a PodSpec that hold for pods without such a field of their own."""
    queue_annotation: str = ""
    """The annotation of the object from which its operator takes the queue of all pods."""

    @property
    def is_declared(self) -> bool:
        """Whether the Config or a Karta declares it."""
        return (self.versions[0], self.kind) not in KINDS

    @property
    def name(self) -> str:
        """Its name among all kinds that are read."""
        is_taken = self.is_declared and self.kind in _TAKEN
        return self.called or (f"{self.kind}.{group_of(self.versions[0])}" if is_taken else self.kind)

    def with_mode(self, annotations: Mapping[str, str]) -> PodKind:
        """The row of an object with these annotations."""
        name, values = self.each_where
        return replace(self, each=True, unpredicted="") if annotations.get(name) in values else self

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
_SERVED = "without serving.kserve.io/deploymentMode the file does not say whether KServe makes a Deployment"
_GROVE = "Dynamo's operator makes a PodCliqueSet, or a Deployment of each component, and KAI goes by that"

PLAIN: tuple[PodKind, ...] = (
    PodKind("ReplicaSet", ("apps/v1",), (PodPart("spec.template", "spec.replicas"),)),
    PodKind("ReplicationController", ("v1",), (PodPart("spec.template", "spec.replicas"),), each=True),
    PodKind(
        "PaddleJob",
        ("kubeflow.org/v1",),
        (PodPart("spec.paddleReplicaSpecs.*.template", "spec.paddleReplicaSpecs.*.replicas"),),
        each=True,
    ),
    PodKind(
        "Job",
        ("batch.volcano.sh/v1alpha1",),
        (PodPart("spec.tasks[].template", "spec.tasks[].replicas"),),
        called="Job.batch.volcano.sh",
        each=True,
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
        "Workflow",
        ("argoproj.io/v1alpha1",),
        _argo("spec"),
        called="Workflow.argoproj.io",
        each=True,
        above="spec",
        not_owned=_RUNS,
    ),
    PodKind(
        "CronWorkflow",
        ("argoproj.io/v1alpha1",),
        _argo("spec.workflowSpec"),
        each=True,
        above="spec.workflowSpec",
        not_owned=_RUNS,
    ),
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
        each_where=("serving.kserve.io/deploymentMode", ("Standard", "RawDeployment")),
        unpredicted=_SERVED,
    ),
    PodKind(
        "SparkApplication",
        ("sparkoperator.k8s.io/v1beta2",),
        _SPARK,
        named_by=("spark", "the digits of the ID that Spark gives the application"),
        placed_at="spec.driver.annotations",
    ),
    PodKind(
        "SeldonDeployment",
        tuple(f"machinelearning.seldon.io/{version}" for version in ("v1", "v1alpha3", "v1alpha2")),
        (
            PodPart(
                "spec.predictors[].componentSpecs[]",
                "spec.predictors[].replicas",
                most="spec.predictors[].componentSpecs[].replicas"
                " spec.predictors[].componentSpecs[].hpaSpec.maxReplicas",
            ),
        ),
    ),
)
"""Those that every repository may have, in the order in which messages list them."""


_TAKEN = frozenset(
    {
        *("Workflow", *WORKLOADS, *(kind for kind, _, _ in OWN)),
        *(item.kind for item in COMPANIONS),
        *(row.kind for row in PLAIN),
    }
)
"""Kinds that are told by this name alone."""
KINDS = frozenset((version, row.kind) for row in PLAIN for version in row.versions)
"""Their apiVersions and kinds."""


@cache
def path_steps(path: str) -> tuple[str, ...]:
    """The keys of a path; ``LIST`` is each item, ``MAPPING`` each key."""
    return tuple(path.replace("[]", ".[]").split(".")) if path else ()


def check_paths(*paths: str) -> None:
    """``ValueError`` where one path takes for a list or a mapping what another one takes for an object."""
    known: dict[tuple[str, ...], str] = {}
    for path in paths:
        steps = path_steps(path)
        for index, step in enumerate(steps):
            above, form = steps[:index], step if step in (LIST, MAPPING) else "object"
            if known.setdefault(above, form) != form:
                where = ".".join(above).replace(".[]", "[]")
                message = f"{where} is {_FORMS[form]} in {path}, and {_FORMS[known[above]]} in another path"
                raise ValueError(message)


_FORMS = {LIST: "a list", MAPPING: "a mapping", "object": "an object"}


class DeclaredPods(Model):
    """Equal pods of a declared kind."""

    template: PodPath
    """Where their pod template stands, such as spec.template. ``[]`` is each item of a list and ``.*`` each key of a
    mapping, such as spec.roles[].template: each has pods of its own.
    """
    replicas: PodPath | None = None
    """Where their number stands, such as spec.roles[].replicas. Without it, or where an object leaves it out: 1."""

    @model_validator(mode="after")
    def _paths(self) -> DeclaredPods:
        check_paths(self.template, self.replicas or "")
        return self


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
    podGroups: Literal["one", "each"] = "each"
    """What KAI makes of an object. each: one PodGroup for each pod, as of every kind that KAI's podgrouper may not
    read; a standard install lets it read no kind of a platform. one: one PodGroup, where you give it that right.
    """
    minimum: Positive | Literal["all"] | PodPath = 1
    """With podGroups one: how many pods start together, as a number, all, or the path of a number in the object. KAI
    itself takes 1; another one holds where the controller of the kind, or a plugin of KAI, makes the PodGroup.
    """

    @model_validator(mode="after")
    def _paths(self) -> DeclaredKind:
        least = self.minimum if isinstance(self.minimum, str) and self.minimum != "all" else ""
        check_paths(*(path for item in self.pods for path in (item.template, item.replicas or "")), least)
        return self

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
