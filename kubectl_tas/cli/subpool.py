"""``kubectl tas subpool``: edits the files that declare subpools."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import click

from kubectl_tas.base.words import nothing_called
from kubectl_tas.cli.backends import cluster_options, given_clusters
from kubectl_tas.cli.editing import edit
from kubectl_tas.cli.options import (
    ACTIVE,
    ACTIVE_PARENT,
    ARCHIVED,
    ARCHIVED_PARENT,
    LIST,
    POOL,
    CommandGroup,
    Word,
    edit_options,
    output_option,
    repository_option,
)
from kubectl_tas.cli.session import open_session, open_summaries, tell_errors, tell_unread
from kubectl_tas.cli.terminal import say, show_list
from kubectl_tas.draw import pooltables as pages
from kubectl_tas.edit import subpool_edits as subpools
from kubectl_tas.edit.subpool_edits import Quota, Usage
from kubectl_tas.model.pool_kinds import CPU, MEMORY, SHARE
from kubectl_tas.resolve import names


class _Quota(click.ParamType):  # type: ignore[type-arg]
    """An amount of a resource, or a share of the parent."""

    def __init__(self, name: str, pattern: str, what: str) -> None:
        self.name = name
        self._pattern = pattern
        self._what = what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        text = str(value).strip()
        if not re.fullmatch(self._pattern, text) and not re.fullmatch(SHARE, text):
            self.fail(f'{text!r} is neither {self._what} nor a share of the parent such as "33%"', param, ctx)
        return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else text


def _addressed(parent: str, name: str | None) -> tuple[str, str]:
    """Returns pool, with its name folded, and subpool of ``PARENT NAME`` or ``PARENT--NAME``, else a usage error."""
    if name is None:
        place = names.fold(parent).find(names.SEPARATOR)
        if place < 0:
            raise click.UsageError(f"which subpool of {parent}? Write {parent} NAME, or {parent}--NAME")
        parent, name = parent[:place], parent[place + len(names.SEPARATOR) :]
    return names.fold(parent), name


def _address(pool: Word, subpool: Word) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Adds the arguments PARENT and NAME of a subpool."""

    def add(command: Callable[..., int]) -> Callable[..., int]:
        command = click.argument("name", metavar="[NAME]", required=False, type=subpool)(command)
        return click.argument("parent", metavar="PARENT", type=pool)(command)

    return add


_GPUS = _Quota("gpus", r"[0-9]{1,9}", "whole GPUs such as 30")
_CPU = _Quota("cores", CPU, "cores such as 600")
_MEMORY = _Quota("memory", MEMORY, "a quantity with a unit such as 2Ti")
_SHARE = 'or a share such as "33%".'


def _quota_options(*, required: bool, text: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Adds the options for the amounts of a quota."""

    def add(command: Callable[..., int]) -> Callable[..., int]:
        command = click.option("--memory", type=_MEMORY, help=f"Memory, such as 2Ti, {_SHARE}")(command)
        command = click.option("--cpu", type=_CPU, help=f"Cores, such as 600, {_SHARE}")(command)
        return click.option("--quota", type=_GPUS, required=required, help=text)(command)

    return add


def _asked(quota: int | str | None, cpu: int | str | None, memory: int | str | None) -> Quota:
    amounts = {"gpu": quota, "cpu": cpu, "memory": memory}
    return {name: amount for name, amount in amounts.items() if amount is not None}


@click.group(cls=CommandGroup, epilog="Example: kubectl tas subpool create team research --quota 30 --dry-run")
def subpool() -> None:
    """Create, change, retire and list subpools.

    An edit changes one value in a YAML file. If the repository would have a new error, the command refuses the edit and
    changes no byte.
    """


@subpool.command(epilog="Example: kubectl tas subpool create team research --quota 30 --cpu 600")
@click.argument("parent", metavar="PARENT", type=POOL)
@click.argument("name", metavar="[NAME]", required=False)
@_quota_options(required=True, text='Whole GPUs, or a share of all that the parent is guaranteed, such as "33%".')
@edit_options
def create(
    parent: str, name: str | None, dry_run: bool, render_after: bool, directory: str | None, **quota: Any
) -> int:
    """Create the subpool NAME of the pool PARENT, in a file of its own."""
    parent, name = _addressed(parent, name)
    plan = partial(subpools.create, parent=parent, name=name, quota=_asked(**quota))
    return edit(directory, plan, dry_run=dry_run, render_after=render_after)


@subpool.command(epilog="Example: kubectl tas subpool update team--research --quota 33%")
@_address(ACTIVE_PARENT, ACTIVE)
@_quota_options(required=False, text='Whole GPUs, or a share of all that the parent is guaranteed, such as "33%".')
@edit_options
def update(
    parent: str, name: str | None, dry_run: bool, render_after: bool, directory: str | None, **quota: Any
) -> int:
    """Give the ACTIVE subpool NAME of PARENT another quota. Other resources keep theirs.

    A lower quota ends nothing that runs: work over it is listed in overQuota and may run on.
    """
    parent, name = _addressed(parent, name)
    wanted = _asked(**quota)
    if not wanted:
        raise click.UsageError("name at least one of --quota, --cpu and --memory")
    plan = partial(subpools.update, parent=parent, name=names.fold(name), quota=wanted)
    return edit(directory, plan, dry_run=dry_run, render_after=render_after)


@subpool.command(epilog="Example: kubectl tas subpool recreate team--research --quota 20")
@_address(ARCHIVED_PARENT, ARCHIVED)
@_quota_options(required=False, text="The new quota, instead of the old one.")
@edit_options
def recreate(
    parent: str, name: str | None, dry_run: bool, render_after: bool, directory: str | None, **quota: Any
) -> int:
    """Make the ARCHIVED subpool NAME of PARENT ACTIVE again."""
    parent, name = _addressed(parent, name)
    plan = partial(subpools.recreate, parent=parent, name=names.fold(name), quota=_asked(**quota) or None)
    return edit(directory, plan, dry_run=dry_run, render_after=render_after)


@subpool.command(epilog="Example: kubectl tas subpool retire team--research --context prod")
@_address(ACTIVE_PARENT, ACTIVE)
@click.option("--used", type=click.IntRange(min=0), metavar="N", help="GPUs in use; the cluster is not asked.")
@cluster_options
@edit_options
def retire(
    parent: str,
    name: str | None,
    used: int | None,
    dry_run: bool,
    render_after: bool,
    directory: str | None,
    **cluster: Any,
) -> int:
    """Retire the ACTIVE subpool NAME of PARENT.

    An empty subpool becomes ARCHIVED. Any other subpool becomes DELETING: its declared work may finish, it accepts no
    other work, and `subpool drain` archives it when it is empty. Unless you pass --used, the command asks the cluster
    what runs.
    """
    parent, name = _addressed(parent, name)
    name, usage = names.fold(name), Usage(used)
    if used is None:
        fleet = open_session(directory).fleet
        asked = subpools.in_doubt(fleet, parent, name)
        usage = subpools.ask(fleet, given_clusters(fleet, cluster), asked)
    plan = partial(subpools.retire, parent=parent, name=name, usage=usage)
    return edit(directory, plan, dry_run=dry_run, render_after=render_after)


@subpool.command(epilog="Example: kubectl tas subpool drain --watch --context prod")
@click.option("--used", type=click.IntRange(min=0), metavar="N", help="GPUs in use; the cluster is not asked.")
@click.option("--watch", is_flag=True, help="Look again every drainInterval until none is left.")
@cluster_options
@edit_options
def drain(
    used: int | None, watch: bool, dry_run: bool, render_after: bool, directory: str | None, **cluster: Any
) -> int:
    """Archive every DELETING subpool that has no declared and no running work any more.

    If the cluster does not have the queue of a subpool, the subpool stays: it may be in another cluster.
    """
    if watch and used is not None:
        raise click.UsageError("--watch does not go with --used, which would say the same each time")
    while True:
        fleet = open_session(directory).fleet
        if not subpools.draining(fleet):
            say("No subpool is DELETING.", err=True)
        usage = (
            Usage(used)
            if used is not None
            else subpools.ask(fleet, given_clusters(fleet, cluster), subpools.empty(fleet))
        )
        code = edit(directory, partial(subpools.drain, usage=usage), dry_run=dry_run, render_after=render_after)
        if code:
            return code
        going = {item.canonical for item in subpools.idle(fleet, usage)}
        fleet = fleet if dry_run else open_session(directory).fleet
        left = [item for item in subpools.draining(fleet) if not (dry_run and item.canonical in going)]
        for item in left:
            say(f"{item.canonical}: still DELETING{subpools.reason(fleet, item, usage)}", err=True)
        unread = tell_unread(usage.failed)
        if dry_run or not watch or not left:
            return unread
        time.sleep(fleet.config.drain_seconds)


@subpool.command("list", epilog="Example: kubectl tas subpool list team -o json")
@click.argument("parent", required=False, type=POOL)
@output_option(*LIST)
@repository_option
def list_subpools(parent: str | None, output: str, directory: str | None) -> int:
    """List all subpools, or those of PARENT, including ARCHIVED ones and those whose pool is gone."""
    session = open_summaries(directory)
    known = [*(item for pool in session.fleet.pools for item in pool.subpools), *session.fleet.records]
    found = [item for item in known if parent is None or item.pool == names.fold(parent)]
    if parent is not None and not found and names.fold(parent) not in session.fleet.pool_by_name:
        raise click.UsageError(nothing_called("pool", parent, [pool.name for pool in session.fleet.pools]))
    show_list(
        output,
        answer=lambda: pages.SubpoolList(found),
        names=lambda: (item.canonical for item in found),
        table=lambda: pages.subpools(found, wide=output == "wide"),
        none="There are no subpools.",
    )
    return tell_errors(session)
