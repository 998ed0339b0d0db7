"""The formats in which findings are printed for programs, by the words of ``-o``."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_tas.report import github, gitlab, json, junit, sarif
from kubectl_tas.report.findings import Findings
from kubectl_tas.resources import all_rules

FORMATS: dict[str, Callable[[Findings], str]] = {
    "json": lambda found: json.render(found.diagnostics, found.read, found.waived),
    "sarif": lambda found: sarif.render(found, tuple(all_rules().values())),
    "github": github.render,
    "gitlab": gitlab.render,
    "junit": junit.render,
}
OF_CHECKOUTS = frozenset({"sarif", "github", "gitlab", "junit"})
"""Those whose readers know files by their paths from the top of the checkout."""
