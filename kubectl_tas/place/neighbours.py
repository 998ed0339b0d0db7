"""Describes two things that a pod takes from its node alone: host ports, and the room beside it, by podAntiAffinity.

Both count as resources of the node here. KAI calls the plugins NodePorts and InterPodAffinity of Kubernetes' scheduler
(0.17: pkg/scheduler/k8s_internal/predicates). Such resources count neither toward queues nor for the room of a domain.
80 random clusters came out as in KAI's scheduler.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.node_places import HOSTNAME

PORT, APART = "host port ", "apart "
"""Prefixes of such resources. Kubernetes has no resource whose name holds a blank."""
_ALONE = 1000
"""Amount of ``apart`` that a node has, and that a pod with such a rule takes. A pod without the rule takes 1, so that
many of these have room together.
"""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_ANY_ADDRESS = ("", "0.0.0.0", "::")


def is_of_one(resource: str) -> bool:
    """Whether each node has room for one pod with the resource."""
    return " " in resource


def capacity_of(resource: str) -> int:
    """Returns what a node has of a resource that its object does not list."""
    return _ALONE if resource.startswith(APART) else int(is_of_one(resource))


def ports(spec: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the ports of its node that a pod takes, as names of resources, each with its fields."""
    sidecars = (each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always")
    for container in (*(spec.get("containers") or ()), *sidecars):
        for port in container.get("ports") or ():
            number = port.get("hostPort") or (spec.get("hostNetwork") and port.get("containerPort"))
            if number:
                yield f"{PORT}{number}/{port.get('protocol') or 'TCP'}", port


def has_own_address(spec: Mapping[str, Any]) -> bool:
    """Whether a pod takes a port of one address of its node only."""
    return any((port.get("hostIP") or "") not in _ANY_ADDRESS for _, port in ports(spec))


@dataclass(frozen=True, slots=True)
class Selector:
    """Labels of the pods of a namespace."""

    namespace: str
    conditions: tuple[tuple[str, str, tuple[str, ...]], ...]
    """Label, operator and values."""

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether it selects a pod with these labels."""
        return namespace == self.namespace and all(
            ((labels.get(key) in values) if values else key in labels) == (operator in ("In", "Exists"))
            for key, operator, values in self.conditions
        )

    @property
    def resource(self) -> str:
        """Name of the resource that each selected pod with the rule takes from its node alone."""
        return APART + json.dumps([self.namespace, self.conditions])


def apart(spec: Mapping[str, Any], namespace: str, labels: Mapping[str, str]) -> tuple[Selector, ...] | None:
    """Returns the pods beside which a pod may not be on a node; None if a rule is about more than pods like itself.

    A pod that the selector of its own rule does not select, a level other than the node, and pods of other namespaces
    are more; so are labels that the pod's template lacks, since a controller may add them.
    """
    selectors = []
    rules = ((spec.get("affinity") or {}).get("podAntiAffinity") or {}).get(REQUIRED) or ()
    for rule in rules:
        selector = _selector(rule, namespace)
        is_plain = rule.get("topologyKey") == HOSTNAME and not {*rule} - {"topologyKey", "labelSelector", "namespaces"}
        is_known = selector is not None and all(key in labels for key, _, _ in selector.conditions)
        if selector is None or not is_plain or not is_known or not selector.matches(namespace, labels):
            return None
        selectors.append(selector)
    return tuple(selectors)


def _selector(rule: Mapping[str, Any], namespace: str) -> Selector | None:
    labels = rule.get("labelSelector")
    if labels is None or (rule.get("namespaces") or [namespace]) != [namespace]:
        return None
    conditions: list[tuple[str, str, tuple[str, ...]]] = [
        (str(key), "In", (str(value),)) for key, value in (labels.get("matchLabels") or {}).items()
    ]
    conditions += [
        (str(each["key"]), str(each["operator"]), tuple(sorted(map(str, each.get("values") or ()))))
        for each in labels.get("matchExpressions") or ()
    ]
    return Selector(namespace, tuple(sorted(conditions)))


def taken(spec: Mapping[str, Any], namespace: str, labels: Mapping[str, str]) -> dict[str, int]:
    """Returns the resources that a pod takes from its node alone."""
    names = [name for name, _ in ports(spec)]
    names += [selector.resource for selector in apart(spec, namespace, labels) or ()]
    return {name: capacity_of(name) for name in names}


def selector_of(resource: str) -> Selector:
    """Returns the selector of an ``apart`` resource."""
    namespace, conditions = json.loads(resource.removeprefix(APART))
    return Selector(namespace, tuple((key, operator, tuple(values)) for key, operator, values in conditions))
