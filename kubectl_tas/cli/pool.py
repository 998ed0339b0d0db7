"""``kubectl tas pool``: shows, creates, renames and removes pools, and shows what can still start in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.base.words import nothing_called, shortened
from kubectl_tas.cli.backends import (
    CLUSTER,
    DECLARED,
    USED,
    NodeSource,
    chosen_backends,
    cluster_options,
    live_option,
    named_clusters,
    nodes_options,
    refuse_several,
    target_of,
    tell_shards,
)
from kubectl_tas.cli.clock import clock_options, grow_option, sets_clock
from kubectl_tas.cli.editing import edit
from kubectl_tas.cli.options import (
    BACKEND,
    LIST,
    PICTURES,
    POOL,
    RENAMED,
    TARGET,
    TEXT,
    TOPOLOGY,
    CommandGroup,
    edit_options,
    output_option,
    pairs_option,
    renamed_note,
    repository_option,
    template_options,
)
from kubectl_tas.cli.session import open_session, open_summaries, refuse_errors, tell_errors, tell_unread
from kubectl_tas.cli.terminal import gap, hand_over, hand_over_answer, say, show, show_figures, show_list
from kubectl_tas.draw import pooltables as pages
from kubectl_tas.draw.poolfigure import figure
from kubectl_tas.edit import pool_edits
from kubectl_tas.gangs.admission import VERDICTS
from kubectl_tas.gangs.quota_usage import Account, accounts
from kubectl_tas.report.text import plural
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool, Target

if TYPE_CHECKING:
    from kubectl_tas.draw.capacitypages import Planned
    from kubectl_tas.gangs.start_moves import StartMoves
    from kubectl_tas.live.live_cluster import Cluster, ClusterState
    from kubectl_tas.place.node_resources import ClusterNodes
    from kubectl_tas.place.uncharged import Holdings, Objects, Uncharged


MAX_LISTED = 3
"""The most names in a note."""
LATER = {"share": "kubectl_tas.cli.share:share"}
"""Commands that are imported only when called, since most runs of the group do not need them."""


@click.group(cls=CommandGroup, later=LATER, epilog="Example: kubectl tas pool list -o wide")
def pool() -> None:
    """Show, create, rename and remove pools."""


@pool.command("list", epilog="Example: kubectl tas pool list team other--speech -o wide")
@click.argument("wanted", metavar="[NAME]...", nargs=-1, type=TARGET)
@output_option(*LIST, "csv", "html")
@click.option("--all", "archived", is_flag=True, help="Show ARCHIVED subpools too.")
@live_option
@cluster_options
@repository_option
def list_pools(
    wanted: tuple[str, ...], output: str, archived: bool, live: bool, directory: str | None, **cluster: Any
) -> int:
    """List pools and subpools with their quota, what is used of it and what is left.

    NAME is a pool, listed with all below it, or a subpool (pool--subpool). Used counts GPUs of HIGH and NORMAL work:
    what this repository declares, or with --live, --context, --kubeconfig or --cluster-state what holds GPUs in the
    clusters. Total, or the number in brackets, counts all below a pool. In a cluster, Available is the smaller of the
    quota left and the GPUs that are free or preemptible.
    """
    session = open_summaries(directory)
    fleet = session.fleet
    targets = [target_of(fleet, name) for name in wanted]
    backends = [backend.name for backend in chosen_backends(fleet, cluster["backend"])]
    asked = named_clusters(fleet, cluster, live=live)
    own = {pool.backend.name for pool in fleet.pools}
    answers = asked.ask(_look, own & asked.names) if asked else None
    listed: list[Account] = []
    uncharged: dict[str, tuple[Uncharged, ...]] = {}
    for name in backends:
        seen = answers.found.get(name) if answers else None
        held = _holdings(fleet, name, seen.objects) if seen else None
        queues = None if answers is None else seen.state.queues if seen else {}
        uncharged[name] = held.uncharged if held else ()
        listed += accounts(fleet.of_backend(name), queues, archived=True, free=partial(_free, held))
    found = _chosen(listed, targets, archived=archived)
    source = CLUSTER if asked else DECLARED
    charged_to_nobody = [pages.UnchargedWork(name, work) for name, works in uncharged.items() for work in works]
    if output == "csv":
        hand_over(pages.comma_separated(found, [str(document.place) for document in fleet.not_counted]))
    elif output == "html":
        lacking = gap()
        notes = (f"Used: {USED[source]}.", *(() if lacking is None else (f"Incomplete: {lacking.text}.",)))
        hand_over(pages.html(found, notes))
    else:
        show_list(
            output,
            answer=lambda: pages.PoolList(source, found, charged_to_nobody if asked else None),
            names=lambda: (account.name for account in found),
            table=lambda: pages.render(found, wide=output == "wide"),
            none="There are no pools.",
        )
    if output in ("table", "wide") and not found:
        return tell_errors(session)
    say(f"Used: {USED[source]}.", err=True)
    for name, seen in answers.found.items() if answers else ():
        _tell_unknown(name, seen.state, [row for row in found if row.pool.backend.name == name])
    for name, items in uncharged.items():
        _tell_uncharged(name, items)
    unread = tell_unread(answers.failed) if answers else 0
    return tell_errors(session) or unread


def _chosen(listed: Iterable[Account], targets: Sequence[Target], *, archived: bool) -> list[Account]:
    """Returns the rows of ``targets``, with all below each pool, by top pool; without ``targets``, all rows."""

    def is_meant(row: Account) -> bool:
        if (row.pool, row.subpool) in targets:
            return True
        is_below = not targets or any((pool, None) in targets for pool in row.pool.chain)
        return is_below and (archived or row.state != "ARCHIVED")

    return [row for row in sorted(listed, key=lambda row: row.pool.chain[-1].name) if is_meant(row)]


def _tell_unknown(backend: str, state: ClusterState, rows: Sequence[Account]) -> None:
    """Says why the usage of queues is unknown."""
    if state.lacks:
        say(f"Note: {state.lacks.message}. {state.lacks.hint}", err=True)
        return
    unknown = [row.queue for row in rows if row.used is None and row.queue]
    missing = [queue for queue in unknown if queue not in state.queues]
    if missing:
        names = shortened(missing, MAX_LISTED)
        hint = "apply its manifests, or name the right cluster"
        say(f"Note: the cluster of backend {backend} has no queue {names}; {hint}.", err=True)
    for queue in unknown:
        if queue in state.queues:
            say(f"Note: {state.queues[queue].unknown(queue)}.", err=True)


@pool.command(epilog="Example: kubectl tas pool describe team--research")
@click.argument("name", type=TARGET)
@output_option(TEXT, *PICTURES, "json")
@live_option
@cluster_options
@repository_option
def describe(name: str, output: str, live: bool, directory: str | None, **cluster: Any) -> int:
    """Show all about the pool, or pool--subpool, NAME: facts, quotas, use, work.

    As a picture it is a tree of the pools and subpools below it.
    """
    session = open_session(directory)
    fleet = session.fleet
    target = target_of(fleet, name)
    backend = target[0].backend.name
    asked = named_clusters(fleet, cluster, live=live)
    seen = asked.ask(_look, {backend}).found[backend] if asked else None
    queues = seen.state.queues if seen else None
    held = _holdings(fleet, backend, seen.objects) if seen else None
    rows = _at_or_below(accounts(fleet.of_backend(backend), queues, archived=True, free=partial(_free, held)), target)
    source = CLUSTER if asked else DECLARED
    if output == "json":
        hand_over_answer(pages.PoolPage(*target, source, rows, pages.work_of(fleet, rows)))
    elif output == TEXT:
        show(pages.page(fleet, target, rows))
        say(f"Used: {USED[source]}.", err=True)
    else:
        show_figures([figure(fleet.submissions, target, rows, USED[source])], output)
    if seen:
        _tell_unknown(backend, seen.state, rows)
    return tell_errors(session)


class _QueuesAndHolders(NamedTuple):
    """The state of a cluster."""

    state: ClusterState
    """The usage of its queues."""
    objects: Objects
    """All objects that show which other pods hold GPUs."""


def _look(cluster: Cluster) -> _QueuesAndHolders:
    from kubectl_tas.place.uncharged import objects_of  # only what asks a cluster needs it

    return _QueuesAndHolders(cluster.state(), objects_of(cluster))


def _holdings(fleet: Fleet, backend: str, objects: Objects) -> Holdings | None:
    from kubectl_tas.place.uncharged import holdings

    if objects.hidden:
        say(f"Note: who holds the GPUs of backend {backend} is not known: {objects.hidden}.", err=True)
    scheduler = next(item.scheduler_name for item in fleet.backends if item.name == backend)
    return holdings(objects, scheduler)


def _free(held: Holdings | None, pool: FleetPool) -> Mapping[str, int] | None:
    """Returns the GPUs that guaranteed work of a pool can get, by node; None if unknown."""
    if held is None:
        return None
    from kubectl_tas.compare.cluster_nodes import may_use

    return {name: gpus for name, gpus in held.free.items() if may_use(pool, held.labels[name])}


def _tell_uncharged(backend: str, items: Iterable[Uncharged]) -> None:
    if items:
        from kubectl_tas.place.uncharged import sentences

        for _, text in sentences(backend, items):
            say(f"Note: {text}.", err=True)


def _at_or_below(rows: Iterable[Account], target: Target) -> list[Account]:
    """Returns the row of a subpool, or the rows of a pool and all below it, without ARCHIVED ones."""
    pool, subpool = target
    if subpool is not None:
        return [row for row in rows if row.name == subpool.canonical]
    return [row for row in rows if row.state != "ARCHIVED" and pool.name in (above.name for above in row.pool.chain)]


@pool.command("topology-keys", hidden=True)
@click.argument("name", type=TARGET)
@output_option(*LIST)
@repository_option
@click.pass_context
def topology_keys(context: click.Context, /, **given: str | None) -> Any:
    """The old name of `topology list --pool`."""
    from kubectl_tas.cli.topology import list_topologies

    old = "pool topology-keys"
    say(renamed_note(old, RENAMED[old]), err=True)
    return context.invoke(list_topologies, pool=given.pop("name"), **given)


@pool.command(epilog="Example: kubectl tas pool create research --quota 64 --dry-run")
@click.argument("name", metavar="NAME")
@click.option("--quota", metavar="N", type=click.IntRange(min=0), required=True, help="The GPUs that it is guaranteed.")
@click.option("--maximum", metavar="N", type=click.IntRange(min=0), help="The most GPUs that it may hold.")
@click.option("--parent", metavar="POOL", type=POOL, help="The pool that it is a part of.")
@click.option("--backend", metavar="NAME", type=BACKEND, help="The cluster that it is in.")
@click.option("--topology", metavar="NAME", type=TOPOLOGY, help="The cluster topology with its levels.")
@pairs_option("--level", "levels", "KEY=LABEL", "A level and its node label, from coarse to fine.")
@edit_options
def create(
    name: str,
    quota: int,
    maximum: int | None,
    levels: Mapping[str, str],
    dry_run: bool,
    render_after: bool,
    directory: str | None,
    **above: str | None,
) -> int:
    """Create the pool NAME, in a file of its own.

    The command writes nothing that `validate` refuses. Add other fields to the file.
    """
    if levels and above["topology"]:
        raise click.UsageError("--level does not go with --topology, which has the levels")
    gpus = {"guarantee": quota} if maximum is None else {"guarantee": quota, "maximum": maximum}
    named = {field: text for field in ("parent", "backend", "topology") if (text := above[field]) is not None}
    plan = partial(pool_edits.create, name=name, gpus=gpus, above=named, levels=levels)
    return edit(directory, plan, dry_run=dry_run, render_after=render_after)


@pool.command(epilog="Example: kubectl tas pool rename team research --dry-run")
@click.argument("old", metavar="OLD", type=POOL)
@click.argument("new", metavar="NEW")
@edit_options
def rename(old: str, new: str, dry_run: bool, render_after: bool, directory: str | None) -> int:
    """Rename the pool OLD to NEW in all files that name it.

    The queues get new names, so rename a pool while nothing runs there. The command lists Jobs that you must delete
    first.
    """
    old = names.fold(old)
    plan = partial(pool_edits.rename, old=old, new=new)
    said = pool_edits.in_messages(old, new)
    code = edit(directory, plan, dry_run=dry_run, render_after=render_after, rename=said, tell=_tell_of_work)
    return code or _tell_what_it_means()


@pool.command(epilog="Example: kubectl tas pool remove team --dry-run")
@click.argument("name", type=POOL)
@edit_options
def remove(name: str, dry_run: bool, render_after: bool, directory: str | None) -> int:
    """Remove the pool NAME with its subpools, as one change.

    Remove its work and the pools below it first. ARCHIVED subpools stay, for the record.
    """
    plan = partial(pool_edits.remove, name=names.fold(name))
    code = edit(directory, plan, dry_run=dry_run, render_after=render_after, rename=str)
    return code or _tell_what_it_means()


def _tell_of_work(before: Fleet, after: Fleet) -> None:
    from kubectl_tas.compare.pool_changes import after_rename

    for sentence in after_rename(before, after):
        say(sentence, err=True)


def _tell_what_it_means() -> int:
    from kubectl_tas.compare.pool_changes import MEANING  # only these commands need it

    say(MEANING, err=True)
    return 0


_GPUS = click.IntRange(min=1, max=1_000_000)


@pool.command("plan", epilog="Example: kubectl tas pool plan team --nodes nodes.json --nodes pods.json")
@click.argument("wanted", metavar="[POOL]...", nargs=-1, type=POOL)
@click.option("--gpus", metavar="N", type=_GPUS, help="GPUs of each pod; by default all of a common node.")
@click.option("--quota", metavar="N", type=click.IntRange(min=0), help="The same with N GPUs guaranteed to POOL.")
@grow_option
@clock_options
@output_option("text", "json")
@nodes_options
@template_options
@repository_option
def plan(
    wanted: Sequence[str],
    gpus: int | None,
    grow: int | None,
    quota: int | None,
    files: Sequence[str],
    live: bool,
    output: str,
    directory: str | None,
    **cluster: Any,
) -> int:
    """Show for each POOL its guarantee, the work declared for it, and the largest gang that can still start.

    The gang has room on the nodes: anywhere, and in one domain of each level. Without --nodes, the command asks the
    backends' clusters. Exits 1 if the nodes lack GPUs that pools are guaranteed.

    With --grow or --quota it lists the work of each POOL whose start would move, as `forecast` plays it.
    """
    from kubectl_tas.draw import capacitypages, startmoves  # only this command plans

    if quota is not None and len(wanted) != 1:
        raise click.UsageError("--quota is for one POOL; name it")
    if sets_clock() and grow is None and quota is None:
        raise click.UsageError("--assume, --horizon and --now are for --grow and --quota")

    session = open_session(directory)
    if refuse_errors(session.without(VERDICTS)):
        return 1
    fleet = session.fleet
    pools = list(_pools_to_plan(fleet, wanted, cluster["backend"]))
    source = NodeSource(fleet, files, cluster, live=live)
    if files:
        refuse_several(pool.backend.name for pool in pools)
    tell_shards(fleet, pools)
    found = [_planned(fleet, pool, source.nodes(pool.backend.name), gpus) for pool in pools]
    broken = [item for name in sorted({pool.backend.name for pool in pools}) for item in _not_kept(fleet, source, name)]
    moves = None if grow is None and quota is None else list(_moves(fleet, pools, source, grow, quota))
    if output == "json":
        hand_over_answer(capacitypages.PoolPlans(found, list(map(capacitypages.BrokenGuarantee, broken)), moves))
    else:
        show("\n".join((capacitypages.plan_text(found, broken), *([startmoves.render(moves)] if moves else []))))
    tell_errors(session)
    return 1 if broken else 0


def _moves(
    fleet: Fleet, pools: Sequence[FleetPool], source: NodeSource, grow: int | None, quota: int | None
) -> Iterator[StartMoves]:
    """Yields by how much further racks and another guarantee move the starts of the pools' work."""
    from kubectl_tas.cli.played_shards import gangs_beside, moved_by, shard_schedulers
    from kubectl_tas.place.earlier_starts import further_nodes, with_guarantee, with_nodes

    planned = {pool.name for pool in pools}
    gangs = gangs_beside(fleet, pools)
    for scheduler in shard_schedulers(fleet, gangs, source):
        shard = scheduler.backend, scheduler.shard
        of_shard = [gang for gang in gangs if (gang.sent.pool.backend.name, gang.sent.pool.shard) == shard]
        of_pools = [gang for gang in of_shard if gang.sent.pool.name in planned]
        start, words = scheduler.start, []
        if grow is not None:
            added, more, _ = further_nodes(start, of_pools or of_shard, grow) or ((), "no node to copy, so none", "")
            start = with_nodes(start, added)
            words.append(f"{more} more")
        if quota is not None:
            (pool,) = pools
            start = with_guarantee(start, {pool.queue, pool.shared_queue}, quota - int(pool.guarantee.gpu))
            words.append(f"{plural(quota, 'GPU')} guaranteed to {pool.name}")
        yield moved_by(scheduler, source, start, " and ".join(words)).of_pools(planned)


def _pools_to_plan(fleet: Fleet, wanted: Sequence[str], backend: str | None) -> Iterator[FleetPool]:
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


def _planned(fleet: Fleet, pool: FleetPool, nodes: ClusterNodes, pod_gpus: int | None) -> Planned:
    from kubectl_tas.draw.capacitypages import Planned
    from kubectl_tas.place.capacity import capacity, gpus_of

    own = [item for item in fleet.submissions if item.pool.name == pool.name]
    fixed, preemptible = (sum(item.gpus for item in own if item.is_preemptible == low) for low in (False, True))
    within = [item for item in fleet.pools if any(above.name == pool.name for above in item.chain)]
    return Planned(pool, capacity(pool, nodes, pod_gpus), gpus_of(within, nodes), fixed, preemptible)


def _not_kept(fleet: Fleet, source: NodeSource, backend: str) -> Iterator[Diagnostic]:
    """Yields a finding for each guarantee that the nodes of a cluster cannot keep."""
    from kubectl_tas.compare.cluster_nodes import GUARANTEE_EXCEEDS_NODES, check_nodes
    from kubectl_tas.live.live_cluster import nodes_among

    (own,) = chosen_backends(fleet, backend)
    findings = check_nodes(fleet, own, nodes_among(source.objects(backend)))
    return (item for item in findings if item.rule == GUARANTEE_EXCEEDS_NODES)
