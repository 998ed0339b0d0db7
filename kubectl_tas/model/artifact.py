"""A manifest on its way out: where it is written, when it is applied, and what it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Protocol, Self

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
from kubectl_tas.records import dataclass


class PassThrough(Model):
    """An object in the words of its author, with lines added."""

    apiVersion: Text
    """As it was written."""
    kind: Text
    """As it was written."""
    metadata: Metadata
    """Its name and namespace; labels and annotations are in the text alone."""
    target: Text | None
    """The pool or pool--subpool that it is of; None where it is of no one pool."""
    text: Text
    """YAML, without the mark of a document's start."""


_Scheduling = PriorityClass | Topology | ClusterTopology | Queue | PodGroup | PodGang
_Rights = (
    ValidatingAdmissionPolicy | ValidatingAdmissionPolicyBinding | Role | RoleBinding | ClusterRole | ClusterRoleBinding
)
Manifest = Namespace | ConfigMap | Service | Pod | Job | _Scheduling | _Rights | PassThrough
"""Anything that is emitted."""


class Placed(Protocol):
    """An object, or what is kept of one, of which it is known where it is written and when it is applied."""

    @property
    def backend(self) -> str:
        """The cluster it is for."""

    @property
    def folder(self) -> str:
        """Folder below the backend's output."""

    @property
    def file(self) -> str:
        """File name in that folder."""

    @property
    def api_version(self) -> str:
        """Of the object."""

    @property
    def apply(self) -> bool:
        """False for a preview."""

    @property
    def pool(self) -> str | None:
        """The pool that it is of, or whose subpool it is of; None where it belongs to no one pool."""

    @property
    def is_work(self) -> bool:
        """Whether it is work of a pool, and not what work needs to be there."""

    @property
    def order(self) -> tuple[int, str, str, str]:
        """Its place in the total order of application."""

    def in_file(self, file: str) -> Self:
        """The same in another file of its folder."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One object."""

    backend: str
    """The cluster it is for."""
    phase: int
    """A Phase, or less for a queue above others."""
    folder: str
    """Folder below the backend's output."""
    file: str
    """File name in that folder."""
    manifest: Manifest
    source: str
    """The file that it was compiled from, relative to the repository root."""
    apply: bool = True
    """False for a preview, which people read: it is written, and nothing else."""
    comments: Mapping[str, str] = field(default_factory=dict)
    """What stands behind a value, by the name of what the value is about."""

    @property
    def api_version(self) -> str:
        """Of the object."""
        return self.manifest.apiVersion

    def in_file(self, file: str) -> Artifact:
        """The same in another file of its folder."""
        return replace(self, file=file)

    @property
    def pool(self) -> str | None:
        """The pool that it is of, or whose subpool it is of; None where it belongs to no one pool."""
        manifest = self.manifest
        target = manifest.target if isinstance(manifest, PassThrough) else manifest.metadata.labels.get(labels.POOL)
        return target.partition(labels.TARGET_SEPARATOR)[0] if target is not None else None

    @property
    def is_work(self) -> bool:
        """Whether it is work of a pool, and not what work needs to be there."""
        return self.phase >= Phase.COMPANION and self.pool is not None

    @property
    def order(self) -> tuple[int, str, str, str]:
        """Its place in the total order of application."""
        metadata = self.manifest.metadata
        return (self.phase, metadata.namespace or "", metadata.name, self.manifest.kind)
