"""``kubectl tas forecast``: says when work starts, and when it ends at the latest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from kubectl_tas.cli.addressing import meant, work_arguments
from kubectl_tas.cli.backends import NodeSource, nodes_options, refuse_several
from kubectl_tas.cli.clock import clock_options, grow_option
from kubectl_tas.cli.fit import chosen_work, finish, tell_volumes
from kubectl_tas.cli.options import output_option, repository_option, template_options
from kubectl_tas.cli.played_shards import forecast_from, shard_schedulers
from kubectl_tas.cli.session import open_session, refuse_errors
from kubectl_tas.cli.terminal import hand_over, hand_over_answer, progress, say, show
from kubectl_tas.draw import forecasttable as pages
from kubectl_tas.gangs.admission import VERDICTS
from kubectl_tas.place.earlier_starts import STARTED, Played, earlier_start, with_racks
from kubectl_tas.place.gangs_to_place import GangToPlace, LeftOut, unplaced
from kubectl_tas.place.timeline import StartOutcome
from kubectl_tas.report.text import plural

MAX_COST = 300_000
"""Most nodes and events, times gangs, times gangs that wait, for which changes are tried although no WORK is named."""
_WAITING = (StartOutcome.GIVES_UP, StartOutcome.BEYOND, StartOutcome.UNKNOWN, StartOutcome.NEVER)


@click.command("forecast", epilog="Example: kubectl tas forecast train --nodes nodes.json --nodes pods.json")
@work_arguments(many=True, required=False)
@grow_option
@clock_options
@output_option("table", "wide", "json", "svg", "html")
@nodes_options
@template_options
@repository_option
def forecast_command(
    work: Sequence[str],
    grow: int | None,
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
        if (each := forecast_from(source, scheduler, named if work else None))
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
