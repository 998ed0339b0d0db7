"""Defines the Pods and Jobs that `render` writes, with Kubernetes' field names. None means that a field is absent."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from kubectl_tas.model.base import (
    MAX_COUNT,
    AnyText,
    Count,
    Image,
    LabelKey,
    LabelValue,
    Many,
    Model,
    Text,
    VariableName,
    nothing,
)
from kubectl_tas.model.manifest import Metadata, ObjectName, SubGroupName
from kubectl_tas.model.platform import Toleration


class SecretKeyRef(Model):
    """A value from a Secret in the pod's namespace."""

    name: ObjectName
    """Name of the Secret."""
    key: Text
    """Key in the Secret."""


class EnvVarSource(Model):
    """The source of a value."""

    secretKeyRef: SecretKeyRef
    """A Secret."""


class EnvVar(Model):
    """An environment variable."""

    name: VariableName
    """Name of the variable."""
    value: Annotated[AnyText | None, AfterValidator(lambda text: text or None)] = None
    """Value of the variable. None if empty, since the API server drops it and kubectl would always find a change."""
    valueFrom: EnvVarSource | None = None
    """Source of the value, instead of the value itself."""


class ResourceList(Model):
    """Amounts of resources, as Kubernetes quantities."""

    limits: dict[AnyText, AnyText]
    """The most that the container may use."""
    requests: dict[AnyText, AnyText]
    """The amounts that Kubernetes reserves."""


class VolumeMount(Model):
    """A volume in a container."""

    name: Text
    """Name of the volume."""
    mountPath: Text
    """Path in the container."""
    subPath: Text | None = None
    """The single file of the volume to mount."""
    readOnly: bool | None = None
    """Whether the volume is read-only in the container."""


class SecurityContext(Model):
    """Rights of a container on its node."""

    privileged: bool
    """Whether the container has all rights."""


class Container(Model):
    """The only container of a pod."""

    name: SubGroupName
    """Name of the task."""
    image: Image
    """Container image."""
    command: Many[AnyText] = ()
    """Entry point."""
    args: Many[AnyText] = ()
    """Arguments."""
    env: Many[EnvVar] = ()
    """Environment variables."""
    resources: ResourceList | None = None
    """Resource requests and limits."""
    securityContext: SecurityContext | None = None
    """Rights of the container."""
    volumeMounts: Many[VolumeMount] = ()
    """Mounted volumes."""


class HostPath(Model):
    """A path on the node."""

    path: Text
    """Absolute path."""


class ConfigMapFiles(Model):
    """The files of a ConfigMap."""

    name: ObjectName
    """Name of the ConfigMap."""
    defaultMode: int
    """Mode of the files."""


class SecretFiles(Model):
    """The files of a Secret."""

    secretName: ObjectName
    """Name of the Secret."""
    defaultMode: int
    """Mode of the files."""


class EmptyDir(Model):
    """An empty folder that exists as long as its pod."""


class Volume(Model):
    """A volume of a pod, with one source."""

    name: Text
    """Name of the volume."""
    hostPath: HostPath | None = None
    """A path on the node."""
    configMap: ConfigMapFiles | None = None
    """A ConfigMap."""
    secret: SecretFiles | None = None
    """A Secret."""
    emptyDir: EmptyDir | None = None
    """A folder that is empty at first."""


class NodeSelectorRequirement(Model):
    """A condition on a label of a node."""

    key: LabelKey
    """Key of the label."""
    operator: Literal["NotIn"] = "NotIn"
    """Comparison of the label with the values."""
    values: Annotated[Many[AnyText], Field(min_length=1)]
    """Values of the label."""


class NodeSelectorTerm(Model):
    """Conditions that must all be true."""

    matchExpressions: Annotated[Many[NodeSelectorRequirement], Field(min_length=1)]
    """The conditions."""


class NodeSelector(Model):
    """Terms; at least one must be true."""

    nodeSelectorTerms: Annotated[Many[NodeSelectorTerm], Field(min_length=1)]
    """The terms."""


class NodeAffinity(Model):
    """Conditions on the node of a pod."""

    requiredDuringSchedulingIgnoredDuringExecution: NodeSelector
    """Conditions that the node must satisfy when the scheduler places the pod."""


class Affinity(Model):
    """Placement conditions of a pod."""

    nodeAffinity: NodeAffinity
    """Conditions on the node."""


class PodSpec(Model):
    """Settings of a pod."""

    schedulerName: Text
    """The scheduler that places the pod."""
    priorityClassName: Text
    """Name of a PriorityClass."""
    restartPolicy: Literal["Never"] = "Never"
    """Never, because a task runs once."""
    hostname: SubGroupName | None = None
    """Host name of the pod below its Service."""
    subdomain: SubGroupName | None = None
    """The headless Service that gives the pod a DNS name."""
    activeDeadlineSeconds: Annotated[int, Field(ge=1, le=MAX_COUNT)] | None = None
    """Seconds that the pod may run once its node has accepted the pod."""
    hostNetwork: bool | None = None
    """Whether the pod shares the node's network."""
    dnsPolicy: Text | None = None
    """DNS policy, set only if hostNetwork would change it."""
    nodeSelector: dict[LabelKey, LabelValue] = nothing()
    """Labels of the nodes on which the pod may run."""
    affinity: Affinity | None = None
    """Conditions that exclude nodes."""
    tolerations: Many[Toleration] = ()
    """Taints of nodes that the pod tolerates."""
    containers: Annotated[Many[Container], Field(min_length=1)]
    """The single container of the pod."""
    volumes: Many[Volume] = ()
    """Volumes of the pod."""


class Pod(Model):
    """Kubernetes' Pod: namespaced."""

    apiVersion: Literal["v1"] = "v1"
    kind: Literal["Pod"] = "Pod"
    metadata: Metadata
    """Name, namespace, queue and gang."""
    spec: PodSpec
    """Settings of the pod."""


class ExitCodes(Model):
    """A condition on the exit code of a failed container."""

    containerName: SubGroupName
    """Name of the container."""
    operator: Literal["NotIn"] = "NotIn"
    """Comparison of the exit code with the values."""
    values: Annotated[Many[Annotated[int, Field(ge=1, le=255)]], Field(min_length=1)]
    """Exit codes in ascending order, without duplicates."""


class PodCondition(Model):
    """A condition in the status of a pod."""

    type: Literal["DisruptionTarget"] = "DisruptionTarget"
    """DisruptionTarget: the cluster ended the pod."""
    status: Literal["True"] = "True"
    """Value that the API server adds. It compares all rules, so without this value kubectl always finds a change."""


class FailureRule(Model):
    """The effect of a failed pod on its Job, if the pod matches the rule."""

    action: Literal["Ignore", "FailJob"]
    """Ignore: the Job replaces the pod without counting the failure. FailJob: the Job fails."""
    onPodConditions: Many[PodCondition] = ()
    """Conditions; the pod must have one."""
    onExitCodes: ExitCodes | None = None
    """Condition on the exit code of the container."""


class FailurePolicy(Model):
    """The effect of failed pods on their Job. The first matching rule applies; without one, the failure counts."""

    rules: Annotated[Many[FailureRule], Field(min_length=1)]
    """The rules."""


class TemplateMetadata(Model):
    """Metadata of the pods of a Job."""

    labels: dict[str, str] = nothing()
    """Labels of the pods."""
    annotations: dict[str, str] = nothing()
    """Annotations of the pods."""


class Template(Model):
    """Template for the pods of a Job."""

    metadata: TemplateMetadata
    """Queue and gang of the pods."""
    spec: PodSpec
    """Settings of the pods."""


class JobSpec(Model):
    """Settings of a Job that runs and repeats a task."""

    parallelism: Literal[1] = 1
    """Pods that run at once."""
    completions: Literal[1] = 1
    """Pods that must succeed."""
    backoffLimit: Count
    """Counted failures that the Job tolerates."""
    podFailurePolicy: FailurePolicy
    """Rules for which failed pods count."""
    template: Template
    """Template for the pod."""


class Job(Model):
    """Kubernetes' Job: namespaced."""

    apiVersion: Literal["batch/v1"] = "batch/v1"
    kind: Literal["Job"] = "Job"
    metadata: Metadata
    """Name, namespace, queue and gang."""
    spec: JobSpec
    """Settings of the Job."""
