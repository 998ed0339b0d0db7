"""Builds the gangs of a PodCliqueSet: the PodGangs that Grove makes.

A replica of a set has one base gang, with the standalone cliques and the first minAvailable replicas of every scaling
group. A replica also has one scaled gang for each further replica of a scaling group.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kubectl_tas.gangs.gang import Constraint, Gang, SubGroup
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podcliqueset import FleetClique, FleetPodCliqueSet, FleetScalingGroup, SubmittedSet
from kubectl_tas.resolve.topologies import level_called

if TYPE_CHECKING:
    from kubectl_tas.model.grovekinds import PackConstraint


def previewed_gangs(fleet: Fleet) -> Iterator[tuple[SubmittedSet, Gang]]:
    """Yields every gang of sets with a known pool and topology, if the gangs are few enough for people to read."""
    for submitted in fleet.submitted_sets:
        item = submitted.set
        if item.is_previewed and (item.topology is not None or not item.asks):
            yield from ((submitted, gang) for gang in gangs_of_set(item))


def gangs_of_set(item: FleetPodCliqueSet) -> Iterator[Gang]:
    """Yields the gangs of every replica: the base gang, then the scaled gangs by scaling group."""
    for index in range(item.replicas):
        yield _base(item, index)
        for group in item.groups:
            for number in range(group.spec.replicas - group.spec.minAvailable):
                yield _scaled(item, group, index, number)


def _base(item: FleetPodCliqueSet, index: int) -> Gang:
    """Returns the base gang, with SubGroups in Grove's order: constrained replicas of scaling groups, then cliques."""
    name = names.base_gang(item.name, index)
    parents: list[SubGroup] = []
    cliques = [_clique(item, clique, name, None) for clique in item.standalone]
    for group in item.groups:
        for number in range(group.spec.minAvailable):
            replica = names.group_replica(item.name, index, group.name, number)
            constraint = _constraint(item, group.spec.topologyConstraint)
            parent = replica if constraint else None
            own = [_clique(item, clique, replica, parent) for clique in group.cliques]
            if parent is not None:
                parents.append(_replica(parent, own, constraint))
            cliques += own
    return _gang(name, [*parents, *cliques], _constraint(item, item.spec.spec.template.topologyConstraint))


def _scaled(item: FleetPodCliqueSet, group: FleetScalingGroup, index: int, number: int) -> Gang:
    """Returns the gang of one replica of a scaling group. Without its own constraint, the gang inherits the set's."""
    inherited = _constraint(item, item.spec.spec.template.topologyConstraint)
    constraint = _constraint(item, group.spec.topologyConstraint) or inherited
    replica = names.group_replica(item.name, index, group.name, group.spec.minAvailable + number)
    name = names.scaled_gang(item.name, index, group.name, number)
    return _gang(name, [_clique(item, clique, replica, None) for clique in group.cliques], constraint)


def _gang(name: str, parts: list[SubGroup], constraint: Constraint | None) -> Gang:
    cliques = [part for part in parts if not part.needs_all_parts]
    return Gang(
        name=name,
        pods=sum(part.pods for part in cliques),
        minimum=sum(part.minimum or 0 for part in cliques) if parts else None,
        gpus=sum(part.gpus for part in cliques),
        constraint=constraint,
        kind="PodGang",
        parts=tuple(parts),
    )


def _replica(name: str, cliques: list[SubGroup], constraint: Constraint | None) -> SubGroup:
    """Returns the SubGroup of a scaling group's replica with a constraint; without one, the cliques stand alone."""
    pods, gpus = sum(part.pods for part in cliques), sum(part.gpus for part in cliques)
    least = sum(part.minimum or 0 for part in cliques)
    return SubGroup(name, pods, least, gpus, constraint, needs_all_parts=True)


def _clique(item: FleetPodCliqueSet, clique: FleetClique, owner: str, parent: str | None) -> SubGroup:
    pods = clique.spec.spec.replicas
    return SubGroup(
        name=names.pod_clique(owner, clique.name),
        pods=pods,
        minimum=clique.minimum,
        gpus=pods * clique.gpus,
        constraint=_constraint(item, clique.spec.topologyConstraint),
        parent=parent,
    )


def _constraint(item: FleetPodCliqueSet, asked: PackConstraint | None) -> Constraint | None:
    """Converts domains to levels; domains of an undeclared topology stand for themselves. A constraint with only a
    topology constrains nothing. Whatever Topology is bound, Grove asks for the one with the cluster topology's name.
    """
    if asked is None or not asked.asks:
        return None
    topology = item.topology.name if item.topology and item.backend else None
    levels = (level_called(item.topology, domain) for domain in (asked.required, asked.preferred))
    return Constraint(topology, *levels)
