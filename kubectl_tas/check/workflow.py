"""A workflow makes sense by itself."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from kubectl_tas.diagnostics import Diagnostic, Related, Rule, Severity, Waiving
from kubectl_tas.model import workflow as osmo
from kubectl_tas.model.backdoors import LABELS as BACKDOOR_LABELS
from kubectl_tas.model.labels import MANAGED_BY
from kubectl_tas.model.repository import Declared
from kubectl_tas.model.workflow import Task, Workflow
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workflows import DEFAULT_RESOURCE, FleetWorkflow, groups_of, resource_paths, task_path
from kubectl_tas.words import did_you_mean

WORKFLOW_TASKS = Rule(
    "workflow-tasks",
    Severity.ERROR,
    "A workflow has neither groups nor tasks, or both.",
    "Tasks of a group start together; tasks without a group start each for itself. Write one of the two.",
)
TOPOLOGY_KEY_REPEATED = Rule(
    "topology-key-repeated",
    Severity.ERROR,
    "A resource names one topology key twice.",
    "A task runs in one domain of a level, so it can be in one group there. Remove one of the two.",
)
WORKFLOW_BACKEND = Rule(
    "workflow-backend",
    Severity.ERROR,
    "A workflow names another backend than its pool's.",
    "The pool decides which cluster a workflow runs in. Remove the field, or choose another pool.",
)
LABEL_RESERVED = Rule(
    "label-reserved",
    Severity.ERROR,
    "A workflow sets a label that the tool or the scheduler sets.",
    "The label decides which queue or gang a pod belongs to, or which priority it has; two values for it would fight. "
    "Remove it, and say the priority with workflow.priority.",
)
RESOURCE_UNUSED = Rule(
    "resource-unused",
    Severity.WARNING,
    "A workflow defines a resource that none of its tasks uses, while tasks that name none have no resource.",
    "A task that names no resource uses the one called default, and has neither GPUs nor a topology where there is "
    "none: a slip in that name takes them away without a word. Correct the name, or name the resource in the tasks.",
)
OSMO_ONLY = Rule(
    "osmo-only",
    Severity.INFO,
    "A workflow uses fields that only OSMO's own runtime can honour.",
    "The rendered pods run without them. Nothing is wrong where OSMO runs the workflow; where the manifests "
    "are applied directly, the task must do by itself what these fields asked for.",
)
PRIVILEGED_TASK = Rule(
    "privileged-task",
    Severity.WARNING,
    "A task of a workflow reaches its node: it is privileged, shares its network, or mounts its paths.",
    "Such a container can do on the node what it likes: see the work of others, take GPUs that it was not given. OSMO "
    "lets only those tasks have it whose platform allows it. Remove the field; where a repository is to have such "
    "tasks, spec.rules of the Config allows them for all: privileged-task: off.",
    protects=Waiving.CONFIG,
)
_RESERVED_PREFIXES = ("kai.scheduler/", "kubectl-tas/")
_RESERVED_LABELS = (MANAGED_BY, *BACKDOOR_LABELS)


def check_workflows(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every workflow, whether its pool exists or not."""
    for declared in fleet.repository.workflows:
        yield from _tasks(declared)
        yield from _repeated_keys(declared)
        yield from _labels(declared)
        yield from _unused(declared)
        yield from _osmo_only(declared)
        yield from _privileged(declared)
    for workflow in fleet.workflows:
        yield from _backend(workflow)


def _tasks(declared: Declared[Workflow]) -> Iterator[Diagnostic]:
    spec = declared.spec.workflow
    if spec.groups and spec.tasks:
        place = declared.origin.locate(("workflow", "tasks"), key=True)
        message = "a workflow has either groups or tasks, not both"
        yield Diagnostic(WORKFLOW_TASKS, message, place, hint="Move the tasks into a group.")
    elif not spec.groups and not spec.tasks:
        place = declared.origin.locate(("workflow",), key=True)
        yield Diagnostic(WORKFLOW_TASKS, "the workflow has no tasks", place, hint="Add groups or tasks.")


def _repeated_keys(declared: Declared[Workflow]) -> Iterator[Diagnostic]:
    for name, resource, path in resource_paths(declared.spec):
        first: dict[str, int] = {}
        for index, requirement in enumerate(resource.topology):
            earlier = first.setdefault(requirement.key, index)
            if earlier != index:
                message = f'the resource "{name}" names the topology key "{requirement.key}" twice'
                related = (Related("first here", declared.at(*path, "topology", earlier, "key")),)
                place = declared.at(*path, "topology", index, "key")
                hint = "A task is in one group of each level; remove one."
                yield Diagnostic(TOPOLOGY_KEY_REPEATED, message, place, related, hint=hint)


def _labels(declared: Declared[Workflow]) -> Iterator[Diagnostic]:
    for label in declared.spec.workflow.labels:
        if label.startswith(_RESERVED_PREFIXES) or label in _RESERVED_LABELS:
            place = declared.origin.locate(("workflow", "labels", label), key=True)
            message = f'the label "{label}" is set by kubectl-tas'
            yield Diagnostic(LABEL_RESERVED, message, place, hint="Remove it.")


def _unused(declared: Declared[Workflow]) -> Iterator[Diagnostic]:
    """Resources that no task uses, where tasks use the default one and there is none."""
    used = {names.fold(task.resource) for group, _ in groups_of(declared.spec) for task in group.tasks}
    defined = {names.fold(name): path for name, _, path in resource_paths(declared.spec)}
    if DEFAULT_RESOURCE not in used - defined.keys():
        return
    for name in defined.keys() - used:
        place = declared.origin.locate(defined[name], key=True)
        message = f'no task uses the resource "{defined[name][-1]}", and tasks that name none have no resource'
        hint = did_you_mean(name, [DEFAULT_RESOURCE], "Name it in those tasks, or call it default.")
        yield Diagnostic(RESOURCE_UNUSED, message, place, hint=hint)


def _backend(workflow: FleetWorkflow) -> Iterator[Diagnostic]:
    named, actual = workflow.declared.spec.workflow.backend, workflow.pool.backend.name
    if named is not None and named != actual:
        message = f'the backend "{named}" is not that of pool {workflow.pool.name}, which is "{actual}"'
        place = workflow.declared.at("workflow", "backend")
        yield Diagnostic(WORKFLOW_BACKEND, message, place, hint="Remove the field, or choose another pool.")


def _privileged(declared: Declared[Workflow]) -> Iterator[Diagnostic]:
    for group, where in groups_of(declared.spec):
        for index, task in enumerate(group.tasks):
            for field, effect in (
                ("privileged", "runs privileged on its node"),
                ("hostNetwork", "shares the network of its node"),
                ("volumeMounts", f"mounts paths of its node: {', '.join(task.volumeMounts)}"),
            ):
                if getattr(task, field):
                    place = declared.origin.locate((*task_path(declared.spec, where, index), field), key=True)
                    hint = "Remove it, or let spec.rules of the Config allow it."
                    yield Diagnostic(PRIVILEGED_TASK, f'the task "{task.name}" {effect}', place, hint=hint)


def _osmo_only(declared: Declared[Workflow]) -> Iterator[Diagnostic]:
    """One finding for the workflow, with every such field that it uses."""
    spec = declared.spec.workflow
    used = _set_fields(spec, osmo.OSMO_ONLY_WORKFLOW)
    for group, _ in groups_of(declared.spec):
        used += _set_fields(group, osmo.OSMO_ONLY_GROUP)
        for task in group.tasks:
            used += _set_fields(task, osmo.OSMO_ONLY_TASK)
            if _has_placeholder(task):
                used.append("{{ }} placeholders")
    for _, resource, _ in resource_paths(declared.spec):
        used += _set_fields(resource, osmo.OSMO_ONLY_RESOURCE)
    if used:
        fields = ", ".join(dict.fromkeys(used))
        message = f"only OSMO's own runtime honours {fields}; the rendered pods run without"
        hint = "Nothing to do where OSMO runs the workflow; else its tasks must see to that themselves."
        yield Diagnostic(OSMO_ONLY, message, declared.at("workflow", "name"), hint=hint)


def _set_fields(model: BaseModel, fields: tuple[str, ...]) -> list[str]:
    return [field for field in fields if field in model.model_fields_set]


def _has_placeholder(task: Task) -> bool:
    words = (task.image, *task.command, *task.args, *task.environment.values())
    return any(isinstance(word, str) and "{{" in word for word in words)
