"""Builds the gang of a hand-written PodGroup as its author describes it, whether KAI would accept it or not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kubectl_tas.gangs.gang import Constraint, Gang, SubGroup
from kubectl_tas.kai import Feature
from kubectl_tas.model import labels
from kubectl_tas.model.repository import Declared
from kubectl_tas.quantities import Amounts, each, total
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.handwritten import FleetPodGroup
from kubectl_tas.resolve.topologies import level_called

if TYPE_CHECKING:
    from kubectl_tas.model.manifest import TopologyConstraint
    from kubectl_tas.model.workload_kinds import BarePod


DEFAULT = "default"
"""SubGroup of a pod that names none."""


def gang_of_pod_group(fleet: Fleet, item: FleetPodGroup) -> Gang:
    """Returns the gang that a PodGroup describes. Its minimums stand for its pods, and its GPUs are unknown."""
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


def least_of(item: FleetPodGroup) -> Amounts:
    """Returns the requests of the Pods that must start together: of each SubGroup as many as it needs, largest requests
    first.

    If fewer SubGroups are needed than exist, all SubGroups with declared Pods count.
    """
    asked: dict[str, list[Amounts]] = {}
    for pod in item.pods:
        asked.setdefault(sub_group_of(pod), []).append(total(part.asks for part in pod.spec.pod_sets))
    minimums = minimums_of(item)

    def most(name: str) -> Amounts:
        """Adds up, for each resource, the largest requests of the needed number of Pods in a SubGroup."""
        pods = minimums.get(name, 0)
        return each(lambda resource: sum(sorted((x.of(resource) for x in asked[name]), reverse=True)[:pods]))

    return total(map(most, asked))


def sub_group_of(pod: Declared[BarePod]) -> str:
    """Returns the SubGroup of a Pod (KAI 0.9 to 0.17, AddTaskInfo of pkg/scheduler/api/podgroup_info/job_info.go)."""
    return pod.spec.metadata.labels.get(labels.SUBGROUP) or DEFAULT


def minimums_of(item: FleetPodGroup) -> dict[str, int]:
    """Returns how many pods each SubGroup with pods needs; without SubGroups, uses the one that KAI makes itself."""
    spec = item.declared.spec.spec
    if not spec.subGroups:
        return {DEFAULT: spec.minMember or 1}
    above = {written.parent for written in spec.subGroups}
    least = 0 if item.backend.has(Feature.ZERO_MIN_MEMBER) else 1
    return {
        written.name: max(least, 1 if written.minMember is None else written.minMember)
        for written in spec.subGroups
        if written.name not in above
    }


def _constraint(fleet: Fleet, item: FleetPodGroup, written: TopologyConstraint | None) -> Constraint | None:
    """Finds levels by label or alias; levels of an undeclared Topology stand for themselves."""
    if written is None:
        return None
    named = (topology for topology in fleet.topologies if topology.name_on(item.backend) == written.topology)
    topology = next(named, None)
    required = level_called(topology, written.requiredTopologyLevel)
    return Constraint(written.topology, required, level_called(topology, written.preferredTopologyLevel))
