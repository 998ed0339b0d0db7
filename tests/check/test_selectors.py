"""Tests selectors of objects beside workloads, in a namespace that several teams share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import kubectl_tas, pool, write

KINDS = {
    "PodDisruptionBudget": ("policy/v1", "selector", "maxUnavailable: 0"),
    "NetworkPolicy": ("networking.k8s.io/v1", "podSelector", "policyTypes: [Ingress]"),
}
CONFIG = "apiVersion: tas/v1alpha1\nkind: Config\nspec: {rules: {selects-others: off}}\n"


def said(root: Path, kind: str, selector: str, pools: dict[str, str], config: str = "") -> str:
    version, field, more = KINDS[kind]
    labels = "labels: {kubectl-tas/pool: a}"
    text = (
        f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x, {labels}}}\nspec: {{{field}: {selector}, {more}}}\n"
    )
    files = {"workflows/x.yaml": text, **{f"pools/{name}.yaml": pool(name, spec=spec) for name, spec in pools.items()}}
    write(root, files | ({"tas.yaml": config} if config else {}))
    return kubectl_tas("validate", "--strict", "-C", root).out


SHARED = {"a": "", "b": ""}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "selector",
    [
        "{}", "{matchLabels: {}}", "{matchExpressions: []}", "{matchExpressions: [{key: a, operator: DoesNotExist}]}",
        "{matchExpressions: [{key: a, operator: NotIn, values: [b]}]}",
        "{matchLabels: {app.kubernetes.io/managed-by: kubectl-tas}}",
    ],
)  # fmt: skip
def test_pods_of_others(repository: Path, kind: str, selector: str) -> None:
    out = said(repository, kind, selector, SHARED)
    assert "[selects-others]" in out
    assert "namespace default, where several queues run work: a, b" in out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "selector",
    ["{matchLabels: {app: x}}", "{matchExpressions: [{key: a, operator: In, values: [b]}]}",
     "{matchExpressions: [{key: a, operator: Exists}, {key: b, operator: DoesNotExist}]}"],
)  # fmt: skip
def test_own_pods(repository: Path, kind: str, selector: str) -> None:
    assert "selects-others" not in said(repository, kind, selector, SHARED)


def test_a_namespace_of_one_pool(repository: Path) -> None:
    assert "selects-others" not in said(repository, "NetworkPolicy", "{}", {"a": "", "b": "  namespaces: [b]\n"})


def test_the_config_may_allow_it(repository: Path) -> None:
    assert "selects-others" not in said(repository, "NetworkPolicy", "{}", SHARED, CONFIG)


TRAIN_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: sft, namespace: default, labels: {kubectl-tas/pool: a}}
spec: {runtimeRef: {name: torch}, trainer: {numNodes: 1}}
"""


def test_pods_of_a_runtime_may_have_any_label(repository: Path) -> None:
    """A TrainJob says nothing of the labels of its pods: those are in its runtime, which the cluster has."""
    selector = "{matchLabels: {app: x}}"
    assert "selects no pods" in said(repository, "PodDisruptionBudget", selector, {"a": ""})
    write(repository, {"workflows/sft.yaml": TRAIN_JOB})
    assert "selects no pods" not in said(repository, "PodDisruptionBudget", selector, {"a": ""})
