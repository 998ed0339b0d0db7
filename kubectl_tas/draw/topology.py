"""A topology in, a page about it out, in the manner of ``kubectl describe``."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.check.drift import CONDITION, condition, declared_levels, domains
from kubectl_tas.kai import Feature
from kubectl_tas.report import table
from kubectl_tas.resolve.fleet import Fleet, FleetTopology


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


def _sets(fleet: Fleet, topology: FleetTopology) -> Iterator[tuple[str, str]]:
    known = domains(declared_levels(fleet))
    for item in fleet.pod_clique_sets:
        if item.topology_name == topology.name:
            state = condition(item.spec, known)
            missing = f" (it lacks {', '.join(state.missing)})" if state and state.missing else ""
            yield f"{item.namespace}/{item.name}", f"{state.status if state else '-'}{missing}"
