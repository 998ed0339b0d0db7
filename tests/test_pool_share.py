"""Tests ``pool share``, the division when all ask at once. ``tests/place/test_share.py`` compares it with KAI."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, at, case_input
from tests.support.kubectl import FakeKubectl

CASE = GOLDEN / "commands/pool-share"
STATE = f"--cluster-state={CASE / 'cluster.json'}"
FROM_FILES = "Asks: what the work of this repository asks for, all of it at once"
FROM_CLUSTER = "Asks: what pods of the cluster hold or wait for.\n"


def share(*arguments: str | Path, root: Path | None = None) -> Result:
    return kubectl_tas("-C", root or case_input(CASE), "pool", "share", *arguments)


def answer(*arguments: str | Path, root: Path | None = None) -> dict[str, Any]:
    """What is said of the one cluster."""
    result = share(*arguments, "-o", "json", root=root)
    assert result.code == 0, result.err
    (found,) = json.loads(result.out)["clusters"]
    return dict(found)


def gpus(*arguments: str | Path, root: Path | None = None) -> dict[str, int]:
    return {item["name"]: item["gpu"]["share"] for item in answer(*arguments, root=root)["queues"]}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("declared.txt", ["--gpus", "88"]),
        ("demand.txt", ["--gpus", "128", "--demand", "research=30", "--demand", "idle=20"]),
        ("cluster.txt", [STATE]),
        ("cluster-answer.json", [STATE, "research--vision", "students", "-o", "json"]),
    ],
)
def test_golden(name: str, arguments: list[str], snapshot: Any) -> None:
    result = share(*arguments)
    expected = {"declared.txt": f"{FROM_FILES}.\n", "demand.txt": f"{FROM_FILES}, but for --demand.\n"}
    assert (result.code, result.err) == (0, "" if "json" in arguments else expected.get(name, FROM_CLUSTER))
    assert result.out == snapshot(extension_class=at(CASE / name))


def test_nodes_that_are_not_ready_or_cordoned_and_pods_of_other_schedulers_are_not_divided() -> None:
    """12 nodes of 8 GPUs, of which two are of no use, and 4 GPUs are held."""
    assert answer("--nodes", CASE / "cluster.json")["capacity"] == {"gpu": 76, "cpu": "638", "memory": "5119Gi"}


def test_queues_of_others_take_part() -> None:
    """Only a cluster tells of them."""
    assert "notebooks" in gpus(STATE)
    assert "notebooks" not in gpus("--nodes", CASE / "cluster.json")


def test_a_queue_of_others_is_no_pool_of_that_name(tmp_path: Path) -> None:
    text = (CASE / "cluster.json").read_text().replace('"notebooks-all"', '"students"')
    file = tmp_path / "state.json"
    file.write_text(text)
    assert gpus("students", f"--cluster-state={file}") == {"students": 2}


def test_a_live_cluster_says_the_same_as_its_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl = FakeKubectl(tmp_path, monkeypatch)
    items = json.loads((CASE / "cluster.json").read_text())["items"]
    kubectl.knows("prod", *items)
    (tmp_path / "prod/pods").write_text(json.dumps({"items": [item for item in items if item["kind"] == "Pod"]}))
    recorded = tmp_path / "recorded.json"
    assert kubectl_tas("cluster", "state", "--context", "prod", "--to", recorded, cwd=tmp_path).code == 0
    assert share("--live").out == share(f"--cluster-state={recorded}").out == share(STATE).out


def test_each_shard_divides_its_own_nodes(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool("team", 4), "pools/other.yaml": pool("other", 4, "  nodePool: h100\n")})
    nodes = {
        "items": [
            {
                "kind": "Node",
                "metadata": {"name": f"n{index}", "labels": labels},
                "status": {"allocatable": {"nvidia.com/gpu": "8", "cpu": "8", "memory": "8Gi"}},
            }
            for index, labels in enumerate(({}, {"kai.scheduler/node-pool": "h100"}, {"kai.scheduler/node-pool": "x"}))
        ]
    }
    file = repository / "nodes.json"
    file.write_text(json.dumps(nodes))
    demands = "--demand", "team=20", "--demand", "other=20"
    result = share("--nodes", file, *demands, "-o", "json", root=repository)
    found = {item["shard"]: item for item in json.loads(result.out)["clusters"]}
    assert {shard: item["capacity"]["gpu"] for shard, item in found.items()} == {None: 8, "h100": 8}
    assert {shard: item["queues"][0]["gpu"]["share"] for shard, item in found.items()} == {None: 8, "h100": 8}
    assert "name pools of one shard" in share("--gpus", "8", root=repository).err
    assert gpus("other", "--gpus", "8", *demands, root=repository) == {"other": 8}


def test_a_pool_is_shown_with_all_below_it_and_a_subpool_alone() -> None:
    assert list(gpus("research", "--gpus", "88")) == [
        "research",
        "research itself",
        "research--speech",
        "research--vision",
    ]
    assert list(gpus("RESEARCH--vision", "idle", "--gpus", "88")) == ["idle", "research--vision"]


def test_an_archived_subpool_has_no_share(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 30, state="ARCHIVED")})
    assert "team--a is ARCHIVED, and has no queue" in share("team--a", "--gpus", "8", root=repository).err
    asked = share("--gpus", "8", "--demand", "team--a=3", root=repository)
    assert (asked.code, "team--a is ARCHIVED, and has no queue" in asked.err) == (2, True)


def test_a_demand_of_a_pool_that_is_not_divided_here_is_refused(repository: Path) -> None:
    backends = "spec:\n  backends:\n  - {name: prod}\n  - {name: lab}\n"
    write(repository, {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\n{backends}"})
    write(repository, {f"pools/{name}.yaml": pool(name, 4, f"  backend: {name}\n") for name in ("prod", "lab")})
    asked = share("prod", "--gpus", "8", "--demand", "lab=3", root=repository)
    assert (asked.code, "--demand: pool lab is for backend lab" in asked.err) == (2, True)


def test_pools_of_different_nodes_are_divided_as_if_they_were_not(repository: Path) -> None:
    files = {f"pools/{name}.yaml": pool(name, 4, f"  nodes: {{selector: {{gpu: {name}}}}}\n") for name in "ab"}
    write(repository, {"pools/a.yaml": files["pools/a.yaml"]})
    assert answer("--gpus", "8", root=repository)["notes"] == []
    (note,) = answer("--gpus", "8", root=write(repository, files))["notes"]
    assert note == (
        "Pools ask for different nodes (nodes.selector), but KAI divides all GPUs as if they were of one kind: "
        "a share may be more than the nodes have that a pool can use."
    )


def test_a_queue_may_be_named_in_a_demand() -> None:
    assert gpus("--gpus", "88", "--demand", "osmo-pool-default-idle--shared=3")["idle"] == 3


def whys(text: str) -> dict[str, str]:
    """The last cell of each row, by pool."""
    rows = [re.split(" {2,}", line.strip()) for line in text.splitlines() if "  " in line.strip()]
    return {row[0]: row[-1] for row in rows}


def test_why_a_share_is_no_larger_is_told(repository: Path) -> None:
    """First takes all that is left, since it comes first; last is left nothing, whatever its weight."""
    specs = {"first": "  priority: 200\n", "last": "  priority: 50\n"}
    write(repository, {f"pools/{name}.yaml": pool(name, 4, spec) for name, spec in specs.items()})
    result = share("--gpus", "16", "--demand", "first=40", "--demand", "last=40", root=repository)
    found = whys(result.out)
    assert found["first"] == "4 guaranteed, 8 borrowed; takes what is left"
    assert found["last"] == "4 guaranteed; higher priorities take what is left"


def test_other_resources_are_shown_where_they_are_short(repository: Path) -> None:
    task = "tasks: [{name: t, image: i, command: [x]}]"
    job = f"workflow: {{name: w, pool: team, {task}}}\nresources: {{default: {{cpu: 16, gpu: 1}}}}\n"
    write(repository, {"pools/team.yaml": pool(guarantee=8), "workflows/w.yaml": job})
    node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"nvidia.com/gpu": "8", "cpu": "9"}}}
    write(repository, {"nodes.json": json.dumps({"items": [node]})})
    titles = [
        line for line in share("--nodes", repository / "nodes.json", root=repository).out.splitlines() if ": " in line
    ]
    assert titles[:2] == ["default: 8 GPUs, 1 asked for", "default: 9 cpu, 16 asked for; these get less"]


def test_the_shard_of_a_division_is_named(repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool(spec="  nodePool: h100\n")})
    assert share("--gpus", "8", root=repository).out.startswith("default, shard h100: 8 GPUs, 0 asked for\n")


def test_only_the_queue_that_takes_work_is_said_to_ask_for_more_than_its_guarantee(repository: Path) -> None:
    task = "tasks: [{name: t, image: i, command: [x]}]"
    job = f"workflow: {{name: w, pool: team--a, {task}}}\nresources: {{default: {{gpu: 10}}}}\n"
    files = {"pools/team.yaml": pool(guarantee=8), "subpools/a.yaml": subpool("a", 8), "workflows/w.yaml": job}
    result = share("--gpus", "16", "-o", "json", root=write(repository, files))
    notes = json.loads(result.out)["clusters"][0]["notes"]
    assert notes == [
        "team--a: HIGH and NORMAL work asks for 10 GPUs, and never holds more than the guarantee of 8 GPUs. "
        "KAI counts all of it; the rest waits, since only LOW work borrows."
    ]


@pytest.mark.parametrize(("demand", "is_told"), [(8, False), (9, True)])
def test_only_of_a_pool_that_borrows_is_told_when_it_gives_back(demand: int, is_told: bool, repository: Path) -> None:
    write(repository, {"pools/team.yaml": pool(guarantee=8, spec="  reclaimMinRuntime: 5m\n")})
    notes = answer("--gpus", "16", "--demand", f"team={demand}", root=repository)["notes"]
    told = "What team borrows comes back to others only after it has run for 5m (reclaimMinRuntime)."
    assert notes == ([told] if is_told else [])


def test_a_subpool_that_drains_is_guaranteed_nothing(repository: Path) -> None:
    files = {"a": subpool("a", 30, state="DELETING"), "b": subpool("b", 30)}
    write(
        repository,
        {"pools/team.yaml": pool("team", 40), **{f"subpools/{name}.yaml": text for name, text in files.items()}},
    )
    found = gpus("--gpus", "50", "--demand", "team--a=40", "--demand", "team--b=40", root=repository)
    assert (found["team--a"], found["team--b"]) == (10, 40)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name the GPUs to divide"),
        (["--gpus", "8", "--nodes", "nodes.json"], "--gpus and --nodes both name"),
        (["--gpus", "-1"], "-1"),
        (["--gpus", "8", "--demand", "team"], "write NAME=N"),
        (["--gpus", "8", "--demand", "team=many"], "write NAME=N"),
        (["--gpus", "8", "--demand", "idle=-1"], "N GPUs from 0 to 9999999"),
        (["--gpus", "8", "--demand", "idle=10000000"], "N GPUs from 0 to 9999999"),
        (["--gpus", "8", "--demand", "idle=²"], "--demand idle=²: write NAME=N"),
        (["--gpus", "8", "--demand", "idle=1", "--demand", "Idle=2"], "twice for Idle"),
        (["--gpus", "8", "--demand", "idel=1"], 'did you mean "idle"'),
        (["--gpus", "8", "--demand", "osmo-pool-default-research=1"], "no pool or leaf queue"),
        (["reserch", "--gpus", "8"], 'did you mean "research"'),
        (["--backend", "prud", "--gpus", "8"], 'did you mean "prod"'),
    ],
    ids=str,
)
def test_what_cannot_be_answered_is_said(arguments: list[str], words: str) -> None:
    result = share(*arguments)
    assert (result.code, result.out) == (2, "")
    assert words in result.err


def test_without_pools_there_is_nothing_to_divide(repository: Path) -> None:
    write(repository, {"tas.yaml": ""})
    assert "the repository has no pools" in share("--gpus", "8", root=repository).err
    listed = kubectl_tas("-C", repository, "pool", "list")
    assert (listed.code, listed.out, listed.err) == (0, "", "There are no pools.\n")


def test_of_several_clusters_one_is_named_where_it_is_about_one(repository: Path) -> None:
    backends = "backends: [{name: a}, {name: b, namespace: b}]"
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{{backends}}}\n"
    pools = {f"pools/{name}.yaml": pool(f"pool-{name}", 4, f"  backend: {name}\n") for name in "ab"}
    write(repository, {"tas.yaml": config, **pools})
    assert "name it with --backend: a, b" in share("--gpus", "8", root=repository).err
    assert gpus("--gpus", "8", "--backend", "b", "--demand", "pool-b=9", root=repository) == {"pool-b": 8}
    assert gpus("pool-a", "--gpus", "8", "--demand", "pool-a=5", root=repository) == {"pool-a": 5}


NO_KAI = "none of these pools is in a cluster with KAI, which divides GPUs among queues"


@pytest.mark.parametrize("arguments", [["tests"], ["--backend", "ci"]], ids=" ".join)
def test_a_cluster_without_kai_divides_nothing(arguments: list[str]) -> None:
    result = share(*arguments, "--gpus", "8", root=case_input(GOLDEN / "manifests/two-clusters"))
    assert (result.code, result.out, NO_KAI in result.err) == (2, "", True)


def test_pools_without_kai_are_left_out_beside_others() -> None:
    root = case_input(GOLDEN / "manifests/two-clusters")
    result = share("language", "tests", "--gpus", "8", root=root)
    assert (result.code, result.err.startswith("Left out: ci, which has no KAI.\n")) == (0, True)
    alone = share("language", "--gpus", "8", root=root)
    assert (alone.out, alone.err) == (result.out, result.err.partition("\n")[2])


def test_a_shard_without_pools_of_the_repository_is_not_divided(tmp_path: Path) -> None:
    """Its queues are those of others, so there is nothing to show."""
    state = json.loads((CASE / "cluster.json").read_text())
    metadata = {"name": "foreign", "labels": {"kai.scheduler/node-pool": "h100"}}
    state["items"].append({"kind": "Queue", "metadata": metadata, "spec": {}})
    file = tmp_path / "state.json"
    file.write_text(json.dumps(state))
    assert answer(f"--cluster-state={file}")["shard"] is None


def test_a_queue_of_which_a_cluster_does_not_say_what_it_holds_is_named(tmp_path: Path) -> None:
    state = json.loads((CASE / "cluster.json").read_text())
    for item in state["items"]:
        if item.get("metadata", {}).get("name") == "notebooks-all":
            del item["status"]
    waiting = {"kind": "PodGroup", "metadata": {"name": "g", "namespace": "n"}, "spec": {"queue": "notebooks-all"}}
    state["items"].append(waiting)  # without one that names it, it would hold nothing
    file = tmp_path / "state.json"
    file.write_text(json.dumps(state))
    result = share("--cluster-state", file)
    assert "of the queue notebooks-all the cluster does not say what it holds" in result.err
    assert result.code == 0
