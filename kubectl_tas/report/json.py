"""Diagnostics for programs: a versioned contract, not a dump of internals; and as results of a KRM function."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from kubectl_tas.diagnostics import Diagnostic, Location
from kubectl_tas.report.style import escaped

if TYPE_CHECKING:
    from kubectl_tas.report import json_shapes as shapes
    from kubectl_tas.report.findings import Findings

VERSION = 1
"""Raised when a field changes its meaning or goes; new fields may come at any time."""


def render(findings: Findings) -> str:
    """One JSON object with ``version``, ``summary`` and ``diagnostics``; those that are waived come last."""
    counts = Counter(diagnostic.severity.value for diagnostic in findings.diagnostics)
    report: shapes.Findings = {
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
    """JSON as all commands print it: two spaces, a newline at the end, nothing that commands a terminal."""
    return escaped(json.dumps(value, indent=2, ensure_ascii=False, default=_number)) + "\n"


def _number(value: object) -> int | float:
    """GPUs that are asked for in part."""
    if not isinstance(value, Decimal):
        raise TypeError(f"not JSON: {value!r}")
    return int(value) if value == int(value) else float(value)


def record(diagnostic: Diagnostic) -> shapes.Finding:
    """One finding."""
    fix = diagnostic.fix
    return {
        "rule": diagnostic.rule.code,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "fix": {"written": fix.written, "meant": fix.meant} if fix else None,
        "location": _location(diagnostic.location),
        "related": [
            {"message": related.message, "location": _location(related.location)} for related in diagnostic.related
        ],
        "waiver": _location(diagnostic.waiver),
    }


def _location(place: Location | None) -> shapes.Place | None:
    """``line`` and ``column`` are null where the file as a whole is meant."""
    return None if place is None else {"path": place.path, "line": place.line or None, "column": place.column or None}


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
