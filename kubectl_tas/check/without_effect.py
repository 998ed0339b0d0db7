"""Finds companions that the API server takes, and that do not do what they say. Follows the comments of the API of
Kubernetes 1.35: NetworkPolicySpec and NetworkPolicyPort of networking/v1, PersistentVolumeClaimSpec of core/v1; and
``calculatePodRequests`` of pkg/controller/podautoscaler/replica_calculator.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.diagnostics import Diagnostic, Related, Rule
from kubectl_tas.check.resource_requests import pods_of
from kubectl_tas.kinds.section import Section
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.check.growth import Scaled
    from kubectl_tas.model.podtemplate import Companion
    from kubectl_tas.resolve.autoscalers import Autoscaler

WITHOUT_EFFECT = Rule.warning(
    "without-effect",
    "A companion is accepted, and does not do what it says.",
    "A NetworkPolicy counts rules for egress only with Egress in policyTypes. Its ports are those of pods, not of a "
    "Service in front of them. An autoscaler that measures a share of a request needs that request in each container. "
    "A claim with ReadWriteOncePod is for one pod: the others stay Pending. A Service to a port on which no container "
    "listens answers nobody. Write what the message says. If a LimitRange adds the requests, or a container listens on "
    "a port that it does not name, waive the rule.",
)
_TYPES = frozenset(("Ingress", "Egress"))


def check_policy(companion: Declared[Companion], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds rules of a NetworkPolicy for a direction that its policyTypes lack."""
    spec = Section(companion.origin.data, ("spec",))
    types = spec.get("policyTypes")
    if companion.spec.kind != "NetworkPolicy" or not isinstance(types, list) or not {*map(str, types)} <= _TYPES:
        return
    for field, name in (("ingress", "Ingress"), ("egress", "Egress")):
        if types and spec.get(field) and name not in types:
            message = f"policyTypes lacks {name}, so the rules in spec.{field} of this NetworkPolicy count for nothing"
            location = companion.origin.locate(("spec", field), key=True)
            place = (Related("policyTypes", companion.at("spec", "policyTypes")),)
            hint = f"Add {name} to policyTypes, or remove {field}."
            yield Diagnostic(WITHOUT_EFFECT, message, location, place, hint=hint)


def check_measured(target: tuple[Autoscaler, Scaled | None], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds metrics of an autoscaler that are a share of a request which a container of the target lacks."""
    scaler, scaled = target
    origin = scaler.companion.declared.origin
    if scaled is None or scaler.companion.kind != "HorizontalPodAutoscaler":
        return
    for path, resource, only in _shares(Section(origin.data, ("spec",))):
        lacking = (
            (pod.origin, container)
            for pod in pods_of(scaled.item)
            for container in Section(pod.origin.data, pod.path).each("containers")
            if only in (None, container.get("name")) and not _asks(container, resource)
            if not Section(pod.origin.data, pod.path).get("resources")
        )
        for of_pod, container in islice(lacking, 1):
            name, work = container.get("name"), f"{scaled.item.kind} {scaled.item.name}"
            message = f"no share of {resource} can be measured: container {name} of {work} requests none"
            related = (Related("the container", of_pod.locate(container.path)),)
            hint = f"Add {resource} to its requests, or measure something else."
            yield Diagnostic(WITHOUT_EFFECT, message, origin.locate(path), related, hint=hint)


def _shares(spec: Section) -> Iterator[tuple[KeyPath, str, object]]:
    """Yields the resources whose share an autoscaler measures, each with its path and perhaps a container."""
    field = "targetCPUUtilizationPercentage"
    if spec.get(field) is not None:
        yield (*spec.path, field), "cpu", None
    for metric in spec.each("metrics"):
        for source in (metric.below("resource"), metric.below("containerResource")):
            name = source.get("name")
            if source.below("target").get("averageUtilization") is not None and isinstance(name, str) and name:
                yield (*source.path, "name"), name, source.get("container")


def _asks(container: Section, resource: str) -> bool:
    """Whether a container requests a resource; without a request, its limit counts."""
    resources = container.below("resources")
    return any(resource in resources.below(field).value for field in ("requests", "limits"))


def check_claims(fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds claims for one pod that several pods of one document mount."""
    claims = {
        (held.space, held.name)
        for part in fleet.mentions
        for held in part.held
        if held.kind == "PersistentVolumeClaim" and "ReadWriteOncePod" in (held.keys_or_ports or ())
    }
    for part in fleet.mentions if claims else ():
        pods: dict[tuple[Any, ...], int] = {}
        for use in part.claiming:
            if (use.space, use.name) not in claims:
                continue
            key = (use.document, use.space, use.name)
            before = pods.get(key, 0)
            pods[key] = before + use.pods
            if before <= 1 < pods[key]:
                message = (
                    f'the claim "{use.name}" is for one pod, and {pods[key]} pods mount it: the others stay Pending'
                )
                location = part.finder(use.document)(use.path)
                hint = "Write accessModes: [ReadWriteMany] in the claim, if its storage has that."
                yield Diagnostic(WITHOUT_EFFECT, message, location, hint=hint)
