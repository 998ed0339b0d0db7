"""Describes Kubeflow's XGBoostJob. Source: KAI's xgboost_grouper.go."""

from __future__ import annotations

from kubectl_tas.kinds import kubeflow

PAGE = kubeflow.job(
    "XGBoostJob",
    "xgbReplicaSpecs",
    "Master and Worker.",
    leader="Master",
    container="xgboost",
    needed=("Master", "Worker"),
    injected=(
        *("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "WORKER_ADDRS", "WORKER_PORT"),
        "PYTHONUNBUFFERED",
    ),
)
