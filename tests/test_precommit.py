"""Runs the hooks of ``.pre-commit-hooks.yaml`` with the real pre-commit, from a commit of this checkout."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.support.cli import Result, kubectl_tas, subpool, write
from tests.support.golden import ROOT
from tests.support.process import call

pytestmark = pytest.mark.sweep
_IDENTITY = ("-c", "user.name=tests", "-c", "user.email=tests@example.com", "-c", "commit.gpgsign=false")


def git(root: Path, *arguments: str) -> str:
    """Runs git in ``root``, and returns what it prints."""
    result = call("git", "-C", root, *_IDENTITY, *arguments)
    assert result.code == 0, result.err
    return result.out


def commit(root: Path) -> str:
    """Commits everything below ``root``, and returns the commit."""
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--no-verify", "--message", "x")
    return git(root, "rev-parse", "HEAD").strip()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository with one commit: what pip needs of this checkout, changes that are not committed included."""
    copy = tmp_path_factory.mktemp("project") / "kubectl-tas"
    git(copy.parent, "init", "--quiet", str(copy))
    for name in ("kubectl_tas", "schemas", "templates"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, copy)
    commit(copy)
    return copy


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps the environments that it makes."""
    return tmp_path_factory.mktemp("pre-commit")


@pytest.fixture
def hooked(repository: Path, project: Path, home: Path) -> Path:
    """What ``init`` writes, rendered and committed, with both hooks of the project."""
    assert kubectl_tas("init", repository).code == 0
    assert kubectl_tas("render", "-C", repository).code == 0
    revision = git(project, "rev-parse", "HEAD").strip()
    config = f"repos: [{{repo: '{project}', rev: {revision}, hooks: [{{id: tas-validate}}, {{id: tas-render}}]}}]\n"
    write(repository, {".pre-commit-config.yaml": config})
    git(repository, "init", "--quiet")
    commit(repository)
    return repository


def pre_commit(root: Path, home: Path, *arguments: str) -> Result:
    """What pre-commit prints and exits with."""
    home_variables = {"PRE_COMMIT_HOME": str(home), "PYTHONPATH": "", "PRE_COMMIT_COLOR": "never"}
    return call(sys.executable, "-m", "pre_commit", *arguments, cwd=root, **home_variables)


def run(root: Path, home: Path) -> Result:
    """What pre-commit says of the files that are staged."""
    git(root, "add", "--all")
    return pre_commit(root, home, "run")


def test_clean_repository_passes(hooked: Path, home: Path) -> None:
    result = run(hooked, home)
    assert result.code == 0, result.out + result.err
    assert outcomes(result) == {"tas-validate": "Passed", "tas-render": "Passed"}


def test_errors_fail_with_their_message(hooked: Path, home: Path) -> None:
    write(hooked, {"subpools/team--research.yaml": subpool("research", 65)})
    result = run(hooked, home)
    assert result.code == 1
    assert outcomes(result) == {"tas-validate": "Failed", "tas-render": "Failed"}
    assert "- exit code: 1\n" in result.out
    assert "subpools/team--research.yaml:7:10: error: " in result.out


def test_render_fails_until_what_it_wrote_is_staged(hooked: Path, home: Path) -> None:
    write(hooked, {"subpools/team--b.yaml": subpool("b", 8)})
    (hooked / "workflows/train.yaml").unlink()
    first = run(hooked, home)
    assert first.code == 1
    assert outcomes(first) == {"tas-validate": "Passed", "tas-render": "Failed"}
    assert "wrote manifests/queues/osmo-pool-ml-team--b.yaml\n" in first.out, "new files are listed"
    assert "wrote manifests/kustomization.yaml\n" in first.out
    assert "\nremoved manifests/workflows/train/" in first.out
    second = run(hooked, home)
    assert second.code == 0, second.out
    assert outcomes(second) == {"tas-validate": "Passed", "tas-render": "Passed"}


def test_render_fails_for_new_files_alone(hooked: Path, home: Path) -> None:
    """pre-commit itself sees only changes of files that git knows; the hook's own exit code tells of the others."""
    git(hooked, "rm", "-r", "--quiet", "manifests")
    commit(hooked)
    result = pre_commit(hooked, home, "run", "--all-files")
    assert result.code == 1
    assert outcomes(result) == {"tas-validate": "Passed", "tas-render": "Failed"}
    assert "files were modified by this hook" not in result.out
    assert "wrote manifests/kustomization.yaml\n" in result.out


def test_hooks_stop_a_commit(hooked: Path, home: Path) -> None:
    assert pre_commit(hooked, home, "install").code == 0
    write(hooked, {"subpools/team--research.yaml": subpool("research", 65)})
    git(hooked, "add", "--all")
    before = git(hooked, "rev-parse", "HEAD")
    committed = call("git", *_IDENTITY, "commit", "-m", "x", cwd=hooked, PRE_COMMIT_HOME=str(home), PYTHONPATH="")
    assert committed.code == 1
    assert "subpools/team--research.yaml:7:10: error: " in committed.err + committed.out
    assert git(hooked, "rev-parse", "HEAD") == before


def outcomes(result: Result) -> dict[str, str]:
    """Passed or Failed, by hook."""
    names = {"validate pools, topologies and workflows": "tas-validate", "render KAI manifests": "tas-render"}
    rows = (line.rpartition(".") for line in result.out.splitlines())
    return {names[name.rstrip(".")]: outcome for name, _, outcome in rows if name.rstrip(".") in names}
