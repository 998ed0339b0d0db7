"""Tests that the pod that submits a RayJob is checked like any other template, and drawn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas
from tests.support.workloads import ZONE, Object, problems, ray_job, segments, template

OWNED = {"kubectl-tas/podgroup": "owned"}
INDEX = {"kai.scheduler/pod-index-label": "example.com/index"}


def submitted(annotations: dict[str, str], *groups: str, labels: dict[str, str] | None = None) -> Object:
    found = ray_job("r", labels, list(groups))
    found["spec"]["submitterPodTemplate"] = template(annotations=annotations)
    return found


@pytest.mark.parametrize("groups", [(), ("w",)])
@pytest.mark.parametrize("more", [{}, INDEX], ids=["no-index", "index"])
def test_its_segments_are_ignored(repository: Path, groups: tuple[str, ...], more: dict[str, str]) -> None:
    messages = problems(repository, submitted({**segments(1), **more}, *groups))
    assert messages["segment-ignored"].startswith("the segments of submitter are ignored: ")


def test_a_size_that_nobody_reads(repository: Path) -> None:
    assert set(problems(repository, submitted({**segments(0), **INDEX}))) == {"segment-ignored"}


def test_segments_of_an_owned_one(repository: Path) -> None:
    assert "podgroup-owned" in problems(repository, submitted({**segments(1), **INDEX}, labels=OWNED))


@pytest.mark.parametrize("groups", [(), ("w",)])
def test_nothing_places_it(repository: Path, groups: tuple[str, ...]) -> None:
    messages = problems(repository, submitted(ZONE, *groups))
    message = 'KAI reads no placement of submitter in a RayJob, so nothing keeps its pods within one "zone"'
    assert messages == {"placement-unsupported": message}
    assert problems(repository, submitted(ZONE, *groups, labels=OWNED)) == {}


def test_a_release_without_subgroups(repository: Path) -> None:
    assert "placement-unsupported" in problems(repository, submitted(ZONE), version="0.9")
    assert "version-unsupported" in problems(repository, submitted({}, labels=OWNED), version="0.9")


@pytest.mark.parametrize("labels", [None, OWNED])
def test_its_pod_is_drawn(repository: Path, labels: dict[str, str] | None) -> None:
    problems(repository, submitted({}, "w", labels=labels))
    out = kubectl_tas("workflow", "explain", "r", "-o", "json", "-C", repository).out
    (group,) = json.loads(out)["podGroups"]
    own = 4 if labels else 3  # KAI's gang does not wait for it
    assert (json.loads(out)["gpus"], group["gpus"], group["pods"]) == (4, own, own)


def test_its_pod_is_no_part_of_a_gang_that_is_drawn(repository: Path) -> None:
    job = submitted({}, "w")
    job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"] = template(annotations={**segments(1), **INDEX})
    problems(repository, job)
    text = " ".join(kubectl_tas("workflow", "explain", "r", "-C", repository).out.split())
    assert "GPUs: 4" in text
    assert "Beside: submitter, 1 pod with 1 GPU, is no part of the gang: nothing waits for it" in text
