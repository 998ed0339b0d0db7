"""Tests ``doctor`` with the real kubectl, against a server that lists prepared objects."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.stub_api import api_server

needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
LEVELS = "  topology_keys:\n  - {key: rack, label: example.com/rack}\n"


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "X", "metadata": {"name": name, **more.pop("metadata", {})}, **more}


def deployment(*images: str) -> dict[str, Any]:
    containers = [{"name": "a", "image": image} for image in images]
    return {**named("scheduler"), "kind": "Deployment", "spec": {"template": {"spec": {"containers": containers}}}}


QUEUES = ("osmo-default-default", "osmo-pool-default-team", "osmo-pool-default-team--shared")
CRDS = ("queues.scheduling.run.ai", "podgroups.scheduling.run.ai", "topologies.kai.scheduler")
HOOK = {**named("kai"), "webhooks": [{"rules": [{"apiGroups": ["scheduling.run.ai"]}]}]}


def cluster(**changed: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """A cluster that has all that the repository needs, but for the changes."""
    found = {
        "apiextensions.k8s.io/v1/customresourcedefinitions": [named(name) for name in CRDS],
        "apps/v1/deployments": [deployment("ghcr.io/kai-scheduler/kai-scheduler/scheduler:v0.17.0")],
        "scheduling.run.ai/v2/queues": [{**named(name), "kind": "Queue"} for name in QUEUES],
        "scheduling.k8s.io/v1/priorityclasses": [
            {**named(f"osmo-{name}"), "kind": "PriorityClass", "value": value}
            for name, value in (("high", 125), ("normal", 100), ("low", 50))
        ],
        "kai.scheduler/v1/schedulingshards": [named("default", spec={})],
        "admissionregistration.k8s.io/v1/validatingwebhookconfigurations": [HOOK],
        "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations": [],
        "v1/nodes": [{**named("n1", metadata={"labels": {"example.com/rack": "r1"}}), "kind": "Node"}],
    }
    for resource, objects in changed.items():
        key = next(key for key in found if key.endswith(f"/{resource}"))
        found[key] = objects
    return found


def checks(root: Path, *arguments: object) -> tuple[int, list[dict[str, str]]]:
    result = kubectl_tas("doctor", "-C", root, *arguments, "-o", "json")
    assert result.err == ""
    found = json.loads(result.out)
    assert found["version"] == 1
    return result.code, [check for check in found["checks"] if check["subject"].startswith("cluster")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path / "r", {"pools/team.yaml": pool(spec=LEVELS)})


@needs_kubectl
def test_a_cluster_that_has_all(root: Path, tmp_path: Path) -> None:
    with api_server(tmp_path, cluster()) as kubeconfig:
        _, found = checks(root, "--kubeconfig", kubeconfig)
    assert {check["state"] for check in found if check["about"] != "guard"} == {"ok"}, found
    about = ["connection", "KAI", "KAI", "shards", "PriorityClasses", "webhooks", "levels", "queues", "guard"]
    assert [check["about"] for check in found] == about


LACKING = {
    "customresourcedefinitions": [],
    "deployments": [deployment("ghcr.io/kai-scheduler/kai-scheduler/scheduler:v0.14.1")],
    "queues": [named("legacy")],
    "priorityclasses": [],
    "schedulingshards": [named("a", spec={"partitionLabelValue": "b"})],
    "validatingwebhookconfigurations": [],
    "nodes": [named("n1")],
}
SAID = [
    ("KAI", "problem", "no podgroups.scheduling.run.ai", "Install KAI Scheduler"),
    ("KAI", "problem", "KAI is 0.14.1", 'scheduler.version: "0.14.1"'),
    ("shards", "problem", "its work stays Pending", "partitionLabelValue"),
    ("PriorityClasses", "problem", "lacks osmo-high", "Apply the rendered"),
    ("webhooks", "note", "no webhook checks", "KAI's admission"),
    ("levels", "problem", "1 of 1 nodes", "example.com/rack"),
    ("queues", "problem", "lacks osmo-default-default", "kubectl tas render"),
    ("queues", "note", "not ours: legacy", "kubectl tas import cluster"),
    ("guard", "note", "the guard is off", "spec.guard: true"),
]


@needs_kubectl
def test_each_thing_that_a_cluster_lacks_has_a_line_that_says_what_to_do(root: Path, tmp_path: Path) -> None:
    with api_server(tmp_path, cluster(**LACKING)) as kubeconfig:
        code, found = checks(root, "--kubeconfig", kubeconfig)
    wrong = [check for check in found if check["state"] != "ok"]
    assert [(check["about"], check["state"]) for check in wrong] == [(about, state) for about, state, *_ in SAID]
    for check, (_, _, said, todo) in zip(wrong, SAID, strict=True):
        assert said in check["message"]
        assert todo in check["todo"]
    assert code == 1


SHARD = "apiVersion: kai.scheduler/v1\nkind: SchedulingShard\nmetadata: {name: default}\nspec: {kValue: 2"
SHARD += ", usageDBConfig: {clientType: prometheus}}\n"
SHARDS = {
    "the same": ({"kValue": 2, "usageDBConfig": {"clientType": "prometheus"}, "partitionLabelValue": ""}, ""),
    "other": ({"kValue": 2, "usageDBConfig": {"clientType": "x"}}, "usageDBConfig.clientType is x, not prometheus"),
    "of KAI's chart": (
        {"kValue": 2, "usageDBConfig": {"clientType": "prometheus"}, "goMemLimitRatio": 0.9}
        | {"placementStrategy": {"gpu": "binpack", "cpu": "binpack"}},
        "",
    ),
    "newer": ({"newField": 1}, "spec is something that kubectl-tas does not read"),
    "none": (None, "the cluster has no SchedulingShard default, which pools/shard.yaml declares"),
}


@needs_kubectl
@pytest.mark.parametrize(("spec", "said"), SHARDS.values(), ids=SHARDS)
def test_shards_of_the_cluster_are_compared_with_those_of_the_repository(
    root: Path, tmp_path: Path, spec: dict[str, Any] | None, said: str
) -> None:
    write(root, {"pools/shard.yaml": SHARD})
    live = [named("default", spec=spec)] if spec is not None else [named("other", spec={})]
    with api_server(tmp_path, cluster(schedulingshards=live)) as kubeconfig:
        _, found = checks(root, "--kubeconfig", kubeconfig)
    messages = [check["message"] for check in found if check["about"] == "shards" and check["state"] == "problem"]
    assert len(messages) == bool(said)
    assert all(said in message for message in messages)


@needs_kubectl
def test_two_shards_of_one_value_are_a_problem(root: Path, tmp_path: Path) -> None:
    live = [named("default", spec={}), named("second", spec={"kValue": 1})]
    with api_server(tmp_path, cluster(schedulingshards=live)) as kubeconfig:
        code, found = checks(root, "--kubeconfig", kubeconfig)
    (check,) = (check for check in found if check["about"] == "shards" and check["state"] == "problem")
    assert check["message"].startswith("SchedulingShards default and second have one partitionLabelValue")
    assert check["todo"].startswith(
        "Delete one of them: kubectl delete schedulingshard default. If KAI's chart makes it"
    )
    assert code == 1


@needs_kubectl
def test_of_two_shards_of_one_value_the_declared_one_stays(root: Path, tmp_path: Path) -> None:
    write(root, {"pools/shard.yaml": SHARD.replace("{name: default}", "{name: main}")})
    spec = SHARDS["the same"][0]
    live = [named("main", spec=spec), named("other", spec={})]
    with api_server(tmp_path, cluster(schedulingshards=live)) as kubeconfig:
        _, found = checks(root, "--kubeconfig", kubeconfig)
    (check,) = (check for check in found if check["about"] == "shards" and check["state"] == "problem")
    assert check["todo"] == "Delete one of them: kubectl delete schedulingshard other."


@needs_kubectl
def test_what_may_not_be_read_is_said_and_the_rest_is_looked_at(root: Path, tmp_path: Path) -> None:
    with api_server(tmp_path, cluster(), ["scheduling.run.ai/v2/queues"]) as kubeconfig:
        _, found = checks(root, "--kubeconfig", kubeconfig)
    (rights,) = (check for check in found if check["about"] == "rights")
    assert (rights["state"], "queues.scheduling.run.ai" in rights["message"]) == ("unknown", True)
    assert "levels" in [check["about"] for check in found]


@needs_kubectl
def test_without_a_cluster_it_looks_at_the_rest(root: Path, tmp_path: Path) -> None:
    with api_server(tmp_path, {}) as kubeconfig:
        pass
    (root / "tas.yaml").write_text("apiVersion: tas/v1alpha1\nkind: Config\nspec: {}\n")
    result = kubectl_tas("doctor", "-C", root, "--kubeconfig", kubeconfig)
    assert "cluster default\n  unknown connection: the cluster cannot be reached" in result.out
    assert "the folder is in no git repository" in result.out
    assert result.code == 1


def test_without_kubectl_it_says_what_to_install(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECTL_PATH", "/nowhere/kubectl")
    result = kubectl_tas("doctor", "-C", root)
    assert "problem kubectl: cannot run /nowhere/kubectl" in result.out
    assert result.code == 1


@needs_kubectl
@pytest.mark.parametrize(
    ("text", "state", "said"),
    [
        ("# Write one line here.\n\n", "problem", "names no package, so CI installs nothing"),
        ("kubectl-tas @ https://example.com/kubectl_tas.whl\n", "note", "has no hashes"),
    ],
)
def test_a_lock_that_names_nothing_is_a_problem(root: Path, tmp_path: Path, text: str, state: str, said: str) -> None:
    (root / "requirements-tas.txt").write_text(text)
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    with api_server(tmp_path, {}) as kubeconfig:
        pass
    result = kubectl_tas("doctor", "-C", root, "--kubeconfig", kubeconfig, "-o", "json")
    locks = [check for check in json.loads(result.out)["checks"] if check["about"] == "lock"]
    assert (locks[0]["state"], said in locks[0]["message"]) == (state, True)
