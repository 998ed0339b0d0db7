"""``kubectl tas pool plan``: shows what can still start in each pool on the existing nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from kubectl_tas.cli.backends import chosen_backends
from kubectl_tas.cli.nodesource import NodeSource, nodes_options, refuse_several
from kubectl_tas.cli.options import POOL, output_option, repository_option, template_options
from kubectl_tas.cli.session import open_session, refuse_errors, tell_errors
from kubectl_tas.cli.terminal import hand_over, say, show
from kubectl_tas.compare.cluster_nodes import GUARANTEE_EXCEEDS_NODES, check_nodes
from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.draw import planpage as pages
from kubectl_tas.gangs.admission import VERDICTS
from kubectl_tas.live.live_cluster import nodes_among
from kubectl_tas.place.capacity import capacity, gpus_of
from kubectl_tas.place.node_resources import Nodes
from kubectl_tas.report import json
from kubectl_tas.report.text import plural
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.words import nothing_called

_GPUS = click.IntRange(min=1, max=1_000_000)


@click.command("plan", epilog="Example: kubectl tas pool plan team --nodes nodes.json --nodes pods.json")
@click.argument("wanted", metavar="[POOL]...", nargs=-1, type=POOL)
@click.option("--gpus", metavar="N", type=_GPUS, help="GPUs of each pod; by default all of a common node.")
@output_option("text", "json")
@nodes_options
@template_options
@repository_option
def plan(
    wanted: Sequence[str],
    gpus: int | None,
    files: Sequence[str],
    live: bool,
    output: str,
    directory: str | None,
    **cluster: Any,
) -> int:
    """Show for each POOL its guarantee, the work declared for it, and the largest gang that can still start.

    The gang has room on the nodes: anywhere, and in one domain of each level. Without --nodes, the command asks the
    backends' clusters. Exits 1 if the nodes lack GPUs that pools are guaranteed.
    """
    session = open_session(directory)
    if refuse_errors(session.without(VERDICTS)):
        return 1
    fleet = session.fleet
    pools = list(_chosen(fleet, wanted, cluster["backend"]))
    source = NodeSource(fleet, files, cluster, live=live)
    if files:
        refuse_several(pool.backend.name for pool in pools)
    found = [_planned(fleet, pool, source.nodes(pool.backend.name), gpus) for pool in pools]
    broken = [item for name in sorted({pool.backend.name for pool in pools}) for item in _not_kept(fleet, source, name)]
    if output == "json":
        hand_over(json.dump(pages.data(found, broken)))
    else:
        show(pages.render(found, broken))
    tell_errors(session)
    return 1 if broken else 0


def _chosen(fleet: Fleet, wanted: Sequence[str], backend: str | None) -> Iterator[FleetPool]:
    """Returns the pools that the user means, each once. Raises a usage error if there are none, or one has no KAI."""
    chosen_backends(fleet, backend)
    known = {pool.name: pool for pool in fleet.pools if backend in (None, pool.backend.name)}
    for word in wanted:
        target = fleet.target(word)
        if target is not None and target[1] is not None:
            own = f"{target[1].canonical} is a subpool, which uses the nodes of its pool"
            raise click.UsageError(f"{own}; name {target[0].name}")
        if names.fold(word) not in known:
            raise click.UsageError(nothing_called("pool", word, sorted(known)))
    meant = [known[name] for name in dict.fromkeys(map(names.fold, wanted))] or list(known.values())
    without = [pool for pool in meant if not pool.backend.is_kai]
    if without and wanted:
        raise click.UsageError(f"pool {without[0].name} is for backend {without[0].backend.name}, which has no KAI")
    if without:
        say(f"Left out: {plural(len(without), 'pool')} for backends without KAI.", err=True)
    if len(without) == len(meant):
        raise click.UsageError("there is no pool to plan for")
    return (pool for pool in meant if pool.backend.is_kai)


def _planned(fleet: Fleet, pool: FleetPool, nodes: Nodes, pod_gpus: int | None) -> pages.Planned:
    own = [item for item in fleet.submissions if item.pool.name == pool.name]
    fixed, preemptible = (sum(item.gpus for item in own if item.is_preemptible == low) for low in (False, True))
    within = [item for item in fleet.pools if any(above.name == pool.name for above in item.chain)]
    return pages.Planned(pool, capacity(pool, nodes, pod_gpus), gpus_of(within, nodes), fixed, preemptible)


def _not_kept(fleet: Fleet, source: NodeSource, backend: str) -> Iterator[Diagnostic]:
    """Yields a finding for each guarantee that the nodes of a cluster cannot keep."""
    (own,) = chosen_backends(fleet, backend)
    findings = check_nodes(fleet, own, nodes_among(source.objects(backend)))
    return (item for item in findings if item.rule == GUARANTEE_EXCEEDS_NODES)
