"""Resolves topologies to levels, from a pool's own keys or from the domains of a cluster topology."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass
from kubectl_tas.facts.grove import DEFAULT_TOPOLOGY
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.pool_kinds import Pool
from kubectl_tas.model.repository import Declared
from kubectl_tas.model.topology_kinds import ClusterTopology, SchedulerTopologyBinding
from kubectl_tas.resolve.clusters import Dangling, FleetBackend, Grove

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import OperatorConfiguration


@json_fields("key label")
@dataclass(frozen=True, slots=True)
class Level:
    """One level of a topology."""

    key: str
    """The name that users give the level."""
    label: str
    """The node label."""


@dataclass(frozen=True, slots=True)
class FleetTopology:
    """A Topology object, from a pool's own keys or from a cluster topology."""

    name: str
    levels: tuple[Level, ...]
    """The levels from the coarsest to the finest."""
    declared: Declared[Pool] | Declared[ClusterTopology] | Declared[OperatorConfiguration]
    backend: FleetBackend | None
    """The cluster of the topology. None: every cluster with KAI."""
    path: KeyPath
    """Path of the levels in the document."""
    bindings: tuple[SchedulerTopologyBinding, ...] = ()
    """Existing topologies to use, so that nobody creates one."""
    is_created: bool = True
    """Whether a Topology object is created if no binding exists."""

    @property
    def pool(self) -> str | None:
        """The pool that the topology belongs to, if any."""
        return self.declared.spec.metadata.name if isinstance(self.declared.spec, Pool) else None

    def level(self, word: str) -> Level | None:
        """Returns the level with this key, or else with this node label."""
        by_word = {level.label: level for level in self.levels} | {level.key: level for level in self.levels}
        return by_word.get(word)

    def finer_keys(self, level: Level) -> list[str]:
        """Returns the keys of the levels below ``level``."""
        return [finer.key for finer in self.levels[self.levels.index(level) + 1 :]]

    def binding(self, backend: FleetBackend) -> str | None:
        """Returns the existing topology of the backend's scheduler to use instead."""
        scheduler_name = backend.scheduler_name
        return next((each.topologyReference for each in self.bindings if each.schedulerName == scheduler_name), None)

    def name_on(self, backend: FleetBackend) -> str:
        """Returns the name of the Topology object on the backend."""
        return self.binding(backend) or self.name

    def is_created_on(self, backend: FleetBackend) -> bool:
        """Whether a Topology object is created on the backend.

        False if Grove's operator creates it. The operator exits at start if the object has another owner.
        """
        return self.is_created and self.binding(backend) is None and not self.is_of_operator_on(backend)

    def is_of_operator_on(self, backend: FleetBackend) -> bool:
        """Whether Grove's operator creates the Topology from its own configuration on the backend."""
        return self.declared.spec.kind == "OperatorConfiguration" and not backend.grove_release.has_names


def level_called(topology: FleetTopology | None, word: str | None) -> Level | None:
    """Returns the level that ``word`` names. An undeclared word is its own level. None without a word."""
    if not word:
        return None
    return (topology.level(word) if topology else None) or Level(word, word)


def cluster_topologies(declared: tuple[Declared[ClusterTopology], ...], grove: Grove) -> dict[str, FleetTopology]:
    """Returns cluster topologies by name, sorted. Unless a document declares grove-topology, it comes from the
    configuration of Grove's operator.
    """
    created = grove.creates_topologies
    topologies: dict[str, FleetTopology] = {}
    for document in sorted(declared, key=lambda item: (item.spec.metadata.name, item.origin.path)):
        levels = tuple(Level(level.domain, level.key) for level in document.spec.spec.levels)
        name = document.spec.metadata.name
        where, bindings = ("spec", "levels"), document.spec.spec.schedulerTopologyBindings
        topologies.setdefault(name, FleetTopology(name, levels, document, None, where, bindings, created))
    if grove.operator is not None and not grove.is_disabled:
        levels = tuple(Level(level.domain, level.key) for level in grove.operator.spec.topologyAwareScheduling.levels)
        path = ("topologyAwareScheduling", "levels")
        operator_topology = FleetTopology(DEFAULT_TOPOLOGY, levels, grove.operator, None, path, (), created)
        topologies = dict(sorted({**({DEFAULT_TOPOLOGY: operator_topology} if levels else {}), **topologies}.items()))
    return topologies


def pool_topology(
    declared: Declared[Pool],
    backend: FleetBackend,
    own_name: str,
    topologies: dict[str, FleetTopology],
    dangling: list[Dangling],
) -> FleetTopology | None:
    """Returns the topology of a pool: the cluster topology that it names, else its own keys, else None."""
    spec = declared.spec.spec
    if spec.topology is not None:
        if spec.topology not in topologies:
            known_names = tuple(topologies)
            dangling.append(Dangling("topology", spec.topology, known_names, declared, ("spec", "topology")))
        return topologies.get(spec.topology)
    if not spec.topology_keys:
        return None
    levels = tuple(Level(level.key, level.label) for level in spec.topology_keys)
    return FleetTopology(own_name, levels, declared, backend, ("spec", "topology_keys"))
