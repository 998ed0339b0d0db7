"""Findings and summaries as plain data, which a store keeps and processes hand over; and what they were made of it."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import lru_cache
from typing import Any

from kubectl_tas.diagnostics import Diagnostic, Location, Related, Severity, Suggestion
from kubectl_tas.gangs.summary import Request, Sent
from kubectl_tas.gpus import Gpus, Hundredths
from kubectl_tas.model.repository import Waiver
from kubectl_tas.quantities import NO_LIMIT, Amounts
from kubectl_tas.resources import all_rules

Plain = list[Any]
"""What JSON can say."""


def to_text(plain: Plain) -> str:
    """Plain data as JSON, on one line."""
    return json.dumps(plain, ensure_ascii=False, check_circular=False, separators=(",", ":"))


def to_bytes(plain: Plain) -> bytes:
    """The same as bytes."""
    return to_text(plain).encode("utf-8", "surrogatepass")


def of_text(text: str) -> Plain:
    """What was made into JSON. Raises ValueError for what is no list of it."""
    try:
        found = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if not isinstance(found, list):
        raise ValueError("not a list")
    return found


def of_bytes(content: bytes) -> Plain:
    """The same of bytes."""
    return of_text(content.decode("utf-8", "surrogatepass"))


def of_entry(content: bytes | None) -> Plain | None:
    """What an entry of the store holds; None where there is none, or none of ours."""
    try:
        return of_bytes(content) if content is not None else None
    except ValueError:
        return None


def from_location(place: Location | None) -> Plain | None:
    """A place; None where there is none."""
    if place is None:
        return None
    return [place.path, place.line, place.column, place.source, place.length, place.source_column]


def to_location(plain: Plain | None) -> Location | None:
    """The place that was made into ``plain``."""
    return None if plain is None else Location(*plain)


def from_diagnostic(item: Diagnostic) -> Plain:
    """A finding that nobody has settled yet."""
    hint = [item.hint, item.hint.written, item.hint.meant] if isinstance(item.hint, Suggestion) else [item.hint]
    related = [[note.message, from_location(note.location)] for note in item.related]
    level = item.level.value if item.level else None
    place, cause = from_location(item.location), from_location(item.cause)
    return [item.rule.code, str(item.message), place, related, [*map(str, hint)], level, cause]


def to_diagnostic(plain: Plain) -> Diagnostic:
    """The finding that was made into ``plain``."""
    code, message, place, related, hint, level, cause = plain
    return Diagnostic(
        all_rules()[code],
        message,
        to_location(place),
        tuple(Related(text, to_location(where)) for text, where in related),
        hint=Suggestion(*hint) if len(hint) > 1 else hint[0],
        level=Severity(level) if level else None,
        cause=to_location(cause),
    )


def from_waiver(item: Waiver) -> Plain:
    """A comment that waives rules."""
    return [list(item.rules), from_location(item.place), item.line]


def to_waiver(plain: Plain) -> Waiver:
    """The comment that was made into ``plain``."""
    rules, place, line = plain
    return Waiver(tuple(rules), Location(*place), line)


def _amount(value: Gpus) -> int | str:
    return value if isinstance(value, int) else str(value)


def _read_amount(plain: int | str) -> Gpus:
    if isinstance(plain, int):
        return plain
    return NO_LIMIT if Decimal(plain) == NO_LIMIT else Hundredths(plain)


def _amounts(item: Amounts) -> Plain:
    return [_amount(item.gpu), _amount(item.cpu), _amount(item.memory)]


@lru_cache(maxsize=4096)
def _read_amounts(gpu: int | str, cpu: int | str, memory: int | str) -> Amounts:
    """The same for all work that asks for as much."""
    return Amounts(_read_amount(gpu), _read_amount(cpu), _read_amount(memory))


def from_sent(item: Sent) -> Plain:
    """What is kept of a submission."""
    request = item.request
    asked = [*map(_amounts, (request.asks, request.largest, request.first)), request.is_one_gang]
    about = [item.kind, item.name, item.priority, item.namespace, item.gang]
    return [*about, _amounts(item.asks), asked, list(item.platforms), item.objects]


def to_sent(plain: Plain) -> Sent:
    """What was kept of the submission that was made into ``plain``."""
    kind, name, priority, namespace, gang, asks, asked, platforms, objects = plain
    all_, largest, least, is_one_gang = asked
    request = Request(_read_amounts(*all_), _read_amounts(*largest), _read_amounts(*least), is_one_gang)
    return Sent(kind, name, priority, namespace, gang, _read_amounts(*asks), request, tuple(platforms), objects)
