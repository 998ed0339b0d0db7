"""What a run found, as every format prints it."""

from __future__ import annotations

import hashlib
import posixpath
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from kubectl_tas.diagnostics import Diagnostic, Location, Severity
from kubectl_tas.late import late_pattern
from kubectl_tas.records import dataclass


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of one run of one command."""

    command: str
    """``validate`` or ``check``."""
    diagnostics: tuple[Diagnostic, ...]
    """Those that count, in order."""
    files: tuple[str, ...]
    """The files that are reported on, by their paths; findings may stand in others."""
    read: int
    """How many files were read."""
    config: str
    """Where the Config stands: a finding that has no place is put there, in formats that want one."""
    waived: tuple[Diagnostic, ...] = ()
    strict: bool = False
    """Whether warnings fail the run too."""

    def fails(self, diagnostic: Diagnostic) -> bool:
        """Whether a finding fails the run."""
        return diagnostic.severity is Severity.ERROR or (self.strict and diagnostic.severity is Severity.WARNING)

    def below(self, folder: str) -> Findings:
        """The same with paths from the top of a checkout in which the repository is ``folder``; ``""``: the top."""
        if not folder:
            return self

        def moved(place: Location | None) -> Location | None:
            return place and replace(place, path=_join(folder, place.path))

        return replace(
            self,
            diagnostics=tuple(
                replace(
                    item,
                    location=moved(item.location),
                    related=tuple(replace(related, location=moved(related.location)) for related in item.related),
                )
                for item in self.diagnostics
            ),
            files=tuple(_join(folder, path) for path in self.files),
            config=_join(folder, self.config),
        )


STDIN = "<stdin>"
"""What a document is called that was read from standard input."""


def _join(folder: str, path: str) -> str:
    return path if path == STDIN else posixpath.normpath(f"{folder}/{path}")


_LINE = late_pattern(r"\bline \d+")


def fingerprints(diagnostics: Sequence[Diagnostic]) -> list[str]:
    """What tells each finding from the others, and is the same when lines above it come or go: 32 hex digits.

    It is made of the rule, the file and the message without numbers of lines; findings of which all that is equal are
    counted from the top of the file.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for item in diagnostics:
        path = item.location.path if item.location else ""
        identity = (item.rule.code, path, _LINE.sub("line", item.message))
        seen[identity] += 1
        text = "\0".join((*identity, str(seen[identity])))
        found.append(hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32])
    return found
