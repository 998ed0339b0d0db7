"""Work that may grow beyond what is counted, word by word."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import judged
from tests.support.cli import pool
from tests.support.judged import told_of

PODS = "containers: [{name: m, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]"


def made(api: str, kind: str, spec: str) -> str:
    """A workload called a, whose spec stands in line 4."""
    metadata = "metadata: {name: a, labels: {kubectl-tas/pool: team}}"
    return f"apiVersion: {api}\nkind: {kind}\n{metadata}\nspec: {{{spec}}}\n"


def deployment(strategy: str = "type: Recreate") -> str:
    template = (
        f"selector: {{matchLabels: {{app: x}}}}, template: {{metadata: {{labels: {{app: x}}}}, spec: {{{PODS}}}}}"
    )
    return made("apps/v1", "Deployment", f"replicas: 2, strategy: {{{strategy}}}, {template}")


def surging(surge: str) -> str:
    return deployment(f"rollingUpdate: {{maxSurge: {surge}, maxUnavailable: 1}}")


def scaler(work: str, target: str, fields: str = "maxReplicas: 4", *, kind: str = "HorizontalPodAutoscaler") -> str:
    """Work, and behind it an autoscaler whose target and fields are in the lines 11 and 12 of the file."""
    group = {"ScaledObject": "keda.sh/v1alpha1", "Scaler": "example.com/v1"}.get(kind, "autoscaling/v2")
    metadata = "metadata: {name: s, labels: {kubectl-tas/pool: team}}"
    assert work.count("\n") == 4
    spec = f"spec:\n\n  scaleTargetRef: {{{target}}}\n  {fields}\n"
    return f"{work}---\napiVersion: {group}\nkind: {kind}\n{metadata}\n{spec}"


OF_DEPLOYMENT = "apiVersion: apps/v1, kind: Deployment, name: a"


def scaled(fields: str, kind: str = "HorizontalPodAutoscaler") -> str:
    return scaler(deployment(), OF_DEPLOYMENT, fields, kind=kind)


def measured(container: str, work: str = "", target: str = OF_DEPLOYMENT) -> str:
    usage = "target: {type: AverageValue, averageValue: 60}"
    metric = f"{{type: ContainerResource, containerResource: {{name: cpu, container: {container}, {usage}}}}}"
    return scaler(work or deployment(), target, f"maxReplicas: 2\n  metrics: [{metric}]")


def clique(name: str, replicas: int) -> str:
    return f"{{name: {name}, spec: {{roleName: {name}, replicas: {replicas}, podSpec: {{{PODS}}}}}}}"


GROUP = "podCliqueScalingGroups: [{name: g, cliqueNames: [w], replicas: 2}]"
SET = made(
    "grove.io/v1alpha1",
    "PodCliqueSet",
    f"replicas: 2, template: {{cliques: [{clique('main', 2)}, {clique('w', 3)}], {GROUP}}}",
)


AUTOSCALED = SET.replace(
    "replicas: 2, podSpec", "replicas: 2, autoScalingConfig: {maxReplicas: MOST}, podSpec"
).replace("replicas: 2}]", "replicas: 2, scaleConfig: {maxReplicas: MOST}}]")
"""The set whose clique main and scaling group Grove scales."""


def lws(update: str) -> str:
    strategy = f"rolloutStrategy: {{type: RollingUpdate, rollingUpdateConfiguration: {{{update}}}}}"
    pods = f"leaderWorkerTemplate: {{size: 2, workerTemplate: {{spec: {{{PODS}}}}}}}"
    return made("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", f"replicas: 2, {strategy}, {pods}")


def of_grove(kind: str, name: str) -> str:
    return scaler(SET, f"apiVersion: grove.io/v1alpha1, kind: {kind}, name: {name}", "maxReplicas: 9")


def torch(**replicas: int) -> str:
    pods = PODS.replace("name: m", "name: pytorch")
    types = ", ".join(
        f"{role}: {{replicas: {count}, template: {{spec: {{{pods}}}}}}}" for role, count in replicas.items()
    )
    return made("kubeflow.org/v1", "PyTorchJob", f"pytorchReplicaSpecs: {{{types}}}")


def ray(group: str) -> str:
    template = f"rayStartParams: {{}}, template: {{spec: {{{PODS}}}}}"
    workers = f"workerGroupSpecs: [{{groupName: w, replicas: 2, minReplicas: 2, {group}{template}}}]"
    return made("ray.io/v1", "RayCluster", f"enableInTreeAutoscaling: true, headGroupSpec: {{{template}}}, {workers}")


OF_CLIQUE = "apiVersion: grove.io/v1alpha1, kind: PodClique, name: a-0-main"
OF_TORCH = "apiVersion: kubeflow.org/v1, kind: PyTorchJob, name: a"
SILENT = {
    "a Deployment that is there in full": scaled("maxReplicas: 2"),
    "a graph of no pods": scaler(
        made("nvidia.com/v1alpha1", "DynamoGraphDeployment", "components: []"),
        "apiVersion: nvidia.com/v1alpha1, kind: DynamoGraphDeployment, name: a",
    ),
    "the container of a metric": measured("m"),
    "the container of a metric of a set": measured("m", SET, OF_CLIQUE),
    "no surge": surging("0"),
    "workers of Ray that are suspended": ray("maxReplicas: 9, suspend: true, "),
    "a set that Grove scales to what is there": AUTOSCALED.replace("MOST", "2"),
    "groups that an update does not add": lws("maxUnavailable: 1"),
}
ROWS = {
    "a Deployment": scaled("maxReplicas: 4"),
    "a target without a name": scaler(deployment(), "apiVersion: apps/v1, kind: Deployment"),
    "a target whose name is a number": scaler(deployment(), "apiVersion: apps/v1, kind: Deployment, name: 7"),
    "the workers of a PyTorchJob": scaler(torch(Master=1, Worker=2), OF_TORCH),
    "a PyTorchJob of a master": scaler(torch(Master=1), OF_TORCH),
    "KEDA's field in Kubernetes' own": scaled("maxReplicaCount: 4"),
    "no number in Kubernetes' own": scaled("maxReplicas: x"),
    "nothing in Kubernetes' own": scaled("minReplicas: 1"),
    "KEDA's": scaled("maxReplicaCount: 4", "ScaledObject"),
    "nothing in KEDA's": scaled("minReplicaCount: 1", "ScaledObject"),
    "no number in KEDA's": scaled("maxReplicaCount: x", "ScaledObject"),
    "another autoscaler": scaled("maxReplicas: 4", "Scaler"),
    "another autoscaler with KEDA's field": scaled("maxReplicaCount: 4", "Scaler"),
    "another autoscaler without a bound": scaled("minReplicas: 1", "Scaler"),
    "an unknown container of a metric": measured("n"),
    "an unknown container of a metric of a set": measured("n", SET, OF_CLIQUE),
    "a set": of_grove("PodCliqueSet", "a"),
    "a clique": of_grove("PodClique", "a-1-main"),
    "a clique of a replica that is not there": of_grove("PodClique", "a-2-main"),
    "a clique of a set that is not there": of_grove("PodClique", "b-0-main"),
    "a clique that is not there": of_grove("PodClique", "a-0-other"),
    "a clique of a scaling group": of_grove("PodClique", "a-0-g-1-w"),
    "a clique of a scaling group without its index": of_grove("PodClique", "a-0-w"),
    "a clique of a scaling group that is not there": of_grove("PodClique", "a-0-g-2-w"),
    "a clique of a scaling group that has no number": of_grove("PodClique", "a-0-g-x-w"),
    "a clique of another digit": of_grove("PodClique", "a-٠-main"),
    "a scaling group": of_grove("PodCliqueScalingGroup", "a-0-g"),
    "a scaling group that is not there": of_grove("PodCliqueScalingGroup", "a-0-h"),
    "a clique as a scaling group": of_grove("PodCliqueScalingGroup", "a-0-main"),
    "the second scaling group": of_grove("PodCliqueScalingGroup", "a-0-g").replace(
        "Groups: [", "Groups: [{name: h, cliqueNames: [main], replicas: 4}, "
    ),
    "a clique of a scaling group without its name": of_grove("PodClique", "a-0-1-w"),
    "workers of Ray beyond all numbers": ray("maxReplicas: 99999999999, "),
    "a surge in percent": surging("'10%'"),
    "a surge of text": surging("x"),
    "a surge below 0": surging("-1"),
    "a surge beyond all numbers": surging("99999999999"),
    "a surge of a part": surging("0.5"),
    "workers of Ray": ray("maxReplicas: 9, "),
    "workers of Ray without a bound": ray(""),
    "workers of Ray with less than none": ray("maxReplicas: -1, "),
    "workers of Ray with no number": ray("maxReplicas: x, "),
    "a set that Grove scales": AUTOSCALED.replace("MOST", "5"),
    "a Deployment that is there beside one that is not": (
        scaled("maxReplicas: 2")
        + "---\n"
        + scaled("maxReplicas: 4")
        .partition("---\n")[2]
        .replace("name: a}", "name: gone}")
        .replace("name: s", "name: t")
    ),
    "groups that an update adds": lws("maxSurge: 1, maxUnavailable: 1"),
}


def told(text: str) -> list[str]:
    kinds = [("example.com/v1", "Scaler"), ("keda.sh/v1alpha1", "ScaledObject")]
    companions = ", ".join(f"{{apiVersion: {version}, kind: {kind}}}" for version, kind in kinds)
    return told_of(text, rules="{companion-kind: off}", companions=f"[{companions}]")


@pytest.mark.parametrize("name", ROWS)
def test_growth(name: str, snapshot: Any) -> None:
    assert "\n".join(told(ROWS[name])) == snapshot


@pytest.mark.parametrize("name", SILENT)
def test_growth_silent(name: str) -> None:
    assert told(SILENT[name]) == []


def test_a_clique_of_a_number_that_nothing_counts_to() -> None:
    (found,) = told(of_grove("PodClique", f"a-{'9' * 5000}-main"))
    assert "w.yaml:11:74 growth-uncounted: this HorizontalPodAutoscaler scales PodClique a-9999" in found
    assert found.endswith("... (Declare it in this repository, or correct the name.)")


@pytest.mark.parametrize("priority", ["HIGH", "LOW"])
@pytest.mark.parametrize(
    ("strategy", "most", "is_told"),
    [("type: RollingUpdate", 2, True), ("type: RollingUpdate", 3, False), ("type: Recreate", 2, False)],
)
def test_an_update_that_has_no_room(priority: str, strategy: str, most: int, *, is_told: bool) -> None:
    text = deployment(strategy).replace("team}", f"team, kubectl-tas/priority: {priority}}}")
    found = judged.told(
        {"pools/team.yaml": pool(guarantee=most, spec=f"      maximum: {most}\n"), "workflows/w.yaml": text}
    )
    expected = (
        "workflows/w.yaml:4:21 growth-uncounted: the pods may grow from 2 to 3 during an update: 2 GPUs of this "
        "Deployment are counted, and they may grow to 3 (Write maxSurge: 0 and maxUnavailable: 1 in "
        "spec.strategy.rollingUpdate.)"
    )
    assert found == ([expected] if is_told else [])
