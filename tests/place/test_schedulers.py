"""Tests what a scheduler begins with: its shard of the nodes, the gangs that run there, and those that wait."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.facts.gpus import GPU
from kubectl_tas.facts.quantities import Amounts
from kubectl_tas.model.labels import NODE_POOL
from kubectl_tas.place.fairshare import QueueTree
from kubectl_tas.place.gangs_to_place import GangToPlace, unplaced
from kubectl_tas.place.node_resources import read_nodes
from kubectl_tas.place.schedulers import SeenCluster, ShardScheduler, schedulers
from kubectl_tas.place.scheduling_session import SessionPod, Work
from tests.support.cli import pool
from tests.support.fleets import fleet_of
from tests.support.kubectl import node
from tests.support.whycauses import job

Item = dict[str, Any]
UID = "0a1b2c3d-0000-0000-0000-000000000000"
FILES = {
    "pools/team.yaml": pool(spec="  topology_keys: [{key: rack, label: rack}]\n"),
    "pools/blue.yaml": pool("blue", spec="  nodePool: blue\n"),
    "workflows/low.yaml": job("low", "team", 2, priority="LOW"),
    "workflows/blue.yaml": job("blue", "blue", 1),
}


def pod(name: str, group: str, where: str | None = None, gpus: int = 8, **labels: str) -> Item:
    metadata = {"name": name, "labels": labels, "annotations": {"pod-group-name": group}}
    containers = [{"name": "c", "resources": {"requests": {GPU: gpus}}}]
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers} | ({"nodeName": where} if where else {}),
    }


def group(name: str, **spec: Any) -> Item:
    return {"kind": "PodGroup", "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": spec}


def begun(*items: Item, files: dict[str, str] = FILES) -> dict[str | None, ShardScheduler]:
    """The schedulers of these files, where the cluster has a node of each shard and these objects, by shard."""
    fleet = fleet_of(files)
    gangs = [item for item in unplaced(fleet, fleet.submissions) if isinstance(item, GangToPlace)]
    objects = [node("n", 8), node("b", 4, **{NODE_POOL: "blue"}), *items]
    trees = {None: QueueTree(()), "blue": QueueTree(())}
    seen = SeenCluster(read_nodes(objects), objects, trees, {"q": "team"})
    return {found.shard: found for found in schedulers(fleet.backends[0], gangs, seen)}


def pods_of(work: Work) -> list[tuple[str, str, str | None]]:
    return [(one.name, one.unit, one.node) for one in work.pods]


def test_each_shard_has_its_own_nodes_and_work() -> None:
    found = begun()
    assert {shard: [one.name for one in item.start.nodes] for shard, item in found.items()} == {
        None: ["n"],
        "blue": ["b"],
    }
    assert {shard: item.start.total.gpu for shard, item in found.items()} == {None: 8, "blue": 4}
    assert {shard: [one.name for one in item.jobs] for shard, item in found.items()} == {
        None: ["pg-low"],
        "blue": ["pg-blue"],
    }
    assert all(item.called == {"q": "team"} and item.running == () for item in found.values())


def test_a_gang_that_waits_is_known_by_its_file() -> None:
    (work,) = begun()[None].jobs
    assert (work.name, work.queue, work.priority, work.is_preemptible, work.age, work.levels, work.is_known) == (
        "pg-low",
        "osmo-pool-default-team--shared",
        50,
        True,
        (True, "000000000", "pg-low"),
        ("rack",),
        True,
    )
    assert pods_of(work) == [("0", "pg-low", None), ("1", "pg-low", None)]
    assert [(one.shape, one.amounts) for one in work.pods] == [(0, Amounts(8)), (0, Amounts(8))]
    assert dict(work.least) == {"pg-low": 2}


def test_pods_beyond_the_minimum_wait_too() -> None:
    files = {**FILES, "workflows/low.yaml": job("low", "team", 3, priority="LOW").replace('member: "3"', 'member: "1"')}
    (work,) = begun(files=files)[None].jobs
    assert pods_of(work) == [(str(number), "pg-low", None) for number in range(3)]
    assert dict(work.least) == {"pg-low": 1}


def test_jobs_of_one_gang_wait_as_one() -> None:
    gang = FILES["workflows/low.yaml"].replace(
        "kubectl-tas/pool: team", "kubectl-tas/pool: team, kubectl-tas/gang: all"
    )
    found = begun(files={**FILES, "workflows/low.yaml": f"{gang}---\n{gang.replace('name: low', 'name: other')}"})
    assert [len(work.pods) for work in found[None].jobs] == [4]


def test_a_gang_that_runs_is_what_its_file_says_and_waits_no_more() -> None:
    """Though its PodGroup says otherwise. A pod that waits is part of it."""
    name = f"pg-low-{UID}"
    items = [group(name, queue="q", priorityClassName="high"), pod("x", name, "n"), pod("y", name)]
    found = begun(*items)[None]
    assert (found.jobs, [(item.gang.name, names) for item, names in found.running]) == ((), [("pg-low", (name,))])
    (work,) = found.start.works
    assert (work.name, work.queue, work.priority, work.is_preemptible, work.age, work.levels, work.is_known) == (
        name,
        "q",
        50,
        True,
        (False, "2026-01-01T00:00:00Z", name),
        ("rack",),
        True,
    )
    assert pods_of(work) == [("x", "pg-low", "n"), ("y", "pg-low", None)]
    assert dict(work.least) == {"pg-low": 2}


def test_a_gang_of_others_is_what_its_pod_group_says() -> None:
    parts = [{"name": "a", "minMember": 1}, {"name": "b", "minMember": 2}]
    items = [
        group("g", queue="q", subGroups=parts, preemptibility="preemptible"),
        pod("x", "g", "n", **{"kai.scheduler/subgroup-name": "a"}),
        pod("y", "g", "n", 4, **{"kai.scheduler/subgroup-name": "b"}),
        pod("z", "g"),
    ]
    (work,) = begun(*items)[None].start.works
    assert (work.queue, work.priority, work.is_preemptible, work.levels, work.is_known) == ("q", 50, True, (), True)
    assert pods_of(work) == [("x", "a", "n"), ("y", "b", "n"), ("z", "g", None)]
    assert [one.shape for one in work.pods] == [0, 1, 0]
    assert dict(work.least) == {"a": 1, "b": 2}
    assert work.request is not None
    assert [unit.name for unit in work.request.unit.units] == ["g", "a", "b"]


@pytest.mark.parametrize(
    ("spec", "pods", "least", "is_known"),
    [
        ({"queue": "q", "minMember": 1}, 2, {"g": 1}, True),
        ({"queue": "q"}, 2, {"g": 2}, False),
        ({"queue": "q"}, 1, {"g": 1}, True),
        ({}, 1, {"g": 1}, True),
    ],
)
def test_of_a_gang_without_a_minimum_all_pods_are_needed(
    spec: Item, pods: int, least: dict[str, int], is_known: bool
) -> None:
    (work,) = begun(group("g", **spec), *(pod(f"p{number}", "g", "n", 1) for number in range(pods)))[None].start.works
    assert (dict(work.least), work.is_known, work.queue) == (least, is_known, spec.get("queue", ""))
    assert (work.request is None) == (not spec)


def test_a_gang_is_there_only_with_its_pods_on_nodes_of_the_shard() -> None:
    """What of it waits is of the shard where it runs."""
    items = [group("g", queue="q"), pod("x", "g", "b", 4), pod("y", "g")]
    found = begun(*items)
    assert found[None].start.works == ()
    assert [pods_of(work) for work in found["blue"].start.works] == [[("x", "g", "b"), ("y", "g", None)]]


def test_gangs_of_one_name_are_told_apart_and_copies_are_numbered() -> None:
    low = FILES["workflows/low.yaml"]
    files = {
        "pools/team.yaml": pool(spec="  namespaces: [a, b]\n"),
        **{f"workflows/{name}.yaml": low.replace("labels:", f"namespace: {name}\n  labels:") for name in "ab"},
    }
    assert [work.name for work in begun(files=files)[None].jobs] == ["Job/a/pg-low", "Job/b/pg-low"]
    deployment = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {kubectl-tas/pool: team}}
spec:
  replicas: 3
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: i}]}
"""
    runs = f"pg-web-6f5d-x1-{UID}"
    found = begun(pod("x", runs, "n", 0), files={**FILES, "workflows/low.yaml": deployment})[None]
    assert list(found.gangs) == ["pg-web (2 of 3)", "pg-web (3 of 3)"]
    assert [work.age for work in found.jobs] == [
        (True, "000000000", "pg-web (2 of 3)"),
        (True, "000000001", "pg-web (3 of 3)"),
    ]


def gang_of(**units: tuple[int, int, int]) -> Work:
    """A gang of SubGroups, each with its minimum, its pods on nodes, and its pods that wait."""
    pods = [
        SessionPod(f"{name}{at}", name, {GPU: 1}, node="n" if at < there else None)
        for name, (_, there, waiting) in units.items()
        for at in range(there + waiting)
    ]
    least = {name: needed for name, (needed, _, _) in units.items()}
    return Work("g", "q", 50, True, (False, "", "g"), tuple(pods), least)


@pytest.mark.parametrize(
    ("gang", "starts", "goes", "part"),
    [
        (gang_of(a=(1, 0, 2), b=(2, 0, 3)), ["a0", "b0", "b1"], [], 0),
        (gang_of(a=(1, 1, 1), b=(2, 1, 3)), ["b1"], ["b0", "a0"], 0),
        (gang_of(a=(1, 0, 0), b=(2, 1, 3)), [], ["b0"], 0),
        (gang_of(a=(1, 1, 1), b=(2, 2, 1)), ["a1"], ["b1", "b0", "a0"], 1),
        (gang_of(a=(1, 3, 1), b=(2, 3, 1)), ["b3"], ["a2"], 2),
        (gang_of(a=(1, 1, 0), b=(2, 4, 0)), [], ["b3"], 2),
        (gang_of(a=(1, 1, 1), c=(0, 1, 1)), ["a1"], ["c0"], 2),
    ],
    ids=range(7),
)
def test_which_pods_of_a_gang_start_and_go_next(gang: Work, starts: list[str], goes: list[str], part: int) -> None:
    """All that the minimum lacks, or one of the SubGroup that has the smallest part; one of the fullest, or all."""
    assert [pod.name for pod in gang.next_pods()] == starts
    assert [pod.name for pod in gang.next_to_go(gang.active)] == goes
    assert gang.rank(gang.active) == (-50, part, (False, "", "g"))
