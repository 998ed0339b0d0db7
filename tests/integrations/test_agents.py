"""Tests that the commands in docs/tools.md and integrations/agents run, and that both list all tools."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from kubectl_tas.agents.tool_table import TOOLS
from tests.support.cli import kubectl_tas
from tests.support.golden import EXAMPLES, ROOT
from tests.support.pyyaml import safe_load
from tools.generate import commands

PAGE = (ROOT / "docs/tools.md").read_text().partition("\n## Agents\n")[2]
SKILL = (ROOT / "integrations/agents/tas-write-workload/SKILL.md").read_text()
COMMANDS = {item.command_path for item in commands()}


def first_cells(text: str, column: int) -> list[str]:
    rows = [
        line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")
    ]
    return [word for row in rows[1:] for word in re.findall(r"`([^`]+)`", row[column])]


def test_both_know_all_tools() -> None:
    assert {*first_cells(PAGE, 0)} == {*TOOLS}
    assert {*first_cells(SKILL, 1)} == {*TOOLS} - {"validate"}


def test_the_skill_has_the_head_that_agents_read() -> None:
    _, head, _ = SKILL.split("---\n", 2)
    fields = safe_load(head)
    assert fields["name"] == "tas-write-workload"
    assert fields["description"].startswith("Use when ")
    assert len(fields["description"]) <= 1024


def test_commands_of_the_skill_are_commands() -> None:
    for line in first_cells(SKILL, 2):
        words = [word for word in shlex.split(line) if word.islower() and not word.startswith("-")]
        assert any(" ".join(words[:length]) in COMMANDS for length in (4, 3)), line


@pytest.mark.parametrize("block", re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))
def test_an_agent_starts_what_the_page_configures(block: str, tmp_path: Path) -> None:
    root = shutil.copytree(EXAMPLES / "quickstart", tmp_path / "repository")
    config = json.loads(block)
    (server,) = (config.get("mcpServers") or config["servers"]).values()
    assert server["command"] == "kubectl-tas"
    arguments = [word.replace("${workspaceFolder}", str(root)) for word in server["args"]]
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "kubectl_tas", *arguments], cwd=root)

    async def session() -> Any:
        async with Client(stdio_client(parameters)) as client:
            return await client.call_tool("pools", {})

    expected = json.loads(kubectl_tas("-C", root, "pool", "list", "-o", "json").out)
    assert asyncio.run(session()).structured_content["pools"] == expected["pools"]
