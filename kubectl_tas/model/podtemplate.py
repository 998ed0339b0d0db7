"""What is read of every workload: its metadata, and the pod templates in it.

These models ignore what they do not know, unlike the tool's own kinds: the API server, not this tool, decides what
else a workload may have. All of it stays with the document and passes untouched.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints

from kubectl_tas.model.base import (
    MAX_COUNT,
    AnyText,
    Count,
    LabelKey,
    LabelValue,
    Many,
    Model,
    Text,
    digits_up_to,
    said,
)

Gpus = (
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

    gpu: Annotated[Gpus | None, Field(alias="nvidia.com/gpu")] = None
    """Whole GPUs."""


class Resources(Open):
    """What a container asks for."""

    limits: Amounts = Amounts()
    """The most that it gets; GPUs are asked for here."""
    requests: Amounts = Amounts()
    """What is set aside; for GPUs the same as limits."""


class Container(Open):
    """A container of a pod template."""

    resources: Resources = Resources()
    """What it asks for."""
    restartPolicy: AnyText | None = None
    """Always on an init container: a sidecar, which runs beside the containers."""


class PodSpec(Open):
    """How the pods of a template run."""

    containers: Many[Container] = ()
    """Run side by side."""
    initContainers: Many[Container] = ()
    """Run one after the other before the containers."""


class Meta(Open):
    """Labels and annotations."""

    labels: dict[LabelKey, LabelValue] = {}
    """Labels."""
    annotations: dict[LabelKey, AnyText] = {}
    """Annotations."""


class RootMeta(Meta):
    """Metadata of a workload."""

    name: Text
    """Name of the object. A generateName cannot be applied twice, so it is not accepted."""
    namespace: Text | None = None
    """Where it runs; the namespace of the pool's backend."""


class PodTemplate(Open):
    """What pods are made from."""

    metadata: Meta = Meta()
    """Their labels and annotations; segments are asked for here."""
    spec: PodSpec = PodSpec()
    """How they run."""


class Workload(Open):
    """What all workloads have."""

    metadata: RootMeta
    """Its name, pool (the label kubectl-tas/pool), priority (kubectl-tas/priority) and placement."""
