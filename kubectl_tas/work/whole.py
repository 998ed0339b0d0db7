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

from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.emit.disk import Stamps
from kubectl_tas.late import dataclass
from kubectl_tas.load.loading import Loaded
from kubectl_tas.load.source import RawFile, Source
from kubectl_tas.model.config import Setting
from kubectl_tas.resolve.fleet import Fleet, resolve
from kubectl_tas.store.cache import Store
from kubectl_tas.work.kept import tool_digest
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
from kubectl_tas.work.run import Effort, Parts, Run, judged, survey

FOLDER, FILE = "folder", "file"
"""The kinds of questions to a source."""
Answers = dict[str, dict[str, bool | str]]
_PART = 20_000
"""Files that one entry describes."""


@dataclass(frozen=True)
class Layout:
    """The files that a run renders."""

    files: Mapping[str, str]
    """The digest of each text, by path from the repository root."""
    counts: Mapping[str, int]
    """The number of objects of each backend."""


@dataclass(frozen=True)
class Repeat:
    """The results of an earlier run on the same bytes."""

    fleet: Fleet
    """The fleet, with only the Config, the paths of files and the comments that waive rules."""
    found: tuple[Diagnostic, ...]
    loaded: Loaded
    is_empty: bool
    place: Place

    @property
    def full(self) -> Run:
        """The run itself, for data that are not kept."""
        return self.place.full


@dataclass(frozen=True)
class Place:
    """The place of a run in the store."""

    store: Store
    source: Asked
    parts: Parts
    settings: Sequence[Setting]
    effort: Effort
    render: bool

    @cached_property
    def full(self) -> Run:
        """The run, made anew from the files that were read."""
        return judged(survey(self.parts, self.settings, self.effort, render=self.render))

    @cached_property
    def key(self) -> bytes:
        """The key of the run."""
        return _key(tool_digest() + self.parts.inputs(self.settings))

    @property
    def layout_key(self) -> bytes:
        """The key of the run's layout, which also depends on the other answers of the source."""
        return _key(self.key + to_bytes([sorted(it.items()) for it in self.source.answers.values()]))

    @property
    def layout(self) -> Layout | None:
        """The files that the run renders; None if not kept."""
        found = _of_parts(self.store, self.layout_key, dict)
        return None if found is None else Layout(*found)

    def keep_layout(self, layout: Layout) -> None:
        """Keeps the files that the run renders."""
        self.store.put(_in_parts(self.layout_key, layout.files, layout.counts))


def _in_parts(key: bytes, files: Mapping[str, str], about: object) -> Iterator[tuple[bytes, bytes]]:
    """Yields store entries for many files and for their common data; as one text, they would need too much memory."""
    left, numbers = iter(files.items()), count()
    while part := dict(islice(left, _PART)):
        yield _part(key, next(numbers)), to_bytes([part])
    yield key, to_bytes([next(numbers), about])


def _of_parts(store: Store, key: bytes, kind: type) -> tuple[dict[str, str], Any] | None:
    """Reads the entries of ``_in_parts``; None if one is missing, or the common data are not of that kind."""
    head = of_entry(store.get(key))
    if head is None or [*map(type, head)] != [int, kind]:
        return None
    files: dict[str, str] = {}
    for number in range(head[0]):
        part = of_entry(store.get(_part(key, number)))
        if part is None or [*map(type, part)] != [dict]:
            return None
        files |= part[0]
    return files, head[1]


def _part(key: bytes, number: int) -> bytes:
    return _key(key + b"%d" % number)


def _key(content: bytes) -> bytes:
    """Returns the store's key for a content."""
    return hashlib.blake2b(content, digest_size=20).digest()


def run_or_repeat(
    source: Source, settings: Sequence[Setting], effort: Effort, *, render: bool
) -> tuple[Run | Repeat, Place | None]:
    """Judges a repository, or reuses the results of the same bytes; also returns the place in the store.

    Raises TasError if a folder or file cannot be read.
    """
    asked = Asked(source)
    parts = Parts(asked)
    store = effort.store_for(len(parts.raws))
    place = Place(store, asked, parts, settings, effort, render) if store is not None else None
    if place is None:
        return judged(survey(parts, settings, effort, render=render)), None
    repeat = _repeat(place)
    if repeat is None:
        found, repository = place.full, place.full.fleet.repository
        unread = [from_unread(item) for item in found.loaded.repository.unread]
        about = [found.is_empty, unread, list(found.loaded.refused)]
        kept = [[from_diagnostic(item) for item in found.found], [from_waiver(item) for item in repository.waivers]]
        place.store.put([(place.key, to_bytes([asked.answers, *about, *kept]))])
    return repeat or place.full, place


def _repeat(place: Place) -> Repeat | None:
    """Returns the kept results of a run, if the source still gives the same answers; else None."""
    plain = of_entry(place.store.get(place.key))
    try:
        answers, is_empty, unread, refused, found, waivers = plain or [None] * 6
        if plain is None or not place.source.still_answers(answers):
            return None
        place.source.answers = answers
        loaded = place.parts.load((), place.settings)
        repository = replace(loaded.repository, files=place.parts.paths, waivers=tuple(map(to_waiver, waivers)))
        repository = replace(repository, unread=tuple(map(to_unread, unread)))
        loaded = Loaded(repository, (), tuple(refused))
        return Repeat(resolve(repository), tuple(map(to_diagnostic, found)), loaded, is_empty, place)
    except (TypeError, ValueError, KeyError):  # none of ours
        return None


class KeptStamps:
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
        self._stamps = Stamps(*_of_parts(self._store, self._key, int) or ({},))
        return self._stamps

    def keep(self, paths: Sequence[str]) -> None:
        """Keeps the stamps of the files that are up to date."""
        settled = self._stamps.settled(frozenset(paths)) if self._stamps is not None else None
        if settled is not None and self._store is not None:
            self._store.put(_in_parts(self._key, *settled))


class Asked:
    """A source that records questions about folders and files that are not always read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.answers: Answers = {FOLDER: {}, FILE: {}}
        self.config, self.files = source.config, source.files

    def has_folder(self, folder: str) -> bool:
        """Whether ``folder`` exists."""
        found = self._source.has_folder(folder)
        self.answers[FOLDER][folder] = found
        return found

    def local_file(self, path: str) -> RawFile:
        """Returns a file of any kind, or the reason why it is not available."""
        found = self._source.local_file(path)
        self.answers[FILE][path] = _digest(found)
        return found

    def still_answers(self, answers: Answers) -> bool:
        """Whether the source would still give all of these answers."""
        folders, files = answers[FOLDER].items(), answers[FILE].items()
        are_there = all(self._source.has_folder(name) == answer for name, answer in folders)
        return are_there and all(_digest(self._source.local_file(path)) == answer for path, answer in files)


def _digest(raw: RawFile) -> str:
    found = hashlib.blake2b(repr((raw.problem, raw.is_executable)).encode("utf-8", "surrogatepass"), digest_size=16)
    found.update(raw.content)
    return found.hexdigest()
