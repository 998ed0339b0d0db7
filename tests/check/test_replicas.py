"""Ray clusters, and jobs that wait for others, against what KAI starts, word by word."""

from __future__ import annotations

import pytest

from tests.support.judged import told_of

PODS = "{spec: {containers: [{name: m, image: i}]}}"


def head(api: str, kind: str, labels: str = "") -> str:
    metadata = f"{{name: a, labels: {{kubectl-tas/pool: team{labels}}}}}"
    return f"apiVersion: {api}\nkind: {kind}\nmetadata: {metadata}\nspec:\n"


def ray(group: str) -> str:
    workers = f"groupName: {group}, replicas: 2, minReplicas: 2, maxReplicas: 2, rayStartParams: {{}}, template: {PODS}"
    cluster = f"  headGroupSpec: {{rayStartParams: {{}}, template: {PODS}}}\n  workerGroupSpecs: [{{{workers}}}]\n"
    return head("ray.io/v1", "RayCluster") + cluster


def submitted(mode: str = "") -> str:
    pods = PODS.replace("{spec: {", "{spec: {restartPolicy: Never, ")
    spec = f"  entrypoint: x\n  clusterSelector: {{ray.io/cluster: c}}\n  submitterPodTemplate: {pods}\n"
    return head("ray.io/v1", "RayJob") + spec + (f"  submissionMode: {mode}\n" if mode else "")


def mpi(workers: int) -> str:
    """An owned MPIJob whose launcher waits for this many workers."""
    types = f"{{Launcher: {{template: {PODS}}}, Worker: {{replicas: {workers}, template: {PODS}}}}}"
    spec = f"  launcherCreationPolicy: WaitForWorkersReady\n  mpiReplicaSpecs: {types}\n"
    return head("kubeflow.org/v2beta1", "MPIJob", ", kubectl-tas/podgroup: owned") + spec


ROWS = {
    "a group whose name just fits": (ray("w" * 63), []),
    "a group whose name is too long": (
        ray("w" * 64),
        [
            "w.yaml:6:34 invalid-value: the worker group name has 64 characters, more than 63: KubeRay names pods "
            "after it, in lower case (Cut 1 from it.)"
        ],
    ),
    "a group whose name is no label": (
        ray("W.1"),
        [
            'w.yaml:6:34 replicas-refused: the group "W.1" becomes a SubGroup, which cannot have this name (Use at '
            "most 63 lower-case letters, digits and '-'.)"
        ],
    ),
    "a pod that submits": (
        submitted(),
        [
            "w.yaml:7:3 replicas-refused: with the submitter pod, KAI waits for all pods of the Ray cluster, "
            "which are in another PodGroup (Remove it: the default scheduler runs KubeRay's own pod. Or add the "
            "label kubectl-tas/podgroup: owned.)"
        ],
    ),
    "a pod that submits, as is usual": (
        submitted("K8sJobMode"),
        [
            "w.yaml:7:3 replicas-refused: with the submitter pod, KAI waits for all pods of the Ray cluster, "
            "which are in another PodGroup (Remove it: the default scheduler runs KubeRay's own pod. Or add the "
            "label kubectl-tas/podgroup: owned.)"
        ],
    ),
    "no pod that submits": (submitted("HTTPMode"), []),
    "a launcher that waits for workers": (
        mpi(2),
        [
            "w.yaml:5:27 podgroup-owned: the gang of MPIJob a can never start: the launcher is made only when "
            "all workers are ready (Set launcherCreationPolicy: AtStartup, or remove the label "
            "kubectl-tas/podgroup.)"
        ],
    ),
    "a launcher that waits for nobody": (mpi(0), []),
}


@pytest.mark.parametrize(("text", "expected"), ROWS.values(), ids=ROWS)
def test_replicas(text: str, expected: list[str]) -> None:
    assert told_of(text) == expected
