"""Defines the objects that `render` writes: KAI's Queue, Topology and PodGroup, and some Kubernetes objects.

The field names and bounds are those of KAI's CustomResourceDefinitions. None means that a field is absent.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from kubectl_tas.facts.kai import Feature
from kubectl_tas.model.base import AnnotationKey, AnyText, LabelKey, LabelValue, Many, Model, Text, nothing, said

ObjectName = Annotated[
    str,
    StringConstraints(max_length=253, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"),
    said("must be lower-case letters, digits, '-' and '.', a letter or digit first and last"),
]
"""An RFC 1123 subdomain."""
SubGroupName = Annotated[
    str, StringConstraints(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
]
"""An RFC 1123 label."""

Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
"""A number with format int32 in the CRDs."""


class Metadata(Model):
    """Metadata of an object that `render` writes."""

    name: ObjectName
    """Name of the object."""
    namespace: ObjectName | None = None
    """Namespace of the object, for namespaced kinds."""
    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels of the object."""
    annotations: dict[AnnotationKey, AnyText] = nothing()
    """Annotations of the object."""


class Namespace(Model):
    """Kubernetes' Namespace: cluster-scoped."""

    apiVersion: Literal["v1"] = "v1"
    kind: Literal["Namespace"] = "Namespace"
    metadata: Metadata
    """Name of the Namespace."""


class ConfigMap(Model):
    """Kubernetes' ConfigMap: namespaced."""

    apiVersion: Literal["v1"] = "v1"
    kind: Literal["ConfigMap"] = "ConfigMap"
    metadata: Metadata
    """Name and namespace of the ConfigMap."""
    immutable: bool = True
    """Whether Kubernetes refuses changes of the content."""
    data: dict[Text, AnyText] = nothing()
    """Text files."""
    binaryData: dict[Text, Text] = nothing()
    """Other files, in base64."""


class ServiceSpec(Model):
    """A Service whose only purpose is to give DNS names to pods."""

    clusterIP: Literal["None"] = "None"
    """None: a headless Service."""
    publishNotReadyAddresses: bool = True
    """Whether pods have names before they are ready. Tasks of a gang look for each other while they start."""
    selector: dict[LabelKey, LabelValue]
    """Labels of the pods."""


class Service(Model):
    """Kubernetes' Service: namespaced."""

    apiVersion: Literal["v1"] = "v1"
    kind: Literal["Service"] = "Service"
    metadata: Metadata
    """Name and namespace of the Service."""
    spec: ServiceSpec
    """The pods that get DNS names."""


KaiNumber = Annotated[int, Field(ge=-1)] | Annotated[float, Field(ge=-1, allow_inf_nan=False)]
"""An amount in the unit in which KAI counts the resource; -1: no limit."""


class Share(Model):
    """One resource of a queue; -1 means no limit."""

    quota: KaiNumber
    """Guaranteed amount."""
    limit: KaiNumber
    """The most that the queue may hold. For KAI, an absent limit means that the queue may hold nothing."""
    overQuotaWeight: Annotated[int, Field(ge=0)]
    """Weight of the queue when KAI divides unused resources among its siblings."""


class QueueResources(Model):
    """The resources that KAI divides among queues."""

    gpu: Share
    """GPUs."""
    cpu: Share
    """Cpu, in thousandths of a core."""
    memory: Share
    """Memory, in megabytes."""


class QueueSpec(Model):
    """Settings of a queue."""

    displayName: Text | None = None
    """The name that users see, if not the name of the object."""
    parentQueue: ObjectName | None = None
    """The parent queue. None at the top."""
    priority: Int32 | None = None
    """Priority of the queue among its siblings. The default of KAI is 100."""
    preemptMinRuntime: Text | None = None
    """Time that work runs before KAI may preempt it; from KAI 0.6."""
    reclaimMinRuntime: Text | None = None
    """Time that work runs before KAI may reclaim its resources; from KAI 0.6."""
    resources: QueueResources
    """Resources of the queue."""


class Queue(Model):
    """KAI's Queue: cluster-scoped."""

    apiVersion: Literal["scheduling.run.ai/v2"] = "scheduling.run.ai/v2"
    kind: Literal["Queue"] = "Queue"
    metadata: Metadata
    """Name of the queue."""
    spec: QueueSpec
    """Settings of the queue."""


class TopologyLevel(Model):
    """One level of a Topology."""

    nodeLabel: LabelKey
    """The node label whose values name the domains of this level."""
    alias: LabelKey | None = None
    """Another name of the level, for workloads; from KAI 0.17."""


class TopologySpec(Model):
    """The levels of a Topology."""

    levels: Annotated[Many[TopologyLevel], Field(min_length=1, max_length=16)]
    """The levels from the coarsest to the finest."""


class Topology(Model):
    """KAI's Topology: cluster-scoped. Until KAI 0.11 the kind is Kueue's."""

    apiVersion: Literal["kai.scheduler/v1alpha1", "kueue.x-k8s.io/v1alpha1"]
    """kai.scheduler/v1alpha1; kueue.x-k8s.io/v1alpha1 before KAI 0.12."""
    kind: Literal["Topology"] = "Topology"
    metadata: Metadata
    """Name of the Topology."""
    spec: TopologySpec
    """The levels."""


class TopologyConstraint(Model):
    """The topology levels within whose domains pods must or should run."""

    topology: Text | None = None
    """Name of the Topology."""
    requiredTopologyLevel: Text | None = None
    """The required level. All pods run in one domain of this level, or none starts."""
    preferredTopologyLevel: Text | None = None
    """The preferred level. All pods run in one domain of this level if possible."""


class SubGroup(Model):
    """A part of a gang. A Feature says that not every release of KAI has the field."""

    name: Text
    """Name of the SubGroup, unique within the PodGroup; a lower-case RFC 1123 label."""
    parent: Annotated[Text | None, Feature.SUBGROUP_TREE] = None
    """The parent SubGroup."""
    minMember: Annotated[Int32, Field(ge=0)] | None = None
    """Pods that must start together; only in SubGroups without children."""
    minSubGroup: Annotated[Annotated[Int32, Field(ge=0)] | None, Feature.MIN_SUBGROUP] = None
    """Direct children that must start together; only in SubGroups with children."""
    topologyConstraint: Annotated[TopologyConstraint | None, Feature.SUBGROUP_TREE] = None
    """Topology levels for the pods of the SubGroup."""


class PodGroupSpec(Model):
    """Settings of a gang, in the order of the manifest. A Feature says that not every release of KAI has the field."""

    queue: Annotated[LabelValue, Field(min_length=1)]
    """Name of a leaf queue. The name becomes the value of a label."""
    priorityClassName: Text | None = None
    """Name of a PriorityClass."""
    preemptibility: Annotated[Literal["preemptible", "non-preemptible"] | None, Feature.PREEMPTIBILITY] = None
    """Whether work of a higher priority may evict the gang."""
    preemptionDelay: Annotated[Text | None, Feature.PREEMPTION_DELAY] = None
    """Time that the gang waits before it evicts other work."""
    stalenessGracePeriod: Annotated[Text | None, Feature.STALENESS_GRACE] = None
    """Time that the gang may run with fewer pods than its minimum."""
    schedulingBackoff: Int32 | None = None
    """Scheduling cycles to try: -1 or 1."""
    markUnschedulable: bool | None = None
    """Whether KAI marks pods that it cannot schedule."""
    backoffLimit: Int32 | None = None
    """Failed pods before the gang fails; removed in KAI 0.15."""
    completions: Int32 | None = None
    """Successful pods before the gang succeeds; removed in KAI 0.15."""
    parallelism: Int32 | None = None
    """Pods that run at once; removed in KAI 0.15."""
    minMember: Annotated[Int32, Field(ge=1)] | None = None
    """Pods that must start together; absent with SubGroups."""
    minSubGroup: Annotated[Annotated[Int32, Field(ge=1)] | None, Feature.MIN_SUBGROUP] = None
    """SubGroups at the top that must start together."""
    topologyConstraint: Annotated[TopologyConstraint | None, Feature.TOPOLOGY] = None
    """Topology levels for all pods of the gang."""
    subGroups: Annotated[Many[SubGroup], Feature.SUBGROUPS] = ()
    """SubGroups, parents before children."""


class PodGroup(Model):
    """KAI's PodGroup: namespaced."""

    apiVersion: Literal["scheduling.run.ai/v2alpha2"] = "scheduling.run.ai/v2alpha2"
    kind: Literal["PodGroup"] = "PodGroup"
    metadata: Metadata
    """Name and namespace of the PodGroup."""
    spec: PodGroupSpec
    """Settings of the gang."""


class PriorityClass(Model):
    """Kubernetes' PriorityClass: cluster-scoped."""

    apiVersion: Literal["scheduling.k8s.io/v1"] = "scheduling.k8s.io/v1"
    kind: Literal["PriorityClass"] = "PriorityClass"
    metadata: Metadata
    """Name of the PriorityClass."""
    value: int
    """Priority of the pods. For KAI, pods below 100 are preemptible."""
    description: Text
    """Text for people."""


class GangPack(Model):
    """Topology levels, by node label."""

    required: Text | None = None
    """The required node label. All pods run in one domain of this label, or none starts."""
    preferred: Text | None = None
    """The preferred node label. All pods run in one domain of this label if possible."""


class GangConstraint(Model):
    """Topology constraint of pods."""

    packConstraint: GangPack
    """The levels."""


class GangMember(Model):
    """The pods of one PodClique."""

    name: Text
    """Name of the PodClique."""
    minReplicas: Annotated[int, Field(ge=0)]
    """Pods that must start together."""
    topologyConstraint: GangConstraint | None = None
    """Topology constraint of these pods."""


class GangPart(Model):
    """PodCliques with a common topology constraint: one replica of a scaling group."""

    name: Text
    """Name of the replica."""
    podGroupNames: Annotated[Many[Text], Field(min_length=1)]
    """PodCliques of the replica."""
    topologyConstraint: GangConstraint
    """Topology constraint of these PodCliques."""


class PodGangSpec(Model):
    """Settings of a PodGang."""

    podgroups: Annotated[Many[GangMember], Field(min_length=1)]
    """PodCliques of the gang."""
    topologyConstraint: GangConstraint | None = None
    """Topology constraint of all pods."""
    topologyConstraintGroupConfigs: Many[GangPart] = ()
    """Replicas of scaling groups in the gang. Only a base gang has them."""
    priorityClassName: Text | None = None
    """Name of a PriorityClass."""


class PodGang(Model):
    """Grove's PodGang: namespaced."""

    apiVersion: Literal["scheduler.grove.io/v1alpha1"] = "scheduler.grove.io/v1alpha1"
    kind: Literal["PodGang"] = "PodGang"
    metadata: Metadata
    """Name, namespace and topology of the gang."""
    spec: PodGangSpec
    """Settings of the gang."""
