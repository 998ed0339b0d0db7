"""Tests pods that join a handwritten PodGroup."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.kinds import config
from tests.support.pyyaml import safe_load

OWN = "osmo-pool-default-team--shared"


def group(spec: str, queue: str = OWN) -> str:
    """A PodGroup called train; ``spec`` is YAML in braces, without them."""
    head = "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: train}\n"
    return f"---\n{head}spec: {{queue: {queue}, {spec}}}\n"


def pod(name: str, gpus: int = 1, labels: str = "", more: str = "") -> str:
    """A Pod of it."""
    metadata = f"{{name: {name}, labels: {{{labels}}}, annotations: {{pod-group-name: train}}}}"
    container = f"{{name: main, image: busybox, resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}"
    return f"---\napiVersion: v1\nkind: Pod\nmetadata: {metadata}\nspec: {{{more}containers: [{container}]}}\n"


def found(root: Path, *texts: str, version: str = "0.17", guarantee: int = 16) -> list[str]:
    """Severity and code of what is found, without the note on the spelling of subGroups."""
    files = {"tas.yaml": config(version), "pools/p.yaml": pool(guarantee=guarantee), "workflows/w.yaml": "".join(texts)}
    result = json.loads(kubectl_tas("validate", "-o", "json", "-C", write(root, files)).out)
    return [f"{item['severity']} {item['rule']}" for item in result["diagnostics"]]


def rendered(root: Path, name: str) -> dict[str, dict[str, str]]:
    """The metadata and the spec of a rendered Pod."""
    assert kubectl_tas("render", "-C", root).code == 0
    content: dict[str, dict[str, str]] = safe_load((root / f"manifests/workloads/pod-{name}.yaml").read_text())
    return content


@pytest.mark.parametrize("version", ["0.14", "0.17"])
def test_what_pods_get_of_their_podgroup(repository: Path, version: str) -> None:
    assert found(repository, group("priorityClassName: osmo-low, minMember: 1"), pod("a"), version=version) == []
    item = rendered(repository, "a")
    assert item["metadata"]["labels"]["kai.scheduler/queue"] == OWN  # type: ignore[index]
    assert item["metadata"]["namespace"] == "default"
    skips = "kai.scheduler/skip-podgrouper" in item["metadata"]["annotations"]
    assert skips == (version == "0.17")
    assert (item["spec"]["schedulerName"], item["spec"]["priorityClassName"]) == ("kai-scheduler", "osmo-low")


@pytest.mark.parametrize(
    ("queue", "codes"),
    [("test", ["warning podgroup-queue"]), (OWN, [])],
)
def test_pods_of_a_queue_that_lives_elsewhere(repository: Path, queue: str, codes: list[str]) -> None:
    assert found(repository, group("minMember: 1", queue), pod("a", gpus=99), guarantee=100) == codes
    assert rendered(repository, "a")["metadata"]["labels"]["kai.scheduler/queue"] == queue  # type: ignore[index]


@pytest.mark.parametrize(
    ("spec", "codes"),
    [
        ("priorityClassName: osmo-normal, minMember: 2", ["error over-quota"]),
        ("priorityClassName: inference, minMember: 2", ["error over-quota"]),
        ("priorityClassName: train, preemptibility: non-preemptible, minMember: 2", ["error over-quota"]),
        ("priorityClassName: osmo-normal, minMember: 1", ["info quota-shared"]),
        ("priorityClassName: osmo-low, minMember: 2", []),
        ("priorityClassName: osmo-high, preemptibility: preemptible, minMember: 2", []),
        ("minMember: 2", []),
    ],
)
def test_gpus_are_held_against_the_queue_of_the_podgroup(repository: Path, spec: str, codes: list[str]) -> None:
    assert found(repository, group(spec), pod("a", 8), pod("b", 12)) == codes


def test_only_what_must_start_together_is_a_gang(repository: Path) -> None:
    spec = "priorityClassName: osmo-normal, subGroups: [{name: a, minMember: 1}, {name: b, minMember: 0}]"
    texts = [pod(f"{part}{n}", 8, f"kai.scheduler/subgroup-name: {part}") for part in "ab" for n in range(2)]
    assert found(repository, group(spec), *texts) == ["info quota-shared"]


@pytest.mark.parametrize(
    ("labels", "more", "code"),
    [
        ("kai.scheduler/queue: other", "", "error workload-conflict"),
        ("kubectl-tas/pool: other", "", "error workload-conflict"),
        ("kubectl-tas/pool: team", "", None),
        ("", "priorityClassName: osmo-high, ", "error workload-conflict"),
        ("", "schedulerName: default-scheduler, ", "error workload-conflict"),
        ("", "nodeName: node-1, ", "error quota-bypass"),
        ("", "containrs: [], ", "error unknown-field"),
    ],
)
def test_what_pods_say_else_than_their_podgroup(repository: Path, labels: str, more: str, code: str | None) -> None:
    text = group("priorityClassName: osmo-normal, minMember: 1")
    assert found(repository, text, pod("a", labels=labels, more=more)) == ([code] if code else [])


def test_a_subgroup_called_default_takes_pods_without_one(repository: Path) -> None:
    assert found(repository, group("subGroups: [{name: default, minMember: 1}]"), pod("a")) == []


def test_a_pod_of_a_podgroup_that_is_not_declared_needs_a_pool(repository: Path) -> None:
    assert found(repository, pod("a")) == ["error podgroup-unknown"]
    assert found(repository, pod("a", labels="kubectl-tas/pool: team")) == ["warning podgroup-elsewhere"]


def test_two_pods_of_one_name(repository: Path) -> None:
    alone = pod("a", labels="kubectl-tas/pool: team").replace("annotations: {pod-group-name: train}", "annotations: {}")
    assert found(repository, group("minMember: 1"), pod("a"), pod("a")) == ["error name-collision"]
    assert found(repository, group("minMember: 1"), pod("a"), alone) == ["error name-collision"]
    assert found(repository, alone, alone) == ["error name-duplicate"]


def test_explain_and_admit_know_the_podgroup(repository: Path) -> None:
    texts = (group("priorityClassName: osmo-normal, minMember: 2"), pod("a", 8), pod("b", 8))
    assert found(repository, *texts) == []
    out = kubectl_tas("workflow", "explain", "train", "-C", repository).out
    assert "GPUs:       16" in out
    assert "PodGroup train: 2 pods" in out
    assert kubectl_tas("admit", repository / "workflows/w.yaml", "-C", repository).code == 0
