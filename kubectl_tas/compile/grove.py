"""PodCliqueSets in; the PodGangs that Grove makes of them, and the PodGroup that KAI makes of each, out to be read.

A replica of a set is one base gang, with the standalone cliques and the first minAvailable replicas of every
scaling group, and one scaled gang for each further replica of a scaling group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_tas.compile.previews import FOLDER, NOTE
from kubectl_tas.kai import Feature
from kubectl_tas.model.artifact import Artifact, Phase
from kubectl_tas.model.grove import PackConstraint
from kubectl_tas.model.labels import MANAGED_BY, POOL, QUEUE
from kubectl_tas.model.manifest import Metadata, PodGroup, PodGroupSpec, SubGroup, TopologyConstraint
from kubectl_tas.model.podgang import GangConstraint, GangMember, GangPack, GangPart, PodGang, PodGangSpec
from kubectl_tas.resolve import names
from kubectl_tas.resolve.cliqueset import FleetClique, FleetPodCliqueSet, FleetScalingGroup, SubmittedSet
from kubectl_tas.resolve.fleet import Fleet, FleetBackend, FleetTopology

TOPOLOGY_NAME = "grove.io/topology-name"
"""Annotation of a PodGang: the Topology that its levels belong to."""
PART_OF = "app.kubernetes.io/part-of"


@dataclass(frozen=True, slots=True)
class Member:
    """A clique in a gang."""

    name: str
    """Of the PodClique object."""
    clique: FleetClique


@dataclass(frozen=True, slots=True)
class Part:
    """Members that share a constraint below the gang's: a replica of a scaling group. Without one they stand alone."""

    name: str | None
    constraint: PackConstraint | None
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Gang:
    """A PodGang."""

    name: str
    constraint: PackConstraint | None
    parts: tuple[Part, ...]

    @property
    def members(self) -> tuple[Member, ...]:
        """All its cliques."""
        return tuple(member for part in self.parts for member in part.members)


def compile_gang_previews(fleet: Fleet) -> Iterator[Artifact]:
    """PodGang and PodGroup of every gang of the sets whose pool and topology are known."""
    for submitted in fleet.submitted_sets:
        item, backend = submitted.set, submitted.pool.backend
        if (item.asks and item.topology is None) or not item.is_previewed:
            continue
        for gang in gangs(item):
            yield _artifact(submitted, "podgang", gang, _pod_gang(fleet, submitted, gang))
            if backend.is_kai:
                yield _artifact(submitted, "podgroup", gang, _pod_group(fleet, submitted, gang))


def gangs(item: FleetPodCliqueSet) -> Iterator[Gang]:
    """The gangs of every replica: the base gang, then the scaled ones by scaling group."""
    for index in range(item.replicas):
        yield _base(item, index)
        for group in item.groups:
            for number in range(group.spec.replicas - group.spec.minAvailable):
                yield _scaled(item, group, index, number)


def _base(item: FleetPodCliqueSet, index: int) -> Gang:
    name = names.base_gang(item.name, index)
    alone = tuple(Member(names.pod_clique(name, clique.name), clique) for clique in item.standalone)
    parts = [Part(None, None, alone)] if alone else []
    for group in item.groups:
        for number in range(group.spec.minAvailable):
            replica = names.group_replica(item.name, index, group.name, number)
            constraint = _asking(group.spec.topologyConstraint)
            parts.append(Part(replica if constraint else None, constraint, _members(group, replica)))
    return Gang(name, _asking(item.declared.spec.spec.template.topologyConstraint), tuple(parts))


def _scaled(item: FleetPodCliqueSet, group: FleetScalingGroup, index: int, number: int) -> Gang:
    """The gang of one replica of a scaling group. Without a constraint of its own it inherits the set's."""
    inherited = _asking(item.declared.spec.spec.template.topologyConstraint)
    constraint = _asking(group.spec.topologyConstraint) or inherited
    replica = names.group_replica(item.name, index, group.name, group.spec.minAvailable + number)
    name = names.scaled_gang(item.name, index, group.name, number)
    return Gang(name, constraint, (Part(None, None, _members(group, replica)),))


def _members(group: FleetScalingGroup, replica: str) -> tuple[Member, ...]:
    return tuple(Member(names.pod_clique(replica, clique.name), clique) for clique in group.cliques)


def _asking(constraint: PackConstraint | None) -> PackConstraint | None:
    """A constraint that only names a topology constrains nothing."""
    return constraint if constraint is not None and constraint.asks else None


def _artifact(submitted: SubmittedSet, kind: str, gang: Gang, manifest: PodGang | PodGroup) -> Artifact:
    item = submitted.set
    file = names.file(f"{kind}-{item.namespace}-{gang.name}")
    source = item.declared.origin.path
    return Artifact(submitted.pool.backend.name, Phase.POD_GROUP, FOLDER, file, manifest, source, apply=False)


def _pod_gang(fleet: Fleet, submitted: SubmittedSet, gang: Gang) -> PodGang:
    item, topology = submitted.set, submitted.set.topology
    annotations = {NOTE: f"What Grove makes of PodCliqueSet {item.name}"}
    if topology is not None:
        annotations = {TOPOLOGY_NAME: topology.name_on(submitted.pool.backend), **annotations}
    return PodGang(
        metadata=Metadata(
            name=gang.name,
            namespace=item.namespace,
            labels={MANAGED_BY: "kubectl-tas", PART_OF: item.name, POOL: submitted.target},
            annotations=annotations,
        ),
        spec=PodGangSpec(
            podgroups=tuple(
                GangMember(
                    name=member.name,
                    minReplicas=member.clique.minimum,
                    topologyConstraint=_packed(member.clique.spec.topologyConstraint, topology),
                )
                for member in gang.members
            ),
            topologyConstraint=_packed(gang.constraint, topology),
            topologyConstraintGroupConfigs=tuple(_gang_parts(gang, topology)),
            priorityClassName=_priority_class(fleet, submitted),
        ),
    )


def _gang_parts(gang: Gang, topology: FleetTopology | None) -> Iterator[GangPart]:
    for part in gang.parts:
        packed = _packed(part.constraint, topology)
        if part.name is not None and packed is not None:
            members = tuple(member.name for member in part.members)
            yield GangPart(name=part.name, podGroupNames=members, topologyConstraint=packed)


def _packed(constraint: PackConstraint | None, topology: FleetTopology | None) -> GangConstraint | None:
    asked = _asking(constraint)
    if asked is None or topology is None:
        return None
    required, preferred = _labels(asked, topology)
    return GangConstraint(packConstraint=GangPack(required=required, preferred=preferred))


def _labels(constraint: PackConstraint, topology: FleetTopology) -> tuple[str | None, str | None]:
    """The node labels of the required and the preferred domain."""
    labels: dict[str | None, str] = {level.key: level.label for level in topology.levels}
    return labels.get(constraint.required), labels.get(constraint.preferred)


def _priority_class(fleet: Fleet, submitted: SubmittedSet) -> str:
    return str(getattr(fleet.config.priorityClasses, submitted.priority))


def _pod_group(fleet: Fleet, submitted: SubmittedSet, gang: Gang) -> PodGroup:
    item, backend = submitted.set, submitted.pool.backend
    flat = not backend.has(Feature.SUBGROUPS)
    note = f"What KAI makes of PodGang {gang.name}; its name goes on with the UID"
    return PodGroup(
        metadata=Metadata(
            name=f"pg-{gang.name}",
            namespace=item.namespace,
            labels={MANAGED_BY: "kubectl-tas", POOL: submitted.target, QUEUE: submitted.queue},
            annotations={NOTE: note},
        ),
        spec=PodGroupSpec(
            queue=submitted.queue,
            priorityClassName=_priority_class(fleet, submitted),
            minMember=sum(member.clique.minimum for member in gang.members) if flat else None,
            topologyConstraint=_constraint(gang.constraint, item.topology, backend),
            subGroups=() if flat else tuple(_sub_groups(gang, item.topology, backend)),
        ),
    )


def _sub_groups(gang: Gang, topology: FleetTopology | None, backend: FleetBackend) -> Iterator[SubGroup]:
    """A SubGroup for each clique, and above those of a constrained part one for the part."""
    for part in gang.parts:
        if part.name is not None:
            yield SubGroup(
                name=part.name,
                minSubGroup=len(part.members) if backend.has(Feature.MIN_SUBGROUP) else None,
                topologyConstraint=_constraint(part.constraint, topology, backend),
            )
        for member in part.members:
            yield SubGroup(
                name=member.name,
                parent=part.name,
                minMember=member.clique.minimum,
                topologyConstraint=_constraint(member.clique.spec.topologyConstraint, topology, backend),
            )


def _constraint(
    constraint: PackConstraint | None, topology: FleetTopology | None, backend: FleetBackend
) -> TopologyConstraint | None:
    asked = _asking(constraint)
    if asked is None or topology is None:
        return None
    required, preferred = _labels(asked, topology)
    return TopologyConstraint(
        topology=topology.name_on(backend), requiredTopologyLevel=required, preferredTopologyLevel=preferred
    )
