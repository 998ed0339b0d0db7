"""Acts as an agent: the SDK's client starts ``kubectl tas mcp`` and talks to it over standard input and output."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client

from kubectl_tas.agents.asking import AgentServer, Call, Said
from kubectl_tas.base.late import dataclass
from tests.support.cli import kubectl_tas
from tests.support.warm import tool

Result = Any
Ask = Callable[..., Awaitable[Result]]


def speak(
    root: Path,
    talk: Callable[[Any, Ask], Awaitable[None]],
    *options: str | Path,
    cwd: Path | None = None,
    isolated: bool = False,
) -> None:
    """Starts a server for ``root``. ``talk`` gets the client and a function ``ask(tool, **arguments)``.
    With ``isolated``, Python imports nothing from the working folder, as when the script ``kubectl-tas`` starts it.
    """
    command, *before = (sys.executable, "-P", "-m", "kubectl_tas") if isolated else tool()
    arguments = [*before, "-C", str(root), "mcp", *map(str, options)]
    cache = {"KUBECTL_TAS_CACHE": str(root.parent / "agent-cache")}
    parameters = StdioServerParameters(command=command, args=arguments, cwd=cwd or root.parent, env=cache)

    async def session() -> None:
        async with Client(stdio_client(parameters)) as client:

            async def ask(tool: str, **given: Any) -> Result:
                return await client.call_tool(tool, given)

            await talk(client, ask)

    asyncio.run(session())


def words(result: Result) -> str:
    """Returns the text of an error."""
    assert result.is_error
    assert result.structured_content is None
    (content,) = result.content
    assert "Traceback" not in content.text
    return str(content.text)


@dataclass(frozen=True, slots=True)
class InProcess(Call):
    """A call of a tool whose commands run in this process, in a tenth of the time of a server's commands."""

    def ask(self, words: Sequence[str], *, stdin: str = "", root: Path | None = None) -> Said:
        assert not stdin
        result = kubectl_tas("-C", root or self.server.root, *words)
        return Said(json.loads(result.out) if result.out else None, result.err)


def in_process(root: Path, *nodes: str | Path) -> InProcess:
    """Returns a call about a repository. ``nodes`` are options that name the source of nodes."""
    return InProcess(AgentServer(root, seconds=600, nodes=tuple(map(str, nodes))))
