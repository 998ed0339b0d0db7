"""Describes KServe's InferenceService. Sources: KServe 0.16, ``PredictorSpec`` and hpa_reconciler.go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kubectl_tas.kinds import page
from kubectl_tas.kinds.grouping import Grouping, first_pod
from kubectl_tas.kinds.naming import SERVICES, Alphabet, Names, Naming, longest
from kubectl_tas.kinds.section import Document, Refused, Section, value_at

_VOLUMES = ("cabundle-cert", "kserve-provision-location", "kserve-pvc-source", "model-config", "user-gcp-sa")
"""Volumes of models and of credentials (storage_initializer_injector.go, constants.go, gcs_secret.go)."""
_MODE = "serving.kserve.io/deploymentMode"
_STANDARD = ("Standard", "RawDeployment")
_KNATIVE = "autoscaling.knative.dev/"


def _served(growing: page.Growing, metadata: Section) -> Iterator[page.Grown]:
    """Yields the growth of each part: by Knative, unless the annotation names a Deployment. Knative knows no maximum
    but its own (``SetAutoScalingAnnotations``), and starts each revision with initial-scale whatever the maximum is. A
    new revision starts beside the old one.
    """
    above = metadata.below("annotations").value
    for pods in growing.pods:
        fields, grown_parts = Section(growing.document, pods.path), f"the pods of {pods.written}"
        if above.get(_MODE) in _STANDARD:
            yield from _of_deployment(pods, fields, grown_parts)
            continue
        annotations = {**above, **pods.annotations}
        path, counted = (*pods.path, "maxReplicas"), pods.replicas
        if not fields.get("maxReplicas"):
            most = _of_knative(annotations, "max-scale", "maxScale")
            hint = f"Write maxReplicas, or the annotation {_MODE}: Standard."
            yield page.Grown(path, counted, most or None, pods.gpus, grown_parts, " with Knative", hint)
        for key in ("initial-scale", "initialScale"):
            annotations_path = (
                *(pods.path if f"{_KNATIVE}{key}" in pods.annotations else metadata.path),
                "annotations",
            )
            initial_scale = _of_knative(annotations, key)
            when = " at the start of a revision"
            yield page.Grown(
                (*annotations_path, f"{_KNATIVE}{key}"), counted, initial_scale, pods.gpus, grown_parts, when
            )
        percent = fields.get("canaryTrafficPercent")
        if type(percent) is int and percent < 100:
            path, when = (*pods.path, "canaryTrafficPercent"), " while a canary runs beside the last revision"
            hint = "Remove it, or leave room in the quota."
            yield page.Grown(path, counted, 2 * counted, pods.gpus, grown_parts, when, hint)
        else:
            most = counted + max(1, fields.count("minReplicas", 1))
            yield page.Grown(
                path, counted, most, pods.gpus, grown_parts, page.DURING_UPDATE, page.LEAVE_ROOM, is_default=True
            )


def _of_knative(annotations: Mapping[str, str], *keys: str) -> int:
    """Returns the number in an annotation of Knative; 0 if it has none."""
    texts = (str(annotations.get(f"{_KNATIVE}{key}", "")) for key in keys)
    return next((int(text) for text in texts if re.fullmatch("[0-9]{1,9}", text)), 0)


def _of_deployment(pods: page.GrowingPods, fields: Section, grown_parts: str) -> Iterator[page.Grown]:
    """Yields the pods that an update of a Deployment of KServe adds."""
    strategy = fields.below("deploymentStrategy")
    value = strategy.below("rollingUpdate").get("maxSurge")
    if strategy.get("type") != "Recreate":
        path = (*strategy.path, "rollingUpdate", "maxSurge")
        most = pods.replicas + page.added(page.QUARTER if value is None else value, pods.replicas)
        hint = "Write deploymentStrategy with maxSurge: 0 and maxUnavailable: 1 in its rollingUpdate."
        yield page.Grown(
            path, pods.replicas, most, pods.gpus, grown_parts, page.DURING_UPDATE, hint, is_default=value is None
        )


def _longest_component(document: Document) -> str:
    names = ("predictor", "explainer", "transformer")
    return longest(f"-{name}" for name in names if value_at(document, "spec", name) is not None)


def _span(component: Section) -> Iterator[Refused]:
    """Checks the numbers of a part. A maximum of 0 is no maximum (``validateReplicas`` of
    pkg/apis/serving/v1beta1/component.go, read in KServe 0.16).
    """
    if component.get("maxReplicas") != 0:
        yield from page.span(component)


_PARTS = ("predictor", "transformer", "explainer", "canary[].predictor")
PAGE = page.WorkloadKind(
    recognition=page.Recognition("InferenceService", ("serving.kserve.io/v1beta1",), "kserve"),
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
        for part in _PARTS
    ),
    pod_rules=page.PodRules(restart=("Always",), added_volumes=_VOLUMES),
    gang=Grouping(
        first_pod,
        each_where=(_MODE, _STANDARD),
        unpredicted=f"without {_MODE} the file does not say whether KServe makes a Deployment",
        has_plugin=False,
        may_be_read=False,
    ),
    start=page.ALL_AT_ONCE,  # each pod is a gang of its own
    filled_in=page.FilledIn(),
    stop=page.Stop(),
    changes=(page.restarted("KServe", "spec", but=page.paths("spec.*.minReplicas", "spec.*.maxReplicas")),),
    ends=page.SERVICE,
    growth=page.Growth((("metadata", _served),), by_default=True),
    makes=page.Makes((page.Made("Deployment", "apps", ("spec", "replicas")), page.Made("ReplicaSet", "apps"))),
    marks=page.Marks(),
    names=Names((Naming(Alphabet.SERVICE, SERVICES, added=_longest_component),)),
    refusals=page.Refusals(tuple((f"spec.{part}", _span) for part in _PARTS)),
)
