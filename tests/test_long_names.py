"""Tests that objects with the longest names that Kubernetes allows get valid file names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.support.cli import kubectl_tas, pool, write
from tests.support.judged import told_of
from tests.support.pyyaml import safe_load
from tests.support.workloads import LEVELS, Object, template, workload

LONG = "a" * 252
TOPOLOGY = {"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopology"}
LEVEL = {"levels": [{"domain": "zone", "key": "topology.kubernetes.io/zone"}]}


def pod(name: str) -> Object:
    spec = {"containers": [{"name": "main", "image": "x:1", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
    return workload("v1", "Pod", name, {}, spec)


def replica_set(name: str) -> Object:
    labels = {"app": "x"}
    spec = {"selector": {"matchLabels": labels}, "template": {**template(), "metadata": {"labels": labels}}}
    return workload("apps/v1", "ReplicaSet", name, {}, spec)


def topology(name: str) -> Object:
    return {**TOPOLOGY, "metadata": {"name": name}, "spec": LEVEL}


def pod_group(name: str) -> Object:
    metadata = {"name": name, "namespace": "default"}
    spec = {"queue": "osmo-pool-default-team--shared", "minMember": 1}
    return {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": metadata, "spec": spec}


def declare(root: Path, *objects: Object) -> None:
    write(root, {"pools/p.yaml": pool(spec=LEVELS), "topologies/w.yaml": yaml.safe_dump_all(objects)})


def files(root: Path, *objects: Object) -> set[str]:
    """The files of what these objects become, without those of the pool."""
    declare(root, *objects)
    result = kubectl_tas("render", "-C", root)
    assert result.code == 0, result.err
    assert kubectl_tas("check", "-C", root).code == 0
    return {path.name for path in (root / "manifests").rglob("*.yaml") if "aaa" in path.name}


@pytest.mark.parametrize(
    ("make", "made"),
    [(pod, 2), (replica_set, 2), (topology, 1), (pod_group, 1)],
    ids=lambda item: getattr(item, "__name__", ""),
)
def test_files_of_the_longest_names(repository: Path, make: object, made: int) -> None:
    assert callable(make)
    found = files(repository, make(f"{LONG}b"), make(f"{LONG}c"))
    assert len(found) == 2 * made
    assert max(map(len, found)) <= 255


def test_a_name_that_fits_is_kept(repository: Path) -> None:
    name = "a" * (255 - len("replicaset-.yaml"))
    assert f"replicaset-{name}.yaml" in files(repository, replica_set(name))


@pytest.mark.parametrize("make", [pod, replica_set, topology, pod_group], ids=lambda make: make.__name__)
def test_one_character_more_is_refused(repository: Path, make: Callable[[str], Object]) -> None:
    declare(repository, make("a" * 253))
    assert kubectl_tas("validate", "-C", repository).code == 0
    declare(repository, make("a" * 254))
    result = kubectl_tas("validate", "-C", repository)
    assert result.code == 1
    assert result.out.endswith("1 error in 2 files.\n")


def test_the_podgroup_of_the_longest_name_has_a_name_that_fits(repository: Path) -> None:
    """The scheduler's own, which is previewed."""
    declare(repository, replica_set(f"{LONG}b"), replica_set(f"{LONG}c"))
    assert kubectl_tas("render", "-C", repository).code == 0
    made = [safe_load(path.read_text())["metadata"]["name"] for path in repository.rglob("preview/*.yaml")]
    assert [len(name) for name in made] == [253, 253]
    assert len(set(made)) == 2


@pytest.mark.parametrize(("size", "most"), [(1, 52), (2, 50)])
def test_a_group_without_workers_has_no_stateful_set_whose_name_is_longer(size: int, most: int) -> None:
    pods = "{spec: {containers: [{name: m, image: i}]}}"
    for length, is_told in ((most, False), (most + 1, True)):
        text = f"""\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: {"a" * length}, labels: {{kubectl-tas/pool: team}}}}
spec: {{replicas: 1, leaderWorkerTemplate: {{size: {size}, workerTemplate: {pods}}}}}
"""
        assert any(f"may have {most} characters here" in line for line in told_of(text)) is is_told
