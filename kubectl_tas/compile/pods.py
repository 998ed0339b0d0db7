"""Pods: one for each task of a workflow."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compile.metadata import POD_GROUP, SKIP_PODGROUPER, SUBGROUP, metadata
from kubectl_tas.compile.podgroups import workflow_folder, workflow_labels
from kubectl_tas.kai import Feature
from kubectl_tas.model.artifact import Artifact, Phase
from kubectl_tas.model.pod import Pod, PodSpec
from kubectl_tas.resolve.fleet import Fleet, FleetGroup, FleetTask, FleetWorkflow


def compile_pods(fleet: Fleet) -> Iterator[Artifact]:
    """The pods of all workflows."""
    for workflow in fleet.workflows:
        labels, folder = workflow_labels(workflow), workflow_folder(workflow)
        for group in workflow.groups:
            for task, sub_group in zip(group.tasks, group.gang.placed, strict=True):
                manifest = _pod(fleet, workflow, group, task, labels, sub_group)
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
        spec=PodSpec.model_validate(task.pod_spec),
    )
