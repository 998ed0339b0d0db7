"""Tests what is said of documents that the tool does not read, and what to do with them instead."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.load.kinds import KINDS
from kubectl_tas.model.kindlists import COMPANIONS
from tests.support.judged import told_of

UNTOLD = "Move it out of the folders that are read: its file does not say which pods it makes."
NO_PODGROUP = "Remove it: KAI makes a PodGroup of each workload."
MAKES_PODS = "Say in spec.kinds of the Config where its pods are, or move it out of the folders that are read."
MAY_MAKE_PODS = (
    "If it makes pods, say in spec.kinds of the Config where they are. Else move it out of the folders that are read."
)
KNOWN = (
    f"Kinds that are read: {', '.join(dict.fromkeys(kind.name for kind in KINDS))}, OSMO workflows (root key "
    f"workflow), List, and beside workloads {', '.join(dict.fromkeys(item.kind for item in COMPANIONS))}."
)


@pytest.mark.parametrize(
    ("api_version", "kind", "hint"),
    [
        ("apps/v1", "DaemonSet", "Its pods run on every node, so no queue is charged for them; keep it elsewhere."),
        ("tas/v1alpha1", "Workflow", "An OSMO workflow has neither apiVersion nor kind: its root key is workflow."),
        (
            "kustomize.config.k8s.io/v1beta1",
            "Kustomization",
            "Keep the kustomization elsewhere, and put here what `kustomize build` makes of it.",
        ),
        (
            "kubeflow.org/v1",
            "Profile",
            "Name its namespace in namespaces of a Pool, and keep the Profile elsewhere.",
        ),
        (
            "serving.knative.dev/v1",
            "Service",
            "Write a Deployment, or an InferenceService of KServe in Standard mode.",
        ),
        (
            "keda.sh/v1",
            "ScaledObject",
            "Write a HorizontalPodAutoscaler, or move it out of the folders that are read.",
        ),
        (
            "scheduling.volcano.sh/v1beta1",
            "Queue",
            "Declare a Pool or Subpool: `render` makes the queues of KAI from them.",
        ),
        ("run.ai/v1", "Work", "Write a Job, PyTorchJob or MPIJob: kubectl-tas reads no work of run.ai."),
        ("scheduling.volcano.sh/v1beta1", "PodGroup", NO_PODGROUP),
        ("scheduling.x-k8s.io/v1alpha1", "PodGroup", NO_PODGROUP),
        ("argoproj.io/v1alpha1", "Application", UNTOLD),
        ("kubeflow.org/v1", "Experiment", UNTOLD),
        ("kubeflow.org/v1", "ScheduledWorkflow", UNTOLD),
        ("helm.toolkit.fluxcd.io/v2", "HelmRelease", UNTOLD),
        ("kubevirt.io/v1", "VirtualMachine", UNTOLD),
        ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", UNTOLD),
        ("source.toolkit.fluxcd.io/v1", "GitRepository", UNTOLD),
        ("tekton.dev/v1", "Task", UNTOLD),
        ("workspace.devfile.io/v1", "DevWorkspace", UNTOLD),
        ("batch/v1", "Widget", MAKES_PODS),
        ("acme.io/v1", "Widget", MAY_MAKE_PODS),
        ("v1", "Widget", KNOWN),
        ("acme.io/v1", "WidgetList", "Write it as apiVersion: v1, kind: List, items: [...]."),
        ("batch/v1", "Jobb", 'Did you mean "Job"?'),
        ("v1", "ConfigMaps", 'Did you mean "ConfigMap"?'),
        ("apps/v1", "PyTorchJb", 'Did you mean "PyTorchJob", of apiVersion: kubeflow.org/v1?'),
    ],
)
def test_what_to_do_with_a_kind_that_is_not_read(api_version: str, kind: str, hint: str) -> None:
    found = told_of(f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: x}}\n")
    assert found == [f'w.yaml:2:7 unknown-kind: the kind "{kind}" of {api_version} is not read ({hint})']


@pytest.mark.parametrize(
    "text",
    [
        "- a\n",
        "text\n",
        "a: b\n",
        "metadata: {name: x}\napiVersion: acme.io/v1\n",
        "apiVersion: batch/v1\nkind: 3\n",
        "apiVersion: batch/v1\n",
        "kind: Job\n",
        "kind: Ingress\n",
        "kind: Job\napiVersion: batch/v2\n",
        "kind: PodDisruptionBudget\napiVersion: policy/v2\n",
        *(
            f"apiVersion: {version}\nkind: {kind}\n"
            for version, kind in (
                ("apps.kruise.io/v1beta1", "StatefulSet"),
                ("example.com/v1", "Job"),
            )
        ),
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: CronJob\n",
        "kind: Widget\n",
        "apiVersion: v2\nname: x\nversion: 1.0.0\n",
        "services: {a: {}}\n",
        "on: push\njobs: {}\n",
        "resources: [a]\n",
        "resources: {a: b}\n",
        "resources: [a]\nspec: {}\n",
        "version https://git-lfs.github.com/spec/v1\n",
        "<<<<<<< HEAD\n",
        "=======\n",
        "pools: {a: {backend: b}}\nbackend_tests: {a: {}}\n",
        "- {name: a, platforms: {}}\n",
    ],
)
def test_what_a_document_without_a_known_kind_is(text: str, snapshot: Any) -> None:
    assert "\n".join(told_of(text)) == snapshot
