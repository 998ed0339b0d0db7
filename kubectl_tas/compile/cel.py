"""Writes CEL for the guard: tables of declared queues, fields of a Pod or PodGroup, and the resources of a Pod."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from kubectl_tas.facts import gpus
from kubectl_tas.facts.device_runtimes import cel_is_note as is_device_note
from kubectl_tas.facts.quantities import ResourceName
from kubectl_tas.kinds.backdoors import BACKDOORS, TIMES
from kubectl_tas.model import labels
from kubectl_tas.model.policies import Expression, Validation

MAX_ENTRIES, MAX_CHARACTERS = 500, 80_000
"""Maximum number of queues and of characters in one CEL expression. 500 names of 63 characters are 37,000 characters;
an API server accepts 100,000.
"""
JUDGED_LABELS = tuple(item.key for item in BACKDOORS if item.on_pods)
"""Labels that say where and how KAI counts a pod."""
RESIZED = "has(request.subResource) && request.subResource == 'resize'"
"""CEL: whether the request changes cpu or memory of a running pod."""
_UNITS = {"cpu": 1000, "memory": 1}
"""Factors that turn a quantity into millicores or bytes."""
_MOST = "9.0e18"
"""An amount that no resource reaches, and that still is an int in CEL."""
_MEBIBYTE, _GIBIBYTE = 2**20, 2**30
_NAMED = "variables.queue"


def let(name: str, expression: str) -> Expression:
    """Returns a variable, or a named condition."""
    return Expression(name=name, expression=expression)


def refuse_unless(expression: str, message: str) -> Validation:
    """Returns a validation: a condition, and the message in CEL if the condition is false."""
    return Validation(expression=expression, messageExpression=message, reason="Forbidden")


def tables(name: str, literals: list[str], brackets: str) -> tuple[Expression, ...]:
    """Returns the entries as CEL literals, in several variables if one expression would be too long."""
    chunks: list[list[str]] = [[]]
    length = 0
    for literal in literals:
        if len(chunks[-1]) == MAX_ENTRIES or length + len(literal) > MAX_CHARACTERS:
            chunks.append([])
            length = 0
        chunks[-1].append(literal)
        length += len(literal) + 2
    return tuple(
        let(name if index == 1 else f"{name}{index}", f"{brackets[0]}{', '.join(chunk)}{brackets[1]}")
        for index, chunk in enumerate(chunks, 1)
    )


def looked_up(tables: Iterable[Expression], otherwise: str, suffix: str = "", *, key: str = _NAMED) -> str:
    """Returns CEL for the value of the named queue, or of another ``key``, in tables; or ``suffix`` of that value."""
    choices = (f"{holds(table, key)} ? variables.{table.name}[{key}]{suffix}" for table in tables)
    return " : ".join((*choices, otherwise))


def holds(table: Expression, key: str = _NAMED) -> str:
    """Returns CEL for: the table has the named queue, or another ``key``."""
    return f"{key} in variables.{table.name}"


def group_field(group: str, name: str) -> str:
    """Returns CEL for a field in the spec of a PodGroup; '' if absent."""
    return f"has({group}.spec) && has({group}.spec.{name}) ? string({group}.spec.{name}) : ''"


def label(pod: str, name: str) -> str:
    """Returns CEL for a label; '' if absent."""
    return value(pod, "labels", name)


def value(pod: str, field: str, name: str) -> str:
    """Returns CEL for a label or an annotation; '' if absent."""
    where = f"{pod}.metadata.{field}"
    return f"has({where}) && {text(name)} in {where} ? string({where}[{text(name)}]) : ''"


def any_label_changed() -> str:
    """Returns CEL for: the request adds, changes or removes a label that says where or how KAI counts a pod."""
    return f"{listed(JUDGED_LABELS)}.exists(k, {_any_value('object', 'labels')} != {_any_value('oldObject', 'labels')})"


def times_changed() -> str:
    """Returns CEL for: the request sets, changes or removes a time of a PodGroup by which KAI evicts."""
    new, old = (_any_value(group, "annotations") for group in ("object", "oldObject"))
    return f"{listed(TIMES)}.exists(k, {new} != (request.operation == 'CREATE' ? '' : {old}))"


def _any_value(variable: str, field: str) -> str:
    """Returns CEL for the label or annotation ``k``; '' if absent."""
    where = f"{variable}.metadata.{field}"
    return f"(has({where}) && k in {where} ? {where}[k] : '')"


def gpu_notes_changed() -> str:
    """Returns CEL for: the request adds, changes or removes an annotation in which KAI reads GPUs."""
    is_read, new, old = f"({_is_gpu_note()})", _notes("object"), _notes("oldObject")
    changed = f"{new}.exists(k, {is_read} && !(k in {old} && {old}[k] == {new}[k]))"
    return f"{changed} || {old}.exists(k, {is_read} && !(k in {new}))"


def device_notes_changed() -> str:
    """Returns CEL for: the request adds or changes an annotation by which a runtime gives devices."""
    new, old = _notes("object"), _notes("oldObject")
    return f"{new}.exists(k, ({is_device_note('k', f'{new}[k]')}) && !(k in {old} && {old}[k] == {new}[k]))"


def _notes(pod: str) -> str:
    return f"(has({pod}.metadata.annotations) ? {pod}.metadata.annotations : {{}})"


def _is_gpu_note() -> str:
    """Returns CEL for: ``k`` is an annotation in which KAI reads GPUs."""
    return f"k in {listed(gpus.ANNOTATIONS)} || k.matches({text(gpus.MIG)})"


def joins_another() -> str:
    """Returns CEL for: the request adds, changes or removes the PodGroup that a pod names."""
    new, old = (f"({value(pod, 'annotations', labels.POD_GROUP)})" for pod in ("object", "oldObject"))
    return f"{new} != {old}"


def counts() -> str:
    """Returns CEL for: an object has a label or an annotation by which KAI counts a pod, or a runtime gives devices."""
    matches = "has(object.metadata.{0}) && object.metadata.{0}.exists(k, {1})"
    device = is_device_note("k", "object.metadata.annotations[k]")
    notes = f"{_is_gpu_note()} || k == {text(labels.POD_GROUP)} || {device}"
    return f"{matches.format('labels', f'k in {listed(JUDGED_LABELS)}')} || {matches.format('annotations', notes)}"


def amount_variables(resource: ResourceName) -> Iterator[Expression]:
    """Yields variables for the cpu (millicores) or memory (bytes) that the pod ``object`` requests, as
    ``PodSpec.asks_with`` does. The last variable is the result. All must follow those of ``gpus.cel_variables``.

    CEL cannot add quantities, so the variables add doubles (exact for bytes up to 2^53) and round to the nearest unit.
    An API server rounds cpu up to millicores before any policy runs.
    """

    def asked(container: str) -> str:
        fields = (f"{container}.resources.{field}" for field in ("requests", "limits"))
        choices = (f"has({field}) && '{resource}' in {field} ? {_number(field, resource)}" for field in fields)
        return f"!has({container}.resources) ? 0.0 : {' : '.join(choices)} : 0.0"

    init, overhead = f"{resource}OfInit", "object.spec.overhead"
    starting, running = gpus.cel_at_most(asked, init, "0.0")
    most = f"([{running}] + {starting}).max()"
    beside = f"(has({overhead}) && '{resource}' in {overhead} ? {_number(overhead, resource)} : 0.0)"
    yield let(init, f"variables.initContainers.map(i, {asked('i')})")
    yield let(resource, f"int([({most} + {beside}) * {_UNITS[resource]}.0 + 0.5, {_MOST}].min())")


def _number(amounts: str, resource: ResourceName) -> str:
    return f"quantity(string({amounts}['{resource}'])).asApproximateFloat()"


def shown(resource: ResourceName, amount: str) -> str:
    """Returns CEL for an amount as text for people."""
    match resource:
        case "gpu":
            return _decimal(amount, 100)
        case "cpu":
            return _decimal(amount, 1000)
        case "memory":
            units = ((_GIBIBYTE, "Gi"), (_MEBIBYTE, "Mi"))
            choices = (f"{amount} % {size} == 0 ? string({amount} / {size}) + '{unit}'" for size, unit in units)
            return f"({amount} == 0 ? '0' : {' : '.join(choices)} : string({amount}))"


def _decimal(amount: str, divisor: int) -> str:
    return f"({amount} % {divisor} == 0 ? string({amount} / {divisor}) : string(double({amount}) / {divisor}.0))"


def listed(values: Iterable[str]) -> str:
    """Returns strings as a list in CEL."""
    return f"[{', '.join(map(text, values))}]"


def text(value: str) -> str:
    """Returns a string as a CEL literal."""
    return "'" + json.dumps(value)[1:-1].replace("'", "\\'") + "'"
