"""Kills a command that edits files at each of its steps on disk in turn, and checks the files that are left.

    python -m tests.support.killed_edit REPOSITORY GROUP COMMAND...

Prints the number of steps. Runs as a separate process because it forks.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path

from kubectl_tas.emit.disk import TEMPORARY
from tests.support.cli import kubectl_tas
from tests.support.killed import die_at
from tests.support.rendered import files_below

Content = dict[str, bytes]


def main(root: Path, command: list[str]) -> None:
    original = root.with_name("original")
    shutil.copytree(root, original)
    old = content(root)
    assert kubectl_tas(*command, "-C", root).code == 0
    new = content(root)
    assert old != new, "the command changes nothing"
    step = 0
    while True:
        shutil.rmtree(root)
        shutil.copytree(original, root)
        came_to_its_end = not killed_at(step, root, command)
        found = content(root)
        for name, text in found.items():
            assert text in (old.get(name), new.get(name)) or name.endswith(TEMPORARY), f"step {step}: {name}: {text!r}"
        assert old.keys() & new.keys() <= found.keys(), f"step {step}"
        if came_to_its_end:
            break
        if found != new:
            again = kubectl_tas(*command, "-C", root)
            assert again.code == 0, f"step {step}: {again}"
            assert content(root) == new, f"step {step}"
        step += 1
    print(step)  # noqa: T201


def content(root: Path) -> Content:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files_below(root)}


def killed_at(step: int, root: Path, command: list[str]) -> bool:
    """Runs the command in a child that dies before this step. Returns False if the child finished."""
    child = os.fork()
    if child == 0:
        die_at(step)
        os._exit(kubectl_tas(*command, "-C", root).code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    return status != 0


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
