"""Converts findings and summaries to plain data, for the store and between processes, and back."""

from __future__ import annotations

import json
from decimal import Decimal
from functools import lru_cache
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Severity, Suggestion
from kubectl_tas.base.resources import all_rules
from kubectl_tas.facts.gpus import Gpus, Hundredths
from kubectl_tas.facts.quantities import NO_LIMIT, Amounts
from kubectl_tas.gangs.summary import KeptValues, Request
from kubectl_tas.model.repository import Unread, Waiver

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
        plain = json.loads(text)
    except RecursionError as error:
        raise ValueError from error  # nested too deep
    if not isinstance(plain, list):
        raise ValueError
    return plain


def of_bytes(content: bytes) -> Plain:
    """Returns the plain data of bytes of JSON. Raises ValueError like ``of_text``."""
    return of_text(content.decode("utf-8", "surrogatepass"))


def of_entry(content: bytes | None) -> Plain | None:
    """Returns the plain data of a store entry; None if the entry is absent or not in this format."""
    try:
        return of_bytes(content) if content is not None else None
    except ValueError:
        return None


def from_location(location: Location | None) -> Plain | None:
    """Converts a place to plain data; None stays None."""
    if location is None:
        return None
    return [location.path, location.line, location.column, location.source, location.length, location.source_column]


def to_location(plain: Plain | None) -> Location | None:
    """Restores a place from plain data."""
    return None if plain is None else Location(*plain)


def from_diagnostic(finding: Diagnostic) -> Plain:
    """Converts a finding to plain data, before settings and waivers apply."""
    fix = finding.fix
    hint = [finding.hint, fix.written, fix.meant] if fix else [finding.hint]
    related = [[note.message, from_location(note.location)] for note in finding.related]
    level = finding.level.value if finding.level else None
    location, cause = from_location(finding.location), from_location(finding.cause)
    return [finding.rule.code, str(finding.message), location, related, [*map(str, hint)], level, cause]


def to_diagnostic(plain: Plain) -> Diagnostic:
    """Restores a finding from plain data."""
    code, message, location, related, hint, level, cause = plain
    return Diagnostic(
        all_rules()[code],
        message,
        to_location(location),
        tuple(Related(text, to_location(where)) for text, where in related),
        hint=Suggestion(*hint) if len(hint) > 1 else hint[0],
        level=Severity(level) if level else None,
        cause=to_location(cause),
    )


def from_waiver(waiver: Waiver) -> Plain:
    """Converts a comment that waives rules to plain data."""
    return [list(waiver.rules), from_location(waiver.place), waiver.line]


def to_waiver(plain: Plain) -> Waiver:
    """Restores a comment that waives rules from plain data."""
    rules, location, line = plain
    return Waiver(tuple(rules), Location(*location), line)


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


def _amounts(amounts: Amounts) -> Plain:
    return [_amount(amounts.gpu), _amount(amounts.cpu), _amount(amounts.memory)]


@lru_cache(maxsize=4096)
def _read_amounts(gpu: int | str, cpu: int | str, memory: int | str) -> Amounts:
    """Restores amounts; returns the same object for all work with the same amounts."""
    return Amounts(_read_amount(gpu), _read_amount(cpu), _read_amount(memory))


def from_kept_values(kept: KeptValues) -> Plain:
    """Converts the summary of a submission to plain data."""
    request = kept.request
    requested = [*map(_amounts, (request.asks, request.largest, request.first)), request.is_one_gang]
    identity = [kept.kind, kept.name, kept.priority, kept.namespace, kept.gang]
    return [*identity, _amounts(kept.asks), requested, list(kept.platforms), kept.objects, kept.owner]


def to_kept_values(plain: Plain) -> KeptValues:
    """Restores the summary of a submission from plain data."""
    kind, name, priority, namespace, gang, asks, requested, platforms, objects, owner = plain
    all_, largest, least, is_one_gang = requested
    request = Request(_read_amounts(*all_), _read_amounts(*largest), _read_amounts(*least), is_one_gang)
    identity, own_asks = (kind, name, priority, namespace, gang), _read_amounts(*asks)
    return KeptValues(*identity, own_asks, request, tuple(platforms), objects, owner)
