"""Words that several messages share: suggestions, and how to mend a number that is out of its range."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from operator import itemgetter

from kubectl_tas.diagnostics import Suggestion

MAX_LENGTH = 253
"""Characters of the longest word that is compared: no name is longer, and comparing takes the product of two."""
MAX_KNOWN = 400
"""Words that one is compared with."""


MAX_SLIPS = 3
"""Slips in one word, however long it is."""
MAX_LISTED = 10
"""Names that a message lists."""


def closest(name: str, known: Iterable[str], *, most: int | None = None, folds: bool = False) -> str | None:
    """The known name that ``name`` is most likely a slip of, or None where none is near.

    Near is what ``most`` slips apart make of one another: a character that is missing, too many or another one, or two
    that changed places. By default it is one in three characters; in a word of three, none is another one: cpu is no
    slip of gpu. Where no name is near, the only one that ``name`` is the beginning of is meant: env is environment.
    With ``folds`` case does not count.
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
    """The known name that differs from ``name`` by one slip. Names of one series are none: run-1 and run-2, a-eu and
    a-us.
    """
    return closest(name, (item for item in known if _of_series(item) != _of_series(name)), most=1)


class Misspellings:
    """Many known names, of which ``misspelled`` would compare each with each. Names that one slip makes of one another
    have something in common: the name, or what is left of it without one of its characters.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._near: dict[str, set[str]] = {}
        for name in known:
            for part in _parts(name):
                self._near.setdefault(part, set()).add(name)

    def of(self, name: str) -> str | None:
        """The known name that ``name`` is a slip of."""
        return misspelled(name, sorted({item for part in _parts(name) for item in self._near.get(part, ())}))


def _parts(name: str) -> set[str]:
    """A name, and what is left of it without one character; of one that is too long to be compared nothing."""
    return {name, *(name[:at] + name[at + 1 :] for at in range(len(name)))} if len(name) <= MAX_LENGTH else set()


def _of_series(name: str) -> str:
    """A name without what tells those of a series apart: numbers, and words of up to two letters."""
    return re.sub(r"[0-9]+|(?<![A-Za-z])[A-Za-z]{1,2}(?![A-Za-z])", "", name)


def _slips(first: str, second: str, *, other: bool) -> int:
    """How many slips make one word of another, where no part of either slips twice (optimal string alignment).

    ``other``: whether a character that is another one is one slip, not two.
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
    """The question after a slip, a Suggestion; ``otherwise`` where no known name is near."""
    found = closest(name, known, folds=folds)
    return otherwise if found is None else question(name, found, quote=quote)


def question(name: str, found: str, *, quote: str = '"') -> Suggestion:
    """The question after a name that stands for another."""
    return Suggestion(f"Did you mean {quote}{found}{quote}?", name, found)


def write_instead(name: str, found: str, verb: str = "Write") -> Suggestion:
    """The advice after a name of which it is known what should stand there."""
    return Suggestion(f"{verb} {found}.", name, found)


def nothing_called(what: str, name: str, known: Sequence[str]) -> str:
    """A message for a name that is none: with the one that is meant, else with those that there are."""
    hint = did_you_mean(name, known).removeprefix("D")
    return f'no {what} "{name}"; ' + (f"d{hint}" if hint else f"there is {shortened(known) or 'none'}")


def shortened(listed: Sequence[str], most: int = MAX_LISTED) -> str:
    """The first of them, with the number of the others."""
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return f"{', '.join(listed[:most])}{more}"


def within(value: int | None, most: int) -> str:
    """How to mend a number that is not from 1 to ``most``; None: it is no number. Where ``most`` is 0 there are no
    pods, and so no limit.
    """
    if most < 2:
        return "Use 1." if most else "Use a number from 1."
    return f"Use at most {most}." if value is not None and value > most else f"Use a number from 1 to {most}."
