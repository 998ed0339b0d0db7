"""``kubectl tas nodes``: nodes of a cluster that does not exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from kubectl_tas.cli.options import POOL, Group, repository_option
from kubectl_tas.cli.session import open_session, tell_errors
from kubectl_tas.cli.terminal import hand_over, say
from kubectl_tas.kai import Feature
from kubectl_tas.place.synthetic import HOSTNAME, Broken, Cluster, Domains, Size, generate
from kubectl_tas.resolve import names
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.words import nothing_called

MAX_NODES = 100_000
_FEW = click.IntRange(min=0, max=1_000_000)


@click.group(cls=Group, epilog="Example: kubectl tas nodes generate --pool team --nodes 18")
def nodes() -> None:
    """Make nodes to plan with."""


@nodes.command("generate", epilog="Example: kubectl tas nodes generate --pool team --domains zone=2")
@click.option("--pool", metavar="POOL", type=POOL, required=True, help="The pool whose topology and labels they have.")
@click.option(
    "--domains",
    metavar="KEY=N",
    multiple=True,
    help="How many domains of a level are in each of the level above; 1 where it is not given. May be repeated.",
)
@click.option(
    "--nodes",
    "count",
    type=click.IntRange(min=1),
    help="Nodes in each finest domain; 4 where it is not given, 1 where that level is the host's name.",
)
@click.option("--gpus", type=_FEW, default=8, show_default=True, help="GPUs of a node.")
@click.option("--cpu", type=_FEW, default=96, show_default=True, help="Cores of a node.")
@click.option("--memory", type=_FEW, default=1024, show_default=True, help="Memory of a node in GiB.")
@click.option("--cordoned", type=_FEW, default=0, help="How many of them take no new pods.")
@click.option("--not-ready", type=_FEW, default=0, help="How many of them are not ready.")
@click.option("--unlabelled", type=_FEW, default=0, help="How many of them lack the label of the finest level.")
@repository_option
def generate_nodes(pool: str, domains: Sequence[str], count: int | None, directory: str | None, **numbers: int) -> int:
    """Print the nodes of a cluster that does not exist, as `kubectl get nodes -o json` would, for `fit --nodes`.

    They have the labels of all levels of the pool's topology, and those that its pods ask for. Domains are numbered
    over the whole cluster. The same options give the same bytes.
    """
    session = open_session(directory)
    fleet = session.fleet
    found = fleet.pool_by_name.get(names.fold(pool))
    if found is None:
        raise click.UsageError(nothing_called("pool", pool, sorted(fleet.pool_by_name)))
    counts = _counts(found, domains)
    of_hosts = any(level.label == HOSTNAME for level in found.levels)
    cluster = Cluster(
        levels=tuple(Domains(level.key, level.label, counts.get(level.key, 1)) for level in found.levels),
        nodes=count or (1 if of_hosts else 4),
        size=Size(numbers["gpus"], numbers["cpu"], numbers["memory"]),
        broken=Broken(numbers["cordoned"], numbers["not_ready"], numbers["unlabelled"]),
        labels={**found.nodes.selector, **found.shard_labels},
    )
    _refuse(cluster)
    hand_over(generate(cluster))
    if cluster.common > 1 and not found.backend.has(Feature.COARSE_REQUIRED):
        *above, common = (level.key for level in cluster.levels[: cluster.common])
        say(
            f"All nodes are in one {common}, and KAI places no gang there that requires {' or '.join(above)}: "
            f"--domains {above[0]}=2 makes more.",
            err=True,
        )
    return tell_errors(session)


def _counts(pool: FleetPool, written: Sequence[str]) -> Mapping[str, int]:
    """The number of domains by key. A usage error where one is none of the pool's, or no number."""
    keys = [level.key for level in pool.levels]
    found: dict[str, int] = {}
    for text in written:
        key, _, number = text.partition("=")
        is_number = number.isascii() and number.isdigit() and len(number) <= len(str(MAX_NODES))
        if not is_number or not 1 <= int(number) <= MAX_NODES:
            raise click.UsageError(f"--domains {text}: write KEY=N, with N from 1 to {MAX_NODES}")
        if key not in keys:
            raise click.UsageError(f"--domains {text}: {nothing_called(f'level of pool {pool.name}', key, keys)}")
        if key in found:
            raise click.UsageError(f"--domains is given twice for {key}")
        found[key] = int(number)
    return found


def _refuse(cluster: Cluster) -> None:
    """A usage error where there are too many nodes, or not enough to break."""
    if cluster.count > MAX_NODES:
        raise click.UsageError(f"that would be {cluster.count} nodes; {MAX_NODES} are the most")
    if cluster.broken.count > cluster.count:
        raise click.UsageError(f"{cluster.broken.count} of {cluster.count} nodes cannot be broken")
    if cluster.nodes > 1 and any(level.label == HOSTNAME for level in cluster.levels):
        raise click.UsageError(f"a level of the pool is {HOSTNAME}, so each of its domains has one node: --nodes 1")
    if cluster.broken.unlabelled and not cluster.levels:
        raise click.UsageError("--unlabelled is for a pool with a topology")
