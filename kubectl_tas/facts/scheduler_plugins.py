"""Tells which plugins, actions and flags KAI's scheduler has by patch release, and which fields a SchedulingShard has.

``tools.packscheduler`` makes the table from KAI's sources.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from kubectl_tas.facts.kai import Patch

Table = Literal["plugins", "actions", "flags", "fields"]
OPERATOR_SINCE: Patch = (0, 10, 0)
"""The first release whose operator makes schedulers of SchedulingShards. 0.9 has the kind, and nothing reads it."""


class SchedulerPart(NamedTuple):
    """A plugin, action, flag or field."""

    since: Patch
    until: Patch | None = None
    """The first later release without it."""
    priority: int | None = None
    """The default priority of a plugin or action; None if it does not run by default."""
    arguments: tuple[str, ...] = ()
    """The arguments of a plugin."""
    type: str = ""
    """The type of a flag: bool, int, duration or string."""

    def is_in(self, patch: Patch) -> bool:
        """Whether a release has it."""
        return self.since <= patch and (self.until is None or patch < self.until)


@cache
def rows(table: Table) -> Mapping[str, SchedulerPart]:
    """Returns all rows of a table by name; the name of a field is its path below ``spec``."""
    text = Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
    packed: dict[str, dict[str, Any]] = json.loads(text)[table]
    return {name: _row(**fields) for name, fields in packed.items()}


def rows_of(table: Table, patch: Patch) -> dict[str, SchedulerPart]:
    """Returns the rows of a table that a release has."""
    return {name: row for name, row in rows(table).items() if row.is_in(patch)}


def _row(since: str, until: str | None = None, arguments: tuple[str, ...] = (), **fields: Any) -> SchedulerPart:
    return SchedulerPart(_patch(since), _patch(until) if until else None, arguments=tuple(arguments), **fields)


def _patch(version: str) -> Patch:
    major, minor, patch = map(int, version.split("."))
    return major, minor, patch
