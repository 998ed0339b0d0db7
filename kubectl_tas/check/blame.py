"""Findings in, the same out with those that a change brought about at what has changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any

from kubectl_tas.check import quota
from kubectl_tas.check.references import RULES, check_references
from kubectl_tas.diagnostics import Diagnostic, Location, Related
from kubectl_tas.model.repository import Repository
from kubectl_tas.resolve.fleet import Fleet


def blamed(found: Iterable[Diagnostic], before: Fleet, after: Fleet) -> Iterator[Diagnostic]:
    """What was found in the fleet ``after``, at what has changed since ``before``: sums of quotas, names that are gone,
    and what has changed its cause and nothing else.
    """
    changed = _changed(before.repository, after.repository)
    references = False
    for item in quota.blamed(found, before, after):
        if item.rule in RULES:
            references = True
            continue
        yield _at_its_cause(item, changed)
    if references:
        yield from (_at_its_cause(item, changed) for item in check_references(after, before))


def _at_its_cause(item: Diagnostic, changed: frozenset[str]) -> Diagnostic:
    """A finding where its cause stands, if that has changed and the place of the finding has not."""
    place, cause = item.location, item.cause
    if place is None or cause is None or cause.path not in changed or place.path in changed:
        return item
    return replace(item, location=cause, related=(Related("asked for here", place), *item.related))


def _changed(before: Repository, after: Repository) -> frozenset[str]:
    """The files that say something else than before."""
    earlier = _contents(before)
    return frozenset(path for path, said in _contents(after).items() if earlier.get(path) != said)


def _contents(repository: Repository) -> dict[str, list[Any]]:
    """What the documents of each file say."""
    config = (repository.config,) if repository.config else ()
    found: dict[str, list[Any]] = {}
    for item in (
        *config,
        *repository.pools,
        *repository.subpools,
        *repository.topologies,
        *repository.workflows,
        *repository.pod_groups,
        *repository.pod_clique_sets,
        *repository.operators,
        *repository.kartas,
        *repository.workloads,
    ):
        found.setdefault(item.origin.path, []).append(item.origin.data)
    return found


def blamed_on_flags(
    found: Sequence[Diagnostic], path: str, texts: tuple[bytes, bytes], flags: Mapping[str, str | None]
) -> tuple[Diagnostic, ...]:
    """Findings of a file as flags have changed it, in the lines of the file as it is: what a flag says stands at the
    flag. ``texts`` are the file as it is and as it is changed.
    """
    before, after = (text.decode("utf-8", "replace").split("\n") for text in texts)
    lines: dict[int, int] = {}
    for tag, start, end, first, last in SequenceMatcher(None, after, before).get_opcodes():
        if tag in ("equal", "replace"):
            lines.update(zip(range(start, end), range(first, last), strict=False))

    def moved(place: Location | None) -> Location | None:
        if place is None or place.path != path or not 0 < place.line <= len(after):
            return place
        start = place.column - 1
        line = after[place.line - 1]
        said = line[start : start + place.length].strip("\"'")
        old = lines.get(place.line - 1)
        is_flag = old is None or before[old] != line
        flag = next((flag for flag, value in flags.items() if is_flag and said == value), None)
        if flag is not None or old is None:
            return Location(flag or path)
        return replace(place, line=old + 1) if before[old] == line else Location(path, old + 1, 1, before[old])

    return tuple(
        replace(
            item,
            location=moved(item.location),
            related=tuple(replace(note, location=moved(note.location)) for note in item.related),
            cause=moved(item.cause),
        )
        for item in found
    )
