"""Renders findings as JUnit's XML for Jenkins and GitLab, with a test case for each checked file."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.report import Findings
from kubectl_tas.report.style import printable
from kubectl_tas.report.text import blocks

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 forbids, even as a reference."""


def render(findings: Findings) -> str:
    """Returns one suite. A file fails if one of its findings fails the run. Other findings are the file's output.

    Findings without a place belong to a test case for the whole repository.
    """
    by_path: dict[str, list[Diagnostic]] = defaultdict(list)
    for finding in findings.diagnostics:
        by_path[finding.location.path if finding.location else ""].append(finding)
    names = sorted({*findings.files, *by_path})
    cases = [_case(findings, name, by_path[name]) for name in names]
    failures = sum(any(map(findings.fails, by_path[name])) for name in names)
    counts = f'tests="{len(names)}" failures="{failures}" errors="0"'
    suite = f"kubectl-tas {findings.command}"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="kubectl-tas" {counts}>\n'
        f'  <testsuite name="{suite}" {counts} skipped="0">\n'
        f"{''.join(cases)}"
        "  </testsuite>\n"
        "</testsuites>\n"
    )


def _case(findings: Findings, path: str, findings_in_file: Sequence[Diagnostic]) -> str:
    name = _attribute(path or "the repository")
    file = f" file={name}" if path else ""
    head = f'    <testcase classname="kubectl-tas.{findings.command}" name={name}{file}'
    failing = [finding for finding in findings_in_file if findings.fails(finding)]
    passing = [finding for finding in findings_in_file if not findings.fails(finding)]
    if not findings_in_file:
        return f"{head}/>\n"
    lines = [f"{head}>\n"]
    if failing:
        and_more = f" (and {len(failing) - 1} more)" if len(failing) > 1 else ""
        message = _attribute(f"{failing[0].message}{and_more}")
        kind = _attribute(failing[0].rule.code)
        lines.append(f"      <failure message={message} type={kind}>{_text(blocks(failing))}</failure>\n")
    if passing:
        lines.append(f"      <system-out>{_text(blocks(passing))}</system-out>\n")
    return "".join((*lines, "    </testcase>\n"))


def _attribute(text: str) -> str:
    return quoteattr(_ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", printable(text)))


def _text(text: str) -> str:
    return escape(_ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text))
