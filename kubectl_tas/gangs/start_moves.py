"""Holds by how much a change of nodes, quotas or files moves the starts of gangs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass

MAX_MOVES = 20
"""Most gangs that an answer lists."""


@json_fields("outcome startsAfterSeconds=seconds waitsFor=waits_for")
class PlayedStart(NamedTuple):
    """The start of a gang, as `forecast` gives it."""

    outcome: str
    seconds: int | None
    """Time from the start of the forecast at the latest. null: unknown or never."""
    text: str
    """The start in words, with the reason if it is unknown."""
    waits_for: tuple[str, ...] = ()
    """The work for whose end the gang waits."""


@json_fields("kind name podGroup=pod_group pool before after earlierSeconds=earlier")
class StartMove(NamedTuple):
    """The start of a gang before and after a change."""

    kind: str | None
    """The kind of the work that the gang is of. null if the repository does not have it."""
    name: str
    pod_group: str
    pool: str
    """The pool or pool--subpool of the work."""
    before: PlayedStart
    after: PlayedStart

    @property
    def earlier(self) -> int | None:
        """Seconds by which the gang starts earlier; negative if it starts later; null if a start is not known."""
        before, after = self.before.seconds, self.after.seconds
        return None if before is None or after is None else before - after

    @property
    def is_later(self) -> bool:
        """Whether the gang starts later than before, or nobody knows when although its start was known before."""
        return self.earlier < 0 if self.earlier is not None else self.before.seconds is not None

    @property
    def is_moved(self) -> bool:
        """Whether the gang starts at another time, or the kind of the answer differs."""
        return bool(self.earlier) if self.earlier is not None else self.before.outcome != self.after.outcome


@json_fields(
    "backend shard horizonSeconds=horizon limited=is_limited change|null moves=listed more unknown "
    "withoutLimit=without_limit"
)
@dataclass(frozen=True, slots=True)
class StartMoves:
    """The starts that a change moves, in one shard of a scheduler."""

    backend: str
    shard: str | None
    horizon: int
    """Seconds that were played."""
    is_limited: bool
    """Whether KAI may do more than was tried."""
    change: str
    """Added nodes and quotas, in words; empty if files changed."""
    gangs: tuple[StartMove, ...]
    """All gangs that wait before and after the change."""

    def of_pools(self, pools: Collection[str]) -> StartMoves:
        """Returns the starts of the work of these pools and their subpools."""
        return replace(self, gangs=tuple(gang for gang in self.gangs if gang.pool.partition("--")[0] in pools))

    def of_gangs(self, pod_groups: Collection[str]) -> StartMoves:
        """Returns the starts of the gangs with these PodGroups."""
        return replace(self, gangs=tuple(gang for gang in self.gangs if gang.pod_group in pod_groups))

    @property
    def moves(self) -> list[StartMove]:
        """The gangs whose starts move, unknown times and the largest moves first."""
        moves = [gang for gang in self.gangs if gang.is_moved]
        return sorted(moves, key=lambda move: (move.earlier is not None, -abs(move.earlier or 0), move.name))

    @property
    def listed(self) -> list[StartMove]:
        """The first 20 of these gangs."""
        return self.moves[:MAX_MOVES]

    @property
    def more(self) -> int:
        """Number of further gangs whose starts move."""
        return max(0, len(self.moves) - MAX_MOVES)

    @property
    def unknown(self) -> int:
        """Number of gangs of whose start nothing is known, before and after."""
        return len(self.never_known)

    @property
    def without_limit(self) -> list[str]:
        """The first 20 of the gangs without a limit for which those wait."""
        return list(dict.fromkeys(name for gang in self.never_known for name in gang.after.waits_for))[:MAX_MOVES]

    @property
    def never_known(self) -> list[StartMove]:
        """The gangs of whose start nothing is known, before and after."""
        return [gang for gang in self.gangs if gang.before.outcome == gang.after.outcome == "unknown"]

    @property
    def has_times(self) -> bool:
        """Whether a move is known in hours."""
        return any(move.earlier for move in self.gangs)
