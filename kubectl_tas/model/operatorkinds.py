"""Defines the kinds of two operators, whose pods have roles.

Kubeflow's training jobs have pods of each replica type, and a minimum number of pods. KubeRay's RayCluster, RayJob and
RayService each have a head and groups of workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, cast

from pydantic import Field

from kubectl_tas.model import labels
from kubectl_tas.model.base import AnyText, Count, KeyPath, LabelKey, LabelValue, Many, Positive, Text, nothing
from kubectl_tas.model.kindlists import REPLICA_TYPE
from kubectl_tas.model.podtemplate import Name, Open, PodSet, PodTemplate, ReplicatedSpec, Resources, Workload, pod_set


class SchedulingPolicy(Open):
    """Scheduling settings of a Kubeflow job."""

    minAvailable: int | None = None
    """Pods that must start together."""


class RunPolicy(Open):
    """Run settings of a Kubeflow job."""

    schedulingPolicy: SchedulingPolicy = SchedulingPolicy.model_construct()
    """Scheduling settings of the job."""


class KubeflowSpec(Open):
    """The base class for the specs of Kubeflow's jobs."""

    runPolicy: RunPolicy = RunPolicy.model_construct()
    """Run settings of the job."""


ReplicaSpecs = Annotated[dict[AnyText, ReplicatedSpec], Field(min_length=1)]
"""Pods by replica type, such as Worker."""


class KubeflowJob(Workload):
    """The base class of Kubeflow's jobs: pods by replica type, with a minimum number of pods."""

    replica_specs: ClassVar[str]  # the field of the spec that has the replica types

    @property
    def _job(self) -> KubeflowSpec:
        """The spec, which each kind declares with its own type."""
        return cast(KubeflowSpec, getattr(self, "spec"))  # noqa: B009

    def _pod_sets(self) -> Iterator[PodSet]:
        """Yields the pods of each replica type."""
        specs: dict[str, ReplicatedSpec] = getattr(self._job, self.replica_specs)
        for name, spec in specs.items():
            path = ("spec", self.replica_specs, name)
            pods = pod_set(name, spec.replicas, (*path, "template"), spec.template)
            written = Name(REPLICA_TYPE, name, name.lower(), path, is_key=True)
            yield replace(pods, index_label=labels.KUBEFLOW_INDEX, label=name.lower(), written=written)

    @property
    def implied_counts(self) -> Iterator[tuple[KeyPath, int]]:
        """One pod for each replica type that omits replicas."""
        specs: dict[str, ReplicatedSpec] = getattr(self._job, self.replica_specs)
        for name, spec in specs.items():
            if "replicas" not in spec.model_fields_set:
                yield ("spec", self.replica_specs, name, "replicas"), spec.replicas

    @property
    def replica_types(self) -> dict[str, int]:
        """The number of pods of each replica type."""
        specs: dict[str, ReplicatedSpec] = getattr(self._job, self.replica_specs)
        return {name: spec.replicas for name, spec in specs.items()}

    @property
    def min_available(self) -> int | None:
        """The minimum number of pods in the scheduling policy."""
        return self._job.runPolicy.schedulingPolicy.minAvailable

    @property
    def minimum(self) -> tuple[int | None, KeyPath | None]:
        """The minimum number of pods that the job states, and its path."""
        asked, path = self.min_available, ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
        return (None, None) if asked is None else (asked, path)


class ElasticPolicy(Open):
    """Limits for the size of a PyTorchJob."""

    minReplicas: int | None = None
    """The least number of pods with which the job can run."""


class PyTorchJobSpec(KubeflowSpec):
    """Settings of a PyTorchJob."""

    pytorchReplicaSpecs: ReplicaSpecs
    """Master and Worker."""
    elasticPolicy: ElasticPolicy = ElasticPolicy.model_construct()
    """Limits for the size of the job."""


class PyTorchJob(KubeflowJob):
    """Kubeflow's PyTorchJob."""

    replica_specs = "pytorchReplicaSpecs"
    divided = "Worker"
    apiVersion: Literal["kubeflow.org/v1"]
    kind: Literal["PyTorchJob"]
    spec: PyTorchJobSpec
    """Settings of the training."""

    @property
    def minimum(self) -> tuple[int | None, KeyPath | None]:
        """The minimum of the scheduling policy, else that of the elastic policy, and its path."""
        asked, path = super().minimum
        if asked is None and self.spec.elasticPolicy.minReplicas is not None:
            return self.spec.elasticPolicy.minReplicas, ("spec", "elasticPolicy", "minReplicas")
        return asked, path


class TFJobSpec(KubeflowSpec):
    """Settings of a TFJob."""

    tfReplicaSpecs: ReplicaSpecs
    """Chief, Master, PS, Worker and Evaluator."""


class TFJob(KubeflowJob):
    """Kubeflow's TFJob."""

    replica_specs = "tfReplicaSpecs"
    apiVersion: Literal["kubeflow.org/v1"]
    kind: Literal["TFJob"]
    spec: TFJobSpec
    """Settings of the training."""


class XGBoostJobSpec(KubeflowSpec):
    """Settings of an XGBoostJob."""

    xgbReplicaSpecs: ReplicaSpecs
    """Master and Worker."""


class XGBoostJob(KubeflowJob):
    """Kubeflow's XGBoostJob."""

    replica_specs = "xgbReplicaSpecs"
    apiVersion: Literal["kubeflow.org/v1"]
    kind: Literal["XGBoostJob"]
    spec: XGBoostJobSpec
    """Settings of the training."""


class JAXJobSpec(KubeflowSpec):
    """Settings of a JAXJob."""

    jaxReplicaSpecs: ReplicaSpecs
    """Worker."""


class JAXJob(KubeflowJob):
    """Kubeflow's JAXJob."""

    replica_specs = "jaxReplicaSpecs"
    apiVersion: Literal["kubeflow.org/v1"]
    kind: Literal["JAXJob"]
    spec: JAXJobSpec
    """Settings of the training."""


class MPIJobSpec(KubeflowSpec):
    """Settings of a job with MPI ranks."""

    mpiReplicaSpecs: ReplicaSpecs
    """Launcher and Worker."""
    launcherCreationPolicy: Literal["AtStartup", "WaitForWorkersReady"] = "AtStartup"
    """The time at which the controller creates the launcher: at once, or when all workers are ready. v2beta1 only."""


class MPIJob(KubeflowJob):
    """Kubeflow's MPIJob, of the training operator (v1) or of the MPI operator (v2beta1)."""

    replica_specs = "mpiReplicaSpecs"
    apiVersion: Literal["kubeflow.org/v2beta1", "kubeflow.org/v1"]
    kind: Literal["MPIJob"]
    spec: MPIJobSpec
    """Settings of the job."""


AnyTrainingJob = PyTorchJob | TFJob | XGBoostJob | JAXJob | MPIJob
"""A job of the training operator or of the MPI operator."""


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
        """Pods at the start: at least the minimum (``GetWorkerGroupDesiredReplicas`` of KubeRay 1.7)."""
        return 0 if self.suspend else max(self.minReplicas, self.replicas or 0) * self.numOfHosts


class RayAutoscaler(Open):
    """Settings of the autoscaler, a container that KubeRay adds to the head."""

    resources: Resources = Resources.model_construct()
    """Resource requests and limits of the container. KubeRay's own are 500m cpu and 512Mi memory."""


class RayClusterSpec(Open):
    """Settings of a Ray cluster."""

    enableInTreeAutoscaling: bool = False
    """Whether KubeRay adds the autoscaler to the head."""
    autoscalerOptions: RayAutoscaler = RayAutoscaler.model_construct()
    """Settings of the autoscaler."""
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
        head = pod_set(HEAD, 1, (*path, "headGroupSpec", "template"), self.cluster.headGroupSpec.template)
        if self.cluster.enableInTreeAutoscaling:  # mergeAutoscalerOverrides of KubeRay 1.7
            head = head.with_container((*path, "autoscalerOptions"), self.cluster.autoscalerOptions.resources)
        yield head
        for index, group in enumerate(self.cluster.workerGroupSpecs):
            where = (*path, "workerGroupSpecs", index)
            pods = pod_set(group.groupName, group.pods, (*where, "template"), group.template)
            written = Name("worker group", group.groupName, group.groupName, (*where, "groupName"))
            yield replace(pods, label=group.groupName.lower().replace("_", "-"), written=written)

    @property
    def implied_counts(self) -> Iterator[tuple[KeyPath, int]]:
        """The minimum of each group that omits replicas or has fewer, and 0 for a suspended group. KAI looks for the
        suspension in a field of another name.
        """
        for index, group in enumerate(self.cluster.workerGroupSpecs):
            path: KeyPath = (*self.cluster_path, "workerGroupSpecs", index)
            if group.suspend:
                yield from (((*path, name), 0) for name in ("replicas", "minReplicas") if getattr(group, name))
            elif (group.replicas or 0) < group.minReplicas:
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
