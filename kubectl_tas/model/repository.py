"""Holds all documents that the tool has read from a repository, each with its place."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.base.late import dataclass
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.config import Config
from kubectl_tas.model.osmo_workflow import Workflow
from kubectl_tas.model.platform import PodTemplate, ResourceValidation
from kubectl_tas.model.pool_kinds import Pool, Subpool
from kubectl_tas.model.topology_kinds import ClusterTopology

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import CliqueSet, OperatorConfiguration
    from kubectl_tas.model.karta import Karta
    from kubectl_tas.model.manifest import PodGroup
    from kubectl_tas.model.podtemplate import Companion
    from kubectl_tas.model.scheduling_shard import SchedulingShard
    from kubectl_tas.model.workloads import Workload

M = TypeVar("M")


class Origin(Protocol):
    """The document that declares something."""

    @property
    def path(self) -> str:
        """The file, relative to the repository root."""

    @property
    def index(self) -> int:
        """The index of the document in its file, from 0."""

    @property
    def within(self) -> KeyPath:
        """The path of the item in the document, if the document is an item of a List."""

    @property
    def data(self) -> Any:
        """The content of the document, as plain data."""

    def locate(self, path: KeyPath, *, key: bool = False) -> Location:
        """Returns the place of the value (or of the key) at ``path``, or of its nearest parent if it is absent."""

    def value(self, path: KeyPath) -> object:
        """Returns the value at ``path`` as written. None if ``path`` is absent or empty."""

    def source_text(self, path: KeyPath) -> str | None:
        """Returns the scalar at ``path`` as written, without quotes. None if absent or not a scalar."""

    @property
    def text(self) -> str:
        """The text of this document alone, with its comments."""


@dataclass(frozen=True, slots=True)
class Declared(Generic[M]):
    """A model and the document that declares it."""

    spec: M
    origin: Origin

    def at(self, *path: str | int) -> Location:
        """Returns the place of the value at ``path``."""
        return self.origin.locate(path)

    def at_key(self, *path: str | int) -> Location:
        """Returns the place of the key at ``path``."""
        return self.origin.locate(path, key=True)


if TYPE_CHECKING:
    Deciding = (
        Declared[Pool]
        | Declared[Subpool]
        | Declared[PodTemplate]
        | Declared[ResourceValidation]
        | Declared[ClusterTopology]
        | Declared[OperatorConfiguration]
        | Declared[Karta]
        | Declared[SchedulingShard]
    )
    """A document that affects other teams: how much everybody may use, and where."""


def local_path(workflow: str, localpath: str) -> str:
    """Returns the path of a file that ``workflow`` names as ``localpath``, from the repository root.

    ``localpath`` is relative to the folder of the file ``workflow``, as in OSMO's client (src/lib/utils/paths.py). The
    result is absolute or leads out of the repository if ``localpath`` does.
    """
    return posixpath.normpath(posixpath.join(posixpath.dirname(workflow), localpath))


@dataclass(frozen=True, slots=True)
class Waiver:
    """A comment ``# kubectl-tas: ignore[RULE, ...]``."""

    rules: tuple[str, ...]
    """The codes of the rules as written. Empty if the tool does not understand the comment."""
    place: Location
    line: int
    """The line that the waiver applies to, from 1: the comment's own line, or the next line that is not a comment."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A document, or a file, that could not be read. What it declares is unknown, which is not the same as nothing."""

    place: Location
    is_work: bool = False
    """Whether it is work for certain, and so decides nothing for others."""


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
    """The Config if it has errors. The tool then uses the defaults."""
    pools: tuple[Declared[Pool], ...] = ()
    subpools: tuple[Declared[Subpool], ...] = ()
    pod_templates: tuple[Declared[PodTemplate], ...] = ()
    """The pod templates that pools name."""
    resource_validations: tuple[Declared[ResourceValidation], ...] = ()
    """The resource validations that pools name."""
    topologies: tuple[Declared[ClusterTopology], ...] = ()
    workflows: tuple[Declared[Workflow], ...] = ()
    pod_groups: tuple[Declared[PodGroup], ...] = ()
    pod_clique_sets: tuple[Declared[CliqueSet], ...] = ()
    operators: tuple[Declared[OperatorConfiguration], ...] = ()
    """Configurations of Grove's operator. The tool uses the first one."""
    kartas: tuple[Declared[Karta], ...] = ()
    """Definitions of kinds that make pods. The tool uses the first one of each kind."""
    shards: tuple[Declared[SchedulingShard], ...] = ()
    """Shards of KAI's scheduler."""
    workloads: tuple[Declared[Workload], ...] = ()
    """The workloads, by kind."""
    companions: tuple[Declared[Companion], ...] = ()
    """Objects that belong to workloads and make no pods."""
    local_files: Mapping[str, LocalFile] = field(default_factory=dict)
    """The files that tasks of workflows name as localpath, by path from the repository root."""
    waivers: tuple[Waiver, ...] = ()
    unread: tuple[Unread, ...] = ()
    """The documents that could not be read, in no particular order."""
    files: tuple[str, ...] = ()
    """The paths of all files that the tool has read."""
    absent: tuple[str, ...] = ()
    """Folders that the tool should read but that do not exist."""
    links: Mapping[str, str] = field(default_factory=dict)
    """The real path of each file that the tool has read through a link, by the path of the link."""
    has_folders: bool = True
    """Whether the documents are in folders. Objects that kustomize passes in are not."""

    @property
    def deciding(self) -> Iterator[Deciding]:
        """The documents that affect other teams."""
        yield from chain(self.pools, self.subpools, self.pod_templates, self.resource_validations)
        yield from chain(self.topologies, self.operators, self.kartas, self.shards)

    @property
    def documents(self) -> Iterator[Declared[Any]]:
        """All documents."""
        return chain(*([(self.config,)] if self.config else ()), self.deciding, self.pod_groups, self.work)

    @property
    def work(self) -> Iterator[Declared[Any]]:
        """The documents that name other objects, or whose objects others name."""
        return chain(self.workflows, self.workloads, self.pod_clique_sets, self.companions)

    @property
    def is_empty(self) -> bool:
        """Whether the repository declares nothing that `render` could write."""
        if self.shards and self.config and self.config.spec.spec.shards == "rendered":
            return False
        declared = (self.pools, self.subpools, self.topologies, self.workflows, self.pod_groups, self.workloads)
        return not any((*declared, self.pod_clique_sets, self.operators, self.companions))
