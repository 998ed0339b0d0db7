"""Describes a manifest before `render` writes it: its file, its place in the order of application, and its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Protocol, Self

from kubectl_tas.base.late import dataclass
from kubectl_tas.model import labels
from kubectl_tas.model.base import Model, Text
from kubectl_tas.model.kindlists import Phase
from kubectl_tas.model.manifest import (
    ConfigMap,
    Metadata,
    Namespace,
    PodGang,
    PodGroup,
    PriorityClass,
    Queue,
    Service,
    Topology,
)
from kubectl_tas.model.pod import Job, Pod
from kubectl_tas.model.policies import (
    ClusterRole,
    ClusterRoleBinding,
    Role,
    RoleBinding,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from kubectl_tas.model.topology_kinds import ClusterTopology


class PassThrough(Model):
    """An object as its author wrote it, with added lines."""

    apiVersion: Text
    """apiVersion as written."""
    kind: Text
    """Kind as written."""
    metadata: Metadata
    """Name and namespace of the object. Only the text has its labels and annotations."""
    target: Text | None
    """The pool or pool--subpool of the object. None if the object belongs to no single pool."""
    text: Text
    """YAML of the object, without the marker of a document start."""


_Scheduling = PriorityClass | Topology | ClusterTopology | Queue | PodGroup | PodGang
_Rights = (
    ValidatingAdmissionPolicy | ValidatingAdmissionPolicyBinding | Role | RoleBinding | ClusterRole | ClusterRoleBinding
)
Manifest = Namespace | ConfigMap | Service | Pod | Job | _Scheduling | _Rights | PassThrough
"""Any object that `render` writes."""


class Placed(Protocol):
    """An object, or a record of one, with its file and its place in the order of application."""

    @property
    def backend(self) -> str:
        """The cluster of the object."""

    @property
    def folder(self) -> str:
        """Folder below the output of the backend."""

    @property
    def file(self) -> str:
        """File name in that folder."""

    @property
    def api_version(self) -> str:
        """apiVersion of the object."""

    @property
    def apply(self) -> bool:
        """False for a preview."""

    @property
    def pool(self) -> str | None:
        """The pool of the object, also if it belongs to a subpool. None if it belongs to no single pool."""

    @property
    def is_work(self) -> bool:
        """Whether the object is work of a pool, and not something that work needs."""

    @property
    def order(self) -> tuple[int, str, str, str]:
        """Sort key for the order in which objects are applied."""

    def in_file(self, file: str) -> Self:
        """Returns the same object in another file of its folder."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """An object to write, with its file and its source."""

    backend: str
    """The cluster of the object."""
    phase: int
    """A Phase, or a lower number for a queue above other queues."""
    folder: str
    """Folder below the output of the backend."""
    file: str
    """File name in that folder."""
    manifest: Manifest
    source: str
    """The file that declares the object, relative to the repository root."""
    apply: bool = True
    """False for a preview, which `render` writes for people and nobody applies."""
    comments: Mapping[str, str] = field(default_factory=dict)
    """Comments to write after a value, by the name that the value refers to."""

    @property
    def api_version(self) -> str:
        """apiVersion of the object."""
        return self.manifest.apiVersion

    def in_file(self, file: str) -> Artifact:
        """Returns the same object in another file of its folder."""
        return replace(self, file=file)

    @property
    def pool(self) -> str | None:
        """The pool of the object, also if it belongs to a subpool. None if it belongs to no single pool."""
        manifest = self.manifest
        target = manifest.target if isinstance(manifest, PassThrough) else manifest.metadata.labels.get(labels.POOL)
        return target.partition(labels.TARGET_SEPARATOR)[0] if target is not None else None

    @property
    def is_work(self) -> bool:
        """Whether the object is work of a pool, and not something that work needs."""
        return self.phase >= Phase.COMPANION and self.pool is not None

    @property
    def order(self) -> tuple[int, str, str, str]:
        """Sort key for the order in which objects are applied."""
        metadata = self.manifest.metadata
        return (self.phase, metadata.namespace or "", metadata.name, self.manifest.kind)
