"""``kubectl tas admit``: what a submission would be answered."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import click

from kubectl_tas.check.blame import blamed_on_flags
from kubectl_tas.cli.backends import cluster_options, named_clusters
from kubectl_tas.cli.options import OPEN_TARGET, output_option, repository_option, template_options
from kubectl_tas.cli.session import check_added, find_root, read_named, show_findings, tell_errors
from kubectl_tas.cli.terminal import hand_over, show
from kubectl_tas.diagnostics import has_errors
from kubectl_tas.draw import verdicts as pages
from kubectl_tas.gangs.admission import VERDICTS, answers, sent_by, split_findings
from kubectl_tas.load.source import FolderSource, OverlaySource
from kubectl_tas.load.splice import sent_elsewhere
from kubectl_tas.model.osmo_workflow import Priority
from kubectl_tas.report import json
from kubectl_tas.report.findings import STDIN
from kubectl_tas.resolve.fleet import replaced


@click.command(epilog="Example: kubectl tas admit train.yaml --pool team--research --used 8")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option(
    "--pool",
    metavar="POOL",
    type=OPEN_TARGET,
    help="Pool, or pool--subpool, instead of the file's.",
)
@click.option("--priority", type=click.Choice(get_args(Priority)), help="Priority instead of the file's.")
@click.option(
    "--used", type=click.IntRange(min=0), metavar="N", help="GPUs that HIGH and NORMAL work of the queue uses."
)
@click.option("--live", is_flag=True, help="Ask the cluster what is used.")
@output_option("text", "json")
@cluster_options
@template_options
@repository_option
def admit(
    file: str,
    pool: str | None,
    priority: str | None,
    used: int | None,
    live: bool,
    output: str,
    directory: str | None,
    **cluster: Any,
) -> int:
    """Say whether the workflow or workload in FILE, which need not be in the repository, would be admitted.

    With - it is read from standard input.

    What its queue already uses is what the repository's other HIGH and NORMAL work declares, unless --used,
    --live or --cluster-state says otherwise. A workload takes the place of the repository's of that kind and name.
    A gang is answered as a whole. Where one of these says what is used, members of the gang that only the
    repository has count as running, and FILE is asked for beside them. Exits 1 where one is rejected or
    can never run.
    """
    root = find_root(directory)
    path, is_new = _path(root, file)
    written = read_named(file, hint="Name a workflow file.")
    content = sent_elsewhere(path, written, pool, priority)
    source = OverlaySource(FolderSource(root), {path: content})
    session = check_added(root, source, path, partial(replaced, path) if is_new else None)
    wrong, others = split_findings(session.diagnostics, path, is_new=is_new)
    if has_errors(wrong):
        show_findings(blamed_on_flags(wrong, path, (written, content), {"--pool": pool, "--priority": priority}))
        return 1
    sent = sent_by(session.fleet, path)
    if not sent:
        raise click.UsageError(f"{file} has no workflow and no workload")
    asked = named_clusters(session.fleet, cluster, live=live)
    found = []
    for name in sorted({item.pool.backend.name for item in sent}):
        own = [item for item in sent if item.pool.backend.name == name]
        queues = asked.of(name).state().queues if asked else None
        found += answers(session.fleet, own, used, queues, is_new=is_new)
    if output == "json":
        hand_over(json.dump(pages.told_data(found)))
    else:
        show(pages.told(found))
    code = tell_errors(replace(session, diagnostics=others))
    return 1 if any(answer.verdict.rule in VERDICTS for answer in found) else code


def _path(root: Path, file: str) -> tuple[str, bool]:
    """What the file is called among those of the repository, and whether it lies elsewhere."""
    if file == "-":
        return STDIN, True
    full = Path(file).resolve()
    is_inside = full.is_relative_to(root)
    return (full.relative_to(root) if is_inside else full).as_posix(), not is_inside
