"""Tests which GPUs of a cluster count as held by work that no queue is charged for, and which gangs hold GPUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import Amounts
from kubectl_tas.place.node_resources import read_nodes
from kubectl_tas.place.queues import HeldGang, counted, held_by_others, held_gangs, total_resources, trees
from kubectl_tas.place.uncharged import Holdings, Objects, holdings
from tests.support.kubectl import node

Item = dict[str, Any]
KAI = "kai-scheduler"


def pod(name: str = "p", node_name: str | None = "n", *, group: str | None = "g", gpus: int = 2, **more: Any) -> Item:
    """A pod of 2 GPUs on the node n. ``more`` are fields of its metadata or, in ``spec``, of its spec."""
    spec = {"schedulerName": KAI, "containers": [{"name": "c", "resources": {"requests": {GPU: gpus}}}]}
    spec |= {"nodeName": node_name} if node_name else {}
    metadata = {"name": name, "annotations": {"pod-group-name": group} if group else {}}
    return {
        "kind": "Pod",
        "metadata": {**metadata, **{key: value for key, value in more.items() if key != "spec"}},
        "spec": {**spec, **more.get("spec", {})},
        "status": {"phase": "Running"},
    }


def group(name: str = "g", **spec: Any) -> Item:
    return {"kind": "PodGroup", "metadata": {"name": name}, "spec": spec}


def queue(name: str = "q") -> Item:
    return {"kind": "Queue", "metadata": {"name": name}}


def of(*items: Item, is_whole: bool = True) -> Holdings:
    found = holdings(Objects([node("n", 8), node("out", 8, cordoned=True), *items], is_whole), KAI)
    assert found is not None
    return found


def whys(*items: Item, is_whole: bool = True) -> list[str]:
    return [item.reason for item in of(*items, is_whole=is_whole).uncharged]


@pytest.mark.parametrize(
    ("items", "why"),
    [
        ([queue(), group(queue="q"), pod()], None),
        ([queue(), group(queue="gone"), pod()], "in the queue gone, which is gone"),
        ([queue(), group(), pod()], "in PodGroups without a queue"),
        ([group(queue="gone"), pod()], None),
        ([queue(), pod()], "in the PodGroup g, which is gone"),
        ([queue(), pod(group=None)], "by pods without a PodGroup"),
        ([queue(), pod(group=None, namespace="kai-resource-reservation")], None),
        ([queue(), pod(group=None, spec={"schedulerName": "own"})], "by pods of the scheduler own"),
        ([queue(), pod(group=None, gpus=0)], None),
    ],
)
def test_a_pod_is_uncharged_where_its_queue_or_pod_group_is_gone(items: list[Item], why: str | None) -> None:
    """Without any queue nothing is known of queues, and pods of KAI's own stand for others."""
    assert whys(*items) == ([why] if why else [])


def test_a_pod_group_that_was_not_read_may_be_there() -> None:
    assert whys(queue(), pod(), is_whole=False) == []


def test_what_a_preemptible_gang_holds_can_be_had_where_nodes_can() -> None:
    """Nothing of a node that is cordoned can."""
    gang = [queue(), group(queue="q", preemptibility="preemptible"), pod(), pod("r", "out")]
    assert of(*gang, pod("s", group=None)).free == {"n": 6}


def test_work_without_a_namespace_is_in_the_default_one() -> None:
    (found,) = of(queue(), pod(group=None)).uncharged
    assert (found.namespace, found.work, found.since) == ("default", "Pod/p", "")


def held(*items: Item) -> HeldGang:
    (found,) = held_gangs(items)
    return found


@pytest.mark.parametrize(
    ("spec", "least"),
    [
        ({}, None),
        ({"minMember": 3}, {"": 3}),
        ({"subGroups": [{"name": "a"}, {"name": "b", "minMember": 2}]}, {"a": 1, "b": 2}),
        ({"subGroups": [{"name": "top"}, {"name": "b", "parent": "top", "minMember": 2}]}, {"b": 2}),
    ],
)
def test_the_least_pods_of_a_gang_are_those_of_its_leaves(spec: Item, least: object) -> None:
    """A SubGroup without a minimum needs one pod."""
    assert held(group(queue="q", **spec), pod()).least == least


@pytest.mark.parametrize(
    ("spec", "is_free"),
    [
        ({}, True),
        ({"topologyConstraint": {"topology": "t"}}, False),
        ({"subGroups": [{"name": "a", "topologyConstraint": {"topology": "t"}}]}, False),
        ({"subGroups": [{"name": "a"}]}, True),
    ],
)
def test_a_gang_is_free_to_move_where_no_part_of_it_asks_for_a_level(spec: Item, is_free: bool) -> None:
    assert held(group(queue="q", **spec), pod()).is_free is is_free


def test_a_gang_without_a_known_class_has_the_priority_of_its_pods() -> None:
    """Which an API server has filled in by the class, and which means nothing without one."""
    assert held(group(priorityClassName="x"), pod(spec={"priority": 125})).priority == 125
    assert held(group(priorityClassName="x"), pod()).priority == 50
    assert held(group(), pod(spec={"priority": 125})).priority == 50


def test_a_gang_is_what_its_pod_group_says_of_it() -> None:
    """What it leaves out its first pod on a node says."""
    parts = [{"name": "a", "minMember": 1}]
    told = group(queue="q", priorityClassName="high", preemptibility="preemptible", subGroups=parts)
    told["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    classes = [{"kind": "PriorityClass", "metadata": {"name": name}, "value": 125} for name in ("high", "low")]
    labels = {"kai.scheduler/queue": "r", "kai.scheduler/preemptibility": "non-preemptible"}
    labels |= {"kai.scheduler/subgroup-name": "a"}
    mine = pod("x", labels=labels, namespace="ours", creationTimestamp="2026-01-02T00:00:00Z")
    mine["spec"]["priorityClassName"] = "none"
    waits = pod("w", None, creationTimestamp="2026-01-03T00:00:00Z", namespace="ours")
    whole = held(told, *classes, mine, waits)
    assert (whole.name, whole.queue, whole.priority, whole.is_preemptible, whole.created, whole.namespace) == (
        "g", "q", 125, True, "2026-01-01T00:00:00Z", "ours",
    )  # fmt: skip
    assert (whole.pods, whole.asks, whole.least, whole.is_free) == (
        (("n", {GPU: 2, "pods": 1}),), Amounts(2), {"a": 1}, True,
    )  # fmt: skip
    assert [(one.name, one.sub_group, one.node, one.asks) for one in whole.members] == [
        ("x", "a", "n", {GPU: 2, "pods": 1}), ("w", "", None, {GPU: 2, "pods": 1}),
    ]  # fmt: skip
    assert whole.members[0].shape == whole.members[1].shape
    bare = held(*classes, waits, mine)
    assert (bare.queue, bare.priority, bare.is_preemptible, bare.created, bare.least, bare.is_free) == (
        "r", 50, False, "2026-01-02T00:00:00Z", None, False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("items", "queue", "is_preemptible"),
    [
        ([group(), pod()], None, True),
        ([group(), pod(labels={"runai/queue": "r"})], "r", True),
        ([group(preemptibility="other"), pod()], None, True),
        ([group(priorityClassName="c"), pod(spec={"priority": 99})], None, True),
        ([group(priorityClassName="c"), pod(spec={"priority": 100})], None, False),
        ([group(preemptibility="non-preemptible"), pod()], None, False),
    ],
)
def test_whether_a_gang_can_be_preempted(items: list[Item], queue: str | None, is_preemptible: bool) -> None:
    """By what it says, else by its priority."""
    found = held(*items)
    assert (found.queue, found.is_preemptible) == (queue, is_preemptible)


def test_a_record_of_a_cluster_tells_no_nodes_that_a_gang_may_go_to() -> None:
    """It leaves out the selectors of pods."""
    found = held({"kind": "ClusterState", "kinds": ["Pod"]}, group(queue="q"), pod())
    assert (found.is_free, found.members[0].shape) == (False, None)


def test_pods_that_have_ended_or_have_no_node_are_of_no_gang_that_holds_any() -> None:
    over = pod()
    over["status"]["phase"] = "Succeeded"
    assert held_gangs([over, pod("w", None, group="waits"), pod("alone", group=None)]) == ()


def test_pods_of_one_age_are_taken_by_their_uid() -> None:
    both = [
        pod("first", uid="2"),
        pod("second", uid="1"),
        pod("old", uid="3", creationTimestamp="2026-01-01T00:00:00Z"),
    ]
    assert [item.name for item in held(group(), *both).members] == ["second", "first", "old"]
    assert [item.name for item in held(group(), pod("b"), pod("a")).members] == ["a", "b"]


def test_what_may_not_move_freely_has_no_shape() -> None:
    shared = pod("shared", annotations={"pod-group-name": "g", "gpu-fraction": "0.5"})
    assert [item.shape is None for item in held(group(), pod(), shared).members] == [False, True]


@pytest.mark.parametrize(
    ("change", "node_name"),
    [
        (lambda item: item, "n"),
        (lambda item: item["spec"].update(schedulerName=KAI), None),
        (lambda item: item["spec"].pop("schedulerName"), "n"),
        (lambda item: item["status"].update(phase="Succeeded"), None),
        (lambda item: item.pop("status"), "n"),
        (lambda item: item["metadata"].update(namespace="kai-scale-adjust"), None),
        (lambda item: item["spec"].pop("nodeName"), None),
        (lambda item: item.pop("spec"), None),
        (lambda item: item.update(kind="Node"), None),
    ],
)
def test_what_another_scheduler_has_placed(change: Callable[[Item], object], node_name: str | None) -> None:
    """Pods that have ended hold nothing, and those that stand for others are counted there."""
    item = pod(group=None, spec={"schedulerName": "own"})
    change(item)
    assert held_by_others(item, KAI) == node_name


def test_each_shard_divides_what_its_usable_nodes_have_but_for_pods_of_other_schedulers() -> None:
    blue = node("b", 4, **{"kai.scheduler/node-pool": "blue"})
    blue["status"]["allocatable"]["memory"] = "10Gi"
    nodes = [node("n", 8), node("m", 2), blue, node("out", 8, cordoned=True), node("down", 8, ready=False)]
    takes = {"requests": {GPU: 1, "cpu": "500m", "memory": "1Gi"}}
    others = [
        pod(f"p{where}", where, group=None, spec={"schedulerName": "own", "containers": [{"resources": takes}]})
        for where in ("n", "n", "b", "out", "gone")
    ]
    found = total_resources(read_nodes(nodes), [*nodes, *others, pod("mine", "m")], KAI)
    assert dict(found) == {
        None: Amounts(8, 191000, 0 - 2 * 2**30),
        "blue": Amounts(3, 95500, 9 * 2**30),
    }
    assert counted({"amd.com/gpu": 2, GPU: 1, "cpu": 3, "memory": 4, "pods": 5}) == Amounts(3, 3, 4)


def test_a_pod_without_a_scheduler_that_is_in_a_pod_group_is_of_kai() -> None:
    item = pod()
    del item["spec"]["schedulerName"]
    assert held_by_others(item, KAI) is None


@pytest.mark.parametrize(
    ("labels", "shard"), [({"kai.scheduler/node-pool": "blue"}, "blue"), ({"a": "b"}, None), ({}, None)]
)
def test_the_queues_of_a_cluster_are_in_the_shard_of_their_label(labels: object, shard: str | None) -> None:
    found = trees((), [{"kind": "Queue", "metadata": {"name": "q", "labels": labels}}])
    assert list(found) == [shard]
