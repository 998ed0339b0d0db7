"""Describes what KAI's podgrouper makes of a kind, with the functions that several kinds share.

Source: KAI's podgrouper, package pkg/podgrouper/podgrouper/plugins, of the releases in the version table. If the
podgrouper makes no SubGroups of a kind, the page has what the docs specify; checks say that KAI does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import isqrt
from typing import Protocol

from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import shortened
from kubectl_tas.facts.kai import Feature
from kubectl_tas.kinds.section import Document, key_path, value_at
from kubectl_tas.model import labels
from kubectl_tas.model.base import OWN_METADATA, KeyPath, whole_number

ANNOTATIONS: KeyPath = (*OWN_METADATA, "annotations")
"""Path of an object's own annotations."""


class Counted(Protocol):
    """Identical pods of a workload."""

    @property
    def name(self) -> str:
        """The name of the pods, unique in the workload."""

    @property
    def written(self) -> str | None:
        """The name as the user wrote it. None if the kind defines the name."""

    @property
    def replicas(self) -> int:
        """The number of pods."""

    @property
    def jobs(self) -> int:
        """The number of jobs that own these pods."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """A workload as KAI's podgrouper sees it."""

    document: Document
    pods: Sequence[Counted]
    has: Callable[[Feature], bool]
    """Whether the release of the cluster has a feature."""
    is_owned: bool
    """Whether this tool makes the PodGroup."""
    makes_jobs: bool = False
    """Whether each job is a SubGroup."""

    @property
    def counts(self) -> list[int]:
        """The number of pods of each replica type."""
        return [pods.replicas for pods in self.pods]


@dataclass(frozen=True, slots=True)
class CutWorkers:
    """Segments of the workers of one group, as a file asks for them."""

    workers: int
    size: int
    leader_excluded: bool
    leader_first: bool
    """Whether the workers start only after the leader is ready."""

    @property
    def allowed(self) -> list[int]:
        """The sizes that neither KAI nor the kind's webhook refuses: divisors of the workers or, unless the leader is
        excluded, of the workers and the leader.
        """
        pods = self.workers if self.leader_excluded else self.workers + 1
        return sorted(set(_divisors(self.workers) + _divisors(pods)) - {1, self.workers})

    @property
    def listed(self) -> str:
        """The allowed sizes in words; empty if there are none."""
        return ("one of " if self.allowed[1:] else "") + shortened([str(size) for size in self.allowed])


@lru_cache(maxsize=64)
def _divisors(number: int) -> tuple[int, ...]:
    """Returns the divisors of a number, in no order. Takes as many steps as the root of the number."""
    small = [divisor for divisor in range(1, isqrt(max(number, 0)) + 1) if number % divisor == 0]
    return (*small, *(number // divisor for divisor in small))


Minimums = Callable[[Gathered], list[int]]


@dataclass(frozen=True, slots=True)
class Grouping:
    """Grouping of the pods of one kind by KAI's podgrouper. The defaults are those of a kind without a plugin: one
    PodGroup for the highest owner that KAI may read (default_grouper.go).
    """

    minimums: Minimums
    """Number of pods of each replica type that are needed before any pod of the gang starts."""
    minimum_path: Callable[[Document], KeyPath | None] = lambda _: None
    """Path in the file of the needed number of pods. None if the file does not say it, or KAI does not read it."""
    minimum_since: Feature | None = None
    """Feature that a release needs to read that number. None if every release reads it, and this tool too."""
    minimum_number: str = ""
    """Path of that number in a declared kind."""
    starts_one_by_one: bool = False
    """Whether the gang starts with one pod, however many it has, unless this tool makes the pods a gang."""
    one_pod_group: Feature | bool = True
    """Whether all pods are in one PodGroup, or the feature that a release needs for that; else each pod has its own."""
    each_where: tuple[str, tuple[str, ...]] = ("", ())
    """An annotation and its values with which each pod has its own PodGroup, and ``unpredicted`` does not apply."""
    templates_elsewhere: bool = False
    """Whether the pod templates are in another object, so that the file does not say what the PodGroup will be."""
    unpredicted: str = ""
    """Reason why the file does not say what the PodGroup will be, although the file has the pod templates."""
    named_by: tuple[str, str] = ("", "")
    """Prefix of the PodGroup's name, and what follows in words; empty for pg, the workload's name and a UID."""
    names_part: bool = True
    """Whether the names of pods have the name of their replica type, if each pod has its own PodGroup."""
    name_middle: str = ""
    """Regular expression for what KAI writes between the workload's name and the UID."""
    ends_in: str = ""
    """Text behind the UID in the PodGroup's name; if set, the name does not contain the workload's name."""
    may_be_read: Feature | bool = True
    """Whether KAI's chart lets its podgrouper read the object, or the feature of releases that do (``rules`` of
    templates/rbac/podgrouper.yaml). Else what the object makes is the owner: mostly its pods (``handleGetOwnerError``).
    """
    placed_at: KeyPath = ANNOTATIONS
    """Path of the annotations that place the PodGroup as a whole. Empty if KAI reads none."""
    placed_parts: Feature | None = None
    """Feature that a release needs to read the annotations of each part's template; None if no release reads them."""
    part_name: Callable[[Counted], str] = lambda pods: pods.name
    """Function that returns the SubGroup of a replica type."""
    replica_types: tuple[str, ...] = ()
    """Replica types without which the podgrouper refuses the job."""
    sub_groups: Feature | None = None
    """Feature that a release needs to make a SubGroup of each replica type; None if no release does."""
    empty_part: str = ""
    """The replica type that has a SubGroup even without pods."""
    sub_groups_of_jobs: Feature | None = None
    """Feature that a release needs to make a SubGroup of each job; None if no release does."""
    job_minimums: Minimums = lambda _: []
    """Number of needed pods of each job, by replica type, if each job is a SubGroup."""
    needed_jobs: Callable[[Gathered], int] = lambda gathered: len(gathered.pods)
    """Number of replica types that are needed, if each job is a SubGroup."""
    in_order: Callable[[Document], bool] = lambda _: False
    """Whether a replica type starts only once the one before it is ready."""
    late_part: Callable[[Document], str] = lambda _: ""
    """The replica type that is made only when all others are ready. Empty: no such type."""
    divided: str = ""
    """The pods that KAI makes segments of. Empty if it makes none."""
    never_runs: Callable[[CutWorkers], tuple[str, str] | None] = lambda _: None
    """Says why segments of some pods never run, and what to do instead."""
    one_each: str = ""
    """Text behind the UID in the names of the PodGroups, if each copy has its own PodGroup."""
    late_sub_group: str = ""
    """SubGroup of pods that start once the others run: without one KAI never places them."""
    leads_segments: bool = False
    """Whether the leader is in the first segment, and segments have no SubGroup above."""
    reads_size: bool = False
    """Whether KAI reads the size of segments on the workload itself too, first."""
    names_its_own: bool = False
    """Whether KAI leaves an object alone that names its PodGroup."""
    not_owned: str = ""
    """Reason why this tool cannot write the PodGroup; empty if it can."""
    segment_template: str = "Remove it: KAI makes segments of no such workload."
    """Hint for segments that the workload itself asks for."""
    no_index: str = ""
    """Condition on which the pods have an index; empty if it is unknown whether they ever have one."""
    by_karta: bool = False
    """Whether a Karta says how many pods of each part must start together."""
    has_plugin: bool = True
    """Whether KAI groups the kind itself, and not by a Karta."""
    plugin_versions: tuple[str, ...] = ()
    """The apiVersions for which KAI has its plugin. Empty: all."""
    default_class: str = "train"
    """The PriorityClass that KAI gives to work without one (CalcPodGroupPriorityClass)."""

    @property
    def reads_batch_minimum(self) -> bool:
        """Whether KAI reads that number in the annotation batch-min-member of the workload."""
        return self.minimum_path is batch_path


def every_pod(gathered: Gathered) -> list[int]:
    """Returns all pods."""
    return gathered.counts


def one_pod(gathered: Gathered) -> list[int]:
    """Returns one pod of each replica type."""
    return [min(1, count) for count in gathered.counts]


def first_pods(gathered: Gathered, number: int) -> list[int]:
    """Returns the first pods, as many as ``number``, by replica type."""
    shares = []
    for count in gathered.counts:
        shares.append(min(number, count))
        number -= shares[-1]
    return shares


def first_pod(gathered: Gathered) -> list[int]:
    """Returns one pod in all (default_grouper.go); all pods if this tool makes the PodGroup."""
    return gathered.counts if gathered.is_owned else first_pods(gathered, 1)


def minimum_of(number: int | str, *, one_pod_group: bool) -> Grouping:
    """Returns what KAI makes of a declared kind that needs a number of pods, or that says the number at a path."""
    if isinstance(number, int):
        return Grouping(
            lambda gathered: gathered.counts if gathered.is_owned else first_pods(gathered, number),
            one_pod_group=one_pod_group,
        )
    path = key_path(number)

    def minimums(gathered: Gathered) -> list[int]:
        """Returns the first pods, as many as the object says, else one."""
        minimum = value_at(gathered.document, *path)
        return first_pods(gathered, minimum if type(minimum) is int else 1)

    def minimum_path(document: Document) -> KeyPath | None:
        return path if value_at(document, *path) is not None else None

    return Grouping(minimums, minimum_path, minimum_number=number, one_pod_group=one_pod_group)


def batch_minimum(metadata: object) -> int | None:
    """Returns the number in the annotation batch-min-member. None without a valid one."""
    text = value_at(metadata, "annotations", labels.BATCH_MIN_MEMBER)
    return whole_number(text) if isinstance(text, str) else None


def batch_path(document: Document) -> KeyPath | None:
    """Returns the path of the annotation batch-min-member, if the workload has it."""
    path = (*ANNOTATIONS, labels.BATCH_MIN_MEMBER)
    return path if value_at(document, *path) is not None else None
