"""Tests that rendered placements are at places that KAI reads, and that nothing there breaks KAI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import kubectl_tas
from tests.support.pyyaml import safe_load_all
from tests.support.workloads import ZONE, Object, declare, problems, pytorch_job, ray_job, segments, template, workload

TOPOLOGY = "kai.scheduler/topology"
REQUIRED, PREFERRED = "kai.scheduler/topology-required-placement", "kai.scheduler/topology-preferred-placement"
OWN = "osmo-pool-default-team-topology"
IN_ZONE = {TOPOLOGY: OWN, REQUIRED: "topology.kubernetes.io/zone"}


def rendered(root: Path, item: Object, version: str = "0.17") -> Object:
    """The workload as it is rendered."""
    result = kubectl_tas("render", "--to", "-", "-C", declare(root, item, version=version))
    assert result.code == 0, result.err
    (found,) = (found for found in safe_load_all(result.out) if found["kind"] == item["kind"])
    return dict(found)


def annotations(item: Object, *path: str | int) -> Any:
    """The annotations of the metadata at a path."""
    place: Any = item
    for step in path:
        place = place[step]
    return place.get("metadata", {}).get("annotations")


def cron_job(own: Object | None = None, jobs: Object | None = None, pods: Object | None = None) -> Object:
    spec = {"parallelism": 2, "completions": 2, "template": template(annotations=pods)}
    jobs_template = {"metadata": {"annotations": jobs} if jobs else {}, "spec": spec}
    found = workload("batch/v1", "CronJob", "x", None, {"schedule": "* * * * *", "jobTemplate": jobs_template})
    found["metadata"]["annotations"] = own or {}
    return found


def job_set(pods: Object | None, jobs: int = 2) -> Object:
    others = [{"name": f"j{number}", "template": {"spec": {"template": template()}}} for number in range(jobs - 1)]
    placed = {"name": "workers", "replicas": 2, "template": {"spec": {"template": template(annotations=pods)}}}
    spec = {"replicatedJobs": [placed, *others]}
    return workload("jobset.x-k8s.io/v1alpha2", "JobSet", "x", None, spec)


def job(pods: Object | None = None, own: Object | None = None) -> Object:
    spec = {"parallelism": 2, "completions": 2, "template": template(annotations=pods)}
    found = workload("batch/v1", "Job", "x", None, spec)
    return {**found, "metadata": {**found["metadata"], **({"annotations": own} if own else {})}}


def test_of_an_only_template_on_the_workload(repository: Path) -> None:
    assert annotations(rendered(repository, job(ZONE))) == IN_ZONE


@pytest.mark.parametrize("item", [cron_job(own=ZONE), cron_job(jobs=ZONE), cron_job(pods=ZONE)])
def test_of_a_cron_job_on_what_its_runs_are_made_from(repository: Path, item: Object) -> None:
    assert annotations(rendered(repository, item), "spec", "jobTemplate") == IN_ZONE


def test_of_a_replicated_job_on_its_template(repository: Path) -> None:
    found = rendered(repository, job_set(ZONE), "0.16")
    assert annotations(found, "spec", "replicatedJobs", 0, "template") == IN_ZONE
    assert annotations(found) is None


def test_of_an_only_replicated_job_on_older_releases(repository: Path) -> None:
    assert annotations(rendered(repository, job_set(ZONE, jobs=1), "0.15")) == IN_ZONE


def test_of_ray_workers_stays_with_its_topology(repository: Path) -> None:
    """KAI refuses a level without a topology beside it, whatever the workload names."""
    item = ray_job("x", None, ["w"])
    item["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"] = template(annotations=ZONE)
    item["metadata"]["annotations"] = {TOPOLOGY: OWN, REQUIRED: "zone"}
    found = rendered(repository, item, "0.14")
    assert annotations(found, "spec", "rayClusterSpec", "workerGroupSpecs", 0, "template") == IN_ZONE
    assert annotations(found) == IN_ZONE


def test_the_inner_placement_precedes(repository: Path) -> None:
    """What the workload says of another topology is gone where KAI would read it."""
    item = job({TOPOLOGY: "other", REQUIRED: "room"}, {TOPOLOGY: OWN, REQUIRED: "rack", PREFERRED: "host"})
    item["metadata"]["annotations"][PREFERRED] = "rack"
    item["metadata"]["annotations"][REQUIRED] = "zone"
    assert annotations(rendered(repository, item)) == {TOPOLOGY: "other", REQUIRED: "room"}
    assert "placement-overridden" in problems(repository, item)


def test_a_topology_without_a_level_goes_to_the_segments_that_need_it(repository: Path) -> None:
    item = pytorch_job("x", workers=8, annotations=segments(4))
    item["metadata"]["annotations"] = {TOPOLOGY: OWN}
    found = rendered(repository, item)
    assert annotations(found) is None
    worker = annotations(found, "spec", "pytorchReplicaSpecs", "Worker", "template")
    assert worker[TOPOLOGY] == OWN
    assert problems(repository, item) == {}


@pytest.mark.parametrize("others", [{}, {"example.com/note": "x"}])
def test_a_topology_without_a_level_is_left_out(repository: Path, others: Object) -> None:
    item = job(own={TOPOLOGY: OWN, **others})
    assert annotations(rendered(repository, item)) == (others or None)
    assert "placement-without-level" in problems(repository, item)


def test_an_owned_pod_group_needs_none_of_it(repository: Path) -> None:
    item = job(own={TOPOLOGY: OWN})
    item["metadata"]["labels"]["kubectl-tas/podgroup"] = "owned"
    assert annotations(rendered(repository, item)) == {TOPOLOGY: OWN}


def test_replicas_that_an_operator_fills_in(repository: Path) -> None:
    item = pytorch_job("x")
    del item["spec"]["pytorchReplicaSpecs"]["Master"]["replicas"]
    types = rendered(repository, item)["spec"]["pytorchReplicaSpecs"]
    assert [spec["replicas"] for spec in types.values()] == [1, 2]


def test_workers_of_ray_that_are_left_out_or_suspended(repository: Path) -> None:
    item = ray_job("x", None, ["least", "off"])
    least, off = item["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    del least["replicas"]
    off["suspend"] = True
    groups = rendered(repository, item)["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    assert [(group["replicas"], group["minReplicas"]) for group in groups] == [(2, 2), (0, 0)]
    assert "GPUs: 3" in " ".join(kubectl_tas("workflow", "explain", "x", "-C", repository).out.split())
