"""``kubectl tas workflow``: what becomes of a workflow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubectl_tas.cli.completion import from_fleet, workflow_names
from kubectl_tas.cli.session import Session, open_session, output_option, report, repository_option, tell_errors

if TYPE_CHECKING:
    from kubectl_tas.model.workload import AnyWorkload
    from kubectl_tas.resolve.fleet import Fleet, FleetWorkflow
    from kubectl_tas.resolve.workload import FleetWorkload


@click.group()
def workflow() -> None:
    """Explain workflows."""


@workflow.command()
@click.argument("workflow", metavar="FILE|NAME", shell_complete=from_fleet(workflow_names))
@output_option("tree", "json")
@click.option("--pod-index", type=click.IntRange(min=0), help="Tell which segment the pod with this index is in.")
@repository_option
def explain(workflow: str, output: str, pod_index: int | None, directory: str | None) -> int:
    """Show the queue, the admission verdict and the tree of constraints of a workflow or workload.

    All that bear the name are shown; KIND/NAME shows one of them.
    """
    from kubectl_tas.draw import json, tree
    from kubectl_tas.draw.picture import picture
    from kubectl_tas.draw.workload import picture as workload_picture

    session = open_session(directory)
    paths = _paths(session, workflow)
    own = tuple(d for d in session.diagnostics if d.location is not None and d.location.path in paths)
    blocking = Session(session.root, session.fleet, own)
    if blocking.failed():
        report(blocking, stream=sys.stderr)
        return 1
    workflows, workloads = _found(session.fleet, paths, workflow)
    if pod_index is not None:
        click.echo(_seats(workloads, pod_index, output), nl=False)
        return tell_errors(session)
    pictures = [picture(session.fleet, item) for item in workflows]
    pictures += [workload_picture(session.fleet, item) for item in workloads]
    draw = json.render if output == "json" else tree.render
    click.echo("\n".join(draw(item) for item in pictures), nl=False)
    return tell_errors(session)


def _fold(name: str) -> str:
    from kubectl_tas.resolve.names import fold

    return fold(name)


def _found(fleet: Fleet, paths: list[str], wanted: str) -> tuple[list[FleetWorkflow], list[FleetWorkload]]:
    """The workflows and workloads in the files ``paths`` that ``wanted`` names; all where it names a file."""
    workflows = [item for item in fleet.workflows if item.declared.origin.path in paths]
    workloads = [item for item in fleet.workloads if item.declared.origin.path in paths]
    named = [item for item in workflows if _is_workflow(item.name, wanted)]
    owning = [item for item in workloads if _is_called(item.declared.spec, wanted)]
    return (named, owning) if named or owning else (workflows, workloads)


def _is_workflow(name: str, wanted: str) -> bool:
    return _fold(name) == _fold(wanted).removeprefix("workflow/")


def _is_called(workload: AnyWorkload, wanted: str) -> bool:
    kind, _, name = wanted.rpartition("/")
    return workload.metadata.name == name and kind.lower() in ("", workload.kind.lower())


def _paths(session: Session, wanted: str) -> list[str]:
    """The files of all workflows and workloads of that name, or that file; a usage error where there is neither."""
    repository = session.fleet.repository
    named = [item.origin.path for item in repository.workflows if _is_workflow(item.spec.workflow.name, wanted)]
    named += [item.origin.path for item in repository.workloads if _is_called(item.spec, wanted)]
    if named:
        return named
    full = Path(wanted).resolve() if Path(wanted).exists() else (session.root / wanted).resolve()
    read = {item.origin.path for item in repository.workflows} | {item.origin.path for item in repository.workloads}
    read |= {d.location.path for d in session.diagnostics if d.location is not None}
    if full.is_relative_to(session.root) and full.relative_to(session.root).as_posix() in read:
        return [full.relative_to(session.root).as_posix()]
    names = ", ".join(workflow_names(session.fleet)) or "none"
    raise click.UsageError(f'no workflow, workload or file "{wanted}" in {session.root}; there is {names}')


def _seats(workloads: list[FleetWorkload], index: int, output: str) -> str:
    """The segments that the pod with ``index`` is in; a usage error where there are none."""
    from kubectl_tas.compile.previews import indices
    from kubectl_tas.draw.workload import seats
    from kubectl_tas.report import json

    divided = [item for item in workloads if item.is_segmented]
    if not divided:
        raise click.UsageError("--pod-index is for workloads with segments; there are none")
    found = [(item, seat) for item in divided for seat in seats(item, index)]
    if not found:
        raise click.UsageError(f"no segment of {', '.join(item.name for item in divided)} has a pod {index}")
    if output == "tree":
        return "".join(
            f"{item.name}: pod {index} of {seat.replica_type} is in segment {seat.segment}, "
            f"{'pod' if seat.indices[0] == seat.indices[1] else 'pods'} {indices(seat.indices)} ({seat.index_label})\n"
            for item, seat in found
        )
    return json.dump(
        {
            "version": 1,
            "podIndex": index,
            "segments": [
                {
                    "kind": item.kind,
                    "workload": item.name,
                    "replicaType": seat.replica_type,
                    "segment": seat.segment,
                    "indices": list(seat.indices),
                    "indexLabel": seat.index_label,
                }
                for item, seat in found
            ],
        }
    )
