"""Kubernetes workloads: what is read of them. Field names are those of the kinds' own APIs."""

from __future__ import annotations

from typing import Literal

from kubectl_tas.model.base import AnyText, Count, LabelKey, LabelValue, Many, Positive, Text
from kubectl_tas.model.kubeflow import JAXJob, MPIJob, PyTorchJob, TFJob, XGBoostJob
from kubectl_tas.model.podtemplate import Meta, Open, PodTemplate, Resources, Workload
from kubectl_tas.model.ray import RayJob
from kubectl_tas.model.replicated import ReplicatedSpec


class JobSpec(Open):
    """Pods that run to completion."""

    parallelism: Count | None = None
    """Pods at a time."""
    completions: Count | None = None
    """Pods that must succeed; of an Indexed job the number of indices."""
    completionMode: AnyText | None = None
    """Indexed: each pod has an index."""
    template: PodTemplate = PodTemplate()
    """Its pods."""


class JobTemplate(Open):
    """What jobs are made from."""

    metadata: Meta = Meta()
    """Labels and annotations of the jobs."""
    spec: JobSpec = JobSpec()
    """The job."""


class Job(Workload):
    """A Kubernetes Job."""

    apiVersion: Literal["batch/v1"]
    """batch/v1"""
    kind: Literal["Job"]
    """Job"""
    spec: JobSpec
    """The job."""


class CronJobSpec(Open):
    """Jobs by the clock."""

    jobTemplate: JobTemplate
    """The jobs."""


class CronJob(Workload):
    """A Kubernetes CronJob."""

    apiVersion: Literal["batch/v1"]
    """batch/v1"""
    kind: Literal["CronJob"]
    """CronJob"""
    spec: CronJobSpec
    """The jobs."""


class Deployment(Workload):
    """A Kubernetes Deployment."""

    apiVersion: Literal["apps/v1"]
    """apps/v1"""
    kind: Literal["Deployment"]
    """Deployment"""
    spec: ReplicatedSpec
    """Its pods."""


class StatefulSetSpec(ReplicatedSpec):
    """A number of equal pods, each with a name of its own."""

    podManagementPolicy: Literal["OrderedReady", "Parallel"] = "OrderedReady"
    """When pods are made: each once the one before it is ready, or all at once."""


class StatefulSet(Workload):
    """A Kubernetes StatefulSet."""

    apiVersion: Literal["apps/v1"]
    """apps/v1"""
    kind: Literal["StatefulSet"]
    """StatefulSet"""
    spec: StatefulSetSpec
    """Its pods."""


class Dependency(Open):
    """What a replicated job waits for."""

    name: Text
    """Another replicated job."""


class ReplicatedJob(Open):
    """Equal jobs of a JobSet."""

    name: Text
    """Unique within the JobSet."""
    replicas: Count = 1
    """Jobs."""
    template: JobTemplate
    """What they are made from."""
    dependsOn: Many[Dependency] = ()
    """Replicated jobs that must be ready or complete before these are made."""


class StartupPolicy(Open):
    """In which order a JobSet starts."""

    startupPolicyOrder: Literal["AnyOrder", "InOrder"] = "AnyOrder"
    """All jobs at once, or each replicated job once the one before it is ready."""


class JobSetSpec(Open):
    """Jobs that belong together."""

    startupPolicy: StartupPolicy = StartupPolicy()
    """In which order they start."""

    replicatedJobs: Many[ReplicatedJob] = ()
    """The jobs."""


class JobSet(Workload):
    """A JobSet of the Kubernetes special interest groups."""

    apiVersion: Literal["jobset.x-k8s.io/v1alpha2"]
    """jobset.x-k8s.io/v1alpha2"""
    kind: Literal["JobSet"]
    """JobSet"""
    spec: JobSetSpec
    """The jobs."""


class Trainer(Open):
    """How a TrainJob trains."""

    numNodes: Positive | None = None
    """Pods; the runtime's own number where it is left out."""
    resourcesPerNode: Resources = Resources()
    """What each pod asks for."""


class TrainJobSpec(Open):
    """A training; its pod template is in the runtime that it names."""

    trainer: Trainer = Trainer()
    """How it trains."""
    labels: dict[LabelKey, LabelValue] = {}
    """Labels of what is made from it."""


class TrainJob(Workload):
    """Kubeflow Trainer's TrainJob."""

    apiVersion: Literal["trainer.kubeflow.org/v1alpha1"]
    """trainer.kubeflow.org/v1alpha1"""
    kind: Literal["TrainJob"]
    """TrainJob"""
    spec: TrainJobSpec
    """The training."""


class SubGroupPolicy(Open):
    """How a LeaderWorkerSet divides each of its groups."""

    subGroupSize: int | None = None
    """Pods of a part."""
    subGroupPolicyType: Literal["LeaderWorker", "LeaderExcluded"] = "LeaderWorker"
    """LeaderWorker: the leader is in the first part; LeaderExcluded: it is in none."""

    @property
    def leader_excluded(self) -> bool:
        """Whether the leader is in no part."""
        return self.subGroupPolicyType == "LeaderExcluded"


class LeaderWorkerTemplate(Open):
    """A group of a LeaderWorkerSet: one leader and its workers."""

    size: Positive = 1
    """Pods of the group, the leader included."""
    leaderTemplate: PodTemplate | None = None
    """The leader's pod; the workers' where it is left out."""
    workerTemplate: PodTemplate = PodTemplate()
    """The workers' pods."""
    subGroupPolicy: SubGroupPolicy | None = None
    """How the group is divided."""


class LeaderWorkerSetSpec(Open):
    """Equal groups of pods."""

    replicas: Count = 1
    """Groups."""
    leaderWorkerTemplate: LeaderWorkerTemplate
    """What a group is made from."""
    startupPolicy: Literal["LeaderCreated", "LeaderReady"] = "LeaderCreated"
    """When workers are made: with the leader, or once it is ready."""


class LeaderWorkerSet(Workload):
    """A LeaderWorkerSet of the Kubernetes special interest groups."""

    apiVersion: Literal["leaderworkerset.x-k8s.io/v1"]
    """leaderworkerset.x-k8s.io/v1"""
    kind: Literal["LeaderWorkerSet"]
    """LeaderWorkerSet"""
    spec: LeaderWorkerSetSpec
    """The groups."""


AnyWorkload = (
    Job
    | CronJob
    | Deployment
    | StatefulSet
    | JobSet
    | RayJob
    | TrainJob
    | PyTorchJob
    | TFJob
    | XGBoostJob
    | JAXJob
    | MPIJob
    | LeaderWorkerSet
)
"""Any workload that is read."""

WORKLOADS: tuple[type[AnyWorkload], ...] = (
    Job,
    CronJob,
    Deployment,
    StatefulSet,
    JobSet,
    RayJob,
    TrainJob,
    PyTorchJob,
    TFJob,
    XGBoostJob,
    JAXJob,
    MPIJob,
    LeaderWorkerSet,
)
"""The models, in the order in which messages list their kinds."""
