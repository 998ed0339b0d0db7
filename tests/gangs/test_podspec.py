"""Tests the pod of a task: its requests and its nodes."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.gangs.task_pods import pod_spec
from kubectl_tas.model.osmo_workflow import Resource, Task
from kubectl_tas.model.platform import Nodes


def spec(**resource: Any) -> dict[str, Any]:
    """The spec of a pod with this resource."""
    task = Task.model_validate({"name": "t", "image": "busybox"})
    return pod_spec(task, Resource.model_validate(resource), "kai-scheduler", "osmo-normal", Nodes())


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


NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


@pytest.mark.parametrize(
    ("written", "added"),
    [
        ([], []),
        ([{"key": "a", "operator": "Exists"}], [NOT_READY, UNREACHABLE]),
        ([{"key": UNREACHABLE, "operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE]),
        ([{"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute"}], [NOT_READY]),
        ([{"key": NOT_READY, "operator": "Exists"}], [UNREACHABLE]),
        ([{"operator": "Exists"}], []),
    ],
)
def test_a_pod_has_the_tolerations_that_a_server_would_add(written: list[dict[str, str]], added: list[str]) -> None:
    """Else a server would add them, and every apply would find a change."""
    task = Task.model_validate({"name": "t", "image": "busybox"})
    found = pod_spec(task, Resource(), "kai-scheduler", "osmo-normal", Nodes.model_validate({"tolerations": written}))
    tolerations = found.get("tolerations", [])
    assert tolerations[: len(written)] == written
    assert [item["key"] for item in tolerations[len(written) :]] == added
    assert all(item["tolerationSeconds"] == 300 for item in tolerations[len(written) :])


def test_a_pod_runs_on_the_nodes_of_its_pool() -> None:
    task = Task.model_validate({"name": "t", "image": "busybox"})
    nodes = Nodes.model_validate({"selector": {"acme.io/pool": "h100"}})
    found = pod_spec(task, Resource(), "kai-scheduler", "osmo-normal", nodes)
    assert found["nodeSelector"] == {"acme.io/pool": "h100"}
    assert "nodeSelector" not in spec()
