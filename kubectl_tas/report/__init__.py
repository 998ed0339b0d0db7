"""Renders diagnostics as text, with one module for each format. All functions are pure."""

from __future__ import annotations

FINDINGS = {
    "json": "kubectl_tas.report.json:render",
    "sarif": "kubectl_tas.report.sarif:render",
    "github": "kubectl_tas.report.github:render",
    "gitlab": "kubectl_tas.report.gitlab:render",
    "junit": "kubectl_tas.report.junit:render",
}
"""The formats of findings for programs, with the function that renders each."""
