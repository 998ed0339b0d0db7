"""Tests that each recorded state of a cluster gives the expected first cause and its line in the repository."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, write
from tests.support.kubectl import FakeKubectl
from tests.support.whycauses import FILES, Item, Recorded, recorded_causes, saved

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
    return [cause for cause in recorded_causes() if cause.name in names]


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


@pytest.mark.parametrize(
    ("replicas", "advice"),
    [(1, "Ask who scaled it down, or apply the manifests."), (0, "Ask for replicas, and apply the manifests.")],
)
def test_who_is_to_give_replicas_back(replicas: int, advice: str, tmp_path: Path) -> None:
    path = "workflows/chat.yaml"
    root = write(tmp_path, {**FILES, path: FILES[path].replace("replicas: 1", f"replicas: {replicas}")})
    (cause,) = by_name(("scaled_to_zero",))
    state = saved(tmp_path / "state.json", cause.items)
    assert advice in kubectl_tas("-C", root, "workflow", "why", cause.work, f"--cluster-state={state}").out


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
    assert kubectl_tas("cluster", "state", "-C", repository, "--to", state).code == 0
    result = kubectl_tas("-C", repository, "workflow", "why", cause.work, f"--cluster-state={state}")
    assert first(result.out) == (capital(cause.first), cause.place), result.out


BROKEN = [
    (
        {"kind": "Job", "metadata": {"name": "train"}, "spec": "x"},
        "a Job of the cluster cannot be read: train: it is not",
    ),
    ({"kind": "Job", "metadata": {}}, "a Job of the cluster cannot be read: without a name: it is not"),
    ({"kind": "Job", "metadata": {"name": "train"}, "status": {"conditions": ["x"]}}, "a Job of the cluster cannot be"),
    (
        {"kind": "Queue", "metadata": {"name": "q", "labels": "x"}},
        "a Queue of the cluster cannot be read: q: it is not",
    ),
    (
        {"kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": [1]}},
        "a Topology of the cluster cannot be read",
    ),
    ({"kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"minMember": "2"}}, "g: '2' is no number of pods"),
    ({"kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"subGroups": [{}]}}, "a PodGroup of the cluster cannot"),
    ({"kind": "Pod", "metadata": {"name": "p"}, "spec": {"schedulingGates": [{}]}}, "a Pod of the cluster cannot be"),
]


@pytest.mark.parametrize(("broken", "message"), BROKEN)
def test_what_is_no_object_of_a_cluster_is_named(broken: Item, message: str, repository: Path, tmp_path: Path) -> None:
    pod: Item = {"kind": "Pod", "metadata": {"name": "whole"}}
    state = saved(tmp_path / "state.json", [pod, broken])
    result = kubectl_tas("-C", repository, "workflow", "why", "train", f"--cluster-state={state}")
    assert (result.code, result.out) == (3, "")
    assert message in result.err


def test_a_pod_that_cannot_be_shaped_is_taken_as_its_file_has_it(repository: Path, tmp_path: Path) -> None:
    (cause,) = by_name(("selector_of_a_webhook",))
    for item in cause.items:
        if item["kind"] == "Pod":
            item["spec"]["tolerations"] = ["x"]
    state = saved(tmp_path / "state.json", cause.items)
    result = kubectl_tas("-C", repository, "workflow", "why", "train", f"--cluster-state={state}")
    assert "select nodes" not in result.out
    assert result.code == 1


def test_fit_takes_the_pods_that_wait_as_they_are(repository: Path, tmp_path: Path) -> None:
    (cause,) = by_name(("selector_of_a_webhook",))
    state = saved(tmp_path / "state.json", cause.items)
    found = kubectl_tas("-C", repository, "workflow", "why", "train", f"--cluster-state={state}", "-o", "json")
    (gang,) = json.loads(found.out)["workflows"][0]["fit"]["gangs"]
    assert gang["outcome"] == "no-room"
    assert gang["nodes"]["unusable"]["without the label gpu=h200"] == 4


def test_what_differs_comes_with_what_kai_says_of_it(repository: Path, tmp_path: Path) -> None:
    (cause,) = by_name(("sub_group_nobody_has",))
    state = saved(tmp_path / "state.json", cause.items)
    found = kubectl_tas("-C", repository, "workflow", "why", cause.work, f"--cluster-state={state}", "-o", "json")
    (only,) = json.loads(found.out)["workflows"][0]["causes"]
    assert only["about"] == "differs"
    assert all("references subgroup" in item["text"] for item in only["said"])


def test_no_event_of_how_work_comes_on_is_a_reason(repository: Path, tmp_path: Path) -> None:
    """Controllers, KAI's podgrouper and its first look say them of each gang."""
    reasons = set[str]()
    for cause in CAUSES:
        state = saved(tmp_path / "state.json", cause.items)
        found = kubectl_tas("-C", repository, "workflow", "why", cause.work, f"--cluster-state={state}", "-o", "json")
        for why in json.loads(found.out)["workflows"][0]["causes"]:
            reasons |= {item["reason"] for item in why["said"] if item["event"]}
            assert not any("already exists" in item["text"] for item in why["said"])
    assert not reasons & {"SuccessfulCreate", "Scheduled", "Suspended", "Bound"}


def answered(name: str, change: Callable[[list[Item]], object], repository: Path, tmp_path: Path) -> Item:
    """The answer about a state in which something is otherwise."""
    (cause,) = by_name((name,))
    change(cause.items)
    state = saved(tmp_path / "state.json", cause.items)
    found = kubectl_tas("-C", repository, "workflow", "why", cause.work, f"--cluster-state={state}", "-o", "json")
    return dict(json.loads(found.out)["workflows"][0])


def of_kind(items: list[Item], kind: str) -> list[Item]:
    return [item for item in items if item["kind"] == kind]


def event(kind: str, name: str, reason: str, message: str, last: str) -> Item:
    about = {"kind": kind, "namespace": "default", "name": name}
    metadata = {"name": f"{reason}-{last}", "namespace": "default"}
    data = {"kind": "Event", "type": "Warning", "metadata": metadata, "involvedObject": about, "reason": reason}
    return {**data, "message": message, "lastTimestamp": last}


def test_a_refusal_is_over_once_all_pods_are_there(repository: Path, tmp_path: Path) -> None:
    """Events stay for an hour."""

    def change(items: list[Item]) -> None:
        items.append(event("Job", "train", "FailedCreate", "Error creating: exceeded quota", "2026-11-23T01:00:00Z"))

    found = answered("busy", change, repository, tmp_path)
    assert [cause["about"] for cause in found["causes"]] == ["room"]


def test_what_kai_said_in_earlier_cycles_is_over(repository: Path, tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        text = 'persistentvolumeclaim "data" not found'
        for item in of_kind(items, "Pod"):
            name = item["metadata"]["name"]
            items.append(event("Pod", name, "Unschedulable", text, "2026-11-23T01:00:00Z"))
            items.append(event("Pod", name, "Unschedulable", "2 node(s) had too little", "2026-11-23T02:00:00Z"))

    found = answered("busy", change, repository, tmp_path)
    assert [cause["about"] for cause in found["causes"]] == ["room"]


def test_pods_that_go_are_no_reason_of_those_that_wait(repository: Path, tmp_path: Path) -> None:
    """As when a controller replaces them."""

    def change(items: list[Item]) -> None:
        first = next(item for item in of_kind(items, "Pod") if item["metadata"]["name"].startswith("train"))
        gone = {**first["metadata"], "name": "train-old", "deletionTimestamp": "2026-11-23T01:00:00Z"}
        items.append({**first, "metadata": gone})

    found = answered("busy", change, repository, tmp_path)
    assert [cause["about"] for cause in found["causes"]] == ["room"]


def test_the_finalizers_that_keep_a_pod_group_are_named(repository: Path, tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        for item in of_kind(items, "PodGroup"):
            item["metadata"] |= {"deletionTimestamp": "2026-11-23T01:00:00Z", "finalizers": ["example.com/backup"]}

    first = answered("busy", change, repository, tmp_path)["causes"][0]
    assert (first["about"], first["hint"]) == (
        "deleted",
        "finalizer example.com/backup must go first: look whether the controller of it runs.",
    )


@pytest.mark.parametrize(("condition", "state", "code"), [("Complete", "ended", 0), ("Failed", "failed", 1)])
def test_a_cron_job_is_as_well_as_its_jobs(
    condition: str, state: str, code: int, repository: Path, tmp_path: Path
) -> None:
    def change(items: list[Item]) -> None:
        metadata = {
            "name": "nightly-1",
            "namespace": "default",
            "ownerReferences": [{"kind": "CronJob", "name": "nightly"}],
        }
        status = {"conditions": [{"type": condition, "status": "True", "reason": "Why"}]}
        items.append({"kind": "Job", "metadata": metadata, "status": status})

    found = answered("cronjob_without_job", change, repository, tmp_path)
    assert found["state"] == state
    texts = [cause["text"] for cause in found["causes"]]
    assert texts == ([] if code == 0 else ["Job nightly-1 has failed: Why"])


def test_pods_of_a_part_that_it_starts_without_are_not_compared(repository: Path, tmp_path: Path) -> None:
    """What they ask for is not among what it needs."""
    worker = {"kind": "Pod", "metadata": {"name": "ray-worker", "namespace": "default", "labels": {}}, "status": {}}
    (cause,) = by_name(("selector_of_a_webhook",))
    spec = of_kind(cause.items, "Pod")[0]["spec"]
    labels = {"kai.scheduler/subgroup-name": "small"}
    group = "pg-ray-0a1b2c3d-0000-0000-0000-000000000000"
    owners = [{"kind": "RayCluster", "name": "ray"}]
    worker["metadata"] |= {"labels": labels, "annotations": {"pod-group-name": group}, "ownerReferences": owners}

    def change(items: list[Item]) -> None:
        sub_groups = [{"name": "headgroup", "minMember": 1}, {"name": "small", "minMember": 0}]
        queue = "osmo-pool-default-team--shared"
        metadata = {"name": group, "namespace": "default", "ownerReferences": owners}
        items.append({"kind": "PodGroup", "metadata": metadata, "spec": {"queue": queue, "subGroups": sub_groups}})
        items.append({**worker, "spec": spec})

    found = answered("suspended_ray_cluster", change, repository, tmp_path)
    assert "differs" not in [cause["about"] for cause in found["causes"]]


def test_an_event_that_cannot_be_read_hides_nothing_else(repository: Path, tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        items.append({"kind": "Event", "metadata": {"name": "e"}, "count": "many"})

    found = answered("suspended_by_hand", change, repository, tmp_path)
    assert [cause["about"] for cause in found["causes"]] == ["stopped"]
    assert found["notKnown"].keys() == {"Event"}
