"""Tests what quotas count of work that an autoscaler scales, and who sets its replicas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write

PODS = "containers: [{name: m, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]"
SELECTED = f"selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {{{PODS}}}}}"
WORKERS = PODS.replace("name: m", "name: pytorch")
CLIQUE = f"{{name: c, spec: {{replicas: 1, podSpec: {{{PODS}}}}}}}"
SPECS = {
    "apps/v1 Deployment": f"strategy: {{type: Recreate}}, REPLICAS{SELECTED}",
    "apps/v1 StatefulSet": f"REPLICAS{SELECTED}",
    "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet": (
        f"REPLICASleaderWorkerTemplate: {{size: 2, workerTemplate: {{spec: {{{PODS}}}}}}}"
    ),
    "kubeflow.org/v1 PyTorchJob": (f"pytorchReplicaSpecs: {{Worker: {{REPLICAStemplate: {{spec: {{{WORKERS}}}}}}}}}"),
    "grove.io/v1alpha1 PodCliqueSet": f"REPLICAStemplate: {{cliques: [{CLIQUE}]}}",
}
PLACES = dict.fromkeys(SPECS, "spec.replicas") | {
    "kubeflow.org/v1 PyTorchJob": "spec.pytorchReplicaSpecs.Worker.replicas"
}
SCALERS = {
    "autoscaling/v2 HorizontalPodAutoscaler": "minReplicas: 1, maxReplicas: MOST",
    "autoscaling/v1 HorizontalPodAutoscaler": "minReplicas: 1, maxReplicas: MOST",
    "keda.sh/v1alpha1 ScaledObject": "minReplicaCount: 1, maxReplicaCount: MOST, triggers: []",
    "example.com/v1 Scaler": "minReplicas: 1, maxReplicas: MOST",
}
ALONE = tuple(SPECS)[:3]
"""Kinds whose replicas the file may leave to an autoscaler, with what a replica of each asks for."""
GPUS = dict(zip(ALONE, (1, 1, 2), strict=True))


def work(named: str, replicas: int | None, labels: str = "") -> str:
    version, kind = named.split()
    number = "" if replicas is None else f"replicas: {replicas}, "
    metadata = f"metadata: {{name: a, labels: {{kubectl-tas/pool: team{labels}}}}}"
    return f"apiVersion: {version}\nkind: {kind}\n{metadata}\nspec: {{{SPECS[named].replace('REPLICAS', number)}}}\n"


def scaler(named: str, target: str, most: int | str) -> str:
    (version, kind), (of, name) = named.split(), target.split()
    spec = f"scaleTargetRef: {{apiVersion: {of}, kind: {name}, name: a}}, {SCALERS[named].replace('MOST', str(most))}"
    return f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: s}}\nspec: {{{spec}}}\n"


def repository_of(root: Path, files: dict[str, str], gitops: str = "none") -> Path:
    kinds = ", ".join(
        f"{{apiVersion: {version}, kind: {kind}}}" for version, kind in map(str.split, tuple(SCALERS)[2:])
    )
    config = (
        "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  rules: {companion-kind: off}\n"
        f"  gitops: {gitops}\n  companions: [{kinds}]\n"
    )
    write(root, {"tas.yaml": config, "pools/p.yaml": pool(guarantee=1000), **files})
    return root


def asked(root: Path) -> int:
    """The GPUs that the quota counts of the only work."""
    (row,) = json.loads(kubectl_tas("workflow", "list", "-o", "json", "-C", root).out)["workflows"]
    gpus: int = row["gpus"]
    return gpus


def codes(root: Path) -> list[str]:
    found = json.loads(kubectl_tas("validate", "-o", "json", "-C", root).out)
    return sorted(item["rule"] for item in found["diagnostics"])


@pytest.mark.parametrize("apart", [False, True], ids=["one file", "two files"])
@pytest.mark.parametrize("by", SCALERS)
@pytest.mark.parametrize("named", ALONE)
def test_the_quota_counts_the_maximum_of_replicas_that_are_left_out(
    named: str, by: str, apart: bool, repository: Path
) -> None:
    texts = work(named, None), scaler(by, named, 6)
    files = dict(zip(("workflows/a.yaml", "workflows/b.yaml"), texts, strict=True))
    root = repository_of(repository, files if apart else {"workflows/w.yaml": "---\n".join(texts)})
    assert asked(root) == 6 * GPUS[named]
    assert "growth-uncounted" not in codes(root)


@pytest.mark.parametrize("named", ALONE)
def test_the_quota_counts_the_replicas_that_are_written(named: str, repository: Path) -> None:
    texts = work(named, 2), scaler("autoscaling/v2 HorizontalPodAutoscaler", named, 6)
    root = repository_of(repository, {"workflows/w.yaml": "---\n".join(texts)})
    assert asked(root) == 2 * GPUS[named]
    assert "growth-uncounted" in codes(root)


def test_a_maximum_that_nobody_wrote(repository: Path) -> None:
    named = "apps/v1 Deployment"
    keda = scaler("keda.sh/v1alpha1 ScaledObject", named, 6).replace("maxReplicaCount: 6, ", "")
    assert asked(repository_of(repository, {"workflows/w.yaml": f"{work(named, None)}---\n{keda}"})) == 100


def test_a_gang_keeps_its_size(repository: Path) -> None:
    """An autoscaler cannot change the members that a PodGroup of the repository waits for."""
    named = "apps/v1 Deployment"
    text = work(named, None, ", kubectl-tas/podgroup: owned")
    files = {"workflows/w.yaml": f"{text}---\n{scaler('autoscaling/v2 HorizontalPodAutoscaler', named, 6)}"}
    assert asked(repository_of(repository, files)) == 1


@pytest.mark.parametrize("gitops", ["argocd", "flux", "none"])
@pytest.mark.parametrize("by", SCALERS)
@pytest.mark.parametrize("named", SPECS)
def test_two_owners_of_the_replicas(named: str, by: str, gitops: str, repository: Path) -> None:
    texts = work(named, 3), scaler(by, named, 6)
    root = repository_of(repository, {"workflows/w.yaml": "---\n".join(texts)}, gitops)
    found = json.loads(kubectl_tas("validate", "-o", "json", "-C", root).out)["diagnostics"]
    told = [item for item in found if item["rule"] == "two-owners"]
    assert len(told) == (gitops != "none")
    for item in told:
        assert f"both set {PLACES[named]} of {named.split()[1]} a" in item["message"]
        assert item["hint"].startswith("Leave replicas out" if named in ALONE else "Let the ")


@pytest.mark.parametrize("gitops", ["argocd", "flux"])
@pytest.mark.parametrize("by", SCALERS)
@pytest.mark.parametrize("named", ALONE)
def test_the_advice_holds(named: str, by: str, gitops: str, repository: Path) -> None:
    """Without replicas there is one owner, and the quota counts them."""
    texts = work(named, None), scaler(by, named, 6)
    root = repository_of(repository, {"workflows/w.yaml": "---\n".join(texts)}, gitops)
    assert not {"two-owners", "growth-uncounted"} & {*codes(root)}


@pytest.mark.parametrize("gitops", ["argocd", "flux"])
def test_the_hint_of_growth_does_not_ask_for_a_second_owner(gitops: str, repository: Path) -> None:
    named = "apps/v1 Deployment"
    texts = work(named, 2), scaler("autoscaling/v2 HorizontalPodAutoscaler", named, 6)
    root = repository_of(repository, {"workflows/w.yaml": "---\n".join(texts)}, gitops)
    found = json.loads(kubectl_tas("validate", "-o", "json", "-C", root).out)["diagnostics"]
    (hint,) = [item["hint"] for item in found if item["rule"] == "growth-uncounted"]
    assert hint == "Lower maxReplicas, or leave replicas out of the Deployment: quotas then count maxReplicas."


@pytest.mark.parametrize("field", ["true", "false"])
@pytest.mark.parametrize("gitops", ["argocd", "flux", "none"])
def test_kueue_owns_suspend(gitops: str, field: str, repository: Path) -> None:
    job = (
        "apiVersion: batch/v1\nkind: Job\n"
        "metadata: {name: a, labels: {kubectl-tas/pool: team, kueue.x-k8s.io/queue-name: q}}\n"
        f"spec: {{suspend: {field}, template: {{spec: {{restartPolicy: Never, {PODS}}}}}}}\n"
    )
    root = repository_of(repository, {"workflows/w.yaml": job}, gitops)
    assert ("two-owners" in codes(root)) == (gitops != "none")
    (root / "workflows/w.yaml").write_text(job.replace(f"suspend: {field}, ", ""))
    assert "two-owners" not in codes(root)


@pytest.mark.parametrize("gitops", ["argocd", "flux"])
def test_a_number_that_render_adds_has_two_owners_too(gitops: str, repository: Path) -> None:
    """KAI looks for the number of a PyTorchJob's workers, so that nobody can leave it out."""
    named = "kubeflow.org/v1 PyTorchJob"
    texts = work(named, None), scaler("autoscaling/v2 HorizontalPodAutoscaler", named, 6)
    assert "two-owners" in codes(repository_of(repository, {"workflows/w.yaml": "---\n".join(texts)}, gitops))


@pytest.mark.parametrize(
    ("group", "argocd", "flux"),
    [
        ("replicas: 2, minReplicas: 1, maxReplicas: 4", True, True),
        ("minReplicas: 1, maxReplicas: 4", True, True),  # KAI needs replicas, and render adds them
        ("maxReplicas: 4", False, True),
        ("replicas: 2, minReplicas: 2, maxReplicas: 2", False, False),
    ],
)
@pytest.mark.parametrize("gitops", ["argocd", "flux", "none"])
@pytest.mark.parametrize("kind", ["RayCluster", "RayJob"])
def test_the_autoscaler_of_ray(
    kind: str, gitops: str, group: str, *, argocd: bool, flux: bool, repository: Path
) -> None:
    """That of a RayJob changes the RayCluster that KubeRay makes, which no file has."""
    template = f"rayStartParams: {{}}, template: {{spec: {{{PODS}}}}}"
    groups = f"workerGroupSpecs: [{{groupName: w, {group}, {template}}}]"
    spec = f"enableInTreeAutoscaling: true, headGroupSpec: {{{template}}}, {groups}"
    spec = spec if kind == "RayCluster" else f"entrypoint: a, rayClusterSpec: {{{spec}}}"
    metadata = "metadata: {name: a, labels: {kubectl-tas/pool: team}}"
    text = f"apiVersion: ray.io/v1\nkind: {kind}\n{metadata}\nspec: {{{spec}}}\n"
    found = codes(repository_of(repository, {"workflows/w.yaml": text}, gitops))
    expected = kind == "RayCluster" and {"argocd": argocd, "flux": flux, "none": False}[gitops]
    assert ("two-owners" in found) == expected
