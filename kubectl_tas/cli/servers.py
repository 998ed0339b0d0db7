"""``kubectl tas lsp`` and ``kubectl tas mcp``: run the server for editors, and the server for agents."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.cli.backends import nodes_options
from kubectl_tas.cli.options import repository_option

SECONDS = 60
"""The default of --time-limit."""


@click.command(epilog="Example: kubectl tas lsp")
def lsp() -> None:
    """Serve editors by the Language Server Protocol, on standard input and output.

    docs/tools.md says how to set up an editor.
    """
    try:
        from kubectl_tas.editor.server import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        hint = "Install it: pip install 'pygls>=2,<3'"
        raise TasError(f"the language server needs the package {error.name}", hint=hint) from error
    gc.enable()  # a server lives as long as its editor
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")  # the server closes it
    make_server().start_io(sys.stdin.buffer, output)


@click.command(epilog="Example: kubectl tas -C gpu-pools mcp --cluster-state state.json")
@click.option(
    "--time-limit",
    "seconds",
    metavar="SECONDS",
    type=click.IntRange(1, 3600),
    default=SECONDS,
    show_default=True,
    help="How long one answer may take.",
)
@nodes_options
@repository_option
def mcp(seconds: int, files: Sequence[str], live: bool, directory: str | None, **cluster: Any) -> None:
    """Serve agents by the Model Context Protocol, on standard input and output: answers, and no edits.

    Agents see only this repository. They see a cluster only with --live, --context, --kubeconfig, --cluster-state or,
    for `fit`, --nodes. docs/tools.md says how to connect an agent.
    """
    if "-" in files:
        raise click.UsageError("--nodes - does not go with mcp: standard input has the agent's questions")
    from kubectl_tas.agents.asking import AgentServer
    from kubectl_tas.cli.session import find_root

    try:
        from kubectl_tas.agents.mcp_server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        hint = "Install it: pip install 'mcp>=2,<3'"
        raise TasError(f"the server for agents needs the package {error.name}", hint=hint) from error
    gc.enable()  # a server lives as long as its agent
    nodes = tuple(f"--nodes={Path(file).absolute()}" for file in files)
    signal.signal(signal.SIGTERM, _ended)  # the thread that reads standard input would keep an ordinary end waiting
    serve(AgentServer(find_root(directory), seconds, _words(cluster, live=live), nodes))


def _ended(number: int, _frame: FrameType | None) -> NoReturn:
    from kubectl_tas.base import process

    process.end_ours()
    os._exit(128 + number)


def _words(cluster: dict[str, Any], *, live: bool) -> tuple[str, ...]:
    """Returns the options that name a cluster, for commands that ask one; none for a backend or namespace alone."""
    words = ["--live"] if live else []
    for name, value in cluster.items():
        words += [f"--{name.replace('_', '-')}={one}" for one in ([value] if isinstance(value, str) else value or ())]
    asks = live or any(value for name, value in cluster.items() if name not in ("backend", "namespace"))
    return tuple(words) if asks else ()
