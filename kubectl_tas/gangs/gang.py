"""A gang: pods that start together, in parts with minimums and levels. Whatever shows or writes one reads this."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import Any

from kubectl_tas.gpus import Gpus
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.topologies import Level


@dataclass(frozen=True, slots=True)
class Member:
    """A pod that is known by name."""

    name: str
    """Of the task that it runs."""
    gpus: Gpus
    spec: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """The data of its ``PodSpec``."""
    labels: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    """What pod templates of its platform add."""
    annotations: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Likewise."""
    is_open: bool = False
    """Whether the spec may have any field of Kubernetes', since pod templates say some of it."""
    job: dict[str, Any] | None = field(default=None, compare=False, repr=False)
    """Where a Job makes it: the data of the ``JobSpec``, without the template."""

    @property
    def metadata(self) -> dict[str, dict[str, str]]:
        """The labels and annotations, as far as there are any."""
        found = {"labels": self.labels, "annotations": self.annotations}
        return {name: part for name, part in found.items() if part}


@dataclass(frozen=True, slots=True)
class FileMap:
    """A ConfigMap with files of a gang's tasks."""

    name: str
    files: dict[str, bytes]
    """Contents by key."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """How close pods must run."""

    topology: str | None
    """Name of the Topology that the levels are of; None where it is not known."""
    required: Level | None
    """All pods run within one domain of this level, or none runs."""
    preferred: Level | None
    """The pods run within one domain of this level if possible."""

    @property
    def labels(self) -> tuple[str | None, str | None]:
        """The required and the preferred level by their node labels, which every KAI release understands."""
        return self.required.label if self.required else None, self.preferred.label if self.preferred else None


@dataclass(frozen=True)
class Part:
    """What a gang and its SubGroups have in common."""

    name: str
    pods: int
    """Pods in it and in all below it."""
    minimum: int | None
    """Those of them that are needed before any pod of the gang starts; None where that is not known."""
    gpus: Gpus
    """GPUs of all its pods."""
    constraint: Constraint | None = None
    """How close its pods must run; None where it asks for nothing."""
    needs_all_parts: bool = False
    """Whether each part directly below is needed, however few of its pods are."""
    needed_parts: int | None = None
    """How many parts directly below are needed, where that is known and perhaps not all."""
    indices: tuple[int, int] | None = None
    """The lowest and the highest index of its pods, where it is known by them."""
    members: tuple[Member, ...] = ()
    """Its pods that are in no part below, where they are known by name."""


@dataclass(frozen=True)
class SubGroup(Part):
    """A part of a gang."""

    parent: str | None = None
    """The SubGroup that it is directly below; None: the gang itself."""


@dataclass(frozen=True)
class Gang(Part):
    """A PodGroup, a PodGang, or the pods of a workload whose PodGroup is not known."""

    kind: str = "PodGroup"
    """PodGroup, PodGang, or the kind of the workload."""
    parts: tuple[SubGroup, ...] = ()
    """SubGroups, each before those below it; no name is there twice."""
    files: tuple[FileMap, ...] = ()
    """What its tasks find in their containers."""
    hosts: str | None = None
    """The headless Service below which its pods have DNS names, where they need them."""

    @cached_property
    def by_parent(self) -> dict[str | None, tuple[SubGroup, ...]]:
        """The SubGroups directly below each SubGroup that has any, and under None those at the top."""
        found: dict[str | None, list[SubGroup]] = {}
        for part in self.parts:
            found.setdefault(part.parent, []).append(part)
        return {parent: tuple(parts) for parent, parts in found.items()}

    @property
    def leaves(self) -> tuple[SubGroup, ...]:
        """The SubGroups with none below them."""
        return tuple(part for part in self.parts if part.name not in self.by_parent)

    @property
    def all_members(self) -> tuple[Member, ...]:
        """All its pods that are known by name."""
        return (*self.members, *(member for part in self.leaves for member in part.members))

    def below(self, part: Part) -> tuple[SubGroup, ...]:
        """The SubGroups directly below one of the gang's, or below the gang itself."""
        return self.by_parent.get(part.name if isinstance(part, SubGroup) else None, ())
