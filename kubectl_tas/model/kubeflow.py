"""Kubeflow's training jobs: pods by replica type, and how many of them are needed."""

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
    """How a Kubeflow job is scheduled."""

    minAvailable: int | None = None
    """Pods needed before any starts."""


class RunPolicy(Open):
    """How a Kubeflow job runs."""

    schedulingPolicy: SchedulingPolicy = SchedulingPolicy.model_construct()
    """How it is scheduled."""


class KubeflowSpec(Open):
    """What the specs of Kubeflow's jobs share."""

    runPolicy: RunPolicy = RunPolicy.model_construct()
    """How the job runs."""


ReplicaSpecs = Annotated[dict[AnyText, ReplicatedSpec], Field(min_length=1)]
"""Pods by replica type, such as Worker."""


class KubeflowJob(Workload):
    """What Kubeflow's jobs share: pods by replica type, and a minimum of them."""

    replica_specs: ClassVar[str]  # the field of the spec that has the replica types

    @property
    def _job(self) -> KubeflowSpec:
        """The spec, which each kind declares as its own."""
        return cast(KubeflowSpec, getattr(self, "spec"))  # noqa: B009

    def _pod_sets(self) -> Iterator[PodSet]:
        """The pods of each replica type."""
        specs: dict[str, ReplicatedSpec] = getattr(self._job, self.replica_specs)
        for name, spec in specs.items():
            path = ("spec", self.replica_specs, name)
            pods = pod_set(name, spec.replicas, (*path, "template"), spec.template)
            written = Name(REPLICA_TYPE, name, name.lower(), path, is_key=True)
            yield replace(pods, index_label=labels.KUBEFLOW_INDEX, label=name.lower(), written=written)

    @property
    def implied_counts(self) -> Iterator[tuple[KeyPath, int]]:
        """One pod of a replica type."""
        specs: dict[str, ReplicatedSpec] = getattr(self._job, self.replica_specs)
        for name, spec in specs.items():
            if "replicas" not in spec.model_fields_set:
                yield ("spec", self.replica_specs, name, "replicas"), spec.replicas

    @property
    def replica_types(self) -> dict[str, int]:
        """The pods of each replica type."""
        specs: dict[str, ReplicatedSpec] = getattr(self._job, self.replica_specs)
        return {name: spec.replicas for name, spec in specs.items()}

    @property
    def min_available(self) -> int | None:
        """How many pods its scheduling policy says it needs."""
        return self._job.runPolicy.schedulingPolicy.minAvailable

    @property
    def minimum(self) -> tuple[int | None, KeyPath | None]:
        """How many pods the job says it needs, and where."""
        asked, path = self.min_available, ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
        return (None, None) if asked is None else (asked, path)


class ElasticPolicy(Open):
    """How far a PyTorchJob may shrink and grow."""

    minReplicas: int | None = None
    """Pods that it can run with."""


class PyTorchJobSpec(KubeflowSpec):
    """A training with PyTorch."""

    pytorchReplicaSpecs: ReplicaSpecs
    """Master and Worker."""
    elasticPolicy: ElasticPolicy = ElasticPolicy.model_construct()
    """How far it may shrink and grow."""


class PyTorchJob(KubeflowJob):
    """Kubeflow's PyTorchJob."""

    replica_specs = "pytorchReplicaSpecs"
    divided = "Worker"
    apiVersion: Literal["kubeflow.org/v1"]
    kind: Literal["PyTorchJob"]
    spec: PyTorchJobSpec
    """The training."""

    @property
    def minimum(self) -> tuple[int | None, KeyPath | None]:
        """As for all, else what an elastic job can run with."""
        asked, path = super().minimum
        if asked is None and self.spec.elasticPolicy.minReplicas is not None:
            return self.spec.elasticPolicy.minReplicas, ("spec", "elasticPolicy", "minReplicas")
        return asked, path


class TFJobSpec(KubeflowSpec):
    """A training with TensorFlow."""

    tfReplicaSpecs: ReplicaSpecs
    """Chief, Master, PS, Worker and Evaluator."""


class TFJob(KubeflowJob):
    """Kubeflow's TFJob."""

    replica_specs = "tfReplicaSpecs"
    apiVersion: Literal["kubeflow.org/v1"]
    kind: Literal["TFJob"]
    spec: TFJobSpec
    """The training."""


class XGBoostJobSpec(KubeflowSpec):
    """A training with XGBoost."""

    xgbReplicaSpecs: ReplicaSpecs
    """Master and Worker."""


class XGBoostJob(KubeflowJob):
    """Kubeflow's XGBoostJob."""

    replica_specs = "xgbReplicaSpecs"
    apiVersion: Literal["kubeflow.org/v1"]
    kind: Literal["XGBoostJob"]
    spec: XGBoostJobSpec
    """The training."""


class JAXJobSpec(KubeflowSpec):
    """A training with JAX."""

    jaxReplicaSpecs: ReplicaSpecs
    """Worker."""


class JAXJob(KubeflowJob):
    """Kubeflow's JAXJob."""

    replica_specs = "jaxReplicaSpecs"
    apiVersion: Literal["kubeflow.org/v1"]
    kind: Literal["JAXJob"]
    spec: JAXJobSpec
    """The training."""


class MPIJobSpec(KubeflowSpec):
    """A job of MPI ranks."""

    mpiReplicaSpecs: ReplicaSpecs
    """Launcher and Worker."""
    launcherCreationPolicy: Literal["AtStartup", "WaitForWorkersReady"] = "AtStartup"
    """When the launcher is made: at once, or when all workers are ready. Of v2beta1 only."""


class MPIJob(KubeflowJob):
    """Kubeflow's MPIJob, of the training operator (v1) or of the MPI operator (v2beta1)."""

    replica_specs = "mpiReplicaSpecs"
    apiVersion: Literal["kubeflow.org/v2beta1", "kubeflow.org/v1"]
    kind: Literal["MPIJob"]
    spec: MPIJobSpec
    """The job."""


AnyTrainingJob = PyTorchJob | TFJob | XGBoostJob | JAXJob | MPIJob
"""A job of the training operator or of the MPI operator."""
