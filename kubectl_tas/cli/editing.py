"""Runs every edit of files: plans the edit, checks the repository as edited, writes and renders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kubectl_tas.base.diagnostics import Diagnostic, Severity
from kubectl_tas.check.quota import TOO_MUCH
from kubectl_tas.cli.session import check_source, find_root, open_session, show_findings
from kubectl_tas.cli.terminal import say, show
from kubectl_tas.edit.apply import as_edited, lock, new_errors, spliced, write
from kubectl_tas.edit.subpool_edits import Edit, lists
from kubectl_tas.report.style import unified
from kubectl_tas.resolve.fleet import Fleet

Plan = Callable[[Fleet], Edit | Diagnostic | Sequence[Edit]]
"""A function that plans a command's edit of the fleet: an edit, several, or a refusal."""


def edit(
    directory: str | None,
    plan: Plan,
    *,
    dry_run: bool,
    render_after: bool,
    rename: Callable[[str], str] | None = None,
    tell: Callable[[Fleet, Fleet], None] = lambda _before, _after: None,
) -> int:
    """Plans the edit, checks the repository as edited, writes the files, and renders, all under one lock.

    An edit depends on sums and names, so it is refused if a document is not counted. ``rename`` maps the message of a
    finding to the message after the edit; such an edit depends on names alone, and finishes one that was killed.
    ``tell`` prints what the edit means for work.
    """
    root = find_root(directory)
    with lock(root):
        session = open_session(directory)
        fleet = session.fleet
        if fleet.not_counted if rename is None else fleet.repository.unread:
            show_findings([item for item in session.diagnostics if item.severity is Severity.ERROR])
            say(f"Nothing was written: {fleet.gap}.", err=True)
            return 1
        planned = plan(session.fleet)
        if isinstance(planned, Diagnostic):
            show_findings([planned])
            return 1
        edits: list[Edit] = [planned] if isinstance(planned, Edit) else list(planned)
        files = spliced(root, edits)
        after = check_source(root, as_edited(root, files)).since(session.fleet) if files else session
        listing = lists(session.fleet, after.fleet, edits) if files else []
        if listing:
            edits += listing
            files = spliced(root, edits)
            after = check_source(root, as_edited(root, files)).since(session.fleet)
        new = new_errors(session.diagnostics, after.diagnostics, rename or str)
        if new:
            show_findings(new)
        if any(item.rule not in TOO_MUCH for item in new):  # what had too much before may have more now, or less
            say("Nothing was written: the repository would have these errors.", err=True)
            return 1
        if dry_run:
            show(unified(file.difference for file in sorted(files, key=lambda file: file.path)))
            tell(session.fleet, after.fleet)
            return 0
        write(root, files)
        for item in edits:
            say(f"{item.summary} ({item.path})")
        tell(session.fleet, after.fleet)
        return _render(root) if render_after and edits else 0


def _render(root: Path) -> int:
    from kubectl_tas.cli.render import render  # only --render needs the compiler and its templates

    code = render.main(["-C", str(root)], standalone_mode=False)
    return code if isinstance(code, int) else 0
