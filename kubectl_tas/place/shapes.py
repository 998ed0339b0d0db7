"""Describes pods by shape: what a pod asks for and which nodes it may use. Pods of one shape are interchangeable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import ANNOTATIONS, MIG
from kubectl_tas.facts.node_places import HOSTNAME
from kubectl_tas.place.neighbours import REQUIRED, Selector, apart, has_own_address, taken
from kubectl_tas.place.node_resources import NodeResources, Taint, requests

NO_LABELS: Mapping[str, str] = MappingProxyType({})
_INTEGER = re.compile("[+-]?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class PodToleration:
    """A toleration of a pod."""

    key: str | None
    """Key of the taint; None matches any key."""
    value: str | None
    """Value of the taint; None matches any value."""
    effect: str | None
    """Effect of the taint; None matches any effect."""

    def covers(self, taint: Taint) -> bool:
        """Whether a pod with this toleration tolerates a taint."""
        pairs = ((self.key, taint.key), (self.value, taint.value), (self.effect, taint.effect))
        return all(tolerated is None or tolerated == actual for tolerated, actual in pairs)


@dataclass(frozen=True, slots=True)
class NodeCondition:
    """A condition on a node: on one of its labels, or on its name."""

    key: str
    operator: str
    """In, NotIn, Exists, DoesNotExist, Gt or Lt."""
    values: tuple[str, ...]
    is_field: bool = False
    """Whether the condition is on the node's name, whatever the key."""

    def holds(self, node: NodeResources) -> bool:
        """Whether a node meets the condition, as in Kubernetes' scheduler. No node meets an invalid condition."""
        actual = node.name if self.is_field else node.labels.get(self.key)
        if self.operator in ("In", "NotIn"):
            return (actual in self.values) == (self.operator == "In")
        if self.operator in ("Exists", "DoesNotExist"):
            return (actual is not None) == (self.operator == "Exists")
        if self.operator not in ("Gt", "Lt") or actual is None or len(self.values) != 1:
            return False
        numbers = [int(text) for text in (actual, self.values[0]) if _INTEGER.fullmatch(text)]
        return len(numbers) == 2 and (numbers[0] > numbers[1]) == (self.operator == "Gt") and numbers[0] != numbers[1]

    @property
    def excludes_hosts(self) -> bool:
        """Whether the condition keeps pods away from hosts, as a task's ``nodesExcluded`` do."""
        return (self.key, self.operator) == (HOSTNAME, "NotIn")


Term = tuple[NodeCondition, ...]
"""Conditions that must all hold; a term without conditions never holds."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules for the nodes that a pod may use."""

    selector: tuple[tuple[str, str], ...] = ()
    """Labels that the pod's node must have."""
    tolerations: tuple[PodToleration, ...] = ()
    terms: tuple[Term, ...] | None = None
    """Terms of the node affinity; at least one must hold for the node. None allows any node."""
    avoided: tuple[Selector, ...] = ()
    """Pods beside which the pod may not be on a node."""
    claims: tuple[tuple[str, str], ...] = ()
    """PersistentVolumeClaims of the pod, each with its namespace."""

    def refusal(self, node: NodeResources) -> str:
        """Returns why a pod cannot use a node, whatever is free there; empty if it can."""
        return self.lasting_refusal(node) or self.passing_refusal(node)

    def passing_refusal(self, node: NodeResources) -> str:
        """Returns the obstacle that an administrator may remove, a cordon or a taint; empty if none exists."""
        if node.is_cordoned:
            return "cordoned"
        untolerated = (
            taint for taint in node.taints if not any(toleration.covers(taint) for toleration in self.tolerations)
        )
        return next((f"with the taint {taint}" for taint in untolerated), "")

    def lasting_refusal(self, node: NodeResources) -> str:
        """Returns any other obstacle; empty if none exists."""
        if not node.is_ready:
            return "not ready"
        for key, value in self.selector:
            if node.labels.get(key) != value:
                return f"without the label {key}={value}"
        for claim in self.claims:
            if claim in node.unreachable:
                return f"out of reach of the volume of {claim[1]}"
        for selector in self.avoided:
            if any(
                selector.matches(pod.namespace, pod.labels) and selector.resource not in pod.asks for pod in node.pods
            ):
                return "with pods that the podAntiAffinity excludes"
        if self.terms is None or any(term and all(condition.holds(node) for condition in term) for term in self.terms):
            return ""
        is_excluded = all(
            condition.holds(node) or condition.excludes_hosts for term in self.terms for condition in term
        )
        return "excluded by the task" if is_excluded and any(self.terms) else "not selected by the node affinity"


@dataclass(frozen=True, slots=True)
class PodShape:
    """Requests and rules that interchangeable pods share."""

    asks: tuple[tuple[str, int], ...]
    """Requested amounts by resource, sorted, with 1 for ``pods``."""
    rules: Rules
    labels: tuple[str, Mapping[str, str]] = field(default=("", NO_LABELS), compare=False)
    """Namespace and labels of the pods."""
    name: str = field(default="", compare=False)
    """Name of one pod, or with a blank before it, of the replica type of several pods; empty if unknown."""


def shape_of(spec: Mapping[str, Any], namespace: str = "", labels: Mapping[str, str] = NO_LABELS) -> PodShape:
    """Returns the shape of a pod, by the data of its ``PodSpec``, its namespace and labels.

    Raises ValueError for an invalid quantity, and TypeError, AttributeError or KeyError for a spec that Kubernetes
    would refuse.
    """
    selector = tuple(sorted((str(key), str(value)) for key, value in (spec.get("nodeSelector") or {}).items()))
    tolerations = tuple(map(_toleration, spec.get("tolerations") or ()))
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED)
    terms = None if affinity is None else tuple(map(term_of, affinity.get("nodeSelectorTerms") or ()))
    avoided = apart(spec, namespace, labels) or ()
    claims = tuple((namespace, str(claim)) for claim in claims_of(spec))
    asks = {**requests(spec), **taken(spec, namespace, labels)}
    return PodShape(
        tuple(sorted(asks.items())), Rules(selector, tolerations, terms, avoided, claims), labels=(namespace, labels)
    )


def claims_of(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yields the names of the PersistentVolumeClaims that a pod mounts."""
    for volume in spec.get("volumes") or ():
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim:
            yield str(claim)


def unpredicted(
    spec: Mapping[str, Any], annotations: Mapping[str, str], namespace: str = "", labels: Mapping[str, str] = NO_LABELS
) -> str:
    """Returns in words why the placement of a pod depends on more than ``PodShape`` holds; empty if it does not."""
    affinity = spec.get("affinity") or {}
    is_fraction = any(name in annotations for name in ANNOTATIONS) or any(re.match(MIG, name) for name in annotations)
    reasons = {
        "shares a GPU with others": is_fraction,
        "asks for devices by a ResourceClaim": bool(spec.get("resourceClaims")),
        "has a rule about pods beside it (podAffinity)": bool((affinity.get("podAffinity") or {}).get(REQUIRED)),
        "has a rule about pods beside it (podAntiAffinity)": bool(apart(spec, namespace, labels) is None),
        "needs a port of one address of its node": has_own_address(spec),
        "names its node itself": bool(spec.get("nodeName")),
        "waits for its scheduling gates": bool(spec.get("schedulingGates")),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _toleration(fields: Mapping[str, Any]) -> PodToleration:
    is_any = fields.get("operator") == "Exists"
    value = None if is_any else str(fields.get("value") or "")
    return PodToleration(fields.get("key") or None, value, fields.get("effect") or None)


def term_of(fields: Mapping[str, Any]) -> Term:
    """Returns a term of a node selector."""
    conditions = (
        (name, condition) for name in ("matchExpressions", "matchFields") for condition in fields.get(name) or ()
    )
    return tuple(
        NodeCondition(
            str(condition["key"]),
            str(condition["operator"]),
            tuple(map(str, condition.get("values") or ())),
            name == "matchFields",
        )
        for name, condition in conditions
    )
