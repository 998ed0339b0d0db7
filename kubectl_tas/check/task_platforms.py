"""Checks that tasks ask only for what their platform allows, and that pods from pod templates are valid."""

from __future__ import annotations

import json
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule
from kubectl_tas.base.late import dataclass
from kubectl_tas.check.fields import check_pod
from kubectl_tas.check.keys import backdoors_of, keys_of
from kubectl_tas.check.mounts import MOUNT_PATH
from kubectl_tas.check.pod_templates import check_made_pod
from kubectl_tas.check.resource_requests import check_pod_gpus, resources_of
from kubectl_tas.check.secrets import secrets_of
from kubectl_tas.check.visibledevices import devices_of, said_by
from kubectl_tas.gangs.task_files import data_paths, normal
from kubectl_tas.gangs.task_files import filled as with_tokens
from kubectl_tas.gangs.task_pods import is_pod, mounted_secrets, on_platform, pod_spec
from kubectl_tas.kinds.backdoors import LABELS, parts, setter_of, state_of
from kubectl_tas.kinds.section import value_at
from kubectl_tas.load.schema import INVALID_VALUE
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath, LabelValue
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.platforms import (
    AMOUNT,
    NODE_TOKENS,
    Merged,
    NotFilledError,
    PlatformTemplate,
    PlatformValidation,
    filled,
    read_spec,
    tokens_in,
)
from kubectl_tas.resolve.pools import FleetPool
from kubectl_tas.resolve.workflows import FleetTask, FleetWorkflow, sample_task

PLATFORM_UNNAMED = Rule.error(
    "platform-unnamed",
    "A resource names no platform, and its pool has several and no default.",
    "OSMO refuses such a workflow, because nothing says which nodes its tasks need. Name a platform in the resource, "
    "or give the pool a default_platform.",
)
PLATFORM_FORBIDS = Rule.error(
    "platform-forbids",
    "A task reaches its node in a way that its platform does not allow.",
    "A privileged container, one in the network of its node, or one that mounts its paths can see the work of others "
    "and take GPUs that it did not get. The administrator of the pool sets on each platform what tasks may do: "
    "privileged_allowed, host_network_allowed and allowed_mounts. Remove the field, or choose another platform.",
)
POD_TEMPLATE_RESERVED = Rule.error(
    "pod-template-reserved",
    "A pod template sets what kubectl-tas sets.",
    "The queue, the priority, the scheduler and the gang of a pod follow from its workflow and its pool. So KAI "
    "charges the work that kubectl-tas checked. Remove the label, the annotation or the field.",
)
POD_TEMPLATE_TOKEN = Rule.error(
    "pod-template-token",
    "A text of a pod template or resource validation cannot be filled in or compared.",
    "You can use {{USER_CPU}}, {{USER_GPU}}, {{USER_MEMORY}}, {{USER_STORAGE}} and the other tokens that docs/osmo.md "
    "lists, and the variables of the pool and its platforms. Tokens that only OSMO's service knows, such as the user, "
    "have no value here. Correct the name, or give the variable a value.",
)
RESOURCE_VALIDATION = Rule.error(
    "resource-validation",
    "A task asks for what a resource validation refuses.",
    "The message is the validation's own, and OSMO refuses the workflow with it. Ask for another amount, or choose "
    "another platform.",
)
VALIDATION_OF_NODES = Rule.info(
    "validation-of-nodes",
    "Resource validations compare with what nodes have.",
    "The repository does not know the nodes, so kubectl-tas does not judge validations with {{K8_CPU}}, {{K8_MEMORY}}, "
    "{{K8_STORAGE}} or {{K8_GPU}}. A task that is larger than every node stays Pending.",
)
_COMPARED = {
    "GT": (operator.gt, "more than "),
    "GE": (operator.ge, "at least "),
    "LT": (operator.lt, "less than "),
    "LE": (operator.le, "at most "),
    "EQ": (operator.eq, ""),
}
"""The comparison of each operator, and words for the message if the comparison fails."""
_RESERVED_PREFIXES = ("kai.scheduler/", labels.OWN_PREFIX)
_RESERVED = {
    "labels": {labels.MANAGED_BY, *LABELS},
    "annotations": {labels.POD_GROUP, labels.SYNC_WAVE},
}
_LABEL_VALUE: TypeAdapter[str] = TypeAdapter(LabelValue, config=ConfigDict(defer_build=True))
_FIELDS = {"USER_CPU": "cpu", "USER_GPU": "gpu", "USER_MEMORY": "memory", "USER_STORAGE": "storage"}
"""The field of a resource that fills in a token."""
_UNITS = {
    "": Fraction(1),
    "m": Fraction(1, 1000),
    "B": Fraction(1, 1024),
    "K": Fraction(1),
    **{f"{letter}i": Fraction(1024) ** power for power, letter in enumerate("KMGTPE")},
    **{f"{letter}iB": Fraction(1024) ** power for power, letter in enumerate("KMGTPE")},
    **{letter: Fraction(1000) ** power / 1024 for power, letter in enumerate("kMGTPE", start=1)},
}
"""Factor of each unit. As in OSMO, bytes are counted in KiB, and a number without a unit compares as KiB."""


@dataclass(frozen=True, slots=True)
class _Made:
    """The pod of a task as a document. Each part has its place in the pod template that sets it, else at the task."""

    pod: Merged
    declared: Declared[Any]
    otherwise: KeyPath

    path = property(lambda self: self.declared.origin.path)
    index = property(lambda self: self.declared.origin.index)
    within = property(lambda self: self.declared.origin.within)
    text = property(lambda self: "")

    @property
    def data(self) -> Any:
        """Returns the pod."""
        return self.pod.data

    def locate(self, path: KeyPath, *, key: bool = False) -> Location:
        """Returns the place of the value at ``path``."""
        return self.pod.locate(path, key=key) or self.declared.at(*self.otherwise)

    def value(self, path: KeyPath) -> object:
        """Returns the value at ``path``; None if there is no value."""
        return value_at(self.pod.data, *path)

    def source_text(self, path: KeyPath) -> str | None:
        """Returns None: no file contains the text of the whole pod."""
        return None


class JudgedTasks:
    """The pods and findings of earlier tasks. Each distinct pod, and each finding, counts once."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.pods = fleet, set[str]()
        self._findings = set[tuple[Rule, str, Location | None]]()

    def new(self, findings: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
        """Yields the findings that no other task has."""
        for finding in findings:
            if (key := (finding.rule, finding.message, finding.location)) not in self._findings:
                self._findings.add(key)
                yield finding


def check_task_platform(sent: tuple[FleetWorkflow, FleetTask], judged: JudgedTasks) -> Iterator[Diagnostic]:
    """Checks a task against the platforms and pod templates of its pool."""
    yield from judged.new(_of_task(*sent, judged))


def check_unused_platforms(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks platforms and pod templates that no workflow uses, each with one sample task."""
    yield from JudgedTasks(fleet).new((*_of_pools(fleet), *_of_nodes(fleet)))


def _of_task(workflow: FleetWorkflow, task: FleetTask, judged: JudgedTasks) -> Iterator[Diagnostic]:
    if workflow.pool.platforms.by_name:
        resource, pool = task.resource, workflow.pool
        if resource.spec.platform is None and pool.declared.spec.spec.default_platform is None:
            names = ", ".join(pool.platforms.by_name)
            message = f'the task "{task.name}" has no platform: pool {pool.name} has {names}, and no default_platform'
            hint = "Name one in its resource: platform."
            yield Diagnostic(PLATFORM_UNNAMED, message, workflow.declared.at_key(*resource.path), hint=hint)
        yield from _allowed(workflow, task)
    # Checks a task against resource validations. Follows `ResourceAssertion.evaluate` of OSMO
    # (src/utils/connectors/postgres.py). Skips a validation if one of its tokens has no value.
    for validation in task.platform.validations:
        rule, texts = validation.rule, dict[str, str | None]()
        for name in ("left_operand", "right_operand") if not _node_tokens(validation) else ():
            try:
                texts[name] = filled(str(getattr(rule, name)), task.values)
            except NotFilledError as error:
                yield Diagnostic(POD_TEMPLATE_TOKEN, error.message, validation.at((name,)), hint=error.hint)
        operands = texts.get("left_operand"), texts.get("right_operand")
        if operands[0] is None or operands[1] is None:
            continue
        left_amount, right = (_measured(text) for text in operands if text is not None)
        if type(left_amount) is not type(right) and rule.operator != "EQ":
            message = (
                f'{rule.operator} cannot compare "{operands[0]}" with "{operands[1]}": one is an amount, the other text'
            )
            yield Diagnostic(POD_TEMPLATE_TOKEN, message, validation.at(), hint="Compare two amounts, or two texts.")
            continue
        holds, words = _COMPARED[rule.operator]
        if not holds(left_amount, right):
            requirement = f'for the task "{task.name}", {operands[0]} must be {words}{operands[1]}'
            message = f"{_told(validation, task)}: {requirement}"
            related = (Related("the resource validation", validation.at()),)
            hint = "Change what its resource asks for, or choose another platform."
            yield Diagnostic(RESOURCE_VALIDATION, message, _place(workflow, task, validation), related, hint=hint)
    if not task.platform.is_plain:
        name_path: KeyPath = (*task.path, "name")
        yield from _pod(judged.fleet, workflow.pool, task, workflow.declared, name_path, judged.pods)


def _of_pools(fleet: Fleet) -> Iterator[Diagnostic]:
    used, judged = fleet.used_platforms, set[str]()
    for pool in fleet.pools:
        every = [*pool.platforms.by_name.values()] or [pool.platforms.base]
        yield from _reserved(template for platform in every for template in platform.templates)
        for platform in every:
            if (pool.name, platform.name) not in used and not platform.is_plain:
                yield from _pod(fleet, pool, sample_task(pool, platform), pool.declared, platform.path, judged)


def _allowed(workflow: FleetWorkflow, task: FleetTask) -> Iterator[Diagnostic]:
    """Checks a task's access to its node. Follows ``validate_privilege_host_mount`` of OSMO (src/utils/job/task.py)."""
    platform, spec = task.platform, task.platform.spec
    if not platform.name:
        return
    called = f'platform "{platform.name}" of pool {workflow.pool.name}'
    related = (Related(called, platform.pool.origin.locate(platform.path, key=True)),)
    for field, allowed in (("privileged", spec.privileged_allowed), ("hostNetwork", spec.host_network_allowed)):
        if getattr(task.spec, field) and not allowed:
            location = workflow.declared.at_key(*task.path, field)
            message = f'{called} does not allow {field}, which the task "{task.name}" asks for'
            yield Diagnostic(
                PLATFORM_FORBIDS, message, location, related, hint="Remove it, or choose another platform."
            )
    for index, mount in enumerate(task.spec.volumeMounts):
        path = mount.partition(":")[0]
        if path in spec.allowed_mounts:
            continue
        location = workflow.declared.at(*task.path, "volumeMounts", index)
        if path in spec.default_mounts:
            message = f'{called} mounts {path} into every task by itself, and the task "{task.name}" mounts it too'
            yield Diagnostic(PLATFORM_FORBIDS, message, location, related, hint="Remove it.")
            continue
        message = f'{called} does not allow the task "{task.name}" to mount {path}'
        allowed_mounts = f"It allows {', '.join(spec.allowed_mounts)}." if spec.allowed_mounts else "It allows none."
        yield Diagnostic(PLATFORM_FORBIDS, message, location, related, hint=allowed_mounts)


def _reserved(templates: Iterable[PlatformTemplate]) -> Iterator[Diagnostic]:
    for template in templates:
        metadata = {kind: getattr(template.body.metadata, kind) for kind in _RESERVED}
        for path in reserved_in(metadata, template.body.spec):
            called = f"the field {path[1]} of a workflow's pods"
            if len(path) > 2:
                called = f'the {path[1].removesuffix("s")} "{path[2]}"'
            message = f"{called} is set by {setter_of(path[-1])}"
            yield Diagnostic(POD_TEMPLATE_RESERVED, message, template.at(path, key=True), hint="Remove it.")


def reserved_in(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Yields the paths in a pod template that kubectl-tas itself sets."""
    for kind, reserved in _RESERVED.items():
        reserved_map = metadata.get(kind)
        for key in reserved_map if isinstance(reserved_map, Mapping) else ():
            if str(key).startswith(_RESERVED_PREFIXES) or key in reserved or state_of(str(key)):
                yield "metadata", kind, key
    for key in ("schedulerName", "priorityClassName", "restartPolicy", "hostname", "subdomain"):
        if key in spec and (key, spec[key]) != ("restartPolicy", "Never"):
            yield "spec", key


def _pod(
    fleet: Fleet, pool: FleetPool, task: FleetTask, declared: Declared[Any], where: KeyPath, judged: set[str]
) -> Iterator[Diagnostic]:
    """Checks the pod of a task, or of a sample task. Each distinct pod is checked once."""
    for problem in task.template.problems:
        yield Diagnostic(POD_TEMPLATE_TOKEN, problem.message, problem.location, hint=problem.hint)
    priority = fleet.config.priorityClasses.NORMAL
    task_pod = pod_spec(task.spec, task.resource.spec, pool.backend.scheduler_name, priority, task.platform.nodes)
    pod = on_platform(task, task_pod)
    # Files of a task at a path where its platform mounts something: an API server refuses the pod.
    # check.mounts covers the task's own mounts.
    if task.spec.files and is_pod(pod.data["spec"]):
        itself = {mount.rpartition(":")[2] for mount in task.spec.volumeMounts} | {*mounted_secrets(task.spec).values()}
        mounts = pod.data["spec"]["containers"][0].get("volumeMounts") or ()
        paths = [mount.get("mountPath") if isinstance(mount, dict) else None for mount in mounts]
        index_of_path = {normal(p): i for i, p in enumerate(paths) if isinstance(p, str) and p not in itself}
        for number, file in enumerate(task.spec.files):
            index = index_of_path.get(normal(with_tokens(file.path, data_paths(task.spec))))
            if index is not None:
                platform = task.platform
                by_default = platform.pool.at(*platform.path, "default_mounts")
                location_of_mount = pod.locate(("spec", "containers", 0, "volumeMounts", index))
                at = by_default if paths[index] in platform.spec.default_mounts else location_of_mount
                related = (Related("mounted here", at),)
                message = f'the file "{file.path}" stands where its platform or a pod template mounts something'
                location = declared.at(*task.path, "files", number, "path")
                yield Diagnostic(MOUNT_PATH, message, location, related, hint="Change one of the paths.")
    reported_places = {problem.location for problem in task.template.problems}
    text = json.dumps([pool.name, task.platform.name, _without(pod.data, task)], sort_keys=True, default=str)
    if text in judged:
        return
    judged.add(text)
    origin = _Made(pod, declared, where)
    for diagnostic in _faults(fleet, origin, pool, said_by(task.spec)):
        if diagnostic.location not in reported_places:
            yield diagnostic


def _without(pod: dict[str, Any], task: FleetTask) -> dict[str, Any]:
    """Returns a pod without the fields that differ between tasks. Other rules have checked those."""
    containers = pod["spec"].get("containers")
    if not is_pod(pod["spec"]):
        return pod
    rest_of_container = {k: v for k, v in containers[0].items() if k not in ("name", "image", "command", "args")}
    return {**pod, "spec": {**pod["spec"], "containers": [rest_of_container, *containers[1:]]}}


def _faults(fleet: Fleet, origin: _Made, pool: FleetPool, reported_names: Collection[str]) -> Iterator[Diagnostic]:
    """Yields the errors in a pod. Other rules check the values of ``reported_names``."""
    notes = origin.data.get("metadata", {})
    for key, value in notes.get("labels", {}).items():
        try:
            _LABEL_VALUE.validate_python(value)
        except ValidationError:
            message = f'the label {key} would have the value "{value}", which no label can have'
            hint = "A value has at most 63 letters, digits, '-', '_' and '.', a letter or digit at both ends."
            yield Diagnostic(INVALID_VALUE, message, origin.locate(("metadata", "labels", key)), hint=hint)
    yield from check_pod(origin, pool.backend.spec.kubernetes)
    for section_part in parts(origin.data):
        owner, path, mapping = section_part
        if path[0] == "metadata":
            unreserved = {key: value for key, value in mapping.items() if not key.startswith(_RESERVED_PREFIXES)}
            yield from keys_of(origin, (owner, path, unreserved))
        if owner != "labels":
            yield from backdoors_of(origin, section_part, {})
        yield from resources_of(origin, section_part)
        yield from devices_of(origin, section_part, {}, but=reported_names)
        yield from secrets_of(origin, section_part, reported_names)
    if is_pod(origin.data["spec"]):
        yield from check_made_pod(origin, fleet)
        try:
            spec = read_spec(origin.data["spec"])
        except ValidationError as error:
            first_error = error.errors()[0]
            path = ("spec", *(step for step in first_error["loc"]))
            message = f'"{first_error["input"]}" cannot be what a pod asks for'
            yield Diagnostic(
                INVALID_VALUE, message, origin.locate(path), hint="Write a whole number of GPUs, or a quantity."
            )
        else:
            yield from check_pod_gpus(origin, spec, notes.get("annotations", {}))


def _told(validation: PlatformValidation, task: FleetTask) -> str:
    """Returns the message of a validation, with unfilled tokens if one of them has no value."""
    assert_message = validation.rule.assert_message
    try:
        return filled(assert_message, task.values) or assert_message
    except NotFilledError:
        return assert_message


def _measured(text: str) -> Fraction | str:
    """Returns a number, with bytes in KiB; or the text itself if it is not an amount."""
    amount_match = AMOUNT.fullmatch(text.strip())
    return (
        Fraction(amount_match[1]) * _UNITS[amount_match[2]]
        if amount_match is not None and amount_match[2] in _UNITS
        else text
    )


def _place(workflow: FleetWorkflow, task: FleetTask, validation: PlatformValidation) -> Location:
    """Returns the place of the resource field that a validation is about, else the place of the resource."""
    used, resource = _used(validation), task.resource
    for token, name in _FIELDS.items():
        if token in used and name in resource.spec.model_fields_set:
            return workflow.declared.at(*resource.path, name)
    return workflow.declared.at_key(*resource.path)


def _used(validation: PlatformValidation) -> frozenset[str]:
    return tokens_in(str(validation.rule.left_operand)) | tokens_in(str(validation.rule.right_operand))


def _node_tokens(validation: PlatformValidation) -> list[str]:
    """Returns the tokens for the capacity of a node."""
    return [name for name in NODE_TOKENS if name in _used(validation)]


def _of_nodes(fleet: Fleet) -> Iterator[Diagnostic]:
    """Reports one finding for all validations that compare with nodes, at the first one."""
    names_by_location: dict[Location, list[str]] = {}
    for pool in fleet.pools:
        for platform in (pool.platforms.base, *pool.platforms.by_name.values()):
            for validation in platform.validations:
                if used := _node_tokens(validation):
                    names_by_location.setdefault(validation.at(), used)
    if names_by_location:
        first_location = next(iter(names_by_location))
        other_count = f" (and {len(names_by_location) - 1} more)" if len(names_by_location) > 1 else ""
        tokens = ", ".join(
            f"{{{{{name}}}}}" for name in dict.fromkeys(name for used in names_by_location.values() for name in used)
        )
        message = (
            f"this resource validation{other_count} compares with what nodes have ({tokens}), which is not known here"
        )
        yield Diagnostic(VALIDATION_OF_NODES, message, first_location, hint="kubectl-tas does not check it; OSMO does.")
