"""Words that several messages share: suggestions, and how to mend a number that is out of its range."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

MAX_LENGTH = 253
"""Characters of the longest word that is compared: no name is longer, and comparing takes the product of two."""
MAX_KNOWN = 400
"""Words that one is compared with."""


def closest(name: str, known: Iterable[str], *, cutoff: float = 0.6, folds: bool = False) -> str | None:
    """The known name that ``name`` is most likely a slip of, or None where none is near.

    ``cutoff`` is how alike the two must be, from 0 to 1; with ``folds`` case does not count.
    """
    from difflib import get_close_matches

    if len(name) > MAX_LENGTH:
        return None
    compared = [item for item in islice(known, MAX_KNOWN) if len(item) <= MAX_LENGTH]
    by_form = {item.casefold() if folds else item: item for item in reversed(compared)}
    found = get_close_matches(name.casefold() if folds else name, by_form, 1, cutoff)
    return by_form[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", *, folds: bool = False, quote: str = '"') -> str:
    """The question after a slip; ``otherwise`` where no known name is near."""
    found = closest(name, known, folds=folds)
    return otherwise if found is None else f"Did you mean {quote}{found}{quote}?"


def within(value: int | None, most: int) -> str:
    """How to mend a number that is not from 1 to ``most``; None: it is no number. Where ``most`` is 0 there are no
    pods, and so no limit.
    """
    if most < 2:
        return "Use 1." if most else "Use a number from 1."
    return f"Use at most {most}." if value is not None and value > most else f"Use a number from 1 to {most}."
