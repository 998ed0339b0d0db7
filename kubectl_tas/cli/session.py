"""What all commands share: find the repository, load it, report what is wrong with it."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from kubectl_tas.cli.terminal import say, show
from kubectl_tas.errors import TasError

if TYPE_CHECKING:
    from kubectl_tas.diagnostics import Diagnostic
    from kubectl_tas.load.source import Source
    from kubectl_tas.model.artifact import Artifact
    from kubectl_tas.model.repository import Repository
    from kubectl_tas.resolve.fleet import Fleet

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Session:
    """A loaded and checked repository."""

    root: Path
    fleet: Fleet
    diagnostics: tuple[Diagnostic, ...]
    """All findings, in order."""
    complete: bool = True
    """False where a document could not be read: what seems to be missing may stand in it."""

    @property
    def files(self) -> int:
        """How many files were read."""
        return self.fleet.repository.files

    def failed(self, *, strict: bool = False) -> bool:
        """Whether anything was found that fails a run."""
        from kubectl_tas.diagnostics import has_errors

        return has_errors(self.diagnostics, strict=strict)

    def with_guard(self, *, guard: bool) -> Session:
        """The same with the guard emitted, where ``guard`` asks for it or the Config does."""
        if not guard or self.fleet.config.guard:
            return self
        config = self.fleet.config.model_copy(update={"guard": True})
        return replace(self, fleet=replace(self.fleet, config=config))

    def artifacts(self) -> tuple[Artifact, ...]:
        """All objects to apply. Raises TasError for a repository that declares nothing."""
        from kubectl_tas.compile import compile_fleet

        return compile_fleet(self.fleet)


def output_option(*formats: str) -> Callable[[F], F]:
    """Adds ``--output``; the first format is the default."""
    choice = click.Choice(formats)
    return click.option("-o", "--output", type=choice, default=formats[0], show_default=True, help="How it is printed.")


def repository_option(command: F) -> F:
    """Adds ``-C`` to a command, with the group's own as its default."""
    return click.option(
        "-C", "directory", metavar="DIR", help="The repository; by default the nearest parent with tas.yaml."
    )(command)


def open_session(directory: str | None, *, allow_empty: bool = False) -> Session:
    """Loads, resolves and checks the repository.

    Raises TasError where it cannot be read, and where there is no file at all unless ``allow_empty``: most
    likely the command runs in the wrong folder, and must not say that all is well.
    """
    from kubectl_tas.load.source import FolderSource
    from kubectl_tas.model.config import DEFAULT_SOURCES

    gc.disable()  # a short-lived process that builds one large tree: collecting finds nothing to free
    root = find_root(directory)
    session = check_source(root, FolderSource(root))
    if not session.files and not allow_empty:
        raise TasError(
            f"no repository in {root}: there is no tas.yaml, and no file in {', '.join(DEFAULT_SOURCES)}",
            hint="Name the repository with -C, or write a small one with `kubectl tas init`.",
        )
    return session


def check_source(root: Path, source: Source, adjust: Callable[[Repository], Repository] | None = None) -> Session:
    """Loads, resolves and checks what ``source`` holds of the repository at ``root``, changed by ``adjust``."""
    from kubectl_tas.check import check_fleet
    from kubectl_tas.cli.progress import Progress
    from kubectl_tas.diagnostics import in_order
    from kubectl_tas.load.repository import load_repository
    from kubectl_tas.resolve.fleet import resolve

    with Progress("Reading") as progress:
        loaded = load_repository(source, progress.tick)
    fleet = resolve(adjust(loaded.repository) if adjust else loaded.repository)
    found = (*loaded.diagnostics, *check_fleet(fleet, complete=loaded.complete))
    return Session(root, fleet, in_order(found), loaded.complete)


def find_root(directory: str | None) -> Path:
    """The repository: ``directory``, else the group's ``-C``, else the nearest parent with ``tas.yaml``."""
    from kubectl_tas.load.source import CONFIG_FILE

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


def group_directory() -> str | None:
    """The ``-C`` that stands before the command."""
    context = click.get_current_context(silent=True)
    return context.find_root().params.get("directory") if context else None


def report(session: Session, *, stream: TextIO | None = None) -> None:
    """Prints all findings for people."""
    from kubectl_tas.report import text

    out = stream or sys.stdout
    colour = wants_colour(out)
    show(text.render(session.diagnostics, session.files, colour=colour), stream=out, colour=colour)


def refuse_errors(session: Session) -> bool:
    """Where the repository has errors, prints its findings to stderr and returns True."""
    if session.failed():
        report(session, stream=sys.stderr)
        return True
    return False


def tell_errors(session: Session) -> int:
    """Says on stderr that the repository has errors, since what was shown may lack something."""
    if not session.failed():
        return 0
    from kubectl_tas.report.text import plural

    number = sum(diagnostic.severity.value == "error" for diagnostic in session.diagnostics)
    say(f"This repository has {plural(number, 'error')}; run: kubectl tas validate", err=True)
    return 1


def wants_colour(stream: TextIO) -> bool:
    """Whether a stream is a terminal whose user has not said NO_COLOR."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
