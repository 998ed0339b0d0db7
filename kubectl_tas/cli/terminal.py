"""The one place where text leaves the program: what was read somewhere commands neither a terminal nor a CI job."""

from __future__ import annotations

import sys
from typing import TextIO

import click

from kubectl_tas.report.style import printable, printable_lines


def say(line: str, *, err: bool = False) -> None:
    """Prints one line, whatever is in it."""
    click.echo(printable(line), err=err, color=True)


def show(text: str, *, stream: TextIO | None = None, colour: bool = False) -> None:
    """Prints lines for people, to stdout unless another stream is named; with ``colour`` the colours of ``style`` stay.

    Fields have been made printable when the lines were made of them, since nobody can tell any more which line
    breaks are theirs; everything else is escaped here.
    """
    click.echo(printable_lines(text, colour=colour), nl=False, file=stream or sys.stdout, color=True)


def hand_over(text: str) -> None:
    """Prints a text for programs byte by byte: JSON, YAML and the like, which escape what they hold.

    Where it is a person who reads it, comments of workloads are shown like any other text.
    """
    if sys.stdout.isatty():
        show(text)
    else:
        click.echo(text, nl=False, color=True)
