"""A rule in, what there is to say of it out."""

from __future__ import annotations

from kubectl_tas.diagnostics import Rule, Waiving

_WAIVED = {
    Waiving.NOBODY: "It cannot be made milder.",
    Waiving.CONFIG: "It protects others: `spec.rules` of the Config can change it, with `--base` that of the base.",
    Waiving.ANYBODY: "`spec.rules` of the Config can change it, and a comment `# kubectl-tas: ignore[RULE]` waives it.",
}


def page(rule: Rule) -> str:
    """One rule."""
    return f"# {rule.code}\n\n**{rule.severity.value}**: {rule.summary}\n\n{rule.rationale}\n\n{waiving(rule)}\n"


def waiving(rule: Rule) -> str:
    """Who may make a rule milder."""
    return _WAIVED[rule.waiving]
