"""Runs the installed scripts, or any program, in a separate process."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.cli import Result
from tests.support.golden import ROOT

SCRIPTS = Path(sysconfig.get_path("scripts"))
"""The folder in which pip installs ``kubectl-tas`` and ``kubectl_complete-tas``."""


def environment(**extra: str) -> dict[str, str]:
    """Returns the environment of a shell that finds our scripts, which run this checkout's code."""
    unwanted = ("NO_COLOR", "KUBECTL_TAS_", "GIT_", "GITHUB_")
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(unwanted)}
    path = f"{SCRIPTS}{os.pathsep}{inherited.get('PATH', os.defpath)}"
    return {**inherited, "PATH": path, "PYTHONPATH": str(ROOT), **extra}


def call(program: str | Path, *arguments: str | Path, cwd: Path | None = None, **extra: str) -> Result:
    """Runs a program and returns its output and exit code. ``extra`` are further environment variables."""
    done = subprocess.run(
        [program, *arguments],
        cwd=cwd,
        env=environment(**extra),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=300,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


@contextmanager
def as_nobody() -> Iterator[None]:
    """Runs the block as a user who is not root, so that permissions have an effect."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
