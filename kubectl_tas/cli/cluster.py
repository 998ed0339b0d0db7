"""``kubectl tas cluster``: writes to a file everything that commands read of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kubectl_tas.cli.backends import backend_option, given_clusters
from kubectl_tas.cli.options import FILE, Group, kubectl_options, repository_option, to_option
from kubectl_tas.cli.session import open_session, refuse_errors
from kubectl_tas.cli.terminal import hand_over, say
from kubectl_tas.emit.disk import write_file
from kubectl_tas.live.cluster_state import record
from kubectl_tas.load.source import CONFIG_FILE


@click.group(cls=Group, epilog="Example: kubectl tas cluster state --to prod.json")
def cluster() -> None:
    """Save the state of a cluster."""


@cluster.command(epilog="Example: kubectl tas cluster state --backend prod --to prod.json")
@to_option("FILE", FILE, "The file to write; - prints it.", required=True)
@backend_option("Ask the cluster of this backend.")
@kubectl_options("The context for kubectl, instead of the backend's.")
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="Read only this namespace; `fit --all` refuses such a file.",
)
@repository_option
def state(to: str, directory: str | None, **cluster: Any) -> int:
    """Save the state of a cluster to a file, for --cluster-state.

    The file holds queues, topologies, priority classes, nodes and pods, without the environment and arguments of pods.
    Outside of a repository, the cluster is that of --context, or of kubectl's current context.
    """
    session = open_session(directory, allow_empty=True)
    if refuse_errors(session.of_files([CONFIG_FILE])):
        return 1
    clusters = given_clusters(session.fleet, {**cluster, "cluster_state": ()})
    if len(clusters.names) > 1:
        names = ", ".join(sorted(clusters.names))
        raise click.UsageError(f"a file is for one cluster; name its backend with --backend: {names}")
    found = record(clusters.of(*clusters.names).access)
    if to == "-":
        hand_over(found.text)
    else:
        write_file(Path(to), found.text.encode())
    counted = ", ".join(f"{count} {kind}" for kind, count in found.counts.items())
    say(f"{'Printed' if to == '-' else f'Wrote {to}'}: {counted}.", err=True)
    for kind, reason in found.hidden.items():
        say(f"Without any {kind}: {reason}", err=True)
    return 0
