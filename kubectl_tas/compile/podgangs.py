"""PodGangs: what Grove makes of PodCliqueSets, to be read and not applied."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compile.podgroups import NOTE, PREVIEW
from kubectl_tas.gangs.cliqueset import previewed_gangs
from kubectl_tas.gangs.gang import Constraint, Gang
from kubectl_tas.model.artifact import Artifact
from kubectl_tas.model.labels import MANAGED_BY, POOL, SKIP_PODGROUPER
from kubectl_tas.model.manifest import GangConstraint, GangMember, GangPack, GangPart, Metadata, PodGang, PodGangSpec
from kubectl_tas.model.phase import Phase
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podcliqueset import SubmittedSet

TOPOLOGY_NAME = "grove.io/topology-name"
"""Annotation of a PodGang: the Topology that its levels belong to."""
PART_OF = "app.kubernetes.io/part-of"


def preview_pod_gangs(fleet: Fleet) -> Iterator[Artifact]:
    """The PodGang of every gang of the sets whose pool and topology are known."""
    for submitted, gang in previewed_gangs(fleet):
        file = names.file(f"podgang-{submitted.set.namespace}-{gang.name}")
        source, manifest = submitted.declared.origin.path, _pod_gang(fleet, submitted, gang)
        backend = submitted.pool.backend.name
        yield Artifact(backend, Phase.POD_GROUP, PREVIEW, file, manifest, source, apply=False)


def _pod_gang(fleet: Fleet, submitted: SubmittedSet, gang: Gang) -> PodGang:
    item, topology = submitted.set, submitted.set.topology
    annotations = {NOTE: f"What Grove makes of PodCliqueSet {item.name}"}
    if topology is not None:
        annotations = {TOPOLOGY_NAME: topology.name, **annotations}
    if submitted.pool.backend.writes_pod_groups_of_sets:
        annotations = {SKIP_PODGROUPER: "true", **annotations}
    return PodGang(
        metadata=Metadata(
            name=gang.name,
            namespace=item.namespace,
            labels={MANAGED_BY: "kubectl-tas", PART_OF: item.name, POOL: submitted.target},
            annotations=annotations,
        ),
        spec=PodGangSpec(
            podgroups=tuple(
                GangMember(name=leaf.name, minReplicas=leaf.minimum or 0, topologyConstraint=_packed(leaf.constraint))
                for leaf in gang.leaves
            ),
            topologyConstraint=_packed(gang.constraint),
            topologyConstraintGroupConfigs=tuple(_parts(gang)),
            priorityClassName=str(getattr(fleet.config.priorityClasses, submitted.priority)),
        ),
    )


def _parts(gang: Gang) -> Iterator[GangPart]:
    """The replicas of scaling groups that have a constraint."""
    for part in gang.parts:
        packed, cliques = _packed(part.constraint), gang.below(part)
        if cliques and packed is not None:
            yield GangPart(
                name=part.name, podGroupNames=tuple(leaf.name for leaf in cliques), topologyConstraint=packed
            )


def _packed(constraint: Constraint | None) -> GangConstraint | None:
    if constraint is None or constraint.topology is None:
        return None
    required, preferred = constraint.labels
    return GangConstraint(packConstraint=GangPack(required=required, preferred=preferred))
