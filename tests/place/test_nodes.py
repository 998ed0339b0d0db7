"""Tests how the free resources of nodes are computed from the objects of a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.diagnostics import TasError
from kubectl_tas.gpus import GPU
from kubectl_tas.place.node_resources import Taint, read_nodes
from tests.support.kubectl import node


def pod(node_name: str | None, phase: str = "Running", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"requests": {GPU: "2", "cpu": "500m"}}}]
    return {
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": {"pod-group-name": "train"}},
        "spec": {"nodeName": node_name, "containers": containers, **spec},
        "status": {"phase": phase},
    }


def free(*pods: dict[str, Any]) -> tuple[int, int]:
    """GPUs and thousandths of a core that pods leave of 8 GPUs and 96 cores."""
    (found,) = read_nodes([node("n", 8), *pods]).nodes
    return found.free[GPU], found.free["cpu"]


def test_what_pods_ask_for_is_not_free() -> None:
    assert free() == (8, 96000)
    assert free(pod("n"), pod("n")) == (4, 95000)


def test_all_gpus_of_a_node_are_one_number() -> None:
    """As in KAI, of whichever vendor."""
    amd = pod("n", containers=[{"name": "c", "resources": {"limits": {"amd.com/gpu": "3"}}}])
    assert free(pod("n"), amd) == (3, 95500)


@pytest.mark.parametrize("other", [pod(None, "Pending"), pod("n", "Succeeded"), pod("n", "Failed"), pod("elsewhere")])
def test_pods_that_wait_have_ended_or_are_elsewhere_take_nothing(other: dict[str, Any]) -> None:
    assert free(other) == (8, 96000)


def test_a_pod_takes_the_most_that_it_takes_at_a_time() -> None:
    starting = {"name": "i", "resources": {"requests": {GPU: "3"}}}
    sidecar = {**starting, "restartPolicy": "Always"}
    assert free(pod("n", initContainers=[starting]))[0] == 5
    assert free(pod("n", initContainers=[sidecar]))[0] == 3
    assert free(pod("n", overhead={"cpu": "1"}))[1] == 94500
    assert free(pod("n", resources={"requests": {GPU: "6"}}))[0] == 2


def test_limits_stand_for_requests() -> None:
    """An API server fills them in."""
    assert free(pod("n", containers=[{"resources": {"limits": {GPU: 5}}}]))[0] == 3


def test_amounts_are_capped_as_kubernetes_does() -> None:
    big = node("n", 8)
    big["status"]["allocatable"]["memory"] = "1e400"
    assert read_nodes([big]).nodes[0].free["memory"] == 2**63 - 1


def test_pods_on_nodes_are_counted_by_their_gang() -> None:
    assert read_nodes([node("n", 8), pod("n"), pod(None, "Pending")]).running == {("default", "train"): 1}


def test_whether_pods_are_known() -> None:
    assert not read_nodes([node("n", 8)]).knows_pods
    assert read_nodes([node("n", 8)], ["Node", "Pod"]).knows_pods


def test_what_keeps_pods_away() -> None:
    taints = [
        {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
        {"key": "slow", "effect": "PreferNoSchedule"},
    ]
    bad = node("n", 8, ready=False, cordoned=True)
    bad["spec"]["taints"] = taints
    (found,) = read_nodes([bad]).nodes
    assert (found.is_ready, found.is_cordoned) == (False, True)
    assert found.taints == (Taint("gpu", "yes", "NoSchedule"),)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"kind": "Node", "metadata": {}}, "a Node of the cluster cannot be read: it has no name"),
        ({"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "x"}}}, "'x' is no quantity"),
        ({"kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": ["x"]}}, "it is not built as Kubernetes"),
        ({**pod("n"), "spec": 3}, "a Pod of the cluster cannot be read: p: it is not built"),
        (pod("n", containers=[{"resources": {"requests": {"cpu": "1 core"}}}]), "p: '1 core' is no quantity"),
        ({"kind": "Queue"}, "the input has no Node to place work on"),
    ],
)
def test_what_cannot_be_read_is_named(item: dict[str, Any], message: str) -> None:
    with pytest.raises(TasError, match=message):
        read_nodes([item] if "no Node" in message else [node("other", 1), item])
