"""Tests that Argo CD and Flux apply the examples, on one cluster and on two, and that KAI places them as `fit` says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.delivery import Delivery, deliver
from tests.support.git_server import GitServer
from tests.support.gitops import ArgoCD, Flux, GitOps, configure, render
from tests.support.golden import EXAMPLES
from tests.support.placed import APPLIED, USE_CASES, domains, generated, said
from tests.support.rendered import KUSTOMIZATION, read_back, text
from tests.support.running import Running

pytestmark = pytest.mark.gitops
both_tools = pytest.mark.parametrize("tool", ["argocd", "flux"], indirect=True)
both_layouts = pytest.mark.parametrize("layout", ["flat", "sharded"])
COMPANY = {"train-eu": "company", "serve-us": "company-serving"}
"""The clusters of the company, with their names in ``APPLIED``."""


def copied(name: str, root: Path, tool: GitOps, layout: str) -> Path:
    """Copies an example for a tool and a layout."""
    shutil.copytree(EXAMPLES / name, root, ignore=shutil.ignore_patterns("manifests"))
    configure(root, gitops=tool.name, layout=layout, createNamespaces=True)
    return root


def runs_as_expected(cluster: Running, case: str) -> None:
    """All work runs but for that which must wait, and no gang is torn apart."""
    _, _, waits = APPLIED[case]
    cluster.wait("pods are bound", cluster.bound)
    waiting = cluster.pods().keys() - cluster.settled().keys()
    assert {name for name in waiting if not name.startswith(tuple(waits))} == set()
    assert {work for work in waits if any(name.startswith(work) for name in waiting)} == set(waits)
    assert cluster.apart() == []


def have_nodes_for(cluster: Running, root: Path, case: str) -> None:
    _, pools, _ = APPLIED[case]
    cluster.have_nodes(item for pool, options, labels in pools for item in generated(root, pool, *options, **labels))


def skip_without_kinds(cluster: Running, root: Path, backend: str) -> None:
    """Skips an example of which the cluster lacks a kind: a sync with such an object never ends."""
    render(root)
    objects = [
        item for rendered in read_back(root).clusters if backend in ("", rendered.name) for item in rendered.objects
    ]
    if kinds := cluster.lacks(objects):
        pytest.skip(f"the cluster lacks {', '.join(sorted(kinds))}")


@both_tools
@both_layouts
@pytest.mark.parametrize("case", USE_CASES)
def test_a_use_case_is_bound_where_fit_says(
    case: str, tool: GitOps, layout: str, server: GitServer, work_tree: Path
) -> None:
    cluster, name = tool.cluster, case.removesuffix("-apart")
    root = copied("use-cases", work_tree, tool, layout)
    for file in (root / "workflows").iterdir():
        if f"name: {name}\n" not in file.read_text():
            file.unlink()
    nodes = json.loads((root / "nodes" / f"{USE_CASES[case]}.json").read_text())["items"]
    cluster.have_nodes(nodes)
    (gang,) = cluster.answers(root, "fit", name)["gangs"]
    deliver(tool, server, root, layout)
    cluster.wait("all pods are bound", lambda: len(cluster.bound()) == gang["pods"])
    levels = cluster.api.items("/apis/kai.scheduler/v1alpha1/topologies")
    labels = {level["alias"]: level["nodeLabel"] for item in levels for level in item["spec"]["levels"]}
    there = domains(cluster, gang, nodes, [labels[level] for level in gang["levels"]])
    assert {part: sorted(found) for part, found in there.items()} == said(gang)
    assert cluster.apart() == []


@both_tools
@both_layouts
@pytest.mark.parametrize("case", APPLIED)
def test_an_example_is_applied_and_runs(
    case: str, tool: GitOps, layout: str, server: GitServer, work_tree: Path
) -> None:
    """Nothing gives an Ingress an address."""
    backend, _, _ = APPLIED[case]
    root = copied(case.removesuffix("-serving"), work_tree, tool, layout)
    have_nodes_for(tool.cluster, root, case)
    skip_without_kinds(tool.cluster, root, backend)
    delivery = deliver(tool, server, root, layout, backend)
    assert delivery.lacking() == set()
    runs_as_expected(tool.cluster, case)


@both_tools
@both_layouts
def test_a_company_of_two_clusters(
    tool: GitOps, layout: str, clusters: list[Running], server: GitServer, work_tree: Path
) -> None:
    """Argo CD in the first cluster applies to both. Each cluster has a Flux of its own."""
    if len(clusters) < 2:
        pytest.skip("$KUBECONFIG_GITOPS names one cluster")
    root = copied("company", work_tree, tool, layout)
    for (backend, case), cluster in zip(COMPANY.items(), clusters, strict=True):
        have_nodes_for(cluster, root, case)
        skip_without_kinds(cluster, root, backend)
    if isinstance(tool, ArgoCD):
        tool.health_checks(are_added=layout == "sharded")
        render(root)
        for backend, cluster in zip(COMPANY, clusters, strict=True):
            tool.know(backend, cluster)
        remote = server.offer(root)
        revision = remote.push()
        tool.begin(remote, text(tool.folder / f"{layout}.yaml"))
        tool.wait(revision, len(list((root / "manifests").rglob(KUSTOMIZATION))))
        deliveries = [
            Delivery(ArgoCD(cluster), remote, backend) for backend, cluster in zip(COMPANY, clusters, strict=True)
        ]
    else:
        if not Flux.runs_in(clusters[1]):
            pytest.skip("the second cluster lacks the kinds of flux")
        deliveries = [
            deliver(Flux(cluster), server, Path(shutil.copytree(root, root.with_name(backend))), layout, backend)
            for backend, cluster in zip(COMPANY, clusters, strict=True)
        ]
    for delivery, case in zip(deliveries, COMPANY.values(), strict=True):
        assert delivery.lacking() == set()
        runs_as_expected(delivery.cluster, case)
