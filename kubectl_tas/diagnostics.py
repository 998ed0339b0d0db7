"""Findings about the input: one type, one sort order, for every stage that finds something."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field, replace
from enum import Enum
from functools import cached_property
from operator import attrgetter

from kubectl_tas.records import dataclass

MAX_TEXT = 4000
"""Characters of a message or a hint that are kept."""
_MARKS = (
    *("PASS", "SECRET", "TOKEN", "PRIVATE", "_KEY", "API"),
    *("AKIA", "ASIA", "HF_", "GHP_", "GHO_", "GHR_", "GHS_", "GHU_", "GITHUB_PAT_", "GLPAT-", "GLDT-", "GLRT-"),
    *("SK-", "NVAPI-", "XOX", "AIZA"),
)
"""One of them is in each line that holds a secret as ``credentials`` knows it; case aside."""


class Severity(Enum):
    """How bad a finding is; only errors (and, with ``--strict``, warnings) fail a run."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Waiving(Enum):
    """Who may make a rule milder, or put it off."""

    NOBODY = "nobody"
    """What it finds cannot be rendered, or would be refused by a cluster."""
    CONFIG = "the Config"
    """It protects others: their quotas, their work, the way in. With ``--base`` the Config of the base decides."""
    ANYBODY = "the Config, or a comment"
    """It protects the one who wrote what it finds."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that can be wrong, declared beside the code that finds it."""

    code: str
    """Kebab-case identifier, stable across releases."""
    severity: Severity
    summary: str
    """One line: when the rule fires."""
    rationale: str
    """Why it matters in the cluster, and how the input is mended."""
    protects: Waiving | None = None
    """None: nobody may change an error, anybody what is less."""

    @property
    def waiving(self) -> Waiving:
        """Who may change it."""
        return self.protects or (Waiving.NOBODY if self.severity is Severity.ERROR else Waiving.ANYBODY)


@dataclass(frozen=True, slots=True)
class Location:
    """A place in an input file, or the file as a whole."""

    path: str
    """Relative to the repository root, with forward slashes."""
    line: int = 0
    """1-based; 0: the file as a whole."""
    column: int = 0
    """1-based, in characters; 0: the file as a whole."""
    source: str = field(default="", compare=False, repr=False)
    """The text of the line around that place, for the caret."""
    length: int = field(default=1, compare=False, repr=False)
    """Characters to underline on that line."""
    source_column: int = field(default=1, compare=False, repr=False)
    """The column that ``source`` begins at."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.line else self.path


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that belongs to a finding."""

    message: str
    location: Location | None

    def __post_init__(self) -> None:
        """Cuts a message that is too long to be read."""
        object.__setattr__(self, "message", _cut(self.message))


def _cut(text: str) -> str:
    """A text that can be read: a name in it may have megabytes, and there may be many findings."""
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}..."


class Suggestion(str):
    """A hint that says what to write instead: its text for people, and the two words for programs."""

    written: str
    """What stands there, without quotes."""
    meant: str
    """What should."""

    def __new__(cls, text: str, written: str, meant: str) -> Suggestion:
        """The hint ``text``, which names ``meant``."""
        found = super().__new__(cls, text)
        found.written, found.meant = written, meant
        return found


@dataclass(frozen=True)
class Diagnostic:
    """One finding. ``location`` is None where no place in a file is known."""

    rule: Rule
    message: str
    location: Location | None
    related: tuple[Related, ...] = ()
    hint: str = ""
    level: Severity | None = None
    """How bad the Config calls it, or the rule in this case; None: as its rule does."""
    waiver: Location | None = None
    """The comment that waives it."""
    cause: Location | None = None
    """What it contradicts, where many documents may contradict it: findings with one cause are shown as one."""

    def __post_init__(self) -> None:
        """Cuts what is too long to be read, and hides secrets."""
        for name in ("message", "hint"):
            object.__setattr__(self, name, _cut(getattr(self, name)))
        place, said = self.location, f"{self.message}{self.hint}{self.location.source if self.location else ''}".upper()
        if any(mark in said for mark in _MARKS):
            from kubectl_tas.credentials import hidden  # most runs find nothing of that kind

            object.__setattr__(self, "message", hidden(self.message))
            if self.fix is None:
                object.__setattr__(self, "hint", hidden(self.hint))
            if place is not None:
                object.__setattr__(self, "location", replace(place, source=hidden(place.source)))

    @property
    def severity(self) -> Severity:
        """How bad it is here."""
        return self.level or self.rule.severity

    @property
    def fix(self) -> Suggestion | None:
        """What to write at ``location`` instead, where the hint is sure of it."""
        return self.hint if isinstance(self.hint, Suggestion) else None

    @property
    def places(self) -> tuple[Location, ...]:
        """Where it stands, and the other places that belong to it."""
        found = (self.location, *(item.location for item in self.related))
        return tuple(place for place in found if place is not None)

    @cached_property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Path, line, column, rule, message; findings without a place come first."""
        place = self.location
        if place is None:
            return ("", 0, 0, self.rule.code, self.message)
        return (place.path, place.line, place.column, self.rule.code, self.message)


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """All findings of a run, each once, in the one sort order."""
    return tuple(sorted(dict.fromkeys(diagnostics), key=attrgetter("sort_key")))


def has_errors(diagnostics: Iterable[Diagnostic], *, strict: bool = False) -> bool:
    """Whether a run with these findings fails; ``strict`` counts warnings too."""
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return any(d.severity in failing for d in diagnostics)
