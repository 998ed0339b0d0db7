"""``kubectl tas pool``: what pools are guaranteed, and what they offer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubectl_tas.cli.cluster import cluster_options, read_cluster
from kubectl_tas.cli.completion import from_fleet, pool_names
from kubectl_tas.cli.session import Session, open_session, output_option, repository_option, tell_errors
from kubectl_tas.cli.terminal import hand_over, say, show

if TYPE_CHECKING:
    from kubectl_tas.live.cluster import ClusterState
    from kubectl_tas.report.pools import Row
    from kubectl_tas.resolve.pools import FleetPool

FORMATS = ("table", "wide", "json", "yaml", "csv")
DECLARED, CLUSTER = "declared", "cluster"
SOURCES = {
    DECLARED: "declared by the HIGH and NORMAL work of this repository",
    CLUSTER: "held in the cluster by work that cannot be preempted",
}
"""Where usage comes from."""


@click.group()
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
    from kubectl_tas import yaml
    from kubectl_tas.report import json, pools

    session = open_session(directory)
    state = read_cluster(cluster) if live or any(cluster.values()) else None
    rows = _rows(session, state, archived=archived)
    source = DECLARED if state is None else CLUSTER
    if output == "json":
        hand_over(json.dump(pools.data(rows, source)))
    elif output == "yaml":
        hand_over(yaml.block(pools.data(rows, source)))
    elif output == "csv":
        hand_over(pools.comma_separated(rows))
    else:
        show(pools.render(rows, wide=output == "wide"))
    say(f"Used: {SOURCES[source]}.", err=True)
    return tell_errors(session)


@pool.command()
@click.argument("name", shell_complete=from_fleet(pool_names))
@repository_option
def describe(name: str, directory: str | None) -> int:
    """Show all about the pool, or pool--subpool, NAME."""
    from kubectl_tas.draw.pages import pool_page

    session = open_session(directory)
    found = _find(session, name)
    subpool = next((item for item in found.subpools if item.canonical == name), None)
    show(pool_page(session.fleet, found, subpool))
    return tell_errors(session)


@pool.command("topology-keys")
@click.argument("name", shell_complete=from_fleet(pool_names))
@output_option("table", "json")
@repository_option
def topology_keys(name: str, output: str, directory: str | None) -> int:
    """List the topology keys that workflows of the pool NAME can use, from the coarsest to the finest."""
    from kubectl_tas.report import json, table

    session = open_session(directory)
    found = _find(session, name)
    if output == "json":
        keys = [{"key": level.key, "label": level.label} for level in found.levels]
        hand_over(json.dump({"version": 1, "pool": found.name, "topologyKeys": keys}))
    elif found.levels:
        rows = [(level.key, level.label) for level in found.levels]
        show(table.render(("KEY", "LABEL"), rows))
    else:
        say(f"Pool {found.name} has no topology keys.", err=True)
    return tell_errors(session)


def _rows(session: Session, state: ClusterState | None, *, archived: bool) -> list[Row]:
    from kubectl_tas.gangs.admission import Admission, accounts
    from kubectl_tas.report.pools import Row

    fleet = session.fleet
    used: dict[str, int | None] = dict(Admission(fleet).declared)
    if state is not None:
        found = {queue: usage.used for queue, usage in state.queues.items()}
        used = {queue: found.get(queue) for backend in fleet.backends for queue in fleet.leaf_queues(backend)}
    return [
        Row(
            name=account.name,
            state=account.state,
            quota=account.quota,
            total=account.pool.guarantee if account.subpool is None and account.pool.is_split else None,
            used=account.used,
            available=account.available,
            limit=None if account.pool.maximum < 0 else account.pool.maximum,
            weight=account.pool.weight,
            running=_running(state, account.queue),
            backend=account.pool.backend.name,
            queue=account.queue,
            file=(account.subpool or account.pool).declared.origin.path,
        )
        for account in accounts(fleet, used, archived=archived)
    ]


def _running(state: ClusterState | None, queue: str | None) -> int | None:
    usage = state.queues.get(queue) if state is not None and queue is not None else None
    return usage.workflows if usage is not None and not usage.doubt else None


def _find(session: Session, name: str) -> FleetPool:
    """The pool of that name, or of the subpool of that name; a usage error where there is none."""
    parent, _, short = name.partition("--")
    found = session.fleet.pool_by_name.get(parent)
    known = pool_names(session.fleet)
    if found is None or (short and name not in known):
        raise click.UsageError(f'no pool "{name}"; there is {", ".join(known) or "none"}')
    return found
