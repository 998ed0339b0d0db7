"""What operators say of the fields of their kinds: what is told of them, and where nothing is.

A row is a file, with ``^`` before the place of the finding, the rule, the message and the help.
"""

from __future__ import annotations

from pathlib import Path

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


SAID = {
    "an elastic job without workers": (
        pytorch("elasticPolicy: {maxReplicas: 2}", "{Master: {replicas: 1, template: TEMPLATE}}"),
        [
            (
                "w.yaml:5:3 operator-refuses: spec.elasticPolicy needs replicas of the type Worker, and there "
                "are none (Add Worker, or remove elasticPolicy.)"
            ),
        ],
    ),
    "an elastic job with too many workers": (
        pytorch("elasticPolicy: {maxReplicas: 1}"),
        [
            (
                "w.yaml:5:32 operator-refuses: spec.elasticPolicy lets 1 of 2 workers train (Write maxReplicas: "
                "2; the GPUs of the others are counted, and nothing uses them.)"
            ),
        ],
    ),
    "an elastic job with too many workers for its minimum": (
        pytorch("elasticPolicy: {minReplicas: 1}"),
        [
            (
                "w.yaml:5:32 operator-refuses: spec.elasticPolicy lets 1 of 2 workers train (Write maxReplicas: "
                "2; the GPUs of the others are counted, and nothing uses them.)"
            ),
        ],
    ),
    "an elastic job": (
        pytorch("elasticPolicy: {minReplicas: 1, maxReplicas: 2}"),
        [],
    ),
    "two masters of other containers": (
        pytorch(
            "runPolicy: {}",
            "{Master: {replicas: 2, template: {spec: {containers: [{name: a, image: a}, {name: b, image: b}]}}}}",
        ),
        [
            (
                "w.yaml:6:44 operator-refuses: a PyTorchJob has one Master, not 2 (Write 1; the other pods "
                "belong to Worker.)"
            ),
            (
                "w.yaml:6:85 operator-refuses: a PyTorchJob needs a container that is called pytorch in each "
                "pod, not only a, b (Call the one that trains pytorch: its operator gives that one the addresses "
                "of the others.)"
            ),
        ],
    ),
    "a RayJob without a cluster": (
        ray_job_of(
            "entrypoint: python a.py",
        ),
        [
            'w.yaml:4:1 missing-field: the field "rayClusterSpec" is missing in spec (Add rayClusterSpec.)',
        ],
    ),
    "a RayJob that selects no cluster": (
        ray_job_of(
            "entrypoint: a",
            "clusterSelector: {a: b}",
            "backoffLimit: 1",
            "submissionMode: SidecarMode",
            "suspend: true",
        ),
        [
            (
                "w.yaml:6:20 operator-refuses: spec.clusterSelector has no ray.io/cluster, the only label that "
                "KubeRay reads (Write ray.io/cluster: NAME, with the name of a RayCluster of the same "
                "namespace.)"
            ),
            (
                "w.yaml:7:17 operator-refuses: KubeRay refuses spec.backoffLimit in a RayJob with "
                "clusterSelector (Remove backoffLimit.)"
            ),
            (
                "w.yaml:8:19 operator-refuses: KubeRay refuses spec.submissionMode in a RayJob with "
                "clusterSelector (Remove submissionMode.)"
            ),
            (
                "w.yaml:9:3 suspended: RayJob x is suspended: no new pod of it starts until you change this file "
                "(Remove suspend, or remove the file.)"
            ),
            (
                "w.yaml:9:12 operator-refuses: KubeRay refuses spec.suspend in a RayJob with clusterSelector "
                "(Remove suspend.)"
            ),
        ],
    ),
    "a RayJob that selects a cluster": (
        ray_job_of(
            "entrypoint: a",
            "clusterSelector: {ray.io/cluster: b}",
            "backoffLimit: 0",
            "submissionMode: HTTPMode",
            "suspend: false",
        ),
        [],
    ),
    "a submitter with a command of its own": (
        submitted("K8sJobMode", ", command: [a]"),
        [],
    ),
    "a submitter with a command that nobody runs": (
        submitted("HTTPMode", ", command: [a]"),
        [
            (
                "w.yaml:4:1 operator-refuses: spec has no entrypoint: KubeRay has nothing to submit (Add "
                "entrypoint, the command of the job; or write submissionMode: InteractiveMode to submit it "
                "yourself.)"
            ),
        ],
    ),
    "a RayJob without an entrypoint": (
        submitted("K8sJobMode"),
        [
            (
                "w.yaml:4:1 operator-refuses: spec has no entrypoint: KubeRay has nothing to submit (Add "
                "entrypoint, the command of the job; or write submissionMode: InteractiveMode to submit it "
                "yourself.)"
            ),
        ],
    ),
    "a RayJob that people submit": (
        submitted("InteractiveMode"),
        [],
    ),
    "a RayJob with a blank entrypoint": (
        ray_job("").replace("python a.py", "' '"),
        [
            (
                "w.yaml:4:1 operator-refuses: spec has no entrypoint: KubeRay has nothing to submit (Add "
                "entrypoint, the command of the job; or write submissionMode: InteractiveMode to submit it "
                "yourself.)"
            ),
        ],
    ),
    "groups of a RayCluster beyond their maximum": (
        ray_cluster(
            "replicas: 3, minReplicas: 1, maxReplicas: 2",
            "replicas: 3, minReplicas: 3, maxReplicas: 2",
            "replicas: 2, minReplicas: 2, maxReplicas: 2",
        ),
        [
            (
                "w.yaml:7:31 operator-refuses: spec.workerGroupSpecs[0].replicas is 3, and KubeRay makes no more "
                "than maxReplicas, 2 (Write 2 replicas, or raise maxReplicas: the GPUs of the others are "
                "counted, and nothing uses them.)"
            ),
            (
                "w.yaml:8:47 operator-refuses: spec.workerGroupSpecs[1].minReplicas is 3, more than maxReplicas, "
                "2 (Write 2 or less, or raise maxReplicas.)"
            ),
        ],
    ),
    "names of jobs that a JobSet does not have": (
        job_set("replicas: 1")
        + lines(
            (
                "successPolicy: {operator: All, targetReplicatedJobs: [a, c]}",
                "failurePolicy: {rules: [{name: r, action: FailJobSet, targetReplicatedJobs: [bb]}]}",
                "coordinator: {replicatedJob: zzzz}",
            )
        ),
        [
            'w.yaml:8:60 operator-refuses: this JobSet has no replicated job "c" (Name a, b.)',
            'w.yaml:9:80 operator-refuses: this JobSet has no replicated job "bb" (Did you mean "b"?)',
            'w.yaml:10:32 operator-refuses: this JobSet has no replicated job "zzzz" (Name a, b.)',
        ],
    ),
    "a JobSet without jobs": (
        f"{head('jobset.x-k8s.io/v1alpha2', 'JobSet')}  replicatedJobs: []\n",
        [
            (
                "w.yaml:4:1 operator-refuses: spec has no replicatedJobs: this JobSet makes no pods (Add "
                "replicatedJobs.)"
            ),
        ],
    ),
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


@pytest.mark.parametrize(("text", "expected"), SAID.values(), ids=SAID)
def test_all_that_is_said(text: str, expected: list[str]) -> None:
    assert told_of(text) == expected
