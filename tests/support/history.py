"""Makes repositories with a past: an earlier state in a commit, and the current files."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.support.cli import Result, kubectl_tas
from tests.support.golden import laid_out

_AS = ("-c", "user.name=tester", "-c", "user.email=tester@example.com", "-c", "commit.gpgsign=false")


def git(root: Path, *arguments: str) -> str:
    """Runs git in the folder ``root`` and returns its output."""
    done = subprocess.run(["git", *_AS, *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(root: Path, message: str = "state") -> None:
    """Commits all files in ``root``, and first makes it a git repository if necessary."""
    if not (root / ".git").exists():
        git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", message)


def validate_case(case: Path, folder: Path, *more: str) -> Result:
    """Runs ``validate`` on a case, with ``more`` arguments. A ``base`` of the case is committed as the earlier state. A
    ``cluster.json`` of the case is the state of the cluster.
    """
    arguments: list[str | Path] = [*more]
    case = laid_out(case)
    root = case / "input"
    if (case / "base").is_dir():
        shutil.copytree(case / "base", folder / "repository")
        commit(folder / "repository")
        for item in (folder / "repository").iterdir():
            if item.name != ".git":
                shutil.rmtree(item) if item.is_dir() else item.unlink()
        root = Path(shutil.copytree(root, folder / "repository", dirs_exist_ok=True))
        arguments += ["--base", "HEAD"]
    if (case / "cluster.json").is_file():
        arguments += ["--cluster-state", case / "cluster.json"]
    return kubectl_tas("validate", "-C", root, *arguments)
