"""The options for the times of a forecast, which several commands share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.cli.options import F, note, noted, together
from kubectl_tas.facts import times

if TYPE_CHECKING:
    from kubectl_tas.place.run_limits import Clock

MAX_HORIZON = 366 * 86400
"""Most seconds of a horizon."""
HORIZON = 7 * 86400
"""Seconds of the horizon that no option sets."""
FIRST_YEAR, LAST_YEAR = 1970, 9000


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


def _option(name: str, kind: click.ParamType[Any], about: str) -> Callable[[F], F]:
    return click.option(f"--{name}", metavar="TIME", type=kind, expose_value=False, callback=note, help=about)


clock_options = together(
    _option("assume", _Duration(), "How long work without a limit runs, such as 2h."),
    _option("horizon", _Duration(), "Where the forecast stops; by default after 7d."),
    _option("now", _Moment(), "The time of the forecast, such as 2026-11-29T04:00Z."),
)
"""The options for the times of a forecast; ``clock`` returns these."""
grow_option = click.option(
    "--grow",
    metavar="N",
    type=click.IntRange(1, 1000),
    help="Say how much earlier work starts with N more racks, like the most common one.",
)
"""The option for the number of racks that are added."""


def clock(now: datetime | None = None) -> Clock:
    """Returns the times that the options of the command name; ``now``, in UTC, stands for a time that they lack."""
    from kubectl_tas.place.run_limits import Clock  # most runs forecast nothing

    moment = noted("now") or (now or datetime.now(UTC)).replace(microsecond=0, tzinfo=UTC)
    return Clock(moment, noted("horizon") or HORIZON, noted("assume"))


def sets_clock() -> bool:
    """Whether an option of the command sets a time of a forecast."""
    return any(noted(name) is not None for name in ("now", "horizon", "assume"))
