"""A topology in, a page about it out, in the manner of ``kubectl describe``."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compare.cluster import CONDITION, condition, declared_levels, domains
from kubectl_tas.kai import Feature
from kubectl_tas.report import table, usage
from kubectl_tas.resolve.cliqueset import FleetPodCliqueSet
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.topologies import FleetTopology


def page(fleet: Fleet, topology: FleetTopology) -> str:
    """Its levels, what it becomes on each cluster, and who uses it."""
    facts = [
        ("Name", topology.name),
        ("Kind", topology.declared.spec.kind),
        ("File", topology.declared.origin.path),
        *(("Topology", text) for text in _objects(fleet, topology)),
    ]
    header = ("KEY", "LABEL") if topology.pool else ("DOMAIN", "LABEL")
    levels = [(level.key, level.label) for level in topology.levels]
    pools = [(pool.name, pool.backend.name) for pool in fleet.pools if pool.topology == topology]
    parts = [table.pairs(facts), table.section("Levels", header, levels)]
    parts.append(table.section("Pools", ("NAME", "BACKEND"), pools))
    work = [(item.what, item.queue) for item in fleet.placed_by(topology)]
    parts.append(table.section("Placed work", ("NAME", "QUEUE"), work))
    if topology.pool is None:
        parts.append(table.section("PodCliqueSets", ("NAME", CONDITION), list(_sets(fleet, topology))))
    return "\n".join(parts)


def _objects(fleet: Fleet, topology: FleetTopology) -> Iterator[str]:
    """What stands for it on each cluster."""
    for backend in (topology.backend,) if topology.backend else fleet.backends:
        where = f" on backend {backend.name}"
        if not backend.has(Feature.TOPOLOGY):
            yield f"none{where}, which has no KAI Scheduler with topologies"
        elif topology.binding(backend) is not None:
            yield f"{topology.name_on(backend)}{where}, which exists already"
        elif topology.is_created_on(backend):
            yield f"{topology.name}{where}, rendered here"
        else:
            yield f"{topology.name}{where}, not rendered: createTopologyResources is false"


def sets_of(fleet: Fleet, topology: FleetTopology) -> list[FleetPodCliqueSet]:
    """The PodCliqueSets that use a cluster topology."""
    if topology.pool is not None:
        return []
    return [item for item in fleet.pod_clique_sets if item.topology_name == topology.name]


def set_cluster(fleet: Fleet, item: FleetPodCliqueSet) -> str | None:
    """The cluster of a set, where there are several."""
    return item.backend.name if item.backend and len(fleet.backends) > 1 else None


def set_name(fleet: Fleet, item: FleetPodCliqueSet) -> str:
    """Cluster, where there are several, namespace and name."""
    return usage.full_name(set_cluster(fleet, item), *item.key)


def _sets(fleet: Fleet, topology: FleetTopology) -> Iterator[tuple[str, str]]:
    known = domains(declared_levels(fleet))
    for item in sets_of(fleet, topology):
        state = condition(item.spec, known)
        missing = f" (it lacks {', '.join(state.missing)})" if state and state.missing else ""
        yield set_name(fleet, item), f"{state.status if state else '-'}{missing}"
