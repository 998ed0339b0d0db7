"""Keeps a run as a whole: if all files have the same bytes in the next run, only the Config is parsed again."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count, islice
from pathlib import Path
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic
from kubectl_tas.base.late import dataclass
from kubectl_tas.emit.disk import Stamps
from kubectl_tas.load.loading import Loaded
from kubectl_tas.load.source import RawFile, Source
from kubectl_tas.model.config import Setting
from kubectl_tas.resolve.fleet import Fleet, resolve
from kubectl_tas.store.cache import Store
from kubectl_tas.work.plain import (
    from_diagnostic,
    from_unread,
    from_waiver,
    of_entry,
    to_bytes,
    to_diagnostic,
    to_unread,
    to_waiver,
)
from kubectl_tas.work.run import Effort, JudgedRepository, SourceFiles, judge_files, judge_repository
from kubectl_tas.work.stored_outcomes import tool_digest

FOLDER, FILE = "folder", "file"
"""The kinds of questions to a source."""
SourceAnswers = dict[str, dict[str, bool | str]]
_BATCH = 20_000
"""The number of files that one entry describes."""


@dataclass(frozen=True)
class RenderedFiles:
    """The files that a run renders."""

    files: Mapping[str, str]
    """The digest of each text, by path from the repository root."""
    counts: Mapping[str, int]
    """The number of objects of each backend."""


@dataclass(frozen=True)
class RunOutcome:
    """The findings of a repository, from this run or from an earlier run on the same bytes."""

    fleet: Fleet
    """After an earlier run only the Config, the paths of files and the comments that waive rules."""
    findings: tuple[Diagnostic, ...]
    """All findings, before settings and waivers of the repository apply."""
    loaded: Loaded
    is_empty: bool
    judged: JudgedRepository | None
    """The files that this run judged; None if the findings are those of an earlier run."""
    stored: StoredRun | None = None
    """The run in the store; None without a store."""

    @classmethod
    def of(cls, judged: JudgedRepository, stored: StoredRun | None = None) -> RunOutcome:
        """Returns the outcome of a repository that this run judged."""
        findings, is_empty = judged.findings, judged.is_empty
        return cls(judged.fleet, findings, judged.loaded, is_empty, judged, stored)

    @property
    def full(self) -> JudgedRepository:
        """The judged files, judged now if the store had the findings."""
        if self.judged is not None:
            return self.judged
        assert self.stored is not None
        return self.stored.full


@dataclass(frozen=True)
class StoredRun:
    """A run in the store: its keys, and what is needed to judge the repository anew."""

    store: Store
    source: RecordedSource
    files: SourceFiles
    settings: Sequence[Setting]
    effort: Effort
    render: bool

    @cached_property
    def full(self) -> JudgedRepository:
        """The run, made anew from the files that were read."""
        return judge_repository(judge_files(self.files, self.settings, self.effort, render=self.render))

    @cached_property
    def key(self) -> bytes:
        """The key of the run."""
        return _key(tool_digest() + self.files.inputs(self.settings))

    @property
    def rendered_key(self) -> bytes:
        """The key of the rendered files, which also depends on the other answers of the source."""
        return _key(self.key + to_bytes([sorted(answers.items()) for answers in self.source.answers.values()]))

    @property
    def rendered(self) -> RenderedFiles | None:
        """The files that the run renders; None if not kept."""
        rendered = _from_batches(self.store, self.rendered_key, dict)
        return None if rendered is None else RenderedFiles(*rendered)

    def keep_rendered(self, rendered: RenderedFiles) -> None:
        """Keeps the files that the run renders."""
        self.store.put(_in_batches(self.rendered_key, rendered.files, rendered.counts))


def _in_batches(key: bytes, files: Mapping[str, str], common: object) -> Iterator[tuple[bytes, bytes]]:
    """Yields store entries for many files and for their common data; as one text, they would need too much memory."""
    remaining, numbers = iter(files.items()), count()
    while batch := dict(islice(remaining, _BATCH)):
        yield _batch_key(key, next(numbers)), to_bytes([batch])
    yield key, to_bytes([next(numbers), common])


def _from_batches(store: Store, key: bytes, kind: type) -> tuple[dict[str, str], Any] | None:
    """Reads the entries of ``_in_batches``; None if one is missing, or the common data are not of that kind."""
    head = of_entry(store.get(key))
    if head is None or [*map(type, head)] != [int, kind]:
        return None
    files: dict[str, str] = {}
    for number in range(head[0]):
        batch = of_entry(store.get(_batch_key(key, number)))
        if batch is None or [*map(type, batch)] != [dict]:
            return None
        files |= batch[0]
    return files, head[1]


def _batch_key(key: bytes, number: int) -> bytes:
    return _key(key + b"%d" % number)


def _key(content: bytes) -> bytes:
    """Returns the store's key for a content."""
    return hashlib.blake2b(content, digest_size=20).digest()


def judge_or_recall(source: Source, settings: Sequence[Setting], effort: Effort, *, render: bool) -> RunOutcome:
    """Judges a repository, or takes the findings of an earlier run on the same bytes from the store.

    Raises TasError if a folder or file cannot be read.
    """
    recorded = RecordedSource(source)
    files = SourceFiles(recorded)
    store = effort.store_for(len(files.raws))
    if store is None:
        return RunOutcome.of(judge_repository(judge_files(files, settings, effort, render=render)))
    stored = StoredRun(store, recorded, files, settings, effort, render)
    recalled = _recalled(stored)
    if recalled is not None:
        return recalled
    outcome = RunOutcome.of(stored.full, stored)
    unread = [from_unread(document) for document in outcome.loaded.repository.unread]
    about_run = [outcome.is_empty, unread, list(outcome.loaded.refused)]
    findings = [from_diagnostic(finding) for finding in outcome.findings]
    waivers = [from_waiver(waiver) for waiver in outcome.fleet.repository.waivers]
    store.put([(stored.key, to_bytes([recorded.answers, *about_run, findings, waivers]))])
    return outcome


def _recalled(stored: StoredRun) -> RunOutcome | None:
    """Returns the findings of an earlier run, if the source still gives the same answers; else None."""
    plain = of_entry(stored.store.get(stored.key))
    try:
        answers, is_empty, unread, refused, findings, waivers = plain or [None] * 6
        if plain is None or not stored.source.still_answers(answers):
            return None
        stored.source.answers = answers
        loaded = stored.files.load((), stored.settings)
        repository = replace(loaded.repository, files=stored.files.paths, waivers=tuple(map(to_waiver, waivers)))
        repository = replace(repository, unread=tuple(map(to_unread, unread)))
        loaded = Loaded(repository, (), tuple(refused))
        diagnostics = tuple(map(to_diagnostic, findings))
        return RunOutcome(resolve(repository), diagnostics, loaded, is_empty, None, stored)
    except (TypeError, ValueError, KeyError):  # another format
        return None


class StoredStamps:
    """The stamps of an output folder, kept in the store if there is one."""

    def __init__(self, store: Store | None, root: Path, output: str) -> None:
        self._store = store
        name = f"stamps\0{os.path.realpath(root)}\0{output}"
        self._key = _key(name.encode("utf-8", "surrogateescape"))
        self._stamps: Stamps | None = None

    def read(self) -> Stamps | None:
        """Returns the kept stamps; None without a store."""
        if self._store is None:
            return None
        self._stamps = Stamps(*_from_batches(self._store, self._key, int) or ({},))
        return self._stamps

    def keep(self, paths: Sequence[str]) -> None:
        """Keeps the stamps of the files that are up to date."""
        to_keep = self._stamps.to_keep(frozenset(paths)) if self._stamps is not None else None
        if to_keep is not None and self._store is not None:
            self._store.put(_in_batches(self._key, *to_keep))


class RecordedSource:
    """A source that records questions about folders and files that are not always read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.answers: SourceAnswers = {FOLDER: {}, FILE: {}}
        self.config, self.files = source.config, source.files

    def has_folder(self, folder: str) -> bool:
        """Whether ``folder`` exists."""
        exists = self._source.has_folder(folder)
        self.answers[FOLDER][folder] = exists
        return exists

    def local_file(self, path: str) -> RawFile:
        """Returns a file of any kind, or the reason why it is not available."""
        raw = self._source.local_file(path)
        self.answers[FILE][path] = _digest(raw)
        return raw

    def still_answers(self, answers: SourceAnswers) -> bool:
        """Whether the source would still give all of these answers."""
        folders, files = answers[FOLDER].items(), answers[FILE].items()
        are_there = all(self._source.has_folder(name) == answer for name, answer in folders)
        return are_there and all(_digest(self._source.local_file(path)) == answer for path, answer in files)


def _digest(raw: RawFile) -> str:
    digest = hashlib.blake2b(repr((raw.problem, raw.is_executable)).encode("utf-8", "surrogatepass"), digest_size=16)
    digest.update(raw.content)
    return digest.hexdigest()
