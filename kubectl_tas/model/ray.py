"""KubeRay's RayJob: a cluster of a head and groups of workers, and the pod that submits to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from kubectl_tas.model.base import Count, KeyPath, Many, Positive, Text
from kubectl_tas.model.podtemplate import Name, Open, PodSet, PodTemplate, Workload, pod_set

HEAD, SUBMITTER = "head", "submitter"


class RayHead(Open):
    """The head of a Ray cluster."""

    template: PodTemplate = PodTemplate()
    """Its pod."""


class RayWorkers(Open):
    """Equal workers of a Ray cluster."""

    groupName: Text
    """Unique within the cluster."""
    replicas: Count | None = None
    """Workers at the start; minReplicas where it is left out."""
    minReplicas: Count = 0
    """Workers that there are at least."""
    numOfHosts: Positive = 1
    """Pods of one worker."""
    template: PodTemplate = PodTemplate()
    """Their pods."""


class RayCluster(Open):
    """A Ray cluster."""

    headGroupSpec: RayHead
    """The head."""
    workerGroupSpecs: Many[RayWorkers] = ()
    """The workers."""


class RayJobSpec(Open):
    """A job and the cluster that runs it."""

    rayClusterSpec: RayCluster
    """The cluster, which lives as long as the job."""
    submitterPodTemplate: PodTemplate | None = None
    """The pod that submits the job once the cluster is ready; KubeRay's own where it is left out."""


class RayJob(Workload):
    """KubeRay's RayJob with a cluster of its own."""

    apiVersion: Literal["ray.io/v1"]
    """ray.io/v1"""
    kind: Literal["RayJob"]
    """RayJob"""
    spec: RayJobSpec
    """The job."""

    @property
    def pod_sets(self) -> Iterator[PodSet]:
        """The head, the worker groups, and the pod that submits the job."""
        cluster = self.spec.rayClusterSpec
        path: KeyPath = ("spec", "rayClusterSpec")
        yield pod_set(HEAD, 1, (*path, "headGroupSpec", "template"), cluster.headGroupSpec.template)
        for index, group in enumerate(cluster.workerGroupSpecs):
            where = (*path, "workerGroupSpecs", index)
            workers = group.minReplicas if group.replicas is None else group.replicas
            pods = pod_set(group.groupName, workers * group.numOfHosts, (*where, "template"), group.template)
            written = Name("worker group", group.groupName, group.groupName, (*where, "groupName"))
            yield replace(pods, label=group.groupName.lower().replace("_", "-"), written=written)
        template = self.spec.submitterPodTemplate
        if template is not None:
            pods = pod_set(f"{SUBMITTER}/pod", 1, ("spec", "submitterPodTemplate"), template)
            yield replace(pods, label=SUBMITTER, comes_late=True)
