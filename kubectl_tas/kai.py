"""What each KAI Scheduler release understands: the version table as data.

Source: the CustomResourceDefinitions and webhooks of the releases themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class Feature(Enum):
    """Something that only some releases can express."""

    TOPOLOGY = "topology constraints"
    SUBGROUPS = "SubGroups"
    SUBGROUP_TREE = "SubGroups with a parent or a topology constraint"
    PREEMPTIBILITY = "spec.preemptibility"
    DEEP_QUEUES = "more than two levels of queues"
    SEGMENTS = "segments"
    MIN_SUBGROUP = "minSubGroup"
    ZERO_MIN_MEMBER = "minMember: 0 on a SubGroup"
    SKIP_PODGROUPER = "the skip-podgrouper annotation"
    STRICT_MIN_MEMBER = "minMember on leaf SubGroups only"
    LEVEL_ALIAS = "level aliases"
    PREEMPTION_DELAY = "spec.preemptionDelay"
    STALENESS_GRACE = "spec.stalenessGracePeriod"


@dataclass(frozen=True, slots=True)
class Row:
    """One column of the table: the releases from ``since`` up to the next row."""

    since: tuple[int, int]
    topology_api: str | None
    """apiVersion of the Topology resource; None where there is none."""
    adds: frozenset[Feature]
    removes: frozenset[str] = frozenset()
    """Fields of ``PodGroup.spec`` that are gone from here on."""


TABLE: tuple[Row, ...] = (
    Row(since=(0, 2), topology_api=None, adds=frozenset()),
    Row(
        since=(0, 9),
        topology_api="kueue.x-k8s.io/v1alpha1",
        adds=frozenset({Feature.TOPOLOGY, Feature.SUBGROUPS}),
    ),
    Row(
        since=(0, 10),
        topology_api="kueue.x-k8s.io/v1alpha1",
        adds=frozenset({Feature.SUBGROUP_TREE, Feature.PREEMPTIBILITY}),
    ),
    Row(since=(0, 12), topology_api="kai.scheduler/v1alpha1", adds=frozenset()),
    Row(
        since=(0, 13),
        topology_api="kai.scheduler/v1alpha1",
        adds=frozenset({Feature.DEEP_QUEUES, Feature.SEGMENTS}),
    ),
    Row(
        since=(0, 15),
        topology_api="kai.scheduler/v1alpha1",
        adds=frozenset(
            {
                Feature.MIN_SUBGROUP,
                Feature.ZERO_MIN_MEMBER,
                Feature.SKIP_PODGROUPER,
                Feature.STRICT_MIN_MEMBER,
            }
        ),
        removes=frozenset({"backoffLimit", "completions", "parallelism"}),
    ),
    Row(
        since=(0, 17),
        topology_api="kai.scheduler/v1alpha1",
        adds=frozenset({Feature.LEVEL_ALIAS, Feature.PREEMPTION_DELAY, Feature.STALENESS_GRACE}),
    ),
)

OLDEST = TABLE[0].since
NEWEST = TABLE[-1].since
PATTERN = r"^v?[0-9]+\.[0-9]+(\.[0-9]+)?$"
"""How a version is written: ``0.17``, ``0.17.2`` or ``v0.17.2``."""


@dataclass(frozen=True, slots=True)
class Release:
    """A KAI release, by what it can express."""

    version: str
    """As ``major.minor``."""
    topology_api: str | None
    features: frozenset[Feature]
    removed_fields: frozenset[str]

    def has(self, feature: Feature) -> bool:
        """Whether this release can express ``feature``."""
        return feature in self.features


def release(version: str) -> Release | None:
    """The release that ``version`` (``0.17``, ``v0.17.2``) names; None where the table does not reach.

    Raises ValueError where ``version`` does not match PATTERN.
    """
    if not re.fullmatch(PATTERN, version):
        raise ValueError(f"not a version: {version!r}")
    major, minor = (int(part) for part in version.removeprefix("v").split(".")[:2])
    if not OLDEST <= (major, minor) <= NEWEST:
        return None
    rows = [row for row in TABLE if row.since <= (major, minor)]
    return Release(
        version=f"{major}.{minor}",
        topology_api=rows[-1].topology_api,
        features=frozenset().union(*(row.adds for row in rows)),
        removed_fields=frozenset().union(*(row.removes for row in rows)),
    )


def first_with(feature: Feature) -> str:
    """The first release, as ``major.minor``, that can express ``feature``."""
    return next(_text(row.since) for row in TABLE if feature in row.adds)


def last_with_field(field: str) -> str:
    """The release, as ``major.minor``, before the one that removed ``field`` of ``PodGroup.spec``."""
    major, minor = next(row.since for row in TABLE if field in row.removes)
    return _text((major, minor - 1))


def known() -> str:
    """The span of releases in the table, for messages."""
    return f"{_text(OLDEST)} to {_text(NEWEST)}"


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
