"""Tests how the usage of each queue is read from the status that KAI writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.facts.quantities import NOTHING, Amounts
from kubectl_tas.live.live_cluster import LiveQueueUsage, from_file, work_of
from kubectl_tas.live.owners import resources
from tests.support.kubectl import pod_group, queue


def usage(tmp_path: Path, *objects: Any) -> LiveQueueUsage:
    """The usage of the queue ``q``."""
    file = tmp_path / "state.json"
    file.write_text(json.dumps({"kind": "List", "items": objects}))
    return from_file(str(file)).queues["q"]


@pytest.mark.parametrize(
    ("amount", "gpus"),
    [
        (12, 12), ("8", 8), ("0", 0), ("4500m", 5), ("500m", 1), ("1k", 1000), ("2Ki", 2048), (0.5, 1), ("1.0", 1),
        ("1e1", 10), ("1E1", 10), ("1E", 10**18), ("1n", 1), ("100u", 1), ("+3", 3), (".5", 1), ("2.", 2),
    ],
)  # fmt: skip
def test_quantities(tmp_path: Path, amount: object, gpus: int) -> None:
    assert usage(tmp_path, queue("q", amount)) == LiveQueueUsage(Amounts(gpus), Amounts(gpus), 0)


@pytest.mark.parametrize("amount", ["", "x", "8 GPUs", "NaN", "1ee3", "--1", True, [8], {"a": 8}, "1e999999", "8٣"])
def test_what_is_no_quantity(tmp_path: Path, amount: object) -> None:
    with pytest.raises(TasError, match=r"^a Queue of the cluster cannot be read: q: status\..* is .*, not a quantity$"):
        usage(tmp_path, queue("q", amount))


def test_preemptible_and_not(tmp_path: Path) -> None:
    assert usage(tmp_path, queue("q", "12", "8")) == LiveQueueUsage(Amounts(12), Amounts(8), 0)


def test_a_status_without_what_is_empty(tmp_path: Path) -> None:
    """KAI leaves out what is empty: that is the status of a queue whose work has ended."""
    for status in ({"status": {}}, {"status": {"allocated": None}}, {"status": {"allocated": {"cpu": "0"}}}):
        found = usage(tmp_path, {"kind": "Queue", "metadata": {"name": "q"}, **status})
        assert (found, found.in_use, found.used) == (LiveQueueUsage(NOTHING, NOTHING, 0), False, NOTHING)


def test_a_queue_without_status(tmp_path: Path) -> None:
    for status in ({}, {"status": None}):
        found = usage(tmp_path, {"kind": "Queue", "metadata": {"name": "q"}, **status})
        assert (found.in_use, found.used, found.doubt) == (None, None, "it has no status")


IDLE: dict[str, tuple[list[dict[str, Any]], bool]] = {
    "nobody-asks": ([], True),
    "what-asks-waits": ([pod_group("q", phase="Pending", resourcesStatus={"requested": {"nvidia.com/gpu": 8}})], True),
    "what-asks-has-no-status": ([{"kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"queue": "q"}}], False),
    "what-asks-runs": ([pod_group("q", running=1)], False),
    "what-asks-is-broken": ([pod_group("q", running=-1)], False),
    "others-run": ([pod_group("other", running=1)], True),
}


@pytest.mark.parametrize("name", IDLE)
def test_a_queue_that_nobody_has_asked_holds_nothing(tmp_path: Path, name: str) -> None:
    """KAI writes no status before a PodGroup names the queue, so all PodGroups tell."""
    groups, is_idle = IDLE[name]
    idle = {"kind": "Queue", "metadata": {"name": "q"}}
    about = {"kind": "ClusterState", "kinds": ["PodGroup", "Queue"]}
    assert (usage(tmp_path, about, idle, *groups).used == NOTHING) is is_idle
    assert usage(tmp_path, {**about, "namespace": "ml"}, idle, *groups).used is None
    assert usage(tmp_path, {**about, "kinds": ["Queue"]}, idle, *groups).used is None


def test_less_than_nothing(tmp_path: Path) -> None:
    for amount in (-1, "-1", "-500m", -0.5, "-1Gi"):
        found = usage(tmp_path, queue("q", 0, amount))
        assert (found.in_use, found.used) == (None, None)


RUNNING: dict[str, tuple[dict[str, Any], bool]] = {
    "pods-run": ({"running": 1, "phase": "Running"}, True),
    "pods-wait": ({"running": 0, "pending": 4, "phase": "Pending"}, False),
    "pods-have-ended": ({"succeeded": 4, "phase": "Succeeded"}, False),
    "resources-are-held": ({"resourcesStatus": {"allocated": {"cpu": "100m"}}}, True),
    "resources-are-given-back": ({"resourcesStatus": {"allocated": {"cpu": "0", "nvidia.com/gpu": 0}}}, False),
    "resources-are-asked-for": ({"resourcesStatus": {"requested": {"nvidia.com/gpu": "8"}}}, False),
    "nothing-is-known": ({}, False),
}


@pytest.mark.parametrize("name", RUNNING)
def test_running(tmp_path: Path, name: str) -> None:
    status, runs = RUNNING[name]
    found = usage(tmp_path, queue("q", 0), pod_group("q", **status), pod_group("other", running=3))
    assert (found.workflows, found.in_use) == (int(runs), runs)


def test_cpu_and_memory(tmp_path: Path) -> None:
    held = {"cpu": "1500m", "memory": "64Gi", "nvidia.com/gpu": "2"}
    fixed = {"cpu": "0.5", "memory": "1G"}
    status = {"allocated": held, "allocatedNonPreemptible": fixed}
    found = usage(tmp_path, {"kind": "Queue", "metadata": {"name": "q"}, "status": status})
    assert (found.allocated, found.used) == (Amounts(2, 1500, 64 * 2**30), Amounts(0, 500, 10**9))
    assert found.in_use


def test_less_memory_than_nothing(tmp_path: Path) -> None:
    status = {"allocated": {"memory": "-1Gi"}}
    found = usage(tmp_path, {"kind": "Queue", "metadata": {"name": "q"}, "status": status})
    assert (found.used, found.doubt) == (None, "it says that -1Gi memory are allocated")


def test_the_first_doubt_is_told(tmp_path: Path) -> None:
    status = {"allocated": {"memory": "-1Gi", "nvidia.com/gpu": "-2"}}
    held = {"kind": "Queue", "metadata": {"name": "q"}, "status": status}
    assert usage(tmp_path, held).doubt == "it says that -2 GPUs are allocated"
    fewer = "one of its PodGroups says that fewer than no pods run"
    assert usage(tmp_path, held, pod_group("q", running=-1)).doubt == fewer


def test_pod_groups_of_one_namespace(tmp_path: Path) -> None:
    """Without a namespace an object is in default."""
    groups = [pod_group("q", running=1) for _ in range(3)]
    groups[1]["metadata"]["namespace"] = "ml"
    del groups[2]["metadata"]["namespace"]
    file = tmp_path / "state.json"
    file.write_text(json.dumps({"kind": "List", "items": [queue("q", 0), *groups]}))
    running = {name: from_file(str(file), name).queues["q"].workflows for name in ("default", "ml", "gone", None)}
    assert running == {"default": 2, "ml": 1, "gone": 0, None: 3}


@pytest.mark.parametrize(
    ("metadata", "work"),
    [
        ({"labels": {"kubectl-tas/workflow": "w"}, "ownerReferences": [{"kind": "Job", "name": "j"}]}, "Workflow/w"),
        ({"ownerReferences": [{"kind": "Job", "name": "j"}, {"kind": "X", "name": "x"}]}, "Job/j"),
        ({"name": "p"}, "PodGroup/p"),
    ],
)
def test_the_work_of_a_pod_group(metadata: dict[str, Any], work: str) -> None:
    assert work_of({"kind": "PodGroup", "metadata": metadata}) == work


def test_a_pod_group_is_read_with_its_pods_alone() -> None:
    assert resources("PodGroup") == resources("Pod") == {}
    assert resources("PodCliqueSet")["PodClique"] == "podcliques.grove.io"


def test_gpus_that_no_podgroup_explains(tmp_path: Path) -> None:
    assert usage(tmp_path, queue("q", "500m")).in_use


def test_what_is_neither_queue_nor_podgroup_is_left_out(tmp_path: Path) -> None:
    others = ({"kind": "Pod", "metadata": {"name": "p"}}, {"kind": "Other"})
    assert usage(tmp_path, *others, queue("q", 1)) == LiveQueueUsage(Amounts(1), Amounts(1), 0)


def test_a_podgroup_without_a_queue(tmp_path: Path) -> None:
    group = {"kind": "PodGroup", "metadata": {"name": "g"}, "status": {"running": 1}}
    assert usage(tmp_path, queue("q", 0), group) == LiveQueueUsage(NOTHING, NOTHING, 0)


BROKEN: dict[str, dict[str, Any]] = {
    "no-metadata": {"kind": "Queue"},
    "no-name": {"kind": "Queue", "metadata": {}},
    "metadata-is-a-list": {"kind": "Queue", "metadata": []},
    "status-is-a-word": {"kind": "Queue", "metadata": {"name": "q"}, "status": "fine"},
    "allocated-is-a-list": {"kind": "Queue", "metadata": {"name": "q"}, "status": {"allocated": [8]}},
    "running-is-a-word": pod_group("q", running="many"),
    "running-is-a-list": pod_group("q", running=[1]),
    "spec-is-a-list": {**pod_group("q", running=1), "spec": ["q"]},
}


@pytest.mark.parametrize("name", BROKEN)
def test_objects_that_are_broken(tmp_path: Path, name: str) -> None:
    with pytest.raises(TasError, match=r"^a (Queue|PodGroup) of the cluster cannot be read: "):
        usage(tmp_path, BROKEN[name])
