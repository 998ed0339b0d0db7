"""Makes phrases that several messages share: suggestions, lists, and hints for numbers out of range."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from operator import itemgetter

from kubectl_tas.base.diagnostics import Suggestion

MAX_LENGTH = 253
"""The longest word that is compared, since no name is longer and a comparison takes the product of two lengths."""
MAX_KNOWN = 1000
"""The most words that one word is compared with."""


MAX_SLIPS = 3
"""The most slips in one word of any length."""
MAX_LISTED = 10
"""The most names that a message lists."""


def closest(name: str, candidates: Iterable[str], *, most: int | None = None, folds: bool = False) -> str | None:
    """Returns the known name that ``name`` is most likely a misspelling of; None if no name is near.

    A name is near if at most ``most`` slips make one of the other. A slip is a missing, an extra or another character,
    or two swapped ones. By default, one slip per three characters is allowed. A word of three characters allows no
    other character: cpu is not a slip of gpu. If no name is near, the only one that begins with ``name`` is returned:
    env is environment. With ``folds``, case does not count.
    """
    if len(name) > MAX_LENGTH:
        return None
    folded = name.casefold() if folds else name
    allowed = min(MAX_SLIPS, max(1, (len(name) + 1) // 3)) if most is None else most
    compared = [candidate for candidate in islice(candidates, MAX_KNOWN) if abs(len(candidate) - len(name)) <= allowed]
    near = [
        (_slips(folded, candidate.casefold() if folds else candidate, allowed, may_replace=len(name) > 3), candidate)
        for candidate in compared
    ]
    nearest = min((pair for pair in near if pair[0] <= allowed), default=None, key=itemgetter(0))
    if nearest is not None or most is not None:
        return nearest[1] if nearest else None
    begun = {
        candidate for candidate in islice(candidates, MAX_KNOWN) if len(name) >= 3 and candidate.startswith(folded)
    }
    return begun.pop() if len(begun) == 1 else None


def misspelled(name: str, candidates: Iterable[str]) -> str | None:
    """Returns the known name that differs from ``name`` by one slip. Names of one series do not count: run-1 and run-2,
    a-eu and a-us.
    """
    return closest(name, (candidate for candidate in candidates if _of_series(candidate) != _of_series(name)), most=1)


class Misspellings:
    """Finds misspellings among many known names without comparing each pair. Names that differ by one slip share the
    name, or the rest of the name without one of its characters.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._near: dict[str, set[str]] = {}
        for name in names:
            for fragment in _parts(name):
                self._near.setdefault(fragment, set()).add(name)

    def of(self, name: str) -> str | None:
        """Returns the known name that ``name`` is a slip of."""
        return misspelled(
            name, sorted({candidate for fragment in _parts(name) for candidate in self._near.get(fragment, ())})
        )


def _parts(name: str) -> set[str]:
    """Returns a name, and the name without each one of its characters; nothing for a name that is too long."""
    return {name, *(name[:at] + name[at + 1 :] for at in range(len(name)))} if len(name) <= MAX_LENGTH else set()


@lru_cache(maxsize=4096)
def _of_series(name: str) -> str:
    """Returns a name without the parts that differ in a series: numbers, and words of up to two letters."""
    return re.sub(r"[0-9]+|(?<![A-Za-z])[A-Za-z]{1,2}(?![A-Za-z])", "", name)


def _slips(first: str, second: str, most: int, *, may_replace: bool) -> int:
    """Returns how many slips turn one word into another, with no part of either changed twice; more than ``most`` if
    it takes more.

    The measure is optimal string alignment. ``may_replace``: another character counts as one slip, not two.
    """
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, character in enumerate(first, start=1):
        if min(row) > most < min(before, default=0):  # what is below is no less
            return most + 1
        before, above, row = row, before, [i]
        for j, right in enumerate(second, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (character != right) * (1 if may_replace else 2))
            if i > 1 and j > 1 and character == second[j - 2] and first[i - 2] == right:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
    return row[-1]


def did_you_mean(
    name: str, candidates: Iterable[str], otherwise: str = "", *, folds: bool = False, quote: str = '"'
) -> str:
    """Returns a question with the nearest known name, as a Suggestion; ``otherwise`` if no name is near."""
    nearest = closest(name, candidates, folds=folds)
    return otherwise if nearest is None else question(name, nearest, quote=quote)


def question(name: str, suggested: str, *, quote: str = '"') -> Suggestion:
    """Returns the question whether the user meant ``suggested`` instead of ``name``."""
    return Suggestion(f"Did you mean {quote}{suggested}{quote}?", name, suggested)


def write_instead(name: str, suggested: str, verb: str = "Write") -> Suggestion:
    """Returns the advice to write another name, if the right one is certain."""
    return Suggestion(f"{verb} {suggested}.", name, suggested)


def nothing_called(noun: str, name: str, candidates: Sequence[str]) -> str:
    """Returns the message for an unknown name, with the nearest known name, else with all known names."""
    hint = did_you_mean(name, candidates).removeprefix("D")
    return f'no {noun} "{name}"; ' + (f"d{hint}" if hint else f"there is {shortened(candidates) or 'none'}")


def shortened(listed: Sequence[str], most: int = MAX_LISTED) -> str:
    """Returns the first of the listed names, and the number of the others."""
    and_more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return f"{', '.join(listed[:most])}{and_more}"


def within(value: int | None, most: int) -> str:
    """Returns a hint for a number outside 1 to ``most``; ``value`` is None if not a number. If ``most`` is 0, no pods
    exist, so there is no limit.
    """
    if most < 2:
        return "Use 1." if most else "Use a number from 1."
    return f"Use at most {most}." if value is not None and value > most else f"Use a number from 1 to {most}."
