"""Tests ``fit``: whether workflows have a placement on the existing nodes, and whether KAI finds the placement."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, kubectl_tas, pool, write
from tests.support.golden import EXAMPLES, GOLDEN, at, case_input
from tests.support.kubectl import FakeKubectl
from tests.support.kubectl import node as gpu_node

CASE = GOLDEN / "commands/fit"
FILES = [f"--nodes={CASE / name}" for name in ("nodes.json", "pods.json")]
ALL = ("mended", "missed", "placed", "preferred", "too-large", "too-many")
GPU = "nvidia.com/gpu"
USE_CASES = EXAMPLES / "use-cases"


def fit(*arguments: str | Path, root: Path | None = None) -> Result:
    return kubectl_tas("-C", root or case_input(CASE), "fit", *arguments)


def answers(*arguments: str | Path, code: int = 0, root: Path | None = None) -> list[dict[str, Any]]:
    result = fit(*arguments, "-o", "json", root=root)
    assert result.code == code, result.err
    return list(json.loads(result.out)["gangs"])


@pytest.mark.parametrize("output", ["text", "json"])
def test_golden(output: str, snapshot: Any) -> None:
    result = fit(*ALL, "-o", output, *FILES)
    assert (result.code, result.err) == (1, "")
    assert result.out == snapshot(extension_class=at(CASE / f"output.{'txt' if output == 'text' else 'json'}"))


NODES = GOLDEN / "commands/fit-nodes"


@pytest.mark.solver
@pytest.mark.parametrize("output", ["text", "json"])
def test_golden_of_nodes_to_mend(output: str, snapshot: Any) -> None:
    files = [f"--nodes={NODES / name}" for name in ("nodes.json", "pods.json")]
    result = fit("wide", "serve", "huge", "-o", output, *files, root=case_input(NODES))
    assert result.code == 1
    assert result.err.startswith("Not looked at: 1 GPU that preemptible work of backend default holds.")
    assert result.out == snapshot(extension_class=at(NODES / f"output.{'txt' if output == 'text' else 'json'}"))


@pytest.mark.parametrize("output", ["text", "json"])
def test_golden_of_racks_that_are_missing(output: str, snapshot: Any) -> None:
    files = [f"--nodes={NODES / name}" for name in ("nodes.json", "pods.json")]
    result = fit("--grow", "-o", output, *files, root=case_input(NODES))
    assert (result.code, result.err) == (1, "")
    assert result.out == snapshot(extension_class=at(NODES / f"grow.{'txt' if output == 'text' else 'json'}"))
    assert fit("serve", "--grow", *files, root=case_input(NODES)).code == 1
    assert fit("--grow", "team", "-o", output, *files, root=case_input(NODES)).out == result.out


def test_racks_that_nothing_can_use_are_not_added(tmp_path: Path) -> None:
    labels = {f"topology.kubernetes.io/{level}": "a" for level in ("zone", "rack")}
    resources = {"allocatable": {"cpu": 8, "pods": 10}}
    bare = [{"kind": "Node", "metadata": {"name": "n1", "labels": labels}, "status": resources}]
    write(tmp_path, {"nodes.json": json.dumps({"items": bare})})
    result = fit("placed", "--grow", f"--nodes={tmp_path}/nodes.json")
    assert result.code == 1
    lacks = "no node has what a pod asks for: 8 GPUs, and the most that is free on one is 0"
    assert result.out.endswith(
        f"Needs:     not known: pending work can use no existing rack\n  placed:  waits: {lacks}\n"
    )


def growth(*arguments: str | Path, root: Path) -> list[dict[str, Any]]:
    result = fit(*arguments, "--grow", "-o", "json", root=root)
    assert result.code == 1, result.err
    return list(json.loads(result.out)["clusters"])


def test_each_topology_has_its_own_kind_of_rack() -> None:
    """The nodes have none of the labels of the spines."""
    nodes = f"--nodes={USE_CASES / 'nodes/zones.json'}"
    named = ("single-nvl72-rack", "multiple-nvl72-racks", "multiple-nvl72-same-zone")
    (waiting,) = (one for one in growth(*named, nodes, root=USE_CASES) if one["waiting"])
    assert (waiting["pools"], waiting["more"], waiting["missingLabel"]) == (["zones"], 3, None)
    found = growth(nodes, root=USE_CASES)
    assert waiting in found
    assert [(one["pools"], one["missingLabel"]) for one in found if one["waiting"] and not one["like"]] == [
        (["spines"], "topology.kubernetes.io/spine")
    ]
    text = fit("--grow", nodes, root=USE_CASES).out
    assert (
        "Needs:                   not known: no node has the label topology.kubernetes.io/spine of level spine" in text
    )


def test_what_no_node_has_is_said_instead_of_racks(tmp_path: Path) -> None:
    root = write(tmp_path, {"tas.yaml": "", "pools/team.yaml": pool(), "workflows/w.yaml": MUCH})
    nodes = [gpu_node("n", 8), gpu_node("m", 4)]
    for item in nodes:
        item["status"]["allocatable"]["pods"] = "10"
    write(root, {"nodes.json": json.dumps({"items": nodes})})
    result = fit("--grow", f"--nodes={root}/nodes.json", root=root)
    lacks = "no node has what a pod asks for: 16 GPUs, and the most that is free on one is 8"
    assert result.out.endswith(
        f"Needs:    not known: pending work can use no existing node\n  much:   waits: {lacks}\n"
    )


DRAWN = [
    ("single-nvl72-rack", "single-rack", [["a"]], {}),
    ("multiple-nvl72-racks", "two-racks", [["a"], ["b"]], {}),
    ("multiple-nvl72-same-zone", "zones", [["a", "a"], ["a", "b"]], {}),
    ("best-effort-topology", "spines", [["a", "1"], ["a", "2"]], {}),
    ("best-effort-topology", "spines-apart", [["a", "1"], ["b", "2"]], {"spine": 2}),
]
"""The use cases of topology-aware scheduling on the clusters that are drawn for them: the domain of each model, and
what cannot be kept of what is preferred.
"""


@pytest.mark.parametrize(("workflow", "nodes", "domains", "not_kept"), DRAWN, ids=lambda value: str(value))
def test_the_use_cases_are_placed_as_they_are_drawn(
    workflow: str, nodes: str, domains: list[list[str]], not_kept: dict[str, int]
) -> None:
    (found,) = answers(workflow, "--nodes", USE_CASES / f"nodes/{nodes}.json", root=USE_CASES)
    assert found["outcome"] == "fits"
    assert [item["domain"] for item in found["placed"]] == domains
    assert {item["pods"] for item in found["placed"]} == {4}
    assert {item["level"]: item["domains"] for item in found["notKept"]} == not_kept


def test_a_use_case_does_not_fit_where_a_zone_has_one_rack(tmp_path: Path) -> None:
    """Of zone a the second rack is taken away: no zone has room for both models."""
    items = json.loads((USE_CASES / "nodes/zones.json").read_text())["items"]
    left = [item for item in items if item["metadata"]["labels"]["nvidia.com/gpu.clique"] != "b"]
    write(tmp_path, {"nodes.json": json.dumps({"items": left})})
    arguments = ("multiple-nvl72-same-zone", "--nodes", tmp_path / "nodes.json")
    (found,) = answers(*arguments, code=1, root=USE_CASES)
    assert found["outcome"] == "no-room"
    assert (found["shortage"]["level"], found["shortage"]["best"][0]) == ("zone", {"domain": ["a"], "pods": 4})
    assert found["changes"][0]["kind"] == "preferred"


def mended(old: str, new: str, tmp_path: Path) -> dict[str, Any]:
    """The answer for the workflow of the case that KAI misses, with its file changed."""
    source = (case_input(CASE) / "workflows/missed.yaml").read_text()
    assert old in source
    source = source.replace(old, new)
    pool = (case_input(CASE) / "pools/team.yaml").read_text()
    root = write(tmp_path / "repository", {"pools/team.yaml": pool, "workflows/missed.yaml": source, "tas.yaml": ""})
    return answers("missed", *FILES, root=root)[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("group: red", "group: a-red"),
        ("key: rack", "key: zone"),
        ("{key: rack, group: red}", "{key: rack, group: red, requirementType: preferred}"),
        ("    - {name: red-2, image: trainer, resource: red}\n", ""),
    ],
)
def test_what_is_said_to_help_does(old: str, new: str, tmp_path: Path) -> None:
    (before,) = answers("missed", *FILES, code=1)
    assert before["outcome"] == "missed"
    assert {item["kind"] for item in before["changes"]} == {"names", "preferred", "level", "tasks"}
    assert mended(old, new, tmp_path)["outcome"] == "fits"


MUCH = """\
workflow: {name: much, pool: team, tasks: [{name: a, image: i, resource: a}]}
resources: {a: {gpu: 16}}
"""
PAIR = """\
workflow:
  name: pair
  pool: team
  groups:
  - {name: both, tasks: [{name: a, image: i, resource: a}, {name: b, image: i, resource: b}]}
resources:
  a: {gpu: 6}
  b: {gpu: 5}
"""


@pytest.mark.parametrize("has_solver", [False, pytest.param(True, marks=pytest.mark.solver)])
def test_pods_that_differ_want_a_solver(has_solver: bool, tmp_path: Path) -> None:
    """Each has room on the one node, of 8 GPUs, but not both."""
    files = {"pools/team.yaml": (case_input(CASE) / "pools/team.yaml").read_text(), "workflows/pair.yaml": PAIR}
    nodes = json.loads((CASE / "nodes.json").read_text())["items"][:1]
    write(tmp_path, {**files, "nodes.json": json.dumps({"items": nodes}), "tas.yaml": ""})
    (found,) = answers("pair", "--nodes", tmp_path / "nodes.json", code=1, root=tmp_path)
    assert found["outcome"] == ("no-room" if has_solver else "unknown")
    text = fit("pair", "--nodes", tmp_path / "nodes.json", root=tmp_path).out
    assert f"A placement exists:  {'no' if has_solver else 'not known'}\n" in text
    assert ("ortools" in text) is not has_solver


def test_without_a_solver_it_is_told_what_one_would_find(tmp_path: Path) -> None:
    """One task that wants more GPUs than any node has: no fewer tasks, and no level, would help."""
    single = PAIR.replace(", {name: b, image: i, resource: b}", "").replace("gpu: 6", "gpu: 9")
    pool = (case_input(CASE) / "pools/team.yaml").read_text()
    write(tmp_path, {"pools/team.yaml": pool, "workflows/pair.yaml": single})
    result = fit("pair", *FILES, root=write(tmp_path, {"tas.yaml": ""}))
    command = f"kubectl tas fit pair {' '.join(FILES).replace('=', ' ')} --grow"
    assert f"Helps:               no smaller change that was tried; more nodes: {command}\n" in result.out
    assert "which nodes to free: pip install ortools\n" in result.out


def test_a_gang_that_is_on_nodes_runs(tmp_path: Path) -> None:
    (found,) = answers("placed", *FILES)
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": {"pod-group-name": found["podGroup"]}},
        "spec": {"nodeName": "n1", "containers": [{"name": "c"}]},
        "status": {"phase": "Running"},
    }
    write(tmp_path, {"pods.json": json.dumps({"items": [pod]})})
    (now,) = answers("placed", *FILES, "--nodes", tmp_path / "pods.json")
    assert now["outcome"] == "runs"
    assert "Runs:      1 of 5 pods are on nodes already" in fit("placed", *FILES, f"--nodes={tmp_path}/pods.json").out


def test_without_pods_all_is_taken_as_free() -> None:
    result = fit("placed", FILES[0])
    assert result.code == 0
    assert result.err == "The input has no pods, so everything on the nodes counts as free.\n"


def test_a_file_names_its_workflows_too() -> None:
    assert answers("workflows/placed.yaml", *FILES) == answers("placed", *FILES)


def test_nodes_of_another_shard_are_not_seen(tmp_path: Path) -> None:
    items = json.loads((CASE / "nodes.json").read_text())["items"]
    for item in items[:4]:
        item["metadata"]["labels"]["kai.scheduler/node-pool"] = "other"
    write(tmp_path, {"nodes.json": json.dumps({"items": items})})
    (found,) = answers("placed", "--nodes", tmp_path / "nodes.json", code=1)
    assert found["nodes"]["unusable"]["of another shard of the scheduler"] == 4


def test_a_cluster_is_asked_for_nodes_and_the_pods_of_all_namespaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = FakeKubectl(tmp_path, monkeypatch)
    kubectl.runs(
        f'echo "$@" >> {tmp_path}/calls\ncase "$*" in *"get pods -A -o json") cat {CASE}/pods.json ;; '
        f'*"get nodes -o json") cat {CASE}/nodes.json ;; *) exit 1 ;; esac'
    )
    assert answers(*ALL, "--live", code=1) == answers(*ALL, *FILES, code=1)
    assert len(kubectl.calls) == 2


@pytest.mark.parametrize(
    ("case", "workflows"),
    [(CASE, ALL), pytest.param(NODES, ("wide", "serve", "huge"), marks=pytest.mark.solver)],
    ids=["placement", "nodes-to-mend"],
)
def test_a_state_of_the_cluster_holds_what_fit_reads(
    case: Path, workflows: Sequence[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = {"kind": "Pod", "metadata": {"name": "waits"}, "spec": {"containers": [{"env": [{"name": "SECRET"}]}]}}
    pods = [*json.loads((case / "pods.json").read_text())["items"], waiting]
    pods[0]["spec"]["containers"][0]["env"] = [{"name": "SECRET", "value": "x"}]
    write(tmp_path, {"pods": json.dumps({"items": pods}), "none": '{"items": []}'})
    FakeKubectl(tmp_path, monkeypatch).runs(
        f'case "$*" in *"get pods -A -o json") cat {tmp_path}/pods ;; *"get nodes -o json") cat {case}/nodes.json ;; '
        f'*"get "*) cat {tmp_path}/none ;; esac'
    )
    state = tmp_path / "state.json"
    result = kubectl_tas("cluster", "state", "--context", "prod", "-n", "team", "--to", state, cwd=tmp_path)
    assert (result.code, f"{len(pods) - 1} Pod" in result.err) == (0, True), result.err
    assert "SECRET" not in state.read_text()
    files = [f"--nodes={case / name}" for name in ("nodes.json", "pods.json")]
    root = case_input(case)
    recorded = answers(*workflows, "--cluster-state", state, code=1, root=root)
    assert recorded == answers(*workflows, *files, code=1, root=root)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name WORK, or pass --all"),
        (["placed", "--all"], "name WORK or pass --all, not both"),
        (["place"], 'PodCliqueSet or PodGroup "place"; did you mean "placed"?'),
        (["placed", "--grow", "team", FILES[0]], "name WORK, or a pool behind --grow"),
        (["--all", "--grow", "team", FILES[0]], "name WORK, or a pool behind --grow"),
        (["--grow", "teem", FILES[0]], 'no pool "teem"; did you mean "team"?'),
        (["placed", FILES[0], "--live"], "--nodes is given instead of a cluster"),
        (["placed", FILES[0], "--context", "c"], "--nodes is given instead of a cluster"),
        (["placed", "--backend", "x"], 'no backend "x"'),
        (["placed", "--live", "-n", "team"], "-n has no effect here: pods of all namespaces share the nodes"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: list[str], message: str) -> None:
    result = fit(*arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


def test_a_file_without_nodes_is_refused() -> None:
    result = fit("placed", FILES[1])
    assert (result.code, result.out) == (3, "")
    assert "the input has no Node to place work on" in result.err


def test_what_is_not_predicted_is_left_out_aloud() -> None:
    result = fit("--all", "--backend", "train-eu", FILES[0], root=EXAMPLES / "company")
    assert "No answer for TrainJob sft: its file does not say what its pods are" in result.err
    named = fit("sft", FILES[0], "-o", "json", root=EXAMPLES / "company")
    assert (named.code, [item["name"] for item in json.loads(named.out)["leftOut"]]) == (1, ["sft"])


@pytest.mark.parametrize("command", [("fit",), ("workflow", "explain")], ids=" ".join)
def test_a_file_without_work_is_named(command: tuple[str, ...], with_plain: Path) -> None:
    result = kubectl_tas("-C", with_plain, *command, "pools/a.yaml")
    assert (result.code, result.out) == (2, "")
    assert "pools/a.yaml has no workflow, workload, PodCliqueSet or PodGroup" in result.err


def test_without_an_answer_there_is_no_picture() -> None:
    result = fit("sft", FILES[0], "-o", "svg", root=EXAMPLES / "company")
    assert (result.code, result.out) == (1, "")
    assert "No answer for TrainJob sft: " in result.err


@pytest.fixture
def with_plain(repository: Path) -> Path:
    """A repository with a workflow for KAI, and a workflow and two Jobs for a cluster without it."""
    backends = "backends: [{name: prod}, {name: plain, namespace: plain, scheduler: {type: default}}]"
    job = """\
apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: plain, labels: {kubectl-tas/pool: b}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}
"""
    files = {
        "tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{{backends}}}\n",
        "pools/a.yaml": pool("a", spec="  backend: prod\n"),
        "pools/b.yaml": "apiVersion: tas/v1alpha1\nkind: Pool\nmetadata: {name: b}\nspec: {backend: plain}\n",
        **{f"workflows/{name}.yaml": job % name for name in ("make", "test")},
        **{
            f"workflows/w{name}.yaml": f"workflow: {{name: w{name}, pool: {name}, tasks: [{{name: t, image: i}}]}}\n"
            for name in "ab"
        },
    }
    return write(repository, files)


@pytest.mark.parametrize(("name", "what"), [("wb", "workflow wb"), ("make", "Job make"), ("Job/test", "Job test")])
def test_work_for_a_cluster_without_kai_is_refused(name: str, what: str, with_plain: Path) -> None:
    result = fit(name, FILES[0], root=with_plain)
    assert (result.code, result.out) == (2, "")
    assert f"{what} is for backend plain, which has no KAI" in result.err


@pytest.mark.parametrize("how", ["--all", "--grow"])
def test_work_for_a_cluster_without_kai_is_left_out_of_all(how: str, with_plain: Path) -> None:
    result = fit(how, "--nodes", CASE / "nodes.json", root=with_plain)
    assert result.code == 0, result.err
    assert result.err.startswith("Left out: 1 workflow, 2 Jobs for backends without KAI.\n")
    alone = fit(how, "--nodes", CASE / "nodes.json", "--backend", "prod", root=with_plain)
    assert (alone.out, "Left out" in alone.err) == (result.out, False)


@pytest.mark.parametrize("arguments", [["--all"], ["--grow"], ["dense-3b", "chat"]], ids=" ".join)
def test_nodes_in_files_are_those_of_one_cluster(arguments: list[str]) -> None:
    company = EXAMPLES / "company"
    refused = fit(*arguments, *FILES, root=company)
    assert (refused.code, refused.out) == (2, "")
    assert "that is what one cluster has; name it with --backend: " in refused.err
    assert fit("dense-3b", *FILES, root=company).code == 1


def test_a_level_above_the_only_domain_of_a_finer_one_is_told(tmp_path: Path) -> None:
    """KAI looks for domains only below the smallest one that has all nodes."""
    topology = "  topology_keys: [{key: zone, label: zone}, {key: rack, label: rack}]\n"
    tasks = "tasks: [{name: a, image: i, command: [x]}, {name: b, image: i, command: [x]}]"
    group = f"groups: [{{name: g, {tasks}}}]"
    resources = "resources: {default: {gpu: 1, topology: [{key: zone}]}}"

    def node(name: str, rack: str) -> dict[str, Any]:
        metadata = {"name": name, "labels": {"zone": "z", "rack": rack}}
        return {"kind": "Node", "metadata": metadata, "status": {"allocatable": {"cpu": "8", GPU: "8", "pods": "9"}}}

    def asked(*nodes: dict[str, Any], output: str = "text") -> str:
        (tmp_path / "nodes.json").write_text(json.dumps({"items": nodes}))
        return fit("train", "--nodes", tmp_path / "nodes.json", "-o", output, root=root).out

    workflow = f"workflow: {{name: train, pool: team, {group}}}\n{resources}\n"
    root = write(tmp_path, {"pools/team.yaml": pool(spec=topology), "workflows/train.yaml": workflow})
    found = asked(node("a", "1"), node("b", "1"))
    assert "A placement exists:  yes\nKAI finds it:        no\n" in found
    assert "KAI places no gang that requires zone, since all nodes of the topology are in one domain of a " in found
    assert "SubGroups go in the order" not in found
    (gang,) = json.loads(asked(node("a", "1"), node("b", "1"), output="json"))["gangs"]
    assert (gang["outcome"], gang["notTried"]) == ("missed", "zone")
    assert gang["why"].startswith("KAI places no gang that requires zone")
    assert "KAI finds it:        yes\n" in asked(node("a", "1"), node("b", "2"))
    two = "{key: zone, group: one}]}, other: {gpu: 1, topology: [{key: zone, group: two}"
    parts = workflow.replace("name: b,", "name: b, resource: other,").replace("{key: zone}", two)
    write(root, {"workflows/train.yaml": parts})
    assert "KAI places no gang that requires zone, since" in asked(node("a", "1"), node("b", "1"))


def test_sub_groups_of_a_pod_group_are_to_get_names_in_the_order_that_kai_needs(tmp_path: Path) -> None:
    """As blue, green and red of the workflow ``missed``."""
    root = shutil.copytree(case_input(CASE), tmp_path / "repository")
    sizes = {"blue": 2, "green": 2, "red": 3}
    level = "{topology: osmo-pool-default-team-topology, requiredTopologyLevel: topology.kubernetes.io/rack}"
    parts = "".join(f"  - {{name: {name}, minMember: {n}, topologyConstraint: {level}}}\n" for name, n in sizes.items())
    group = (
        "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: byhand, namespace: default}\n"
        f"spec:\n  queue: osmo-pool-default-team--shared\n  minSubGroup: 3\n  subGroups:\n{parts}"
    )
    pods = [
        f"apiVersion: v1\nkind: Pod\nmetadata:\n  name: {name}-{n}\n  namespace: default\n"
        f"  labels: {{kai.scheduler/subgroup-name: {name}}}\n  annotations: {{pod-group-name: byhand}}\n"
        f"spec: {{containers: [{{name: main, image: i, resources: {{limits: {{{GPU}: 8}}}}}}]}}\n"
        for name, size in sizes.items()
        for n in range(size)
    ]
    write(root, {"workflows/byhand.yaml": "---\n".join((group, *pods))})
    found = fit("byhand", *FILES, root=root).out
    assert "name the SubGroups so that they come in this order: red, blue, green\n" in found


@pytest.mark.parametrize("command", ["fit", "workflow why", "workflow explain", "snapshot"])
def test_a_pool_is_no_workflow(command: str) -> None:
    more = ("--to", "x.zip") if command == "snapshot" else ()
    result = kubectl_tas("-C", case_input(CASE), *command.split(), "Team", *more)
    assert (result.code, result.out) == (2, "")
    assert "no file, workflow, workload, PodCliqueSet or PodGroup" in result.err
    assert '"Team", which is a pool; of it there is ' in result.err


def test_one_pod_without_room(tmp_path: Path) -> None:
    task = "tasks: [{name: t, image: i, command: [x]}]"
    workflow = f"workflow: {{name: wide, pool: team, {task}}}\nresources: {{default: {{cpu: 9999}}}}\n"
    root = write(tmp_path, {"pools/team.yaml": pool(), "workflows/wide.yaml": workflow})
    assert "Why:                 the nodes have room for 0 of its 1 pod\n" in fit("wide", FILES[0], root=root).out


def nodes_file(root: Path, racks: Sequence[tuple[str, str, int]]) -> Path:
    """Nodes in a zone and a rack with so many GPUs."""
    labels = ("topology.kubernetes.io/zone", "topology.kubernetes.io/rack")
    items = [
        {
            "kind": "Node",
            "metadata": {"name": f"n{at}", "labels": dict(zip(labels, place, strict=True))},
            "status": {"allocatable": {GPU: gpus, "cpu": 96, "pods": 110}},
        }
        for at, (*place, gpus) in enumerate(racks)
    ]
    (root / "nodes.json").write_text(json.dumps({"items": items}))
    return root / "nodes.json"


LEVELS = """\
  topology_keys:
  - {key: zone, label: topology.kubernetes.io/zone}
  - {key: rack, label: topology.kubernetes.io/rack}
"""


def workflow(tasks: Sequence[tuple[str, str]], **resources: str) -> str:
    listed = [f"    - {{name: {name}, image: i, resource: {resource}}}" for name, resource in tasks]
    head = ["workflow:", "  name: train", "  pool: team", "  groups:", "  - name: workers", "    tasks:"]
    return "\n".join([*head, *listed, "resources:", *(f"  {name}: {text}" for name, text in resources.items()), ""])


def test_tasks_that_are_not_alike_are_named(tmp_path: Path) -> None:
    """What is named is taken out, and then KAI places the rest."""
    asks = "{gpu: %d, topology: [{key: rack, group: all}]}"
    tasks = [("large-1", "large"), ("large-2", "large"), ("small-1", "small"), ("small-2", "small")]
    write(tmp_path, {"pools/team.yaml": pool(spec=LEVELS), "tas.yaml": ""})
    nodes = nodes_file(tmp_path, [("a", "1", 8), ("a", "1", 3)])

    def answer(tasks: Sequence[tuple[str, str]], code: int) -> dict[str, Any]:
        write(tmp_path, {"workflows/train.yaml": workflow(tasks, large=asks % 8, small=asks % 2)})
        (found,) = answers("train", "--nodes", nodes, code=code, root=tmp_path)
        return found

    (text,) = [change["text"] for change in answer(tasks, 1)["changes"] if change["kind"] == "tasks"]
    _, _, named = text.partition(", without ")
    assert named, text
    gone = named.replace(" and ", ", ").split(", ")
    assert answer([task for task in tasks if task[0] not in gone], 0)["outcome"] == "fits"


def test_two_kinds_of_change_at_once(tmp_path: Path) -> None:
    """No level alone and no smaller number alone helps: two zones have room for one pod each."""
    asks = "{gpu: 8, topology: [{key: zone, group: all}, {key: rack, group: %s}]}"
    tasks = [("a-1", "a"), ("b-1", "b"), ("b-2", "b"), ("b-3", "b")]
    write(tmp_path, {"pools/team.yaml": pool(spec=LEVELS), "tas.yaml": ""})
    write(tmp_path, {"workflows/train.yaml": workflow(tasks, a=asks % "a", b=asks % "b")})
    nodes = nodes_file(tmp_path, [("a", "1", 8), ("b", "2", 8)])
    (found,) = answers("train", "--nodes", nodes, code=1, root=tmp_path)
    assert [change["text"] for change in found["changes"]] == [
        "prefer zone instead of requiring it (requirementType: preferred), and run 1 task in all-b instead of 3"
    ]
