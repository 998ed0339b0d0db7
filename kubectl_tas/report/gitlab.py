"""Findings as a report of GitLab's Code Quality, which the widget of a merge request shows."""

from __future__ import annotations

from kubectl_tas.diagnostics import Location, Severity
from kubectl_tas.report.findings import Findings, fingerprints
from kubectl_tas.report.json import dump
from kubectl_tas.report.style import printable

SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(findings: Findings) -> str:
    """A list with an object for each finding; line 1 where the file as a whole is meant."""
    report = []
    for item, fingerprint in zip(findings.diagnostics, fingerprints(findings.diagnostics), strict=True):
        place = item.location or Location(findings.config)
        report.append(
            {
                "description": printable(". ".join(text for text in (item.message, item.hint) if text)),
                "check_name": item.rule.code,
                "fingerprint": fingerprint,
                "severity": SEVERITIES[item.severity],
                "location": {"path": place.path, "lines": {"begin": place.line or 1}},
            }
        )
    return dump(report)
