"""Tests processes that render into one folder at once: each takes what the other is writing for a leftover."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.emit import disk
from kubectl_tas.emit.disk import MARK, TEMPORARY, Disk, Stamps
from kubectl_tas.emit.file_plan import apply_plan, plan
from kubectl_tas.emit.foreign import foreign
from kubectl_tas.model.config import ConfigSpec

FILES = {f"manifests/{folder}/{number}.yaml": f"{MARK}x\n" for folder in "abc" for number in range(4)}
STALE = ("manifests/c", "manifests/d", "manifests/e/f")


def remove_leftovers(folder: Path, count: list[int], most: int) -> None:
    """What another process does whose plan has the half-written files of ``folder``."""
    if count[0] < most:
        count[0] += 1
        for path in folder.glob(f".*{TEMPORARY}"):
            path.unlink()
        folder.rmdir()


@pytest.fixture
def disturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], list[int]]:
    """Removes leftovers and the empty folder before each of the first calls of a function of ``os``."""

    def disturb(name: str, most: int) -> list[int]:
        really, count = getattr(os, name), [0]

        def call(*arguments: object, **more: object) -> object:
            if name != "open" or str(arguments[0]).endswith(TEMPORARY):
                remove_leftovers(tmp_path / "manifests/a", count, most)
            return really(*arguments, **more)

        monkeypatch.setattr(disk.os, name, call)
        return count

    return disturb


@pytest.mark.parametrize("call", ["open", "replace"])
@pytest.mark.parametrize("most", [1, 3])
def test_a_file_is_written_again(
    tmp_path: Path, disturbed: Callable[[str, int], list[int]], call: str, most: int
) -> None:
    count = disturbed(call, most)
    with Disk(tmp_path) as root:
        root.replace("manifests/a/x.yaml", b"text")
    assert count == [most]
    assert [path.name for path in (tmp_path / "manifests/a").iterdir()] == ["x.yaml"]
    assert (tmp_path / "manifests/a/x.yaml").read_bytes() == b"text"


def test_a_folder_that_is_always_removed_is_an_error(
    tmp_path: Path, disturbed: Callable[[str, int], list[int]]
) -> None:
    disturbed("replace", 1000)
    with Disk(tmp_path) as root, pytest.raises(FileNotFoundError):
        root.replace("manifests/a/x.yaml", b"text")


@pytest.mark.parametrize("gone", ["a", "a/1.yaml", f"a/.{'0' * 16}{TEMPORARY}"])
def test_what_vanishes_after_it_was_listed_is_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    """Another process removes a stale file, a half-written one, or a folder, between the list and the look at it."""
    for path in (f"a/.{'0' * 16}{TEMPORARY}", "a/1.yaml", "b/1.yaml"):
        (tmp_path / "manifests" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "manifests" / path).write_text(f"{MARK}x\n")
    really = os.scandir

    class Listed:
        def __init__(self, folder: object) -> None:
            with really(folder) as entries:
                self.entries = list(entries)
            if {entry.name for entry in self.entries} & {gone.rpartition("/")[2]}:
                path = tmp_path / "manifests" / gone
                shutil.rmtree(path, ignore_errors=True)
                path.unlink(missing_ok=True)

        def __enter__(self) -> list[os.DirEntry[str]]:
            return self.entries

        def __exit__(self, *_: object) -> None:
            """Closes nothing."""

    monkeypatch.setattr(disk.os, "scandir", Listed)
    wanted = {"manifests/b/1.yaml": f"{MARK}x\n"}
    found = plan(wanted, tmp_path, "manifests", ("pools",), Stamps({}))
    assert [path for path in found.same if path in wanted] == ["manifests/b/1.yaml"]
    apply_plan(found, tmp_path)
    assert foreign(tmp_path, ConfigSpec()) == ()


def renders(root: Path, rounds: int) -> None:
    """Renders again and again, each time with stale files in folders that are there or not."""
    for number in range(rounds):
        try:
            for folder in STALE:
                with contextlib.suppress(OSError):  # another process makes or removes the folder
                    (root / folder).mkdir(parents=True, exist_ok=True)
                    (root / folder / f"{os.getpid()}.yaml").write_text(f"{MARK}x\n")
            files = {path: f"{text}number: {number}\n" for path, text in FILES.items()}
            apply_plan(plan(files, root, "manifests", ("pools",), Stamps({})), root)
            foreign(root, ConfigSpec())
        except TasError as error:
            (root / f"error-{os.getpid()}").write_text(error.message)
            raise


def test_processes_at_once(tmp_path: Path) -> None:
    """Each writes and removes files, so that leftovers, folders and stale files come and go."""
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=renders, args=(tmp_path, 30)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [path.read_text() for path in tmp_path.glob("error-*")] == []
    assert [process.exitcode for process in processes] == [0, 0, 0]
    renders(tmp_path, 1)
    left = {path.relative_to(tmp_path).as_posix() for path in (tmp_path / "manifests").rglob("*") if path.is_file()}
    assert left == set(FILES)
