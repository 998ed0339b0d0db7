"""Tests ``fit --all``: all pending work, one gang after the other, in KAI's order and within quotas."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.place import scenarios
from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, at, case_input
from tests.support.kubectl import FakeKubectl, pod_group, queue

CASE = GOLDEN / "commands/fit-all"
FILES = [f"--nodes={CASE / name}" for name in ("nodes.json", "pods.json")]


def fit_all(*arguments: str | Path, root: Path | None = None) -> Result:
    return kubectl_tas("-C", root or case_input(CASE), "fit", "--all", *arguments)


def gangs(*arguments: str | Path, root: Path | None = None) -> dict[str, dict[str, Any]]:
    found = json.loads(fit_all("-o", "json", *arguments, root=root).out)
    return {item["workflow"]: item for scheduler in found["schedulers"] for item in scheduler["gangs"]}


def pods(name: str, *nodes: str, **spec: Any) -> list[dict[str, Any]]:
    """Pods of 8 GPUs of one PodGroup."""
    resources = {"requests": {"nvidia.com/gpu": "8"}}
    return [
        {
            "kind": "Pod",
            "metadata": {"name": f"{name}-{place}", "annotations": {"pod-group-name": name}},
            "spec": {"nodeName": node, "containers": [{"resources": resources}], **spec},
            "status": {"phase": "Running"},
        }
        for place, node in enumerate(nodes)
    ]


@pytest.mark.parametrize("output", ["text", "json"])
def test_golden(output: str, snapshot: Any) -> None:
    files = ("--nodes", "nodes.json", "--nodes", "pods.json")
    result = kubectl_tas("-C", case_input(CASE), "fit", "--all", "-o", output, *files, cwd=CASE)
    assert (result.code, result.err) == (1, "This repository has 1 error; run: kubectl tas validate\n")
    assert result.out == snapshot(extension_class=at(CASE / f"output.{'txt' if output == 'text' else 'json'}"))


def test_what_runs_already_holds_its_place_and_does_not_wait(tmp_path: Path) -> None:
    before = gangs(*FILES)["tune"]
    write(tmp_path, {"pods.json": json.dumps({"items": pods(before["podGroup"], "n1")})})
    found = json.loads(fit_all("-o", "json", FILES[0], "--nodes", tmp_path / "pods.json").out)["schedulers"][0]
    assert [item["workflow"] for item in found["running"]] == ["tune"]
    assert "tune" not in [item["workflow"] for item in found["gangs"]]
    assert {queue["name"]: queue["holds"] for queue in found["queues"]}["osmo-pool-default-lab--research"] == 8


def test_a_pod_group_tells_queue_and_priority_before_its_pods(tmp_path: Path) -> None:
    """Its pods name no queue, and their priority is that of work that cannot be preempted."""
    running = pods("exp", *(f"n{number}" for number in range(1, 9)), priority=100, priorityClassName="low")
    group = {"queue": "osmo-pool-default-lab--research", "priorityClassName": "low"}
    items = [
        *running,
        {"kind": "PodGroup", "metadata": {"name": "exp"}, "spec": group},
        {"kind": "PriorityClass", "metadata": {"name": "low"}, "value": 50},
    ]
    write(tmp_path, {"told.json": json.dumps({"items": items}), "pods.json": json.dumps({"items": running})})
    assert gangs(FILES[0], "--nodes", tmp_path / "pods.json")["chat"]["outcome"] == "no-room"
    chat = gangs(FILES[0], "--nodes", tmp_path / "told.json")["chat"]
    assert (chat["outcome"], [item["podGroup"] for item in chat["evicted"]]) == ("evicts", ["exp"])


@pytest.mark.parametrize(
    ("level", "notes", "is_moved"),
    [
        ({}, {}, True),
        ({"topologyConstraint": {"topology": "t", "requiredTopologyLevel": "rack"}}, {}, False),
        ({}, {"gpu-fraction": "0.5"}, False),
    ],
)
def test_a_gang_of_others_that_asks_for_a_level_or_part_of_a_gpu_is_not_moved(
    level: dict[str, Any], notes: dict[str, str], is_moved: bool, repository: Path
) -> None:
    """Nobody here knows to which nodes it may go; KAI may end it."""
    spec = {"queue": "osmo-pool-default-team--shared", "priorityClassName": "low", "minMember": 1, **level}
    items = [
        {**node(16), "metadata": {"name": "n1"}},
        {**node(16), "metadata": {"name": "n2"}},
        {"kind": "PriorityClass", "metadata": {"name": "low"}, "value": 50},
        *({"kind": "PodGroup", "metadata": {"name": name}, "spec": spec} for name in ("x", "y")),
        *(*pods("x", "n1"), *pods("y", "n2")),
    ]
    for item in items[-2:]:
        item["metadata"]["annotations"] |= notes
    write(repository, {"pools/team.yaml": pool(guarantee=32), "state.json": json.dumps({"items": items})})
    work = "workflow: {name: w, pool: team, tasks: [{name: a, image: i, command: [x]}]}"
    write(repository, {"workflows/w.yaml": f"{work}\nresources: {{default: {{gpu: 16}}}}\n"})
    found = gangs(f"--nodes={repository / 'state.json'}", root=repository)["w"]
    ended, moved = ([item["podGroup"] for item in found[how]] for how in ("evicted", "moved"))
    assert (ended, moved) == (([], ["y"]) if is_moved else (["y"], []))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"kind": "PriorityClass", "metadata": {"name": "x"}, "value": []}, "a PriorityClass of the cluster"),
        ({"kind": "PodGroup", "metadata": {"name": "x"}, "spec": 3}, "a PodGroup of the cluster cannot be read"),
        (
            {
                "kind": "Pod",
                "metadata": {"name": "y", "annotations": {"pod-group-name": "x"}, "labels": 3},
                "spec": {"nodeName": "n1", "containers": [{"name": "c"}]},
            },
            "a Pod of the cluster cannot be read: y: metadata.labels is 3, not an object",
        ),
        ({"kind": "PodGroup", "metadata": {}}, "a PodGroup of the cluster cannot be read"),
    ],
)
def test_what_cannot_be_read_is_told(item: dict[str, Any], message: str, tmp_path: Path) -> None:
    write(tmp_path, {"pods.json": json.dumps({"items": [item, *pods("x", "n1")]})})
    result = fit_all(FILES[0], "--nodes", tmp_path / "pods.json")
    assert (result.code, result.out) == (3, "")
    assert message in result.err


def test_pods_on_nodes_that_are_not_there_hold_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"pods.json": json.dumps({"items": pods("gone", "n1", "n99", priority=50)})})
    assert fit_all(FILES[0], "--nodes", tmp_path / "pods.json").code == 1


def test_the_code_is_0_where_all_starts(tmp_path: Path) -> None:
    for name in ("pools/lab.yaml", "subpools/all.yaml", "workflows/tune.yaml", "workflows/embed.yaml"):
        write(tmp_path, {name: (CASE / "input" / name).read_text()})
    result = fit_all(*FILES, root=write(tmp_path, {"tas.yaml": ""}))
    assert (result.code, result.err) == (0, "")


POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata: {name: team}
spec:
  namespaces: [a, b]
  resources: {gpu: {guarantee: 96}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: %s, labels: {kubectl-tas/pool: team}}
spec:
  parallelism: 2
  completions: 2
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: x, resources: {limits: {nvidia.com/gpu: 8}}}]
"""


def test_jobs_of_one_name_in_two_namespaces_are_two_gangs(tmp_path: Path) -> None:
    """KAI adds the UID of the Job to the name of its PodGroup."""
    running = pods("pg-train-0e0e0e0e-1234-1234-1234-0123456789ab", "n1")
    running[0]["metadata"]["namespace"] = "b"
    files = {"pools/team.yaml": POOL, "workflows/a.yaml": JOB % "a", "workflows/b.yaml": JOB % "b"}
    root = write(tmp_path, {**files, "tas.yaml": "", "pods.json": json.dumps({"items": running})})
    lines = [line.split() for line in fit_all(FILES[0], root=root).out.splitlines()]
    assert ["1", "Job/a/train", "team", "NORMAL", "1", "8", "starts"] in lines
    assert ["2", "Job/b/train", "team", "NORMAL", "1", "8", "starts"] in lines
    assert ["team", "96", "0", "32", "32"] in lines
    nodes = [FILES[0], "--nodes", root / "pods.json"]
    (found,) = json.loads(fit_all("-o", "json", *nodes, root=root).out)["schedulers"]
    assert [len(found[part]) for part in ("running", "gangs")] == [1, 1]
    alone = json.loads(kubectl_tas("-C", root, "fit", "train", "-o", "json", *nodes).out)["gangs"]
    assert sorted(item["outcome"] for item in alone) == ["fits", "runs"]


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve, namespace: default, labels: {kubectl-tas/pool: team}}
spec:
  replicas: 3
  selector: {matchLabels: {app: serve}}
  template:
    metadata: {labels: {app: serve}}
    spec: {containers: [{name: main, image: x, resources: {limits: {nvidia.com/gpu: 8}}}]}
"""
TWO_GROUPS = """\
workflow:
  name: w
  pool: team
  groups:
  - {name: g, tasks: [{name: a, image: i, command: [x]}]}
  - {name: h, tasks: [{name: b, image: i, command: [x]}]}
resources: {default: {gpu: 1}}
"""


def test_pods_of_a_deployment_and_groups_of_a_workflow_are_told_apart(tmp_path: Path) -> None:
    """Of a Deployment each pod is a gang of its own."""
    running = pods("pg-serve-5d4f-x7k2p-0e0e0e0e-1234-1234-1234-0123456789ab", "n1")
    running[0]["metadata"]["namespace"] = "default"
    files = {"pools/team.yaml": pool(), "workflows/serve.yaml": DEPLOYMENT, "workflows/w.yaml": TWO_GROUPS}
    root = write(tmp_path, {**files, "tas.yaml": "", "pods.json": json.dumps({"items": running})})

    def rows(*nodes: str | Path) -> list[str]:
        lines = fit_all(FILES[0], *nodes, root=root).out.partition("\n\n")[2].partition("\n\n")[0].splitlines()[2:]
        cells = [re.split(" {2,}", line) for line in lines]
        return [f"{row[1]}: {row[-1]}" for row in cells]

    groups, copies = ["w/g: starts", "w/h: starts"], [f"serve ({number} of 3): starts" for number in (1, 2, 3)]
    assert rows() == [*copies, *groups]
    assert rows("--nodes", root / "pods.json") == [*copies[1:], *groups, "serve: 1 of 3 run"]


def test_a_queue_with_queues_of_others_below_it_starts_nothing(tmp_path: Path) -> None:
    below = {**queue("foreign"), "spec": {"parentQueue": "osmo-pool-default-team--shared"}}
    root = write(tmp_path, {**TEAM, "state.json": json.dumps({"items": [node(8), below]})})
    result = fit_all("--nodes", root / "state.json", root=root)
    assert "  never starts: its queue has other queues below it, and KAI " in result.out
    assert result.code == 1


def test_what_drains_and_does_not_run_starts_no_more(tmp_path: Path) -> None:
    """Its queue has no quota any more, with which only what runs may finish."""
    spec = "  draining: [Workflow/late]\n"
    task = "tasks: [{name: t, image: i, command: [x]}]"
    workflow = f"workflow: {{name: late, pool: team--a, {task}}}\nresources: {{default: {{gpu: 1}}}}\n"
    files = {"subpools/a.yaml": subpool("a", 8, state="DELETING") + spec, "workflows/late.yaml": workflow}
    root = write(tmp_path, {"pools/team.yaml": pool(), **files})
    result = fit_all(*FILES, root=root)
    assert "starts no more: team--a is DELETING, where only what runs may finish" in result.out


def test_one_gang_outside_of_the_topology(tmp_path: Path) -> None:
    topology = "  topology_keys: [{key: rack, label: rack}]\n"
    task = "tasks: [{name: t, image: i, command: [x]}]"
    workflow = f"workflow: {{name: lone, pool: team, {task}}}\nresources: {{default: {{gpu: 1}}}}\n"
    node = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "8", "nvidia.com/gpu": "8", "pods": "9"}}}
    files = {
        "pools/team.yaml": pool(spec=topology),
        "workflows/lone.yaml": workflow,
        "nodes.json": json.dumps({"items": [{"kind": "Node", **node}]}),
    }
    root = write(tmp_path, files)
    result = fit_all("--nodes", root / "nodes.json", root=root)
    assert "; 1 gang that waits for 1\n" in result.out, result.err
    assert "  starts outside of the topology\n" in result.out


@pytest.mark.parametrize("arguments", [["--all"], ["--grow"], ["--grow", "team"]], ids=" ".join)
def test_that_there_is_no_work_is_said(arguments: list[str], tmp_path: Path) -> None:
    root = write(tmp_path, {"pools/team.yaml": pool()})
    result = kubectl_tas("-C", root, "fit", *arguments, FILES[0])
    assert (result.code, result.out, result.err) == (0, "", "There is no work to place.\n")


def node(gpus: int) -> dict[str, Any]:
    allocatable = {"cpu": "8", "nvidia.com/gpu": str(gpus), "pods": "9"}
    return {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": allocatable}}


FOREIGN = [
    {**queue("foreign"), "spec": {"parentQueue": "default"}},
    {**queue("default"), "spec": {}},
    {**pod_group("foreign"), "spec": {"queue": "foreign", "priorityClassName": "low"}},
    {"kind": "PriorityClass", "metadata": {"name": "low"}, "value": 50},
]
"""What a cluster has beside what the repository declares: its PodGroup, group, is what holds the node."""
TEAM = {"tas.yaml": "", "pools/team.yaml": pool(guarantee=8), "workflows/job.yaml": JOB.replace("2", "1") % "default"}


TRAIN_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: sft, namespace: default, labels: {kubectl-tas/pool: team}}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 1, resourcesPerNode: {limits: {nvidia.com/gpu: 1}}}
"""


ELASTIC = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, namespace: default, labels: {kubectl-tas/pool: team}}
spec:
  elasticPolicy: {minReplicas: 1, maxReplicas: 3}
  pytorchReplicaSpecs:
    Worker:
      replicas: 3
      template: {spec: {containers: [{name: pytorch, image: i, resources: {limits: {nvidia.com/gpu: 8}}}]}}
"""


ADDED = [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]
"""What an API server adds to each pod."""


@pytest.mark.parametrize("more", [{}, {"tolerations": ADDED}])
def test_further_pods_of_what_runs_are_told_by_the_name_in_its_file(more: dict[str, Any], repository: Path) -> None:
    """A pod is known by what it asks for."""
    group = "pg-train-0b8f4f4c-1111-4222-8333-944455566677"
    running, waiting, last = pods(group, "n1", "n1", "n1", **more)
    for pod in (running, waiting, last):
        pod["metadata"] |= {"namespace": "default", "labels": {"kai.scheduler/subgroup-name": "worker"}}
    for number, pod in enumerate((waiting, last)):
        pod["metadata"]["name"] += f"-{number}"
        del pod["spec"]["nodeName"]
        pod["status"]["phase"] = "Pending"
    state = json.dumps({"items": [node(16), running, waiting, last]})
    write(repository, {"pools/team.yaml": pool(guarantee=24), "workflows/t.yaml": ELASTIC, "state.json": state})
    nodes = f"--nodes={repository / 'state.json'}"
    rows = [line.split(maxsplit=4) for line in fit_all(nodes, root=repository).out.splitlines() if "runs" in line]
    assert [row[1] for row in rows] == ["train", "train"]
    assert rows[1][4].endswith("runs; 1 more pod: starts")
    (scheduler,) = json.loads(fit_all(nodes, "-o", "json", root=repository).out)["schedulers"]
    (further,) = scheduler["further"]
    assert (further["podGroup"], further["queue"]) == (group, "osmo-pool-default-team--shared")
    assert [(item["part"], item["pods"]) for item in further["placed"]] == [("worker", 1)]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
    """One node, on which work of a queue runs that the repository does not declare."""
    found = FakeKubectl(tmp_path, monkeypatch)
    found.knows("default", node(8), *FOREIGN)
    (tmp_path / "default/pods").write_text(json.dumps({"items": pods("group", "n1")}))
    write(tmp_path / "repository", TEAM)
    return found


def test_a_cluster_tells_what_runs_in_queues_of_others(cluster: FakeKubectl) -> None:
    root = cluster.folder / "repository"
    found = gangs("--live", root=root)["train"]
    assert [item["podGroup"] for item in found["evicted"]] == ["group"]
    asked = [call.split(" get ")[1].split()[0] for call in cluster.calls]
    queued = ["queues.scheduling.run.ai", "podgroups.scheduling.run.ai", "priorityclasses.scheduling.k8s.io"]
    assert asked == ["nodes", "pods", *queued]


def test_what_may_not_be_read_is_named(cluster: FakeKubectl) -> None:
    (cluster.folder / "default/queues.scheduling.run.ai.forbidden").touch()
    result = fit_all("--live", root=cluster.folder / "repository")
    assert result.code == 1
    assert "Without any queues.scheduling.run.ai: the cluster forbids reading " in result.err
    assert result.err.endswith(
        "In no queue that is known: 1 gang on nodes, with 8 GPUs: group. "
        "Such count for no quota, and are never taken for others.\n"
    )


def test_a_state_of_one_namespace_does_not_tell_whose_the_pods_are(cluster: FakeKubectl) -> None:
    root = cluster.folder / "repository"
    for flags, code in ((("-n", "default"), 3), ((), 0)):
        kubectl_tas("-C", root, "cluster", "state", *flags, "--to", root / "state.json")
        result = fit_all("--cluster-state", root / "state.json", root=root)
        told = (
            "error: the state of the cluster has PodGroups of the namespace default alone: of pods in others it does "
            "not tell in which queues they are\n"
            "  = help: Record it anew: kubectl tas cluster state without -n.\n"
        )
        assert (result.code, result.err == told) == (code, bool(flags)), result


@pytest.mark.parametrize("how", ["--all", "--grow"])
def test_what_has_no_answer_is_not_green(how: str, tmp_path: Path) -> None:
    """The nodes have room for all but the TrainJob, whose pods nobody knows."""
    root = write(tmp_path, {**TEAM, "workflows/train.yaml": TRAIN_JOB})
    (root / "nodes.json").write_text(json.dumps({"items": [node(8)]}))
    result = kubectl_tas("-C", root, "fit", how, "--nodes", root / "nodes.json")
    assert (result.code, "No answer for TrainJob sft: " in result.err) == (1, True), result
    (root / "workflows/train.yaml").unlink()
    assert kubectl_tas("-C", root, "fit", how, "--nodes", root / "nodes.json").code == 0


def test_where_not_all_was_tried_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """32 pods of one GPU, each alone, are in the way of sweep."""
    for name in ("pools/lab.yaml", "subpools/all.yaml", "workflows/sweep.yaml"):
        write(tmp_path, {name: (CASE / "input" / name).read_text()})
    running = [
        {**pod, "spec": {**pod["spec"], "containers": [{"resources": {"requests": {"nvidia.com/gpu": "1"}}}]}}
        for number in range(64)
        for pod in pods(f"one-{number}", f"n{number // 8 + 1}", priority=10, priorityClassName="spare")
    ]
    for pod in running:
        pod["metadata"]["labels"] = {"kai.scheduler/queue": "osmo-pool-default-lab--research"}
    write(tmp_path, {"tas.yaml": "", "pods.json": json.dumps({"items": running})})
    files = (FILES[0], "--nodes", tmp_path / "pods.json")
    assert "29 more are preempted\n" in fit_all(*files, root=tmp_path).out
    assert gangs(*files, root=tmp_path)["sweep"]["limited"] is False
    monkeypatch.setattr(scenarios, "MAX_TRIES", 0)
    hint = f"kubectl tas fit sweep {FILES[0].replace('=', ' ')} --nodes {tmp_path / 'pods.json'}"
    result = fit_all(*files, root=tmp_path)
    assert f"; KAI may end or move other work for it; why: {hint}\n" in result.out
    assert result.code == 1


def test_hints_repeat_where_nodes_come_from(cluster: FakeKubectl) -> None:
    root = cluster.folder / "repository"
    write(root, {"big.json": json.dumps({"items": [node(4), *FOREIGN, *pods("group", "n1")]})})
    shutil.copy(root / "big.json", root / "my nodes.json")
    files = ("--nodes", "big.json", "--nodes", "my nodes.json")
    hint = "kubectl tas fit train --nodes big.json --nodes 'my nodes.json'"
    assert f"why: {hint}\n" in kubectl_tas("fit", "--all", *files, cwd=root).out
    assert f"more nodes: {hint} --grow\n" in kubectl_tas("fit", "train", *files, cwd=root).out
    state = ("--cluster-state", "default=big.json", "--backend", "default")
    told = kubectl_tas("fit", "train", *state, cwd=root).out
    assert "kubectl tas fit train --cluster-state default=big.json --backend default --grow\n" in told
    why = kubectl_tas("workflow", "why", "train", "--cluster-state", "big.json", cwd=root)
    assert "kubectl tas fit train --cluster-state big.json --grow\n" in why.out, why
    (cluster.folder / "default/queues.scheduling.run.ai.forbidden").touch()
    assert "why: kubectl tas fit train --live\n" in fit_all("--live", root=root).out


def test_queues_that_lie_too_deep_are_an_error(tmp_path: Path) -> None:
    job = "workflow:\n  name: w\n  pool: team\n  tasks: [{name: a, image: 'b:1'}]\nresources: {default: {gpu: 1}}\n"
    write(tmp_path / "r", {"pools/team.yaml": pool(), "workflows/w.yaml": job})
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "8"}}}
    deep = [{**queue(f"q{n}"), "spec": {"parentQueue": f"q{n - 1}" if n else ""}} for n in range(3000)]
    state = tmp_path / "cluster.json"
    state.write_text(json.dumps({"kind": "List", "items": [node, *deep]}))
    result = kubectl_tas("fit", "--all", "-C", tmp_path / "r", "--cluster-state", state)
    assert (result.code, result.err) == (
        3,
        "The input has no pods, so everything on the nodes counts as free.\n"
        "error: the queue q100 lies more than 100 queues deep: the order of KAI is not told\n"
        "  = help: Lay the queues out flatter.\n",
    )


def test_each_shard_places_its_own_work_on_its_own_nodes(tmp_path: Path) -> None:
    """What runs in one holds nothing in the other."""
    jobs = {
        name: JOB.replace("2", "1").replace("name: train", f"name: {name}").replace("pool: team", f"pool: {name}")
        % "default"
        for name in ("blue", "team")
    }
    files = {
        "pools/team.yaml": pool("team", 32),
        "pools/blue.yaml": pool("blue", 32, "  nodePool: blue\n"),
        **{f"workflows/{name}.yaml": text for name, text in jobs.items()},
    }
    there = [node(4), {**node(16), "metadata": {"name": "n2", "labels": {"kai.scheduler/node-pool": "blue"}}}]
    running = pods("pg-old", "n2", schedulerName="kai-scheduler")
    group = {"queue": "osmo-pool-default-blue--shared"}
    told = [*there, *running, {"kind": "PodGroup", "metadata": {"name": "pg-old"}, "spec": group}]
    root = write(tmp_path, {**files, "tas.yaml": "", "nodes.json": json.dumps({"items": told})})
    found = json.loads(fit_all("-o", "json", "--nodes", root / "nodes.json", root=root).out)["schedulers"]
    assert {
        one["shard"]: (one["gpus"], [item["workflow"] for item in one["gangs"]], one["queues"][0]["holds"])
        for one in found
    } == {None: (4, ["team"], 0), "blue": (16, ["blue"], 8)}
    assert [(item["workflow"], item["outcome"]) for one in found for item in one["gangs"]] == [
        ("blue", "starts"),
        ("team", "no-room"),
    ]


SCALED = """\
apiVersion: grove.io/v1alpha1
kind: PodCliqueSet
metadata: {name: serve, labels: {kubectl-tas/pool: team}}
spec:
  replicas: 1
  template:
    cliques:
    - {name: router, spec: {roleName: r, replicas: 1, podSpec: {containers: [{name: c, image: i, resources: GPUS}]}}}
    - {name: work, spec: {roleName: w, replicas: 1, podSpec: {containers: [{name: c, image: i, resources: FOUR}]}}}
    podCliqueScalingGroups: [{name: g, cliqueNames: [work], replicas: 2, minAvailable: 1}]
""".replace("FOUR", "{limits: {nvidia.com/gpu: 4}}")
"""A set with a base gang, and a scaled gang of a pod with 4 GPUs."""


def scaled(repository: Path, gpus: int) -> str:
    """The repository with the set, whose first pod asks for so many GPUs, and a node of 16."""
    text = SCALED.replace("GPUS", f"{{limits: {{nvidia.com/gpu: {gpus}}}}}")
    write(repository, {"pools/team.yaml": pool(guarantee=24), "workflows/s.yaml": text})
    write(repository, {"state.json": json.dumps({"items": [node(16)]})})
    return f"--nodes={repository / 'state.json'}"


def test_a_scaled_gang_of_grove_waits_for_its_base_gang(repository: Path) -> None:
    """Its pods have a scheduling gate until then (checkAndRemovePodSchedulingGates of Grove)."""
    nodes = scaled(repository, 20)
    waits = "waits for serve to start: Grove removes the scheduling gates of its pods only then"
    assert waits in fit_all(nodes, root=repository).out
    (scheduler,) = json.loads(fit_all(nodes, "-o", "json", root=repository).out)["schedulers"]
    assert [(gang["outcome"], gang["ahead"]) for gang in scheduler["gangs"]] == [
        ("no-room", []),
        ("after", ["serve-0"]),
    ]
    alone = kubectl_tas("-C", repository, "fit", "serve", nodes)
    assert "Waits for:           serve-0 to start: Grove removes" in alone.out
    assert alone.code == 1


def test_a_scaled_gang_of_grove_starts_after_its_base_gang(repository: Path) -> None:
    nodes = scaled(repository, 8)
    rows = [line for line in fit_all(nodes, root=repository).out.splitlines() if " serve" in line]
    assert [row.split(" starts")[1].strip() for row in rows] == ["", "after serve"]
    assert "Waits for" not in kubectl_tas("-C", repository, "fit", "serve", nodes).out


def test_work_of_one_age_goes_in_the_order_of_files(repository: Path) -> None:
    """A workflow does not go before a Job whose file comes first."""
    job = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: first, labels: {kubectl-tas/pool: team}}\nspec: {template: "
    )
    job += (
        "{spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 8}}}]}}}"
    )
    flow = "workflow: {name: second, pool: team, tasks: [{name: t, image: i, resource: r}]}\nresources: {r: {gpu: 8}}\n"
    write(repository, {"pools/team.yaml": pool(guarantee=8), "workflows/a.yaml": f"{job}\n", "workflows/b.yaml": flow})
    write(repository, {"state.json": json.dumps({"items": [node(16)]})})
    found = gangs(f"--nodes={repository / 'state.json'}", root=repository)
    assert {name: gang["outcome"] for name, gang in found.items()} == {"first": "starts", "second": "refused"}
