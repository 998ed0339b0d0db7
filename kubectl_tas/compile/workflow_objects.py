"""Makes the objects of workflows: PodGroups for groups, ConfigMaps and Services, and a Pod or a Job for each task."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

from kubectl_tas.base.yaml import block
from kubectl_tas.compile.metadata import folder, metadata
from kubectl_tas.compile.podgroups import WORKFLOWS, pod_group_spec
from kubectl_tas.facts.kai import Feature
from kubectl_tas.gangs.gang import Gang, Member
from kubectl_tas.gangs.task_files import fits_annotation, is_text
from kubectl_tas.gangs.workflow_gang import gangs_of_workflow
from kubectl_tas.model.artifact import Artifact, PassThrough
from kubectl_tas.model.kindlists import Phase
from kubectl_tas.model.labels import GROUP, HOSTS, POD_GROUP, POOL, SKIP_PODGROUPER, SUBGROUP, TASK
from kubectl_tas.model.manifest import ConfigMap, Metadata, PodGroup, Service, ServiceSpec
from kubectl_tas.model.pod import Job, JobSpec, Pod, PodSpec, Template, TemplateMetadata
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workflows import FleetGroup, FleetWorkflow

_SERVER_SIDE = {"argocd.argoproj.io/sync-options": "ServerSideApply=true"}
"""Annotation for objects that are too large for Argo CD's annotation with the whole object."""


def compile_workflows(fleet: Fleet) -> Iterator[Artifact]:
    """Yields the objects of all workflows; PodGroups only if the scheduler is KAI."""
    for workflow in fleet.workflows:
        backend, source = workflow.pool.backend, workflow.declared.origin.path
        where = f"{folder(WORKFLOWS, backend, workflow.namespace)}/{names.shorten(workflow.name)}"
        for group, gang in zip(workflow.groups, gangs_of_workflow(fleet, workflow), strict=True):
            if backend.is_kai:
                labels, space = _labels(workflow, group), workflow.namespace
                meta = metadata(fleet, gang.name, Phase.POD_GROUP, namespace=space, labels=labels)
                manifest = PodGroup(metadata=meta, spec=pod_group_spec(fleet, workflow, gang, is_owned=True))
                yield Artifact(backend.name, Phase.POD_GROUP, where, f"podgroup-{gang.name}.yaml", manifest, source)
            for phase, objects in ((Phase.COMPANION, _companions), (Phase.POD, _pods)):
                for made in objects(fleet, workflow, group, gang):
                    file = f"{made.kind.lower()}-{made.metadata.name}.yaml"
                    yield Artifact(backend.name, phase, where, file, made, source)


def _companions(fleet: Fleet, workflow: FleetWorkflow, group: FleetGroup, gang: Gang) -> Iterator[ConfigMap | Service]:
    """Yields the ConfigMaps with files for the pods of a gang, and the Service by which the pods find each other."""
    labels, space = _labels(workflow, group), workflow.namespace
    for files in gang.files:
        is_large = fleet.config.gitops == "argocd" and not all(map(fits_annotation, files.files.values()))
        notes = _SERVER_SIDE if is_large else {}
        meta = metadata(fleet, files.name, Phase.COMPANION, namespace=space, labels=labels, annotations=notes)
        text = {key: content.decode("utf-8") for key, content in files.files.items() if is_text(content)}
        binary = {key: b64encode(content).decode() for key, content in files.files.items() if key not in text}
        yield ConfigMap(metadata=meta, data=text, binaryData=binary)
    if gang.hosts is not None:
        meta = metadata(fleet, gang.hosts, Phase.COMPANION, namespace=space, labels=labels)
        yield Service(metadata=meta, spec=ServiceSpec(selector={HOSTS: gang.hosts}))


def _pods(fleet: Fleet, workflow: FleetWorkflow, group: FleetGroup, gang: Gang) -> Iterator[Pod | Job | PassThrough]:
    backend, annotations = workflow.pool.backend, dict[str, str]()
    labels = _labels(workflow, group)
    if backend.is_kai:
        annotations[POD_GROUP] = gang.name
    if backend.has(Feature.SKIP_PODGROUPER):
        annotations[SKIP_PODGROUPER] = "true"
    if gang.hosts is not None:
        labels[HOSTS] = gang.hosts
    fixed = {key: value for key, value in labels.items() if workflow.own_labels.get(key) != value}
    names_in_file = {task.name: task.spec.name for task in group.tasks}
    for unit in (gang, *gang.leaves):
        for member in unit.members:
            own_labels = {} if unit is gang else {SUBGROUP: unit.name}
            own_labels[TASK] = names.shorten(names_in_file[member.name])
            meta = metadata(
                fleet,
                names.pod(gang.name, workflow.name, group.name, member.name),
                Phase.POD,
                namespace=workflow.namespace,
                labels={**workflow.own_labels, **member.labels, **fixed, **own_labels},
                annotations=member.annotations | annotations,
            )
            if member.job is not None:
                notes = dict(sorted((member.annotations | annotations).items()))
                yield _job(meta, TemplateMetadata(labels=meta.labels, annotations=notes), member)
            elif member.is_open:
                yield _open(Pod, meta, member.spec)
            else:
                yield Pod.model_validate({"metadata": meta, "spec": member.spec})


def _job(meta: Metadata, template: TemplateMetadata, member: Member) -> Job | PassThrough:
    """Returns the Job of a pod with the metadata of ``template``. Only the Job has annotations for the GitOps tool."""
    notes = {name: value for name, value in meta.annotations.items() if name not in template.annotations}
    meta = meta.model_copy(update={"annotations": notes})
    if member.is_open:
        pods = {"metadata": template.model_dump(exclude_defaults=True), "spec": member.spec}
        return _open(Job, meta, {"parallelism": 1, "completions": 1, **(member.job or {}), "template": pods})
    pod = Template(metadata=template, spec=PodSpec.model_validate(member.spec))
    return Job(metadata=meta, spec=JobSpec.model_validate({**(member.job or {}), "template": pod}))


def _open(kind: type[Pod | Job], meta: Metadata, spec: dict[str, Any]) -> PassThrough:
    """Returns a Pod or Job with parts from pod templates, which may contain any field of Kubernetes."""
    version, name = kind.model_fields["apiVersion"].default, kind.model_fields["kind"].default
    document = {"apiVersion": version, "kind": name, "metadata": meta.model_dump(exclude_defaults=True), "spec": spec}
    where = Metadata(name=meta.name, namespace=meta.namespace)
    return PassThrough(apiVersion=version, kind=name, metadata=where, target=meta.labels[POOL], text=block(document))


def _labels(workflow: FleetWorkflow, group: FleetGroup) -> dict[str, str]:
    """Returns the labels of all objects of a group."""
    return {**workflow.labels, GROUP: names.shorten(group.written)}
