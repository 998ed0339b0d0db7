"""Tests what a pool demands of manifests: each value with its place and its reason."""

from __future__ import annotations

import pytest
import yaml

from kubectl_tas.gangs.pool_demands import Demand, companion_demands, demands, member_demands
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from tests.gangs.test_kinds import job_set
from tests.support.cli import pool
from tests.support.fleets import fleet_of
from tests.support.grove import clique_set, pod_group
from tests.support.judged import told_of
from tests.support.workloads import LEVELS, ZONE, Object, pytorch_job, ray_job, segments, template, workload

QUEUE = "osmo-pool-default-team--shared"
TRAIN_JOB = workload(
    "trainer.kubeflow.org/v1alpha1",
    "TrainJob",
    "x",
    None,
    {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 4}},
)


def fleet(work: Object | str, spec: str = "", gitops: str = "none", version: str = "0.17") -> Fleet:
    """A fleet with this work of the pool team."""
    backend = f"{{name: prod, scheduler: {{version: '{version}'}}}}"
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {{gitops: {gitops}, backends: [{backend}]}}\n"
    text = work if isinstance(work, str) else yaml.safe_dump(work)
    pools = pool(guarantee=5000, spec=LEVELS + spec)
    return fleet_of({"tas.yaml": config, "pools/team.yaml": pools, "workflows/w.yaml": text})


def lines(found: tuple[Demand, ...]) -> list[str]:
    return [
        f"{'/'.join(map(str, item.path))} = {item.value}: {item.reason} ({item.mode.value})"
        for item in found
        if item.path != ("metadata", "namespace") or item.value != "default"
    ]


def of_work(found: Fleet) -> list[str]:
    """The demands on the one workload or PodCliqueSet of a fleet, in lines."""
    (item,) = found.submissions
    assert isinstance(item, FleetWorkload | SubmittedSet)
    return lines(demands(found, item))


def labelled(labels: str) -> str:
    return f"{labels}/kai.scheduler/queue = {QUEUE}: the queue of team (add)"


def pods(spec: str) -> list[str]:
    """The demands on the spec of pods."""
    return [
        f"{spec}/priorityClassName = osmo-normal: the PriorityClass of NORMAL (add)",
        f"{spec}/schedulerName = kai-scheduler: the scheduler of backend prod (add)",
    ]


def made(template: str) -> list[str]:
    return [labelled(f"{template}/metadata/labels"), *pods(f"{template}/spec")]


def unplaced(kind: str) -> list[str]:
    names = ("topology", "topology-required-placement", "topology-preferred-placement")
    why = f"what places the pods of this {kind} (remove)"
    return [f"metadata/annotations/kai.scheduler/{name} = : {why}" for name in names]


OWN = labelled("metadata/labels")
MARK = "metadata/labels/app.kubernetes.io/managed-by = kubectl-tas: who renders it (keep)"
TYPES = "spec/pytorchReplicaSpecs"
TOPOLOGY = "osmo-pool-default-team-topology"
LEVEL = (
    "kai.scheduler/segment-topology-required-placement = topology.kubernetes.io/rack: the node label of rack (resolve)"
)
ASKED = "the PodGroup that the workload's labels ask for (add)"


def test_a_workload_whose_podgroup_kai_makes() -> None:
    found = of_work(fleet(pytorch_job("x", annotations={**segments(2), **ZONE})))
    notes = f"{TYPES}/Worker/template/metadata/annotations/kai.scheduler"
    zone = "topology.kubernetes.io/zone: the node label of zone (resolve)"
    assert found == [
        *(OWN, MARK),
        f"{notes}/topology = {TOPOLOGY}: the topology of the segments of worker (resolve)",
        f"{notes}/topology-required-placement = {zone}",
        f"{notes.rpartition('/')[0]}/{LEVEL}",
        *unplaced("PyTorchJob"),
        *made(f"{TYPES}/Master/template"),
        *made(f"{TYPES}/Worker/template"),
    ]


def test_a_workload_whose_podgroup_is_written() -> None:
    job = pytorch_job("x", {"kubectl-tas/podgroup": "owned"}, annotations=segments(2))
    found = of_work(fleet(job, "  nodes: {selector: {a: b}}\n"))
    name = next(line for line in found if "/pod-group-name" in line).split(" = ")[1].partition(":")[0]
    assert name.startswith("x-")

    def joined(template: str, part: str) -> list[str]:
        first, *rest = made(template)
        return [
            first,
            f"{template}/metadata/labels/kai.scheduler/subgroup-name = {part}: {ASKED}",
            f"{template}/metadata/annotations/pod-group-name = {name}: {ASKED}",
            f"{template}/metadata/annotations/kai.scheduler/skip-podgrouper = true: {ASKED}",
            *rest,
            f"{template}/spec/nodeSelector/a = b: the nodes of pool team (keep)",
        ]

    notes = f"{TYPES}/Worker/template/metadata/annotations"
    assert found == [
        *(OWN, MARK),
        f"{notes}/kai.scheduler/topology = {TOPOLOGY}: the topology of pool team (resolve)",
        f"{notes}/{LEVEL}",
        *joined(f"{TYPES}/Master/template", "master"),
        *joined(f"{TYPES}/Worker/template", "worker"),
    ]


def test_a_workload_without_pod_templates() -> None:
    priority = "metadata/labels/priorityClassName = osmo-normal: the PriorityClass of NORMAL (add)"
    assert of_work(fleet(TRAIN_JOB)) == [OWN, priority, MARK, *unplaced("TrainJob")]


def test_what_an_operator_fills_in() -> None:
    types = {"Master": {"template": template()}, "Worker": {"template": template()}}
    found = of_work(fleet(workload("kubeflow.org/v1", "XGBoostJob", "x", None, {"xgbReplicaSpecs": types})))
    assert found[:7] == [
        *(OWN, MARK, *unplaced("XGBoostJob")),
        "spec/xgbReplicaSpecs/Master/replicas = 1: what its operator counts (resolve)",
        "spec/xgbReplicaSpecs/Worker/replicas = 1: what its operator counts (resolve)",
    ]


def test_names_that_a_webhook_adds() -> None:
    """JobSet's webhook names the rules of a failure policy."""
    rules = [{"action": "FailJobSet"}, {"action": "FailJobSet", "name": "own"}]
    made = job_set(2)
    made["spec"]["failurePolicy"] = {"rules": rules}
    name = "spec/failurePolicy/rules/0/name = failurePolicyRule0: what its webhook fills in (resolve)"
    assert [line for line in of_work(fleet(made)) if "failurePolicy" in line] == [name]


def test_the_submitter_of_a_rayjob_is_with_the_head() -> None:
    job = ray_job("x", None, ["a"])
    job["spec"]["submitterPodTemplate"] = template(0)
    submitter = "spec/submitterPodTemplate"
    why = "where KAI runs the pod that submits a job (add)"
    first, *rest = made(submitter)
    found = of_work(fleet(job))
    assert [line for line in found if line.startswith(submitter)] == [
        first,
        f"{submitter}/metadata/labels/kai.scheduler/subgroup-name = headgroup: {why}",
        *rest,
    ]


def test_a_podcliqueset() -> None:
    clique = "spec/template/cliques/0"
    priority, scheduler = pods(f"{clique}/spec/podSpec")
    assert of_work(fleet(clique_set(), "  nodePool: fast\n  nodes: {selector: {a: b}}\n")) == [
        OWN,
        "metadata/labels/kai.scheduler/node-pool = fast: the nodePool of pool team (add)",
        MARK,
        "spec/template/priorityClassName = osmo-normal: the PriorityClass of NORMAL (add)",
        labelled(f"{clique}/labels"),
        f"{clique}/labels/kai.scheduler/node-pool = fast: the nodePool of pool team (add)",
        scheduler,
        priority,
        f"{clique}/spec/podSpec/nodeSelector/a = b: the nodes of pool team (keep)",
    ]


@pytest.mark.parametrize("version", ["0.17", "0.14"])
def test_a_pod_of_a_podgroup(version: str) -> None:
    group = pod_group("zone").replace("spec:", "spec:\n  priorityClassName: high\n  preemptibility: preemptible")
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: {pod-group-name: by-hand}}\n"
    text = f"{group}---\n{pod}spec: {{containers: [{{name: a, image: i}}]}}\n"
    found = fleet(text, "  nodes: {selector: {a: b}}\n", version=version)
    (item,) = found.pod_groups
    (member,) = item.pods
    why = "that of PodGroup by-hand (add)"
    skipped = [f"metadata/annotations/kai.scheduler/skip-podgrouper = true: {why}"] if version == "0.17" else []
    assert lines(member_demands(found, item, member.origin)) == [
        f"metadata/labels/kai.scheduler/queue = {QUEUE}: {why}",
        "spec/nodeSelector/a = b: the nodes of pool team (keep)",
        MARK,
        *skipped,
        f"spec/priorityClassName = high: {why}",
        "spec/schedulerName = kai-scheduler: the scheduler of backend prod (add)",
    ]


COMPANION = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, labels: {{kubectl-tas/replace: '{}'}}{}}}\n"
OPTIONS = ", annotations: {argocd.argoproj.io/sync-options: 'Prune=false, Force=true'}"
WAVE = "metadata/annotations/argocd.argoproj.io/sync-wave = 6: the wave after that of its queue (keep)"
SYNC = "metadata/annotations/argocd.argoproj.io/sync-options"
ASKS = "what the label kubectl-tas/replace asks for"
FLUX = "metadata/annotations/kustomize.toolkit.fluxcd.io"
STAYS = f"{FLUX}/substitute = disabled: what keeps Flux from changing it (add)"


@pytest.mark.parametrize(
    ("gitops", "text", "found"),
    [
        ("none", COMPANION.format("false", ""), []),
        ("argocd", COMPANION.format("false", ""), [WAVE]),
        ("argocd", COMPANION.format("true", ""), [WAVE, f"{SYNC} = Force=true,Replace=true: {ASKS} (add)"]),
        (
            "argocd",
            COMPANION.format("true", OPTIONS),
            [WAVE, f"{SYNC} = Prune=false,Force=true,Replace=true: {ASKS} (resolve)"],
        ),
        ("flux", COMPANION.format("false", ""), [STAYS]),
        ("flux", COMPANION.format("true", ""), [f"{FLUX}/force = enabled: {ASKS} (add)", STAYS]),
    ],
)
def test_a_companion(gitops: str, text: str, found: list[str]) -> None:
    made = fleet(text, gitops=gitops)
    (item,) = made.companions
    assert lines(companion_demands(made, item)) == [MARK, *found]
    assert companion_demands(made, item)[-1] == Demand(
        ("metadata", "namespace"), "default", "the namespace of the work of backend prod"
    )


@pytest.mark.parametrize(
    ("api", "kind", "spec", "hint"),
    [
        ("v1", "Pod", template()["spec"], "Remove it: a Pod is not divided."),
        ("kubeflow.org/v1", "Notebook", {"template": template()}, "Remove it: a Notebook is one pod."),
        (
            "trainer.kubeflow.org/v1alpha1",
            "TrainJob",
            TRAIN_JOB["spec"],
            "Remove it: the pod template of a TrainJob is in its runtime.",
        ),
        ("batch/v1", "Job", {"template": template()}, "Move it to the pod template."),
        ("kubeflow.org/v1", "PyTorchJob", pytorch_job("x")["spec"], "Move it to the pod template of Worker."),
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            {"leaderWorkerTemplate": {"size": 3, "workerTemplate": template()}},
            "Move it to workerTemplate.",
        ),
        (
            "v1",
            "ReplicationController",
            {"replicas": 2, "template": {"metadata": {"labels": {"a": "b"}}, **template()}},
            "Remove it: KAI makes segments of no such workload.",
        ),
    ],
)
def test_segments_belong_to_the_pods_of_one_template(api: str, kind: str, spec: Object, hint: str) -> None:
    made = workload(api, kind, "x", None, spec)
    made["metadata"]["annotations"] = segments(2)
    level = "kai.scheduler/segment-topology-required-placement"
    message = f"{level} is ignored on the workload: segments belong to the pods of one template"
    found = [line.partition(" ")[2] for line in told_of(yaml.safe_dump(made), LEVELS) if level in line]
    assert f"segment-ignored: {message} ({hint})" in found


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (TRAIN_JOB, "it has no pod template to mark"),
        (
            workload("batch/v1", "CronJob", "x", None, {"jobTemplate": {"spec": {"template": template()}}}),
            "all its runs would join one PodGroup",
        ),
        (
            workload(
                "leaderworkerset.x-k8s.io/v1",
                "LeaderWorkerSet",
                "x",
                None,
                {"leaderWorkerTemplate": {"size": 3, "workerTemplate": template()}},
            ),
            "each of its groups is a gang of its own",
        ),
    ],
)
def test_a_podgroup_that_cannot_be_written(made: Object, why: str) -> None:
    metadata = made["metadata"]
    labels = {**metadata["labels"], "kubectl-tas/podgroup": "owned"}
    found = told_of(yaml.safe_dump({**made, "metadata": {**metadata, "labels": labels}}))
    message = f"the PodGroup of {made['kind']} x cannot be written here: {why} (Remove the label.)"
    assert f"podgroup-owned: {message}" in [line.partition(" ")[2] for line in found]
