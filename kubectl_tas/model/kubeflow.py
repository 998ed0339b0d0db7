"""Kubeflow's training jobs: pods by replica type, and how many of them are needed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kubectl_tas.model.base import AnyText
from kubectl_tas.model.podtemplate import Open, Workload
from kubectl_tas.model.replicated import ReplicatedSpec


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


ReplicaSpecs = Annotated[dict[AnyText, ReplicatedSpec], Field(min_length=1)]
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
    launcherCreationPolicy: Literal["AtStartup", "WaitForWorkersReady"] = "AtStartup"
    """When the launcher is made: at once, or when all workers are ready. Of v2beta1 only."""


class MPIJob(Workload):
    """Kubeflow's MPIJob, of the training operator (v1) or of the MPI operator (v2beta1)."""

    apiVersion: Literal["kubeflow.org/v2beta1", "kubeflow.org/v1"]
    """kubeflow.org/v2beta1 or kubeflow.org/v1"""
    kind: Literal["MPIJob"]
    """MPIJob"""
    spec: MPIJobSpec
    """The job."""
