"""The one place where text leaves the program: what was read somewhere commands neither a terminal nor a CI job."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from kubectl_tas.cli import ALWAYS, NEVER
from kubectl_tas.late import imported
from kubectl_tas.report import FINDINGS
from kubectl_tas.report.style import printable, printable_lines

if TYPE_CHECKING:
    from kubectl_tas.draw.figure import Figure
    from kubectl_tas.report.findings import Findings

DELAY = 1.0
"""Seconds of work before a bar appears."""
STEPS = 100
"""How often a bar is drawn at the most."""
_AT_ONCE = 1000
"""Parts of a text that are printed at once."""
SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable in which GitHub names the file that a step appends its summary to."""
UNREAD = "kubectl_tas.unread"
"""In what a run's contexts share: says that documents cannot be read, in which what is missing may stand."""


def say(line: str, *, err: bool = False) -> None:
    """Prints one line, whatever is in it."""
    click.echo(printable(line), err=err, color=True)


def show_names(names: Iterable[str]) -> None:
    """Prints a name a line, whatever is in it."""
    show("".join(f"{printable(name)}\n" for name in names))


def show(text: str, *, stream: TextIO | None = None, colour: bool = False) -> None:
    """Prints lines for people, to stdout unless another stream is named; with ``colour`` the colours of ``style`` stay.

    Fields have been made printable when the lines were made of them, since nobody can tell any more which line
    breaks are theirs; everything else is escaped here.
    """
    click.echo(printable_lines(text, colour=colour), nl=False, file=stream or sys.stdout, color=True)


def hand_over(text: str, *, is_safe: bool = False) -> None:
    """Prints a text for programs byte by byte: JSON, YAML and the like, which escape what they hold.

    Where it is a person who reads it, comments of workloads are shown like any other text, unless all of it
    ``is_safe``.
    """
    if sys.stdout.isatty() and not is_safe:
        show(text)
    else:
        click.echo(text, nl=False, color=True)


def hand_over_parts(parts: Iterator[str]) -> None:
    """The same of a text that may be too large to hold as a whole."""
    if sys.stdout.isatty():
        hand_over("".join(parts))
    while some := "".join(islice(parts, _AT_ONCE)):
        hand_over(some)


def hand_over_bytes(content: bytes) -> None:
    """Prints what is no text, for programs alone: the caller refuses terminals."""
    click.echo(content, nl=False)


def show_list(
    output: str, *, data: Callable[[], object], names: Callable[[], Iterable[str]], table: Callable[[], str], none: str
) -> None:
    """Prints a list in one of the formats of LIST; people read ``none`` where it is empty."""
    if output in ("json", "yaml"):
        from kubectl_tas import yaml
        from kubectl_tas.report import json

        hand_over((json.dump if output == "json" else yaml.block)(data()))
    elif output == "name":
        show_names(names())
    elif any(names()):
        show(table())
    else:
        say(none, err=True)


def show_figures(figures: Sequence[Figure], output: str) -> None:
    """Prints figures in one of PICTURES."""
    from kubectl_tas.draw.diagrams import FORMATS  # most runs draw nothing

    tell = show if output == "tree" else hand_over
    tell(FORMATS[output](figures))


def print_findings(findings: Findings, output: str, root: Path) -> None:
    """Prints what was found in the repository ``root`` in one of FINDINGS; ``github`` writes the step's summary too.

    Raises TasError where that cannot be written.
    """
    if output != "json":  # readers of the others know files by their paths from the top of the checkout
        findings = findings.below(_folder(root))
    hand_over(imported(FINDINGS[output])(findings), is_safe=True)
    path = os.environ.get(SUMMARY) if output == "github" else None
    if path:
        _append(Path(path), findings)


def _folder(root: Path) -> str:
    """The repository as a folder of its checkout; empty where it is the checkout, or in none."""
    top = next((folder for folder in (root, *root.parents) if os.path.lexists(folder / ".git")), root)
    return "" if top == root else root.relative_to(top).as_posix()


def _append(path: Path, findings: Findings) -> None:
    from kubectl_tas.errors import TasError
    from kubectl_tas.report import github

    try:
        room = github.MAX_SUMMARY - (path.stat().st_size if path.exists() else 0)
        with path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(github.summary(findings, room))
    except OSError as error:
        hint = f"Unset {SUMMARY}, or let it name a file that may be written to."
        raise TasError(f"cannot append to the summary {path}: {error.strerror}", hint=hint) from error


def wants_colour(stream: TextIO) -> bool:
    """Whether ``--color`` says so, or else a stream is a terminal whose user has not said NO_COLOR."""
    context = click.get_current_context(silent=True)
    chosen = context.find_root().params.get("color") if context else None
    if chosen in (ALWAYS, NEVER):
        return bool(chosen == ALWAYS)
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr for work that takes longer than a second, where stderr is a terminal.

    Yields what is to be told how many of how many steps are done.
    """
    start, before, is_watched = time.monotonic(), 0, sys.stderr.isatty()

    def took(_: int | None) -> str:
        return f"{time.monotonic() - start:.0f} s"

    update: Callable[[int], None] | None = None
    with ExitStack() as shown:

        def tick(done: int, total: int) -> None:
            nonlocal update, before
            if update is None and is_watched and time.monotonic() - start >= DELAY:
                steps = max(1, total // STEPS)
                bar = click.progressbar(
                    length=total,
                    label=label,
                    file=sys.stderr,
                    show_eta=False,
                    show_pos=True,
                    item_show_func=took,
                    update_min_steps=steps,
                )
                update = shown.enter_context(bar).update
            if update is not None:
                update(done - before)
                before = done

        yield tick


@contextmanager
def waiting(label: str) -> Iterator[None]:
    """The same for work whose steps nobody counts: what it is, and in the end how long it took."""
    if not sys.stderr.isatty():
        yield
        return
    from threading import Event, Timer  # only people wait

    start, is_shown = time.monotonic(), Event()

    def begin() -> None:
        is_shown.set()
        click.echo(f"{printable(label)} ...", nl=False, err=True)

    timer = Timer(DELAY, begin)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if is_shown.is_set():
            click.echo(f" {time.monotonic() - start:.0f} s", err=True)
