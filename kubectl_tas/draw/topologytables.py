"""Renders topologies and their users as tables, as a page in the style of ``kubectl describe``, or as JSON data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.words import shortened
from kubectl_tas.compare.cluster_nodes import Coverage
from kubectl_tas.compare.nodelevels import SuggestedLevels
from kubectl_tas.compare.topology_drift import (
    Drift,
    GroveCondition,
    TopologyUse,
    cluster_of,
    condition,
    declared_levels,
    domains,
    full_name,
)
from kubectl_tas.facts.kai import Feature
from kubectl_tas.live.cliquesets import Levels
from kubectl_tas.report import style
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podcliqueset import FleetPodCliqueSet
from kubectl_tas.resolve.topologies import FleetTopology

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
            ", ".join(pools) or NONE,
            ", ".join(sets) or NONE,
            *((" > ".join(level.label for level in topology.levels), topology.declared.origin.path) if wide else ()),
        )
        for topology, pools, sets in listed(fleet).topologies
    ]
    header = ("NAME", "FROM", "LEVELS", "POOLS", "PODCLIQUESETS")
    return style.table((*header, *(("LABELS", "FILE") if wide else ())), rows)


@json_fields(
    "name=topology.name kind=topology.declared.spec.kind file=topology.declared.origin.path levels=topology.levels "
    "pools podCliqueSets=sets"
)
class ListedTopology(NamedTuple):
    """A topology, and the pools and sets that use it."""

    topology: FleetTopology
    pools: list[str]
    sets: list[str]


@json_fields("version:1 topologies")
class TopologyList(NamedTuple):
    """All topologies."""

    topologies: list[ListedTopology]


def listed(fleet: Fleet) -> TopologyList:
    """Returns all topologies with their users."""
    listed_topologies = []
    for topology in fleet.topologies:
        pools = [pool.name for pool in fleet.pools if pool.topology == topology]
        sets = [_set_name(fleet, clique_set) for clique_set in _sets_of(fleet, topology)]
        listed_topologies.append(ListedTopology(topology, pools, sets))
    return TopologyList(listed_topologies)


@json_fields("version:1 from=source podCliqueSets=uses differences=drifts? nodes=coverages?")
class TopologyUses(NamedTuple):
    """The topology of each PodCliqueSet."""

    source: str
    """cluster or repository."""
    uses: list[TopologyUse]
    drifts: Sequence[Drift] | None
    """Topologies that differ in the cluster; None if nothing was compared."""
    coverages: Sequence[Coverage] | None
    """The nodes that each topology covers; None if no nodes are known."""


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
    sections = [style.pairs(facts), style.section("Levels", header, levels)]
    sections.append(style.section("Pools", ("NAME", "BACKEND"), pools))
    work = [(placed.kind_and_name, placed.queue) for placed in fleet.placed_by(topology)]
    sections.append(style.section("Placed work", ("NAME", "QUEUE"), work))
    if topology.pool is None:
        sections.append(style.section("PodCliqueSets", ("NAME", AVAILABLE), list(sets(fleet, topology))))
    return "\n".join(sections)


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


def _sets_of(fleet: Fleet, topology: FleetTopology) -> list[FleetPodCliqueSet]:
    """Returns the PodCliqueSets that use a cluster topology."""
    if topology.pool is not None:
        return []
    return [clique_set for clique_set in fleet.pod_clique_sets if clique_set.topology_name == topology.name]


def _set_name(fleet: Fleet, clique_set: FleetPodCliqueSet) -> str:
    """Returns the cluster (if there are several), namespace and name of a PodCliqueSet."""
    return full_name(cluster_of(fleet, clique_set), *clique_set.key)


def sets(fleet: Fleet, topology: FleetTopology) -> Iterator[tuple[str, str]]:
    """Yields the PodCliqueSets that use a cluster topology, each with the condition that Grove would report."""
    declared_domains = domains(declared_levels(fleet))
    for clique_set in _sets_of(fleet, topology):
        state = condition(clique_set.spec, declared_domains)
        assert state is not None  # a set that uses a topology has the condition
        missing = f" (it lacks {', '.join(state.missing)})" if state.missing else ""
        yield _set_name(fleet, clique_set), f"{_IS_AVAILABLE[state.status]}{missing}"


def uses(topology_uses: Sequence[TopologyUse]) -> str:
    """Renders a line for each PodCliqueSet, grouped by topology."""
    rows = [(use.label, use.full_name) for use in in_order(topology_uses)]
    return style.table(("", ""), rows).partition("\n")[2]


def conditions(topology_uses: Sequence[TopologyUse]) -> str:
    """Renders a line for each PodCliqueSet, with the condition that Grove reports."""
    rows = [(use.label, use.full_name, *_condition_cells(use.condition)) for use in in_order(topology_uses)]
    return style.table(HEADER, rows)


def _condition_cells(condition: GroveCondition | None) -> tuple[str, str, str]:
    if condition is None:
        return NONE, NONE, NONE
    return _IS_AVAILABLE[condition.status], condition.reason, ", ".join(condition.missing) or NONE


def differences(drifts: Sequence[Drift]) -> str:
    """Renders the topologies that differ, with both hierarchies."""
    rows = [(drift.full_name, _levels(drift.declared), _levels(drift.live)) for drift in drifts]
    return style.table(DRIFT_HEADER, rows)


def covered(coverages: Sequence[Coverage]) -> str:
    """Renders how many nodes are outside of each topology, and which labels they lack."""
    rows = []
    for coverage in coverages:
        count = f"{len(coverage.outside)} of {coverage.nodes}"
        levels = [(f"{level.key} ({level.label})", shortened(names, MAX_NODES)) for level, names in coverage.missing]
        for index, level in enumerate(levels or [(NONE, NONE)]):
            rows.append((coverage.full_name, count, *level) if index == 0 else ("", "", *level))
    return style.table(COVERAGE_HEADER, rows)


def suggested(suggestion: SuggestedLevels) -> str:
    """Renders the levels that nodes could have, the omitted labels with reasons, and the lines for a Pool."""
    rows = [
        (
            level.key,
            level.label,
            level.maker or NONE,
            shortened(level.lacking, MAX_NODES) or NONE,
            str(len(level.nodes)),
            _between(level.sizes),
            _between(level.gpus),
        )
        for level in suggestion.levels
    ]
    without = f"; {suggestion.nodes_without_gpus} without GPUs are left out" if suggestion.nodes_without_gpus else ""
    sections = [f"{plural(suggestion.considered, 'node')}{without}\n", style.section("Levels", SUGGESTION_HEADER, rows)]
    if suggestion.left_out:
        reasons = [(level.label, reason) for level, reason in suggestion.left_out]
        sections.append(style.section("Left out", ("LABEL", "WHY"), reasons))
    if suggestion.levels:
        lines = (f"  - {{key: {level.key}, label: {level.label}}}\n" for level in suggestion.levels)
        sections.append(f"For a pool on these nodes:\n  topology_keys:\n{''.join(lines)}")
    return "\n".join(sections)


def suggested_topology(suggestion: SuggestedLevels, name: str) -> dict[str, Any]:
    """Returns a ClusterTopology with the suggested levels."""
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "ClusterTopology",
        "metadata": {"name": name},
        "spec": {"levels": [{"domain": level.key, "key": level.label} for level in suggestion.levels]},
    }


def _between(sizes: tuple[int, int]) -> str:
    least, most = sizes
    return str(least) if least == most else f"{least} to {most}"


def in_order(topology_uses: Sequence[TopologyUse]) -> list[TopologyUse]:
    """Sorts uses by topology, then by set."""
    return sorted(topology_uses, key=lambda use: (use.topology is None, use.label, use.full_name))


def _levels(levels: Levels | None) -> str:
    return NONE if levels is None else " > ".join(f"{domain} ({key})" for domain, key in levels)
