"""Tests that placements of a workload and of its only pod template apply together."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml

from tests.support.cli import kubectl_tas, pool, write
from tests.support.pyyaml import safe_load
from tests.support.workloads import LEVELS, Object, deployment, template, workload

ZONE, RACK = "topology.kubernetes.io/zone", "topology.kubernetes.io/rack"
OWNED = {"kubectl-tas/podgroup": "owned"}
GANG = {"kubectl-tas/gang": "g1"}


def job(labels: dict[str, str] | None = None) -> Object:
    return workload("batch/v1", "Job", "w", labels, {"parallelism": 2, "template": template()})


def jax_job(labels: dict[str, str] | None = None) -> Object:
    types = {"Worker": {"replicas": 2, "template": template()}}
    return workload("kubeflow.org/v1", "JAXJob", "w", labels, {"jaxReplicaSpecs": types})


def placed(item: Object, root: dict[str, str], own: dict[str, str]) -> Object:
    """The workload with levels as a whole, and others on its only template; a topology where one is named."""
    spec = item["spec"].get("jaxReplicaSpecs", {}).get("Worker") or item["spec"]
    for metadata, asked in ((item["metadata"], root), (spec["template"].setdefault("metadata", {}), own)):
        names = {what if what == "topology" else f"topology-{what}-placement": level for what, level in asked.items()}
        metadata["annotations"] = {f"kai.scheduler/{name}": level for name, level in names.items()}
    return item


def repository_of(root: Path, item: Object) -> Path:
    return write(root, {"pools/p.yaml": pool(spec=LEVELS), "workflows/w.yaml": yaml.safe_dump(item)})


def constraint(root: Path, item: Object) -> Object:
    """The constraint of the PodGroup, or of its only SubGroup, in what is rendered or previewed."""
    result = kubectl_tas("render", "-C", repository_of(root, item))
    assert result.code == 0, result.err
    (path,) = (root / "manifests").glob("*/podgroup-*.yaml")
    spec = safe_load(path.read_text())["spec"]
    (found,) = [
        part["topologyConstraint"] for part in (spec, *spec.get("subGroups", [])) if "topologyConstraint" in part
    ]
    return {key: level for key, level in found.items() if key != "topology"}


@pytest.mark.parametrize(
    "item",
    [deployment("w", OWNED), deployment("w", GANG), job(), job(OWNED), jax_job(), jax_job(OWNED), jax_job(GANG)],
    ids=["deployment", "member", "job", "owned-job", "jaxjob", "owned-jaxjob", "jaxjob-member"],
)
def test_a_required_level_is_not_lost(repository: Path, item: Object) -> None:
    found = constraint(repository, placed(item, {"required": "zone"}, {"preferred": "rack"}))
    assert found == {"requiredTopologyLevel": ZONE, "preferredTopologyLevel": RACK}
    assert "required in one zone" in " ".join(kubectl_tas("workflow", "explain", "w", "-C", repository).out.split())


@pytest.mark.parametrize(
    ("root", "own", "expected"),
    [
        ({"preferred": "zone"}, {"required": "rack"}, {"requiredTopologyLevel": RACK}),
        ({"preferred": "rack"}, {"required": "zone"}, {"requiredTopologyLevel": ZONE, "preferredTopologyLevel": RACK}),
        ({"required": "rack"}, {"required": "zone"}, {"requiredTopologyLevel": RACK}),
        ({"required": "zone"}, {"required": "rack"}, {"requiredTopologyLevel": RACK}),
        ({"preferred": "rack"}, {"preferred": "zone"}, {"preferredTopologyLevel": RACK}),
    ],
)
def test_the_finer_level_says_both(
    repository: Path, root: dict[str, str], own: dict[str, str], expected: dict[str, str]
) -> None:
    assert constraint(repository, placed(deployment("w", OWNED), root, own)) == expected


@pytest.mark.parametrize("item", [deployment("w", OWNED), deployment("w", GANG), job(), jax_job(OWNED)])
def test_levels_the_wrong_way_round(repository: Path, item: Object) -> None:
    repository_of(repository, placed(item, {"required": "rack"}, {"preferred": "zone"}))
    result = kubectl_tas("validate", "-o", "json", "-C", repository)
    (found,) = json.loads(result.out)["diagnostics"]
    assert (result.code, found["rule"]) == (1, "placement-order")
    assert found["message"] == 'the preferred level "zone" is coarser than the required "rack": the pods never run'


@pytest.mark.parametrize("levels", [{"required": "zone"}, {"preferred": "zone"}])
def test_a_topology_of_its_own_loses_those_of_the_workload(repository: Path, levels: dict[str, str]) -> None:
    own = {"topology": "other", "required": "host"}
    item = placed(deployment("w", OWNED), levels, own)
    assert constraint(repository, item) == {"requiredTopologyLevel": "host"}
    diagnostics = json.loads(kubectl_tas("validate", "-o", "json", "-C", repository).out)["diagnostics"]
    messages = {entry["rule"]: entry["message"] for entry in diagnostics}
    assert messages["placement-overridden"].startswith('nothing keeps the pods within one "zone"')


CAMPUS = {"topology": "campus"}
"""A Topology that the repository does not have: its levels are taken as they are written."""


class TestUndeclaredTopology:
    @pytest.mark.parametrize("item", [job(OWNED), deployment("w", OWNED), deployment("w", GANG), job(), jax_job()])
    @pytest.mark.parametrize(
        ("root", "own"),
        [
            ({**CAMPUS, "required": "building", "preferred": "room"}, {}),
            ({**CAMPUS, "required": "building"}, {"preferred": "room"}),
            ({}, {**CAMPUS, "required": "building", "preferred": "room"}),
            ({**CAMPUS, "required": "building"}, {"required": "building", "preferred": "room"}),
        ],
        ids=["workload", "both", "template", "twice"],
    )
    def test_required_and_preferred_levels_both_stand(
        self, repository: Path, item: Object, root: dict[str, str], own: dict[str, str]
    ) -> None:
        found = constraint(repository, placed(copy.deepcopy(item), root, own))
        assert found == {"requiredTopologyLevel": "building", "preferredTopologyLevel": "room"}
        assert rules(repository) == {"workload-topology"}

    def test_which_of_two_levels_is_finer_is_not_known(self, repository: Path) -> None:
        item = placed(deployment("w", OWNED), {**CAMPUS, "required": "building"}, {"required": "room"})
        assert constraint(repository, item) == {"requiredTopologyLevel": "room"}
        assert rules(repository) == {"workload-topology", "placement-overridden"}


def rules(root: Path) -> set[str]:
    """The rules that ``validate`` finds broken."""
    return {item["rule"] for item in json.loads(kubectl_tas("validate", "-o", "json", "-C", root).out)["diagnostics"]}
