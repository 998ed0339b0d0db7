"""Compares two forecasts of one scheduler, and renders by how much the starts of gangs move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from kubectl_tas.draw.forecasttable import Forecasted, because, lasting, starts
from kubectl_tas.draw.pendingtable import listed
from kubectl_tas.gangs.start_moves import PlayedStart, StartMove, StartMoves
from kubectl_tas.place.timeline import GangForecast, StartOutcome
from kubectl_tas.report import style
from kubectl_tas.report.text import plural

HEADER = ("Work", "Pool", "Before", "After", "Move")


def moved_starts(before: Forecasted, after: Forecasted, change: str = "") -> StartMoves:
    """Returns the starts of the gangs that both forecasts have; of the runs of a schedule only the first. ``change``
    says in words what ``after`` has more than ``before``.
    """
    earlier, later = dict(_by_identity(before)), dict(_by_identity(after))
    gangs = tuple(
        _move(before, earlier[key], after, gang)
        for key, gang in later.items()
        if key in earlier and (earlier[key].outcome is not StartOutcome.RUNS or gang.outcome is not StartOutcome.RUNS)
    )
    scheduler, is_cut = after.scheduler, before.is_cut or after.is_cut
    return StartMoves(scheduler.backend, scheduler.shard, after.clock.horizon, is_cut, change, gangs)


def _by_identity(each: Forecasted) -> Iterator[tuple[Hashable, GangForecast]]:
    """Yields the gangs by what stays the same if files change: their objects, not the names of their PodGroups."""
    copies = Counter[Hashable]()
    forecasts = {gang.name: gang for gang in each.forecast.gangs}
    for planned in each.planned.gangs:
        gang = each.planned.gangs_to_place.get(planned.work.name)
        if gang is None:
            key: Hashable = planned.work.name
        else:
            part = gang.group.name if gang.group is not None else gang.gang.name
            key = gang.sent.kind, gang.sent.namespace, gang.sent.name, part
        copies[key] += 1
        if each.planned.is_first(planned):
            yield (key, copies[key]), forecasts[planned.work.name]


def _move(before: Forecasted, was: GangForecast, after: Forecasted, now: GangForecast) -> StartMove:
    gang = after.planned.gangs_to_place.get(now.name)
    pool = after.queue(now.planned.work.queue) if gang is None else gang.sent.target
    kind = None if gang is None else gang.sent.kind
    return StartMove(kind, after.name_of(now.name), now.name, pool, _start(before, was), _start(after, now))


def _start(each: Forecasted, gang: GangForecast) -> PlayedStart:
    text, seconds = starts(gang, each.clock), None if gang.starts is None else max(0, gang.starts)
    text = f"{text}: {because(each, gang)}" if gang.outcome is StartOutcome.UNKNOWN else text
    waits_for = tuple(each.name_of(name) for name in gang.cause.ended)
    return PlayedStart(gang.outcome.value, seconds, text, waits_for)


def rows(moves: StartMoves) -> list[tuple[str, ...]]:
    """Returns a row for each gang whose start moves, and rows that count the gangs not listed or not known."""
    lines: list[tuple[str, ...]] = [
        (move.name, move.pool, move.before.text, move.after.text, _words(move)) for move in moves.listed
    ]
    if moves.more:
        lines.append((f"and {moves.more} more", "-", "-", "-", "-"))
    if moves.never_known:
        blocking, has = moves.without_limit, "has" if len(moves.without_limit) == 1 else "have"
        why = f"unknown: {listed(blocking)} {has} no limit" if blocking else "unknown"
        first, *others = moves.never_known
        name, pool = (plural(moves.unknown, "gang"), "-") if others else (first.name, first.pool)
        lines.append((name, pool, why, "unknown", "-"))
    return lines


def _words(move: StartMove) -> str:
    if move.earlier is None:
        return "-"
    return f"{lasting(abs(move.earlier))} {'earlier' if move.earlier > 0 else 'later'}"


def render(schedulers: Sequence[StartMoves]) -> str:
    """Renders a table for each scheduler, with the change above it."""
    return "\n".join(_one(moves) for moves in schedulers)


def _one(moves: StartMoves) -> str:
    shard = f", shard {moves.shard}" if moves.shard else ""
    cut = "; KAI may do more than was tried" if moves.is_limited else ""
    title = f"Starts on {moves.backend}{shard} with {moves.change}{cut}"
    lines = rows(moves)
    if not lines:
        return f"{style.printable(title)}: none moves\n"
    return style.section(style.printable(title), [cell.upper() for cell in HEADER], lines)
