"""Imports modules and compiles patterns at the moment of their first use."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any, AnyStr


@cache
def imported(place: str) -> Any:
    """Imports and returns the attribute at ``module:attribute``."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def late_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Delays ``re.compile`` until the first use of a pattern, since a run needs only a few patterns of each module."""
    return _Pattern(pattern, flags)  # type: ignore[return-value]


class _Pattern:
    """Takes the place of a pattern, and compiles it when one of its methods is first called."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)
        return found
