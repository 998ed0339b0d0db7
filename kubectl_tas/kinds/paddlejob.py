"""Describes Kubeflow's PaddleJob, which KAI may not read. Source: training operator 1.9."""

from __future__ import annotations

from dataclasses import replace

from kubectl_tas.kinds import kubeflow, page
from kubectl_tas.kinds.grouping import Grouping, first_pod

_AT = "spec.paddleReplicaSpecs"
PAGE = replace(
    kubeflow.job("PaddleJob", "paddleReplicaSpecs", "Master and Worker."),
    fields=(),
    pods=(page.Pods(f"{_AT}.*.template", f"{_AT}.*.replicas"),),
    pod_rules=page.ANY_PODS,
    gang=Grouping(first_pod, one_pod_group=False, has_plugin=False),
    filled_in=page.FilledIn(),
    makes=page.Makes(),
    refusals=page.Refusals(),
)
