"""Describes Kubeflow's PyTorchJob. Sources: training operator 1.9, pkg/webhooks/pytorch and
pkg/apis/kubeflow.org/v1/pytorch_defaults.go; KAI's pytorch_grouper.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_tas.facts.kai import Feature
from kubectl_tas.kinds import kubeflow, page, ray
from kubectl_tas.kinds.section import Refused, Section

_SPECS = "pytorchReplicaSpecs"
_PET = (
    *("MASTER_ADDR", "MASTER_PORT", "MAX_RESTARTS", "MONITOR_INTERVAL", "NNODES", "NODE_RANK", "NPROC_PER_NODE"),
    *("RDZV_BACKEND", "RDZV_CONF", "RDZV_ENDPOINT", "RDZV_ID", "STANDALONE", "START_METHOD"),
)
"""Variables of torchrun that the operator sets (envvar.go, master.go and elastic.go of pkg/controller.v1/pytorch)."""
_JOB = kubeflow.job(
    "PyTorchJob",
    _SPECS,
    "Master and Worker.",
    leader="Master",
    container="pytorch",
    gpus_used="spec.nprocPerNode",
    injected=(
        *("MASTER_ADDR", "MASTER_PORT", "PYTHONUNBUFFERED", "RANK", "WORLD_SIZE"),
        *(f"PET_{name}" for name in _PET),
    ),
)


def _elastic(spec: Section) -> Iterator[Refused]:
    """Checks an elastic job. torchrun admits at most maxReplicas pods; the operator uses minReplicas if maxReplicas is
    absent.
    """
    policy, types = spec.below("elasticPolicy"), spec.below(_SPECS)
    if not isinstance(spec.get("elasticPolicy"), dict):
        return
    if types.get("Worker") is None:
        message = f"{policy.at()} needs replicas of the type Worker, and there are none"
        yield Refused(policy.path, message, "Add Worker, or remove elasticPolicy.", is_key=True)
    if policy.get("nProcPerNode") is not None and spec.get("nprocPerNode") is not None:
        message = f"{policy.at('nProcPerNode')} cannot go together with {spec.at()}.nprocPerNode"
        yield policy.refused(message, "Remove it.", "nProcPerNode")
    end = "minReplicas" if policy.get("maxReplicas") is None else "maxReplicas"
    most, workers = policy.get(end), types.below("Worker").get("replicas")
    if type(most) is int and type(workers) is int and workers > most:
        message = f"{policy.at()} lets {most} of {workers} workers train"
        yield policy.refused(message, f"Write maxReplicas: {workers}; {ray.UNUSED}.", end)


PAGE = replace(
    _JOB,
    fields=(
        *_JOB.fields,
        page.Field("spec.elasticPolicy", "Limits for the size of the job."),
        page.Field("spec.elasticPolicy.minReplicas", "The least number of pods with which the job can run.", "number"),
    ),
    pod_rules=replace(_JOB.pod_rules, trains_together=True),  # WORLD_SIZE: getTotalReplicas of util.go
    gang=replace(
        kubeflow.grouping(kubeflow.MIN_AVAILABLE, ("spec", "elasticPolicy", "minReplicas")),
        sub_groups=Feature.REPLICA_SUBGROUPS,
        empty_part=kubeflow.WORKER,
        divided="Worker",
        segment_template="Move it to the pod template of Worker.",
    ),
    growth=kubeflow.elastic(_SPECS),
    refusals=replace(
        _JOB.refusals,
        operator=(*_JOB.refusals.operator, ("spec.elasticPolicy", page.span), ("spec", _elastic)),
    ),
)
