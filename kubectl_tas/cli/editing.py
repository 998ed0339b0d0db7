"""What commands that edit files share: plan, check the repository as it would be, write, render."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.cli.session import Session, find_root, open_session, repository_option
from kubectl_tas.cli.terminal import say, show

if TYPE_CHECKING:
    from pathlib import Path

    from kubectl_tas.diagnostics import Diagnostic
    from kubectl_tas.edit.apply import FileEdit
    from kubectl_tas.edit.subpools import Edit
    from kubectl_tas.resolve.fleet import Fleet

Plan = Callable[["Fleet"], "Edit | Diagnostic | Sequence[Edit]"]
"""What a command wants of the fleet: an edit, several, or a refusal."""


def edit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds what all edits have in common."""
    for option in (
        click.option("--dry-run", is_flag=True, help="Print the diff and write nothing."),
        click.option("--render", "render_after", is_flag=True, help="Render the manifests afterwards."),
        repository_option,
    ):
        command = option(command)
    return command


def edit(directory: str | None, plan: Plan, *, dry_run: bool, render_after: bool) -> int:
    """Plans the edit, checks the repository as it would be, writes it, and renders: all under one lock."""
    from kubectl_tas.diagnostics import Diagnostic
    from kubectl_tas.edit.apply import lock, spliced, write
    from kubectl_tas.edit.subpools import NewFile, SetValues

    root = find_root(directory)
    with lock(root):
        session = open_session(directory)
        planned = plan(session.fleet)
        if isinstance(planned, Diagnostic):
            _print((planned,))
            return 1
        edits = [planned] if isinstance(planned, NewFile | SetValues) else list(planned)
        files = spliced(root, edits)
        if _refused(session, files):
            return 1
        if dry_run:
            return _show(files)
        write(root, files)
        for edit in edits:
            say(f"{edit.summary} ({edit.path})")
        return _render(root) if render_after and edits else 0


def _show(files: Sequence[FileEdit]) -> int:
    from kubectl_tas.report.diff import unified

    show(unified(file.difference for file in files))
    return 0


def _render(root: Path) -> int:
    from kubectl_tas.cli.render import render

    code = render.main(["-C", str(root)], standalone_mode=False)
    return code if isinstance(code, int) else 0


def _refused(session: Session, files: Sequence[FileEdit]) -> bool:
    """Prints the errors that the edit would bring, and tells whether there are any."""
    from kubectl_tas.cli.session import check_source
    from kubectl_tas.diagnostics import Severity
    from kubectl_tas.load.source import FolderSource, OverlaySource

    if not files:
        return False
    overlay = OverlaySource(FolderSource(session.root), {file.path: file.after for file in files})
    after = check_source(session.root, overlay)
    known = {_identity(diagnostic) for diagnostic in session.diagnostics}
    new = tuple(d for d in after.diagnostics if d.severity is Severity.ERROR and _identity(d) not in known)
    if new:
        _print(new)
        say("Nothing was written: the repository would have these errors.", err=True)
    return bool(new)


def _identity(diagnostic: Diagnostic) -> tuple[str, str, str]:
    """What tells a finding from others, wherever it stands in its file: an edit moves lines."""
    path = diagnostic.location.path if diagnostic.location else ""
    return path, diagnostic.rule.code, diagnostic.message


def _print(diagnostics: tuple[Diagnostic, ...]) -> None:
    from kubectl_tas.cli.session import wants_colour
    from kubectl_tas.report import text

    colour = wants_colour(sys.stderr)
    show(text.blocks(diagnostics, colour=colour), stream=sys.stderr, colour=colour)
