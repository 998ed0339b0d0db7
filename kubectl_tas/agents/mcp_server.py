"""Serves the tools of ``tool_table`` by the Model Context Protocol (modelcontextprotocol/python-sdk, 2.x)."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from anyio.to_thread import run_sync
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server as Protocol
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from kubectl_tas import __version__
from kubectl_tas.agents.asking import DEFAULT_LIMIT, AgentServer, page_of, refusal, started
from kubectl_tas.agents.tool_table import TOOLS, Tool
from kubectl_tas.base import process
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.words import nothing_called

MAX_AT_ONCE = 2
"""Maximum number of commands that run at the same time."""
INSTRUCTIONS = """\
Answers about a repository of GPU pools and workloads for KAI Scheduler. No tool writes.
Before you write a workload: `pools` to choose a pool, `validate_manifest` until it has no error, `admit` for its quota.
Once it is written: `explain` for where it goes, `fit` for whether it has room, `diff` for what the change means.
`rule` explains a finding, `suggest` makes a patch. `why` says why work waits, `forecast` when it starts.
Lists are cut: `page.next` is the offset to ask for more."""


def serve(server: AgentServer) -> None:
    """Answers requests from standard input until it ends. Only the protocol is written to standard output."""
    try:
        anyio.run(partial(_serve, server))
    except* (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # the client has gone in the middle of a call
    finally:
        process.end_ours()


async def _serve(server: AgentServer) -> None:
    limiter = anyio.CapacityLimiter(MAX_AT_ONCE)

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(name, tool, server) for name, tool in TOOLS.items()])

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, nothing_called("tool", params.name, list(TOOLS)))
        work = partial(_answered, tool, params.arguments or {}, server)
        return await run_sync(work, abandon_on_cancel=True, limiter=limiter)

    protocol: Protocol[Any] = Protocol(
        "kubectl-tas",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    async with stdio_server() as (reader, writer):
        await protocol.run(reader, writer, protocol.create_initialization_options())


def _described(name: str, tool: Tool, server: AgentServer) -> types.Tool:
    return types.Tool(
        name=name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=tool.asks_cluster and bool(server.cluster),
        ),
    )


def _answered(tool: Tool, call_arguments: dict[str, Any], server: AgentServer) -> types.CallToolResult:
    """Answers one call. Errors are returned as text."""
    try:
        arguments = tool.read_arguments(call_arguments)
        reply = tool.answer(started(server), arguments)
        if not isinstance(reply.answer, dict):
            return _refused(reply.notes)
        answer = page_of(reply.answer, arguments.get("offset", 0), arguments.get("limit", DEFAULT_LIMIT))
    except TasError as error:
        return _refused(refusal(error))
    except OSError as error:
        return _refused(f"error: {error.filename or ''}: {error.strerror or error}")
    except Exception as error:  # a bug in one answer does not end the server
        return _refused(f"internal error: {type(error).__name__}: {error}")
    answer["notes"] = reply.notes
    text = _encodable(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=json.loads(text)
    )


def _refused(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=_encodable(text))], is_error=True)


def _encodable(text: str) -> str:
    """Returns a text with ? for each byte of a file's name that is not UTF-8: the protocol has no such text."""
    return text.encode(errors="replace").decode()
