"""Tells what each KAI Scheduler release understands and does, as a table of versions.

Source: the CustomResourceDefinitions, webhooks and podgroupers of the releases themselves, by their tags.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import cast

from kubectl_tas.base.late import dataclass


class Feature(Enum):
    """A capability that only some releases have."""

    TOPOLOGY = auto()  # topology constraints
    SUBGROUPS = auto()  # SubGroups
    SUBGROUP_TREE = auto()  # SubGroups with a parent or a topology constraint
    PREEMPTIBILITY = auto()  # spec.preemptibility
    DEEP_QUEUES = auto()  # more than two levels of queues
    MIN_SUBGROUP = auto()  # minSubGroup
    ZERO_MIN_MEMBER = auto()  # minMember: 0 on a SubGroup
    SKIP_PODGROUPER = auto()  # the skip-podgrouper annotation
    STRICT_MIN_MEMBER = auto()  # minMember on leaf SubGroups only
    MIN_RUNTIME = auto()  # a least runtime of work before it is preempted or reclaimed
    LEVEL_ALIAS = auto()  # level aliases
    PREEMPTION_DELAY = auto()  # spec.preemptionDelay
    STALENESS_GRACE = auto()  # spec.stalenessGracePeriod
    QUEUE_LABEL = auto()  # the queue in the label kai.scheduler/queue
    REPLICA_SUBGROUPS = auto()  # a SubGroup for each replica type
    RAY_SUBGROUPS = auto()  # a SubGroup for each group of a Ray cluster
    JOBSETS = auto()  # JobSets, and TrainJobs
    SEGMENTS = auto()  # segments
    SEGMENT_PARENTS = auto()  # a SubGroup above segments, or above those of a leader and its workers
    ELASTIC_SEGMENTS = auto()  # segments that are not waited for
    JOB_GANGS = auto()  # one PodGroup for all pods of a Job
    RAY_CONSTRAINTS = auto()  # constraints of Ray's groups
    JOBSET_SUBGROUPS = auto()  # SubGroups of a JobSet
    GROVE_CONSTRAINTS = auto()  # constraints of Grove's PodGangs
    SCALING_GROUPS = auto()  # Grove's scaling groups with a constraint
    MIXED_SUBGROUPS = auto()  # SubGroups with pods next to SubGroups with children
    LEVEL_OF_BOTH = auto()  # one level that is required and preferred
    ROOM_OF_MILLICORES = auto()  # domains that are compared by thousandths of a core
    SUBGROUPS_BY_NAME = auto()  # SubGroups that are placed in the order of their names alone
    COARSE_REQUIRED = auto()  # a required level above the finest domain that all nodes share
    KARTA = auto()  # Karta definitions
    COARSE_PREFERRED = auto()  # a preferred level above the finest domain that all nodes share

    __hash__ = object.__hash__  # that of enum.py is slow, and each document asks for many


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table: the releases from ``since`` up to the next row."""

    since: tuple[int, int]
    topology_api: str | None
    """The apiVersion of the Topology resource; None if the releases have none."""
    adds: frozenset[Feature]
    removes: frozenset[str] = frozenset()
    """Fields of ``PodGroup.spec`` that these releases removed."""


_KUEUE, _OWN = "kueue.x-k8s.io/v1alpha1", "kai.scheduler/v1alpha1"
TABLE: tuple[Row, ...] = (
    Row((0, 2), None, frozenset()),
    Row((0, 9), _KUEUE, frozenset({Feature.TOPOLOGY, Feature.SUBGROUPS})),
    Row((0, 10), _KUEUE, frozenset({Feature.SUBGROUP_TREE, Feature.PREEMPTIBILITY})),
    Row((0, 12), _OWN, frozenset()),
    Row((0, 13), _OWN, frozenset({Feature.DEEP_QUEUES})),
    Row(
        (0, 15),
        _OWN,
        frozenset({Feature.MIN_SUBGROUP, Feature.ZERO_MIN_MEMBER, Feature.SKIP_PODGROUPER, Feature.STRICT_MIN_MEMBER}),
        removes=frozenset({"backoffLimit", "completions", "parallelism"}),
    ),
    Row((0, 17), _OWN, frozenset({Feature.LEVEL_ALIAS, Feature.PREEMPTION_DELAY, Feature.STALENESS_GRACE})),
)

Patch = tuple[int, int, int]
"""A patch release, such as 0.16.6."""
WORKS: dict[Feature, tuple[tuple[Patch, Patch | None], ...]] = {
    # cmd/podgrouper/app/options.go: until then runai/queue.
    Feature.QUEUE_LABEL: (((0, 6, 0), None),),
    # The API has the fields from 0.5.2; the plugin that reads them (minruntime.go) is there from 0.6.
    Feature.MIN_RUNTIME: (((0, 6, 0), None),),
    Feature.REPLICA_SUBGROUPS: (((0, 13, 0), None),),
    Feature.RAY_SUBGROUPS: (((0, 12, 12), None),),
    # Before, the podgrouper has no plugin for them, and may not read them.
    Feature.JOBSETS: (((0, 13, 0), None),),
    Feature.SEGMENTS: (((0, 13, 0), None),),
    # podgroup_webhook.go of 0.15 refuses minMember above other SubGroups; pytorch_grouper.go and lws_grouper.go wrote
    # it until 0.16.6.
    Feature.SEGMENT_PARENTS: (((0, 13, 0), (0, 15, 0)), ((0, 16, 6), None)),
    Feature.ELASTIC_SEGMENTS: (((0, 16, 7), None),),
    Feature.JOB_GANGS: (((0, 14, 1), None),),
    Feature.RAY_CONSTRAINTS: (((0, 14, 0), None),),
    Feature.JOBSET_SUBGROUPS: (((0, 16, 0), None),),
    Feature.KARTA: (((0, 17, 0), None),),
    # Before, grove_grouper.go reads none of a PodGang.
    Feature.GROVE_CONSTRAINTS: (((0, 13, 0), None),),
    # Likewise the webhook refused what grove_grouper.go wrote until 0.15.2.
    Feature.SCALING_GROUPS: (((0, 13, 0), (0, 15, 0)), ((0, 15, 2), None)),
    # AddPodSet of pkg/scheduler/api/podgroup_info/subgroup_info/subgroupset.go drops it before, and its pods.
    Feature.MIXED_SUBGROUPS: (((0, 13, 0), None),),
    # calculateRelevantDomainLevels and getJobRatioToFreeResources of pkg/scheduler/plugins/topology/job_filtering.go.
    Feature.LEVEL_OF_BOTH: (((0, 13, 0), None),),
    Feature.ROOM_OF_MILLICORES: (((0, 14, 0), None),),
    # pkg/scheduler/actions/common/allocate.go: before, those with others below them come before those of pods.
    Feature.SUBGROUPS_BY_NAME: (((0, 15, 0), None),),
    # lowestCommonDomainID of the topology plugin came with 0.12.0; from 0.12.9 it stops at the preferred level.
    Feature.COARSE_REQUIRED: (((0, 9, 0), (0, 12, 0)),),
    Feature.COARSE_PREFERRED: (((0, 9, 0), (0, 12, 0)), ((0, 12, 9), None)),
}
"""Spans of patch releases in which a feature works: the first patch, and the first later one without it, or None."""

NEWEST_PATCHES: dict[tuple[int, int], int] = {
    (0, 2): 0,
    (0, 3): 0,
    (0, 4): 20,
    (0, 5): 5,
    (0, 6): 23,
    (0, 7): 13,
    (0, 8): 5,
    (0, 9): 20,
    (0, 10): 5,
    (0, 11): 0,
    (0, 12): 23,
    (0, 13): 4,
    (0, 14): 7,
    (0, 15): 3,
    (0, 16): 8,
    (0, 17): 0,
}
"""The newest known patch release of each release."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of some releases."""

    since: Patch
    until: Patch | None
    """The first later release without the fault; None if no known release mends it."""
    when: str
    effect: str
    source: str
    """Files and functions of KAI, and the commit that mends the fault if there is one."""

    def is_in(self, release: Release | None) -> bool:
        """Whether a release has the fault."""
        return release is not None and _within(release.patch, (self.since, self.until))

    @property
    def releases(self) -> str:
        """The releases with the fault, in words."""
        first = ".".join(map(str, self.since))
        return f"{first} on" if self.until is None else f"{first} up to {'.'.join(map(str, self.until))}, without it"


KARTA_PANIC = Fault(
    (0, 17, 0),
    None,
    "A Karta exists, and a pod belongs to a kind without a plugin of KAI's and without a Karta.",
    "KAI's podgrouper panics again and again, so no new gang of the cluster starts.",
    "GetPodGrouperPlugin of pkg/podgrouper/podgrouper/plugins/karta/hub.go returns a typed nil",
)
FAULTS = (
    KARTA_PANIC,
    Fault(
        (0, 17, 0),
        None,
        "A PodGroup with a level belongs to a shard (nodePool) that has no node.",
        "The scheduler of the shard panics at each cycle.",
        "lowestCommonDomainID of pkg/scheduler/plugins/topology/job_filtering.go",
    ),
    Fault(
        (0, 15, 0),
        (0, 15, 2),
        "A scaling group has a topologyConstraint.",
        "KAI's webhook refuses the PodGroup.",
        "grove_grouper.go, mended in 0.15.2",
    ),
    Fault(
        (0, 15, 0),
        (0, 16, 6),
        "Segments have a SubGroup above them, or above those of a leader and its workers.",
        "KAI's webhook refuses the PodGroup.",
        "pytorch_grouper.go and lws_grouper.go, mended in 0.16.6",
    ),
    Fault(
        (0, 13, 0),
        None,
        "One segment has all workers of a group that has a leader.",
        "KAI waits for a pod that never comes.",
        "handleLeaderInFirstSegment of lws_grouper.go",
    ),
)
"""Known faults of releases, for which ``validate`` looks where files tell. docs/versions.md lists them."""

NON_PREEMPTIBLE_FROM = 100
"""The lowest priority at which KAI treats work as non-preemptible."""
PRIORITY_CLASSES = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125}
"""PriorityClasses that KAI installs (its chart, 0.6 to 0.17). KAI's podgrouper gives one of these to work that names
none.
"""

OLDEST, NEWEST = min(NEWEST_PATCHES), max(NEWEST_PATCHES)
PATTERN = r"^v?[0-9]{1,4}\.[0-9]{1,4}(\.[0-9]{1,4})?$"
"""The spelling of a version: ``0.17``, ``0.17.2`` or ``v0.17.2``."""


@dataclass(frozen=True, slots=True)
class Release:
    """A KAI release, with its capabilities."""

    version: str
    """The version in short form: ``0.16``, or ``0.16.5`` if the user named another patch than the first."""
    patch: Patch
    """The patch release; if the user named none, the newest known one."""
    topology_api: str | None
    features: frozenset[Feature]
    removed_fields: frozenset[str]
    is_newer: bool
    """Whether the user named a release newer than the known ones."""

    def has(self, feature: Feature) -> bool:
        """Whether the release has ``feature``."""
        return feature in self.features


def release(version: str) -> Release | None:
    """Returns the release that ``version`` (``0.17``, ``0.17.2``, ``v0.17.2``) names; None if older than the table.

    Without a patch, uses the newest known one. A release newer than the known ones counts as the newest known. Raises
    ValueError if ``version`` does not match PATTERN.
    """
    if not re.fullmatch(PATTERN, version):
        raise ValueError(f"not a version: {version!r}")
    major, minor, *named = (int(text) for text in version.removeprefix("v").split("."))
    if (major, minor) < OLDEST:
        return None
    line = min((major, minor), NEWEST)
    newest: Patch = (*line, NEWEST_PATCHES[line])
    requested_patch: Patch = (major, minor, named[0]) if named else newest
    is_newer = max(requested_patch, (major, minor, 0)) > newest
    patch = newest if is_newer else requested_patch
    rows = [row for row in TABLE if row.since <= line]
    works = (feature for feature, spans in WORKS.items() if any(_within(patch, span) for span in spans))
    return Release(
        version=_text(patch) if named or is_newer else f"{major}.{minor}",
        patch=patch,
        topology_api=rows[-1].topology_api,
        features=frozenset(works).union(*(row.adds for row in rows)),
        removed_fields=frozenset().union(*(row.removes for row in rows)),
        is_newer=is_newer,
    )


def first_with(feature: Feature, after: Release | None = None) -> str:
    """Returns the first release with ``feature``, or the first after one that lacks it; ``0.13``, or ``0.16.6``."""
    begins = [begin for begin, _ in WORKS.get(feature, ())]
    begins += [(*row.since, 0) for row in TABLE if feature in row.adds]
    return _text(next(begin for begin in begins if after is None or begin > after.patch))


def last_with_field(field: str) -> str:
    """Returns the release, as ``major.minor``, before the one that removed ``field`` of ``PodGroup.spec``."""
    major, minor = next(row.since for row in TABLE if field in row.removes)
    return _text((major, minor - 1, 0))


def known() -> str:
    """Returns the range of releases in the table, for messages."""
    return f"{_text((*OLDEST, 0))} to {_text((*NEWEST, NEWEST_PATCHES[NEWEST]))}"


def _within(patch: Patch, span: tuple[Patch, Patch | None]) -> bool:
    begin, end = span
    return begin <= patch and (end is None or patch < end)


def _text(version: Patch) -> str:
    """Returns ``0.13`` for the first patch of a release, else ``0.16.6``."""
    major, minor, patch = version
    return f"{major}.{minor}.{patch}" if patch else f"{major}.{minor}"


NEWEST_RELEASE = cast(Release, release("{}.{}".format(*NEWEST)))
"""The newest known release."""
