"""``kubectl tas cluster``, ``nodes`` and ``snapshot``: write the state of a cluster for later.

The state is that of a cluster, for commands that read it; of one that does not exist; or of a repository and a cluster
together, for KAI's own snapshot tool.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.words import nothing_called, shortened
from kubectl_tas.cli.addressing import meant, open_work, work_arguments
from kubectl_tas.cli.backends import NodeSource, backend_option, chosen_backends, given_clusters, nodes_options
from kubectl_tas.cli.options import (
    FILE,
    POOL,
    TO_FILE,
    CommandGroup,
    kubectl_options,
    repository_option,
    template_options,
    to_option,
)
from kubectl_tas.cli.session import Session, open_session, refuse_errors, tell_errors, tell_warnings
from kubectl_tas.cli.terminal import hand_over, hand_over_bytes, say, waiting
from kubectl_tas.emit.disk import write_file
from kubectl_tas.facts.kai import Feature
from kubectl_tas.facts.node_places import HOSTNAME, LIKE, place_of
from kubectl_tas.gangs.admission import VERDICTS
from kubectl_tas.load.source import CONFIG_FILE
from kubectl_tas.report.text import plural
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.pools import Submission

if TYPE_CHECKING:
    from kubectl_tas.place.kai_snapshot import Doubts
    from kubectl_tas.place.synthetic import SyntheticCluster


@click.group(cls=CommandGroup, epilog="Example: kubectl tas cluster state --to prod.json")
def cluster() -> None:
    """Save the state of a cluster."""


@cluster.command(epilog="Example: kubectl tas cluster state --backend prod --to prod.json")
@to_option("FILE", FILE, TO_FILE, required=True)
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
    from kubectl_tas.live.cluster_state import record

    session = open_session(directory, allow_empty=True)
    if refuse_errors(session.of_files([CONFIG_FILE])):
        return 1
    clusters = given_clusters(session.fleet, {**cluster, "cluster_state": ()})
    if len(clusters.names) > 1:
        several = ", ".join(sorted(clusters.names))
        raise click.UsageError(f"a file is for one cluster; name its backend with --backend: {several}")
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


MAX_LISTED = 3
"""The most names that a message lists."""


@click.command("snapshot", epilog="Example: kubectl tas snapshot train --nodes nodes.json --to train.zip")
@work_arguments(many=True, required=False)
@to_option("FILE", FILE, TO_FILE, required=True)
@nodes_options
@template_options
@repository_option
def snapshot_command(
    work: Sequence[str], to: str, files: Sequence[str], live: bool, directory: str | None, **cluster: Any
) -> int:
    """Write a snapshot for KAI's own snapshot tool.

    KAI's snapshot tool runs the real scheduler on the file. It says what happens to WORK, by default to all work, after
    you apply it.
    """
    from kubectl_tas.compile.controllers import seen
    from kubectl_tas.place.kai_snapshot import SnapshotScheduler, snapshot

    if to == "-" and sys.stdout.isatty():
        raise click.UsageError("a snapshot is not for people to read: name a file with --to, or hand it to a program")
    session = open_work(directory, work, whole=True)
    if refuse_errors(session.without(VERDICTS)):  # the scheduler knows quotas
        return 1
    fleet = _chosen(session, work)
    backend = _only_backend(fleet, cluster["backend"])
    fleet = fleet.of_backend(backend.name)
    shard = _only_shard(fleet)
    source = NodeSource(fleet, files, {**cluster, "backend": backend.name}, live=live)
    nodes = source.nodes(backend.name)
    found = seen(fleet, backend)
    assert backend.release is not None
    pools = [pool for pool in fleet.pools if pool.shard == shard and pool.backend == backend]
    settings = fleet.settings_of(pools[0]) if pools else None
    scheduler = SnapshotScheduler(backend.release, backend.scheduler_name, backend.queue_labels[0], shard, settings)
    there = [*found.elsewhere, *source.scheduled(backend.name)]
    with waiting("Writing the snapshot"):
        content, doubts = snapshot(scheduler, there, found.objects)
    if to == "-":
        hand_over_bytes(content)
    else:
        write_file(Path(to), content)
    kinds = Counter(item["kind"] for item in found.objects)
    counts = plural(len(nodes.nodes), "node"), plural(kinds["PodGroup"], "PodGroup"), plural(kinds["Pod"], "pod")
    say(f"{'Printed' if to == '-' else f'Wrote {to}'}: {counts[0]}; {counts[1]} with {counts[2]}.", err=True)
    for line in (*(f"Left out: {name}: {why}." for name, why in found.left_out.items()), *_doubts(doubts)):
        say(line, err=True)
    tell_warnings(session)
    if to != "-":
        say(
            f"Next: ./snapshot-tool -filename {to} -verbosity 6 (KAI's own; docs/fit.md says how it is built)",
            err=True,
        )
    return 0


def _doubts(doubts: Doubts) -> Iterator[str]:
    """Yields a line for each thing that the scheduler decides without."""
    if doubts.taken:
        yield f"Assumed to exist: {shortened(doubts.taken, MAX_LISTED)}."
    if doubts.classes:
        yield f"Missing: PriorityClass {', '.join(doubts.classes)}; PodGroups with it have priority 50."
    if doubts.topologies:
        yield f"Missing: Topology {', '.join(doubts.topologies)}; PodGroups that name it are not placed."
    if doubts.claims:
        yield f"Missing: ResourceClaims of {plural(doubts.claims, 'pod')}, which will not be placed."
    if doubts.strangers:
        count = plural(doubts.strangers, "pod")
        yield f"Missing: the PodGroups of {count} on nodes; no queue is charged for them, and they stay."


def _chosen(session: Session, wanted: Sequence[str]) -> Fleet:
    """Returns the fleet with the chosen work and the work that shares its gangs, else raises a usage error."""
    fleet = session.fleet
    if not wanted:
        if not any((fleet.submissions, fleet.pod_groups)):
            raise TasError("there is no work to place", hint="Declare a workflow or a workload.")
        return fleet
    found: list[Submission] = []
    for word in wanted:
        found += meant(session, word)
    own = {id(item.declared) for item in found}
    shared = {id(item.shared_gang) for item in found if isinstance(item, FleetWorkload) and item.shared_gang}
    return replace(
        fleet,
        workflows=tuple(item for item in fleet.workflows if id(item.declared) in own),
        workloads=tuple(x for x in fleet.workloads if id(x.declared) in own or id(x.shared_gang) in shared),
        pod_groups=tuple(item for item in fleet.pod_groups if id(item.declared) in own),
        pod_clique_sets=tuple(item for item in fleet.pod_clique_sets if id(item.declared) in own),
    )


def _only_backend(fleet: Fleet, name: str | None) -> FleetBackend:
    """Returns the cluster of the work. Raises a usage error if there are several, or it has no KAI."""
    known = {item.name: item for item in chosen_backends(fleet, name)}
    used = {item.pool.backend.name for item in fleet.submissions} | {item.backend.name for item in fleet.pod_groups}
    meant = [known[name] for name in sorted(used & set(known))]
    kai = [item for item in meant if item.is_kai]
    if len(kai) == 1:
        return kai[0]
    if kai:
        listed = ", ".join(item.name for item in kai)
        raise click.UsageError(f"a snapshot is of one cluster; name its backend with --backend: {listed}")
    if meant:
        raise click.UsageError(f"the backend {meant[0].name} has no KAI")
    raise click.UsageError(f"there is no work for the backend {name}")


def _only_shard(fleet: Fleet) -> str | None:
    """Returns the shard of the scheduler for the work. Raises a usage error if there are several."""
    work = {item.name: item.pool.shard for item in fleet.submissions}
    shards = sorted({shard or "" for shard in work.values()})
    if len(shards) < 2:
        return shards[0] or None if shards else None
    listed = ", ".join(shard or "the one without a nodePool" for shard in shards)
    raise click.UsageError(f"a snapshot is of one shard of the scheduler; name work of one: {listed}")


MAX_NODES = 100_000
_FEW = click.IntRange(min=0, max=1_000_000)


@click.group(cls=CommandGroup, epilog="Example: kubectl tas nodes generate --pool team --nodes 18")
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
    help="Domains of this level in each domain above; by default 1, with --like 2. Repeatable.",
)
@click.option(
    "--nodes",
    "count",
    metavar="N",
    type=click.IntRange(min=1),
    help="Nodes in each finest domain, by default 4. If that level is the host's name: hosts in each domain above.",
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
    from kubectl_tas.place.synthetic import Broken, Size, SyntheticCluster, SyntheticDomains, generate

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
    host = next((key for key, label in levels if label == HOSTNAME), None)
    if host is not None and host in counts and count is not None:
        raise click.UsageError(f"--nodes and --domains {host}={counts[host]} say the same; pass one of the two")
    domains_above = 1 if found else 2
    cluster = SyntheticCluster(
        levels=tuple(
            SyntheticDomains(key, label, counts.get(key, (count or 4) if key == host else domains_above))
            for key, label in levels
        ),
        nodes=1 if host else count or 4,
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


def _refuse(cluster: SyntheticCluster) -> None:
    """Raises a usage error if there are too many nodes, or fewer nodes than broken ones."""
    if cluster.count > MAX_NODES:
        raise click.UsageError(f"that would be {cluster.count} nodes; {MAX_NODES} are the most")
    if cluster.broken.count > cluster.count:
        raise click.UsageError(f"{cluster.broken.count} of {cluster.count} nodes cannot be broken")
    if cluster.broken.unlabelled and not cluster.levels:
        raise click.UsageError("--unlabelled is for a pool with a topology")
