"""Defines a gang: pods that start together, in parts with minimums and levels. All code reads gangs from this model."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import Any

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.gpus import Gpus
from kubectl_tas.resolve.topologies import Level


@json_fields("kind name gpus")
@dataclass(frozen=True, slots=True)
class Member:
    """A pod that is known by name."""

    name: str
    """Name of the task that the pod runs."""
    gpus: Gpus
    spec: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """Data of the pod's ``PodSpec``."""
    labels: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Labels that pod templates of the platform add."""
    annotations: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Annotations that pod templates of the platform add."""
    is_open: bool = False
    """Whether the spec may have any field of Kubernetes, because pod templates write a part of it."""
    job: dict[str, Any] | None = field(default=None, compare=False, repr=False)
    """Data of the ``JobSpec`` without its template, if a Job makes the pod."""

    @property
    def kind(self) -> str:
        """Task."""
        return "Task"

    @property
    def metadata(self) -> dict[str, dict[str, str]]:
        """Labels and annotations, without the empty ones."""
        metadata = {"labels": self.labels, "annotations": self.annotations}
        return {name: entries for name, entries in metadata.items() if entries}


@dataclass(frozen=True, slots=True)
class FileMap:
    """A ConfigMap with files of a gang's tasks."""

    name: str
    files: dict[str, bytes]
    """Contents of the files by key."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """Rule for how close pods must run."""

    topology: str | None
    """Name of the Topology that has the levels; None if unknown."""
    required: Level | None
    """Level with one domain for all pods: all pods run within one such domain, or none runs."""
    preferred: Level | None
    """Level with one domain for the pods if possible."""

    @property
    def labels(self) -> tuple[str | None, str | None]:
        """Node labels of the required and the preferred level, which every KAI release understands."""
        return self.required.label if self.required else None, self.preferred.label if self.preferred else None


@dataclass(frozen=True)
class Part:
    """Properties that a gang and its SubGroups have in common."""

    name: str
    pods: int
    """Number of pods in the part and in all parts below."""
    minimum: int | None
    """Number of these pods that are needed before any pod of the gang starts; None if unknown."""
    gpus: Gpus
    """GPUs of all pods of the part."""
    constraint: Constraint | None = None
    """Rule for how close the pods must run; None if the part has no such rule."""
    needs_all_parts: bool = False
    """Whether each part directly below is needed, however few of its pods are."""
    needed_parts: int | None = None
    """Number of parts directly below that are needed, if it is known and may be less than all."""
    indices: tuple[int, int] | None = None
    """Lowest and highest index of the pods, if indices define the part."""
    members: tuple[Member, ...] = ()
    """Pods that are in no part below, if the pods are known by name."""


@dataclass(frozen=True)
class SubGroup(Part):
    """A part of a gang."""

    parent: str | None = None
    """Name of the SubGroup directly above; None if that is the gang itself."""


@dataclass(frozen=True)
class Gang(Part):
    """A PodGroup, a PodGang, or the pods of a workload whose PodGroup is unknown."""

    kind: str = "PodGroup"
    """PodGroup, PodGang, or the kind of the workload."""
    sub_groups: tuple[SubGroup, ...] = ()
    """SubGroups, parents before their children, each name once."""
    files: tuple[FileMap, ...] = ()
    """ConfigMaps with files for the containers of the tasks."""
    hosts: str | None = None
    """Headless Service below which the pods have DNS names, if the pods need such names."""

    @cached_property
    def by_parent(self) -> dict[str | None, tuple[SubGroup, ...]]:
        """SubGroups directly below each SubGroup that has any; under None, the SubGroups at the top."""
        children: dict[str | None, list[SubGroup]] = {}
        for sub_group in self.sub_groups:
            children.setdefault(sub_group.parent, []).append(sub_group)
        return {parent: tuple(sub_groups) for parent, sub_groups in children.items()}

    @property
    def leaves(self) -> tuple[SubGroup, ...]:
        """SubGroups without SubGroups below."""
        return tuple(sub_group for sub_group in self.sub_groups if sub_group.name not in self.by_parent)

    @property
    def all_members(self) -> tuple[Member, ...]:
        """All pods of the gang that are known by name."""
        return (*self.members, *(member for sub_group in self.leaves for member in sub_group.members))

    def below(self, unit: Part) -> tuple[SubGroup, ...]:
        """Returns the SubGroups directly below a SubGroup of the gang, or below the gang itself."""
        return self.by_parent.get(unit.name if isinstance(unit, SubGroup) else None, ())
