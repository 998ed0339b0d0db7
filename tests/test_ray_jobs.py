"""Tests the pod that submits a RayJob: it is scheduled like its cluster, and no gang waits for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas, pool, write
from tests.support.kinds import LEVELS, Pairs, root, template
from tests.support.pyyaml import safe_load_all
from tests.support.rendered import Object

QUEUE = "osmo-pool-default-team--shared"


def ray_job(labels: Pairs | None = None, submitter: str = "", group: str = "workers") -> str:
    return f"""\
{root("RayJob", "tune", labels)}\
spec:
  submitterPodTemplate: {submitter or template()}
  entrypoint: python train.py
  rayClusterSpec:
    headGroupSpec:
      template: {template()}
    workerGroupSpecs:
    - {{groupName: {group}, replicas: 3, minReplicas: 2, template: {template()}}}
"""


def rendered(repository: Path, text: str) -> dict[str, Object]:
    write(repository, {"pools/p.yaml": pool(spec=LEVELS), "workflows/w.yaml": text})
    result = kubectl_tas("render", "--to", "-", "-C", repository)
    assert result.code == 0, result.err
    return {item["kind"]: item for item in safe_load_all(result.out)}


def submitter(found: dict[str, Object]) -> Any:
    return found["RayJob"]["spec"]["submitterPodTemplate"]


def test_the_submitter_goes_to_the_queue(repository: Path) -> None:
    found = rendered(repository, ray_job())
    pod = submitter(found)
    assert pod["metadata"]["labels"] == {"kai.scheduler/queue": QUEUE, "kai.scheduler/subgroup-name": "headgroup"}
    assert (pod["spec"]["schedulerName"], pod["spec"]["priorityClassName"]) == ("kai-scheduler", "osmo-normal")
    assert "PodGroup" not in found


@pytest.mark.parametrize(
    ("labels", "name", "prefix"),
    [
        ({"kubectl-tas/podgroup": "owned"}, "tune", ""),
        ({"kubectl-tas/gang": "all"}, "all", "rayjob-tune-"),
    ],
)
def test_an_owned_gang_does_not_wait_for_its_submitter(repository: Path, labels: Pairs, name: str, prefix: str) -> None:
    found = rendered(repository, ray_job(labels))
    pod, group = submitter(found), found["PodGroup"]
    assert group["metadata"]["name"] == pod["metadata"]["annotations"]["pod-group-name"]
    assert re.fullmatch(rf"{name}-[0-9a-f]{{8}}", group["metadata"]["name"])
    assert pod["metadata"]["annotations"]["kai.scheduler/skip-podgrouper"] == "true"
    assert pod["metadata"]["labels"]["kai.scheduler/subgroup-name"] == f"{prefix}submitter"
    minimums = {item["name"]: item.get("minMember") for item in group["spec"]["subGroups"]}
    assert minimums.items() >= {f"{prefix}head": 1, f"{prefix}workers": 2, f"{prefix}submitter": 0}.items()


def test_a_worker_group_of_the_same_name(repository: Path) -> None:
    found = rendered(repository, ray_job({"kubectl-tas/podgroup": "owned"}, group="submitter"))
    names = [item["name"] for item in found["PodGroup"]["spec"]["subGroups"]]
    assert len(set(names)) == len(names) == 3
    assert submitter(found)["metadata"]["labels"]["kai.scheduler/subgroup-name"] == names[2]


def test_a_submitter_of_another_queue(repository: Path) -> None:
    other = template(labels={"kai.scheduler/queue": "other"})
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": ray_job(submitter=other)})
    assert "[workload-conflict]" in kubectl_tas("validate", "-C", repository).out


def test_its_gpus_count(repository: Path) -> None:
    write(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": ray_job()})
    assert "GPUs:       5" in kubectl_tas("workflow", "explain", "tune", "-C", repository).out


def test_its_placement_is_resolved(repository: Path) -> None:
    placed = template({"kai.scheduler/topology-preferred-placement": "rack"})
    annotations = submitter(rendered(repository, ray_job(submitter=placed)))["metadata"]["annotations"]
    assert annotations["kai.scheduler/topology-preferred-placement"] == "topology.kubernetes.io/rack"


@pytest.mark.parametrize(("mode", "is_taken"), [("K8sJobMode", False), ("HTTPMode", False), ("InteractiveMode", True)])
def test_who_submits_by_hand_needs_no_entrypoint(repository: Path, mode: str, is_taken: bool) -> None:
    text = ray_job().replace("  entrypoint: python train.py\n", f"  submissionMode: {mode}\n")
    write(repository, {"pools/p.yaml": pool(spec=LEVELS), "workflows/w.yaml": text})
    result = kubectl_tas("validate", "-C", repository)
    assert ("has no entrypoint: KubeRay has nothing to submit" in result.out) is not is_taken
