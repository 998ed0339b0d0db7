"""What operators say of the fields of their kinds: what is told of them, and where nothing is.

A row is a file, with ``^`` before the place of the finding, the rule, the message and the help.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import pool, write
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
