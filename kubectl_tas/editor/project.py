"""Reads and judges one repository as an editor has it: files on disk, and unsaved texts in place of some files."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kubectl_tas.base.diagnostics import Diagnostic, Location, Severity, TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.check import work_findings
from kubectl_tas.check.judging import counted_and_waived
from kubectl_tas.check.references import RULES as OF_NAMES
from kubectl_tas.check.references import check_references
from kubectl_tas.gangs.admission import Verdict
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
        raws = super().files(folders, exclude=exclude)
        return tuple(raw for raw in raws if raw.path not in self._typed or is_read(raw.path, folders, exclude=exclude))


@dataclass(frozen=True)
class Judgement:
    """Knowledge about a repository at one moment."""

    root: Path
    fleet: Fleet
    findings: tuple[Diagnostic, ...]
    """The findings without a waiver, in order, as ``validate`` reports them."""
    typed: Mapping[str, bytes]
    """Texts that were read in place of files, by path below ``root``."""
    run: JudgedRepository
    """The results of each file, so that unchanged files are not judged again."""
    unread: tuple[Diagnostic, ...]
    """The findings about files that the tool does not read."""

    def verdict(self, submission: Submission) -> Verdict:
        """Returns the verdict on a submission, from the last judgement of all files."""
        return self.run.admission.verdict(submission)

    def shown_in(self, path: str) -> list[tuple[Diagnostic, Location]]:
        """Returns the findings to show in a file, each with its place there."""
        return [(finding, location) for finding, location in shown(self.findings) if location.path == path]


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
    repository = judge_repository(each, {*typed, *also})
    fleet, complete = repository.fleet, repository.loaded.complete
    ignored = tuple(unread(root, fleet.config.sources, fleet.config.output))
    counted, _ = counted_and_waived((*repository.findings, *ignored), fleet, None, complete=complete)
    return Judgement(root, fleet, counted, typed, repository, ignored)


def looked_at(before: Judgement, typed: Mapping[str, bytes]) -> Judgement | None:
    """Judges changed texts quickly: each file in ``typed`` that differs from ``before`` is read alone. Findings of
    rules about all work, and findings in other files, stay as before. Returns None if all files must be read again: a
    file is a template, is new, or was closed.
    """
    repository, files = before.run, before.run.files
    raws, shared_paths = files.source.raws, files.source.shared_paths
    was = {path: raws[path].content if path in raws else before.typed.get(path) for path in typed}
    changed = [path for path, content in typed.items() if content != was[path]]
    declares = any(outcome.is_shared for outcome in files.outcomes.values())
    if declares or not before.typed.keys() <= typed.keys() or not raws.keys() >= set(changed):
        return None
    fleet_findings, file_findings = [*repository.fleet_findings, *before.unread], [*repository.file_findings]
    waivers = repository.fleet.repository.waivers
    failed = [finding.location for finding in repository.loaded.diagnostics if finding.severity is Severity.ERROR]
    complete = repository.loaded.complete or all(each is not None and each.path in changed for each in failed)
    for path in changed:
        raw = replace(raws[path], content=typed[path])
        loaded = load_work(raw, repository.fleet.config)
        if loaded is None or raw.problem is not None:
            return None
        complete = complete and loaded.complete
        lines = _Lines(path, raws[path].content, raw.content)
        work = work_alone(loaded, raw, files.shared)
        gone = file_findings if work is not None else repository.loaded.diagnostics
        file_findings = [*lines.kept(file_findings, gone), *loaded.diagnostics, *(work_findings(work) if work else ())]
        if path not in shared_paths:
            fleet_findings = [moved for finding in fleet_findings for moved in _places(finding, path, in_file=False)]
        fleet_findings = [*lines.kept(fleet_findings, ())]
        if path not in shared_paths:
            fleet = resolve_work(loaded.repository, files.shared.context)
            undefined = check_references(fleet) if complete else ()
            fleet_findings += [moved for finding in undefined for moved in _places(finding, path, in_file=True)]
        waivers = (*(waiver for waiver in waivers if waiver.place.path != path), *loaded.repository.waivers)
    fleet = replace(repository.fleet, repository=replace(repository.fleet.repository, waivers=waivers))
    counted, _ = counted_and_waived(dict.fromkeys((*fleet_findings, *file_findings)), fleet, None, complete=complete)
    return replace(before, findings=counted, typed=typed)


def _places(finding: Diagnostic, path: str, *, in_file: bool) -> Iterator[Diagnostic]:
    """Moves a finding about a name to its places in a file, or in other files; yields any other finding unchanged."""
    if finding.rule not in OF_NAMES:
        yield finding
        return
    every = (finding.location, *(related_place.location for related_place in finding.related))
    kept_locations = [location for location in every if location is not None and (location.path == path) == in_file]
    if kept_locations:
        related = tuple(each for each in finding.related if each.location in kept_locations[1:])
        yield replace(finding, location=kept_locations[0], related=related)


class _Lines:
    """Maps the lines of a file before an edit to lines after it."""

    def __init__(self, path: str, before: bytes, after: bytes) -> None:
        self._path = path
        old, new = before.splitlines(), after.splitlines()
        same = [old_line == new_line for old_line, new_line in zip(old, new, strict=False)]
        self._first = next((line for line, is_same in enumerate(same) if not is_same), len(same))
        behind = zip(reversed(old[self._first :]), reversed(new[self._first :]), strict=False)
        unchanged = next((line for line, (old_line, new_line) in enumerate(behind) if old_line != new_line), None)
        self._last = len(old) - (min(len(old), len(new)) - self._first if unchanged is None else unchanged)
        self._more = len(new) - len(old)

    def kept(self, findings: Iterable[Diagnostic], gone: Container[Diagnostic]) -> Iterator[Diagnostic]:
        """Yields findings with their new lines. For this file, omits findings that are ``gone`` or whose line has
        changed.
        """
        for finding in findings:
            location = finding.location
            is_own = location is not None and location.path == self._path and location.line > 0
            if location is None or not is_own or (location.line <= self._first and finding not in gone):
                yield finding
            elif location.line > self._last and finding not in gone:
                yield replace(finding, location=replace(location, line=location.line + self._more))


def shown(findings: Iterable[Diagnostic]) -> Iterable[tuple[Diagnostic, Location]]:
    """Yields each finding with each place to show it at. An undefined name is shown at every use. A finding without a
    place is shown in the Config.
    """
    for finding in findings:
        yield finding, finding.location or Location(CONFIG_FILE)
        if finding.rule in OF_NAMES:
            yield from ((finding, related.location) for related in finding.related if related.location is not None)


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
    parsed_documents, _ = parse(path, text)
    flattened = [inner for document in parsed_documents for inner in items_of(document)]
    return [inner for inner in flattened if isinstance(inner, Document)]
