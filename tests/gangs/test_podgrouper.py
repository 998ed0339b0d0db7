"""Tests the parts of a workload: GPUs of a pod as Kubernetes counts them, and pods and minimums of each kind."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_tas.gangs.podgrouper import minimums
from kubectl_tas.load.document import Document, parse
from kubectl_tas.load.kinds import Kind, recognise
from kubectl_tas.load.schema import read_model
from kubectl_tas.model.config import ConfigSpec
from kubectl_tas.model.podtemplate import PodTemplate
from kubectl_tas.model.repository import Declared, Repository
from kubectl_tas.resolve.clusters import resolve_backend
from kubectl_tas.resolve.fleet_workload import FleetWorkload, resolve_workload
from kubectl_tas.resolve.pools import Declarations, resolve_pools
from tests.support.golden import ROOT


def container(gpus: int | str | None, **fields: Any) -> dict[str, Any]:
    return {**fields, "resources": {"limits": {} if gpus is None else {"nvidia.com/gpu": gpus}}}


def sidecar(gpus: int) -> dict[str, Any]:
    return container(gpus, restartPolicy="Always")


@pytest.mark.parametrize(
    ("init", "containers", "gpus"),
    [
        ([], [container(8)], 8),
        ([], [container("8")], 8),
        ([], [container(None)], 0),
        ([], [container(2), container(3)], 5),
        ([container(4)], [container(2)], 4),
        ([container(4), container(6)], [container(2), container(3)], 6),
        ([container(4)], [container(8)], 8),
        ([sidecar(1)], [container(2)], 3),
        ([container(3), sidecar(1)], [container(2)], 3),
        ([sidecar(1), container(3)], [container(2)], 4),
        ([sidecar(1), sidecar(1), container(1)], [container(0)], 3),
    ],
)
def test_gpus_of_a_pod(init: list[Any], containers: list[Any], gpus: int) -> None:
    template = PodTemplate.model_validate({"spec": {"initContainers": init, "containers": containers}})
    assert template.spec.gpus_with({}) == gpus


def test_request_without_limit_counts() -> None:
    asked = {"resources": {"requests": {"nvidia.com/gpu": 2}}}
    assert PodTemplate.model_validate({"spec": {"containers": [asked]}}).spec.gpus_with({}) == 2


def read(path: str, **labels: str) -> FleetWorkload:
    """The workload of a file, whatever its pool is called, with these labels added."""
    (document,), _ = parse(path, (ROOT / path).read_text())
    metadata = document.data["metadata"]
    metadata["labels"] = {**metadata.get("labels", {}), "kubectl-tas/pool": "team", **labels}
    pool, config = "apiVersion: tas/v1alpha1\nkind: Pool\nmetadata: {name: team}\nspec: {}\n", ConfigSpec()
    (declared,) = parse("team.yaml", pool)[0]
    backend = resolve_backend(config.backends[0], 0)
    pools = resolve_pools(Repository(pools=(model(declared),)), config, (backend,), {}, [])
    found = resolve_workload(model(document), Declarations((backend,), {}, pools, frozenset(pools), []))
    assert found is not None
    return found


def model(document: Document) -> Declared[Any]:
    kind = recognise(document)
    assert isinstance(kind, Kind)
    spec, problems = read_model(kind, document)
    assert problems == []
    return Declared(spec, document)


@pytest.mark.parametrize(
    ("path", "types", "copies"),
    [
        ("golden/documents/job.yaml", [("worker", 4, 4, 2)], 1),
        ("golden/documents/cronjob.yaml", [("worker", 4, 1, 2)], 1),
        ("golden/documents/deployment.yaml", [("pod", 2, 1, 2)], 1),
        ("golden/documents/statefulset.yaml", [("pod", 2, 1, 2)], 1),
        ("golden/documents/jobset.yaml", [("driver", 1, 1, 0), ("workers", 8, 8, 2)], 1),
        ("golden/documents/rayjob.yaml", [], 1),
        ("golden/documents/raycluster.yaml", [("head", 1, 1, 2), ("small", 4, 2, 2)], 1),
        ("golden/documents/trainjob.yaml", [("node", 2, 2, 1)], 1),
        ("golden/documents/pytorchjob.yaml", [("master", 1, 1, 2), ("worker", 4, 2, 2)], 1),
        ("golden/documents/tfjob.yaml", [("chief", 1, 1, 2), ("worker", 4, 2, 2)], 1),
        ("golden/documents/leaderworkerset.yaml", [("leader", 1, 1, 2), ("workers", 4, 4, 2)], 2),
        ("examples/workloads/workflows/sample-job.yaml", [("worker", 3, 1, 0)], 1),
        ("examples/workloads/workflows/elastic-imagenet.yaml", [("master", 1, 1, 1), ("worker", 8, 2, 1)], 1),
        ("examples/workloads/workflows/vllm.yaml", [("leader", 1, 1, 8), ("workers", 1, 1, 8)], 2),
    ],
)
def test_pods_minimum_and_gpus(path: str, types: list[Any], copies: int) -> None:
    found = read(path)
    counted = zip(found.replicas, minimums(found), strict=True)
    assert [(item.name, item.replicas, least, item.gpus) for item, least in counted] == types
    assert found.copies == copies


def test_an_owned_deployment_is_one_gang() -> None:
    owned = read("golden/documents/deployment.yaml", **{"kubectl-tas/podgroup": "owned"})
    assert minimums(owned) == [2]


def test_an_indexed_job_has_an_index_for_each_completion() -> None:
    (only,) = read("examples/workloads/workflows/sample-job.yaml").replicas
    assert (only.replicas, only.indices) == (3, 5)
