"""Tests that commands report an unknown usage with its reason, and never count it as 0."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.live.kubectl import STATE
from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.kubectl import queue

NODE = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"nvidia.com/gpu": "64", "pods": "99"}}}
WHY = "nodes.json has no Queue, so it does not say what runs"
MEND = "kubectl get queues.scheduling.run.ai,podgroups.scheduling.run.ai -A -o json"
QUEUE = "osmo-pool-default-team"


@pytest.fixture
def team(repository: Path) -> Path:
    """A pool with a subpool that is to be retired, and files of its cluster."""
    state(repository, "nodes.json", NODE)
    files = {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 30, state="DELETING")}
    return write(repository, files)


def state(root: Path, name: str, *items: dict[str, Any]) -> Path:
    (root / name).write_text(json.dumps({"items": items}))
    return root / name


def asked(root: Path, *words: str, file: str = "nodes.json") -> Result:
    return kubectl_tas(*words, f"--cluster-state={file}", cwd=root)


def test_share(team: Path) -> None:
    result = asked(team, "pool", "share")
    assert (result.code, result.out) == (3, "")
    assert f"error: {WHY}\n" in result.err
    assert MEND in result.err


def test_share_of_a_cluster_that_has_no_queues(team: Path) -> None:
    """Its record says that it has all of them, so nobody asks for anything."""
    state(team, "all.json", {"kind": STATE, "kinds": ["Node", "Pod", "Queue", "PodGroup"]}, NODE)
    assert asked(team, "pool", "share", file="all.json").code == 0


@pytest.mark.parametrize("words", [("pool", "list"), ("pool", "describe", "team")], ids=" ".join)
def test_list(team: Path, words: tuple[str, ...]) -> None:
    result = asked(team, *words)
    assert (result.code, "unknown" in result.out) == (0, True)
    assert f"Note: {WHY}. " in result.err
    assert MEND in result.err


def test_list_names_queues_that_are_not_there(team: Path) -> None:
    state(team, "other.json", NODE, queue("other", 0))
    result = asked(team, "pool", "list", file="other.json")
    assert f"Note: the cluster of backend default has no queue {QUEUE}--" in result.err
    assert "apply its manifests, or name the right cluster" in result.err


def test_list_says_why_a_queue_is_in_doubt(team: Path) -> None:
    mute = {"kind": "Queue", "metadata": {"name": f"{QUEUE}--a"}, "spec": {}}
    state(team, "mute.json", NODE, mute, queue(f"{QUEUE}--shared", 0))
    result = asked(team, "pool", "list", file="mute.json")
    assert f"of the queue {QUEUE}--a the cluster does not say what it holds: it has no status" in result.err


def test_drain(team: Path) -> None:
    result = asked(team, "subpool", "drain")
    assert (result.code, result.out) == (3, "")
    assert f"cannot tell whether anything runs there: {WHY}" in result.err
    assert MEND in result.err
    assert "Name the right cluster" not in result.err


@pytest.mark.parametrize(
    "words", [("pool", "list"), ("pool", "share"), ("topology", "suggest"), ("validate",)], ids=str
)
def test_standard_input(team: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as a command reads it."""
    file = state(team, "all.json", NODE, queue(f"{QUEUE}--a", 3), queue(f"{QUEUE}--shared", 2), queue(QUEUE, 0))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    given = asked(team, *words, file="-")
    assert given == asked(team, *words, file="all.json")
    assert given.code in (0, 1)


def test_standard_input_that_is_no_state(team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    result = asked(team, "pool", "list", file="-")
    assert result.code == 3
    assert "error: standard input is not JSON of Kubernetes objects: it is empty" in result.err


def test_import_reads_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"[]")))
    result = kubectl_tas("import", "cluster", "--cluster-state", "-", "--to", tmp_path / "x")
    assert "not a folder" not in result.err
    assert "No such file" not in result.err


@pytest.mark.parametrize("name", ["Bad Name", "-x", "a_b", ""])
def test_suggested_topology_has_a_name(team: Path, name: str) -> None:
    result = kubectl_tas("topology", "suggest", "--cluster-state", "nodes.json", "--name", name, cwd=team)
    assert (result.code, result.out) == (2, "")
    assert f"Invalid value for '--name': {name!r} must be lower-case letters" in result.err


def test_a_cluster_of_which_another_has_the_name_in_its_own(repository: Path) -> None:
    """What is unread is known by the name of its backend, not by the text of a finding."""
    config = "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  backends: [{name: prod}, {name: prod-2}]\n"
    pools = {f"pools/{name}.yaml": pool(name, spec=f"  backend: {name}\n") for name in ("prod", "prod-2")}
    write(repository, {"tas.yaml": config, **pools})
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "x"},
        "spec": {"nodeName": "n", "containers": [{"resources": {"requests": {"nvidia.com/gpu": 8}}}]},
        "status": {"phase": "Running"},
    }
    kinds = {"kind": STATE, "kinds": ["Node", "Pod", "Queue", "PodGroup"]}
    state(repository, "prod.json", kinds, NODE, pod)
    (repository / "prod-2.json").write_text("broken")
    files = [f"--cluster-state={name}={name}.json" for name in ("prod", "prod-2")]
    rules = {
        item["rule"]
        for item in json.loads(kubectl_tas("validate", *files, "-o", "json", cwd=repository).out)["diagnostics"]
    }
    assert {"cluster-unread", "gpus-elsewhere"} <= rules
