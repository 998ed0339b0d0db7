"""One repository as an editor has it: the files on the disk, and in place of some of them what is typed."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kubectl_tas.check import check_work
from kubectl_tas.check.references import RULES as OF_NAMES
from kubectl_tas.check.references import check_references
from kubectl_tas.check.run_checks import settled
from kubectl_tas.diagnostics import Diagnostic, Location, Severity
from kubectl_tas.errors import TasError
from kubectl_tas.gangs.admission import Verdict
from kubectl_tas.load.document import Document, parse
from kubectl_tas.load.ignored_files import unread
from kubectl_tas.load.loading import load_work
from kubectl_tas.load.osmofiles import template_root
from kubectl_tas.load.schema import items_of
from kubectl_tas.load.source import CONFIG_FILE, FolderSource, OverlaySource, RawFile, decode, is_read
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.fleet import Fleet, resolve_work
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.work import run
from kubectl_tas.work.outcome import work_alone
from kubectl_tas.work.run import Effort, Parts, Run, survey


class Buffers(OverlaySource):
    """The files of a repository, with what is typed in place of them; a file that is not read stays so."""

    def __init__(self, root: Path, typed: Mapping[str, bytes]) -> None:
        super().__init__(FolderSource(root), typed)
        self._typed = typed

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """All manifests below ``folders``, sorted by path."""
        found = super().files(folders, exclude=exclude)
        return tuple(raw for raw in found if raw.path not in self._typed or is_read(raw.path, folders, exclude=exclude))


@dataclass(frozen=True)
class Judgement:
    """What is known of a repository."""

    root: Path
    fleet: Fleet
    found: tuple[Diagnostic, ...]
    """The findings that count, as ``validate`` has them, in order."""
    typed: Mapping[str, bytes]
    """What was read in place of files, by their paths below ``root``."""
    run: Run
    """What was made of each file by itself: what has not changed is not judged again."""
    unread: tuple[Diagnostic, ...]
    """The findings on files that are not read."""

    def verdict(self, item: Submission) -> Verdict:
        """The verdict on a submission, as it was when all files were judged."""
        return self.run.admission.verdict(item)

    def shown_in(self, path: str) -> list[tuple[Diagnostic, Location]]:
        """The findings that are shown in a file, each with its place there."""
        return [(item, place) for item, place in shown(self.found) if place.path == path]


def find_root(file: Path, typed: Iterable[Path] = ()) -> Path | None:
    """The repository of a file: the nearest folder above it with ``tas.yaml``, on the disk or among what is ``typed``;
    None where there is none.
    """
    configs = {path for path in typed if path.name == CONFIG_FILE}
    above = file.parents
    return next((x for x in above if x / CONFIG_FILE in configs or os.path.isfile(x / CONFIG_FILE)), None)  # noqa: PTH113


def judged(
    root: Path, typed: Mapping[str, bytes], before: Judgement | None = None, also: Iterable[str] = ()
) -> Judgement:
    """The repository at ``root``, read with ``typed`` in place of files; ``before`` is what was known of it. What is
    typed, and the files ``also``, are known in full; of all else there are summaries.

    Raises TasError where it cannot be read.
    """
    like = before.run.survey if before else None
    each = survey(Parts(Buffers(root, typed)), (), Effort(processes=1), like=like)
    result = run.judged(each, {*typed, *also})
    config = result.fleet.config
    ignored = tuple(unread(root, config.sources, config.output))
    counted, _ = settled((*result.found, *ignored), result.fleet, None, complete=result.loaded.complete)
    return Judgement(root, result.fleet, counted, typed, result, ignored)


def looked_at(before: Judgement, typed: Mapping[str, bytes]) -> Judgement | None:
    """What can be said at once of what is ``typed``: each file that differs from what was read ``before`` is read by
    itself. What rules of all work say stays as it was, and so does what is found in other files.

    None where all files must be read first: a file is a template, is new, or was closed.
    """
    known, found = before.run, before.run.survey
    raws, shared = found.parts.raws, found.parts.shared
    was = {path: raws[path].content if path in raws else before.typed.get(path) for path in typed}
    changed = [path for path, content in typed.items() if content != was[path]]
    declares = any(item.is_shared for item in found.outcomes.values())
    if declares or not before.typed.keys() <= typed.keys() or not raws.keys() >= set(changed):
        return None
    of_all, of_files = [*known.of_all, *before.unread], [*known.of_files]
    waivers = known.fleet.repository.waivers
    failed = [item.location for item in known.loaded.diagnostics if item.severity is Severity.ERROR]
    complete = known.loaded.complete or all(place is not None and place.path in changed for place in failed)
    for path in changed:
        raw = replace(raws[path], content=typed[path])
        loaded = load_work(raw, known.fleet.config)
        if loaded is None or raw.problem is not None:
            return None
        complete = complete and loaded.complete
        lines = _Lines(path, raws[path].content, raw.content)
        work = work_alone(loaded, raw, found.shared)
        gone = of_files if work is not None else known.loaded.diagnostics
        of_files = [*lines.kept(of_files, gone), *loaded.diagnostics, *(check_work(work) if work else ())]
        of_all = [*lines.kept(of_all, ())]
        if path not in shared:
            fleet = resolve_work(loaded.repository, found.shared.context)
            undefined = check_references(fleet) if complete else ()
            of_all = [part for item in of_all for part in _places(item, path, own=False)]
            of_all += [part for item in undefined for part in _places(item, path, own=True)]
        waivers = (*(item for item in waivers if item.place.path != path), *loaded.repository.waivers)
    fleet = replace(known.fleet, repository=replace(known.fleet.repository, waivers=waivers))
    counted, _ = settled(dict.fromkeys((*of_all, *of_files)), fleet, None, complete=complete)
    return replace(before, found=counted, typed=typed)


def _places(item: Diagnostic, path: str, *, own: bool) -> Iterator[Diagnostic]:
    """A finding on a name at those of its places that are in a file, or in others; any other finding as it is."""
    if item.rule not in OF_NAMES:
        yield item
        return
    every = (item.location, *(other.location for other in item.related))
    meant = [place for place in every if place is not None and (place.path == path) == own]
    if meant:
        related = tuple(other for other in item.related if other.location in meant[1:])
        yield replace(item, location=meant[0], related=related)


class _Lines:
    """The lines of a file before and after an edit."""

    def __init__(self, path: str, before: bytes, after: bytes) -> None:
        self._path = path
        old, new = before.splitlines(), after.splitlines()
        same = [one == other for one, other in zip(old, new, strict=False)]
        self._first = next((line for line, is_same in enumerate(same) if not is_same), len(same))
        behind = zip(reversed(old[self._first :]), reversed(new[self._first :]), strict=False)
        unchanged = next((line for line, (one, other) in enumerate(behind) if one != other), None)
        self._last = len(old) - (min(len(old), len(new)) - self._first if unchanged is None else unchanged)
        self._more = len(new) - len(old)

    def kept(self, found: Iterable[Diagnostic], gone: Container[Diagnostic]) -> Iterator[Diagnostic]:
        """Findings at the lines that these are in now. Of those in the file, what is ``gone`` or stood in a line that
        has changed is left out.
        """
        for item in found:
            place = item.location
            is_own = place is not None and place.path == self._path and place.line > 0
            if place is None or not is_own or (place.line <= self._first and item not in gone):
                yield item
            elif place.line > self._last and item not in gone:
                yield replace(item, location=replace(place, line=place.line + self._more))


def shown(found: Iterable[Diagnostic]) -> Iterable[tuple[Diagnostic, Location]]:
    """Each finding with each place that it is shown at. A name that nothing defines is shown wherever it is used; what
    has no place is shown in the Config.
    """
    for item in found:
        yield item, item.location or Location(CONFIG_FILE)
        if item.rule in OF_NAMES:
            yield from ((item, other.location) for other in item.related if other.location is not None)


def text_of(root: Path, path: str, typed: Mapping[str, bytes]) -> str:
    """The text of a file of the repository; '' where it is none, or cannot be read."""
    content = typed.get(path)
    if content is None:
        try:
            content = FolderSource(root, asks_git=False).local_file(path).content
        except TasError:  # it vanished; its findings go with the next check
            return ""
    return decode(path, content)[0]


def documents(path: str, text: str) -> list[Document]:
    """The documents of a file, items of lists too; none where it cannot be read as it is, or is a template."""
    if template_root(text) is not None:
        return []
    return parsed(path, text)


def parsed(path: str, text: str) -> list[Document]:
    """The documents of a text, items of lists too; none where it is no YAML."""
    found, _ = parse(path, text)
    items = [item for document in found for item in items_of(document)]
    return [item for item in items if isinstance(item, Document)]
