"""Describes the SeldonDeployment. Source: Seldon Core 1.18, createComponents of seldondeployment_controller.go."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, first_pod
from kubectl_tas.kinds.section import Section

_PREDICTORS = "spec.predictors[]"
_SPECS = f"{_PREDICTORS}.componentSpecs[]"


def _update(growing: page.Growing, _spec: Section) -> Iterator[page.Grown]:
    """Yields the pods that an update of Seldon's Deployments adds. They have the default of Kubernetes."""
    for pods in growing.pods:
        most, what = pods.replicas + page.added(page.QUARTER, pods.replicas), f"the pods of {pods.written}"
        when, hint = page.DURING_UPDATE, page.LEAVE_ROOM
        yield page.Grown(pods.path, pods.replicas, most, pods.gpus, what, when, hint, is_default=True)


PAGE = page.WorkloadKind(
    recognition=page.Recognition(
        "SeldonDeployment",
        tuple(f"machinelearning.seldon.io/{version}" for version in ("v1", "v1alpha3", "v1alpha2")),
        "seldon-core",
    ),
    fields=(),
    pods=(
        page.Pods(
            _SPECS,
            f"{_SPECS}.replicas {_PREDICTORS}.replicas spec.replicas",
            most=f"{_SPECS}.hpaSpec.maxReplicas {_SPECS}.kedaSpec.maxReplicaCount=100",
        ),
    ),
    pod_rules=page.PodRules(
        restart=("Always",),
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
    growth=page.Growth((("spec", _update),), by_default=True),
    makes=page.Makes((page.Made("Deployment", "apps", ("spec", "replicas")), page.Made("ReplicaSet", "apps"))),
    marks=page.Marks(),
    refusals=page.Refusals(),
)
