"""``kubectl_complete-tas``: kubectl runs it with the words after ``kubectl tas`` to complete the last one.

Prints one choice a line, then ``:4``, by which kubectl's shells do not offer file names.
"""

from __future__ import annotations

import os
import re
import sys

from click.shell_completion import ShellComplete

from kubectl_tas.cli.main import cli, prepare_streams
from kubectl_tas.cli.terminal import say

_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_./@%+=-]*")
"""What is offered: a name that is anything else is wrong, and a shell may take it for more than a word."""


def choices(words: list[str]) -> list[str]:
    """What can stand in place of the last of ``words``."""
    *before, start = words or [""]
    completer = ShellComplete(cli, {}, "kubectl tas", "_KUBECTL_TAS_COMPLETE")
    found = (item.value for item in completer.get_completions(before, start) if item.type == "plain")
    return [choice for choice in found if _PLAIN.fullmatch(choice)]


def main() -> None:
    """Entry point of the ``kubectl_complete-tas`` script."""
    prepare_streams()
    try:
        found = choices(sys.argv[1:])
    except Exception:  # a traceback between two key strokes helps nobody; the command itself will say what is wrong
        if os.environ.get("KUBECTL_TAS_DEBUG"):
            raise
        found = []
    for choice in found:
        say(choice)
    say(":4")
