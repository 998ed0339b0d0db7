"""What commands and options were called before, and what they are called now. The old ones work for one release."""

from __future__ import annotations

import click

from kubectl_tas.cli.terminal import say

COMMANDS = {"subpool delete": "subpool retire", "pool topology-keys": "topology list --pool"}
"""The new name of each command, behind ``kubectl tas``."""
OPTIONS = {
    "render": {"-o": "--to"},
    "report": {"-o": "--to"},
    "snapshot": {"-o": "--to"},
    "cluster state": {"-o": "--to"},
    "import cluster": {"-o": "--to"},
    "import osmo": {"-o": "--to"},
}
"""The new name of each option, by its command. ``--output`` is a long spelling of ``-o``."""


def note_command(old: str) -> None:
    """Says that a command has another name now."""
    say(f"Note: `{old}` is now `{COMMANDS[old]}`; the next release no longer takes the old name.", err=True)


def note_option(context: click.Context) -> None:
    """Says that the option which names where a command writes has another name now."""
    command = " ".join(context.command_path.split()[-2:])
    own = OPTIONS.get(command) or OPTIONS[command.split()[-1]]
    for old, new in own.items():
        say(f"Note: `{old}` is now `{new}` here; the next release no longer takes the old name.", err=True)
