"""Tests that KAI places the examples as `fit` says, and that a second apply changes nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.golden import EXAMPLES
from tests.support.placed import APPLIED, USE_CASES, domains, generated, said
from tests.support.running import Running

pytestmark = pytest.mark.e2e


def copied(name: str, folder: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES / name, folder / name, ignore=shutil.ignore_patterns("manifests")))


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
