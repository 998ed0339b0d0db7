"""Tests the access of pools: Roles for their groups, and a policy that reserves queues for these groups."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.compile.cel import MAX_ENTRIES
from tests.support.admission import Object, Request, refusals, violations
from tests.support.cli import kubectl_tas, write
from tests.support.golden import case_input
from tests.support.pyyaml import safe_load_all
from tools.goldens import GOLDEN

QUEUE = "kai.scheduler/queue"
NLP, SPEECH = "osmo-pool-ml-nlp--shared", "osmo-pool-ml-nlp--speech"
VISION, OPEN = "osmo-pool-ml-vision--shared", "osmo-pool-ml-scratch--shared"
TEAM = ("team-nlp",)


def stream(root: Path) -> list[Object]:
    return rendered(root)


def rendered(root: Path, *more: str) -> list[Object]:
    result = kubectl_tas("render", "--to", "-", *more, "-C", root)
    assert result.code == 0, result.err
    return list(safe_load_all(result.out))


@pytest.fixture(scope="module")
def policy() -> list[Object]:
    objects = stream(case_input(GOLDEN / "manifests/guard-access"))
    return [item for item in objects if item["metadata"]["name"] == "osmo-guard-ml-access"]


def work(api: str, kind: str, own: str | None, spec: Any) -> Object:
    labels = {} if own is None else {QUEUE: own}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "w", "labels": labels}, "spec": spec}


def job(own: str | None, inner: str) -> Object:
    return work("batch/v1", "Job", own, {"template": {"metadata": {"labels": {QUEUE: inner}}, "spec": {}}})


def refused(queue: str, groups: str) -> list[str]:
    return [f"queue {queue} is for {groups}; alice is in no such group"]


RUNTIME = ["a TrainJob must name its queue in its own labels: its pods have the labels of its runtime, "
           "which may be of another group"]  # fmt: skip
HEAD = {"headGroupSpec": {"labels": {QUEUE: VISION}, "template": {}}}
CASES: dict[str, tuple[Request, list[str]]] = {
    "of the team": (Request("jobs", job(NLP, NLP), groups=TEAM), []),
    "of the team, in a subpool": (Request("jobs", job(SPEECH, SPEECH), groups=TEAM), []),
    "in a pool that is open": (Request("jobs", job(OPEN, OPEN)), []),
    "of another subpool's team": (
        Request("jobs", job(NLP, NLP), groups=("team-speech",)), refused(NLP, "team-nlp")
    ),
    "for a subpool, by a stranger": (Request("jobs", job(SPEECH, SPEECH)), refused(SPEECH, "team-nlp, team-speech")),
    "its pods are for another": (Request("jobs", job(NLP, VISION), groups=TEAM), refused(VISION, "team-vision")),
    "labels that an operator puts on pods": (
        Request("rayclusters", work("ray.io/v1", "RayCluster", NLP, HEAD), groups=TEAM), refused(VISION, "team-vision")
    ),
    "an annotation that Grove reads": (
        Request("podcliquesets", {
            **work("grove.io/v1alpha1", "PodCliqueSet", None, {}),
            "metadata": {"name": "w", "annotations": {QUEUE: VISION}},
        }, groups=TEAM),
        refused(VISION, "team-vision"),
    ),
    "a kind of an operator that is not read": (
        Request("podcliques", work("grove.io/v1alpha1", "PodClique", VISION, {}), groups=TEAM),
        refused(VISION, "team-vision"),
    ),
    "an object without a spec": (
        Request("controllerrevisions", {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": {}}), []
    ),
    "a TrainJob with a runtime of another": (
        Request("trainjobs", work("trainer.kubeflow.org/v1alpha1", "TrainJob", None, {"runtimeRef": {"name": "r"}})),
        RUNTIME,
    ),
    "a TrainJob of the team": (
        Request("trainjobs", work("trainer.kubeflow.org/v1alpha1", "TrainJob", NLP, {}), groups=TEAM), []
    ),
    "words that look like keys hide nothing": (
        Request("jobs", work("batch/v1", "Job", None, {"a": ['"queue": "', "queue: ", '"queue'], "b": {QUEUE: VISION}}),
                groups=TEAM),
        refused(VISION, "team-vision"),
    ),
    "free text that holds the queue of another": (
        Request("jobs", work("batch/v1", "Job", NLP, {"args": [
            f"--queue: {VISION}", f"queue:{VISION}", f'{{"queue": "{VISION}"}}', f"{QUEUE}: {VISION}",
            f'"queue":"{VISION}', f'queue\\": "{VISION}', f"'queue': '{VISION}'",
        ]}), groups=TEAM),
        [],
    ),
    "free text that ends like a key, before a queue of another": (
        Request("jobs", work("batch/v1", "Job", NLP, {"args": ["queue", VISION, 'queue"', f':"{VISION}"']}),
                groups=TEAM),
        [],
    ),
    "a template in a kind that nobody knows": (
        Request("podcliques", work("grove.io/v1alpha1", "Whatever", NLP,
                                   {"a": [{"b": {"c": {"labels": {QUEUE: VISION}}}}]}), groups=TEAM),
        refused(VISION, "team-vision"),
    ),
    "a status of a Job of another": (
        Request("jobs/status", job(VISION, NLP), job(NLP, NLP), groups=TEAM), refused(VISION, "team-vision")
    ),
    "a thousand names in free text": (
        Request("jobs", work("batch/v1", "Job", NLP, {"args": ["queue: x "] * 1000}), groups=TEAM), []
    ),
    "a thousand names": (
        Request("jobs", work("batch/v1", "Job", NLP, {"a": [{"queue": "x"}] * 1000}), groups=TEAM),
        ["a queue is named 1000 times or more"],
    ),
    "a longer name, of a queue that is open": (Request("jobs", job(None, f"{VISION}-2")), []),
    "a controller": (Request("pods", work("v1", "Pod", VISION, {}), user="system:kube-controller-manager"), []),
    "a service account of KAI": (
        Request("podgroups", work("scheduling.run.ai/v2alpha2", "PodGroup", None, {"queue": VISION}),
                groups=("system:serviceaccounts:kai-scheduler",)), []
    ),
    "a service account that is trusted": (
        Request("pods", work("v1", "Pod", VISION, {}), user="system:serviceaccount:ci:deployer"), []
    ),
    "who may change the policy": (Request("pods", work("v1", "Pod", VISION, {}), may_change_policies=True), []),
    "another namespace": (Request("jobs", job(VISION, VISION), namespace="elsewhere"), []),
    "a debug container in a pod of another": (
        Request("pods/ephemeralcontainers", work("v1", "Pod", VISION, {"ephemeralContainers": [{}]}),
                work("v1", "Pod", VISION, {}), groups=TEAM),
        refused(VISION, "team-vision"),
    ),
    "a Job of another that stays as it is": (
        Request("jobs", {**job(VISION, VISION), "status": {}}, job(VISION, VISION), groups=TEAM), []
    ),
    "a Job moves to the queue of another": (
        Request("jobs", job(VISION, NLP), job(NLP, NLP), groups=TEAM), refused(VISION, "team-vision")
    ),
    "a Job leaves the queue of another": (Request("jobs", job(NLP, NLP), job(VISION, NLP), groups=TEAM), []),
}  # fmt: skip
"""Who sends or changes what, and the refusal."""


@pytest.mark.parametrize("name", CASES)
def test_queues_are_for_their_groups(name: str, policy: list[Object]) -> None:
    request, expected = CASES[name]
    assert refusals(policy, copy.deepcopy(request)) == expected


def test_a_server_takes_the_policy(policy: list[Object]) -> None:
    assert [violations(item) for item in policy] == [[], []]


POOL = "apiVersion: tas/v1alpha1\nkind: Pool\nmetadata: {name: %s}\nspec: {access: {%s}, namespaces: [%s]}\n"
CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {guard: %s}\n"


def test_without_groups_that_submit_there_is_no_policy(tmp_path: Path) -> None:
    write(tmp_path, {"tas.yaml": CONFIG % "enforce", "pools/a.yaml": POOL % ("a", "view: [auditors]", "ml")})
    found = [(item["kind"], item["metadata"]["name"]) for item in stream(tmp_path)]
    assert not any(name.endswith("-access") for _, name in found)
    assert ("RoleBinding", "osmo-pool-default-a-view") in found


def test_a_warning_lets_in_what_cannot_be_judged(tmp_path: Path) -> None:
    write(tmp_path, {"tas.yaml": CONFIG % "warn", "pools/a.yaml": POOL % ("a", "submit: [a]", "ml")})
    policy, binding = (item for item in stream(tmp_path) if item["metadata"]["name"] == "osmo-guard-default-access")
    assert policy["spec"]["failurePolicy"] == "Ignore"
    assert binding["spec"]["validationActions"] == ["Warn", "Audit"]


@pytest.mark.sweep
def test_many_queues_are_in_several_tables(tmp_path: Path) -> None:
    count = MAX_ENTRIES + 1
    pools = "---\n".join(POOL % (f"p{index}", f"submit: [g{index}]", "ml") for index in range(count))
    write(tmp_path, {"tas.yaml": CONFIG % "enforce", "pools/all.yaml": pools})
    policies = [item for item in stream(tmp_path) if item["metadata"]["name"] == "osmo-guard-default-access"]
    assert [violations(item) for item in policies] == [[], []]
    for index in (0, count - 1):
        queue = f"osmo-pool-default-p{index}--shared"
        assert refusals(policies, Request("jobs", job(queue, queue), groups=(f"g{index}",))) == []
        assert refusals(policies, Request("jobs", job(queue, queue))) == refused(queue, f"g{index}")


def test_who_may_use_a_pool_is_described() -> None:
    root = case_input(GOLDEN / "manifests/access")
    page = kubectl_tas("pool", "describe", "nlp--speech", "-C", root).out
    assert "May submit:  research-leads, team-nlp, system:serviceaccounts:nlp-ci\n" in page
    assert "May view:    oidc:finance, team-vision, team-speech\n" in page
    assert "May submit" not in kubectl_tas("pool", "describe", "scratch", "-C", root).out


def test_queues_are_read_where_the_config_says_so(tmp_path: Path) -> None:
    source = case_input(GOLDEN / "manifests/access")
    root = write(
        tmp_path / "copy", {path.relative_to(source).as_posix(): path.read_text() for path in source.rglob("*.yaml")}
    )
    roles = [item for item in rendered(root, "--backend", "prod") if item["kind"].startswith("ClusterRole")]
    assert [(item["kind"], item["metadata"]["name"]) for item in roles] == [
        ("ClusterRole", "osmo-access-ml-queues"), ("ClusterRoleBinding", "osmo-access-ml-queues"),
    ]  # fmt: skip
    settings = (root / "tas.yaml").read_text().replace("  accessReadsQueues: true\n", "")
    write(root, {"tas.yaml": settings})
    assert not [item for item in rendered(root, "--backend", "prod") if item["kind"].startswith("ClusterRole")]
