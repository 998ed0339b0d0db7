"""Checks the names in a workflow of steps: entrypoint, templates, tasks and parameters.

Follows ``Workflow``, ``validateDAG`` and ``resolveAllVariables`` of workflow/validate/validate.go and ``ProcessArgs``
of workflow/common/util.go, read in Argo 4.1. Its controller fails a workflow that names something else. Names with
parameters, templates of other objects and expressions are left out: only a run tells them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubectl_tas.base.late import late_pattern
from kubectl_tas.base.words import closest, did_you_mean, question, shortened
from kubectl_tas.kinds.section import Refused, Section, children, listed, mappings
from kubectl_tas.kinds.step_pods import needed_tasks
from kubectl_tas.model.base import KeyPath

_VARIABLE = late_pattern(r"\{\{\s*((?:inputs|workflow)\.parameters|inputs\.artifacts|tasks|steps)\.([\w-]+)[^{}]*\}\}")
"""A variable, with what it belongs to and its name. Behind the name may be a field, such as ``path``."""
_OF_ALL = ("json", "name")
"""Words of Argo that are in the place of a name: all parameters of a workflow, and the name of the step itself."""
_PLACES = {
    "workflow.parameters": "spec.arguments.parameters",
    "inputs.parameters": "inputs.parameters of the template",
    "inputs.artifacts": "inputs.artifacts of the template",
    "tasks": "dag.tasks of the template",
    "steps": "steps of the template",
}
_NO_TEMPLATE, _NO_TASK = "this workflow has no template", "this DAG has no task"


def check_names(spec: Section) -> Iterator[Refused]:
    """Checks the spec of a workflow. Of one that comes from a WorkflowTemplate, the file has only a part."""
    templates = list(spec.each("templates"))
    if not templates or spec.get("workflowTemplateRef") is not None:
        return
    by_name = {str(template.get("name")): template for template in templates}
    known = list(by_name)
    for field in ("entrypoint", "onExit"):
        yield from _unknown(spec, spec.get(field), known, _NO_TEMPLATE, field)
    given = _named(spec.below("arguments"), "parameters")
    entry = by_name.get(str(spec.get("entrypoint")))
    if entry is not None:
        yield from _missing(entry, spec, "entrypoint")
    for template in templates:
        yield from _tasks(template)
        others = [name for name in known if name != template.get("name")]  # one that calls itself never ends
        for call in _calls(template):
            yield from _unknown(call, call.get("template"), known, _NO_TEMPLATE, "template", offered=others)
            called = by_name.get(str(call.get("template")))
            if called is not None:
                yield from _missing(called, call, "template")
        yield from _variables(template, given)


def _calls(template: Section) -> Iterator[Section]:
    """Yields the steps and the tasks of a template."""
    for index, group in enumerate(listed(template.get("steps"))):
        for number in range(len(listed(group))):
            yield template.below("steps", index, number)
    yield from template.below("dag").each("tasks")


def _tasks(template: Section) -> Iterator[Refused]:
    """Checks which tasks the tasks of a DAG wait for."""
    dag = template.below("dag")
    known = [str(task.get("name")) for task in dag.each("tasks")]
    for task in dag.each("tasks"):
        for index, name in enumerate(listed(task.get("dependencies"))):
            yield from _unknown(task, name, known, _NO_TASK, "dependencies", index)
        depends = task.get("depends")
        for name in needed_tasks({"depends": depends}) if isinstance(depends, str) and "{{" not in depends else ():
            yield from _unknown(task, name, known, _NO_TASK, "depends")


def _missing(template: Section, caller: Section, field: str) -> Iterator[Refused]:
    """Checks that a template gets each of its inputs that has no value of its own. ``caller`` is a step, a task or the
    workflow, and ``field`` names the template.
    """
    inputs = mappings(template.below("inputs").get("parameters"))
    names = [str(parameter.get("name")) for parameter in inputs]
    given = _named(caller.below("arguments"), "parameters")
    for parameter, name in zip(inputs, names, strict=True):
        if name in given or any(parameter.get(value) is not None for value in ("value", "default", "valueFrom")):
            continue
        message = f'nothing gives the parameter "{name}" to the template {template.get("name")}'
        meant = next((other for other in given if other not in names and closest(other, [name])), None)
        if meant is not None:
            steps = ("arguments", "parameters", given.index(meant), "name")
            yield caller.refused(message, question(meant, name), *steps)
        else:
            hint = f"Add it to {caller.at('arguments', 'parameters')}, or give it a default in inputs of the template."
            yield caller.refused(message, hint, field)


def _variables(template: Section, of_workflow: list[str]) -> Iterator[Refused]:
    """Checks the variables in the texts of a template and of those that are inline in it."""
    inputs, calls = [template.below("inputs")], list(_calls(template))
    inputs += [call.below("inline", "inputs") for call in calls]
    called = [str(call.get("name")) for call in calls]
    known = {
        "workflow.parameters": of_workflow,
        "inputs.parameters": [name for part in inputs for name in _named(part, "parameters")],
        "inputs.artifacts": [name for part in inputs for name in _named(part, "artifacts")],
        "tasks": called,
        "steps": called,
    }
    for path, text in _texts(template.value):
        for holder, name in dict.fromkeys(_VARIABLE.findall(text)):
            if name not in known[holder] and name not in _OF_ALL:
                hint = did_you_mean(name, known[holder], f"Known: {shortened(known[holder])}." if known[holder] else "")
                message = f"nothing sets {{{{{holder}.{name}}}}} in the template {template.get('name')}"
                yield template.refused(message, hint or f"Add {name} to {_PLACES[holder]}.", *path)


def _named(holder: Section, field: str) -> list[str]:
    """Returns the names of the parameters or artifacts in arguments or inputs."""
    return [str(each.get("name")) for each in mappings(holder.get(field))]


def _texts(value: Any) -> Iterator[tuple[KeyPath, str]]:
    """Yields the texts with variables below a value, each with its path."""
    waiting: list[tuple[KeyPath, Any]] = [((), value)]
    while waiting:
        path, each = waiting.pop()
        if isinstance(each, str) and "{{" in each:
            yield path, each
        waiting += (((*path, key), inner) for key, inner in children(each))


def _unknown(
    of: Section, name: Any, known: list[str], message: str, *steps: str | int, offered: list[str] | None = None
) -> Iterator[Refused]:
    """Reports a name that is not known. The help offers ``offered``, by default what is known."""
    if isinstance(name, str) and name and "{{" not in name and name not in known:
        choices = known if offered is None else offered
        hint = did_you_mean(name, choices, f"Name {shortened(choices)}." if choices else "Remove it.")
        yield of.refused(f'{message} "{name}"', hint, *steps)
