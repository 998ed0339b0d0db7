"""The Jobs that are emitted; their field names are those of Kubernetes. None means that a field is absent."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kubectl_tas.model.base import Count, Many, Model, nothing
from kubectl_tas.model.manifest import Metadata, SubGroupName
from kubectl_tas.model.pod import PodSpec


class ExitCodes(Model):
    """A condition on the exit code of a container that failed."""

    containerName: SubGroupName
    """The container."""
    operator: Literal["NotIn"] = "NotIn"
    """How it is compared."""
    values: Annotated[Many[Annotated[int, Field(ge=1, le=255)]], Field(min_length=1)]
    """With what: from the least to the greatest, each once."""


class PodCondition(Model):
    """A condition that a pod bears."""

    type: Literal["DisruptionTarget"] = "DisruptionTarget"
    """That the cluster took the pod away."""
    status: Literal["True"] = "True"
    """What an API server fills in; it compares the rules as a whole, so kubectl would find a change for ever."""


class FailureRule(Model):
    """What a failed pod that fulfils a condition means to its Job."""

    action: Literal["Ignore", "FailJob"]
    """Ignore: another one is made, and it does not count; FailJob: none is made."""
    onPodConditions: Many[PodCondition] = ()
    """Conditions, one of which it bears."""
    onExitCodes: ExitCodes | None = None
    """The code that its container ended with."""


class FailurePolicy(Model):
    """What failed pods mean: the first rule that is fulfilled, else they count."""

    rules: Annotated[Many[FailureRule], Field(min_length=1)]
    """The rules."""


class TemplateMetadata(Model):
    """Metadata of the pods of a Job."""

    labels: dict[str, str] = nothing()
    """Labels."""
    annotations: dict[str, str] = nothing()
    """Annotations."""


class Template(Model):
    """The pods of a Job."""

    metadata: TemplateMetadata
    """Queue and gang."""
    spec: PodSpec
    """How they run."""


class JobSpec(Model):
    """How a task runs, and runs again."""

    parallelism: Literal[1] = 1
    """Pods at once."""
    completions: Literal[1] = 1
    """Pods that must succeed."""
    backoffLimit: Count
    """Pods that may fail and count."""
    podFailurePolicy: FailurePolicy
    """Which failed pods count."""
    template: Template
    """Its pod."""


class Job(Model):
    """Kubernetes' Job: namespaced."""

    apiVersion: Literal["batch/v1"] = "batch/v1"
    """batch/v1"""
    kind: Literal["Job"] = "Job"
    """Job"""
    metadata: Metadata
    """Name, namespace, queue and gang."""
    spec: JobSpec
    """How it runs."""
