"""Renders findings as SARIF 2.1.0, for GitHub's code scanning and other viewers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubectl_tas import __version__
from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Severity
from kubectl_tas.base.resources import all_rules
from kubectl_tas.report import Findings, fingerprints
from kubectl_tas.report.json import dump
from kubectl_tas.report.style import printable, unlinked
from kubectl_tas.report.text import rule_page

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
"""The base of all paths: the top of the checkout."""
FINGERPRINT = "kubectlTas/v1"
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(findings: Findings) -> str:
    """Returns a log with one run and all rules. It has the key ``results`` even without findings."""
    return dump(log(findings, tuple(all_rules().values())))


def log(findings: Findings, rules: Sequence[Rule]) -> dict[str, Any]:
    """Returns the log as data. ``rules`` must include the rules of all findings."""
    numbers = {rule.code: number for number, rule in enumerate(rules)}
    prints = fingerprints(findings.diagnostics)
    driver = {"name": "kubectl-tas", "semanticVersion": __version__, "rules": [_rule(rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"kubectl-tas-{findings.command}/"},
        "originalUriBaseIds": {ROOT: {"description": {"text": "The top of the checkout."}}},
        "columnKind": "unicodeCodePoints",
        "results": [
            {
                "ruleId": finding.rule.code,
                "ruleIndex": numbers[finding.rule.code],
                "level": LEVELS[finding.severity],
                "message": {"text": _message(finding)},
                "locations": [{"physicalLocation": _physical(finding.location or Location(findings.config))}],
                "relatedLocations": _related(finding.related),
                "partialFingerprints": {FINGERPRINT: fingerprint},
            }
            for finding, fingerprint in zip(findings.diagnostics, prints, strict=True)
        ],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    text = rule_page(rule)
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.rationale},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": LEVELS[rule.severity]},
    }


def _message(finding: Diagnostic) -> str:
    """Returns the message, related messages without a place, and the hint, one on each line.

    Viewers make links even in a plain text (SARIF 2.1.0, 3.11.6).
    """
    nowhere = [related.message for related in finding.related if related.location is None]
    return "\n".join(unlinked(printable(text)) for text in (finding.message, *nowhere, finding.hint) if text)


def _related(related_findings: Sequence[Related]) -> list[dict[str, Any]]:
    placed = [(related.message, related.location) for related in related_findings if related.location is not None]
    return [
        {"id": number, "message": {"text": unlinked(printable(message))}, "physicalLocation": _physical(location)}
        for number, (message, location) in enumerate(placed, 1)
    ]


def _physical(location: Location) -> dict[str, Any]:
    """Returns a place. A whole file has line 1, since code scanning refuses a place without a line."""
    region = {"startLine": location.line or 1}
    if location.line:
        region |= {"startColumn": location.column, "endColumn": location.column + location.length}
    return {"artifactLocation": {"uri": _uri(location.path), "uriBaseId": ROOT}, "region": region}


def _uri(path: str) -> str:
    """Returns a path as a relative reference of RFC 3986."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in path.encode("utf-8", "surrogateescape"))
