"""``kubectl_complete-tas``: kubectl runs it with the words after ``kubectl tas`` to complete the last one.

Prints one choice a line, then ``:4``, by which kubectl's shells do not offer file names.
"""

from __future__ import annotations

import sys

import click
from click.shell_completion import ShellComplete

from kubectl_tas.cli.main import cli


def choices(words: list[str]) -> list[str]:
    """What can stand in place of the last of ``words``."""
    *before, start = words or [""]
    completer = ShellComplete(cli, {}, "kubectl tas", "_KUBECTL_TAS_COMPLETE")
    return [item.value for item in completer.get_completions(before, start) if item.type == "plain"]


def main() -> None:
    """Entry point of the ``kubectl_complete-tas`` script."""
    for choice in choices(sys.argv[1:]):
        click.echo(choice)
    click.echo(":4")
