"""``kubectl tas import``: files of what is elsewhere already."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from kubectl_tas.cli.group import Group
from kubectl_tas.cli.options import group_directory
from kubectl_tas.cli.session import check_source, show_findings
from kubectl_tas.cli.terminal import say
from kubectl_tas.cli.wordtypes import CONTEXT, FILE, FOLDER
from kubectl_tas.compile import compile_fleet
from kubectl_tas.diagnostics import Severity
from kubectl_tas.emit.fresh import write_new
from kubectl_tas.imports.cluster import Imported, Unplaced, Wanted, import_cluster
from kubectl_tas.imports.compared import Compared, compared
from kubectl_tas.live.kubectl import Access
from kubectl_tas.live.record import read, record
from kubectl_tas.load.source import MemorySource

MAX_LISTED = 8
"""Names that one line lists."""


@click.group("import", cls=Group, epilog="Example: kubectl tas import cluster -o gpu-pools")
def import_group() -> None:
    """Make files of what is elsewhere already."""


@import_group.command(epilog="Example: kubectl tas import cluster --context prod -o gpu-pools")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=FOLDER,
    default=".",
    help="The folder to write; by default the working folder.",
)
@click.option("--context", metavar="NAME", type=CONTEXT, help="The context that kubectl is to use.")
@click.option("--kubeconfig", metavar="FILE", type=FILE, help="The kubeconfig that kubectl is to use.")
@click.option(
    "--cluster-state", metavar="FILE", type=FILE, help="What `kubectl tas cluster state` wrote, instead of a cluster."
)
@click.option("--sums", is_flag=True, help="Guarantee a pool at least what its subpools come to.")
def cluster(output: str, context: str | None, kubeconfig: str | None, cluster_state: str | None, sums: bool) -> int:
    """Write a repository that renders the queues and topologies that a cluster has.

    A queue with leaves below it becomes a pool, its leaves become subpools, or the pool's own queue; all keep their
    names. What is rendered is compared with the cluster: what would change, what is new, and what has no place and
    stays in the cluster as it is, is listed with the reason. A pool is taken with all its queues or not at all.

    With --sums a pool whose subpools are guaranteed more than it is itself, or that has no limit, is given their
    sum, which changes its queue. Files that are there are never overwritten: where one would be, nothing is written.
    """
    if cluster_state is not None and (context or kubeconfig):
        raise click.UsageError("--cluster-state stands for a cluster; it does not go with --context and --kubeconfig")
    found = read(cluster_state) if cluster_state is not None else record(Access(context, kubeconfig))
    imported = import_cluster(found, Wanted(context, sums))
    files = {path: text.encode() for path, text in imported.files.items()}
    root = Path(group_directory() or ".") / output
    session = check_source(root, MemorySource(files))
    errors = [item for item in session.diagnostics if item.severity is Severity.ERROR]
    if errors:
        show_findings(errors)
        say("Nothing was written: the repository would have these errors.", err=True)
        return 1
    if not session.fleet.pools and not session.fleet.topologies:
        _tell_unplaced(imported.unplaced)
        say("Nothing was written: nothing that the cluster has could be declared.", err=True)
        return 1
    write_new(root, files)
    for path in files:
        say(f"wrote {(root / path).as_posix()}")
    _tell(compared(compile_fleet(session.fleet), found), imported)
    where = "" if root == Path() else f" -C {shlex.quote(str(root))}"
    say(f"Next: kubectl tas validate{where} && kubectl tas render{where}", err=True)
    return 0


def _tell(objects: Sequence[Compared], imported: Imported) -> None:
    """What becomes of the cluster when the files are rendered and applied."""
    same = [item for item in objects if item.differences is not None and all(x.is_same for x in item.differences)]
    say("")
    say("Rendered as the cluster has it, but for labels and annotations that are added:")
    _list(same)
    written = [(item, x) for item in objects for x in item.differences or () if x.is_same]
    if written:
        say("Written out, though KAI reads it so already:")
        for item, found in written:
            say(f"  {item.kind} {item.name}: {found.path}: {found.after}")
    changed = [(item, x) for item in objects for x in item.differences or () if not x.is_same]
    if changed:
        say("Would change:")
        for item, found in changed:
            say(f"  {item.kind} {item.name}: {found.path}: {found.before} -> {found.after}")
    new = [item for item in objects if item.differences is None]
    if new:
        say("New:")
        _list(new)
    _tell_unplaced(imported.unplaced)
    for note in imported.notes:
        say(note, err=True)


def _tell_unplaced(unplaced: Iterable[Unplaced]) -> None:
    """What has no place, by its reason."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for item in unplaced:
        held = f" (GPUs in use: {item.gpus})" if item.gpus else ""
        by_reason.setdefault((item.kind, item.reason), []).append(f"{item.name}{held}")
    if by_reason:
        say("Has no place, and stays in the cluster as it is:")
    for (kind, reason), names in by_reason.items():
        say(f"  {kind} {', '.join(names)}: {reason}")


def _list(objects: Iterable[Compared]) -> None:
    by_kind: dict[str, list[str]] = {}
    for item in objects:
        by_kind.setdefault(item.kind, []).append(item.name)
    for kind, names in by_kind.items():
        more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
        say(f"  {kind} {', '.join(names[:MAX_LISTED])}{more}")
