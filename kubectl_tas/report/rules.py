"""Rules in, their documentation out."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_tas.diagnostics import Rule, Waiving

_INTRODUCTION = """# Rules

Every finding of `kubectl tas` bears the code of a rule. Errors fail a run; warnings fail it with `--strict`;
notes never do. `kubectl tas rule CODE` prints the same in a terminal.

| rule | severity | fires when |
| --- | --- | --- |
"""


_WAIVED = {
    Waiving.NOBODY: "It cannot be made milder.",
    Waiving.CONFIG: "It protects others: `spec.rules` of the Config can change it, with `--base` that of the base.",
    Waiving.ANYBODY: "`spec.rules` of the Config can change it, and a comment `# kubectl-tas: ignore[RULE]` waives it.",
}


def document(rules: Sequence[Rule]) -> str:
    """All of ``docs/rules.md``."""
    rows = "".join(f"| [{r.code}](#{r.code}) | {r.severity.value} | {r.summary} |\n" for r in rules)
    return _INTRODUCTION + rows + "".join(f"\n#{page(rule)}" for rule in rules)


def page(rule: Rule) -> str:
    """One rule."""
    return (
        f"# {rule.code}\n\n**{rule.severity.value}**: {rule.summary}\n\n{rule.rationale}\n\n{_WAIVED[rule.waiving]}\n"
    )
