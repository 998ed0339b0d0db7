"""Renders answers as JSON for programs, and diagnostics as results of a KRM function."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any

from kubectl_tas.base.contract import fields_of
from kubectl_tas.base.diagnostics import Diagnostic, Location
from kubectl_tas.facts.quantities import NO_LIMIT, RESOURCES, Amounts, as_data
from kubectl_tas.report.style import escaped


def as_json(answer: Any) -> Any:
    """Returns an answer as JSON data: GPUs as a number, cpu and memory as Kubernetes quantities, no limit as null."""
    kind: type = type(answer)
    if fields := fields_of(kind):
        record = {}
        for name, path, ending, version in fields:
            value = _value_at(answer, path) if version is None else version
            if value is not None or ending != "?":
                record[name] = (value or None) if ending == "|null" else value
        return record
    if isinstance(answer, Enum):
        return answer.value
    if isinstance(answer, Mapping):
        return {key: as_json(value) for key, value in answer.items()}
    if isinstance(answer, (tuple, list)):
        return [as_json(value) for value in answer]
    return None if isinstance(answer, Decimal) and answer == NO_LIMIT else answer


def _value_at(answer: Any, path: Sequence[str]) -> Any:
    for index, name in enumerate(path):
        if answer is None:
            return None
        if name == "len":
            return len(answer)
        if type(answer) in (tuple, list):
            return [_value_at(element, path[index:]) for element in answer]
        value = getattr(answer, name)
        answer = as_data(name, value) if isinstance(answer, Amounts) and name in RESOURCES else value
    return as_json(answer)


def render(answer: Any) -> str:
    """Returns an answer as text."""
    return dump(as_json(answer))


def dump(value: Any) -> str:
    """Returns JSON in the form of all commands: two spaces, a final newline, no commands to a terminal."""
    return escaped(json.dumps(value, indent=2, ensure_ascii=False, default=_number)) + "\n"


def _number(value: object) -> int | float:
    """Converts GPUs in fractions to a JSON number."""
    if not isinstance(value, Decimal):
        raise TypeError(f"not JSON: {value!r}")
    return int(value) if value == int(value) else float(value)


Place = Callable[[Location], Mapping[str, Any]]
"""Returns the fields of a result for a place, if known: ``file``, ``field``, ``resourceRef``."""


def results(diagnostics: Sequence[Diagnostic], fields_of_location: Place) -> list[dict[str, Any]]:
    """Returns one result for each diagnostic, in the same order. ``tags`` contain the rule and the hint."""
    json_results = []
    for diagnostic in diagnostics:
        result: dict[str, Any] = {"message": diagnostic.message, "severity": diagnostic.severity.value}
        if diagnostic.location is not None:
            result |= fields_of_location(diagnostic.location)
        result["tags"] = {"rule": diagnostic.rule.code, **({"hint": diagnostic.hint} if diagnostic.hint else {})}
        json_results.append(result)
    return json_results
