"""Tests that every answer counts cpu and memory of pods as KAI's scheduler does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.facts.quantities import Amounts
from kubectl_tas.model.podtemplate import PodTemplate
from tests.support.cli import kubectl_tas, write

GI = 2**30
POOL = """\
apiVersion: tas/v1alpha1
kind: Pool
metadata: {name: team}
spec: {resources: {gpu: {guarantee: 8}, cpu: {guarantee: 100}, memory: {guarantee: 1Ti}}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: {0}, labels: {{kubectl-tas/pool: team}}}}
spec:
  parallelism: {1}
  completions: {1}
  template:
    spec:
      restartPolicy: Never
      containers:
      - {{name: c, image: i, resources: {{requests: {{cpu: {2}, memory: 64Gi}}}}}}
"""


def asking(part: str = "requests", **amounts: object) -> dict[str, Any]:
    return {"resources": {part: amounts}}


@pytest.mark.parametrize(
    ("spec", "cpu", "memory"),
    [
        ({}, 0, 0),
        ({"containers": [asking(cpu="500m", memory="1Gi"), asking(cpu=2, memory="1G")]}, 2500, GI + 10**9),
        ({"containers": [asking("limits", cpu=0.5, memory="1Gi")]}, 500, GI),
        (
            {"containers": [{"resources": {"limits": {"cpu": 4, "memory": "2Gi"}, "requests": {"cpu": 1}}}]},
            1000,
            2 * GI,
        ),
        ({"containers": [asking(cpu=1)], "initContainers": [asking(cpu=4, memory="1Gi")]}, 4000, GI),
        (
            {
                "containers": [asking(cpu=1)],
                "initContainers": [{"restartPolicy": "Always", **asking(cpu=2)}, asking(cpu=3)],
            },
            5000,
            0,
        ),
        ({"containers": [asking(cpu=1)], "overhead": {"cpu": "250m", "memory": "128Mi"}}, 1250, 128 * 2**20),
        ({"containers": [asking(cpu=1)], **asking(cpu=64, memory="1Ti")}, 1000, 0),
        ({"containers": [asking(cpu="1e-1", memory="1e3")]}, 100, 1000),
    ],
)
def test_cpu_and_memory_of_a_pod(spec: dict[str, Any], cpu: int, memory: int) -> None:
    assert PodTemplate.model_validate({"spec": spec}).asks == Amounts(0, cpu, memory)


@pytest.mark.parametrize(
    ("amount", "message"),
    [
        ("4 cores", "must be a quantity such as 500m or 64Gi"),
        ("-1", "must not be negative"),
        ("\u0664", "must be a quantity such as 500m or 64Gi"),
    ],
)
def test_what_is_no_quantity_is_said(repository: Path, amount: str, message: str) -> None:
    write(repository, {"pools/team.yaml": POOL, "workflows/job.yaml": JOB.format("j", 1, json.dumps(amount))})
    result = kubectl_tas("validate", "-C", repository)
    assert result.code == 1
    assert message in result.out


def test_every_answer_counts_them(repository: Path) -> None:
    write(repository, {"pools/team.yaml": POOL, "workflows/job.yaml": JOB.format("a", 3, 20)})
    found = json.loads(kubectl_tas("pool", "list", "-o", "json", "-C", repository).out)["pools"][0]
    assert found["cpu"] == {
        "quota": "100", "total": None, "used": "60", "available": "40", "limit": None, "weight": 1, "totalUsed": None,
    }  # fmt: skip
    assert found["memory"]["available"] == "832Gi"
    wide = kubectl_tas("pool", "list", "-o", "wide", "-C", repository).out
    assert "100        60        1Ti           192Gi" in wide
    other = repository.parent / "other.yaml"
    other.write_text(JOB.format("b", 3, 15))
    answer = kubectl_tas("admit", other, "-C", repository)
    assert "it asks for 45 cpu, others use 60; the quota of team is 100: not all of it can run at once" in answer.out


def test_what_is_not_asked_for_is_not_checked(repository: Path) -> None:
    """KAI compares with a quota only what is asked for: of no cpu left, a pod that asks for none still runs."""
    job = JOB.format("full", 1, 100), JOB.format("none", 1, 0)
    write(repository, {"pools/team.yaml": POOL, "workflows/a.yaml": job[0], "workflows/b.yaml": job[1]})
    assert kubectl_tas("validate", "-C", repository).out.startswith("No problems found")


def test_told_usage_is_of_gpus(repository: Path) -> None:
    """--used tells the GPUs; of cpu and memory what the repository declares still counts."""
    write(repository, {"pools/team.yaml": POOL, "workflows/job.yaml": JOB.format("a", 3, 20)})
    other = repository.parent / "other.yaml"
    other.write_text(JOB.format("b", 1, 41))
    answer = kubectl_tas("admit", other, "--used", 0, "-C", repository)
    assert "it asks for 41 cpu, others use 60; the quota of team is 100" in answer.out
