"""Diagnostics as the results of a KRM function (ResourceList of config.kubernetes.io/v1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubectl_tas.diagnostics import Diagnostic, Location

Place = Callable[[Location], Mapping[str, Any]]
"""What a result says of a place: ``file``, ``field``, ``resourceRef``, as far as they are known."""


def results(diagnostics: Sequence[Diagnostic], place: Place) -> list[dict[str, Any]]:
    """A result for each, in their order; ``tags`` have the rule, and how to mend it."""
    found = []
    for item in diagnostics:
        result: dict[str, Any] = {"message": item.message, "severity": item.severity.value}
        if item.location is not None:
            result |= place(item.location)
        result["tags"] = {"rule": item.rule.code, **({"hint": item.hint} if item.hint else {})}
        found.append(result)
    return found
