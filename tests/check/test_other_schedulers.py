"""Tests what stays of other schedulers in work: what is lost is said, with what says it here."""

from __future__ import annotations

import pytest

from tests.support.judged import told_of
from tests.support.pyyaml import dumped, safe_load

POOL = {"kubectl-tas/pool": "team"}
CONTAINERS = [{"name": "pytorch", "image": "a:1"}]
WORKER = {"replicas": 2, "template": {"spec": {"containers": CONTAINERS}}}
KINDS = {
    "Pod": ("v1", {"containers": CONTAINERS}),
    "Job": (
        "batch/v1",
        {
            "parallelism": 4,
            "completions": 4,
            "template": {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}},
        },
    ),
    "PyTorchJob": ("kubeflow.org/v1", {"pytorchReplicaSpecs": {"Worker": WORKER}}),
}


def work(kind: str, where: str = "labels", marks: dict[str, str] | None = None) -> str:
    version, spec = KINDS[kind]
    metadata = {"name": "w", "labels": dict(POOL)}
    metadata[where] = {**metadata.get(where, {}), **(marks or {})}
    return dumped({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})


def found(text: str) -> list[str]:
    return [line.partition(" ")[2] for line in told_of(text)]


NORMAL, LOW = "this work is NORMAL, and no other work preempts it", "kubectl-tas/priority"
APART, GANG = "each pod starts without the others", "kubectl-tas/gang: 4"
ONE_BY_ONE, MINIMUM = "its pods start one by one", 'kai.scheduler/batch-min-member: "4"'
ANYWHERE, LEVEL = "these pods run anywhere", "kai.scheduler/topology-required-placement"
QUEUE = "the pool says which queue this work is in"


@pytest.mark.parametrize(
    ("kind", "where", "key", "lost", "here"),
    [
        ("Job", "labels", "kueue.x-k8s.io/priority-class", NORMAL, LOW),
        ("Job", "annotations", "volcano.sh/preemptable", NORMAL, LOW),
        ("Job", "annotations", "yunikorn.apache.org/allow-preemption", NORMAL, LOW),
        ("Job", "labels", "kueue.x-k8s.io/max-exec-time-seconds", "nothing ends this work", "activeDeadlineSeconds"),
        ("Pod", "labels", "kueue.x-k8s.io/pod-group-name", APART, GANG),
        ("Pod", "annotations", "kueue.x-k8s.io/pod-group-total-count", APART, "kubectl-tas/gang"),
        ("Pod", "labels", "scheduling.x-k8s.io/pod-group", APART, GANG),
        ("Pod", "labels", "pod-group.scheduling.sigs.k8s.io", APART, GANG),
        ("Pod", "annotations", "scheduling.k8s.io/group-name", APART, GANG),
        ("Pod", "annotations", "scheduling.volcano.sh/group-name", APART, GANG),
        ("Pod", "annotations", "gang.scheduling.koordinator.sh/name", APART, "kubectl-tas/gang"),
        ("Pod", "annotations", "yunikorn.apache.org/task-groups", APART, "kubectl-tas/gang"),
        ("Job", "annotations", "kueue.x-k8s.io/job-min-parallelism", ONE_BY_ONE, MINIMUM),
        ("Job", "annotations", "scheduling.volcano.sh/group-min-member", ONE_BY_ONE, MINIMUM),
        ("Job", "labels", "pod-group.scheduling.sigs.k8s.io/min-available", ONE_BY_ONE, MINIMUM),
        ("Job", "annotations", "kueue.x-k8s.io/podset-required-topology", ANYWHERE, LEVEL),
        ("Job", "annotations", "kueue.x-k8s.io/podset-group-name", ANYWHERE, LEVEL),
        ("Job", "annotations", "kueue.x-k8s.io/podset-preferred-topology", ANYWHERE, "preferred-placement among"),
        ("Job", "annotations", "kueue.x-k8s.io/podset-slice-size", ANYWHERE, "kai.scheduler/segment-size"),
        ("Job", "annotations", "kueue.x-k8s.io/queue-name", QUEUE, "Remove"),
        ("Job", "labels", "volcano.sh/queue-name", QUEUE, "Remove"),
        ("Job", "labels", "yunikorn.apache.org/queue", QUEUE, "Remove"),
        ("Job", "labels", "run.ai/queue", QUEUE, "Remove"),
        ("PyTorchJob", "labels", "scheduling.x-k8s.io/pod-group", "", "Remove"),
        ("Job", "annotations", "provreq.kueue.x-k8s.io/maxRunDurationSeconds", "", "Remove"),
        ("Job", "labels", "run.ai/project", "", "Remove"),
        ("Job", "annotations", "kueue.x-k8s.io/podset-unconstrained-topology", "", "Remove"),
    ],
)  # fmt: skip
def test_what_another_scheduler_reads(kind: str, where: str, key: str, lost: str, here: str) -> None:
    (line,) = found(work(kind, where, {key: "4"}))
    message, _, hint = line.removeprefix("other-queue: ").removesuffix(")").rpartition(" (")
    assert message.startswith(f"KAI ignores {key}, which is ")
    assert message.endswith(lost and f": {lost}")
    assert here in hint


@pytest.mark.parametrize(
    ("kind", "key", "marks"),
    [
        ("Job", "kueue.x-k8s.io/priority-class", {"kubectl-tas/priority": "LOW"}),
        ("Pod", "kueue.x-k8s.io/pod-group-name", {"kubectl-tas/gang": "4"}),
        ("Job", "kueue.x-k8s.io/pod-group-name", {"kubectl-tas/podgroup": "owned"}),
    ],
)
def test_nothing_is_lost_that_is_said_here(kind: str, key: str, marks: dict[str, str]) -> None:
    """What the help says is followed: without the key of the other scheduler nothing is found."""
    (line,) = found(work(kind, "labels", {key: "4", **marks}))
    assert line == f"other-queue: KAI ignores {key}, which is Kueue's (Remove {key}.)"
    assert found(work(kind, "labels", marks)) == []


def test_a_minimum_of_another_scheduler_in_the_words_of_kai() -> None:
    assert found(work("Job", "annotations", {"kai.scheduler/batch-min-member": "4"})) == []


@pytest.mark.parametrize(
    "key",
    [
        "cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt", "prometheus.io/scrape",
        "sidecar.istio.io/inject", "leaderworkerset.sigs.k8s.io/size", "queue", "team.example.com/queue-name",
        "koordinator.sh/qosClass", "kubectl.kubernetes.io/default-container", "descheduler.alpha.kubernetes.io/evict",
    ],
)  # fmt: skip
@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_tools_that_schedule_nothing(where: str, key: str) -> None:
    assert found(work("Job", where, {key: "4"})) == []


def volcano(spec: dict[str, object], **marks: str) -> str:
    task = {"name": "w", "replicas": 4, "template": {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}}
    metadata = {"name": "w", "labels": {**POOL, **marks}, "annotations": {"volcano.sh/job-retry-count": "1"}}
    spec = {"tasks": [task], **spec}
    return dumped({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata, "spec": spec})


@pytest.mark.parametrize(
    ("field", "value", "lost"),
    [
        ("minAvailable", 4, APART),
        ("networkTopology", {"mode": "hard", "highestTierAllowed": 1}, "its pods run anywhere"),
        ("queue", "research", "the pool says which queue it is in"),
    ],
)
def test_fields_of_volcano(field: str, value: object, lost: str) -> None:
    (line,) = found(volcano({field: value}))
    assert line.startswith(f"other-queue: KAI ignores spec.{field}: {lost} (")


def test_a_gang_of_volcano_that_kubectl_tas_makes() -> None:
    assert found(volcano({"minAvailable": 4}, **{"kubectl-tas/podgroup": "owned"})) == []


def test_a_gang_of_kube_scheduler() -> None:
    document = safe_load(work("Pod"))
    document["spec"]["schedulingGroup"] = {"podGroupName": "g"}
    (line,) = found(dumped(document))
    assert line.startswith(f"other-queue: KAI ignores spec.schedulingGroup, which is kube-scheduler's: {APART}")
