"""Checks workflows by themselves: tasks, resources, labels, data and privileges."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_tas.base.diagnostics import Diagnostic, Related, Rule, Waiving
from kubectl_tas.base.words import did_you_mean, shortened
from kubectl_tas.check.conflicts import Fields, repetitions
from kubectl_tas.kinds.backdoors import LABELS as BACKDOOR_LABELS
from kubectl_tas.kinds.backdoors import setter_of, state_of
from kubectl_tas.load.schema import INVALID_VALUE
from kubectl_tas.model import osmo_workflow as osmo
from kubectl_tas.model.base import MAX_PREFIX, QUALIFIED_NAME
from kubectl_tas.model.config import LabelsConfig
from kubectl_tas.model.labels import MANAGED_BY
from kubectl_tas.model.osmo_workflow import Workflow
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workflows import DEFAULT_RESOURCE, FleetWorkflow

WORKFLOW_TASKS = Rule.error(
    "workflow-tasks",
    "A workflow has neither groups nor tasks, or both.",
    "Tasks of a group start together. Tasks without a group each start by themselves. Write one of the two.",
)
TOPOLOGY_KEY_REPEATED = Rule.error(
    "topology-key-repeated",
    "A resource names one topology key twice.",
    "A task runs in one domain of a level, so it can be in only one group there. Remove one of the two.",
)
WORKFLOW_BACKEND = Rule.error(
    "workflow-backend",
    "A workflow names another backend than its pool's.",
    "The pool decides which cluster a workflow runs in. Remove the field, or choose another pool.",
)
LABEL_RESERVED = Rule.error(
    "label-reserved",
    "A workflow or a queue sets a label or an annotation that another tool sets.",
    "On a pod, such a label decides the queue, the gang or the priority. On a Queue, it decides who applies the Queue, "
    "or which shard sees it. Two tools would overwrite each other's value. Remove it. Set the priority with "
    "workflow.priority, and the shard with spec.nodePool of the pool.",
)
LABEL_POLICY = Rule.error(
    "label-policy",
    "A workflow breaks spec.labels_config where it enforces a label.",
    "Labels such as a team or a cost center say who pays for pods. OSMO refuses such a workflow. Add the label, or "
    "choose a value of the allow_list.",
    protects=Waiving.CONFIG,
)
LABEL_POLICY_WARNING = Rule.warning(
    "label-policy-warning",
    "A workflow breaks spec.labels_config where it only warns.",
    "OSMO accepts such a workflow with a warning, as long as the policy does not say `enforcement: enforce`. Add the "
    "label, or choose a value of the allow_list.",
)
RESOURCE_UNNAMED = Rule.warning(
    "resource-unnamed",
    "A task names no resource, and its workflow has none called default.",
    "A task that names no resource uses the one called default. Without it, the task has neither GPUs nor a topology, "
    "and OSMO refuses the workflow. Name a resource in the task, or define default, empty if the task needs nothing.",
)
TASK_DATA = Rule.error(
    "task-data",
    "An input, output or file of a task does not say what it is, or says two things.",
    "OSMO refuses such a workflow. An input is the output of a task, a url or a dataset. An output goes to a url or to "
    "a dataset. A file has contents, or a localpath.",
)
PRIVILEGED_TASK = Rule.warning(
    "privileged-task",
    "A task or container is privileged, or a task uses the network or paths of its node.",
    "Such a container can do anything on the node: see the work of others, and take GPUs that it did not get. Remove "
    "the field, or give the pool platforms that say what tasks may do. To allow such tasks in the whole repository, "
    "use spec.rules of the Config: privileged-task: off.",
    protects=Waiving.CONFIG,
)
_PRIVILEGES = {
    "privileged": "runs privileged on its node",
    "hostNetwork": "shares the network of its node",
    "volumeMounts": "mounts paths of its node: {}",
}
"""Effect of each field on the node of a task."""
_RESERVED_LABELS = (MANAGED_BY, *BACKDOOR_LABELS)


def check_workflow(declared: Declared[Workflow], fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks a workflow, whether its pool exists or not."""
    spec = declared.spec.workflow
    if spec.groups and spec.tasks:
        location = declared.at_key("workflow", "tasks")
        message = "a workflow has either groups or tasks, not both"
        yield Diagnostic(WORKFLOW_TASKS, message, location, hint="Move the tasks into a group.")
    elif not spec.groups and not spec.tasks:
        location = declared.at_key("workflow")
        yield Diagnostic(WORKFLOW_TASKS, "the workflow has no tasks", location, hint="Add groups or tasks.")
    for name, resource, path in declared.spec.all_resources:
        keys = ((requirement.key, index) for index, requirement in enumerate(resource.topology))
        for key, earlier, index in repetitions(keys):
            message = f'the resource "{name}" names the topology key "{key}" twice'
            related = (Related("first here", declared.at(*path, "topology", earlier, "key")),)
            location = declared.at(*path, "topology", index, "key")
            hint = "A task is in one group of each level; remove one."
            yield Diagnostic(TOPOLOGY_KEY_REPEATED, message, location, related, hint=hint)
    yield from _labels(declared, fleet.config.labels_config)
    yield from _unnamed(declared)
    for _, task, path in declared.spec.all_tasks:
        for field, choices in osmo.ONE_OF.items():
            for index, choice_fields in enumerate(getattr(task, field)):
                given_choices = [name for name in choices if name in choice_fields.model_fields_set]
                if len(given_choices) != 1:
                    has = " and ".join(given_choices) or f"none of {', '.join(choices)}"
                    message = f'{field}[{index}] of the task "{task.name}" has {has}'
                    hint = f"Keep one of {', '.join(choices)}." if given_choices else "Add one."
                    yield Diagnostic(TASK_DATA, message, declared.at(*path, field, index), hint=hint)
    if id(declared) not in fleet.on_platforms:  # else check.task_platforms says what is allowed
        for _, task, path in declared.spec.all_tasks:
            for field, effect in _PRIVILEGES.items():
                if getattr(task, field):
                    location = declared.at_key(*path, field)
                    message = f'the task "{task.name}" {effect.format(", ".join(task.volumeMounts))}'
                    hint = "Remove it, or let spec.rules of the Config allow it."
                    yield Diagnostic(PRIVILEGED_TASK, message, location, hint=hint)


def _labels(declared: Declared[Workflow], settings: LabelsConfig) -> Iterator[Diagnostic]:
    """Follows ``validate_workflow_label_policy`` of OSMO (src/service/core/workflow/objects.py, August 2026)."""
    written_labels, prefix = declared.spec.workflow.labels, settings.pod_label_prefix
    for key in written_labels:
        label = f"{prefix}{key}"
        location = declared.at_key("workflow", "labels", key)
        if label.startswith(("kai.scheduler/", "kubectl-tas/")) or label in _RESERVED_LABELS or state_of(label):
            message = f'the label "{label}" is set by {setter_of(label)}'
            yield Diagnostic(LABEL_RESERVED, message, location, hint="Remove it.")
        elif prefix and (not re.fullmatch(QUALIFIED_NAME, label) or label.find("/") > MAX_PREFIX):
            message = f'pods would carry the label "{label}", which is no valid label key'
            hint = f'pod_label_prefix of the Config puts "{prefix}" before the key. Write a key without "/".'
            yield Diagnostic(INVALID_VALUE, message, location, hint=hint)
    for policy in settings.policy:
        value = written_labels.get(policy.key)
        if policy.enforcement == "off" or (value is not None and value in (policy.allow_list or (value,))):
            continue
        location = declared.at(*(("workflow", "name") if value is None else ("workflow", "labels", policy.key)))
        message = f'the label "{policy.key}" is missing'
        if value is not None:
            message = f'the value "{value}" of the label "{policy.key}" is not one that the Config allows'
        message += f": {policy.assert_message}" if policy.assert_message else ""
        allowed = f"Values: {shortened(policy.allow_list)}." if policy.allow_list else ""
        hint = f"Add it to labels. {allowed}".rstrip()
        if value is not None:
            hint = did_you_mean(value, policy.allow_list, allowed)
        rule = LABEL_POLICY if policy.enforcement == "enforce" else LABEL_POLICY_WARNING
        yield Diagnostic(rule, message, location, hint=hint)


def _unnamed(declared: Declared[Workflow]) -> Iterator[Diagnostic]:
    """Reports tasks that use the resource default if only others exist. The place is an unused resource, if any."""
    spec = declared.spec
    if "resources" not in spec.model_fields_set | spec.workflow.model_fields_set:
        return
    defined = {names.fold(name): path for name, _, path in spec.all_resources}
    without = [(task, path) for _, task, path in spec.all_tasks if names.fold(task.resource) == DEFAULT_RESOURCE]
    if not without or DEFAULT_RESOURCE in defined:
        return
    used = {names.fold(task.resource) for _, task, _ in spec.all_tasks}
    unused = next((name for name in defined if name not in used), "")
    location = declared.at_key(*defined[unused]) if unused else declared.at(*without[0][1], "name")
    other_tasks = f" (and {len(without) - 1} more)" if len(without) > 1 else ""
    message = f'the task "{without[0][0].name}"{other_tasks} names no resource, and none is called "{DEFAULT_RESOURCE}"'
    message += f'; no task names "{defined[unused][-1]}"' if unused else ""
    hint = did_you_mean(unused, [DEFAULT_RESOURCE], "Name one in the task, or define default.")
    yield Diagnostic(RESOURCE_UNNAMED, message, location, hint=hint)


def check_privileged(spec: Fields, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the containers of a pod of any kind: a privileged one sees all devices of its node (WithPrivilegedDevices
    of containerd's internal/cri). The fields of Spark's pods are those of their container.
    """
    for container in {fields.path: fields for fields in (spec, *spec.containers)}.values():
        if container.below("securityContext").get("privileged") is True:
            message = "a privileged container sees all devices of its node, and no queue is charged for them"
            location = container.origin.locate((*container.path, "securityContext", "privileged"), key=True)
            yield Diagnostic(
                PRIVILEGED_TASK, message, location, hint="Remove it, and add the capability that it needs."
            )


def check_workflow_backend(workflow: FleetWorkflow, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks that the backend of a workflow is that of its pool."""
    named, actual = workflow.declared.spec.workflow.backend, workflow.pool.backend.name
    if named is not None and named != actual:
        message = f'the backend "{named}" is not that of pool {workflow.pool.name}, which is "{actual}"'
        location = workflow.declared.at("workflow", "backend")
        yield Diagnostic(WORKFLOW_BACKEND, message, location, hint="Remove the field, or choose another pool.")
