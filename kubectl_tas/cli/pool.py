"""``kubectl tas pool``: what pools are guaranteed, and what they offer."""

from __future__ import annotations

import click

from kubectl_tas import yaml
from kubectl_tas.cli.group import Group
from kubectl_tas.cli.options import cluster_options, named_cluster, output_option, repository_option
from kubectl_tas.cli.session import from_fleet, open_session, tell_errors
from kubectl_tas.cli.terminal import hand_over, say, show
from kubectl_tas.draw import pool as pages
from kubectl_tas.gangs.accounts import accounts
from kubectl_tas.report import json
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Target
from kubectl_tas.words import nothing_called

FORMATS = ("table", "wide", "json", "yaml", "csv")
DECLARED, CLUSTER = "declared", "cluster"
SOURCES = {
    DECLARED: "declared by the HIGH and NORMAL work of this repository",
    CLUSTER: "held in the cluster by work that cannot be preempted",
}
"""Where usage comes from."""


@click.group(cls=Group)
def pool() -> None:
    """Show pools and subpools."""


@pool.command("list")
@output_option(*FORMATS)
@click.option("--all", "archived", is_flag=True, help="Show ARCHIVED subpools too.")
@click.option("--live", is_flag=True, help="Count what runs in the cluster, not what the repository declares.")
@cluster_options
@repository_option
def list_pools(output: str, archived: bool, live: bool, directory: str | None, **cluster: str | None) -> int:
    """List pools and subpools with their quota, what is used of it and what is left.

    Used counts GPUs of HIGH and NORMAL work: what this repository declares, or with --live,
    --context, --kubeconfig or --cluster-state what holds GPUs in the cluster.
    """
    session = open_session(directory)
    asked = named_cluster(cluster, live=live)
    found = list(accounts(session.fleet, asked.state().queues if asked else None, archived=archived))
    source = CLUSTER if asked else DECLARED
    if output == "json":
        hand_over(json.dump(pages.data(found, source)))
    elif output == "yaml":
        hand_over(yaml.block(pages.data(found, source)))
    elif output == "csv":
        hand_over(pages.comma_separated(found))
    else:
        show(pages.render(found, wide=output == "wide"))
    say(f"Used: {SOURCES[source]}.", err=True)
    return tell_errors(session)


@pool.command()
@click.argument("name", shell_complete=from_fleet(Fleet.target_names))
@repository_option
def describe(name: str, directory: str | None) -> int:
    """Show all about the pool, or pool--subpool, NAME."""
    session = open_session(directory)
    show(pages.page(session.fleet, *_target(session.fleet, name)))
    return tell_errors(session)


@pool.command("topology-keys")
@click.argument("name", shell_complete=from_fleet(Fleet.target_names))
@output_option("table", "json")
@repository_option
def topology_keys(name: str, output: str, directory: str | None) -> int:
    """List the topology keys that workflows of the pool NAME can use, from the coarsest to the finest."""
    session = open_session(directory)
    found, _ = _target(session.fleet, name)
    if output == "json":
        hand_over(json.dump(pages.keys_data(found)))
    elif found.levels:
        show(pages.keys(found))
    else:
        say(f"Pool {found.name} has no topology keys.", err=True)
    return tell_errors(session)


def _target(fleet: Fleet, name: str) -> Target:
    """The pool, or subpool, of that name; a usage error where there is none."""
    found = fleet.target(name)
    if found is None:
        raise click.UsageError(nothing_called("pool", name, fleet.target_names()))
    return found
