"""Tests ``fit``, ``fit --all``, ``pool plan`` and ``snapshot`` where a SchedulingShard decides."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, kubectl_tas, pool, write
from tests.support.golden import GOLDEN, at, case_input

CASE = GOLDEN / "commands/fit-shard"
LEVELS = "  topology_keys: [{key: rack, label: rack}]\n"
WORK = """\
workflow: {{name: {name}, pool: team, priority: {priority}, tasks: [{tasks}]}}
resources: {{default: {{gpu: {gpu}}}}}
"""
TASK = "{{name: {name}, image: i, command: [x]}}"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: urgent
  labels: {kubectl-tas/pool: team, kubectl-tas/priority: HIGH}
  annotations: {kai.scheduler/preemption-delay: 10m}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: a, image: i, command: [x], resources: {limits: {nvidia.com/gpu: 8}}}]
"""


def shard(**spec: Any) -> str:
    body = {"apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard", "metadata": {"name": "main"}, "spec": spec}
    return json.dumps(body)


def node(name: str, rack: str, gpus: int = 8) -> dict[str, Any]:
    labels = {"rack": rack, "kubernetes.io/hostname": name}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": str(gpus)}},
    }


def running(name: str, node: str, gpus: int, started: str = "", created: str = "") -> list[dict[str, Any]]:
    """A LOW gang of one pod, with its PodGroup."""
    notes = {"kai.scheduler/last-start-timestamp": started} if started else {}
    spec = {"queue": "osmo-pool-default-team--shared", "priorityClassName": "low", "minMember": 1}
    return [
        {"kind": "PriorityClass", "metadata": {"name": "low"}, "value": 50},
        {"kind": "PodGroup", "metadata": {"name": name, "annotations": notes}, "spec": spec},
        {
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-0", "annotations": {"pod-group-name": name}, "creationTimestamp": created or None
            },
            "spec": {
                "nodeName": node,
                "schedulerName": "kai-scheduler",
                "containers": [{"name": "c", "resources": {"requests": {"nvidia.com/gpu": str(gpus)}}}],
            },
            "status": {"phase": "Running"},
        },
    ]  # fmt: skip


def run(root: Path, items: list[dict[str, Any]], *arguments: str) -> Result:
    write(root, {"state.json": json.dumps({"items": items})})
    return kubectl_tas("-C", root, *arguments, f"--nodes={root / 'state.json'}")


def gangs(result: Result) -> dict[str, dict[str, Any]]:
    assert result.out, result.err
    return {item["name"]: item for scheduler in json.loads(result.out)["schedulers"] for item in scheduler["gangs"]}


@pytest.mark.parametrize("output", ["text", "json"])
def test_golden(output: str, snapshot: Any) -> None:
    files = ("--nodes", "nodes.json", "--nodes", "pods.json")
    result = kubectl_tas("-C", case_input(CASE), "fit", "--all", "-o", output, *files, cwd=CASE)
    assert (result.code, result.err) == (1, "This repository has 1 error; run: kubectl tas validate\n")
    assert result.out == snapshot(extension_class=at(CASE / f"output.{'txt' if output == 'text' else 'json'}"))


def repository(tmp_path: Path, *work: str, pools: str = "", **spec: Any) -> Path:
    """A pool on a shard, and work for it."""
    files = {"tas.yaml": CONFIG, "pools/team.yaml": pools or pool("team", 16), "pools/shard.yaml": shard(**spec)}
    return write(tmp_path, {**files, **{f"workflows/{number}.yaml": text for number, text in enumerate(work)}})


CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  backends: [{name: prod, scheduler: {version: '0.17'}}]\n"
NODES = [node("a1", "a"), node("a2", "a"), node("b1", "b", 4)]


def workflow(name: str, gpus: int, priority: str = "NORMAL", tasks: int = 1) -> str:
    named = ", ".join(TASK.format(name=f"t{number}") for number in range(tasks))
    return WORK.format(name=name, priority=priority, tasks=named, gpu=gpus)


@pytest.mark.parametrize(("strategy", "rack"), [("binpack", "b"), ("spread", "a")])
def test_a_small_pod_goes_where_the_strategy_says(strategy: str, rack: str, tmp_path: Path) -> None:
    levels = pool("team", 16, LEVELS)
    root = repository(tmp_path, workflow("w", 2), pools=levels, placementStrategy={"gpu": strategy})
    for arguments in (("fit", "w"), ("fit", "--all")):
        data = json.loads(run(root, NODES, *arguments, "-o", "json").out)
        found = data["gangs"] if arguments[1] == "w" else data["schedulers"][0]["gangs"]
        assert [place["domain"] for place in found[0]["placed"]] == [[rack]]


@pytest.mark.parametrize(
    ("spec", "outcome", "text"),
    [
        ({}, "evicts", "once old (8 GPUs of team) is preempted"),
        ({"actions": {"preempt": {"enabled": False}}}, "no-room", "KAI finds no room on what is free"),
        ({"minRuntime": {"preemptMinRuntime": "50m"}}, "evicts", "once old (8 GPUs of team) is preempted"),
        (
            {"minRuntime": {"preemptMinRuntime": "2h"}},
            "no-room",
            "; KAI ends none of old (8 GPUs of team) before 2026-11-01T13:00:00Z (preemptMinRuntime)",
        ),
        (
            {
                "minRuntime": {"preemptMinRuntime": "2h"},
                "plugins": {"minruntime": {"enabled": False}},
            },
            "evicts",
            "once old (8 GPUs of team) is preempted",
        ),
    ],
)
def test_what_goes_for_others_is_what_the_shard_allows(
    spec: dict[str, Any], outcome: str, text: str, tmp_path: Path
) -> None:
    """The gang runs for an hour, by the newest time in the file."""
    root = repository(tmp_path, workflow("w", 8), **spec)
    items = [node("a1", "a"), *running("old", "a1", 8, "2026-11-01T11:00:00Z", "2026-11-01T12:00:00Z")]
    assert gangs(run(root, items, "fit", "--all", "-o", "json"))["w"]["outcome"] == outcome
    assert text in run(root, items, "fit", "--all").out


@pytest.mark.parametrize(
    ("created", "outcome"), [("", "no-room"), ("2026-11-01T11:55:00Z", "no-room"), ("2026-11-01T11:45:00Z", "evicts")]
)
def test_a_gang_waits_its_preemption_delay(created: str, outcome: str, tmp_path: Path) -> None:
    """The delay begins with the PodGroup, or with the apply."""
    root = repository(tmp_path)
    write(root, {"workflows/job.yaml": JOB})
    items = [node("a1", "a"), *running("old", "a1", 8, "2026-11-01T11:00:00Z", "2026-11-01T12:00:00Z")]
    if created:
        name = "pg-urgent-6c2f2d9e-53a3-4c80-a0a0-0d9c3a1f7d11"
        items.append({"kind": "PodGroup", "metadata": {"name": name, "creationTimestamp": created}, "spec": {}})
    assert gangs(run(root, items, "fit", "--all", "-o", "json"))["urgent"]["outcome"] == outcome
    text = "KAI evicts nothing for it in the first 10m0s of its wait (preemptionDelay)"
    assert (text in run(root, items, "fit", "--all").out) == (outcome == "no-room")


def test_of_a_queue_only_the_first_gang_is_tried_if_the_shard_says_so(tmp_path: Path) -> None:
    works = workflow("large", 8, "HIGH", tasks=4), workflow("small", 8)
    root = repository(tmp_path, *works, pools=pool("team", 64), queueDepthPerAction={"allocate": 1})
    found = run(root, NODES, "fit", "--all")
    assert "small" in found.out
    assert "KAI does not try it: of a queue it tries only the first gang in a cycle" in found.out
    root = repository(tmp_path / "b", *works, pools=pool("team", 64), queueDepthPerAction={"allocate": 2})
    found = run(root, NODES, "fit", "--all")
    assert found.code == 1
    assert "Not looked at, of SchedulingShard main: a queueDepthPerAction of 2.\n" in found.err


def test_without_the_plugin_topology_a_gang_starts_outside_its_level(tmp_path: Path) -> None:
    lowered = f"{CONFIG}  rules: {{shard-plugin-off: warning}}\n"
    task = "{name: a, image: i, command: [x], resource: n}, {name: b, image: i, command: [x], resource: n}"
    work = (
        f"workflow: {{name: w, pool: team, groups: [{{name: g, tasks: [{task}]}}]}}\n"
        "resources: {n: {gpu: 8, topology: [{key: rack, group: all}]}}\n"
    )
    apart = [node("a1", "a"), node("b1", "b")]
    for is_on, outcome in ((True, "no-room"), (False, "fits")):
        root = repository(
            tmp_path / str(is_on), work, pools=pool("team", 16, LEVELS), plugins={"topology": {"enabled": is_on}}
        )
        write(root, {"tas.yaml": lowered})
        found = run(root, apart, "fit", "w", "-o", "json")
        assert json.loads(found.out)["gangs"][0]["outcome"] == outcome
        said = "SchedulingShard main has the plugin topology off: KAI keeps no level.\n"
        assert (said in found.err) != is_on
        assert (said in run(root, apart, "pool", "plan").err) != is_on


def test_a_snapshot_has_the_configuration_of_the_shard(tmp_path: Path) -> None:
    root = repository(
        tmp_path,
        workflow("w", 8),
        placementStrategy={"gpu": "spread"},
        queueDepthPerAction={"allocate": 3},
        minRuntime={"reclaimMinRuntime": "1h"},
        plugins={"elastic": {"enabled": False}},
        args={"max-consolidation-preemptees": "4", "use-scheduling-signatures": "false", "schedule-period": "2s"},
        scenarioSearchBudgets={"maxJobSearchDuration": "3s"},
    )
    result = run(root, NODES, "snapshot", "--to", str(tmp_path / "x.zip"))
    assert result.code == 0, result.err
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        state = json.loads(archive.read("snapshot.json"))
    config, parameters = state["config"], state["schedulerParams"]
    plugins = {plugin["name"]: plugin.get("arguments") for plugin in config["tiers"][0]["plugins"]}
    assert config["actions"] == "allocate, reclaim, preempt, stalegangeviction"
    assert config["queueDepthPerAction"] == {"allocate": 3}
    assert config["scenarioSearchBudgets"] == {"maxJobSearchDuration": "3s"}
    assert list(plugins)[:3] == ["predicates", "proportion", "priority"]
    assert plugins["nodeplacement"] == {"gpu": "spread", "cpu": "binpack"}
    assert plugins["minruntime"] == {"defaultReclaimMinRuntime": "1h"}
    assert {"gpuspread", "elastic", "gpupack"} & plugins.keys() == {"gpuspread"}
    assert (parameters["maxNumberConsolidationPreemptees"], parameters["useSchedulingSignatures"]) == (4, False)
    assert parameters["schedulePeriod"] == 2 * 10**9
