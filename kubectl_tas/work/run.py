"""Judges a whole repository: each file by itself, and finally everything that concerns several files.

Files that declare what others share are read first. Every other file gives an outcome (work.outcome). Files that only
make sense together, or that claim the same name, are judged together. Such files form a small repository, which knows
all other files by their summaries. The objects of a run and their texts are those of its shared documents, of the files
judged together, and of each other file.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Diagnostic, Location, has_errors
from kubectl_tas.base.folders import is_below, misspelled
from kubectl_tas.base.late import dataclass
from kubectl_tas.check import all_findings, fleet_findings, work_findings
from kubectl_tas.gangs.admission import Admission
from kubectl_tas.gangs.summary import ReleasedOrigin, Summary
from kubectl_tas.load.loading import Loaded, config_of, load_repository, load_work
from kubectl_tas.load.source import CONFIG_FILE, RawFile, Source
from kubectl_tas.model.config import VALUES_FOLDER as VALUES
from kubectl_tas.model.config import Setting
from kubectl_tas.model.repository import Declared, Origin, Repository
from kubectl_tas.resolve.fleet import Context, Fleet, is_called, resolve, resolve_context, resolve_work
from kubectl_tas.resolve.mentions import read_rows
from kubectl_tas.resolve.platforms import Finder
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.store.cache import Store
from kubectl_tas.work.outcome import Outcome, SharedContext, claims, name_prefixes, names_to_compare, uses, work_of
from kubectl_tas.work.plain import to_diagnostic, to_kept_values, to_waiver
from kubectl_tas.work.processes import FileResult, FileTexts, NamelessFile, TextsOnDisk, outcomes, processes_for
from kubectl_tas.work.stored_outcomes import StoredOutcomes

if TYPE_CHECKING:
    from kubectl_tas.emit.manifest_text import Deferred
    from kubectl_tas.model.artifact import Artifact
    from kubectl_tas.work.manifests import KeptManifest

LEAST_KEPT = 20
"""The fewest files for which using the store saves time."""
Tick = Callable[[int, int], None]


@dataclass(frozen=True)
class JudgedRepository:
    """A repository that was read and checked, each file by itself."""

    fleet: Fleet
    """The shared documents, the files judged together, and summaries of all other work."""
    loaded: Loaded
    """The files that were judged together."""
    outcomes: Mapping[str, Outcome]
    """The outcomes of the files that were judged by themselves."""
    files: JudgedFiles

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """All findings, before settings and waivers of the repository apply."""
        return (*self.fleet_findings, *self.file_findings)

    @cached_property
    def fleet_findings(self) -> tuple[Diagnostic, ...]:
        """The findings about shared documents, or about all work."""
        return fleet_findings(self.fleet, complete=self.loaded.complete)

    @cached_property
    def file_findings(self) -> tuple[Diagnostic, ...]:
        """The findings from reading a file, or about a single piece of work."""
        findings_by_file = (to_diagnostic(plain) for outcome in self.outcomes.values() for plain in outcome.findings)
        return (*self.loaded.diagnostics, *work_findings(self.fleet), *findings_by_file)

    @cached_property
    def admission(self) -> Admission:
        """The verdicts of quotas on all work."""
        return Admission(self.fleet)

    @property
    def is_empty(self) -> bool:
        """Whether the repository declares nothing that could be rendered."""
        return self.fleet.repository.is_empty and all(outcome.is_empty for outcome in self.outcomes.values())


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
class JudgedFiles:
    """All files of a repository, each by itself."""

    source: SourceFiles
    shared: SharedContext
    outcomes: Mapping[str, Outcome]
    texts: dict[str, FileTexts]
    manifests: TextsOnDisk
    """The manifests of outcomes, kept out of memory."""
    settings: Sequence[Setting]
    effort: Effort

    @cached_property
    def together(self) -> frozenset[str]:
        """The files that are judged as one repository. These are files that others depend on, that only make sense with
        others, or that claim the same name as another file.
        """
        if any(outcome.is_shared for outcome in self.outcomes.values()):  # a folder of work has a Pool, for example
            return frozenset((*self.source.shared_paths, *self.source.raws))
        apart = self.source.shared_paths | {path for path, outcome in self.outcomes.items() if not outcome.is_alone}
        fleet = resolve(self.source.load(apart, self.settings).repository)
        alone = {path: outcome for path, outcome in self.outcomes.items() if outcome.is_alone}
        return frozenset(apart | _files_with_shared_names(alone, fleet))

    def files_called(self, words: Sequence[str]) -> set[str]:
        """Returns the files with work of that name or KIND/NAME."""
        called = ((path, plain[-1]) for path, outcome in self.outcomes.items() for plain in outcome.summaries)
        return {path for path, (kind, name, *_) in called if any(is_called(kind, name, word) for word in words)}

    def differing(self, older: JudgedFiles) -> set[str]:
        """Returns the files whose outcome differs in ``older``, because the file or its context differs."""
        mine, theirs = self.source.raws, older.source.raws
        paths = {path for path in mine.keys() | theirs.keys() if mine.get(path) != theirs.get(path)}
        for path in self.outcomes.keys() - paths:
            pools = self.outcomes[path].pool_names
            if self.shared.digest(pools) != older.shared.digest(pools):
                paths.add(path)
        return paths


def judge_both(before: JudgedFiles, after: JudgedFiles) -> tuple[JudgedRepository, JudgedRepository]:
    """Judges two states of one repository. Both results have the files that differ in full, and all other files as
    summaries, which are the same.
    """
    also = after.differing(before) | before.differing(after) | before.together | after.together
    return judge_repository(before, also), judge_repository(after, also)


def judge_files(
    files: SourceFiles,
    settings: Sequence[Setting],
    effort: Effort,
    *,
    render: bool = False,
    like: JudgedFiles | None = None,
) -> JudgedFiles:
    """Returns the outcome of each file of a repository, taken from ``like`` if the file is the same there.
    With ``render``, each outcome has the objects of its file. ``settings`` are values of templates.
    """
    work = [raw for path, raw in files.raws.items() if path not in files.shared_paths]
    declared = files.load(files.shared_paths, settings, None if work else effort.tick)
    context = resolve_context(declared.repository)
    shared = SharedContext(context, declared.repository, files.digests())
    files_judged = JudgedFiles(files, shared, {}, {}, TextsOnDisk(), settings, effort)
    taken_over: dict[str, Outcome] = {}
    if like is not None:
        taken_over = {path: like.outcomes[path] for path in like.outcomes.keys() - like.differing(files_judged)}
    made, texts = dict(taken_over), dict[str, FileTexts]()
    missing = [raw for raw in work if raw.path not in taken_over]
    for done in _known_or_made(missing, shared, effort, render=render and not _shared_fails(declared, context)):
        made[done.raw.path] = done.outcome
        if done.outcome.manifests is not None:
            files_judged.manifests.put(done.raw.path, done.outcome.manifests)
            made[done.raw.path] = replace(done.outcome, manifests=None)
            if done.texts is not None:
                texts[done.raw.path] = done.texts
        effort.tick(len(made), len(work))
        if done.outcome.is_shared:
            break
    return replace(files_judged, outcomes={path: made[path] for path in sorted(made)}, texts=texts)


def judge_repository(
    files_judged: JudgedFiles, also: Collection[str] = (), adjust: Callable[[Repository], Repository] | None = None
) -> JudgedRepository:
    """Judges files as a repository. Files that only make sense together, and those in ``also``, are judged as one
    repository, changed by ``adjust``.
    """
    files, context = files_judged.source, files_judged.shared.context
    together = files_judged.together | (files.raws.keys() & set(also))
    alone = {path: outcome for path, outcome in files_judged.outcomes.items() if path not in together}
    loaded = files.load(together, files_judged.settings)
    declared = loaded.repository if adjust is None else adjust(loaded.repository)
    repository = replace(
        declared,
        files=tuple(sorted((*declared.files, *alone))),
        waivers=(*declared.waivers, *(to_waiver(plain) for outcome in alone.values() for plain in outcome.waivers)),
    )
    mentions = (
        read_rows(outcome.mentions, path, _finder(files_judged, path))
        for path, outcome in alone.items()
        if outcome.mentions
    )
    summaries = tuple(_summaries(alone, context))
    fleet = replace(resolve(repository), summaries=summaries, kept_mentions=tuple(mentions))
    return JudgedRepository(fleet, loaded, alone, files_judged)


def _known_or_made(
    work: Sequence[RawFile], shared: SharedContext, effort: Effort, *, render: bool
) -> Iterator[FileResult]:
    """Yields the outcomes of files, the kept ones first."""
    store = effort.store_for(len(work))
    stored = StoredOutcomes(store, shared) if store is not None else None
    missing: list[RawFile] = []
    for raw, recalled in stored.find(work, render=render) if stored else ((raw, None) for raw in work):
        if recalled is None:
            missing.append(raw)
        else:
            yield FileResult(raw, recalled, None)
    many = processes_for(len(missing)) if effort.processes is None else effort.processes
    for done in outcomes(missing, shared, many, render=render):
        if stored:
            stored.add(done.raw, done.outcome)
        yield done
    if stored:
        stored.save()


def _shared_fails(loaded: Loaded, context: Context) -> bool:
    """Whether the shared documents have errors, so that no dependent work is rendered."""
    fleet = resolve_work(replace(loaded.repository, workflows=(), workloads=(), companions=()), context)
    return has_errors((*loaded.diagnostics, *all_findings(fleet, complete=loaded.complete)))


def whole_work(judged: JudgedRepository) -> Callable[[Submission], tuple[Fleet, Submission]]:
    """Returns a function that gives work in full, with its fleet. For a summary, it reads the file again, and keeps
    the last file.
    """
    counts = Counter[str]()
    numbers: dict[int, int] = {}
    for summary in judged.fleet.summaries:
        path = summary.declared.origin.path
        numbers[id(summary)] = counts[path]
        counts[path] += 1

    @lru_cache(maxsize=1)
    def of_file(path: str) -> Fleet:
        return work_of(judged.files.source.raws[path], judged.files.shared)

    def whole(submission: Submission) -> tuple[Fleet, Submission]:
        if id(submission) not in numbers:
            return judged.fleet, submission
        fleet = of_file(submission.declared.origin.path)
        return fleet, fleet.submissions[numbers[id(submission)]]

    return whole


def _summaries(alone: Mapping[str, Outcome], context: Context) -> Iterator[Summary]:
    """Yields the summaries of the work that was judged by itself."""
    for path, outcome in alone.items():
        for pool_name, subpool_name, location, plain in outcome.summaries:
            pool = context.pools[pool_name]
            subpool = next((candidate for candidate in pool.subpools if candidate.name == subpool_name), None)
            declared = Declared(None, ReleasedOrigin(path, Location(*location)))
            yield Summary(declared, pool, subpool, to_kept_values(plain))


def _finder(files_judged: JudgedFiles, path: str) -> Callable[[int], Finder]:
    """Returns a function that finds places in the n-th document of a file, and reads the file again when first used."""

    @cache
    def origins() -> list[Origin]:
        loaded = load_work(files_judged.source.raws[path], files_judged.shared.context.config)
        assert loaded is not None
        return [declared.origin for declared in loaded.repository.work]

    def finder(number: int) -> Finder:
        return lambda where, *, key=False: origins()[number].locate(where, key=key)

    return finder


def _files_with_shared_names(alone: Mapping[str, Outcome], fleet: Fleet) -> set[str]:
    """Returns the files that claim a name which another file has or uses; ``fleet`` are the files judged together."""
    paths: set[str] = set()
    claimed_by: dict[str, str] = dict.fromkeys(claims(fleet), "")
    for path, outcome in alone.items():
        for claim in outcome.claims:
            earlier = claimed_by.setdefault(claim, path)
            if earlier != path:
                paths |= {path, earlier}
    used = [(name, "") for name in uses(fleet)] + [
        (name, path) for path, outcome in alone.items() for name in outcome.uses
    ]
    paths |= {file for name, path in used if claimed_by.get(name, path) != path for file in (path, claimed_by[name])}
    prefixes = [(prefix, path) for path, outcome in alone.items() for prefix in outcome.name_prefixes]
    prefixes += [(prefix, "") for prefix in name_prefixes(fleet)]
    names = [(name, path) for path, outcome in alone.items() for name in outcome.names_to_compare]
    names += [(name, "") for name in names_to_compare(fleet)]
    paths |= {path for pair in _with_common_prefix(prefixes, names) for path in pair}
    return paths - {""}


def _with_common_prefix(
    prefixes: Iterable[tuple[str, str]], names: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Yields the files of a prefix and of another prefix or name that begins with it."""
    ordered = sorted([*((text, path, True) for text, path in prefixes), *((text, path, False) for text, path in names)])
    open_prefixes: list[tuple[str, str]] = []
    for text, path, is_prefix in ordered:
        while open_prefixes and not text.startswith(open_prefixes[-1][0]):
            open_prefixes.pop()
        yield from ((path, shorter) for _, shorter in open_prefixes if shorter != path)
        if is_prefix:
            open_prefixes.append((text, path))


class SourceFiles:
    """The files of a source, read once."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.raws: dict[str, RawFile] = {}
        self._config = source.config()  # read once, so that all of a run have the same settings
        config = config_of(_SelectedFiles(source, self._config, {}))
        self._output = config.output
        self._loaded: tuple[frozenset[str], Loaded] | None = None
        self.paths: tuple[str, ...] = ()
        """The paths of all files that are read; set by ``inputs``."""
        self.shared_paths = {CONFIG_FILE}
        folders = [folder for folder in config.sources if misspelled(folder) is None]
        for folder in folders:
            source.has_folder(folder)  # one that is there now and vanishes is not gone
        for raw in source.files(folders, exclude=config.output):
            self.raws[raw.path] = raw
            if any(is_below(raw.path, folder) for folder in config.adminSources):
                self.shared_paths.add(raw.path)

    def load(self, paths: Collection[str], settings: Sequence[Setting] = (), tick: Tick | None = None) -> Loaded:
        """Loads these files as a repository, and keeps the last result, because callers often repeat the request."""
        selected = frozenset(path for path in paths if path in self.raws)
        if self._loaded is None or self._loaded[0] != selected:
            raws = {path: raw for path, raw in self.raws.items() if path in selected}
            self._loaded = (selected, load_repository(_SelectedFiles(self._source, self._config, raws), tick, settings))
        return self._loaded[1]

    def inputs(self, settings: Sequence[Setting]) -> bytes:
        """Returns a digest of all files that are read in any case."""
        source, config = self._source, self._config
        values = source.files([VALUES], exclude=self._output) if source.has_folder(VALUES) else ()
        digest = hashlib.blake2b(repr(settings).encode("utf-8", "surrogatepass"), digest_size=20)
        every = (*((config,) if config else ()), *values, *self.raws.values())
        self.paths = tuple(sorted(raw.path for raw in every))
        for raw in every:
            digest.update(b"\0".join((repr((raw.path, raw.link, raw.problem)).encode(), b"%d" % len(raw.content))))
            digest.update(raw.content)
        return digest.digest()

    def digests(self) -> dict[str, bytes]:
        """Returns a digest of each file that others depend on."""
        raws = [self.raws[path] for path in self.shared_paths if path in self.raws]
        config = [self._config] if self._config else []
        return {raw.path: hashlib.blake2b(raw.content).digest() for raw in (*raws, *config)}


class _SelectedFiles:
    """A source with only some files of another, which were already read."""

    def __init__(self, source: Source, config: RawFile | None, raws: Mapping[str, RawFile]) -> None:
        self._source, self._config, self._raws = source, config, raws
        self.has_folder, self.local_file = source.has_folder, source.local_file

    def config(self) -> RawFile | None:
        """Returns ``tas.yaml``, or None if absent."""
        return self._config

    def files(self, folders: Sequence[str], *, exclude: str) -> tuple[RawFile, ...]:
        """Returns the kept files; for the folder of values, all of its files."""
        if list(folders) == [VALUES]:
            return self._source.files(folders, exclude=exclude)
        return tuple(self._raws[path] for path in sorted(self._raws))


def manifests_in_order(judged: JudgedRepository, fleet: Fleet) -> tuple[Artifact | KeptManifest, ...]:
    """Returns all objects of a repository without errors, by backend and then in the order of application. ``fleet`` is
    the fleet of the run, perhaps with other shared settings.
    """
    if judged.is_empty:
        return ()
    from kubectl_tas.compile import compile_shared, compile_work, in_order_of_application
    from kubectl_tas.work.manifests import kept_manifests  # only rendering waits for the compiler and its templates

    made: list[Artifact | KeptManifest] = [*compile_shared(fleet), *compile_work(fleet)]
    for path in judged.outcomes:
        manifests = judged.files.manifests.get(path)
        made += kept_manifests(_compiled_again(judged, path) if manifests is None else manifests, path)
    return in_order_of_application(fleet, made)


def texts_of(judged: JudgedRepository) -> Callable[[Artifact | KeptManifest], str | Deferred]:
    """Returns a function that gives the text of an object's file. The function may be used after the object is gone."""
    from kubectl_tas.emit.manifest_text import Deferred, file_text
    from kubectl_tas.model.artifact import Artifact

    read = partial(_text_again, judged)

    def text_of(manifest: Artifact | KeptManifest) -> str | Deferred:
        if isinstance(manifest, Artifact):
            return file_text(manifest)
        return Deferred(manifest.digest, manifest.source, (manifest.at, manifest.size), read)

    return text_of


def make_texts(judged: JudgedRepository, sources: Iterable[str]) -> None:
    """Makes the texts of files that were kept without them, in one batch."""
    texts, effort = judged.files.texts, judged.files.effort
    missing = [judged.files.source.raws[path] for path in sorted(judged.outcomes.keys() & set(sources) - texts.keys())]
    many = processes_for(len(missing)) if effort.processes is None else effort.processes
    for done in outcomes(missing, judged.files.shared, many, render=True) if len(missing) > 1 else ():
        if done.texts is not None and done.outcome.manifests is not None:
            texts[done.raw.path] = done.texts


def _text_again(judged: JudgedRepository, source: str, at: int, size: int) -> str:
    if source not in judged.files.texts:
        _compiled_again(judged, source)
    return judged.files.texts[source].text(at, size)


def _compiled_again(judged: JudgedRepository, path: str) -> str:
    """Compiles a file once more, for its texts."""
    from kubectl_tas.work.manifests import manifests_as_json

    texts: list[bytes] = []
    made = manifests_as_json(work_of(judged.files.source.raws[path], judged.files.shared), texts)
    spool = NamelessFile()
    judged.files.texts[path] = FileTexts(spool, spool.put(texts))
    return made
