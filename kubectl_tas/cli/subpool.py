"""``kubectl tas subpool``: edits of the files that declare subpools."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.cli.cluster import cluster_options, read_cluster
from kubectl_tas.cli.completion import from_fleet
from kubectl_tas.cli.editing import edit, edit_options
from kubectl_tas.cli.session import open_session, output_option, repository_option, tell_errors
from kubectl_tas.cli.terminal import hand_over, say, show
from kubectl_tas.errors import TasError

if TYPE_CHECKING:
    from kubectl_tas.diagnostics import Diagnostic
    from kubectl_tas.edit.subpools import Edit
    from kubectl_tas.live.cluster import ClusterState
    from kubectl_tas.resolve.fleet import Fleet
    from kubectl_tas.resolve.pools import FleetSubpool


class _Quota(click.ParamType):  # type: ignore[type-arg]
    """Whole GPUs, or a share of the parent."""

    name = "gpus"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        from kubectl_tas.model.pool import SHARE

        text = str(value).strip()
        if re.fullmatch(r"[0-9]{1,9}", text):
            return int(text)
        if not re.fullmatch(SHARE, text):
            self.fail(f'{text!r} is neither whole GPUs such as 30 nor a share of the parent such as "33%"', param, ctx)
        return text


def _parents(fleet: Fleet) -> list[str]:
    return [pool.name for pool in fleet.pools]


def _subpools(fleet: Fleet) -> list[str]:
    return [subpool.name for pool in fleet.pools for subpool in pool.subpools]


_parent = click.argument("parent", shell_complete=from_fleet(_parents))
_name = click.argument("name", shell_complete=from_fleet(_subpools))
_quota = click.option(
    "--quota", type=_Quota(), required=True, help='Whole GPUs, or a share of the parent such as "33%".'
)


@click.group()
def subpool() -> None:
    """Create, change, delete and list subpools.

    The YAML files are the record: an edit changes only the value it is about, and is refused, with every byte
    as it was, where the repository as it would be has an error that it did not have before.
    """


@subpool.command()
@_parent
@click.argument("name")
@_quota
@edit_options
def create(parent: str, name: str, quota: int | str, dry_run: bool, render_after: bool, directory: str | None) -> int:
    """Create the subpool NAME of the pool PARENT, in a file of its own."""
    from kubectl_tas.edit import subpools

    def plan(fleet: Fleet) -> Edit | Diagnostic:
        return subpools.create(fleet, parent, name, quota)

    return edit(directory, plan, dry_run=dry_run, render_after=render_after)


@subpool.command()
@_parent
@_name
@_quota
@edit_options
def update(parent: str, name: str, quota: int | str, dry_run: bool, render_after: bool, directory: str | None) -> int:
    """Give the ACTIVE subpool NAME of PARENT another quota.

    A lower quota ends nothing that runs: what is available is negative until enough has ended.
    """
    from kubectl_tas.edit import subpools

    def plan(fleet: Fleet) -> Edit | Diagnostic:
        return subpools.update(fleet, parent, name, quota)

    return edit(directory, plan, dry_run=dry_run, render_after=render_after)


@subpool.command()
@_parent
@_name
@click.option("--quota", type=_Quota(), help="Another quota than it had.")
@edit_options
def recreate(
    parent: str, name: str, quota: int | str | None, dry_run: bool, render_after: bool, directory: str | None
) -> int:
    """Make the ARCHIVED subpool NAME of PARENT ACTIVE again."""
    from kubectl_tas.edit import subpools

    def plan(fleet: Fleet) -> Edit | Diagnostic:
        return subpools.recreate(fleet, parent, name, quota)

    return edit(directory, plan, dry_run=dry_run, render_after=render_after)


@subpool.command()
@_parent
@_name
@click.option("--used", type=click.IntRange(min=0), metavar="N", help="GPUs in use there; the cluster is not asked.")
@cluster_options
@edit_options
def delete(
    parent: str,
    name: str,
    used: int | None,
    dry_run: bool,
    render_after: bool,
    directory: str | None,
    **cluster: str | None,
) -> int:
    """Delete the ACTIVE subpool NAME of PARENT.

    It becomes ARCHIVED where nothing runs in it, else DELETING: it takes no new work, and `subpool drain`
    archives it when it is empty. Whether anything runs is asked of the cluster, unless --used says it.
    """
    from kubectl_tas.diagnostics import Diagnostic
    from kubectl_tas.edit import subpools

    def active(fleet: Fleet) -> list[FleetSubpool]:
        found = subpools.find(fleet, parent, name)
        return [] if isinstance(found, Diagnostic) or found.state != "ACTIVE" else [found]

    state = _ask(cluster, directory, active) if used is None else None

    def plan(fleet: Fleet) -> Edit | Diagnostic:
        found = subpools.find(fleet, parent, name)
        if isinstance(found, Diagnostic):
            return found
        if found.state != "ACTIVE":
            return subpools.delete(fleet, parent, name, in_use=True)
        if used is not None:
            return subpools.delete(fleet, parent, name, in_use=used > 0)
        return subpools.delete(fleet, parent, name, in_use=_in_use(state, found))

    return edit(directory, plan, dry_run=dry_run, render_after=render_after)


@subpool.command()
@click.option("--used", type=click.IntRange(min=0), metavar="N", help="GPUs in use in each; the cluster is not asked.")
@click.option("--watch", is_flag=True, help="Look again every drainInterval until none is left.")
@cluster_options
@edit_options
def drain(
    used: int | None, watch: bool, dry_run: bool, render_after: bool, directory: str | None, **cluster: str | None
) -> int:
    """Archive every DELETING subpool in which nothing runs any more.

    Those whose queue the cluster does not have are left as they are: they may live in another cluster.
    """
    from kubectl_tas.edit import subpools

    if watch and used is not None:
        raise click.UsageError("--watch does not go with --used, which would say the same each time")

    while True:
        state = _ask(cluster, directory, subpools.draining) if used is None else None
        known = {name: usage.in_use for name, usage in state.queues.items()} if state else {}

        def plan(fleet: Fleet, known: dict[str, bool | None] = known) -> Sequence[Edit]:
            told = {item.queue: used > 0 for item in subpools.draining(fleet)} if used is not None else known
            return subpools.drain(fleet, told)

        code = edit(directory, plan, dry_run=dry_run, render_after=render_after)
        if code or dry_run:
            return code
        fleet = open_session(directory).fleet
        left = subpools.draining(fleet)
        for item in left:
            say(f"{item.canonical}: still DELETING{_doubt(state, item)}", err=True)
        if not watch or not left:
            return code
        time.sleep(_seconds(fleet.config.drainInterval))


@subpool.command("list")
@click.argument("parent", required=False, shell_complete=from_fleet(_parents))
@output_option("table", "json")
@repository_option
def list_subpools(parent: str | None, output: str, directory: str | None) -> int:
    """List all subpools, or those of PARENT, ARCHIVED ones included."""
    from kubectl_tas.report import json, table

    session = open_session(directory)
    pools = [pool for pool in session.fleet.pools if parent in (None, pool.name)]
    if parent is not None and not pools:
        raise click.UsageError(f'no pool "{parent}"; there is {", ".join(_parents(session.fleet)) or "none"}')
    found = [item for pool in pools for item in pool.subpools]
    if output == "json":
        hand_over(json.dump({"version": 1, "subpools": [_data(item) for item in found]}))
    elif found:
        rows = [
            (item.pool, item.name, item.state, str(item.declared.spec.spec.quota), str(item.quota), _file(item))
            for item in found
        ]
        show(table.render(("POOL", "NAME", "STATE", "DECLARED", "QUOTA", "FILE"), rows))
    else:
        say("There are no subpools.", err=True)
    return tell_errors(session)


def _data(item: FleetSubpool) -> dict[str, Any]:
    return {
        "pool": item.pool,
        "name": item.name,
        "state": item.state,
        "declaredQuota": item.declared.spec.spec.quota,
        "quota": item.quota,
        "queue": item.queue if item.state != "ARCHIVED" else None,
        "file": _file(item),
    }


def _file(item: FleetSubpool) -> str:
    return item.declared.origin.path


def _ask(
    cluster: dict[str, str | None], directory: str | None, choose: Callable[[Fleet], Sequence[FleetSubpool]]
) -> ClusterState | None:
    """The state of the cluster, which has the queue of at least one of the subpools that are chosen; None for none.

    It is asked before any lock is taken: a cluster may take long to answer.
    """
    chosen = choose(open_session(directory).fleet)
    if not chosen:
        return None
    try:
        state = read_cluster(cluster)
    except TasError as error:
        raise _untold(error.message) from error
    queues = [item.queue for item in chosen]
    if not any(queue in state.queues for queue in queues):
        raise _untold(f"the cluster has no queue {' or '.join(queues)}", "Name the right cluster with --context. ")
    return state


def _in_use(state: ClusterState | None, item: FleetSubpool) -> bool:
    """Whether anything runs in a subpool. Raises TasError where the cluster has not said so."""
    from kubectl_tas.live.cluster import what_is_unknown

    usage = state.queues.get(item.queue) if state else None
    if usage is None:
        raise _untold("the subpool was changed while the cluster was asked", "Run again. ")
    if usage.in_use is None:
        raise _untold(what_is_unknown(item.queue, usage))
    return usage.in_use


def _doubt(state: ClusterState | None, item: FleetSubpool) -> str:
    """What is to be added about a subpool of which the cluster does not say what it holds."""
    usage = state.queues.get(item.queue) if state else None
    if usage is None or usage.in_use is not None:
        return ""
    return f"; nobody knows whether anything runs there: {usage.doubt}. Where nothing does, pass --used 0"


def _untold(reason: str, hint: str = "") -> TasError:
    return TasError(f"cannot tell whether anything runs there: {reason}", hint=f"{hint}{_OTHERWISE}")


_OTHERWISE = "Where there is no cluster to ask, pass --used N (GPUs in use) or --cluster-state FILE."


def _seconds(interval: str) -> int:
    return int(interval[:-1]) * {"s": 1, "m": 60, "h": 3600}[interval[-1]]
