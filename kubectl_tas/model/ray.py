"""KubeRay's RayCluster, RayJob and RayService: a cluster of a head and groups of workers, and who uses it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Literal

from kubectl_tas.model.base import Count, KeyPath, LabelKey, LabelValue, Many, Positive, Text, nothing
from kubectl_tas.model.podtemplate import Name, Open, PodSet, PodTemplate, Workload, pod_set

HEAD, SUBMITTER = "head", "submitter"


class RayHead(Open):
    """The head of a Ray cluster."""

    template: PodTemplate = PodTemplate.model_construct()
    """Its pod."""


class RayWorkers(Open):
    """Equal workers of a Ray cluster."""

    groupName: Text
    """Unique within the cluster."""
    replicas: Count | None = None
    """Workers at the start; minReplicas where it is left out."""
    minReplicas: Count = 0
    """Workers that there are at least; with 0 KAI waits for all."""
    numOfHosts: Positive = 1
    """Pods of one worker."""
    suspend: bool | None = None
    """Whether it has no pods for now."""
    template: PodTemplate = PodTemplate.model_construct()
    """Their pods."""

    @property
    def pods(self) -> int:
        """Pods at the start."""
        workers = self.minReplicas if self.replicas is None else self.replicas
        return 0 if self.suspend else workers * self.numOfHosts


class RayClusterSpec(Open):
    """A Ray cluster."""

    headGroupSpec: RayHead
    """The head."""
    workerGroupSpecs: Many[RayWorkers] = ()
    """The workers."""


NO_CLUSTER = RayClusterSpec.model_construct(headGroupSpec=RayHead.model_construct())
"""In place of the cluster of a RayJob that sends its work to one that is there."""


class RayWorkload(Workload):
    """What KubeRay's kinds share: a Ray cluster."""

    cluster_path: ClassVar[KeyPath]

    @property
    def cluster(self) -> RayClusterSpec:
        """The cluster, which each kind has in a place of its own."""
        raise NotImplementedError

    def _pod_sets(self) -> Iterator[PodSet]:
        """The head and the worker groups."""
        path = self.cluster_path
        if self.cluster is NO_CLUSTER:
            return
        yield pod_set(HEAD, 1, (*path, "headGroupSpec", "template"), self.cluster.headGroupSpec.template)
        for index, group in enumerate(self.cluster.workerGroupSpecs):
            where = (*path, "workerGroupSpecs", index)
            pods = pod_set(group.groupName, group.pods, (*where, "template"), group.template)
            written = Name("worker group", group.groupName, group.groupName, (*where, "groupName"))
            yield replace(pods, label=group.groupName.lower().replace("_", "-"), written=written)

    @property
    def implied_counts(self) -> Iterator[tuple[KeyPath, int]]:
        """The workers of a group that there are at least; none of one that is suspended, as KAI looks for that in a
        field of another name.
        """
        for index, group in enumerate(self.cluster.workerGroupSpecs):
            path: KeyPath = (*self.cluster_path, "workerGroupSpecs", index)
            if group.suspend:
                yield from (((*path, name), 0) for name in ("replicas", "minReplicas") if getattr(group, name))
            elif group.replicas is None and group.minReplicas > 0:
                yield (*path, "replicas"), group.minReplicas


class RayCluster(RayWorkload):
    """KubeRay's RayCluster."""

    cluster_path = ("spec",)
    apiVersion: Literal["ray.io/v1"]
    kind: Literal["RayCluster"]
    spec: RayClusterSpec
    """The cluster."""

    @property
    def cluster(self) -> RayClusterSpec:
        """All of it."""
        return self.spec


class RayServiceSpec(Open):
    """A service and the cluster that runs it."""

    rayClusterConfig: RayClusterSpec
    """The cluster; an upgrade makes a second one."""


class RayService(RayWorkload):
    """KubeRay's RayService."""

    cluster_path = ("spec", "rayClusterConfig")
    apiVersion: Literal["ray.io/v1"]
    kind: Literal["RayService"]
    spec: RayServiceSpec
    """The service."""

    @property
    def cluster(self) -> RayClusterSpec:
        """The cluster that runs it."""
        return self.spec.rayClusterConfig


class RayJobSpec(Open):
    """A job and the cluster that runs it."""

    rayClusterSpec: RayClusterSpec | None = None
    """The cluster, which lives as long as the job."""
    clusterSelector: dict[LabelKey, LabelValue] = nothing()
    """The label ray.io/cluster, with the name of a RayCluster that runs already, in place of rayClusterSpec: KubeRay
    sends the job there and makes no pods for it but the one that submits it.
    """
    submitterPodTemplate: PodTemplate | None = None
    """The pod that submits the job once the cluster is ready; KubeRay's own where it is left out."""


class RayJob(RayWorkload):
    """KubeRay's RayJob, with a cluster of its own or for one that is there."""

    cluster_path = ("spec", "rayClusterSpec")
    apiVersion: Literal["ray.io/v1"]
    kind: Literal["RayJob"]
    spec: RayJobSpec
    """The job."""

    @property
    def cluster(self) -> RayClusterSpec:
        """The cluster that it makes: KubeRay looks at the selector first."""
        return NO_CLUSTER if self.spec.clusterSelector else self.spec.rayClusterSpec or NO_CLUSTER

    def _pod_sets(self) -> Iterator[PodSet]:
        """The head, the worker groups, and the pod that submits the job."""
        yield from super()._pod_sets()
        template = self.spec.submitterPodTemplate
        if template is not None:
            pods = pod_set(f"{SUBMITTER}/pod", 1, ("spec", "submitterPodTemplate"), template)
            yield replace(pods, label=SUBMITTER, comes_late=True)


AnyRay = RayJob | RayCluster | RayService
"""What KubeRay makes pods of."""
