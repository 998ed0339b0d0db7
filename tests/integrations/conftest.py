"""Provides GitOps tools for tests marked ``gitops``. CONTRIBUTING.md says how to get a cluster that runs them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.support.git_server import GitServer, git_server
from tests.support.gitops import ArgoCD, Flux, GitOps, clear
from tests.support.kubelets import kubelets
from tests.support.running import Running

TOOLS: dict[str, type[GitOps]] = {"argocd": ArgoCD, "flux": Flux}


@pytest.fixture(scope="session")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Running]]:
    """The clusters of $KUBECONFIG_GITOPS. The tools run in the first one."""
    kubeconfigs = os.environ.get("KUBECONFIG_GITOPS", "")
    if not kubeconfigs:
        pytest.skip("$KUBECONFIG_GITOPS is not set; CONTRIBUTING.md says what it names")
    first, *others = kubeconfigs.split(os.pathsep)
    with kubelets(first) as api:
        own = Running(first, tmp_path_factory.mktemp("kubectl"), api)
        if not others:
            yield [own]
            return
        with kubelets(others[0]) as second:
            yield [own, Running(others[0], tmp_path_factory.mktemp("kubectl"), second)]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    """A git server that the clusters reach at $GITOPS_ADDRESS."""
    with git_server(tmp_path_factory.mktemp("git"), os.environ.get("GITOPS_ADDRESS", "127.0.0.1")) as server:
        yield server


@pytest.fixture
def tool(request: pytest.FixtureRequest, clusters: list[Running]) -> Iterator[GitOps]:
    """A tool of the name that the test is given, in clusters without work, queues and nodes."""
    kind = TOOLS[cast(str, getattr(request, "param", "argocd"))]
    if not kind.runs_in(clusters[0]):
        pytest.skip(f"the cluster lacks the kinds of {kind.name}")
    for cluster in clusters:
        for known in TOOLS.values():
            if known.runs_in(cluster):
                known(cluster).forget()
        clear(cluster)
    given = kind(clusters[0])
    yield given
    given.forget()


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    """The folder of a repository that a test pushes."""
    return tmp_path / "repository"
