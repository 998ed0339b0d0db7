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
    namespaces: tuple[str, ...]
    """Where work of its queue may run, the first by default; of a queue that is not declared here, all the namespaces
    of its cluster's pools.
    """

    @property
    def name(self) -> str:
        """Its name."""
        return self.declared.spec.metadata.name

    @property
    def namespace(self) -> str:
        """Its own namespace, or the first one where work of its queue runs."""
        return self.declared.spec.metadata.namespace or self.namespaces[0]

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
    by_namespace = [backend for backend in known.backends if namespace in _namespaces(backend, known)]
    for candidates in (known.backends, by_queue, by_namespace):
        if len({backend.name for backend in candidates}) == 1:
            backend = candidates[0]
            return FleetPodGroup(declared, backend, _of_queue(queue, known) or _namespaces(backend, known))
    backends = tuple(backend.name for backend in known.backends)
    known.dangling.append(Dangling("backend of a PodGroup", queue, backends, declared, ("spec", "queue")))
    return None


def _of_queue(queue: str, known: Known) -> tuple[str, ...]:
    """Where work of a queue may run; none where no pool has it."""
    for pool in known.pools.values():
        if queue == pool.shared_queue:
            return pool.namespaces
        for subpool in pool.subpools:
            if queue == subpool.queue:
                return subpool.namespaces
    return ()


def _namespaces(backend: FleetBackend, known: Known) -> tuple[str, ...]:
    """Where work of a cluster may run, the backend's own namespace first."""
    pools = (pool for pool in known.pools.values() if pool.backend == backend)
    return tuple(dict.fromkeys((backend.namespace, *(name for pool in pools for name in pool.namespaces))))
