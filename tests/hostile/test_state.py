"""Tests states of a cluster with an odd value in any place: each command answers or refuses, and never fails."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.cli.main import cli, load
from kubectl_tas.facts import kai
from kubectl_tas.imports.from_cluster import ImportOptions, import_cluster
from kubectl_tas.live import cluster_state, kubectl
from kubectl_tas.live.kubectl import ClusterAccess, NamedContent
from kubectl_tas.live.live_cluster import Cluster
from kubectl_tas.live.reasons import ask_cluster
from kubectl_tas.place.kai_snapshot import SnapshotScheduler, snapshot
from kubectl_tas.place.node_resources import read_nodes
from kubectl_tas.place.queues import held_gangs, total_resources, trees
from kubectl_tas.place.uncharged import holdings, objects_of
from tests.hostile.test_kubectl import paths, replaced
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.history import commit
from tests.support.kubectl import GPU

Item = dict[str, Any]
A, B, SHARED, ROOT = (f"osmo-pool-default-team{end}" for end in ("--a", "--b", "--shared", ""))
RACK = "example.com/rack"
WHEN = "2026-01-01T00:00:00Z"
OWNER = [{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u"}]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
EXPRESSION = {"key": "a", "operator": "In", "values": ["b"]}
ABSENT = object()
VALUES: dict[str, object] = {
    "absent": ABSENT,
    "null": None,
    "true": True,
    "negative": -1,
    "large": 2**40,
    "huge": 10**4000,
    "fraction": 1.5,
    "nan": float("nan"),
    "infinite": float("inf"),
    "empty": "",
    "text": "x",
    "path": "../../x",
    "controls": "a\x00b\x1b[2J\n::error::y",
    "half": "\ud800",
    "long": "x" * 100_000,
    "list": [],
    "list of a number": [1],
    "list of a text": ["x"],
    "list of null": [None],
    "list of an object": [{"name": "x"}],
    "object": {},
    "object of a number": {"name": 1},
    "object of an object": {"a": {"b": 1}},
    "object of an odd key": {"": "x", "y" * 400: "z"},
}


def queue(name: str, parent: str = "", **metadata: Any) -> Item:
    share = {"quota": 8, "limit": -1, "overQuotaWeight": 1}
    held = {"nvidia.com/gpu": "2", "cpu": "500m", "memory": "1Gi"}
    return {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": name, "creationTimestamp": WHEN, "labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {
            "displayName": name,
            "parentQueue": parent,
            "priority": 100,
            "preemptMinRuntime": "1m",
            "resources": {"gpu": share, "cpu": share, "memory": share},
        },
        "status": {"allocated": held, "allocatedNonPreemptible": held, "requested": held},
    }


def pod(name: str, node: str | None, group: str | None = "train-0", **spec: Any) -> Item:
    container = {
        "name": "main",
        "image": "i",
        "restartPolicy": "Always",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {GPU: "2"}},
        "ports": [{"containerPort": 80, "hostPort": 80}],
        "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}],
        "envFrom": [{"configMapRef": {"name": "c"}}],
    }
    rule = {REQUIRED: [{"topologyKey": "z", "labelSelector": {}}]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [EXPRESSION], "matchFields": [EXPRESSION]}]}
    volumes = [
        {"name": "v", "configMap": {"name": "c"}},
        {"name": "w", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "x", "projected": {"sources": [{"configMap": {"name": "c"}}]}},
        {"name": "y", "ephemeral": {"volumeClaimTemplate": {}}},
    ]
    state = [{"name": "main", "state": {"waiting": {"reason": "r", "message": "m"}, "terminated": {"exitCode": 1}}}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": "u",
            "creationTimestamp": WHEN,
            "deletionTimestamp": None,
            "finalizers": ["f"],
            "ownerReferences": OWNER,
            "labels": {"kai.scheduler/queue": A, "kai.scheduler/subgroup-name": "s", "app.kubernetes.io/part-of": "s"},
            "annotations": {**({"pod-group-name": group} if group else {})},
        },
        "spec": {
            **({"nodeName": node} if node else {}),
            "schedulerName": "kai-scheduler",
            "priorityClassName": "train",
            "priority": 50,
            "restartPolicy": "Never",
            "overhead": {"cpu": "10m"},
            "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}},
            "nodeSelector": {"a": "b"},
            "tolerations": [{"key": "k", "operator": "Equal", "value": "v", "effect": "NoSchedule"}],
            "affinity": {"nodeAffinity": {REQUIRED: terms}, "podAffinity": rule, "podAntiAffinity": rule},
            "schedulingGates": [] if node else [{"name": "g"}],
            "resourceClaims": [{"name": "c"}],
            "hostNetwork": False,
            "containers": [container],
            "initContainers": [container],
            "volumes": volumes,
            **spec,
        },
        "status": {
            "phase": "Running" if node else "Pending",
            "startTime": WHEN,
            "reason": "r",
            "message": "m",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "r", "message": "m"}],
            "containerStatuses": state,
            "initContainerStatuses": state,
        },
    }


def state() -> list[Item]:
    """One object of each kind that is read, and each field that is read of it."""
    constraint = {"topology": "racks", "requiredTopologyLevel": RACK}
    asked = {"topologyConstraint": {"topologyName": "racks", "packDomain": "rack", "pack": {"required": "rack"}}}
    group = {
        "apiVersion": "scheduling.run.ai/v2alpha2",
        "kind": "PodGroup",
        "metadata": {
            "name": "train-0",
            "namespace": "default",
            "creationTimestamp": WHEN,
            "finalizers": ["f"],
            "ownerReferences": OWNER,
            "labels": {"kubectl-tas/workflow": "w", "kai.scheduler/node-pool": "p"},
        },
        "spec": {
            "queue": A,
            "priorityClassName": "train",
            "preemptibility": "preemptible",
            "minMember": 2,
            "topologyConstraint": constraint,
            "subGroups": [
                {"name": "s", "parent": "t", "minMember": 1, "topologyConstraint": constraint},
                {"name": "t", "minMember": 1},
            ],
        },
        "status": {
            "running": 1,
            "resourcesStatus": {"allocated": {GPU: "2"}},
            "schedulingConditions": [
                {
                    "nodePool": "default",
                    "type": "UnschedulableOnNodePool",
                    "status": "True",
                    "reason": "r",
                    "message": "m",
                    "reasons": [{"reason": "r", "message": "m"}],
                }
            ],
        },
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {RACK: "r1", "kubernetes.io/hostname": "n"}},
        "spec": {"unschedulable": False, "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {GPU: "8", "cpu": "64", "memory": "512Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "r", "message": "m"}],
        },
    }
    grove = {"spec": {"levels": [{"domain": "rack", "key": RACK}]}}
    cliques = {"podCliqueScalingGroups": [asked], "cliques": [asked], "clusterTopologyName": "racks", **asked}
    job = {"suspend": False, "parallelism": 1}
    image = {"containers": [{"name": "scheduler", "image": "kai/scheduler:v0.12.0"}]}
    return [
        {"apiVersion": "tas/v1alpha1", "kind": "ClusterState", "kinds": ["Queue", "PodGroup", "Node", "Pod"]},
        queue(ROOT),
        queue(A, ROOT),
        queue(B, ROOT),
        queue(SHARED, ROOT),
        group,
        node,
        pod("train-0-0", "n"),
        pod("train-0-1", None),
        pod("alone", "n", None),
        pod("other", "n", "gone", schedulerName="default-scheduler"),
        {
            "apiVersion": "kai.scheduler/v1alpha1",
            "kind": "Topology",
            "metadata": {"name": "racks", "labels": {"a": "b"}, "annotations": {"a": "b"}},
            "spec": {"levels": [{"nodeLabel": RACK, "alias": "rack"}]},
        },
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "train"},
            "value": 50,
            "globalDefault": False,
            "description": "d",
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "scheduler", "namespace": "kai-scheduler"},
            "spec": {"template": {"spec": image}},
        },
        {"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology", "metadata": {"name": "racks"}, **grove},
        {"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopologyBinding", "metadata": {"name": "b"}, **grove},
        {
            "apiVersion": "grove.io/v1alpha1",
            "kind": "PodCliqueSet",
            "metadata": {"name": "s", "namespace": "default"},
            "spec": {"template": cliques},
        },
        {
            "apiVersion": "grove.io/v1alpha1",
            "kind": "PodClique",
            "metadata": {"name": "c", "namespace": "default", "labels": {"app.kubernetes.io/part-of": "s"}},
            "status": {"scheduledReplicas": 1},
        },
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "train", "namespace": "default", "labels": {"a": "b"}, "finalizers": ["f"]},
            "spec": job,
            "status": {"conditions": [{"type": "Failed", "status": "False", "reason": "r", "message": "m"}]},
        },
        {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "e", "namespace": "default"},
            "type": "Warning",
            "reason": "Unschedulable",
            "message": "m",
            "count": 2,
            "series": {"count": 2, "lastObservedTime": WHEN},
            "lastTimestamp": WHEN,
            "involvedObject": {"kind": "PodGroup", "name": "train-0", "namespace": "default"},
        },
        {
            "apiVersion": "scheduling.run.ai/v1alpha2",
            "kind": "BindRequest",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"podName": "p", "selectedNode": "n"},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "c", "namespace": "default"},
            "spec": {"volumeName": "v"},
            "status": {"phase": "Bound"},
        },
    ]


COMMANDS: dict[str, tuple[str, ...]] = {
    "admit": ("workflows/w.yaml",),
    "diff": ("HEAD", "--assume", "1h"),
    "fit": ("--all",),
    "forecast": ("--assume", "1h", "--now", "2026-11-29T04:00Z"),
    "import cluster": ("--to", "imported"),
    "pool describe": ("team",),
    "pool list": (),
    "pool plan": ("team", "--grow", "1", "--quota", "16", "--assume", "1h"),
    "pool share": (),
    "report": ("--to", "site"),
    "snapshot": ("--to", "snapshot.gzip"),
    "subpool drain": ("--dry-run",),
    "subpool retire": ("team", "a", "--dry-run"),
    "topology suggest": (),
    "topology usage": (),
    "validate": (),
    "why": ("Job/train",),
    "workflow list": (),
    "workflow why": ("Job/train",),
}
"""Each command that reads the state of a cluster, with its arguments."""
NODES = ("diff", "fit", "forecast", "pool plan", "pool share", "snapshot")
"""Those that take --nodes too."""
NEITHER = ("mcp", "nodes generate")
"""Those that only pass the file on, or count nodes."""
WORK = """\
workflow: {name: w, pool: team--a, tasks: [{name: t, image: i}]}
resources: {default: {gpu: 4}}
"""
JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, labels: {kubectl-tas/pool: team--a}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: "i:1", resources: {limits: {nvidia.com/gpu: 2}}}]}
"""
RACKS = """\
apiVersion: grove.io/v1alpha1
kind: ClusterTopology
metadata: {name: racks}
spec: {levels: [{domain: rack, key: example.com/rack}]}
"""


@pytest.fixture
def team(repository: Path) -> Path:
    files = {
        "pools/team.yaml": pool(guarantee=8),
        "subpools/a.yaml": subpool("a", 4),
        "subpools/b.yaml": subpool("b", 2, state="DELETING"),
        "topologies/racks.yaml": RACKS,
        "workflows/w.yaml": WORK,
        "workflows/train.yaml": JOB,
    }
    commit(write(repository, {**files, "pools/team.yaml": pool(guarantee=7)}))
    return write(repository, files)


def asked(team: Path, items: object, commands: Iterable[str] = tuple(COMMANDS)) -> Iterator[tuple[str, int, str, str]]:
    """What each command answers of a state: the command, its exit code, and what it prints."""
    (team / "state.json").write_text(json.dumps(items))
    for command in commands:
        words = COMMANDS[command]
        for option in ("--cluster-state", *(("--nodes",) if command in NODES else ())):
            result = kubectl_tas(*command.split(), *words, option, "state.json", cwd=team)
            yield f"{command} {option}", result.code, result.out, result.err


def judge(team: Path, items: object, place: object, commands: Iterable[str]) -> None:
    for command, code, out, err in asked(team, items, commands):
        assert "internal error" not in err, (place, command, err)
        assert "Traceback" not in err, (place, command, err)
        assert code in (0, 1, 3), (place, command, err)
        assert not re.search("^::|\x1b", out + err, re.MULTILINE), (place, command)


def options_of(command: click.Command) -> set[str]:
    return {option for parameter in command.params for option in parameter.opts}


def commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[str]:
    """The commands with --cluster-state or --nodes."""
    context = click.Context(command)
    for name in command.list_commands(context):
        below = load(name) if command is cli else command.get_command(context, name)
        if hasattr(below, "list_commands"):
            yield from commands(below, (*words, name))
        elif options_of(below) & {"--cluster-state", "--nodes"}:
            yield " ".join((*words, name))


def test_no_command_is_forgotten() -> None:
    assert sorted(commands(cli)) == sorted((*COMMANDS, *NEITHER))


def test_a_state_that_is_right(team: Path) -> None:
    """So that no command ends before it has read what the others change."""
    for command, code, _, err in asked(team, state()):
        assert code in (0, 1), (command, err)


def places(items: list[Item]) -> list[tuple[int, tuple[str | int, ...]]]:
    return [(index, path) for index, item in enumerate(items) for path in paths(item)]


def changed(items: list[Item], place: tuple[int, tuple[str | int, ...]], value: object) -> list[object]:
    index, path = place
    if value is ABSENT:
        item = json.loads(json.dumps(items[index]))
        above = item
        for step in path[:-1]:
            above = above[step]
        del above[path[-1]]
        return [*items[:index], item, *items[index + 1 :]]
    return [*items[:index], replaced(items[index], path, value), *items[index + 1 :]]


def test_commands_of_a_state_with_an_odd_value(team: Path) -> None:
    source, items = random.Random(1), state()
    for _ in range(60):
        place, name = source.choice(places(items)), source.choice([*VALUES])
        commands = source.sample([*COMMANDS], 3)
        judge(team, changed(items, place, VALUES[name]), (items[place[0]]["kind"], place[1], name), commands)


@pytest.mark.parametrize("name", VALUES)
def test_readers_of_a_state_with_an_odd_value(name: str) -> None:
    """Every 24th place, by the functions that commands call: each answers, or says what cannot be read."""
    items = state()
    for place in places(items)[len(name) % 24 :: 24]:
        content = json.dumps(changed(items, place, VALUES[name])).encode()
        for read in READERS:
            try:
                read(Cluster(ClusterAccess(), NamedContent.of("a file", content)))
            except TasError:
                continue
            except Exception as error:
                raise AssertionError((items[place[0]]["kind"], place[1], read)) from error


def queues_of(cluster: Cluster) -> None:
    found = cluster.state()
    trees((), found.objects)
    assert all(usage.running is None or usage.running >= 0 for usage in found.queues.values())


def nodes_of(cluster: Cluster) -> None:
    objects = objects_of(cluster)
    nodes = read_nodes(objects.manifests, kubectl.complete_kinds(objects.manifests))
    total_resources(nodes, objects.manifests, "kai-scheduler")


def snapshot_of(cluster: Cluster) -> None:
    release = kai.release("0.17")
    assert release is not None
    snapshot(SnapshotScheduler(release, "kai-scheduler", "kai.scheduler/queue", None), cluster.nodes_and_pods(), ())


def imported(cluster: Cluster) -> None:
    assert cluster.file is not None
    import_cluster(cluster_state.read(cluster.file), ImportOptions())


READERS: tuple[Callable[[Cluster], object], ...] = (
    queues_of,
    nodes_of,
    snapshot_of,
    imported,
    Cluster.nodes,
    Cluster.grove,
    lambda cluster: held_gangs(cluster.nodes_and_pods()),
    lambda cluster: holdings(objects_of(cluster), "kai-scheduler"),
    lambda cluster: ask_cluster(cluster, "default", {"Job": "jobs.batch", "Topology": "topologies.kai.scheduler"}),
)
