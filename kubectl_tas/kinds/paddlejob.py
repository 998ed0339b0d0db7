"""Describes Kubeflow's PaddleJob, which KAI may not read. Source: training operator 1.9."""

from __future__ import annotations

from dataclasses import replace

from kubectl_tas.kinds import kubeflow, page
from kubectl_tas.kinds.grouping import Grouping, first_pod

_FIELD = "paddleReplicaSpecs"
_AT = f"spec.{_FIELD}"
_JOB = kubeflow.job(
    "PaddleJob",
    _FIELD,
    "Master and Worker.",
    container="paddle",
    injected=(
        *("PADDLE_JOB_ID", "PADDLE_MASTER", "PADDLE_NNODES", "PADDLE_SERVER_NUM", "PADDLE_TRAINER_NUM"),
        *("POD_IP_DUMMY", "PYTHONUNBUFFERED"),
    ),
)
PAGE = replace(
    _JOB,
    fields=(),
    pods=(page.Pods(f"{_AT}.*.template", f"{_AT}.*.replicas"),),
    gang=Grouping(first_pod, one_pod_group=False, has_plugin=False, may_be_read=False),
    filled_in=page.FilledIn(),
    growth=kubeflow.elastic(_FIELD),
    refusals=replace(_JOB.refusals, kai=None),
)
