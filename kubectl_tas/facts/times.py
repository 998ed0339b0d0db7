"""Reads durations as Go writes them, such as 1h30m, and checks schedules of CronJobs as Kubernetes does.

Sources: ParseDuration and Duration.String of Go's package time; ``validateScheduleFormat`` of Kubernetes 1.35
(pkg/apis/batch/validation), and ``ParseStandard`` of github.com/robfig/cron/v3, which Kubernetes calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path

from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.base.words import did_you_mean, question

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_DAYS = {"d": 24 * 3600 * 10**9, "w": 7 * 24 * 3600 * 10**9}
_PART = late_pattern(r"(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h|d|w)", re.ASCII)
_MAX = 2**63 - 1
_FIELD = late_pattern(r"([Mm]illi(?:second)?s?|[Ss]ec(?:ond)?s?|[Mm]inutes?|[Hh]ours?|[Dd]ays?|Ms)(?![a-z])")
_WORDS = {
    "ms": ("ms", "milli", "millis", "millisecond", "milliseconds", "msec", "msecs"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "m": ("m", "min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "d": ("d", "day", "days"),
}
_NANOSECONDS = {word: _UNITS.get(unit, 24 * _UNITS["h"]) for unit, words in _WORDS.items() for word in words}
_SAID = late_pattern(r"([0-9]{1,15})(?:\.([0-9]{1,9}))?[\s_-]*([a-z]+)[\s,]*", re.IGNORECASE | re.ASCII)


def in_unit_of(field: str, text: str) -> int | None:
    """Returns a time such as 4h or 10 minutes in the unit that the name of a field implies, rounded up. For
    activeDeadlineSeconds, 4h is 14400. Returns None if the name implies no unit, or the text is not a time.
    """
    unit = _FIELD.search(field)
    position, total, stripped = 0, 0, text.strip()
    while position < len(stripped):
        match = _SAID.match(stripped, position)
        size = _NANOSECONDS.get(match[3].lower()) if match else None
        if match is None or size is None:
            return None
        total += int(Fraction(f"{match[1]}.{match[2] or 0}") * size)
        position = match.end()
    return -(-total // _NANOSECONDS[unit[0].lower()]) if unit and position else None


def nanoseconds(text: str, *, has_days: bool = False) -> int | None:
    """Returns the nanoseconds of a duration, which may be negative; None if Go refuses the text. With ``has_days``, the
    duration may have days and weeks and no sign, as plugins of KAI's scheduler read it (xhit/go-str2duration).
    """
    sign, unsigned = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if has_days and unsigned != text:
        return None
    units = _UNITS | _DAYS if has_days else _UNITS
    if unsigned == "0":
        return 0
    total, position = 0, 0
    while position < len(unsigned):
        match = _PART.match(unsigned, position)
        if match is None or len(match[0]) > 100 or match[3] not in units:
            return None
        whole, decimals, unit = match[1] or "0", match[2] or "", units[match[3]]
        total += int(whole) * unit + int(Fraction(int(decimals or "0"), 10 ** len(decimals)) * unit)
        position = match.end()
    return sign * total if unsigned and total <= _MAX else None


def window(text: str) -> int:
    """Returns the nanoseconds of a duration as Prometheus writes it, such as 1w2d; a year has 365 days."""
    units = _UNITS | _DAYS | {"y": 365 * _DAYS["d"]}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"([0-9]+)(ms|[ywdhms])", text))


def duration(nanoseconds: int) -> str:
    """Returns a duration as Go prints it: 1h30m0s, 1.5s, 100ms."""
    sign, remaining = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if remaining == 0:
        return "0s"
    if remaining < 10**9:
        unit = next(unit for unit in ("ms", "µs", "ns") if remaining >= _UNITS[unit])
        return f"{sign}{_decimal(remaining, _UNITS[unit])}{unit}"
    minutes, seconds = divmod(remaining, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    printed = f"{_decimal(seconds, 10**9)}s"
    if hours or minutes:
        printed = f"{minutes}m{printed}"
    return f"{sign}{hours}h{printed}" if hours else f"{sign}{printed}"


def _decimal(amount: int, unit: int) -> str:
    whole, remainder = divmod(amount, unit)
    digits = str(remainder).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)


def moment(text: object) -> datetime | None:
    """Returns a time as Kubernetes writes it, without its zone, which is UTC; None for anything else."""
    try:
        return datetime.fromisoformat(str(text)[:19]).replace(tzinfo=None)
    except ValueError:
        return None


def after(begin: datetime, nanoseconds: int) -> datetime:
    """Returns the time so many nanoseconds after another."""
    return begin + timedelta(microseconds=min(nanoseconds, _FAR) // 1000)


def stamp(time: datetime) -> str:
    """Returns a time as Kubernetes writes it."""
    return f"{time.isoformat(timespec='seconds')}Z"


_FAR = 1000 * 365 * 24 * _UNITS["h"]
_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_STANDARD = {
    **dict.fromkeys(("@yearly", "@annually"), "0 0 1 1 *"),
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    **dict.fromkeys(("@daily", "@midnight"), "0 0 * * *"),
    "@hourly": "0 * * * *",
}
"""The fields that each of these words stands for (parseDescriptor of robfig/cron v3)."""
_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""The most days of each month."""
_EVERY = "@every "
_ANY = ("*", "?", "*/1", "?/1")
"""Fields of a schedule that name no day."""
_DIGITS = 9
"""The most digits of a number in a schedule."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    least: int
    most: int
    words: tuple[str, ...] = ()


_FIELDS = (
    _Field("the minute", 0, 59),
    _Field("the hour", 0, 23),
    _Field("the day of the month", 1, 31),
    _Field("the month", 1, 12, ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    _Field("the day of the week", 0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)


def schedule_refused(text: str) -> tuple[str, str] | None:
    """Returns why an API server refuses a schedule, and a hint; None if the server accepts it."""
    if "TZ" in text:
        return "must not name a time zone", "Write it in timeZone, beside schedule."
    if text.startswith("@"):
        every = nanoseconds(text.removeprefix(_EVERY)) if text.startswith(_EVERY) else None
        if text in _DESCRIPTORS or every is not None:
            return None
        return "is no schedule that Kubernetes knows", f"Known: {', '.join(_DESCRIPTORS)} and @every DURATION."
    texts = text.split()
    if len(texts) != len(_FIELDS):
        hint = "Write minute, hour, day of the month, month and day of the week, such as 0 3 * * 1."
        return f"must have {len(_FIELDS)} fields, and has {len(texts)}", hint
    for field, field_text in zip(_FIELDS, texts, strict=True):
        for span in field_text.split(","):
            if span and not _is_range(span.lower(), field):
                named = f", or {field.words[0]} to {field.words[-1]}" if field.words else ""
                rule = f'has "{span}" for {field.name}, which is from {field.least} to {field.most}{named}'
                sunday = field.words[:1] == ("sun",) and span == "7"
                return rule, "Write 0 for Sunday." if sunday else "Write *, a number, a range such as 1-5, or */5."
    return None


def shortest_interval(schedule: str) -> int:
    """Returns the shortest time between two runs of a schedule, in seconds; a minute if the text is no schedule. Takes
    each day for a day of the schedule.
    """
    if schedule.startswith(_EVERY):
        return max(1, (nanoseconds(schedule.removeprefix(_EVERY)) or 0) // 10**9)
    if schedule in _DESCRIPTORS:
        return 3600 if schedule == "@hourly" else 24 * 3600
    texts = schedule.split()
    if len(texts) != len(_FIELDS) or schedule_refused(schedule) is not None:
        return 60
    minutes, hours = (_values(field_text, field) for field_text, field in zip(texts, _FIELDS[:2], strict=False))
    starts = [60 * hour + minute for hour in hours for minute in minutes]
    return 60 * min(later - start for start, later in pairwise([*starts, starts[0] + 24 * 60]))


def runs(schedule: str, zone: str, start: datetime, end: datetime) -> Iterator[datetime]:
    """Yields the times after ``start``, up to ``end``, at which a valid schedule runs (spec.go of robfig/cron v3); none
    if the text is no schedule. A zone that this machine does not have counts as UTC.
    """
    if schedule.startswith(_EVERY):
        step = timedelta(seconds=shortest_interval(schedule))
        moment = start + step
        while moment <= end:
            yield moment
            moment += step
        return
    texts = _STANDARD.get(schedule, schedule).split()
    if len(texts) != len(_FIELDS) or schedule_refused(schedule) is not None:
        return
    minutes, hours, days, months, weekdays = map(_values, texts, _FIELDS)
    is_any = any(part in _ANY for text in (texts[2], texts[4]) for part in text.split(","))
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # few schedules name a zone

    try:
        place: tzinfo = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        place = UTC
    day = start.astimezone(place).date()
    while day <= end.astimezone(place).date():
        is_day, is_weekday = day.day in days, (day.weekday() + 1) % 7 in weekdays
        is_due = is_day and is_weekday if is_any else is_day or is_weekday
        for hour in hours if is_due and day.month in months else ():
            for minute in minutes:
                moment = datetime(day.year, day.month, day.day, hour, minute, tzinfo=place)
                if start < moment <= end:
                    yield moment
        day += timedelta(days=1)


def never_comes(schedule: str) -> bool:
    """Whether a valid schedule names only days that its months lack, such as 31 February. A schedule with a day of the
    month and a day of the week runs on both (``dayMatches`` of robfig/cron v3, spec.go, read).
    """
    texts = schedule.split()
    if len(texts) != len(_FIELDS) or schedule_refused(schedule) is not None:
        return False
    days, months = _values(texts[2], _FIELDS[2]), _values(texts[3], _FIELDS[3])
    is_on_any_weekday = any(part in _ANY for part in texts[4].split(","))
    return is_on_any_weekday and min(days) > max(_LENGTHS[month - 1] for month in months)


def _values(text: str, field: _Field) -> list[int]:
    """Returns the values of a field that the server accepts, such as ``0,10-20/5``."""
    values: set[int] = set()
    for interval in filter(None, text.split(",")):
        span, _, step = interval.partition("/")
        low, _, last = span.partition("-")
        if low in ("*", "?"):
            start, end = field.least, field.most
        else:
            start = _number(low, field) or 0
            end = (_number(last, field) or 0) if last else field.most if step else start
        values |= set(range(start, end + 1, int(step or 1)))
    return sorted(values) or [field.least]


def zone_refused(text: str) -> tuple[str, str] | None:
    """Returns why an API server refuses a time zone; None for those of the tz database 2025c, which Go embeds."""
    zone_names = _zones()
    if text in zone_names:
        return None
    folded = text.casefold()
    near = (name for name in zone_names if folded in (name.casefold(), name.rpartition("/")[2].casefold()))
    hint = did_you_mean(text, zone_names, "Write one of the tz database, such as Etc/UTC or Europe/Zurich.", folds=True)
    return "must be the name of a time zone", question(text, nearest) if (nearest := next(near, None)) else hint


@cache
def _zones() -> tuple[str, ...]:
    """Reads the packed time zones: this machine may have other zones than that of the API server."""
    return tuple(Path(__file__).with_name("timezones.txt").read_text(encoding="utf-8").split())


def _is_range(text: str, field: _Field) -> bool:
    span, *steps = text.split("/")
    ends = span.split("-")
    if len(steps) > 1 or any(not _whole(step) for step in steps):
        return False
    if ends[0] in ("*", "?"):
        return True
    numbers = [_number(end, field) for end in ends]
    if len(numbers) > 2 or any(number is None for number in numbers):
        return False
    low, last = numbers[0] or 0, numbers[-1] or 0
    return field.least <= low <= last <= field.most


def _number(text: str, field: _Field) -> int | None:
    if text in field.words:
        return field.words.index(text) + field.least
    return _whole(text)


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else None
