"""Tests which parts of objects a record of a cluster keeps: what commands read of each kind, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.live import kubectl
from kubectl_tas.live.cluster_state import record
from kubectl_tas.live.kubectl import ClusterAccess, ForbiddenError, NoSuchResourceError

Item = dict[str, Any]
KEPT = """\
- kind: ClusterTopology
  metadata: {name: x}
  spec: {levels: [{domain: rack, key: a, whole: x}]}
- kind: ClusterTopologyBinding
  metadata: {name: x}
  spec: {levels: [{domain: rack, key: a, whole: x}]}
- kind: Deployment
  metadata: {name: x, namespace: ml}
  spec: {template: {spec: {containers: [{name: main, image: a}]}}}
- kind: Node
  metadata: {name: x, labels: {zone: a, whole: x}}
  spec: {unschedulable: true, taints: [{key: a, whole: x}]}
  status: {allocatable: {cpu: 1, whole: x}, conditions: [{type: Ready, status: 'True'}]}
- kind: Pod
  metadata: &of_pod
    name: failed
    namespace: ml
    ownerReferences: [{kind: Job, name: x}]
    deletionTimestamp: a
    finalizers: [a]
    labels: {kubectl-tas/workflow: x}
    annotations: {pod-group-name: x, kubernetes.io/config.mirror: x}
    creationTimestamp: a
  spec: &running
    nodeName: a
    schedulerName: a
    overhead: {cpu: 1, whole: x}
    containers: [{resources: {requests: {cpu: 1, whole: x}, limits: {cpu: 1, whole: x}}}]
    initContainers: [{resources: {requests: {cpu: 1, whole: x}, limits: {cpu: 1, whole: x}}, restartPolicy: Always}]
    resources: {requests: {cpu: 1, whole: x}, limits: {cpu: 1, whole: x}}
  status:
    phase: Failed
    startTime: a
    reason: Evicted
    message: a
    containerStatuses: &ended
    - name: main
      state: {waiting: {reason: a}, terminated: {reason: a, exitCode: 1}}
    initContainerStatuses: *ended
- kind: Pod
  metadata: {<<: *of_pod, name: starting}
  spec: *running
  status: {phase: Pending, containerStatuses: *ended}
- kind: Pod
  metadata: {<<: *of_pod, name: up}
  spec: *running
  status: {phase: Running, startTime: a}
- kind: Pod
  metadata:
    name: waiting
    namespace: ml
    ownerReferences: [{kind: Job, name: x}]
    deletionTimestamp: a
    finalizers: [a]
    labels:
      app.kubernetes.io/part-of: x
      kai.scheduler/subgroup-name: x
      kubectl-tas/workflow: x
      kubectl-tas/task: x
    annotations: {pod-group-name: x, kai.scheduler/skip-podgrouper: x}
  spec:
    schedulerName: a
    overhead: {cpu: 1, whole: x}
    containers: [{resources: {requests: {cpu: 1, whole: x}, limits: {cpu: 1, whole: x}}}]
    initContainers: [{resources: {requests: {cpu: 1, whole: x}, limits: {cpu: 1, whole: x}}, restartPolicy: Always}]
    resources: {requests: {cpu: 1, whole: x}, limits: {cpu: 1, whole: x}}
    nodeSelector: {whole: x}
    affinity: {whole: x}
    tolerations: [{key: a, whole: x}]
    schedulingGates: [{name: a, whole: x}]
    restartPolicy: Never
  status: {phase: Pending, conditions: [{type: a, status: a, reason: a, message: a}]}
- kind: PodClique
  metadata: {name: x, namespace: ml, labels: {app.kubernetes.io/part-of: x}}
  status: {scheduledReplicas: 1}
- kind: PodCliqueSet
  metadata: {name: x, namespace: ml}
  spec:
    template:
      clusterTopologyName: a
      topologyConstraint: {packDomain: a, whole: x}
      podCliqueScalingGroups: [{topologyConstraint: {packDomain: a, whole: x}}]
      cliques: [{topologyConstraint: {packDomain: a, whole: x}}]
- kind: PodGroup
  metadata:
    name: x
    namespace: ml
    ownerReferences: [{kind: Job, name: x}]
    deletionTimestamp: a
    finalizers: [a]
    labels: {kubectl-tas/workflow: x, kai.scheduler/node-pool: x}
    creationTimestamp: a
  spec:
    queue: a
    priorityClassName: a
    preemptibility: a
    minMember: 1
    subGroups: [{name: a, whole: x}]
    topologyConstraint: {topology: a, whole: x}
  status:
    running: 1
    resourcesStatus: {allocated: {cpu: 1, whole: x}}
    schedulingConditions:
    - {nodePool: a, type: a, status: a, reason: a, message: a, reasons: [{reason: a, message: a}]}
- kind: PriorityClass
  metadata: {name: x, labels: {whole: x}, annotations: {whole: x}}
  value: 1
  globalDefault: true
  description: a
- kind: Queue
  metadata: {name: x, labels: {whole: x}, annotations: {whole: x}, creationTimestamp: a}
  spec: {parentQueue: a, whole: x}
  status: {allocated: {cpu: 1, whole: x}, allocatedNonPreemptible: {cpu: 1, whole: x}, requested: {cpu: 1, whole: x}}
- kind: Topology
  metadata: {name: x, labels: {whole: x}, annotations: {whole: x}}
  spec: {levels: [{nodeLabel: a}], whole: x}
"""
"""Objects of which every part is kept, in the order of a record. A mapping that is kept whole says so."""
RESOURCES = {
    "Queue": "queues.scheduling.run.ai",
    "PodGroup": "podgroups.scheduling.run.ai",
    "Node": "nodes",
    "Pod": "pods",
    "Topology": "topologies.kai.scheduler",
    "SchedulingShard": "schedulingshards.kai.scheduler",
    "PriorityClass": "priorityclasses.scheduling.k8s.io",
    "Deployment": "deployments.apps",
    "PodCliqueSet": "podcliquesets.grove.io",
    "PodClique": "podcliques.grove.io",
    "ClusterTopology": "clustertopologies.grove.io",
    "ClusterTopologyBinding": "clustertopologybindings.grove.io",
}


def objects() -> list[Item]:
    return [{"apiVersion": "a/v1", **item} for item in yaml.safe_load(KEPT)]


def with_more(value: Any) -> Any:
    """A value with one more field in each mapping that is not kept whole."""
    if isinstance(value, list):
        return [with_more(part) for part in value]
    if not isinstance(value, dict) or "whole" in value:
        return value
    return {**{key: with_more(part) for key, part in value.items()}, "secret": "x"}


class Cluster:
    """What kubectl gets from a cluster, and what it was asked."""

    def __init__(self, *items: Item, refused: dict[str, TasError] | None = None) -> None:
        self.items, self.refused = items, refused or {}
        self.asked: list[tuple[str, bool, str | None]] = []

    def get(self, access: ClusterAccess, resource: str, *, namespaced: bool = False) -> list[Item]:
        self.asked.append((resource, namespaced, access.namespace))
        if resource in self.refused:
            raise self.refused[resource]
        return [item for item in self.items if RESOURCES[item["kind"]] == resource]


def test_what_is_kept_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(*map(with_more, reversed(objects())))
    monkeypatch.setattr(kubectl, "get", cluster.get)
    assert list(record(ClusterAccess()).objects) == objects()


def test_each_kind_is_asked_for_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of all namespaces, since all share the nodes; KAI's own deployments tell its release."""
    cluster = Cluster()
    monkeypatch.setattr(kubectl, "get", cluster.get)
    found = record(ClusterAccess(namespace="ml"))
    assert cluster.asked == [
        ("queues.scheduling.run.ai", False, "ml"),
        ("podgroups.scheduling.run.ai", True, "ml"),
        ("nodes", False, "ml"),
        ("pods", True, None),
        ("topologies.kai.scheduler", False, "ml"),
        ("topologies.kueue.x-k8s.io", False, "ml"),
        ("schedulingshards.kai.scheduler", False, "ml"),
        ("priorityclasses.scheduling.k8s.io", False, "ml"),
        ("podcliquesets.grove.io", True, "ml"),
        ("podcliques.grove.io", True, "ml"),
        ("clustertopologies.grove.io", False, "ml"),
        ("clustertopologybindings.grove.io", False, "ml"),
        ("deployments.apps", True, "kai-scheduler"),
    ]
    assert (found.kinds, found.namespace) == (tuple(sorted(set(RESOURCES) - {"Deployment"})), "ml")


ABSENT, FORBIDDEN, FAILED = NoSuchResourceError("no such"), ForbiddenError("forbidden"), TasError("failed")


@pytest.mark.parametrize("resource", [name for name in RESOURCES.values() if name != "deployments.apps"])
def test_kinds_that_cannot_be_read(resource: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queues and PodGroups are needed. Pods may be too many to read."""
    kind = next(kind for kind, name in RESOURCES.items() if name == resource)
    is_needed = kind in ("Queue", "PodGroup")
    for error, hidden in ((ABSENT, {}), (FORBIDDEN, {kind: "forbidden"}), (FAILED, {kind: "failed"})):
        monkeypatch.setattr(kubectl, "get", Cluster(refused={resource: error}).get)
        if is_needed or (error is FAILED and kind != "Pod"):
            with pytest.raises(TasError, match=error.message):
                record(ClusterAccess())
            continue
        found = record(ClusterAccess())
        assert found.hidden == hidden
        assert set(RESOURCES) - {"Deployment"} - set(found.kinds) == ({kind} if kind != "Topology" else set())


@pytest.mark.parametrize(
    ("metadata", "phase", "is_kept"),
    [
        ({"annotations": {"pod-group-name": "x"}}, "Pending", True),
        ({"labels": {"kai.scheduler/queue": "x"}}, "Pending", True),
        ({"annotations": {"pod-group-name": "x"}}, "Succeeded", False),
        ({"annotations": {"other": "x"}}, "Pending", False),
        ({"annotations": ["pod-group-name"]}, "Pending", False),
        (None, "Pending", False),
    ],
)
def test_pods_without_a_node_are_kept_that_wait_for_kai(
    metadata: object, phase: str, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pod = {"kind": "Pod", "metadata": metadata, "status": {"phase": phase}}
    monkeypatch.setattr(kubectl, "get", Cluster(pod).get)
    assert len(record(ClusterAccess()).objects) == is_kept


def test_an_object_of_a_kind_that_was_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubectl, "get", lambda *_, **__: [{"kind": "Secret", "metadata": {"name": "s"}}])
    with pytest.raises(TasError) as raised:
        record(ClusterAccess())
    assert raised.value.message == "the cluster answers with a 'Secret', which was not asked for"
    assert raised.value.hint == "KUBECTL_PATH may name a program that is not kubectl."
