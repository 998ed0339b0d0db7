"""Tests that a thing has one name in the JSON of all commands, and that old names stay for one release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.golden import GOLDEN, case_input

JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: default
  labels: {kubectl-tas/pool: team}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: i, resources: {limits: {nvidia.com/gpu: 8}, requests: {nvidia.com/gpu: 8}}}]
"""
NODES = GOLDEN / "commands/fit/nodes.json"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(tmp_path, {"pools/team.yaml": pool(), "workflows/train.yaml": JOB})


def printed(root: Path, *words: str | Path) -> dict[str, Any]:
    result = kubectl_tas("-C", root, *words, "-o", "json")
    assert result.out, result.err
    answer: dict[str, Any] = json.loads(result.out)
    return answer


def test_work_has_the_same_names_in_each_answer(root: Path) -> None:
    listed = printed(root, "workflow", "list")["workflows"][0]
    explained = printed(root, "explain", "train")
    admitted = printed(root, "admit", "train")["workflows"][0]
    for name in ("kind", "name", "pool", "queue", "priority", "gpus", "verdict", "rule", "message"):
        assert listed[name] == explained[name] == admitted[name], name
    for name in ("inQuota", "overQuota", "hint"):
        assert explained[name] == admitted[name], name
    described = printed(root, "pool", "describe", "team")["workflows"][0]
    assert (described["kind"], described["name"], described["gpus"]) == ("Job", "train", 8)


def test_gangs_name_their_work_as_other_answers_do() -> None:
    repository = case_input(GOLDEN / "commands/fit")
    fitted = printed(repository, "fit", "missed", "--nodes", NODES)["gangs"][0]
    pending = printed(repository, "fit", "--all", "--nodes", NODES)
    gangs = [gang for scheduler in pending["schedulers"] for gang in scheduler["gangs"]]
    assert {fitted["name"], *(gang["name"] for gang in gangs)} >= {"missed"}
    for gang in (fitted, *gangs):
        assert (gang["kind"], gang["workflow"]) == ("Workflow", gang["name"])


def test_old_names_stay_for_a_release_and_the_version_is_raised(root: Path) -> None:
    explained, admitted = printed(root, "explain", "train"), printed(root, "admit", "train")
    assert (explained["version"], admitted["version"]) == (2, 2)
    assert (explained["workflow"], explained["admission"]["outcome"]) == (explained["name"], explained["verdict"])
    (work,) = admitted["workflows"]
    assert (work["workflow"], work["asks"]) == (work["name"], work["gpus"])
