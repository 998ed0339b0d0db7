"""A group of commands that knows what a slip was meant to be, and of which some may live elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from kubectl_tas.late import imported


class Group(click.Group):
    """As click's, but for the message about a command that does not exist."""

    def __init__(self, *arguments: Any, later: Mapping[str, str] | None = None, **options: Any) -> None:
        """``later`` says where commands live that are imported only when they are asked for, as ``imported`` has it."""
        super().__init__(*arguments, **options)
        self._later = later or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands by name."""
        return sorted((*super().list_commands(ctx), *self._later))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; None where there is none."""
        if cmd_name in self._later:
            command: click.Command = imported(self._later[cmd_name])
            return command
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called, and its arguments."""
        name, known = args[0], self.list_commands(ctx)
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from kubectl_tas.words import nothing_called  # only a slip waits for it

            ctx.fail(nothing_called("command", name, known))
        return super().resolve_command(ctx, args)
