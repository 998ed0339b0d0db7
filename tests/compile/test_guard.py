"""Tests that an API server accepts the guard's policies, which refuse only work that bypasses the repository."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kubectl_tas.compile import cel
from kubectl_tas.compile.cel import MAX_ENTRIES, amount_variables
from kubectl_tas.facts import quantities
from kubectl_tas.facts.gpus import GPU, cel_uncounted, cel_variables, is_uncounted
from kubectl_tas.facts.quantities import Amounts
from kubectl_tas.kinds.backdoors import TIMES
from kubectl_tas.model.podtemplate import PodTemplate
from tests.support.admission import (
    MAX_EXPRESSION,
    Object,
    Request,
    count_evaluations,
    evaluate,
    refusals,
    violations,
)
from tests.support.cli import kubectl_tas, pool, subpool, write
from tests.support.golden import GOLDEN, case_input
from tests.support.pyyaml import safe_load_all
from tests.test_gpus import ACCELERATORS, NO_ACCELERATORS

CASE = GOLDEN / "manifests/guard"
KINDS = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
TEAM, SCRATCH = "osmo-pool-ml-team", "osmo-pool-ml-scratch--shared"
LAB = "osmo-pool-lab-bench--shared"
QUEUE, PREEMPTIBILITY = "kai.scheduler/queue", "kai.scheduler/preemptibility"
NORMAL, LOW = 100, 50


def stream(root: Path, *arguments: str) -> list[Object]:
    result = kubectl_tas("render", "--to", "-", *arguments, "-C", root)
    assert result.code == 0, result.err
    return list(safe_load_all(result.out))


def policies(root: Path, *arguments: str) -> list[Object]:
    return [item for item in stream(root, *arguments) if item["kind"] in KINDS]


@pytest.fixture(scope="module")
def guard() -> list[Object]:
    """What guards the namespace ml."""
    return policies(case_input(CASE), "--backend", "prod")


def container(gpus: int | str | None, name: str = "c", **fields: Any) -> Object:
    resources = {} if gpus is None else {"resources": {"limits": {"cpu": "4", "nvidia.com/gpu": str(gpus)}}}
    return {"name": name, "image": "i", **resources, **fields}


def pod(
    queue: str | None,
    *gpus: int | str | None,
    priority: int | None = LOW,
    scheduler: str | None = "kai-scheduler",
    preemptibility: str | None = None,
    first: tuple[int, ...] = (),
) -> Request:
    """Somebody creates a Pod; by the time that policies see it, a server has filled in its priority."""
    labels = {key: value for key, value in ((QUEUE, queue), (PREEMPTIBILITY, preemptibility)) if value is not None}
    spec = {
        "containers": [container(number, f"c{index}") for index, number in enumerate(gpus or (None,))],
        **({"initContainers": [container(number, f"i{index}") for index, number in enumerate(first)]} if first else {}),
        **({"priority": priority} if priority is not None else {}),
        **({"schedulerName": scheduler} if scheduler else {}),
    }
    metadata = {"name": "p", **({"labels": labels} if labels else {})}
    return Request("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def pod_group(queue: str | None) -> Object:
    spec: Object = {"minMember": 1, **({"queue": queue} if queue is not None else {})}
    return {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": "g"}, "spec": spec}


NO_LEAF = "queue {} is not a leaf queue of a declared pool"
NO_QUEUE = "no queue is named; use a leaf queue of a declared pool"
CLOSED = "queue {} is DELETING and takes no new work"
TOO_MANY = "the pod asks for {} GPUs and cannot be preempted, but queue {} is guaranteed {}"

TAKEN = {
    "leaf": pod(f"{TEAM}--a", 8, priority=NORMAL),
    "shadow-queue": pod(f"{TEAM}--shared", 8, priority=NORMAL),
    "all-of-the-quota": pod(f"{TEAM}--a", 30, priority=NORMAL),
    "low-over-quota": pod(f"{TEAM}--a", 31, priority=LOW),
    "default-priority-over-quota": pod(f"{TEAM}--a", 31, priority=0),
    "no-priority-over-quota": pod(f"{TEAM}--a", 31, priority=None),
    "marked-preemptible-over-quota": pod(f"{TEAM}--a", 31, priority=125, preemptibility="preemptible"),
    "no-limit": pod(SCRATCH, 5000, priority=125),
    "no-gpus-where-none-are-guaranteed": pod(f"{TEAM}--cpu", None, priority=125),
    "init-container-of-the-same-gpus": pod(f"{TEAM}--a", 30, priority=NORMAL, first=(30, 30)),
    "infrastructure": pod(None, None, scheduler="default-scheduler"),
    "infrastructure-of-high-priority": pod(None, None, scheduler=None, priority=2_000_001_000),
    "zero-gpus": pod(None, 0, scheduler=None),
    "elsewhere": Request("pods", pod("nowhere", 8).new, namespace="kube-system"),
    "update-of-a-pod": Request("pods", pod("nowhere", 8).new, pod("nowhere", 8).new),
    "podgroup": Request("podgroups", pod_group(f"{TEAM}--a")),
    "podgroup-elsewhere": Request("podgroups", pod_group("nowhere"), namespace="lab"),
    "podgroup-moves-to-a-leaf": Request("podgroups", pod_group(f"{TEAM}--a"), pod_group("nowhere")),
    "podgroup-stays-where-it-drains": Request("podgroups", pod_group(f"{TEAM}--b"), pod_group(f"{TEAM}--b")),
    "podgroup-stays-where-no-queue-is": Request("podgroups", pod_group("gone"), pod_group("gone")),
}
REFUSED = {
    "unknown-queue": (pod("nowhere", 1), [NO_LEAF.format("nowhere")]),
    "container-queue": (pod(TEAM, 1), [NO_LEAF.format(TEAM)]),
    "root-queue": (pod("osmo-default-ml", 1), [NO_LEAF.format("osmo-default-ml")]),
    "archived-subpool": (pod(f"{TEAM}--c", 1), [NO_LEAF.format(f"{TEAM}--c")]),
    "queue-of-another-cluster": (pod(LAB, 1), [NO_LEAF.format(LAB)]),
    "unknown-queue-without-gpus": (pod("nowhere", None, scheduler=None), [NO_LEAF.format("nowhere")]),
    "unknown-queue-over-any-quota": (pod("nowhere", 9000, priority=NORMAL), [NO_LEAF.format("nowhere")]),
    "no-queue": (pod(None, 1), [NO_QUEUE]),
    "no-queue-without-gpus": (pod(None, None), [NO_QUEUE]),
    "no-queue-for-another-scheduler": (pod(None, 1, scheduler="default-scheduler"), [NO_QUEUE]),
    "gpus-of-an-init-container-alone": (pod(None, None, first=(1,), scheduler=None), [NO_QUEUE]),
    "an-empty-queue": (pod("", 1), [NO_QUEUE]),
    "deleting": (pod(f"{TEAM}--b", 1), [CLOSED.format(f"{TEAM}--b")]),
    "deleting-without-gpus": (pod(f"{TEAM}--b", None, priority=NORMAL), [CLOSED.format(f"{TEAM}--b")]),
    "over-quota": (pod(f"{TEAM}--a", 31, priority=NORMAL), [TOO_MANY.format(31, f"{TEAM}--a", 30)]),
    "over-quota-of-the-shadow-queue": (
        pod(f"{TEAM}--shared", 71, priority=125), [TOO_MANY.format(71, f"{TEAM}--shared", 70)]
    ),
    "over-quota-in-several-containers": (
        pod(f"{TEAM}--a", 20, None, 11, priority=NORMAL), [TOO_MANY.format(31, f"{TEAM}--a", 30)]
    ),
    "over-quota-in-an-init-container": (
        pod(f"{TEAM}--a", 8, priority=NORMAL, first=(1, 31)), [TOO_MANY.format(31, f"{TEAM}--a", 30)]
    ),
    "over-quota-in-thousands": (
        pod(f"{TEAM}--a", "1k", priority=NORMAL), [TOO_MANY.format(1000, f"{TEAM}--a", 30)]
    ),
    "over-no-quota": (pod(f"{TEAM}--cpu", 1, priority=NORMAL), [TOO_MANY.format(1, f"{TEAM}--cpu", 0)]),
    "marked-non-preemptible-over-quota": (
        pod(f"{TEAM}--a", 31, preemptibility="non-preemptible"), [TOO_MANY.format(31, f"{TEAM}--a", 30)]
    ),
    "marked-with-nonsense-over-quota": (
        pod(f"{TEAM}--a", 31, priority=NORMAL, preemptibility="perhaps"), [TOO_MANY.format(31, f"{TEAM}--a", 30)]
    ),
    "podgroup-in-no-leaf": (Request("podgroups", pod_group(TEAM)), [NO_LEAF.format(TEAM)]),
    "podgroup-without-queue": (Request("podgroups", pod_group(None)), [NO_QUEUE]),
    "podgroup-without-spec": (Request("podgroups", {"apiVersion": "scheduling.run.ai/v2alpha2"}), [NO_QUEUE]),
    "podgroup-where-it-drains": (Request("podgroups", pod_group(f"{TEAM}--b")), [CLOSED.format(f"{TEAM}--b")]),
    "podgroup-moves-to-no-leaf": (
        Request("podgroups", pod_group("nowhere"), pod_group(f"{TEAM}--a")), [NO_LEAF.format("nowhere")]
    ),
    "podgroup-moves-where-it-drains": (
        Request("podgroups", pod_group(f"{TEAM}--b"), pod_group(f"{TEAM}--a")), [CLOSED.format(f"{TEAM}--b")]
    ),
    "podgroup-loses-its-queue": (Request("podgroups", pod_group(None), pod_group(f"{TEAM}--a")), [NO_QUEUE]),
}  # fmt: skip


def changed(request: Request, **fields: Any) -> Request:
    """A request for another object: labels and annotations added, or fields of its spec set."""
    new: Object = copy.deepcopy(request.new)
    for part in ("labels", "annotations"):
        if part in fields:
            new["metadata"][part] = {**new["metadata"].get(part, {}), **fields[part]}
    if "spec" in fields:
        new["spec"].update(fields["spec"])
    return Request(request.resource, new, request.old, fields.get("namespace", request.namespace))


def update(old: Request, **fields: Any) -> Request:
    """Somebody changes what is there."""
    return Request(old.resource, changed(old, **fields).new, old.new)


def through(resource: str, request: Request) -> Request:
    """The same asked of another resource."""
    return replace(request, resource=resource)


def binding(**fields: Any) -> Request:
    """Somebody binds a pod to a node."""
    new = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    request = Request("pods/binding", new)
    for part in ("labels", "annotations"):
        if part in fields:
            request.new["metadata"][part] = fields[part]
    return request


def group(queue: str, priority: str | None = "osmo-low", name: str = "g", **fields: Any) -> Request:
    new = pod_group(queue)
    new["metadata"]["name"] = name
    new["spec"] |= {**({"priorityClassName": priority} if priority else {}), **fields}
    return Request("podgroups", new)


def asks(request: Request, resource: str, amount: int | str, part: str = "limits") -> Request:
    """The pod whose one container asks for a resource."""
    item = {"name": "c", "image": "i", "resources": {part: {resource: str(amount)}}}
    return changed(request, spec={"containers": [item]})


A, SMALL = f"{TEAM}--a", f"{TEAM}--cpu"
RAISED = (
    "the pods of the PodGroup were let in as preemptible; to change that, delete it with its pods and create them again"
)
MOVED = (
    "the pods of the PodGroup were let in to queue {}; to change that, delete it with its pods and create them again"
)
UNKNOWN_CLASS = (
    "PriorityClass {} is neither one of the repository nor one of KAI; these are "
    "build, build-preemptible, inference, osmo-high, osmo-low, osmo-normal, train"
)
STATUS = (
    "labels and annotations that KAI counts a pod by, or that give devices, cannot change through its status or a "
    "Binding; change the pod itself"
)
FIXED = "what a pod asks for in annotations cannot change; create another pod"
OF_SCHEDULER = (
    "only KAI's scheduler may write the times by which it evicts; remove them from the PodGroup and from the work that "
    "it is made of"
)
OF_BINDER = "only KAI may write the label runai-gpu-group, by which it knows the pods that share a GPU"
SCHEDULER = "system:serviceaccount:kai:scheduler"
STARTED = {"annotations": {TIMES[0]: "2999-01-01T00:00:00Z"}}
JOINED = {"annotations": {"pod-group-name": "g"}}
REPLICA_SET = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "1", "controller": True}


def of_deployment(request: Request) -> Request:
    """A pod as a Deployment makes it."""
    found = changed(request, labels={"pod-template-hash": "5d4f"})
    found.new["metadata"]["ownerReferences"] = [REPLICA_SET]
    return found


BYPASSES: dict[str, tuple[Request, list[Object], list[str]]] = {
    "the label priorityClassName makes a LOW pod HIGH": (
        changed(pod(A, 31), labels={"priorityClassName": "osmo-high"}), [], [TOO_MANY.format(31, A, 30)]
    ),
    "the label priorityClassName names a class of somebody else": (
        changed(pod(A, 8), labels={"priorityClassName": "urgent"}), [], [UNKNOWN_CLASS.format("urgent")]
    ),
    "the spec names a class of somebody else": (
        changed(pod(A, 8, priority=5000), spec={"priorityClassName": "urgent"}), [], [UNKNOWN_CLASS.format("urgent")]
    ),
    "a TrainJob with the label priorityClassName is HIGH, its pods are not": (
        changed(pod(A, 31, priority=0), **JOINED), [group(A, "osmo-high").new],
        [f"the pod asks for 31 GPUs, and PodGroup g cannot be preempted, but queue {A} is guaranteed 30"],
    ),
    "a TrainJob names a class of somebody else": (group(A, "urgent"), [], [UNKNOWN_CLASS.format("urgent")]),
    "a Deployment names no class": (of_deployment(pod(A, 31, priority=0)), [], [TOO_MANY.format(31, A, 30)]),
    "a notebook names no class": (
        changed(pod(A, 31, priority=0), labels={"notebook-name": "n"}), [], [TOO_MANY.format(31, A, 30)]
    ),
    "a pod is made non-preemptible once it runs": (
        update(pod(A, 31), labels={PREEMPTIBILITY: "non-preemptible"}), [], [TOO_MANY.format(31, A, 30)]
    ),
    "a pod is made HIGH once it runs": (
        update(pod(A, 31), labels={"priorityClassName": "osmo-high"}), [], [TOO_MANY.format(31, A, 30)]
    ),
    "a pod is moved to a container queue": (update(pod(A, 8), labels={QUEUE: TEAM}), [], [NO_LEAF.format(TEAM)]),
    "a pod is moved to a queue that drains": (
        update(pod(A, 8), labels={QUEUE: f"{TEAM}--b"}), [], [CLOSED.format(f"{TEAM}--b")]
    ),
    "a pod is moved to where it is too large": (
        update(pod(A, 8, priority=NORMAL), labels={QUEUE: SMALL}), [], [TOO_MANY.format(8, SMALL, 0)]
    ),
    "a pod loses its queue": (update(pod(A, 8), labels={QUEUE: ""}), [], [NO_QUEUE]),
    "a pod is made to look smaller": (update(pod(A, 8), annotations={"gpu-fraction": "0.1"}), [], [FIXED]),
    "a pod joins a PodGroup of another queue": (
        changed(pod(A, 8), **JOINED), [group(f"{TEAM}--shared").new],
        [f"PodGroup g is in queue {TEAM}--shared, the pod names {A}"],
    ),
    "a pod joins a PodGroup of another queue later": (
        update(pod(A, 8), **JOINED), [group("x", name="other").new, group(f"{TEAM}--shared").new],
        [f"PodGroup g is in queue {TEAM}--shared, the pod names {A}"],
    ),
    "a pod without a queue joins a PodGroup": (
        changed(pod(None, None, scheduler=None), **JOINED), [group(A).new], [NO_QUEUE]
    ),
    "a pod without a queue joins a PodGroup later": (
        update(pod(None, None, scheduler=None), **JOINED), [group(A).new], [NO_QUEUE]
    ),
    "a status moves a pod to another queue": (
        through("pods/status", update(pod(A, 8), labels={QUEUE: f"{TEAM}--shared"})), [], [STATUS]
    ),
    "a status takes the queue of a pod away": (
        through("pods/status", update(pod(A, 8), labels={QUEUE: ""})), [], [STATUS]
    ),
    "a status makes a pod HIGH": (
        through("pods/status", update(pod(A, 31), labels={"priorityClassName": "osmo-high"})), [], [STATUS]
    ),
    "a status lets a pod join a PodGroup": (
        through("pods/status", update(pod(A, 8), **JOINED)), [group(f"{TEAM}--shared").new], [STATUS]
    ),
    "a status changes what a pod asks for": (
        through("pods/status", update(pod(A, 8), annotations={"gpu-fraction": "0.1"})), [], [STATUS]
    ),
    "a status moves a pod of another namespace to a queue of the pool": (
        through("pods/status", changed(update(pod(None), labels={QUEUE: A}), namespace="elsewhere")), [], [STATUS]
    ),
    "a Binding moves a pod to another queue": (binding(labels={QUEUE: A}), [], [STATUS]),
    "a Binding lets a pod join a PodGroup": (binding(**JOINED), [group(A).new], [STATUS]),
    "a Binding changes what a pod asks for": (
        binding(annotations={"nvidia.com/mig-1g.5gb": "1"}), [], [STATUS]
    ),
    "a Binding of the older API moves a pod to another queue": (
        through("bindings", binding(labels={QUEUE: A})), [], [STATUS]
    ),
    "a PodGroup is made HIGH once its pods run": (
        update(group(A), spec={"priorityClassName": "osmo-high"}), [], [RAISED]
    ),
    "a PodGroup is made non-preemptible once its pods run": (
        update(group(A), spec={"preemptibility": "non-preemptible"}), [], [RAISED]
    ),
    "a PodGroup is moved where it may be too large": (
        update(group(A, "osmo-normal"), spec={"queue": f"{TEAM}--shared"}), [], [MOVED.format(A)]
    ),
    "a PodGroup is moved to a queue that drains": (
        update(group(A), spec={"queue": f"{TEAM}--b"}), [], [CLOSED.format(f"{TEAM}--b")]
    ),
    "a leaf queue stands beside another scheduler": (
        pod(A, 8, scheduler="default-scheduler"), [],
        [f"queue {A} is of no use beside scheduler default-scheduler; name kai-scheduler"],
    ),
    "a pod names its node": (
        changed(pod(A, 8), spec={"nodeName": "n1"}), [],
        ["the pod names its node, n1, and so goes past the scheduler and every quota"],
    ),
    "MIG devices without a queue": (asks(pod(None, scheduler=None), "nvidia.com/mig-1g.5gb", 1), [], [NO_QUEUE]),
    "MIG slices over the quota": (
        asks(pod(A, priority=NORMAL), "nvidia.com/mig-7g.40gb", 5), [], [TOO_MANY.format(35, A, 30)]
    ),
    "a part of a GPU without a queue": (
        changed(pod(None, scheduler=None), annotations={"gpu-fraction": "0.5"}), [], [NO_QUEUE]
    ),
    "parts of GPUs over the quota": (
        changed(pod(SMALL, priority=NORMAL), annotations={"gpu-fraction": "0.5", "gpu-fraction-num-devices": "3"}), [],
        [TOO_MANY.format("1.5", SMALL, 0)],
    ),
    "memory of a GPU where none is guaranteed": (
        changed(pod(SMALL, priority=NORMAL), annotations={"gpu-memory": "2000"}), [],
        [TOO_MANY.format("0.01", SMALL, 0)],
    ),
    "an annotation hides whole GPUs": (
        changed(pod(A, 31, priority=NORMAL), annotations={"nvidia.com/mig-1g.5gb": "1"}), [],
        [TOO_MANY.format(31, A, 30)],
    ),
    "GPUs of the pod as a whole": (
        changed(pod(A, priority=NORMAL), spec={"resources": {"limits": {GPU: "31"}}}), [], [TOO_MANY.format(31, A, 30)]
    ),
    "requests without limits": (
        asks(pod(A, priority=NORMAL), GPU, 31, "requests"), [], [TOO_MANY.format(31, A, 30)]
    ),
    "GPUs of AMD over the quota": (
        asks(pod(A, priority=NORMAL), "amd.com/gpu", 31), [], [TOO_MANY.format(31, A, 30)]
    ),
    "GPUs of Intel without a queue": (asks(pod(None, scheduler=None), "gpu.intel.com/i915", 1), [], [NO_QUEUE]),
    "a pod of another namespace in a queue of the pool": (
        changed(pod(A, 8), namespace="elsewhere"), [], [f"queue {A} takes work of namespace ml, not of elsewhere"]
    ),
    "a PodGroup of another namespace in a queue of the pool": (
        changed(group(A), namespace="elsewhere"), [], [f"queue {A} takes work of namespace ml, not of elsewhere"]
    ),
    "a PodGroup starts in the future": (changed(group(A), **STARTED), [], [OF_SCHEDULER]),
    "KAI's podgrouper copies a start in the future": (
        replace(update(group(A), **STARTED), user="system:serviceaccount:kai-scheduler:pod-grouper"), [], [OF_SCHEDULER]
    ),
    "a PodGroup loses the time of its last eviction": (
        update(changed(group(A), annotations={TIMES[1]: "x"}), annotations={TIMES[1]: ""}), [], [OF_SCHEDULER]
    ),
    "a service account of the work calls itself scheduler": (
        replace(update(group(A), **STARTED), user="system:serviceaccount:ml:scheduler"), [], [OF_SCHEDULER]
    ),
    "a user calls himself scheduler": (replace(update(group(A), **STARTED), user="x:scheduler"), [], [OF_SCHEDULER]),
    "a pod says which GPU it shares": (changed(pod(A, 1), labels={"runai-gpu-group/x": "x"}), [], [OF_BINDER]),
}  # fmt: skip
"""Ways around the repository, with the PodGroups that are there, and how each is refused."""
HONEST: dict[str, tuple[Request, list[Object]]] = {
    "KAI gives a pod its PodGroup": (update(pod(A, 8), **JOINED), [group(A).new, group(SMALL, name="h").new]),
    "KAI gives a pod of a TrainJob its PodGroup": (
        update(pod(A, 8, priority=0), **JOINED), [group(A, "osmo-high").new]
    ),
    "a kubelet reports the status of a pod": (
        through("pods/status", update(pod(f"{TEAM}--b", 8), labels={"seen": "1"}, annotations={"seen": "1"})), []
    ),
    "the status of a pod that nobody judges changes": (
        through("pods/status", changed(update(pod(None), labels={QUEUE: "x"}), namespace="elsewhere")), []
    ),
    "KAI binds a pod": (binding(), []),
    "the API server copies the zone of a node into a Binding": (
        binding(labels={"topology.kubernetes.io/zone": "a"}, annotations={"seen": "1"}), []
    ),
    "a Binding of a pod that nobody judges": (changed(binding(labels={QUEUE: "x"}), namespace="elsewhere"), []),
    "KAI gives a pod of a queue that drains its PodGroup": (update(pod(f"{TEAM}--b", 8), **JOINED), []),
    "a pod comes before its PodGroup": (changed(pod(A, 8), **JOINED), []),
    "a label says what the spec says": (
        changed(pod(A, 30, priority=NORMAL), labels={"priorityClassName": "osmo-normal"}), []
    ),
    "a Deployment within its quota": (of_deployment(pod(A, 30, priority=0)), []),
    "a ReplicaSet without a class": (
        changed(of_deployment(pod(A, 31, priority=0)), labels={"pod-template-hash": ""}), []
    ),
    "a LOW Deployment over its quota": (
        changed(of_deployment(pod(A, 31)), spec={"priorityClassName": "osmo-low"}), []
    ),
    "the scheduler marks a pod": (update(pod(A, 8), labels={"runai-gpu-group": "x"}), []),
    "the kubelet reports on a pod that drains": (update(pod(f"{TEAM}--b", 8), annotations={"seen": "1"}), []),
    "KAI makes a PodGroup for work without a class": (group(A, "train"), []),
    "a PodGroup becomes preemptible": (update(group(A, "osmo-high"), spec={"priorityClassName": "osmo-low"}), []),
    "a PodGroup becomes HIGH from NORMAL": (
        update(group(A, "osmo-normal"), spec={"priorityClassName": "osmo-high"}), []
    ),
    "KAI's scheduler writes when a gang started": (replace(update(group(A), **STARTED), user=SCHEDULER), []),
    "KAI's scheduler writes when a gang started that drains": (
        replace(update(group(f"{TEAM}--b"), **STARTED), user=SCHEDULER), []
    ),
    "KAI's podgrouper names the owner of a gang": (
        update(group(A), annotations={"kai.scheduler/top-owner-metadata": "x"}), []
    ),
    "a PodGroup keeps its start": (
        update(changed(group(A), **STARTED), spec={"queue": f"{TEAM}--shared"}), []
    ),
    "a preemptible PodGroup moves": (update(group(A), spec={"queue": f"{TEAM}--shared"}), []),
    "parts of GPUs within the quota": (
        changed(pod(A, priority=NORMAL), annotations={"gpu-fraction": "0.5", "gpu-fraction-num-devices": "60"}), []
    ),
    "GPUs in a namespace that is nobody's": (changed(pod(None, 8, scheduler=None), namespace="elsewhere"), []),
    "a queue of another repository": (changed(pod("osmo-pool-ml-x-team--a", 8), namespace="ml-x"), []),
}  # fmt: skip


@pytest.mark.parametrize("name", BYPASSES)
def test_no_way_around(name: str, guard: list[Object]) -> None:
    request, pod_groups, messages = BYPASSES[name]
    assert refusals(guard, request, pod_groups) == messages


@pytest.mark.parametrize("name", HONEST)
def test_honest_work_is_taken(name: str, guard: list[Object]) -> None:
    request, pod_groups = HONEST[name]
    assert refusals(guard, request, pod_groups) == []


@pytest.mark.parametrize("name", TAKEN)
def test_taken(name: str, guard: list[Object]) -> None:
    assert refusals(guard, TAKEN[name]) == []


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, guard: list[Object]) -> None:
    request, messages = REFUSED[name]
    assert refusals(guard, request) == messages


@pytest.mark.parametrize("backend", ["prod", "lab"])
def test_a_server_takes_the_policies(backend: str) -> None:
    items = policies(case_input(CASE), "--backend", backend)
    assert sorted(item["kind"] for item in items) == [KINDS[0]] * 5 + [KINDS[1]] * 5
    assert [violations(item) for item in items] == [[]] * 10


def test_the_names_of_the_scheduler_count(guard: list[Object]) -> None:
    lab = policies(case_input(CASE), "--backend", "lab")
    ours = Request("pods", pod(None, None, scheduler="kai-lab").new, namespace="lab")
    theirs = Request("pods", pod(None, None, scheduler="kai-scheduler").new, namespace="lab")
    assert (refusals(lab, ours), refusals(lab, theirs)) == ([NO_QUEUE], [])


@pytest.mark.parametrize("backend", ["prod", "lab"])
def test_what_is_rendered_is_taken(backend: str) -> None:
    """The guard lets by what comes from the repository."""
    objects = stream(case_input(CASE), "--backend", backend)
    classes = {item["metadata"]["name"]: item["value"] for item in objects if item["kind"] == "PriorityClass"}
    for item in objects:
        if item["kind"] == "Pod":
            filled = {**item, "spec": {**item["spec"], "priority": classes[item["spec"]["priorityClassName"]]}}
            assert refusals(objects, Request("pods", filled)) == []
        elif item["kind"] == "PodGroup":
            assert refusals(objects, Request("podgroups", item)) == []


class TestWhen:
    @pytest.fixture
    def team(self, repository: Path) -> Path:
        return write(repository, {"pools/team.yaml": pool(), "subpools/a.yaml": subpool("a", 30)})

    def test_only_when_it_is_asked_for(self, team: Path) -> None:
        assert policies(team) == []
        assert len(policies(team, "--guard")) == 10
        write(team, {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\nspec: {guard: true}\n"})
        assert len(policies(team)) == 10

    @pytest.mark.parametrize(
        ("written", "actions"),
        [("true", ["Deny"]), ("enforce", ["Deny"]), ("warn", ["Warn", "Audit"]), ("false", None)],
    )
    def test_what_follows(self, team: Path, written: str, actions: list[str] | None) -> None:
        write(team, {"tas.yaml": f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{guard: {written}}}\n"})
        bindings = [item["spec"] for item in policies(team) if item["kind"] == KINDS[1]]
        assert [spec["validationActions"] for spec in bindings] == ([actions] * 5 if actions else [])
        failure = {item["spec"]["failurePolicy"] for item in policies(team) if item["kind"] == KINDS[0]}
        assert failure == ({"Ignore" if written == "warn" else "Fail"} if actions else set())
        asked = [item["spec"] for item in policies(team, "--guard") if item["kind"] == KINDS[1]]
        assert [spec["validationActions"] for spec in asked] == [actions or ["Deny"]] * 5

    def test_nothing_else_follows(self, team: Path) -> None:
        write(team, {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\nspec: {guard: deny}\n"})
        result = kubectl_tas("validate", "-C", team)
        assert result.code == 1
        assert "tas.yaml:3:15: error:" in result.out

    def test_a_namespace_of_a_hand_written_podgroup_is_covered(self, team: Path) -> None:
        text = yaml.safe_dump({**pod_group("osmo-pool-default-team--a"), "metadata": {"name": "g", "namespace": "nlp"}})
        write(team, {"workflows/g.yaml": text})
        items = policies(team, "--guard")
        lost = Request("pods", pod("nowhere", 1).new, namespace="nlp")
        assert refusals(items, lost) == [NO_LEAF.format("nowhere")]
        taken = Request("pods", pod("osmo-pool-default-team--a", 1).new, namespace="nlp")
        assert refusals(items, taken) == []

    def test_files(self, team: Path) -> None:
        assert kubectl_tas("render", "--guard", "-C", team).code == 0
        assert kubectl_tas("check", "--guard", "-C", team).code == 0
        names = [
            f"{part}-osmo-guard-default-{what}.yaml"
            for part in ("binding", "policy")
            for what in ("devices", "members", "podgroups", "pods", "subresources")
        ]
        assert sorted(path.name for path in (team / "manifests/guard").iterdir()) == names
        assert kubectl_tas("render", "-C", team).code == 0
        assert not (team / "manifests/guard").exists()

    def test_not_for_another_scheduler(self) -> None:
        assert policies(case_input(CASE), "--backend", "plain") == []

    def test_not_for_a_cluster_without_pools(self, repository: Path) -> None:
        config = "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  backends: [{name: a, namespace: a}, {name: b}]\n"
        write(repository, {"tas.yaml": config, "pools/team.yaml": pool(spec="  backend: a\n")})
        assert len(policies(repository, "--guard", "--backend", "a")) == 10
        assert policies(repository, "--guard", "--backend", "b") == []


def test_no_expression_is_longer_than_a_server_takes(repository: Path) -> None:
    """With queue names of 63 characters, and a third of the queues DELETING."""
    states = {True: "DELETING", False: "ACTIVE"}
    names = [f"{'x' * 33}-{index:05}" for index in range(2 * MAX_ENTRIES)]
    text = "---\n".join(subpool(name, 1, state=states[index % 3 == 0]) for index, name in enumerate(names))
    write(repository, {"pools/team.yaml": pool(guarantee=len(names)), "subpools/all.yaml": text})
    items = policies(repository, "--guard")
    assert [violations(item) for item in items] == [[]] * 10
    longest = max(len(part["expression"]) for item in items for part in item["spec"].get("variables", ()))
    assert MAX_EXPRESSION / 4 < longest < MAX_EXPRESSION / 2


def test_queues_in_several_expressions(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cel, "MAX_ENTRIES", 2)
    closed, open_ = "abcde", "fghij"
    text = "---\n".join(subpool(name, 1, state="DELETING" if name in closed else "ACTIVE") for name in closed + open_)
    write(repository, {"pools/team.yaml": pool(), "subpools/all.yaml": text})
    items = policies(repository, "--guard")
    assert [violations(item) for item in items] == [[]] * 10
    for name in (*closed, *open_, "none", "shared"):
        queue = f"osmo-pool-default-team--{name}"
        expected = CLOSED.format(queue) if name in closed else NO_LEAF.format(queue)
        if name in open_ or name == "shared":
            expected = TOO_MANY.format(96, queue, 95 if name == "shared" else 1)
        over = Request("pods", pod(queue, 96, priority=NORMAL).new, namespace="default")
        assert refusals(items, over) == [expected]


def test_a_sidecar_counts_beside_the_containers(guard: list[Object]) -> None:
    """16 GPUs of a sidecar and 16 of a container are 32, more than the 30 of the queue."""
    spec = {
        "containers": [container(16)],
        "initContainers": [container(16, "sidecar", restartPolicy="Always")],
        "priority": NORMAL,
        "schedulerName": "kai-scheduler",
    }
    request = pod(f"{TEAM}--a")
    request.new["spec"] = spec
    (message,) = refusals(guard, request)
    assert message.startswith("the pod asks for 32 GPUs and cannot be preempted")


class TestOverQuota:
    """Pods of work that overQuota lists: 16 GPUs and 8 cores of train beside a quota of 8 and 4, 16 GPUs of index."""

    @pytest.fixture
    def listing(self) -> list[Object]:
        return policies(case_input(GOLDEN / "manifests/guard-over-quota"))

    @pytest.mark.parametrize(
        ("queue", "metadata", "gpus", "is_taken"),
        [
            ("a", {"labels": {"kubectl-tas/workflow": "train"}}, 16, True),
            ("a", {"labels": {"kubectl-tas/workflow": "train"}}, 17, False),
            ("a", {"labels": {"kubectl-tas/workflow": "train-2"}}, 16, False),
            ("a", {"labels": {"kubectl-tas/workflow": "other"}}, 16, False),
            ("a", {}, 16, False),
            ("a", {"name": None, "generateName": "x-"}, 16, False),
            ("shared", {"labels": {"kubectl-tas/workflow": "train"}}, 16, False),
            ("shared", {"ownerReferences": [{"kind": "Job", "name": "index"}]}, 16, True),
            ("shared", {"ownerReferences": [{"kind": "ReplicaSet", "name": "index-7d9f"}]}, 16, True),
            ("shared", {"ownerReferences": [{"kind": "Job", "name": "indexer"}]}, 16, False),
            ("shared", {"ownerReferences": [{"kind": "Job", "name": "index"}]}, 17, False),
        ],
    )
    def test_who_is_let_in(
        self, listing: list[Object], queue: str, metadata: Object, gpus: int, *, is_taken: bool
    ) -> None:
        asked = pod(f"{TEAM}--{queue}", gpus, priority=NORMAL)
        about = asked.new["metadata"]
        own = {**about, **metadata, "labels": {**about["labels"], **metadata.get("labels", {})}}
        own = {key: value for key, value in own.items() if value is not None}
        request = replace(asked, new={**asked.new, "metadata": own})
        group = {**pod_group(f"{TEAM}--{queue}"), "metadata": {"name": "g", "namespace": "ml"}}
        group["spec"]["preemptibility"] = "non-preemptible"
        assert (refusals(listing, request) == []) == is_taken
        own["annotations"] = {"pod-group-name": "g"}
        assert (refusals(listing, request, [group]) == []) == is_taken

    def test_cpu_is_compared_too(self, listing: list[Object]) -> None:
        asked = pod(f"{TEAM}--a", None, priority=NORMAL)
        for cpu, count in (("8", 0), ("8001m", 1)):
            asked.new["metadata"]["labels"]["kubectl-tas/workflow"] = "train"
            asked.new["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
            assert len(refusals(listing, asked)) == count

    def test_a_server_takes_it(self, listing: list[Object]) -> None:
        assert [violations(item) for item in listing] == [[]] * len(listing)


class TestMembers:
    """An API server evaluates a policy with parameters once for each PodGroup of the namespace."""

    def evaluations(self, guard: list[Object], request: Request, count: int) -> int:
        """How many expressions are evaluated beside ``count`` PodGroups that the pod does not name."""
        members = [item for item in guard if item["metadata"]["name"].endswith("members")]
        with count_evaluations() as counted:
            assert refusals(members, request, [group(A, name=f"other-{index}").new for index in range(count)]) == []
        return counted.number

    @pytest.mark.parametrize("joined", [JOINED, {}])
    def test_a_podgroup_that_a_pod_does_not_name_costs_one_condition(
        self, guard: list[Object], joined: dict[str, Any]
    ) -> None:
        request = changed(pod(A, 8), **joined)
        assert [self.evaluations(guard, request, count) for count in (0, 1, 50)] == [0, 1, 50]

    def test_pods_without_a_queue_cost_nothing(self, guard: list[Object]) -> None:
        assert self.evaluations(guard, pod(None, None, scheduler=None), 50) == 0
        assert self.evaluations(guard, update(pod(None, None, scheduler=None), labels={"x": "y"}), 50) == 0

    def test_a_pod_that_loses_its_queue_is_looked_at(self, guard: list[Object]) -> None:
        lost = update(changed(pod(A, 8), **JOINED), labels={QUEUE: ""})
        del lost.new["metadata"]["labels"][QUEUE]
        assert f"PodGroup g is in queue {A}, the pod names none" in refusals(guard, lost, [group(A).new])

    def test_it_can_be_left_out(self, repository: Path) -> None:
        config = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {guard: enforce, guardMembers: false}\n"
        write(repository, {"tas.yaml": config, "pools/team.yaml": pool()})
        names = {item["metadata"]["name"].rpartition("-")[2] for item in policies(repository)}
        assert names == {"devices", "pods", "podgroups", "subresources"}


class TestOldClusters:
    """Kubernetes 1.30 is the first with the API that the policies are written in."""

    CONFIG = 'apiVersion: tas/v1alpha1\nkind: Config\nspec: {%sbackends: [{name: a, kubernetes: "%s"%s}]}\n'
    REFUSED = "the guard needs Kubernetes 1.30 or later; backend a runs 1.29"

    def test_refused_by_the_config(self, repository: Path) -> None:
        write(repository, {"tas.yaml": self.CONFIG % ("guard: warn, ", "1.29", ""), "pools/team.yaml": pool()})
        result = kubectl_tas("validate", "-C", repository)
        assert (result.code, self.REFUSED in result.out) == (1, True)

    @pytest.mark.parametrize("command", [("render",), ("render", "--to", "-"), ("check",)])
    def test_refused_by_the_option(self, repository: Path, command: tuple[str, ...]) -> None:
        write(repository, {"tas.yaml": self.CONFIG % ("", "1.29", ""), "pools/team.yaml": pool()})
        assert kubectl_tas("validate", "-C", repository).code == 0
        result = kubectl_tas(*command, "--guard", "-C", repository)
        assert (result.code, self.REFUSED in result.out + result.err) == (1, True)
        assert not (repository / "manifests").exists()

    @pytest.mark.parametrize(
        ("release", "more"), [("1.30", ""), ("v1.30.4", ""), ("1.29", ", scheduler: {type: default}")]
    )
    def test_taken(self, repository: Path, release: str, more: str) -> None:
        write(repository, {"tas.yaml": self.CONFIG % ("guard: warn, ", release, more), "pools/team.yaml": pool()})
        result = kubectl_tas("validate", "-C", repository)
        assert "the guard needs" not in result.out

    def test_a_cluster_without_pools_has_no_guard(self, repository: Path) -> None:
        config = self.CONFIG % ("guard: warn, ", "1.29", "}, {name: b")
        write(repository, {"tas.yaml": config, "pools/team.yaml": pool(spec="  backend: b\n")})
        assert "the guard needs" not in kubectl_tas("validate", "-C", repository).out


DEVICES = st.dictionaries(
    st.sampled_from([GPU, "amd.com/gpu", "nvidia.com/mig-3g.20gb", "nvidia.com/mig-1g.5gb.me", "gpu.intel.com/xe"]),
    st.integers(0, 9).map(str),
    max_size=3,
)
CPU = st.sampled_from(["0", "0.5", ".1", "2", "1e3", "1e-1", "1500000u", "2k", "3.007"]) | st.integers(0, 10**6).map(
    "{}m".format
)
MEMORY = st.sampled_from(["0", "2Gi", "2G", "1e3", "1.5Gi", "0.1G", "12E6", "100000m", "300Ti"]) | st.integers(
    0, 2**50
).map(str)
OTHERS = st.fixed_dictionaries({}, optional={"cpu": CPU, "memory": MEMORY})
AMOUNTS = st.builds(lambda devices, others: devices | others, DEVICES, OTHERS)
RESOURCES = st.fixed_dictionaries({}, optional={"limits": AMOUNTS, "requests": AMOUNTS})
CONTAINERS = st.lists(st.fixed_dictionaries({}, optional={"resources": RESOURCES}), max_size=4)
INIT = st.lists(
    st.fixed_dictionaries({}, optional={"resources": RESOURCES, "restartPolicy": st.sampled_from(["Always", "x"])}),
    max_size=4,
)
ANNOTATIONS = st.fixed_dictionaries(
    {},
    optional={
        "gpu-fraction": st.sampled_from(["0.5", ".25", "1", "0", "1.5", "1e-1", "0.004", "half", "0.335", ""]),
        "gpu-memory": st.sampled_from(["2000", "0", "x"]),
        "gpu-fraction-num-devices": st.sampled_from(["2", "8", "0", "-1", "many"]),
        "nvidia.com/mig-2g.10gb": st.sampled_from(["1", "3", "x"]),
    },
)


COUNTED = (
    *cel_variables(),
    *((item.name, item.expression) for name in quantities.OTHERS for item in amount_variables(name)),
)


@settings(max_examples=100, deadline=None)
@given(
    INIT,
    CONTAINERS.filter(len),
    st.fixed_dictionaries({}, optional={"resources": RESOURCES, "overhead": OTHERS}),
    ANNOTATIONS,
)
def test_policies_count_as_files_are_counted(
    init: list[Object], containers: list[Object], whole: Object, annotations: dict[str, str]
) -> None:
    spec: Object = {
        **whole,
        "containers": [{"name": f"c{number}", **item} for number, item in enumerate(containers)],
        **({"initContainers": [{"name": f"i{number}", **item} for number, item in enumerate(init)]} if init else {}),
    }
    item = {"metadata": {"annotations": annotations} if annotations else {}, "spec": spec}
    counted = PodTemplate.model_validate(item).spec.asks_with(annotations)
    found = evaluate(COUNTED, item)
    assert Amounts(found["hundredths"], found["cpu"], found["memory"]) == Amounts(
        int(counted.gpu * 100), counted.cpu, counted.memory
    )


@pytest.mark.parametrize("name", [*ACCELERATORS, *(name for name in NO_ACCELERATORS if "/" in name)])
def test_policies_know_the_accelerators_that_files_have(name: str) -> None:
    item = {"metadata": {}, "spec": {"containers": [{"name": "c", "resources": {"limits": {name: "1"}}}]}}
    found = evaluate((*cel_variables(), ("uncounted", cel_uncounted())), item)
    assert bool(found["uncounted"]) == is_uncounted(name)


@pytest.fixture(scope="module")
def several() -> list[Object]:
    """What guards a cluster in which each pool has namespaces of its own."""
    return policies(case_input(GOLDEN / "manifests/namespaces"))


class TestNamespacesOfPools:
    """Each queue takes work of the namespaces of its pool or subpool."""

    NLP, CI = "osmo-pool-ml-nlp--shared", "osmo-pool-ml-nlp--ci"

    @pytest.mark.parametrize(
        ("queue", "namespace", "allowed"),
        [
            (NLP, "team-nlp", ""),
            (NLP, "team-nlp-ci", ""),
            (NLP, "team-cv", "team-nlp, team-nlp-ci"),
            (NLP, "ml", "team-nlp, team-nlp-ci"),
            (CI, "team-nlp-ci", ""),
            (CI, "team-nlp", "team-nlp-ci"),
            ("osmo-pool-ml-scratch--shared", "ml", ""),
            ("osmo-pool-ml-scratch--shared", "elsewhere", "ml"),
        ],
    )
    @pytest.mark.parametrize(
        "make", [lambda queue: pod(queue, 8), lambda queue: Request("podgroups", pod_group(queue))]
    )
    def test_whose_work_a_queue_takes(
        self, several: list[Object], make: Any, queue: str, namespace: str, allowed: str
    ) -> None:
        request = make(queue)
        refused = refusals(several, Request(request.resource, request.new, namespace=namespace))
        message = f"queue {queue} takes work of namespace {allowed}, not of {namespace}"
        assert refused == ([message] if allowed else [])

    def test_a_queue_that_nobody_has_is_said_to_be_none(self, several: list[Object]) -> None:
        request = Request("pods", pod("nowhere", 8).new, namespace="team-cv")
        assert refusals(several, request) == [NO_LEAF.format("nowhere")]

    def test_a_pod_joins_podgroups_in_all_of_them(self, several: list[Object]) -> None:
        (members,) = (
            item for item in several if item["metadata"]["name"].endswith("members") and "paramKind" in item["spec"]
        )
        (requirement,) = members["spec"]["matchConstraints"]["namespaceSelector"]["matchExpressions"]
        assert requirement["values"] == ["ml", "team-cv", "team-nlp", "team-nlp-ci"]

    def test_many_namespaces_fit_into_an_expression(self, repository: Path) -> None:
        several = ", ".join(f"{'n' * 58}-{index:03}" for index in range(60))
        for index in range(60):
            write(repository, {f"pools/p{index}.yaml": f"{pool(f'p{index}')}  namespaces: [x{index}, {several}]\n"})
        write(repository, {"tas.yaml": "apiVersion: tas/v1alpha1\nkind: Config\nspec: {guard: enforce}\n"})
        found = policies(repository)
        for policy in found:
            assert violations(policy) == []
        request = Request("pods", pod("osmo-pool-default-p59--shared", 0).new, namespace="x59")
        assert refusals(found, request) == []
        assert refusals(found, Request("pods", request.new, namespace="x58")) != []
