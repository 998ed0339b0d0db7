"""Labels of what a workflow becomes: its names as they are written, while objects have folded ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.cli import kubectl_tas, pool, write

WORKFLOW = """\
workflow:
  name: Pre_train
  pool: team
  labels: {acme.io/team: nlp}
  groups:
  - name: Nodes_1
    tasks:
    - {name: worker_1, image: busybox}
    - {name: Worker-2, image: busybox}
"""


def rendered(root: Path, workflow: str, settings: str = "") -> list[dict[str, Any]]:
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  gitops: none\n{settings}"
    write(root, {"tas.yaml": config, "pools/team.yaml": pool("team"), "workflows/train.yaml": workflow})
    result = kubectl_tas("render", "-o", "-", "-C", root)
    assert result.code == 0, result.err
    found = [item for item in yaml.safe_load_all(result.out) if item["kind"] in ("PodGroup", "Pod", "Job")]
    return [item for item in found if "kubectl-tas/workflow" in item["metadata"]["labels"]]


@pytest.mark.parametrize("settings", ["", "  workflowsAs: jobs\n"], ids=["pods", "jobs"])
def test_labels_are_the_names_as_written(tmp_path: Path, settings: str) -> None:
    group, *pods = rendered(tmp_path, WORKFLOW, settings)
    for item in (group, *pods):
        labels = item["metadata"]["labels"]
        assert (labels["kubectl-tas/workflow"], labels["kubectl-tas/group"]) == ("Pre_train", "Nodes_1")
        assert item["metadata"]["name"].startswith("pre-train-nodes-1-")
    assert [item["metadata"]["labels"]["kubectl-tas/task"] for item in pods] == ["worker_1", "Worker-2"]
    assert [item["metadata"]["name"].rpartition("-")[0].endswith("worker") for item in pods] == [True, True]


def test_a_job_of_another_spelling_is_another_job(tmp_path: Path) -> None:
    """The labels of its template cannot change."""
    names = [
        {item["metadata"]["name"] for item in rendered(tmp_path, text, "  workflowsAs: jobs\n")}
        for text in (WORKFLOW, WORKFLOW.replace("worker_1", "worker-1"))
    ]
    assert names[0].isdisjoint(names[1])


def test_a_pod_of_another_spelling_is_the_same(tmp_path: Path) -> None:
    names = [
        [item["metadata"]["name"] for item in rendered(tmp_path, text)]
        for text in (WORKFLOW, WORKFLOW.replace("worker_1", "worker-1"))
    ]
    assert names[0] == names[1]
