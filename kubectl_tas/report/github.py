"""Renders findings as GitHub's workflow commands, which mark lines of a pull request, and as a summary of the job."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from kubectl_tas.base.diagnostics import Diagnostic, Location, Severity
from kubectl_tas.report import Findings
from kubectl_tas.report.style import printable
from kubectl_tas.report.text import summary as counted

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
MAX_SUMMARY = 1024 * 1024
"""The most bytes of a step summary in GitHub. GitHub shows nothing of a longer one."""
_MARKDOWN = re.compile(r"([\\`*_\[\]()#!|~@])")
"""Characters with a special meaning in Markdown or in GitHub's version of it."""
_LEFT_OUT = 200
"""The most bytes of the line that says how many findings are left out."""


def render(findings: Findings) -> str:
    """Returns one line with a command for each finding."""
    return "".join(_command(finding) for finding in findings.diagnostics)


def _command(finding: Diagnostic) -> str:
    properties = {**_place(finding.location), "title": f"kubectl-tas: {finding.rule.code}"}
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    message = _data("\n".join(_lines(finding)))
    return f"::{COMMANDS[finding.severity]} {named}::{message}\n"


def _lines(finding: Diagnostic) -> Iterator[str]:
    """Yields the lines of a finding, without commands to a terminal or a CI job."""
    yield printable(finding.message)
    for related in finding.related:
        where = f" ({related.location})" if related.location else ""
        yield printable(f"note: {related.message}{where}")
    if finding.hint:
        yield printable(f"help: {finding.hint}")


def _place(location: Location | None) -> dict[str, str]:
    if location is None:
        return {}
    if not location.line:
        return {"file": printable(location.path)}
    line, end = str(location.line), str(location.column + location.length - 1)
    return {
        "file": printable(location.path),
        "line": line,
        "endLine": line,
        "col": str(location.column),
        "endColumn": end,
    }


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(findings: Findings, room: int = MAX_SUMMARY) -> str:
    """Returns the findings as a Markdown table of at most ``room`` bytes, with a note if some do not fit."""
    count = counted(findings.diagnostics, findings.read, waived=len(findings.waived)).strip()
    text = f"### kubectl tas {findings.command}\n\n{_escaped(count)}\n"
    if findings.diagnostics:
        text += "\n| | where | what |\n| --- | --- | --- |\n"
    texts, bytes_left = [text], room - len(text.encode()) - _LEFT_OUT
    for number, finding in enumerate(findings.diagnostics):
        row = _row(finding)
        bytes_left -= len(row.encode())
        if bytes_left < 0:
            texts.append(f"\n{len(findings.diagnostics) - number} more are left out: a summary has no room for them.\n")
            break
        texts.append(row)
    whole = "".join(texts) + "\n"
    return whole if len(whole.encode()) <= room else ""


def _row(finding: Diagnostic) -> str:
    where = printable(str(finding.location)) if finding.location else ""
    message = "<br>".join(_escaped(line) for line in _lines(finding))
    return f"| {finding.severity.value} | {_escaped(where)} | {message} \\[{_escaped(finding.rule.code)}\\] |\n"


def _escaped(text: str) -> str:
    """Returns a text on one line that Markdown shows unchanged."""
    return _MARKDOWN.sub(r"\\\1", html.escape(text, quote=False))
