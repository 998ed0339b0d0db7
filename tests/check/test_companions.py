"""Tests objects beside workloads: their clusters, the allowed kinds, and the messages about forbidden ones."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from kubectl_tas.model.kindlists import COMPANIONS, HARMLESS, group_of
from tests.support.cli import kubectl_tas, pool, write
from tests.support.golden import ROOT
from tests.support.judged import told, told_of
from tests.support.kinds import selected
from tests.support.marked import findings as in_places
from tests.support.marked import marked

TWO = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {backends: [{name: a, namespace: na}, {name: b, namespace: nb}]}\n"
POOLS = {f"pools/{name}.yaml": pool(f"team-{name}", spec=f"  backend: {name}\n") for name in "ab"}


def companion(kind: str = "v1 ConfigMap", metadata: str = "name: x") -> str:
    """A companion with nothing but its metadata."""
    version, name = kind.split()
    return f"---\napiVersion: {version}\nkind: {name}\nmetadata: {{{metadata}}}\n"


def deployment(team: str) -> str:
    """A Deployment of a pool."""
    labels = f"{{kubectl-tas/pool: {team}}}"
    head = f"---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web, labels: {labels}}}\n"
    return f"{head}spec: {{{selected()}}}\n"


def findings(root: Path, files: dict[str, str]) -> list[str]:
    """The first lines of what is found."""
    write(root, files)
    out = kubectl_tas("validate", "-C", root).out
    return [line for line in out.splitlines() if line.startswith(("workflows/", "tas.yaml"))]


def places(root: Path) -> list[str]:
    """Where companions are rendered to."""
    assert kubectl_tas("render", "-C", root).code == 0
    folder = root / "manifests"
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("companions/**/*.yaml"))


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (companion(metadata="name: x, labels: {kubectl-tas/pool: team-b}") + deployment("team-a"), "b"),
        (companion() + deployment("team-b"), "b"),
        (companion(metadata="name: x, namespace: nb"), "b"),
        (companion(metadata="name: x, namespace: na") + deployment("team-a"), "a"),
    ],
    ids=["by its pool", "by the work beside it", "by its namespace", "by both"],
)
def test_the_cluster_of_a_companion(repository: Path, text: str, where: str) -> None:
    assert findings(repository, {"tas.yaml": TWO, **POOLS, "workflows/w.yaml": text}) == []
    assert places(repository) == [f"{where}/companions/configmap-x.yaml"]
    text = (repository / f"manifests/{where}/companions/configmap-x.yaml").read_text()
    assert f"namespace: n{where}" in text
    assert "app.kubernetes.io/managed-by: kubectl-tas" in text


@pytest.mark.parametrize(
    "text",
    [companion(), companion() + deployment("team-a") + deployment("team-b")],
    ids=["nothing beside it", "work of two clusters beside it"],
)
def test_nothing_tells_the_cluster(repository: Path, text: str) -> None:
    (found,) = findings(repository, {"tas.yaml": TWO, **POOLS, "workflows/w.yaml": text})
    assert 'cannot tell which cluster and namespace the ConfigMap "x" is for [backend-unknown]' in found


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        ("v1 ConfigMap", "A_b", "Use at most 253 lower-case letters, digits, '-' and '.'."),
        ("v1 Service", "9a", "Begin with a letter, and use at most 63 lower-case letters, digits and '-'."),
        ("v1 Service", "a.b", "Begin with a letter, and use at most 63 lower-case letters, digits and '-'."),
        ("v1 ConfigMap", "9a.b", None),
    ],
)
def test_names_that_objects_may_have(repository: Path, kind: str, name: str, hint: str | None) -> None:
    spec = "spec: {ports: [{port: 80}]}\n" if kind == "v1 Service" else ""
    text, place = marked("workflows/w.yaml", companion(kind, f"name: ^{name}") + spec)
    message = f'the {kind.split()[1]} name "{name}" cannot be the name of a Kubernetes object'
    found = in_places(write(repository, {"workflows/w.yaml": text}))
    assert found == ([(place, "name-invalid", message, hint)] if hint else [])


def test_one_name_in_two_clusters_is_no_collision(repository: Path) -> None:
    texts = {f"workflows/{name}.yaml": companion() + deployment(f"team-{name}") for name in "ab"}
    assert findings(repository, {"tas.yaml": TWO, **POOLS, **texts}) == []
    assert places(repository) == ["a/companions/configmap-x.yaml", "b/companions/configmap-x.yaml"]


def test_its_pool_must_exist(repository: Path) -> None:
    text = companion(metadata="name: x, labels: {kubectl-tas/pool: taem}")
    (found,) = findings(repository, {"pools/p.yaml": pool(), "workflows/w.yaml": text})
    assert 'the pool "taem" does not exist [pool-unknown]' in found


def test_a_repository_of_companions_alone_is_rendered(repository: Path) -> None:
    assert findings(repository, {"workflows/w.yaml": companion()}) == []
    assert places(repository) == ["companions/configmap-x.yaml"]


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        ("v1 Service", "{ports: [{prot: 80}]}", 'unknown field "prot" in spec.ports[0]'),
        ("v1 Service", "{ports: [{port: '80'}]}", "spec.ports[0].port must be a whole number"),
        ("policy/v1 PodDisruptionBudget", "{minAvailabel: 1}", 'unknown field "minAvailabel" in spec'),
        (
            "autoscaling/v2 HorizontalPodAutoscaler",
            "{scaleTargetRef: {kind: Job, name: x}}",
            'the field "maxReplicas" is missing',
        ),
        (
            "autoscaling/v1 HorizontalPodAutoscaler",
            "{metrics: [], maxReplicas: 2, scaleTargetRef: {apiVersion: a/v1, kind: A, name: a}}",
            'unknown field "metrics" in spec',
        ),
        ("networking.k8s.io/v1 NetworkPolicy", "{podSelectr: {}}", 'unknown field "podSelectr" in spec'),
    ],
)
def test_fields_are_those_of_the_published_schemas(repository: Path, kind: str, spec: str, message: str) -> None:
    found = findings(repository, {"workflows/w.yaml": f"{companion(kind)}spec: {spec}\n"})
    assert message in found[0]


def test_the_metadata_of_a_kind_that_the_config_adds(repository: Path) -> None:
    spec = "{rules: {companion-kind: off}, companions: [{apiVersion: a.io/v1, kind: A}]}"
    config = f"apiVersion: tas/v1alpha1\nkind: Config\nspec: {spec}\n"
    text = companion("a.io/v1 A", "name: x, lables: {}") + "anything: goes\n"
    (found,) = findings(repository, {"tas.yaml": config, "workflows/w.yaml": text})
    assert 'unknown field "lables" in metadata' in found


def test_the_document_lists_the_harmless_kinds() -> None:
    own = {(group_of(item.apiVersion), item.kind) for item in COMPANIONS}
    rows = re.findall(r"^\| `([a-z0-9.-]+\.[a-z]+)` \| (.*) \|$", (ROOT / "docs/formats.md").read_text(), re.MULTILINE)
    assert {(group, kind) for group, kinds in rows for kind in kinds.split(", ")} == HARMLESS.keys() - own


PLATFORM = "Move it to the files that set up the cluster: authors of work must not change it."
ELSEWHERE = {
    "Declare a Pool or Subpool instead: `render` makes the queues from them.": ["scheduling.run.ai/v2 Queue"],
    "Declare a Pool or Subpool instead: `render` makes the queues from them. `kubectl tas import kueue` writes these "
    "files.": ["kueue.x-k8s.io/v1beta2 ClusterQueue", "kueue.x-k8s.io/v1beta1 Workload"],
    "PodGroups and SchedulingShards are the only objects of KAI that may be written by hand.": [
        *("scheduling.run.ai/v1alpha2 BindRequest", "kai.scheduler/v1 Config"),
    ],
    "Write topology_keys of a Pool or a ClusterTopology instead: `render` makes Topologies from them.": [
        *("kai.scheduler/v1alpha1 Topology", "kueue.x-k8s.io/v1alpha1 Topology"),
    ],
    "Grove makes it of a PodCliqueSet; write that.": ["scheduler.grove.io/v1alpha1 PodGang"],
    "It is of Kubernetes' own scheduler, and KAI does not read it. Remove it: KAI makes a PodGroup of each workload. "
    "One that is written by hand is of scheduling.run.ai/v2alpha2.": [
        *("scheduling.k8s.io/v1alpha1 PodGroup", "scheduling.k8s.io/v1alpha1 Workload"),
    ],
    "Name it in spec.priorityClasses of the Config: `render` makes the PriorityClasses.": [
        "scheduling.k8s.io/v1 PriorityClass"
    ],
    PLATFORM: [
        *("rbac.authorization.k8s.io/v1 RoleBinding", "apiextensions.k8s.io/v1 CustomResourceDefinition"),
        *("apiregistration.k8s.io/v1 APIService", "certificates.k8s.io/v1 CertificateSigningRequest"),
        *("flowcontrol.apiserver.k8s.io/v1 FlowSchema", "node.k8s.io/v1 RuntimeClass"),
        *("storage.k8s.io/v1 StorageClass", "v1 Node", "v1 PersistentVolume"),
    ],
    f"spec.guard of the Config renders the policies of this repository. {PLATFORM}": [
        *("admissionregistration.k8s.io/v1 MutatingWebhookConfiguration", "kyverno.io/v1 ClusterPolicy"),
        *("templates.gatekeeper.sh/v1 ConstraintTemplate", "constraints.gatekeeper.sh/v1beta1 K8sRequiredLabels"),
    ],
    "Its devices are not counted here: ask for nvidia.com/gpu in the workload. A ComputeDomain makes its own claim "
    "template.": ["resource.k8s.io/v1 ResourceClaimTemplate"],
    "Name it in namespaces of a Pool; spec.createNamespaces: true of the Config renders it.": ["v1 Namespace"],
    "Create it in the cluster, and name it in workloads: no repository should hold secrets.": ["v1 Secret"],
    "Declare it as quota and maximum of a Pool or Subpool.": ["v1 ResourceQuota", "v1 LimitRange"],
    "KAI decides on which node a pod runs.": ["v1 Binding"],
}
"""Kinds by which a repository could take more than its pools have, by what is said of them."""
MAKERS = (
    *("apps/v1 DaemonSet", "batch/v2 Job", "batch.volcano.sh/v1alpha1 Task", "kubeflow.org/v1 Experiment"),
    *("trainer.kubeflow.org/v1alpha1 TrainingRuntime", "ray.io/v1 RayCron", "jobset.x-k8s.io/v1alpha1 JobSet"),
    *("leaderworkerset.x-k8s.io/v2 LeaderWorkerSet", "grove.io/v1alpha1 PodClique", "argoproj.io/v1alpha1 Rollout"),
    *("tekton.dev/v1 PipelineRun", "serving.knative.dev/v1 Service", "serving.kserve.io/v1alpha1 InferenceGraph"),
    *("sparkoperator.k8s.io/v1beta2 SparkConnect", "machinelearning.seldon.io/v2 SeldonDeployment"),
    *("kubevirt.io/v1 VirtualMachine", "workspace.devfile.io/v1alpha2 DevWorkspace", "run.ai/v1 RunaiJob"),
    *("workload.codeflare.dev/v1beta2 AppWrapper", "nvidia.com/v2 DynamoGraphDeployment", "keda.sh/v1alpha1 ScaledJob"),
    *("source.toolkit.fluxcd.io/v1 GitRepository", "kustomize.toolkit.fluxcd.io/v1 Kustomization"),
    "helm.toolkit.fluxcd.io/v2 HelmRelease",
)
"""Kinds that make pods, or objects that do."""


def as_companions(kinds: Iterable[str]) -> list[str]:
    """What is said of a Config that wants these kinds beside workloads."""
    items = [dict(zip(("apiVersion", "kind"), kind.split(), strict=True)) for kind in kinds]
    config = {"apiVersion": "tas/v1alpha1", "kind": "Config", "spec": {"companions": items}}
    return [line.partition(" ")[2] for line in told({"tas.yaml": json.dumps(config)})]


def _danger(kind: str) -> str:
    return (
        "everybody who reads the repository could read it" if kind == "Secret" else "it could change quotas or rights"
    )


def test_a_kind_that_decides_for_others_has_its_place_elsewhere() -> None:
    """As a document, and as a companion that a Config adds."""
    rows = [(*kind.split(), hint) for hint, kinds in ELSEWHERE.items() for kind in kinds]
    said = told_of("".join(companion(f"{version} {kind}") for version, kind, _ in rows))
    assert [line.partition(" ")[2] for line in said] == [
        f"kind-elsewhere: {kind} of {version} cannot be declared here: {_danger(kind)} ({hint})"
        for version, kind, hint in rows
    ]
    assert as_companions(kind for kinds in ELSEWHERE.values() for kind in kinds) == [
        f"kind-elsewhere: {kind} of {version} cannot be a companion of workloads: {_danger(kind)} ({hint})"
        for version, kind, hint in rows
    ]


def test_a_kind_that_makes_pods_is_no_companion() -> None:
    reason = "it makes pods, which no quota would count"
    hint = "Say in spec.kinds where its pods are, or write a workload of a kind that is read."
    assert as_companions(MAKERS) == [
        f"kind-elsewhere: {kind} of {version} cannot be a companion of workloads: {reason} ({hint})"
        for version, kind in map(str.split, MAKERS)
    ]


def test_a_kind_of_which_nothing_is_known_may_be_one() -> None:
    hint = "Remove it. If controllers make no pods and no other objects of it, set companion-kind: off in spec.rules."
    assert as_companions(("keda.sh/v1alpha1 ScaledObject", "nvidia.com/v1 Driver", "v1 Event")) == [
        f"companion-kind: kubectl-tas does not know what controllers make of {kind} ({hint})"
        for kind in ("ScaledObject of keda.sh/v1alpha1", "Driver of nvidia.com/v1", "Event of v1")
    ]


@pytest.mark.parametrize("kind", ["v1 ConfigMap", "a.io/v1 A"])
def test_what_the_config_adds_may_stand_above_it(repository: Path, kind: str) -> None:
    spec = "{rules: {companion-kind: off}, companions: [{apiVersion: a.io/v1, kind: A}]}"
    config = f"---\napiVersion: tas/v1alpha1\nkind: Config\nspec: {spec}\n"
    assert findings(repository, {"tas.yaml": companion(kind) + config}) == []


def test_companions_follow_the_namespaces_of_pools(repository: Path) -> None:
    files = {
        "pools/p.yaml": pool(spec="  namespaces: [nlp, cv]\n"),
        "workflows/w.yaml": companion() + deployment("team"),
    }
    files["workflows/cv.yaml"] = companion(metadata="name: x, namespace: cv")
    files["workflows/named.yaml"] = companion(metadata="name: y, labels: {kubectl-tas/pool: team}")
    assert findings(repository, files) == []
    assert places(repository) == [
        f"companions/{name}.yaml" for name in ("cv/configmap-x", "nlp/configmap-x", "nlp/configmap-y")
    ]


@pytest.mark.parametrize(("namespaces", "expected"), [(["na"], []), (["na", "nb"], ["backend-unknown"])])
def test_a_companion_of_no_work_goes_where_work_may_run(
    repository: Path, namespaces: list[str], expected: list[str]
) -> None:
    """The namespace of the backend is none where no pool has it."""
    spec = f"  namespaces: [{', '.join(namespaces)}]\n"
    write(repository, {"pools/p.yaml": pool(spec=spec), "workflows/w.yaml": companion()})
    result = kubectl_tas("render", "--to", "-", "-C", repository)
    assert [code for code in ("backend-unknown", "companion-namespace") if f"[{code}]" in result.err] == expected
    assert ("namespace: na" in result.out) == (not expected)
