"""Describes KServe's InferenceService. Sources: KServe 0.16, ``PredictorSpec`` and hpa_reconciler.go."""

from __future__ import annotations

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, first_pod

_MODE = "serving.kserve.io/deploymentMode"
PAGE = page.WorkloadKind(
    recognition=page.Recognition("InferenceService", ("serving.kserve.io/v1beta1",), "kserve"),
    naming=page.UNBOUNDED,
    fields=(),
    pods=tuple(
        page.Pods(
            f"spec.{part}",
            f"spec.{part}.minReplicas",
            most=f"spec.{part}.maxReplicas",
            at_least=1,  # Knative makes one pod again with the first request
            is_optional=True,
            form="podforms:Predictor",
        )
        for part in ("predictor", "transformer", "explainer")
    ),
    pod_rules=page.ANY_PODS,
    gang=Grouping(
        first_pod,
        each_where=(_MODE, ("Standard", "RawDeployment")),
        unpredicted=f"without {_MODE} the file does not say whether KServe makes a Deployment",
        has_plugin=False,
    ),
    start=page.ALL_AT_ONCE,
    filled_in=page.FilledIn(),
    stop=page.Stop(switch=("spec", "suspend"), suspended_by=(), deletes_itself=page.never_deleted),
    changes=(
        page.Fixed(
            page.Effect.RESTARTED,
            page.paths("spec"),
            "KServe",
            but=page.paths("spec.*.minReplicas", "spec.*.maxReplicas"),
        ),
    ),
    growth=page.Growth(),
    makes=page.Makes((page.Made("Deployment", "apps", ("spec", "replicas")), page.Made("ReplicaSet", "apps"))),
    marks=page.Marks(),
    refusals=page.Refusals(),
)
