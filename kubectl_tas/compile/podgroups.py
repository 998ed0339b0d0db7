"""Makes the PodGroups of gangs: owned by workloads, hand-written, or as previews. Also makes previews of PodGangs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from kubectl_tas.compile.metadata import folder, metadata
from kubectl_tas.facts.kai import Feature
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.gang import Constraint, Gang, Part
from kubectl_tas.gangs.workload_gang import own_gang, shared_gang, wait
from kubectl_tas.gangs.written_gangs import previewed_gangs
from kubectl_tas.kinds import SET
from kubectl_tas.model.artifact import Artifact
from kubectl_tas.model.kindlists import Phase
from kubectl_tas.model.labels import MANAGED_BY, POOL, PREEMPTION_DELAY, SKIP_PODGROUPER, STALENESS_GRACE
from kubectl_tas.model.manifest import (
    GangConstraint,
    GangMember,
    GangPack,
    GangPart,
    Metadata,
    PodGang,
    PodGangSpec,
    PodGroup,
    PodGroupSpec,
    SubGroup,
    TopologyConstraint,
)
from kubectl_tas.report.text import indices
from kubectl_tas.resolve import names
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from kubectl_tas.resolve.pools import Submission

WORKFLOWS, WORKLOADS, PREVIEW = "workflows", "workloads", "preview"
"""Folders of objects from workflows, of workloads, and of previews, which nobody applies."""
NOTE = "kubectl-tas/preview"
"""Annotation that explains a preview."""
PODS = "pods.kubectl-tas/"
"""Prefix of annotations with the pod indices of a SubGroup."""
INDEX = "index.kubectl-tas/"
"""Prefix of annotations with the label that holds the indices of a replica type."""
_PHASE = Phase.POD_GROUP
_PREEMPTIBILITY: dict[bool, Literal["preemptible", "non-preemptible"]] = {True: "preemptible", False: "non-preemptible"}


def pass_pod_groups(fleet: Fleet) -> Iterator[Artifact]:
    """Yields hand-written PodGroups, with the labels of kubectl-tas added."""
    for pod_group in fleet.pod_groups:
        declared = pod_group.declared.spec
        labels = {**declared.metadata.labels, **dict.fromkeys(pod_group.backend.queue_labels, declared.spec.queue)}
        target = fleet.leaf_queues(pod_group.backend).get(declared.spec.queue)
        pool_and_subpool = fleet.target(target) if target is not None else None
        if target is not None and pool_and_subpool is not None:
            labels |= {POOL: target, **pool_and_subpool[0].shard_labels}
        notes, source = declared.metadata.annotations, pod_group.declared.origin.path
        meta = metadata(fleet, pod_group.name, _PHASE, namespace=pod_group.namespace, labels=labels, annotations=notes)
        file = names.file(f"podgroup-{pod_group.namespace}-{pod_group.name}")
        manifest = PodGroup(metadata=meta, spec=declared.spec)
        yield Artifact(pod_group.backend.name, _PHASE, WORKFLOWS, file, manifest, source)


def compile_owned_pod_groups(fleet: Fleet) -> Iterator[Artifact]:
    """Yields one PodGroup for each workload whose PodGroup ``render`` writes, and for each gang of several."""
    owned = [workload for workload in fleet.workloads if workload.is_owned and workload.pool.backend.is_kai]
    gangs: dict[int, list[FleetWorkload]] = {}
    for workload in owned:
        if workload.shared_gang is None:
            yield _owned(fleet, [workload], own_gang(workload))
        else:
            gangs.setdefault(id(workload.shared_gang), []).append(workload)
    for members in gangs.values():
        yield _owned(fleet, members, shared_gang(members))


def _owned(fleet: Fleet, members: Sequence[FleetWorkload], gang: Gang) -> Artifact:
    """Returns a PodGroup. The first member gives queue and priority, which all members share."""
    workload = members[0]
    backend = workload.pool.backend
    labels = {**workload.kai_labels, POOL: workload.target}
    meta = metadata(fleet, gang.name, _PHASE, namespace=workload.namespace, labels=labels)
    manifest = PodGroup(metadata=meta, spec=pod_group_spec(fleet, workload, gang, is_owned=True))
    source = " and ".join(dict.fromkeys(member.declared.origin.path for member in members))
    where = folder(WORKLOADS, backend, workload.namespace)
    return Artifact(backend.name, _PHASE, where, f"podgroup-{gang.name}.yaml", manifest, source)


def preview_pod_groups(fleet: Fleet) -> Iterator[Artifact]:
    """Yields a preview of each PodGroup that KAI makes of a workload, if predictable; always with its segments."""
    for workload in fleet.workloads:
        for sub_workload, gang, spec in predicted(fleet, workload):
            indexed: dict[str, str] = {}
            if spec.subGroups:
                indexed = {f"{INDEX}{x.name}": x.segments.index_label for x in sub_workload.replicas if x.segments}
                indexed |= {f"{PODS}{x.name}": indices(x.indices) for x in gang.sub_groups if x.indices is not None}
            meta = Metadata(
                name=gang.name,
                namespace=sub_workload.namespace,
                labels={**sub_workload.kai_labels, MANAGED_BY: "kubectl-tas", POOL: sub_workload.target},
                annotations={NOTE: podgrouper.note(sub_workload, divided=bool(spec.subGroups)), **indexed},
            )
            stem = f"podgroup-{sub_workload.file_name}"
            if sub_workload is not workload:
                stem += f".{sub_workload.replicas[0].name}"  # no name of an object ends like that
            where = folder(PREVIEW, sub_workload.pool.backend, sub_workload.namespace)
            yield _preview(sub_workload, where, stem, PodGroup(metadata=meta, spec=spec))


def predicted(fleet: Fleet, workload: FleetWorkload) -> Iterator[tuple[FleetWorkload, Gang, PodGroupSpec]]:
    """Yields the PodGroups that KAI makes of a workload, with their pods; none if unknown or too large."""
    is_made = podgrouper.is_made_by_kai(workload) and podgrouper.lists_parts(workload)
    if not (is_made and podgrouper.is_predicted(workload) and workload.pods):
        return
    for sub_workload in podgrouper.by_pod_group(workload):
        gang = own_gang(sub_workload)
        # handler.go before 0.15: the podgrouper writes minMember above segments too.
        above = podgrouper.makes_sub_groups(sub_workload) and not sub_workload.pool.backend.has(Feature.MIN_SUBGROUP)
        yield sub_workload, gang, pod_group_spec(fleet, sub_workload, gang, above=above)


def preview_set_pod_groups(fleet: Fleet) -> Iterator[Artifact]:
    """Yields the preview of every PodGroup of PodCliqueSets with a known pool and topology.

    KAI's podgrouper makes the PodGroup (plugins/grove of KAI 0.13 to 0.17) with the name ``pg-``, the PodGang and its
    UID. From 0.1.0-alpha.12 Grove writes the PodGroup itself (scheduler/kai/backend.go), with the name of the PodGang.
    Both write SubGroups, and minMember with the sum of all minimums.
    """
    for submitted, gang in previewed_gangs(fleet):
        backend = submitted.pool.backend
        if backend.is_kai:
            name = f"pg-{gang.name}"
            annotations = {NOTE: f"What KAI makes of PodGang {gang.name}; to its name KAI adds the UID"}
            if backend.writes_pod_groups_of_sets:
                name = gang.name
                annotations = {SKIP_PODGROUPER: "true", NOTE: f"What Grove writes for KAI of PodGang {gang.name}"}
            meta = Metadata(
                name=name,
                namespace=submitted.set.namespace,
                labels={MANAGED_BY: "kubectl-tas", POOL: submitted.target, **submitted.kai_labels},
                annotations=annotations,
            )
            spec = pod_group_spec(fleet, submitted, gang)
            stem = f"podgroup-{meta.namespace}-{gang.name}"
            yield _preview(submitted, PREVIEW, stem, PodGroup(metadata=meta, spec=spec))


def _preview(submission: Submission, where: str, stem: str, manifest: PodGroup | PodGang) -> Artifact:
    backend, source = submission.pool.backend.name, submission.declared.origin.path
    return Artifact(backend, _PHASE, where, names.file(stem), manifest, source, apply=False)


def pod_group_spec(
    fleet: Fleet, submission: Submission, gang: Gang, *, is_owned: bool = False, above: bool = False
) -> PodGroupSpec:
    """Returns the spec of a gang's PodGroup. ``submission``, which is in the gang, gives queue and priority.

    A release without a tree of SubGroups gets no SubGroups. KAI's podgrouper writes no preemptibility, and minMember
    even with SubGroups. A PodGroup that ``render`` owns has preemptibility, and minMember only without SubGroups.
    ``above``: SubGroups with children have minMember too.
    """
    backend = submission.pool.backend
    sub_groups = gang.sub_groups if backend.has(Feature.SUBGROUP_TREE) else ()
    whole = _min_sub_group(gang, gang, backend) if sub_groups else None
    preemptibility = _PREEMPTIBILITY[submission.is_preemptible]
    # Before KAI 0.15 the API refuses 0, and the scheduler takes no minimum for 1.
    zero = 0 if backend.has(Feature.ZERO_MIN_MEMBER) else None
    return PodGroupSpec(
        queue=submission.queue,
        priorityClassName=getattr(fleet.config.priorityClasses, submission.priority),
        preemptibility=preemptibility if is_owned and backend.has(Feature.PREEMPTIBILITY) else None,
        minMember=None if sub_groups and (is_owned or whole is not None) else max(1, gang.minimum or 0),
        minSubGroup=whole,
        topologyConstraint=_constraint(gang.constraint) if backend.has(Feature.TOPOLOGY) else None,
        preemptionDelay=_wait(submission, PREEMPTION_DELAY, Feature.PREEMPTION_DELAY),
        stalenessGracePeriod=_wait(submission, STALENESS_GRACE, Feature.STALENESS_GRACE),
        subGroups=tuple(
            SubGroup(
                name=sub_group.name,
                parent=sub_group.parent,
                minMember=None if gang.below(sub_group) and not above else sub_group.minimum or zero,
                minSubGroup=_min_sub_group(gang, sub_group, backend),
                topologyConstraint=_constraint(sub_group.constraint),
            )
            for sub_group in sub_groups
        ),
    )


def _wait(submission: Submission, name: str, feature: Feature) -> str | None:
    return wait(submission, name, feature) if isinstance(submission, FleetWorkload) else None


def _min_sub_group(gang: Gang, unit: Part, backend: FleetBackend) -> int | None:
    if not backend.has(Feature.MIN_SUBGROUP):
        return None
    return len(gang.below(unit)) if unit.needs_all_parts else unit.needed_parts


def _constraint(constraint: Constraint | None) -> TopologyConstraint | None:
    if constraint is None or constraint.topology is None:
        return None
    required, preferred = constraint.labels
    return TopologyConstraint(
        topology=constraint.topology, requiredTopologyLevel=required, preferredTopologyLevel=preferred
    )


TOPOLOGY_NAME = "grove.io/topology-name"
"""Annotation of a PodGang with the Topology of its levels."""
PART_OF = "app.kubernetes.io/part-of"


def preview_pod_gangs(fleet: Fleet) -> Iterator[Artifact]:
    """Yields the preview of every PodGang of PodCliqueSets with a known pool and topology."""
    for submitted, gang in previewed_gangs(fleet):
        stem = f"podgang-{submitted.set.namespace}-{gang.name}"
        yield _preview(submitted, PREVIEW, stem, _pod_gang(fleet, submitted, gang))


def _pod_gang(fleet: Fleet, submitted: SubmittedSet, gang: Gang) -> PodGang:
    clique_set, topology = submitted.set, submitted.set.topology
    annotations = {NOTE: f"What Grove makes of {SET.kind} {clique_set.name}"}
    if topology is not None:
        annotations = {TOPOLOGY_NAME: topology.name, **annotations}
    if submitted.pool.backend.writes_pod_groups_of_sets:
        annotations = {SKIP_PODGROUPER: "true", **annotations}
    labels = {MANAGED_BY: "kubectl-tas", PART_OF: clique_set.name, POOL: submitted.target}
    return PodGang(
        metadata=Metadata(name=gang.name, namespace=clique_set.namespace, labels=labels, annotations=annotations),
        spec=PodGangSpec(
            podgroups=tuple(
                GangMember(name=leaf.name, minReplicas=leaf.minimum or 0, topologyConstraint=_packed(leaf.constraint))
                for leaf in gang.leaves
            ),
            topologyConstraint=_packed(gang.constraint),
            topologyConstraintGroupConfigs=tuple(
                GangPart(name=group.name, podGroupNames=tuple(leaf.name for leaf in cliques), topologyConstraint=packed)
                for group in gang.sub_groups  # replicas of scaling groups that have a constraint
                if (cliques := gang.below(group)) and (packed := _packed(group.constraint)) is not None
            ),
            priorityClassName=str(getattr(fleet.config.priorityClasses, submitted.priority)),
        ),
    )


def _packed(constraint: Constraint | None) -> GangConstraint | None:
    if constraint is None or constraint.topology is None:
        return None
    required, preferred = constraint.labels
    return GangConstraint(packConstraint=GangPack(required=required, preferred=preferred))
