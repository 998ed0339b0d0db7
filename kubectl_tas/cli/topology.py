"""``kubectl tas topology``: the hierarchies that placements refer to."""

from __future__ import annotations

import click

from kubectl_tas.cli.group import Group
from kubectl_tas.cli.options import cluster_options, named_cluster, output_option, repository_option
from kubectl_tas.cli.session import from_fleet, open_session, tell_errors
from kubectl_tas.cli.terminal import hand_over, say, show
from kubectl_tas.compare.cluster import declared_uses, drifts, live_uses
from kubectl_tas.draw import topology as pages
from kubectl_tas.report import json
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.words import nothing_called


def _names(fleet: Fleet) -> list[str]:
    return [item.name for item in fleet.topologies]


@click.group(cls=Group)
def topology() -> None:
    """Show topologies, and who uses them."""


@topology.command("list")
@output_option("table", "json")
@repository_option
def list_topologies(output: str, directory: str | None) -> int:
    """List all topologies with their levels, from the coarsest to the finest, and who uses them."""
    session = open_session(directory)
    if output == "json":
        hand_over(json.dump(pages.data(session.fleet)))
    elif session.fleet.topologies:
        show(pages.render(session.fleet))
    else:
        say("This repository has no topologies.", err=True)
    return tell_errors(session)


@topology.command()
@click.argument("name", shell_complete=from_fleet(_names))
@repository_option
def describe(name: str, directory: str | None) -> int:
    """Show all about the topology NAME: its levels, the Topology objects it becomes, and who uses it."""
    session = open_session(directory)
    found = next((item for item in session.fleet.topologies if item.name == name), None)
    if found is None:
        raise click.UsageError(nothing_called("topology", name, _names(session.fleet)))
    show(pages.page(session.fleet, found))
    return tell_errors(session)


@topology.command()
@output_option("table", "json")
@click.option("--check", is_flag=True, help="Show whether all levels are available; exit 1 where some are not.")
@click.option("--live", is_flag=True, help="Show the PodCliqueSets and topologies of the cluster.")
@cluster_options
@repository_option
def usage(output: str, check: bool, live: bool, directory: str | None, **cluster: str | None) -> int:
    """List the PodCliqueSets by the cluster topology that they use.

    The default topology is marked where a set does not name it. The sets are those of the repository, or with
    --live, --context, --kubeconfig or --cluster-state those of the cluster, with -n of one namespace of it. With
    --check each has the condition TopologyLevelsUnavailable that Grove reports; for a cluster, topologies that
    differ from the files follow.
    """
    session = open_session(directory)
    asked = named_cluster(cluster, live=live)
    state = asked.grove() if asked else None
    uses = live_uses(state, check=check) if state else declared_uses(session.fleet)
    different = drifts(session.fleet, state) if state else None
    if output == "json":
        hand_over(json.dump(pages.uses_data(uses, "cluster" if state else "repository", different)))
    elif not uses:
        where = f"The namespace {state.namespace}" if state and state.namespace else "The cluster"
        say(f"{where if state else 'This repository'} has no PodCliqueSets.", err=True)
    else:
        show(pages.conditions(uses) if check else pages.uses(uses))
    if check and different and output != "json":
        show("\n" + pages.differences(different))
    failed = tell_errors(session)
    return 1 if failed or (check and (different or any(use.is_unavailable for use in uses))) else 0
