"""What pods are made from in kinds that write no pod template: their fields, read as a template."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar

from pydantic import Field

from kubectl_tas.model.base import AnyText, Count, KeyPath, LabelKey, LabelValue, Many, Text, nothing
from kubectl_tas.model.podtemplate import Amounts, Container, Meta, Open, PodSpec, PodTemplate, ResourceClaim, Resources


class Form(Open):
    """Fields of a kind that stand for a pod template."""

    metadata_at: ClassVar[KeyPath] = ()
    """Where labels and annotations stand in it."""
    spec_at: ClassVar[KeyPath] = ()
    """Where schedulerName, nodeSelector and the like stand in it."""
    is_pod_spec: ClassVar[bool] = False
    """Whether those are the fields of a PodSpec."""

    @property
    def template(self) -> PodTemplate | None:
        """The same as a pod template; None where no pod comes of it."""
        raise NotImplementedError


class Labelled(Form):
    """Fields among which the labels and annotations of the pods stand."""

    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels of the pods."""
    annotations: dict[LabelKey, AnyText] = nothing()
    """Annotations of the pods."""

    def made(self, spec: PodSpec) -> PodTemplate:
        """The template of pods that run like ``spec``."""
        return PodTemplate(metadata=Meta(labels=self.labels, annotations=self.annotations), spec=spec)


class SparkGpu(Open):
    """Accelerators of one pod."""

    name: Text
    """The resource, such as nvidia.com/gpu."""
    quantity: Count
    """How many."""


_JAVA = re.compile(r"([0-9]+)([kmgtp]?)b?", re.IGNORECASE)
_LEAST_OVERHEAD = 384 * 2**20


class SparkPod(Labelled):
    """The driver of a Spark application, or one of its executors."""

    cores: Count | None = None
    """Cores; 1 where they are left out."""
    coreRequest: AnyText | None = None
    """The request for cpu, where it is another amount than cores."""
    memory: AnyText | None = None
    """Heap, in the units of Java: 512m, 8g. 1g where it is left out."""
    memoryOverhead: AnyText | None = None
    """Memory beside the heap; a tenth of it, or 384m, where it is left out."""
    gpu: SparkGpu | None = None
    """Accelerators."""
    sidecars: Many[Container] = ()
    """Containers beside Spark's own."""
    initContainers: Many[Container] = ()
    """Run before the containers."""
    pod_template: Annotated[PodTemplate, Field(alias="template")] = PodTemplate.model_construct()
    """What Spark starts from: further containers, and what they ask for."""

    @property
    def template(self) -> PodTemplate:
        """Cpu and memory as Spark asks for them (``BasicExecutorFeatureStep`` of Spark 3.5)."""
        heap = _java(self.memory or "1g")
        more = _java(self.memoryOverhead) if self.memoryOverhead else max(heap // 10, _LEAST_OVERHEAD)
        asks = {"cpu": self.coreRequest or str(self.cores or 1), "memory": str(heap + more)}
        gpus = {self.gpu.name: self.gpu.quantity} if self.gpu else {}
        own = Container(resources=Resources(limits=_amounts(gpus), requests=_amounts(asks)))
        base = self.pod_template.spec
        return self.made(
            PodSpec(
                containers=(own, *self.sidecars, *base.containers),
                initContainers=(*self.initContainers, *base.initContainers),
                resourceClaims=base.resourceClaims,
            )
        )


def _java(text: str) -> int:
    """Bytes of an amount as Java writes it; a bare number is mebibytes, as in Spark. 0 for what is none."""
    found = _JAVA.fullmatch(text)
    return int(found[1]) * 1024 ** (" kmgtp".index(found[2].lower()) if found[2] else 2) if found else 0


def _amounts(written: dict[str, Any]) -> Amounts:
    return Amounts.model_validate(written)


class ContainerSet(Open):
    """Containers that share a pod of a workflow."""

    containers: Many[Container] = ()
    """The containers."""


class ArgoTemplate(Form):
    """A template of one of Argo's workflows, of which each use is a pod if it has a container."""

    metadata_at: ClassVar[KeyPath] = ("metadata",)
    metadata: Meta = Meta.model_construct()
    """Labels and annotations of the pod."""
    container: Container | None = None
    """What runs."""
    script: Container | None = None
    """The same, with its program in the workflow."""
    containerSet: ContainerSet | None = None
    """Several containers."""
    sidecars: Many[Container] = ()
    """Containers beside it."""
    initContainers: Many[Container] = ()
    """Run before it."""

    @property
    def template(self) -> PodTemplate | None:
        """The pod of a use; None of steps, of a DAG, and of what Argo does itself."""
        single = tuple(item for item in (self.container, self.script) if item is not None)
        containers = (*single, *(self.containerSet.containers if self.containerSet else ()))
        if not containers:
            return None
        spec = PodSpec(containers=(*containers, *self.sidecars), initContainers=self.initContainers)
        return PodTemplate(metadata=self.metadata, spec=spec)


class DynamoAmounts(Open):
    """Amounts of resources, by Dynamo's names."""

    cpu: AnyText | None = None
    """Cores."""
    memory: AnyText | None = None
    """Memory."""
    gpu: AnyText | None = None
    """GPUs of a node."""
    gpuType: AnyText | None = None
    """The resource that they are; nvidia.com/gpu where it is left out."""

    @property
    def amounts(self) -> Amounts:
        """By Kubernetes' names."""
        found = {"cpu": self.cpu, "memory": self.memory, self.gpuType or "nvidia.com/gpu": self.gpu}
        return _amounts({name: amount for name, amount in found.items() if amount is not None})


class DynamoResources(Open):
    """What a pod asks for."""

    limits: DynamoAmounts = DynamoAmounts.model_construct()
    """The most that it gets."""
    requests: DynamoAmounts = DynamoAmounts.model_construct()
    """What is set aside."""


class DynamoPodSpec(PodSpec):
    """Further fields of the pods of a service."""

    mainContainer: Container | None = None
    """Further fields of the container of the service."""


class DynamoService(Form):
    """A service of a DynamoGraphDeployment of v1alpha1."""

    metadata_at: ClassVar[KeyPath] = ("extraPodMetadata",)
    spec_at: ClassVar[KeyPath] = ("extraPodSpec",)
    resources: DynamoResources = DynamoResources.model_construct()
    """What each pod asks for."""
    extraPodMetadata: Meta = Meta.model_construct()
    """Labels and annotations of the pods."""
    extraPodSpec: DynamoPodSpec = DynamoPodSpec.model_construct()
    """How they run."""

    @property
    def template(self) -> PodTemplate:
        """The pod of one node."""
        asks = Resources(limits=self.resources.limits.amounts, requests=self.resources.requests.amounts)
        spec = self.extraPodSpec
        own = (Container(resources=asks), *([spec.mainContainer] if spec.mainContainer else []))
        pods = PodSpec(
            containers=(*own, *spec.containers),
            initContainers=spec.initContainers,
            resourceClaims=spec.resourceClaims,
        )
        return PodTemplate(metadata=self.extraPodMetadata, spec=pods)


class Framework(Open):
    """The model that a predictor serves, and what its container asks for."""

    resources: Resources = Resources.model_construct()
    """What it asks for; what its ServingRuntime says where it is left out."""


_FRAMEWORKS = (
    *("model", "sklearn", "xgboost", "tensorflow", "pytorch", "triton", "onnx", "huggingface"),
    *("pmml", "lightgbm", "paddle"),
)


class Predictor(Labelled):
    """A component of an InferenceService: the fields of a PodSpec, and the model."""

    containers: Many[Container] = ()
    """Its containers."""
    initContainers: Many[Container] = ()
    """Run before them."""
    resourceClaims: Many[ResourceClaim] = ()
    """Devices that it asks for by Dynamic Resource Allocation."""
    model: Framework | None = None
    """The model."""
    sklearn: Framework | None = None
    """The model, by its framework."""
    xgboost: Framework | None = None
    """The model, by its framework."""
    tensorflow: Framework | None = None
    """The model, by its framework."""
    pytorch: Framework | None = None
    """The model, by its framework."""
    triton: Framework | None = None
    """The model, by its framework."""
    onnx: Framework | None = None
    """The model, by its framework."""
    huggingface: Framework | None = None
    """The model, by its framework."""
    pmml: Framework | None = None
    """The model, by its framework."""
    lightgbm: Framework | None = None
    """The model, by its framework."""
    paddle: Framework | None = None
    """The model, by its framework."""

    @property
    def template(self) -> PodTemplate:
        """Its pod."""
        models = (getattr(self, name) for name in _FRAMEWORKS)
        served = tuple(Container(resources=item.resources) for item in models if item is not None)
        containers, claims = (*served, *self.containers), self.resourceClaims
        return self.made(PodSpec(containers=containers, initContainers=self.initContainers, resourceClaims=claims))
