"""Pods: one for each task of a workflow."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from kubectl_tas.compile.metadata import POD_GROUP, SKIP_PODGROUPER, SUBGROUP, metadata
from kubectl_tas.compile.podgroups import workflow_folder, workflow_labels
from kubectl_tas.gangs.workflow import gang_of_group
from kubectl_tas.kai import GPU, Feature
from kubectl_tas.model.artifact import Artifact, Phase
from kubectl_tas.model.pod import (
    Affinity,
    Container,
    EnvVar,
    HostPath,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    ResourceList,
    SecurityContext,
    Volume,
    VolumeMount,
)
from kubectl_tas.model.workflow import Resource, Task
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workflows import FleetGroup, FleetTask, FleetWorkflow

_HOSTNAME = "kubernetes.io/hostname"


def compile_pods(fleet: Fleet) -> Iterator[Artifact]:
    """The pods of all workflows."""
    for workflow in fleet.workflows:
        labels, folder = workflow_labels(workflow), workflow_folder(workflow)
        for group in workflow.groups:
            gang = gang_of_group(workflow, group)
            sub_groups = {member.name: part.name for part in gang.leaves for member in part.members}
            for task in group.tasks:
                manifest = _pod(fleet, workflow, group, task, labels, sub_groups.get(task.name))
                yield Artifact(
                    workflow.pool.backend.name,
                    Phase.POD,
                    folder,
                    f"pod-{task.pod}.yaml",
                    manifest,
                    workflow.declared.origin.path,
                )


def _pod(
    fleet: Fleet,
    workflow: FleetWorkflow,
    group: FleetGroup,
    task: FleetTask,
    labels: dict[str, str],
    sub_group: str | None,
) -> Pod:
    backend, annotations = workflow.pool.backend, {}
    if backend.is_kai:
        annotations[POD_GROUP] = group.pod_group
    if backend.has(Feature.SKIP_PODGROUPER):
        annotations[SKIP_PODGROUPER] = "true"
    if sub_group is not None:
        labels = {**labels, SUBGROUP: sub_group}
    return Pod(
        metadata=metadata(
            fleet,
            task.pod,
            Phase.POD,
            namespace=backend.namespace,
            labels=labels,
            annotations=annotations,
        ),
        spec=_spec(fleet, workflow, task),
    )


def _spec(fleet: Fleet, workflow: FleetWorkflow, task: FleetTask) -> PodSpec:
    spec = task.spec
    return PodSpec(
        schedulerName=workflow.pool.backend.scheduler_name,
        priorityClassName=getattr(fleet.config.priorityClasses, workflow.priority),
        hostNetwork=True if spec.hostNetwork else None,
        dnsPolicy="ClusterFirstWithHostNet" if spec.hostNetwork else None,
        affinity=_affinity(task.resource.spec),
        containers=(_container(task.name, spec, task.resource.spec),),
        volumes=tuple(
            Volume(name=f"host-{index}", hostPath=HostPath(path=mount.partition(":")[0]))
            for index, mount in enumerate(spec.volumeMounts)
        ),
    )


def _container(name: str, task: Task, resource: Resource) -> Container:
    return Container(
        name=names.shorten(name),
        image=task.image,
        command=tuple(str(word) for word in task.command),
        args=tuple(str(word) for word in task.args),
        env=tuple(EnvVar(name=key, value=str(value)) for key, value in task.environment.items()),
        resources=_resources(resource),
        securityContext=SecurityContext(privileged=True) if task.privileged else None,
        volumeMounts=tuple(
            VolumeMount(name=f"host-{index}", mountPath=mount.rpartition(":")[2])
            for index, mount in enumerate(task.volumeMounts)
        ),
    )


def _resources(resource: Resource) -> ResourceList | None:
    """Requests equal limits: what a gang holds is what its queue is charged for."""
    amounts: dict[str, str] = {}
    if resource.cpu is not None:
        amounts["cpu"] = _cpu(resource.cpu)
    if resource.storage is not None:
        amounts["ephemeral-storage"] = resource.storage
    if resource.memory is not None:
        amounts["memory"] = resource.memory
    if resource.gpu:
        amounts[GPU] = str(resource.gpu)
    return ResourceList(limits=amounts, requests=amounts) if amounts else None


def _cpu(cores: int | float | str) -> str:
    """Cores as a Kubernetes quantity, never in scientific notation."""
    return f"{Decimal(str(cores)):f}" if isinstance(cores, float) else str(cores)


def _affinity(resource: Resource) -> Affinity | None:
    if not resource.nodesExcluded:
        return None
    condition = NodeSelectorRequirement(key=_HOSTNAME, values=tuple(dict.fromkeys(resource.nodesExcluded)))
    selector = NodeSelector(nodeSelectorTerms=(NodeSelectorTerm(matchExpressions=(condition,)),))
    return Affinity(nodeAffinity=NodeAffinity(requiredDuringSchedulingIgnoredDuringExecution=selector))
