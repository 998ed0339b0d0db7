"""The Pods and Jobs that are emitted; their field names are those of Kubernetes. None means that a field is absent."""

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
    """A value that a Secret of the pod's namespace holds."""

    name: ObjectName
    """The Secret."""
    key: Text
    """Its key."""


class EnvVarSource(Model):
    """Where a value comes from."""

    secretKeyRef: SecretKeyRef
    """A Secret."""


class EnvVar(Model):
    """An environment variable."""

    name: VariableName
    """Its name."""
    value: Annotated[AnyText | None, AfterValidator(lambda text: text or None)] = None
    """Its value; None where it is empty, since an API server leaves that out, and kubectl would add it for ever."""
    valueFrom: EnvVarSource | None = None
    """Where it comes from instead."""


class ResourceList(Model):
    """Amounts of resources, as Kubernetes quantities."""

    limits: dict[AnyText, AnyText]
    """The most that is given."""
    requests: dict[AnyText, AnyText]
    """What is set aside."""


class VolumeMount(Model):
    """Where a volume appears in a container."""

    name: Text
    """The volume."""
    mountPath: Text
    """Path in the container."""
    subPath: Text | None = None
    """The one file of the volume that appears there."""
    readOnly: bool | None = None
    """Whether nothing can be written to it."""


class SecurityContext(Model):
    """What a container may do to its node."""

    privileged: bool
    """Everything."""


class Container(Model):
    """The one container of a pod."""

    name: SubGroupName
    """Name of the task."""
    image: Image
    """Image."""
    command: Many[AnyText] = ()
    """Entry point."""
    args: Many[AnyText] = ()
    """Arguments."""
    env: Many[EnvVar] = ()
    """Environment."""
    resources: ResourceList | None = None
    """What it asks for."""
    securityContext: SecurityContext | None = None
    """What it may do."""
    volumeMounts: Many[VolumeMount] = ()
    """Mounted volumes."""


class HostPath(Model):
    """A path of the node."""

    path: Text
    """Absolute."""


class ConfigMapFiles(Model):
    """The files of a ConfigMap."""

    name: ObjectName
    """The ConfigMap."""
    defaultMode: int
    """Mode of its files."""


class SecretFiles(Model):
    """The files of a Secret."""

    secretName: ObjectName
    """The Secret."""
    defaultMode: int
    """Mode of its files."""


class EmptyDir(Model):
    """An empty folder that lives as long as its pod."""


class Volume(Model):
    """A volume of a pod: one of its sources."""

    name: Text
    """What mounts call it."""
    hostPath: HostPath | None = None
    """A path of the node."""
    configMap: ConfigMapFiles | None = None
    """A ConfigMap."""
    secret: SecretFiles | None = None
    """A Secret."""
    emptyDir: EmptyDir | None = None
    """Nothing at first."""


class NodeSelectorRequirement(Model):
    """A condition on a node's label."""

    key: LabelKey
    """The label."""
    operator: Literal["NotIn"] = "NotIn"
    """How it is compared."""
    values: Annotated[Many[AnyText], Field(min_length=1)]
    """With what."""


class NodeSelectorTerm(Model):
    """Conditions that must all hold."""

    matchExpressions: Annotated[Many[NodeSelectorRequirement], Field(min_length=1)]
    """The conditions."""


class NodeSelector(Model):
    """Terms of which one must hold."""

    nodeSelectorTerms: Annotated[Many[NodeSelectorTerm], Field(min_length=1)]
    """The terms."""


class NodeAffinity(Model):
    """Where a pod may run."""

    requiredDuringSchedulingIgnoredDuringExecution: NodeSelector
    """What a node must fulfil when the pod is placed."""


class Affinity(Model):
    """What a pod is drawn to or kept from."""

    nodeAffinity: NodeAffinity
    """Nodes."""


class PodSpec(Model):
    """How a pod runs."""

    schedulerName: Text
    """Who places it."""
    priorityClassName: Text
    """How important it is."""
    restartPolicy: Literal["Never"] = "Never"
    """A task runs once."""
    hostname: SubGroupName | None = None
    """Its name below that of its Service."""
    subdomain: SubGroupName | None = None
    """The headless Service that makes its name known."""
    activeDeadlineSeconds: Annotated[int, Field(ge=1, le=MAX_COUNT)] | None = None
    """How long it may run, from when its node has accepted it."""
    hostNetwork: bool | None = None
    """Whether it shares the node's network."""
    dnsPolicy: Text | None = None
    """Set where hostNetwork would change it."""
    nodeSelector: dict[LabelKey, LabelValue] = nothing()
    """Labels of the nodes that it may run on."""
    affinity: Affinity | None = None
    """Which nodes it keeps away from."""
    tolerations: Many[Toleration] = ()
    """Taints of nodes that it may run on all the same."""
    containers: Annotated[Many[Container], Field(min_length=1)]
    """Its container."""
    volumes: Many[Volume] = ()
    """Its volumes."""


class Pod(Model):
    """Kubernetes' Pod: namespaced."""

    apiVersion: Literal["v1"] = "v1"
    kind: Literal["Pod"] = "Pod"
    metadata: Metadata
    """Name, namespace, queue and gang."""
    spec: PodSpec
    """How it runs."""


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
    kind: Literal["Job"] = "Job"
    metadata: Metadata
    """Name, namespace, queue and gang."""
    spec: JobSpec
    """How it runs."""
