"""What is emitted: KAI's Queue, Topology and PodGroup, and the Kubernetes objects beside them.

The field names and bounds are those of KAI's CustomResourceDefinitions. None means that a field is absent.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from kubectl_tas.model.base import AnyText, LabelKey, LabelValue, Many, Model, Text, nothing

ObjectName = Annotated[
    str,
    StringConstraints(max_length=253, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"),
]
"""An RFC 1123 subdomain."""
SubGroupName = Annotated[
    str, StringConstraints(min_length=1, max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
]
"""An RFC 1123 label."""

Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
"""What the CRDs declare as format int32."""


class Metadata(Model):
    """Metadata of an emitted object."""

    name: ObjectName
    """Name of the object."""
    namespace: ObjectName | None = None
    """Namespace, for the kinds that have one."""
    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels."""
    annotations: dict[LabelKey, AnyText] = nothing()
    """Annotations."""


class Namespace(Model):
    """Kubernetes' Namespace: cluster-scoped."""

    apiVersion: Literal["v1"] = "v1"
    kind: Literal["Namespace"] = "Namespace"
    metadata: Metadata
    """Its name."""


class ConfigMap(Model):
    """Kubernetes' ConfigMap: namespaced."""

    apiVersion: Literal["v1"] = "v1"
    kind: Literal["ConfigMap"] = "ConfigMap"
    metadata: Metadata
    """Its name and namespace."""
    immutable: bool = True
    """What is in it never changes."""
    data: dict[Text, AnyText] = nothing()
    """Files that are text."""
    binaryData: dict[Text, Text] = nothing()
    """Other files, in base64."""


class ServiceSpec(Model):
    """A Service that makes the names of pods known, and nothing else."""

    clusterIP: Literal["None"] = "None"
    """None: headless."""
    publishNotReadyAddresses: bool = True
    """Names are known before their pods are ready: tasks of a gang look for each other as they start."""
    selector: dict[LabelKey, LabelValue]
    """Labels of the pods."""


class Service(Model):
    """Kubernetes' Service: namespaced."""

    apiVersion: Literal["v1"] = "v1"
    kind: Literal["Service"] = "Service"
    metadata: Metadata
    """Its name and namespace."""
    spec: ServiceSpec
    """Whose names it makes known."""


KaiNumber = Annotated[int, Field(ge=-1)] | Annotated[float, Field(ge=-1, allow_inf_nan=False)]
"""An amount in the unit in which KAI counts the resource; -1: no limit."""


class Share(Model):
    """One resource of a queue; -1 means no limit."""

    quota: KaiNumber
    """Guaranteed amount."""
    limit: KaiNumber
    """The most that the queue may hold. KAI reads an absent limit as nothing allowed."""
    overQuotaWeight: Annotated[int, Field(ge=0)]
    """Share of what nobody claims."""


class QueueResources(Model):
    """The resources that KAI divides among queues."""

    gpu: Share
    """GPUs."""
    cpu: Share
    """Thousandths of a core."""
    memory: Share
    """Megabytes."""


class QueueSpec(Model):
    """What a queue is guaranteed."""

    displayName: Text | None = None
    """What users see, where it is not the name."""
    parentQueue: ObjectName | None = None
    """The queue above; none at the top."""
    priority: Int32 | None = None
    """Among the queues beside it; KAI takes 100 where it is absent."""
    preemptMinRuntime: Text | None = None
    """How long work runs before it may be preempted; from KAI 0.6."""
    reclaimMinRuntime: Text | None = None
    """How long work runs before it may be reclaimed; from KAI 0.6."""
    resources: QueueResources
    """Its resources."""


class Queue(Model):
    """KAI's Queue: cluster-scoped."""

    apiVersion: Literal["scheduling.run.ai/v2"] = "scheduling.run.ai/v2"
    kind: Literal["Queue"] = "Queue"
    metadata: Metadata
    """Its name."""
    spec: QueueSpec
    """What it is guaranteed."""


class TopologyLevel(Model):
    """One level of a Topology."""

    nodeLabel: LabelKey
    """The node label that tells its domains apart."""
    alias: LabelKey | None = None
    """What workloads may call it; from KAI 0.17."""


class TopologySpec(Model):
    """The hierarchy."""

    levels: Annotated[Many[TopologyLevel], Field(min_length=1, max_length=16)]
    """From the coarsest to the finest."""


class Topology(Model):
    """KAI's Topology: cluster-scoped. Until KAI 0.11 it is Kueue's."""

    apiVersion: Literal["kai.scheduler/v1alpha1", "kueue.x-k8s.io/v1alpha1"]
    """kai.scheduler/v1alpha1; kueue.x-k8s.io/v1alpha1 before KAI 0.12."""
    kind: Literal["Topology"] = "Topology"
    metadata: Metadata
    """Its name."""
    spec: TopologySpec
    """The hierarchy."""


class TopologyConstraint(Model):
    """How close the pods below must run."""

    topology: Text | None = None
    """Name of the Topology."""
    requiredTopologyLevel: Text | None = None
    """All pods within one domain of this level, or none runs."""
    preferredTopologyLevel: Text | None = None
    """Within one domain of this level if possible."""


class SubGroup(Model):
    """A part of a gang."""

    name: Text
    """Unique within the PodGroup; a lower-case RFC 1123 label."""
    parent: Text | None = None
    """The SubGroup that it is a part of."""
    minMember: Annotated[Int32, Field(ge=0)] | None = None
    """Pods needed before any starts; only on leaves."""
    minSubGroup: Annotated[Int32, Field(ge=0)] | None = None
    """Direct children needed before any starts; only above leaves."""
    topologyConstraint: TopologyConstraint | None = None
    """How close its pods must run."""


class PodGroupSpec(Model):
    """A gang."""

    queue: Annotated[LabelValue, Field(min_length=1)]
    """Name of a leaf queue. It becomes the value of a label."""
    priorityClassName: Text | None = None
    """Name of a PriorityClass."""
    preemptibility: Literal["preemptible", "non-preemptible"] | None = None
    """Whether more important work may evict it."""
    minMember: Annotated[Int32, Field(ge=1)] | None = None
    """Pods needed before any starts; absent where there are SubGroups."""
    minSubGroup: Annotated[Int32, Field(ge=1)] | None = None
    """Top SubGroups needed before any starts."""
    topologyConstraint: TopologyConstraint | None = None
    """How close all its pods must run."""
    subGroups: Many[SubGroup] = ()
    """Its parts, parents before children."""
    markUnschedulable: bool | None = None
    """Whether pods are told that they cannot be scheduled."""
    schedulingBackoff: Int32 | None = None
    """Scheduling cycles to try: -1 or 1."""
    preemptionDelay: Text | None = None
    """How long it must wait before it evicts others."""
    stalenessGracePeriod: Text | None = None
    """How long it may run below its minimum."""
    backoffLimit: Int32 | None = None
    """Failed pods before the gang fails; gone from KAI 0.15."""
    completions: Int32 | None = None
    """Successful pods before the gang succeeds; gone from KAI 0.15."""
    parallelism: Int32 | None = None
    """Pods that run at once; gone from KAI 0.15."""


class PodGroup(Model):
    """KAI's PodGroup: namespaced."""

    apiVersion: Literal["scheduling.run.ai/v2alpha2"] = "scheduling.run.ai/v2alpha2"
    kind: Literal["PodGroup"] = "PodGroup"
    metadata: Metadata
    """Its name and namespace."""
    spec: PodGroupSpec
    """The gang."""


class PriorityClass(Model):
    """Kubernetes' PriorityClass: cluster-scoped."""

    apiVersion: Literal["scheduling.k8s.io/v1"] = "scheduling.k8s.io/v1"
    kind: Literal["PriorityClass"] = "PriorityClass"
    metadata: Metadata
    """Its name."""
    value: int
    """KAI takes pods below 100 for preemptible."""
    description: Text
    """For people."""


class GangPack(Model):
    """Levels by their node labels."""

    required: Text | None = None
    """All pods within one domain of this node label, or none runs."""
    preferred: Text | None = None
    """Within one domain of this node label if possible."""


class GangConstraint(Model):
    """How close pods must run."""

    packConstraint: GangPack
    """The levels."""


class GangMember(Model):
    """The pods of one PodClique."""

    name: Text
    """Name of the PodClique."""
    minReplicas: Annotated[int, Field(ge=0)]
    """Pods needed before any starts."""
    topologyConstraint: GangConstraint | None = None
    """How close they must run."""


class GangPart(Model):
    """PodCliques that share a constraint: one replica of a scaling group."""

    name: Text
    """Name of the replica."""
    podGroupNames: Annotated[Many[Text], Field(min_length=1)]
    """Its PodCliques."""
    topologyConstraint: GangConstraint
    """How close they must run."""


class PodGangSpec(Model):
    """A gang."""

    podgroups: Annotated[Many[GangMember], Field(min_length=1)]
    """Its PodCliques."""
    topologyConstraint: GangConstraint | None = None
    """How close all its pods must run."""
    topologyConstraintGroupConfigs: Many[GangPart] = ()
    """Replicas of scaling groups within the gang; only a base gang has them."""
    priorityClassName: Text | None = None
    """How important it is."""


class PodGang(Model):
    """Grove's PodGang: namespaced."""

    apiVersion: Literal["scheduler.grove.io/v1alpha1"] = "scheduler.grove.io/v1alpha1"
    kind: Literal["PodGang"] = "PodGang"
    metadata: Metadata
    """Its name, namespace and topology."""
    spec: PodGangSpec
    """The gang."""
