"""What is said of a run that ended by an exception, and its exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

import click

from kubectl_tas.cli.terminal import UNREAD, say, show
from kubectl_tas.errors import TasError

INTERRUPTED = 130
"""What a shell says of a program that SIGINT ended."""


def told(error: BaseException, context: click.Context | None, words: Sequence[str]) -> int:
    """Says what ``error`` means, and returns the exit code; ``context`` is that of the command line ``words``, where it
    was read.

    Raises ``error`` itself where it is a bug and KUBECTL_TAS_DEBUG is set.
    """
    if isinstance(error, click.ClickException):
        code = _refuse(error, words)
        if context is not None and UNREAD in context.meta:
            context.meta[UNREAD]()
        return code
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        say("interrupted", err=True)
        return INTERRUPTED
    if isinstance(error, TasError):
        return _fail(error.message, error.hint)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}")
    if os.environ.get("KUBECTL_TAS_DEBUG"):
        raise error
    hint = "This is a bug. Run again with KUBECTL_TAS_DEBUG=1 and report what it prints."
    return _fail(f"internal error: {type(error).__name__}: {error}", hint)


def _refuse(error: click.ClickException, words: Sequence[str]) -> int:
    """Says what is wrong with the command line, as click does, and returns the exit code for it."""
    if isinstance(error, click.UsageError):
        from kubectl_tas.cli import habits  # only a slip waits for it

        if isinstance(error, click.NoSuchOption):
            error = habits.of_option(error, words) or error
        if isinstance(error, habits.HabitError):
            return _fail(error.message, error.hint, error.exit_code)
    if isinstance(error, click.NoSuchOption):
        from kubectl_tas.words import closest  # only a slip waits for it

        near = closest(error.option_name, error.possibilities or ())
        error = click.NoSuchOption(error.option_name, possibilities=[near] if near else None, ctx=error.ctx)
    shown = io.StringIO()
    error.show(shown)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        show(shown.getvalue(), stream=sys.stderr)
        return error.exit_code
    show(shown.getvalue().partition("Error: ")[0], stream=sys.stderr)
    say(f"Error: {error.format_message()}", err=True)
    return error.exit_code


def _fail(message: str, hint: str = "", code: int = 3) -> int:
    """Says what the tool could not do, and returns the exit code for it."""
    say(f"error: {message}", err=True)
    if hint:
        say(f"  = help: {hint}", err=True)
    return code
