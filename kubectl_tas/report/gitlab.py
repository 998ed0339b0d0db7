"""Renders findings as a report for GitLab's Code Quality, which a merge request shows in its widget."""

from __future__ import annotations

from kubectl_tas.base.diagnostics import Location, Severity
from kubectl_tas.report import Findings, fingerprints
from kubectl_tas.report.json import dump
from kubectl_tas.report.style import printable

SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(findings: Findings) -> str:
    """Returns a list with one object for each finding. A finding about a whole file has line 1."""
    report = []
    for finding, fingerprint in zip(findings.diagnostics, fingerprints(findings.diagnostics), strict=True):
        location = finding.location or Location(findings.config)
        report.append(
            {
                "description": printable(". ".join(text for text in (finding.message, finding.hint) if text)),
                "check_name": finding.rule.code,
                "fingerprint": fingerprint,
                "severity": SEVERITIES[finding.severity],
                "location": {"path": location.path, "lines": {"begin": location.line or 1}},
            }
        )
    return dump(report)
