"""Tests integrations/kustomize with the real kustomize."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, kubectl_tas
from tests.support.golden import ROOT
from tests.support.kustomize import kustomize
from tests.support.process import call
from tests.support.pyyaml import safe_load, safe_load_all

FOLDER = ROOT / "integrations/kustomize"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the examples."""
    shutil.copytree(FOLDER, tmp_path / "integrations/kustomize")
    return tmp_path / "integrations/kustomize"


def build(folder: Path) -> Result:
    return call(kustomize(), "build", "--enable-alpha-plugins", "--enable-exec", folder)


def objects(stream: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {(item["kind"], item["metadata"]["name"]): item for item in safe_load_all(stream)}


def test_generator() -> None:
    """Every object comes out as it is rendered."""
    result = build(FOLDER / "repository")
    assert (result.code, result.err) == (0, "")
    stream = kubectl_tas("render", "-C", FOLDER / "repository/gpus", "--to", "-").out
    assert objects(result.out) == objects(stream)


def test_transformer() -> None:
    result = build(FOLDER / "items")
    assert (result.code, result.err) == (0, "")
    found = objects(result.out)
    assert found["ConfigMap", "settings"]["data"] == {"epochs": "90"}
    assert ("Pool", "team") not in found
    job = found["Job", "train"]["metadata"]
    assert job["labels"]["kai.scheduler/queue"] == "osmo-pool-default-team--shared"
    assert job["annotations"]["kai.scheduler/topology-required-placement"] == "nvidia.com/rack"
    assert not [item for item in found.values() for key in item["metadata"].get("annotations", {}) if "config." in key]


def test_validator(copied: Path) -> None:
    """Items pass unchanged, and an error of the repository stops the build."""
    quota = copied / "items/pool.yaml"
    (copied / "items/kustomization.yaml").write_text(
        "resources: [pool.yaml, train.yaml, settings.yaml]\ntransformers: [render.yaml]\n"
    )
    function = copied / "items/render.yaml"
    function.write_text(function.read_text().replace("kind: Render", "kind: Validate"))
    result = build(copied / "items")
    assert (result.code, result.err) == (0, "")
    assert set(objects(result.out)) == {("Pool", "team"), ("Job", "train"), ("ConfigMap", "settings")}
    quota.write_text(quota.read_text().replace("guarantee: 64", "guarantee: 4"))
    result = build(copied / "items")
    assert (result.code, result.out) == (1, "")
    assert "[over-quota]" in result.err


def test_errors_stop_the_build(copied: Path) -> None:
    pool = copied / "repository/gpus/pools/team.yaml"
    pool.write_text(pool.read_text().replace("apiVersion: tas/v1alpha1", "apiVersion: tas/v1"))
    result = build(copied / "repository")
    assert (result.code, result.out) == (1, "")
    assert "pools/team.yaml:" in result.err


def test_every_file_is_one_of_these() -> None:
    """What stands here is run by the tests above."""
    names = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    run = {"kustomization.yaml", "render.yaml", "pool.yaml", "team.yaml", "train.yaml", "settings.yaml"}
    assert {Path(name).name for name in names} == {*run, "README.md"}
    for name in names - {"README.md"}:
        assert isinstance(safe_load((FOLDER / name).read_text()), dict)
