"""The one place that starts other programs: arguments in, exit code and output out; never through a shell."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kubectl_tas.errors import TasError


@dataclass(frozen=True, slots=True)
class Finished:
    """A program that has ended."""

    code: int
    out: bytes
    err: str

    @property
    def ok(self) -> bool:
        """Whether it ended with 0."""
        return self.code == 0

    @property
    def text(self) -> str:
        """What it printed, without the newline at the end."""
        return self.out.decode("utf-8", "replace").rstrip("\n")


def run(
    command: Sequence[str],
    *,
    stdin: bytes = b"",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Finished:
    """Runs ``command`` to its end; ``env`` is added to the environment. A failed program is not an error here.

    Raises TasError where the program cannot be started, or has not ended after ``timeout`` seconds.
    """
    try:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            check=False,
            cwd=cwd,
            env={**os.environ, **env} if env else None,
            timeout=timeout,
        )
    except FileNotFoundError as error:
        raise TasError(f"{command[0]} is not installed", hint=f"Install {command[0]}, or put it on PATH.") from error
    except subprocess.TimeoutExpired as error:
        raise TasError(f"{command[0]} did not answer within {timeout:g} seconds") from error
    except OSError as error:
        raise TasError(f"cannot run {command[0]}: {error.strerror}", hint="Check its permissions.") from error
    return Finished(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip())
