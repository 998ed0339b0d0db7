"""Kills ``render`` at each of its steps on disk in turn, and checks the files that are left.

    python -m tests.support.killed BEFORE AFTER

BEFORE is a rendered repository; AFTER holds the sources for the second rendering. Prints the number of steps. Runs as a
separate process because it forks.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

from kubectl_tas.emit.disk import TEMPORARY
from tests.support.cli import kubectl_tas
from tests.support.pyyaml import safe_load

STEPS = frozenset({"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"})


def main(before: Path, after: Path) -> None:
    work = after.parent / "work"
    old = manifests(before)
    shutil.copytree(after, work)
    shutil.copytree(before / "manifests", work / "manifests")
    assert kubectl_tas("render", "-C", work).code == 0
    new = manifests(work)
    assert old.keys() - new.keys(), "nothing is removed"
    assert new.keys() - old.keys(), "nothing is added"
    step = 0
    while killed_at(step, work, before):
        found = manifests(work)
        for name, text in found.items():
            assert text in (old.get(name), new.get(name)) or name.endswith(TEMPORARY), f"step {step}: {name}: {text!r}"
        kustomizations = [name for name in found if Path(name).name == "kustomization.yaml"]
        listed = {str(Path(name).parent / path) for name in kustomizations for path in resources(found[name])}
        assert listed <= found.keys(), f"step {step}: {listed - found.keys()} is listed but not there"
        assert kubectl_tas("render", "-C", work).code == 0
        assert manifests(work) == new, f"step {step}"
        step += 1
    print(step)  # noqa: T201


def resources(kustomization: str) -> list[str]:
    found: list[str] = safe_load(kustomization)["resources"]
    return found


def manifests(root: Path) -> dict[str, str]:
    folder = root / "manifests"
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def killed_at(step: int, work: Path, before: Path) -> bool:
    """Renders in a child that dies before this step. Returns False if the child finished."""
    shutil.rmtree(work / "manifests")
    shutil.copytree(before / "manifests", work / "manifests")
    child = os.fork()
    if child == 0:
        die_at(step)
        os._exit(kubectl_tas("render", "-C", work).code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    return status != 0


def die_at(step: int) -> None:
    """Counts changes of this process on disk, and kills it just before number ``step``.
    The command opens files relative to descriptors of their folders, so only bare names count.
    """
    done = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal done
        if event not in STEPS or os.path.isabs(str(arguments[0])):  # noqa: PTH117
            return
        if event == "open" and not arguments[2] & os.O_CREAT:
            return
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)
        done += 1

    sys.addaudithook(watch)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
