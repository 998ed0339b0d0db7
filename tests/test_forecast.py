"""Tests ``forecast``: when work starts, and when it ends at the latest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, kubectl_tas, pool, write
from tests.support.golden import GOLDEN, at, case_input

CASE = GOLDEN / "commands/forecast"
NOW = "--now=2026-11-29T04:00:00Z"


def forecast(root: Path, *arguments: str | Path) -> Result:
    return kubectl_tas("-C", root, "forecast", NOW, *arguments)


def gangs(root: Path, *arguments: str | Path) -> dict[str, dict[str, Any]]:
    (scheduler,) = json.loads(forecast(root, "-o", "json", *arguments).out)["schedulers"]
    return {item["name"]: item for item in scheduler["gangs"]}


@pytest.mark.parametrize("output", ["table", "wide", "json"])
def test_golden(output: str, snapshot: Any) -> None:
    files = ("--nodes", "nodes.json", "--nodes", "pods.json")
    result = kubectl_tas("-C", case_input(CASE), "forecast", NOW, "-o", output, *files, cwd=CASE)
    assert (result.code, result.err) == (1, "")
    assert result.out == snapshot(
        extension_class=at(CASE / f"output.{'json' if output == 'json' else output + '.txt'}")
    )


def test_the_picture_of_the_page(snapshot: Any) -> None:
    files = ("--nodes", "nodes.json", "--nodes", "pods.json")
    result = kubectl_tas("-C", case_input(CASE), "forecast", NOW, "-o", "svg", *files, cwd=CASE)
    assert result.out == snapshot(extension_class=at(CASE / "picture.svg"))
    page = kubectl_tas("-C", case_input(CASE), "forecast", NOW, "-o", "html", *files, cwd=CASE).out
    assert "<style>" not in page.partition("</head>")[2]  # the page's policy allows its own style sheet alone


def node(gpus: int) -> dict[str, Any]:
    has = {"cpu": "64", "nvidia.com/gpu": str(gpus), "pods": "110"}
    return {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": has, "capacity": has}}


def job(name: str, gpus: int, spec: str = "", template: str = "", metadata: str = "") -> str:
    return f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: team, labels: {{kubectl-tas/pool: team}}{metadata}}}
spec:
  backoffLimit: 0{spec}
  template:
    spec:
      restartPolicy: Never{template}
      containers: [{{name: main, image: x, resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}]
"""


LIMITED = "\n      activeDeadlineSeconds: 3600"


def repository(root: Path, **jobs: str) -> Path:
    files = {"tas.yaml": "", "pools/team.yaml": pool(guarantee=16, spec="  namespaces: [team]\n")}
    files |= {f"workflows/{name}.yaml": text for name, text in jobs.items()}
    return write(root, {**files, "nodes.json": json.dumps({"items": [node(8)]})})


def nodes(root: Path) -> str:
    return f"--nodes={root / 'nodes.json'}"


def test_the_second_job_starts_when_the_first_ends_at_its_limit(tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8, template=LIMITED), b=job("b", 8, template=LIMITED))
    found = gangs(root, nodes(root))
    assert (found["a"]["outcome"], found["a"]["endsAtTheLatest"]) == ("at-once", "2026-11-29T05:00:00Z")
    assert (found["b"]["starts"], found["b"]["waitsFor"]) == ("2026-11-29T05:00:00Z", [found["a"]["podGroup"]])
    assert found["b"]["earlier"] == {
        "kind": "nodes",
        "change": "1 node more",
        "startsAfterSeconds": 0,
    }
    assert forecast(root, nodes(root)).code == 0


def test_without_a_limit_it_is_unknown_and_assume_gives_one(tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8), b=job("b", 8))
    assert gangs(root, nodes(root))["b"]["outcome"] == "unknown"
    assert "a has no limit" in forecast(root, nodes(root)).out
    assert gangs(root, nodes(root), "--assume=2h")["b"]["startsAfterSeconds"] == 7200
    assert forecast(root, nodes(root)).code == 1


def test_the_annotation_says_how_long_work_runs(tmp_path: Path) -> None:
    note = ', annotations: {kubectl-tas/expected-runtime: "30m"}'
    root = repository(tmp_path, a=job("a", 8, template=LIMITED, metadata=note), b=job("b", 8))
    assert gangs(root, nodes(root))["b"]["startsAfterSeconds"] == 1800


def test_the_deadline_of_a_job_passes_while_it_waits(tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8, template=LIMITED), b=job("b", 8, "\n  activeDeadlineSeconds: 600"))
    found = gangs(root, nodes(root))["b"]
    assert (found["outcome"], found["starts"], found["endsAfterSeconds"]) == ("gives-up", None, 600)


def test_retries_and_waves_count(tmp_path: Path) -> None:
    waves = job("a", 8, "\n  completions: 3", template=LIMITED)
    root = repository(tmp_path, a=waves.replace("backoffLimit: 0", "backoffLimit: 1"), b=job("b", 1))
    assert [span["end"] for span in gangs(root, nodes(root))["a"]["runs"]][-1] == "2026-11-29T08:00:00Z"


def test_suspended_work_never_starts(tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8, "\n  suspend: true"), b=job("b", 8))
    result = forecast(root, nodes(root))
    assert "it is suspended" in result.out
    assert gangs(root, nodes(root))["b"]["outcome"] == "at-once"


def test_runs_of_a_cron_job_come_at_their_times(tmp_path: Path) -> None:
    text = job("a", 8, template=LIMITED).splitlines()
    spec = "\n".join(f"    {line}" for line in text[4:])
    metadata = "metadata: {name: night, namespace: team, labels: {kubectl-tas/pool: team}}"
    head = f'apiVersion: batch/v1\nkind: CronJob\n{metadata}\nspec:\n  schedule: "0 6 * * *"\n'
    cron = f"{head}  jobTemplate:\n    spec:\n{spec}\n"
    root = repository(tmp_path, night=cron)
    (scheduler,) = json.loads(forecast(root, "-o", "json", "--horizon=2d", nodes(root)).out)["schedulers"]
    assert [gang["starts"] for gang in scheduler["gangs"]] == ["2026-11-29T06:00:00Z", "2026-11-30T06:00:00Z"]
    assert "first of 2 runs by its schedule" in forecast(root, "--horizon=2d", nodes(root)).out


def test_further_nodes_bring_starts_forward(tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8, template=LIMITED), b=job("b", 8, template=LIMITED))
    assert gangs(root, nodes(root), "--grow=1")["b"]["grown"] == {"outcome": "at-once", "startsAfterSeconds": 0}
    assert "at once (1 h earlier)" in forecast(root, nodes(root), "--grow=1").out


def test_one_work_is_answered_beside_all(tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8, template=LIMITED), b=job("b", 8))
    assert list(gangs(root, "b", nodes(root))) == ["b"]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--horizon=soon", "is not a time such as 2h"),
        ("--horizon=900000d", "of at most 366 days"),
        ("--assume=0", "is not a time such as 2h"),
        ("--now=yesterday", "is not a time such as 2026-11-29T04:00:00Z"),
    ],
)
def test_times_that_cannot_be_read(option: str, message: str, tmp_path: Path) -> None:
    root = repository(tmp_path, a=job("a", 8))
    result = forecast(root, nodes(root), option)
    assert (result.code, message in result.err) == (2, True)
