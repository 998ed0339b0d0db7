"""Finds, loads and checks the repository for all commands, and prints its findings."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial, reduce
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from kubectl_tas.base.diagnostics import Diagnostic, Rule, Severity, TasError, has_errors, in_order
from kubectl_tas.base.folders import MEBIBYTE, read_plain
from kubectl_tas.base.late import dataclass
from kubectl_tas.check.deduplicate import blamed, gathered
from kubectl_tas.check.judging import Base, counted_and_waived, judge
from kubectl_tas.check.quota import judged_with
from kubectl_tas.check.versions import check_guard
from kubectl_tas.cli.options import group_directory, noted, settings
from kubectl_tas.cli.terminal import UNREAD, Gap, progress, say, show, wants_colour
from kubectl_tas.emit.foreign import Foreign, check_output, checkout_of, foreign, left_behind
from kubectl_tas.gangs.lasting import Past
from kubectl_tas.load.ignored_files import nothing_declared, unread
from kubectl_tas.load.loading import Loaded, load_repository
from kubectl_tas.load.source import CONFIG_FILE, MAX_BYTES, FolderSource, OverlaySource, Source, is_read
from kubectl_tas.model.config import DEFAULT_SOURCES, DEFAULTS
from kubectl_tas.model.repository import Repository
from kubectl_tas.report import Findings, text
from kubectl_tas.resolve.fleet import Fleet, replaced, resolve
from kubectl_tas.store.cache import Store, default_folder
from kubectl_tas.work.run import Effort, JudgedRepository, SourceFiles, judge_both, judge_files, judge_repository
from kubectl_tas.work.stored_run import RunOutcome, judge_or_recall

_STORE = f"{__name__}.store"

if TYPE_CHECKING:
    from types import FrameType

    from kubectl_tas.compare.change import Earlier


@dataclass(frozen=True)
class Session:
    """A loaded and checked repository."""

    root: Path
    fleet: Fleet
    found: tuple[Diagnostic, ...]
    """All findings, before settings and waivers of the repository apply."""
    diagnostics: tuple[Diagnostic, ...]
    """The findings that count, with the severities that the repository sets, in order."""
    waived: tuple[Diagnostic, ...] = ()
    """The findings that comments waive."""
    run: RunOutcome | None = None
    """The result for each file, if files were judged one by one; the fleet has summaries of these results."""

    @property
    def complete(self) -> bool:
        """False if a document could not be read. Something that seems missing may be in that document."""
        return not self.fleet.repository.unread

    @cached_property
    def shown(self) -> tuple[Diagnostic, ...]:
        """The findings that count, one for each cause."""
        return gathered(self.diagnostics)

    def findings(self, command: str, *, strict: bool = False) -> Findings:
        """Returns the findings of a command, for formats that programs read."""
        files = self.fleet.repository.files
        return Findings(command, self.shown, files, len(files), CONFIG_FILE, self.waived, strict)

    @property
    def files(self) -> int:
        """The number of files that were read."""
        return len(self.fleet.repository.files)

    def failed(self, *, strict: bool = False) -> bool:
        """Whether a finding fails the run."""
        return has_errors(self.diagnostics, strict=strict)

    def with_findings(self, more: Iterable[Diagnostic], base: Base | None) -> Session:
        """Returns the session with more findings; ``base`` is the state that the repository is compared with."""
        return _with_all_findings(self, (*self.found, *more), base)

    def since(self, before: Fleet | None, past: Past | None = None) -> Session:
        """Returns the session with findings about several documents placed at the documents changed since ``before``.
        Work that was there before, as ``past`` says, may continue to run.
        """
        found = judged_with(self.found, self.fleet, Past(before) if past is None else past)
        return _with_all_findings(self, tuple(blamed(found, before, self.fleet) if before else found), None)

    def with_emptiness(self) -> Session:
        """Returns the session with a finding if nothing is declared, unless another finding fails the run."""
        is_empty = self.run.is_empty if self.run else self.fleet.repository.is_empty
        more = tuple(nothing_declared(self.fleet.repository)) if is_empty and not self.failed() else ()
        return self.with_findings(more, None) if more else self

    def of_files(self, paths: Collection[str]) -> Session:
        """Returns the session with only the findings that have a place in these files."""
        own = tuple(d for d in self.diagnostics if any(place.path in paths for place in d.places))
        return replace(self, diagnostics=own)

    def without(self, rules: Collection[Rule]) -> Session:
        """Returns the session without the findings of these rules."""
        return replace(self, diagnostics=tuple(d for d in self.diagnostics if d.rule not in rules))

    def in_full(self) -> Session:
        """Returns the session with all documents, even if results of an earlier run replaced them."""
        if self.run is None or self.run.judged is not None:
            return self
        return replace(self, fleet=self.run.full.fleet, run=replace(self.run, judged=self.run.full))

    def with_guard(self, *, guard: bool) -> Session:
        """Returns the session with the guard rendered if ``guard``, and with findings that forbid the guard."""
        if not guard or self.fleet.config.guard:
            return self
        whole = self.in_full()
        config = self.fleet.config.model_copy(update={"guard": True})
        run = replace(whole.run, stored=None) if whole.run else None
        guarded = replace(whole, fleet=replace(whole.fleet, config=config), run=run)
        more = tuple(found for backend in guarded.fleet.backends for found in check_guard(backend, guarded.fleet))
        return guarded.with_findings(more, None) if more else guarded


def open_session(
    directory: str | None,
    *,
    allow_empty: bool = False,
    by_file: bool = False,
    render: bool = False,
    added: Mapping[str, bytes] = MappingProxyType({}),
) -> Session:
    """Loads, resolves and checks the repository, with ``added`` files unless ``by_file``.

    Raises TasError if the repository cannot be read. Raises TasError also if no file exists, unless ``allow_empty``:
    most likely the command runs in the wrong folder, and must not report success.
    """
    root = find_root(directory)
    if not by_file:
        return _opened(check_source(root, *_with(root, added)), allow_empty=allow_empty)
    with _effort(root, "Compiling" if render else "Reading") as effort:
        session = _of_run(root, judge_or_recall(FolderSource(root), settings(), effort, render=render))
    return _opened(session, allow_empty=allow_empty)


def _opened(session: Session, *, allow_empty: bool = False) -> Session:
    """Returns the session with findings about files outside the folders that are read."""
    root = session.root
    if not session.files and not allow_empty:
        raise TasError(
            f"no repository in {root}: there is no tas.yaml, and no file in {', '.join(DEFAULT_SOURCES)}",
            hint="Name the repository with -C, or write a small one with `kubectl tas init`.",
        )
    more = tuple(unread(root, session.fleet.config.sources, session.fleet.config.output))
    session = session.with_findings(more, None) if more else session
    return _noting_gap(session)


def _noting_gap(session: Session) -> Session:
    """Makes all that this run prints say which documents are not counted."""
    context = click.get_current_context(silent=True)
    if context is not None and session.fleet.not_counted:
        places = tuple(document.place for document in session.fleet.not_counted)
        context.meta[UNREAD] = Gap(session.fleet.gap, places, partial(tell_errors, session))
    return session


def check_source(root: Path, source: Source, adjust: Callable[[Repository], Repository] | None = None) -> Session:
    """Loads, resolves and checks the files of ``source`` for the repository at ``root``, changed by ``adjust``."""
    with progress("Reading") as tick:
        judged = judge(source, tick, settings(), adjust)
    if judged.refused:
        raise click.UsageError("\n".join(judged.refused))
    return _with_all_findings(Session(root, judged.fleet, (), ()), judged.found, None)


def open_summaries(
    directory: str | None,
    words: Sequence[str] = (),
    added: Mapping[str, bytes] = MappingProxyType({}),
) -> Session:
    """Opens the repository with summaries of its work; the work that ``words`` or ``added`` name is there in full.

    ``words`` are names or KIND/NAME. Raises TasError like ``open_session``.
    """
    root = find_root(directory)
    source, adjust = _with(root, added)
    with _effort(root, "Reading") as effort:
        files = judge_files(SourceFiles(source), settings(), effort)
        repository = judge_repository(files, files.files_called(words) | added.keys(), adjust)
    return _opened(_of_run(root, RunOutcome.of(repository)))


def _with(root: Path, added: Mapping[str, bytes]) -> tuple[Source, Callable[[Repository], Repository] | None]:
    """Returns a source with more files, and the adjustment of the repository to them."""
    source = FolderSource(root)
    return (OverlaySource(source, added), partial(replacing, added, workflows=True)) if added else (source, None)


def replacing(paths: Iterable[str], repository: Repository, *, workflows: bool = False) -> Repository:
    """Returns the repository without the workloads that ``paths`` replace, and with ``workflows`` the workflows too.
    A file that the repository does not read replaces work of the same kind and name.
    """
    elsewhere = (path for path in paths if is_elsewhere(path, repository))
    return reduce(lambda found, path: replaced(path, found, workflows=workflows), elsewhere, repository)


def is_elsewhere(path: str, repository: Repository) -> bool:
    """Whether the repository does not read a file that a user names, for example standard input."""
    config = repository.config.spec.spec if repository.config else DEFAULTS
    return not is_read(path, config.sources, exclude=config.output)


def check_added(root: Path, source: Source, path: str, adjust: Callable[[Repository], Repository] | None) -> Session:
    """Checks the file at ``path`` in the repository at ``root``, with summaries of unrelated work. ``source`` has the
    files, and ``adjust`` changes the repository.
    """
    with _effort(root, "Reading") as effort:
        files = judge_files(SourceFiles(source), settings(), effort)
        return _noting_gap(_of_run(root, RunOutcome.of(judge_repository(files, {path}, adjust))))


def _of_run(root: Path, run: RunOutcome) -> Session:
    if run.loaded.refused:
        raise click.UsageError("\n".join(run.loaded.refused))
    session = Session(root, run.fleet, (), (), run=run)
    return _with_all_findings(session, run.findings, None)


@contextmanager
def _effort(root: Path, label: str) -> Iterator[Effort]:
    """Yields the effort that the command line asks for: processes, store and progress."""
    with progress(label) as tick:
        yield Effort(noted("processes"), open_store(root), tick)


def open_store(root: Path) -> Store | None:
    """Returns the store for results between runs, open until the command ends; None if nothing is to be kept.

    Raises a usage error if the store lies in the checkout, since a pull request could fill it.
    """
    if noted("no_cache"):
        return None
    named: Path | None = noted("cache_dir")
    folder = named or default_folder(os.environ)
    if folder is None:
        return None
    if Path(os.path.realpath(folder)).is_relative_to(checkout_of(os.path.realpath(root))):
        if named is None:
            return None
        message = f"{named} lies in the repository; a pull request could fill it"
        raise click.UsageError(f"--cache-dir, or KUBECTL_TAS_CACHE: {message}")
    context = click.get_current_context(silent=True)
    if context is None:
        return None
    if _STORE not in context.meta:
        context.meta[_STORE] = Store(folder)
        context.call_on_close(context.meta[_STORE].close)
    store: Store = context.meta[_STORE]
    return store


def _with_all_findings(session: Session, found: tuple[Diagnostic, ...], base: Base | None) -> Session:
    counted, waived = counted_and_waived(found, session.fleet, base, complete=session.complete)
    return replace(session, found=found, diagnostics=counted, waived=waived)


def open_change(directory: str | None, revision: str) -> tuple[Session, Earlier, JudgedRepository]:
    """Opens the repository and its state at a git revision, with the run that read the revision.

    Files that are the same in both are there only as summaries. Raises TasError if one state cannot be read or has no
    file.
    """
    from kubectl_tas.load.revision import checked_out  # only --base needs it

    root = find_root(directory)
    with _effort(root, "Reading") as effort:
        after = judge_files(SourceFiles(FolderSource(root)), settings(), effort)
    at_hand = (raw.content for raw in after.source.raws.values())
    with _tidied_when_ended(), checked_out(_as_named(root, directory), revision, at_hand) as source:
        with _effort(root, "Reading the base") as effort:
            before = judge_files(SourceFiles(source), settings(), effort, like=after)
        earlier, now = judge_both(before, after)
        elsewhere = () if earlier.fleet.repository.files else source.moved()
        kept = source.contents(earlier.fleet.config.outputKeeps)
    known = _earlier(earlier.fleet, revision, earlier.loaded, (source.submodules, elsewhere, kept))
    return _opened(_of_run(root, RunOutcome.of(now))), known, earlier


def read_revision(root: Path, revision: str, directory: str | None) -> Earlier:
    """Returns the fleet at a git revision of the repository; ``directory`` is the value of -C.

    Raises TasError if the revision cannot be read.
    """
    from kubectl_tas.load.revision import checked_out  # only --base needs it

    with _tidied_when_ended(), checked_out(_as_named(root, directory), revision) as source:
        loaded = load_repository(source, settings=settings())
        elsewhere = () if loaded.repository.files else source.moved()
        fleet = resolve(loaded.repository)
        kept = source.contents(fleet.config.outputKeeps)
    return _earlier(fleet, revision, loaded, (source.submodules, elsewhere, kept))


def _earlier(
    fleet: Fleet, revision: str, loaded: Loaded, beside: tuple[Sequence[str], tuple[str, ...], Mapping[str, bytes]]
) -> Earlier:
    """``beside`` are submodules that were not read, other folders with a repository, and contents of files to keep."""
    from kubectl_tas.compare.change import Earlier  # only --base needs it

    submodules, elsewhere, kept = beside
    errors = (item for item in in_order(loaded.diagnostics) if item.severity is Severity.ERROR)
    unread = (*(str(item.location) for item in errors), *(f"{path} (a submodule)" for path in submodules))
    return Earlier(fleet, revision, unread, elsewhere, kept)


def foreign_with_findings(
    session: Session, before: Earlier | None = None, unchanged_folders: Collection[str] = ()
) -> tuple[tuple[Foreign, ...], list[Diagnostic]]:
    """Returns the foreign files in and above the output folder, and findings about these files.

    The Config of ``before``, if given, decides which files may stay. ``unchanged_folders`` hold no such file. Raises
    TasError if a folder cannot be read.
    """
    config, declared = session.fleet.config, session.fleet.repository.config
    there = foreign(session.root, config, unchanged_folders)
    if before is None:
        return there, [*check_output(there, config)]
    old = before.fleet.config
    place = declared.at("spec", "output") if declared else None
    left = left_behind(session.root, old, config, place, before.revision)
    return there, [*check_output(there, config, (before.revision, old)), *left]


@contextmanager
def _tidied_when_ended() -> Iterator[None]:
    """Makes a signal that ends the program remove the temporary folder first, while the block runs."""
    signals = [number for number in (signal.SIGTERM, getattr(signal, "SIGHUP", None)) if number is not None]
    is_main = threading.current_thread() is threading.main_thread()  # no other thread may ask for signals
    ours = [number for number in signals if is_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _leave)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def read_stdin(most: int = MAX_BYTES) -> bytes:
    """Returns the content of standard input. Raises TasError if it has more than ``most`` bytes."""
    content = sys.stdin.buffer.read(most + 1)
    if len(content) > most:
        raise TasError(f"standard input has more than {most // MEBIBYTE} MiB", hint="Split it.")
    return content


def read_named(file: str, *, hint: str) -> bytes:
    """Returns the bytes of a file, or for - of standard input. Raises TasError if they are unreadable or too many."""
    return read_stdin() if file == "-" else read_plain(file, MAX_BYTES, hint=hint)


def find_root(directory: str | None) -> Path:
    """Returns the repository: ``directory``, else the group's ``-C``, else the nearest parent with ``tas.yaml``."""
    chosen = directory or group_directory()
    if chosen is not None:
        path = Path(chosen)
        if not path.is_dir():
            raise TasError(f"{chosen} is not a folder", hint="Name the root of the repository.")
        return path.resolve()
    try:
        here = Path.cwd()
    except FileNotFoundError as error:
        raise TasError("the working folder is gone", hint="Change to a folder that exists.") from error
    # A parent that may not be searched counts as one without the file.
    return next((folder for folder in (here, *here.parents) if os.path.isfile(folder / CONFIG_FILE)), here)  # noqa: PTH113


def _as_named(root: Path, directory: str | None) -> Path:
    """Returns the repository's path as the user gave it, with links: by ``-C``, or by the shell's folder."""
    named = os.path.abspath(directory or group_directory() or os.environ.get("PWD") or root)  # noqa: PTH100 - resolves no links
    return next((path for path in (Path(named), *Path(named).parents) if path.resolve() == root), root)


def report(session: Session, *, stream: TextIO | None = None) -> None:
    """Prints all findings for people."""
    out = stream or sys.stdout
    colour = wants_colour(out)
    rendered = text.render(session.shown, session.files, waived=len(session.waived), colour=colour)
    show(rendered, stream=out, colour=colour)


def show_findings(diagnostics: Sequence[Diagnostic]) -> None:
    """Prints findings to stderr, without the line with their number."""
    colour = wants_colour(sys.stderr)
    show(text.blocks(gathered(diagnostics), colour=colour), stream=sys.stderr, colour=colour)


def refuse_errors(session: Session, *, strict: bool = False) -> bool:
    """Prints the findings to stderr and returns True, if the repository has errors."""
    if session.failed(strict=strict):
        report(session, stream=sys.stderr)
        return True
    return False


def tell_errors(session: Session) -> int:
    """Says on stderr that the repository has errors, since the output may be incomplete. Returns the exit code."""
    return int(_tell(session, Severity.ERROR))


def tell_unread(failed: Mapping[str, TasError]) -> int:
    """Says on stderr which clusters could not be read and why. Returns the exit code."""
    for name, error in failed.items():
        say(f"error: backend {name}: {error.message}", err=True)
        if error.hint:
            say(f"  = help: {error.hint}", err=True)
    return 3 if failed else 0


def tell_warnings(session: Session) -> None:
    """Says on stderr that the repository has warnings, since users who only render would not see them."""
    _tell(session, Severity.WARNING)


def _tell(session: Session, severity: Severity) -> bool:
    number = sum(diagnostic.severity is severity for diagnostic in session.shown)
    if number:
        say(f"This repository has {text.plural(number, severity.value)}; run: kubectl tas validate", err=True)
    return number > 0
