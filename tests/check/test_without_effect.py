"""Tests companions that the API server takes and that do nothing, targets of autoscalers, and names in ``trusted``."""

from __future__ import annotations

import pytest

from tests.support.cli import pool
from tests.support.judged import told, told_of

HEAD = "apiVersion: {0}\nkind: {1}\nmetadata: {{name: {2}, labels: {{kubectl-tas/pool: team}}}}\nspec:\n"


def served(resources: str, more: str = "") -> str:
    """A Deployment of one container with these resources."""
    pods = f'{{metadata: {{labels: {{app: a}}}}, spec: {{containers: [{{name: a, image: "a:1", {resources}}}]{more}}}}}'
    return f"{HEAD.format('apps/v1', 'Deployment', 'a')}  selector: {{matchLabels: {{app: a}}}}\n  template: {pods}\n"


def scaler(metrics: str, version: str = "autoscaling/v2", target: str = "apps/v1") -> str:
    """An autoscaler of the Deployment."""
    named = f"  scaleTargetRef: {{apiVersion: {target}, kind: Deployment, name: a}}\n"
    meta = f"apiVersion: {version}\nkind: HorizontalPodAutoscaler\nmetadata: {{name: a}}\nspec:\n"
    return f"---\n{meta}{named}  maxReplicas: 1\n{metrics}"


def share(name: str = "cpu", target: str = "averageUtilization: 80", kind: str = "resource", more: str = "") -> str:
    """A metric of a resource."""
    return (
        f"  metrics: [{{type: {kind[0].upper()}{kind[1:]}, {kind}: {{name: {name}{more}, "
        f"target: {{type: {'Utilization' if 'Util' in target else 'AverageValue'}, {target}}}}}}}]\n"
    )


def without_effect(text: str) -> list[str]:
    """The findings of the rule in one file."""
    return [line for line in told_of(text) if " without-effect: " in line]


ASKS_MEMORY = "resources: {requests: {memory: 1Gi}}"
LACKS = {
    "a share of cpu": scaler(share()),
    "a share of a container": scaler(share(kind="containerResource", more=", container: a")),
    "a percentage of the older API": scaler("  targetCPUUtilizationPercentage: 80\n", "autoscaling/v1"),
}
MEASURED = {
    "a request": (served("resources: {requests: {cpu: 1}}"), scaler(share())),
    "a limit": (served("resources: {limits: {cpu: 1}}"), scaler(share())),
    "another resource": (served(ASKS_MEMORY), scaler(share("memory"))),
    "an amount": (served(ASKS_MEMORY), scaler(share(target="averageValue: 1"))),
    "a request of the pod": (served(ASKS_MEMORY, ", resources: {requests: {cpu: 1}}"), scaler(share())),
}


@pytest.mark.parametrize("text", LACKS.values(), ids=LACKS)
def test_a_share_of_a_request_that_is_lacking_is_never_measured(text: str) -> None:
    (found,) = without_effect(served(ASKS_MEMORY) + text)
    assert "no share of cpu can be measured: container a of Deployment a requests none" in found


@pytest.mark.parametrize(("work", "text"), MEASURED.values(), ids=MEASURED)
def test_what_can_be_measured_is_not_reported(work: str, text: str) -> None:
    assert without_effect(work + text) == []


@pytest.mark.parametrize(
    ("pods", "modes", "count"), [(2, "ReadWriteOncePod", 1), (1, "ReadWriteOncePod", 0), (2, "ReadWriteMany", 0)]
)
def test_a_claim_for_one_pod_is_told_from_others_in_another_file(pods: int, modes: str, count: int) -> None:
    volumes = ", volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]"
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\n"
    claim += f"spec: {{accessModes: [{modes}], resources: {{requests: {{storage: 1Gi}}}}}}\n"
    work = served(ASKS_MEMORY, volumes).replace("  selector", f"  replicas: {pods}\n  selector")
    found = told({"pools/team.yaml": pool(), "workflows/w.yaml": work, "workflows/c.yaml": claim})
    assert sum("without-effect" in line for line in found) == count


@pytest.mark.parametrize(
    ("ports", "count"),
    [("{port: 80}", 1), ("{port: 8000}", 0), ("{port: 80}, {port: 8000}", 0), ("{port: 81}", 0)],
)
def test_a_policy_for_the_port_of_a_service_is_told_from_one_for_pods(ports: str, count: int) -> None:
    meta = "---\napiVersion: {0}\nkind: {1}\nmetadata: {{name: a}}\nspec:\n"
    service = meta.format("v1", "Service") + "  selector: {app: a}\n  ports: [{port: 80, targetPort: 8000}]\n"
    policy = meta.format("networking.k8s.io/v1", "NetworkPolicy") + "  podSelector: {matchLabels: {app: a}}\n"
    policy += f"  ingress: [{{ports: [{ports}]}}]\n"
    assert len(without_effect(served("ports: [{containerPort: 8000}]") + service + policy)) == count


@pytest.mark.parametrize(("version", "count"), [("v1", 1), ("batch/v1", 1), ("apps/v1", 0), ("example.com/v1", 0)])
def test_a_group_of_kubernetes_has_the_kind_that_is_scaled(version: str, count: int) -> None:
    found = told_of(served("resources: {requests: {cpu: 1}}") + scaler(share(), target=version))
    said = [line for line in found if "must be the group and the version of a Deployment" in line]
    assert len(said) == count
    assert all(line.endswith("(Write apps/v1.)") for line in said)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("system:serviceaccount:deployer", 1),
        ("system:serviceaccount:ci:", 1),
        ("system:serviceaccount:ci:deployer", 0),
        ("system:serviceaccounts:ci", 0),
        ("alice@example.com", 0),
    ],
)
def test_a_trusted_service_account_has_a_namespace_and_a_name(name: str, count: int) -> None:
    found = told_of("", trusted=f'["{name}"]', guard="enforce", backends="[{name: prod, namespace: ml}]")
    assert sum("must be system:serviceaccount:NAMESPACE:NAME" in line for line in found) == count
