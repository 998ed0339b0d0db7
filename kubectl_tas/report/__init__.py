"""Renders diagnostics as text, with one module for each format. All functions are pure.

Every format renders the ``Findings`` of a run, which are defined here.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.diagnostics import Diagnostic, Location, Severity
from kubectl_tas.base.late import dataclass, late_pattern

FINDINGS = {
    "json": "kubectl_tas.report.json:render",
    "sarif": "kubectl_tas.report.sarif:render",
    "github": "kubectl_tas.report.github:render",
    "gitlab": "kubectl_tas.report.gitlab:render",
    "junit": "kubectl_tas.report.junit:render",
}
"""The formats of findings for programs, with the function that renders each."""


@json_fields("files error warning info waived")
@dataclass(frozen=True, slots=True)
class FindingSummary:
    """The number of files read, and the number of findings of each severity."""

    files: int
    error: int
    warning: int
    info: int
    waived: int


@json_fields("version:1 summary diagnostics=all")
@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of one run of one command."""

    command: str
    """Name of the command: ``validate`` or ``check``."""
    diagnostics: tuple[Diagnostic, ...]
    """The findings that are not waived, in order."""
    files: tuple[str, ...]
    """The paths of the checked files. Findings may be in other files."""
    read: int
    """The number of files that the tool has read."""
    config: str
    """Path of the Config. Formats that require a place use this path for a finding without one."""
    waived: tuple[Diagnostic, ...] = ()
    strict: bool = False
    """Whether warnings also fail the run."""

    @property
    def all(self) -> tuple[Diagnostic, ...]:
        """All findings; the waived ones come last."""
        return (*self.diagnostics, *self.waived)

    @property
    def summary(self) -> FindingSummary:
        """The numbers of files and findings."""
        counts = Counter(diagnostic.severity.value for diagnostic in self.diagnostics)
        return FindingSummary(self.read, counts["error"], counts["warning"], counts["info"], len(self.waived))

    def fails(self, diagnostic: Diagnostic) -> bool:
        """Whether a finding fails the run."""
        return diagnostic.severity is Severity.ERROR or (self.strict and diagnostic.severity is Severity.WARNING)

    def below(self, folder: str) -> Findings:
        """Returns the findings with paths from the top of a checkout, where ``folder`` is the repository in it."""
        if not folder:
            return self

        def moved(location: Location | None) -> Location | None:
            return location and replace(location, path=_join(folder, location.path))

        return replace(
            self,
            diagnostics=tuple(
                replace(
                    finding,
                    location=moved(finding.location),
                    related=tuple(replace(related, location=moved(related.location)) for related in finding.related),
                )
                for finding in self.diagnostics
            ),
            files=tuple(_join(folder, path) for path in self.files),
            config=_join(folder, self.config),
        )


STDIN = "<stdin>"
"""The name of a document from standard input."""


def _join(folder: str, path: str) -> str:
    return path if path == STDIN else posixpath.normpath(f"{folder}/{path}")


_LINE = late_pattern(r"\bline \d+")


def fingerprints(diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Returns an identifier for each finding that stays the same if lines above it change: 32 hex digits.

    It depends on the rule, the file and the message without line numbers. A counter from the top of the file
    distinguishes findings that agree in all three.
    """
    import hashlib  # only formats for programs need it

    seen: Counter[tuple[str, str, str]] = Counter()
    prints = []
    for finding in diagnostics:
        path = finding.location.path if finding.location else ""
        identity = (finding.rule.code, path, _LINE.sub("line", finding.message))
        seen[identity] += 1
        text = "\0".join((*identity, str(seen[identity])))
        prints.append(hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32])
    return prints
