"""What a pod asks for, and which nodes it may use: pods of the same shape are interchangeable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kubectl_tas.gpus import ANNOTATIONS, MIG
from kubectl_tas.node_places import HOSTNAME
from kubectl_tas.place.node_resources import Node, Taint, requests
from kubectl_tas.records import dataclass

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_INTEGER = re.compile("[+-]?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Toleration:
    """Which taints a pod tolerates."""

    key: str | None
    """None: any."""
    value: str | None
    """None: any."""
    effect: str | None
    """None: any."""

    def covers(self, taint: Taint) -> bool:
        """Whether it tolerates a taint."""
        wanted = ((self.key, taint.key), (self.value, taint.value), (self.effect, taint.effect))
        return all(said is None or said == there for said, there in wanted)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a node: on one of its labels, or on its name."""

    key: str
    operator: str
    """In, NotIn, Exists, DoesNotExist, Gt or Lt."""
    values: tuple[str, ...]
    is_field: bool = False
    """Whether it is on the node's name, whatever the key."""

    def holds(self, node: Node) -> bool:
        """Whether a node meets it, as Kubernetes' scheduler has it; one that is no condition no node meets."""
        there = node.name if self.is_field else node.labels.get(self.key)
        if self.operator in ("In", "NotIn"):
            return (there in self.values) == (self.operator == "In")
        if self.operator in ("Exists", "DoesNotExist"):
            return (there is not None) == (self.operator == "Exists")
        if self.operator not in ("Gt", "Lt") or there is None or len(self.values) != 1:
            return False
        numbers = [int(text) for text in (there, self.values[0]) if _INTEGER.fullmatch(text)]
        return len(numbers) == 2 and (numbers[0] > numbers[1]) == (self.operator == "Gt") and numbers[0] != numbers[1]

    @property
    def excludes_hosts(self) -> bool:
        """Whether it keeps away from hosts, as a task's ``nodesExcluded`` do."""
        return (self.key, self.operator) == (HOSTNAME, "NotIn")


Term = tuple[Condition, ...]
"""Conditions that all must hold; without any, none does."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Where a pod may run."""

    selector: tuple[tuple[str, str], ...] = ()
    """Labels that its node must have."""
    tolerations: tuple[Toleration, ...] = ()
    terms: tuple[Term, ...] | None = None
    """Of which one must hold for its node; None: any node will do."""

    def refusal(self, node: Node) -> str:
        """Why a pod cannot use a node, whatever is free there; empty where it can."""
        return self.lasting_refusal(node) or self.passing_refusal(node)

    def passing_refusal(self, node: Node) -> str:
        """What an administrator may take away from the node: a cordon, or taints."""
        if node.is_cordoned:
            return "cordoned"
        untolerated = (taint for taint in node.taints if not any(item.covers(taint) for item in self.tolerations))
        return next((f"with the taint {taint}" for taint in untolerated), "")

    def lasting_refusal(self, node: Node) -> str:
        """What keeps it away otherwise."""
        if not node.is_ready:
            return "not ready"
        for key, value in self.selector:
            if node.labels.get(key) != value:
                return f"without the label {key}={value}"
        if self.terms is None or any(term and all(item.holds(node) for item in term) for term in self.terms):
            return ""
        is_excluded = all(item.holds(node) or item.excludes_hosts for term in self.terms for item in term)
        return "excluded by the task" if is_excluded and any(self.terms) else "not selected by the node affinity"


@dataclass(frozen=True, slots=True)
class Shape:
    """What pods have in common for which the same nodes have room."""

    asks: tuple[tuple[str, int], ...]
    """Amounts by resource, sorted, itself among ``pods``."""
    rules: Rules


def shape_of(spec: Mapping[str, Any]) -> Shape:
    """The shape of a pod, by the data of its ``PodSpec``. Raises ValueError for what is no quantity, and TypeError,
    AttributeError or KeyError for what Kubernetes would not take.
    """
    selector = tuple(sorted((str(key), str(value)) for key, value in (spec.get("nodeSelector") or {}).items()))
    tolerations = tuple(map(_toleration, spec.get("tolerations") or ()))
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED)
    terms = None if affinity is None else tuple(map(_term, affinity.get("nodeSelectorTerms") or ()))
    return Shape(tuple(sorted(requests(spec).items())), Rules(selector, tolerations, terms))


def unpredicted(spec: Mapping[str, Any], annotations: Mapping[str, str]) -> str:
    """What of a pod depends on more than what its node has free, in words; empty where nothing does.

    Volumes are not looked at.
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


def _toleration(written: Mapping[str, Any]) -> Toleration:
    is_any = written.get("operator") == "Exists"
    value = None if is_any else str(written.get("value") or "")
    return Toleration(written.get("key") or None, value, written.get("effect") or None)


def _term(written: Mapping[str, Any]) -> Term:
    parts = ((name, item) for name in ("matchExpressions", "matchFields") for item in written.get(name) or ())
    return tuple(
        Condition(
            str(item["key"]), str(item["operator"]), tuple(map(str, item.get("values") or ())), name == "matchFields"
        )
        for name, item in parts
    )
