"""Judges a whole repository: each file by itself, and finally everything that concerns several files.

Files that declare what others share are read first. Every other file gives an outcome (work.outcome). Files that only
make sense together, or that claim the same name, are judged together. Such files form a small repository, which knows
all other files by their summaries. The objects of a run and their texts are those of its shared documents, of the files
judged together, and of each other file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

from kubectl_tas.check import check_all, check_fleet, check_work
from kubectl_tas.diagnostics import Diagnostic, Location, has_errors
from kubectl_tas.folders import is_below, misspelled
from kubectl_tas.gangs.admission import Admission
from kubectl_tas.gangs.summary import Kept, Summary
from kubectl_tas.late import dataclass
from kubectl_tas.load.loading import Loaded, config_of, load_repository, load_work
from kubectl_tas.load.source import CONFIG_FILE, RawFile, Source
from kubectl_tas.model.config import VALUES_FOLDER as VALUES
from kubectl_tas.model.config import Setting
from kubectl_tas.model.repository import Declared, Origin, Repository
from kubectl_tas.resolve.fleet import Context, Fleet, is_called, resolve, resolve_context, resolve_work
from kubectl_tas.resolve.mentions import read_rows
from kubectl_tas.resolve.platforms import Finder
from kubectl_tas.store.cache import Store
from kubectl_tas.work.kept import Outcomes
from kubectl_tas.work.outcome import Outcome, Shared, claims, points_of, stems_of, uses, work_of
from kubectl_tas.work.plain import to_diagnostic, to_sent, to_waiver
from kubectl_tas.work.processes import Done, Shelf, Spool, Strip, outcomes, processes_for

if TYPE_CHECKING:
    from kubectl_tas.emit.manifest_text import Deferred
    from kubectl_tas.model.artifact import Artifact
    from kubectl_tas.work.manifests import Object

LEAST_KEPT = 20
"""The fewest files for which using the store saves time."""
Tick = Callable[[int, int], None]


@dataclass(frozen=True)
class Run:
    """A repository that was read and checked, each file by itself."""

    fleet: Fleet
    """The shared documents, the files judged together, and summaries of all other work."""
    loaded: Loaded
    """The files that were judged together."""
    outcomes: Mapping[str, Outcome]
    """The outcomes of the files that were judged by themselves."""
    survey: Survey

    @property
    def found(self) -> tuple[Diagnostic, ...]:
        """All findings, before settings and waivers of the repository apply."""
        return (*self.of_all, *self.of_files)

    @cached_property
    def of_all(self) -> tuple[Diagnostic, ...]:
        """The findings about shared documents, or about all work."""
        return check_all(self.fleet, complete=self.loaded.complete)

    @cached_property
    def of_files(self) -> tuple[Diagnostic, ...]:
        """The findings from reading a file, or about a single piece of work."""
        own = (to_diagnostic(plain) for item in self.outcomes.values() for plain in item.findings)
        return (*self.loaded.diagnostics, *check_work(self.fleet), *own)

    @cached_property
    def admission(self) -> Admission:
        """The verdicts of quotas on all work."""
        return Admission(self.fleet)

    @property
    def is_empty(self) -> bool:
        """Whether the repository declares nothing that could be rendered."""
        return self.fleet.repository.is_empty and all(item.is_empty for item in self.outcomes.values())


@dataclass(frozen=True)
class Effort:
    """Settings for doing the work; no setting changes a byte of the result."""

    processes: int | None = None
    """The number of processes; None chooses as many as pay off."""
    store: Store | None = None
    """The store for results between runs."""
    tick: Tick = lambda done, total: None
    """Called with the number of files done and the total."""

    def store_for(self, files: int) -> Store | None:
        """Returns the store, if using it pays off for that many files."""
        return self.store if files >= LEAST_KEPT else None


@dataclass(frozen=True)
class Survey:
    """All files of a repository, each by itself."""

    parts: Parts
    shared: Shared
    outcomes: Mapping[str, Outcome]
    strips: dict[str, Strip]
    objects: Shelf
    """The manifests of outcomes, kept out of memory."""
    settings: Sequence[Setting]
    effort: Effort

    @cached_property
    def together(self) -> frozenset[str]:
        """The files that are judged as one repository. These are files that others depend on, that only make sense with
        others, or that claim the same name as another file.
        """
        if any(item.is_shared for item in self.outcomes.values()):  # what work depends on stands among the work
            return frozenset((*self.parts.shared, *self.parts.raws))
        first = self.parts.shared | {path for path, item in self.outcomes.items() if not item.is_alone}
        fleet = resolve(self.parts.load(first, self.settings).repository)
        return frozenset(first | _meeting({p: item for p, item in self.outcomes.items() if item.is_alone}, fleet))

    def files_called(self, words: Sequence[str]) -> set[str]:
        """Returns the files with work of that name or KIND/NAME."""
        called = ((path, plain[-1]) for path, item in self.outcomes.items() for plain in item.sent)
        return {path for path, (kind, name, *_) in called if any(is_called(kind, name, word) for word in words)}

    def differing(self, other: Survey) -> set[str]:
        """Returns the files whose outcome differs in another survey, because the file or its context differs."""
        mine, theirs = self.parts.raws, other.parts.raws
        found = {path for path in mine.keys() | theirs.keys() if mine.get(path) != theirs.get(path)}
        for path in self.outcomes.keys() - found:
            wanted = self.outcomes[path].seen
            if self.shared.digest(wanted) != other.shared.digest(wanted):
                found.add(path)
        return found


def judged_both(before: Survey, after: Survey) -> tuple[Run, Run]:
    """Judges two surveys of one repository. Files that differ between the surveys are there in full in both runs, all
    others as summaries, which are the same.
    """
    also = after.differing(before) | before.differing(after) | before.together | after.together
    return judged(before, also), judged(after, also)


def survey(
    parts: Parts,
    settings: Sequence[Setting],
    effort: Effort,
    *,
    render: bool = False,
    like: Survey | None = None,
) -> Survey:
    """Returns the outcome of each file of a repository, taken from the survey ``like`` if the file is the same there.
    With ``render``, each outcome has the objects of its file. ``settings`` are values of templates.
    """
    work = [raw for path, raw in parts.raws.items() if path not in parts.shared]
    first = parts.load(parts.shared, settings, None if work else effort.tick)
    context = resolve_context(first.repository)
    shared = Shared(context, first.repository, parts.digests())
    found = Survey(parts, shared, {}, {}, Shelf(), settings, effort)
    known: dict[str, Outcome] = {}
    if like is not None:
        known = {path: like.outcomes[path] for path in like.outcomes.keys() - like.differing(found)}
    made, strips = dict(known), dict[str, Strip]()
    missing = [raw for raw in work if raw.path not in known]
    for done in _known_or_made(missing, shared, effort, render=render and not _fails(first, context)):
        made[done.raw.path] = done.outcome
        if done.outcome.objects is not None:
            found.objects.put(done.raw.path, done.outcome.objects)
            made[done.raw.path] = replace(done.outcome, objects=None)
            if done.texts is not None:
                strips[done.raw.path] = done.texts
        effort.tick(len(made), len(work))
        if done.outcome.is_shared:
            break
    return replace(found, outcomes={path: made[path] for path in sorted(made)}, strips=strips)


def judged(found: Survey, also: Collection[str] = (), adjust: Callable[[Repository], Repository] | None = None) -> Run:
    """Judges a survey as a whole. Files that only make sense together, and those in ``also``, are judged as one
    repository, changed by ``adjust``.
    """
    parts, context = found.parts, found.shared.context
    together = found.together | (parts.raws.keys() & set(also))
    alone = {path: item for path, item in found.outcomes.items() if path not in together}
    loaded = parts.load(together, found.settings)
    declared = loaded.repository if adjust is None else adjust(loaded.repository)
    repository = replace(
        declared,
        files=tuple(sorted((*declared.files, *alone))),
        waivers=(*declared.waivers, *(to_waiver(plain) for item in alone.values() for plain in item.waivers)),
    )
    mentions = (read_rows(item.mentions, path, _finder(found, path)) for path, item in alone.items() if item.mentions)
    summaries = tuple(_summaries(alone, context))
    fleet = replace(resolve(repository), summaries=summaries, kept_mentions=tuple(mentions))
    return Run(fleet, loaded, alone, found)


def _known_or_made(work: Sequence[RawFile], shared: Shared, effort: Effort, *, render: bool) -> Iterator[Done]:
    """Yields the outcomes of files, the kept ones first."""
    store = effort.store_for(len(work))
    kept = Outcomes(store, shared) if store is not None else None
    missing: list[RawFile] = []
    for raw, found in kept.find(work, render=render) if kept else ((raw, None) for raw in work):
        if found is None:
            missing.append(raw)
        else:
            yield Done(raw, found, None)
    many = processes_for(len(missing)) if effort.processes is None else effort.processes
    for done in outcomes(missing, shared, many, render=render):
        if kept:
            kept.add(done.raw, done.outcome)
        yield done
    if kept:
        kept.save()


def _fails(loaded: Loaded, context: Context) -> bool:
    """Whether the shared documents have errors, so that no dependent work is rendered."""
    fleet = resolve_work(replace(loaded.repository, workflows=(), workloads=(), companions=()), context)
    return has_errors((*loaded.diagnostics, *check_fleet(fleet, complete=loaded.complete)))


def _summaries(alone: Mapping[str, Outcome], context: Context) -> Iterator[Summary]:
    """Yields the summaries of the work that was judged by itself."""
    for path, item in alone.items():
        for pool_name, subpool_name, place, plain in item.sent:
            pool = context.pools[pool_name]
            subpool = next((part for part in pool.subpools if part.name == subpool_name), None)
            declared = Declared(None, Kept(path, Location(*place)))
            yield Summary(declared, pool, subpool, to_sent(plain))


def _finder(found: Survey, path: str) -> Callable[[int], Finder]:
    """Returns a function that finds places in the n-th document of a file, and reads the file again when first used."""

    @cache
    def origins() -> list[Origin]:
        loaded = load_work(found.parts.raws[path], found.shared.context.config)
        assert loaded is not None
        return [item.origin for item in loaded.repository.work]

    def finder(number: int) -> Finder:
        return lambda where, *, key=False: origins()[number].locate(where, key=key)

    return finder


def _meeting(alone: Mapping[str, Outcome], fleet: Fleet) -> set[str]:
    """Returns the files that claim a name which another file has or uses; ``fleet`` are the files judged together."""
    found: set[str] = set()
    first: dict[str, str] = dict.fromkeys(claims(fleet), "")
    for path, item in alone.items():
        for claim in item.claims:
            other = first.setdefault(claim, path)
            if other != path:
                found |= {path, other}
    used = [(name, "") for name in uses(fleet)] + [(name, path) for path, item in alone.items() for name in item.uses]
    found |= {file for name, path in used if first.get(name, path) != path for file in (path, first[name])}
    stems = [(stem, path) for path, item in alone.items() for stem in item.stems]
    stems += [(stem, "") for stem in stems_of(fleet)]
    points = [(point, path) for path, item in alone.items() for point in item.points]
    points += [(point, "") for point in points_of(fleet)]
    found |= {path for pair in _begin_alike(stems, points) for path in pair}
    return found - {""}


def _begin_alike(stems: Iterable[tuple[str, str]], points: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yields the files of a stem and of another stem or name that begins with it."""
    ordered = sorted([*((stem, path, True) for stem, path in stems), *((point, path, False) for point, path in points)])
    open_: list[tuple[str, str]] = []
    for name, path, is_stem in ordered:
        while open_ and not name.startswith(open_[-1][0]):
            open_.pop()
        yield from ((path, other) for _, other in open_ if other != path)
        if is_stem:
            open_.append((name, path))


class Parts:
    """The files of a source, read once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.raws: dict[str, RawFile] = {}
        config = config_of(source)
        self._output = config.output
        self._loaded: tuple[frozenset[str], Loaded] | None = None
        self.paths: tuple[str, ...] = ()
        """The paths of all files that are read; set by ``inputs``."""
        self.shared = {CONFIG_FILE}
        folders = [folder for folder in config.sources if misspelled(folder) is None]
        for folder in folders:
            source.has_folder(folder)  # one that is there now and vanishes is not gone
        for raw in source.files(folders, exclude=config.output):
            self.raws[raw.path] = raw
            if any(is_below(raw.path, folder) for folder in config.adminSources):
                self.shared.add(raw.path)

    def load(self, paths: Collection[str], settings: Sequence[Setting] = (), tick: Tick | None = None) -> Loaded:
        """Loads these files as a repository, and keeps the last result, because callers often repeat the request."""
        wanted = frozenset(path for path in paths if path in self.raws)
        if self._loaded is None or self._loaded[0] != wanted:
            raws = {path: raw for path, raw in self.raws.items() if path in wanted}
            self._loaded = (wanted, load_repository(_Some(self._source, raws), tick, settings))
        return self._loaded[1]

    def inputs(self, settings: Sequence[Setting]) -> bytes:
        """Returns a digest of all files that are read in any case."""
        source, config = self._source, self._source.config()
        values = source.files([VALUES], exclude=self._output) if source.has_folder(VALUES) else ()
        found = hashlib.blake2b(repr(settings).encode("utf-8", "surrogatepass"), digest_size=20)
        every = (*((config,) if config else ()), *values, *self.raws.values())
        self.paths = tuple(sorted(raw.path for raw in every))
        for raw in every:
            found.update(b"\0".join((repr((raw.path, raw.link, raw.problem)).encode(), b"%d" % len(raw.content))))
            found.update(raw.content)
        return found.digest()

    def digests(self) -> dict[str, bytes]:
        """Returns a digest of each file that others depend on."""
        raws = [self.raws[path] for path in self.shared if path in self.raws]
        config = self._source.config()
        return {raw.path: hashlib.blake2b(raw.content).digest() for raw in (*raws, *([config] if config else ()))}


class _Some:
    """A source with only some files of another, which were already read."""

    def __init__(self, source: Source, raws: Mapping[str, RawFile]) -> None:
        self._source, self._raws = source, raws
        self.config, self.has_folder, self.local_file = source.config, source.has_folder, source.local_file

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """Returns the kept files; for the folder of values, all of its files."""
        if list(folders) == [VALUES]:
            return self._source.files(folders, exclude=exclude)
        return tuple(self._raws[path] for path in sorted(self._raws))


def objects_to_apply(run: Run, fleet: Fleet) -> tuple[Artifact | Object, ...]:
    """Returns all objects of a repository without errors, by backend and then in the order of application. ``fleet`` is
    the fleet of the run, perhaps with other shared settings.
    """
    if run.is_empty:
        return ()
    from kubectl_tas.compile import compile_shared, compile_work, in_order_of_application
    from kubectl_tas.work.manifests import objects_of  # only rendering waits for the compiler and its templates

    made: list[Artifact | Object] = [*compile_shared(fleet), *compile_work(fleet)]
    for path in run.outcomes:
        written = run.survey.objects.get(path)
        made += objects_of(_again(run, path) if written is None else written, path)
    return in_order_of_application(fleet, made)


def texts_of(run: Run) -> Callable[[Artifact | Object], str | Deferred]:
    """Returns a function that gives the text of an object's file. The function may be used after the object is gone."""
    from kubectl_tas.emit.manifest_text import Deferred, file_text
    from kubectl_tas.model.artifact import Artifact

    read = partial(_text_again, run)

    def text_of(item: Artifact | Object) -> str | Deferred:
        if isinstance(item, Artifact):
            return file_text(item)
        return Deferred(item.digest, item.source, (item.at, item.size), read)

    return text_of


def make_texts(run: Run, sources: Iterable[str]) -> None:
    """Makes the texts of files that were kept without them, in one batch."""
    known, effort = run.survey.strips, run.survey.effort
    missing = [run.survey.parts.raws[path] for path in sorted(run.outcomes.keys() & set(sources) - known.keys())]
    many = processes_for(len(missing)) if effort.processes is None else effort.processes
    for done in outcomes(missing, run.survey.shared, many, render=True) if len(missing) > 1 else ():
        if done.texts is not None and done.outcome.objects is not None:
            known[done.raw.path] = done.texts


def _text_again(run: Run, source: str, at: int, size: int) -> str:
    if source not in run.survey.strips:
        _again(run, source)
    return run.survey.strips[source].text(at, size)


def _again(run: Run, path: str) -> str:
    """Compiles a file once more, for its texts."""
    from kubectl_tas.work.manifests import objects

    texts: list[bytes] = []
    made = objects(work_of(run.survey.parts.raws[path], run.survey.shared), texts)
    spool = Spool()
    run.survey.strips[path] = Strip(spool, spool.put(texts))
    return made
