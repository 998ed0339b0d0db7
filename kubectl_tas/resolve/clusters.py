"""Describes clusters: the features of each scheduler, the configuration of Grove, and names that nothing defines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts import grove, kai
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.config import Backend
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import OperatorConfiguration


@dataclass(frozen=True, slots=True)
class Dangling:
    """A name that nothing in the repository defines."""

    what: str
    """The kind of object that the name should refer to, such as ``pool``."""
    name: str
    known: tuple[str, ...]
    """The defined names."""
    declared: Declared[Any]
    path: KeyPath
    context: str = ""
    """The owner of the names in ``known``, such as ``pool team``."""

    @property
    def location(self) -> Location:
        """The place of the name."""
        return self.declared.at(*self.path)


@dataclass(frozen=True, slots=True)
class FleetBackend:
    """One cluster with the features of its scheduler."""

    spec: Backend = field(hash=False)  # labels of its root queue are a mapping
    index: int
    release: kai.Release | None
    """The KAI release. None if the scheduler is not KAI, or is older than the table."""
    grove_release: grove.GroveRelease
    """The features of the cluster's Grove, if the cluster has Grove."""
    type_place: Location | None = field(default=None, compare=False)
    """The place of the scheduler's type in the Config. None without a Config."""

    @property
    def name(self) -> str:
        """The name that pools give the cluster."""
        return self.spec.name

    @property
    def namespace(self) -> str:
        """The namespace of the cluster's workloads."""
        return self.spec.namespace

    @property
    def is_kai(self) -> bool:
        """Whether the scheduler is KAI."""
        return self.spec.scheduler.type == "kai"

    @property
    def scheduler_name(self) -> str:
        """The schedulerName of the pods."""
        return self.spec.scheduler.name or ("kai-scheduler" if self.is_kai else "default-scheduler")

    def root_queue(self, prefix: str) -> str | None:
        """Returns the queue above all pools of the cluster. None if the pools are at the top."""
        root_queue = self.spec.rootQueue
        if root_queue == "none" or not self.has(kai.Feature.DEEP_QUEUES):
            return None
        return (root_queue and root_queue.name) or names.root_queue(prefix, self.namespace)

    @property
    def queue_labels(self) -> tuple[str, ...]:
        """The labels for the queue of work: two before KAI 0.6, one later, none without KAI."""
        if not self.is_kai:
            return ()
        is_old = self.release is not None and not self.has(kai.Feature.QUEUE_LABEL)
        return (labels.QUEUE, labels.RUNAI_QUEUE) if is_old else (labels.QUEUE,)

    @property
    def writes_pod_groups_of_sets(self) -> bool:
        """Whether Grove writes the PodGroups of PodCliqueSets, and KAI's podgrouper knows that it must not."""
        return self.grove_release.writes_pod_groups and self.has(kai.Feature.SKIP_PODGROUPER)

    def has(self, feature: kai.Feature) -> bool:
        """Whether the scheduler supports ``feature``."""
        return self.release is not None and self.release.has(feature)


@dataclass(frozen=True, slots=True)
class Grove:
    """The configuration of Grove's operator."""

    operator: Declared[OperatorConfiguration] | None

    @property
    def is_disabled(self) -> bool:
        """Whether the configuration disables placement by topology. False without a configuration."""
        return self.operator is not None and not self.operator.spec.topologyAwareScheduling.enabled

    @property
    def creates_topologies(self) -> bool:
        """Whether each cluster topology gets a Topology of KAI, by the profile of KAI Scheduler."""
        profiles = self.operator.spec.scheduler.profiles if self.operator else ()
        kai = (profile for profile in profiles if profile.name == grove.KAI_SCHEDULER)
        return all(profile.config.createTopologyResources is not False for profile in kai)


def resolve_backend(spec: Backend, index: int, type_place: Location | None = None) -> FleetBackend:
    """Returns a backend of the Config with its row of the version table."""
    release = kai.release(spec.scheduler.version) if spec.scheduler.type == "kai" else None
    return FleetBackend(spec, index, release, grove.release(spec.grove.version) or grove.TABLE[0], type_place)


def pick_backend(
    declared: Declared[Any],
    name: str | None,
    backends: tuple[FleetBackend, ...],
    path: KeyPath,
    dangling: list[Dangling],
) -> FleetBackend | None:
    """Returns the backend with this name. Without a name, returns the only backend."""
    if name is None and len(backends) == 1:
        return backends[0]
    backend = next((backend for backend in backends if backend.name == name), None)
    if backend is None:
        known_names = tuple(backend.name for backend in backends)
        dangling.append(Dangling("backend", name or "", known_names, declared, path))
    return backend


def names_of(declared: Iterable[Declared[Any]]) -> frozenset[str]:
    """Returns the names of declared objects."""
    return frozenset(document.spec.metadata.name for document in declared)
