"""Runs each command line in a forked process. There the tool is imported and warm, so only the command is measured."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kubectl_tas.cli.main import run
from tests.support.golden import EXAMPLES, ROOT

WARM = (["validate"], ["render", "--to", "-"], ["pool", "list"], ["workflow", "list"])
"""Commands that together import nearly all modules."""
SECONDS = 60
"""Wall clock time after which a command is killed."""


@dataclass(frozen=True)
class Measured:
    code: int
    """Exit code; negative if a signal ended the command."""
    out: str
    err: str
    seconds: float
    """Processor time of the command."""
    mebibytes: int
    """Peak memory."""


class Forks:
    """A process that forks others."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def run(self, *arguments: str) -> Measured:
        """Runs ``kubectl tas ARGUMENTS``."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(arguments) + "\n")
        self.process.stdin.flush()
        return Measured(**json.loads(self.process.stdout.readline()))


@contextmanager
def forks() -> Iterator[Forks]:
    """Starts a process that forks others until the block ends."""
    command = [sys.executable, "-m", "tests.support.forked"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Forks(process)


def _forked(arguments: list[str]) -> Measured:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            signal.alarm(SECONDS)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            code = run(arguments, "kubectl tas")
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        _, status, usage = os.wait4(child, 0)
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode())
    seconds = usage.ru_utime + usage.ru_stime
    return Measured(os.waitstatus_to_exitcode(status), *said, seconds, usage.ru_maxrss // 1024)


def _serve() -> None:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for arguments in WARM:
            run([*arguments, "-C", str(EXAMPLES / "quickstart")], "kubectl tas")
    for line in sys.stdin:
        sys.stdout.write(json.dumps(vars(_forked(json.loads(line)))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
