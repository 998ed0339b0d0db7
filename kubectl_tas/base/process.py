"""Starts other programs, git and kubectl, and lets neither hang the tool nor fill its memory."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Thread
from typing import IO

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.folders import MEBIBYTE
from kubectl_tas.base.late import dataclass

_CHUNK = 64 * 1024
_GRACE = 1.0
"""Seconds for a program to end after its pipes closed, and for its pipes to close after its end."""
_OURS: set[subprocess.Popen[bytes]] = set()
"""The running commands of this tool."""
_LOOK = 0.05
"""Seconds between checks whether a program with open pipes has ended."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits beyond which a program is ended."""

    seconds: float = 300.0
    """The most seconds from start to end."""
    out: int = 512 * MEBIBYTE
    """The most bytes that the program may print to stdout."""
    err: int = 64 * 1024
    """Bytes of stderr that are kept; the rest is read and dropped."""
    is_ours: bool = False
    """Whether the program is this tool, which ends its own programs when interrupted."""


class LimitError(TasError):
    """A program exceeded a limit, and was ended."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The results of a program."""

    code: int
    out: bytes
    err: str


def run(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> Finished:
    """Runs a program to its end, without a shell; by default in the environment of this process.

    Raises LimitError if the program exceeds ``limits``, and TasError if it cannot be started; then nothing that it
    started continues to run. A process that still holds the program's pipes a second after its end is ended too. The
    answer is the output until then.
    """
    allowed = limits or Limits()
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            command, cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True
        )
    except OSError as error:
        hint = f"Install {command[0]}, or put it on the PATH."
        raise TasError(f"cannot run {command[0]}: {error.strerror}", hint=hint) from error
    except ValueError as error:  # a NUL character or half a surrogate pair, of which no argument can be made
        raise TasError(f"cannot run {shlex.join(command)!a}: {error}", hint="Correct the argument.") from error
    threads: tuple[Thread, ...] = ()
    if allowed.is_ours:
        _OURS.add(process)
    try:
        pipes = _serve(process, stdin, allowed)
        threads = pipes.threads
        return _finished(process, command, pipes, allowed)
    except BaseException:
        if allowed.is_ours:
            _interrupt(process)
        _kill(process)
        process.wait()
        for thread in threads:  # what has left the group may hold a pipe for longer: its thread closes it then
            thread.join(_GRACE)
        raise
    finally:
        _OURS.discard(process)


def end_ours() -> None:
    """Ends the commands of this tool that run in other threads and that nobody waits for any more."""
    for process in tuple(_OURS):
        _interrupt(process)
        _kill(process)


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """Asks a program to end, and waits a moment."""
    with contextlib.suppress(OSError, ValueError):  # it has ended; Windows knows no such signal
        process.send_signal(signal.SIGINT)
    end = time.monotonic() + _GRACE
    while time.monotonic() < end and not _has_ended(process):
        time.sleep(_LOOK)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The threads and pipes that serve a program, so that neither side waits for the other."""

    out: _Pipe
    err: _Pipe
    threads: tuple[Thread, ...]


def _serve(process: subprocess.Popen[bytes], stdin: bytes, limits: Limits) -> _Parts:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = _Pipe(process.stdout, limits.out, stop=lambda: _kill(process)), _Pipe(process.stderr, limits.err)
    threads = [Thread(target=pipe.read, daemon=True) for pipe in (out, err)]
    threads.append(Thread(target=_feed, args=(process.stdin, stdin), daemon=True))
    for thread in threads:
        thread.start()
    return _Parts(out, err, tuple(threads))


def _finished(process: subprocess.Popen[bytes], command: Sequence[str], pipes: _Parts, limits: Limits) -> Finished:
    """Waits for a program and returns its results. Raises LimitError. Asks for the exit code only after nothing holds
    the pipes. Until then, no other program can get the process ID, so the program can be ended by that ID.
    """
    end = time.monotonic() + limits.seconds
    is_closed = _await_pipes(process, pipes.threads, end)
    if pipes.out.is_full:
        size = limits.out / MEBIBYTE
        raise LimitError(f"{shlex.join(command)} printed more than {size:g} MiB", hint="Look at what it prints.")
    try:
        if not is_closed:
            if not _has_ended(process):
                raise subprocess.TimeoutExpired(command, limits.seconds)
            _kill(process)  # what it left behind: what that would print yet is no answer
        code = process.wait(max(_GRACE, end - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        message = f"{shlex.join(command)} did not answer within {limits.seconds:g} s"
        raise LimitError(message, hint="Run it by hand to see what it waits for.") from error
    return Finished(code, bytes(pipes.out.content), pipes.err.content.decode("utf-8", "replace").strip())


def _await_pipes(process: subprocess.Popen[bytes], threads: Sequence[Thread], end: float) -> bool:
    """Whether all pipes closed by ``end``, or within the grace period after the end of the program."""
    has_ended = False
    while waiting := [thread for thread in threads if thread.is_alive()]:
        now = time.monotonic()
        if not has_ended and _has_ended(process):
            has_ended, end = True, min(end, now + _GRACE)
        if now >= end:
            return False
        waiting[0].join(min(_LOOK, end - now))
    return True


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a program has ended. Keeps the process ID reserved, if the system can be asked without releasing it."""
    if hasattr(os, "waitid") and process.returncode is None:
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


class _Pipe:
    """Reads the output of a program, and keeps its first ``most`` bytes."""

    def __init__(self, stream: IO[bytes], most: int, stop: Callable[[], None] | None = None) -> None:
        self.content = bytearray()
        self.is_full = False
        self._stream, self._most, self._stop = stream, most, stop

    def read(self) -> None:
        """Reads to the end and closes the pipe. Beyond ``most`` bytes, calls ``stop`` or drops the rest."""
        with self._stream:
            while chunk := os.read(self._stream.fileno(), _CHUNK):
                room = self._most - len(self.content)
                self.content += chunk[:room]
                self.is_full = self.is_full or len(chunk) > room
                if self.is_full and self._stop is not None:
                    self._stop()
                    return


def _feed(stream: IO[bytes], content: bytes) -> None:
    with contextlib.suppress(OSError):  # a program need not read what it is given
        stream.write(content)
    with contextlib.suppress(OSError):
        stream.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a program and all that it started, unless its process ID was released and may belong to another."""
    if process.returncode is not None:
        return
    with contextlib.suppress(OSError):  # nothing of it is left
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:  # pragma: no cover - Windows has no groups of processes
            process.kill()
