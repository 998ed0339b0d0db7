"""Imports what a run needs, at the moment at which it needs it."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


@cache
def imported(place: str) -> Any:
    """What lives at ``module:attribute``."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)
