"""Builds the gangs that authors write themselves, in PodGroups and in PodCliqueSets.

The gang of a PodGroup is what the PodGroup describes, whether KAI would accept it or not. The gangs of a PodCliqueSet
are the PodGangs that Grove makes. A replica of a set has one base gang, with the standalone cliques and the first
minAvailable replicas of every scaling group, and one scaled gang for each further replica of a scaling group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.facts.kai import Feature
from kubectl_tas.facts.quantities import Amounts, each, total
from kubectl_tas.gangs.gang import Constraint, Gang, SubGroup
from kubectl_tas.model import labels
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.handwritten import FleetPodGroup
from kubectl_tas.resolve.podcliqueset import FleetClique, FleetPodCliqueSet, FleetScalingGroup, SubmittedSet
from kubectl_tas.resolve.topologies import level_called

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import PackConstraint
    from kubectl_tas.model.manifest import TopologyConstraint
    from kubectl_tas.model.workloads import Workload


DEFAULT = "default"
"""SubGroup of a pod that names none."""


def gang_of_pod_group(fleet: Fleet, pod_group: FleetPodGroup) -> Gang:
    """Returns the gang that a PodGroup describes. Its minimums stand for its pods, and its GPUs are unknown."""
    spec = pod_group.declared.spec.spec
    children = Counter(sub_group.parent for sub_group in spec.subGroups)
    sub_groups = tuple(
        SubGroup(
            name=declared.name,
            pods=declared.minMember or 0,
            minimum=declared.minMember,
            gpus=0,
            constraint=_group_constraint(fleet, pod_group, declared.topologyConstraint),
            needs_all_parts=declared.minSubGroup is not None and declared.minSubGroup == children[declared.name],
            parent=declared.parent,
        )
        for declared in spec.subGroups
    )
    least = spec.minMember if spec.minMember is not None else sum(sub_group.minimum or 0 for sub_group in sub_groups)
    return Gang(
        name=pod_group.name,
        pods=least,
        minimum=least,
        gpus=0,
        constraint=_group_constraint(fleet, pod_group, spec.topologyConstraint),
        needs_all_parts=spec.minSubGroup is not None and spec.minSubGroup == children[None],
        sub_groups=sub_groups,
    )


def least_of(pod_group: FleetPodGroup) -> Amounts:
    """Returns the requests of the Pods that must start together: of each SubGroup as many as it needs, largest requests
    first.

    If fewer SubGroups are needed than exist, all SubGroups with declared Pods count.
    """
    requests_by_sub_group: dict[str, list[Amounts]] = {}
    for pod in pod_group.pods:
        requests = requests_by_sub_group.setdefault(sub_group_of(pod), [])
        requests.append(total(pod_set.asks for pod_set in pod.spec.pod_sets))
    minimums = minimums_of(pod_group)

    def most(name: str) -> Amounts:
        """Adds up, for each resource, the largest requests of the needed number of Pods in a SubGroup."""
        pods = minimums.get(name, 0)
        return each(lambda each: sum(sorted((x.of(each) for x in requests_by_sub_group[name]), reverse=True)[:pods]))

    return total(map(most, requests_by_sub_group))


def sub_group_of(pod: Declared[Workload]) -> str:
    """Returns the SubGroup of a Pod (KAI 0.9 to 0.17, AddTaskInfo of pkg/scheduler/api/podgroup_info/job_info.go)."""
    return pod.spec.metadata.labels.get(labels.SUBGROUP) or DEFAULT


def minimums_of(pod_group: FleetPodGroup) -> dict[str, int]:
    """Returns how many pods each SubGroup with pods needs; without SubGroups, uses the one that KAI makes itself."""
    spec = pod_group.declared.spec.spec
    if not spec.subGroups:
        return {DEFAULT: spec.minMember or 1}
    parents = {sub_group.parent for sub_group in spec.subGroups}
    least = 0 if pod_group.backend.has(Feature.ZERO_MIN_MEMBER) else 1
    return {
        x.name: max(least, 1 if x.minMember is None else x.minMember) for x in spec.subGroups if x.name not in parents
    }


def _group_constraint(
    fleet: Fleet, pod_group: FleetPodGroup, constraint: TopologyConstraint | None
) -> Constraint | None:
    """Finds levels by label or alias; levels of an undeclared Topology stand for themselves."""
    if constraint is None:
        return None
    named = (topology for topology in fleet.topologies if topology.name_on(pod_group.backend) == constraint.topology)
    topology = next(named, None)
    required = level_called(topology, constraint.requiredTopologyLevel)
    return Constraint(constraint.topology, required, level_called(topology, constraint.preferredTopologyLevel))


def previewed_gangs(fleet: Fleet) -> Iterator[tuple[SubmittedSet, Gang]]:
    """Yields every gang of sets with a known pool and topology, if the gangs are few enough for people to read."""
    for submitted in fleet.submitted_sets:
        clique_set = submitted.set
        if clique_set.is_previewed and (clique_set.topology is not None or not clique_set.spec.asks):
            yield from ((submitted, gang) for gang in gangs_of_set(clique_set))


def gangs_of_set(clique_set: FleetPodCliqueSet) -> Iterator[Gang]:
    """Yields the gangs of every replica: the base gang, then the scaled gangs by scaling group."""
    for index in range(clique_set.replicas):
        yield _base(clique_set, index)
        for group in clique_set.groups:
            for number in range(group.spec.replicas - group.spec.minAvailable):
                yield _scaled(clique_set, group, index, number)


def base_gangs_before(clique_set: FleetPodCliqueSet, gang: Gang) -> tuple[str, ...]:
    """Returns the base gang that must have nodes before a scaled gang starts; nothing for a base gang."""
    bases = [names.base_gang(clique_set.name, index) for index in range(clique_set.replicas)]
    if gang.name in bases:
        return ()
    return tuple(base for base in bases if gang.name.startswith(f"{base}-"))[-1:]


def _base(clique_set: FleetPodCliqueSet, index: int) -> Gang:
    """Returns the base gang, with SubGroups in Grove's order: constrained replicas of scaling groups, then cliques."""
    name = names.base_gang(clique_set.name, index)
    parents: list[SubGroup] = []
    cliques = [_clique(clique_set, clique, name, None) for clique in clique_set.standalone]
    for group in clique_set.groups:
        for number in range(group.spec.minAvailable):
            replica = names.scaled_gang(clique_set.name, index, group.name, number)
            constraint = _set_constraint(clique_set, group.spec.topologyConstraint)
            parent = replica if constraint else None
            cliques_of_replica = [_clique(clique_set, clique, replica, parent) for clique in group.cliques]
            if parent is not None:
                pods = sum(clique.pods for clique in cliques_of_replica)
                gpus = sum(clique.gpus for clique in cliques_of_replica)
                least = sum(clique.minimum or 0 for clique in cliques_of_replica)
                parents.append(SubGroup(parent, pods, least, gpus, constraint, needs_all_parts=True))
            cliques += cliques_of_replica
    whole = _set_constraint(clique_set, clique_set.spec.spec.template.topologyConstraint)
    return _gang(name, [*parents, *cliques], whole)


def _scaled(clique_set: FleetPodCliqueSet, group: FleetScalingGroup, index: int, number: int) -> Gang:
    """Returns the gang of one replica of a scaling group. Without its own constraint, the gang inherits the set's."""
    inherited = _set_constraint(clique_set, clique_set.spec.spec.template.topologyConstraint)
    constraint = _set_constraint(clique_set, group.spec.topologyConstraint) or inherited
    replica = names.scaled_gang(clique_set.name, index, group.name, group.spec.minAvailable + number)
    name = names.scaled_gang(clique_set.name, index, group.name, number)
    return _gang(name, [_clique(clique_set, clique, replica, None) for clique in group.cliques], constraint)


def _gang(name: str, sub_groups: list[SubGroup], constraint: Constraint | None) -> Gang:
    cliques = [sub_group for sub_group in sub_groups if not sub_group.needs_all_parts]
    return Gang(
        name=name,
        pods=sum(sub_group.pods for sub_group in cliques),
        minimum=sum(sub_group.minimum or 0 for sub_group in cliques) if sub_groups else None,
        gpus=sum(sub_group.gpus for sub_group in cliques),
        constraint=constraint,
        kind="PodGang",
        sub_groups=tuple(sub_groups),
    )


def _clique(clique_set: FleetPodCliqueSet, clique: FleetClique, owner: str, parent: str | None) -> SubGroup:
    pods = clique.spec.spec.replicas
    return SubGroup(
        name=names.pod_clique(owner, clique.name),
        pods=pods,
        minimum=clique.minimum,
        gpus=pods * clique.gpus,
        constraint=_set_constraint(clique_set, clique.spec.topologyConstraint),
        parent=parent,
    )


def _set_constraint(clique_set: FleetPodCliqueSet, constraint: PackConstraint | None) -> Constraint | None:
    """Converts domains to levels; domains of an undeclared topology stand for themselves. A constraint with only a
    topology constrains nothing. Whatever Topology is bound, Grove asks for the one with the cluster topology's name.
    """
    if constraint is None or not constraint.asks:
        return None
    topology = clique_set.topology.name if clique_set.topology and clique_set.backend else None
    levels = (level_called(clique_set.topology, domain) for domain in (constraint.required, constraint.preferred))
    return Constraint(topology, *levels)
