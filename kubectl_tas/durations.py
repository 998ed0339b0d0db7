"""Converts durations as Go writes them, such as 1h30m, to nanoseconds and back.

Source: Go's package time, ParseDuration and Duration.String.
"""

from __future__ import annotations

import re
from fractions import Fraction

from kubectl_tas.late import late_pattern

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_PART = late_pattern(r"(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
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
    place, total, written = 0, 0, text.strip()
    while place < len(written):
        found = _SAID.match(written, place)
        size = _NANOSECONDS.get(found[3].lower()) if found else None
        if found is None or size is None:
            return None
        total += int(Fraction(f"{found[1]}.{found[2] or 0}") * size)
        place = found.end()
    return -(-total // _NANOSECONDS[unit[0].lower()]) if unit and place else None


def parse(text: str) -> int | None:
    """Returns the nanoseconds of a duration, which may be negative; None if Go refuses the text."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    total, place = 0, 0
    while place < len(rest):
        found = _PART.match(rest, place)
        if found is None or len(found[0]) > 100:
            return None
        whole, part, unit = found[1] or "0", found[2] or "", _UNITS[found[3]]
        total += int(whole) * unit + int(Fraction(int(part or "0"), 10 ** len(part)) * unit)
        place = found.end()
    return sign * total if rest and total <= _MAX else None


def text(nanoseconds: int) -> str:
    """Returns a duration as Go prints it: 1h30m0s, 1.5s, 100ms."""
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest == 0:
        return "0s"
    if rest < 10**9:
        unit = next(unit for unit in ("ms", "µs", "ns") if rest >= _UNITS[unit])
        return f"{sign}{_decimal(rest, _UNITS[unit])}{unit}"
    minutes, seconds = divmod(rest, _UNITS["m"])
    hours, minutes = divmod(minutes, 60)
    found = f"{_decimal(seconds, 10**9)}s"
    if hours or minutes:
        found = f"{minutes}m{found}"
    return f"{sign}{hours}h{found}" if hours else f"{sign}{found}"


def _decimal(amount: int, unit: int) -> str:
    whole, part = divmod(amount, unit)
    digits = str(part).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
