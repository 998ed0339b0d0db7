"""Levels that work asks for against the nodes of its cluster: whether KAI looks at any domain of them.

From 0.12 on KAI (``lowestCommonDomainID`` of pkg/scheduler/plugins/topology/common.go) begins with the finest domain
that all nodes share, and counts what is free there and below it: a coarser domain seems to have nothing free. From
0.12.9 it goes no further down than to the preferred level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from kubectl_tas.diagnostics import Diagnostic, Location, Rule, Severity, Waiving
from kubectl_tas.gangs.cliqueset import gangs_of_set
from kubectl_tas.gangs.gang import Gang
from kubectl_tas.gangs.workflow import gangs_of_workflow
from kubectl_tas.kai import Feature
from kubectl_tas.live.cluster import Node
from kubectl_tas.model.labels import NODE_POOL
from kubectl_tas.records import dataclass
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.resolve.topologies import FleetTopology

REQUIRED_ABOVE_COMMON_DOMAIN = Rule(
    "required-above-common-domain",
    Severity.WARNING,
    "Work requires a level, but all nodes share one domain of a finer level.",
    "KAI begins with the finest domain that all nodes of the topology share, and finds no room in a coarser one (0.12 "
    "to 0.17): in a cluster of one rack, what requires one zone never runs. Prefer a finer level beside the required "
    "one, which costs nothing and stays right when there are more racks. Before 0.12.9 the preferred level must be as "
    "fine as what the nodes share.",
    protects=Waiving.ANYBODY,
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The finest level of a constraint: the preferred one, or where there is none the required one."""

    work: str
    topology: str
    """What the Topology object is called."""
    label: str
    """Of the nodes."""
    is_preferred: bool
    shard: str | None
    """Of KAI's scheduler, that places it."""
    place: Location


def check_domains(fleet: Fleet, backend: FleetBackend, nodes: Sequence[Node]) -> Iterator[Diagnostic]:
    """Work of a backend that KAI never places on these nodes, however empty they are."""
    if not backend.has(Feature.TOPOLOGY):
        return
    known = {item.name_on(backend): item for item in fleet.topologies if item.backend in (None, backend)}
    for asked in dict.fromkeys(_asked(fleet, backend)):
        if backend.has(Feature.COARSE_PREFERRED if asked.is_preferred else Feature.COARSE_REQUIRED):
            continue
        topology = known.get(asked.topology)
        keys = [level.key for level in topology.levels if level.label == asked.label] if topology else []
        if topology is None or not keys:
            continue
        own = _nodes_of(topology, asked.shard, nodes)
        shared = _shared(topology, own)
        level = topology.levels[shared - 1]
        if shared <= [item.key for item in topology.levels].index(keys[0]) + 1:
            continue
        asks = f"{'prefers' if asked.is_preferred else 'requires'} level {keys[0]}"
        message = (
            f"{asked.work} {asks}, but backend {backend.name} has {plural(len(own), 'node')} in this topology, all in "
            f"one {level.key} ({level.label}={own[0].labels[level.label]}): KAI finds no room in a domain above that, "
            "so this never runs"
        )
        hint = f"Prefer level {level.key}{'' if asked.is_preferred else ' as well'}."
        yield Diagnostic(REQUIRED_ABOVE_COMMON_DOMAIN, message, asked.place, hint=hint)


def _shard(pool: FleetPool | None) -> str | None:
    return pool.shard if pool else None


def _nodes_of(topology: FleetTopology, shard: str | None, nodes: Sequence[Node]) -> list[Node]:
    """Those of a shard that have all labels of a topology."""
    labels = {level.label for level in topology.levels}
    return [node for node in nodes if node.labels.get(NODE_POOL) == shard and labels <= node.labels.keys()]


def _shared(topology: FleetTopology, nodes: Sequence[Node]) -> int:
    """How many levels, from the coarsest, all nodes have the same value of; 0 where there are no nodes."""
    for depth, level in enumerate(topology.levels):
        if len({node.labels[level.label] for node in nodes}) != 1:
            return depth
    return len(topology.levels)


def _asked(fleet: Fleet, backend: FleetBackend) -> Iterator[_Asked]:
    for workflow in fleet.workflows:
        if workflow.pool.backend == backend:
            for group, gang in zip(workflow.groups, gangs_of_workflow(fleet, workflow), strict=True):
                written = [item for task in group.tasks for item in task.resource.requirements]
                for finest in _of_gang(gang):
                    path = next(item.path for item in written if item.level.label == finest[1])
                    place = workflow.declared.at(*path)
                    yield _Asked(f"workflow {workflow.name}", *finest, _shard(workflow.pool), place)
    for workload in fleet.workloads:
        for placement in workload.placements if workload.pool.backend == backend else ():
            asked, is_preferred = placement.preferred or placement.required, placement.preferred is not None
            if asked is not None:
                what, place = f"{workload.kind} {workload.name}", workload.declared.at(*asked.path)
                finest = placement.topology, asked.level.label, is_preferred
                yield _Asked(what, *finest, _shard(workload.pool), place)
    for item in fleet.pod_groups:
        for constraint, path in item.constraints if item.backend == backend else ():
            label = constraint.preferredTopologyLevel or constraint.requiredTopologyLevel
            if constraint.topology and label:
                is_preferred = constraint.preferredTopologyLevel is not None
                field = "preferredTopologyLevel" if is_preferred else "requiredTopologyLevel"
                finest, place = (constraint.topology, label, is_preferred), item.declared.at(*path, field)
                yield _Asked(f"PodGroup {item.name}", *finest, _shard(item.pool), place)
    for submitted in fleet.submitted_sets:
        known = submitted.set
        if known.backend == backend and known.is_previewed and known.topology is not None:
            place = known.declared.at("metadata", "name")
            for finest in chain.from_iterable(map(_of_gang, gangs_of_set(known))):
                yield _Asked(f"PodCliqueSet {known.name}", *finest, _shard(submitted.pool), place)


def _of_gang(gang: Gang) -> Iterator[tuple[str, str, bool]]:
    """Of each constraint of a gang: topology, the label of the finest level, and whether that is a preferred one."""
    for part in (gang, *gang.parts):
        asked = part.constraint
        finest = asked and (asked.preferred or asked.required)
        if asked and asked.topology and finest:
            yield asked.topology, finest.label, asked.preferred is not None
