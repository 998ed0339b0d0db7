"""``kubectl tas forecast``: says when work starts, and when it ends at the latest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import click

from kubectl_tas.cli.addressing import meant, work_arguments
from kubectl_tas.cli.backends import NodeSource, nodes_options, refuse_several, time_in
from kubectl_tas.cli.fit import chosen_work, finish, seen_cluster, shard_schedulers, tell_volumes
from kubectl_tas.cli.options import output_option, repository_option, template_options, together
from kubectl_tas.cli.session import open_session, refuse_errors
from kubectl_tas.cli.terminal import hand_over, hand_over_answer, progress, say, show
from kubectl_tas.draw import forecasttable as pages
from kubectl_tas.facts import times
from kubectl_tas.gangs.admission import VERDICTS
from kubectl_tas.live.kubectl import complete_kinds
from kubectl_tas.live.live_cluster import Cluster, Clusters
from kubectl_tas.live.reasons import ClusterAnswers
from kubectl_tas.place.answers import Fit
from kubectl_tas.place.earlier_starts import STARTED, Played, earlier_start, with_racks
from kubectl_tas.place.gangs_to_place import GangToPlace, LeftOut, unplaced
from kubectl_tas.place.node_resources import ClusterNodes, read_nodes
from kubectl_tas.place.pending_work import PredictedStart, Why
from kubectl_tas.place.run_limits import Clock, planned
from kubectl_tas.place.schedulers import ShardScheduler, in_cluster, schedulers
from kubectl_tas.place.timeline import Awaited, StartOutcome, play
from kubectl_tas.place.volumes import with_volumes
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Submission

HORIZON = 7 * 86400
"""Seconds of a horizon, by default."""
MAX_HORIZON = 366 * 86400
"""Most seconds of a horizon."""
MAX_GROWTH = 1000
MAX_COST = 300_000
"""Most nodes and events, times gangs, times gangs that wait, for which changes are tried although no WORK is named."""
OF_WHY, OF_REPORT = (10_000, 100), (100_000, 1000)
"""Most turns of gangs, and scenarios for evictions, that `why` and `report` play."""
FIRST_YEAR, LAST_YEAR = 1970, 9000
_WAITING = (StartOutcome.GIVES_UP, StartOutcome.BEYOND, StartOutcome.UNKNOWN, StartOutcome.NEVER)


class _Duration(click.ParamType):  # type: ignore[type-arg]
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        seconds = value if isinstance(value, int) else times.in_unit_of("seconds", str(value))
        if seconds is None or not 0 < seconds <= MAX_HORIZON:
            self.fail(f"{value!r} is not a time such as 2h, 90m or 7d, of at most 366 days", param, ctx)
        return seconds


class _Moment(click.ParamType):  # type: ignore[type-arg]
    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(str(value))
            moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not a time such as 2026-11-29T04:00:00Z", param, ctx)
        if not FIRST_YEAR <= moment.year <= LAST_YEAR:
            self.fail(f"{value!r} is not in the years {FIRST_YEAR} to {LAST_YEAR}", param, ctx)
        return moment


clock_options = together(
    click.option("--assume", metavar="TIME", type=_Duration(), help="How long work without a limit runs, such as 2h."),
    click.option(
        "--horizon",
        metavar="TIME",
        type=_Duration(),
        default=f"{HORIZON // 86400}d",
        show_default=True,
        help="Where the forecast stops.",
    ),
    click.option("--now", metavar="TIME", type=_Moment(), help="The time of the forecast, such as 2026-11-29T04:00Z."),
)
"""The options for the times of a forecast."""


@click.command("forecast", epilog="Example: kubectl tas forecast train --nodes nodes.json --nodes pods.json")
@work_arguments(many=True, required=False)
@click.option(
    "--grow",
    metavar="N",
    type=click.IntRange(1, MAX_GROWTH),
    help="Say how much earlier work starts with N more racks, like the most common one.",
)
@clock_options
@output_option("table", "wide", "json", "svg", "html")
@nodes_options
@template_options
@repository_option
def forecast_command(
    work: Sequence[str],
    grow: int | None,
    now: datetime | None,
    horizon: int,
    assume: int | None,
    files: Sequence[str],
    live: bool,
    output: str,
    directory: str | None,
    **cluster: Any,
) -> int:
    """Say when WORK starts, and when it ends at the latest.

    forecast plays `fit --all` forward. Work ends at its limit: exec_timeout, activeDeadlineSeconds, or the annotation
    kubectl-tas/expected-runtime. Each end starts another cycle of KAI. Without WORK, forecast answers for all work.

    A start holds if each limit holds and no further work comes. For WORK that waits, forecast also tries another level,
    fewer pods, LOW and more nodes, and says what brings the start forward most. Exits 1 if one does not start within
    the horizon, or if one has no answer. Suspended work counts only as WORK.
    """
    session = open_session(directory)
    if refuse_errors(session.without(VERDICTS)):
        return 1
    chosen = chosen_work(session, (), is_all=True, backend=cluster["backend"])
    named = frozenset(id(item) for word in work for item in meant(session, word, chosen))
    if not chosen:
        say("There is no work to place.", err=True)
    source = NodeSource(session.fleet, files, cluster, live=live)
    if files:
        refuse_several(item.pool.backend.name for item in chosen)
    found = list(unplaced(session.fleet, chosen))
    left_out = [item for item in found if isinstance(item, LeftOut)]
    gangs = [item for item in found if isinstance(item, GangToPlace)]
    tell_volumes(gangs, source)
    forecasts = [
        _with_changes(each, grow)
        for scheduler in shard_schedulers(session.fleet, gangs, source)
        for clock in (Clock(now or source.now(scheduler.backend).replace(tzinfo=UTC), horizon, assume),)
        if (each := forecasted(scheduler, source.queued(scheduler.backend), clock, named if work else None)) is not None
    ]
    if output == "json":
        hand_over_answer(pages.Forecasts(forecasts, left_out))
    elif output in ("svg", "html"):
        from kubectl_tas.draw import gantt  # most runs draw nothing

        hand_over((gantt.svg if output == "svg" else gantt.html)(forecasts))
    elif forecasts:
        show(pages.render(forecasts, wide=output == "wide"))
    own = [item for item in left_out if not work or id(item.sent) in named]
    waits = any(gang.outcome in _WAITING for each in forecasts for gang in each.gangs)
    waits = waits or (bool(work) and any(each.suspended or each.without_runs for each in forecasts))
    return finish(session, own, is_placed=not waits)


def forecasted(
    scheduler: ShardScheduler,
    objects: Sequence[Mapping[str, Any]],
    clock: Clock,
    named: frozenset[int] | None = None,
    *,
    effort: tuple[int, int] | None = None,
) -> pages.Forecasted | None:
    """Plays one scheduler of a cluster with these objects. ``named``: identities of the work that is shown; None: all.
    With ``effort``, most turns and tries, it stops when that work has started, or earlier. Returns None without such
    work.
    """
    scheduler = replace(scheduler, start=replace(scheduler.start, now=clock.now.replace(tzinfo=None)))
    plan = planned(scheduler, objects, clock)
    shown = None
    if named is not None:
        shown = frozenset(name for name, gang in plan.gangs_to_place.items() if id(gang.sent) in named)
        if not shown and not any(id(gang.sent) in named for gang in (*plan.suspended, *plan.without_runs)):
            return None
    with progress("Forecasting") as tick:
        awaited = None if effort is None else Awaited(shown or frozenset(plan.gangs_to_place), *effort)
        forecast = play(scheduler.start, plan.gangs, clock.horizon, tick, awaited)
    return pages.Forecasted(scheduler, plan, forecast, clock, shown, named)


def _with_changes(each: pages.Forecasted, grow: int | None) -> pages.Forecasted:
    """Adds what would bring gangs forward that wait."""
    plan, start = each.planned, each.scheduler.start
    played = Played(start, plan.gangs, each.forecast)
    late = [
        gang
        for gang in each.gangs
        if gang.outcome not in STARTED and gang.name in plan.gangs_to_place and plan.is_first(gang.planned)
    ]
    cost = (len(start.nodes) + each.forecast.events) * len(plan.gangs) * len(late)
    if each.named is None and cost > MAX_COST:
        say(f"Not tried: what would help {plural(len(late), 'gang')} that wait. Name WORK.", err=True)
        late = []
    earlier = {}
    with progress("Trying changes") as tick:
        for number, gang in enumerate(late, start=1):
            earlier[gang.name] = earlier_start(played, gang, plan.gangs_to_place[gang.name])
            tick(number, len(late))
    grown = with_racks(played, list(plan.gangs_to_place.values()), grow) if grow else None
    return replace(each, earlier=earlier, grown=grown)


def with_starts(fleet: Fleet, answers: Sequence[Why], said: Sequence[ClusterAnswers], clusters: Clusters) -> list[Why]:
    """Adds to the answers for waiting work when it starts, if its cluster has said which nodes and pods there are."""
    starts: dict[int, PredictedStart | None] = {}
    for backend in fleet.backends:
        waiting = [
            (answer.sent, cluster_answers.objects)
            for answer, cluster_answers in zip(answers, said, strict=True)
            if answer.sent.pool.backend == backend and any(isinstance(one, Fit) for one in answer.fits)
        ]
        if waiting:
            works = [work for work, _ in waiting]
            starts |= _starts(fleet, works, waiting[0][1], clusters.of(backend.name))
    return [replace(answer, start=starts.get(id(answer.sent))) for answer in answers]


def _starts(
    fleet: Fleet, works: Sequence[Submission], objects: Sequence[Mapping[str, Any]], cluster: Cluster
) -> dict[int, PredictedStart | None]:
    """Returns the starts of work of one cluster, by the identity of the work."""
    backend, shards = works[0].pool.backend, {work.pool.shard for work in works}
    chosen = [item for item in fleet.submissions if item.pool.backend == backend and item.pool.shard in shards]
    nodes = with_volumes(read_nodes(objects, complete_kinds(objects)), objects)
    objects = [*objects, *cluster.priority_classes().objects]
    now, starts = time_in(cluster, objects), dict[int, PredictedStart | None]()
    asked = frozenset(map(id, works))
    gangs = list(in_cluster(fleet, chosen, objects, asked))
    clock = Clock(now.replace(tzinfo=UTC), HORIZON)
    for scheduler in schedulers(backend, gangs, seen_cluster(fleet, backend, nodes, objects, now)):
        each = forecasted(scheduler, objects, clock, asked, effort=OF_WHY)
        if each is not None:
            starts |= {id(work): pages.last_start(each, work) for work in works if work.pool.shard == scheduler.shard}
    return starts


def forecasts_of(
    fleet: Fleet, backend: FleetBackend, nodes: ClusterNodes, objects: Sequence[Mapping[str, Any]], now: datetime
) -> Iterator[pages.Forecasted]:
    """Yields the forecast of each scheduler of a cluster."""
    works = [item for item in fleet.submissions if item.pool.backend == backend]
    gangs = [gang for gang in unplaced(fleet, works) if isinstance(gang, GangToPlace)]
    clock = Clock(now.replace(tzinfo=UTC), HORIZON)
    for scheduler in schedulers(backend, gangs, seen_cluster(fleet, backend, nodes, objects, now)):
        each = forecasted(scheduler, objects, clock, effort=OF_REPORT)
        assert each is not None  # all work is shown
        yield each
