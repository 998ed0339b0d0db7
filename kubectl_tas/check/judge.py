"""A source in, the fleet and all that is wrong with it out: what every command that judges a repository does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from kubectl_tas.check import check_fleet
from kubectl_tas.check.secrets import SECRET_IN_CLEAR
from kubectl_tas.check.waivers import Base, settle
from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.load.loading import load_repository
from kubectl_tas.load.source import Source
from kubectl_tas.model.config import Setting
from kubectl_tas.model.repository import Repository
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.fleet import Fleet, resolve


@dataclass(frozen=True, slots=True)
class Judged:
    """A repository that was read and checked."""

    fleet: Fleet
    found: tuple[Diagnostic, ...]
    """All findings, as the rules have them."""
    complete: bool
    """False where a document could not be read: what seems to be missing may stand in it."""
    refused: tuple[str, ...]
    """What is wrong with the settings of templates that the command line gives."""


def judge(
    source: Source,
    tick: Callable[[int, int], None] | None = None,
    settings: Sequence[Setting] = (),
    adjust: Callable[[Repository], Repository] | None = None,
) -> Judged:
    """Loads, resolves and checks what ``source`` holds, changed by ``adjust``; ``tick`` and ``settings`` are those of
    ``load_repository``. Raises TasError where it cannot be read.
    """
    loaded = load_repository(source, tick, settings)
    if loaded.refused:
        return Judged(resolve(loaded.repository), loaded.diagnostics, loaded.complete, loaded.refused)
    fleet = resolve(adjust(loaded.repository) if adjust else loaded.repository)
    found = (*loaded.diagnostics, *check_fleet(fleet, complete=loaded.complete))
    return Judged(fleet, found, loaded.complete, ())


def settled(
    found: Iterable[Diagnostic], fleet: Fleet, base: Base | None, *, complete: bool
) -> tuple[tuple[Diagnostic, ...], tuple[Diagnostic, ...]]:
    """The findings that count, as the repository has them, in order; and those that comments waive."""
    all_ = settle(found, fleet, base, complete=complete)
    secret = {(x.location.path, x.location.line) for x in all_ if x.rule == SECRET_IN_CLEAR and x.location}
    if secret:
        all_ = tuple(_without_source(x) if _line(x) in secret else x for x in all_)
    return tuple(x for x in all_ if x.waiver is None), tuple(x for x in all_ if x.waiver is not None)


def _line(item: Diagnostic) -> tuple[str, int] | None:
    return (item.location.path, item.location.line) if item.location else None


def _without_source(item: Diagnostic) -> Diagnostic:
    """A finding that does not show its line."""
    return replace(item, location=replace(item.location, source="")) if item.location else item
