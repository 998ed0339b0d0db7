"""Defines findings about the input, with one type and one sort order for all checks, and failures of the tool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from enum import Enum
from functools import cached_property
from operator import attrgetter
from typing import Self

from kubectl_tas.base.contract import json_fields
from kubectl_tas.base.late import dataclass

MAX_TEXT = 4000
"""The most characters of a message or a hint."""
_MARKS = (
    *("PASS", "SECRET", "TOKEN", "PRIVATE", "_KEY", "API"),
    *("AKIA", "ASIA", "HF_", "GHP_", "GHO_", "GHR_", "GHS_", "GHU_", "GITHUB_PAT_", "GLPAT-", "GLDT-", "GLRT-"),
    *("SK-", "NVAPI-", "XOX", "AIZA"),
)
"""Marks of secrets, in upper case. Every line with a secret that ``credentials`` recognises contains one of them."""


class Severity(Enum):
    """The severity of a finding. Only errors (and, with ``--strict``, warnings) fail a run."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Waiving(Enum):
    """The people who may lower the severity of a rule, or turn the rule off."""

    NOBODY = "nobody"
    """The rule's findings cannot be rendered, or a cluster would refuse them."""
    CONFIG = "the Config"
    """The rule protects others: their quotas, work and access. With ``--base``, the Config of the base decides."""
    ANYBODY = "the Config, or a comment"
    """The rule protects the author of the file."""

    @property
    def sentence(self) -> str:
        """The people who may change the rule, and the place."""
        if self is Waiving.NOBODY:
            return "It cannot be made milder."
        if self is Waiving.CONFIG:
            return (
                "It protects others: only `spec.rules` of the Config can change it. "
                "With `--base`, the base's Config counts."
            )
        return "`spec.rules` of the Config can change it, and a comment `# kubectl-tas: ignore[RULE]` waives it."


@json_fields("code severity summary rationale waiving=waiving.sentence")
@dataclass(frozen=True, slots=True)
class Rule:
    """One possible problem, declared next to the code that finds it."""

    code: str
    """The identifier in kebab-case, stable across releases."""
    severity: Severity
    summary: str
    """One line: the condition that the rule reports."""
    rationale: str
    """The consequence in the cluster, and how to correct the input."""
    protects: Waiving | None = None
    """None: nobody may change an error, and anybody may change a milder rule."""

    @classmethod
    def error(cls, code: str, summary: str, rationale: str, protects: Waiving | None = None) -> Self:
        """Returns a rule whose findings fail a run."""
        return cls(code, Severity.ERROR, summary, rationale, protects)

    @classmethod
    def warning(cls, code: str, summary: str, rationale: str, protects: Waiving | None = None) -> Self:
        """Returns a rule whose findings fail a run with ``--strict``."""
        return cls(code, Severity.WARNING, summary, rationale, protects)

    @classmethod
    def info(cls, code: str, summary: str, rationale: str, protects: Waiving | None = None) -> Self:
        """Returns a rule whose findings fail no run."""
        return cls(code, Severity.INFO, summary, rationale, protects)

    @property
    def waiving(self) -> Waiving:
        """The people who may change the rule."""
        return self.protects or (Waiving.NOBODY if self.severity is Severity.ERROR else Waiving.ANYBODY)


@json_fields("path line|null column|null")
@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in an input file, or the file as a whole."""

    path: str
    """The path relative to the repository root, with forward slashes."""
    line: int = 0
    """The line, from 1; 0 for the file as a whole."""
    column: int = 0
    """The column in characters, from 1; 0 for the file as a whole."""
    source: str = field(default="", compare=False, repr=False)
    """The text of the line around the place, for the caret."""
    length: int = field(default=1, compare=False, repr=False)
    """The number of characters to underline on the line."""
    source_column: int = field(default=1, compare=False, repr=False)
    """The column at which ``source`` begins."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.line else self.path


@json_fields("message location")
@dataclass(frozen=True, slots=True)
class Related:
    """Another place that belongs to a finding."""

    message: str
    location: Location | None

    def __post_init__(self) -> None:
        """Cuts a message that is too long to read."""
        object.__setattr__(self, "message", _cut(self.message))


def _cut(text: str) -> str:
    """Shortens a text that is too long to read: a name may have megabytes, and findings may be many."""
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}..."


@json_fields("written meant")
@dataclass(frozen=True, slots=True)
class Replacement:
    """The exact replacement for the text at the place of a finding."""

    written: str
    """The text in the file, without quotes."""
    meant: str
    """The suggested text."""


class Suggestion(str):
    """A hint that suggests a replacement: its text for people, and two words for programs."""

    fix: Replacement

    def __new__(cls, text: str, written: str, meant: str) -> Suggestion:
        """Makes the hint ``text``, which suggests ``meant``."""
        suggestion = super().__new__(cls, text)
        suggestion.fix = Replacement(written, meant)
        return suggestion


@json_fields("rule=rule.code severity message hint fix location related waiver")
@dataclass(frozen=True)
class Diagnostic:
    """One finding. ``location`` is None if no place in a file is known."""

    rule: Rule
    message: str
    location: Location | None
    related: tuple[Related, ...] = ()
    hint: str = ""
    """A way to fix the problem."""
    level: Severity | None = None
    """The severity set by the Config or for this case; None for the severity of the rule."""
    waiver: Location | None = None
    """The comment that waives the finding. A waived finding does not count."""
    cause: Location | None = None
    """The place that several documents may contradict; findings with the same cause are shown as one."""

    def __post_init__(self) -> None:
        """Cuts texts that are too long to read, and hides secrets."""
        for name in ("message", "hint"):
            object.__setattr__(self, name, _cut(getattr(self, name)))
        location, words = (
            self.location,
            f"{self.message}{self.hint}{self.location.source if self.location else ''}".upper(),
        )
        if any(mark in words for mark in _MARKS):
            from kubectl_tas.base.credentials import hidden  # most runs find nothing of that kind

            object.__setattr__(self, "message", hidden(self.message))
            if self.fix is None:
                object.__setattr__(self, "hint", hidden(self.hint))
            if location is not None:
                object.__setattr__(self, "location", replace(location, source=hidden(location.source)))

    @property
    def severity(self) -> Severity:
        """The severity of this finding."""
        return self.level or self.rule.severity

    @property
    def fix(self) -> Replacement | None:
        """The replacement for the text at ``location``, if the hint is sure."""
        return self.hint.fix if isinstance(self.hint, Suggestion) else None

    @property
    def places(self) -> tuple[Location, ...]:
        """The location and the related places."""
        locations = (self.location, *(related.location for related in self.related))
        return tuple(location for location in locations if location is not None)

    @cached_property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """The key of the sort order: path, line, column, rule, message. Findings without a place come first."""
        location = self.location
        if location is None:
            return ("", 0, 0, self.rule.code, self.message)
        return (location.path, location.line, location.column, self.rule.code, self.message)


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Returns all findings of a run, each once, in the sort order."""
    return tuple(sorted(dict.fromkeys(diagnostics), key=attrgetter("sort_key")))


def has_errors(diagnostics: Iterable[Diagnostic], *, strict: bool = False) -> bool:
    """Whether a run with these findings fails; ``strict`` counts warnings too."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return any(d.severity in failing for d in diagnostics)


class TasError(Exception):
    """The tool could not do its work (an unreadable folder, a full disk): exit code 3.

    ``message`` says what failed in one sentence; ``hint`` says what the user can do.
    """

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
