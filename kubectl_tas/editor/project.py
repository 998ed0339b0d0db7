"""Reads and judges one repository as an editor has it: files on disk, and unsaved texts in place of some files."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kubectl_tas.check import check_work
from kubectl_tas.check.references import RULES as OF_NAMES
from kubectl_tas.check.references import check_references
from kubectl_tas.check.run_checks import settled
from kubectl_tas.diagnostics import Diagnostic, Location, Severity, TasError
from kubectl_tas.gangs.admission import Verdict
from kubectl_tas.late import dataclass
from kubectl_tas.load.document import Document, parse
from kubectl_tas.load.ignored_files import unread
from kubectl_tas.load.loading import load_work
from kubectl_tas.load.osmofiles import template_root
from kubectl_tas.load.schema import items_of
from kubectl_tas.load.source import CONFIG_FILE, FolderSource, OverlaySource, RawFile, decode, is_read
from kubectl_tas.resolve.fleet import Fleet, resolve_work
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.work.outcome import work_alone
from kubectl_tas.work.run import Effort, JudgedRepository, SourceFiles, judge_files, judge_repository


class Buffers(OverlaySource):
    """The files of a repository, with unsaved texts in place of some. A file that the tool ignores stays ignored."""

    def __init__(self, root: Path, typed: Mapping[str, bytes]) -> None:
        super().__init__(FolderSource(root), typed)
        self._typed = typed

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """Returns all manifests below ``folders``, sorted by path."""
        found = super().files(folders, exclude=exclude)
        return tuple(raw for raw in found if raw.path not in self._typed or is_read(raw.path, folders, exclude=exclude))


@dataclass(frozen=True)
class Judgement:
    """Knowledge about a repository at one moment."""

    root: Path
    fleet: Fleet
    found: tuple[Diagnostic, ...]
    """The findings without a waiver, in order, as ``validate`` reports them."""
    typed: Mapping[str, bytes]
    """Texts that were read in place of files, by path below ``root``."""
    run: JudgedRepository
    """The results of each file, so that unchanged files are not judged again."""
    unread: tuple[Diagnostic, ...]
    """The findings about files that the tool does not read."""

    def verdict(self, item: Submission) -> Verdict:
        """Returns the verdict on a submission, from the last judgement of all files."""
        return self.run.admission.verdict(item)

    def shown_in(self, path: str) -> list[tuple[Diagnostic, Location]]:
        """Returns the findings to show in a file, each with its place there."""
        return [(item, place) for item, place in shown(self.found) if place.path == path]


def find_root(file: Path, typed: Iterable[Path] = ()) -> Path | None:
    """Finds the repository of a file: the nearest folder above with ``tas.yaml``, on disk or among the ``typed`` files.
    Returns None if no folder has one.
    """
    configs = {path for path in typed if path.name == CONFIG_FILE}
    above = file.parents
    return next((x for x in above if x / CONFIG_FILE in configs or os.path.isfile(x / CONFIG_FILE)), None)  # noqa: PTH113


def judged(
    root: Path, typed: Mapping[str, bytes], before: Judgement | None = None, also: Iterable[str] = ()
) -> Judgement:
    """Judges the repository at ``root``, with the texts ``typed`` in place of files. ``before`` is the previous result.
    The typed files and the files ``also`` are loaded completely, others as summaries. Raises TasError if reading fails.
    """
    like = before.run.files if before else None
    each = judge_files(SourceFiles(Buffers(root, typed)), (), Effort(processes=1), like=like)
    result = judge_repository(each, {*typed, *also})
    config = result.fleet.config
    ignored = tuple(unread(root, config.sources, config.output))
    counted, _ = settled((*result.findings, *ignored), result.fleet, None, complete=result.loaded.complete)
    return Judgement(root, result.fleet, counted, typed, result, ignored)


def looked_at(before: Judgement, typed: Mapping[str, bytes]) -> Judgement | None:
    """Judges changed texts quickly: each file in ``typed`` that differs from ``before`` is read alone. Findings of
    rules about all work, and findings in other files, stay as before. Returns None if all files must be read again: a
    file is a template, is new, or was closed.
    """
    known, found = before.run, before.run.files
    raws, shared = found.source.raws, found.source.shared
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
        if path not in shared:
            of_all = [part for item in of_all for part in _places(item, path, own=False)]
        of_all = [*lines.kept(of_all, ())]
        if path not in shared:
            fleet = resolve_work(loaded.repository, found.shared.context)
            undefined = check_references(fleet) if complete else ()
            of_all += [part for item in undefined for part in _places(item, path, own=True)]
        waivers = (*(item for item in waivers if item.place.path != path), *loaded.repository.waivers)
    fleet = replace(known.fleet, repository=replace(known.fleet.repository, waivers=waivers))
    counted, _ = settled(dict.fromkeys((*of_all, *of_files)), fleet, None, complete=complete)
    return replace(before, found=counted, typed=typed)


def _places(item: Diagnostic, path: str, *, own: bool) -> Iterator[Diagnostic]:
    """Moves a finding about a name to its places in a file, or in other files; yields any other finding unchanged."""
    if item.rule not in OF_NAMES:
        yield item
        return
    every = (item.location, *(other.location for other in item.related))
    meant = [place for place in every if place is not None and (place.path == path) == own]
    if meant:
        related = tuple(other for other in item.related if other.location in meant[1:])
        yield replace(item, location=meant[0], related=related)


class _Lines:
    """Maps the lines of a file before an edit to lines after it."""

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
        """Yields findings with their new lines. For this file, omits findings that are ``gone`` or whose line has
        changed.
        """
        for item in found:
            place = item.location
            is_own = place is not None and place.path == self._path and place.line > 0
            if place is None or not is_own or (place.line <= self._first and item not in gone):
                yield item
            elif place.line > self._last and item not in gone:
                yield replace(item, location=replace(place, line=place.line + self._more))


def shown(found: Iterable[Diagnostic]) -> Iterable[tuple[Diagnostic, Location]]:
    """Yields each finding with each place to show it at. An undefined name is shown at every use. A finding without a
    place is shown in the Config.
    """
    for item in found:
        yield item, item.location or Location(CONFIG_FILE)
        if item.rule in OF_NAMES:
            yield from ((item, other.location) for other in item.related if other.location is not None)


def text_of(root: Path, path: str, typed: Mapping[str, bytes]) -> str:
    """Returns the text of a file of the repository; empty if it does not exist or cannot be read."""
    content = typed.get(path)
    if content is None:
        try:
            content = FolderSource(root, asks_git=False).local_file(path).content
        except TasError:  # it vanished; its findings go with the next check
            return ""
    return decode(path, content)[0]


def documents(path: str, text: str) -> list[Document]:
    """Returns the documents of a file, including items of lists; none if the file is a template or cannot be parsed."""
    if template_root(text) is not None:
        return []
    return parsed(path, text)


def parsed(path: str, text: str) -> list[Document]:
    """Returns the documents of a text, including items of lists; none if the text is not YAML."""
    found, _ = parse(path, text)
    items = [item for document in found for item in items_of(document)]
    return [item for item in items if isinstance(item, Document)]
