"""Renders findings as GitHub's workflow commands, which mark lines of a pull request, and as a summary of the job."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from kubectl_tas.diagnostics import Diagnostic, Location, Severity
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
    return "".join(_command(item) for item in findings.diagnostics)


def _command(item: Diagnostic) -> str:
    properties = {**_place(item.location), "title": f"kubectl-tas: {item.rule.code}"}
    named = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    message = _data("\n".join(_lines(item)))
    return f"::{COMMANDS[item.severity]} {named}::{message}\n"


def _lines(item: Diagnostic) -> Iterator[str]:
    """Yields the lines of a finding, without commands to a terminal or a CI job."""
    yield printable(item.message)
    for related in item.related:
        where = f" ({related.location})" if related.location else ""
        yield printable(f"note: {related.message}{where}")
    if item.hint:
        yield printable(f"help: {item.hint}")


def _place(place: Location | None) -> dict[str, str]:
    if place is None:
        return {}
    if not place.line:
        return {"file": printable(place.path)}
    line, end = str(place.line), str(place.column + place.length - 1)
    return {"file": printable(place.path), "line": line, "endLine": line, "col": str(place.column), "endColumn": end}


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
    parts, left = [text], room - len(text.encode()) - _LEFT_OUT
    for number, item in enumerate(findings.diagnostics):
        row = _row(item)
        left -= len(row.encode())
        if left < 0:
            parts.append(f"\n{len(findings.diagnostics) - number} more are left out: a summary has no room for them.\n")
            break
        parts.append(row)
    whole = "".join(parts) + "\n"
    return whole if len(whole.encode()) <= room else ""


def _row(item: Diagnostic) -> str:
    where = printable(str(item.location)) if item.location else ""
    what = "<br>".join(_escaped(line) for line in _lines(item))
    return f"| {item.severity.value} | {_escaped(where)} | {what} \\[{_escaped(item.rule.code)}\\] |\n"


def _escaped(text: str) -> str:
    """Returns a text on one line that Markdown shows unchanged."""
    return _MARKDOWN.sub(r"\\\1", html.escape(text, quote=False))
