"""Tests the findings of an ordinary repository: one finding per cause, and no warning without a remedy."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.cli import kubectl_tas, pool, write
from tests.support.history import commit

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {{name: job-{number}, labels: {{kubectl-tas/pool: team}}}}
spec:
  ttlSecondsAfterFinished: 86400
  template:
    spec:
      restartPolicy: Never
      containers:
      - {{name: main, image: "trainer:1", resources: {{limits: {{nvidia.com/gpu: 8}}}}}}
"""
CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {gitops: argocd, guard: enforce}\n"


def test_many_ordinary_jobs_are_one_warning_and_one_note(tmp_path: Path) -> None:
    jobs = {f"workflows/{number}.yaml": JOB.format(number=number) for number in range(39)}
    root = write(tmp_path, {"tas.yaml": CONFIG, "pools/team.yaml": pool(), **jobs})
    found = json.loads(kubectl_tas("validate", "-o", "json", "-C", root).out)["diagnostics"]
    assert [(item["rule"], item["severity"]) for item in found] == [
        ("quota-shared", "info"),
        ("finished-recreated", "warning"),
    ]
    assert len(found[1]["related"]) == 38


def test_a_quota_that_moves_is_one_line_about_the_guard(tmp_path: Path) -> None:
    parts = "".join(
        f"---\napiVersion: tas/v1alpha1\nkind: Subpool\nmetadata: {{name: {name}}}\nspec: {{parent: team, quota: 8}}\n"
        for name in ("a", "b")
    )
    root = write(tmp_path, {"tas.yaml": CONFIG, "pools/team.yaml": pool(), "subpools/all.yaml": parts})
    commit(root)
    write(root, {"subpools/all.yaml": parts.replace("quota: 8", "quota: 10", 1)})
    out = kubectl_tas("diff", "--base", "HEAD", "-C", root).out
    rows = out.partition("Guard rules:\n")[2].partition("\n\n")[0].splitlines()[1:]
    assert [" ".join(row.split()) for row in rows] == ["quotas the old ones the new ones, of team, team--a"]
    assert "1 guard rule" in out
