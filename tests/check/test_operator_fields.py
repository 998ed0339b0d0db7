"""What operators say of the fields of their kinds: what is told of them, and where nothing is.

A row is a file, with ``^`` before the place of the finding, the rule, the message and the help.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import pool, write
from tests.support.judged import told_of
from tests.support.marked import Found, findings, marked

PATH = "workflows/w.yaml"


def head(version: str, kind: str) -> str:
    """The beginning of a workload."""
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x, labels: {{kubectl-tas/pool: team}}}}\nspec:\n"


def pytorch(fields: str, types: str = "{Worker: {replicas: 2, template: TEMPLATE}}") -> str:
    """A PyTorchJob."""
    pods = types.replace("TEMPLATE", '{spec: {containers: [{name: pytorch, image: "a:1"}]}}')
    return f"{head('kubeflow.org/v1', 'PyTorchJob')}  {fields}\n  pytorchReplicaSpecs: {pods}\n"


def job_set(fields: str) -> str:
    """A JobSet of the jobs a and b, of which the first has these fields."""
    pods = '{spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}}'
    jobs = f"  - {{name: a, {fields}, template: {pods}}}\n  - {{name: b, template: {pods}}}\n"
    return f"{head('jobset.x-k8s.io/v1alpha2', 'JobSet')}  replicatedJobs:\n{jobs}"


def ray_job(fields: str, cluster: str = "rayClusterSpec") -> str:
    """A RayJob."""
    group = 'rayStartParams: {}, template: {spec: {containers: [{name: ray, image: "a:1"}]}}'
    return (
        f"{head('ray.io/v1', 'RayJob')}  entrypoint: python a.py\n{fields}  {cluster}: {{headGroupSpec: {{{group}}}}}\n"
    )


ROWS: tuple[tuple[str, str, str, str], ...] = (
    (
        pytorch('nprocPerNode: "8"\n  elasticPolicy: {maxReplicas: 2, nProcPerNode: ^8}'),
        "operator-refuses",
        "spec.elasticPolicy.nProcPerNode cannot go together with spec.nprocPerNode",
        "Remove it.",
    ),
    (
        pytorch("elasticPolicy: {maxReplicas: 2}", "^[]"),
        "wrong-type",
        "spec.pytorchReplicaSpecs must be a mapping, not a list",
        "Write a mapping: 'key: value' lines.",
    ),
    (
        job_set("dependsOn: [{name: ^b, status: Complete}]"),
        "operator-refuses",
        'this JobSet has no replicated job before a called "b"',
        "Remove it.",
    ),
    (
        ray_job("", "^rayClusterSpecs"),
        "operator-field",
        'unknown field "rayClusterSpecs" in spec',
        'Did you mean "rayClusterSpec"?',
    ),
    (
        ray_job("  runtimeEnvYAML: ^'[a]'\n"),
        "operator-refuses",
        "spec.runtimeEnvYAML must be a mapping in YAML",
        "Write it as 'key: value' lines.",
    ),
    (
        ray_job('  runtimeEnvYAML: ^"pip: [a]\\na: [b"\n'),
        "operator-refuses",
        "spec.runtimeEnvYAML is no YAML, so KubeRay refuses it, line 2 of the text: a ',' or the closing ']' is "
        "missing before this",
        "Write ',' between items and ']' at the end.",
    ),
    (
        ray_job('  runtimeEnvYAML: ^"a: \\x01"\n'),
        "operator-refuses",
        "spec.runtimeEnvYAML is no YAML, so KubeRay refuses it: unacceptable character #x0001: control characters are "
        "not allowed",
        "Remove it.",
    ),
)
TAKEN = {
    "processes of an elastic policy": pytorch("elasticPolicy: {maxReplicas: 2, nProcPerNode: 8}"),
    "processes of all workers": pytorch('nprocPerNode: "8"\n  elasticPolicy: {maxReplicas: 2}'),
    "an environment of remarks": ray_job('  runtimeEnvYAML: "# none"\n'),
    "an environment with a key that is there twice": ray_job('  runtimeEnvYAML: "a: 1\\na: 2"\n'),
}


POD = 'template: {spec: {containers: [{name: a, image: "a:1"}]}}'


def lines(fields: tuple[str, ...]) -> str:
    """Fields of a spec, each in a line of its own."""
    return "".join(f"  {field}\n" for field in fields)


def ray_job_of(*fields: str) -> str:
    """A RayJob that says of its cluster and of its submission only what these fields say."""
    return head("ray.io/v1", "RayJob") + lines(fields)


def submitted(mode: str, command: str = "") -> str:
    """A RayJob without an entrypoint."""
    own = f"  submitterPodTemplate: {{spec: {{containers: [{{name: a, image: a{command}}}]}}}}\n"
    return ray_job(f"  submissionMode: {mode}\n{own if command else ''}").replace("  entrypoint: python a.py\n", "")


def ray_cluster(*counts: str) -> str:
    """A RayCluster of groups with these counts, from line 7 on."""
    groups = "".join(
        f"  - {{groupName: g{place}, {text}, rayStartParams: {{}}, {POD}}}\n" for place, text in enumerate(counts)
    )
    fields = lines((f"headGroupSpec: {{rayStartParams: {{}}, {POD}}}", "workerGroupSpecs:"))
    return head("ray.io/v1", "RayCluster") + fields + groups


SILENT = {
    "an elastic job": pytorch("elasticPolicy: {minReplicas: 1, maxReplicas: 2}"),
    "a RayJob that selects a cluster": ray_job_of(
        "entrypoint: a",
        "clusterSelector: {ray.io/cluster: b}",
        "backoffLimit: 0",
        "submissionMode: HTTPMode",
        "suspend: false",
    ),
    "a submitter with a command of its own": submitted("K8sJobMode", ", command: [a]"),
    "a RayJob that people submit": submitted("InteractiveMode"),
}
SAID = {
    "an elastic job without workers": pytorch(
        "elasticPolicy: {maxReplicas: 2}", "{Master: {replicas: 1, template: TEMPLATE}}"
    ),
    "an elastic job with too many workers": pytorch("elasticPolicy: {maxReplicas: 1}"),
    "an elastic job with too many workers for its minimum": pytorch("elasticPolicy: {minReplicas: 1}"),
    "two masters of other containers": pytorch(
        "runPolicy: {}",
        "{Master: {replicas: 2, template: {spec: {containers: [{name: a, image: a}, {name: b, image: b}]}}}}",
    ),
    "a RayJob without a cluster": ray_job_of(
        "entrypoint: python a.py",
    ),
    "a RayJob that selects no cluster": ray_job_of(
        "entrypoint: a",
        "clusterSelector: {a: b}",
        "backoffLimit: 1",
        "submissionMode: SidecarMode",
        "suspend: true",
    ),
    "a submitter with a command that nobody runs": submitted("HTTPMode", ", command: [a]"),
    "a RayJob without an entrypoint": submitted("K8sJobMode"),
    "a RayJob with a blank entrypoint": ray_job("").replace("python a.py", "' '"),
    "groups of a RayCluster beyond their maximum": ray_cluster(
        "replicas: 3, minReplicas: 1, maxReplicas: 2",
        "replicas: 3, minReplicas: 3, maxReplicas: 2",
        "replicas: 2, minReplicas: 2, maxReplicas: 2",
    ),
    "names of jobs that a JobSet does not have": (
        job_set("replicas: 1")
        + lines(
            (
                "successPolicy: {operator: All, targetReplicatedJobs: [a, c]}",
                "failurePolicy: {rules: [{name: r, action: FailJobSet, targetReplicatedJobs: [bb]}]}",
                "coordinator: {replicatedJob: zzzz}",
            )
        )
    ),
    "a JobSet without jobs": f"{head('jobset.x-k8s.io/v1alpha2', 'JobSet')}  replicatedJobs: []\n",
}
"""Files, and all that is said of them."""


def found(root: Path, text: str) -> list[Found]:
    """What is wrong with a file."""
    return findings(write(root, {"pools/p.yaml": pool(), PATH: text}))


@pytest.mark.parametrize(("text", "rule", "message", "hint"), ROWS, ids=[row[2] for row in ROWS])
def test_finding(repository: Path, text: str, rule: str, message: str, hint: str) -> None:
    said, place = marked(PATH, text)
    assert found(repository, said) == [(place, rule, message, hint)]


@pytest.mark.parametrize("text", TAKEN.values(), ids=TAKEN)
def test_taken(repository: Path, text: str) -> None:
    assert found(repository, text) == []


@pytest.mark.parametrize("name", SAID)
def test_all_that_is_said(name: str, snapshot: Any) -> None:
    assert "\n".join(told_of(SAID[name])) == snapshot


@pytest.mark.parametrize("name", SILENT)
def test_all_that_is_said_silent(name: str) -> None:
    assert told_of(SILENT[name]) == []
