"""``kubectl_complete-tas``: kubectl runs it with the words after ``kubectl tas`` to complete the last one.

Prints one choice a line, then ``:4``, by which kubectl's shells do not offer file names.
"""

from __future__ import annotations

import os
import sys

import click
from click.shell_completion import ShellComplete

from kubectl_tas.cli.main import cli, prepare_streams


def choices(words: list[str]) -> list[str]:
    """What can stand in place of the last of ``words``."""
    *before, start = words or [""]
    completer = ShellComplete(cli, {}, "kubectl tas", "_KUBECTL_TAS_COMPLETE")
    return [item.value for item in completer.get_completions(before, start) if item.type == "plain"]


def main() -> None:
    """Entry point of the ``kubectl_complete-tas`` script."""
    prepare_streams()
    try:
        found = choices(sys.argv[1:])
    except Exception:  # a traceback between two key strokes helps nobody; the command itself will say what is wrong
        if os.environ.get("KUBECTL_TAS_DEBUG"):
            raise
        found = []
    click.echo("".join(f"{choice}\n" for choice in found) + ":4")
