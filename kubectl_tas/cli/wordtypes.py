"""What words of the command line name, so that completion can offer them; nothing is checked by these types."""

from __future__ import annotations

import click

COLOURS = AUTO, ALWAYS, NEVER = "auto", "always", "never"
"""When to use colours."""


class Word(click.ParamType):  # type: ignore[type-arg]
    """A word of any text, of which ``cli/complete.py`` knows what it may be by this name."""

    def __init__(self, name: str) -> None:
        self.name = name


POOL = Word("pool")
TARGET = Word("target")
"""A pool, or pool--subpool."""
OPEN_TARGET = Word("open-target")
"""The same, but no subpool that takes no work."""
ACTIVE_PARENT, ARCHIVED_PARENT = Word("ACTIVE-parent"), Word("ARCHIVED-parent")
"""A pool with a subpool of that state, or such a pool--subpool."""
ACTIVE, ARCHIVED = Word("ACTIVE-subpool"), Word("ARCHIVED-subpool")
"""A subpool of that state, of the pool that the word before names."""
TOPOLOGY = Word("topology")
SUBMISSION = Word("submission")
"""A workflow, a workload or a set, or its file."""
BACKEND = Word("backend")
REVISION = Word("revision")
CONTEXT = Word("context")
RULE = Word("rule")
SCHEMA = Word("schema")
FOLDER = Word("folder")
FILE = Word("file")
MANIFEST = Word("manifest")
"""A file that a repository could have."""
COMMAND = Word("command")
