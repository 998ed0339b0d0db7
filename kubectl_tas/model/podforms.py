"""Converts the fields of kinds without a pod template to a pod template."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar

from pydantic import Field

from kubectl_tas.facts import quantities
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.model.base import (
    AnnotationKey,
    AnyText,
    Count,
    KeyPath,
    LabelKey,
    LabelValue,
    Many,
    Positive,
    Text,
    nothing,
)
from kubectl_tas.model.podsets import HOLDERS
from kubectl_tas.model.podtemplate import (
    Amounts,
    Container,
    Meta,
    Open,
    PodSpec,
    PodTemplate,
    ResourceClaim,
    Resources,
    WholeGpus,
)

_CONTAINERS = ("containers[]", "initContainers[]")


class Form(Open):
    """Fields of a kind that replace a pod template."""

    metadata_at: ClassVar[KeyPath] = ()
    """Path of the labels and annotations in these fields."""
    spec_at: ClassVar[KeyPath] = ()
    """Path of schedulerName, nodeSelector and similar fields in these fields."""
    holders: ClassVar[tuple[str, ...]] = ()
    """Places in these fields that ``template`` takes requests from, as in ``PodSet``."""

    @property
    def template(self) -> PodTemplate | None:
        """The fields as a pod template. None if no pod results from them."""
        raise NotImplementedError


class OwnTemplate(Open):
    """Template for a pod that has the labels and annotations of its object."""

    spec: PodSpec = PodSpec.model_construct()
    """Settings of the pod."""

    @property
    def template(self) -> PodTemplate:
        """The pod template, without labels and annotations."""
        return PodTemplate(spec=self.spec)


class Trainer(Form):
    """Trainer settings of a TrainJob, whose pod template is in its runtime."""

    metadata_at: ClassVar[KeyPath] = ("metadata",)
    holders = ("",)
    numNodes: Positive | None = None
    """Number of pods. The default comes from the runtime."""
    resourcesPerNode: Resources = Resources.model_construct()
    """Resource requests and limits of each pod."""

    @property
    def template(self) -> None:
        """No template: the runtime has it."""

    @property
    def asks(self) -> quantities.Amounts:
        """The request of one pod."""
        return self.resourcesPerNode.amounts


class Labelled(Form):
    """Fields that include the labels and annotations of the pods."""

    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels of the pods."""
    annotations: dict[AnnotationKey, AnyText] = nothing()
    """Annotations of the pods."""


class SparkGpu(Open):
    """Accelerators of one pod."""

    name: Text
    """Name of the resource, such as nvidia.com/gpu."""
    quantity: Count
    """Number of accelerators."""


_JAVA = re.compile(r"([0-9]+)([kmgtp]?)b?", re.IGNORECASE)
_LEAST_OVERHEAD = 384 * 2**20


class SparkPod(Labelled):
    """The driver of a Spark application, or one of its executors."""

    holders = ("sidecars[]", "initContainers[]", *(f"template.{holder}" for holder in HOLDERS))
    cores: Count | None = None
    """Cores. The default is 1."""
    coreRequest: AnyText | None = None
    """The request for cpu, if it differs from cores."""
    memory: AnyText | None = None
    """Heap in the units of Java: 512m, 8g. The default is 1g."""
    memoryOverhead: AnyText | None = None
    """Memory in addition to the heap. The default is a tenth of the heap, and at least 384m."""
    gpu: SparkGpu | None = None
    """Accelerators."""
    sidecars: Many[Container] = ()
    """Containers next to Spark's own."""
    initContainers: Many[Container] = ()
    """Containers that run before the other containers."""
    pod_template: Annotated[PodTemplate, Field(alias="template")] = PodTemplate.model_construct()
    """The pod template that Spark starts from, with further containers and their requests."""

    @property
    def template(self) -> PodTemplate:
        """The pod template, with cpu and memory as Spark requests them (``BasicExecutorFeatureStep`` of Spark 3.5)."""
        heap = _java(self.memory or "1g")
        overhead = _java(self.memoryOverhead) if self.memoryOverhead else max(heap // 10, _LEAST_OVERHEAD)
        asks = {"cpu": self.coreRequest or str(self.cores or 1), "memory": str(heap + overhead)}
        gpus = {self.gpu.name: self.gpu.quantity} if self.gpu else {}
        spark_container = Container(
            resources=Resources(limits=Amounts.model_validate(gpus), requests=Amounts.model_validate(asks))
        )
        meta, base = self.pod_template.metadata, self.pod_template.spec
        spec = PodSpec(
            containers=(spark_container, *self.sidecars, *base.containers),
            initContainers=(*self.initContainers, *base.initContainers),
            resources=base.resources,
            resourceClaims=base.resourceClaims,
        )
        labels, annotations = {**meta.labels, **self.labels}, {**meta.annotations, **self.annotations}
        return PodTemplate(metadata=Meta(labels=labels, annotations=annotations), spec=spec)


def _java(text: str) -> int:
    """Returns the bytes of an amount in Java's syntax. A bare number is in mebibytes, as in Spark. 0 if invalid."""
    match = _JAVA.fullmatch(text)
    return int(match[1]) * 1024 ** (" kmgtp".index(match[2].lower()) if match[2] else 2) if match else 0


class ContainerSet(Open):
    """Containers that share a pod of a workflow."""

    containers: Many[Container] = ()
    """The containers."""


class ArgoTemplate(Form):
    """A template of an Argo workflow. If it has a container, each use of the template is a pod."""

    metadata_at: ClassVar[KeyPath] = ("metadata",)
    holders = ("", "container", "script", "containerSet.containers[]", "sidecars[]", "initContainers[]")
    metadata: Meta = Meta.model_construct()
    """Labels and annotations of the pod."""
    container: Container | None = None
    """The container."""
    script: Container | None = None
    """The container, with its program in the workflow."""
    containerSet: ContainerSet | None = None
    """Several containers in one pod."""
    sidecars: Many[Container] = ()
    """Containers that run next to the container."""
    initContainers: Many[Container] = ()
    """Containers that run before the container."""
    resourceClaims: Many[ResourceClaim] = ()
    """Devices that the pod requests by Dynamic Resource Allocation, from Argo 4.1."""

    @property
    def template(self) -> PodTemplate | None:
        """The pod of one use. None for steps, for a DAG, and for actions that Argo performs itself."""
        single = tuple(container for container in (self.container, self.script) if container is not None)
        containers = (*single, *(self.containerSet.containers if self.containerSet else ()))
        if not containers:
            return None
        containers, claims = (*containers, *self.sidecars), self.resourceClaims
        spec = PodSpec(containers=containers, initContainers=self.initContainers, resourceClaims=claims)
        return PodTemplate(metadata=self.metadata, spec=spec)


class DynamoAmounts(Open):
    """Amounts of resources, with Dynamo's names."""

    cpu: AnyText | None = None
    """Cores."""
    memory: AnyText | None = None
    """Memory."""
    gpu: WholeGpus | None = None
    """GPUs of a node."""
    gpuType: AnyText | None = None
    """Resource name of the GPUs. The default is nvidia.com/gpu."""
    custom: Amounts = Amounts.model_construct()
    """Amounts of any resources, with Kubernetes' names."""

    @property
    def amounts(self) -> Amounts:
        """The amounts with Kubernetes' names. Dynamo writes those of ``custom`` last (``GetResourcesConfig`` of its
        internal/controller_common/resource.go).
        """
        named = {"cpu": self.cpu, "memory": self.memory, self.gpuType or GPU: self.gpu}
        named |= self.custom.model_dump(by_alias=True, exclude_none=True)
        return Amounts.model_validate({name: amount for name, amount in named.items() if amount is not None})


class DynamoResources(Open):
    """Resource requests and limits of a pod."""

    limits: DynamoAmounts = DynamoAmounts.model_construct()
    """The most that the pod may use."""
    requests: DynamoAmounts = DynamoAmounts.model_construct()
    """The amounts that Kubernetes reserves."""


class DynamoPodSpec(PodSpec):
    """Further fields of the pods of a service."""

    mainContainer: Container | None = None
    """Further fields of the container of the service."""


class DynamoService(Form):
    """A service of a DynamoGraphDeployment of v1alpha1."""

    metadata_at: ClassVar[KeyPath] = ("extraPodMetadata",)
    spec_at: ClassVar[KeyPath] = ("extraPodSpec",)
    holders = ("", "extraPodSpec", *(f"extraPodSpec.{name}" for name in ("mainContainer", *_CONTAINERS)))
    resources: DynamoResources = DynamoResources.model_construct()
    """Resource requests and limits of each pod."""
    extraPodMetadata: Meta = Meta.model_construct()
    """Labels and annotations of the pods."""
    extraPodSpec: DynamoPodSpec = DynamoPodSpec.model_construct()
    """Further fields of the pods."""

    @property
    def template(self) -> PodTemplate:
        """The pod template for one node."""
        asks = Resources(limits=self.resources.limits.amounts, requests=self.resources.requests.amounts)
        spec = self.extraPodSpec
        main_containers = (Container(resources=asks), *([spec.mainContainer] if spec.mainContainer else []))
        pods = PodSpec(
            containers=(*main_containers, *spec.containers),
            initContainers=spec.initContainers,
            resources=spec.resources,
            resourceClaims=spec.resourceClaims,
        )
        return PodTemplate(metadata=self.extraPodMetadata, spec=pods)


class Framework(Open):
    """The model that a predictor serves, with the resources of its container."""

    resources: Resources = Resources.model_construct()
    """Resource requests and limits of the container. The default comes from its ServingRuntime."""


_FRAMEWORKS = (
    *("model", "sklearn", "xgboost", "tensorflow", "pytorch", "triton", "onnx", "huggingface"),
    *("pmml", "lightgbm", "paddle", "art"),
)


class Predictor(Labelled):
    """A component of an InferenceService: the fields of a PodSpec, and the model."""

    holders = ("", *_CONTAINERS, *_FRAMEWORKS)
    containers: Many[Container] = ()
    """Containers of the pod."""
    initContainers: Many[Container] = ()
    """Containers that run before the others."""
    resources: Resources = Resources.model_construct()
    """Resource requests and limits of the whole pod."""
    resourceClaims: Many[ResourceClaim] = ()
    """Devices that the pod requests by Dynamic Resource Allocation."""
    model: Framework | None = None
    """The model."""
    sklearn: Framework | None = None
    """A model for scikit-learn."""
    xgboost: Framework | None = None
    """A model for XGBoost."""
    tensorflow: Framework | None = None
    """A model for TensorFlow."""
    pytorch: Framework | None = None
    """A model for PyTorch."""
    triton: Framework | None = None
    """A model for Triton."""
    onnx: Framework | None = None
    """A model for ONNX."""
    huggingface: Framework | None = None
    """A model of Hugging Face."""
    pmml: Framework | None = None
    """A model in PMML."""
    lightgbm: Framework | None = None
    """A model for LightGBM."""
    paddle: Framework | None = None
    """A model for PaddlePaddle."""
    art: Framework | None = None
    """The explainer of the Adversarial Robustness Toolbox."""

    @property
    def template(self) -> PodTemplate:
        """The pod template, with a container for the model."""
        models = (getattr(self, name) for name in _FRAMEWORKS)
        served = tuple(Container(resources=m.resources) for m in models if m is not None)
        return PodTemplate(
            metadata=Meta(labels=self.labels, annotations=self.annotations),
            spec=PodSpec(
                containers=(*served, *self.containers),
                initContainers=self.initContainers,
                resources=self.resources,
                resourceClaims=self.resourceClaims,
            ),
        )
