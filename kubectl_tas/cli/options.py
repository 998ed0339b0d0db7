"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def output_option(*formats: str) -> Callable[[F], F]:
    """Adds ``--output``; the first format is the default."""
    choice = click.Choice(formats)
    return click.option("-o", "--output", type=choice, default=formats[0], show_default=True, help="How it is printed.")


def repository_option(command: F) -> F:
    """Adds ``-C`` to a command, with the group's own as its default."""
    return click.option(
        "-C", "directory", metavar="DIR", help="The repository; by default the nearest parent with tas.yaml."
    )(command)


def group_directory() -> str | None:
    """The ``-C`` that stands before the command."""
    context = click.get_current_context(silent=True)
    return context.find_root().params.get("directory") if context else None


def edit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds what all edits have in common."""
    for option in (
        click.option("--dry-run", is_flag=True, help="Print the diff and write nothing."),
        click.option("--render", "render_after", is_flag=True, help="Render the manifests afterwards."),
        repository_option,
    ):
        command = option(command)
    return command
