"""Tests the pods that each kind of workload has: their names, numbers and places, as a controller makes them."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.kinds import BY_NAME
from kubectl_tas.kinds.page import Division
from kubectl_tas.model.podsets import PodSet
from kubectl_tas.model.workloads import read
from tests.support.pyyaml import safe_load

ONE = "{spec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}"
"""A template of a pod with one GPU."""
INDEXED = "batch.kubernetes.io/job-completion-index"
REPLICA = "training.kubeflow.org/replica-index"
WORKER = "leaderworkerset.sigs.k8s.io/worker-index"


def workload(kind: str, spec: str, **metadata: Any) -> Any:
    """A workload of a kind, with its first apiVersion."""
    listed = BY_NAME[kind]
    about = {"apiVersion": listed.versions[0], "kind": kind, "metadata": {"name": "x", **metadata}}
    found, errors = read(listed.page, {**about, "spec": safe_load(spec.replace("ONE", ONE))})
    assert errors == []
    return found


def dotted(path: tuple[str | int, ...]) -> str:
    return ".".join(map(str, path))


def told(pods: PodSet) -> str:
    """A pod set in words: name, number, GPUs and path, and then only what is not as usual."""
    said = [pods.name, f"{pods.replicas} pods", f"{pods.asks.gpu} GPUs", dotted(pods.path)]
    said += [f"{pods.indices} indices"] if pods.indices != pods.replicas else []
    said += [f"index {pods.index_label}"] if pods.index_label else []
    said += [f"SubGroup {pods.label}"] if pods.label else []
    if pods.given_name:
        name, of = pods.given_name, "key" if pods.given_name.is_key else "value"
        said.append(f"{name.what} {name.text}/{name.compared} by {of} {dotted(name.path)}")
    said += [f"{pods.jobs} jobs of {dotted(pods.job[0])} {pods.job[1].labels}"] if pods.job else []
    said += ["late"] if pods.comes_late else []
    said += ["leader"] if pods.is_leader else []
    usual = (dotted((*pods.path, "metadata")), dotted((*pods.path, "spec")))
    said += [f"metadata {dotted(pods.metadata_path)}"] if dotted(pods.metadata_path) != usual[0] else []
    said += [f"spec {dotted(pods.spec_path)}"] if dotted(pods.spec_path) != usual[1] else []
    return ", ".join([*said, *(["without template"] if pods.template is None else [])])


CRON = "spec.jobTemplate.spec.template, 1 jobs of spec.jobTemplate.metadata"
GROUPS = "spec.leaderWorkerTemplate"
MASTER, PLAIN_WORKER = (f"spec.pytorchReplicaSpecs.{name}" for name in ("Master", "Worker"))
RAY = (
    "{headGroupSpec: {template: ONE}, workerGroupSpecs: [{groupName: G_a, replicas: 2, minReplicas: 1, numOfHosts: 3, "
    "template: ONE}, {groupName: b, minReplicas: 2}, {groupName: c, replicas: 4, minReplicas: 1, suspend: true}, "
    "{groupName: d}]}"
)


def ray(at: str) -> list[str]:
    groups = [("G_a", "g-a", 6, 1), ("b", "b", 2, 0), ("c", "c", 0, 0), ("d", "d", 0, 0)]
    return [
        f"head, 1 pods, 1 GPUs, {at}.headGroupSpec.template",
        *(
            f"{name}, {pods} pods, {gpus} GPUs, {at}.workerGroupSpecs.{index}.template, SubGroup {label}, worker group "
            f"{name}/{name} by value {at}.workerGroupSpecs.{index}.groupName"
            for index, (name, label, pods, gpus) in enumerate(groups)
        ),
    ]


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("Job", "{template: ONE}", ["worker, 1 pods, 1 GPUs, spec.template"]),
        (
            "Job",
            "{parallelism: 4, completions: 3, completionMode: Indexed}",
            [f"worker, 3 pods, 0 GPUs, spec.template, index {INDEXED}"],
        ),
        (
            "Job",
            "{parallelism: 2, completions: 9, completionMode: Indexed}",
            [f"worker, 2 pods, 0 GPUs, spec.template, 9 indices, index {INDEXED}"],
        ),
        ("Job", "{completionMode: Indexed}", [f"worker, 1 pods, 0 GPUs, spec.template, index {INDEXED}"]),
        (
            "Job",
            "{parallelism: 2, completions: 9, completionMode: NonIndexed}",
            ["worker, 2 pods, 0 GPUs, spec.template"],
        ),
        ("Job", "{parallelism: 0, completions: 9}", ["worker, 0 pods, 0 GPUs, spec.template"]),
        ("Pod", "{containers: [{resources: {limits: {nvidia.com/gpu: 2}}}]}", ["pod, 1 pods, 2 GPUs, "]),
        (
            "CronJob",
            "{jobTemplate: {metadata: {labels: {a: b}}, spec: {parallelism: 4, completions: 3, template: ONE}}}",
            [f"worker, 3 pods, 1 GPUs, {CRON} {{'a': 'b'}}"],
        ),
        (
            "CronJob",
            "{jobTemplate: {spec: {parallelism: 2, completions: 3, completionMode: Indexed}}}",
            [
                "worker, 2 pods, 0 GPUs, spec.jobTemplate.spec.template, 3 indices, 1 jobs of "
                "spec.jobTemplate.metadata {}"
            ],
        ),
        (
            "CronJob",
            "{jobTemplate: {spec: {parallelism: 2, completions: 3, completionMode: NonIndexed}}}",
            [f"worker, 2 pods, 0 GPUs, {CRON} {{}}"],
        ),
        ("CronJob", "{jobTemplate: {spec: {completionMode: Indexed}}}", [f"worker, 1 pods, 0 GPUs, {CRON} {{}}"]),
        ("Deployment", "{replicas: 3, template: ONE}", ["pod, 3 pods, 1 GPUs, spec.template"]),
        ("StatefulSet", "{replicas: 3, template: ONE}", ["pod, 3 pods, 1 GPUs, spec.template"]),
        ("StatefulSet", "{}", ["pod, 1 pods, 0 GPUs, spec.template"]),
        ("Notebook", "{template: ONE}", ["pod, 1 pods, 1 GPUs, spec.template, metadata metadata"]),
        (
            "JobSet",
            "{replicatedJobs: [{name: A, replicas: 2, template: {metadata: {labels: {a: b}}, spec: {parallelism: 3, "
            "completions: 9, template: ONE}}}, {name: b, template: {}}]}",
            [
                "A, 6 pods, 1 GPUs, spec.replicatedJobs.0.template.spec.template, replicated job A/A by value "
                "spec.replicatedJobs.0.name, 2 jobs of spec.replicatedJobs.0.template.metadata {'a': 'b'}",
                "b, 1 pods, 0 GPUs, spec.replicatedJobs.1.template.spec.template, replicated job b/b by value "
                "spec.replicatedJobs.1.name, 1 jobs of spec.replicatedJobs.1.template.metadata {}",
            ],
        ),
        (
            "TrainJob",
            "{trainer: {numNodes: 3, resourcesPerNode: {limits: {nvidia.com/gpu: 2}}}}",
            ["node, 3 pods, 2 GPUs, spec.trainer, spec , without template"],
        ),
        ("TrainJob", "{}", ["node, 1 pods, 0 GPUs, spec.trainer, spec , without template"]),
        (
            "PyTorchJob",
            "{pytorchReplicaSpecs: {Master: {template: ONE}, Worker: {replicas: 3}}}",
            [
                f"Master, 1 pods, 1 GPUs, {MASTER}.template, index {REPLICA}, SubGroup master, replica type "
                f"Master/master by key {MASTER}",
                f"Worker, 3 pods, 0 GPUs, {PLAIN_WORKER}.template, index {REPLICA}, SubGroup worker, replica type "
                f"Worker/worker by key {PLAIN_WORKER}",
            ],
        ),
        (
            "LeaderWorkerSet",
            "{replicas: 2, leaderWorkerTemplate: {size: 4, workerTemplate: ONE}}",
            [
                f"leader, 1 pods, 1 GPUs, {GROUPS}.workerTemplate, index {WORKER}, leader",
                f"workers, 3 pods, 1 GPUs, {GROUPS}.workerTemplate, index {WORKER}",
            ],
        ),
        (
            "LeaderWorkerSet",
            "{leaderWorkerTemplate: {leaderTemplate: ONE}}",
            [
                f"leader, 1 pods, 1 GPUs, {GROUPS}.leaderTemplate, index {WORKER}, leader",
                f"workers, 0 pods, 0 GPUs, {GROUPS}.workerTemplate, index {WORKER}",
            ],
        ),
        ("RayCluster", RAY, ray("spec")),
        ("RayService", f"{{rayClusterConfig: {RAY}}}", ray("spec.rayClusterConfig")),
        ("RayJob", f"{{rayClusterSpec: {RAY}}}", ray("spec.rayClusterSpec")),
        (
            "RayJob",
            "{clusterSelector: {ray.io/cluster: a}, rayClusterSpec: {headGroupSpec: {}}, submitterPodTemplate: ONE}",
            ["submitter/pod, 1 pods, 1 GPUs, spec.submitterPodTemplate, SubGroup submitter, late"],
        ),
        ("RayJob", "{}", []),
    ],
)
def test_the_pods_of_a_workload(kind: str, spec: str, expected: list[str]) -> None:
    assert [told(pods) for pods in workload(kind, spec).pod_sets] == expected


@pytest.mark.parametrize(
    ("kind", "spec", "counts"),
    [
        ("Job", "{}", []),
        (
            "TFJob",
            "{tfReplicaSpecs: {Chief: {}, Worker: {replicas: 1}, PS: {}}}",
            ["spec.tfReplicaSpecs.Chief.replicas 1", "spec.tfReplicaSpecs.PS.replicas 1"],
        ),
        (
            "RayCluster",
            RAY,
            [
                "spec.workerGroupSpecs.1.replicas 2",
                "spec.workerGroupSpecs.2.replicas 0",
                "spec.workerGroupSpecs.2.minReplicas 0",
            ],
        ),
    ],
)
def test_counts_that_a_controller_assumes(kind: str, spec: str, counts: list[str]) -> None:
    assert [f"{dotted(path)} {count}" for path, count in workload(kind, spec).implied_counts] == counts


def test_names_that_a_webhook_adds() -> None:
    found = workload("JobSet", "{failurePolicy: {rules: [{name: ''}, {name: R}, {}]}}")
    path = ("spec", "failurePolicy", "rules")
    assert [*found.implied_names] == [((*path, at, "name"), f"failurePolicyRule{at}") for at in (0, 2)]
    assert [*workload("Job", "{}").implied_names] == []


def test_what_starts_together_and_in_which_order() -> None:
    policy = "runPolicy: {schedulingPolicy: {minAvailable: 2}}"
    asked = workload("MPIJob", f"{{{policy}, mpiReplicaSpecs: {{Launcher: {{}}, Worker: {{replicas: 2}}}}}}")
    path = ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
    assert asked.page.gang.minimum_path(asked.document) == path
    plain = workload("MPIJob", "{mpiReplicaSpecs: {Launcher: {}}}")
    assert plain.page.gang.minimum_path(plain.document) is None
    for spec, is_in_order in (("{startupPolicy: {startupPolicyOrder: InOrder}}", True), ("{}", False)):
        found = workload("JobSet", spec)
        assert found.page.gang.in_order(found.document) is is_in_order
    assert workload("LeaderWorkerSet", "{startupPolicy: LeaderReady, leaderWorkerTemplate: {}}").leader_first
    assert not workload("LeaderWorkerSet", "{leaderWorkerTemplate: {}}").leader_first
    assert not workload("Deployment", "{}").leader_first


def test_how_a_leader_worker_set_is_divided() -> None:
    path = ("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize")
    policy = "{subGroupSize: 2, subGroupPolicyType: LeaderExcluded}"
    divided = workload("LeaderWorkerSet", f"{{replicas: 3, leaderWorkerTemplate: {{subGroupPolicy: {policy}}}}}")
    assert (divided.own_division, divided.copies) == (Division(2, path, leader_excluded=True), 3)
    assert workload("LeaderWorkerSet", "{leaderWorkerTemplate: {subGroupPolicy: {}}}").own_division == Division(
        None, path
    )
    plain = workload("LeaderWorkerSet", "{leaderWorkerTemplate: {}}")
    assert (plain.own_division, plain.copies, plain.page.gang.reads_size) == (None, 1, True)
    other = workload("Deployment", "{}")
    assert (other.own_division, other.copies, other.page.gang.reads_size) == (None, 1, False)


def test_a_stopped_notebook_has_no_pod() -> None:
    (pods,) = workload("Notebook", "{}", annotations={"kubeflow-resource-stopped": "x"}).pod_sets
    assert pods.replicas == 0
