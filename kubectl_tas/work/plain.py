"""Converts findings and summaries to plain data, for the store and between processes, and back."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import lru_cache
from typing import Any

from kubectl_tas.diagnostics import Diagnostic, Location, Related, Severity, Suggestion
from kubectl_tas.gangs.summary import Request, Sent
from kubectl_tas.gpus import Gpus, Hundredths
from kubectl_tas.model.repository import Unread, Waiver
from kubectl_tas.quantities import NO_LIMIT, Amounts
from kubectl_tas.resources import all_rules

Plain = list[Any]
"""Data that JSON can express."""


def to_text(plain: Plain) -> str:
    """Returns plain data as JSON, on one line."""
    return json.dumps(plain, ensure_ascii=False, check_circular=False, separators=(",", ":"))


def to_bytes(plain: Plain) -> bytes:
    """Returns plain data as bytes of JSON."""
    return to_text(plain).encode("utf-8", "surrogatepass")


def of_text(text: str) -> Plain:
    """Returns the plain data of a JSON text. Raises ValueError if the text is not a JSON list."""
    try:
        found = json.loads(text)
    except RecursionError as error:
        raise ValueError from error  # nested too deep
    if not isinstance(found, list):
        raise ValueError
    return found


def of_bytes(content: bytes) -> Plain:
    """Returns the plain data of bytes of JSON. Raises ValueError like ``of_text``."""
    return of_text(content.decode("utf-8", "surrogatepass"))


def of_entry(content: bytes | None) -> Plain | None:
    """Returns the plain data of a store entry; None if the entry is absent or not in this format."""
    try:
        return of_bytes(content) if content is not None else None
    except ValueError:
        return None


def from_location(place: Location | None) -> Plain | None:
    """Converts a place to plain data; None stays None."""
    if place is None:
        return None
    return [place.path, place.line, place.column, place.source, place.length, place.source_column]


def to_location(plain: Plain | None) -> Location | None:
    """Restores a place from plain data."""
    return None if plain is None else Location(*plain)


def from_diagnostic(item: Diagnostic) -> Plain:
    """Converts a finding to plain data, before settings and waivers apply."""
    hint = [item.hint, item.hint.written, item.hint.meant] if isinstance(item.hint, Suggestion) else [item.hint]
    related = [[note.message, from_location(note.location)] for note in item.related]
    level = item.level.value if item.level else None
    place, cause = from_location(item.location), from_location(item.cause)
    return [item.rule.code, str(item.message), place, related, [*map(str, hint)], level, cause]


def to_diagnostic(plain: Plain) -> Diagnostic:
    """Restores a finding from plain data."""
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
    """Converts a comment that waives rules to plain data."""
    return [list(item.rules), from_location(item.place), item.line]


def to_waiver(plain: Plain) -> Waiver:
    """Restores a comment that waives rules from plain data."""
    rules, place, line = plain
    return Waiver(tuple(rules), Location(*place), line)


def from_unread(document: Unread) -> Plain:
    """Converts the place of an unread document to plain data."""
    return [from_location(document.place), document.is_work]


def to_unread(plain: Plain) -> Unread:
    """Restores the place of an unread document from plain data."""
    return Unread(Location(*plain[0]), plain[1])


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
    """Restores amounts; returns the same object for all work with the same amounts."""
    return Amounts(_read_amount(gpu), _read_amount(cpu), _read_amount(memory))


def from_sent(item: Sent) -> Plain:
    """Converts the summary of a submission to plain data."""
    request = item.request
    asked = [*map(_amounts, (request.asks, request.largest, request.first)), request.is_one_gang]
    about = [item.kind, item.name, item.priority, item.namespace, item.gang]
    return [*about, _amounts(item.asks), asked, list(item.platforms), item.objects]


def to_sent(plain: Plain) -> Sent:
    """Restores the summary of a submission from plain data."""
    kind, name, priority, namespace, gang, asks, asked, platforms, objects = plain
    all_, largest, least, is_one_gang = asked
    request = Request(_read_amounts(*all_), _read_amounts(*largest), _read_amounts(*least), is_one_gang)
    return Sent(kind, name, priority, namespace, gang, _read_amounts(*asks), request, tuple(platforms), objects)
