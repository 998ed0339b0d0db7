"""Tests the order of companions and work: no sync of Argo CD waits for what cannot come, and nothing is missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas.model.kindlists import COMPANIONS, HARMLESS, group_of
from tests.support.cli import kubectl_tas, write
from tests.support.golden import EXAMPLES, ROOT
from tests.support.pyyaml import safe_load_all

Object = dict[str, Any]
Health = str | Callable[[Object], str]
AT_ONCE, WAITS, FAILS = "healthy at once", "progressing until somebody acts", "degraded until its target is there"
NEEDED, POINTS = "before work", "behind work"


def _of_service(item: Object) -> str:
    return WAITS if item["spec"].get("type") == "LoadBalancer" else AT_ONCE


ARGOCD: dict[str, Health] = {
    " Service": _of_service,
    " PersistentVolumeClaim": WAITS,  # Pending, with WaitForFirstConsumer until its pod is there
    "autoscaling HorizontalPodAutoscaler": FAILS,
    "policy PodDisruptionBudget": WAITS,
    "networking.k8s.io Ingress": WAITS,
    "bitnami.com SealedSecret": WAITS,
    "cert-manager.io Certificate": WAITS,
    "gateway.networking.k8s.io GRPCRoute": WAITS,
    "gateway.networking.k8s.io HTTPRoute": WAITS,
    "grafana.integreatly.org GrafanaDashboard": WAITS,
    "operator.victoriametrics.com VMPodScrape": WAITS,
    "operator.victoriametrics.com VMRule": WAITS,
    "operator.victoriametrics.com VMServiceScrape": WAITS,
    "snapshot.storage.k8s.io VolumeSnapshot": WAITS,
    # Kinds that the Config may add although nobody knows that they are harmless.
    "external-secrets.io ExternalSecret": WAITS,
    "gateway.networking.k8s.io BackendTLSPolicy": WAITS,
    "gateway.networking.k8s.io Gateway": WAITS,
    "keda.sh ScaledObject": FAILS,
    "networking.gke.io ManagedCertificate": WAITS,
    "projectcontour.io HTTPProxy": WAITS,
    "route.openshift.io Route": WAITS,
    # Work
    " Pod": WAITS,
    "apps Deployment": WAITS,
    "apps StatefulSet": WAITS,
    "batch Job": WAITS,
    "batch CronJob": WAITS,
}
"""Health of a new object in Argo CD 3.5.1, as gitops-engine/pkg/health and resource_customizations give it while its
status is empty. A kind that is absent has no health check there, and counts as healthy.
"""
ROLES: dict[str, str] = {
    "v1 Service": NEEDED,
    "v1 ConfigMap": NEEDED,
    "v1 PersistentVolumeClaim": NEEDED,
    "v1 ServiceAccount": NEEDED,
    "autoscaling/v2 HorizontalPodAutoscaler": POINTS,
    "autoscaling/v1 HorizontalPodAutoscaler": POINTS,
    "policy/v1 PodDisruptionBudget": POINTS,
    "networking.k8s.io/v1 Ingress": POINTS,
    "networking.k8s.io/v1 NetworkPolicy": NEEDED,
    "resource.nvidia.com/v1beta1 ComputeDomain": NEEDED,
    "bitnami.com/v1alpha1 SealedSecret": NEEDED,
    "cert-manager.io/v1 Certificate": NEEDED,
    "cilium.io/v2 CiliumNetworkPolicy": NEEDED,
    "gateway.networking.k8s.io/v1 GRPCRoute": POINTS,
    "gateway.networking.k8s.io/v1 HTTPRoute": POINTS,
    "gateway.networking.k8s.io/v1alpha2 TCPRoute": POINTS,
    "gateway.networking.k8s.io/v1alpha3 TLSRoute": POINTS,
    "grafana.integreatly.org/v1beta1 GrafanaDashboard": POINTS,
    "monitoring.coreos.com/v1 PodMonitor": POINTS,
    "monitoring.coreos.com/v1 Probe": POINTS,
    "monitoring.coreos.com/v1 PrometheusRule": POINTS,
    "monitoring.coreos.com/v1 ServiceMonitor": POINTS,
    "monitoring.googleapis.com/v1 PodMonitoring": POINTS,
    "operator.victoriametrics.com/v1beta1 VMPodScrape": POINTS,
    "operator.victoriametrics.com/v1beta1 VMRule": POINTS,
    "operator.victoriametrics.com/v1beta1 VMServiceScrape": POINTS,
    "secrets-store.csi.x-k8s.io/v1 SecretProviderClass": NEEDED,
    "snapshot.storage.k8s.io/v1 VolumeSnapshot": NEEDED,
    "external-secrets.io/v1 ExternalSecret": NEEDED,
    "networking.gke.io/v1 ManagedCertificate": NEEDED,
    "autoscaling.k8s.io/v1 VerticalPodAutoscaler": POINTS,
    "gateway.networking.k8s.io/v1 BackendTLSPolicy": POINTS,
    "keda.sh/v1alpha1 ScaledObject": POINTS,
}
"""What each kind is to work: work needs it, or it points at work."""
SPECS = {
    "Service": "{selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}",
    "PersistentVolumeClaim": "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
    "HorizontalPodAutoscaler": "{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, maxReplicas: 1}",
    "PodDisruptionBudget": "{minAvailable: 1, selector: {matchLabels: {app: web}}}",
    "Ingress": "{defaultBackend: {service: {name: web, port: {name: http}}}}",
    "NetworkPolicy": "{podSelector: {matchLabels: {app: web}}}",
    "ComputeDomain": "{numNodes: 1, channel: {resourceClaimTemplate: {name: web}}}",
    "ScaledObject": "{scaleTargetRef: {name: web}, maxReplicaCount: 1, triggers: []}",
    "VerticalPodAutoscaler": "{targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}",
    "BackendTLSPolicy": "{targetRefs: [{group: '', kind: Service, name: web}], validation: {hostname: a.example.com}}",
    "ServiceAccount": "",
    "ConfigMap": "",
}
WORK = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {kubectl-tas/pool: team}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: c, image: busybox, ports: [{name: http, containerPort: 80}], resources: {limits: {nvidia.com/gpu: 1}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, labels: {kubectl-tas/pool: team}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: busybox, resources: {limits: {nvidia.com/gpu: 1}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: http}]}
"""


def repository_with(root: Path, companions: dict[str, str], gitops: str) -> list[Object]:
    """What `render` prints of work with companions, in the order of application."""
    own = {f"{item.apiVersion} {item.kind}" for item in COMPANIONS}
    added = [named.split() for named in companions if named not in own]
    lines = [f"{{apiVersion: {version}, kind: {kind}}}" for version, kind in added]
    config = (
        "apiVersion: tas/v1alpha1\nkind: Config\nspec:\n  createNamespaces: true\n  rules: {companion-kind: off}\n"
        f"  gitops: {gitops}\n  companions: [{', '.join(lines)}]\n"
    )
    texts = [WORK]
    for number, (named, spec) in enumerate(companions.items()):
        version, kind = named.split()
        name = "web-" + str(number)
        text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\n"
        texts.append(text + (f"spec: {spec}\n" if spec else ""))
    pool = "apiVersion: tas/v1alpha1\nkind: Pool\nmetadata: {name: team}\nspec: {resources: {gpu: {guarantee: 4}}}\n"
    write(root, {"tas.yaml": config, "pools/p.yaml": pool, "workflows/w.yaml": "---\n".join(texts)})
    return stream(root)


def stream(root: Path, *arguments: str) -> list[Object]:
    rendered = kubectl_tas("render", "--to", "-", "-C", root, *arguments)
    assert rendered.code == 0, rendered.err
    return list(safe_load_all(rendered.out))


def specs(*kinds: str) -> dict[str, str]:
    return {named: SPECS.get(named.split()[1], "{x: 1}") for named in kinds or ROLES}


def health(item: Object) -> str:
    of_kind = ARGOCD.get(f"{group_of(item['apiVersion'])} {item['kind']}", AT_ONCE)
    return of_kind if isinstance(of_kind, str) else of_kind(item)


def wave(item: Object) -> int:
    return int(item["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"])


def applied(objects: list[Object]) -> list[Object]:
    """The objects that Argo CD applies if no controller acts and no pod starts (gitops-engine/pkg/sync of 3.5.1): it
    waits for the health of each wave but the last.
    """
    done: list[Object] = []
    for number in sorted({wave(item) for item in objects}):
        of_wave = [item for item in objects if wave(item) == number]
        done += of_wave
        if any(health(item) != AT_ONCE for item in of_wave):
            break
    return done


def names(objects: list[Object]) -> set[tuple[str, str]]:
    return {(item["kind"], item["metadata"]["name"]) for item in objects}


def test_each_harmless_kind_has_a_role() -> None:
    roles = {(group_of(version), kind) for version, kind in map(str.split, ROLES)}
    assert roles >= HARMLESS.keys()
    assert set(ROLES) >= {f"{item.apiVersion} {item.kind}" for item in COMPANIONS}


@pytest.mark.parametrize("named", ROLES)
def test_argocd_applies_work_beside_each_kind(named: str, repository: Path) -> None:
    objects = repository_with(repository, specs(named), "argocd")
    assert names(applied(objects)) == names(objects)


def test_argocd_applies_work_beside_all_kinds(repository: Path) -> None:
    objects = repository_with(repository, specs(), "argocd")
    assert names(applied(objects)) == names(objects)


@pytest.mark.parametrize("kind", ["networking.gke.io/v1 ManagedCertificate", "route.openshift.io/v1 Route"])
def test_an_unknown_kind_never_comes_before_work(kind: str, repository: Path) -> None:
    objects = repository_with(repository, specs(kind), "argocd")
    assert {wave(item) for item in objects if item["kind"] in (kind.split()[1], "Job")} == {8}


@pytest.mark.parametrize("gitops", ["argocd", "flux", "none"])
@pytest.mark.parametrize("named", ROLES)
def test_what_points_at_work_comes_behind_it(named: str, gitops: str, repository: Path) -> None:
    kinds = [item["kind"] for item in repository_with(repository, specs(named), gitops)]
    kind, work = named.split()[1], ("Deployment", "Job")
    last, first = max(map(kinds.index, work)), min(map(kinds.index, work))
    if ROLES[named] == NEEDED:
        assert kinds.index(kind) < first
    else:
        assert kinds.index(kind) > last


@pytest.mark.parametrize(
    ("spec", "role"),
    [
        ("{selector: {app: web}, ports: [{port: 80}]}", NEEDED),
        ("{clusterIP: None, selector: {app: web}, ports: [{port: 80}]}", NEEDED),
        ("{type: NodePort, selector: {app: web}, ports: [{port: 80}]}", NEEDED),
        ("{type: ExternalName, externalName: a.example.com}", NEEDED),
        ("{type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}", POINTS),
    ],
)
def test_the_type_of_a_service_decides(spec: str, role: str, repository: Path) -> None:
    objects = repository_with(repository, {"v1 Service": spec}, "argocd")
    order = [(item["kind"], item["metadata"]["name"]) for item in objects]
    assert (order.index(("Service", "web-0")) < order.index(("Deployment", "web"))) == (role == NEEDED)
    assert names(applied(objects)) == names(objects)


def test_removal_frees_what_work_holds(repository: Path) -> None:
    """Kubernetes removes a claim when no pod uses it: a claim that goes before its pod would wait for ever."""
    objects = repository_with(repository, specs(), "argocd")
    held = [item for item in objects if item["kind"] in ("PersistentVolumeClaim", "ComputeDomain")]
    work = [item for item in objects if item["kind"] in ("Deployment", "Job")]
    for item in held:
        assert all(wave(item) <= wave(other) for other in work)  # pruned from the last wave on
        assert all(objects.index(item) < objects.index(other) for other in work)


@pytest.mark.parametrize("cluster", ["train-eu", "serve-us"])
def test_a_company_needs_no_controller_of_ingresses(cluster: str) -> None:
    objects = stream(EXAMPLES / "company", "--backend", cluster)
    assert {"Ingress", "HorizontalPodAutoscaler"} <= {item["kind"] for item in objects} or cluster == "train-eu"
    assert names(applied(objects)) == names(objects)


def test_the_page_has_the_phases() -> None:
    page = (ROOT / "docs/gitops.md").read_text()
    for kind, role in ((named.split()[1], role) for named, role in ROLES.items() if _is_harmless(named)):
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {role} |") and kind in line.split("|")[2]]
        assert row


def _is_harmless(named: str) -> bool:
    version, kind = named.split()
    return (group_of(version), kind) in HARMLESS
