"""KubeRay's RayJob: a cluster of a head and groups of workers, and the pod that submits to it."""

from __future__ import annotations

from typing import Literal

from kubectl_tas.model.base import Count, Many, Positive, Text
from kubectl_tas.model.podtemplate import Open, PodTemplate, Workload


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
