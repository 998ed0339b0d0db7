"""Workflows: a PodGroup for each group, and a Pod for each task."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compile.metadata import folder, metadata
from kubectl_tas.compile.podgroups import WORKFLOWS, pod_group_spec
from kubectl_tas.gangs.gang import Gang, Member
from kubectl_tas.gangs.workflow import gang_of_group
from kubectl_tas.kai import Feature
from kubectl_tas.model.artifact import Artifact, PassThrough, Phase
from kubectl_tas.model.labels import POD_GROUP, POOL, SKIP_PODGROUPER, SUBGROUP, WORKFLOW
from kubectl_tas.model.manifest import Metadata, PodGroup
from kubectl_tas.model.pod import Pod, PodSpec
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workflows import FleetWorkflow
from kubectl_tas.yaml import block


def compile_workflows(fleet: Fleet) -> Iterator[Artifact]:
    """The PodGroups of all workflows, where their scheduler is KAI, and their pods."""
    for workflow in fleet.workflows:
        backend, source = workflow.pool.backend, workflow.declared.origin.path
        where = f"{folder(WORKFLOWS, backend, workflow.namespace)}/{names.shorten(workflow.name)}"
        for group in workflow.groups:
            gang = gang_of_group(fleet, workflow, group)
            if backend.is_kai:
                manifest = _pod_group(fleet, workflow, gang)
                yield Artifact(backend.name, Phase.POD_GROUP, where, f"podgroup-{gang.name}.yaml", manifest, source)
            for pod in _pods(fleet, workflow, gang):
                yield Artifact(backend.name, Phase.POD, where, f"pod-{pod.metadata.name}.yaml", pod, source)


def _pod_group(fleet: Fleet, workflow: FleetWorkflow, gang: Gang) -> PodGroup:
    about = metadata(fleet, gang.name, Phase.POD_GROUP, namespace=workflow.namespace, labels=_labels(workflow))
    return PodGroup(
        metadata=about,
        spec=pod_group_spec(fleet, workflow, gang, is_owned=True),
    )


def _pods(fleet: Fleet, workflow: FleetWorkflow, gang: Gang) -> Iterator[Pod | PassThrough]:
    backend, annotations, labels = workflow.pool.backend, dict[str, str](), _labels(workflow)
    if backend.is_kai:
        annotations[POD_GROUP] = gang.name
    if backend.has(Feature.SKIP_PODGROUPER):
        annotations[SKIP_PODGROUPER] = "true"
    for part in (gang, *gang.leaves):
        own = labels if part is gang else {**labels, SUBGROUP: part.name}
        for member in part.members:
            about = metadata(
                fleet,
                names.pod(gang.name, member.name),
                Phase.POD,
                namespace=workflow.namespace,
                labels=member.labels | own,
                annotations=member.annotations | annotations,
            )
            yield _open_pod(about, member) if member.is_open else _pod(about, member)


def _pod(about: Metadata, member: Member) -> Pod:
    return Pod(metadata=about, spec=PodSpec.model_validate(member.spec))


def _open_pod(about: Metadata, member: Member) -> PassThrough:
    """A pod of which pod templates say a part: any field of Kubernetes' may be in it."""
    data = {"apiVersion": "v1", "kind": "Pod", "metadata": about.model_dump(exclude_defaults=True), "spec": member.spec}
    where = Metadata(name=about.name, namespace=about.namespace)
    return PassThrough(apiVersion="v1", kind="Pod", metadata=where, text=block(data))


def _labels(workflow: FleetWorkflow) -> dict[str, str]:
    """The labels of all that a workflow becomes: its own, its pool, its name and, for KAI, its queue and shard."""
    return {
        **workflow.declared.spec.workflow.labels,
        POOL: workflow.target,
        WORKFLOW: names.shorten(workflow.name),
        **workflow.kai_labels,
    }
