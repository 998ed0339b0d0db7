"""The one place that starts other programs: git and kubectl."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kubectl_tas.errors import TasError


@dataclass(frozen=True, slots=True)
class Finished:
    """What a program left behind."""

    code: int
    out: bytes
    err: str


def run(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Runs a program to its end, without a shell; with our own environment where none is given.

    Raises TasError where it cannot be started.
    """
    try:
        done = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, check=False, env=environment)
    except OSError as error:
        hint = f"Install {command[0]}, or put it on the PATH."
        raise TasError(f"cannot run {command[0]}: {error.strerror}", hint=hint) from error
    return Finished(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip())
