"""Every command explains itself, and docs/cli.md holds what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import pytest

from kubectl_tas.cli.main import cli
from tests.support.cli import kubectl_tas
from tests.support.golden import ROOT, at

WIDTH = 100
"""Columns of the terminal that docs/cli.md shows."""
INTRODUCTION = """\
# Commands

What `kubectl tas COMMAND --help` says. Exit codes: 0 clean, 1 problems or differences found, 2 wrong usage, 3 the tool
could not do its work. A run that a signal ends has 128 and the signal's number, as in a shell.
"""


def commands(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[click.Context]:
    """The context of a command as it runs, then those of the commands in it, in the order of its help."""
    context = command.make_context(name, [], parent=parent, resilient_parsing=True, terminal_width=WIDTH)
    yield context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            inner = command.get_command(context, child)
            assert inner is not None
            yield from commands(inner, child, context)


COMMANDS = {context.command_path: context for context in commands(cli, "kubectl tas")}


def test_documentation(snapshot: Any) -> None:
    sections = [f"\n## {name}\n\n```text\n{context.get_help()}\n```\n" for name, context in COMMANDS.items()]
    assert INTRODUCTION + "".join(sections) == snapshot(extension_class=at(ROOT / "docs/cli.md"))


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name: str) -> None:
    result = kubectl_tas(*name.split()[2:], "--help")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"Usage: {name} ")


@pytest.mark.parametrize("name", COMMANDS)
def test_everything_is_explained(name: str) -> None:
    """Every command says what it does in a sentence; so does every option."""
    command = COMMANDS[name].command
    assert command.help
    first = command.help.partition("\n\n")[0]
    assert first[0].isupper()
    assert first.endswith(".")
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.help is not None:
            assert parameter.help.endswith("."), parameter.name
