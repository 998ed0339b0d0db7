"""Defines Kubeflow's training jobs, with the pods of each replica type and the minimum number of pods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, cast

from pydantic import Field

from kubectl_tas.model import labels
from kubectl_tas.model.base import AnyText, KeyPath
from kubectl_tas.model.kindlists import REPLICA_TYPE
from kubectl_tas.model.podtemplate import Name, Open, PodSet, ReplicatedSpec, Workload, pod_set


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
