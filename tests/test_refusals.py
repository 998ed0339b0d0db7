"""Tests what commands say of a command line that they refuse: the whole message, and what to do instead."""

from __future__ import annotations

import io
import os
import shlex
import sys
from pathlib import Path

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
SHARE = 'nor a share of the parent such as "33%"'
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


@pytest.mark.parametrize(
    ("repository", "line", "message"),
    [
        ("one", "admit w", "w is the name of several: Job/w, Workflow/w; name one, or its FILE"),
        ("one", "admit other", 'no file, workflow, workload, PodCliqueSet or PodGroup "other"; there is w'),
        ("one", "admit pools/team.yaml", "pools/team.yaml has no workflow, workload, PodCliqueSet or PodGroup"),
        ("one", "admit ../other.txt", "../other.txt has no workflow, workload, PodCliqueSet or PodGroup"),
        (
            "one",
            "workflow explain 'a b' -o x",
            "Invalid value for '-o' / '--output': 'x' is not one of 'tree', 'mermaid', 'dot', 'svg', 'html', 'json'.",
        ),
        (
            "one",
            "validate - --stdin-filename docs/x.txt",
            "docs/x.txt is not read: read are .yaml, .yml, .json below pools, subpools, topologies, workflows",
        ),
        ("one", "workflow explain", "name WORK: a FILE, a NAME or KIND/NAME"),
        ("two", "workflow why jc", "jc is for backend plain, which has no KAI"),
        ("one", "pool plan tema", 'no pool "tema"; did you mean "team"?'),
        ("one", "pool plan team--a", "team--a is a subpool, which uses the nodes of its pool; name team"),
        ("two", "pool plan pc", "pool pc is for backend plain, which has no KAI"),
        ("two", "pool plan pa pb --nodes nodes.json", "that is what one cluster has; name it with --backend: a, b"),
        ("empty", "pool plan", "there is no pool to plan for"),
        ("one", "report --title ' '", "--title is empty"),
        ("two", "cluster state --to x", "a file is for one cluster; name its backend with --backend: a, b, plain"),
        ("one", "workflow explain w x", "x is one too many: name one WORK"),
        (
            "one",
            "workflow explain pools/team.yaml",
            "pools/team.yaml has no workflow, workload, PodCliqueSet or PodGroup",
        ),
        ("one", "workflow explain w --pod-index 1", "--pod-index is for workloads with segments; there are none"),
        ("one", "workflow list --backend x", 'no backend "x"; there is default'),
        (
            "one",
            "validate -n x",
            "-n limits what is read of a cluster, but no cluster is read; add --live, or name the cluster",
        ),
        ("one", "fit", "name WORK, or pass --all"),
        ("one", "fit w --all -o svg", "-o svg draws answers for WORK that is named, not those of --all or --grow"),
        (
            "one",
            "fit w --grow tree -o tree",
            "-o tree draws answers for WORK that is named, not those of --all or --grow",
        ),
        ("one", "fit w --grow team", "name WORK, or a pool behind --grow"),
        ("one", "fit --grow tema", 'no pool "tema"; did you mean "team"?'),
        ("one", "fit w -n x --live", "-n has no effect here: pods of all namespaces share the nodes"),
        (
            "one",
            "fit w --live --nodes nodes.json",
            "--nodes is given instead of a cluster: leave --live and the other options out",
        ),
        (
            "one",
            "fit w --context x --nodes nodes.json",
            "--nodes is given instead of a cluster: leave --live and the other options out",
        ),
        ("two", "fit jc", "Job jc is for backend plain, which has no KAI"),
        ("two", "fit ja jb --nodes nodes.json", "that is what one cluster has; name it with --backend: a, b"),
        ("two", "pool list --context x", "--context names one cluster; name its backend too: backends are a, b, plain"),
        (
            "two",
            "pool list --cluster-state x",
            "--cluster-state x: of which cluster? Write BACKEND=FILE; backends are a, b, plain",
        ),
        (
            "two",
            "pool list --cluster-state a=x --cluster-state a=y",
            "--cluster-state is given twice for the backend a",
        ),
        (
            "one",
            "pool list --cluster-state x --cluster-state default=y",
            "--cluster-state is given twice for the backend default",
        ),
        ("one", "render --to - --fail-on-change", "--fail-on-change does not go with --to, which changes no manifest"),
        ("one", "render -o - --to -", "-o is the old name of --to: give one of them"),
        ("two", "render --to -", "there are several backends; name one with --backend: a, b, plain"),
        ("one", "render --backend x", 'no backend "x"; there is default'),
        ("one", "validate - x", "- does not go with other paths"),
        ("one", "validate --stdin-filename x", "--stdin-filename is for standard input; pass - too"),
        ("one", "validate no", "no does not exist"),
        ("one", "validate ..", ".. is not in the repository {root}/one"),
        (
            "one",
            "validate --cache-dir kept",
            "--cache-dir, or KUBECTL_TAS_CACHE: kept lies in the repository; a pull request could fill it",
        ),
        ("one", "validate --set x", "Invalid value for '--set': 'x' is not NAME=VALUE"),
        ("one", "pool share", "name the GPUs to divide: --gpus N, --nodes FILE or --live"),
        ("one", "pool share --gpus 1 --nodes nodes.json", "--gpus and --nodes both name the GPUs to divide; give one"),
        ("one", "pool share tema --gpus 1", 'no pool "tema"; did you mean "team"?'),
        ("one", "pool share team--old --gpus 1", "subpool team--old is ARCHIVED, and has no queue"),
        ("empty", "pool share --gpus 1", "the repository has no pools to divide GPUs among"),
        (
            "two",
            "pool share pc --gpus 1",
            "none of these pools is in a cluster with KAI, which divides GPUs among queues",
        ),
        ("two", "pool share pa pb --gpus 1", "that is what one cluster has; name it with --backend: a, b"),
        ("shards", "pool share --gpus 1", "each shard of the scheduler divides its own nodes: name pools of one shard"),
        (
            "two",
            "pool share pa --gpus 1 --demand pb=1",
            "--demand: pool pb is for backend b, which this command leaves out; drop NAMEs and --backend, or --demand",
        ),
        ("one", "pool share --gpus 1 --demand x", "--demand x: write NAME=N, with N GPUs from 0 to 9999999"),
        ("one", "pool share --gpus 1 --demand =1", "--demand =1: write NAME=N, with N GPUs from 0 to 9999999"),
        (
            "one",
            "pool share --gpus 1 --demand team=12345678",
            "--demand team=12345678: write NAME=N, with N GPUs from 0 to 9999999",
        ),
        ("one", "pool share --gpus 1 --demand team=²", "--demand team=²: write NAME=N, with N GPUs from 0 to 9999999"),
        ("one", "pool share --gpus 1 --demand team=1 --demand team=2", "--demand is given twice for team"),
        ("one", "pool share --gpus 1 --demand tema=1", '--demand: no pool or leaf queue "tema"; did you mean "team"?'),
        ("one", "nodes generate", "pass --pool or --like, one of the two"),
        ("one", "nodes generate --pool team --like gke", "pass --pool or --like, one of the two"),
        ("one", "nodes generate --pool tema", 'no pool "tema"; did you mean "team"?'),
        ("one", "nodes generate --pool team --domains zone", "--domains zone: write KEY=N, with N from 1 to 100000"),
        (
            "one",
            "nodes generate --pool team --domains zone=0",
            "--domains zone=0: write KEY=N, with N from 1 to 100000",
        ),
        (
            "one",
            "nodes generate --pool team --domains zone=100001",
            "--domains zone=100001: write KEY=N, with N from 1 to 100000",
        ),
        (
            "one",
            "nodes generate --pool team --domains zone=0000001",
            "--domains zone=0000001: write KEY=N, with N from 1 to 100000",
        ),
        (
            "one",
            "nodes generate --pool team --domains zon=2",
            '--domains zon=2: no level of pool team "zon"; did you mean "zone"?',
        ),
        (
            "one",
            "nodes generate --like gke --domains zon=2",
            '--domains zon=2: no level of --like gke "zon"; there is block, subblock, machine',
        ),
        ("one", "nodes generate --pool team --domains zone=2 --domains zone=3", "--domains is given twice for zone"),
        (
            "one",
            "nodes generate --pool team --nodes 2 --domains host=3",
            "--nodes and --domains host=3 say the same; pass one of the two",
        ),
        ("one", "nodes generate --pool flat --nodes 100001", "that would be 100001 nodes; 100000 are the most"),
        ("one", "nodes generate --pool flat --nodes 2 --cordoned 2 --not-ready 1", "3 of 2 nodes cannot be broken"),
        ("one", "nodes generate --pool flat --unlabelled 1", "--unlabelled is for a pool with a topology"),
        ("one", "snapshot --to x -n x", "-n has no effect here: pods of all namespaces share the nodes"),
        (
            "two",
            "snapshot --to x --nodes nodes.json",
            "a snapshot is of one cluster; name its backend with --backend: a, b",
        ),
        ("two", "snapshot jc --to x --nodes nodes.json", "the backend plain has no KAI"),
        ("two", "snapshot ja --backend b --to x --nodes nodes.json", "there is no work for the backend b"),
        (
            "shards",
            "snapshot --to x --nodes nodes.json",
            "a snapshot is of one shard of the scheduler; name work of one: the one without a nodePool, x",
        ),
        (
            "one",
            "subpool create team x --quota 3x",
            f"Invalid value for '--quota': '3x' is neither whole GPUs such as 30 {SHARE}",
        ),
        (
            "one",
            "subpool create team x --quota 3 --cpu x",
            f"Invalid value for '--cpu': 'x' is neither cores such as 600 {SHARE}",
        ),
        (
            "one",
            "subpool create team x --quota 3 --memory 3",
            f"Invalid value for '--memory': '3' is neither a quantity with a unit such as 2Ti {SHARE}",
        ),
        ("one", "subpool create team --quota 3", "which subpool of team? Write team NAME, or team--NAME"),
        ("one", "subpool update team a", "name at least one of --quota, --cpu and --memory"),
        (
            "one",
            "subpool drain --watch --used 1",
            "--watch does not go with --used, which would say the same each time",
        ),
        ("one", "subpool list tema", 'no pool "tema"; did you mean "team"?'),
        ("one", "topology suggest --pool tema", 'no pool "tema"; did you mean "team"?'),
        (
            "one",
            "topology suggest --name A_b",
            "Invalid value for '--name': 'A_b' must be lower-case letters, digits, '-' and '.', "
            "a letter or digit first and last",
        ),
        (
            "two",
            "topology suggest --cluster-state a=nodes.json --cluster-state b=nodes.json",
            "that is what one cluster has; name it with --backend: a, b",
        ),
        ("one", "topology describe x", 'no topology "x"; there is osmo-pool-default-team-topology'),
        ("one", "topology list --pool x", 'no pool "x"; there is flat, team, team--a, team--old'),
        ("one", "schema pool --all x", "--all writes every kind; leave KIND out"),
        ("one", "schema pol", 'no schema for "pol"; did you mean "pool"?'),
        ("one", "rule zzzz", 'no rule "zzzz"; `kubectl tas rule` lists them'),
        ("one", "help pool list x", "kubectl tas pool list has no commands of its own"),
        (
            "one",
            "import cluster --cluster-state x --context y",
            "--cluster-state stands for a cluster; it does not go with --context and --kubeconfig",
        ),
        (
            "one",
            "import cluster --cluster-state x --kubeconfig y",
            "--cluster-state stands for a cluster; it does not go with --context and --kubeconfig",
        ),
        (
            "one",
            "import kueue nodes.json --context y",
            "FILE stands for a cluster; it does not go with --context and --kubeconfig",
        ),
        (
            "one",
            "import kueue nodes.json --kubeconfig y",
            "FILE stands for a cluster; it does not go with --context and --kubeconfig",
        ),
    ],
)
def test_wrong_usage_has_a_message(
    repository: str, line: str, message: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = called(root / repository, line, monkeypatch)
    assert (result.code, result.out) == (2, "")
    assert result.err.endswith(f" for help.\n\nError: {message.format(root=root)}\n"), result.err


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
