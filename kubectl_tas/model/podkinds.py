"""Holds a row for each kind that KAI groups by default, with the place of its pods, and makes rows for declared kinds.

Sources for the pods of each operator: SparkApplication, spark-operator 2.3 (``SparkPodSpec``); InferenceService, KServe
0.16 (``PredictorSpec``); Argo's Workflow, 3.7 (``workflowpod.go``); DynamoGraphDeployment, Dynamo 1.2 (``v1alpha1`` and
``v1beta1``); Volcano's Job, 1.13; SeldonDeployment, Seldon Core 1.18 (``createComponents`` of
seldondeployment_controller.go); PaddleJob, training operator 1.9.

From a pod, KAI's podgrouper follows the owners that it may read (``getResourceOwners`` of podgrouper.go, 0.17). A
standard install lets it read ReplicaSets, StatefulSets, Deployments, Jobs, Argo's Workflows and SeldonDeployments
(deployments/kai-scheduler/templates/rbac/podgrouper.yaml). For all other kinds here it stops at the object below the
kind, or at the pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from kubectl_tas.late import dataclass
from kubectl_tas.model import labels
from kubectl_tas.model.base import Many, Model, Positive, Text, said
from kubectl_tas.model.kindlists import COMPANIONS, OWN, WORKLOADS, group_of

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
    """Identical pods of a kind. Each item of a list, and each key of a mapping, on the path has pods of its own."""

    path: str
    """Path of the pod template or of the fields in its place, as in ``PodPath``."""
    count: str = ""
    """Paths of the number of pods, separated by blanks: the first that the object has counts, else 1."""
    times: str = ""
    """Path of a factor for the number of pods, such as the nodes of each replica. ``=2`` behind any path of a number is
    its default in an object that has the mapping above the number.
    """
    most: str = ""
    """Paths of numbers, separated by blanks. A controller may add pods up to the largest one."""
    at_least: int = 0
    """The controller's minimum for the number of pods."""
    least: str = ""
    """Path of the number of pods that must start together, if ``minimum`` of the kind is ``least``."""
    is_counted: bool = True
    """Whether KAI assumes 1 pod if the object omits the number."""
    name: str = ""
    """Name of the pods. Empty: the tool derives the name from the path of the template."""
    form: str = "podtemplate:PodTemplate"
    """The model that reads the value at ``path``, as ``module:class``."""


@dataclass(frozen=True, slots=True)
class PodKind:
    """A kind, its pods, and the PodGroups that KAI makes for the kind."""

    kind: str
    versions: tuple[str, ...]
    pods: tuple[PodPart, ...]
    called: str = ""
    """The kind with its group, as kubectl writes it, if another kind has the same name."""
    each: bool = False
    """Whether each pod has its own PodGroup. Otherwise all pods of an object share one."""
    each_where: tuple[str, tuple[str, ...]] = ("", ())
    """An annotation and its values with which each pod has its own PodGroup, and ``unpredicted`` does not apply."""
    minimum: int | str = 1
    """Pods that start together: a number, ``all``, the path of a number, or ``least`` for the numbers of the parts."""
    sub_groups: bool = False
    """Whether each part is a SubGroup."""
    group_name: str = ""
    """The suffix of the PodGroup's name after the UID. Such a name does not contain the object's name."""
    unpredicted: str = ""
    """The reason why the tool cannot predict the PodGroup from the file. Empty if it can."""
    plural: str = ""
    """Name of the kind in URLs, if not the lower-case kind with an s."""
    not_owned: str = ""
    """The reason why the tool cannot write the PodGroup. Empty if it can."""
    named_by: tuple[str, str] = ("", "")
    """The prefix of the PodGroup's name and the part that follows. Empty: pg, the object's name and a UID."""
    placed_at: str = ""
    """Path of the annotations that place the PodGroup, if KAI does not read the object's own annotations."""
    above: str = ""
    """Path of fields of a PodSpec that are defaults for all pods of the object."""
    queue_annotation: str = ""
    """The annotation of the object from which its operator takes the queue of all pods."""

    @property
    def is_declared(self) -> bool:
        """Whether the Config or a Karta declares the kind."""
        return (self.versions[0], self.kind) not in KINDS

    @property
    def name(self) -> str:
        """Unique name of the kind among all kinds that the tool reads."""
        is_taken = self.is_declared and self.kind in _TAKEN
        return self.called or (f"{self.kind}.{group_of(self.versions[0])}" if is_taken else self.kind)

    def with_mode(self, annotations: Mapping[str, str]) -> PodKind:
        """Returns the row for an object with these annotations."""
        name, values = self.each_where
        return replace(self, each=True, unpredicted="") if annotations.get(name) in values else self

    @property
    def model_name(self) -> str:
        """Class name of the model and, in lower case, name of the schema: ``Job.batch.volcano.sh`` is VolcanoJob."""
        return _MODEL_NAMES.get(self.called, self.kind)

    @property
    def resource(self) -> str:
        """Name of the kind in URLs."""
        return self.plural or f"{self.kind.lower()}s"


_MODEL_NAMES = {"Job.batch.volcano.sh": "VolcanoJob", "Workflow.argoproj.io": "ArgoWorkflow"}
_ARGO = tuple(
    PodPart(f"{{}}.templates[]{step}", form="podforms:ArgoTemplate")
    for step in ("", ".steps[][].inline", ".dag.tasks[].inline")
)


def _argo(spec: str) -> tuple[PodPart, ...]:
    """Returns the templates of a workflow, and the templates inside its steps."""
    return tuple(PodPart(part.path.format(spec), form=part.form) for part in _ARGO)


_SPARK = (
    PodPart("spec.driver", form="podforms:SparkPod"),
    PodPart(
        "spec.executor",
        "spec.executor.instances",
        # Spark starts with initialExecutors whatever the maximum is (ExecutorAllocationManager of Spark 3.5)
        most=" ".join(f"spec.dynamicAllocation.{name}Executors" for name in ("max", "min", "initial")),
        form="podforms:SparkPod",
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
                "spec.components[].podTemplate", "spec.components[].replicas", "spec.components[].multinode.nodeCount=2"
            ),
            PodPart(
                "spec.services.*",
                "spec.services.*.replicas",
                "spec.services.*.multinode.nodeCount=2",
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
            for part in ("predictor", "transformer", "explainer", "canary[].predictor")
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
                "spec.predictors[].componentSpecs[].replicas spec.predictors[].replicas spec.replicas",
                most="spec.predictors[].componentSpecs[].hpaSpec.maxReplicas"
                " spec.predictors[].componentSpecs[].kedaSpec.maxReplicaCount=100",
            ),
        ),
    ),
)
"""The kinds that every repository may use, in the order in which messages list them."""


_TAKEN = frozenset(
    {
        *("Workflow", *WORKLOADS, *(kind for kind, _, _ in OWN)),
        *(item.kind for item in COMPANIONS),
        *(row.kind for row in PLAIN),
    }
)
"""Names of kinds that are in use. A declared kind with one of these names gets its group as a suffix."""
KINDS = frozenset((version, row.kind) for row in PLAIN for version in row.versions)
"""The apiVersion and the name of each kind in ``PLAIN``."""


@cache
def path_steps(path: str) -> tuple[str, ...]:
    """Returns the keys of a path. ``LIST`` stands for each item, ``MAPPING`` for each key."""
    return tuple(path.replace("[]", ".[]").split(".")) if path else ()


def check_paths(*paths: str) -> None:
    """Raises ``ValueError`` if one path uses a field as a list or a mapping and another path uses it as an object."""
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
    """Identical pods of a declared kind."""

    template: PodPath
    """Path of the pod template, such as spec.template. ``[]`` means each item of a list and ``.*`` each key of a
    mapping, such as spec.roles[].template. Each of them has pods of its own.
    """
    replicas: PodPath | None = None
    """Path of the number of pods, such as spec.roles[].replicas. Without it, or without a number there: 1."""

    @model_validator(mode="after")
    def _paths(self) -> DeclaredPods:
        check_paths(self.template, self.replicas or "")
        return self


class DeclaredKind(Model):
    """A kind of your platform that makes pods."""

    apiVersion: Text
    """API of the kind, such as ml.example.com/v1."""
    kind: Text
    """Name of the kind, such as Training."""
    plural: Text | None = None
    """Name of the kind in URLs. The default is the lower-case kind with an s."""
    pods: Annotated[Many[DeclaredPods], Field(min_length=1)]
    """The pods of the kind."""
    podGroups: Literal["one", "each"] = "each"
    """The PodGroups that KAI makes for an object. each: one for each pod, as for every kind that KAI's podgrouper may
    not read. In a standard install it may read no kind of a platform. one: a single PodGroup, if you let it read the
    kind.
    """
    minimum: Positive | Literal["all"] | PodPath = 1
    """The number of pods that must start together, with podGroups one: a number, all, or the path of a number in the
    object. KAI itself uses 1. Write another value if the kind's controller or a plugin of KAI makes the PodGroup.
    """

    @model_validator(mode="after")
    def _paths(self) -> DeclaredKind:
        least = self.minimum if isinstance(self.minimum, str) and self.minimum != "all" else ""
        check_paths(*(path for item in self.pods for path in (item.template, item.replicas or "")), least)
        return self

    @property
    def row(self) -> PodKind:
        """The row that describes the kind."""
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
    """Yields the kinds that every repository may use, then the kinds that the Config declares."""
    yield from PLAIN
    yield from (item.row for item in declared)
