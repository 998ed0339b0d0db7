"""PodGroups that people wrote by hand: the cluster that each is for, and what it consists of."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.manifest import PodGroup, SubGroup, TopologyConstraint
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import Dangling, FleetBackend
from kubectl_tas.resolve.pools import Known


@dataclass(frozen=True, slots=True)
class FleetPodGroup:
    """A hand-written PodGroup, and the cluster it is for."""

    declared: Declared[PodGroup]
    backend: FleetBackend

    @property
    def name(self) -> str:
        """Its name."""
        return self.declared.spec.metadata.name

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


def resolve_pod_group(declared: Declared[PodGroup], known: Known) -> FleetPodGroup | None:
    """A hand-written PodGroup goes where its queue is, else where its namespace is; None where nobody knows."""
    queue, namespace = declared.spec.spec.queue, declared.spec.metadata.namespace
    by_queue = [pool.backend for pool in known.pools.values() if queue.startswith(pool.queue + names.SEPARATOR)]
    by_namespace = [backend for backend in known.backends if backend.namespace == namespace]
    for candidates in (known.backends, by_queue, by_namespace):
        if len({backend.name for backend in candidates}) == 1:
            return FleetPodGroup(declared, candidates[0])
    backends = tuple(backend.name for backend in known.backends)
    known.dangling.append(Dangling("backend of a PodGroup", queue, backends, declared, ("spec", "queue")))
    return None
