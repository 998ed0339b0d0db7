"""Tests that KAI places the examples as `fit` says, and that a second apply changes nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas
from tests.support.golden import EXAMPLES
from tests.support.running import GROUP, SUBGROUP, Running

pytestmark = pytest.mark.e2e
USE_CASES = {
    "single-nvl72-rack": "single-rack",
    "multiple-nvl72-racks": "two-racks",
    "multiple-nvl72-same-zone": "zones",
    "best-effort-topology": "spines",
    "best-effort-topology-apart": "spines-apart",
}
"""The nodes that OSMO's proposal draws for each of its use cases."""


def copied(name: str, folder: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES / name, folder / name, ignore=shutil.ignore_patterns("manifests")))


def generated(root: Path, pool: str, *options: str, **labels: str) -> list[dict[str, Any]]:
    """Nodes as ``nodes generate`` makes them, with the pool before their names, disks, and further labels."""
    result = kubectl_tas("-C", root, "nodes", "generate", f"--pool={pool}", "--memory=2048", "--cpu=192", *options)
    assert result.code == 0, result.err
    nodes = json.loads(result.out)["items"]
    for item in nodes:
        metadata, room = item["metadata"], item["status"]["allocatable"]
        metadata["name"] = "-".join([pool, *(["cpu"] if labels == CPU else []), metadata["name"]])
        metadata["labels"] |= {"kubernetes.io/hostname": metadata["name"]} | labels
        room["ephemeral-storage"] = "4Ti"
        item["status"]["capacity"] = room
    return list(nodes)


def domains(kai: Running, gang: dict[str, Any], nodes: list[dict[str, Any]], labels: list[str]) -> dict[str, Any]:
    """Where the pods of a gang run, as ``fit`` says it: by part, the domain and the number of pods."""
    of_node = {item["metadata"]["name"]: item["metadata"]["labels"] for item in nodes}
    found: dict[str, Any] = {}
    for name, node in kai.bound().items():
        metadata = kai.pods()[name]["metadata"]
        if metadata["annotations"][GROUP] == gang["podGroup"]:
            part = metadata["labels"].get(SUBGROUP) or gang["podGroup"]
            where = [of_node[node][label] for label in labels]
            found.setdefault(part, []).append(where)
    return found


def said(gang: dict[str, Any]) -> dict[str, Any]:
    """The same as ``fit`` has said it."""
    found: dict[str, Any] = {}
    for item in gang["placed"]:
        found.setdefault(item["part"], []).extend([item["domain"]] * item["pods"])
    return found


@pytest.mark.parametrize("case", USE_CASES)
def test_a_use_case_is_bound_where_fit_says(case: str, kai: Running, tmp_path: Path) -> None:
    name = case.removesuffix("-apart")
    root = copied("use-cases", tmp_path)
    for file in (root / "workflows").iterdir():
        if f"name: {name}\n" not in file.read_text():
            file.unlink()
    nodes = json.loads((root / "nodes" / f"{USE_CASES[case]}.json").read_text())["items"]
    kai.have_nodes(nodes)
    (gang,) = kai.answers(root, "fit", name)["gangs"]
    assert gang["outcome"] == "fits"
    kai.apply(root)
    kai.wait("all pods are bound", lambda: len(kai.bound()) == gang["pods"])
    levels = kai.api.items("/apis/kai.scheduler/v1alpha1/topologies")
    labels = {level["alias"]: level["nodeLabel"] for item in levels for level in item["spec"]["levels"]}
    there = domains(kai, gang, nodes, [labels[level] for level in gang["levels"]])
    assert {part: sorted(found) for part, found in there.items()} == said(gang)
    assert kai.apart() == []
    kai.wait("`why` says that it runs", lambda: kai.state(root, name) == "runs")


def test_the_quickstart_is_bound_where_fit_says(kai: Running, tmp_path: Path) -> None:
    """One workflow after the other: `fit` takes each alone, on what pods leave free."""
    root = copied("quickstart", tmp_path)
    later = root / "workflows/sweep.yaml"
    sweep = later.read_text()
    later.unlink()
    kai.have_nodes(generated(root, "team", "--domains=zone=2", "--domains=gpu-clique=2", "--nodes=4", "--gpus=4"))
    labels = ["topology.kubernetes.io/zone", "nvidia.com/gpu.clique"]
    nodes = kai.api.items("/api/v1/nodes")
    for name, pods in (("pretrain", 8), ("sweep", 10)):
        if name == "sweep":
            later.write_text(sweep)
        gangs = kai.answers(root, "fit", name)["gangs"]
        kai.apply(root)
        kai.wait("all pods are bound", lambda pods=pods: len(kai.bound()) == pods)
        for gang in gangs:
            there = domains(kai, gang, nodes, labels)
            assert {part: sorted(found) for part, found in there.items()} == said(gang)
    assert kai.apart() == []


H100 = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
CPU = {"acme.io/nodes": "cpu"}
APPLIED: dict[str, tuple[str, list[tuple[str, list[str], dict[str, str]]], list[str]]] = {
    "quickstart": ("", [("team", ["--domains=gpu-clique=2", "--nodes=6", "--gpus=4"], {})], []),
    "workloads": ("", [("team", ["--nodes=12"], {})], []),
    "osmo": (
        "",
        [("research", ["--domains=rack=2", "--domains=host=3"], H100), ("research", ["--gpus=0"], CPU)],
        [],
    ),
    "heterogeneous": ("", [("gb200", ["--domains=host=18", "--gpus=4"], {}), ("h100", [], {})], []),
    "company": (
        "train-eu",
        [("foundation", ["--domains=host=18", "--gpus=4"], {}), ("perception", ["--domains=host=6"], {})],
        ["stereo-distill"],
    ),
    "company-serving": ("serve-us", [("assistant", ["--domains=host=6"], {})], ["embeddings"]),
}
"""Of each example the backend that is applied, its nodes by pool, and the work that must wait: for a subpool
that is DELETING, and for a claim that nobody provides for."""


@pytest.mark.parametrize("case", APPLIED)
def test_an_example_runs_and_an_apply_of_the_same_changes_nothing(case: str, kai: Running, tmp_path: Path) -> None:
    backend, pools, waits = APPLIED[case]
    root = copied(case.removesuffix("-serving"), tmp_path)
    kai.have_nodes(item for pool, options, labels in pools for item in generated(root, pool, *options, **labels))
    files = list(kai.apply(root, backend))
    kai.wait("pods are bound", kai.bound)
    placed = kai.settled()
    waiting = kai.pods().keys() - placed.keys()
    assert {name for name in waiting if not name.startswith(tuple(waits))} == set()
    assert {work for work in waits if any(name.startswith(work) for name in waiting)} == set(waits)
    assert kai.apart() == []
    uids = {name: pod["metadata"]["uid"] for name, pod in kai.pods().items()}
    kai.must("apply", "--server-side", files=files)
    changed = kai.kubectl("diff", "--server-side", files=files)
    assert (changed.returncode, changed.stdout) == (0, ""), changed.stderr
    assert kai.settled() == placed
    assert {name: pod["metadata"]["uid"] for name, pod in kai.pods().items()} == uids
