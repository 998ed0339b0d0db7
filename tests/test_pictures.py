"""Tests ``workflow explain`` and ``pool describe`` in every format."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest

from kubectl_tas.draw import gangfigure
from tests.support.cli import kubectl_tas, pool, write
from tests.support.fleets import fleet_of
from tests.support.golden import GOLDEN, at, case_input

GANG = GOLDEN / "commands/pictures"
POOL = GOLDEN / "commands/pool-describe"
STATE = GOLDEN / "commands/pool-list/cluster.json"
FORMATS = {"tree": "txt", "mermaid": "mmd", "dot": "dot", "svg": "svg", "html": "html", "json": "json"}
"""The formats of pictures, and how their files are called."""


def describe(*arguments: str | Path) -> Any:
    return kubectl_tas("-C", case_input(POOL), "pool", "describe", *arguments)


@pytest.mark.parametrize("output", FORMATS)
def test_golden_of_a_gang(output: str, snapshot: Any) -> None:
    result = kubectl_tas("-C", case_input(GANG), "workflow", "explain", "train", "-o", output)
    assert (result.code, result.err) == (0, "")
    assert result.out == snapshot(extension_class=at(GANG / f"output.{FORMATS[output]}"))


@pytest.mark.parametrize("output", [*FORMATS, "text"])
def test_golden_of_a_pool(output: str, snapshot: Any) -> None:
    result = describe("team", "-o", output, f"--cluster-state=prod={STATE}")
    assert result.code == 0, result.err
    name = "page.txt" if output == "text" else f"output.{FORMATS[output]}"
    assert result.out == snapshot(extension_class=at(POOL / name))


def test_many_tasks_that_are_alike_are_counted() -> None:
    shown = kubectl_tas("-C", case_input(GANG), "workflow", "explain", "train").out
    assert "and 21 more like shard-02 (the last is shard-23)" in shown
    assert "evaluator (1 GPU)" in shown
    assert "shard-17" not in shown


def test_data_has_all_tasks() -> None:
    found = json.loads(kubectl_tas("-C", case_input(GANG), "workflow", "explain", "train", "-o", "json").out)
    assert '"shard-17"' in json.dumps(found)


def test_a_subpool_is_drawn_alone() -> None:
    declared = describe("team--a", "-o", "tree")
    assert declared.out.startswith("Subpool:  team--a (subpools/team--a.yaml)\n")
    assert "Subpool a:" in declared.out
    assert "Pool team" not in declared.out


def test_what_is_used_is_what_the_repository_declares_unless_a_cluster_is_asked() -> None:
    declared = json.loads(describe("team", "-o", "json").out)
    held = json.loads(describe("team", "-o", "json", f"--cluster-state=prod={STATE}").out)
    assert (declared["usedFrom"], held["usedFrom"]) == ("declared", "cluster")
    assert [queue["used"] for queue in declared["queues"]] != [queue["used"] for queue in held["queues"]]


def test_archived_subpools_are_no_part_of_the_picture() -> None:
    assert "Subpool e" not in describe("team", "-o", "tree").out
    assert "Subpool e" in describe("team--e", "-o", "tree").out


def test_what_is_not_known_has_no_bar(tmp_path: Path) -> None:
    """An empty one would say that nothing is used."""
    state = tmp_path / "state.json"
    state.write_text('{"kind": "List", "items": []}')
    shown = describe("team--a", "-o", "tree", f"--cluster-state=prod={state}").out
    assert "Subpool a: 30 GPUs, what is used is not known\n" in shown


def test_a_pool_without_a_quota_has_no_bar(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool(guarantee=-1)})
    shown = kubectl_tas("-C", repository, "pool", "describe", "team", "-o", "tree").out
    assert shown.endswith("\nPool team: 0 GPUs used, without a limit\n")


def test_a_pool_without_a_quota_of_which_nothing_is_known_has_no_limit(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool(guarantee=-1), "state.json": '{"kind": "List", "items": []}'})
    state = f"--cluster-state={repository / 'state.json'}"
    shown = kubectl_tas("-C", repository, "pool", "describe", "team", "-o", "tree", state).out
    assert shown.endswith("\nPool team: GPUs without a limit, what is used is not known\n")


@pytest.mark.parametrize("output", ["tree", "svg", "mermaid"])
def test_a_chain_of_pools_without_end_is_cut(output: str, repository: Path) -> None:
    parents = ("", *(f"  parent: p{n}\n" for n in range(299)))
    chain = "---\n".join(pool(f"p{n}", 8, parent) for n, parent in enumerate(parents))
    shown = kubectl_tas("-C", write(repository, {"pools/p.yaml": chain}), "pool", "describe", "p0", "-o", output).out
    assert "with more in it" in shown
    assert "Pool p20" in shown
    assert "Pool p21" not in shown


@pytest.mark.parametrize(
    ("label", "annotation", "config", "told"),
    [
        ("kubectl-tas/podgroup: owned", "", "", "own-7e0d7fd8, written by kubectl-tas"),
        ("kubectl-tas/gang: g", "", "", "g-f9de10e1, shared by the workloads of gang g"),
        ("a: b", "pod-group-name: x", "", "x, named by the pods themselves"),
        ("a: b", "kai.scheduler/skip-podgrouper: 'true'", "", "none; the pods name none, and KAI makes none"),
        ("a: b", "", "{name: cpu, scheduler: {type: default}}", "none; backend cpu has no KAI Scheduler"),
        ("a: b", "", "", "pg-own-<UID>, made by KAI"),
    ],
)
def test_where_the_pod_group_of_a_workload_comes_from(label: str, annotation: str, config: str, told: str) -> None:
    job = f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: own, labels: {{kubectl-tas/pool: team, {label}}}}}
spec:
  template:
    metadata: {{annotations: {{{annotation}}}}}
    spec: {{restartPolicy: Never, containers: [{{name: a, image: i}}]}}
"""
    settings = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{backends: [{config or '{name: default}'}]}}\n"
    fleet = fleet_of({"tas.yaml": settings, "pools/team.yaml": pool("team"), "workflows/own.yaml": job})
    (item,) = fleet.submissions
    assert gangfigure.picture(fleet, item).facts == (("PodGroup", told),)


def test_segments_of_a_pod_are_no_picture(repository: Path) -> None:
    text = SEGMENTS.format(pods=4, notes="kai.scheduler/segment-size: '2', kai.scheduler/topology: t")
    write(repository, {"pools/team.yaml": pool(spec=RACKS), "workflows/wide.yaml": text})
    result = kubectl_tas("-C", repository, "workflow", "explain", "wide", "--pod-index", "0", "-o", "svg")
    said = "Error: --pod-index has the formats tree and json, not svg\n"
    assert (result.code, result.out, result.err.endswith(said)) == (2, "", True), result.err


FIT = GOLDEN / "commands/fit"
NODES = [f"--nodes={FIT / name}" for name in ("nodes.json", "pods.json")]


def fit(*arguments: str | Path, root: Path | None = None) -> Any:
    return kubectl_tas("-C", root or case_input(FIT), "fit", *arguments)


@pytest.mark.parametrize(("workflow", "code"), [("missed", 1), ("mended", 0)])
def test_golden_of_an_answer(workflow: str, code: int, snapshot: Any) -> None:
    result = fit(workflow, "-o", "svg", *NODES)
    assert (result.code, result.err) == (code, "")
    assert result.out == snapshot(extension_class=at(FIT / f"{workflow}.svg"))


def test_an_answer_shows_where_pods_go_and_what_nodes_have() -> None:
    lines = [line.strip("├└─│ ") for line in fit("mended", "-o", "tree", *NODES).out.splitlines()]
    assert (
        "rack 1: blue: 2 pods, 16 GPUs, green: 2 pods, 16 GPUs, room for 4 pods, 4 nodes, ▒▒▒▒▒▒▒▒▒▒ 32 of 32 GPUs free"
    ) in lines
    assert (
        "rack 3: room for 0 pods, 1 of 4 nodes can be used, 1 cordoned, 1 not ready, "
        "1 with the taint maintenance:NoSchedule, ██░░░░░░░░ 6 of 8 GPUs free"
    ) in lines
    assert "outside of the topology: 1 node, 1 without the label topology.kubernetes.io/rack" in lines


def node(name: str, labels: dict[str, str], *, gpus: int = 8) -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": "8", "memory": "64Gi", "pods": "10", "nvidia.com/gpu": str(gpus)}},
    }


def drawn(root: Path, spec: str, *nodes: dict[str, Any], resources: str = "gpu: 8", text: str = "") -> list[str]:
    """The boxes of a workflow of one task, or of another, on nodes, as a tree."""
    text = text or (
        f"workflow: {{name: w, pool: team, tasks: [{{name: t, image: i}}]}}\nresources: {{default: {{{resources}}}}}\n"
    )
    write(root, {"pools/team.yaml": pool(spec=spec), "workflows/w.yaml": text})
    file = root / "nodes.json"
    file.write_text(json.dumps({"items": [*nodes, {"kind": "Pod", "metadata": {"name": "p"}, "spec": {}}]}))
    result = fit("w", "-o", "tree", f"--nodes={file}", root=root)
    assert "error" not in result.err
    return [line.strip("├└─│ ") for line in result.out.partition("\n\n")[2].splitlines() if line]


ZONES = "  topology_keys: [{key: zone, label: zone}]\n"


def test_a_gang_without_levels_may_run_outside_of_the_topology(repository: Path) -> None:
    (box,) = drawn(repository, ZONES, node("n", {}))
    assert box.startswith("outside of the topology: w")
    assert "room for 1 pod, 1 node" in box


def test_domains_are_drawn_beside_nodes_outside_that_take_the_pods(repository: Path) -> None:
    small = (node(f"in-{zone}", {"zone": zone}, gpus=4) for zone in "xy")
    zones, *each, outside = drawn(repository, ZONES, *small, node("out", {}))
    assert zones == "all nodes: room for 0 pods, 2 nodes, ░░░░░░░░░░ 8 of 8 GPUs free"
    assert each == [f"zone {zone}: room for 0 pods, 1 node, ░░░░░░░░░░ 4 of 4 GPUs free" for zone in "xy"]
    assert outside.startswith("outside of the topology: w")
    assert outside.endswith("1 pod, 8 GPUs, room for 1 pod, 1 node, ▒▒▒▒▒▒▒▒▒▒ 8 of 8 GPUs free")


def test_a_domain_of_which_no_node_can_be_used_has_no_room_and_no_bar(repository: Path) -> None:
    closed = {**node("b", {"zone": "y"}), "spec": {"unschedulable": True}}
    found = drawn(repository, ZONES, node("a", {"zone": "x"}), closed)
    assert found[-1] == "zone y: 0 of 1 node can be used, 1 cordoned"
    chart = fit("w", "-o", "mermaid", f"--nodes={repository / 'nodes.json'}", root=repository).out
    (line,) = (line for line in chart.splitlines() if "zone y" in line)
    assert line.endswith(":::out")


def test_gpus_of_pods_that_differ_are_left_out_where_a_domain_takes_some_of_them(repository: Path) -> None:
    tasks = "{name: a, image: i, resource: a}, {name: b, image: i, resource: b}"
    text = (
        f"workflow: {{name: w, pool: team, groups: [{{name: g, tasks: [{tasks}]}}]}}\n"
        "resources: {a: {gpu: 8}, b: {gpu: 4}}\n"
    )
    found = drawn(repository, ZONES, node("a", {"zone": "x"}), node("b", {"zone": "y"}, gpus=4), text=text)
    assert found == [
        "all nodes: 2 nodes, ▒▒▒▒▒▒▒▒▒▒ 12 of 12 GPUs free",
        "zone x: w-g-666725b5: 1 pod, 1 node, ░░░░░░░░░░ 8 of 8 GPUs free",
        "zone y: w-g-666725b5: 1 pod, 1 node, ░░░░░░░░░░ 4 of 4 GPUs free",
    ]


def test_a_pool_without_a_topology_has_one_box(repository: Path) -> None:
    (box,) = drawn(repository, "", node("a", {}), node("b", {"zone": "x"}))
    assert box.startswith("all nodes: ")
    assert "2 nodes, ▒▒▒▒▒░░░░░ 16 of 16 GPUs free" in box


def test_without_gpus_the_bars_are_of_cpu(repository: Path) -> None:
    (box,) = drawn(repository, "", node("a", {}, gpus=0), resources="gpu: 0, cpu: 4")
    assert "▒▒▒▒▒░░░░░ 8 of 8 cpu free" in box


def test_the_pods_of_a_group_that_differ_are_counted_where_they_are_together() -> None:
    zone, rack = "topology.kubernetes.io/zone", "topology.kubernetes.io/rack"
    nodes = [node(f"n{n}", {zone: "a", rack: f"r{n // 9}"}) for n in range(18)]
    with NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"items": nodes}, file)
        file.flush()
        shown = fit("train", "-o", "tree", f"--nodes={file.name}", root=case_input(GANG)).out
    assert "all-shards: 25 pods, 49 GPUs" in shown
    assert "▒▒▒▒▒▒▒░░░ 72 of 72 GPUs free" in shown


def test_nodes_of_another_shard_are_counted(repository: Path) -> None:
    found = drawn(repository, ZONES, node("a", {"zone": "x"}), node("b", {"kai.scheduler/node-pool": "other"}))
    assert found[-1] == "of another shard of the scheduler: 1 node"


def test_many_racks_that_are_alike_are_counted(repository: Path) -> None:
    found = drawn(repository, ZONES, *(node(f"n{n:03}", {"zone": f"z{n:03}"}) for n in range(100)))
    assert found[1].startswith("zone z000: w")
    assert found[5] == "and 96 more like z003 (the last is z099)"
    assert len(found) == 6


def test_many_racks_that_differ_are_counted(repository: Path) -> None:
    racks = (node(f"n{n:03}", {"zone": f"z{n:03}"}, gpus=8 + n) for n in range(100))
    found = drawn(repository, ZONES, *racks)
    assert [box.partition(":")[0] for box in found[1:5]] == ["zone z000", "zone z001", "zone z002", "zone z003"]
    assert found[5].startswith("and 96 more (room for ")
    assert "96 nodes" in found[5]
    assert len(found) == 6


@pytest.mark.parametrize("option", ["--all", "--grow"])
def test_what_has_no_picture_says_so(option: str) -> None:
    result = fit(option, "-o", "svg", *NODES)
    assert result.code == 2
    assert "not those of --all or --grow" in result.err


SEGMENTS = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: wide, labels: {{kubectl-tas/pool: team}}}}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: {pods}
      template:
        metadata: {{annotations: {{{notes}}}}}
        spec: {{containers: [{{name: pytorch, image: i}}]}}
"""
RACKS = "  topology_keys: [{key: zone, label: zone}, {key: rack, label: rack}]\n"


@pytest.mark.parametrize(
    ("level", "told"),
    [
        ("", ""),
        ("kai.scheduler/segment-topology-required-placement: rack", "each required in one rack (rack), "),
        ("kai.scheduler/segment-topology-preferred-placement: zone", "each preferred in one zone (zone), "),
    ],
)
def test_segments_that_are_too_many_are_told_in_a_line(level: str, told: str, repository: Path) -> None:
    notes = f"kai.scheduler/segment-size: '2', kai.scheduler/topology: osmo-pool-default-team-topology, {level}"
    text = SEGMENTS.format(pods=2002, notes=notes.removesuffix(", "))
    write(repository, {"pools/team.yaml": pool(spec=RACKS), "workflows/wide.yaml": text})
    shown = kubectl_tas("-C", repository, "workflow", "explain", "wide").out
    (line,) = (line for line in shown.splitlines() if line.startswith("Segments:"))
    assert line.split(maxsplit=1)[1] == f"1001 segments of 2 pods of worker, {told}more than the 1000 that are listed"


def test_pods_that_name_their_pod_group_are_told(repository: Path) -> None:
    text = SEGMENTS.format(pods=2, notes="pod-group-name: own")
    write(repository, {"pools/team.yaml": pool(), "workflows/wide.yaml": text})
    shown = kubectl_tas("-C", repository, "workflow", "explain", "wide").out
    assert "\nPodGroup:    own, named by the pods themselves\n" in shown
