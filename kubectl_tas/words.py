"""Makes phrases that several messages share: suggestions, lists, and hints for numbers out of range."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from operator import itemgetter

from kubectl_tas.diagnostics import Suggestion

MAX_LENGTH = 253
"""The longest word that is compared, since no name is longer and a comparison takes the product of two lengths."""
MAX_KNOWN = 1000
"""The most words that one word is compared with."""


MAX_SLIPS = 3
"""The most slips in one word of any length."""
MAX_LISTED = 10
"""The most names that a message lists."""


def closest(name: str, known: Iterable[str], *, most: int | None = None, folds: bool = False) -> str | None:
    """Returns the known name that ``name`` is most likely a misspelling of; None if no name is near.

    A name is near if at most ``most`` slips make one of the other. A slip is a missing, an extra or another character,
    or two swapped ones. By default, one slip per three characters is allowed. A word of three characters allows no
    other character: cpu is not a slip of gpu. If no name is near, the only one that begins with ``name`` is returned:
    env is environment. With ``folds``, case does not count.
    """
    if len(name) > MAX_LENGTH:
        return None
    written = name.casefold() if folds else name
    allowed = min(MAX_SLIPS, max(1, (len(name) + 1) // 3)) if most is None else most
    compared = [item for item in islice(known, MAX_KNOWN) if abs(len(item) - len(name)) <= allowed]
    near = [(_slips(written, item.casefold() if folds else item, other=len(name) > 3), item) for item in compared]
    found = min((pair for pair in near if pair[0] <= allowed), default=None, key=itemgetter(0))
    if found is not None or most is not None:
        return found[1] if found else None
    begun = {item for item in islice(known, MAX_KNOWN) if len(name) >= 3 and item.startswith(written)}
    return begun.pop() if len(begun) == 1 else None


def misspelled(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name that differs from ``name`` by one slip. Names of one series do not count: run-1 and run-2,
    a-eu and a-us.
    """
    return closest(name, (item for item in known if _of_series(item) != _of_series(name)), most=1)


class Misspellings:
    """Finds misspellings among many known names without comparing each pair. Names that differ by one slip share the
    name, or the rest of the name without one of its characters.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._near: dict[str, set[str]] = {}
        for name in known:
            for part in _parts(name):
                self._near.setdefault(part, set()).add(name)

    def of(self, name: str) -> str | None:
        """Returns the known name that ``name`` is a slip of."""
        return misspelled(name, sorted({item for part in _parts(name) for item in self._near.get(part, ())}))


def _parts(name: str) -> set[str]:
    """Returns a name, and the name without each one of its characters; nothing for a name that is too long."""
    return {name, *(name[:at] + name[at + 1 :] for at in range(len(name)))} if len(name) <= MAX_LENGTH else set()


def _of_series(name: str) -> str:
    """Returns a name without the parts that differ in a series: numbers, and words of up to two letters."""
    return re.sub(r"[0-9]+|(?<![A-Za-z])[A-Za-z]{1,2}(?![A-Za-z])", "", name)


def _slips(first: str, second: str, *, other: bool) -> int:
    """Returns how many slips turn one word into another, with no part of either changed twice.

    The measure is optimal string alignment. ``other``: whether another character counts as one slip, instead of two.
    """
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, left in enumerate(first, start=1):
        before, above, row = row, before, [i]
        for j, right in enumerate(second, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right) * (1 if other else 2))
            if i > 1 and j > 1 and left == second[j - 2] and first[i - 2] == right:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
    return row[-1]


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", *, folds: bool = False, quote: str = '"') -> str:
    """Returns a question with the nearest known name, as a Suggestion; ``otherwise`` if no name is near."""
    found = closest(name, known, folds=folds)
    return otherwise if found is None else question(name, found, quote=quote)


def question(name: str, found: str, *, quote: str = '"') -> Suggestion:
    """Returns the question whether the user meant ``found`` instead of ``name``."""
    return Suggestion(f"Did you mean {quote}{found}{quote}?", name, found)


def write_instead(name: str, found: str, verb: str = "Write") -> Suggestion:
    """Returns the advice to write another name, if the right one is certain."""
    return Suggestion(f"{verb} {found}.", name, found)


def nothing_called(what: str, name: str, known: Sequence[str]) -> str:
    """Returns the message for an unknown name, with the nearest known name, else with all known names."""
    hint = did_you_mean(name, known).removeprefix("D")
    return f'no {what} "{name}"; ' + (f"d{hint}" if hint else f"there is {shortened(known) or 'none'}")


def shortened(listed: Sequence[str], most: int = MAX_LISTED) -> str:
    """Returns the first of the listed names, and the number of the others."""
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return f"{', '.join(listed[:most])}{more}"


def within(value: int | None, most: int) -> str:
    """Returns a hint for a number outside 1 to ``most``; ``value`` is None if not a number. If ``most`` is 0, no pods
    exist, so there is no limit.
    """
    if most < 2:
        return "Use 1." if most else "Use a number from 1."
    return f"Use at most {most}." if value is not None and value > most else f"Use a number from 1 to {most}."
