"""A question in, the answer of a command out, or a part of it that an agent can read out. Each command runs in a
process of its own: it reads the files as they are now, a bug of it does not end the server, and it is ended where it
takes too long.
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

from kubectl_tas import process
from kubectl_tas.errors import TasError
from kubectl_tas.folders import MEBIBYTE, inside
from kubectl_tas.records import dataclass

MAX_TEXT = 8_000
"""Characters of what a command says to people that an agent is given."""
MAX_PRINTED = 64 * MEBIBYTE
"""Bytes of JSON that are read of a command."""
NO_CLUSTER = TasError(
    "this server knows no cluster",
    hint="Ask whoever starts it to add --live, --context, --cluster-state or --nodes to `kubectl tas mcp`.",
)
_OWN = ("KUBECTL_TAS_BASE", "KUBECTL_TAS_COLOR", "KUBECTL_TAS_DEBUG", "KUBECTL_TAS_DIRECTORY")
"""Variables that would change what a command does or prints."""


@dataclass(frozen=True, slots=True)
class Server:
    """What a server was started with."""

    root: Path
    seconds: float
    """How long one call may take."""
    cluster: tuple[str, ...] = ()
    """Options that name a cluster; none: no cluster is asked."""
    nodes: tuple[str, ...] = ()
    """Options that say where `fit` finds nodes, instead of a cluster."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a command answered."""

    answer: Any
    """Its JSON; None: it printed none."""
    notes: str
    """What it told people."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, which may ask several commands before its time is over."""

    server: Server
    end: float = field(default=0.0)

    def ask(self, words: Sequence[str], *, stdin: str = "", root: Path | None = None) -> Said:
        """What a command answers about the repository, or about another folder. Raises TasError where its time is
        over.
        """
        left = self.end - time.monotonic()
        command = [sys.executable, "-P", "-m", "kubectl_tas", "-C", str(root or self.server.root), *words]
        environment = {name: value for name, value in os.environ.items() if name not in _OWN} | {"NO_COLOR": "1"}
        limits = process.Limits(seconds=max(left, 0.1), out=MAX_PRINTED, is_ours=True)
        try:
            done = process.run(command, stdin=stdin.encode(errors="replace"), environment=environment, limits=limits)
        except process.LimitError as error:
            message = f"the answer took longer than {self.server.seconds:g} s, or more than {MAX_PRINTED >> 20} MiB"
            raise TasError(message, hint="Ask about less, or start the server with a larger --time-limit.") from error
        notes = _plain(done.err)
        try:
            return Said(json.loads(done.out), notes)
        except ValueError:
            return Said(None, notes or f"the command ended with exit code {done.code} and without a word")

    def within(self, path: str) -> str:
        """A path of the repository, in full. Raises TasError where it leads out."""
        if PurePosixPath(path).is_absolute() or PureWindowsPath(path).drive or ".." in Path(path).parts:
            message = f"{path} is not a path in the repository"
            raise TasError(message, hint="Write it relative to the folder of tas.yaml.")
        inside(self.server.root, path)
        return str(self.server.root / path)


def started(server: Server) -> Call:
    """A call that begins now."""
    return Call(server, time.monotonic() + server.seconds)


def cluster_words(server: Server) -> tuple[str, ...]:
    """The options that name the cluster. Raises TasError where the server has none."""
    if not server.cluster:
        raise NO_CLUSTER
    return server.cluster


def node_words(server: Server) -> tuple[str, ...]:
    """The options that say where nodes are. Raises TasError where the server has neither these nor a cluster."""
    return server.nodes or cluster_words(server)


def refusal(error: TasError) -> str:
    """What could not be done, and how to mend it."""
    return f"error: {error.message}\n  = help: {error.hint}" if error.hint else f"error: {error.message}"


def _plain(text: str) -> str:
    """What a command told people, without how it is called, and bounded."""
    usage, separator, rest = text.partition("\nError: ")
    text = f"error: {rest}" if separator and usage.startswith("Usage:") else text
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]}\n... and {len(text) - MAX_TEXT} characters more"


def optional(arguments: Mapping[str, Any], **options: str) -> list[str]:
    """``--option=value`` for each argument that is given."""
    return [f"{option}={arguments[name]}" for name, option in options.items() if arguments.get(name) is not None]


DEFAULT_LIMIT = 50
MAX_LIMIT = 500
MAX_CHARACTERS = 60_000
"""Of an answer as JSON."""
_NESTED = (200, 50, 20, 5)
"""Items that lists within items may have, tried in turn."""


def page_of(answer: dict[str, Any], offset: int, limit: int) -> dict[str, Any]:
    """The items from ``offset`` of each list of the answer, at most ``limit``, and fewer where they are too large.
    ``leftOut`` of its ``page`` counts what is missing.

    Raises TasError where one item alone is too large.
    """
    while True:
        found = _part(answer, offset, limit)
        if _fits(found):
            return found
        if limit == 1:
            break
        limit //= 2
    for most in _NESTED:
        found = _part({key: _cut(value, most, 0) for key, value in answer.items()}, offset, 1)
        found["page"]["cutTo"] = most
        if _fits(found):
            return found
    raise TasError(
        f"one item of the answer alone has more than {MAX_CHARACTERS} characters",
        hint="Ask about less, or run the command itself with -o json.",
    )


def _part(answer: dict[str, Any], offset: int, limit: int) -> dict[str, Any]:
    lists = {key: value for key, value in answer.items() if isinstance(value, list)}
    left = {key: len(value) - len(value[offset : offset + limit]) for key, value in lists.items()}
    found = {key: value[offset : offset + limit] if key in lists else value for key, value in answer.items()}
    longest = max(map(len, lists.values()), default=0)
    after = offset + limit if offset + limit < longest else None
    left_out = {key: count for key, count in left.items() if count}
    return {**found, "page": {"offset": offset, "limit": limit, "next": after, "leftOut": left_out}}


def _cut(value: Any, most: int, depth: int) -> Any:
    """The first items of each list within an item."""
    if isinstance(value, dict):
        return {key: _cut(part, most, depth + 1) for key, part in list(value.items())}
    if isinstance(value, list):
        kept = value[:most] if depth else value
        return [_cut(part, most, depth + 1) for part in kept]
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
"""The schema of ``page``."""
