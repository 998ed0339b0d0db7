"""Reports what OSMO refuses of a workflow, or reads otherwise, that nothing else finds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_tas.base.diagnostics import Diagnostic, Related, Rule, Waiving
from kubectl_tas.base.words import did_you_mean
from kubectl_tas.check.object_names import workflow_names
from kubectl_tas.kinds.section import child
from kubectl_tas.load.reader import reads_alike
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.osmo_workflow import Task, Workflow
from kubectl_tas.model.repository import Declared
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet

OSMO_REFUSES = Rule.warning(
    "osmo-refuses",
    "OSMO refuses a workflow, or reads a value of it otherwise.",
    "The rendered objects run without OSMO, but the same file cannot be submitted to it. OSMO takes version 2; names "
    "that begin with a letter, and differ across groups and tasks; one lead in a group; inputs of tasks in groups that "
    "stand before. It reads files by YAML 1.1, where `no` is false and 1:30 is 90. A file that names its version is "
    "taken for one that OSMO gets: then each task also needs a command, and each group of several tasks a lead. "
    "Sources: WorkflowSpec and VersionedWorkflowSpec of src/utils/job/workflow.py, TaskSpec and TaskGroupSpec of "
    "src/utils/job/task.py of OSMO, August 2026.",
    protects=Waiving.ANYBODY,
)
VERSION = 2
"""The version of OSMO's format; a file without one has this."""
_NAME = re.compile(r"[a-zA-Z]([a-zA-Z0-9_-]*[a-zA-Z0-9])?")
"""``NAMEREGEX`` of OSMO's src/utils/job/common.py."""


def check_osmo_refusals(declared: Declared[Workflow], _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks what OSMO demands of a workflow, whether its pool exists or not."""
    spec = declared.spec
    if spec.version not in (None, VERSION):
        hint = f"Write version: {VERSION}, or leave it out."
        message = f"OSMO takes version {VERSION} of its format, not {spec.version}"
        yield Diagnostic(OSMO_REFUSES, message, declared.at("version"), hint=hint)
    # Names that do not begin with a letter and end with a letter or digit, and groups named as a task.
    parts = [part for part in workflow_names(declared.spec) if part[0] != "resource"]
    tasks = {names.fold(name): (name, path) for kind, name, path in reversed(parts) if kind == "task"}
    for kind, name, path in parts:
        task_name, task_path = tasks.get(names.fold(name), ("", ()))
        if kind == "group" and task_path:
            message = f'the group "{name}" has the name of a task, and OSMO refuses two equal names'
            related = (Related(f'task "{task_name}"', declared.at(*task_path)),)
            yield Diagnostic(OSMO_REFUSES, message, declared.at(*path), related, hint="Rename the group.")
        if not _NAME.fullmatch(name):
            message = f'the {kind} name "{name}" must begin with a letter and end with a letter or digit for OSMO'
            yield Diagnostic(OSMO_REFUSES, message, declared.at(*path), hint="Put a letter in front of it.")
    for group, path, task_paths in spec.all_groups:
        # A group of several tasks with more than one lead; if the file names its version, one with none.
        leads = [task_path for task, task_path in zip(group.tasks, task_paths, strict=True) if task.lead]
        if len(leads) > 1:
            message = f'the group "{group.name}" has {len(leads)} leads, and OSMO takes one'
            related = (Related("a lead", declared.at(*leads[0], "lead")),)
            location = declared.at(*leads[1], "lead")
            yield Diagnostic(OSMO_REFUSES, message, location, related, hint="Keep one lead: the task whose end counts.")
        elif not leads and len(group.tasks) > 1 and declared.spec.version is not None:
            message = f'the group "{group.name}" has no lead, and OSMO needs one for several tasks'
            hint = "Write lead: true in the task whose end counts."
            yield Diagnostic(OSMO_REFUSES, message, declared.at(*path, "name"), hint=hint)
        for task, task_path in zip(group.tasks, task_paths, strict=True):
            if not task.command and spec.version is not None:
                message = f'the task "{task.name}" has no command, and OSMO takes none from the image'
                yield Diagnostic(OSMO_REFUSES, message, declared.at(*task_path, "name"), hint="Add command.")
            yield from _values(declared, task, task_path)
    yield from _inputs(declared)


def _values(declared: Declared[Workflow], task: Task, task_path: KeyPath) -> Iterator[Diagnostic]:
    """Reports words and numbers that YAML 1.1, as OSMO reads it, and kubectl read otherwise."""
    in_file = declared.origin.value(task_path)
    for field in ("environment", "command", "args"):
        values, fields = getattr(task, field), child(in_file, field)
        texts = fields.values() if isinstance(fields, dict) else fields if isinstance(fields, list) else ()
        if all(type(text) is str and reads_alike(text) for text in texts) and len(texts) == len(values):
            continue  # the text of each is the same, but for quotes
        for step, value in values.items() if isinstance(values, dict) else enumerate(values):
            if type(text := child(fields, step)) is str and reads_alike(text):
                continue
            text = declared.origin.source_text((*task_path, field, step))
            if text is None or reads_alike(text):
                continue
            location = declared.at(*task_path, field, step)
            if location.source[location.column - location.source_column :][:1] not in ("'", '"', "|", ">"):
                message = f'OSMO reads files by YAML 1.1, where {text} may be another value than "{value}"'
                yield Diagnostic(OSMO_REFUSES, message, location, hint=f'Put it in quotes: "{text}".')


def _inputs(declared: Declared[Workflow]) -> Iterator[Diagnostic]:
    """Reports inputs of tasks that do not exist, or whose group does not stand before (``_validate_groups``)."""
    spec = declared.spec
    group_of = {task.name: group for group, task, _ in spec.all_tasks}
    groups_before = set[int]()
    for group, _, task_paths in spec.all_groups:
        for task, task_path in zip(group.tasks, task_paths, strict=True):
            for index, task_input in enumerate(task.inputs):
                source = task_input.task
                if source is None or ":" in source or (source in group_of and id(group_of[source]) in groups_before):
                    continue
                message, hint = f'the input of the task "{task.name}" is the task "{source}", which ', ""
                if source not in group_of:
                    message += "does not exist"
                    hint = did_you_mean(source, group_of, "Name a task of a group above, or WORKFLOW:TASK.")
                elif group_of[source] is group:
                    message += "starts with it" if source != task.name else "is itself"
                    hint = "A task gets the outputs of groups that are done: move that task into a group above."
                else:
                    message += "stands below"
                    hint = "Move its group above this one; two groups cannot wait for each other."
                yield Diagnostic(OSMO_REFUSES, message, declared.at(*task_path, "inputs", index, "task"), hint=hint)
        groups_before.add(id(group))
