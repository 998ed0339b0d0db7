"""Tests the lock files: exact versions with hashes of all packages, which satisfy ``pyproject.toml``."""

from __future__ import annotations

import hashlib
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kubectl_tas.edit.scaffold import Checkout, Scaffold
from tests.support.golden import ROOT
from tests.support.process import call
from tests.support.pyyaml import safe_load
from tools.lock import locks

LOCKS = locks()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LINE = re.compile(r"([a-z0-9-]+)==(\S+)((?: ;[^\\]+)?) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)")
URL = "https://files.example.com/kubectl_tas-0.1.0-py3-none-any.whl"


def locked(path: str) -> dict[str, list[str]]:
    """The versions of a lock by package. Nothing else is in it."""
    text = (ROOT / path).read_text()
    assert LINE.sub("", text) == ""
    found: dict[str, list[str]] = {}
    for name, version, *_ in LINE.findall(text):
        found.setdefault(name, []).append(version)
    return found


def needed(requirements: Iterable[Requirement], known: Mapping[str, list[str]]) -> Iterator[Requirement]:
    """These requirements and what they need in turn, as far as what is installed here is as it is locked: a release
    that came out since then may need other things.
    """
    waiting, seen = list(requirements), set()
    while waiting:
        item = waiting.pop()
        if str(item) in seen or (item.marker and not item.marker.evaluate({"extra": ""})):
            continue
        seen.add(str(item))
        yield item
        try:
            installed = distribution(item.name)
        except PackageNotFoundError:
            continue
        if installed.version not in known.get(canonicalize_name(item.name), ()):
            continue
        for more in map(Requirement, installed.requires or ()):
            if more.marker is None or any(more.marker.evaluate({"extra": name}) for name in ("", *item.extras)):
                more.marker = None
                waiting.append(more)


@pytest.mark.parametrize("path", LOCKS)
def test_all_that_is_needed_is_locked_within_its_bounds(path: str) -> None:
    known = locked(path)
    asked = list(needed(map(Requirement, LOCKS[path]), known))
    assert len(asked) >= len(LOCKS[path])
    for required in asked:
        versions = known.get(canonicalize_name(required.name), [])
        assert versions, f"run python -m tools.lock: {path} has no {required}"
        assert all(required.specifier.contains(version) for version in versions), (
            f"run python -m tools.lock: {required}"
        )


def test_what_a_dependency_needs_is_asked_for() -> None:
    known = {"jsonschema": [distribution("jsonschema").version]}
    assert "rpds-py" in {item.name for item in needed([Requirement("jsonschema")], known)}


def test_a_release_that_is_newer_than_the_lock_needs_what_it_needs() -> None:
    assert [item.name for item in needed([Requirement("jsonschema")], {"jsonschema": ["4.21.0"]})] == ["jsonschema"]


def test_every_dependency_has_a_lower_and_an_upper_bound() -> None:
    for line in PROJECT["dependencies"]:
        assert re.fullmatch(r"[\w.]+>=[\d.]+,<[\d.]+", line), line


def scaffold(source: str) -> str:
    files = Scaffold("github", "none", source, (), Checkout(Path("/"), "https://git.example.com/a.git", "main")).files(
        Path("/nothing")
    )
    return files["nothing/requirements-tas.txt"].decode()


def test_init_writes_the_hashes_of_all_that_an_archive_installs() -> None:
    text = scaffold(f"kubectl-tas @ {URL}#sha256={'0' * 64}")
    assert (ROOT / "templates/init/requirements.lock").read_text() in text
    assert "--hash=" not in scaffold("kubectl-tas @ git+https://git.example.com/a.git@" + "0" * 40)


@pytest.mark.sweep
def test_pip_installs_what_init_writes(tmp_path: Path) -> None:
    built = call(
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--wheel",
        "--outdir",
        tmp_path,
        ROOT,
        cwd=tmp_path,
        PYTHONPATH="",
    )
    assert built.code == 0, built.err
    (wheel,) = tmp_path.glob("*.whl")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    text = scaffold(f"kubectl-tas @ {URL}#sha256={digest}").replace(URL, wheel.as_uri())
    (tmp_path / "requirements.txt").write_text(text)
    words = ("-m", "pip", "install", "--dry-run", "--quiet", "--require-hashes", "--target", tmp_path / "x", "-r")
    result = call(sys.executable, *words, tmp_path / "requirements.txt", cwd=tmp_path, PYTHONPATH="")
    assert result.code == 0, result.err
    (tmp_path / "requirements.txt").write_text(text.replace(digest, "0" * 64))
    result = call(sys.executable, *words, tmp_path / "requirements.txt", cwd=tmp_path, PYTHONPATH="")
    assert result.code != 0
    assert "HASHES" in result.err


def test_the_release_workflow_runs_by_commits_and_locks_alone() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text()
    jobs = safe_load(text)["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"]) for step in steps if "uses" in step)
    assert "secrets." not in text
    assert safe_load(text)["permissions"] == {}
    assert {name: job.get("needs") for name, job in jobs.items()} == {
        "test": None,
        "build": "test",
        "sign": "build",
        "publish": "sign",
    }
    assert [name for name, job in jobs.items() if job["permissions"].get("id-token")] == ["sign", "publish"]
    installed = {
        name: re.findall(r"pip install (.*)", step["run"])
        for name, job in jobs.items()
        for step in job["steps"]
        if "pip install" in step.get("run", "")
    }
    fixed = "--quiet --require-hashes --only-binary :all: -r .ci"
    assert installed == {"build": [f"{fixed}/release.txt"], "sign": [f"{fixed}/sign.txt"]}, "each job its own packages"
