"""``kubectl tas fit``: tells whether the nodes have room for work before it is applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import click

from kubectl_tas.base.words import nothing_called, shortened
from kubectl_tas.cli.addressing import meant, open_work, work_arguments
from kubectl_tas.cli.backends import NodeSource, chosen_backends, nodes_options, refuse_several, tell_shards
from kubectl_tas.cli.clock import clock_options, sets_clock
from kubectl_tas.cli.options import PICTURES, POOL, TEXT, output_option, repository_option, template_options
from kubectl_tas.cli.played_shards import MAX_LISTED, gangs_beside, moved_by, shard_schedulers
from kubectl_tas.cli.session import Session, open_session, refuse_errors, tell_errors
from kubectl_tas.cli.terminal import hand_over_answer, progress, say, show, show_figures, waiting
from kubectl_tas.draw import capacitypages, startmoves
from kubectl_tas.draw import fitpages as pages
from kubectl_tas.draw import pendingtable as queue_pages
from kubectl_tas.draw.fitfigure import figure
from kubectl_tas.facts.quantities import total
from kubectl_tas.gangs.admission import VERDICTS
from kubectl_tas.gangs.start_moves import StartMoves
from kubectl_tas.model.osmo_workflow import PRIORITIES
from kubectl_tas.place.actions import pending
from kubectl_tas.place.answers import FitOutcome, Fits, fit, in_order, nodes_of, running_of, settled
from kubectl_tas.place.earlier_starts import with_nodes
from kubectl_tas.place.gangs_to_place import GangToPlace, LeftOut, unplaced
from kubectl_tas.place.grow import grow as growth_of
from kubectl_tas.place.queues import held_gangs
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import Submission

MAX_COST = 50_000
"""Most nodes, times gangs, for which --grow plays the schedulers although no option asks for it."""


@click.command("fit", epilog="Example: kubectl tas fit --all --nodes nodes.json --nodes pods.json")
@work_arguments(many=True, required=False)
@click.option("--all", "is_all", is_flag=True, help="Answer for all work of the repository.")
@click.option(
    "--grow",
    metavar="[POOL]",
    is_flag=False,
    flag_value="",
    type=POOL,
    help="Say how many more racks the pool, or all WORK, needs.",
)
@clock_options
@output_option(TEXT, *PICTURES, "json")
@nodes_options
@template_options
@repository_option
def fit_command(
    work: Sequence[str],
    is_all: bool,
    grow: str | None,
    files: Sequence[str],
    live: bool,
    output: str,
    directory: str | None,
    **cluster: Any,
) -> int:
    """Check whether the nodes have a placement for WORK, and whether KAI finds it.

    fit places each gang alone, on what the pods of the cluster leave free; for quotas use `admit`. Without --nodes, fit
    asks the clusters of the backends. It shows the first constraint that fails, and changes that help. Exits 1 if KAI
    finds no placement of one, or if one has no answer.

    --all places all work that does not run yet, in KAI's order, on the same nodes and quotas. It shows what starts,
    what waits, and which LOW work KAI evicts. Exits 1 if one waits, or if KAI may try more than fit does.

    --grow adds racks, like the most common one, until KAI has placed all; it ignores quotas. It says how much earlier
    work starts, if limits of running times are known. Exits 1 if one waits.
    """
    if output in PICTURES and (is_all or grow is not None):
        raise click.UsageError(f"-o {output} draws answers for WORK that is named, not those of --all or --grow")
    if sets_clock() and grow is None:
        raise click.UsageError("--assume, --horizon and --now are for --grow; when work starts: kubectl tas forecast")
    session = open_work(directory, work, whole=grow is not None) if work else open_session(directory)
    if refuse_errors(session.without(VERDICTS)):  # what quotas say is another question
        return 1
    if grow and (work or is_all):
        raise click.UsageError("name WORK, or a pool behind --grow")
    every = is_all or (grow is not None and not work)
    chosen = chosen_work(session, work, is_all=every, backend=cluster["backend"])
    chosen = _of_pool(session.fleet, chosen, grow) if grow else chosen
    if not chosen:
        say("There is no work to place.", err=True)
    source = NodeSource(session.fleet, files, cluster, live=live)
    if files:
        refuse_several(item.pool.backend.name for item in chosen)
    found = list(unplaced(session.fleet, chosen))
    left_out = [item for item in found if isinstance(item, LeftOut)]
    gangs = [item for item in found if isinstance(item, GangToPlace)]
    tell_volumes(gangs, source)
    is_limited = tell_shards(session.fleet, (item.sent.pool for item in gangs))
    if grow is not None:
        return _grow(session, gangs, left_out, source, output)
    if is_all:
        return _all(session, gangs, left_out, source, output) or int(is_limited)
    asked = [(item, source.nodes(item.sent.pool.backend.name)) for item in found]
    known = []
    with progress("Placing") as tick:
        for item, nodes in asked:
            known.append((item, settled(item.orders, nodes) if isinstance(item, LeftOut) else fit(item, nodes)))
            tick(len(known), len(asked))
    answers = list(in_order(answer for _, answer in known if answer is not None))
    left_out = [item for item, answer in known if isinstance(item, LeftOut) and answer is None]
    if output == "json":
        hand_over_answer(Fits(answers, left_out))
    elif output in PICTURES and answers:
        show_figures([figure(one, source.nodes(one.sent.pool.backend.name), source.given) for one in answers], output)
    elif answers:
        show(pages.render(answers, source.given))
    is_placed = all(answer.outcome in (FitOutcome.FITS, FitOutcome.RUNS) for answer in answers)
    if not is_placed:
        _tell_preemptible(session, dict.fromkeys(item.sent.pool.backend.name for item in gangs), source)
    return finish(session, left_out, is_placed=is_placed)


def tell_volumes(gangs: Iterable[GangToPlace], source: NodeSource) -> None:
    """Says which volumes the answers do not consider."""
    unknown: dict[str, None] = {}
    for gang in gangs:
        claims = [claim for shape in gang.request.shapes for claim in shape.rules.claims]
        known = source.nodes(gang.sent.pool.backend.name).known_claims if claims else frozenset()
        unknown |= dict.fromkeys(name for namespace, name in claims if (namespace, name) not in known)
    if unknown:
        names = shortened(list(unknown), MAX_LISTED)
        say(f"Not looked at: the volumes of {plural(len(unknown), 'claim')} that the input lacks: {names}.", err=True)


def _tell_preemptible(session: Session, backends: Iterable[str], source: NodeSource) -> None:
    """Says which GPUs an answer about free resources does not consider."""
    for backend in backends:
        running = held_gangs(source.objects(backend))
        gpus = total(gang.asks for gang in running if gang.is_preemptible).gpu
        if gpus:
            held = f"{plural(int(gpus), 'GPU')} that preemptible work of backend {backend} holds"
            say(f"Not looked at: {held}. KAI may end it or move it. Run: kubectl tas fit --all", err=True)


def _all(
    session: Session, gangs: Sequence[GangToPlace], left_out: Sequence[LeftOut], source: NodeSource, output: str
) -> int:
    """Prints the answer for all pending gangs, one after another, and returns the exit code."""
    answers = []
    for scheduler in shard_schedulers(session.fleet, gangs, source):
        with waiting("Placing"):
            answers.append(queue_pages.ShardAnswer(scheduler, pending(scheduler.start, scheduler.jobs)))
    if output == "json":
        hand_over_answer(queue_pages.PendingAnswers(answers, left_out))
    elif answers:
        show(queue_pages.render(answers, source.given))
    turns = [turn for _, found in answers for turn in (*found.turns, *found.further)]
    return finish(session, left_out, is_placed=all(turn.placed and not turn.is_cut for turn in turns))


def _grow(
    session: Session, gangs: Sequence[GangToPlace], left_out: Sequence[LeftOut], source: NodeSource, output: str
) -> int:
    """Prints how many more racks each shard of each cluster's scheduler needs; returns the exit code."""
    shards: dict[tuple[str, str | None], list[GangToPlace]] = {}
    for item in sorted(gangs, key=lambda item: (PRIORITIES.index(item.sent.priority), item.sent.name, item.gang.name)):
        pool = item.sent.pool
        shards.setdefault((pool.backend.name, pool.shard), []).append(item)
    found: list[capacitypages.BackendGrowth] = []
    for (backend, _), own in shards.items():
        nodes = source.nodes(backend)
        copies = [(item, max(0, item.copies - len(running_of(item, nodes)))) for item in own]
        with waiting("Placing"):
            found += [
                capacitypages.BackendGrowth(backend, growth) for growth in growth_of(copies, nodes_of(own[0], nodes))
            ]
    moves = _moves(session.fleet, gangs, found, source)
    if output == "json":
        hand_over_answer(capacitypages.GrowthAnswer(found, left_out, moves or None))
    elif found:
        show(capacitypages.growth_text(found) + (f"\n{startmoves.render(moves)}" if moves else ""))
    return finish(session, left_out, is_placed=not any(growth.waiting for _, growth in found))


def _moves(
    fleet: Fleet, gangs: Sequence[GangToPlace], growths: Sequence[capacitypages.BackendGrowth], source: NodeSource
) -> list[StartMoves]:
    """Returns by how much the racks that are missing move the starts of the gangs, beside all other work, as `forecast`
    plays it. Without options for it, only what is known in hours, and nothing that takes long.
    """
    moves: list[StartMoves] = []
    growing = [each for each in growths if each.growth.added]
    asked = {id(gang.sent) for gang in gangs}
    pools = [gang.sent.pool for gang in gangs if growing]
    others = [gang for gang in gangs_beside(fleet, pools, tells=False) if id(gang.sent) not in asked]
    for scheduler in shard_schedulers(fleet, [*gangs, *others], source, tells=False) if growing else ():
        racks = [
            growth
            for backend, growth in growing
            if backend == scheduler.backend and growth.to_place[0].sent.pool.shard == scheduler.shard
        ]
        added = [node for growth in racks for node in growth.added]
        cost = (len(scheduler.start.nodes) + len(added)) * (len(scheduler.start.works) + len(scheduler.jobs))
        if added and cost > MAX_COST and not sets_clock():
            say("Not played: by how much starts move. To play it, pass --horizon 7d.", err=True)
        elif added:
            words = " and ".join(plural(growth.racks_needed, growth.word) for growth in racks)
            moved = moved_by(scheduler, source, with_nodes(scheduler.start, added), f"{words} more")
            moved = moved.of_gangs({name for name, gang in scheduler.gangs.items() if id(gang.sent) in asked})
            moves += [moved] if sets_clock() or moved.has_times else []
    return moves


def finish(session: Session, left_out: Sequence[LeftOut], *, is_placed: bool) -> int:
    """Says on stderr which work has no answer, and whether the repository has errors. Returns the exit code: 0 only if
    all work has an answer and ``is_placed``.
    """
    for item in left_out:
        say(f"No answer for {item.text}.", err=True)
    tell_errors(session)
    return 0 if is_placed and not left_out else 1


def _of_pool(fleet: Fleet, chosen: Sequence[Submission], wanted: str) -> list[Submission]:
    """Returns the work sent to a pool or pool--subpool. Raises a usage error if the name is unknown."""
    target = fleet.target(wanted)
    if target is None:
        raise click.UsageError(nothing_called("pool", wanted, fleet.target_names()))
    pool, subpool = target
    return [item for item in chosen if item.pool == pool and subpool in (None, item.subpool)]


def chosen_work(session: Session, wanted: Sequence[str], *, is_all: bool, backend: str | None) -> list[Submission]:
    """Returns the work that the user means. Raises a usage error if nothing matches, or KAI does not place a match."""
    if is_all == bool(wanted):
        raise click.UsageError("name WORK or pass --all, not both" if is_all else "name WORK, or pass --all")
    fleet = session.fleet
    chosen_backends(fleet, backend)
    known = [item for item in fleet.submissions if backend in (None, item.pool.backend.name)]
    found = known if is_all else [item for word in wanted for item in meant(session, word, known)]
    elsewhere = [item for item in found if not item.pool.backend.is_kai]
    if elsewhere and not is_all:
        item = elsewhere[0]
        what = f"{_word(item)} {item.name}"
        raise click.UsageError(f"{what} is for backend {item.pool.backend.name}, which has no KAI")
    if elsewhere:
        say(f"Left out: {', '.join(_count(elsewhere))} for backends without KAI.", err=True)
    return [item for item in {id(item): item for item in found}.values() if item.pool.backend.is_kai]


def _word(submission: Submission) -> str:
    return "workflow" if submission.kind == "Workflow" else submission.kind


def _count(items: Sequence[Submission]) -> list[str]:
    """Returns the number of items of each kind, as words."""
    return [plural(count, word) for word, count in Counter(map(_word, items)).items()]
