"""Tests the published packages: built from this checkout, installed elsewhere, and run there."""

from __future__ import annotations

import json
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.cli import Result, kubectl_tas
from tests.support.golden import ROOT
from tests.support.process import call

pytestmark = pytest.mark.sweep


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    result = call(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder, PYTHONPATH="")
    assert result.code == 0, result.out + result.err
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """The wheel."""
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of a fresh virtual environment in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("installed")
    made = call(sys.executable, "-m", "venv", folder, PYTHONPATH="")
    assert made.code == 0, made.err
    pip = call(folder / "bin/pip", "install", "--quiet", wheel, cwd=folder, PYTHONPATH="")
    assert pip.code == 0, pip.err
    return folder / "bin"


def test_wheel_holds_what_it_needs_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    packed = {name for name in names if name.startswith("kubectl_tas/")}
    package = {str(path.relative_to(ROOT)) for path in files("kubectl_tas")}
    data = {f"kubectl_tas/{path.relative_to(ROOT)}" for path in resources()}
    assert packed == package | data
    (metadata,) = {name.partition("/")[0] for name in names - packed}
    assert metadata.endswith(".dist-info")
    assert f"{metadata}/licenses/LICENSE" in names


def test_sdist_holds_what_the_wheel_is_built_from(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {str(path.relative_to(ROOT)) for path in resources()} <= names
    assert {"pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "kubectl_tas/cli/main.py"} <= names
    assert not {name for name in names if name.startswith(("tests", "golden", "bench"))}


def files(folder: str) -> list[Path]:
    """All files below a folder of this checkout."""
    return [path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]


def resources() -> list[Path]:
    """The schemas and templates, the files of ``init`` among them."""
    found = [*files("schemas"), *files("templates")]
    assert ROOT / "templates/init/repository/tas.yaml" in found
    return found


def test_installed_wheel_works(scripts: Path, tmp_path: Path) -> None:
    def run(*arguments: str, script: str = "kubectl-tas") -> Result:
        result = call(scripts / script, *arguments, cwd=tmp_path, PYTHONPATH="")
        assert result.code == 0, result.err
        return result

    assert run("--version").out == kubectl_tas("--version").out
    assert "wrote tas.yaml\n" in run("init").out
    assert run("validate", "--strict").out == "No problems found in 4 files.\n"
    assert "wrote manifests/kustomization.yaml\n" in run("render").out
    assert run("check").out == ""
    assert run("render", "--to", "-").out == kubectl_tas("render", "-C", tmp_path, "--to", "-").out
    assert json.loads(run("schema", "pool").out)["title"] == "Pool"
    assert run("schema").out == kubectl_tas("schema").out
    assert run("rule", "yaml-tag").out == kubectl_tas("rule", "yaml-tag").out
    assert run("pool", "describe", "te", script="kubectl_complete-tas").out.startswith("team\tpool: ")


def test_installed_wheel_explains_bad_input(scripts: Path, tmp_path: Path) -> None:
    (tmp_path / "pools").mkdir()
    (tmp_path / "pools/team.yaml").write_text("apiVersion: tas/v1alpha1\nkind: Pool\nmetadata: {nam: team}\n")
    result = call(scripts / "kubectl-tas", "validate", cwd=tmp_path, PYTHONPATH="")
    assert result.code == 1
    assert result.out == kubectl_tas("validate", "-C", tmp_path).out
    assert 'Did you mean "name"?' in result.out
