"""``kubectl tas rule``, and the catalogue of all rules."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

import click

from kubectl_tas.cli.completion import rule_codes
from kubectl_tas.cli.terminal import show

if TYPE_CHECKING:
    from kubectl_tas.diagnostics import Rule

MODULES = (
    "kubectl_tas.load.source",
    "kubectl_tas.load.text",
    "kubectl_tas.load.syntax",
    "kubectl_tas.load.reader",
    "kubectl_tas.load.document",
    "kubectl_tas.load.kinds",
    "kubectl_tas.load.schema",
    "kubectl_tas.load.repository",
    "kubectl_tas.check.config",
    "kubectl_tas.check.names",
    "kubectl_tas.check.unique",
    "kubectl_tas.check.references",
    "kubectl_tas.check.quota",
    "kubectl_tas.check.topology",
    "kubectl_tas.check.bindings",
    "kubectl_tas.check.workflow",
    "kubectl_tas.check.placement",
    "kubectl_tas.check.workload",
    "kubectl_tas.check.podplacement",
    "kubectl_tas.check.segmentsize",
    "kubectl_tas.check.segments",
    "kubectl_tas.check.gangs",
    "kubectl_tas.check.podgroup",
    "kubectl_tas.check.grove",
    "kubectl_tas.check.cliques",
    "kubectl_tas.check.operator",
    "kubectl_tas.check.versions",
    "kubectl_tas.check.admission",
    "kubectl_tas.check.drift",
    "kubectl_tas.check.topologychanges",
    "kubectl_tas.check.setchanges",
    "kubectl_tas.check.subpoolchanges",
    "kubectl_tas.check.classchanges",
    "kubectl_tas.check.transitions",
    "kubectl_tas.edit.subpools",
)
"""The modules that declare rules, in the order in which they run."""


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, in the order of its module and of its declaration."""
    from kubectl_tas.diagnostics import Rule

    found = (value for name in MODULES for value in vars(import_module(name)).values())
    return tuple({rule.code: rule for rule in found if isinstance(rule, Rule)}.values())


@click.command()
@click.argument("code", required=False, shell_complete=lambda _c, _p, start: rule_codes(start))
def rule(code: str | None) -> None:
    """Explain the rule CODE; without CODE, list all rules."""
    rules = {item.code: item for item in all_rules()}
    if code is None:
        from kubectl_tas.report import table

        rows = [(item.code, item.severity.value, item.summary) for item in rules.values()]
        show(table.render(("RULE", "SEVERITY", "FIRES WHEN"), rows))
        return
    if code not in rules:
        raise click.UsageError(f'no rule "{code}"; `kubectl tas rule` lists them')
    from kubectl_tas.report.rules import page

    show(page(rules[code]))
