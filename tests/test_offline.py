"""Tests that no command opens a network connection, and that commands start only git, which reads the repository, and
kubectl if the user names a cluster.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.agent import Ask, speak
from tests.support.editor import editor
from tests.support.golden import EXAMPLES, GOLDEN, ROOT
from tests.support.history import commit, git
from tests.support.process import call

WATCHED = """
import json, os, sys
def told(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request"):
        line = ["connected", repr(arguments)]
    elif event == "subprocess.Popen":
        line = ["started", *map(os.fsdecode, arguments[1])]
    elif event in ("os.system", "os.exec", "os.posix_spawn"):
        line = ["started", repr(arguments)]
    else:
        return
    log = os.open(os.environ["OFFLINE_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.write(log, json.dumps(line).encode() + b"\\n")
    os.close(log)
sys.addaudithook(told)
"""
"""Python imports it in each process of its own, those that the tool starts among them."""
LOCAL = {
    "cat-file",
    "config",
    "for-each-ref",
    "ls-files",
    "ls-tree",
    "merge-base",
    "remote",
    "rev-parse",
    "show-ref",
    "status",
    "symbolic-ref",
}
"""Commands of git that read a repository and reach no other."""
STATE, NODES = EXAMPLES / "company/clusters/serve-us.json", GOLDEN / "commands/fit/nodes.json"
COMMANDS = (
    "validate --strict",
    "validate --base HEAD~1",
    "render --to - --backend train-eu",
    "check",
    "diff --base HEAD~1",
    "report --to {scratch}/site --since HEAD~1",
    "pool list",
    "workflow list",
    "workflow explain stereo-distill",
    "workflow why stereo-distill --cluster-state train-eu={state} --cluster-state serve-us={state}",
    "admit stereo-distill",
    "fit stereo-distill --nodes {nodes}",
    "topology list",
    "subpool list",
    "subpool create robotics offline --quota 0",
    "import cluster --cluster-state {state} --to {scratch}/imported",
    "init {scratch}/new --owner @example/admins",
    "snapshot stereo-distill --nodes {nodes} --to {scratch}/snapshot",
    "migrate --check",
    "rule quota-exceeds-pool",
    "schema pool",
    "version",
    "--help",
)


class Watched:
    """A committed repository, and what its commands have started and connected to."""

    def __init__(self, folder: Path) -> None:
        self.root, self.log = folder / "repository", folder / "log"
        shutil.copytree(EXAMPLES / "company", self.root)
        commit(self.root, "before")
        commit(self.root, "after")
        (folder / "hooks").mkdir()
        (folder / "hooks/sitecustomize.py").write_text(WATCHED)
        self.environment = {
            "OFFLINE_LOG": str(self.log),
            "PYTHONPATH": f"{folder / 'hooks'}{os.pathsep}{ROOT}",
            "KUBECONFIG": os.devnull,
            "KUBECTL_TAS_CACHE": str(folder / "cache"),
        }

    def lines(self) -> list[list[str]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def assert_local(self) -> None:
        """Nothing was reached, and no program ran but git where it reads, and this one."""
        for what, program, *arguments in self.lines():
            assert what == "started", program
            if program == sys.executable:
                continue
            assert Path(program).name == "git", [program, *arguments]
            words = [word for word in arguments if word in LOCAL]
            assert words, arguments


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_connects(watched: Watched, tmp_path: Path, command: str) -> None:
    words = command.format(scratch=tmp_path, nodes=NODES, state=STATE).split()
    result = call(sys.executable, "-m", "kubectl_tas", *words, cwd=watched.root, **watched.environment)
    assert result.code in (0, 1), result.err
    watched.assert_local()


def test_the_editors_server_connects_to_nothing(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in watched.environment.items():
        monkeypatch.setenv(name, value)
    file = min((watched.root / "pools").iterdir()).relative_to(watched.root).as_posix()

    async def session() -> None:
        async with editor(watched.root) as it:
            it.open(file)
            it.type(file, (watched.root / file).read_text().replace("guarantee: ", "guarantee: 9"))
            await it.until(lambda: it.rules(file))

    asyncio.run(session())
    watched.assert_local()


def test_the_agents_server_connects_to_nothing(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp.client.stdio.get_default_environment", lambda: {**os.environ, **watched.environment})

    async def talk(_client: Any, ask: Ask) -> None:
        assert not (await ask("pools")).is_error
        assert not (await ask("diff", base="HEAD~1")).is_error
        assert not (await ask("admit", path="workflows/perception/stereo.yaml")).is_error

    speak(watched.root, talk)
    assert [line for line in watched.lines() if Path(line[1]).name == "git"]
    watched.assert_local()


@pytest.mark.parametrize(
    "does",
    [
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import subprocess; subprocess.run(['git', 'fetch'])",
        "import subprocess; subprocess.run(['true'])",
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import os; os.system(\"true\")'])",
    ],
)
def test_it_would_be_seen(watched: Watched, does: str) -> None:
    git(watched.root, "branch", "other")
    call(sys.executable, "-c", does, cwd=watched.root, **watched.environment)
    with pytest.raises(AssertionError):
        watched.assert_local()
