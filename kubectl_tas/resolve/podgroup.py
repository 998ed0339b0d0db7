"""PodGroups that people wrote by hand, and what they consist of."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_tas.model.manifest import PodGroup, SubGroup, TopologyConstraint
from kubectl_tas.model.repository import Declared, KeyPath
from kubectl_tas.resolve.clusters import FleetBackend


@dataclass(frozen=True, slots=True)
class FleetPodGroup:
    """A hand-written PodGroup, and the cluster it is for."""

    declared: Declared[PodGroup]
    backend: FleetBackend

    @property
    def namespace(self) -> str:
        """Its own namespace, or the backend's."""
        return self.declared.spec.metadata.namespace or self.backend.namespace

    @property
    def sub_groups(self) -> tuple[tuple[SubGroup, KeyPath], ...]:
        """Every SubGroup with its place."""
        written = self.declared.spec.spec.subGroups
        return tuple((item, ("spec", "subGroups", index)) for index, item in enumerate(written))

    @property
    def constraints(self) -> tuple[tuple[TopologyConstraint, KeyPath], ...]:
        """Every constraint with its place: its own, then those of its SubGroups."""
        found: list[tuple[TopologyConstraint | None, KeyPath]]
        found = [(self.declared.spec.spec.topologyConstraint, ("spec",))]
        found += [(item.topologyConstraint, path) for item, path in self.sub_groups]
        return tuple((item, (*path, "topologyConstraint")) for item, path in found if item is not None)
