"""``kubectl tas migrate``: replaces the old names of a release in files that call kubectl-tas."""

from __future__ import annotations

import click

from kubectl_tas.cli.options import RENAMED, RENAMED_OPTIONS, repository_option
from kubectl_tas.cli.session import find_root
from kubectl_tas.cli.terminal import say, show
from kubectl_tas.edit.apply import lock, write
from kubectl_tas.edit.migration import Names, migrations
from kubectl_tas.load.loading import config_of
from kubectl_tas.load.source import FolderSource
from kubectl_tas.report.style import unified
from kubectl_tas.report.text import plural


@click.command(epilog="Example: kubectl tas migrate --dry-run")
@click.option("--dry-run", is_flag=True, help="Show the difference and write nothing.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where a file has an old name.")
@repository_option
def migrate(dry_run: bool, check: bool, directory: str | None) -> int:
    """Write the new names of commands and options into the files that call kubectl-tas.

    It edits CI jobs, hooks, scripts and pages in the git repository, not the folders of pools, workflows and manifests.
    Old names work for one release.
    """
    root = find_root(directory).resolve()
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)
    config = config_of(FolderSource(root))
    skipped = {root / name for name in (*config.sources, config.output)}
    with lock(top):
        found = list(migrations(top, skipped, Names(RENAMED, RENAMED_OPTIONS)))
        if dry_run:
            show(unified(file.difference for file, _ in found))
            return 1 if check and found else 0
        if not check:
            write(top, [file for file, _ in found])
    for file, told in found:
        for item in told:
            say(f"{file.path}:{item.line}: `{' '.join(item.old.split())}` is now `{item.new}`")
    if not found:
        say("No old name found.", err=True)
    elif check:
        say(f"{plural(len(found), 'file')} with old names. Run: kubectl tas migrate", err=True)
    return 1 if check and found else 0
