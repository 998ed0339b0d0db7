"""Tells what each Grove release accepts, as a table of versions.

Source: the Go types, CustomResourceDefinitions and webhooks of the releases themselves.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from kubectl_tas.base.late import dataclass

KAI_SCHEDULER = "kai-scheduler"
"""Grove's name for KAI Scheduler, the only scheduler of Grove that places by topology."""
DEFAULT_TOPOLOGY = "grove-topology"
"""The default cluster topology of sets. Before 0.1.0-alpha.9, Grove's operator makes it from its configuration."""
TEMPLATE: tuple[str | int, ...] = ("spec", "template")
"""The path of the template in a set."""


@dataclass(frozen=True, slots=True)
class GroveRelease:
    """A row of the table: the releases from ``since`` up to the next row."""

    since: str
    has_constraints: bool = True
    """Whether sets have a ``topologyConstraint``."""
    has_names: bool = True
    """Whether a set must name its cluster topology; otherwise every set uses the operator's."""
    has_pack: bool = True
    """Whether a constraint is ``pack: {required, preferred}``; otherwise it is ``packDomain``, which is required."""
    has_free_domains: bool = True
    """Whether domains have free names and levels any number; otherwise only listed names, at most MAX_LEVELS."""
    schedulers: tuple[str, ...] = ()
    """All names that ``schedulerTopologyBindings`` accepts; empty if the release lacks such bindings."""
    takes_node_selectors: bool = True
    """Whether pods of cliques may have a nodeSelector (validatePodSpec of the webhook)."""
    writes_pod_groups: bool = False
    """Whether Grove writes KAI's PodGroup, named like the PodGang; otherwise KAI's podgrouper does."""


MAX_LEVELS = 7
"""The most levels of a cluster topology in releases without free domains."""

TABLE: tuple[GroveRelease, ...] = (
    GroveRelease(
        "0.1.0-alpha.1",
        has_constraints=False,
        has_names=False,
        has_pack=False,
        has_free_domains=False,
        takes_node_selectors=False,
    ),
    GroveRelease("0.1.0-alpha.2", has_constraints=False, has_names=False, has_pack=False, has_free_domains=False),
    GroveRelease("0.1.0-alpha.4", has_names=False, has_pack=False, has_free_domains=False),
    GroveRelease("0.1.0-alpha.9", has_pack=False, schedulers=(KAI_SCHEDULER, "default-scheduler")),
    GroveRelease("0.1.0-alpha.10", schedulers=(KAI_SCHEDULER, "default-scheduler", "volcano", "lpx-scheduler")),
    GroveRelease(
        "0.1.0-alpha.12",  # Grove's main branch of August 2026, after the tag 0.1.0-alpha.12-rc1
        schedulers=(KAI_SCHEDULER, "default-scheduler", "volcano", "lpx-scheduler"),
        writes_pod_groups=True,
    ),
)
NEWEST = TABLE[-1].since

PATTERN = r"^v?([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})(?:-(alpha|beta|rc)\.([0-9]{1,6})(?:-rc([0-9]{1,6}))?)?$"
"""The spelling of a version, as in Grove's tags: ``0.1.0-alpha.11`` or ``v0.1.0-alpha.12-rc1``."""
_STAGES = ("alpha", "beta", "rc")


def release(version: str) -> GroveRelease | None:
    """Returns the row of ``version``, with the newest row for all later versions; None before the first row.

    Raises ValueError if ``version`` does not match PATTERN.
    """
    order = _order(version)
    return next((row for row in reversed(TABLE) if _order(row.since) <= order), None)


def is_newer(version: str) -> bool:
    """Whether ``version``, which matches PATTERN, is newer than the table."""
    return _order(version) > _order(NEWEST)


def first_with(has: Callable[[GroveRelease], object]) -> str:
    """Returns the first release for which ``has`` is true."""
    return next(row.since for row in TABLE if has(row))


@cache
def _order(version: str) -> tuple[int, ...]:
    """Returns a version as numbers that compare; a release candidate comes before its release."""
    match = re.fullmatch(PATTERN, version)
    if match is None:
        raise ValueError(f"not a version: {version!r}")
    *numbers, stage, number, candidate = match.groups()
    if stage is None:
        return (*map(int, numbers), len(_STAGES))
    last = (1,) if candidate is None else (0, int(candidate))
    return (*map(int, numbers), _STAGES.index(stage), int(number), *last)
