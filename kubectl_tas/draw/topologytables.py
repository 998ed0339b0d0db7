"""Renders topologies and their users as tables, as a page in the style of ``kubectl describe``, or as JSON data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kubectl_tas.compare.cluster_nodes import Coverage
from kubectl_tas.compare.nodelevels import Domains, Suggestion
from kubectl_tas.compare.topology_drift import (
    CONDITION,
    Condition,
    Drift,
    Use,
    cluster_of,
    condition,
    declared_levels,
    domains,
    full_name,
)
from kubectl_tas.kai import Feature
from kubectl_tas.live.cliquesets import Levels
from kubectl_tas.report import style
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podcliqueset import FleetPodCliqueSet
from kubectl_tas.resolve.topologies import FleetTopology
from kubectl_tas.words import shortened

if TYPE_CHECKING:
    from kubectl_tas.report import json_shapes as shapes

AVAILABLE = "ALL LEVELS AVAILABLE"
HEADER = ("TOPOLOGY", "PODCLIQUESET", AVAILABLE, "REASON", "MISSING")
_IS_AVAILABLE = {"False": "yes", "True": "no", "Unknown": "unknown"}
"""An answer for each status of ``CONDITION``, which Grove words the other way round."""
DRIFT_HEADER = ("TOPOLOGY", "IN THE REPOSITORY", "IN THE CLUSTER")
COVERAGE_HEADER = ("TOPOLOGY", "NODES OUTSIDE", "LEVEL", "NODES WITHOUT ITS LABEL")
SUGGESTION_HEADER = ("LEVEL", "LABEL", "SET BY", "NODES WITHOUT", "DOMAINS", "NODES IN EACH", "GPUS IN EACH")
MAX_NODES = 5
"""Maximum number of nodes that a line names."""
NONE = "-"


def render(fleet: Fleet, *, wide: bool = False) -> str:
    """Renders all topologies with their levels and users."""
    rows = [
        (
            topology.name,
            topology.declared.spec.kind,
            " > ".join(level.key for level in topology.levels),
            ", ".join(_pools(fleet, topology)) or NONE,
            ", ".join(_set_names(fleet, topology)) or NONE,
            *((" > ".join(level.label for level in topology.levels), topology.declared.origin.path) if wide else ()),
        )
        for topology in fleet.topologies
    ]
    header = ("NAME", "FROM", "LEVELS", "POOLS", "PODCLIQUESETS")
    return style.table((*header, *(("LABELS", "FILE") if wide else ())), rows)


def data(fleet: Fleet) -> shapes.TopologyList:
    """Returns all topologies as JSON data."""
    found: list[shapes.ListedTopology] = [
        {
            "name": topology.name,
            "kind": topology.declared.spec.kind,
            "file": topology.declared.origin.path,
            "levels": [{"key": level.key, "label": level.label} for level in topology.levels],
            "pools": _pools(fleet, topology),
            "podCliqueSets": _set_names(fleet, topology),
        }
        for topology in fleet.topologies
    ]
    return {"version": 1, "topologies": found}


def page(fleet: Fleet, topology: FleetTopology) -> str:
    """Renders the levels of a topology, its object on each cluster, and its users."""
    facts = [
        ("Name", topology.name),
        ("Kind", topology.declared.spec.kind),
        ("File", topology.declared.origin.path),
        *(("Topology", text) for text in objects(fleet, topology)),
    ]
    header = ("KEY", "LABEL") if topology.pool else ("DOMAIN", "LABEL")
    levels = [(level.key, level.label) for level in topology.levels]
    pools = [(pool.name, pool.backend.name) for pool in fleet.pools if pool.topology == topology]
    parts = [style.pairs(facts), style.section("Levels", header, levels)]
    parts.append(style.section("Pools", ("NAME", "BACKEND"), pools))
    work = [(item.what, item.queue) for item in fleet.placed_by(topology)]
    parts.append(style.section("Placed work", ("NAME", "QUEUE"), work))
    if topology.pool is None:
        parts.append(style.section("PodCliqueSets", ("NAME", AVAILABLE), list(sets(fleet, topology))))
    return "\n".join(parts)


def objects(fleet: Fleet, topology: FleetTopology) -> Iterator[str]:
    """Says for each cluster which object represents the topology."""
    for backend in (topology.backend,) if topology.backend else fleet.backends:
        where = f" on backend {backend.name}"
        if not backend.has(Feature.TOPOLOGY):
            yield f"none{where}, which has no KAI Scheduler with topologies"
        elif topology.binding(backend) is not None:
            yield f"{topology.name_on(backend)}{where}, which exists already"
        elif topology.is_created_on(backend):
            yield f"{topology.name}{where}, rendered here"
        elif topology.is_of_operator_on(backend):
            yield f"{topology.name}{where}, not rendered: Grove {backend.spec.grove.version} makes it"
        else:
            yield f"{topology.name}{where}, not rendered: createTopologyResources is false"


def _pools(fleet: Fleet, topology: FleetTopology) -> list[str]:
    return [pool.name for pool in fleet.pools if pool.topology == topology]


def _set_names(fleet: Fleet, topology: FleetTopology) -> list[str]:
    return [_set_name(fleet, item) for item in _sets_of(fleet, topology)]


def _sets_of(fleet: Fleet, topology: FleetTopology) -> list[FleetPodCliqueSet]:
    """Returns the PodCliqueSets that use a cluster topology."""
    if topology.pool is not None:
        return []
    return [item for item in fleet.pod_clique_sets if item.topology_name == topology.name]


def _set_name(fleet: Fleet, item: FleetPodCliqueSet) -> str:
    """Returns the cluster (if there are several), namespace and name of a PodCliqueSet."""
    return full_name(cluster_of(fleet, item), *item.key)


def sets(fleet: Fleet, topology: FleetTopology) -> Iterator[tuple[str, str]]:
    """Yields the PodCliqueSets that use a cluster topology, each with the condition that Grove would report."""
    known = domains(declared_levels(fleet))
    for item in _sets_of(fleet, topology):
        state = condition(item.spec, known)
        assert state is not None  # a set that uses a topology has the condition
        missing = f" (it lacks {', '.join(state.missing)})" if state.missing else ""
        yield _set_name(fleet, item), f"{_IS_AVAILABLE[state.status]}{missing}"


def uses(found: Sequence[Use]) -> str:
    """Renders a line for each PodCliqueSet, grouped by topology."""
    rows = [(use.label, use.full_name) for use in _in_order(found)]
    return style.table(("", ""), rows).partition("\n")[2]


def conditions(found: Sequence[Use]) -> str:
    """Renders a line for each PodCliqueSet, with the condition that Grove reports."""
    rows = [(use.label, use.full_name, *_condition_cells(use.condition)) for use in _in_order(found)]
    return style.table(HEADER, rows)


def _condition_cells(found: Condition | None) -> tuple[str, str, str]:
    if found is None:
        return NONE, NONE, NONE
    return _IS_AVAILABLE[found.status], found.reason, ", ".join(found.missing) or NONE


def differences(drifts: Sequence[Drift]) -> str:
    """Renders the topologies that differ, with both hierarchies."""
    rows = [(item.full_name, _levels(item.declared), _levels(item.live)) for item in drifts]
    return style.table(DRIFT_HEADER, rows)


def covered(found: Sequence[Coverage]) -> str:
    """Renders how many nodes are outside of each topology, and which labels they lack."""
    rows = []
    for item in found:
        count = f"{len(item.outside)} of {item.nodes}"
        levels = [(f"{level.key} ({level.label})", shortened(names, MAX_NODES)) for level, names in item.missing]
        for index, level in enumerate(levels or [(NONE, NONE)]):
            rows.append((item.full_name, count, *level) if index == 0 else ("", "", *level))
    return style.table(COVERAGE_HEADER, rows)


def suggested(found: Suggestion) -> str:
    """Renders the levels that nodes could have, the omitted labels with reasons, and the lines for a Pool."""
    rows = [
        (
            item.key,
            item.label,
            item.maker or NONE,
            shortened(item.lacking, MAX_NODES) or NONE,
            str(len(item.nodes)),
            _between(item.sizes),
            _between(item.gpus),
        )
        for item in found.levels
    ]
    without = f"; {found.others} without GPUs are left out" if found.others else ""
    parts = [f"{plural(found.considered, 'node')}{without}\n", style.section("Levels", SUGGESTION_HEADER, rows)]
    if found.left_out:
        reasons = [(item.label, why) for item, why in found.left_out]
        parts.append(style.section("Left out", ("LABEL", "WHY"), reasons))
    if found.levels:
        lines = (f"  - {{key: {item.key}, label: {item.label}}}\n" for item in found.levels)
        parts.append(f"For a pool on these nodes:\n  topology_keys:\n{''.join(lines)}")
    return "\n".join(parts)


def suggested_topology(found: Suggestion, name: str) -> dict[str, Any]:
    """Returns a ClusterTopology with the suggested levels."""
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {"name": name},
        "spec": {"levels": [{"domain": item.key, "key": item.label} for item in found.levels]},
    }


def suggested_data(found: Suggestion) -> shapes.SuggestedTopology:
    """Returns the suggestion as JSON data."""
    return {
        "version": 1,
        "nodes": found.considered,
        "withoutGpus": found.others,
        "levels": [_domains_data(item) for item in found.levels],
        "leftOut": [{**_domains_data(item), "reason": why} for item, why in found.left_out],
    }


def _domains_data(item: Domains) -> shapes.SuggestedLevel:
    return {
        "key": item.key,
        "label": item.label,
        "setBy": item.maker or None,
        "nodesWithout": list(item.lacking),
        "domains": [
            {"name": name, "nodes": len(nodes), "gpus": sum(node.gpus for node in nodes)}
            for name, nodes in item.nodes.items()
        ],
    }


def _between(sizes: tuple[int, int]) -> str:
    least, most = sizes
    return str(least) if least == most else f"{least} to {most}"


def uses_data(
    found: Sequence[Use], source: str, drifts: Sequence[Drift] | None, nodes: Sequence[Coverage] | None
) -> shapes.TopologyUses:
    """Returns the uses as JSON data. ``drifts`` is None if nothing was compared, ``nodes`` if no nodes are known."""
    data: shapes.TopologyUses = {
        "version": 1,
        "from": source,
        "podCliqueSets": [
            {
                "namespace": use.namespace,
                "name": use.name,
                "backend": use.backend,
                "topology": use.topology,
                "default": use.is_default,
                "condition": _condition(use.condition),
            }
            for use in _in_order(found)
        ],
    }
    if drifts is not None:
        data["differences"] = [
            {
                "backend": item.backend,
                "topology": item.name,
                "repository": _data(item.declared),
                "cluster": _data(item.live),
            }
            for item in drifts
        ]
    if nodes is not None:
        data["nodes"] = [
            {
                "backend": item.backend,
                "topology": item.topology,
                "nodes": item.nodes,
                "outside": list(item.outside),
                "missing": [
                    {"key": level.key, "label": level.label, "nodes": list(names)} for level, names in item.missing
                ],
            }
            for item in nodes
        ]
    return data


def _in_order(found: Sequence[Use]) -> list[Use]:
    return sorted(found, key=lambda use: (use.topology is None, use.label, use.full_name))


def _condition(found: Condition | None) -> shapes.Condition | None:
    if found is None:
        return None
    return {"type": CONDITION, "status": found.status, "reason": found.reason, "missing": list(found.missing)}


def _levels(levels: Levels | None) -> str:
    return NONE if levels is None else " > ".join(f"{domain} ({key})" for domain, key in levels)


def _data(levels: Levels | None) -> list[shapes.DomainKey] | None:
    return None if levels is None else [{"domain": domain, "key": key} for domain, key in levels]
