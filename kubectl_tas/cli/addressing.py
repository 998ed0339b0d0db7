"""Finds the work that a command line names as FILE, NAME or KIND/NAME, in the same way for all commands."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import click

from kubectl_tas.base.diagnostics import Severity
from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.cli.options import FILE, SUBMISSION, F
from kubectl_tas.cli.session import Session, find_root, open_session, open_summaries, read_named
from kubectl_tas.kinds import SET
from kubectl_tas.load.source import SUFFIXES
from kubectl_tas.report import STDIN
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import declared_work, files_of, is_called, no_work
from kubectl_tas.resolve.pools import Submission

KINDS = f"workflow, workload, {SET.kind} or PodGroup"
"""The kinds of work, as all commands list them."""
_WHAT = f"file, {KINDS}"
ABOUT_WORK = f"WORK is a FILE, in the repository or not; - for standard input; the NAME of a {KINDS}; or KIND/NAME."
_NAME = late_pattern(r"""\bname["']?\s*:\s*["']?([\w.-]+)""")
"""A name in a text that may not be YAML."""


def work_arguments(*, many: bool = False, required: bool = True) -> Callable[[F], F]:
    """Adds WORK, one or several, passed as ``work``; ``-f FILE`` means the same, as in kubectl."""

    def add(command: F) -> F:
        @functools.wraps(command)
        def call(*, work: tuple[str, ...], filenames: tuple[str, ...], **options: Any) -> Any:
            words = (*work, *filenames)
            if required and not words:
                raise click.UsageError("name WORK: a FILE, a NAME or KIND/NAME")
            if len(words) > 1 and not many:
                raise click.UsageError(f"{words[1]} is one too many: name one WORK")
            return command(work=words if many else words[0], **options)

        first, *others = inspect.cleandoc(command.__doc__ or "").split("\n\n")
        call.__doc__ = "\n\n".join((first, ABOUT_WORK, *others))
        metavar = "[WORK]..." if many else "WORK"
        option = "-f", "--filename", "filenames"
        found = click.option(*option, metavar="FILE", type=FILE, multiple=True, help="The same as WORK, for a FILE.")(
            call
        )
        return click.argument("work", metavar=metavar, nargs=-1, type=SUBMISSION)(found)  # type: ignore[return-value]

    return add


@dataclass(frozen=True, slots=True)
class WorkFile:
    """The file with the work that a user names."""

    path: str
    """The file as findings name it: relative to the repository if it lies there."""
    full: str
    """The path to open; - for standard input."""
    name: str | None = None
    """The NAME or KIND/NAME that the user means in the file; None: all work of the file."""

    def is_meant(self, kind: str, name: str) -> bool:
        """Whether the user means the work of that kind and name."""
        return self.name is None or is_called(kind, name, self.name)


def place_of(root: Path, word: str, *, bare: bool = False) -> WorkFile | None:
    """Returns the file that a word names, from the working folder or from the root; None if the word is a name. Only
    with ``bare``, a word without suffix and folder may be a file.
    """
    if word == "-":
        return WorkFile(STDIN, word)
    if not bare and os.sep not in word and not word.endswith(SUFFIXES):
        return None
    for full in (Path(word), root / word):
        if full.exists() and not full.is_dir():
            named = full.parent.resolve() / full.name  # a link stays one
            path = (named.relative_to(root) if named.is_relative_to(root) else named).as_posix()
            return WorkFile(path, str(full))
    return None


def open_work(
    directory: str | None, words: Sequence[str], *, whole: bool = False, allow_empty: bool = False
) -> Session:
    """Opens the repository with all documents of the named work, and with named files outside its sources.

    All other work is there as summaries, unless ``whole``. Raises TasError like ``open_session``, and if a file cannot
    be read. ``allow_empty`` needs ``whole``.
    """
    root = find_root(directory)
    places = {word: place for word in words if (place := place_of(root, word))}
    added = {place.path: read_named(place.full, hint="Name a file with work.") for place in places.values()}
    if whole:
        return open_session(directory, allow_empty=allow_empty, added=added)
    return open_summaries(directory, words, added)


def files_meant(session: Session, word: str, known: Sequence[Submission] | None = None) -> list[str]:
    """Returns the files of the work that a word names. Raises a usage error if no work matches."""
    repository = session.fleet.repository
    place = place_of(session.root, word)
    found = [place.path] if place else files_of(repository, word)
    read = {item.origin.path for _, _, item in declared_work(repository)}
    read |= {item.location.path for item in session.diagnostics if item.location is not None}
    if found and read.issuperset(found):
        return found
    unread = [] if session.complete else _unread(session, word)
    if unread:
        return unread
    if place:
        raise click.UsageError(f"{word} has no {KINDS}")
    raise click.UsageError(no_work(session.fleet, session.fleet.submissions if known is None else known, _WHAT, word))


def meant(session: Session, word: str, known: Sequence[Submission] | None = None) -> list[Submission]:
    """Returns the work that a word names, among ``known`` or all work. Raises a usage error if no work matches."""
    items = session.fleet.submissions if known is None else known
    own = {id(item) for item in session.fleet.submissions_in(files_meant(session, word, items), word)}
    found = [item for item in items if id(item) in own]
    if not found:
        raise click.UsageError(no_work(session.fleet, items, _WHAT, word))
    return found


def _unread(session: Session, word: str) -> list[str]:
    """Returns the files with errors that most likely contain the name, although they could not be read."""
    name = names.fold(word.rpartition("/")[2])
    errors = (item.location for item in session.diagnostics if item.severity is Severity.ERROR)
    paths = sorted({place.path for place in errors if place is not None})
    return [path for path in paths if name in (names.fold(PurePosixPath(path).stem), *_written_names(session, path))]


def _written_names(session: Session, path: str) -> set[str]:
    """Returns all texts in a file that look like names, case-folded."""
    try:
        text = (session.root / path).read_text(encoding="utf-8", errors="replace")
    except OSError:  # its finding says why
        return set()
    return {names.fold(found) for found in _NAME.findall(text)}
