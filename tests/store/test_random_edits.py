"""Tests that commands print and write the same with and without what was kept, through random sequences of edits.

The seed changes each month, so that other repositories are tried; a failure names the seed that repeats it.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_tas.work import run as running
from tests.support.cli import Result, kubectl_tas
from tests.support.history import commit
from tests.work.repositories import Files, changed, repository

MONTH = int(time.strftime("%Y%m", time.gmtime()))
REPOSITORIES = 2
EDITS = 10
"""Edits of a repository; after each, three commands read it."""
READERS = (
    ["validate"],
    ["validate", "--base", "HEAD"],
    ["render", "--to", "-"],
    ["diff", "HEAD"],
    ["pool", "list"],
    ["workflow", "list"],
    ["pool", "share"],
)
"""Commands that read the repository. Those with ``HEAD`` compare it with the commit before the edits."""


def edits(chance: random.Random) -> Iterator[list[str]]:
    """Yields command lines that may change the repository, or be refused."""
    while True:
        pool, subpool = f"p{chance.randint(0, 3)}", f"s{chance.randint(0, 2)}"
        quota = ["--quota", str(chance.randint(0, 9))]
        yield chance.choice(
            [
                ["subpool", "create", pool, subpool, *quota],
                ["subpool", "update", pool, subpool, *quota],
                ["subpool", "retire", pool, subpool, "--used", chance.choice(["0", "1"])],
                ["subpool", "recreate", pool, subpool],
                ["subpool", "drain", "--used", "0"],
                ["pool", "rename", pool, f"p{chance.randint(0, 5)}"],
                ["render"],
            ]
        )


def told(root: Path, command: list[str], store: Path) -> tuple[Result, Files]:
    """Returns what a command prints with what ``store`` keeps of earlier runs, and all files after it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("KUBECTL_TAS_CACHE", str(store))
        return kubectl_tas(*command, cwd=root), files_of(root)


def files_of(root: Path) -> Files:
    paths = [path for path in root.rglob("*") if path.is_file()]
    contents = {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}
    return {path: content for path, content in sorted(contents.items()) if not path.startswith(".git/")}


@pytest.mark.sweep
@pytest.mark.parametrize("number", range(REPOSITORIES))
def test_all_commands_tell_the_same(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "LEAST_KEPT", 0)
    seed = MONTH * 1000 + number
    chance = random.Random(seed)
    kept, anew = tmp_path / "kept/r", tmp_path / "anew/r"
    for path, content in repository(seed).items():
        (kept / path).parent.mkdir(parents=True, exist_ok=True)
        (kept / path).write_bytes(content)
    commit(kept)
    shutil.copytree(kept, anew)
    commands = edits(chance)
    for step in range(EDITS):
        command = next(commands) if chance.random() < 0.5 else None
        if command is None:
            files = {path: content for path, content in files_of(kept).items() if not path.startswith("manifests/")}
            edited = changed(chance, files)
            for root in (kept, anew):
                for path in files.keys() - edited.keys():
                    (root / path).unlink()
                for path, content in edited.items():
                    (root / path).parent.mkdir(parents=True, exist_ok=True)
                    (root / path).write_bytes(content)
        for index, line in enumerate([*([command] if command else ()), *chance.sample(READERS, 3)]):
            with_store = told(kept, line, tmp_path / "store")
            assert with_store == told(anew, line, tmp_path / f"empty-{step}-{index}"), (
                f"seed {seed}, step {step}: {line}"
            )
