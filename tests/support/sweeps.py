"""Selects how many generated cases tests try: all in CI, an eighth on a developer's machine.

The eighth has every kind, field and value, but fewer pairs of a field and a value, and fewer seeds and random examples.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
IN_CI = bool(os.environ.get("CI"))
_SHARE = 1 if IN_CI else 8


def examples(count: int) -> int:
    """Returns the number of random examples to try, of ``count`` in CI."""
    return -(-count // _SHARE)


def some(items: Sequence[T], first: int = 0) -> Sequence[T]:
    """Returns the ``items`` to try: all in CI, elsewhere every eighth, starting at ``first`` modulo 8."""
    return items[first % _SHARE :: _SHARE]
