"""``kubectl tas topology``: the hierarchies that placements refer to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.cli.session import open_session, repository_option, tell_errors

if TYPE_CHECKING:
    from kubectl_tas.resolve.fleet import Fleet


@click.group()
def topology() -> None:
    """Show topologies."""


@topology.command("list")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@repository_option
def list_topologies(output: str, directory: str | None) -> int:
    """List all topologies with their levels, from the coarsest to the finest, and the pools that use them."""
    from kubectl_tas.report import json, table

    session = open_session(directory)
    found = _topologies(session.fleet)
    if output == "json":
        click.echo(json.dump({"version": 1, "topologies": found}), nl=False)
    elif found:
        rows = [
            (
                item["name"],
                item["kind"],
                " > ".join(level["key"] for level in item["levels"]),
                ", ".join(item["pools"]) or "-",
            )
            for item in found
        ]
        click.echo(table.render(("NAME", "FROM", "LEVELS", "POOLS"), rows), nl=False)
    else:
        click.echo("This repository has no topologies.", err=True)
    return tell_errors(session)


def _topologies(fleet: Fleet) -> list[dict[str, Any]]:
    return [
        {
            "name": topology.name,
            "kind": topology.declared.spec.kind,
            "file": topology.declared.origin.path,
            "levels": [{"key": level.key, "label": level.label} for level in topology.levels],
            "pools": [pool.name for pool in fleet.pools if pool.topology == topology],
        }
        for topology in fleet.topologies
    ]
