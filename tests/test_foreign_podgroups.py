"""Tests pod templates that name a PodGroup or a SubGroup that nothing else would assign."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas
from tests.support.workloads import Object, deployment, problems, pytorch_job, template, workload

NAMED = {"pod-group-name": "zz"}
SKIPPED = {"kai.scheduler/skip-podgrouper": "true"}
POD_GROUP = {
    "apiVersion": "scheduling.run.ai/v2alpha2",
    "kind": "PodGroup",
    "metadata": {"name": "zz", "namespace": "default"},
    "spec": {"minMember": 1, "queue": "osmo-pool-default-team--shared"},
}


def job(annotations: dict[str, str], labels: dict[str, str] | None = None) -> Object:
    return workload("batch/v1", "Job", "j", labels, {"parallelism": 2, "template": template(annotations=annotations)})


def test_a_subgroup_of_a_podgroup_that_has_none(repository: Path) -> None:
    own = deployment("d", {"kubectl-tas/podgroup": "owned"})
    own["spec"]["template"]["metadata"] = {"labels": {"kai.scheduler/subgroup-name": "x"}}
    message = problems(repository, own)["workload-conflict"]
    assert (
        message == 'kai.scheduler/subgroup-name is "x", but the PodGroup that the workload\'s labels ask for has none'
    )
    assert kubectl_tas("render", "-C", repository).code == 1


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ({**NAMED, **SKIPPED}, 'KAI\'s PodGrouper leaves the pods of worker alone, so their PodGroup "zz" must exist'),
        (NAMED, 'the pods of worker name the PodGroup "zz", which KAI\'s PodGrouper may replace by its own'),
    ],
    ids=["both", "named"],
)
def test_a_podgroup_that_nobody_makes(repository: Path, annotations: dict[str, str], message: str) -> None:
    assert problems(repository, job(annotations)) == {"podgroup-elsewhere": message}
    assert kubectl_tas("render", "-C", repository).code == 0
    assert not (repository / "manifests/preview").exists()
    explained = kubectl_tas("workflow", "explain", "j", "-C", repository).out
    assert "PodGroup:   zz, named by the pods themselves" in explained


NONE = "the pods of worker never run: KAI's PodGrouper leaves them alone, and they name no PodGroup"


def test_pods_without_a_podgroup(repository: Path) -> None:
    assert problems(repository, job(SKIPPED)) == {"podgroup-none": NONE}
    assert kubectl_tas("render", "-C", repository).code == 1


def test_an_owner_hides_its_pods(repository: Path) -> None:
    """KAI reads the annotation of every object that owns a pod."""
    own = job({})
    own["metadata"]["annotations"] = SKIPPED
    assert problems(repository, own) == {"podgroup-none": NONE}


def test_a_podgroup_that_is_declared(repository: Path) -> None:
    assert problems(repository, job({**NAMED, **SKIPPED}), POD_GROUP) == {}


def test_one_of_several_templates(repository: Path) -> None:
    assert "podgroup-none" in problems(repository, pytorch_job("p", annotations=SKIPPED))
    assert kubectl_tas("render", "-C", repository).code == 1
    assert not (repository / "manifests/preview").exists()


def test_an_annotation_that_the_release_does_not_read(repository: Path) -> None:
    assert problems(repository, job(SKIPPED), version="0.14") == {}
    assert kubectl_tas("render", "-C", repository).code == 0
    assert (repository / "manifests/preview/podgroup-job-j.yaml").exists()
