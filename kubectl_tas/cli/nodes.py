"""``kubectl tas nodes``: prints the nodes of a cluster that does not exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from kubectl_tas.cli.options import POOL, Group, repository_option
from kubectl_tas.cli.session import open_session, tell_errors
from kubectl_tas.cli.terminal import hand_over, say
from kubectl_tas.kai import Feature
from kubectl_tas.node_places import HOSTNAME, LIKE, place_of
from kubectl_tas.place.synthetic import Broken, Cluster, Domains, Size, generate
from kubectl_tas.resolve import names
from kubectl_tas.words import nothing_called

MAX_NODES = 100_000
_FEW = click.IntRange(min=0, max=1_000_000)


@click.group(cls=Group, epilog="Example: kubectl tas nodes generate --pool team --nodes 18")
def nodes() -> None:
    """Generate nodes to plan with."""


@nodes.command("generate", epilog="Example: kubectl tas nodes generate --pool team --domains zone=2")
@click.option("--pool", metavar="POOL", type=POOL, help="Take the topology and labels of this pool.")
@click.option(
    "--like", type=click.Choice(sorted(LIKE)), help="Take the labels of this cloud or component, not of a pool."
)
@click.option(
    "--domains",
    metavar="KEY=N",
    multiple=True,
    help="Domains of a level in each of the level above, by default 1, with --like 2. Repeatable.",
)
@click.option(
    "--nodes",
    "count",
    metavar="N",
    type=click.IntRange(min=1),
    help="Nodes in each finest domain, by default 4, or 1 if that level is the host's name.",
)
@click.option("--gpus", metavar="N", type=_FEW, default=8, show_default=True, help="GPUs of a node.")
@click.option("--cpu", metavar="N", type=_FEW, default=96, show_default=True, help="Cores of a node.")
@click.option("--memory", metavar="N", type=_FEW, default=1024, show_default=True, help="Memory of a node in GiB.")
@click.option("--cordoned", metavar="N", type=_FEW, default=0, help="Nodes that take no new pods.")
@click.option("--not-ready", metavar="N", type=_FEW, default=0, help="Nodes that are not ready.")
@click.option("--unlabelled", metavar="N", type=_FEW, default=0, help="Nodes without the label of the finest level.")
@repository_option
def generate_nodes(
    pool: str | None,
    like: str | None,
    domains: Sequence[str],
    count: int | None,
    directory: str | None,
    **numbers: int,
) -> int:
    """Print the nodes of a cluster that does not exist, as `kubectl get nodes -o json` would, for `fit --nodes`.

    --pool gives the nodes the labels of the pool's topology, and the labels that the pool's pods select. --like gives
    them the labels of a cloud or a component, for `topology suggest`.
    """
    if (pool is None) == (like is None):
        raise click.UsageError("pass --pool or --like, one of the two")
    session, found = None, None
    if pool is not None:
        session = open_session(directory)
        found = session.fleet.pool_by_name.get(names.fold(pool))
        if found is None:
            raise click.UsageError(nothing_called("pool", pool, sorted(session.fleet.pool_by_name)))
    places = [place for label in LIKE.get(like or "", ()) if (place := place_of(label))]
    levels = [(level.key, level.label) for level in (found.levels if found else places)]
    counts = _counts(f"pool {found.name}" if found else f"--like {like}", [key for key, _ in levels], domains)
    cluster = Cluster(
        levels=tuple(Domains(key, label, counts.get(key, 1 if found else 2)) for key, label in levels),
        nodes=count or (1 if any(label == HOSTNAME for _, label in levels) else 4),
        size=Size(numbers["gpus"], numbers["cpu"], numbers["memory"]),
        broken=Broken(numbers["cordoned"], numbers["not_ready"], numbers["unlabelled"]),
        labels={**found.nodes.selector, **found.shard_labels} if found else {},
    )
    _refuse(cluster)
    hand_over(generate(cluster))
    if found and cluster.common > 1 and not found.backend.has(Feature.COARSE_REQUIRED):
        *above, common = (level.key for level in cluster.levels[: cluster.common])
        say(
            f"All nodes are in one {common}, and KAI places no gang there that requires {' or '.join(above)}: "
            f"--domains {above[0]}=2 makes more.",
            err=True,
        )
    return tell_errors(session) if session else 0


def _counts(whose: str, keys: Sequence[str], written: Sequence[str]) -> Mapping[str, int]:
    """Returns the number of domains by key. Raises a usage error if a key is not a level, or a number is invalid."""
    found: dict[str, int] = {}
    for text in written:
        key, _, number = text.partition("=")
        is_number = number.isascii() and number.isdigit() and len(number) <= len(str(MAX_NODES))
        if not is_number or not 1 <= int(number) <= MAX_NODES:
            raise click.UsageError(f"--domains {text}: write KEY=N, with N from 1 to {MAX_NODES}")
        if key not in keys:
            raise click.UsageError(f"--domains {text}: {nothing_called(f'level of {whose}', key, keys)}")
        if key in found:
            raise click.UsageError(f"--domains is given twice for {key}")
        found[key] = int(number)
    return found


def _refuse(cluster: Cluster) -> None:
    """Raises a usage error if there are too many nodes, or fewer nodes than broken ones."""
    if cluster.count > MAX_NODES:
        raise click.UsageError(f"that would be {cluster.count} nodes; {MAX_NODES} are the most")
    if cluster.broken.count > cluster.count:
        raise click.UsageError(f"{cluster.broken.count} of {cluster.count} nodes cannot be broken")
    if cluster.nodes > 1 and any(level.label == HOSTNAME for level in cluster.levels):
        raise click.UsageError(f"a level of the pool is {HOSTNAME}, so each of its domains has one node: --nodes 1")
    if cluster.broken.unlabelled and not cluster.levels:
        raise click.UsageError("--unlabelled is for a pool with a topology")
