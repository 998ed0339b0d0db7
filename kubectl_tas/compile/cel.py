"""CEL for the guard: tables of what the repository declares, what a Pod or PodGroup says, and what a Pod asks for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from kubectl_tas import gpus
from kubectl_tas.model import labels
from kubectl_tas.model.backdoors import BACKDOORS
from kubectl_tas.model.policies import Expression, Validation
from kubectl_tas.quantities import ResourceName

MAX_ENTRIES, MAX_CHARACTERS = 500, 80_000
"""Queues in one CEL expression, and its length; 500 names of 63 characters are 37,000 characters, and an API server
takes 100,000.
"""
JUDGED_LABELS = tuple(item.key for item in BACKDOORS if item.on_pods)
"""Labels of a pod that say where it is counted, and as what."""
RESIZED = "has(request.subResource) && request.subResource == 'resize'"
"""Whether the request changes cpu or memory of a pod that runs."""
_UNITS = {"cpu": 1000, "memory": 1}
"""What a quantity is multiplied by to be millicores or bytes."""
_MOST = "9.0e18"
"""More than anybody has of a resource, and still an int in CEL."""
_MEBIBYTE, _GIBIBYTE = 2**20, 2**30
_NAMED = "variables.queue"


def let(name: str, expression: str) -> Expression:
    """A variable, or a condition with its name."""
    return Expression(name=name, expression=expression)


def refuse_unless(expression: str, message: str) -> Validation:
    """What must hold, and in CEL what is said where it does not."""
    return Validation(expression=expression, messageExpression=message, reason="Forbidden")


def tables(name: str, entries: list[str], brackets: str) -> tuple[Expression, ...]:
    """Entries as one CEL literal, or as several where they are many: an expression has its maximal length."""
    parts: list[list[str]] = [[]]
    length = 0
    for entry in entries:
        if len(parts[-1]) == MAX_ENTRIES or length + len(entry) > MAX_CHARACTERS:
            parts.append([])
            length = 0
        parts[-1].append(entry)
        length += len(entry) + 2
    return tuple(
        let(name if index == 1 else f"{name}{index}", f"{brackets[0]}{', '.join(part)}{brackets[1]}")
        for index, part in enumerate(parts, 1)
    )


def looked_up(tables: Iterable[Expression], otherwise: str, part: str = "", *, key: str = _NAMED) -> str:
    """What tables have for the queue that is named, or for another ``key``, or a part of that."""
    found = (f"{holds(table, key)} ? variables.{table.name}[{key}]{part}" for table in tables)
    return " : ".join((*found, otherwise))


def holds(table: Expression, key: str = _NAMED) -> str:
    """Whether a table has the queue that is named, or another ``key``."""
    return f"{key} in variables.{table.name}"


def group_field(group: str, name: str) -> str:
    """A field of the spec of a PodGroup; '' where it is absent."""
    return f"has({group}.spec) && has({group}.spec.{name}) ? string({group}.spec.{name}) : ''"


def label(pod: str, name: str) -> str:
    """A label; '' where it is absent."""
    return value(pod, "labels", name)


def value(pod: str, part: str, name: str) -> str:
    """A label or an annotation; '' where it is absent."""
    where = f"{pod}.metadata.{part}"
    return f"has({where}) && {text(name)} in {where} ? string({where}[{text(name)}]) : ''"


def any_label_changed() -> str:
    """Whether a label was added, changed or removed that says where a pod is counted, or as what."""
    new, old = (f"(has({pod}.metadata.labels) && k in {pod}.metadata.labels ? {pod}.metadata.labels[k] : '')"
                for pod in ("object", "oldObject"))  # fmt: skip
    return f"{listed(JUDGED_LABELS)}.exists(k, {new} != {old})"


def gpu_notes_changed() -> str:
    """Whether an annotation in which KAI reads GPUs was added, changed or removed."""
    is_read = f"({_is_gpu_note()})"
    new, old = (f"(has({pod}.metadata.annotations) ? {pod}.metadata.annotations : {{}})"
                for pod in ("object", "oldObject"))  # fmt: skip
    changed = f"{new}.exists(k, {is_read} && !(k in {old} && {old}[k] == {new}[k]))"
    return f"{changed} || {old}.exists(k, {is_read} && !(k in {new}))"


def _is_gpu_note() -> str:
    """Whether ``k`` is an annotation in which KAI reads GPUs."""
    return f"k in {listed(gpus.ANNOTATIONS)} || k.matches({text(gpus.MIG)})"


def joins_another() -> str:
    """Whether the PodGroup that a pod names was added, changed or removed."""
    new, old = (f"({value(pod, 'annotations', labels.POD_GROUP)})" for pod in ("object", "oldObject"))
    return f"{new} != {old}"


def counts() -> str:
    """Whether an object has a label or an annotation that KAI counts a pod by."""
    own = "has(object.metadata.{0}) && object.metadata.{0}.exists(k, {1})"
    notes = f"{_is_gpu_note()} || k == {text(labels.POD_GROUP)}"
    return f"{own.format('labels', f'k in {listed(JUDGED_LABELS)}')} || {own.format('annotations', notes)}"


def amount_variables(resource: ResourceName) -> Iterator[Expression]:
    """What the pod that is ``object`` asks for of cpu in millicores or of memory in bytes, as ``PodSpec.asks_with`` has
    it: the last of these variables, which stand after those of ``gpus.cel_variables``.

    CEL has no sum of quantities, so they are added as doubles, which is exact for bytes up to 2^53, and then rounded to
    the nearest unit: an API server has rounded cpu up to millicores before any policy sees it.
    """

    def asked(container: str) -> str:
        parts = (f"{container}.resources.{part}" for part in ("requests", "limits"))
        found = (f"has({part}) && '{resource}' in {part} ? {_number(part, resource)}" for part in parts)
        return f"!has({container}.resources) ? 0.0 : {' : '.join(found)} : 0.0"

    init, overhead = f"{resource}OfInit", "object.spec.overhead"
    starting, running = gpus.cel_at_most(asked, init, "0.0")
    most = f"([{running}] + {starting}).max()"
    beside = f"(has({overhead}) && '{resource}' in {overhead} ? {_number(overhead, resource)} : 0.0)"
    yield let(init, f"variables.initContainers.map(i, {asked('i')})")
    yield let(resource, f"int([({most} + {beside}) * {_UNITS[resource]}.0 + 0.5, {_MOST}].min())")


def _number(amounts: str, resource: ResourceName) -> str:
    return f"quantity(string({amounts}['{resource}'])).asApproximateFloat()"


def shown(resource: ResourceName, amount: str) -> str:
    """An amount as text, for people."""
    match resource:
        case "gpu":
            return _decimal(amount, 100)
        case "cpu":
            return _decimal(amount, 1000)
        case "memory":
            units = ((_GIBIBYTE, "Gi"), (_MEBIBYTE, "Mi"))
            found = (f"{amount} % {size} == 0 ? string({amount} / {size}) + '{unit}'" for size, unit in units)
            return f"({amount} == 0 ? '0' : {' : '.join(found)} : string({amount}))"


def _decimal(amount: str, parts: int) -> str:
    return f"({amount} % {parts} == 0 ? string({amount} / {parts}) : string(double({amount}) / {parts}.0))"


def listed(values: Iterable[str]) -> str:
    """Strings as a list in CEL."""
    return f"[{', '.join(map(text, values))}]"


def text(value: str) -> str:
    """A string as CEL has it."""
    return "'" + json.dumps(value)[1:-1].replace("'", "\\'") + "'"
