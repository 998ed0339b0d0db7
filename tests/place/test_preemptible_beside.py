"""Tests that ``fit NAME`` uses only free resources, and mentions preemptible work that KAI may evict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write


def nodes(priority: int) -> str:
    """One node of 8 GPUs, and a pod of a gang on it that holds them all."""
    node = {
        "kind": "Node",
        "metadata": {"name": "n", "labels": {}},
        "status": {"allocatable": {"cpu": "96", "memory": "1Ti", "pods": "110", "nvidia.com/gpu": "8"}},
    }
    pod = {
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "annotations": {"pod-group-name": "low"}},
        "spec": {
            "nodeName": "n",
            "priorityClassName": "a-class",
            "priority": priority,
            "containers": [{"name": "c", "resources": {"limits": {"nvidia.com/gpu": "8"}}}],
        },
        "status": {"phase": "Running"},
    }
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [node, pod]})


@pytest.mark.parametrize(("priority", "is_told"), [(50, True), (125, False)])
def test_what_kai_may_end_is_told(repository: Path, priority: int, is_told: bool) -> None:
    train = "workflow: {name: w, pool: team, tasks: [{name: t, image: i}], resources: {default: {gpu: 8}}}\n"
    write(repository, {"pools/team.yaml": pool("team", 8), "workflows/w.yaml": train, "nodes.json": nodes(priority)})
    result = kubectl_tas("-C", repository, "fit", "w", "--nodes", repository / "nodes.json")
    assert result.code == 1
    told = "Not looked at: 8 GPUs that preemptible work of backend default holds. KAI may end it or move it. "
    assert result.err == (f"{told}Run: kubectl tas fit --all\n" if is_told else "")
