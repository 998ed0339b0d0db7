"""Each recorded state of a cluster has its one right first line, at its line of the repository."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, write
from tests.support.kubectl import FakeKubectl
from tests.support.whycauses import FILES, Recorded, recorded_causes, saved

CAUSES = recorded_causes()
LIVE = ("service_account_missing", "deployment_refused", "topology_missing", "other_queue", "gate", "claim_missing")
STATED = ("other_queue", "gate", "topology_with_other_levels", "selector_of_a_webhook", "larger_minimum")
STATED += ("sub_group_nobody_has", "no_podgrouper", "skip_podgrouper", "pod_group_of_other_shard", "quota", "busy")
"""What needs no events."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("causes"), FILES)


def first(out: str) -> tuple[str, str]:
    """The first line that says why, and its place."""
    lines = out.splitlines()
    start = next((index for index, line in enumerate(lines) if line.startswith("1. ")), None)
    if start is None:
        return "", ""
    place = next(line for line in lines[start:] if line.strip().startswith("File:"))
    return lines[start].removeprefix("1. "), place.split(":", 1)[1].strip()


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def by_name(names: tuple[str, ...]) -> list[Recorded]:
    return [cause for cause in CAUSES if cause.name in names]


@pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.name)
def test_the_first_line_is_right(cause: Recorded, repository: Path, tmp_path: Path) -> None:
    state = saved(tmp_path / "state.json", cause.items)
    result = kubectl_tas("-C", repository, "workflow", "why", cause.work, f"--cluster-state={state}")
    assert first(result.out) == (capital(cause.first), cause.place), result.out
    assert result.code == (1 if cause.first else 0)


@pytest.mark.parametrize("cause", by_name(LIVE), ids=lambda cause: cause.name)
def test_a_cluster_that_is_asked_says_the_same(
    cause: Recorded, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = FakeKubectl(tmp_path, monkeypatch)
    kubectl.knows("default", *cause.items)
    kinds = {"pods": "Pod", "events": "Event", "jobs.batch": "Job"}
    kinds |= {"deployments.apps": "Deployment", "replicasets.apps": "ReplicaSet"}
    for resource, kind in kinds.items():
        items = [item for item in cause.items if item["kind"] == kind]
        (tmp_path / "default" / resource).write_text(json.dumps({"items": items}))
    result = kubectl_tas("-C", repository, "workflow", "why", cause.work)
    assert first(result.out) == (capital(cause.first), cause.place), result.out
    assert "Not known" not in result.out


def test_at_least_forty_are_recorded_of_a_cluster() -> None:
    assert sum(bool(cause.recorded) for cause in CAUSES) >= 40
    assert len({cause.name for cause in CAUSES}) == len(CAUSES)


def test_a_kind_that_the_cluster_does_not_know(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl = FakeKubectl(tmp_path, monkeypatch)
    kubectl.knows("default")
    for resource in ("pods", "events"):
        (tmp_path / "default" / resource).write_text('{"items": []}')
    result = kubectl_tas("-C", repository, "workflow", "why", "sets")
    assert first(result.out) == ("The cluster does not know the kind JobSet", "workflows/sets.yaml:4:9")
    assert "its CustomResourceDefinitions are not installed" in result.out


@pytest.mark.parametrize("cause", by_name(STATED), ids=lambda cause: cause.name)
def test_a_state_of_the_cluster_says_the_same(
    cause: Recorded, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has neither events nor the objects that make pods."""
    kubectl = FakeKubectl(tmp_path, monkeypatch)
    kubectl.knows("default", *cause.items)
    pods = [item for item in cause.items if item["kind"] == "Pod"]
    for pod in pods:  # each has this label, which the table leaves out
        pod["metadata"].setdefault("labels", {})["kai.scheduler/queue"] = "q"
    (tmp_path / "default" / "pods").write_text(json.dumps({"items": pods}))
    state = tmp_path / "state.json"
    assert kubectl_tas("cluster", "state", "-C", repository, "-o", state).code == 0
    result = kubectl_tas("-C", repository, "workflow", "why", cause.work, f"--cluster-state={state}")
    assert first(result.out) == (capital(cause.first), cause.place), result.out
