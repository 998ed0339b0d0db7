"""An answer in, a part of it that an agent can read out, with a note of what is left out."""

from __future__ import annotations

import json
from typing import Any

from kubectl_tas.errors import TasError

DEFAULT_LIMIT = 50
MAX_LIMIT = 500
MAX_CHARACTERS = 60_000
"""Of an answer as JSON."""
_NESTED = (200, 50, 20, 5)
"""Items that lists within items may have, tried in turn."""


def page_of(answer: dict[str, Any], offset: int, limit: int) -> dict[str, Any]:
    """The items from ``offset`` of each list of the answer, at most ``limit``, and fewer where they are too large.
    ``leftOut`` of its ``page`` counts what is missing.

    Raises TasError where one item alone is too large.
    """
    while True:
        found = _part(answer, offset, limit)
        if _fits(found):
            return found
        if limit == 1:
            break
        limit //= 2
    for most in _NESTED:
        found = _part({key: _cut(value, most, 0) for key, value in answer.items()}, offset, 1)
        found["page"]["cutTo"] = most
        if _fits(found):
            return found
    raise TasError(
        f"one item of the answer alone has more than {MAX_CHARACTERS} characters",
        hint="Ask about less, or run the command itself with -o json.",
    )


def _part(answer: dict[str, Any], offset: int, limit: int) -> dict[str, Any]:
    lists = {key: value for key, value in answer.items() if isinstance(value, list)}
    left = {key: len(value) - len(value[offset : offset + limit]) for key, value in lists.items()}
    found = {key: value[offset : offset + limit] if key in lists else value for key, value in answer.items()}
    longest = max(map(len, lists.values()), default=0)
    after = offset + limit if offset + limit < longest else None
    left_out = {key: count for key, count in left.items() if count}
    return {**found, "page": {"offset": offset, "limit": limit, "next": after, "leftOut": left_out}}


def _cut(value: Any, most: int, depth: int) -> Any:
    """The first items of each list within an item."""
    if isinstance(value, dict):
        return {key: _cut(part, most, depth + 1) for key, part in list(value.items())}
    if isinstance(value, list):
        kept = value[:most] if depth else value
        return [_cut(part, most, depth + 1) for part in kept]
    return value


def _fits(answer: dict[str, Any]) -> bool:
    return len(json.dumps(answer, ensure_ascii=False)) <= MAX_CHARACTERS


PAGE: dict[str, Any] = {
    "type": "object",
    "description": "Which part of the lists this is.",
    "properties": {
        "offset": {"type": "integer"},
        "limit": {"type": "integer", "description": "Items of each list, at most."},
        "next": {"type": ["integer", "null"], "description": "The offset to ask for the items behind these."},
        "leftOut": {
            "type": "object",
            "additionalProperties": {"type": "integer"},
            "description": "How many items of each list are not here.",
        },
        "cutTo": {"type": "integer", "description": "Items of each list within an item, where those were too long."},
    },
    "required": ["offset", "limit", "next", "leftOut"],
}
"""The schema of ``page``."""
