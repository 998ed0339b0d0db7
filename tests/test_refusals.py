"""Tests what commands say of a command line that they refuse: the whole message, and what to do instead."""

from __future__ import annotations

import io
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, kubectl_tas, pool, subpool, write

CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\n"
BACKENDS = "spec: {backends: [{name: a}, {name: b}, {name: plain, namespace: plain, scheduler: {type: default}}]}\n"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, labels: {{kubectl-tas/pool: {pool}}}}}
spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}}}}}
"""
WORKFLOW = """\
workflow: {name: w, pool: team, tasks: [{name: t, image: i}]}
resources: {default: {gpu: 1}}
"""
FILES = {
    "one/tas.yaml": CONFIG,
    "one/pools/team.yaml": pool(
        spec="  topology_keys: [{key: zone, label: z}, {key: host, label: kubernetes.io/hostname}]\n"
    ),
    "one/pools/flat.yaml": pool("flat"),
    "one/subpools/a.yaml": subpool("a", 30),
    "one/subpools/old.yaml": subpool("old", 0, state="ARCHIVED"),
    "one/workflows/w.yaml": WORKFLOW,
    "one/workflows/job.yaml": JOB.format(name="w", pool="team"),
    "two/tas.yaml": f"{CONFIG}{BACKENDS}",
    "two/pools/a.yaml": pool("pa", spec="  backend: a\n"),
    "two/pools/b.yaml": pool("pb", spec="  backend: b\n"),
    "two/pools/c.yaml": pool("pc", spec="  backend: plain\n"),
    "two/workflows/a.yaml": JOB.format(name="ja", pool="pa"),
    "two/workflows/b.yaml": JOB.format(name="jb", pool="pb"),
    "two/workflows/c.yaml": JOB.format(name="jc", pool="pc"),
    "shards/tas.yaml": CONFIG,
    "shards/pools/a.yaml": pool("pa", spec="  nodePool: x\n"),
    "shards/pools/b.yaml": pool("pb"),
    "shards/workflows/a.yaml": JOB.format(name="ja", pool="pa"),
    "shards/workflows/b.yaml": JOB.format(name="jb", pool="pb"),
    "wrong/tas.yaml": CONFIG,
    "wrong/pools/team.yaml": pool(spec="  topology_keys: [{key: zone, label: z}]\n"),
    "wrong/pools/odd.yaml": "kind: Pol\n",
    "wrong/workflows/w.yaml": WORKFLOW,
    "empty/tas.yaml": CONFIG,
    "other.txt": "",
    **{f"{name}/nodes.json": "{}" for name in ("one", "two", "shards", "empty")},
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Repositories that no test changes, and files beside them."""
    return write(tmp_path_factory.mktemp("repositories"), FILES)


def called(folder: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> Result:
    """Runs a command line in a folder, with nothing on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    return kubectl_tas(*shlex.split(line), cwd=folder)


REFUSED = {
    "one": (
        "admit w",
        "admit other",
        "admit pools/team.yaml",
        "admit ../other.txt",
        "workflow explain 'a b' -o x",
        "validate - --stdin-filename docs/x.txt",
        "workflow explain",
        "pool plan tema",
        "pool plan team--a",
        "report --title ' '",
        "workflow explain w x",
        "workflow explain pools/team.yaml",
        "workflow explain w --pod-index 1",
        "workflow list --backend x",
        "validate -n x",
        "fit",
        "fit w --all -o svg",
        "fit w --grow tree -o tree",
        "fit w --grow team",
        "fit --grow tema",
        "fit w -n x --live",
        "fit w --live --nodes nodes.json",
        "fit w --context x --nodes nodes.json",
        "pool list --cluster-state x --cluster-state default=y",
        "render --to - --fail-on-change",
        "render -o - --to -",
        "render --backend x",
        "validate - x",
        "validate --stdin-filename x",
        "validate no",
        "validate ..",
        "validate --cache-dir kept",
        "validate --set x",
        "pool share",
        "pool share --gpus 1 --nodes nodes.json",
        "pool share tema --gpus 1",
        "pool share team--old --gpus 1",
        "pool share --gpus 1 --demand x",
        "pool share --gpus 1 --demand =1",
        "pool share --gpus 1 --demand team=12345678",
        "pool share --gpus 1 --demand team=²",
        "pool share --gpus 1 --demand team=1 --demand team=2",
        "pool share --gpus 1 --demand tema=1",
        "nodes generate",
        "nodes generate --pool team --like gke",
        "nodes generate --pool tema",
        "nodes generate --pool team --domains zone",
        "nodes generate --pool team --domains zone=0",
        "nodes generate --pool team --domains zone=100001",
        "nodes generate --pool team --domains zone=0000001",
        "nodes generate --pool team --domains zon=2",
        "nodes generate --like gke --domains zon=2",
        "nodes generate --pool team --domains zone=2 --domains zone=3",
        "nodes generate --pool team --nodes 2 --domains host=3",
        "nodes generate --pool flat --nodes 100001",
        "nodes generate --pool flat --nodes 2 --cordoned 2 --not-ready 1",
        "nodes generate --pool flat --unlabelled 1",
        "snapshot --to x -n x",
        "subpool create team x --quota 3x",
        "subpool create team x --quota 3 --cpu x",
        "subpool create team x --quota 3 --memory 3",
        "subpool create team --quota 3",
        "subpool update team a",
        "subpool drain --watch --used 1",
        "subpool list tema",
        "topology suggest --pool tema",
        "topology suggest --name A_b",
        "topology describe x",
        "topology list --pool x",
        "schema pool --all x",
        "schema pol",
        "rule zzzz",
        "help pool list x",
        "import cluster --cluster-state x --context y",
        "import cluster --cluster-state x --kubeconfig y",
        "import kueue nodes.json --context y",
        "import kueue nodes.json --kubeconfig y",
    ),
    "two": (
        "workflow why jc",
        "pool plan pc",
        "pool plan pa pb --nodes nodes.json",
        "cluster state --to x",
        "fit jc",
        "fit ja jb --nodes nodes.json",
        "pool list --context x",
        "pool list --cluster-state x",
        "pool list --cluster-state a=x --cluster-state a=y",
        "render --to -",
        "pool share pc --gpus 1",
        "pool share pa pb --gpus 1",
        "pool share pa --gpus 1 --demand pb=1",
        "snapshot --to x --nodes nodes.json",
        "snapshot jc --to x --nodes nodes.json",
        "snapshot ja --backend b --to x --nodes nodes.json",
        "topology suggest --cluster-state a=nodes.json --cluster-state b=nodes.json",
    ),
    "empty": (
        "pool plan",
        "pool share --gpus 1",
    ),
    "shards": (
        "pool share --gpus 1",
        "snapshot --to x --nodes nodes.json",
    ),
}
"""Wrong command lines by the repository that each is for."""


@pytest.mark.parametrize(("repository", "line"), [(name, line) for name, lines in REFUSED.items() for line in lines])
def test_wrong_usage_has_a_message(
    repository: str, line: str, root: Path, monkeypatch: pytest.MonkeyPatch, snapshot: Any
) -> None:
    result = called(root / repository, line, monkeypatch)
    assert (result.code, result.out) == (2, "")
    usage, _, message = result.err.partition(" for help.\n\n")
    assert usage.startswith("Usage: ")
    assert message.replace(str(root), "{root}") == snapshot


@pytest.mark.parametrize(
    ("repository", "line", "message", "hint"),
    [
        (
            "two",
            "pool list --live --backend a",
            "the backend a has no context that names its cluster",
            "Add `context:` to it in tas.yaml, or pass --backend a --context NAME.",
        ),
        (
            "empty",
            "render",
            "nothing to render: {root}/empty declares no pool, topology, workflow, workload or PodGroup",
            "Run `kubectl tas init`, name the repository with -C, or pass --allow-empty to remove all manifests.",
        ),
        ("empty", "snapshot --to x", "there is no work to place", "Declare a workflow or a workload."),
        ("one", "-C nowhere validate", "nowhere is not a folder", "Name the root of the repository."),
        (
            "one",
            "import cluster --cluster-state -",
            "standard input is not JSON of Kubernetes objects: it is empty",
            "It must be what `kubectl get ... -o json` prints.",
        ),
        ("one", "validate -", "standard input is empty", "What should have written to it most likely failed."),
    ],
)
def test_a_failure_has_a_message_and_a_hint(
    repository: str, line: str, message: str, hint: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = called(root / repository, line, monkeypatch)
    told = f"error: {message.format(root=root)}\n  = help: {hint}\n"
    assert (result.code, result.out, result.err) == (3, "", told)


@pytest.mark.parametrize(
    ("repository", "line", "note"),
    [
        ("empty", "pool list", "There are no pools.\n"),
        ("empty", "subpool list", "There are no subpools.\n"),
        ("empty", "topology list", "This repository has no topologies.\n"),
        ("empty", "workflow list", "There are no workflows.\n"),
        ("empty", "topology usage", "This repository has no PodCliqueSets.\n"),
        ("empty", "fit --all --nodes nodes.json", "There is no work to place.\n"),
        ("one", "topology list --pool flat", "Pool flat has no topology keys.\n"),
        ("one", "subpool drain --used 1", "No subpool is DELETING.\n"),
        (
            "two",
            "fit --all --backend plain --nodes nodes.json",
            "Left out: 1 Job for backends without KAI.\nThere is no work to place.\n",
        ),
    ],
)
def test_where_nothing_can_be_shown_a_note_says_so(
    repository: str, line: str, note: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = called(root / repository, line, monkeypatch)
    assert (result.code, result.out, result.err) == (0, "", note)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("import kueue pipe.yaml", "Name a file with objects of Kueue."),
        ("import osmo pipe.yaml", "Name a file of OSMO's configuration."),
        ("workflow explain pipe.yaml", "Name a file with work."),
        ("admit pipe.yaml", "Name a workflow file."),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    line: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"pools/team.yaml": pool()})
    os.mkfifo(tmp_path / "pipe.yaml")
    result = called(tmp_path, line, monkeypatch)
    told = f"error: cannot read pipe.yaml: it is a pipe, not a plain file\n  = help: {hint}\n"
    assert (result.code, result.err) == (3, told)


@pytest.mark.parametrize(
    "line",
    [
        "pool list",
        "pool list -o csv",
        "pool describe team",
        "pool describe team -o json",
        "subpool list",
        "topology list",
        "topology list --pool team",
        "topology describe osmo-pool-default-team-topology",
        "topology usage",
        "workflow list",
        "workflow explain w",
        "nodes generate --pool team",
        "admit w",
    ],
)
def test_what_is_shown_beside_errors_fails_and_says_so(line: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = called(root / "wrong", line, monkeypatch)
    assert result.code == 1
    assert result.err.endswith("This repository has 1 error; run: kubectl tas validate\n")


@pytest.mark.parametrize(
    "line",
    [
        "fit w --nodes nodes.json",
        "fit --all --nodes nodes.json",
        "pool share --gpus 1",
        "pool plan --nodes nodes.json",
        "workflow why w",
        "snapshot --to x --nodes nodes.json",
        "render",
        "check",
    ],
)
def test_errors_refuse_what_needs_a_repository_without_any(
    line: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = called(root / "wrong", line, monkeypatch)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("pools/odd.yaml:1:")
    assert result.err.endswith("\n\n1 error in 4 files.\n")
