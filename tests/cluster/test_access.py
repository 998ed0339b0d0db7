"""Tests that an API server lets only the groups of a pool send work to its queues. No request is stored."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.test_apply import POLICY_SECONDS, Manifests
from tests.support.golden import case_input
from tests.support.rendered import render_copy
from tests.support.server import PATIENCE, Server
from tools.goldens import GOLDEN

pytestmark = pytest.mark.cluster

NLP, SPEECH = "osmo-pool-ml-nlp--shared", "osmo-pool-ml-nlp--speech"
VISION, OPEN = "osmo-pool-ml-vision--shared", "osmo-pool-ml-scratch--shared"
QUEUE = "kai.scheduler/queue"
ALL_RIGHTS = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "all-rights", "namespace": "ml"},
    "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
}
BOUND = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "all-rights", "namespace": "ml"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "all-rights"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "all-rights"}],
}
"""What somebody may do by other Roles than those of the tool."""


def pod_spec(**fields: Any) -> dict[str, Any]:
    text = [f"{QUEUE}: {VISION}", f'{{"queue":"{VISION}"}}']
    container = {"name": "c", "image": "busybox", "args": ["%s", '"{}"', '"queue": "', "queue: ", *text]}
    return {"schedulerName": "kai-scheduler", "restartPolicy": "Never", "containers": [container], **fields}


def template(queue: str, restart: str = "Never") -> dict[str, Any]:
    return {"metadata": {"labels": {QUEUE: queue, "app": "a"}}, "spec": pod_spec(restartPolicy=restart)}


def work(kind: str, own: str | None, spec: dict[str, Any], name: str = "work") -> dict[str, Any]:
    versions = {"Pod": "v1", "Job": "batch/v1", "CronJob": "batch/v1", "PodGroup": "scheduling.run.ai/v2alpha2"}
    labels = {} if own is None else {QUEUE: own}
    metadata = {"name": name, "namespace": "ml", "labels": labels}
    return {"apiVersion": versions.get(kind, "apps/v1"), "kind": kind, "metadata": metadata, "spec": spec}


def job(own: str | None, inner: str, name: str = "work") -> dict[str, Any]:
    return work("Job", own, {"template": template(inner)}, name)


def replicas(kind: str, inner: str) -> dict[str, Any]:
    return work(kind, None, {"selector": {"matchLabels": {"app": "a"}}, "template": template(inner, "Always")})


TEAM, ALL = "team-nlp", "all-rights"
JOB_CONTROLLER = "system:serviceaccount:kube-system:job-controller"
FOR = "queue {} is for {}"
SENT: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "a Job of the team": (job(NLP, NLP), (TEAM,), ""),
    "a Pod of the team": (work("Pod", NLP, pod_spec()), (TEAM,), ""),
    "a PodGroup of the team": (work("PodGroup", None, {"queue": NLP, "minMember": 1}), (TEAM,), ""),
    "a Job of the team in a subpool": (job(SPEECH, SPEECH), (TEAM,), ""),
    "a Job of the subpool's team": (job(SPEECH, SPEECH), ("team-speech",), ""),
    "a Job for a pool that is open": (job(OPEN, OPEN), (TEAM,), ""),
    "a Job of the subpool's team in the pool": (job(NLP, NLP), ("team-speech",), FOR.format(NLP, "team-nlp")),
    "a Job that names another's queue": (job(VISION, VISION), (TEAM,), FOR.format(VISION, "team-vision")),
    "a Job that names it itself": (job(VISION, NLP), (TEAM,), FOR.format(VISION, "team-vision")),
    "a Job whose pods name it": (job(NLP, VISION), (TEAM,), FOR.format(VISION, "team-vision")),
    "a Pod that names it": (work("Pod", VISION, pod_spec()), (TEAM,), FOR.format(VISION, "team-vision")),
    "a PodGroup in it": (
        work("PodGroup", None, {"queue": VISION, "minMember": 1}), (TEAM,), FOR.format(VISION, "team-vision")
    ),
    "a CronJob whose pods name it": (
        work("CronJob", None, {"schedule": "0 4 * * *", "jobTemplate": {"spec": {"template": template(VISION)}}}),
        (TEAM,), FOR.format(VISION, "team-vision"),
    ),
    "a Deployment whose pods name it": (replicas("Deployment", VISION), (TEAM,), FOR.format(VISION, "team-vision")),
    "a ReplicaSet, with other Roles": (replicas("ReplicaSet", VISION), (TEAM, ALL), FOR.format(VISION, "team-vision")),
    "a DaemonSet, with other Roles": (replicas("DaemonSet", VISION), (TEAM, ALL), FOR.format(VISION, "team-vision")),
    "a ReplicaSet, without other Roles": (replicas("ReplicaSet", NLP), (TEAM,), "cannot create resource"),
    "work of somebody in no group": (job(NLP, NLP), ("team-x",), "cannot create resource"),
    "work of somebody in no group, with other Roles": (job(NLP, NLP), (ALL,), FOR.format(NLP, "team-nlp")),
}  # fmt: skip
"""What somebody of some groups creates, and what the refusal says; nothing: it is taken."""


@pytest.fixture(scope="module")
def guarded(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A cluster in which the access of pools is guarded. Skips the test where everybody may do everything."""
    if server.kubectl("auth", "can-i", "create", "roles", "--as=nobody").returncode == 0:
        pytest.skip("the cluster authorizes everybody; start its API server with --authorization-mode=RBAC")
    (cluster,) = render_copy(
        case_input(GOLDEN / "manifests/guard-access"), tmp_path_factory.mktemp("access") / "r"
    ).clusters
    server.have_kai(cluster.version or "0.17")
    server.have_namespaces([*cluster.objects, ALL_RIGHTS])
    manifests = Manifests(server, cluster)
    rights = tmp_path_factory.mktemp("rights") / "all.yaml"
    rights.write_text(yaml.safe_dump_all([ALL_RIGHTS, BOUND]))
    try:
        manifests.apply("--server-side")
        server.must("apply", "--server-side", files=[rights])
        time.sleep(POLICY_SECONDS)
        yield server
    finally:
        server.must("delete", "--ignore-not-found", files=[rights])
        manifests.delete()


def asked(server: Server, groups: tuple[str, ...], *arguments: str, files: tuple[Path, ...] = ()) -> str:
    """Why a server refuses what somebody of these groups asks for; nothing: it does not."""
    who = ["--as=alice", *(f"--as-group={group}" for group in (*groups, "system:authenticated"))]
    done = server.kubectl(*arguments, "--dry-run=server", *who, files=files)
    assert done.returncode == 0 or done.stderr
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("name", SENT)
def test_work_that_is_sent(name: str, guarded: Server, tmp_path: Path) -> None:
    item, groups, refused = SENT[name]
    path = tmp_path / "work.yaml"
    path.write_text(yaml.safe_dump(item))
    answer = asked(guarded, groups, "create", files=(path,))
    assert (refused in answer and bool(answer)) if refused else answer == ""


CHANGED: dict[str, tuple[tuple[str, ...], dict[str, Any], str]] = {
    "another's Job takes more pods": ((TEAM,), {"spec": {"parallelism": 9}}, FOR.format(VISION, "team-vision")),
    "its own team does that": (("team-vision",), {"spec": {"parallelism": 9}}, ""),
    "another's Job is annotated": ((TEAM,), {"metadata": {"annotations": {"seen": "yes"}}}, ""),
    "another's Job is made HIGH": (
        (TEAM,), {"metadata": {"labels": {"priorityClassName": "osmo-high"}}}, FOR.format(VISION, "team-vision")
    ),
    "its own team moves it to another's queue": (
        ("team-vision",), {"metadata": {"labels": {QUEUE: NLP}}}, FOR.format(NLP, "team-nlp")
    ),
}  # fmt: skip
"""Who changes a Job of team-vision how, and what the refusal says; nothing: it is taken."""


@pytest.fixture
def running(guarded: Server, tmp_path: Path) -> Iterator[Server]:
    """The cluster with a Job of team-vision."""
    path = tmp_path / "running.yaml"
    path.write_text(yaml.safe_dump(job(VISION, VISION, "running")))
    guarded.must("apply", files=[path])
    yield guarded
    guarded.must("delete", f"--timeout={PATIENCE}", files=[path])


@pytest.mark.parametrize("name", CHANGED)
def test_work_that_is_changed(name: str, running: Server) -> None:
    groups, patch, refused = CHANGED[name]
    answer = asked(running, groups, "patch", "--namespace=ml", "job", "running", "--patch", json.dumps(patch))
    assert refused in answer if refused else answer == ""


def test_a_status_that_names_the_queue_of_another(guarded: Server, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump(job(NLP, NLP, "own")))
    patch = json.dumps({"metadata": {"labels": {QUEUE: VISION}}})
    guarded.must("apply", files=[path])
    try:
        arguments = ("patch", "--namespace=ml", "job", "own", "--subresource=status", "--patch", patch)
        assert FOR.format(VISION, "team-vision") in asked(guarded, (TEAM, ALL), *arguments)
    finally:
        guarded.must("delete", "--force", "--grace-period=0", files=[path])


@pytest.mark.parametrize(
    "who",
    [
        (JOB_CONTROLLER, "system:serviceaccounts:kube-system"),
        ("system:serviceaccount:kai-scheduler:pod-grouper", "system:serviceaccounts:kai-scheduler"),
        ("system:serviceaccount:ci:deployer", "system:serviceaccounts:ci"),
        ("admin", "system:masters"),
    ],
    ids=["controller", "KAI", "trusted", "who-may-change-the-policy"],
)
def test_who_may_name_any_queue(who: tuple[str, str], guarded: Server, tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(yaml.safe_dump(work("Pod", VISION, pod_spec())))
    user, group = who
    groups = (f"--as={user}", f"--as-group={group}", "--as-group=all-rights", "--as-group=system:authenticated")
    done = guarded.kubectl("create", "--dry-run=server", *groups, files=[path])
    assert done.returncode == 0, done.stderr


def test_another_service_account_may_not(guarded: Server, tmp_path: Path) -> None:
    path = tmp_path / "pod.yaml"
    path.write_text(yaml.safe_dump(work("Pod", VISION, pod_spec())))
    who = ("--as=system:serviceaccount:ci:other", "--as-group=system:serviceaccounts:ci", "--as-group=all-rights")
    done = guarded.kubectl("create", "--dry-run=server", *who, files=[path])
    assert FOR.format(VISION, "team-vision") in done.stderr


@pytest.mark.parametrize(
    ("verb", "resource", "may"),
    [
        ("create", "jobs.batch", "yes"),
        ("delete", "pods", "yes"),
        ("patch", "rayjobs.ray.io", "yes"),
        ("get", "pods/log", "yes"),
        ("list", "events", "yes"),
        ("create", "configmaps", "yes"),
        ("get", "secrets", "no"),
        ("create", "serviceaccounts", "no"),
        ("create", "pods/exec", "no"),
        ("patch", "deployments.apps/scale", "no"),
        ("create", "rolebindings.rbac.authorization.k8s.io", "no"),
    ],
)
def test_what_a_group_may_do(verb: str, resource: str, may: str, guarded: Server) -> None:
    kind, _, sub = resource.partition("/")
    question = [
        "auth",
        "can-i",
        verb,
        kind,
        "--as=alice",
        f"--as-group={TEAM}",
        *([f"--subresource={sub}"] if sub else []),
    ]
    assert guarded.kubectl(*question, "--namespace=ml").stdout.strip() == may
    assert guarded.kubectl(*question, "--namespace=vision").stdout.strip() == "no"
