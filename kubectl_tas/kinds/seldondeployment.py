"""Describes the SeldonDeployment. Source: Seldon Core 1.18."""

from __future__ import annotations

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, first_pod

_PREDICTORS = "spec.predictors[]"
_SPECS = f"{_PREDICTORS}.componentSpecs[]"
PAGE = page.WorkloadKind(
    recognition=page.Recognition(
        "SeldonDeployment",
        tuple(f"machinelearning.seldon.io/{version}" for version in ("v1", "v1alpha3", "v1alpha2")),
        "seldon-core",
    ),
    naming=page.UNBOUNDED,
    fields=(),
    pods=(page.Pods(_SPECS, f"{_PREDICTORS}.replicas", most=f"{_SPECS}.replicas {_SPECS}.hpaSpec.maxReplicas"),),
    pod_rules=page.PodRules(
        restart=(),
        none=(
            "this SeldonDeployment has no pod template, so the default scheduler of the cluster runs its pods",
            "Add componentSpecs to each predictor, with a container for each server of its graph.",
        ),
    ),
    gang=Grouping(first_pod),
    start=page.ALL_AT_ONCE,
    filled_in=page.FilledIn(),
    stop=page.Stop(switch=("spec", "suspend"), suspended_by=(), deletes_itself=page.never_deleted),
    changes=(
        page.Fixed(
            page.Effect.RESTARTED,
            page.paths("spec"),
            "Seldon's operator",
            but=page.paths("spec.predictors.*.replicas"),
        ),
    ),
    growth=page.Growth(),
    makes=page.Makes((page.Made("Deployment", "apps", ("spec", "replicas")), page.Made("ReplicaSet", "apps"))),
    marks=page.Marks(),
    refusals=page.Refusals(),
)
