"""What a pod asks for, and which nodes it may use: pods of the same shape are interchangeable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubectl_tas.place.nodes import Node, Taint, requests
from kubectl_tas.place.synthetic import HOSTNAME


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
class Rules:
    """Where a pod may run."""

    selector: tuple[tuple[str, str], ...] = ()
    """Labels that its node must have."""
    tolerations: tuple[Toleration, ...] = ()
    excluded: tuple[str, ...] = ()
    """Hosts that it keeps away from."""

    def refusal(self, node: Node) -> str:
        """Why a pod cannot use a node, whatever is free there; empty where it can."""
        if not node.is_ready:
            return "not ready"
        if node.is_cordoned:
            return "cordoned"
        for key, value in self.selector:
            if node.labels.get(key) != value:
                return f"without the label {key}={value}"
        for taint in node.taints:
            if not any(item.covers(taint) for item in self.tolerations):
                return f"with the taint {taint}"
        return "excluded by the task" if node.labels.get(HOSTNAME) in self.excluded else ""


@dataclass(frozen=True, slots=True)
class Shape:
    """What pods have in common for which the same nodes have room."""

    asks: tuple[tuple[str, int], ...]
    """Amounts by resource, sorted, itself among ``pods``."""
    rules: Rules


def shape_of(spec: Mapping[str, Any]) -> Shape:
    """The shape of a pod of a workflow, by the data of its ``PodSpec``. Raises ValueError for what is no quantity."""
    selector = tuple(sorted((spec.get("nodeSelector") or {}).items()))
    tolerations = tuple(map(_toleration, spec.get("tolerations") or ()))
    excluded = tuple(sorted(set(_excluded(spec.get("affinity") or {}))))
    return Shape(tuple(sorted(requests(spec).items())), Rules(selector, tolerations, excluded))


def _toleration(written: Mapping[str, Any]) -> Toleration:
    is_any = written.get("operator") == "Exists"
    value = None if is_any else str(written.get("value") or "")
    return Toleration(written.get("key") or None, value, written.get("effect") or None)


def _excluded(affinity: Mapping[str, Any]) -> Iterator[str]:
    """The hosts that a task's ``nodesExcluded`` became; a workflow has no other affinity."""
    required = affinity.get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution", {})
    for term in required.get("nodeSelectorTerms", ()):
        for condition in term["matchExpressions"]:
            assert (condition["key"], condition["operator"]) == (HOSTNAME, "NotIn")
            yield from condition["values"]
