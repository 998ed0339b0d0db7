"""The tree of a gang in, the spec of its PodGroup for one KAI release out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from kubectl_tas.compile.gangs import Part
from kubectl_tas.kai import Feature
from kubectl_tas.model.manifest import PodGroupSpec, SubGroup, TopologyConstraint
from kubectl_tas.resolve.fleet import Fleet, FleetBackend
from kubectl_tas.resolve.placement import Placement
from kubectl_tas.resolve.workload import FleetWorkload


def gang_spec(fleet: Fleet, workload: FleetWorkload, gang: Part, *, preemptibility: bool = False) -> PodGroupSpec:
    """The spec; queue and priority are the workload's. SubGroups are left out where the release has no tree of them.

    KAI's PodGrouper leaves ``preemptibility`` to the priority class; what the tool writes itself says it.
    """
    backend = workload.pool.backend
    parts = gang.parts if backend.has(Feature.SUBGROUP_TREE) else ()
    kind: Literal["preemptible", "non-preemptible"] = "preemptible" if workload.priority == "LOW" else "non-preemptible"
    count = len(parts) if gang.counts_parts and parts and backend.has(Feature.MIN_SUBGROUP) else None
    return PodGroupSpec(
        queue=workload.queue,
        priorityClassName=getattr(fleet.config.priorityClasses, workload.priority),
        preemptibility=kind if preemptibility and backend.has(Feature.PREEMPTIBILITY) else None,
        minMember=None if parts else max(1, gang.minimum),
        minSubGroup=count,
        topologyConstraint=constraint(gang.placement) if backend.has(Feature.TOPOLOGY) else None,
        subGroups=tuple(_sub_groups(backend, parts, None)),
    )


def constraint(placement: Placement | None) -> TopologyConstraint | None:
    """Levels by their node labels, which every KAI release understands."""
    if placement is None or (placement.required is None and placement.preferred is None):
        return None
    required, preferred = placement.required, placement.preferred
    return TopologyConstraint(
        topology=placement.topology,
        requiredTopologyLevel=required.level.label if required else None,
        preferredTopologyLevel=preferred.level.label if preferred else None,
    )


def _sub_groups(backend: FleetBackend, parts: Sequence[Part], parent: str | None) -> Iterator[SubGroup]:
    """SubGroups, each before those below it."""
    for part in parts:
        counts = part.counts_parts and backend.has(Feature.MIN_SUBGROUP)
        yield SubGroup(
            name=part.name,
            parent=parent,
            minMember=None if part.parts else _minimum(backend, part),
            minSubGroup=len(part.parts) if counts else None,
            topologyConstraint=constraint(part.placement),
        )
        yield from _sub_groups(backend, part.parts, part.name)


def _minimum(backend: FleetBackend, part: Part) -> int | None:
    """The minimum of a leaf; before KAI 0.15 the API refuses 0, and the scheduler takes an absent one for 1."""
    return part.minimum if part.minimum > 0 or backend.has(Feature.ZERO_MIN_MEMBER) else None
