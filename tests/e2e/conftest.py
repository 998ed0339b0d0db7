"""Provides the cluster for tests marked ``e2e``, which run work in it. CONTRIBUTING.md says how to get one."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.kubelets import kubelets
from tests.support.running import Running


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    kubeconfig = os.environ.get("KUBECONFIG_KAI", "")
    if not kubeconfig:
        pytest.skip("$KUBECONFIG_KAI is not set; CONTRIBUTING.md says what it names")
    with kubelets(kubeconfig) as api:
        yield Running(kubeconfig, tmp_path_factory.mktemp("kubectl"), api)


@pytest.fixture
def kai(cluster: Running) -> Running:
    """The cluster without work, queues and nodes."""
    cluster.clear()
    return cluster
