"""Renders findings as JUnit's XML for Jenkins and GitLab, with a test case for each checked file."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.report import Findings
from kubectl_tas.report.style import printable
from kubectl_tas.report.text import blocks

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 forbids, even as a reference."""


def render(findings: Findings) -> str:
    """Returns one suite. A file fails if one of its findings fails the run. Other findings are the file's output.

    Findings without a place belong to a test case for the whole repository.
    """
    found: dict[str, list[Diagnostic]] = defaultdict(list)
    for item in findings.diagnostics:
        found[item.location.path if item.location else ""].append(item)
    names = sorted({*findings.files, *found})
    cases = [_case(findings, name, found[name]) for name in names]
    failures = sum(any(map(findings.fails, found[name])) for name in names)
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


def _case(findings: Findings, path: str, found: Sequence[Diagnostic]) -> str:
    name = _attribute(path or "the repository")
    file = f" file={name}" if path else ""
    head = f'    <testcase classname="kubectl-tas.{findings.command}" name={name}{file}'
    failing = [item for item in found if findings.fails(item)]
    others = [item for item in found if not findings.fails(item)]
    if not found:
        return f"{head}/>\n"
    parts = [f"{head}>\n"]
    if failing:
        more = f" (and {len(failing) - 1} more)" if len(failing) > 1 else ""
        message = _attribute(f"{failing[0].message}{more}")
        kind = _attribute(failing[0].rule.code)
        parts.append(f"      <failure message={message} type={kind}>{_text(blocks(failing))}</failure>\n")
    if others:
        parts.append(f"      <system-out>{_text(blocks(others))}</system-out>\n")
    return "".join((*parts, "    </testcase>\n"))


def _attribute(text: str) -> str:
    return quoteattr(_ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", printable(text)))


def _text(text: str) -> str:
    return escape(_ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text))
