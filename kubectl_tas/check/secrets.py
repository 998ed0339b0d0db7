"""Finds secrets in clear text: in variables, command lines, files of tasks, and ConfigMaps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from kubectl_tas.base.credentials import is_marked, kind_of, shape_of
from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule, Waiving
from kubectl_tas.kinds import environment
from kubectl_tas.kinds.backdoors import Part
from kubectl_tas.kinds.section import listed
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.osmo_workflow import Task
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workflows import FleetWorkflow

SECRET_IN_CLEAR = Rule.warning(
    "secret-in-clear",
    "A file holds a password, a token or a private key.",
    "Anybody who can read the repository, its history, or pods in the cluster can use it. Create a Secret in the "
    "cluster. A workload takes a variable from it with valueFrom.secretKeyRef, a task of OSMO with credentials. Then "
    "revoke the old secret: it stays in the history of git.",
    protects=Waiving.ANYBODY,
)
_WORKLOAD = "Put it into a Secret, and take it from there: valueFrom: {secretKeyRef: {name: SECRET, key: KEY}}."
_FILE = "Put it into a Secret, and mount that."


def secrets_of(origin: Origin, section_part: Part, but: Collection[str] = ()) -> Iterator[Diagnostic]:
    """Finds secrets in a container's variables and command line, except for the variables and words in ``but``."""
    owner, path, container = section_part
    if owner != "container":
        return
    variables = [*environment.variables(container)]
    words = {field: listed(container.get(field)) for field in ("command", "args")}
    if not _may_hold(
        [variable.name for variable in variables], [variable.value for variable in variables], *words.values()
    ):
        return
    for variable in variables:
        if (kind := kind_of(variable.name, variable.value)) and variable.name not in but:
            yield _found(f"the variable {variable.name}", kind, origin.locate((*path, *variable.path)), _WORKLOAD)
    for field, field_texts in words.items():
        for index, word in enumerate(field_texts):
            if (kind := shape_of(word)) and word not in but:
                yield _found(f"{field}[{index}]", kind, origin.locate((*path, field, index)), _WORKLOAD)


def _may_hold(names: Iterable[object], *texts: Iterable[object]) -> bool:
    """Whether a detailed search is worth its time. Searches all names at once, and all texts at once."""
    names_text = "\n".join([name for name in names if isinstance(name, str)]).upper()
    if "TOKEN" in names_text or "KEY" in names_text or "PASS" in names_text or "SECRET" in names_text:
        return True
    return is_marked("\n".join([text for texts_of_part in texts for text in texts_of_part if isinstance(text, str)]))


def check_workflow_secrets(workflow: FleetWorkflow, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds secrets in the tasks of a workflow; check.keys covers workloads."""
    tasks = [task for group in workflow.groups for task in group.tasks]
    names: list[object] = []
    texts: list[object] = []
    for spec in (task.spec for task in tasks):
        names += spec.environment
        texts += spec.environment.values()
        texts += spec.command
        texts += spec.args
        texts += [file.contents for file in spec.files]
    if _may_hold(names, texts):
        for task in tasks:
            yield from _of_task(workflow.declared.origin, task.path, task.spec)


def check_companion_secrets(companion: FleetCompanion, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Finds secrets in a ConfigMap."""
    contents = companion.declared.origin.value(("data",)) if companion.kind == "ConfigMap" else None
    for key, value in contents.items() if isinstance(contents, dict) else ():
        if kind := kind_of(key, value):
            yield _found(f"the key {key}", kind, companion.declared.at("data", key), _FILE)


def _of_task(origin: Origin, path: KeyPath, task: Task) -> Iterator[Diagnostic]:
    hint = "Put it into a Secret, and name that in credentials of the task: {}."
    for name, value in task.environment.items():
        if kind := kind_of(name, value):
            task_hint = hint.format(f"SECRET: {{{name}: KEY}}")
            yield _found(f"the variable {name}", kind, origin.locate((*path, "environment", name)), task_hint)
    for field in ("command", "args"):
        for index, word in enumerate(getattr(task, field)):
            if kind := shape_of(word):
                location = origin.locate((*path, field, index))
                yield _found(f"{field}[{index}]", kind, location, hint.format("SECRET: {VARIABLE: KEY}"))
    for index, file in enumerate(task.files):
        if kind := shape_of(file.contents):
            location = origin.locate((*path, "files", index, "contents"))
            yield _found(f"the file {file.path}", kind, location, hint.format("SECRET: /folder"))


def _found(holder: str, kind: str, location: Location, hint: str) -> Diagnostic:
    """Returns the finding. Its place has no text, because the text would show the secret."""
    shown = replace(location, source="", length=1, source_column=1)
    return Diagnostic(SECRET_IN_CLEAR, f"{holder} holds {kind} in clear", shown, hint=hint)
