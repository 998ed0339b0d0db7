"""The one place that starts other programs: git and kubectl."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Mapping, Sequence
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
    without: Collection[str] = (),
    variables: Mapping[str, str] | None = None,
) -> Finished:
    """Runs a program to its end, without a shell. Of the environment it gets all but ``without``, and ``variables``.

    Raises TasError where it cannot be started.
    """
    environment = {name: value for name, value in os.environ.items() if name not in without} | dict(variables or {})
    try:
        done = subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, check=False, env=environment)
    except OSError as error:
        hint = f"Install {command[0]}, or put it on the PATH."
        raise TasError(f"cannot run {command[0]}: {error.strerror}", hint=hint) from error
    return Finished(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip())
