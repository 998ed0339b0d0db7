"""Tests ``workflow explain NAME`` with several objects of this name, in any files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.kinds import LEVELS, RUN, SEGMENTS, leader_worker, root, selected

JOB = f"{root('Job', 'x')}spec: {{template: {{spec: {RUN}}}}}\n"
DEPLOYMENT = f"{root('Deployment', 'x')}spec: {{{selected()}}}\n"
WORKFLOW = "workflow:\n  name: X\n  pool: team\n  tasks:\n  - {name: t, image: busybox}\n"
FILES = {"pools/p.yaml": pool(spec=LEVELS), "workflows/a.yaml": JOB, "workflows/b.yaml": DEPLOYMENT}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("x", ["Job", "Deployment", "Workflow"]),
        ("job/x", ["Job"]),
        ("Deployment/x", ["Deployment"]),
        ("workflow/x", ["Workflow"]),
        ("workflows/b.yaml", ["Deployment"]),
    ],
)
def test_every_workload_of_that_name(repository: Path, name: str, shown: list[str]) -> None:
    write(repository, {**FILES, "workflows/c.yaml": WORKFLOW})
    result = kubectl_tas("workflow", "explain", name, "-C", repository)
    assert result.code == 0, result.err
    heads = [line.split(":")[0] for line in result.out.splitlines() if ".yaml)" in line]
    assert sorted(heads) == sorted(shown)


def test_what_is_wrong_in_any_of_their_files(repository: Path) -> None:
    write(repository, {**FILES, "workflows/b.yaml": DEPLOYMENT.replace('"team"', '"team", kubectl-tas/pol: x')})
    result = kubectl_tas("workflow", "explain", "x", "-C", repository)
    assert (result.code, "workflows/b.yaml:5" in result.err) == (1, True)
    assert "Job:" in kubectl_tas("workflow", "explain", "job/x", "-C", repository).out


@pytest.mark.parametrize(("index", "replica_type"), [(0, "leader"), (1, "workers")])
def test_the_leader_by_its_index(repository: Path, index: int, replica_type: str) -> None:
    write(repository, {**FILES, "workflows/w.yaml": leader_worker(9, SEGMENTS)})
    out = kubectl_tas("workflow", "explain", "serve", "--pod-index", index, "-C", repository).out
    assert f"pod {index} of {replica_type} is in segment segment-0, pods 0 to " in out
    result = kubectl_tas("workflow", "explain", "serve", "--pod-index", index, "-o", "json", "-C", repository)
    found = json.loads(result.out)
    assert (found["podIndex"], [item["replicaType"] for item in found["segments"]]) == (index, [replica_type])


def test_a_leader_of_the_workers_template_is_in_one_segment(repository: Path) -> None:
    lines = leader_worker(9, SEGMENTS).splitlines(keepends=True)
    alike = "".join(line for line in lines if "leaderTemplate" not in line)
    write(repository, {**FILES, "workflows/w.yaml": alike})
    out = kubectl_tas("workflow", "explain", "serve", "--pod-index", 0, "-C", repository).out
    assert out.count("pod 0 of") == 1
