"""``kubectl tas subpool``: edits of the files that declare subpools."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.cli.cluster import cluster_options, read_cluster
from kubectl_tas.cli.completion import from_fleet
from kubectl_tas.cli.session import Session, find_root, open_session, output_option, repository_option, tell_errors
from kubectl_tas.errors import TasError

if TYPE_CHECKING:
    from pathlib import Path

    from kubectl_tas.diagnostics import Diagnostic
    from kubectl_tas.edit.apply import FileEdit
    from kubectl_tas.edit.subpools import Edit
    from kubectl_tas.live.cluster import ClusterState
    from kubectl_tas.resolve.fleet import Fleet, FleetSubpool

Plan = Callable[["Fleet"], "Edit | Diagnostic | Sequence[Edit]"]
"""What a command wants of the fleet: an edit, several, or a refusal."""


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


def edit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds what all edits have in common."""
    for option in (
        click.option("--dry-run", is_flag=True, help="Print the diff and write nothing."),
        click.option("--render", "render_after", is_flag=True, help="Render the manifests afterwards."),
        repository_option,
    ):
        command = option(command)
    return command


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

    return _edit(directory, plan, dry_run=dry_run, render_after=render_after)


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

    return _edit(directory, plan, dry_run=dry_run, render_after=render_after)


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

    return _edit(directory, plan, dry_run=dry_run, render_after=render_after)


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

    def plan(fleet: Fleet) -> Edit | Diagnostic:
        found = subpools.find(fleet, parent, name)
        if isinstance(found, Diagnostic):
            return found
        if found.state != "ACTIVE":
            return subpools.delete(fleet, parent, name, in_use=True)
        if used is not None:
            return subpools.delete(fleet, parent, name, in_use=used > 0)
        usage = _ask(cluster, [found]).queues[found.queue]
        return subpools.delete(fleet, parent, name, in_use=usage.in_use)

    return _edit(directory, plan, dry_run=dry_run, render_after=render_after)


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

    def plan(fleet: Fleet) -> Sequence[Edit]:
        waiting = subpools.draining(fleet)
        if not waiting:
            return ()
        if used is not None:
            return subpools.drain(fleet, {item.queue: used > 0 for item in waiting})
        return subpools.drain(fleet, {queue: usage.in_use for queue, usage in _ask(cluster, waiting).queues.items()})

    while True:
        code = _edit(directory, plan, dry_run=dry_run, render_after=render_after)
        if code or dry_run:
            return code
        fleet = open_session(directory).fleet
        left = subpools.draining(fleet)
        for item in left:
            click.echo(f"{item.canonical}: still DELETING", err=True)
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
        click.echo(json.dump({"version": 1, "subpools": [_data(item) for item in found]}), nl=False)
    elif found:
        rows = [
            (item.pool, item.name, item.state, str(item.declared.spec.spec.quota), str(item.quota), _file(item))
            for item in found
        ]
        click.echo(table.render(("POOL", "NAME", "STATE", "DECLARED", "QUOTA", "FILE"), rows), nl=False)
    else:
        click.echo("There are no subpools.", err=True)
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


def _ask(cluster: dict[str, str | None], subpools: Sequence[FleetSubpool]) -> ClusterState:
    """The state of the cluster, which has the queue of at least one of ``subpools``."""
    try:
        state = read_cluster(cluster)
    except TasError as error:
        raise TasError(f"cannot tell whether anything runs there: {error.message}", hint=_OTHERWISE) from error
    queues = [item.queue for item in subpools]
    if not any(queue in state.queues for queue in queues):
        message = f"cannot tell whether anything runs there: the cluster has no queue {' or '.join(queues)}"
        raise TasError(message, hint=f"Name the right cluster with --context. {_OTHERWISE}")
    return state


_OTHERWISE = "Where there is no cluster to ask, pass --used N (GPUs in use) or --cluster-state FILE."


def _edit(directory: str | None, plan: Plan, *, dry_run: bool, render_after: bool) -> int:
    """Plans the edit, checks the repository as it would be, writes it, and renders: all under one lock."""
    from kubectl_tas.diagnostics import Diagnostic
    from kubectl_tas.edit.apply import lock, spliced, write
    from kubectl_tas.edit.subpools import NewFile, SetValues

    root = find_root(directory)
    with lock(root):
        session = open_session(directory)
        planned = plan(session.fleet)
        if isinstance(planned, Diagnostic):
            _print((planned,))
            return 1
        edits = [planned] if isinstance(planned, NewFile | SetValues) else list(planned)
        files = spliced(root, edits)
        if _refused(session, files):
            return 1
        if dry_run:
            return _show(files)
        write(root, files)
        for edit in edits:
            click.echo(f"{edit.summary} ({edit.path})")
        return _render(root) if render_after and edits else 0


def _show(files: Sequence[FileEdit]) -> int:
    from kubectl_tas.compare.drift import unified_text

    for file in files:
        click.echo(unified_text(file.path, file.before, file.after), nl=False)
    return 0


def _render(root: Path) -> int:
    from kubectl_tas.cli.render import render

    code = render.main(["-C", str(root)], standalone_mode=False)
    return code if isinstance(code, int) else 0


def _refused(session: Session, files: Sequence[FileEdit]) -> bool:
    """Prints the errors that the edit would bring, and tells whether there are any."""
    from kubectl_tas.cli.session import check_source
    from kubectl_tas.diagnostics import Severity
    from kubectl_tas.load.source import FolderSource, OverlaySource

    if not files:
        return False
    overlay = OverlaySource(FolderSource(session.root), {file.path: file.after for file in files})
    after = check_source(session.root, overlay)
    known = {_identity(diagnostic) for diagnostic in session.diagnostics}
    new = tuple(d for d in after.diagnostics if d.severity is Severity.ERROR and _identity(d) not in known)
    if new:
        _print(new)
        click.echo("Nothing was written: the repository would have these errors.", err=True)
    return bool(new)


def _identity(diagnostic: Diagnostic) -> tuple[str, str, str]:
    """What tells a finding from others, wherever it stands in its file: an edit moves lines."""
    path = diagnostic.location.path if diagnostic.location else ""
    return path, diagnostic.rule.code, diagnostic.message


def _print(diagnostics: tuple[Diagnostic, ...]) -> None:
    from kubectl_tas.cli.session import wants_colour
    from kubectl_tas.report import text

    colour = wants_colour(sys.stderr)
    click.echo(text.blocks(diagnostics, colour=colour), nl=False, err=True, color=colour)


def _seconds(interval: str) -> int:
    return int(interval[:-1]) * {"s": 1, "m": 60, "h": 3600}[interval[-1]]
