"""Tests what a cluster says of work: conditions, containers and events, whatever releases leave out of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.live import kubectl
from kubectl_tas.live.kubectl import ClusterAccess, ForbiddenError
from kubectl_tas.live.live_cluster import Cluster
from kubectl_tas.live.reasons import (
    ClusterAnswers,
    LiveGroup,
    LivePod,
    QueueInCluster,
    Saying,
    ask_cluster,
    gathered,
    is_race,
    unnamed,
)
from kubectl_tas.model.base import MAX_COUNT
from tests.support.kubectl import FakeKubectl, pod_group

Item = dict[str, Any]


def of(folder: Path, *items: Item) -> ClusterAnswers:
    """What a cluster of these objects and one PodGroup says."""
    file = folder / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": [pod_group("q"), *items]}))
    return ask_cluster(Cluster(ClusterAccess(), str(file)), "default")


def pod(**fields: Any) -> Item:
    return {"kind": "Pod", "metadata": {"name": "p"}, **fields}


def said_of_pod(folder: Path, **status: Any) -> list[tuple[str, str]]:
    (found,) = of(folder, pod(status=status)).pods
    assert {(saying.where, saying.is_event) for saying in found.sayings} <= {("Pod p", False)}
    return [(saying.reason, saying.text) for saying in found.sayings]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({"message": "no\n room"}, ("Unschedulable", "no room")),
        ({"reason": "Over"}, ("Over", "")),
        ({"reasons": [{"message": "a"}]}, ("Unschedulable", "a")),
        ({"status": "True", "message": "a"}, ("Unschedulable", "a")),
        ({"nodePool": "default", "message": "a"}, ("Unschedulable", "a")),
        ({"nodePool": "h100", "reasons": [{"reason": "Over", "message": "a"}]}, ("Over", "(shard h100) a")),
    ],
)
def test_conditions_of_a_pod_group(condition: Item, said: tuple[str, str], tmp_path: Path) -> None:
    group = pod_group("q", schedulingConditions=[condition])
    group["metadata"]["name"] = "other"
    (_, found) = of(tmp_path, group).groups
    assert [(saying.where, saying.reason, saying.text) for saying in found.sayings] == [("PodGroup other", *said)]


def test_what_has_no_spec(tmp_path: Path) -> None:
    group = {"kind": "PodGroup", "metadata": {"name": "bare"}}
    topologies = [{"kind": "Topology", "metadata": {"name": "t"}, **more} for more in ({}, {"spec": {}})]
    found = of(tmp_path, group, *topologies, {"kind": "Queue", "metadata": {"name": "bare"}})
    assert (found.groups[0].queue, found.groups[0].minimum, found.groups[0].sub_groups) == (None, None, None)
    assert found.topologies == {"t": ()}
    assert [(queue.shown, queue.parent) for queue in found.queues] == [("bare", "")]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({"type": "PodScheduled", "status": "False", "reason": "Why", "message": "a"}, [("Why", "a")]),
        ({"type": "PodBound", "status": "False"}, [("PodBound", "")]),
        ({"type": "PodScheduled", "status": "True", "message": "a"}, []),
        ({"type": "Ready", "status": "False", "message": "a"}, []),
    ],
)
def test_conditions_of_a_pod(condition: Item, said: list[tuple[str, str]], tmp_path: Path) -> None:
    assert said_of_pod(tmp_path, conditions=[condition]) == said


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({"phase": "Failed", "message": "gone"}, [("Failed", "gone")]),
        ({"phase": "Failed", "reason": "Evicted"}, [("Evicted", "")]),
        ({"phase": "Failed"}, []),
        ({"phase": "Running", "message": "gone"}, []),
    ],
)
def test_why_a_pod_has_failed(status: Item, said: list[tuple[str, str]], tmp_path: Path) -> None:
    assert said_of_pod(tmp_path, **status) == said


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (None, []),
        ({"waiting": {"reason": "ContainerCreating"}}, []),
        ({"waiting": {"reason": "PodInitializing", "message": "a"}}, []),
        ({"waiting": {"reason": "ErrImagePull", "message": "no\nimage"}}, [("ErrImagePull", "no image")]),
        ({"terminated": {"exitCode": 1, "reason": "OOMKilled"}}, [("OOMKilled", "container a: exit 1")]),
        ({"waiting": {"reason": "CrashLoopBackOff"}}, [("CrashLoopBackOff", "container a")]),
        ({"terminated": {"exitCode": 0}}, []),
        ({"terminated": {"exitCode": 3}}, [("Error", "container a: exit 3")]),
    ],
)
def test_states_of_a_container(state: Item | None, said: list[tuple[str, str]], tmp_path: Path) -> None:
    for part in ("containerStatuses", "initContainerStatuses"):
        assert said_of_pod(tmp_path, **{part: [{"name": "a", "state": state}]}) == said


@pytest.mark.parametrize(
    ("phase", "shown"), [("Running", "Terminating"), ("Succeeded", "Succeeded"), ("Failed", "Failed")]
)
def test_a_pod_that_has_ended_does_not_end_again(phase: str, shown: str, tmp_path: Path) -> None:
    deleted = {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert [item.phase for item in of(tmp_path, pod(metadata=deleted, status={"phase": phase})).pods] == [shown]


@pytest.mark.parametrize(
    ("counts", "times"),
    [
        ({}, 1),
        ({"count": 5}, 5),
        ({"deprecatedCount": 4}, 4),
        ({"series": {"count": 3}, "count": 5}, 3),
    ],
)
def test_how_often_an_event_was_said(counts: Item, times: int, tmp_path: Path) -> None:
    """Of either API, and of older ones."""
    about = {"kind": "Pod", "name": "p"}
    events = [
        {"kind": "Event", "metadata": {"name": "e"}, key: about, **counts} for key in ("involvedObject", "regarding")
    ]
    found = of(tmp_path, *events).events
    assert list(found) == [("default", "Pod p")]
    ((saying,),) = found.values()
    assert (saying.reason, saying.text, saying.times) == ("", "", 2 * times)


def event(name: str = "p", **fields: Any) -> Item:
    return {"kind": "Event", "metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": name}, **fields}


@pytest.mark.parametrize(
    ("type_", "reason", "is_kept"),
    [
        *(("Normal", reason, True) for reason in ("Unschedulable", "NotReady", "StaleJob", "Evict")),
        *(("Normal", reason, True) for reason in ("Preempted", "Preempting")),
        ("Normal", "Pipelined", False),
        ("Warning", "Pipelined", True),
        (None, "Pipelined", True),
    ],
)
def test_events_that_tell_why_work_waits(type_: str | None, reason: str, is_kept: bool, tmp_path: Path) -> None:
    found = of(tmp_path, event(type=type_, reason=reason)).events
    assert [saying.reason for sayings in found.values() for saying in sayings] == [reason] * is_kept


@pytest.mark.parametrize(
    ("moments", "last"),
    [
        ({}, ""),
        ({"eventTime": "2026-01-03T00:00:00.123456Z"}, "2026-01-03T00:00:00Z"),
        ({"eventTime": "2026-01-03T00:00:00Z", "lastTimestamp": "2026-01-02T00:00:00Z"}, "2026-01-02T00:00:00Z"),
        (
            {"lastTimestamp": "2026-01-02T00:00:00Z", "series": {"lastObservedTime": "2026-01-01T00:00:00Z"}},
            "2026-01-01T00:00:00Z",
        ),
    ],
)
def test_when_an_event_was_said_last(moments: Item, last: str, tmp_path: Path) -> None:
    ((saying,),) = of(tmp_path, event(message="a", **moments)).events.values()
    assert saying == Saying("Pod p", "", "a", is_event=True, last=last)


NEVER = "an Event of the cluster cannot be read: e: an event was not said so often"


@pytest.mark.parametrize(
    ("counts", "gap"),
    [
        ((0, MAX_COUNT, None), None),
        ((MAX_COUNT + 1,), NEVER),
        ((-1, "x", 1), f"{NEVER}; and 1 more"),
    ],
)
def test_events_that_cannot_be_read_are_a_gap(counts: tuple[object, ...], gap: str | None, tmp_path: Path) -> None:
    assert of(tmp_path, *(event(count=count) for count in counts)).gaps.get("Event") == gap


def test_each_message_is_gathered_once(tmp_path: Path) -> None:
    """Conditions of PodGroups come first, then those of pods, then events, the latest first."""

    def saying(where: str, text: str, *, is_event: bool = False, times: int = 1, last: str = "") -> Saying:
        return Saying(where, "R", text, is_event=is_event, times=times, last=last)

    early = saying("Pod b", "x", is_event=True, times=2, last="1")
    late = saying("Pod b", "x", is_event=True, times=3, last="2")
    other = saying("Pod b", "y", is_event=True, last="3")
    said = [late, saying("Pod a", "x"), other, saying("PodGroup z", "x"), early, saying("Pod a", "w")]
    assert gathered(said) == (
        saying("PodGroup z", "x"),
        saying("Pod a", "w"),
        saying("Pod a", "x"),
        other,
        saying("Pod b", "x", is_event=True, times=5, last="2"),
    )


@pytest.mark.parametrize(
    ("reason", "text", "is_one"),
    [
        ("PodGrouperWarning", "podgroups 'a' already exists", True),
        ("PodGrouperWarning", "the object has been modified; please apply", True),
        ("PodGrouperWarning", "no such queue", False),
        ("Unschedulable", "it already exists", False),
    ],
)
def test_a_race_of_the_podgrouper_with_itself(reason: str, text: str, is_one: bool) -> None:
    assert is_race(Saying("Pod a", reason, text)) is is_one


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ml/train-0 waits", "POD waits"),
        ("pod train-0: no", "pod POD: no"),
        ("train-00, train-0-1, a.train-0, a-train-0", "train-00, train-0-1, a.train-0, a-train-0"),
        ("other/train-0", "other/POD"),
    ],
)
def test_a_message_without_the_name_of_its_pod(text: str, shown: str) -> None:
    assert unnamed(Saying("Pod train-0", "R", text), "ml", "train-0") == Saying("Pod", "R", shown)


def test_everything_that_a_pod_says(tmp_path: Path) -> None:
    spec = {
        "nodeName": "n",
        "schedulerName": "kai-scheduler",
        "schedulingGates": [{"name": "gate"}],
    }
    labels = {
        "app.kubernetes.io/part-of": "set",
        "kai.scheduler/subgroup-name": "workers",
        "kubectl-tas/workflow": "train",
    }
    metadata = {
        "name": "p",
        "namespace": "ml",
        "labels": labels,
        "annotations": {"pod-group-name": "pg", "kai.scheduler/skip-podgrouper": "true"},
        "ownerReferences": [{"kind": "Job", "name": "j"}],
        "deletionTimestamp": "t",
        "finalizers": ["f"],
    }
    (found,) = of(tmp_path, pod(metadata=metadata, spec=spec)).pods
    assert found == LivePod(
        "ml",
        "p",
        "Terminating",
        True,
        "pg",
        "set",
        (("Job", "j"),),
        "kai-scheduler",
        (),
        "workers",
        "train",
        True,
        "t",
        ("f",),
        ("gate",),
        labels,
        spec,
    )
    (bare,) = of(tmp_path, pod()).pods
    assert bare == LivePod(
        "default", "p", "Pending", False, None, None, (), None, (), None, None, False, "", (), (), {}, {}
    )
    assert (found.waits, bare.waits) == (False, True)
    assert len({found, bare}) == 2


def test_everything_that_a_pod_group_says(tmp_path: Path) -> None:
    group = {
        "kind": "PodGroup",
        "metadata": {
            "name": "z",
            "namespace": "ml",
            "labels": {"kubectl-tas/workflow": "train", "kai.scheduler/node-pool": "h100"},
            "ownerReferences": [{"kind": "Job", "name": "j"}],
            "deletionTimestamp": "t",
            "finalizers": ["f"],
        },
        "spec": {
            "queue": "q",
            "minMember": 3,
            "topologyConstraint": {"topology": "a"},
            "subGroups": [{"name": "x", "minMember": 2}, {"name": "y", "topologyConstraint": {"topology": "b"}}],
        },
        "status": {
            "resourcesStatus": {"allocated": {"cpu": "0", "nvidia.com/gpu": 1}},
            "schedulingConditions": [{"status": "False", "message": "no room"}],
        },
    }
    (_, found) = of(tmp_path, group).groups
    assert found == LiveGroup(
        "ml",
        "z",
        (("Job", "j"),),
        "train",
        True,
        (),
        "q",
        "h100",
        "t",
        ("f",),
        3,
        {"x": 2, "y": None},
        frozenset("ab"),
    )
    group["status"] = {"resourcesStatus": {"allocated": {"cpu": "0", "memory": "0"}}}
    group["spec"] = {"minMember": 2}
    (_, idle) = of(tmp_path, group).groups
    assert (idle.is_allocated, idle.minimum, idle.sub_groups) == (False, 2, {})
    assert len({found, idle}) == 2


def test_queues_and_topologies(tmp_path: Path) -> None:
    shown = {"displayName": "Team", "parentQueue": "all"}
    labels = {"kai.scheduler/node-pool": "h100"}
    items = (
        {"kind": "Queue", "metadata": {"name": "a", "labels": labels}, "spec": shown},
        {
            "kind": "Topology",
            "metadata": {"name": "t"},
            "spec": {"levels": [{"nodeLabel": "zone"}, {"nodeLabel": "rack"}]},
        },
    )
    found = of(tmp_path, *items)
    assert found.queues == (QueueInCluster("a", "Team", "all", "h100"),)
    assert found.topologies == {"t": ("zone", "rack")}


def test_a_file_without_podgroups_and_pods_says_nothing(tmp_path: Path) -> None:
    file = str(tmp_path / "a")
    Path(file).write_text('{"kind": "Queue", "metadata": {"name": "q"}}')
    with pytest.raises(TasError) as raised:
        ask_cluster(Cluster(ClusterAccess(), file), "default")
    assert raised.value.message == f"{file} has neither PodGroups nor Pods: whether work waits cannot be told"
    assert raised.value.hint == (
        "Give what this prints: kubectl get "
        "nodes,pods,events,queues.scheduling.run.ai,podgroups.scheduling.run.ai -A -o json"
    )
    Path(file).write_text('{"kind": "Pod", "metadata": {"name": "p"}}')
    gaps = ask_cluster(Cluster(ClusterAccess(), file), "default", {"Job": "jobs.batch"}).gaps
    assert gaps == dict.fromkeys(("PodGroup", "Event", "Queue", "Node", "Job"), f"{file} has none")


class Asked:
    """A kubectl that refuses some questions, and tells what it was asked."""

    def __init__(self, **refused: TasError) -> None:
        self.refused = refused
        self.questions: list[tuple[str, bool, str | None]] = []

    def get(self, access: ClusterAccess, resource: str, *, namespaced: bool = False) -> list[Item]:
        self.questions.append((resource, namespaced, access.namespace))
        error = self.refused.get(f"{resource.partition('.')[0]}_{access.namespace or 'all'}")
        if error is not None:
            raise error
        return []


NO = ForbiddenError("no")
ALL = [
    ("podgroups.scheduling.run.ai", True, None),
    ("pods", True, None),
    ("events", True, "ml"),
    ("queues.scheduling.run.ai", False, None),
    ("nodes", False, None),
    ("jobs.batch", True, "ml"),
]


@pytest.mark.parametrize(
    ("refused", "gaps", "again"),
    [
        ({}, {}, []),
        ({"pods_all": NO}, {"Pod": "only those of namespace ml are: no"}, ["pods"]),
        ({"podgroups_all": NO}, {"PodGroup": "only those of namespace ml are: no"}, ["podgroups.scheduling.run.ai"]),
        ({"pods_all": NO, "pods_ml": TasError("nor there")}, {"Pod": "nor there"}, ["pods"]),
        ({"pods_all": TasError("too many")}, {"Pod": "too many"}, []),
        ({"events_ml": NO, "nodes_all": NO, "jobs_ml": TasError("x")}, {"Event": "no", "Node": "no", "Job": "x"}, []),
    ],
)
def test_what_may_not_be_read_is_a_gap(
    refused: dict[str, TasError], gaps: dict[str, str], again: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Asked(**refused)
    monkeypatch.setattr(kubectl, "get", fake.get)
    assert ask_cluster(Cluster(ClusterAccess()), "ml", {"Job": "jobs.batch"}).gaps == gaps
    repeated = [(resource, True, "ml") for resource in again]
    assert [item for item in fake.questions if item in ALL] == ALL
    assert [item for item in fake.questions if item not in ALL] == repeated


@pytest.mark.parametrize("refused", [{"podgroups_all": TasError("gone")}, {"podgroups_all": NO, "podgroups_ml": NO}])
def test_without_podgroups_nothing_can_be_told(refused: dict[str, TasError], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubectl, "get", Asked(**refused).get)
    with pytest.raises(TasError, match=r"^(gone|no)$"):
        ask_cluster(Cluster(ClusterAccess()), "ml")


def test_pods_of_one_namespace_may_not_be_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeKubectl(tmp_path, monkeypatch)
    fake.knows("default", pod_group("q"))
    (tmp_path / "default/events").write_text('{"items": []}')
    assert "Pod" not in ask_cluster(Cluster(ClusterAccess()), "ml").gaps
    gaps = ask_cluster(Cluster(ClusterAccess(namespace="ml")), "ml").gaps
    assert gaps["Pod"] == "only those of namespace ml are asked for"
