"""Imports and compiles what a run needs, at the moment at which it needs it."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any, AnyStr


@cache
def imported(place: str) -> Any:
    """What lives at ``module:attribute``."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def late_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """``re.compile`` for patterns of a module, of which a run needs few: they are compiled when they are first used."""
    return _Pattern(pattern, flags)  # type: ignore[return-value]


class _Pattern:
    """Stands for a compiled pattern, and takes each method from it when it is first called."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)
        return found
