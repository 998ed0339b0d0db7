"""Describes pods by shape: what a pod asks for and which nodes it may use. Pods of one shape are interchangeable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kubectl_tas.gpus import ANNOTATIONS, MIG
from kubectl_tas.late import dataclass
from kubectl_tas.node_places import HOSTNAME
from kubectl_tas.place.node_resources import NodeResources, Taint, requests

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
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
    name: str = field(default="", compare=False)
    """Name of one pod, or with a blank before it, of the replica type of several pods; empty if unknown."""


def shape_of(spec: Mapping[str, Any]) -> PodShape:
    """Returns the shape of a pod, by the data of its ``PodSpec``. Raises ValueError for an invalid quantity, and
    TypeError, AttributeError or KeyError for a spec that Kubernetes would refuse.
    """
    selector = tuple(sorted((str(key), str(value)) for key, value in (spec.get("nodeSelector") or {}).items()))
    tolerations = tuple(map(_toleration, spec.get("tolerations") or ()))
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED)
    terms = None if affinity is None else tuple(map(_term, affinity.get("nodeSelectorTerms") or ()))
    return PodShape(tuple(sorted(requests(spec).items())), Rules(selector, tolerations, terms))


def unpredicted(spec: Mapping[str, Any], annotations: Mapping[str, str]) -> str:
    """Returns in words why the placement of a pod depends on more than free resources; empty if it does not. Ignores
    volumes.
    """
    affinity = spec.get("affinity") or {}
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    ports = [port for container in containers for port in container.get("ports") or ()]
    is_fraction = any(name in annotations for name in ANNOTATIONS) or any(re.match(MIG, name) for name in annotations)
    reasons = {
        "shares a GPU with others": is_fraction,
        "asks for devices by a ResourceClaim": bool(spec.get("resourceClaims")),
        "has a rule about pods beside it (podAffinity)": bool((affinity.get("podAffinity") or {}).get(_REQUIRED)),
        "has a rule about pods beside it (podAntiAffinity)": bool(
            (affinity.get("podAntiAffinity") or {}).get(_REQUIRED)
        ),
        "needs a port of its node": any(port.get("hostPort") or spec.get("hostNetwork") for port in ports),
        "names its node itself": bool(spec.get("nodeName")),
        "waits for its scheduling gates": bool(spec.get("schedulingGates")),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _toleration(fields: Mapping[str, Any]) -> PodToleration:
    is_any = fields.get("operator") == "Exists"
    value = None if is_any else str(fields.get("value") or "")
    return PodToleration(fields.get("key") or None, value, fields.get("effect") or None)


def _term(fields: Mapping[str, Any]) -> Term:
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
