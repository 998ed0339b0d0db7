"""``kubectl tas adopt``: writes work that runs under another scheduler as this repository wants it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click

from kubectl_tas.base.diagnostics import Diagnostic, TasError
from kubectl_tas.base.late import dataclass
from kubectl_tas.cli.addressing import place_of
from kubectl_tas.cli.importing import manifests, tell_unplaced
from kubectl_tas.cli.options import (
    FILE,
    FOLDER,
    OPEN_TARGET,
    TO_FOLDER,
    pairs_option,
    priority_class_option,
    repository_option,
    to_option,
)
from kubectl_tas.cli.session import Session, check_source, find_root, open_session, read_named, show_findings
from kubectl_tas.cli.terminal import say, show
from kubectl_tas.edit.apply import FileEdit, as_edited, lock, new_errors, write
from kubectl_tas.imports.adoption import Adopted, adopt
from kubectl_tas.imports.written import Wishes
from kubectl_tas.load.source import FolderSource, OverlaySource, decode, is_read
from kubectl_tas.report.style import unified

UNEQUAL = "Has no equal here:"
_STDIN = "<stdin>"


@dataclass(frozen=True, slots=True)
class _Given:
    """A file to adopt."""

    path: str
    """Its path in the repository afterwards."""
    text: str
    before: bytes | None
    """The content that is at that path; None: nothing."""


@click.command("adopt", epilog="Example: kubectl tas adopt old/train.yaml --pool team--research --dry-run")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=FILE)
@click.option("--pool", metavar="POOL", default="", type=OPEN_TARGET, help="Pool, or pool--subpool, of all work.")
@pairs_option(
    "--queue", "queues", "QUEUE=POOL", "Pool of the work in this queue of the other scheduler, or in NAMESPACE/QUEUE."
)
@priority_class_option
@to_option("DIR", FOLDER, f"{TO_FOLDER} For files from elsewhere, in the repository.", default="workflows")
@click.option("--dry-run", is_flag=True, help="Print the diff and write nothing.")
@repository_option
def adopt_command(
    files: tuple[str, ...],
    pool: str,
    queues: dict[str, str],
    priorities: dict[str, str],
    to: str,
    *,
    dry_run: bool,
    directory: str | None,
) -> int:
    """Write work of Kueue, Volcano, YuniKorn or KAI as this repository wants it.

    FILE has manifests as they run today, or is a folder of such files, or - for standard input, whose result goes to
    standard output. A file of the repository is changed in place; another one is written to --to.

    Comments stay. The command shows the diff, and lists what has no equal here. It writes nothing while a pool or a
    priority is unknown. Exits 1 then, and if the result has errors.
    """
    root = find_root(directory)
    wishes = Wishes(pool, queues, priorities)
    with lock(root):
        opened = open_session(directory, allow_empty=False)
        given = _given(root, opened, files, to)
        own = {path: None for path, each in given.items() if each.before is not None}
        before = check_source(root, OverlaySource(FolderSource(root), own)) if own else opened
        adopted = adopt({path: each.text for path, each in given.items()}, before.fleet, wishes)
        if adopted.refusals:
            show_findings(adopted.refusals)
            say("Nothing was written.", err=True)
            return 1
        edits = [_edit(each, adopted.texts.get(path, each.text)) for path, each in given.items() if path != _STDIN]
        edits = [edit for edit in edits if edit.after != edit.before]
        _tell(given, adopted)
        if not adopted.texts and not edits:
            say("Nothing has to be adopted.", err=True)
            return 0
        after = check_source(root, as_edited(root, edits)) if edits else opened
        if edits and not dry_run:
            write(root, edits)
            for edit in edits:
                say(f"wrote {edit.path}")
    errors = new_errors(opened.diagnostics, after.diagnostics, str)
    if errors:
        show_findings(errors)
        say("Mend these errors: `kubectl tas validate` shows them too.", err=True)
    return 1 if errors else 0


def _edit(given: _Given, text: str) -> FileEdit:
    content = text.encode()
    is_empty = not text.strip() and given.before is None  # only objects of the other scheduler were in it
    return FileEdit(given.path, given.before, None if is_empty else content or None)


def _given(root: Path, session: Session, files: Sequence[str], folder: str) -> dict[str, _Given]:
    """Returns the files to adopt, by path in the repository. Raises TasError if a file with another text is there."""
    found: dict[str, _Given] = {}
    problems: list[Diagnostic] = []
    for file, inner in _named(files):
        if file == "-":
            path, before = _STDIN, None
        else:
            place = place_of(root, file, bare=True)
            path = place.path if place is not None else file
            config = session.fleet.config
            is_there = is_read(path, config.sources, exclude=config.output)
            path = path if is_there else (Path(folder) / inner).as_posix()
            before = (root / path).read_bytes() if is_there else None
        content = read_named(file, hint="Name a file with work.") if before is None else before
        text, problem = decode(path, content)
        if problem is not None:
            problems.append(problem)
        if path in found or (before is None and path != _STDIN and (root / path).exists()):
            raise TasError(f"{path} is there already; nothing was written", hint="Choose another folder with --to.")
        found[path] = _Given(path, text, before)
    if problems:
        show_findings(problems)
        raise TasError("a file cannot be read; nothing was written", hint="Mend it, or leave it out.")
    return found


def _named(files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields each file with its path below the folder that the user names."""
    for name in dict.fromkeys(files):
        if name != "-" and Path(name).is_dir():
            yield from ((file, Path(file).relative_to(name).as_posix()) for file in manifests(name))
        else:
            yield name, Path(name).name


def _tell(given: Mapping[str, _Given], adopted: Adopted) -> None:
    """Prints the diff and the losses. Of standard input the result is the output, so all else goes to stderr."""
    is_piped = _STDIN in given
    differences = [(path, given[path].text, text) for path, text in adopted.texts.items() if path != _STDIN]
    show(unified(differences))
    if is_piped:
        show(adopted.texts.get(_STDIN, given[_STDIN].text))
    if adopted.becomes:
        say("Becomes:", err=is_piped)
    for line in adopted.becomes:
        say(f"  {line}", err=is_piped)
    tell_unplaced(adopted.unequal, UNEQUAL, err=is_piped)
