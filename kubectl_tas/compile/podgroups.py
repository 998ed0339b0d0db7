"""PodGroups: one for each group of a workflow, and those written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from kubectl_tas.compile.metadata import POOL, QUEUE, WORKFLOW, metadata
from kubectl_tas.kai import Feature
from kubectl_tas.model.artifact import Artifact, Phase
from kubectl_tas.model.manifest import PodGroup, PodGroupSpec, SubGroup, TopologyConstraint
from kubectl_tas.resolve import names, tree
from kubectl_tas.resolve.fleet import Fleet, FleetGroup, FleetPool, FleetWorkflow

FOLDER = "workflows"


def compile_pod_groups(fleet: Fleet) -> Iterator[Artifact]:
    """The PodGroups of all workflows whose scheduler is KAI."""
    for workflow in fleet.workflows:
        if workflow.pool.backend.is_kai:
            for group in workflow.groups:
                yield _pod_group(fleet, workflow, group)


def workflow_labels(workflow: FleetWorkflow) -> dict[str, str]:
    """The labels of all that a workflow becomes: its own, its pool, its name and, for KAI, its queue."""
    labels = {
        **workflow.declared.spec.workflow.labels,
        POOL: workflow.target,
        WORKFLOW: names.shorten(workflow.name),
    }
    return {**labels, QUEUE: workflow.queue} if workflow.pool.backend.is_kai else labels


def workflow_folder(workflow: FleetWorkflow) -> str:
    """The folder of all that a workflow becomes."""
    return f"{FOLDER}/{names.shorten(workflow.name)}"


def _pod_group(fleet: Fleet, workflow: FleetWorkflow, group: FleetGroup) -> Artifact:
    backend, built = workflow.pool.backend, group.gang
    preemptibility: Literal["preemptible", "non-preemptible"] = (
        "preemptible" if workflow.priority == "LOW" else "non-preemptible"
    )
    spec = PodGroupSpec(
        queue=workflow.queue,
        priorityClassName=getattr(fleet.config.priorityClasses, workflow.priority),
        preemptibility=preemptibility if backend.has(Feature.PREEMPTIBILITY) else None,
        minMember=built.members,
        topologyConstraint=_constraint(built.constraint, workflow.pool),
        subGroups=tuple(_sub_group(node, workflow.pool) for node in built.nodes),
    )
    manifest = PodGroup(
        metadata=metadata(
            fleet,
            group.pod_group,
            Phase.POD_GROUP,
            namespace=backend.namespace,
            labels=workflow_labels(workflow),
        ),
        spec=spec,
    )
    folder, file = workflow_folder(workflow), f"podgroup-{group.pod_group}.yaml"
    return Artifact(backend.name, Phase.POD_GROUP, folder, file, manifest, workflow.declared.origin.path)


def _sub_group(node: tree.Node, pool: FleetPool) -> SubGroup:
    return SubGroup(
        name=node.name,
        parent=node.parent,
        minMember=node.members,
        topologyConstraint=_constraint(node.constraint, pool),
    )


def _constraint(constraint: tree.Constraint | None, pool: FleetPool) -> TopologyConstraint | None:
    """Levels by their node labels, which every KAI release understands."""
    topology = pool.topology
    if constraint is None or topology is None:
        return None
    required, preferred = constraint.required, constraint.preferred
    return TopologyConstraint(
        topology=topology.name_on(pool.backend),
        requiredTopologyLevel=None if required is None else topology.levels[required].label,
        preferredTopologyLevel=None if preferred is None else topology.levels[preferred].label,
    )


def pass_pod_groups(fleet: Fleet) -> Iterator[Artifact]:
    """Hand-written PodGroups, with the tool's labels added."""
    for item in fleet.pod_groups:
        written = item.declared.spec
        labels = {**written.metadata.labels, QUEUE: written.spec.queue}
        target = fleet.leaf_queues(item.backend).get(written.spec.queue)
        if target is not None:
            labels[POOL] = target
        manifest = PodGroup(
            metadata=metadata(
                fleet,
                written.metadata.name,
                Phase.POD_GROUP,
                namespace=item.namespace,
                labels=labels,
                annotations=written.metadata.annotations,
            ),
            spec=written.spec,
        )
        file = names.file(f"podgroup-{item.namespace}-{written.metadata.name}")
        source = item.declared.origin.path
        yield Artifact(item.backend.name, Phase.POD_GROUP, FOLDER, file, manifest, source)
