"""``kubectl tas topology``: shows and suggests the topologies that placements refer to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from kubectl_tas.base import yaml
from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import nothing_called
from kubectl_tas.cli.backends import cluster_options, given_clusters, named_clusters, refuse_several, target_of
from kubectl_tas.cli.options import LIST, POOL, TARGET, TOPOLOGY, CommandGroup, output_option, repository_option
from kubectl_tas.cli.session import Session, open_session, open_summaries, tell_errors, tell_unread
from kubectl_tas.cli.terminal import hand_over, hand_over_answer, say, show, show_list
from kubectl_tas.compare.cluster_nodes import Coverage, coverage, may_use
from kubectl_tas.compare.nodelevels import suggest as suggested
from kubectl_tas.compare.topology_drift import Drift, TopologyUse, declared_uses, drifts, live_uses
from kubectl_tas.draw import topologytables as pages
from kubectl_tas.draw.pooltables import TopologyKeys, keys
from kubectl_tas.facts import spellings
from kubectl_tas.live.cliquesets import GroveState
from kubectl_tas.live.kubectl import NoSuchResourceError
from kubectl_tas.live.live_cluster import Cluster, LiveNode
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet


def _names(fleet: Fleet) -> list[str]:
    return [item.name for item in fleet.topologies]


@click.group(cls=CommandGroup, epilog="Example: kubectl tas topology list")
def topology() -> None:
    """Show topologies, and who uses them."""


@topology.command("list", epilog="Example: kubectl tas topology list --pool team")
@click.option("--pool", metavar="POOL", type=TARGET, help="List the topology keys of this pool.")
@output_option(*LIST)
@repository_option
def list_topologies(output: str, pool: str | None, directory: str | None) -> int:
    """List all topologies with their levels, from the coarsest to the finest, and who uses them."""
    if pool is not None:
        return _list_keys(open_summaries(directory), pool, output)
    session = open_session(directory)
    show_list(
        output,
        answer=lambda: pages.listed(session.fleet),
        names=lambda: _names(session.fleet),
        table=lambda: pages.render(session.fleet, wide=output == "wide"),
        none="This repository has no topologies.",
    )
    return tell_errors(session)


def _list_keys(session: Session, name: str, output: str) -> int:
    """Lists the topology keys of a pool, from the coarsest to the finest, and returns the exit code."""
    pool, _ = target_of(session.fleet, name)
    show_list(
        output,
        answer=lambda: TopologyKeys(pool),
        names=lambda: [level.key for level in pool.levels],
        table=lambda: keys(pool, wide=output == "wide"),
        none=f"Pool {pool.name} has no topology keys.",
    )
    return tell_errors(session)


@topology.command(epilog="Example: kubectl tas topology describe racks")
@click.argument("name", type=TOPOLOGY)
@repository_option
def describe(name: str, directory: str | None) -> int:
    """Show all about the topology NAME: its levels, the Topology objects it becomes, and who uses it."""
    session = open_session(directory)
    found = next((item for item in session.fleet.topologies if item.name == name), None)
    if found is None:
        raise click.UsageError(nothing_called("topology", name, _names(session.fleet)))
    show(pages.page(session.fleet, found))
    return tell_errors(session)


def _named(context: click.Context, option: click.Parameter, given: str) -> str:
    """Returns a name that the API server accepts. Raises a usage error for any other."""
    refused = spellings.subdomain(given)
    if refused:
        raise click.BadParameter(f"{given!r} {refused[0]}")
    return given


@topology.command(epilog="Example: kubectl tas topology suggest --context prod")
@output_option("table", "yaml", "json")
@click.option("--pool", metavar="POOL", type=POOL, help="Look only at the nodes of this pool.")
@click.option("--label", "labels", metavar="LABEL", multiple=True, help="Use this node label. Repeatable.")
@click.option(
    "--name",
    default="cluster",
    show_default=True,
    callback=_named,
    help="The name of the topology of -o yaml.",
)
@cluster_options
@repository_option
def suggest(
    output: str, pool: str | None, labels: Sequence[str], name: str, directory: str | None, **cluster: Any
) -> int:
    """Suggest the levels of a topology by the labels of a cluster's nodes.

    It reads labels that Kubernetes, clouds and GPU components set, and how they nest on the nodes. The table ends with
    the topology_keys of a pool; -o yaml prints a ClusterTopology for topologies/. For --cluster-state the output of
    `kubectl get nodes -o json` is enough.

    Exits 1 if no label makes a level.
    """
    session = open_session(directory, allow_empty=True)
    chosen = session.fleet.pool_by_name.get(names.fold(pool)) if pool else None
    if pool and chosen is None:
        raise click.UsageError(nothing_called("pool", pool, sorted(session.fleet.pool_by_name)))
    if chosen and not cluster["backend"]:
        cluster["backend"] = chosen.backend.name
    clusters = given_clusters(session.fleet, cluster)
    refuse_several(sorted(clusters.names))
    answers = clusters.ask(lambda one: one.nodes() or [])
    for nodes in answers.found.values():
        found = [node for node in nodes if chosen is None or may_use(chosen, node.labels)]
        if not found:
            hint = "Correct nodes.selector and nodePool of the pool." if pool else "Join nodes to the cluster."
            raise TasError(f"no node {f'is for pods of pool {pool}' if pool else 'is in the cluster'}", hint=hint)
        suggestion = suggested(found, labels)
        if output == "json":
            hand_over_answer(suggestion)
        elif output == "table":
            show(pages.suggested(suggestion))
        elif suggestion.levels:
            hand_over(yaml.block(pages.suggested_topology(suggestion, name)))
        if not suggestion.levels:
            say("No label of these nodes makes a level. Name those that tell racks or zones with --label.", err=True)
            return 1
    return tell_unread(answers.failed)


@topology.command(epilog="Example: kubectl tas topology usage --context prod")
@output_option("table", "json")
@click.option("--check", is_flag=True, help="Show whether all levels are available; exit 1 if not.")
@click.option("--live", is_flag=True, help="Show the PodCliqueSets and topologies of the cluster.")
@cluster_options
@repository_option
def usage(output: str, check: bool, live: bool, directory: str | None, **cluster: Any) -> int:
    """List the PodCliqueSets by the cluster topology that they use.

    The sets are those of the repository, or of the cluster that you name. --check adds whether all levels are available
    and, for a cluster, the topologies that differ from the files.

    For a cluster, the command counts the nodes outside of each topology, which lack the label of a level.
    """
    session = open_session(directory)
    fleet = session.fleet
    asked = named_clusters(fleet, cluster, live=live)
    answers = asked.ask(lambda one: _read(fleet, one)) if asked else None
    seen = _seen(fleet, answers.found, check=check) if answers else None
    uses = seen.uses if seen else declared_uses(fleet)
    if output == "json":
        parts = (seen.drifts, seen.nodes) if seen else (None, None)
        hand_over_answer(pages.TopologyUses("cluster" if seen else "repository", pages.in_order(uses), *parts))
    elif uses:
        show(pages.conditions(uses) if check else pages.uses(uses))
    elif seen is None:
        say("This repository has no PodCliqueSets.", err=True)
    elif not seen.has_only_nodes:
        namespace = cluster["namespace"]
        say(f"{f'The namespace {namespace}' if namespace else 'The cluster'} has no PodCliqueSets.", err=True)
    if seen and check and seen.drifts and output != "json":
        show("\n" + pages.differences(seen.drifts))
    if seen and seen.nodes and output != "json":
        show("\n" * bool(uses) + pages.covered(seen.nodes))
    unread = tell_unread(answers.failed) if answers else 0
    is_wrong = (seen is not None and seen.drifts) or any(use.is_unavailable for use in uses)
    return tell_errors(session) or unread or int(check and bool(is_wrong))


@dataclass(frozen=True, slots=True)
class _Seen:
    """The sets, topologies and nodes of clusters."""

    uses: list[TopologyUse]
    drifts: list[Drift]
    nodes: list[Coverage] | None
    """None if no nodes are known."""
    has_only_nodes: bool
    """Whether the PodCliqueSets are unknown."""


def _seen(fleet: Fleet, found: Mapping[str, tuple[GroveState, Sequence[LiveNode] | None]], *, check: bool) -> _Seen:
    """Collects the sets, topologies and nodes of all clusters, each with its backend."""
    seen = _Seen([], [], None, has_only_nodes=True)
    for name, (state, nodes) in found.items():
        backend = name if len(fleet.backends) > 1 else None
        if nodes is not None:
            seen = replace(seen, nodes=[*(seen.nodes or []), *coverage(fleet, name, nodes)])
        if nodes is None or state.sets is not None:
            uses = live_uses(state, check=check, backend=backend)
            seen = replace(seen, uses=[*seen.uses, *uses], has_only_nodes=False)
        seen = replace(seen, drifts=[*seen.drifts, *drifts(fleet, state, backend)])
    return seen


def _read(fleet: Fleet, cluster: Cluster) -> tuple[GroveState, Sequence[LiveNode] | None]:
    """Returns Grove's objects, and the nodes; None for the nodes if they are unknown.

    A cluster without Grove still has nodes. Raises TasError if neither can be read.
    """
    missing: NoSuchResourceError | None = None
    try:
        state = cluster.grove()
    except NoSuchResourceError as error:
        state, missing = GroveState(None, None, None), error
    try:
        nodes = cluster.nodes() if fleet.topologies else None
    except TasError as error:
        if cluster.file is not None:
            raise
        nodes = None  # they may be hidden from who may see sets
        if missing is None:
            say(f"The nodes are not counted: {error.message}", err=True)
    if missing is not None and nodes is None:
        raise missing
    return state, nodes
