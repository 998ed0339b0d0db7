"""``kubectl tas pool share``: shows the share of each queue when all queues ask at once."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.base.words import nothing_called
from kubectl_tas.cli.backends import (
    CLUSTER,
    DECLARED,
    NodeSource,
    chosen_backends,
    named_clusters,
    nodes_options,
    refuse_several,
)
from kubectl_tas.cli.options import FILE, TARGET, output_option, repository_option, template_options
from kubectl_tas.cli.session import open_session, read_named, refuse_errors, show_findings, tell_errors
from kubectl_tas.cli.terminal import hand_over_answer, say, show
from kubectl_tas.compile.cluster_objects import compile_queues
from kubectl_tas.draw import sharetables as pages
from kubectl_tas.facts.quantities import NO_LIMIT, NOTHING, Amounts, larger
from kubectl_tas.gangs.admission import VERDICTS
from kubectl_tas.gangs.admission import non_preemptible_requests as asked_by_queue
from kubectl_tas.live.live_cluster import ClusterState
from kubectl_tas.model import manifest
from kubectl_tas.place.fairshare import PastUsage, QueueTree
from kubectl_tas.place.fairshare_report import FairShareDivision, QueueDemand, called, divide
from kubectl_tas.place.queues import Shard, declared, total_resources, trees
from kubectl_tas.place.shard_history import ShardHistory, UsageInput, shard_history
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool, Target

if TYPE_CHECKING:
    from kubectl_tas.live.live_cluster import Cluster
    from kubectl_tas.model.scheduling_shard import UsageDatabase

SOURCES = {
    DECLARED: "what the work of this repository asks for, all of it at once",
    CLUSTER: "what pods of the cluster hold or wait for",
}
"""A description of each source of demand."""
MAX_DIGITS = 7
MAX_K_VALUE = 10**6


@click.command("share", epilog="Example: kubectl tas pool share --gpus 96 --demand team=64")
@click.argument("wanted", metavar="[NAME]...", nargs=-1, type=TARGET)
@click.option(
    "--gpus", metavar="N", type=click.IntRange(0, 10**MAX_DIGITS - 1), help="Divide N GPUs, not those of the nodes."
)
@click.option(
    "--demand",
    "demands",
    metavar="NAME=N",
    multiple=True,
    help="Let a pool, pool--subpool or queue ask for N GPUs. Repeatable.",
)
@click.option("--usage", metavar="FILE", type=FILE, help="Count the past usage in this file.")
@click.option(
    "--k-value",
    metavar="N",
    type=click.FloatRange(0, MAX_K_VALUE),
    help="The kValue, if no shard is declared; by default 1.",
)
@output_option("text", "json")
@nodes_options
@template_options
@repository_option
def share(
    wanted: Sequence[str],
    gpus: int | None,
    demands: Sequence[str],
    usage: str | None,
    k_value: float | None,
    files: Sequence[str],
    live: bool,
    output: str,
    directory: str | None,
    **cluster: Any,
) -> int:
    """Show how KAI's scheduler divides a cluster when all queues ask at once.

    NAME is a pool, shown with all below it, or a subpool (pool--subpool).

    Queues ask for the GPUs that the repository declares, or in a cluster that you name for those that pods hold and
    wait for. KAI divides the GPUs of nodes that are ready and not cordoned, or --gpus.

    Past usage counts if the pool's shard has a usageDBConfig; --live asks its Prometheus.
    """
    session = open_session(directory)
    if refuse_errors(session.without(VERDICTS)):
        return 1
    fleet = session.fleet
    names = _targets(fleet, wanted)
    asked = named_clusters(fleet, cluster, live=live)
    backends = _backends(fleet, cluster["backend"], names)
    if gpus is None and not files and asked is None:
        raise click.UsageError("name the GPUs to divide: --gpus N, --nodes FILE or --live")
    if k_value is not None and math.isnan(k_value):
        raise click.UsageError("--k-value: write a number from 0")
    if gpus is not None and files:
        raise click.UsageError("--gpus and --nodes both name the GPUs to divide; give one")
    if gpus is not None or files or usage is not None:
        refuse_several(backend.name for backend in backends)
    source = None if gpus is not None else NodeSource(fleet, files, cluster, live=live)
    past_usage: Mapping[str, PastUsage] | None = None
    if usage is not None and (past_usage := _past_usage(fleet, usage)) is None:
        return 1
    divisions: list[FairShareDivision] = []
    left = _demands(fleet, demands)
    for backend in backends:
        there = asked.of(backend.name) if asked else None
        given = UsageInput(past_usage, k_value, _asking(there))
        divisions += _divisions(
            fleet, backend, there.state() if there else None, left, (_has(backend, source, gpus), given)
        )
    if left:
        raise click.UsageError(_unknown(fleet, divisions, next(iter(left))))
    chosen = [one for one in divisions if any(one.shown(names))]
    if gpus is not None and len(chosen) > 1:
        raise click.UsageError("each shard of the scheduler divides its own nodes: name pools of one shard")
    if output == "json":
        hand_over_answer(
            pages.Shares(CLUSTER if asked else DECLARED, [pages.ShownDivision(one, names) for one in chosen])
        )
    else:
        show(pages.render(chosen, names))
        but = ", but for --demand" if demands else ""
        say(f"Asks: {SOURCES[CLUSTER if asked else DECLARED]}{but}.", err=True)
    return tell_errors(session)


def _targets(fleet: Fleet, wanted: Sequence[str]) -> list[str]:
    """Returns the names of the given pools and subpools. Raises a usage error if one is unknown, or has no queue."""
    found = []
    for name in wanted:
        target = fleet.target(name)
        if target is None:
            raise click.UsageError(nothing_called("pool", name, fleet.target_names()))
        pool, subpool = _with_queue(target)
        found.append(subpool.canonical if subpool else pool.name)
    return found


def _with_queue(target: Target) -> Target:
    """Returns the target unchanged. Raises a usage error if the target has no queue."""
    _, subpool = target
    if subpool and subpool.state == "ARCHIVED":
        raise click.UsageError(f"subpool {subpool.canonical} is ARCHIVED, and has no queue")
    return target


def _backends(fleet: Fleet, name: str | None, wanted: Sequence[str]) -> list[FleetBackend]:
    """Returns the clusters of the given pools. Raises a usage error if none of them has queues of KAI."""
    pools = [pool for pool in fleet.pools if not wanted or any(_is_in(pool, one) for one in wanted)]
    meant = [one for one in chosen_backends(fleet, name) if any(pool.backend == one for pool in pools)]
    others = [one.name for one in meant if not one.is_kai]
    found = [one for one in meant if one.is_kai]
    if not fleet.pools:
        raise click.UsageError("the repository has no pools to divide GPUs among")
    if not found:
        raise click.UsageError("none of these pools is in a cluster with KAI, which divides GPUs among queues")
    if others:
        say(f"Left out: {', '.join(others)}, which has no KAI.", err=True)
    return found


def _is_in(pool: FleetPool, target: str) -> bool:
    return pool.name == target or any(item.canonical == target for item in pool.subpools)


def _demands(fleet: Fleet, written: Sequence[str]) -> dict[str, int]:
    """Returns the GPUs given with ``--demand``, by leaf queue. Raises a usage error for a bad or repeated value."""
    found: dict[str, int] = {}
    for text in written:
        name, _, number = text.rpartition("=")
        if not name or not number.isascii() or not number.isdigit() or len(number) > MAX_DIGITS:
            raise click.UsageError(f"--demand {text}: write NAME=N, with N GPUs from 0 to {10**MAX_DIGITS - 1}")
        target = fleet.target(name)
        pool, subpool = _with_queue(target) if target else (None, None)
        queue = subpool.queue if subpool else pool.shared_queue if pool else name
        if queue in found:
            raise click.UsageError(f"--demand is given twice for {name}")
        found[queue] = int(number)
    return found


def _has(backend: FleetBackend, source: NodeSource | None, gpus: int | None) -> Mapping[Shard, Amounts]:
    """Returns the resources to divide, by shard; with ``--gpus``, CPU and memory have no limit."""
    if source is None:
        return defaultdict(lambda: Amounts(gpus or 0, NO_LIMIT, NO_LIMIT))
    return total_resources(source.nodes(backend.name), source.objects(backend.name), backend.scheduler_name)


def _divisions(
    fleet: Fleet,
    backend: FleetBackend,
    there: ClusterState | None,
    demands: dict[str, int],
    given: tuple[Mapping[Shard, Amounts], UsageInput],
) -> Iterator[FairShareDivision]:
    """Yields the divisions of a backend's shards. Removes from ``demands`` those of its leaf queues. ``given`` are the
    resources of each shard, and past usage.
    """
    has, usage = given
    own = (item.manifest for item in compile_queues(fleet) if item.backend == backend.name)
    rendered = [item for item in own if isinstance(item, manifest.Queue)]
    names, demand = called(fleet, backend.name), _demand(fleet, backend, there)
    for shard, tree in trees(rendered, there.objects if there else ()).items():
        asked = {queue: amounts for queue, amounts in demand.requested.items() if tree.is_leaf(queue)}
        fixed = dict(demand.fixed)
        for queue in [name for name in demands if tree.is_leaf(name)]:
            asked[queue] = replace(asked.get(queue, NOTHING), gpu=demands.pop(queue))
            fixed.pop(queue, None)
        pool = next((item.pool for item in names.values() if item.pool and item.pool.shard == shard), None)
        if pool:
            history = _history(fleet, pool, tree, usage)
            changed = replace(demand, requested=asked, fixed=fixed, history=history)
            yield divide((backend.name, shard), tree, has[shard], changed, names)


def _history(fleet: Fleet, pool: FleetPool, tree: QueueTree, given: UsageInput) -> ShardHistory:
    """Returns the past usage of the queues of a pool's shard. Raises a usage error if two places give its kValue."""
    shard = fleet.shard_of(pool)
    if shard is not None and given.k_value is not None:
        place = shard.declared.at("spec")
        raise click.UsageError(f"--k-value: shard {shard.name} says its kValue; leave the option out, or edit {place}")
    return shard_history(shard, fleet.settings_of(pool), tree, given)


def _asking(cluster: Cluster | None) -> Callable[[UsageDatabase], Mapping[str, PastUsage]] | None:
    """Returns a function that asks a database for past usage, with the access to a cluster; None for a file."""
    if cluster is None or cluster.file is not None:
        return None
    from kubectl_tas.live.prometheus import past_usage  # most runs ask no database

    return partial(past_usage, cluster.access)


def _past_usage(fleet: Fleet, file: str) -> Mapping[str, PastUsage] | None:
    """Returns the past usage in a file, by queue; None if the file has errors, which it prints. Names on stderr what
    is no queue.
    """
    from kubectl_tas.load.usage_file import read_usage  # most runs read no file of usage

    name = "<stdin>" if file == "-" else file
    record, problems = read_usage(name, read_named(file, hint="Name a file with what queues used."))
    if record is None:
        show_findings(problems)
        return None
    capacity, past_usage = record.spec.capacity, dict[str, PastUsage]()
    for written, used in record.spec.queues.items():
        target = fleet.target(written)
        queue = written if target is None else target[1].queue if target[1] else target[0].shared_queue
        place = record.origin.locate(("queues", written), key=True)
        if queue in past_usage:
            raise click.UsageError(f"{place}: the past usage of {queue} is given twice")
        queues = [*fleet.target_names(), *(queue for pool in fleet.pools for queue in pool.queues)]
        if target is None and queue not in queues:
            say(f"Note: {place}: {nothing_called('pool or queue', written, queues)}", err=True)
        past_usage[queue] = {
            "gpu": used.gpu / capacity.gpu,
            "cpu": used.cpu / capacity.cpu,
            "memory": used.memory / capacity.memory,
        }
    return past_usage


def _demand(fleet: Fleet, backend: FleetBackend, there: ClusterState | None) -> QueueDemand:
    if there is None:
        return QueueDemand(declared(fleet, backend.name), asked_by_queue(fleet.of_backend(backend.name)))
    if there.lacks:
        raise there.lacks
    for name, usage in there.queues.items():
        if usage.doubt:
            say(f"Note: {usage.unknown(name)}.", err=True)
    asked = {name: larger(usage.requested, usage.allocated) for name, usage in there.queues.items()}
    return QueueDemand(asked, {}, {name: usage.allocated for name, usage in there.queues.items()})


def _unknown(fleet: Fleet, divisions: Sequence[FairShareDivision], name: str) -> str:
    elsewhere = {queue: pool for pool in fleet.pools for queue in pool.queues}.get(name)
    if elsewhere and elsewhere.backend.name not in {one.backend for one in divisions}:
        pool = f"pool {elsewhere.name} is for backend {elsewhere.backend.name}"
        return f"--demand: {pool}, which this command leaves out; drop NAMEs and --backend, or --demand"
    known = [*fleet.target_names(), *(part.queue.name for one in divisions for part in one.queue_shares)]
    return f"--demand: {nothing_called('pool or leaf queue', name, known)}"
