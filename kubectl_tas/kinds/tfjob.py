"""Describes Kubeflow's TFJob. Source: KAI's tensorflow_grouper.go."""

from __future__ import annotations

from kubectl_tas.kinds import kubeflow

PAGE = kubeflow.job(
    "TFJob",
    "tfReplicaSpecs",
    "Chief, Master, PS, Worker and Evaluator.",
    container="tensorflow",
    injected=("TF_CONFIG",),
    endless="PS",
)
