"""``kubectl tas workflow``: what becomes of a workflow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubectl_tas.cli.completion import from_fleet, workflow_names
from kubectl_tas.cli.session import Session, open_session, report, repository_option, tell_errors

if TYPE_CHECKING:
    from kubectl_tas.resolve.fleet import FleetWorkflow


@click.group()
def workflow() -> None:
    """Explain workflows."""


@workflow.command()
@click.argument("workflow", metavar="FILE|NAME", shell_complete=from_fleet(workflow_names))
@click.option("-o", "--output", type=click.Choice(["tree", "json"]), default="tree", show_default=True)
@repository_option
def explain(workflow: str, output: str, directory: str | None) -> int:
    """Show the queue, the admission verdict and the tree of constraints of a workflow."""
    from kubectl_tas.draw import json, tree
    from kubectl_tas.draw.picture import picture

    session = open_session(directory)
    path = _path(session, workflow)
    own = tuple(d for d in session.diagnostics if d.location is not None and d.location.path == path)
    blocking = Session(session.root, session.fleet, own)
    if blocking.failed():
        report(blocking, stream=sys.stderr)
        return 1
    draw = json.render if output == "json" else tree.render
    found = [item for item in session.fleet.workflows if item.declared.origin.path == path]
    if not Path(workflow).suffix:
        found = [item for item in found if item.name == _fold(workflow)] or found
    click.echo("\n".join(draw(picture(session.fleet, item)) for item in found), nl=False)
    return tell_errors(session)


def _fold(name: str) -> str:
    from kubectl_tas.resolve.names import fold

    return fold(name)


def _path(session: Session, wanted: str) -> str:
    """The file of the workflow with that name, or that file; a usage error where there is neither."""
    declared = session.fleet.repository.workflows
    for item in declared:
        if _fold(item.spec.workflow.name) == _fold(wanted):
            return item.origin.path
    full = Path(wanted).resolve() if Path(wanted).exists() else (session.root / wanted).resolve()
    read = {item.origin.path for item in declared}
    read |= {d.location.path for d in session.diagnostics if d.location is not None}
    if full.is_relative_to(session.root) and full.relative_to(session.root).as_posix() in read:
        return full.relative_to(session.root).as_posix()
    names = ", ".join(_known(session.fleet.workflows)) or "none"
    raise click.UsageError(f'no workflow or workflow file "{wanted}" in {session.root}; there is {names}')


def _known(workflows: tuple[FleetWorkflow, ...]) -> list[str]:
    return [item.name for item in workflows]
