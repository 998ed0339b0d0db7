"""Provides the cluster for tests marked ``cluster``, which write to it. CONTRIBUTING.md says how to get one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.server import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Server:
    found = {name: os.environ.get(name, "") for name in ("KUBECONFIG_TEST", "KAI_CRDS", "GROVE_CRDS")}
    for name, value in found.items():
        if not value:
            pytest.skip(f"${name} is not set; CONTRIBUTING.md says what it names")
    kubeconfig, kai, grove = found.values()
    operators = [Path(folder) for folder in os.environ.get("OPERATOR_CRDS", "").split(os.pathsep) if folder]
    cluster = Server(kubeconfig, tmp_path_factory.mktemp("kubectl"), Path(kai), Path(grove))
    for folder in operators:
        cluster.define(folder)
    return cluster
