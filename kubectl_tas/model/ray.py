"""Defines KubeRay's RayCluster, RayJob and RayService, each with a head and groups of workers."""

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
    """Template for the head pod."""


class RayWorkers(Open):
    """Identical workers of a Ray cluster."""

    groupName: Text
    """Name of the group, unique within the cluster."""
    replicas: Count | None = None
    """Workers at the start. The default is minReplicas."""
    minReplicas: Count = 0
    """The least number of workers. With 0, KAI waits for all workers."""
    numOfHosts: Positive = 1
    """Pods of one worker."""
    suspend: bool | None = None
    """Whether the group has no pods for now."""
    template: PodTemplate = PodTemplate.model_construct()
    """Template for the pods of the workers."""

    @property
    def pods(self) -> int:
        """Pods at the start."""
        workers = self.minReplicas if self.replicas is None else self.replicas
        return 0 if self.suspend else workers * self.numOfHosts


class RayClusterSpec(Open):
    """Settings of a Ray cluster."""

    headGroupSpec: RayHead
    """The head."""
    workerGroupSpecs: Many[RayWorkers] = ()
    """The workers."""


NO_CLUSTER = RayClusterSpec.model_construct(headGroupSpec=RayHead.model_construct())
"""Stands for the cluster of a RayJob that uses an existing cluster."""


class RayWorkload(Workload):
    """The base class of KubeRay's kinds, which all have a Ray cluster."""

    cluster_path: ClassVar[KeyPath]

    @property
    def cluster(self) -> RayClusterSpec:
        """The Ray cluster. Each kind has it at another path."""
        raise NotImplementedError

    def _pod_sets(self) -> Iterator[PodSet]:
        """Yields the head and the worker groups."""
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
        """The minimum of each group that omits replicas, and 0 for a suspended group. KAI looks for the suspension in a
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
    """Settings of the cluster."""

    @property
    def cluster(self) -> RayClusterSpec:
        """The Ray cluster, which is the whole spec."""
        return self.spec


class RayServiceSpec(Open):
    """Settings of a RayService."""

    rayClusterConfig: RayClusterSpec
    """The cluster that runs the service. An upgrade creates a second one."""


class RayService(RayWorkload):
    """KubeRay's RayService."""

    cluster_path = ("spec", "rayClusterConfig")
    apiVersion: Literal["ray.io/v1"]
    kind: Literal["RayService"]
    spec: RayServiceSpec
    """Settings of the service."""

    @property
    def cluster(self) -> RayClusterSpec:
        """The cluster that runs the service."""
        return self.spec.rayClusterConfig


class RayJobSpec(Open):
    """Settings of a RayJob."""

    rayClusterSpec: RayClusterSpec | None = None
    """The cluster, which exists as long as the job."""
    clusterSelector: dict[LabelKey, LabelValue] = nothing()
    """The label ray.io/cluster with the name of an existing RayCluster, instead of rayClusterSpec. KubeRay runs the job
    there, and the only pod that it creates is the submitter.
    """
    submitterPodTemplate: PodTemplate | None = None
    """Template for the pod that submits the job once the cluster is ready. The default is KubeRay's own."""


class RayJob(RayWorkload):
    """KubeRay's RayJob, with its own cluster or with an existing one."""

    cluster_path = ("spec", "rayClusterSpec")
    apiVersion: Literal["ray.io/v1"]
    kind: Literal["RayJob"]
    spec: RayJobSpec
    """Settings of the job."""

    @property
    def cluster(self) -> RayClusterSpec:
        """The cluster that the job creates, or ``NO_CLUSTER`` with a selector, which KubeRay reads first."""
        return NO_CLUSTER if self.spec.clusterSelector else self.spec.rayClusterSpec or NO_CLUSTER

    def _pod_sets(self) -> Iterator[PodSet]:
        """Yields the head, the worker groups, and the pod that submits the job."""
        yield from super()._pod_sets()
        template = self.spec.submitterPodTemplate
        if template is not None:
            pods = pod_set(f"{SUBMITTER}/pod", 1, ("spec", "submitterPodTemplate"), template)
            yield replace(pods, label=SUBMITTER, comes_late=True)


AnyRay = RayJob | RayCluster | RayService
"""Any of KubeRay's kinds."""
