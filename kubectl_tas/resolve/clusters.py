"""Clusters with what their scheduler understands, and the topologies that they have."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_tas import kai
from kubectl_tas.model.config import Backend
from kubectl_tas.model.grove import OperatorConfiguration
from kubectl_tas.model.pool import Pool
from kubectl_tas.model.repository import Declared, KeyPath
from kubectl_tas.model.topology import ClusterTopology, SchedulerTopologyBinding


@dataclass(frozen=True, slots=True)
class FleetBackend:
    """One cluster, and what its scheduler understands."""

    spec: Backend
    index: int
    release: kai.Release | None
    """None where the scheduler is not KAI, or is of a version that the table does not have."""

    @property
    def name(self) -> str:
        """What pools call it."""
        return self.spec.name

    @property
    def namespace(self) -> str:
        """Where its workloads run."""
        return self.spec.namespace

    @property
    def is_kai(self) -> bool:
        """Whether its scheduler is KAI."""
        return self.spec.scheduler.type == "kai"

    @property
    def scheduler_name(self) -> str:
        """schedulerName of its pods."""
        return self.spec.scheduler.name or ("kai-scheduler" if self.is_kai else "default-scheduler")

    def has(self, feature: kai.Feature) -> bool:
        """Whether its scheduler can express ``feature``."""
        return self.release is not None and self.release.has(feature)


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a topology."""

    key: str
    """What users call it."""
    label: str
    """The node label."""


@dataclass(frozen=True, slots=True)
class FleetTopology:
    """A Topology object: a pool's own, or a cluster topology's."""

    name: str
    levels: tuple[Level, ...]
    """From the coarsest to the finest."""
    declared: Declared[Pool] | Declared[ClusterTopology] | Declared[OperatorConfiguration]
    backend: FleetBackend | None
    """None: on every KAI backend."""
    path: KeyPath
    """Where the levels stand."""
    bindings: tuple[SchedulerTopologyBinding, ...] = ()
    """Existing topologies to use instead of creating one."""
    is_created: bool = True
    """Whether a Topology object is made from it where it has no binding."""

    @property
    def pool(self) -> str | None:
        """The pool whose own it is."""
        return self.declared.spec.metadata.name if isinstance(self.declared.spec, Pool) else None

    def finer_keys(self, level: Level) -> list[str]:
        """The keys of the levels below ``level``."""
        return [finer.key for finer in self.levels[self.levels.index(level) + 1 :]]

    def binding(self, backend: FleetBackend) -> str | None:
        """The existing topology of that backend's scheduler to use instead."""
        wanted = backend.scheduler_name
        return next((item.topologyReference for item in self.bindings if item.schedulerName == wanted), None)

    def name_on(self, backend: FleetBackend) -> str:
        """What its Topology object is called there."""
        return self.binding(backend) or self.name

    def is_created_on(self, backend: FleetBackend) -> bool:
        """Whether a Topology object is made from it there."""
        return self.is_created and self.binding(backend) is None
