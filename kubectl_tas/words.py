"""What a misspelled word was meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

MAX_LENGTH = 253
"""Characters of the longest word that is compared: no name is longer, and comparing takes the product of two."""
MAX_KNOWN = 400
"""Words that one is compared with."""


def get_close_matches(word: str, known: Iterable[str], n: int = 3, cutoff: float = 0.6) -> list[str]:
    """As ``difflib`` has it, in bounded time: up to ``n`` of the ``known`` words, the closest first."""
    if len(word) > MAX_LENGTH:
        return []
    short = (other for other in islice(known, MAX_KNOWN) if len(other) <= MAX_LENGTH)
    return difflib.get_close_matches(word, list(short), n, cutoff)
