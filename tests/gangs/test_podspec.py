"""The pod of a task: what it asks for and where it does not run."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.gangs.podspec import pod_spec
from kubectl_tas.model.workflow import Resource, Task


def spec(**resource: Any) -> dict[str, Any]:
    """The spec of a pod with this resource."""
    task = Task.model_validate({"name": "t", "image": "busybox"})
    return pod_spec(task, Resource.model_validate(resource), "kai-scheduler", "osmo-normal")


@pytest.mark.parametrize(
    ("cpu", "quantity"), [(2, "2"), (0.5, "0.5"), (0.00001, "0.00001"), (1e16, "10000000000000000")]
)
def test_cores_are_never_in_scientific_notation(cpu: float, quantity: str) -> None:
    (container,) = spec(cpu=cpu)["containers"]
    assert container["resources"] == {"limits": {"cpu": quantity}, "requests": {"cpu": quantity}}


def test_a_node_is_excluded_once() -> None:
    affinity = spec(nodesExcluded=["b", "a", "b"])["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    (condition,) = term["matchExpressions"]
    assert (condition["operator"], condition["values"]) == ("NotIn", ["b", "a"])
