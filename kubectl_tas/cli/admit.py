"""``kubectl tas admit``: what a submission would be answered."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.cli.cluster import cluster_options, read_cluster
from kubectl_tas.cli.completion import from_fleet, pool_names
from kubectl_tas.cli.session import find_root, repository_option
from kubectl_tas.errors import TasError

if TYPE_CHECKING:
    from kubectl_tas.check.admission import Verdict
    from kubectl_tas.cli.session import Session
    from kubectl_tas.resolve.submission import Submission

PRIORITIES = ("HIGH", "NORMAL", "LOW")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option(
    "--pool",
    metavar="POOL",
    shell_complete=from_fleet(pool_names),
    help="Pool, or pool--subpool, instead of the file's.",
)
@click.option("--priority", type=click.Choice(PRIORITIES), help="Priority instead of the file's.")
@click.option(
    "--used", type=click.IntRange(min=0), metavar="N", help="GPUs that HIGH and NORMAL work of the queue uses."
)
@click.option("--live", is_flag=True, help="Ask the cluster what is used.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@cluster_options
@repository_option
def admit(
    file: str,
    pool: str | None,
    priority: str | None,
    used: int | None,
    live: bool,
    output: str,
    directory: str | None,
    **cluster: str | None,
) -> int:
    """Say whether the workflow or workload in FILE, which need not be in the repository, would be admitted.

    What its queue already uses is what the repository's other HIGH and NORMAL work declares, unless --used,
    --live or --cluster-state says otherwise. Exits 1 where one is rejected.
    """
    from kubectl_tas.check.admission import admit as judge
    from kubectl_tas.check.admission import declared_usage
    from kubectl_tas.report import json

    session, found = _with_file(directory, file, pool, priority)
    if session is None:
        return 1
    state = read_cluster(cluster) if live or any(cluster.values()) else None
    declared = declared_usage(session.fleet)
    answers = []
    for workflow in found:
        own = 0 if workflow.priority == "LOW" else workflow.gpus
        before = declared[workflow.queue] - own if used is None else used
        if state is not None and used is None:
            usage = state.queues.get(workflow.queue)
            if usage is None:
                raise TasError(
                    f"the cluster has no queue {workflow.queue}", hint="Name the right cluster, or pass --used N."
                )
            before = usage.non_preemptible
        answers.append((workflow, judge(workflow, before), before))
    if output == "json":
        click.echo(json.dump({"version": 1, "workflows": [_data(*answer) for answer in answers]}), nl=False)
    else:
        click.echo("\n".join(_text(*answer) for answer in answers), nl=False)
    return 1 if any(verdict.outcome == "rejected" for _, verdict, _ in answers) else 0


def _text(workflow: Submission, verdict: Verdict, used: int) -> str:
    from kubectl_tas.report import table

    facts = [
        (workflow.kind, workflow.name),
        ("Pool", workflow.target),
        ("Queue", workflow.queue),
        ("Priority", workflow.priority),
        ("Asks", f"{workflow.gpus} GPUs"),
        ("Quota", "no limit" if workflow.quota < 0 else f"{workflow.quota} GPUs, {used} used"),
        ("Verdict", verdict.outcome.upper()),
        ("Why", verdict.text),
    ]
    if verdict.hint:
        facts.append(("Help", verdict.hint))
    return table.pairs(facts)


def _data(workflow: Submission, verdict: Verdict, used: int) -> dict[str, Any]:
    return {
        "workflow": workflow.name,
        "pool": workflow.target,
        "queue": workflow.queue,
        "priority": workflow.priority,
        "asks": workflow.gpus,
        "quota": None if workflow.quota < 0 else workflow.quota,
        "used": used,
        "verdict": verdict.outcome,
        "rule": verdict.rule.code if verdict.rule else None,
        "inQuota": verdict.in_quota,
        "overQuota": verdict.over_quota,
        "message": verdict.text,
        "hint": verdict.hint,
    }


def _with_file(
    directory: str | None, file: str, pool: str | None, priority: str | None
) -> tuple[Session | None, list[Submission]]:
    """The repository with the file in it, and what the file sends to a queue; no session where the file has errors."""
    from kubectl_tas.cli.session import Session, check_source, wants_colour
    from kubectl_tas.load.source import FolderSource, OverlaySource
    from kubectl_tas.report import text

    root = find_root(directory)
    path = _path(root, file)
    content = _content(file, pool, priority)
    session = check_source(root, OverlaySource(FolderSource(root), {path: content}))
    own = tuple(d for d in session.diagnostics if d.location is not None and d.location.path == path)
    found = [item for item in session.fleet.submissions if item.declared.origin.path == path]
    refused = tuple(d for d in own if d.rule.code not in _VERDICTS)
    if Session(root, session.fleet, refused).failed() or not found:
        colour = wants_colour(sys.stderr)
        click.echo(text.blocks(refused, colour=colour), nl=False, err=True, color=colour)
        if not refused:
            raise click.UsageError(f"{file} has no workflow and no workload")
        return None, []
    return session, found


_VERDICTS = frozenset({"subpool-closed", "over-shared-quota", "over-quota", "quota-shared", "name-duplicate"})
"""Rules whose finding is the verdict itself; and a workflow may be submitted under its old name again."""


def _path(root: Path, file: str) -> str:
    """The file's path in the repository, or its name where it lies outside."""
    full = Path(file).resolve()
    return full.relative_to(root).as_posix() if full.is_relative_to(root) else file


def _content(file: str, pool: str | None, priority: str | None) -> bytes:
    """The file, with another pool and priority where they are given."""
    from kubectl_tas.edit.splice import set_value
    from kubectl_tas.load.document import parse
    from kubectl_tas.load.kinds import WORKFLOW, Kind, recognise
    from kubectl_tas.load.text import decode
    from kubectl_tas.model.labels import OWN_PREFIX
    from kubectl_tas.model.workload import WORKLOADS

    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise TasError(f"cannot read {file}: {error.strerror}", hint="Name a workflow file.") from error
    text, _ = decode(file, content)
    documents, problems = parse(file, text)
    if problems:
        return content
    for key, value in (("pool", pool), ("priority", priority)):
        for document in documents if value is not None else ():
            kind = recognise(document)
            if kind is WORKFLOW and isinstance(document.data.get("workflow"), dict):
                text = set_value(text, document.index, ("workflow", key), str(value), after="name")
            elif isinstance(kind, Kind) and kind.model in WORKLOADS:
                text = set_value(text, document.index, ("metadata", "labels", f"{OWN_PREFIX}{key}"), str(value))
    return text.encode("utf-8")
