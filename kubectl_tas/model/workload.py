"""Kubernetes workloads: what is read of them. Their many other fields stay with the document and pass untouched.

Field names are those of the kinds' own APIs. Unlike the tool's own kinds these models ignore what they do not know:
the API server, not this tool, decides what else a workload may have.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from kubectl_tas.model.base import Count, LabelKey, LabelValue, Many, Model, Text, said

Gpus = Count | Annotated[str, StringConstraints(pattern=r"^[0-9]{1,9}$"), said("must be whole GPUs, such as 8")]
"""GPUs of a container; Kubernetes takes the number with or without quotes."""


class Open(Model):
    """A mapping of which a part is read."""

    model_config = ConfigDict(extra="ignore")


class Amounts(Open):
    """Amounts of resources."""

    gpu: Annotated[Gpus | None, Field(alias="nvidia.com/gpu")] = None
    """Whole GPUs."""


class Resources(Open):
    """What a container asks for."""

    limits: Amounts = Amounts()
    """The most that it gets; GPUs are asked for here."""
    requests: Amounts = Amounts()
    """What is set aside; for GPUs the same as limits."""


class Container(Open):
    """A container of a pod template."""

    resources: Resources = Resources()
    """What it asks for."""
    restartPolicy: str | None = None
    """Always on an init container: a sidecar, which runs beside the containers."""


class PodSpec(Open):
    """How the pods of a template run."""

    containers: Many[Container] = ()
    """Run side by side."""
    initContainers: Many[Container] = ()
    """Run one after the other before the containers."""


class Meta(Open):
    """Labels and annotations."""

    labels: dict[LabelKey, LabelValue] = {}
    """Labels."""
    annotations: dict[LabelKey, str] = {}
    """Annotations."""


class RootMeta(Meta):
    """Metadata of a workload."""

    name: Text
    """Name of the object. A generateName cannot be applied twice, so it is not accepted."""
    namespace: Text | None = None
    """Where it runs; the namespace of the pool's backend."""


class PodTemplate(Open):
    """What pods are made from."""

    metadata: Meta = Meta()
    """Their labels and annotations; segments are asked for here."""
    spec: PodSpec = PodSpec()
    """How they run."""


class Workload(Open):
    """What all workloads have."""

    metadata: RootMeta
    """Its name, pool (the label kubectl-tas/pool), priority (kubectl-tas/priority) and placement."""


class JobSpec(Open):
    """Pods that run to completion."""

    parallelism: Count | None = None
    """Pods at a time."""
    completions: Count | None = None
    """Pods that must succeed; of an Indexed job the number of indices."""
    completionMode: str | None = None
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


class ReplicatedSpec(Open):
    """A number of equal pods."""

    replicas: Count = 1
    """Pods."""
    template: PodTemplate = PodTemplate()
    """What they are made from."""


class Deployment(Workload):
    """A Kubernetes Deployment."""

    apiVersion: Literal["apps/v1"]
    """apps/v1"""
    kind: Literal["Deployment"]
    """Deployment"""
    spec: ReplicatedSpec
    """Its pods."""


class StatefulSet(Workload):
    """A Kubernetes StatefulSet."""

    apiVersion: Literal["apps/v1"]
    """apps/v1"""
    kind: Literal["StatefulSet"]
    """StatefulSet"""
    spec: ReplicatedSpec
    """Its pods."""


class ReplicatedJob(Open):
    """Equal jobs of a JobSet."""

    name: Text
    """Unique within the JobSet."""
    replicas: Count = 1
    """Jobs."""
    template: JobTemplate
    """What they are made from."""


class JobSetSpec(Open):
    """Jobs that belong together."""

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
    numOfHosts: Annotated[int, Field(ge=1)] = 1
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


class RayJob(Workload):
    """KubeRay's RayJob with a cluster of its own."""

    apiVersion: Literal["ray.io/v1"]
    """ray.io/v1"""
    kind: Literal["RayJob"]
    """RayJob"""
    spec: RayJobSpec
    """The job."""


class Trainer(Open):
    """How a TrainJob trains."""

    numNodes: Annotated[int, Field(ge=1)] | None = None
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


class SchedulingPolicy(Open):
    """How a Kubeflow job is scheduled."""

    minAvailable: int | None = None
    """Pods needed before any starts."""


class RunPolicy(Open):
    """How a Kubeflow job runs."""

    schedulingPolicy: SchedulingPolicy = SchedulingPolicy()
    """How it is scheduled."""


class KubeflowSpec(Open):
    """What the specs of Kubeflow's jobs share."""

    runPolicy: RunPolicy = RunPolicy()
    """How the job runs."""


ReplicaSpecs = Annotated[dict[str, ReplicatedSpec], Field(min_length=1)]
"""Pods by replica type, such as Worker."""


class ElasticPolicy(Open):
    """How far a PyTorchJob may shrink and grow."""

    minReplicas: int | None = None
    """Pods that it can run with."""


class PyTorchJobSpec(KubeflowSpec):
    """A training with PyTorch."""

    pytorchReplicaSpecs: ReplicaSpecs
    """Master and Worker."""
    elasticPolicy: ElasticPolicy = ElasticPolicy()
    """How far it may shrink and grow."""


class PyTorchJob(Workload):
    """Kubeflow's PyTorchJob."""

    apiVersion: Literal["kubeflow.org/v1"]
    """kubeflow.org/v1"""
    kind: Literal["PyTorchJob"]
    """PyTorchJob"""
    spec: PyTorchJobSpec
    """The training."""


class TFJobSpec(KubeflowSpec):
    """A training with TensorFlow."""

    tfReplicaSpecs: ReplicaSpecs
    """Chief, Master, PS, Worker and Evaluator."""


class TFJob(Workload):
    """Kubeflow's TFJob."""

    apiVersion: Literal["kubeflow.org/v1"]
    """kubeflow.org/v1"""
    kind: Literal["TFJob"]
    """TFJob"""
    spec: TFJobSpec
    """The training."""


class XGBoostJobSpec(KubeflowSpec):
    """A training with XGBoost."""

    xgbReplicaSpecs: ReplicaSpecs
    """Master and Worker."""


class XGBoostJob(Workload):
    """Kubeflow's XGBoostJob."""

    apiVersion: Literal["kubeflow.org/v1"]
    """kubeflow.org/v1"""
    kind: Literal["XGBoostJob"]
    """XGBoostJob"""
    spec: XGBoostJobSpec
    """The training."""


class JAXJobSpec(KubeflowSpec):
    """A training with JAX."""

    jaxReplicaSpecs: ReplicaSpecs
    """Worker."""


class JAXJob(Workload):
    """Kubeflow's JAXJob."""

    apiVersion: Literal["kubeflow.org/v1"]
    """kubeflow.org/v1"""
    kind: Literal["JAXJob"]
    """JAXJob"""
    spec: JAXJobSpec
    """The training."""


class MPIJobSpec(KubeflowSpec):
    """A job of MPI ranks."""

    mpiReplicaSpecs: ReplicaSpecs
    """Launcher and Worker."""


class MPIJob(Workload):
    """Kubeflow's MPIJob, of the training operator (v1) or of the MPI operator (v2beta1)."""

    apiVersion: Literal["kubeflow.org/v2beta1", "kubeflow.org/v1"]
    """kubeflow.org/v2beta1 or kubeflow.org/v1"""
    kind: Literal["MPIJob"]
    """MPIJob"""
    spec: MPIJobSpec
    """The job."""


class SubGroupPolicy(Open):
    """How a LeaderWorkerSet divides each of its groups."""

    subGroupSize: int | None = None
    """Pods of a part."""
    subGroupPolicyType: Literal["LeaderWorker", "LeaderExcluded"] = "LeaderWorker"
    """LeaderWorker: the leader is in the first part; LeaderExcluded: it is in none."""


class LeaderWorkerTemplate(Open):
    """A group of a LeaderWorkerSet: one leader and its workers."""

    size: Annotated[int, Field(ge=1)] = 1
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
