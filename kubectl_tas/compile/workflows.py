"""Workflows: a PodGroup for each group, what its pods find when they start, and a Pod for each task."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator

from kubectl_tas.compile.metadata import folder, metadata
from kubectl_tas.compile.podgroups import WORKFLOWS, pod_group_spec
from kubectl_tas.gangs.files import fits_annotation, is_text
from kubectl_tas.gangs.gang import Gang
from kubectl_tas.gangs.workflow import gangs_of_workflow
from kubectl_tas.kai import Feature
from kubectl_tas.model.artifact import Artifact, Phase
from kubectl_tas.model.labels import HOSTS, POD_GROUP, POOL, SKIP_PODGROUPER, SUBGROUP, WORKFLOW
from kubectl_tas.model.manifest import ConfigMap, PodGroup, Service, ServiceSpec
from kubectl_tas.model.pod import Pod, PodSpec
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workflows import FleetWorkflow

_SERVER_SIDE = {"argocd.argoproj.io/sync-options": "ServerSideApply=true"}
"""What makes Argo CD apply an object that is too large for the annotation in which it would keep all of it."""


def compile_workflows(fleet: Fleet) -> Iterator[Artifact]:
    """The PodGroups of all workflows, where their scheduler is KAI, and their pods."""
    for workflow in fleet.workflows:
        backend, source = workflow.pool.backend, workflow.declared.origin.path
        where = f"{folder(WORKFLOWS, backend, workflow.namespace)}/{names.shorten(workflow.name)}"
        for gang in gangs_of_workflow(fleet, workflow):
            if backend.is_kai:
                manifest = _pod_group(fleet, workflow, gang)
                yield Artifact(backend.name, Phase.POD_GROUP, where, f"podgroup-{gang.name}.yaml", manifest, source)
            for made in _beside(fleet, workflow, gang):
                file = f"{made.kind.lower()}-{made.metadata.name}.yaml"
                yield Artifact(backend.name, Phase.COMPANION, where, file, made, source)
            for pod in _pods(fleet, workflow, gang):
                yield Artifact(backend.name, Phase.POD, where, f"pod-{pod.metadata.name}.yaml", pod, source)


def _pod_group(fleet: Fleet, workflow: FleetWorkflow, gang: Gang) -> PodGroup:
    about = metadata(fleet, gang.name, Phase.POD_GROUP, namespace=workflow.namespace, labels=_labels(workflow))
    return PodGroup(
        metadata=about,
        spec=pod_group_spec(fleet, workflow, gang, is_owned=True),
    )


def _beside(fleet: Fleet, workflow: FleetWorkflow, gang: Gang) -> Iterator[ConfigMap | Service]:
    """What the pods of a gang find when they start: their files, and each other."""
    labels, space = _labels(workflow), workflow.namespace
    for files in gang.files:
        is_large = fleet.config.gitops == "argocd" and not all(map(fits_annotation, files.files.values()))
        notes = _SERVER_SIDE if is_large else {}
        about = metadata(fleet, files.name, Phase.COMPANION, namespace=space, labels=labels, annotations=notes)
        text = {key: content.decode("utf-8") for key, content in files.files.items() if is_text(content)}
        binary = {key: b64encode(content).decode() for key, content in files.files.items() if key not in text}
        yield ConfigMap(metadata=about, data=text, binaryData=binary)
    if gang.hosts is not None:
        about = metadata(fleet, gang.hosts, Phase.COMPANION, namespace=space, labels=labels)
        yield Service(metadata=about, spec=ServiceSpec(selector={HOSTS: gang.hosts}))


def _pods(fleet: Fleet, workflow: FleetWorkflow, gang: Gang) -> Iterator[Pod]:
    backend, annotations, labels = workflow.pool.backend, dict[str, str](), _labels(workflow)
    if backend.is_kai:
        annotations[POD_GROUP] = gang.name
    if backend.has(Feature.SKIP_PODGROUPER):
        annotations[SKIP_PODGROUPER] = "true"
    if gang.hosts is not None:
        labels[HOSTS] = gang.hosts
    for part in (gang, *gang.leaves):
        own = labels if part is gang else {**labels, SUBGROUP: part.name}
        for member in part.members:
            yield Pod(
                metadata=metadata(
                    fleet,
                    names.pod(gang.name, member.name),
                    Phase.POD,
                    namespace=workflow.namespace,
                    labels=own,
                    annotations=annotations,
                ),
                spec=PodSpec.model_validate(member.spec),
            )


def _labels(workflow: FleetWorkflow) -> dict[str, str]:
    """The labels of all that a workflow becomes: its own, its pool, its name and, for KAI, its queue and shard."""
    return {
        **workflow.declared.spec.workflow.labels,
        POOL: workflow.target,
        WORKFLOW: names.shorten(workflow.name),
        **workflow.kai_labels,
    }
