"""``kubectl tas rule``, and the catalogue of all rules: whatever any module of the package declares."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import walk_packages

import click

import kubectl_tas
from kubectl_tas.cli.terminal import show
from kubectl_tas.diagnostics import Rule
from kubectl_tas.report import table
from kubectl_tas.report.rules import page


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, sorted by its code. Raises ValueError where two rules have one code."""
    found: dict[str, Rule] = {}
    for module in walk_packages(kubectl_tas.__path__, f"{kubectl_tas.__name__}."):
        if module.name == f"{kubectl_tas.__name__}.__main__":  # which would start the command line
            continue
        for value in vars(import_module(module.name)).values():
            if isinstance(value, Rule) and found.setdefault(value.code, value) is not value:
                raise ValueError(f"two rules are called {value.code}")
    return tuple(found[code] for code in sorted(found))


def _codes(start: str) -> list[str]:
    return [rule.code for rule in all_rules() if rule.code.startswith(start)]


@click.command()
@click.argument("code", required=False, shell_complete=lambda _c, _p, start: _codes(start))
def rule(code: str | None) -> None:
    """Explain the rule CODE; without CODE, list all rules."""
    rules = {item.code: item for item in all_rules()}
    if code is None:
        rows = [(item.code, item.severity.value, item.summary) for item in rules.values()]
        show(table.render(("RULE", "SEVERITY", "FIRES WHEN"), rows))
        return
    if code not in rules:
        raise click.UsageError(f'no rule "{code}"; `kubectl tas rule` lists them')
    show(page(rules[code]))
