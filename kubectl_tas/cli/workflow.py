"""``kubectl tas workflow``: what becomes of a workflow."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubectl_tas.cli.completion import from_fleet, workflow_names
from kubectl_tas.cli.session import Session, open_session, output_option, report, repository_option, tell_errors
from kubectl_tas.cli.terminal import hand_over, show

if TYPE_CHECKING:
    from kubectl_tas.resolve.fleet import Fleet
    from kubectl_tas.resolve.pools import Submission


@click.group()
def workflow() -> None:
    """Explain workflows."""


@workflow.command()
@click.argument("workflow", metavar="FILE|NAME", shell_complete=from_fleet(workflow_names))
@output_option("tree", "json")
@click.option("--pod-index", type=click.IntRange(min=0), help="Tell which segment the pod with this index is in.")
@repository_option
def explain(workflow: str, output: str, pod_index: int | None, directory: str | None) -> int:
    """Show the queue, the admission verdict and the tree of constraints of a workflow, workload or PodCliqueSet.

    All that bear the name are shown; KIND/NAME shows one of them.
    """
    from kubectl_tas.draw import json, tree
    from kubectl_tas.draw.picture import picture

    session = open_session(directory)
    paths = _paths(session, workflow)
    own = tuple(d for d in session.diagnostics if d.location is not None and d.location.path in paths)
    blocking = Session(session.root, session.fleet, own)
    if blocking.failed():
        report(blocking, stream=sys.stderr)
        return 1
    found = _found(session.fleet, paths, workflow)
    if pod_index is not None:
        text = _seats(found, pod_index, output)
    else:
        draw = json.render if output == "json" else tree.render
        text = draw([picture(session.fleet, item) for item in found])
    tell = hand_over if output == "json" else show
    tell(text)
    return tell_errors(session)


def _found(fleet: Fleet, paths: list[str], wanted: str) -> list[Submission]:
    """What ``wanted`` names in the files ``paths``; all that is in them where it names a file."""
    there = [item for item in fleet.submissions if item.declared.origin.path in paths]
    return [item for item in there if _is_called(item.kind, item.name, wanted)] or there


def _is_called(kind: str, name: str, wanted: str) -> bool:
    """Whether ``wanted`` is the name, or KIND/NAME; names of workflows are folded."""
    from kubectl_tas.resolve.names import fold

    wanted_kind, _, wanted_name = wanted.rpartition("/")
    is_same = name == wanted_name or (kind == "Workflow" and fold(name) == fold(wanted_name))
    return is_same and wanted_kind.lower() in ("", kind.lower())


def _paths(session: Session, wanted: str) -> list[str]:
    """The files of all that bears that name, or that file; a usage error where there is neither."""
    repository = session.fleet.repository
    declared = [("Workflow", item.spec.workflow.name, item.origin.path) for item in repository.workflows]
    declared += [(item.spec.kind, item.spec.metadata.name, item.origin.path) for item in repository.workloads]
    declared += [(item.spec.kind, item.spec.metadata.name, item.origin.path) for item in repository.pod_clique_sets]
    named = [path for kind, name, path in declared if _is_called(kind, name, wanted)]
    if named:
        return named
    full = Path(wanted).resolve() if Path(wanted).exists() else (session.root / wanted).resolve()
    read = {path for _, _, path in declared}
    read |= {d.location.path for d in session.diagnostics if d.location is not None}
    if full.is_relative_to(session.root) and full.relative_to(session.root).as_posix() in read:
        return [full.relative_to(session.root).as_posix()]
    names = ", ".join(workflow_names(session.fleet)) or "none"
    raise click.UsageError(f'no workflow, workload or file "{wanted}" in {session.root}; there is {names}')


def _seats(items: list[Submission], index: int, output: str) -> str:
    """The segments that the pod with ``index`` is in; a usage error where there are none."""
    from kubectl_tas.compile.podgroups import indices
    from kubectl_tas.gangs.workload import segments_of_pod
    from kubectl_tas.report import json
    from kubectl_tas.resolve.workload import FleetWorkload

    divided = [item for item in items if isinstance(item, FleetWorkload) and item.is_segmented]
    if not divided:
        raise click.UsageError("--pod-index is for workloads with segments; there are none")
    found = [(item, seat) for item in divided for seat in segments_of_pod(item, index)]
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
