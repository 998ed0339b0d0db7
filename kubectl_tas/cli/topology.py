"""``kubectl tas topology``: the hierarchies that placements refer to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.cli.cluster import cluster_options
from kubectl_tas.cli.completion import from_fleet, topology_names
from kubectl_tas.cli.session import open_session, output_option, repository_option, tell_errors
from kubectl_tas.cli.terminal import hand_over, say, show

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kubectl_tas.compare.cluster import Placed
    from kubectl_tas.live.grove import GroveState, SetKey
    from kubectl_tas.report.usage import Use
    from kubectl_tas.resolve.fleet import Fleet


@click.group()
def topology() -> None:
    """Show topologies, and who uses them."""


@topology.command("list")
@output_option("table", "json")
@repository_option
def list_topologies(output: str, directory: str | None) -> int:
    """List all topologies with their levels, from the coarsest to the finest, and who uses them."""
    from kubectl_tas.report import json, table

    session = open_session(directory)
    found = _topologies(session.fleet)
    if output == "json":
        hand_over(json.dump({"version": 1, "topologies": found}))
    elif found:
        rows = [
            (
                item["name"],
                item["kind"],
                " > ".join(level["key"] for level in item["levels"]),
                ", ".join(item["pools"]) or "-",
                ", ".join(item["podCliqueSets"]) or "-",
            )
            for item in found
        ]
        show(table.render(("NAME", "FROM", "LEVELS", "POOLS", "PODCLIQUESETS"), rows))
    else:
        say("This repository has no topologies.", err=True)
    return tell_errors(session)


def _topologies(fleet: Fleet) -> list[dict[str, Any]]:
    from kubectl_tas.draw.pages import set_name, sets_of

    return [
        {
            "name": topology.name,
            "kind": topology.declared.spec.kind,
            "file": topology.declared.origin.path,
            "levels": [{"key": level.key, "label": level.label} for level in topology.levels],
            "pools": [pool.name for pool in fleet.pools if pool.topology == topology],
            "podCliqueSets": [set_name(fleet, item) for item in sets_of(fleet, topology)],
        }
        for topology in fleet.topologies
    ]


@topology.command()
@click.argument("name", shell_complete=from_fleet(topology_names))
@repository_option
def describe(name: str, directory: str | None) -> int:
    """Show all about the topology NAME: its levels, the Topology objects it becomes, and who uses it."""
    from kubectl_tas.draw.pages import topology_page

    session = open_session(directory)
    found = next((item for item in session.fleet.topologies if item.name == name), None)
    if found is None:
        known = ", ".join(topology_names(session.fleet)) or "none"
        raise click.UsageError(f'no topology "{name}"; there is {known}')
    show(topology_page(session.fleet, found))
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
    from kubectl_tas.compare.cluster import drifts
    from kubectl_tas.report import json, usage
    from kubectl_tas.report.usage import Difference

    session = open_session(directory)
    if live or any(cluster.values()):
        from kubectl_tas.cli.history import read_grove

        state: GroveState | None = read_grove(cluster)
    else:
        state = None
    if state is None:
        uses, differences = _declared_uses(session.fleet), None
    else:
        uses = _live_uses(state, check=check)
        differences = [Difference(d.name, d.declared, d.live) for d in drifts(session.fleet, state)]
    if output == "json":
        source = "repository" if state is None else "cluster"
        hand_over(json.dump(usage.data(uses, source, differences)))
    elif not uses:
        namespace = f"The namespace {state.namespace}" if state and state.namespace else "The cluster"
        say(f"{'This repository' if state is None else namespace} has no PodCliqueSets.", err=True)
    else:
        show(usage.render_conditions(uses) if check else usage.render(uses))
    if check and differences and output != "json":
        show("\n" + usage.render_differences(differences))
    unavailable = any(use.status in ("True", "Unknown") for use in uses)
    failed = tell_errors(session)
    return 1 if failed or (check and (unavailable or differences)) else 0


def _declared_uses(fleet: Fleet) -> list[Use]:
    """What each set of the repository uses, judged by the topologies of the repository."""
    from kubectl_tas.compare.cluster import declared_levels, domains
    from kubectl_tas.draw.pages import set_cluster

    known = domains(declared_levels(fleet))
    return [
        _use(
            item.key,
            item.spec,
            known,
            is_named=bool(item.named),
            backend=set_cluster(fleet, item),
        )
        for item in fleet.pod_clique_sets
    ]


def _live_uses(state: GroveState, *, check: bool) -> list[Use]:
    """What each set of the cluster uses, judged by the topologies of the cluster.

    Raises TasError where the sets are not known, and where their topologies are not although ``check`` needs them.
    """
    from kubectl_tas.compare.cluster import domains
    from kubectl_tas.errors import TasError

    hint = "Add what `kubectl get podcliquesets,clustertopologies -A -o json` prints."
    if state.sets is None:
        raise TasError("the file has no PodCliqueSets, so nobody knows who uses what", hint=hint)
    if check and state.topologies is None and state.sets:
        raise TasError("the file has no cluster topologies, so no level can be checked", hint=hint)
    known = None if state.topologies is None else domains(state.topologies)
    return [_use(key, item, known, is_named=item.is_named) for key, item in state.sets.items()]


def _use(
    key: SetKey,
    item: Placed,
    known: Mapping[str, tuple[str, ...]] | None,
    *,
    is_named: bool,
    backend: str | None = None,
) -> Use:
    from kubectl_tas.compare.cluster import condition
    from kubectl_tas.report.usage import Use

    state = None if known is None else condition(item, known)
    return Use(
        namespace=key[0],
        name=key[1],
        topology=item.topology_name,
        is_default=item.topology_name is not None and not is_named,
        status=state.status if state else None,
        reason=state.reason if state else "",
        missing=state.missing if state else (),
        backend=backend,
    )
