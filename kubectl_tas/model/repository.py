"""A repository as it was read: every document with the place it came from."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from kubectl_tas.diagnostics import Location
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.config import Config
from kubectl_tas.model.osmo_workflow import Workflow
from kubectl_tas.model.platform import PodTemplate, ResourceValidation
from kubectl_tas.model.pool_kinds import Pool, Subpool
from kubectl_tas.model.topology_kinds import ClusterTopology
from kubectl_tas.records import dataclass

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import OperatorConfiguration, PodCliqueSet
    from kubectl_tas.model.karta import Karta
    from kubectl_tas.model.manifest import PodGroup
    from kubectl_tas.model.podtemplate import Companion
    from kubectl_tas.model.workload_kinds import AnyWorkload

M = TypeVar("M")


class Origin(Protocol):
    """The document that something was declared in."""

    @property
    def path(self) -> str:
        """The file, relative to the repository root."""

    @property
    def index(self) -> int:
        """Its place among the documents of that file, from 0."""

    @property
    def within(self) -> KeyPath:
        """Its path in that document, where it is an item of a List."""

    @property
    def data(self) -> Any:
        """What it says, as plain data."""

    def locate(self, path: KeyPath, *, key: bool = False) -> Location:
        """The place of the value (or of the key) at ``path``; of its nearest parent where it is absent."""

    def value(self, path: KeyPath) -> object:
        """What was written at ``path``; None where it is absent or empty."""

    def source_text(self, path: KeyPath) -> str | None:
        """The scalar at ``path`` as it was written, without quotes; None where there is none."""

    @property
    def text(self) -> str:
        """The text of this document alone, with its comments."""


@dataclass(frozen=True, slots=True)
class Declared(Generic[M]):
    """A model and the document that declares it."""

    spec: M
    origin: Origin

    def at(self, *path: str | int) -> Location:
        """The place of the value at ``path``."""
        return self.origin.locate(path)


if TYPE_CHECKING:
    Deciding = (
        Declared[Pool]
        | Declared[Subpool]
        | Declared[PodTemplate]
        | Declared[ResourceValidation]
        | Declared[ClusterTopology]
        | Declared[OperatorConfiguration]
        | Declared[Karta]
    )
    """A document that decides for others: how much everybody may use, and where."""


def local_path(workflow: str, localpath: str) -> str:
    """The path from the root of the repository of what the file ``workflow`` calls ``localpath``.

    It is relative to the folder of that file, as for OSMO's client (src/lib/utils/paths.py); one that is absolute, or
    that leads out of the repository, stays so.
    """
    return posixpath.normpath(posixpath.join(posixpath.dirname(workflow), localpath))


@dataclass(frozen=True, slots=True)
class Waiver:
    """A comment ``# kubectl-tas: ignore[RULE, ...]``."""

    rules: tuple[str, ...]
    """Codes as they are written; none where the comment cannot be understood."""
    place: Location
    line: int
    """The line that it is about, 1-based: its own, or the next one that is no comment."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file of the repository that a task finds in its container."""

    content: bytes
    is_executable: bool


@dataclass(frozen=True, slots=True)
class Repository:
    """Everything that a repository declares, in the order of its files."""

    config: Declared[Config] | None = None
    refused_config: Origin | None = None
    """The Config where it has errors; the defaults stand in for it."""
    pools: tuple[Declared[Pool], ...] = ()
    subpools: tuple[Declared[Subpool], ...] = ()
    pod_templates: tuple[Declared[PodTemplate], ...] = ()
    """Those that pools name."""
    resource_validations: tuple[Declared[ResourceValidation], ...] = ()
    """Likewise."""
    topologies: tuple[Declared[ClusterTopology], ...] = ()
    workflows: tuple[Declared[Workflow], ...] = ()
    pod_groups: tuple[Declared[PodGroup], ...] = ()
    pod_clique_sets: tuple[Declared[PodCliqueSet], ...] = ()
    operators: tuple[Declared[OperatorConfiguration], ...] = ()
    """Of Grove's operator; the first one counts."""
    kartas: tuple[Declared[Karta], ...] = ()
    """Of kinds that make pods; the first one of a kind counts."""
    workloads: tuple[Declared[AnyWorkload], ...] = ()
    """By kind."""
    companions: tuple[Declared[Companion], ...] = ()
    """Objects that stand beside workloads."""
    local_files: Mapping[str, LocalFile] = field(default_factory=dict)
    """What the tasks of workflows have as localpath, by the path from the root of the repository."""
    waivers: tuple[Waiver, ...] = ()
    files: tuple[str, ...] = ()
    """The paths of all files that were read."""
    absent: tuple[str, ...] = ()
    """Folders that were to be read but are not there."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Where files really lie that a link leads to: the path from the root, by the path by which each was read."""
    has_folders: bool = True
    """Whether files lie in folders: objects that kustomize hands over do not."""

    @property
    def deciding(self) -> Iterator[Deciding]:
        """The documents that decide for others."""
        yield from chain(self.pools, self.subpools, self.pod_templates, self.resource_validations)
        yield from chain(self.topologies, self.operators, self.kartas)

    @property
    def work(self) -> Iterator[Declared[Any]]:
        """What names other objects, or is named by them."""
        return chain(self.workflows, self.workloads, self.pod_clique_sets, self.companions)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is declared that could be rendered."""
        declared = (self.pools, self.subpools, self.topologies, self.workflows, self.pod_groups, self.workloads)
        return not any((*declared, self.pod_clique_sets, self.operators, self.companions))
