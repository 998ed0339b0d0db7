"""The gang of a hand-written PodGroup: what its author says, whether KAI would accept it or not."""

from __future__ import annotations

from collections import Counter

from kubectl_tas.gangs.gang import Constraint, Gang, SubGroup
from kubectl_tas.model.manifest import TopologyConstraint
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podgroup import FleetPodGroup
from kubectl_tas.resolve.topologies import level_called


def gang_of_pod_group(fleet: Fleet, item: FleetPodGroup) -> Gang:
    """The gang that a PodGroup describes. Its pods are known by their minimum alone, their GPUs not at all."""
    spec = item.declared.spec.spec
    children = Counter(sub_group.parent for sub_group in spec.subGroups)
    parts = tuple(
        SubGroup(
            name=written.name,
            pods=written.minMember or 0,
            minimum=written.minMember,
            gpus=0,
            constraint=_constraint(fleet, item, written.topologyConstraint),
            needs_all_parts=written.minSubGroup is not None and written.minSubGroup == children[written.name],
            parent=written.parent,
        )
        for written in spec.subGroups
    )
    least = spec.minMember if spec.minMember is not None else sum(part.minimum or 0 for part in parts)
    return Gang(
        name=item.name,
        pods=least,
        minimum=least,
        gpus=0,
        constraint=_constraint(fleet, item, spec.topologyConstraint),
        needs_all_parts=spec.minSubGroup is not None and spec.minSubGroup == children[None],
        parts=parts,
    )


def _constraint(fleet: Fleet, item: FleetPodGroup, written: TopologyConstraint | None) -> Constraint | None:
    """Levels by their label or alias; those of a Topology that is not declared here stand for themselves."""
    if written is None:
        return None
    named = (topology for topology in fleet.topologies if topology.name_on(item.backend) == written.topology)
    topology = next(named, None)
    required = level_called(topology, written.requiredTopologyLevel)
    return Constraint(written.topology, required, level_called(topology, written.preferredTopologyLevel))
