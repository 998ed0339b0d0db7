"""Draws when gangs run: an SVG, or an HTML page, with a bar for each gang, by pool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from kubectl_tas.draw import plainpage
from kubectl_tas.draw.forecasttable import HEADER, NO_LIMIT, Forecasted, because, ends, head, lasting, starts
from kubectl_tas.draw.palette import NAMESPACE
from kubectl_tas.draw.pendingtable import gang_name
from kubectl_tas.draw.svg import STYLE
from kubectl_tas.place.timeline import GangForecast, RunSpan
from kubectl_tas.report.style import printable

WIDTH, MARGIN, LINE, BAR = 560.0, 16.0, 20.0, 12.0
"""Width of a picture, its margin, and the heights of a line of text and of a bar, in SVG units. The names of gangs are
above their bars, so that a narrow screen shows both.
"""
MOST_BARS = 80
"""Most gangs that are drawn."""
_STEPS = (60, 300, 900, 1800, 3600, 2 * 3600, 4 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 30 * 86400)
"""Distances between the marks of the axis."""
_TICKS = 6
_HOUR = 3600


def svg(forecasts: Sequence[Forecasted]) -> str:
    """Draws the forecasts one below the other."""
    return picture(forecasts, f"<style>\n{STYLE}</style>\n")


def picture(forecasts: Sequence[Forecasted], style: str = "") -> str:
    """Draws the forecasts; without ``style``, for a page with the style of pictures."""
    lines: list[str] = []
    down = MARGIN
    for each in forecasts:
        shapes, down = _chart(each, down)
        lines += shapes
    words = "\n".join(line for each in forecasts for line in _lines(each))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{NAMESPACE}-picture" role="img" width="{_n(WIDTH)}" '
        f'height="{_n(down)}" viewBox="0 0 {_n(WIDTH)} {_n(down)}">\n'
        f"<title>Starts and ends of gangs</title>\n<desc>{escape(printable(words))}</desc>\n{style}"
        f'<rect class="{NAMESPACE}-page" width="100%" height="100%"/>\n'
        + "".join(f"{line}\n" for line in lines)
        + "</svg>\n"
    )


def html(forecasts: Sequence[Forecasted]) -> str:
    """Returns a page with the picture and the table of each forecast."""
    body: list[plainpage.Html] = []
    for each in forecasts:
        rows = [_row(each, gang) for gang in each.gangs]
        rows += [[*map(plainpage.text, (gang_name(idle.gang), idle.starts, "-", idle.because))] for idle in each.idle]
        body.append(plainpage.Html(picture([each])))
        body.append(plainpage.table((HEADER[0], *HEADER[-3:]), rows, title=head(each).strip()))
    return plainpage.page("When does work start?", body, STYLE)


def _lines(each: Forecasted) -> Iterator[str]:
    """Yields for each gang its start, its end and the reason."""
    for gang in each.gangs:
        yield ": ".join(filter(None, (_named(each, gang), because(each, gang))))
    for idle in each.idle:
        yield f"{gang_name(idle.gang)}: {idle.starts}: {idle.because}"


def _row(each: Forecasted, gang: GangForecast) -> list[plainpage.Html]:
    cells = each.name_of(gang.name), starts(gang, each.clock), ends(gang, each.clock), because(each, gang)
    return [plainpage.text(cell) for cell in cells]


def _chart(each: Forecasted, down: float) -> tuple[list[str], float]:
    """Draws a forecast from ``down`` on. Returns its shapes, and where it ends."""
    last = _last(each)
    lines = [_words("title", head(each).strip(), MARGIN, down := down + LINE)]
    step = next((step for step in _STEPS if last / step <= _TICKS), _STEPS[-1])
    marks = range(0, last + 1, step)
    down += LINE
    lines += [_words("word", lasting(mark) if mark else "now", _at(mark, last), down, quiet=True) for mark in marks]
    top = down + LINE / 4
    by_queue: dict[str, list[GangForecast]] = {}
    for gang in each.gangs[:MOST_BARS]:
        by_queue.setdefault(each.queue(gang.planned.work.queue), []).append(gang)
    bars: list[str] = []
    for queue, gangs in by_queue.items():
        bars.append(_words("title", queue, MARGIN, down := down + 1.5 * LINE))
        for gang in gangs:
            bars.append(_words("word", _named(each, gang), MARGIN, down := down + 1.2 * LINE))
            bars += _bars(gang, last, down + LINE / 4)
            down += LINE
    for idle in each.idle[:MOST_BARS]:
        text = f"{gang_name(idle.gang)}: {idle.starts}, {idle.because}"
        bars.append(_words("word", text, MARGIN, down := down + 1.2 * LINE, quiet=True))
    for mark in marks:
        x = _n(_at(mark, last))
        lines.append(f'<path stroke="currentColor" stroke-opacity="0.2" d="M{x} {_n(top)}V{_n(down)}"/>')
    more = sum(max(0, len(gangs) - MOST_BARS) for gangs in (each.gangs, each.idle))
    if more:
        bars.append(_words("word", f"and {more} more", MARGIN, down := down + LINE, quiet=True))
    bars.append(_words("word", "full: runs; striped: waits", MARGIN, down := down + 1.5 * LINE, quiet=True))
    return [*lines, *bars], down + MARGIN


def _last(each: Forecasted) -> int:
    """Returns the last time on the axis."""
    times = [time for gang in each.gangs for time in (gang.starts, gang.ends) if time is not None]
    times += [each.clock.horizon for gang in each.gangs if gang.ends is None and gang.starts is None]
    return max(_HOUR, min(each.clock.horizon, max(times, default=0)))


def _named(each: Forecasted, gang: GangForecast) -> str:
    start, end = starts(gang, each.clock), ends(gang, each.clock)
    words = f", {end}" if end == NO_LIMIT else f", ends {end}"
    return f"{each.name_of(gang.name)}: {start}{'' if end == '-' else words}"


def _bars(gang: GangForecast, last: int, y: float) -> Iterator[str]:
    """Draws the times in which a gang runs, full, and the times in which it waits, striped."""
    before = max(0, gang.planned.comes)
    until = last if gang.ends is None else min(last, gang.ends)
    spans = [*gang.spans, RunSpan(until, until)] if gang.ends is not None or not gang.spans else gang.spans
    for span in spans:
        start, end = max(0, min(last, span.start)), last if span.end is None else max(0, min(last, span.end))
        end = end if span.end is not None or gang.ends is None else until
        if start > before:
            path = f"M{_n(_at(before, last))} {_n(y + BAR / 2)}H{_n(_at(start, last))}"
            yield f'<path class="{NAMESPACE}-added" stroke-width="{_n(BAR)}" d="{path}"/>'
        if end > start:
            x, wide = _at(start, last), _at(end, last) - _at(start, last)
            yield f'<rect class="{NAMESPACE}-filled" x="{_n(x)}" y="{_n(y)}" width="{_n(wide)}" height="{_n(BAR)}"/>'
        before = max(before, end)


def _at(time: float, last: int) -> float:
    """Returns the place of a time on the axis; the room at the right is for the last mark."""
    return MARGIN + (WIDTH - 4 * MARGIN) * time / last


def _words(style: str, content: str, x: float, y: float, *, quiet: bool = False) -> str:
    classes = f"{NAMESPACE}-{style}" + (f" {NAMESPACE}-quiet" if quiet else "")
    return f'<text class="{classes}" x="{_n(x)}" y="{_n(y)}">{escape(printable(content), quote=False)}</text>'


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
