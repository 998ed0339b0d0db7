"""Where files and credentials of tasks are mounted, word by word."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.cli import pool
from tests.support.judged import told

FLOW = """\
workflow:
  name: w
  pool: team
  tasks:
  - name: t
    image: i
    command: [c]
    {}
    resource: r
resources:
  r: {{gpu: 1}}
"""


def files(item: str) -> str:
    return FLOW.format(f"files: [{{{item}}}]")


def credentials(item: str) -> str:
    return FLOW.format(f"credentials: {{{item}}}")


SILENT = {
    "a file": files("path: /a, contents: x"),
    "a Secret in a folder of its own": credentials("c: /etc/wandb"),
}
ROWS = {
    "a file with a colon in its path": files("path: '/a:b', contents: x"),
    "a file above": files("path: /a/../b, contents: x"),
    "a file at the root": files("path: /, contents: x"),
    "a file that is the root": files("path: /., contents: x"),
    "a file in a folder without a name": files("path: /a/, contents: x"),
    "a Secret at the root": credentials("c: /"),
    "a Secret that is the root": credentials("c: /."),
    "a Secret that hides the image": credentials("c: /etc"),
    "contents that are no base64": files("path: /a, contents: '!', base64: true"),
    "a local file that is no base64": files("path: /a, localpath: x.bin, base64: true"),
    "a local file that is not there": files("path: /a, localpath: gone, base64: true"),
}


def mounted(text: str) -> list[str]:
    found = told({"pools/team.yaml": pool(), "workflows/w.yaml": text, "workflows/x.bin": "# no base64"})
    return [line.removeprefix("workflows/") for line in found]


@pytest.mark.parametrize("name", ROWS)
def test_mounts(name: str, snapshot: Any) -> None:
    assert "\n".join(mounted(ROWS[name])) == snapshot


@pytest.mark.parametrize("name", SILENT)
def test_mounts_silent(name: str) -> None:
    assert mounted(SILENT[name]) == []
