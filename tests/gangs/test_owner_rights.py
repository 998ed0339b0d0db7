"""Tests kinds that the rules of KAI's chart do not let its podgrouper read: the owner of a gang is what the object
makes, so that only the annotations of pods count.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from yaml import safe_load_all

from kubectl_tas.kinds import pages
from kubectl_tas.kinds.grouping import ANNOTATIONS
from kubectl_tas.kinds.page import WorkloadKind
from tests.support.cli import kubectl_tas
from tests.support.workloads import Object, declare, problems, template

DELAYS = {"kai.scheduler/preemption-delay": "90s", "kai.scheduler/staleness-grace-period": "5m"}
PREFERRED = {"kai.scheduler/topology-preferred-placement": "rack"}
UNREAD = [page for page in pages() if page.gang.may_be_read is False]


CONTAINER = template()["spec"]["containers"][0]
STEPS = {"entrypoint": "main", "templates": [{"name": "main", "container": CONTAINER}]}
TASK = {"name": "w", "replicas": 2, "template": template()}
RAY = {"rayStartParams": {}, "template": template()}
SPARK = {
    "type": "Scala",
    "mode": "cluster",
    "sparkVersion": "3.5.0",
    "image": "i",
    "mainApplicationFile": "local:///a.jar",
    "driver": {"gpu": {"name": "nvidia.com/gpu", "quantity": 1}},
    "executor": {"instances": 1, "gpu": {"name": "nvidia.com/gpu", "quantity": 1}},
}
POD = {"metadata": {"labels": {"a": "b"}}, **template()}
PADDLE = {**CONTAINER, "name": "paddle"}
SPECS: dict[str, Object] = {
    "ReplicationController": {"replicas": 1, "selector": {"a": "b"}, "template": POD},
    "PaddleJob": {"paddleReplicaSpecs": {"Worker": {"replicas": 1, "template": {"spec": {"containers": [PADDLE]}}}}},
    "Job.batch.volcano.sh": {"minAvailable": 1, "tasks": [TASK]},
    "CronWorkflow": {"schedules": ["0 3 * * *"], "concurrencyPolicy": "Forbid", "workflowSpec": STEPS},
    "InferenceService": {"predictor": template()["spec"]},
    "SparkApplication": SPARK,
    "ScheduledSparkApplication": {"schedule": "0 3 * * *", "concurrencyPolicy": "Forbid", "template": SPARK},
    "RayCronJob": {
        "schedule": "0 3 * * *",
        "jobTemplate": {"entrypoint": "x", "rayClusterSpec": {"rayVersion": "2.50.0", "headGroupSpec": RAY}},
    },
}


def example(page: WorkloadKind, annotations: dict[str, str]) -> Object:
    """A document of a kind, in the pool team, with these annotations."""
    metadata = {"name": "w", "labels": {"kubectl-tas/pool": "team"}, "annotations": annotations}
    names = {"apiVersion": page.recognition.versions[0], "kind": page.recognition.kind}
    return {**names, "metadata": metadata, "spec": SPECS[page.recognition.unique_name]}


def previewed(root: Path) -> list[Any]:
    """The specs of all previews that ``render`` writes."""
    assert kubectl_tas("render", "-C", root).code == 0
    files = sorted(root.glob("manifests/**/preview/**/*.yaml"))
    return [document["spec"] for path in files for document in safe_load_all(path.read_text())]


def of(page: WorkloadKind) -> str:
    return page.recognition.unique_name


@pytest.mark.parametrize("page", UNREAD, ids=of)
def test_waiting_times_are_written_to_the_pods(page: WorkloadKind, tmp_path: Path) -> None:
    root = declare(tmp_path, example(page, DELAYS))
    assert "annotation-ignored" not in problems(tmp_path / "judged", example(page, DELAYS))
    for spec in previewed(root):
        assert (spec["preemptionDelay"], spec["stalenessGracePeriod"]) == ("1m30s", "5m0s")
    rendered = kubectl_tas("render", "--to", "-", "-C", root).out
    assert rendered.count("kai.scheduler/preemption-delay") > 1


@pytest.mark.parametrize("page", [page for page in UNREAD if page.gang.placed_at == ANNOTATIONS], ids=of)
def test_a_preferred_level_of_the_object_is_warned_and_not_shown(page: WorkloadKind, tmp_path: Path) -> None:
    found = problems(tmp_path / "judged", example(page, PREFERRED))
    assert {"placement-ignored", "placement-unread"} & set(found)
    assert all("topologyConstraint" not in spec for spec in previewed(declare(tmp_path, example(page, PREFERRED))))


def test_a_declared_kind_has_its_waiting_times_on_its_pods(tmp_path: Path) -> None:
    metadata = {"name": "w", "labels": {"kubectl-tas/pool": "team"}, "annotations": DELAYS}
    work = {"apiVersion": "ml.example.com/v1", "kind": "Training", "metadata": metadata, "spec": {"pod": template()}}
    root = declare(tmp_path, work)
    kind = "{apiVersion: ml.example.com/v1, kind: Training, pods: [{template: spec.pod}], podGroups: one}"
    config = root / "tas.yaml"
    config.write_text(config.read_text() + f"  kinds: [{kind}]\n")
    assert [spec["preemptionDelay"] for spec in previewed(root)] == ["1m30s"]
    assert kubectl_tas("render", "--to", "-", "-C", root).out.count("kai.scheduler/preemption-delay") == 2


@pytest.mark.parametrize(("version", "groups"), [("0.12", "one for each of 4 pods"), ("0.13", "the UID")])
def test_jobsets_are_read_from_013_on(version: str, groups: str, tmp_path: Path) -> None:
    job = {"parallelism": 2, "completions": 2, "template": template()}
    job["template"]["spec"]["restartPolicy"] = "Never"  # type: ignore[index]
    spec = {"replicatedJobs": [{"name": "a", "replicas": 2, "template": {"spec": job}}]}
    metadata = {"name": "w", "labels": {"kubectl-tas/pool": "team"}}
    work = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}
    root = declare(tmp_path, work, version=version)
    assert kubectl_tas("render", "-C", root).code == 0
    texts = [path.read_text() for path in root.glob("manifests/**/preview/**/*.yaml")]
    assert [groups in text for text in texts] == [True]
    placed = {**work, "metadata": {**metadata, "annotations": {"kai.scheduler/topology-required-placement": "rack"}}}
    assert ("version-unsupported" in problems(tmp_path / "placed", placed, version=version)) == (version == "0.12")
