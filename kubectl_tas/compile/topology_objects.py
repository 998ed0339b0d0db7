"""Makes Topologies of pools and cluster topologies, and the ClusterTopologyBindings that Grove reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_tas.compile.metadata import metadata
from kubectl_tas.grove import KAI_SCHEDULER
from kubectl_tas.kai import Feature
from kubectl_tas.model.artifact import Artifact
from kubectl_tas.model.base import QUALIFIED_NAME
from kubectl_tas.model.kindlists import Phase
from kubectl_tas.model.labels import POOL
from kubectl_tas.model.manifest import Metadata, Topology, TopologyLevel, TopologySpec
from kubectl_tas.model.topology_kinds import (
    ClusterTopology,
    ClusterTopologySpec,
    DomainLevel,
    ObjectMeta,
    SchedulerTopologyBinding,
)
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.topologies import FleetTopology, Level


def compile_topologies(fleet: Fleet) -> Iterator[Artifact]:
    """Yields each topology on each of its backends."""
    for topology in fleet.topologies:
        for backend in (topology.backend,) if topology.backend else fleet.backends:
            if backend.has(Feature.TOPOLOGY) and topology.is_created_on(backend):
                yield _topology(fleet, topology, backend)


def topologies_elsewhere(fleet: Fleet, backend: FleetBackend) -> Iterator[Topology]:
    """Yields the Topologies of a backend that are declared here, but that Grove or another tool makes."""
    for topology in fleet.topologies if backend.has(Feature.TOPOLOGY) else ():
        if topology.backend is None and not topology.is_created_on(backend):
            made = _topology(fleet, topology, backend).manifest
            assert isinstance(made, Topology)
            yield made.model_copy(update={"metadata": Metadata(name=topology.name_on(backend))})


def compile_bindings(fleet: Fleet) -> Iterator[Artifact]:
    """Yields a ClusterTopologyBinding for each cluster topology that sets of a backend use (Grove 0.1.0-alpha.9 and
    later).

    Grove refuses a set without a binding. The binding names the rendered Topology: without it Grove makes a Topology,
    and its operator exits at its start if one with the same name exists (scheduler/kai/topology.go, SyncTopology).
    """
    for backend in fleet.backends:
        used = {
            item.set.topology.name
            for item in fleet.submitted_sets
            if item.pool.backend == backend and item.set.topology
        }
        for name in sorted(used) if backend.grove_release.schedulers else ():
            topology = fleet.cluster_topologies[name]
            bindings = topology.bindings
            if backend.has(Feature.TOPOLOGY) and topology.is_created_on(backend):
                own = SchedulerTopologyBinding(schedulerName=KAI_SCHEDULER, topologyReference=name)
                bindings = (*(item for item in bindings if item.schedulerName != KAI_SCHEDULER), own)
            about = metadata(fleet, name, Phase.TOPOLOGY)
            levels = tuple(DomainLevel(domain=level.key, key=level.label) for level in topology.levels)
            manifest = ClusterTopology(
                apiVersion="grove.io/v1alpha1",
                kind="ClusterTopologyBinding",
                metadata=ObjectMeta(name=name, labels=about.labels, annotations=about.annotations),
                spec=ClusterTopologySpec(levels=levels, schedulerTopologyBindings=bindings),
            )
            file, source = names.file(f"clustertopologybinding-{name}"), topology.declared.origin.path
            yield Artifact(backend.name, Phase.TOPOLOGY, "topologies", file, manifest, source)


def _topology(fleet: Fleet, topology: FleetTopology, backend: FleetBackend) -> Artifact:
    assert backend.release is not None
    assert backend.release.topology_api is not None
    labels = {POOL: topology.pool} if topology.pool else {}
    labelled = {level.label for level in topology.levels}
    aliases = backend.has(Feature.LEVEL_ALIAS) and backend.spec.levelAliases
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
    """Returns a level with its key as alias. KAI refuses an alias that is already a label or not a valid name."""
    is_alias = aliases and level.key not in labelled and re.fullmatch(QUALIFIED_NAME, level.key)
    alias = level.key if is_alias else None
    return TopologyLevel(nodeLabel=level.label, alias=alias)
