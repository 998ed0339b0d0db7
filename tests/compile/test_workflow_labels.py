"""Tests labels of the objects of a workflow: they have names as written, while object names are folded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.pyyaml import safe_load_all

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
    result = kubectl_tas("render", "--to", "-", "-C", root)
    assert result.code == 0, result.err
    found = [item for item in safe_load_all(result.out) if item["kind"] in ("PodGroup", "Pod", "Job")]
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


POLICY = """\
  labels_config:
    pod_label_prefix: example.com/
    policy:
    - {key: team, allow_list: [nlp, speech], enforcement: enforce, assert_message: See the wiki.}
    - {key: cost-center, enforcement: warn}
    - {key: stage}
"""


def found(root: Path, labels: str, settings: str = POLICY) -> list[tuple[str, str, int]]:
    workflow = WORKFLOW.replace("{acme.io/team: nlp}", labels)
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec:\n{settings}"
    write(root, {"tas.yaml": config, "pools/team.yaml": pool("team"), "workflows/train.yaml": workflow})
    result = json.loads(kubectl_tas("validate", "-o", "json", "-C", root).out)
    rows = [item for item in result["diagnostics"] if item["rule"] != "osmo-only"]
    return [(item["rule"], item["message"], item["location"]["line"]) for item in rows]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("{team: nlp, cost-center: a}", []),
        ("{team: nlp, cost-center: a, stage: b, other: c}", []),
        ("{team: nlp}", [("label-policy-warning", 'the label "cost-center" is missing', 2)]),
        ("{cost-center: a}", [("label-policy", 'the label "team" is missing: See the wiki.', 2)]),
        (
            "{team: nlpp, cost-center: a}",
            [
                (
                    "label-policy",
                    'the value "nlpp" of the label "team" is not one that the Config allows: See the wiki.',
                    4,
                )
            ],
        ),
    ],
)
def test_labels_follow_the_policy(tmp_path: Path, labels: str, expected: list[tuple[str, str, int]]) -> None:
    assert found(tmp_path, labels) == expected


def test_a_label_that_is_none_with_its_prefix(tmp_path: Path) -> None:
    rows = found(tmp_path, "{a.io/b: c}", "  labels_config: {pod_label_prefix: example.com/}\n")
    message = 'pods would carry the label "example.com/a.io/b", which is no valid label key'
    assert rows == [("invalid-value", message, 4)]


def test_a_prefix_cannot_make_a_reserved_label(tmp_path: Path) -> None:
    rows = found(tmp_path, "{queue: c}", "  labels_config: {pod_label_prefix: kai.scheduler/}\n")
    assert [rule for rule, *_ in rows] == ["label-reserved"]


def test_labels_carry_the_prefix(tmp_path: Path) -> None:
    settings = "  labels_config: {pod_label_prefix: example.com/}\n"
    for item in rendered(tmp_path, WORKFLOW.replace("acme.io/team", "team"), settings):
        assert item["metadata"]["labels"]["example.com/team"] == "nlp"
        assert "team" not in item["metadata"]["labels"]


def test_a_pod_template_counts_before_a_label_of_a_workflow(tmp_path: Path) -> None:
    """``apply_workflow_labels`` of OSMO (src/utils/job/task.py) puts them beneath those of templates."""
    template = "  common_pod_template:\n  - metadata: {labels: {acme.io/team: admins}}\n"
    write(tmp_path, {"tas.yaml": "", "pools/team.yaml": pool("team", spec=template), "workflows/t.yaml": WORKFLOW})
    result = kubectl_tas("render", "--to", "-", "-C", tmp_path)
    pods = [item for item in safe_load_all(result.out) if item["kind"] == "Pod"]
    assert [item["metadata"]["labels"]["acme.io/team"] for item in pods] == ["admins", "admins"]
