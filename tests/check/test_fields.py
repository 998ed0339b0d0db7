"""Workloads are read as strictly as an API server reads them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from kubectl_tas import kubernetes
from kubectl_tas.check.combinations import COMBINATIONS
from kubectl_tas.kubernetes import Shapes
from kubectl_tas.model.operators import TYPES
from kubectl_tas.model.workload_kinds import WORKLOADS, kind_of
from tests.slips.repository import FILES
from tests.support.cli import kubectl_tas, write
from tests.support.golden import GOLDEN
from tests.support.rendered import load
from tests.support.workloads import Object, accepted, deployment, named, problems, pytorch_job

KINDS = [model.__name__ for model in WORKLOADS]


def document(kind: str) -> Object:
    """A workload without problems, of the pool team."""
    found: Object = load(GOLDEN / f"documents/{kind.lower()}.yaml")
    spec = named(accepted(kind, found["spec"]))
    metadata = {"name": "x", "labels": {"kubectl-tas/pool": "team"}}
    return {**found, "metadata": metadata, "spec": spec}


FREE = ("labels", "annotations", "limits", "requests", "matchLabels", "clusterSelector")
"""Mappings with any keys."""


def mappings(data: Any, path: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Every mapping of which the fields are known, with its place."""
    found = []
    if isinstance(data, dict):
        if not path.endswith((*FREE, "ReplicaSpecs")):
            found.append((path, data))
        for key, value in data.items():
            found += mappings(value, f"{path}.{key}")
    elif isinstance(data, list):
        found += [item for index, part in enumerate(data) for item in mappings(part, f"{path}[{index}]")]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_slip_at_any_depth_of_any_kind(repository: Path, kind: str) -> None:
    whole = document(kind)
    assert (
        problems(repository, whole)
        .keys()
        .isdisjoint({"unknown-field", "operator-field", "wrong-type", "missing-field"})
    )
    for place, _ in mappings(whole):
        slipped = copy.deepcopy(whole)
        dict(mappings(slipped))[place]["zzz"] = 1
        where = f" in {place[1:]}" if place else ""
        found = problems(repository, slipped)
        assert found.get("unknown-field", found.get("operator-field")) == f'unknown field "zzz"{where}'


def test_an_empty_value_is_no_value(repository: Path) -> None:
    item = deployment("d")
    item["spec"]["paused"] = None
    item["spec"]["template"]["spec"]["hostname"] = None
    assert "wrong-type" not in problems(repository, item)


def test_a_field_that_lost_its_indentation(repository: Path) -> None:
    item = pytorch_job("train")
    container = item["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    container |= container.pop("resources")
    assert problems(repository, item)["unknown-field"].startswith('unknown field "limits" in spec.pytorchReplicaSpecs')


@pytest.mark.parametrize(
    ("release", "known"), [("1.33", 33), ("v1.30.4", 30), ("1.2", 25), ("1.999", None), (None, None)]
)
def test_the_nearest_release(release: str | None, known: int | None) -> None:
    assert kubernetes.nearest(release) == (known or kubernetes.releases()[-1])


def test_every_type_of_operators_is_known() -> None:
    newest = kubernetes.definitions(kubernetes.releases()[-1])
    known = {*TYPES, *(name.rpartition(".")[2] for name in newest), "any", "string", "integer", "number", "boolean"}
    assert {text.lstrip("[]{}") for fields in TYPES.values() for text in fields.values()} <= known


def test_every_row_of_the_tables_is_a_field_of_some_release() -> None:
    """A row of a type or of a field that nobody has would check nothing."""
    releases = [Shapes(kubernetes.definitions(release), TYPES) for release in kubernetes.releases()]
    for name, fields in kubernetes.BOUNDS.items():
        known = {field for shapes in releases for field in shapes.named(name).fields or ()}
        assert fields.keys() <= known, name
    for name in COMBINATIONS:
        assert any(shapes.named(name).fields for shapes in releases), name


def test_sets_of_grove_have_the_roles_that_its_crd_demands(tmp_path: Path) -> None:
    name = "workflows/podcliqueset.yaml"
    text = FILES[name].replace("        roleName: main\n", "")
    assert text != FILES[name]
    result = kubectl_tas("render", "--to", "-", "-C", write(tmp_path, {**FILES, name: text}))
    assert "        roleName: main\n" in result.out


@pytest.mark.parametrize("release", kubernetes.releases())
def test_every_release_has_the_pods_of_all_kinds(release: int) -> None:
    shapes = Shapes(kubernetes.definitions(release), TYPES)
    for kind in (*map(kind_of, WORKLOADS), "PodSpec"):
        assert shapes.named(kind).fields
    assert shapes.named("TrainJobSpec").fields


def test_no_check_without_workloads_reads_the_schemas(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_release: int) -> None:
        raise AssertionError("read")

    monkeypatch.setattr(kubernetes, "definitions", refuse)
    assert problems(repository) == {}
