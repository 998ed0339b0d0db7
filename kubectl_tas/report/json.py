"""Renders diagnostics as JSON for programs, in a versioned format, and as results of a KRM function."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.diagnostics import Diagnostic, Location
from kubectl_tas.report.style import escaped

if TYPE_CHECKING:
    from kubectl_tas.report import Findings
    from kubectl_tas.report import json_shapes as shapes

VERSION = 1
"""The version of the format. A new meaning or the removal of a field raises it; a new field does not."""


def render(findings: Findings) -> str:
    """Returns one JSON object with ``version``, ``summary`` and ``diagnostics``. Waived findings come last."""
    counts = Counter(diagnostic.severity.value for diagnostic in findings.diagnostics)
    report: shapes.FindingsJson = {
        "version": VERSION,
        "summary": {
            "files": findings.read,
            "error": counts["error"],
            "warning": counts["warning"],
            "info": counts["info"],
            "waived": len(findings.waived),
        },
        "diagnostics": [record(diagnostic) for diagnostic in (*findings.diagnostics, *findings.waived)],
    }
    return dump(report)


def dump(value: Any) -> str:
    """Returns JSON in the form of all commands: two spaces, a final newline, no commands to a terminal."""
    return escaped(json.dumps(value, indent=2, ensure_ascii=False, default=_number)) + "\n"


def _number(value: object) -> int | float:
    """Converts GPUs in fractions to a JSON number."""
    if not isinstance(value, Decimal):
        raise TypeError(f"not JSON: {value!r}")
    return int(value) if value == int(value) else float(value)


def record(diagnostic: Diagnostic) -> shapes.FindingJson:
    """Returns one finding as data."""
    fix = diagnostic.fix
    return {
        "rule": diagnostic.rule.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "fix": {"written": fix.written, "meant": fix.meant} if fix else None,
        "location": place_data(diagnostic.location),
        "related": [
            {"message": related.message, "location": place_data(related.location)} for related in diagnostic.related
        ],
        "waiver": place_data(diagnostic.waiver),
    }


def place_data(location: Location | None) -> shapes.PlaceJson | None:
    """Returns a place as data. ``line`` and ``column`` are null if the finding is about the whole file."""
    if location is None:
        return None
    return {"path": location.path, "line": location.line or None, "column": location.column or None}


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
