"""README's tour is run as it stands; what it shows is what the commands print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.golden import ROOT

README = (ROOT / "README.md").read_text()


def _blocks() -> list[tuple[str, str]]:
    """The commands of all console blocks, with the output that README shows."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def test_tour(tmp_path: Path) -> None:
    kubectl = tmp_path / "bin/kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(f'#!/bin/sh\nshift\nexec "{sys.executable}" -m kubectl_tas "$@"\n')
    kubectl.chmod(0o755)
    path = f"{kubectl.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    folder = tmp_path
    blocks = _blocks()
    assert len(blocks) > 8
    for command, expected in blocks:
        if command.startswith("cd "):
            folder = folder / command.removeprefix("cd ")
            continue
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.stdout.replace("python -m kubectl_tas", "kubectl tas") == expected, command


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((?!https?://|#)([^)]+)\)", README))))
def test_links_lead_somewhere(link: str) -> None:
    assert (ROOT / link.partition("#")[0]).exists()
