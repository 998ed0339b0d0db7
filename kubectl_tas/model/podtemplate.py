"""Defines the parts of workloads and their companions that the tool reads: metadata and pod templates.

Unlike the tool's own kinds, these models ignore unknown fields, since the API server decides which other fields a
workload may have. All fields stay in the document, and `render` writes them unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from kubectl_tas.facts import gpus, quantities
from kubectl_tas.facts.gpus import WHOLE, ContainerRequests, Gpus, is_counted, is_uncounted
from kubectl_tas.model.base import (
    MAX_COUNT,
    AnnotationKey,
    AnyText,
    Count,
    LabelKey,
    LabelValue,
    Many,
    Model,
    Text,
    digits_up_to,
    nothing,
    said,
)

WholeGpus = (
    Count
    | Annotated[
        str,
        StringConstraints(pattern=rf"^({digits_up_to(MAX_COUNT)})$"),
        said(
            "must be whole GPUs, such as 8",
            hint="Write a whole number, such as 8. A part of a GPU is the annotation gpu-fraction of the pod.",
        ),
    ]
)
"""GPUs of a container. Kubernetes accepts the number with or without quotes."""


class Open(Model):
    """A mapping from which the tool reads only some fields."""

    model_config = ConfigDict(extra="ignore")


class Amounts(Open):
    """Amounts of resources."""

    model_config = ConfigDict(extra="allow")

    nvidia: Annotated[WholeGpus | None, Field(alias="nvidia.com/gpu")] = None
    """Whole GPUs."""
    amd: Annotated[WholeGpus | None, Field(alias="amd.com/gpu")] = None
    """Whole GPUs of AMD."""

    @property
    def counted(self) -> dict[str, int]:
        """The amounts that KAI counts as GPUs, by resource."""
        named = zip(WHOLE, (self.nvidia, self.amd), strict=True)
        counted = {name: int(amount) for name, amount in named if amount is not None}
        for name, amount in (self.model_extra or {}).items():
            if is_counted(name) and str(amount).isdecimal():
                counted[name] = int(str(amount))
        return counted

    @property
    def cpu(self) -> int | None:
        """Cpu in thousandths of a core. None if absent. check.fields reports a value that is no quantity."""
        quantity = (self.model_extra or {}).get("cpu")
        return None if quantity is None else max(0, quantities.millicores(quantity))

    @property
    def memory(self) -> int | None:
        """Memory in bytes. None if absent. check.fields reports a value that is no quantity."""
        quantity = (self.model_extra or {}).get("memory")
        return None if quantity is None else max(0, quantities.in_bytes(quantity))

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Requested accelerators that KAI does not count."""
        names = ((name, str(amount)) for name, amount in (self.model_extra or {}).items())
        return tuple(n for n, a in names if a != "0" and (is_uncounted(n) or (is_counted(n) and not a.isdecimal())))


_NO_AMOUNTS = Amounts.model_construct()


class Resources(Open):
    """Resource requests and limits of a container."""

    limits: Amounts = _NO_AMOUNTS
    """The most that the container may use. Request GPUs here."""
    requests: Amounts = _NO_AMOUNTS
    """The amounts that Kubernetes reserves. For GPUs, these equal the limits."""

    @property
    def asked(self) -> ContainerRequests:
        """GPUs of the container."""
        return ContainerRequests(self.limits.counted, self.requests.counted)

    @property
    def cpu(self) -> int:
        """Requested cpu in millicores. Without a request, the limit, as the API server sets it."""
        return (self.limits.cpu or 0) if self.requests.cpu is None else self.requests.cpu

    @property
    def memory(self) -> int:
        """Requested memory in bytes. Without a request, the limit, as the API server sets it."""
        return (self.limits.memory or 0) if self.requests.memory is None else self.requests.memory

    @property
    def amounts(self) -> quantities.Amounts:
        """All requested amounts."""
        return quantities.Amounts(self.asked.gpus, self.cpu, self.memory)


class Container(Open):
    """A container of a pod template."""

    resources: Resources = Resources.model_construct()
    """Resource requests and limits."""
    restartPolicy: AnyText | None = None
    """Always, on an init container, makes it a sidecar, which runs next to the containers."""

    @property
    def is_sidecar(self) -> bool:
        """Whether an init container is a sidecar, which keeps running next to the containers."""
        return self.restartPolicy == "Always"


class ResourceClaim(Open):
    """A claim of Dynamic Resource Allocation."""

    name: AnyText = ""
    """Name of the claim, for use in containers."""
    resourceClaimTemplateName: AnyText | None = None
    """The ResourceClaimTemplate from which each pod gets a claim of its own."""


class PodSpec(Open):
    """Settings of the pods of a template."""

    model_config = ConfigDict(extra="allow")

    containers: Many[Container] = ()
    """Containers, which run at the same time."""
    initContainers: Many[Container] = ()
    """Containers that run one after another before the other containers."""

    resources: Resources = Resources.model_construct()
    """Resource requests and limits of the whole pod."""
    resourceClaims: Many[ResourceClaim] = ()
    """Devices that the pod requests by Dynamic Resource Allocation."""

    @property
    def overhead(self) -> Amounts:
        """Resources that the RuntimeClass adds to those of the containers."""
        overhead = (self.model_extra or {}).get("overhead")
        if not isinstance(overhead, dict):
            return _NO_AMOUNTS
        return Amounts.model_validate({name: overhead.get(name) for name in quantities.OTHERS})

    def asks_with(self, annotations: Mapping[str, str]) -> quantities.Amounts:
        """Returns the request of one pod with these annotations.

        Cpu and memory follow ``getPodResourceRequest`` of KAI 0.17 (``pod_info.go``). It combines containers, sidecars
        and other init containers as for GPUs, adds the overhead, and ignores resources of the whole pod.
        """
        overhead = self.overhead
        init, containers = self.initContainers, [container.resources for container in self.containers]
        cpu = gpus.at_most([(each.is_sidecar, each.resources.cpu) for each in init], [each.cpu for each in containers])
        memory = gpus.at_most(
            [(each.is_sidecar, each.resources.memory) for each in init], [each.memory for each in containers]
        )
        cpu, memory = cpu + (overhead.cpu or 0), memory + (overhead.memory or 0)
        return quantities.Amounts(self.gpus_with(annotations), cpu, memory)

    def gpus_with(self, annotations: Mapping[str, str]) -> Gpus:
        """Returns the GPUs of one pod with these annotations."""
        init = (replace(c.resources.asked, is_sidecar=c.is_sidecar) for c in self.initContainers)
        containers = (container.resources.asked for container in self.containers)
        return gpus.of_pod(init, containers, self.resources.asked, annotations)


class Meta(Open):
    """Labels and annotations."""

    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels."""
    annotations: dict[AnnotationKey, AnyText] = nothing()
    """Annotations."""


class RootMeta(Meta):
    """Metadata of a workload."""

    name: Text
    """Name of the object. A generateName is not allowed, because you cannot apply it twice."""
    namespace: Text | None = None
    """Namespace of the workload, one of the namespaces of its pool. The default is the first of these."""


class Companion(Open):
    """An object that belongs to a workload. `render` adds its namespace and leaves the rest unchanged."""

    apiVersion: Text
    """API of the object."""
    kind: Text
    """Kind of the object."""
    metadata: RootMeta
    """Name of the object, and its pool in the label kubectl-tas/pool. The default is the pool of work in the file."""


class PodTemplate(Open):
    """Template for pods."""

    metadata: Meta = Meta.model_construct()
    """Labels and annotations of the pods, including annotations for segments."""
    spec: PodSpec = PodSpec.model_construct()
    """Settings of the pods."""

    @property
    def asks(self) -> quantities.Amounts:
        """The request of one pod."""
        return self.spec.asks_with(self.metadata.annotations)
