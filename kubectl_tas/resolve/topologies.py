"""Topologies: a pool's own keys, or a cluster topology's domains, as levels from the coarsest to the finest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubectl_tas.grove import DEFAULT_TOPOLOGY
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.pool_kinds import Pool
from kubectl_tas.model.repository import Declared
from kubectl_tas.model.topology_kinds import ClusterTopology, SchedulerTopologyBinding
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.clusters import Dangling, FleetBackend, Grove

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import OperatorConfiguration


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

    def level(self, word: str) -> Level | None:
        """The level of that key, or else of that node label."""
        by_word = {level.label: level for level in self.levels} | {level.key: level for level in self.levels}
        return by_word.get(word)

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
        """Whether a Topology object is made from it there.

        Not where Grove's operator makes it of its own configuration: it ends at its start when another one owns it.
        """
        return self.is_created and self.binding(backend) is None and not self.is_of_operator_on(backend)

    def is_of_operator_on(self, backend: FleetBackend) -> bool:
        """Whether Grove's operator makes it of its own configuration there."""
        return self.declared.spec.kind == "OperatorConfiguration" and not backend.grove_release.has_names


def level_called(topology: FleetTopology | None, word: str | None) -> Level | None:
    """The level that ``word`` names; one that is not declared stands for itself. None where nothing is named."""
    if not word:
        return None
    return (topology.level(word) if topology else None) or Level(word, word)


def cluster_topologies(declared: tuple[Declared[ClusterTopology], ...], grove: Grove) -> dict[str, FleetTopology]:
    """Cluster topologies by name, sorted; grove-topology comes from the configuration of Grove's operator, unless it
    is declared as any other.
    """
    created = grove.creates_topologies
    found: dict[str, FleetTopology] = {}
    for item in sorted(declared, key=lambda item: (item.spec.metadata.name, item.origin.path)):
        levels = tuple(Level(level.domain, level.key) for level in item.spec.spec.levels)
        name = item.spec.metadata.name
        where, bindings = ("spec", "levels"), item.spec.spec.schedulerTopologyBindings
        found.setdefault(name, FleetTopology(name, levels, item, None, where, bindings, created))
    if grove.operator is not None and not grove.is_disabled:
        levels = tuple(Level(level.domain, level.key) for level in grove.operator.spec.topologyAwareScheduling.levels)
        path = ("topologyAwareScheduling", "levels")
        own = FleetTopology(DEFAULT_TOPOLOGY, levels, grove.operator, None, path, (), created)
        found = dict(sorted({**({DEFAULT_TOPOLOGY: own} if levels else {}), **found}.items()))
    return found


def pool_topology(
    declared: Declared[Pool],
    backend: FleetBackend,
    own_name: str,
    topologies: dict[str, FleetTopology],
    dangling: list[Dangling],
) -> FleetTopology | None:
    """The topology of a pool: the cluster topology it names, else its own keys, else None."""
    spec = declared.spec.spec
    if spec.topology is not None:
        if spec.topology not in topologies:
            known = tuple(topologies)
            dangling.append(Dangling("topology", spec.topology, known, declared, ("spec", "topology")))
        return topologies.get(spec.topology)
    if not spec.topology_keys:
        return None
    levels = tuple(Level(level.key, level.label) for level in spec.topology_keys)
    return FleetTopology(own_name, levels, declared, backend, ("spec", "topology_keys"))
