"""``kubectl tas admit``: what a submission would be answered."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.cli.cluster import cluster_options, read_cluster
from kubectl_tas.cli.completion import from_fleet, pool_names
from kubectl_tas.cli.session import find_root, output_option, repository_option, tell_errors
from kubectl_tas.cli.terminal import hand_over, show
from kubectl_tas.errors import TasError

if TYPE_CHECKING:
    from kubectl_tas.cli.session import Session
    from kubectl_tas.gangs.admission import Verdict
    from kubectl_tas.live.cluster import ClusterState
    from kubectl_tas.model.repository import Declared, Repository
    from kubectl_tas.resolve.fleet import Fleet
    from kubectl_tas.resolve.pools import Submission

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
@output_option("text", "json")
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
    --live or --cluster-state says otherwise. A workload takes the place of the repository's of that kind and name.
    A gang is answered as a whole. Where one of these says what is used, members of the gang that only the
    repository has count as running, and FILE is asked for beside them. Exits 1 where one is rejected.
    """
    from kubectl_tas.report import json

    session, found = _with_file(directory, file, pool, priority)
    if not found:
        return 1
    state = read_cluster(cluster) if live or any(cluster.values()) else None
    answers = [_answer(session.fleet, workflow, found, used, state) for workflow in found]
    if output == "json":
        hand_over(json.dump({"version": 1, "workflows": [_data(*answer) for answer in answers]}))
    else:
        show("\n".join(_text(*answer) for answer in answers))
    code = tell_errors(session)
    return 1 if any(verdict.outcome == "rejected" for _, verdict, _ in answers) else code


def _answer(
    fleet: Fleet, workflow: Submission, sent: list[Submission], used: int | None, state: ClusterState | None
) -> tuple[Submission, Verdict, int]:
    """The verdict, and the GPUs that others of the queue use: as told, as the cluster says, or as declared.

    What is told counts members of its gang that run, so it asks for those that are ``sent`` with it.
    """
    from kubectl_tas.gangs.admission import Admission
    from kubectl_tas.gangs.admission import admit as judge
    from kubectl_tas.live.cluster import what_is_unknown

    admission = Admission(fleet)
    held: dict[str, int | None]
    if state is None:
        held = {**admission.declared, workflow.queue: admission.others(workflow)}
    else:
        held = {queue: usage.used for queue, usage in state.queues.items()}
    if used is not None:
        held[workflow.queue] = used
    elif workflow.subpool is None or workflow.subpool.state == "ACTIVE":
        if workflow.queue not in held:
            hint = "Name the right cluster, or pass --used N."
            raise TasError(f"the cluster has no queue {workflow.queue}", hint=hint)
        if state is not None and held[workflow.queue] is None:
            message = what_is_unknown(workflow.queue, state.queues[workflow.queue])
            raise TasError(message, hint="Look at it with kubectl, or pass --used N.")
    rest, told = held.get(workflow.queue) or 0, used is not None or state is not None
    gang = (workflow.queue, workflow.priority, workflow.gang)
    new = sum(item.gpus for item in sent if (item.queue, item.priority, item.gang) == gang)
    verdict = judge(workflow, admission.request(workflow), rest, held, new if told and workflow.gang else None)
    return workflow, verdict, rest


def _text(workflow: Submission, verdict: Verdict, used: int) -> str:
    from kubectl_tas.report import table
    from kubectl_tas.report.text import plural

    facts = [
        (workflow.kind, workflow.name),
        ("Pool", workflow.target),
        ("Queue", workflow.queue),
        ("Priority", workflow.priority),
        ("Asks", plural(workflow.gpus, "GPU")),
        ("Quota", "no limit" if workflow.quota < 0 else f"{plural(workflow.quota, 'GPU')}, {used} used by others"),
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


_VERDICTS = frozenset({"subpool-closed", "over-shared-quota"})
"""Errors that are the verdict itself."""
_AGAIN = frozenset({"name-duplicate", "name-collision"})
"""Errors that a file beside the repository may cause: a workflow is submitted once more."""


def _with_file(
    directory: str | None, file: str, pool: str | None, priority: str | None
) -> tuple[Session, list[Submission]]:
    """The repository with the file in it and what else is wrong there, and what the file sends to a queue.

    None of them where the file itself has errors; these are printed.
    """
    from kubectl_tas.cli.session import check_source, wants_colour
    from kubectl_tas.diagnostics import has_errors
    from kubectl_tas.load.source import FolderSource, OverlaySource
    from kubectl_tas.report import text

    root, content = find_root(directory), _content(file, pool, priority)
    path, is_inside = _path(root, file)
    source = OverlaySource(FolderSource(root), {path: content})
    session = check_source(root, source, None if is_inside else partial(_updated, path))
    expected = _VERDICTS if is_inside else _VERDICTS | _AGAIN
    own = tuple(d for d in session.diagnostics if d.location is not None and d.location.path == path)
    refused = tuple(d for d in own if d.rule.code not in expected)
    if has_errors(refused):
        colour = wants_colour(sys.stderr)
        show(text.blocks(refused, colour=colour), stream=sys.stderr, colour=colour)
        return session, []
    found = [item for item in session.fleet.submissions if item.declared.origin.path == path]
    repository = session.fleet.repository
    sent: tuple[Declared[Any], ...] = (*repository.workflows, *repository.workloads, *repository.pod_clique_sets)
    declared = [item.origin.path for item in sent]
    if path not in declared:
        raise click.UsageError(f"{file} has no workflow and no workload")
    if len(found) < declared.count(path):
        raise TasError("cannot tell: the pool's own file has errors", hint="Run: kubectl tas validate")
    rest = tuple(d for d in session.diagnostics if d.rule.code not in _VERDICTS | _AGAIN)
    return replace(session, diagnostics=rest), found


def _updated(path: str, repository: Repository) -> Repository:
    """The repository in which objects of the file at ``path`` take the place of those of their kind and name."""
    from kubectl_tas.resolve.fleet import resolve

    fleet = resolve(repository)
    objects: tuple[Submission, ...] = (*fleet.workloads, *fleet.submitted_sets)
    named = [((item.kind, item.name, item.pool.backend.name), item.declared) for item in objects]
    new = {name for name, item in named if item.origin.path == path}
    old = {id(item) for name, item in named if item.origin.path != path and name in new}
    return replace(
        repository,
        workloads=tuple(item for item in repository.workloads if id(item) not in old),
        pod_clique_sets=tuple(item for item in repository.pod_clique_sets if id(item) not in old),
    )


def _path(root: Path, file: str) -> tuple[str, bool]:
    """What the file is called among those of the repository, and whether it lies there."""
    full = Path(file).resolve()
    inside = full.is_relative_to(root)
    return (full.relative_to(root) if inside else full).as_posix(), inside


def _content(file: str, pool: str | None, priority: str | None) -> bytes:
    """The file, with another pool and priority where they are given."""
    from kubectl_tas.folders import read_plain
    from kubectl_tas.load.document import parse
    from kubectl_tas.load.kinds import WORKFLOW, Kind, recognise
    from kubectl_tas.load.source import MAX_BYTES, decode
    from kubectl_tas.load.splice import set_value
    from kubectl_tas.model.grove import PodCliqueSet
    from kubectl_tas.model.labels import OWN_PREFIX
    from kubectl_tas.model.workload import WORKLOADS

    content = read_plain(file, MAX_BYTES, hint="Name a workflow file.")
    text, problem = decode(file, content)
    if problem is not None or (pool is None and priority is None):
        return content
    documents, _ = parse(file, text)
    for key, value in (("pool", pool), ("priority", priority)):
        for document in documents if value is not None else ():
            kind = recognise(document)
            if kind is WORKFLOW and isinstance(document.data.get("workflow"), dict):
                text = set_value(text, document.index, ("workflow", key), str(value), after="name")
            elif isinstance(kind, Kind) and kind.model in (*WORKLOADS, PodCliqueSet):
                text = set_value(text, document.index, ("metadata", "labels", f"{OWN_PREFIX}{key}"), str(value))
    return text.encode("utf-8")
