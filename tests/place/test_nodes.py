"""Tests how the free resources of nodes are computed from the objects of a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.facts.gpus import GPU
from kubectl_tas.place.node_resources import Taint, read_nodes, requests
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


def test_a_node_is_what_its_object_says() -> None:
    item = node("n", 8, zone="a", rack="7")
    item["metadata"]["labels"]["number"] = "7"
    item["status"]["allocatable"]["pods"] = 110
    pods = [{**pod("n"), "metadata": {"name": name}} for name in "qpo"]
    pods[1]["metadata"]["namespace"] = "z"
    pods[0]["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x", "pod-group-name": "g"}
    pods[1]["metadata"]["ownerReferences"] = [{"kind": "Job"}, {"kind": "DaemonSet"}]
    (found,) = read_nodes([*pods, item, node("m", 1)]).nodes[1:]
    assert (found.name, found.labels["number"], found.labels["zone"]) == ("n", "7", "a")
    assert (found.is_ready, found.is_cordoned, found.taints) == (True, False, ())
    assert [(one.key, one.group, one.is_of_node, one.asks) for one in found.pods] == [
        ("default/o", "", False, {GPU: 2, "cpu": 500, "pods": 1}),
        ("default/q", "g", True, {GPU: 2, "cpu": 500, "pods": 1}),
        ("z/p", "", True, {GPU: 2, "cpu": 500, "pods": 1}),
    ]
    left = {name: amount - found.free[name] for name, amount in found.allocatable.items()}
    assert (left[GPU], left["cpu"], left["pods"]) == (6, 1500, 3)
    assert sum(left.values()) == 6 + 1500 + 3


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        ({}, {"pods": 1}),
        ({"containers": [{"resources": {"requests": {"cpu": "0.0001"}, "limits": {"cpu": 1, "memory": "1k"}}}]},
         {"pods": 1, "cpu": 1, "memory": 1000}),
        ({"containers": [{"resources": {"requests": {GPU: 1, "amd.com/gpu": 2}}}]}, {"pods": 1, GPU: 3}),
        ({"containers": [{"resources": {"requests": {"x": 2}}}, {"resources": {"requests": {"x": 3}}}],
          "overhead": {"x": 1}}, {"pods": 1, "x": 6}),
        ({"containers": [{"resources": {"requests": {"x": 2}}}], "resources": {"requests": {"x": 5}}},
         {"pods": 1, "x": 5}),
        ({"initContainers": [{"resources": {"requests": {"x": 2}}}, {"resources": {"requests": {"x": 3}}}]},
         {"pods": 1, "x": 3}),
        ({"containers": [{"resources": {"requests": {"x": 0}}}]}, {"pods": 1}),
    ],
)  # fmt: skip
def test_what_a_pod_takes_from_a_node(spec: dict[str, Any], asked: dict[str, int]) -> None:
    assert requests(spec) == asked


def test_of_a_node_no_part_of_a_unit_can_be_had() -> None:
    item = node("n", 8)
    item["status"]["allocatable"] |= {"cpu": "1.9999", "memory": "10.9"}
    (found,) = read_nodes([item]).nodes
    assert (found.allocatable["cpu"], found.allocatable["memory"]) == (1999, 10)


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
    ("item", "reason"),
    [
        ({"kind": "Pod", "metadata": {"name": "p"}}, "p: it has no containers, so that what it takes is unknown"),
        (pod("n", containers=[]), "p: it has no containers, so that what it takes is unknown"),
    ],
)
def test_what_cannot_be_read_is_named(item: dict[str, Any], reason: str) -> None:
    with pytest.raises(TasError) as error:
        read_nodes([node("other", 1), item])
    kind = item["kind"]
    assert error.value.message == f"a {kind} of the cluster cannot be read: {reason}"
    assert error.value.hint == f"It must be what `kubectl get {kind.lower()}s -o json` prints."


def test_that_there_is_no_node_is_told() -> None:
    with pytest.raises(TasError) as error:
        read_nodes([{"kind": "Queue"}])
    assert (error.value.message, error.value.hint) == (
        "the input has no Node to place work on",
        "Give what `kubectl get nodes -o json` prints, or what `kubectl tas nodes generate` wrote.",
    )
