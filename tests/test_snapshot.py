"""Tests ``snapshot``, which writes a repository and a cluster for KAI's own snapshot tool."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.process import run
from tests.support.cli import Result, kubectl_tas, pool, write
from tests.support.golden import EXAMPLES, GOLDEN, case_input
from tests.support.kubectl import FakeKubectl, pod_group, queue

CASE = GOLDEN / "commands/fit"
FILES = tuple(f"--nodes={CASE / name}" for name in ("nodes.json", "pods.json"))
TOOL = os.environ.get("KAI_SNAPSHOT_TOOL", "")


def snapshot(*arguments: str | Path, root: Path | None = None) -> Result:
    return kubectl_tas("-C", root or case_input(CASE), "snapshot", *arguments)


def content(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as archive:
        raw: dict[str, Any] = json.loads(archive.read("snapshot.json"))["rawObjects"]
    return raw


def names(raw: dict[str, Any], kind: str) -> list[str]:
    return [item["metadata"]["name"] for item in raw[kind]]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        result = snapshot(*FILES, "--to", tmp_path / name)
        assert result.code == 0
        assert result.err.startswith(f"Wrote {tmp_path / name}: 12 nodes; 6 PodGroups with 37 pods.\n")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_it_has_the_work_that_is_named(tmp_path: Path) -> None:
    assert snapshot("mended", *FILES, "--to", tmp_path / "one.zip").code == 0
    raw = content(tmp_path / "one.zip")
    assert len(raw["podGroups"]) == 1
    pending = [item for item in raw["pods"] if item["status"]["phase"] == "Pending"]
    assert {item["metadata"]["labels"]["kubectl-tas/workflow"] for item in pending} == {"mended"}
    assert len(raw["pods"]) > len(pending)
    assert snapshot("workflows/mended.yaml", *FILES, "--to", tmp_path / "file.zip").code == 0
    assert (tmp_path / "file.zip").read_bytes() == (tmp_path / "one.zip").read_bytes()


def test_nodes_come_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = kubectl_tas("-C", case_input(CASE), "nodes", "generate", "--pool", "team", "--nodes", "7")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(made.out.encode())))
    assert snapshot("--nodes", "-", "--to", tmp_path / "x.zip").code == 0
    assert len(content(tmp_path / "x.zip")["nodes"]) == 7


def test_what_shares_a_gang_comes_along(tmp_path: Path) -> None:
    root = case_input(GOLDEN / "manifests/owned-podgroups")
    assert snapshot("actor", "--nodes", CASE / "nodes.json", "--to", tmp_path / "x.zip", root=root).code == 0
    raw = content(tmp_path / "x.zip")
    assert len(raw["podGroups"]) == 1
    own = {"pytorchjob-actor-worker", "pytorchjob-actor-master", "deployment-reward-pod"}
    assert {name.rpartition("-")[0] for name in names(raw, "pods")} == own


def test_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a cluster KAI's own objects are read too; storage that may not be read is left out aloud."""
    kubectl = FakeKubectl(tmp_path, monkeypatch)
    nodes = json.loads((CASE / "nodes.json").read_text())["items"]
    kubectl.knows("default", *nodes, queue("other"), pod_group("other"), forbidden="persistentvolumes")
    (tmp_path / "default/pods").write_text('{"items": []}')
    result = snapshot("mended", "--live", "--to", tmp_path / "x.zip")
    assert result.code == 0, result.err
    assert "Without any persistentvolumes: the cluster forbids reading" in result.err
    raw = content(tmp_path / "x.zip")
    assert "group" in names(raw, "podGroups")
    assert "other" in names(raw, "queues")


LEFT_OUT = [
    ("manifests/segments", "Left out: TFJob/distributed-training: KAI does not make the segments"),
    ("manifests/handwritten-podgroups", "Left out: PodGroup/assistant: its Pods are not declared here."),
    (
        "manifests/trainjobs-ray-json-and-sidecars",
        "Left out: TrainJob/finetune: its pod templates are in another object.",
    ),
]


@pytest.mark.parametrize(("case", "line"), LEFT_OUT)
def test_what_is_not_known_is_said(case: str, line: str, tmp_path: Path) -> None:
    result = snapshot("--nodes", CASE / "nodes.json", "--to", tmp_path / "x.zip", root=case_input(GOLDEN / case))
    assert (result.code, line in result.err) == (0, True), result.err


@pytest.mark.parametrize(
    ("case", "arguments", "message"),
    [
        ("commands/fit", ("mende",), 'PodCliqueSet or PodGroup "mende"; did you mean "mended"?'),
        ("commands/fit", (*FILES, "--live"), "--nodes is given instead of a cluster"),
        ("commands/fit", ("--live", "-n", "x"), "-n has no effect here"),
        ("manifests/node-pools", (), "a snapshot is of one shard of the scheduler; name work of one: "),
        ("manifests/two-clusters", ("--backend", "nowhere"), 'no backend "nowhere"'),
    ],
)
def test_wrong_usage(case: str, arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = snapshot(*arguments, "--to", tmp_path / "x.zip", root=case_input(GOLDEN / case))
    assert (result.code, message in result.err) == (2, True), result.err


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    result = snapshot("mended", *FILES, "--to", tmp_path)
    assert (result.code, "it is a folder" in result.err) == (3, True)


def test_without_work_there_is_nothing_to_ask(tmp_path: Path) -> None:
    root = write(tmp_path, {"pools/team.yaml": pool(), "tas.yaml": ""})
    result = snapshot(*FILES, "--to", tmp_path / "x.zip", root=root)
    assert (result.code, "there is no work to place" in result.err) == (3, True)


def test_errors_of_the_repository_come_first(tmp_path: Path) -> None:
    root = write(tmp_path, {"pools/team.yaml": "kind: Pool\n", "tas.yaml": ""})
    assert snapshot(*FILES, "--to", tmp_path / "x.zip", root=root).code == 1
    assert not (tmp_path / "x.zip").exists()


@pytest.mark.skipif(not TOOL, reason="KAI_SNAPSHOT_TOOL names no snapshot tool of KAI 0.17")
@pytest.mark.parametrize("root", [case_input(CASE), EXAMPLES / "workloads", EXAMPLES / "heterogeneous"])
def test_kai_places_what_fit_says(root: Path, tmp_path: Path) -> None:
    """Each alone, as ``fit`` takes them, on nodes that are made for it."""
    pools = json.loads(kubectl_tas("-C", root, "pool", "list", "-o", "json").out)["pools"]
    made = kubectl_tas("-C", root, "nodes", "generate", "--pool", pools[0]["name"], "--nodes", "9")
    (tmp_path / "nodes.json").write_text(made.out)
    for item in json.loads(kubectl_tas("-C", root, "workflow", "list", "-o", "json").out)["workflows"]:
        name = f"{item['kind']}/{item['name']}"
        answer = kubectl_tas("-C", root, "fit", name, "--nodes", tmp_path / "nodes.json", "-o", "json")
        outcomes = [gang["outcome"] for gang in json.loads(answer.out)["gangs"]] if answer.out else []
        if outcomes:
            assert snapshot(name, "--nodes", tmp_path / "nodes.json", "--to", tmp_path / "x.zip", root=root).code == 0
            done = run([TOOL, "-filename", str(tmp_path / "x.zip"), "-verbosity", "4"])
            bound = re.findall(r"Creating bind request for task", done.out.decode() + done.err)
            assert bool(bound) == ("fits" in outcomes), name
