"""The tool never calls home: no command opens a connection, except kubectl to the cluster that it is told of."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.golden import EXAMPLES
from tests.support.process import call

GUARD = """
import sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request"):
        sys.stderr.write(f"CONNECTED: {event} {arguments}\\n")
        sys.stderr.flush()
        import os
        os._exit(99)
sys.addaudithook(refuse)
from kubectl_tas.cli.main import main
main()
"""
COMMANDS = (
    "validate --strict",
    "render --to - --backend train-eu",
    "check",
    "report --to {site}",
    "pool list",
    "workflow list",
    "admit stereo-distill",
    "topology list",
    "rule quota-exceeds-pool",
    "schema pool",
    "version",
    "--help",
    "migrate --check",
    "cluster state --help",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_connects(tmp_path: Path, command: str) -> None:
    words = command.format(site=tmp_path / "site").split()
    folder = () if words[0] in ("rule", "schema", "version", "--help", "cluster") else ("-C", EXAMPLES / "company")
    result = call(sys.executable, "-c", GUARD, *folder, *words, cwd=tmp_path)
    assert "CONNECTED" not in result.err
    assert result.code in (0, 1), result.err


def test_a_connection_would_be_seen(tmp_path: Path) -> None:
    script = GUARD.replace(
        "from kubectl_tas.cli.main import main\nmain()", "import socket; socket.create_connection(('127.0.0.1', 9))"
    )
    assert call(sys.executable, "-c", script, cwd=tmp_path).code == 99
