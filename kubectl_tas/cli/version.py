"""``kubectl tas version``."""

from __future__ import annotations

import platform

import click

from kubectl_tas import __version__, grove, kai
from kubectl_tas.cli.options import output_option
from kubectl_tas.cli.terminal import hand_over, show
from kubectl_tas.report import json, table

VERSION = 1
"""Of the JSON: raised when a field changes its meaning or goes."""


@click.command(epilog="Example: kubectl tas version -o json")
@output_option("text", "json")
def version(output: str) -> None:
    """Show the version of the tool, and the releases of KAI Scheduler and Grove that it knows."""
    schedulers = [f"{major}.{minor}.{patch}" for (major, minor), patch in sorted(kai.NEWEST_PATCHES.items())]
    operators = [release.since for release in grove.TABLE]
    if output == "json":
        found = {"version": VERSION, "tool": __version__, "python": platform.python_version()}
        hand_over(json.dump({**found, "kai": schedulers, "grove": operators}))
        return
    rows = (
        ("kubectl-tas", __version__),
        ("Python", platform.python_version()),
        ("KAI", f"{schedulers[0]} to {schedulers[-1]}"),
        ("Grove", f"{operators[0]} to {operators[-1]}"),
    )
    show(table.pairs(rows))
