"""Tests what a cluster says of work: conditions, containers and events, whatever releases leave out of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.live.kubectl import Access
from kubectl_tas.live.live_cluster import Cluster
from kubectl_tas.live.reasons import Told, told
from tests.support.kubectl import FakeKubectl, pod_group

Item = dict[str, Any]


def of(folder: Path, *items: Item) -> Told:
    """What a cluster of these objects and one PodGroup says."""
    file = folder / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": [pod_group("q"), *items]}))
    return told(Cluster(Access(), str(file)), "default")


def pod(**fields: Any) -> Item:
    return {"kind": "Pod", "metadata": {"name": "p"}, **fields}


def said_of_pod(folder: Path, **status: Any) -> list[tuple[str, str]]:
    (found,) = of(folder, pod(status=status)).pods
    return [(saying.reason, saying.text) for saying in found.said]


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ({"message": "no\n room"}, ("Unschedulable", "no room")),
        ({"reason": "Over"}, ("Over", "")),
        ({"reasons": [{"message": "a"}]}, ("Unschedulable", "a")),
        ({"nodePool": "default", "message": "a"}, ("Unschedulable", "a")),
        ({"nodePool": "h100", "reasons": [{"reason": "Over", "message": "a"}]}, ("Over", "(shard h100) a")),
    ],
)
def test_conditions_of_a_pod_group(condition: Item, said: tuple[str, str], tmp_path: Path) -> None:
    group = pod_group("q", schedulingConditions=[condition])
    group["metadata"]["name"] = "other"
    (_, found) = of(tmp_path, group).groups
    assert [(saying.where, saying.reason, saying.text) for saying in found.said] == [("PodGroup other", *said)]


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


def test_pods_of_one_namespace_may_not_be_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kubectl = FakeKubectl(tmp_path, monkeypatch)
    kubectl.knows("default", pod_group("q"))
    (tmp_path / "default/events").write_text('{"items": []}')
    assert "Pod" not in told(Cluster(Access()), "ml").gaps
    gaps = told(Cluster(Access(namespace="ml")), "ml").gaps
    assert gaps["Pod"] == "only those of namespace ml are asked for"
