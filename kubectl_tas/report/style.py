"""ANSI colours, applied by whoever knows that the output is a terminal."""

from __future__ import annotations

from kubectl_tas.diagnostics import Severity

RESET = "\x1b[0m"
BOLD = "\x1b[1m"
DIM = "\x1b[2m"
BLUE = "\x1b[34m"
_COLOURS = {Severity.ERROR: "\x1b[1;31m", Severity.WARNING: "\x1b[1;33m", Severity.INFO: "\x1b[1;36m"}


def paint(text: str, code: str, *, colour: bool) -> str:
    """``text`` in a colour, or as it is."""
    return f"{code}{text}{RESET}" if colour and text else text


def severity(value: Severity, *, colour: bool) -> str:
    """The word for a severity in its colour."""
    return paint(value.value, _COLOURS[value], colour=colour)
