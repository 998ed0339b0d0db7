"""Tests what is published beside the wheel: an image, a single-file program, a krew manifest; and repeatable builds."""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

from kubectl_tas import __version__
from tests.support.golden import ROOT
from tests.support.process import call
from tests.support.pyyaml import safe_load
from tools.freeze import freeze, packed
from tools.krew import manifest

IMAGES = ("docker/Dockerfile", "argocd/plugin/Dockerfile")


@pytest.mark.parametrize("name", IMAGES)
class TestImage:
    @pytest.fixture
    def steps(self, name: str) -> list[list[str]]:
        text = (ROOT / "integrations" / name).read_text().replace("\\\n", "")
        return [line.split() for line in text.splitlines() if line[:1].isupper()]

    def test_stands_on_a_release_of_python_or_on_the_digest_that_it_is_given(self, steps: list[list[str]]) -> None:
        assert steps[0][0] == "ARG"
        assert re.fullmatch(r"PYTHON=python:3\.\d+\.\d+-slim-\w+", steps[0][1])
        assert {step[1] for step in steps if step[0] == "FROM"} == {"${PYTHON}"}

    def test_is_not_root(self, steps: list[list[str]]) -> None:
        (user,) = (step[1] for step in steps if step[0] == "USER")
        assert user in ("65532:65532", "999")

    def test_has_what_the_wheel_is_built_from(self, steps: list[list[str]]) -> None:
        copied = {name for step in steps if step[0] == "COPY" and "--from" not in step[1] for name in step[1:-1]}
        assert not [name for name in copied if not (ROOT / name).exists()]
        sdist = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]
        assert {name.strip("/") for name in sdist["include"]} <= copied

    def test_installs_what_the_locks_name_and_nothing_else(self, steps: list[list[str]]) -> None:
        words = " ".join(word for step in steps if step[0] == "RUN" for word in [*step[1:], "&&"])
        asked = [part for part in words.split("&&") if re.search(r"pip (install|wheel)", part)]
        assert len(asked) == 4
        for part in asked:
            assert "--require-hashes" in part or "--no-deps" in part
            assert "--no-build-isolation" in part or "pip wheel" not in part


class TestKrew:
    @pytest.fixture
    def archives(self, tmp_path: Path) -> list[Path]:
        found = [tmp_path / f"kubectl-tas-{name}.tar.gz" for name in ("linux-amd64", "darwin-arm64")]
        for path in found:
            path.write_bytes(path.name.encode())
        return found

    def test_manifest(self, archives: list[Path]) -> None:
        text = manifest(archives, "https://files.example.com/v1/", "https://git.example.com/tas")
        data = safe_load(text)
        assert (data["kind"], data["metadata"]["name"]) == ("Plugin", "tas")
        assert data["spec"]["version"] == f"v{__version__}"
        assert len(data["spec"]["shortDescription"]) < 50, "krew lists it in a table"
        mac, linux = data["spec"]["platforms"]
        assert mac["selector"]["matchLabels"] == {"os": "darwin", "arch": "arm64"}
        assert linux["uri"] == "https://files.example.com/v1/kubectl-tas-linux-amd64.tar.gz"
        assert linux["sha256"] == hashlib.sha256(archives[0].read_bytes()).hexdigest()

    def test_archive_has_the_program_and_its_license(self, tmp_path: Path) -> None:
        (tmp_path / "kubectl-tas").write_bytes(b"program")
        content = packed([tmp_path / "kubectl-tas", ROOT / "LICENSE"])
        os.utime(tmp_path / "kubectl-tas", (0, 0))
        assert packed([tmp_path / "kubectl-tas", ROOT / "LICENSE"]) == content
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            modes = {about.name: about.mode for about in archive}
        assert modes == {"kubectl-tas": 0o755, "LICENSE": 0o644}


@pytest.mark.skipif("KUBECTL_TAS_FREEZE" not in os.environ, reason="takes a minute; set KUBECTL_TAS_FREEZE to run it")
def test_single_file(tmp_path: Path) -> None:
    archive = freeze(tmp_path)
    with tarfile.open(archive) as found:
        found.extractall(tmp_path / "krew", filter="data")
    program = tmp_path / "krew/kubectl-tas"
    alone = {"PATH": os.defpath, "PYTHONPATH": ""}
    assert call(program, "--version", **alone).out == f"kubectl-tas {__version__}\n"
    assert call(program, "init", "repository", cwd=tmp_path, **alone).code == 0
    call("git", "init", "--quiet", cwd=tmp_path / "repository")
    checked = call(program, "-C", "repository", "validate", "--strict", "--base", "HEAD", cwd=tmp_path, **alone)
    assert (checked.code, checked.out) == (0, "No problems found in 4 files.\n"), checked
    assert call(program, "-C", "repository", "render", cwd=tmp_path, **alone).code == 0
    assert call(program, "-C", "repository", "check", cwd=tmp_path, **alone).code == 0


@pytest.mark.sweep
def test_builds_repeat(tmp_path: Path) -> None:
    """Elsewhere, at another time and with other permissions, the same checkout gives the same bytes."""
    built = []
    for name in ("a", "another"):
        root = tmp_path / name
        root.mkdir()
        for part in ("kubectl_tas", "schemas", "templates"):
            shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
        for part in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
            shutil.copy(ROOT / part, root)
        for path in root.rglob("*.py") if name == "another" else ():
            os.utime(path, (1_000_000_000, 1_000_000_000))
            path.chmod(0o600)
        out = tmp_path / f"{name}-out"
        result = call(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, root, cwd=root, PYTHONPATH="")
        assert result.code == 0, result.out + result.err
        built.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in out.iterdir()})
    assert len(built[0]) == 2
    assert built[0] == built[1]
