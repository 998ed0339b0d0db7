"""Prints all output of the program, and escapes text from files so that it commands neither a terminal nor a CI job."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

import click

from kubectl_tas.base.diagnostics import Location
from kubectl_tas.base.late import imported
from kubectl_tas.cli import ALWAYS, NEVER
from kubectl_tas.report import FINDINGS
from kubectl_tas.report.style import printable, printable_lines

if TYPE_CHECKING:
    from kubectl_tas.draw.figure import Figure
    from kubectl_tas.report import Findings

DELAY = 1.0
"""Seconds of work before a bar appears."""
STEPS = 100
"""The most times that a bar is drawn."""
_AT_ONCE = 1000
"""Parts of a text that are printed together."""
SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable in which GitHub names the file for the summary of a step."""
UNREAD = "kubectl_tas.unread"
"""The key for the ``Gap`` of a repository, in the data that all contexts of a run share."""


class Gap(NamedTuple):
    """The lack of an answer, because documents are not counted."""

    text: str
    """Half a sentence; '' if all documents are counted."""
    places: tuple[Location, ...]
    tell: Callable[[], object]
    """Says on stderr how many errors there are."""


def gap() -> Gap | None:
    """Returns what answers from the repository of this run lack; None if they lack nothing."""
    context = click.get_current_context(silent=True)
    return context.meta.get(UNREAD) if context else None


def say(line: str, *, err: bool = False) -> None:
    """Prints one line, with control characters escaped."""
    click.echo(printable(line), err=err, color=True)


def show_names(names: Iterable[str]) -> None:
    """Prints one name a line, with control characters escaped."""
    _print("".join(f"{printable(name)}\n" for name in names), sys.stdout)


def show(text: str, *, stream: TextIO | None = None, colour: bool = False) -> None:
    """Prints lines for people, to stdout or another stream; with ``colour``, keeps the colours of ``style``. If answers
    lack something, the first lines to stdout say so.

    Escapes control characters other than line breaks. The caller has already escaped each field, because a field's own
    line breaks look like others here.
    """
    lacking = gap() if stream is None else None
    if lacking is not None and lacking.text:
        _print(printable(f"Incomplete: {lacking.text}.") + "\n\n", sys.stdout)
        click.get_current_context().meta[UNREAD] = lacking._replace(text="")
    _print(text, stream or sys.stdout, colour=colour)


def _print(text: str, stream: TextIO, *, colour: bool = False) -> None:
    click.echo(printable_lines(text, colour=colour), nl=False, file=stream, color=True)


def hand_over(text: str, *, is_safe: bool = False) -> None:
    """Prints a text for programs unchanged: JSON, YAML and similar formats, which escape their content.

    On a terminal, escapes the text as ``show`` does, because of comments in workloads, unless ``is_safe``.
    """
    if sys.stdout.isatty() and not is_safe:
        _print(text, sys.stdout)
    else:
        click.echo(text, nl=False, color=True)


def hand_over_answer(answer: object, output: str = "json") -> None:
    """Prints an answer as JSON or YAML. It names the documents that are not counted."""
    from kubectl_tas.base import yaml
    from kubectl_tas.report import json

    record, lacking = json.as_json(answer), gap()
    if lacking is not None:
        record["notCounted"] = json.as_json(lacking.places)
    hand_over((json.dump if output == "json" else yaml.block)(record))


def hand_over_parts(parts: Iterator[str]) -> None:
    """Prints a text for programs in parts, since the whole may be too large for memory."""
    if sys.stdout.isatty():
        hand_over("".join(parts))
    while some := "".join(islice(parts, _AT_ONCE)):
        hand_over(some)


def hand_over_bytes(content: bytes) -> None:
    """Prints binary content for programs; the caller refuses terminals."""
    click.echo(content, nl=False)


def show_list(
    output: str,
    *,
    answer: Callable[[], object],
    names: Callable[[], Iterable[str]],
    table: Callable[[], str],
    none: str,
) -> None:
    """Prints a list in one of the formats of LIST; for people, prints ``none`` if the list is empty."""
    if output in ("json", "yaml"):
        hand_over_answer(answer(), output)
    elif output == "name":
        show_names(names())
    elif any(names()):
        show(table())
    else:
        lacking = gap()
        say(none if lacking is None else f"Incomplete: {lacking.text}.", err=True)


def show_figures(figures: Sequence[Figure], output: str) -> None:
    """Prints figures in one of PICTURES."""
    from kubectl_tas.draw.diagrams import FORMATS  # most runs draw nothing

    lacking = gap()
    if lacking is not None and output != "tree":
        figures = [replace(figure, facts=(*figure.facts, ("Incomplete", lacking.text))) for figure in figures]
    tell = show if output == "tree" else hand_over
    tell(FORMATS[output](figures))


def print_findings(findings: Findings, output: str, root: Path) -> None:
    """Prints the findings of the repository ``root`` in one of FINDINGS; ``github`` also writes the step's summary.

    Raises TasError if the summary cannot be written.
    """
    if output != "json":  # readers of the others know files by their paths from the top of the checkout
        findings = findings.below(_folder(root))
    hand_over(imported(FINDINGS[output])(findings), is_safe=True)
    path = os.environ.get(SUMMARY) if output == "github" else None
    if path:
        _append(Path(path), findings)


def _folder(root: Path) -> str:
    """Returns the repository's folder in its checkout; '' if the repository is the checkout, or in none."""
    top = next((folder for folder in (root, *root.parents) if os.path.lexists(folder / ".git")), root)
    return "" if top == root else root.relative_to(top).as_posix()


def _append(path: Path, findings: Findings) -> None:
    from kubectl_tas.base.diagnostics import TasError
    from kubectl_tas.report import github

    try:
        room = github.MAX_SUMMARY - (path.stat().st_size if path.exists() else 0)
        with path.open("a", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(github.summary(findings, room))
    except OSError as error:
        hint = f"Unset {SUMMARY}, or let it name a file that may be written to."
        raise TasError(f"cannot append to the summary {path}: {error.strerror}", hint=hint) from error


def wants_colour(stream: TextIO) -> bool:
    """Whether to use colours: as ``--color`` says, else on a terminal without NO_COLOR."""
    context = click.get_current_context(silent=True)
    chosen = context.find_root().params.get("color") if context else None
    if chosen in (ALWAYS, NEVER):
        return bool(chosen == ALWAYS)
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """Shows a bar on stderr for work that takes longer than a second, if stderr is a terminal.

    Yields a function to call with the number of steps done and the total.
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
    """Shows a label, and at the end the duration, for work without counted steps; under the conditions of a bar."""
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
