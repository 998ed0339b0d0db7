"""What is read of every workload, its metadata and the pod templates in it, and of objects beside workloads.

These models ignore what they do not know, unlike the tool's own kinds: the API server, not this tool, decides what
else a workload may have. All of it stays with the document and passes untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field, StringConstraints

from kubectl_tas import gpus, quantities
from kubectl_tas.gpus import WHOLE, Asked, Gpus, is_counted, is_uncounted
from kubectl_tas.model.base import (
    MAX_COUNT,
    AnyText,
    Count,
    KeyPath,
    LabelKey,
    LabelValue,
    Many,
    Model,
    Text,
    digits_up_to,
    nothing,
    said,
)
from kubectl_tas.records import dataclass

WholeGpus = (
    Count
    | Annotated[
        str,
        StringConstraints(pattern=rf"^({digits_up_to(MAX_COUNT)})$"),
        said("must be whole GPUs, such as 8", hint="Write a whole number without a unit, such as 8."),
    ]
)
"""GPUs of a container; Kubernetes takes the number with or without quotes."""


class Open(Model):
    """A mapping of which a part is read."""

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
        """What KAI counts among GPUs, by resource."""
        named = zip(WHOLE, (self.nvidia, self.amd), strict=True)
        found = {name: int(amount) for name, amount in named if amount is not None}
        others = {name: str(amount) for name, amount in (self.model_extra or {}).items() if is_counted(name)}
        return found | {name: int(amount) for name, amount in others.items() if amount.isdecimal()}

    @property
    def cpu(self) -> int | None:
        """Cpu in thousandths of a core; None where there is none. What is no quantity check.fields finds."""
        written = (self.model_extra or {}).get("cpu")
        return None if written is None else max(0, quantities.millicores(written))

    @property
    def memory(self) -> int | None:
        """Memory in bytes, likewise."""
        written = (self.model_extra or {}).get("memory")
        return None if written is None else max(0, quantities.in_bytes(written))

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Accelerators that are asked for, and that nobody counts."""
        names = ((name, str(amount)) for name, amount in (self.model_extra or {}).items())
        return tuple(
            name
            for name, amount in names
            if amount != "0" and (is_uncounted(name) or (is_counted(name) and not amount.isdecimal()))
        )


class Resources(Open):
    """What a container asks for."""

    limits: Amounts = Amounts.model_construct()
    """The most that it gets; GPUs are asked for here."""
    requests: Amounts = Amounts.model_construct()
    """What is set aside; for GPUs the same as limits."""

    @property
    def asked(self) -> Asked:
        """Its GPUs."""
        return Asked(self.limits.counted, self.requests.counted)

    @property
    def cpu(self) -> int:
        """Its cpu in millicores: what it requests, or its limit where it requests none: an API server fills that in."""
        return (self.limits.cpu or 0) if self.requests.cpu is None else self.requests.cpu

    @property
    def memory(self) -> int:
        """Its memory in bytes, likewise."""
        return (self.limits.memory or 0) if self.requests.memory is None else self.requests.memory

    @property
    def amounts(self) -> quantities.Amounts:
        """All that it asks for."""
        return quantities.Amounts(self.asked.gpus, self.cpu, self.memory)


class Container(Open):
    """A container of a pod template."""

    resources: Resources = Resources.model_construct()
    """What it asks for."""
    restartPolicy: AnyText | None = None
    """Always on an init container: a sidecar, which runs beside the containers."""

    @property
    def is_sidecar(self) -> bool:
        """Of an init container: whether it keeps running beside the containers."""
        return self.restartPolicy == "Always"


class ResourceClaim(Open):
    """A claim of Dynamic Resource Allocation."""

    name: AnyText = ""
    """What containers call it."""
    resourceClaimTemplateName: AnyText | None = None
    """The ResourceClaimTemplate of which each pod has a claim of its own."""


class PodSpec(Open):
    """How the pods of a template run."""

    model_config = ConfigDict(extra="allow")

    containers: Many[Container] = ()
    """Run side by side."""
    initContainers: Many[Container] = ()
    """Run one after the other before the containers."""

    resources: Resources = Resources.model_construct()
    """What the pod as a whole asks for."""
    resourceClaims: Many[ResourceClaim] = ()
    """Devices that it asks for by Dynamic Resource Allocation."""

    @property
    def overhead(self) -> Amounts:
        """What the pod takes beside its containers, by its RuntimeClass."""
        written = (self.model_extra or {}).get("overhead")
        amounts = written if isinstance(written, dict) else {}
        return Amounts.model_validate({name: amounts.get(name) for name in quantities.OTHERS})

    def asks_with(self, annotations: Mapping[str, str]) -> quantities.Amounts:
        """What one pod asks for, which has ``annotations``.

        Cpu and memory follow ``getPodResourceRequest`` of KAI 0.17 (``pod_info.go``): the requests of containers, of
        sidecars and of other init containers as for GPUs, and the overhead; not what the pod as a whole asks for.
        """
        cpu = self._at_most(lambda asked: asked.cpu) + (self.overhead.cpu or 0)
        memory = self._at_most(lambda asked: asked.memory) + (self.overhead.memory or 0)
        return quantities.Amounts(self.gpus_with(annotations), cpu, memory)

    def _at_most(self, of: Callable[[Resources], int]) -> int:
        starting = ((item.is_sidecar, of(item.resources)) for item in self.initContainers)
        return gpus.at_most(starting, (of(item.resources) for item in self.containers))

    def gpus_with(self, annotations: Mapping[str, str]) -> Gpus:
        """GPUs of one pod, which has ``annotations``."""
        init = (replace(item.resources.asked, is_sidecar=item.is_sidecar) for item in self.initContainers)
        containers = (item.resources.asked for item in self.containers)
        return gpus.of_pod(init, containers, self.resources.asked, annotations)


class Meta(Open):
    """Labels and annotations."""

    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels."""
    annotations: dict[LabelKey, AnyText] = nothing()
    """Annotations."""


class RootMeta(Meta):
    """Metadata of a workload."""

    name: Text
    """Name of the object. A generateName cannot be applied twice, so it is not accepted."""
    namespace: Text | None = None
    """Where it runs: one of the namespaces of its pool, the first of them where it is left out."""


class Companion(Open):
    """An object that belongs to a workload: passed through, with its namespace."""

    apiVersion: Text
    """Its API."""
    kind: Text
    """Its kind."""
    metadata: RootMeta
    """Its name; its pool, by the label kubectl-tas/pool, where its file does not tell."""


class PodTemplate(Open):
    """What pods are made from."""

    metadata: Meta = Meta.model_construct()
    """Their labels and annotations; segments are asked for here."""
    spec: PodSpec = PodSpec.model_construct()
    """How they run."""

    @property
    def asks(self) -> quantities.Amounts:
        """What one pod asks for."""
        return self.spec.asks_with(self.metadata.annotations)


class ReplicatedSpec(Open):
    """A number of equal pods."""

    replicas: Count = 1
    """Pods."""
    template: PodTemplate = PodTemplate.model_construct()
    """What they are made from."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name that a user gives to a part of a workload."""

    what: str
    """What the kind calls such a part, such as replica type."""
    text: str
    """As it is written."""
    compared: str
    """What the kind's own controller compares: two parts with the same are refused."""
    path: KeyPath
    is_key: bool = False
    """Whether the path is that of a key, and not of a value."""


@dataclass(frozen=True, slots=True)
class PodSet:
    """Equal pods of a workload, by what the workload itself says."""

    name: str
    """Unique in the workload."""
    replicas: int
    """Pods at a time."""
    path: KeyPath
    """Where what they are made from stands."""
    template: PodTemplate | None
    """None where another object has it."""
    asks: quantities.Amounts
    """What one pod asks for."""
    indices: int
    """Pods that have an index of their own: ``replicas``, but for an Indexed Job its completions."""
    index_label: str | None = None
    """The label in which pods of this kind bear their index."""
    label: str = ""
    """What its SubGroup is named after, where that is not ``name``."""
    written: Name | None = None
    """The name that the user gave; None where the kind gives it."""
    comes_late: bool = False
    """Whether these pods come once the others run, so that nothing can wait for them: what submits a RayJob."""
    job: tuple[KeyPath, Meta] | None = None
    """Where the metadata of the jobs that these pods belong to stands, and that; None where there are no such jobs."""
    jobs: int = 1
    """Jobs that its pods are shared out to."""
    is_leader: bool = False
    """Whether it is the one pod that leads others, which is never divided into segments."""
    metadata_path: KeyPath = ()
    """Where the labels and annotations of its pods stand."""
    spec_path: KeyPath = ()
    """Where the fields of its pods stand."""
    is_pod_spec: bool = True
    """Whether these fields are those of a PodSpec, and not the kind's own that stand for them."""


@dataclass(frozen=True, slots=True)
class Division:
    """How a kind itself divides its pods."""

    size: int | None
    """Pods of a part, as it is written; None where only the rest of it is."""
    path: KeyPath
    """Of the size."""
    leader_excluded: bool = False
    """Whether the leader is in no part."""


class Workload(Open):
    """What all workloads have."""

    metadata: RootMeta
    """Its name, pool (the label kubectl-tas/pool), priority (kubectl-tas/priority) and placement."""

    @cached_property
    def pod_sets(self) -> tuple[PodSet, ...]:
        """Its pods, in the order of the file."""
        return tuple(self._pod_sets())

    def _pod_sets(self) -> Iterable[PodSet]:
        """The same, one by one."""
        raise NotImplementedError

    @property
    def copies(self) -> int:
        """How many times the pod sets are there, each time as a gang of its own."""
        return 1

    divided: ClassVar[str | None] = None  # the pod set that KAI's podgrouper makes segments of, where it makes any

    @property
    def implied_counts(self) -> Iterator[tuple[KeyPath, int]]:
        """Counts that the kind's own controller goes by, where the object itself says nothing or something else."""
        yield from ()

    @property
    def implied_names(self) -> Iterator[tuple[KeyPath, str]]:
        """Names that the kind's own webhook fills in when the object is made, and misses in one that is changed."""
        yield from ()

    @property
    def own_division(self) -> Division | None:
        """How the kind itself divides its pods; None where it does not."""
        return None

    @property
    def root_annotations(self) -> tuple[str, ...]:
        """The annotations about segments that KAI reads on the workload itself."""
        return ()

    @property
    def leader_first(self) -> bool:
        """Whether no other pod is made before the leader is ready."""
        return False


def pod_set(name: str, replicas: int, path: KeyPath, template: PodTemplate) -> PodSet:
    """Equal pods of a template at ``path``, without anything special."""
    metadata, spec = (*path, "metadata"), (*path, "spec")
    return PodSet(name, replicas, path, template, template.asks, replicas, metadata_path=metadata, spec_path=spec)
