"""All rules, read from ``rules.json``, so that nobody imports the package to know a code.

``python -m tools.generate`` writes the file: ``tools/declared.py`` collects them from the modules that declare them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from kubectl_tas.diagnostics import Rule, Severity, Waiving


@cache
def all_rules() -> dict[str, Rule]:
    """Every rule by its code, sorted."""
    table = json.loads(Path(__file__).with_name("rules.json").read_text(encoding="utf-8"))
    return {code: _rule(code, **fields) for code, fields in table.items()}


def _rule(code: str, severity: str, summary: str, rationale: str, protects: str | None = None) -> Rule:
    return Rule(code, Severity(severity), summary, rationale, Waiving[protects] if protects else None)
