"""Topologies: the pools' own, and one for each cluster topology."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compile.metadata import metadata
from kubectl_tas.kai import Feature
from kubectl_tas.model.artifact import Artifact, Phase
from kubectl_tas.model.labels import POOL
from kubectl_tas.model.manifest import Topology, TopologyLevel, TopologySpec
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.topologies import FleetTopology, Level


def compile_topologies(fleet: Fleet) -> Iterator[Artifact]:
    """Each topology on each backend that it is for."""
    for topology in fleet.topologies:
        for backend in (topology.backend,) if topology.backend else fleet.backends:
            if backend.has(Feature.TOPOLOGY) and topology.is_created_on(backend):
                yield _topology(fleet, topology, backend)


def _topology(fleet: Fleet, topology: FleetTopology, backend: FleetBackend) -> Artifact:
    assert backend.release is not None
    assert backend.release.topology_api is not None
    labels = {POOL: topology.pool} if topology.pool else {}
    labelled = {level.label for level in topology.levels}
    aliases = backend.has(Feature.LEVEL_ALIAS)
    manifest = Topology.model_validate(
        {
            "apiVersion": backend.release.topology_api,
            "metadata": metadata(fleet, topology.name, Phase.TOPOLOGY, labels=labels, recreate=True),
            "spec": TopologySpec(levels=tuple(_level(level, labelled, aliases=aliases) for level in topology.levels)),
        }
    )
    source = topology.declared.origin.path
    return Artifact(backend.name, Phase.TOPOLOGY, "topologies", names.file(topology.name), manifest, source)


def _level(level: Level, labelled: set[str], *, aliases: bool) -> TopologyLevel:
    """The level with its key as alias, unless the key is a label already: KAI refuses such an alias."""
    alias = level.key if aliases and level.key not in labelled else None
    return TopologyLevel(nodeLabel=level.label, alias=alias)
