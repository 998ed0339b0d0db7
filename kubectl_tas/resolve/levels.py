"""Topologies: a pool's own keys, or a cluster topology's domains, as levels from the coarsest to the finest."""

from __future__ import annotations

from kubectl_tas.model.grove import DEFAULT_TOPOLOGY
from kubectl_tas.model.pool import Pool
from kubectl_tas.model.repository import Declared
from kubectl_tas.model.topology import ClusterTopology
from kubectl_tas.resolve.fleet import Dangling, FleetBackend, FleetTopology, Level
from kubectl_tas.resolve.grove import Grove


def cluster_topologies(declared: tuple[Declared[ClusterTopology], ...], grove: Grove) -> dict[str, FleetTopology]:
    """Cluster topologies by name, sorted; Grove's own comes from the configuration of its operator."""
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
        found = dict(sorted({**found, **({DEFAULT_TOPOLOGY: own} if levels else {})}.items()))
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
