"""Describes Kubeflow's JAXJob. Source: KAI's jax_grouper.go."""

from __future__ import annotations

from kubectl_tas.kinds import kubeflow

PAGE = kubeflow.job(
    "JAXJob",
    "jaxReplicaSpecs",
    "Worker.",
    container="jax",
    needed=("Worker",),
    injected=("COORDINATOR_ADDRESS", "COORDINATOR_PORT", "NUM_PROCESSES", "PROCESS_ID", "PYTHONUNBUFFERED"),
)
