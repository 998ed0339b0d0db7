"""Checks schedules of CronJobs as Kubernetes does. Follows ``validateScheduleFormat`` of Kubernetes 1.35
(pkg/apis/batch/validation) and ``ParseStandard`` of github.com/robfig/cron/v3, which Kubernetes calls.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kubectl_tas import durations
from kubectl_tas.records import dataclass
from kubectl_tas.words import did_you_mean, question

_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_EVERY = "@every "
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


def refused(text: str) -> tuple[str, str] | None:
    """Returns why an API server refuses a schedule, and a hint; None if the server accepts it."""
    if "TZ" in text:
        return "must not name a time zone", "Write it in timeZone, beside schedule."
    if text.startswith("@"):
        every = durations.parse(text.removeprefix(_EVERY)) if text.startswith(_EVERY) else None
        if text in _DESCRIPTORS or every is not None:
            return None
        return "is no schedule that Kubernetes knows", f"Known: {', '.join(_DESCRIPTORS)} and @every DURATION."
    parts = text.split()
    if len(parts) != len(_FIELDS):
        hint = "Write minute, hour, day of the month, month and day of the week, such as 0 3 * * 1."
        return f"must have {len(_FIELDS)} fields, and has {len(parts)}", hint
    for field, part in zip(_FIELDS, parts, strict=True):
        for item in part.split(","):
            if item and not _is_range(item.lower(), field):
                named = f", or {field.words[0]} to {field.words[-1]}" if field.words else ""
                rule = f'has "{item}" for {field.name}, which is from {field.least} to {field.most}{named}'
                sunday = field.words[:1] == ("sun",) and item == "7"
                return rule, "Write 0 for Sunday." if sunday else "Write *, a number, a range such as 1-5, or */5."
    return None


def zone_refused(text: str) -> tuple[str, str] | None:
    """Returns why an API server refuses a time zone; None for those of the tz database 2025c, which Go embeds."""
    known = _zones()
    if text in known:
        return None
    meant = text.casefold()
    near = (name for name in known if meant in (name.casefold(), name.rpartition("/")[2].casefold()))
    hint = did_you_mean(text, known, "Write one of the tz database, such as Etc/UTC or Europe/Zurich.", folds=True)
    return "must be the name of a time zone", question(text, found) if (found := next(near, None)) else hint


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
    first, last = numbers[0] or 0, numbers[-1] or 0
    return field.least <= first <= last <= field.most


def _number(text: str, field: _Field) -> int | None:
    if text in field.words:
        return field.words.index(text) + field.least
    return _whole(text)


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else None
