"""Tests the pod of a task: its requests and its nodes."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.gangs.task_files import OUTPUT
from kubectl_tas.gangs.task_pods import (
    CodeRange,
    actions_by_code,
    code_ranges,
    deadline,
    is_pod,
    pod_spec,
    with_output,
)
from kubectl_tas.model.osmo_workflow import Resource, Task, Timeout
from kubectl_tas.model.platform import Nodes
from kubectl_tas.model.pool_kinds import PoolSpec


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


def test_all_that_a_task_asks_for() -> None:
    task = Task.model_validate(
        {
            "name": "Train_1",
            "image": "busybox",
            "command": ["sh", 1],
            "args": ["-c", 2],
            "environment": {"A": 3},
            "credentials": {"Token_A": {"USER": "name"}, "Disk": "/secret"},
            "volumeMounts": ["/data:/mnt", "/same"],
            "privileged": True,
            "hostNetwork": True,
        }
    )
    nodes = Nodes.model_validate({"selector": {"a": "b"}})
    resource = Resource.model_validate({"gpu": 2, "cpu": 1, "memory": "1Gi", "nodesExcluded": ["x"]})
    amounts = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "2"}
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["x"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    assert pod_spec(task, resource, "kai-scheduler", "osmo-normal", nodes) == {
        "schedulerName": "kai-scheduler",
        "priorityClassName": "osmo-normal",
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "train-1",
                "image": "busybox",
                "command": ["sh", "1"],
                "args": ["-c", "2"],
                "env": [
                    {"name": "A", "value": "3"},
                    {"name": "USER", "valueFrom": {"secretKeyRef": {"name": "token-a", "key": "name"}}},
                ],
                "resources": {"limits": amounts, "requests": amounts},
                "securityContext": {"privileged": True},
                "volumeMounts": [
                    {"name": "host-0", "mountPath": "/mnt"},
                    {"name": "host-1", "mountPath": "/same"},
                    {"name": "secret-disk", "mountPath": "/secret", "readOnly": True},
                ],
            }
        ],
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "nodeSelector": {"a": "b"},
        "affinity": {"nodeAffinity": required},
        "volumes": [
            {"name": "host-0", "hostPath": {"path": "/data"}},
            {"name": "host-1", "hostPath": {"path": "/same"}},
            {"name": "secret-disk", "secret": {"secretName": "disk", "defaultMode": 0o644}},
        ],
    }


VISIBLE = {"name": "NVIDIA_VISIBLE_DEVICES", "value": ""}


@pytest.mark.parametrize(
    ("fields", "gpus", "env"),
    [
        ({}, 0, [VISIBLE]),
        ({}, 1, None),
        ({"environment": {"NVIDIA_VISIBLE_DEVICES": "all"}}, 0, [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]),
        ({"credentials": {"a": "/x"}}, 0, [VISIBLE]),
        (
            {"credentials": {"a": {"NVIDIA_VISIBLE_DEVICES": "b"}}},
            0,
            [{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}],
        ),
    ],
)
def test_a_task_without_gpus_sees_none(fields: dict[str, Any], gpus: int, env: list[dict[str, Any]] | None) -> None:
    task = Task.model_validate({"name": "t", "image": "busybox", **fields})
    (container,) = pod_spec(task, Resource.model_validate({"gpu": gpus}), "s", "p", Nodes())["containers"]
    assert container.get("env") == env


def test_a_pod_without_wishes_has_no_empty_fields() -> None:
    assert spec(gpu=1) == {
        "schedulerName": "kai-scheduler",
        "priorityClassName": "osmo-normal",
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "t",
                "image": "busybox",
                "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}},
            }
        ],
    }


def test_the_folder_for_output_is_the_last_volume() -> None:
    container = {"name": "t", "volumeMounts": [{"name": "a", "mountPath": "/a"}]}
    assert with_output({"containers": [container, {"name": "u"}], "volumes": [{"name": "a"}], "x": 1}) == {
        "containers": [
            {**container, "volumeMounts": [*container["volumeMounts"], {"name": "task-output", "mountPath": OUTPUT}]},
            {"name": "u"},
        ],
        "volumes": [{"name": "a"}, {"name": "task-output", "emptyDir": {}}],
        "x": 1,
    }
    assert OUTPUT == "/osmo/data/output"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ({"containers": [{"name": "a"}]}, True),
        ({"containers": [{"env": [{}], "volumeMounts": ["x"], "command": [], "args": []}]}, True),
        *(({"containers": [{}], field: [{}]}, True) for field in ("initContainers", "volumes", "tolerations")),
        ({}, False),
        ({"containers": []}, False),
        ({"containers": {}}, False),
        ({"containers": [{}], "affinity": []}, False),
        *(({"containers": [{}], field: {}}, False) for field in ("initContainers", "volumes", "tolerations")),
        *(({"containers": [{}], field: ["x"]}, False) for field in ("initContainers", "volumes", "tolerations")),
        *(({"containers": [{field: {}}]}, False) for field in ("env", "volumeMounts", "command", "args")),
        ({"containers": [{"env": ["x"]}]}, False),
        ({"containers": ["x"]}, False),
    ],
)
def test_only_what_has_the_shape_of_a_pod_is_added_to(made: dict[str, Any], expected: bool) -> None:
    assert is_pod(made) is expected


@pytest.mark.parametrize(
    ("asked", "default", "most", "seconds"),
    [
        (None, None, None, None),
        ("5m", None, None, 300),
        ("5m", "1m", "2m", 300),
        (None, "1m", None, 60),
        (None, "5m", "2m", 120),
        (None, None, "2m", 120),
        ("0s", "1m", None, 60),
        ("24855d", None, None, 24855 * 86400),
        ("24856d", None, None, None),
    ],
)
def test_what_ends_a_pod(asked: Any, default: Any, most: Any, seconds: int | None) -> None:
    pool = PoolSpec.model_validate(
        {
            "resources": {"gpu": {"guarantee": 1}},
            **({"default_exec_timeout": default} if default else {}),
            **({"max_exec_timeout": most} if most else {}),
        }
    )
    timeout = Timeout.model_validate({} if asked is None else {"exec_timeout": asked})
    assert deadline(timeout, pool) == ({} if seconds is None else {"activeDeadlineSeconds": seconds})


def test_ranges_of_codes_as_written() -> None:
    first, second, third = code_ranges({"complete": "0,2-5", "FAIL": 7})
    assert first == CodeRange("complete", "0", 0, 0)
    assert second == CodeRange("complete", "2-5", 2, 5)
    assert third == CodeRange("FAIL", "7", 7, 7)
    assert (first.does, third.does) == ("COMPLETE", "FAIL")
    assert actions_by_code((second, CodeRange("FAIL", "5-6", 5, 6))) == {
        **dict.fromkeys((2, 3, 4, 5), second),
        6: CodeRange("FAIL", "5-6", 5, 6),
    }
    assert max(actions_by_code((CodeRange("FAIL", "250-999", 250, 999),))) == 255
