"""A group of commands that knows what a slip was meant to be."""

from __future__ import annotations

import click

from kubectl_tas.words import nothing_called


class Group(click.Group):
    """As click's, but for the message about a command that does not exist."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called, and its arguments."""
        name, known = args[0], self.list_commands(ctx)
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            ctx.fail(nothing_called("command", name, known))
        return super().resolve_command(ctx, args)
