"""What each Grove release accepts: the version table as data.

Source: the Go types, CustomResourceDefinitions and webhooks of the releases themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from kubectl_tas.records import dataclass

KAI_SCHEDULER = "kai-scheduler"
"""What Grove calls KAI Scheduler among the schedulers that it works with; the only one that places by topology."""
DEFAULT_TOPOLOGY = "grove-topology"
"""The cluster topology of sets that name none. Before 0.1.0-alpha.9 Grove's operator makes it of its configuration."""
TEMPLATE: tuple[str | int, ...] = ("spec", "template")
"""Where the template of a set stands."""


@dataclass(frozen=True, slots=True)
class Release:
    """A row of the table: the releases from ``since`` up to the next row."""

    since: str
    has_constraints: bool = True
    """Whether sets have a ``topologyConstraint``."""
    has_names: bool = True
    """Whether a set names its cluster topology, and must; else every set has the one of the operator."""
    has_pack: bool = True
    """Whether a constraint is ``pack: {required, preferred}``; else ``packDomain``, which is required."""
    has_free_domains: bool = True
    """Whether domains are free names and levels any number; else the words of a list, and at most MAX_LEVELS."""
    schedulers: tuple[str, ...] = ()
    """The names that ``schedulerTopologyBindings`` may have at all; empty where there are no such bindings."""
    writes_pod_groups: bool = False
    """Whether Grove writes KAI's PodGroup, named as the PodGang; else KAI's podgrouper does."""


MAX_LEVELS = 7
"""Levels of a cluster topology where domains are not free."""

TABLE: tuple[Release, ...] = (
    Release("0.1.0-alpha.1", has_constraints=False, has_names=False, has_pack=False, has_free_domains=False),
    Release("0.1.0-alpha.4", has_names=False, has_pack=False, has_free_domains=False),
    Release("0.1.0-alpha.9", has_pack=False, schedulers=(KAI_SCHEDULER, "default-scheduler")),
    Release("0.1.0-alpha.10", schedulers=(KAI_SCHEDULER, "default-scheduler", "volcano", "lpx-scheduler")),
    Release(
        "0.1.0-alpha.12",  # Grove's main branch of August 2026, after the tag 0.1.0-alpha.12-rc1
        schedulers=(KAI_SCHEDULER, "default-scheduler", "volcano", "lpx-scheduler"),
        writes_pod_groups=True,
    ),
)
NEWEST = TABLE[-1].since

PATTERN = r"^v?([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})(?:-(alpha|beta|rc)\.([0-9]{1,6})(?:-rc([0-9]{1,6}))?)?$"
"""How a version is written: as the tags of Grove, ``0.1.0-alpha.11`` or ``v0.1.0-alpha.12-rc1``."""
_STAGES = ("alpha", "beta", "rc")


def release(version: str) -> Release | None:
    """The row of ``version``, the newest one for all later versions; None before the first.

    Raises ValueError where ``version`` does not match PATTERN.
    """
    wanted = _order(version)
    return next((row for row in reversed(TABLE) if _order(row.since) <= wanted), None)


def is_newer(version: str) -> bool:
    """Whether the table does not reach to ``version``, which matches PATTERN."""
    return _order(version) > _order(NEWEST)


def first_with(has: Callable[[Release], object]) -> str:
    """The first release of which ``has`` is true."""
    return next(row.since for row in TABLE if has(row))


@cache
def _order(version: str) -> tuple[int, ...]:
    """Versions as numbers that compare: a candidate comes before what it is a candidate of."""
    found = re.fullmatch(PATTERN, version)
    if found is None:
        raise ValueError(f"not a version: {version!r}")
    *numbers, stage, number, candidate = found.groups()
    if stage is None:
        return (*map(int, numbers), len(_STAGES))
    last = (1,) if candidate is None else (0, int(candidate))
    return (*map(int, numbers), _STAGES.index(stage), int(number), *last)
