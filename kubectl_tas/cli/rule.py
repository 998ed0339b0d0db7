"""``kubectl tas rule``."""

from __future__ import annotations

import click

from kubectl_tas.catalogue import all_rules
from kubectl_tas.cli.options import RULE
from kubectl_tas.cli.terminal import show
from kubectl_tas.report import table
from kubectl_tas.report.rules import page
from kubectl_tas.words import did_you_mean


@click.command(epilog="Example: kubectl tas rule over-quota")
@click.argument("code", required=False, type=RULE)
def rule(code: str | None) -> None:
    """Explain the rule CODE; without CODE, list all rules."""
    rules = all_rules()
    if code is None:
        rows = [(item.code, item.severity.value, item.summary) for item in rules.values()]
        show(table.render(("RULE", "SEVERITY", "FIRES WHEN"), rows))
        return
    if code not in rules:
        hint = did_you_mean(code, rules, "`kubectl tas rule` lists them")
        raise click.UsageError(f'no rule "{code}"; {hint[0].lower()}{hint[1:]}')
    show(page(rules[code]))
