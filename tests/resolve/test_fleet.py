"""Tests the fleet of a repository in which a given file replaces an existing one."""

from __future__ import annotations

from pathlib import Path

import yaml

from kubectl_tas.load.loading import load_repository
from kubectl_tas.load.source import FolderSource
from kubectl_tas.resolve.fleet import replaced
from tests.support.cli import write
from tests.support.grove import two_clusters
from tests.support.workloads import deployment


def test_an_object_of_another_cluster_is_not_replaced(repository: Path) -> None:
    in_a, in_b = (yaml.safe_dump(deployment("web", {"kubectl-tas/pool": name})) for name in "ab")
    root = write(two_clusters(repository, in_a, in_b), {"workflows/new.yaml": in_a})
    left = replaced("workflows/new.yaml", load_repository(FolderSource(root)).repository).workloads
    assert sorted(item.origin.path for item in left) == ["workflows/1.yaml", "workflows/new.yaml"]
