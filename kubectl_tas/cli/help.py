"""``kubectl tas help``."""

from __future__ import annotations

import click

from kubectl_tas.cli.options import COMMAND
from kubectl_tas.cli.terminal import show


@click.command("help", epilog="Example: kubectl tas help pool list")
@click.argument("words", metavar="[COMMAND]...", nargs=-1, type=COMMAND)
def help_command(words: tuple[str, ...]) -> None:
    """Show the help of COMMAND; without COMMAND, list all commands."""
    context = click.get_current_context().find_root()
    for word in words:
        if not isinstance(context.command, click.Group):
            raise click.UsageError(f"{context.command_path} has no commands of its own")
        name, command, _ = context.command.resolve_command(context, [word])
        assert command is not None
        context = command.make_context(name, [], parent=context, resilient_parsing=True)
    show(f"{context.get_help()}\n")
