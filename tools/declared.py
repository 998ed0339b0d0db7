"""Makes kubectl_tas/rules.json: the rules that modules of the package declare, for ``base.resources``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import kubectl_tas
from kubectl_tas.base.diagnostics import Rule

_WITHOUT = ("__main__", "editor")
"""Modules without rules. The first would start the command line; the second needs optional packages."""


@cache
def declared_rules() -> dict[str, Rule]:
    """Returns every rule by its code, sorted. Raises ValueError if two rules have the same code."""
    found: dict[str, Rule] = {}
    for module in walk_packages(kubectl_tas.__path__, f"{kubectl_tas.__name__}."):
        if module.name.split(".")[1] in _WITHOUT:
            continue
        for value in vars(import_module(module.name)).values():
            if isinstance(value, Rule) and found.setdefault(value.code, value) is not value:
                raise ValueError(f"two rules are called {value.code}")
    return {code: found[code] for code in sorted(found)}


def text(rules: Iterable[Rule]) -> str:
    """Returns the text of the file."""
    return json.dumps({rule.code: dict(_fields(rule)) for rule in rules}, indent=1, ensure_ascii=False) + "\n"


def _fields(rule: Rule) -> Iterator[tuple[str, Any]]:
    yield "severity", rule.severity.value
    yield "summary", rule.summary
    yield "rationale", rule.rationale
    if rule.protects is not None:
        yield "protects", rule.protects.name
