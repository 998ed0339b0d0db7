"""``kubectl tas validate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from kubectl_tas.check.waivers import Base
from kubectl_tas.cli.backends import cluster_options, named_clusters
from kubectl_tas.cli.options import output_option, repository_option, template_options
from kubectl_tas.cli.session import open_session, read_revision, report
from kubectl_tas.cli.terminal import hand_over
from kubectl_tas.diagnostics import Diagnostic
from kubectl_tas.report import json


@click.command(epilog="Example: kubectl tas validate workflows --base main --strict")
@click.argument("paths", nargs=-1, type=click.Path())
@output_option("text", "json")
@click.option("--strict", is_flag=True, help="Warnings fail the run too.")
@click.option("--base", metavar="REF", help="Also check what has changed since this git revision.")
@click.option("--live", is_flag=True, help="Also compare with the clusters.")
@cluster_options
@template_options
@repository_option
def validate(
    paths: tuple[str, ...],
    output: str,
    strict: bool,
    base: str | None,
    live: bool,
    directory: str | None,
    **cluster: Any,
) -> int:
    """Check every document of the repository, and all of them against each other.

    The whole repository is read in any case. With PATHS, only what is found in those files and folders is
    reported.

    With --base, changes that must not be made are found too: topologies that are removed or change while they are
    used, constraints of PodCliqueSets that change, steps that a subpool may not take, and fields that cannot be
    changed in an object that is there. With --live, --context,
    --kubeconfig or --cluster-state the topologies and PodCliqueSets of the clusters are compared too, the GPUs that
    pools are guaranteed with those that nodes have, and what runs there decides what may change. The cluster of a
    backend is the one of its context in tas.yaml; one of several that cannot be read is an error.
    """
    session = open_session(directory)
    asked = named_clusters(session.fleet, cluster, live=live)
    if base is not None or asked is not None:
        from kubectl_tas.compare.transitions import compare  # neither git nor a cluster is needed without

        before = read_revision(session.root, base, directory) if base is not None else None
        found = compare(session.fleet, before, asked, complete=session.complete)
        session = session.since(before.fleet) if before else session
        session = session.with_findings(found, Base(before.revision, before.fleet.config.rules) if before else None)
    if paths:
        wanted = [_relative(session.root, path) for path in paths]
        shown, waived = _below(session.diagnostics, wanted), _below(session.waived, wanted)
        session = replace(session, diagnostics=shown, waived=waived)
    if output == "json":
        hand_over(json.render(session.shown, session.files, session.waived))
    else:
        report(session)
    return 1 if session.failed(strict=strict) else 0


def _below(diagnostics: Sequence[Diagnostic], paths: Sequence[Path]) -> tuple[Diagnostic, ...]:
    """The findings that have a place in these files and folders."""
    return tuple(
        diagnostic
        for diagnostic in diagnostics
        if any(Path(place.path).is_relative_to(path) for place in diagnostic.places for path in paths)
    )


def _relative(root: Path, path: str) -> Path:
    """A path relative to the repository; a usage error where it lies outside or does not exist."""
    full = Path(path).absolute() if Path(path).exists() else root / path
    if not full.exists():
        raise click.UsageError(f"{path} does not exist")
    resolved = full.resolve() if full.name == ".." else full.parent.resolve() / full.name  # a link stays one
    if not resolved.is_relative_to(root):
        raise click.UsageError(f"{path} is not in the repository {root}")
    return resolved.relative_to(root)
