"""Diagnostics in, text out: one file a format, all of them pure."""

from __future__ import annotations

FINDINGS = {
    "json": "kubectl_tas.report.json:render",
    "sarif": "kubectl_tas.report.sarif:render",
    "github": "kubectl_tas.report.github:render",
    "gitlab": "kubectl_tas.report.gitlab:render",
    "junit": "kubectl_tas.report.junit:render",
}
"""The formats in which findings are printed for programs, besides text for people, and what writes each."""
