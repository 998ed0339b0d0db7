"""Builds the shards of clusters' schedulers for a command, and plays them forward, with and without a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from kubectl_tas.base.words import shortened
from kubectl_tas.cli.backends import NodeSource
from kubectl_tas.cli.clock import clock
from kubectl_tas.cli.terminal import progress, say
from kubectl_tas.compile.cluster_objects import compile_queues
from kubectl_tas.draw.forecasttable import Forecasted
from kubectl_tas.draw.startmoves import moved_starts
from kubectl_tas.gangs.start_moves import StartMoves
from kubectl_tas.model import manifest
from kubectl_tas.place.earlier_starts import without_gangs
from kubectl_tas.place.fairshare_report import called
from kubectl_tas.place.gangs_to_place import GangToPlace, LeftOut, unplaced
from kubectl_tas.place.node_resources import ClusterNodes
from kubectl_tas.place.queues import trees
from kubectl_tas.place.run_limits import Clock, planned
from kubectl_tas.place.schedulers import SeenCluster, ShardScheduler, schedulers
from kubectl_tas.place.scheduling_session import ShardStart, sum_of
from kubectl_tas.place.timeline import Awaited, play
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool

MAX_LISTED = 3
"""The most names that a message lists."""


def shard_schedulers(
    fleet: Fleet, gangs: Sequence[GangToPlace], source: NodeSource, *, tells: bool = True
) -> Iterator[ShardScheduler]:
    """Yields each shard of each cluster's scheduler that the gangs are sent to, as it begins. ``tells``: says on stderr
    which gangs on the nodes no answer considers.
    """
    for backend in fleet.backends:
        own = [item for item in gangs if item.sent.pool.backend == backend]
        if not own:
            continue
        nodes, objects = source.nodes(backend.name), source.queued(backend.name)
        seen = seen_cluster(fleet, backend, nodes, objects, source.now(backend.name))
        for scheduler in schedulers(backend, own, seen):
            if tells:
                _tell_unknown(scheduler)
            yield scheduler


def seen_cluster(
    fleet: Fleet, backend: FleetBackend, nodes: ClusterNodes, objects: Sequence[Mapping[str, Any]], now: datetime
) -> SeenCluster:
    """Returns the state of a cluster, with the queues that the repository renders and all others that are there."""
    artifacts = (item.manifest for item in compile_queues(fleet) if item.backend == backend.name)
    there = [item for item in objects if item.get("kind") == "Queue"]
    queues = trees((item for item in artifacts if isinstance(item, manifest.Queue)), there)
    names = {queue: item.name for queue, item in called(fleet, backend.name).items()}
    return SeenCluster(nodes, objects, queues, names, now)


def _tell_unknown(scheduler: ShardScheduler) -> None:
    """Says on stderr which gangs hold nodes in no known queue: the answers ignore such gangs."""
    known = scheduler.start.tree.by_name
    found = [item for item in scheduler.start.works if item.queue not in known]
    if found:
        names = shortened([item.name for item in found], MAX_LISTED)
        held = plural(sum(sum_of(item.active).gpu for item in found), "GPU")
        say(
            f"In no queue that is known: {plural(len(found), 'gang')} on nodes, with {held}: {names}. "
            "Such count for no quota, and are never taken for others.",
            err=True,
        )


def forecasted(
    scheduler: ShardScheduler,
    objects: Sequence[Mapping[str, Any]],
    times: Clock,
    named: frozenset[int] | None = None,
    *,
    effort: tuple[int, int] | None = None,
) -> Forecasted | None:
    """Plays one scheduler of a cluster with these objects. ``named``: identities of the work that is shown; None: all.
    With ``effort``, most turns and tries, it stops when that work has started, or earlier. Returns None without such
    work.
    """
    scheduler = replace(scheduler, start=replace(scheduler.start, now=times.now.replace(tzinfo=None)))
    plan = planned(scheduler, objects, times)
    shown = None
    if named is not None:
        shown = frozenset(name for name, gang in plan.gangs_to_place.items() if id(gang.sent) in named)
        if not shown and not any(id(gang.sent) in named for gang in (*plan.suspended, *plan.without_runs)):
            return None
    with progress("Forecasting") as tick:
        awaited = None if effort is None else Awaited(shown or frozenset(plan.gangs_to_place), *effort)
        forecast = play(scheduler.start, plan.gangs, times.horizon, tick, awaited)
    return Forecasted(scheduler, plan, forecast, times, shown, named)


def forecast_from(
    source: NodeSource, scheduler: ShardScheduler, named: frozenset[int] | None = None
) -> Forecasted | None:
    """Plays one scheduler with what a source has of its cluster, from the time there, as ``forecasted`` does."""
    backend = scheduler.backend
    return forecasted(scheduler, source.queued(backend), clock(source.now(backend)), named)


def moved_by(scheduler: ShardScheduler, source: NodeSource, changed: ShardStart, change: str) -> StartMoves:
    """Plays a scheduler from its start and from a changed one; ``change`` says in words what differs."""
    before = forecast_from(source, scheduler)
    assert before is not None  # it shows all work
    changed = replace(changed, now=before.scheduler.start.now)
    with progress("Forecasting") as tick:
        forecast = play(changed, before.planned.gangs, before.clock.horizon, tick)
    return moved_starts(before, replace(before, forecast=forecast), change)


def gangs_beside(fleet: Fleet, pools: Sequence[FleetPool], *, tells: bool = True) -> list[GangToPlace]:
    """Returns the gangs of all work that shares a scheduler with that of these pools. ``tells``: says on stderr which
    work has no answer.
    """
    shards = {(pool.backend.name, pool.shard) for pool in pools}
    sent = [each for each in fleet.submissions if (each.pool.backend.name, each.pool.shard) in shards]
    answers = list(unplaced(fleet, sent))
    for answer in answers if tells else ():
        if isinstance(answer, LeftOut):
            say(f"No start of {answer.text}.", err=True)
    return [answer for answer in answers if isinstance(answer, GangToPlace)]


def moved_by_files(earlier: Fleet, later: Fleet, source: NodeSource, backend: str | None) -> list[StartMoves]:
    """Plays the schedulers with the files before and after a change. Gangs on the nodes that only the earlier files
    declare, by the names of their PodGroups, end with the change.
    """
    sides: list[dict[tuple[str, str | None], ShardScheduler]] = []
    for fleet in (earlier, later):
        pools = [pool for pool in fleet.pools if pool.backend.is_kai and backend in (None, pool.backend.name)]
        gangs = gangs_beside(fleet, pools, tells=fleet is later)
        shards = shard_schedulers(fleet, gangs, source, tells=fleet is later)
        sides.append({(shard.backend, shard.shard): shard for shard in shards})
    moves = []
    for key, after in sides[1].items():
        if key not in sides[0]:
            continue
        before = sides[0][key]
        kept, declared = ({group for _, groups in side.running for group in groups} for side in (after, before))
        after = replace(after, start=without_gangs(after.start, declared - kept))
        played = [forecast_from(source, side) for side in (before, after)]
        moves += [moved_starts(was, now) for was, now in [played] if was is not None and now is not None]
    return moves
