"""``kubectl tas validate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubectl_tas.cli.session import Session, open_session, report, repository_option

if TYPE_CHECKING:
    from kubectl_tas.diagnostics import Diagnostic


@click.command()
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--strict", is_flag=True, help="Warnings fail the run too.")
@repository_option
def validate(paths: tuple[str, ...], output: str, strict: bool, directory: str | None) -> int:
    """Check every document of the repository, and all of them against each other.

    The whole repository is read in any case. With PATHS, only what is found in those files and folders is
    reported.
    """
    session = open_session(directory)
    if paths:
        session = Session(session.root, session.fleet, _below(session, paths))
    if output == "json":
        from kubectl_tas.report import json

        click.echo(json.render(session.diagnostics, session.files), nl=False)
    else:
        report(session)
    return 1 if session.failed(strict=strict) else 0


def _below(session: Session, paths: tuple[str, ...]) -> tuple[Diagnostic, ...]:
    """The findings in the files and folders that are named."""
    wanted = [_relative(session.root, path) for path in paths]
    return tuple(
        diagnostic
        for diagnostic in session.diagnostics
        if diagnostic.location is not None
        and any(Path(diagnostic.location.path).is_relative_to(path) for path in wanted)
    )


def _relative(root: Path, path: str) -> Path:
    """A path relative to the repository; a usage error where it lies outside or does not exist."""
    full = Path(path).absolute() if Path(path).exists() else root / path
    if not full.exists():
        raise click.UsageError(f"{path} does not exist")
    resolved = full.parent.resolve() / full.name
    if not resolved.is_relative_to(root):
        raise click.UsageError(f"{path} is not in the repository {root}")
    return resolved.relative_to(root)
