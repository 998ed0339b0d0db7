"""Runs a command for an agent, and returns its answer or the part that an agent can read. Each command runs in its own
process: it reads the current files, a bug cannot end the server, and a slow command is stopped.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from kubectl_tas.base import process
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.folders import MEBIBYTE, inside
from kubectl_tas.base.late import dataclass

MAX_TEXT = 8_000
"""Maximum number of characters of a command's messages that an agent receives."""
MAX_PRINTED = 64 * MEBIBYTE
"""Maximum number of bytes of JSON that are read from a command."""
NO_CLUSTER = TasError(
    "this server knows no cluster",
    hint="Ask whoever starts it to add --live, --context, --cluster-state or --nodes to `kubectl tas mcp`.",
)
_OWN = ("KUBECTL_TAS_BASE", "KUBECTL_TAS_COLOR", "KUBECTL_TAS_DEBUG", "KUBECTL_TAS_DIRECTORY")
"""Environment variables that would change the behaviour or the output of a command."""


@dataclass(frozen=True, slots=True)
class AgentServer:
    """The options that the server was started with."""

    root: Path
    seconds: float
    """Time limit of one call."""
    cluster: tuple[str, ...] = ()
    """Options that name a cluster. Without them no cluster is asked."""
    nodes: tuple[str, ...] = ()
    """Options that name the source of nodes for ``fit``, in place of a cluster."""


@dataclass(frozen=True, slots=True)
class Said:
    """The answer of a command."""

    answer: Any
    """The JSON that the command printed; None if it printed none."""
    notes: str
    """The messages of the command for people."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool. It may run several commands within its time limit."""

    server: AgentServer
    end: float = field(default=0.0)

    def ask(self, words: Sequence[str], *, stdin: str = "", root: Path | None = None) -> Said:
        """Runs a command on the repository or on another folder, and returns its answer. Raises TasError after the time
        limit.
        """
        seconds_left = self.end - time.monotonic()
        command = [sys.executable, "-P", "-m", "kubectl_tas", "-C", str(root or self.server.root), *words]
        environment = {name: value for name, value in os.environ.items() if name not in _OWN} | {"NO_COLOR": "1"}
        limits = process.Limits(seconds=max(seconds_left, 0.1), out=MAX_PRINTED, is_ours=True)
        try:
            done = process.run(command, stdin=stdin.encode(), environment=environment, limits=limits)
        except process.LimitError as error:
            message = f"the answer took longer than {self.server.seconds:g} s, or more than {MAX_PRINTED >> 20} MiB"
            raise TasError(message, hint="Ask about less, or start the server with a larger --time-limit.") from error
        notes = _plain(done.err)
        try:
            return Said(json.loads(done.out), notes)
        except ValueError:
            return Said(None, notes or f"the command ended with exit code {done.code} and without a word")

    def within(self, path: str) -> str:
        """Returns the full path of a file in the repository. Raises TasError if the path leads outside."""
        if PurePosixPath(path).is_absolute() or PureWindowsPath(path).drive or ".." in Path(path).parts:
            message = f"{path} is not a path in the repository"
            raise TasError(message, hint="Write it relative to the folder of tas.yaml.")
        inside(self.server.root, path)
        return str(self.server.root / path)


def started(server: AgentServer) -> Call:
    """Returns a call whose time starts now."""
    return Call(server, time.monotonic() + server.seconds)


def cluster_words(server: AgentServer) -> tuple[str, ...]:
    """Returns the options that name the cluster. Raises TasError if the server has none."""
    if not server.cluster:
        raise NO_CLUSTER
    return server.cluster


def node_words(server: AgentServer) -> tuple[str, ...]:
    """Returns the options that name the source of nodes. Raises TasError if the server has no nodes and no cluster."""
    return server.nodes or cluster_words(server)


def refusal(error: TasError) -> str:
    """Formats an error and its hint."""
    return f"error: {error.message}\n  = help: {error.hint}" if error.hint else f"error: {error.message}"


def _plain(text: str) -> str:
    """Removes the usage line from the messages of a command, and limits their length."""
    usage, separator, message = text.partition("\nError: ")
    text = f"error: {message}" if separator and usage.startswith("Usage:") else text
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}\n... and {len(text) - MAX_TEXT} characters more"


def optional(arguments: Mapping[str, Any], **options: str) -> list[str]:
    """Returns ``--option=value`` for each given argument."""
    return [f"{option}={arguments[name]}" for name, option in options.items() if arguments.get(name) is not None]


DEFAULT_LIMIT = 50
MAX_LIMIT = 500
MAX_CHARACTERS = 60_000
"""Maximum number of characters of an answer as JSON."""
_NESTED = (200, 50, 20, 5)
"""Limits for lists inside items, tried in order until the answer fits."""


def page_of(answer: dict[str, Any], offset: int, limit: int) -> dict[str, Any]:
    """Returns at most ``limit`` items of each list of the answer, from ``offset`` on; fewer if they are too large.
    In its ``page``, ``leftOut`` counts the missing items. Raises TasError if a single item is too large.
    """
    while True:
        page = _part(answer, offset, limit)
        if _fits(page):
            return page
        if limit == 1:
            break
        limit //= 2
    for most in _NESTED:
        page = _part({key: _cut(value, most, 0) for key, value in answer.items()}, offset, 1)
        page["page"]["cutTo"] = most
        if _fits(page):
            return page
    raise TasError(
        f"one item of the answer alone has more than {MAX_CHARACTERS} characters",
        hint="Ask about less, or run the command itself with -o json.",
    )


def _part(answer: dict[str, Any], offset: int, limit: int) -> dict[str, Any]:
    lists = {key: value for key, value in answer.items() if isinstance(value, list)}
    counts_left = {key: len(value) - len(value[offset : offset + limit]) for key, value in lists.items()}
    page = {key: value[offset : offset + limit] if key in lists else value for key, value in answer.items()}
    longest = max(map(len, lists.values()), default=0)
    after = offset + limit if offset + limit < longest else None
    left_out = {key: count for key, count in counts_left.items() if count}
    return {**page, "page": {"offset": offset, "limit": limit, "next": after, "leftOut": left_out}}


def _cut(value: Any, most: int, depth: int) -> Any:
    """Keeps the first items of each list inside an item."""
    if isinstance(value, dict):
        return {key: _cut(inner, most, depth + 1) for key, inner in list(value.items())}
    if isinstance(value, list):
        shortened = value[:most] if depth else value
        return [_cut(inner, most, depth + 1) for inner in shortened]
    return value


def _fits(answer: dict[str, Any]) -> bool:
    return len(json.dumps(answer, ensure_ascii=False)) <= MAX_CHARACTERS


PAGE: dict[str, Any] = {
    "type": "object",
    "description": "Which part of the lists this is.",
    "properties": {
        "offset": {"type": "integer"},
        "limit": {"type": "integer", "description": "Items of each list, at most."},
        "next": {"type": ["integer", "null"], "description": "The offset to ask for the items behind these."},
        "leftOut": {
            "type": "object",
            "additionalProperties": {"type": "integer"},
            "description": "How many items of each list are not here.",
        },
        "cutTo": {"type": "integer", "description": "Items of each list within an item, where those were too long."},
    },
    "required": ["offset", "limit", "next", "leftOut"],
}
"""JSON schema of ``page``."""
