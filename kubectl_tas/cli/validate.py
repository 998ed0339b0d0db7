"""``kubectl tas validate``: checks the repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.base.diagnostics import Diagnostic, TasError
from kubectl_tas.check.judging import Base
from kubectl_tas.check.quota import TOO_MUCH
from kubectl_tas.cli.backends import cluster_options, named_clusters
from kubectl_tas.cli.options import (
    MANIFEST,
    TEXT,
    base_option,
    output_option,
    repository_option,
    run_options,
    template_options,
)
from kubectl_tas.cli.session import (
    Session,
    check_added,
    check_source,
    find_root,
    foreign_with_findings,
    open_change,
    open_session,
    read_revision,
    read_stdin,
    report,
)
from kubectl_tas.cli.terminal import print_findings
from kubectl_tas.gangs.lasting import Past
from kubectl_tas.load.source import SUFFIXES, FolderSource, OverlaySource, is_read
from kubectl_tas.model.config import VALUES_FOLDER as VALUES
from kubectl_tas.report import FINDINGS, STDIN
from kubectl_tas.resolve.fleet import replaced

if TYPE_CHECKING:
    from kubectl_tas.compare.change import Earlier
    from kubectl_tas.live.live_cluster import Clusters


@click.command(epilog="Example: kubectl tas validate workflows --base main --strict")
@click.argument("paths", nargs=-1, type=click.Path())
@click.option("-f", "--filename", "filenames", metavar="PATH", type=MANIFEST, multiple=True, help="The same as PATHS.")
@output_option(TEXT, *FINDINGS)
@click.option(
    "--stdin-filename",
    metavar="PATH",
    type=MANIFEST,
    help="With -: the file that standard input replaces.",
)
@click.option("--strict", is_flag=True, help="Warnings fail the run too.")
@base_option("Also check what has changed since this git revision.")
@click.option("--live", is_flag=True, help="Also compare with the clusters.")
@cluster_options
@template_options
@run_options
@repository_option
def validate(
    paths: tuple[str, ...],
    filenames: tuple[str, ...],
    output: str,
    stdin_filename: str | None,
    strict: bool,
    base: str | None,
    live: bool,
    directory: str | None,
    **cluster: Any,
) -> int:
    """Check every document of the repository, and all of them against each other.

    PATHS limit the report, not what is read. With -, validate checks standard input as the file that --stdin-filename
    names, else as a new file: its workflows and workloads replace those of the same kind and name.

    --base also finds changes that you must not make, such as of a topology in use.

    With --live, --context, --kubeconfig or --cluster-state, validate also compares with the clusters: topologies,
    PodCliqueSets, the GPUs of nodes and of pods.
    """
    paths = (*paths, *filenames)
    needs_all = live or any(cluster.values())
    earlier: Earlier | None = None
    if base is not None and not needs_all and "-" not in paths:
        changed, earlier, _ = open_change(directory, base)
        opened = changed.with_emptiness()
        wanted_paths = [_relative(opened.root, path) for path in paths]
    else:
        opened, wanted_paths = _opened(directory, paths, stdin_filename, needs_all=needs_all or base is not None)
    clusters = named_clusters(opened.fleet, cluster, live=live)
    before = read_revision(opened.root, base, directory) if base is not None and earlier is None else earlier
    further_findings = foreign_with_findings(opened, before)[1] if "-" not in paths else []
    compared = opened
    if before is not None or clusters is not None:
        from kubectl_tas.compare.transitions import compare  # neither git nor a cluster is needed without

        transition = compare(opened.fleet, before, clusters, complete=opened.complete)
        further_findings += transition.findings
        if clusters is not None:
            from kubectl_tas.compare.transitions import NODES_UNREAD
            from kubectl_tas.place.uncharged import check_holdings

            further_findings += check_holdings(opened.fleet, clusters, transition.unread, NODES_UNREAD)
        compared = opened.since(before.fleet if before else None, _past(opened, before, clusters))
    judged = compared
    if further_findings or before is not None:
        base_rules = Base(before.revision, before.fleet.config.rules) if before else None
        judged = compared.with_findings(further_findings, base_rules)
    shown = judged
    if wanted_paths:
        diagnostics, waived = _below(judged.diagnostics, wanted_paths), _below(judged.waived, wanted_paths)
        shown = replace(judged, diagnostics=diagnostics, waived=waived)
    if output == TEXT:
        report(shown)
    else:
        findings = shown.findings("validate", strict=strict)
        files = findings.files
        if wanted_paths:
            files = tuple(path for path in files if _is_wanted(path, wanted_paths))
        print_findings(replace(findings, files=files), output, shown.root)
    return 1 if shown.failed(strict=strict) else 0


def _past(session: Session, before: Earlier | None, asked: Clusters | None) -> Past:
    """Returns the state before a change: at a completely read revision, and in the clusters that answer."""
    known = before.whole if before is not None else None
    if asked is None or not any(item.rule in TOO_MUCH for item in session.found):
        return Past(known)
    found = asked.ask(lambda cluster: cluster.state().running).found
    return Past(known, found)


def _opened(
    directory: str | None, paths: Sequence[str], stdin_filename: str | None, *, needs_all: bool
) -> tuple[Session, list[Path]]:
    """Opens the repository, with standard input if the user asks for it, and returns the paths to report on.
    ``needs_all``: with all documents.
    """
    if "-" not in paths:
        if stdin_filename is not None:
            raise click.UsageError("--stdin-filename is for standard input; pass - too")
        session = open_session(directory, by_file=not needs_all).with_emptiness()
        return session, [_relative(session.root, path) for path in paths]
    if len(paths) > 1:
        raise click.UsageError("- does not go with other paths")
    root = find_root(directory)
    path = _below_root(root, stdin_filename).as_posix() if stdin_filename is not None else STDIN
    content = read_stdin()
    if stdin_filename is None and not content.strip():
        raise TasError("standard input is empty", hint="What should have written to it most likely failed.")
    source = OverlaySource(FolderSource(root), {path: content})
    adjust = partial(replaced, path, workflows=True) if path == STDIN else None
    session = check_source(root, source, adjust) if needs_all else check_added(root, source, path, adjust)
    config = session.fleet.config
    if path != STDIN and not is_read(path, (*config.sources, VALUES), exclude=config.output):
        folders = ", ".join(config.sources)
        raise click.UsageError(f"{path} is not read: read are {', '.join(SUFFIXES)} below {folders}")
    return session, [Path(path)]


def _below(diagnostics: Sequence[Diagnostic], paths: Sequence[Path]) -> tuple[Diagnostic, ...]:
    """Returns the findings with a place in these files and folders, and those without any place, which concern all."""
    return tuple(
        diagnostic
        for diagnostic in diagnostics
        if not diagnostic.places or any(_is_wanted(place.path, paths) for place in diagnostic.places)
    )


def _is_wanted(path: str, wanted: Sequence[Path]) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in wanted)


def _relative(root: Path, path: str) -> Path:
    """Returns a path relative to the repository. Raises a usage error if it lies outside or does not exist."""
    if not (Path(path).exists() or (root / path).exists()):
        raise click.UsageError(f"{path} does not exist")
    return _below_root(root, path)


def _below_root(root: Path, path: str) -> Path:
    """Returns the path, relative to the repository, of a file that need not exist. Raises a usage error if outside."""
    full = root / path if (root / path).exists() and not Path(path).exists() else Path(path).absolute()
    resolved = full.resolve() if full.name == ".." else full.parent.resolve() / full.name  # a link stays one
    if not resolved.is_relative_to(root):
        raise click.UsageError(f"{path} is not in the repository {root}")
    return resolved.relative_to(root)
