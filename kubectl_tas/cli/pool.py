"""``kubectl tas pool``: what pools are guaranteed, and what they offer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubectl_tas.cli.completion import from_fleet, pool_names
from kubectl_tas.cli.session import Session, open_session, repository_option, tell_errors

if TYPE_CHECKING:
    from kubectl_tas.report.pools import Row
    from kubectl_tas.resolve.fleet import FleetPool

DECLARED = "declared"
"""Where usage comes from: the HIGH and NORMAL workflows of the repository."""


@click.group()
def pool() -> None:
    """Show pools and subpools."""


@pool.command("list")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@repository_option
def list_pools(output: str, directory: str | None) -> int:
    """List pools and subpools with their quota, what is used of it and what is left.

    Used counts the GPUs of the HIGH and NORMAL workflows of this repository.
    """
    from kubectl_tas.check.admission import declared_usage
    from kubectl_tas.report import json, pools

    session = open_session(directory)
    rows = _rows(session, declared_usage(session.fleet))
    if output == "json":
        click.echo(json.dump(pools.data(rows, DECLARED)), nl=False)
    else:
        click.echo(pools.render(rows), nl=False)
        click.echo("Used: declared by the HIGH and NORMAL workflows of this repository.", err=True)
    return tell_errors(session)


@pool.command()
@click.argument("name", shell_complete=from_fleet(pool_names))
@repository_option
def describe(name: str, directory: str | None) -> int:
    """Show all about the pool, or pool--subpool, NAME."""
    from kubectl_tas.draw.pool import page

    session = open_session(directory)
    found = _find(session, name)
    subpool = next((item for item in found.subpools if item.canonical == name), None)
    click.echo(page(session.fleet, found, subpool), nl=False)
    return tell_errors(session)


@pool.command("topology-keys")
@click.argument("name", shell_complete=from_fleet(pool_names))
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@repository_option
def topology_keys(name: str, output: str, directory: str | None) -> int:
    """List the topology keys that workflows of the pool NAME can use, from the coarsest to the finest."""
    from kubectl_tas.report import json, table

    session = open_session(directory)
    found = _find(session, name)
    if output == "json":
        keys = [{"key": level.key, "label": level.label} for level in found.levels]
        click.echo(json.dump({"version": 1, "pool": found.name, "topologyKeys": keys}), nl=False)
    elif found.levels:
        rows = [(level.key, level.label) for level in found.levels]
        click.echo(table.render(("KEY", "LABEL"), rows), nl=False)
    else:
        click.echo(f"Pool {found.name} has no topology keys.", err=True)
    return tell_errors(session)


def _rows(session: Session, used: dict[str, int]) -> list[Row]:
    from kubectl_tas.check.usage import accounts
    from kubectl_tas.report.pools import Row

    return [
        Row(
            name=account.name,
            state=account.state,
            quota=account.quota,
            total=account.pool.guarantee if account.subpool is None and account.pool.is_split else None,
            used=account.used,
            available=account.available,
            backend=account.pool.backend.name,
        )
        for account in accounts(session.fleet, used)
    ]


def _find(session: Session, name: str) -> FleetPool:
    """The pool of that name, or of the subpool of that name; a usage error where there is none."""
    parent, _, short = name.partition("--")
    found = session.fleet.pool_by_name.get(parent)
    known = pool_names(session.fleet)
    if found is None or (short and name not in known):
        raise click.UsageError(f'no pool "{name}"; there is {", ".join(known) or "none"}')
    return found
