"""Pod templates: ports, names and selectors of their own, word by word."""

from __future__ import annotations

import pytest

from tests.check import test_jobs as jobs
from tests.check.test_growth import made
from tests.support.judged import told_of


def container(name: str, port: str) -> str:
    return f"{{name: {name}, image: i, ports: [{{{port}}}]}}"


def job(spec: str) -> str:
    """A Job whose pods have this spec, in line 4."""
    metadata = "{name: a, labels: {kubectl-tas/pool: team}}"
    template = f"{{spec: {{restartPolicy: Never, {spec}}}}}"
    return f"apiVersion: batch/v1\nkind: Job\nmetadata: {metadata}\nspec: {{template: {template}}}\n"


def two(first: str, second: str, more: str = "") -> str:
    return job(f"{more}containers: [{container('a', first)}, {container('b', second)}]")


def stateful_set(name: str = "a", selector: str = "matchLabels: {app: x}") -> str:
    metadata = f"{{name: {name}, labels: {{kubectl-tas/pool: team}}}}"
    template = "{metadata: {labels: {app: x}}, spec: {containers: [{name: m, image: i}]}}"
    spec = f"{{selector: {{{selector}}}, template: {template}}}"
    return f"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {metadata}\nspec: {spec}\n"


ON_NODE = "containerPort: 80, hostPort: 90"
ROWS = {
    "a port of two containers": (two("containerPort: 80", "containerPort: 80"), []),
    "a port of two containers on the node's network": (
        two("containerPort: 80", "containerPort: 80", "hostNetwork: true, "),
        ['w.yaml:4:175 item-duplicate: the containerPort "80/TCP" appears twice (Rename or remove one.)'],
    ),
    "a port of the node for two containers": (
        two(ON_NODE, "containerPort: 81, hostPort: 90"),
        ['w.yaml:4:184 item-duplicate: the hostPort "90/TCP" appears twice (Rename or remove one.)'],
    ),
    "a port of two addresses of the node": (
        two(f"{ON_NODE}, hostIP: 10.0.0.1", "containerPort: 81, hostPort: 90, hostIP: 10.0.0.2"),
        [],
    ),
    "a port of one address of the node": (
        two(f"{ON_NODE}, hostIP: 10.0.0.1", "containerPort: 81, hostPort: 90, hostIP: 10.0.0.1"),
        ['w.yaml:4:202 item-duplicate: the hostPort "10.0.0.1:90/TCP" appears twice (Rename or remove one.)'],
    ),
    "a port of a container that has ended": (
        job(f"initContainers: [{container('a', ON_NODE)}], containers: [{container('b', ON_NODE)}]"),
        [],
    ),
    "a name that just fits": (stateful_set("a" * 52), []),
    "a name that no label can be": (
        stateful_set("a" * 53),
        [
            "w.yaml:3:18 invalid-value: the name of a StatefulSet may have 52 characters here, not 53: a label "
            "of its pods adds a hash to it (Cut 1 from it.)"
        ],
    ),
    "a name that no object can have": (
        stateful_set("a" * 254),
        [
            "w.yaml:3:18 name-invalid: the StatefulSet name has 254 characters, more than the 253 of a Kubernetes "
            "name (Shorten it.)"
        ],
    ),
    "labels that are no mapping": (
        stateful_set(selector="matchLabels: app"),
        [
            'w.yaml:4:32 wrong-type: spec.selector.matchLabels must be a mapping, not "app" (Write a mapping: '
            "'key: value' lines.)"
        ],
    ),
    "conditions that are no mappings": (
        stateful_set(selector="matchExpressions: [x]"),
        [
            'w.yaml:4:38 wrong-type: spec.selector.matchExpressions[0] must be a mapping, not "x" (Write a '
            "mapping: 'key: value' lines.)"
        ],
    ),
    "no label and no condition": (
        stateful_set(selector="matchLabels: {}"),
        [
            "w.yaml:4:8 selector-mismatch: the selector of this StatefulSet is empty, so it matches no pods of "
            "its own (Write matchLabels with labels of the template.)"
        ],
    ),
    "a condition that holds": (stateful_set(selector="matchExpressions: [{key: app, operator: Exists}]"), []),
}


@pytest.mark.parametrize(("text", "expected"), ROWS.values(), ids=ROWS)
def test_pod_templates(text: str, expected: list[str]) -> None:
    assert told_of(text) == expected


GPU = "containers: [{name: m, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]"
RESTARTED = {
    "Job": jobs.job(pods=f"restartPolicy: X, {GPU}"),
    "CronJob": jobs.cron_job().replace("restartPolicy: Never", "restartPolicy: X"),
    "JobSet": jobs.job_set("completions: 1").replace("restartPolicy: Never", "restartPolicy: X"),
    "Deployment": jobs.replaced("Deployment").replace("spec: {containers", "spec: {restartPolicy: X, containers"),
    "StatefulSet": jobs.replaced("StatefulSet").replace("spec: {containers", "spec: {restartPolicy: X, containers"),
    "LeaderWorkerSet": made(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        f"replicas: 1, leaderWorkerTemplate: {{size: 2, workerTemplate: {{spec: {{restartPolicy: X, {GPU}}}}}}}",
    ),
    "Notebook": made("kubeflow.org/v1", "Notebook", f"template: {{spec: {{restartPolicy: X, {GPU}}}}}"),
}
"""Workloads whose pods have the restart policy X."""
DEMANDING = ("Job", "CronJob")
"""Kinds whose pods must have a restart policy."""


@pytest.mark.parametrize("kind", RESTARTED)
def test_restart_policies(kind: str) -> None:
    ends, text = "Job" in kind, RESTARTED[kind]
    allowed, hint = ("Never or OnFailure", "Never") if ends else ("Always", "Always")
    needs = f"restart-policy: the pods of a {kind} need restartPolicy {allowed}"
    for policy in ("Never", "OnFailure", "Always"):
        found = told_of(text.replace("restartPolicy: X", f"restartPolicy: {policy}"))
        said = (
            f'{needs}, not "{policy}" (Write restartPolicy: {hint}{"" if kind in DEMANDING else ", or leave it out"}.)'
        )
        assert [line.partition(" ")[2] for line in found] == ([] if policy in allowed else [said])
    found = told_of(text.replace("restartPolicy: X, ", ""))
    said = f"{needs}, and say none (Write restartPolicy: Never.)"
    assert [line.partition(" ")[2] for line in found] == ([said] if kind in DEMANDING else [])


def argo(spec: str, template: str = "") -> str:
    head = "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: w, labels: {kubectl-tas/pool: team}}\n"
    return f"{head}spec: {{entrypoint: t, {spec}, templates: [{{name: t, {template}}}]}}\n"


ROOT = "is 0, which is root, but runAsNonRoot is true: no container starts (Write another user, such as 1000, or "


def with_users(of_pod: str, of_container: str) -> str:
    return job(
        f"securityContext: {{{of_pod}}}, containers: [{{name: a, image: a, securityContext: {{{of_container}}}}}]"
    )


NOT_ROOT, USER_0 = "runAsNonRoot: true", "runAsUser: 0"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (with_users(f"{NOT_ROOT}, {USER_0}", ""), "template.spec.securityContext"),
        (with_users(USER_0, NOT_ROOT), "template.spec.securityContext"),
        (with_users(NOT_ROOT, USER_0), "containers[0].securityContext"),
        (with_users(f"{NOT_ROOT}, {USER_0}", "runAsUser: 1"), ""),
        (with_users(f"{NOT_ROOT}, {USER_0}", "runAsNonRoot: false"), ""),
        (with_users(NOT_ROOT, ""), ""),
        (argo(f"securityContext: {{{NOT_ROOT}, {USER_0}}}", "container: {image: a}"), "spec.securityContext"),
        (
            argo(
                f"securityContext: {{{NOT_ROOT}, {USER_0}}}", f"securityContext: {{{USER_0}}}, container: {{image: a}}"
            ),
            "",
        ),
    ],
)
def test_root_where_the_pod_must_not_be_root(text: str, place: str) -> None:
    """What a container says comes before what its pod says, and a template's context replaces that of the workflow."""
    found = [line for line in told_of(text) if "root" in line]
    assert len(found) == bool(place)
    assert all(f"{place}.runAsUser {ROOT}" in line for line in found)


@pytest.mark.parametrize(
    ("folder", "is_refused"), [("data", True), ("./x", True), ("/data", False), ('""', False), ("'C:\\app'", False)]
)
def test_a_folder_to_run_in(folder: str, *, is_refused: bool) -> None:
    found = told_of(job(f"containers: [{{name: a, image: a, workingDir: {folder}}}]"))
    assert [line.partition(": ")[0].partition(" ")[2] for line in found] == ["invalid-value"] * is_refused


def test_an_operator_may_add_ports() -> None:
    """Only where no operator adds ports, a port that is not written is certain to be missing."""
    pods = "containers: [{name: pytorch, image: a, livenessProbe: {tcpSocket: {port: job-port}}}]"
    head = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j, labels: {kubectl-tas/pool: team}}\n"
    of_kubeflow = f"{head}spec: {{pytorchReplicaSpecs: {{Worker: {{replicas: 1, template: {{spec: {{{pods}}}}}}}}}}}\n"
    assert not any("reference-unknown" in line for line in told_of(of_kubeflow))
    (line,) = told_of(job(pods))
    assert line.endswith('this container has no port "job-port", so its kubelet cannot call it (Write its number.)')
