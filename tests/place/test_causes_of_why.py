"""Tests that each recorded state of a cluster gives the expected first cause and its line in the repository."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.place.clusters import member
from tests.support import grove
from tests.support.cli import kubectl_tas, write
from tests.support.golden import ROOT, at
from tests.support.kubectl import FakeKubectl
from tests.support.whycauses import CRON_JOB, FILES, POD, Item, Recorded, job, recorded_causes, saved, workflow

CAUSES = recorded_causes()
PAGES = ROOT / "tests/place/pages_of_why"
"""What ``why`` prints of each state."""
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
def test_the_first_line_and_the_page_are_right(
    cause: Recorded, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(Path("state.json"), cause.items)
    result = kubectl_tas("-C", repository, "workflow", "why", cause.work, "--cluster-state=state.json")
    assert first(result.out) == (capital(cause.first), cause.place), result.out
    assert result.code == (1 if cause.first else 0)
    assert result.out == snapshot(extension_class=at(PAGES / f"{cause.name}.txt"))


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


ASK_WHO = "Ask who scaled it down, or apply the manifests."


@pytest.mark.parametrize(
    ("replicas", "says", "advice"),
    [
        ("replicas: 1", "; the file says 1", ASK_WHO),
        ("paused: false", "; the file says 1, the default", ASK_WHO),
        ("replicas: 0", "", "Ask for replicas, and apply the manifests."),
    ],
)
def test_who_is_to_give_replicas_back(replicas: str, says: str, advice: str, tmp_path: Path) -> None:
    path = "workflows/chat.yaml"
    root = write(tmp_path, {**FILES, path: FILES[path].replace("replicas: 1", replicas)})
    first, *_ = answered("scaled_to_zero", lambda items: None, root, tmp_path)["causes"]
    assert (first["text"], first["hint"]) == (f"Deployment chat has 0 replicas in the cluster{says}", advice)


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
    assert "   Help:  Install what JobSet is part of.\n" in result.out


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
    (
        {"kind": "Job", "metadata": {"name": "train"}, "status": {"failed": "x"}},
        "a Job of the cluster cannot be read: train: it is not",
    ),
    (
        {"kind": "Node", "metadata": {"name": "n"}, "status": {"capacity": []}},
        "a Node of the cluster cannot be read: n: status.capacity is a list",
    ),
    ({"kind": "Job", "metadata": {}}, "a Job of the cluster cannot be read: without a name: it is not"),
    ({"kind": "Job", "metadata": {"name": "train"}, "status": {"conditions": ["x"]}}, "a Job of the cluster cannot be"),
    (
        {"kind": "Queue", "metadata": {"name": "q", "labels": "x"}},
        "a Queue of the cluster cannot be read: q: metadata.labels is 'x', not an object",
    ),
    (
        {"kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": [1]}},
        "a Topology of the cluster cannot be read",
    ),
    (
        {"kind": "PodGroup", "metadata": {"name": "g"}, "spec": {"minMember": "2"}},
        "g: spec.minMember is '2', not a number of pods",
    ),
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


@pytest.mark.sweep
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


def test_the_pod_group_of_a_job_is_that_of_its_cron_job(repository: Path, tmp_path: Path) -> None:
    """Whatever its name, and though no pod names it."""

    def change(items: list[Item]) -> None:
        suspended_job_of_a_cron_job(items)
        items[-1]["spec"] = {}
        for name, job_name in (("odd", "nightly-1"), ("other", "weekly-1")):
            metadata = {"name": name, "namespace": "default", "ownerReferences": [{"kind": "Job", "name": job_name}]}
            items.append(
                {"kind": "PodGroup", "metadata": metadata, "spec": {"queue": "osmo-pool-default-team--shared"}}
            )

    found = answered("cronjob_without_job", change, repository, tmp_path)
    assert [item["name"] for item in found["podGroups"]] == ["odd"]


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


def one(items: list[Item], kind: str) -> Item:
    """The only object of a kind, or the first of a name that begins with it in the file's order."""
    return of_kind(items, kind)[0]


def pods_of(items: list[Item], name: str) -> list[Item]:
    return [item for item in of_kind(items, "Pod") if item["metadata"]["name"].startswith(name)]


def group_of(items: list[Item], name: str) -> Item:
    return next(item for item in of_kind(items, "PodGroup") if name in item["metadata"]["name"])


def suspended_job_of_a_cron_job(items: list[Item]) -> None:
    owners = [{"kind": "CronJob", "name": "nightly"}]
    metadata = {"name": "nightly-1", "namespace": "default", "ownerReferences": owners}
    items.append({"kind": "Job", "metadata": metadata, "spec": {"suspend": True}})


def deleted_group_without_finalizers(items: list[Item]) -> None:
    for item in of_kind(items, "PodGroup"):
        item["metadata"]["deletionTimestamp"] = "2026-11-23T01:00:00Z"


def going_pods_with_finalizers(items: list[Item]) -> None:
    for item in pods_of(items, "train"):
        item["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking", "example.com/backup", "example.com/log"]


def going_pods_without_nodes(items: list[Item]) -> None:
    for item in pods_of(items, "train"):
        item["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking"]
        del item["spec"]["nodeName"]
        item["status"] = {"phase": "Pending"}


def one_gated_pod(items: list[Item]) -> None:
    del pods_of(items, "train")[0]["spec"]["schedulingGates"]


def one_pod_of_a_sub_group(items: list[Item]) -> None:
    for item in pods_of(items, "pair")[1:]:
        item["metadata"]["labels"].pop("kai.scheduler/subgroup-name", None)


def one_pod_of_no_sub_group(items: list[Item]) -> None:
    labels = [item["metadata"]["labels"] for item in pods_of(items, "pair")]
    labels[0]["kai.scheduler/subgroup-name"] = "a"


def no_levels(items: list[Item]) -> None:
    one(items, "Topology")["spec"]["levels"] = []


def other_affinity(items: list[Item]) -> None:
    condition = {"key": "zone", "operator": "Exists"}
    required = {"nodeSelectorTerms": [{"matchExpressions": [condition]}]}
    for item in pods_of(items, "train"):
        item["spec"]["nodeSelector"] = {}
        item["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def failure_without_a_reason(items: list[Item]) -> None:
    one(items, "Job")["status"]["conditions"] = [{"type": "Failed", "status": "True"}]


def one_pod_that_is_about_to_start(items: list[Item]) -> None:
    pods_of(items, "train")[0]["status"]["phase"] = "Running"


def job_without_pods(items: list[Item]) -> None:
    items[:] = [item for item in items if item not in pods_of(items, "train") and item["kind"] != "PodGroup"]


def cron_job_whose_job_has_no_pods(items: list[Item]) -> None:
    suspended_job_of_a_cron_job(items)
    items[-1]["spec"] = {"suspend": False}


def one_going_pod(items: list[Item]) -> None:
    items.remove(pods_of(items, "train")[0])


def job_of_other_schedulers(items: list[Item]) -> None:
    owners = [{"kind": "Deployment", "name": "chat"}]
    for number, scheduler in enumerate(("third", "kai-scheduler", "other")):
        metadata = {"name": f"chat-{number}", "namespace": "default", "ownerReferences": owners}
        items.append({"kind": "Pod", "metadata": metadata, "spec": {"schedulerName": scheduler}})


def two_gates(items: list[Item]) -> None:
    for item in pods_of(items, "train"):
        item["spec"]["schedulingGates"] = [{"name": "example.com/b"}, {"name": "example.com/a"}]


def group_in_another_queue(items: list[Item]) -> None:
    group_of(items, "pair")["spec"]["queue"] = "elsewhere"


def group_in_a_queue_of_nobody(items: list[Item]) -> None:
    group_in_another_queue(items)
    items.append({"kind": "Queue", "metadata": {"name": "elsewhere"}, "spec": {}})


def four_queues_below(items: list[Item]) -> None:
    spec = {"parentQueue": "osmo-pool-default-team--shared"}
    items += [{"kind": "Queue", "metadata": {"name": f"q{number}"}, "spec": spec} for number in (2, 1, 0)]


def pods_without_gpus(items: list[Item]) -> None:
    for item in pods_of(items, "train"):
        item["spec"]["containers"][0]["resources"] = {}


def limit_without_amounts(items: list[Item]) -> None:
    for item in (*of_kind(items, "PodGroup"), *of_kind(items, "Event"), *of_kind(items, "Pod")):
        text = re.sub(", currently [0-9]+ GPUs allocated and workload requested [0-9]+ GPUs", "", json.dumps(item))
        item.clear()
        item |= json.loads(text)


CHANGED: list[tuple[str, Callable[[list[Item]], None], str, str]] = [
    (
        "cronjob_without_job",
        suspended_job_of_a_cron_job,
        "Job nightly-1 is suspended in the cluster, and not in the file",
        "Ask who set spec.suspend; set it to false.",
    ),
    (
        "cronjob_without_job",
        cron_job_whose_job_has_no_pods,
        "CronJob nightly is in the cluster, and has no pods",
        "Look whether its controller runs, and at its events: kubectl describe.",
    ),
    (
        "busy",
        job_without_pods,
        "Job train is in the cluster, and has no pods",
        "Look whether its controller runs, and at its events: kubectl describe.",
    ),
    (
        "busy",
        deleted_group_without_finalizers,
        "PodGroup pg-train-a0ba8c56-3c45-4fa2-9a77-87fe56ab0073 is being deleted since 2026-11-23T01:00:00Z",
        "Wait until it is gone, then apply the manifests again.",
    ),
    (
        "pods_terminating",
        going_pods_with_finalizers,
        "2 pods of it are being deleted since 2026-11-23T03:49:45Z, and KAI does not count them",
        "finalizers example.com/backup, example.com/log must go first: look whether the controller of it runs.",
    ),
    (
        "pods_terminating",
        going_pods_without_nodes,
        "2 pods of it are being deleted since 2026-11-23T03:49:45Z, and KAI does not count them",
        "Wait until they are gone.",
    ),
    (
        "gate",
        one_gated_pod,
        "1 pod of it has the scheduling gate example.com/licence; KAI does not place them before it is taken away",
        "Ask who set the gates; KAI places the pods as soon as they are gone.",
    ),
    (
        "sub_group_nobody_has",
        one_pod_of_a_sub_group,
        "1 pod of it names the SubGroup workers, and PodGroup pair-all-8a02cf83 has no SubGroups",
        "Apply its manifests, or change the file.",
    ),
    (
        "sub_group_missing",
        one_pod_of_no_sub_group,
        "1 pod of it names no SubGroup (label kai.scheduler/subgroup-name), and PodGroup pair-all-8a02cf83 has the "
        "SubGroups a, b",
        "Apply its manifests, or change the file.",
    ),
    (
        "pods_terminating",
        one_going_pod,
        "1 pod of it is being deleted since 2026-11-23T03:49:45Z, and KAI does not count it",
        "Wait until it is gone. If that takes longer than its grace period, look at node n1.",
    ),
    (
        "scaled_to_zero",
        job_of_other_schedulers,
        "its pods are for the scheduler other, third, not kai-scheduler",
        "Apply the rendered manifests, which name the scheduler.",
    ),
    (
        "gate",
        two_gates,
        "2 pods of it have the scheduling gate example.com/a; KAI does not place them before it is taken away",
        "Ask who set the gates; KAI places the pods as soon as they are gone.",
    ),
    (
        "larger_minimum",
        group_in_another_queue,
        "PodGroup pair-all-8a02cf83 is in the queue elsewhere, which the cluster does not have; the file sends it to "
        "osmo-pool-default-team--shared",
        "Apply its manifests, or change the file.",
    ),
    (
        "larger_minimum",
        group_in_a_queue_of_nobody,
        "PodGroup pair-all-8a02cf83 is in the queue elsewhere, which no pool here has; the file sends it to "
        "osmo-pool-default-team--shared",
        "Apply its manifests, or change the file.",
    ),
    (
        "queue_not_leaf",
        four_queues_below,
        "the queue osmo-pool-default-team--shared has queues below it (below, q0, q1), and KAI starts nothing in such "
        "a queue",
        "Delete those, or send the work to one of them.",
    ),
    (
        "more_gpus_than_the_file",
        pods_without_gpus,
        "2 pods in the cluster ask for 0 GPUs each; the file does not say so",
        "Ask who changed them: a webhook, a pod template of the cluster, or by hand. Apply the manifests anew.",
    ),
    (
        "limit_of_subpool",
        limit_without_amounts,
        "the maximum of subpool team--vision is 24 GPUs: some are held, and it asks for more than is left",
        "Wait until others of the queue have ended, or ask for less.",
    ),
    (
        "topology_with_other_levels",
        no_levels,
        "the Topology osmo-pool-default-team-topology has the levels none in the cluster; the file says "
        "topology.kubernetes.io/zone, topology.kubernetes.io/rack",
        "Apply the manifests of its pool.",
    ),
    (
        "selector_of_a_webhook",
        other_affinity,
        "2 pods in the cluster have another node affinity; the file does not say so",
        "Ask who changed them: a webhook, a pod template of the cluster, or by hand. Apply the manifests anew.",
    ),
    (
        "job_failed",
        failure_without_a_reason,
        "Job train has failed: its controller does not say why",
        "Correct what made it fail. Then delete it and apply it again: its controller does not restart it.",
    ),
    (
        "about_to_start",
        one_pod_that_is_about_to_start,
        "1 pod of it has a node, and not started yet",
        "Images may be on their way; their events say more.",
    ),
]


@pytest.mark.parametrize(("name", "change", "text", "hint"), CHANGED, ids=lambda item: getattr(item, "__name__", None))
def test_what_is_said_of_a_state_that_is_a_little_otherwise(
    name: str, change: Callable[[list[Item]], None], text: str, hint: str, repository: Path, tmp_path: Path
) -> None:
    found = answered(name, change, repository, tmp_path)
    assert [cause["hint"] for cause in found["causes"] if cause["text"] == text] == [hint], found["causes"]


def with_files(folder: Path, **files: str) -> Path:
    """The repository with other files of work."""
    return write(folder, {**FILES, **{f"workflows/{name}.yaml": text for name, text in files.items()}})


def test_a_job_that_a_cron_job_made_is_not_suspended_by_the_file_of_the_cron_job(tmp_path: Path) -> None:
    """Its field is not in the file, whatever the file says of the CronJob; the place is that of the name."""
    root = with_files(tmp_path, nightly=CRON_JOB.replace("spec:\n", "spec:\n  suspend: true\n", 1))
    (cause,) = answered("cronjob_without_job", suspended_job_of_a_cron_job, root, tmp_path)["causes"]
    assert cause["text"] == "Job nightly-1 is suspended in the cluster, and not in the file"
    assert (cause["place"]["line"], cause["place"]["column"]) == (4, 9)


def owned_by_another_name(items: list[Item]) -> None:
    group = group_of(items, "pg-train")
    group["metadata"]["name"] = "batch-7"
    for item in pods_of(items, "train"):
        item["metadata"]["annotations"]["pod-group-name"] = "batch-7"


def without_a_queue(items: list[Item]) -> None:
    del group_of(items, "pg-train")["spec"]["queue"]


def placed_by_a_webhook(items: list[Item]) -> None:
    group_of(items, "pg-train")["spec"]["topologyConstraint"] = {"topology": "other", "requiredTopologyLevel": "rack"}


def of_an_older_record(items: list[Item]) -> None:
    group = group_of(items, "pg-blue")
    group["metadata"].pop("labels")
    group["spec"].pop("minMember")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("busy", owned_by_another_name),
        ("busy", without_a_queue),
        ("busy", placed_by_a_webhook),
        ("no_scheduler_of_the_shard", of_an_older_record),
    ],
)
def test_what_is_no_difference(
    name: str, change: Callable[[list[Item]], None], repository: Path, tmp_path: Path
) -> None:
    """An owner tells whose a PodGroup is, a file may say no topology, and what is not recorded differs from nothing."""
    found = answered(name, change, repository, tmp_path)
    assert not {"differs", "queue"} & {cause["about"] for cause in found["causes"]}


def test_pods_that_no_longer_select_the_nodes_of_their_pool_differ(tmp_path: Path) -> None:
    root = write(
        tmp_path, {**FILES, "pools/team.yaml": FILES["pools/team.yaml"] + "  nodes: {selector: {disk: nvme}}\n"}
    )
    texts = [cause["text"] for cause in answered("busy", lambda items: None, root, tmp_path)["causes"]]
    assert "2 pods in the cluster do not select the nodes of the file; the file does not say so" in texts


def test_the_minimum_of_a_sub_group_is_compared(repository: Path, tmp_path: Path) -> None:
    group = "pg-ray-0a1b2c3d-0000-0000-0000-000000000000"
    metadata = {"name": group, "namespace": "default", "ownerReferences": [{"kind": "RayCluster", "name": "ray"}]}
    spec = {"queue": "osmo-pool-default-team--shared", "subGroups": [{"name": "headgroup", "minMember": 2}]}

    def change(items: list[Item]) -> None:
        items.append({"kind": "PodGroup", "metadata": metadata, "spec": spec})

    found = answered("suspended_ray_cluster", change, repository, tmp_path)
    texts = [cause["text"] for cause in found["causes"] if cause["about"] == "differs"]
    assert texts == [f"PodGroup {group} starts with 2 pods in SubGroup headgroup; the file says 1"]


def test_the_pod_group_of_work_without_an_answer_is_not_judged(tmp_path: Path) -> None:
    """Of a gang that cannot be predicted the right name is not known."""
    pods = POD.replace("image: trainer", "image: trainer, ports: [{containerPort: 80, hostPort: 80, hostIP: 10.0.0.1}]")
    root = with_files(tmp_path, train=job("train", "team").replace(POD, pods))

    def change(items: list[Item]) -> None:
        owned_by_another_name(items)
        group_of(items, "batch-7")["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": "x"}]

    found = answered("busy", change, root, tmp_path)
    assert "differs" not in [cause["about"] for cause in found["causes"]]


@pytest.mark.parametrize("is_changed", [False, True])
def test_the_pod_groups_that_a_cluster_lacks_are_named(is_changed: bool, tmp_path: Path) -> None:
    group = "  - name: {}\n    tasks:\n    - {{name: {}, image: trainer, resource: node}}\n"
    more = f"{group.format('more', 'c')}{group.format('also', 'd')}resources:\n"
    root = with_files(tmp_path, pair=workflow("pair").replace("resources:\n", more))

    def change(items: list[Item]) -> None:
        group = group_of(items, "pair-all")
        other = {**group, "metadata": {**group["metadata"], "name": "pair-more-00000000"}}
        items += [other] if is_changed else []

    (cause,) = [x for x in answered("half_there", change, root, tmp_path)["causes"] if x["about"] == "absent"]
    assert cause["text"] == "of its PodGroups the cluster lacks pair-more-fe550eff, pair-also-0cf0f967"
    assert cause["hint"] == (
        "Apply its manifests; objects that ran keep their name, a changed workflow gets another one."
        if is_changed
        else "Apply its manifests; if it has run, it may have been removed since."
    )


def test_work_is_not_without_pods_where_pods_are_not_known(repository: Path, tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        job_without_pods(items)
        items[:] = [item for item in items if item["kind"] != "Pod"]
        items[0]["kinds"] = [kind for kind in items[0]["kinds"] if kind != "Pod"]

    found = answered("busy", change, repository, tmp_path)
    assert "Pod" in found["notKnown"]
    assert "not-ready" not in [cause["about"] for cause in found["causes"]]


def test_that_a_cluster_has_no_nodes_is_a_gap(repository: Path, tmp_path: Path) -> None:
    def change(items: list[Item]) -> None:
        items[:] = [item for item in items if item["kind"] != "Node"]

    found = answered("busy", change, repository, tmp_path)
    assert (found["notKnown"], found["fit"]["gangs"]) == ({"Node": "the cluster has none"}, [])


def test_nodes_of_its_shard_that_are_too_few_are_told_at_the_shard_of_the_pool(
    repository: Path, tmp_path: Path
) -> None:
    def change(items: list[Item]) -> None:
        blue = [item for item in of_kind(items, "Node") if "kai.scheduler/node-pool" in item["metadata"]["labels"]]
        del blue[0]["metadata"]["labels"]["kai.scheduler/node-pool"]

    (cause,) = answered("no_scheduler_of_the_shard", change, repository, tmp_path)["causes"]
    assert cause["text"] == "the nodes of the shard blue are too few for it, and KAI does not use those of other shards"
    assert cause["place"]["file"] == "pools/blue.yaml"
    assert FILES["pools/blue.yaml"].splitlines()[cause["place"]["line"] - 1] == "  nodePool: blue"


def test_a_level_without_room_is_told_at_the_annotation_that_requires_it(tmp_path: Path) -> None:
    level = 'batch-min-member: "2", kai.scheduler/topology-required-placement: rack'
    text = job("train", "team").replace('batch-min-member: "2"', level)
    root = with_files(tmp_path, train=text)

    def change(items: list[Item]) -> None:
        items[:] = [item for item in items if item not in pods_of(items, "other-2")]

    found = answered("busy", change, root, tmp_path)
    (cause,) = [cause for cause in found["causes"] if cause["about"] == "topology"]
    assert cause["text"] == "no rack has room for all 2 pods that must share one"
    line = text.splitlines()[cause["place"]["line"] - 1]
    assert line[: cause["place"]["column"] + 3].endswith("kai.scheduler/topology-required-placement: rack")


@pytest.mark.parametrize(("maximum", "line"), [("  maximum:\n    gpu: 24\n", "    gpu: "), ("", "      maximum: ")])
def test_a_limit_is_told_where_it_is_written(maximum: str, line: str, tmp_path: Path) -> None:
    """Of a subpool without a maximum its pool's holds."""
    files = {**FILES, "subpools/vision.yaml": FILES["subpools/vision.yaml"].replace("  maximum: 24\n", maximum)}
    (cause,) = answered("limit_of_subpool", lambda items: None, write(tmp_path, files), tmp_path)["causes"]
    place = cause["place"]
    assert files[place["file"]].splitlines()[place["line"] - 1][: place["column"] - 1] == line


OF_LIMIT = "team--old quota has reached the allowable limit of GPUs. Limit is 40 GPUs, currently 40 GPUs"
OF_PARENT = "Workload requested 8 GPUs, but team quota is 32 GPUs, while 32 GPUs are already allocated"


@pytest.mark.parametrize(
    ("reason", "message", "text"),
    [
        ("OverLimit", OF_LIMIT, "the maximum of subpool team--old is 40 GPUs"),
        ("NonPreemptibleOverQuota", OF_PARENT, "the quota of pool team is 32 GPUs"),
    ],
)
def test_what_keeps_work_from_a_closed_subpool_may_be_another_limit(
    reason: str, message: str, text: str, repository: Path, tmp_path: Path
) -> None:
    def change(items: list[Item]) -> None:
        (condition,) = group_of(items, "pg-late")["status"]["schedulingConditions"]
        condition["reasons"] = [{"reason": reason, "message": message}]
        items[:] = [item for item in items if item["kind"] != "Event"]
        for item in pods_of(items, "late"):
            item["status"].pop("conditions", None)

    found = answered("deleting_subpool", change, repository, tmp_path)
    (cause,) = [cause for cause in found["causes"] if cause["about"] == "quota"]
    assert cause["text"].startswith(text)


@pytest.mark.parametrize(
    ("claim", "line"), [("", "  name: claims"), ("o", "  name: claims"), ("data", "      volumes: [{name: s")]
)
def test_an_object_that_a_webhook_named_is_told_at_the_work(claim: str, line: str, tmp_path: Path) -> None:
    volumes = f"[{{name: s, emptyDir: {{}}}}, {{name: d, persistentVolumeClaim: {{claimName: {claim}}}}}]"
    text = job("claims", "team", pod=f"      volumes: {volumes}\n" if claim else "")
    root = with_files(tmp_path, claims=text)
    cause = answered("claim_missing", lambda items: None, root, tmp_path)["causes"][0]
    assert cause["text"] == "the cluster has no PersistentVolumeClaim data in namespace default"
    assert text.splitlines()[cause["place"]["line"] - 1].startswith(line)


@pytest.mark.parametrize(
    ("message", "volume", "named", "line"),
    [
        (
            'secret "key" not found',
            "{secret: {secretName: key}}",
            "Secret key",
            "      volumes: [{name: v, secret: {secretName: ",
        ),
        ('secret "key" not found', "{configMap: {name: key}}", "Secret key", "  name: "),
        (
            'configmap "key" not found',
            "{configMap: {name: key}}",
            "ConfigMap key",
            "      volumes: [{name: v, configMap: {name: ",
        ),
        ("Missing required configmaps: [key more]", "{emptyDir: {}}", "ConfigMap key", "  name: "),
        ('resourceclaim "key" not found', "{emptyDir: {}}", "ResourceClaim key", "  name: "),
        ('resourceclaim.resource.k8s.io "key" not found', "{emptyDir: {}}", "ResourceClaim key", "  name: "),
    ],
)
def test_an_object_that_pods_name_and_the_cluster_lacks_is_told_where_they_name_it(
    message: str, volume: str, named: str, line: str, tmp_path: Path
) -> None:
    text = job("claims", "team", pod=f"      volumes: [{{name: v, {volume[1:-1]}}}]\n")
    root = with_files(tmp_path, claims=text)

    def change(items: list[Item]) -> None:
        for item in (*of_kind(items, "PodGroup"), *of_kind(items, "Event"), *of_kind(items, "Pod")):
            lacking = json.dumps('persistentvolumeclaim "data" not found')[1:-1]
            changed = json.loads(json.dumps(item).replace(lacking, json.dumps(message)[1:-1]))
            item.clear()
            item |= changed

    (cause,) = answered("claim_missing", change, root, tmp_path)["causes"]
    assert (cause["about"], cause["text"], cause["hint"]) == (
        "needs",
        f"the cluster has no {named} in namespace default",
        "Create it, or name another one; KAI tries again by itself.",
    )
    assert text.splitlines()[cause["place"]["line"] - 1][: cause["place"]["column"] - 1] == line


@pytest.mark.parametrize(("queue", "quota"), [("osmo-pool-default-team--shared", 16), ("elsewhere", None)])
def test_the_quota_is_that_of_the_queue_that_the_cluster_has(
    queue: str, quota: int | None, repository: Path, tmp_path: Path
) -> None:
    def change(items: list[Item]) -> None:
        group_of(items, "pg-limited")["spec"]["queue"] = queue

    found = answered("limit_of_subpool", change, repository, tmp_path)["queue"]
    assert (found["name"], found.get("quota")) == (queue, quota)


def suspended(name: str, namespace: str = "default", **labels: str) -> Item:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"kind": "Job", "metadata": metadata, "spec": {"suspend": True}}


@pytest.mark.parametrize(
    ("form", "item", "text"),
    [
        ("jobs", suspended("pair-1", **{"kubectl-tas/workflow": "pair"}), "Job pair-1 is suspended in the cluster"),
        ("pods", suspended("pair-1", **{"kubectl-tas/workflow": "pair"}), "the cluster has nothing of it"),
        ("jobs", suspended("pair-1", **{"kubectl-tas/workflow": "rack"}), "the cluster has nothing of it"),
        ("jobs", suspended("pair-1", "other", **{"kubectl-tas/workflow": "pair"}), "the cluster has nothing of it"),
    ],
)
def test_the_jobs_of_a_workflow_are_those_with_its_label(form: str, item: Item, text: str, tmp_path: Path) -> None:
    """Where workflows are made as Jobs, and in its namespace."""
    config = FILES["tas.yaml"] + f"  workflowsAs: {form}\n"
    root = write(tmp_path, {**FILES, "tas.yaml": config})
    (cause,) = by_name(("nothing",))
    state = saved(tmp_path / "state.json", [*cause.items, item])
    found = kubectl_tas("-C", root, "workflow", "why", "pair", f"--cluster-state={state}", "-o", "json")
    assert json.loads(found.out)["workflows"][0]["causes"][0]["text"].startswith(text)


@pytest.mark.parametrize(("condition", "state", "code"), [("Complete", "ended", 0), ("Failed", "failed", 1)])
def test_a_workflow_is_as_well_as_its_jobs(condition: str, state: str, code: int, tmp_path: Path) -> None:
    """Also where their pods are gone."""
    root = write(tmp_path, {**FILES, "tas.yaml": FILES["tas.yaml"] + "  workflowsAs: jobs\n"})
    ended = suspended("pair-1", **{"kubectl-tas/workflow": "pair"})
    ended |= {"spec": {}, "status": {"conditions": [{"type": condition, "status": "True", "reason": "Why"}]}}
    (cause,) = by_name(("nothing",))
    state_file = saved(tmp_path / "state.json", [*cause.items, ended])
    result = kubectl_tas("-C", root, "workflow", "why", "pair", f"--cluster-state={state_file}", "-o", "json")
    (found,) = json.loads(result.out)["workflows"]
    assert (found["state"], result.code) == (state, code)
    assert [item["text"] for item in found["causes"]] == ([] if code == 0 else ["Job pair-1 has failed: Why"])


@pytest.mark.parametrize(("part", "outcome"), [("headgroup", "no-room"), ("small", "fits")])
def test_a_pod_that_waits_stands_for_those_of_its_own_sub_group(
    part: str, outcome: str, repository: Path, tmp_path: Path
) -> None:
    """Its selector is one that no node meets."""
    group = "pg-ray-0a1b2c3d-0000-0000-0000-000000000000"
    about = {"namespace": "default", "ownerReferences": [{"kind": "RayCluster", "name": "ray"}]}
    metadata = {**about, "name": "a-pod", "labels": {"kai.scheduler/subgroup-name": part}}
    asked = {"limits": {"nvidia.com/gpu": "8"}}
    spec = {"containers": [{"name": "main", "resources": asked}], "restartPolicy": "Always", "nodeSelector": {"a": "b"}}

    def change(items: list[Item]) -> None:
        of_kind(items, "RayCluster")[0]["spec"] = {"suspend": False}
        parts = [{"name": "headgroup", "minMember": 1}, {"name": "small", "minMember": 0}]
        queue = "osmo-pool-default-team--shared"
        items.append(
            {"kind": "PodGroup", "metadata": {**about, "name": group}, "spec": {"queue": queue, "subGroups": parts}}
        )
        annotations = {"pod-group-name": group}
        pod = {"kind": "Pod", "metadata": {**metadata, "annotations": annotations}, "spec": spec}
        items.append({**pod, "status": {"phase": "Pending"}})

    found = answered("suspended_ray_cluster", change, repository, tmp_path)
    assert [gang["outcome"] for gang in found["fit"]["gangs"]] == [outcome]


@pytest.mark.parametrize(
    ("levels", "says", "hint"),
    [
        (("zone", "row", "rack", "host"), "", ""),
        (("zone", "rack", "host"), "", ""),
        ((), "the cluster has no Topology by-hand", "Create it, or name another one."),
        (
            ("zone", "row", "host"),
            "the Topology by-hand has the levels topology.kubernetes.io/zone, example.com/row, kubernetes.io/hostname "
            "in the cluster; the file says topology.kubernetes.io/zone, example.com/rack, kubernetes.io/hostname",
            "Give it the levels that it lacks, or change the file.",
        ),
    ],
)
def test_a_topology_that_is_made_by_hand_may_have_more_levels(
    levels: Sequence[str], says: str, hint: str, tmp_path: Path
) -> None:
    """Its levels are not those of the file, which only names some of them, and no manifest makes it."""
    keys = {**grove.KEYS, "row": "example.com/row"}
    spec = (
        "{queue: osmo-pool-default-team--shared, priorityClassName: osmo-normal, minMember: 1, topologyConstraint: "
        "{topology: by-hand, requiredTopologyLevel: example.com/rack}}"
    )
    group = f"apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {{name: judge}}\nspec: {spec}\n"
    binding = {"topologies/racks.yaml": grove.topology(spec=grove.binding())}
    root = write(tmp_path, {**FILES, **binding, "workflows/judge.yaml": f"{group}---\n{member('p1', chr(39) * 2)}"})
    there = {"levels": [{"nodeLabel": keys[name]} for name in levels]}
    (cause,) = by_name(("nothing",))
    items = [{"kind": "Topology", "metadata": {"name": "by-hand"}, "spec": there}] if levels else []
    state = saved(tmp_path / "state.json", [*cause.items, *items])
    found = kubectl_tas("-C", root, "workflow", "why", "judge", f"--cluster-state={state}", "-o", "json")
    differs = [item for item in json.loads(found.out)["workflows"][0]["causes"] if item["about"] == "differs"]
    assert [(item["text"], item["hint"]) for item in differs] == ([(says, hint)] if says else [])
