"""How much of what tests try by the hundred: CI tries all of it, a developer's machine an eighth.

The eighth has every kind, field and value, but fewer pairs of a field and a value, fewer seeds and random examples.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
IN_CI = bool(os.environ.get("CI"))
_SHARE = 1 if IN_CI else 8


def examples(count: int) -> int:
    """The number of random examples to try, of ``count`` in CI."""
    return -(-count // _SHARE)


def some(items: Sequence[T], first: int = 0) -> Sequence[T]:
    """The ``items`` to try: all in CI, elsewhere each eighth from number ``first`` on, counted around."""
    return items[first % _SHARE :: _SHARE]
