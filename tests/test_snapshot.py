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

from kubectl_tas.base.process import run
from kubectl_tas.cli.main import run as run_here
from tests.support import grove
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


def test_without_the_queues_there_is_no_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl = FakeKubectl(tmp_path, monkeypatch)
    nodes = json.loads((CASE / "nodes.json").read_text())["items"]
    kubectl.knows("default", *nodes, forbidden="queues.scheduling.run.ai")
    result = snapshot("mended", "--live", "--to", tmp_path / "x.zip")
    assert (result.code, "the cluster forbids reading queues.scheduling.run.ai" in result.err) == (3, True), result.err
    assert not (tmp_path / "x.zip").exists()


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


CLUSTERS = "manifests/two-clusters"
SEVERAL = "a snapshot is of one cluster; name its backend with --backend: hgx, nvl72"
NONE = "there is no work for the backend hgx"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), SEVERAL),
        (("unit-tests",), "the backend ci has no KAI"),
        (("--backend", "ci"), "the backend ci has no KAI"),
        (("pretrain", "--backend", "hgx"), NONE),
    ],
    ids=str,
)
def test_a_snapshot_is_of_one_cluster_with_kai(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    root = case_input(GOLDEN / CLUSTERS)
    result = snapshot(*arguments, FILES[0], "--to", tmp_path / "x.zip", root=root)
    assert (result.code, message in result.err) == (2, True), result.err
    assert not (tmp_path / "x.zip").exists()


def test_beside_a_cluster_without_kai_the_one_that_has_it_is_meant(tmp_path: Path) -> None:
    result = snapshot(
        "pretrain", "unit-tests", FILES[0], "--to", tmp_path / "x.zip", root=case_input(GOLDEN / CLUSTERS)
    )
    assert result.code == 0, result.err
    (group,) = content(tmp_path / "x.zip")["podGroups"]
    assert group["metadata"]["labels"]["kubectl-tas/workflow"] == "pretrain"


def printed(*arguments: str | Path, monkeypatch: pytest.MonkeyPatch, is_terminal: bool = False) -> tuple[int, bytes]:
    """The exit code, and what is written to a standard output of bytes."""
    out = io.TextIOWrapper(io.BytesIO())
    monkeypatch.setattr(out, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stdout", out)
    code = run_here([*map(str, ("-C", case_input(CASE), "snapshot", *arguments))], "kubectl tas")
    out.flush()
    found: io.BytesIO = out.buffer  # type: ignore[assignment]
    return code, found.getvalue()


def test_it_is_printed_for_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert snapshot("mended", *FILES, "--to", tmp_path / "x.zip").code == 0
    code, out = printed("mended", *FILES, "--to", "-", monkeypatch=monkeypatch)
    assert (code, out) == (0, (tmp_path / "x.zip").read_bytes())
    err = capsys.readouterr().err
    assert err.startswith("Printed: 12 nodes; 1 PodGroup with 7 pods.\n")
    assert "Next: " not in err
    assert not (tmp_path / "-").exists()


def test_it_is_not_printed_to_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = printed("mended", *FILES, "--to", "-", monkeypatch=monkeypatch, is_terminal=True)
    assert (code, out) == (2, b"")
    said = "Error: a snapshot is not for people to read: name a file with --to, or hand it to a program\n"
    assert capsys.readouterr().err.endswith(f"\n\n{said}")


BY_HAND = """\
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: by-hand}
spec: {queue: osmo-pool-default-team--shared, minMember: 1, priorityClassName: mine}
---
apiVersion: v1
kind: Pod
metadata: {name: a, annotations: {pod-group-name: by-hand}}
spec: {schedulerName: kai-scheduler, containers: [{name: a, image: i}]}
"""


def test_a_named_pod_group_or_set_comes_without_the_others(repository: Path, tmp_path: Path) -> None:
    root = grove.declare(repository, *(grove.clique_set(name=name) for name in ("chat", "talk")), BY_HAND)
    for name, pod in (("talk", "talk-0-server"), ("by-hand", "a")):
        result = snapshot(name, FILES[0], "--to", tmp_path / "x.zip", root=root)
        assert result.code == 0, result.err
        raw = content(tmp_path / "x.zip")
        assert [item.startswith(pod) for item in names(raw, "pods")] == [True]
        assert [item.startswith(name) for item in names(raw, "podGroups")] == [True]


def test_a_pod_group_whose_pods_are_elsewhere_is_work_too(repository: Path, tmp_path: Path) -> None:
    root = grove.declare(repository, BY_HAND.partition("---\n")[0])
    result = snapshot(FILES[0], "--to", tmp_path / "x.zip", root=root)
    assert result.code == 0, result.err
    assert "Left out: PodGroup/by-hand: its Pods are not declared here.\n" in result.err


@pytest.mark.parametrize("shard", ["h100", None])
def test_it_is_of_the_shard_of_the_work(shard: str | None, repository: Path, tmp_path: Path) -> None:
    spec = f"  nodePool: {shard}\n" if shard else ""
    work = "workflow: {name: w, pool: team, tasks: [{name: a, image: i}]}\n"
    write(repository, {"pools/team.yaml": pool(spec=spec), "workflows/w.yaml": work})
    assert snapshot(FILES[0], "--to", tmp_path / "x.zip", root=repository).code == 0
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        parameters = json.loads(archive.read("snapshot.json"))["schedulerParams"]
    assert parameters["partitionParams"]["NodePoolLabelValue"] == (shard or "")


def test_what_the_cluster_lacks_is_said(repository: Path, tmp_path: Path) -> None:
    job = """\
apiVersion: batch/v1
kind: Job
metadata: {name: sweep, labels: {kubectl-tas/pool: team}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: i, envFrom: [{configMapRef: {name: settings}}]}]
      resourceClaims: [{name: gpu, resourceClaimName: one}]
"""
    apart = "minMember: 1, topologyConstraint: {topology: gone, requiredTopologyLevel: example.com/rack}"
    root = grove.declare(repository, job, BY_HAND.replace("minMember: 1", apart))
    stranger = {
        "kind": "Pod",
        "metadata": {"name": "other", "annotations": {"pod-group-name": "gone"}},
        "spec": {"nodeName": "n1", "schedulerName": "kai-scheduler", "containers": [{"name": "a"}]},
        "status": {"phase": "Running"},
    }
    (tmp_path / "pods.json").write_text(json.dumps({"items": [stranger]}))
    result = snapshot(FILES[0], "--nodes", tmp_path / "pods.json", "--to", tmp_path / "x.zip", root=root)
    assert result.code == 0, result.err
    counts, *doubts, following = result.err.splitlines()
    assert counts == f"Wrote {tmp_path}/x.zip: 12 nodes; 2 PodGroups with 2 pods."
    tool = f"./snapshot-tool -filename {tmp_path}/x.zip -verbosity 6"
    assert following == f"Next: {tool} (KAI's own; docs/fit.md says how it is built)"
    assert [line for line in doubts if line.startswith(("Missing", "Assumed"))] == [
        "Assumed to exist: ConfigMap default/settings.",
        "Missing: PriorityClass mine; PodGroups with it have priority 50.",
        "Missing: Topology gone; PodGroups that name it are not placed.",
        "Missing: ResourceClaims of 1 pod, which will not be placed.",
        "Missing: the PodGroups of 1 pod on nodes; no queue is charged for them, and they stay.",
    ]


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
