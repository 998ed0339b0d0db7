"""Runs the tool without its start: a process that has imported all of it forks another process for each command.

It is for tests that call the tool often, as other programs do. Tests of the start run the real tool: its imports
(``test_startup``), the installed scripts (``test_wheel``, ``support/process``), signals and kills.
"""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import runpy
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from ast import literal_eval
from functools import cache
from pathlib import Path

from tests.support.golden import ROOT

RELAY = Path(__file__).with_name("relay.py")


@cache
def tool() -> tuple[str, ...]:
    """Returns the words that run the tool like ``python -m kubectl_tas``; its arguments follow."""
    if not hasattr(os, "pidfd_open"):  # no Linux
        return sys.executable, "-m", "kubectl_tas"
    place = f"{tempfile.mkdtemp()}/socket"
    watched, _ends_with_us = os.pipe()
    subprocess.run([sys.executable, "-m", "tests.support.warm", place], cwd=ROOT, stdin=watched, check=True)
    os.close(watched)
    return sys.executable, "-IS", str(RELAY), place


def script() -> str:
    """Returns a line of shell that replaces the shell by the tool, with the shell's arguments."""
    return f'exec {shlex.join(tool())} "$@"'


def _serve(place: str) -> None:
    """Forks a process for each command, until the other end of standard input is closed."""
    for found in pkgutil.walk_packages([str(ROOT / "kubectl_tas")], "kubectl_tas."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that wait for commands
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen(64)
        if os.fork():
            os._exit(0)  # nobody's child, and ready
        while listening in select.select([0, listening], [], [])[0]:
            link, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _command(link)
            link.close()
    shutil.rmtree(Path(place).parent)


def _command(link: socket.socket) -> None:
    """Runs one command for a relay. The command ends with the relay."""
    size, streams, *_ = socket.recv_fds(link, 16, 3)
    told = b""
    while len(told) < int(size):
        told += link.recv(1 << 16)
    child = os.fork()
    if child == 0:
        link.close()
        _run(streams, *literal_eval(told.decode("utf-8", "surrogateescape")))
    for stream in streams:
        os.close(stream)
    link.sendall(b"%d" % child)
    ended = os.pidfd_open(child)
    ready, *_ = select.select([ended, link], [], [])
    if ended not in ready:
        os.kill(child, signal.SIGKILL)
    link.sendall(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)


def _run(streams: list[int], arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path[:0] = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.argv[1:] = arguments
    try:
        runpy.run_module("kubectl_tas", run_name="__main__", alter_sys=True)  # which ends the process
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


if __name__ == "__main__":
    _serve(sys.argv[1])
