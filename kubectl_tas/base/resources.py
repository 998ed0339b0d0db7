"""Reads the data files of the package: ``schemas/``, ``templates/`` and ``rules.json``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from kubectl_tas.base.diagnostics import Rule, Severity, Waiving


@cache
def resource_root() -> Path:
    """Returns the folder that holds ``schemas/`` and ``templates/``."""
    package = Path(__file__).resolve().parent.parent
    return package if (package / "schemas").is_dir() else package.parent


def read_resource(name: str) -> str:
    """Returns the text of a data file, such as ``schemas/pool.json``. Raises OSError if absent."""
    return (resource_root() / name).read_text(encoding="utf-8")


@cache
def all_rules() -> dict[str, Rule]:
    """Returns every rule by code, sorted."""
    table = json.loads((Path(__file__).parent.parent / "rules.json").read_text(encoding="utf-8"))
    return {code: _rule(code, **fields) for code, fields in table.items()}


def _rule(code: str, severity: str, summary: str, rationale: str, protects: str | None = None) -> Rule:
    return Rule(code, Severity(severity), summary, rationale, Waiving[protects] if protects else None)
