"""Tests gangs that wait for themselves: a controller makes some pods only when others have a node, are ready or have
ended, and KAI waits for all of them. Each row is told on the releases on which it never starts, and its help mends it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest
from yaml import safe_dump

from kubectl_tas.facts import kai
from tests.support.judged import told_of
from tests.support.workloads import Object

RELEASES = [f"{major}.{minor}" for major, minor in kai.NEWEST_PATCHES if (major, minor) >= (0, 9)]
EVERY = frozenset(RELEASES)
UNREAD = frozenset({"0.13"})
"""Releases that wait for all pods of a JobSet, whatever an annotation says."""
WITH_JOBS = frozenset({"0.16", "0.17"})
"""Releases that wait for each replicated job of a JobSet."""
OF_ALL_PODS = frozenset({"0.13", "0.14"})
"""Releases that wait for all pods of a JobSet."""
RACK = "example.com/rack"
LWS, JOBSET, TRAINJOB = "LeaderWorkerSet", "JobSet", "TrainJob"
LWS_RACK = {"leaderworkerset.sigs.k8s.io/exclusive-topology": RACK}
JOBSET_RACK = {"alpha.jobset.sigs.k8s.io/exclusive-topology": RACK}
KAI_RACK = {"kai.scheduler/topology-required-placement": "rack"}
NODE_SELECTOR = {"alpha.jobset.sigs.k8s.io/node-selector": "true"}
API = {
    LWS: "leaderworkerset.x-k8s.io/v1",
    JOBSET: "jobset.x-k8s.io/v1alpha2",
    TRAINJOB: "trainer.kubeflow.org/v1alpha1",
    "MPIJob": "kubeflow.org/v2beta1",
    "StatefulSet": "apps/v1",
}
LEVELS = f"  topology_keys: [{{key: rack, label: {RACK}}}]\n"


def least(number: int) -> dict[str, str]:
    return {"kai.scheduler/batch-min-member": str(number)}


def pods(**metadata: Any) -> Object:
    container = {"name": "c", "image": "i:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    return {"metadata": metadata, "spec": {"restartPolicy": "Never", "containers": [container]}}


def group(size: int = 3, **spec: Any) -> Object:
    template = pods()
    del template["spec"]["restartPolicy"]
    return {**spec, "leaderWorkerTemplate": {"size": size, "workerTemplate": template}}


def job(name: str, parallelism: int = 2, *, after: str = "", of_job: Mapping[str, str] = {}, **of_pods: Any) -> Object:
    spec = {"parallelism": parallelism, "completions": parallelism, "template": pods(**of_pods)}
    order = {"dependsOn": [{"name": after, "status": "Ready"}]} if after else {}
    return {"name": name, "replicas": 2, **order, "template": {"metadata": {"annotations": dict(of_job)}, "spec": spec}}


def jobs(*replicated: Object, **spec: Any) -> Object:
    return {**spec, "replicatedJobs": list(replicated)}


IN_ORDER = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}
AFTER = (job("a"), job("b", after="a"))


def trained(runtime: str) -> Object:
    return {"runtimeRef": {"name": runtime}, "trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {"cpu": 1}}}}


def launched(policy: str) -> Object:
    types = {"Launcher": {"replicas": 1, "template": pods()}, "Worker": {"replicas": 2, "template": pods()}}
    return {"launcherCreationPolicy": policy, "mpiReplicaSpecs": types}


class Case(NamedTuple):
    """A workload, and the releases on which it never starts."""

    kind: str
    spec: Object
    annotations: Mapping[str, str] = {}
    never: frozenset[str] = frozenset()
    config: Mapping[str, str] = {}


CASES = {
    "an exclusive group": Case(LWS, group(), LWS_RACK, EVERY),
    "an exclusive group of one pod": Case(LWS, group(size=1), LWS_RACK),
    "an exclusive group whose leader starts alone": Case(LWS, group(startupPolicy="LeaderReady"), LWS_RACK),
    "a group placed by KAI": Case(LWS, group(), KAI_RACK),
    "exclusive jobs": Case(JOBSET, jobs(job("a")), JOBSET_RACK, OF_ALL_PODS | WITH_JOBS),
    "a job that is exclusive": Case(JOBSET, jobs(job("a", of_job=JOBSET_RACK)), never=OF_ALL_PODS | WITH_JOBS),
    "pods that are exclusive": Case(JOBSET, jobs(job("a", annotations=JOBSET_RACK)), never=OF_ALL_PODS | WITH_JOBS),
    "exclusive jobs of one pod": Case(JOBSET, jobs(job("a", parallelism=1)), JOBSET_RACK),
    "exclusive jobs of labelled nodes": Case(JOBSET, jobs(job("a")), {**JOBSET_RACK, **NODE_SELECTOR}),
    "a job labelled, the set exclusive": Case(
        JOBSET, jobs(job("a", of_job=NODE_SELECTOR)), JOBSET_RACK, OF_ALL_PODS | WITH_JOBS
    ),
    "exclusive jobs that start with one pod": Case(JOBSET, jobs(job("a", of_job=least(1))), JOBSET_RACK, OF_ALL_PODS),
    "exclusive jobs in order": Case(JOBSET, jobs(job("a"), job("b"), **IN_ORDER), JOBSET_RACK, OF_ALL_PODS | WITH_JOBS),
    "a job after another": Case(JOBSET, jobs(*AFTER), never=OF_ALL_PODS | WITH_JOBS),
    "a job after another, of a set that needs one": Case(JOBSET, jobs(*AFTER), least(1), UNREAD),
    "a job after one of two": Case(JOBSET, jobs(job("a"), job("b", after="a"), job("c")), least(2), UNREAD),
    "a job after one of two, and all needed": Case(
        JOBSET, jobs(job("a"), job("b", after="a"), job("c")), never=OF_ALL_PODS | WITH_JOBS
    ),
    "jobs in order": Case(JOBSET, jobs(job("a"), job("b"), **IN_ORDER)),
    "jobs in order, and two needed": Case(JOBSET, jobs(job("a"), job("b"), **IN_ORDER), least(2), WITH_JOBS),
    "a launcher that waits": Case("MPIJob", launched("WaitForWorkersReady")),
    "pods in order": Case("StatefulSet", {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}}),
    **{
        f"runtime {name}": Case(TRAINJOB, trained(name), never=OF_ALL_PODS | WITH_JOBS)
        for name in (
            "deepspeed-distributed",
            "mlx-distributed",
            "torchtune-llama3.2-1b",
            "torch-distributed-with-cache",
        )
    },
    "a runtime of one job": Case(TRAINJOB, trained("torch-distributed")),
    "a runtime of which one job is needed": Case(TRAINJOB, trained("mlx-distributed"), least(1), UNREAD),
    "a runtime of which all are needed": Case(TRAINJOB, trained("mlx-distributed"), least(2), UNREAD | WITH_JOBS),
    "a runtime of an older Trainer": Case(
        TRAINJOB, trained("mlx-distributed"), config={"operators": '{trainer: "2.2"}'}
    ),
}


def told(case: Case, release: str, change: Callable[[Object], None] = lambda _: None) -> list[str]:
    """What is said of waiting in a case on a release."""
    labels = {"kubectl-tas/pool": "team"}
    spec = dict(case.spec)
    if case.kind == "StatefulSet":
        template = pods(labels={"a": "b"})
        template["spec"]["restartPolicy"] = "Always"
        spec["template"] = template
    metadata = {"name": "w", "labels": labels, "annotations": dict(case.annotations)}
    document = {"apiVersion": API[case.kind], "kind": case.kind, "metadata": metadata, "spec": spec}
    change(document)
    backends = f'[{{name: b, scheduler: {{version: "{release}"}}}}]'
    lines = told_of(safe_dump(document), LEVELS, backends=backends, **case.config)
    return [line for line in lines if "never starts" in line]


@pytest.mark.parametrize("name", CASES)
def test_a_gang_that_waits_for_itself_is_told_on_the_releases_that_have_it(name: str) -> None:
    case = CASES[name]
    for release in RELEASES:
        assert bool(told(case, release)) == (release in case.never), release


def annotated(annotations: Mapping[str, str], without: Mapping[str, str] = {}) -> Callable[[Object], None]:
    def change(document: Object) -> None:
        written = document["metadata"]["annotations"]
        for name in without:
            del written[name]
        written.update(annotations)

    return change


def leader_ready(document: Object) -> None:
    document["spec"]["startupPolicy"] = "LeaderReady"


def of_jobs(annotations: Mapping[str, str], without: Mapping[str, str] = {}) -> Callable[[Object], None]:
    def change(document: Object) -> None:
        annotated({}, without)(document)
        for replicated in document["spec"]["replicatedJobs"]:
            replicated["template"]["metadata"]["annotations"] = dict(annotations)

    return change


HELPS: list[tuple[str, str, Callable[[Object], None]]] = [
    (
        "an exclusive group",
        "Remove it, and add kai.scheduler/topology-required-placement: rack.",
        annotated(KAI_RACK, LWS_RACK),
    ),
    ("an exclusive group", "Or add startupPolicy: LeaderReady to spec.", leader_ready),
    (
        "exclusive jobs",
        "Remove it, and add kai.scheduler/topology-required-placement: rack to template.metadata.annotations of each "
        "replicated job.",
        of_jobs(KAI_RACK, JOBSET_RACK),
    ),
    (
        "exclusive jobs",
        'Or add kai.scheduler/batch-min-member: "1" to template.metadata.annotations of each replicated job.',
        of_jobs(least(1)),
    ),
    ("a job after another", 'Write kai.scheduler/batch-min-member: "1" in metadata.annotations.', annotated(least(1))),
    (
        "a job after one of two, and all needed",
        'Write kai.scheduler/batch-min-member: "2" in metadata.annotations.',
        annotated(least(2)),
    ),
    ("jobs in order, and two needed", "Remove it.", annotated({}, least(2))),
    (
        "runtime mlx-distributed",
        'Write kai.scheduler/batch-min-member: "1" in metadata.annotations.',
        annotated(least(1)),
    ),
]


@pytest.mark.parametrize(("name", "words", "change"), HELPS)
def test_the_help_makes_the_gang_start(name: str, words: str, change: Callable[[Object], None]) -> None:
    assert words in told(CASES[name], "0.17")[0]
    assert told(CASES[name], "0.17", change) == []
