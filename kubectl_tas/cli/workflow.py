"""``kubectl tas workflow``: what becomes of a workflow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import click

from kubectl_tas.cli.backends import backend_option, narrowed
from kubectl_tas.cli.options import (
    LIST,
    PICTURES,
    SUBMISSION,
    Group,
    output_option,
    repository_option,
    template_options,
)
from kubectl_tas.cli.session import Session, open_summaries, refuse_errors, tell_errors
from kubectl_tas.cli.terminal import hand_over, show, show_figures, show_list
from kubectl_tas.diagnostics import Severity
from kubectl_tas.draw import gangjson, tree
from kubectl_tas.draw import verdicts as pages
from kubectl_tas.draw.gangfigure import Picture, figure, picture
from kubectl_tas.gangs.admission import VERDICTS
from kubectl_tas.gangs.workload_gang import PodSegment, segments_of_pods
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import files_of, no_work, sent
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.pools import Submission

_NAME = re.compile(r"""\bname["']?\s*:\s*["']?([\w.-]+)""")
"""A name in text that may be no YAML."""


@click.group(cls=Group, later={"why": "kubectl_tas.cli.why:why_command"}, epilog="Example: kubectl tas workflow list")
def workflow() -> None:
    """List and explain workflows, workloads and PodCliqueSets."""


@workflow.command("list", epilog="Example: kubectl tas workflow list -o wide")
@output_option(*LIST)
@backend_option("List what is for this backend alone, where there are several.")
@template_options
@repository_option
def list_workflows(output: str, backend: str | None, directory: str | None) -> int:
    """List every workflow, workload and PodCliqueSet with its queue, the GPUs it asks for and its verdict."""
    session = open_summaries(directory)
    fleet = narrowed(session.fleet, backend)
    show_list(
        output,
        data=lambda: pages.data(fleet),
        names=lambda: pages.names(fleet),
        table=lambda: pages.render(fleet, wide=output == "wide"),
        none="There are no workflows.",
    )
    return tell_errors(session)


@workflow.command(epilog="Example: kubectl tas workflow explain Job/train")
@click.argument("workflow", metavar="FILE|NAME", type=SUBMISSION)
@output_option(*PICTURES, "json")
@click.option("--pod-index", type=click.IntRange(min=0), help="Tell which segment the pod with this index is in.")
@template_options
@repository_option
def explain(workflow: str, output: str, pod_index: int | None, directory: str | None) -> int:
    """Show the queue, the admission verdict and the tree of constraints of a workflow, workload or PodCliqueSet.

    All that bear the name are shown; KIND/NAME shows one of them. What is rejected, or can never run, is shown too.
    """
    session = open_summaries(directory, [workflow])
    paths = _paths(session, workflow)
    own = session.of_files(paths)
    if refuse_errors(own.without(VERDICTS)):
        return 1
    found = session.fleet.submissions_in(paths, workflow)
    if pod_index is not None:
        _tell_segments(pod_index, _segments(found, pod_index), output)
    else:
        _draw([picture(session.fleet, item) for item in found], output)
    return tell_errors(session)


def _draw(pictures: Sequence[Picture], output: str) -> None:
    if output == "json":
        hand_over(gangjson.render(pictures))
    else:
        show_figures([figure(item) for item in pictures], output)


def _tell_segments(index: int, found: Sequence[tuple[FleetWorkload, PodSegment]], output: str) -> None:
    if output == "json":
        hand_over(gangjson.pod_segments(index, found))
    elif output == "tree":
        show(tree.pod_segments(index, found))
    else:
        raise click.UsageError(f"--pod-index is told as tree or json, not as {output}")


def _paths(session: Session, wanted: str) -> list[str]:
    """The files of all that bears that name, or that file; a usage error where there is neither."""
    repository = session.fleet.repository
    named = files_of(repository, wanted)
    if named:
        return named
    full = Path(wanted).resolve() if Path(wanted).exists() else (session.root / wanted).resolve()
    read = {item.origin.path for _, _, item in sent(repository)}
    unread = _unread(session, wanted) if not session.complete else []
    if unread:
        return unread
    read |= {d.location.path for d in session.diagnostics if d.location is not None}
    if full.is_relative_to(session.root) and full.relative_to(session.root).as_posix() in read:
        return [full.relative_to(session.root).as_posix()]
    raise click.UsageError(no_work(session.fleet, session.fleet.submissions, "workflow, workload or file", wanted))


def _unread(session: Session, wanted: str) -> list[str]:
    """The files with errors in which something of that name most likely stands: they could not be read."""
    name = names.fold(wanted.rpartition("/")[2])
    errors = (item.location for item in session.diagnostics if item.severity is Severity.ERROR)
    paths = sorted({place.path for place in errors if place is not None})
    return [path for path in paths if name in (names.fold(PurePosixPath(path).stem), *_written_names(session, path))]


def _written_names(session: Session, path: str) -> set[str]:
    """What looks like names in a file, folded."""
    try:
        text = (session.root / path).read_text(encoding="utf-8", errors="replace")
    except OSError:  # its finding says why
        return set()
    return {names.fold(found) for found in _NAME.findall(text)}


def _segments(items: Sequence[Submission], index: int) -> list[tuple[FleetWorkload, PodSegment]]:
    """The segments that the pods with ``index`` are in; a usage error where there are none."""
    divided = [item for item in items if isinstance(item, FleetWorkload) and item.is_segmented]
    if not divided:
        raise click.UsageError("--pod-index is for workloads with segments; there are none")
    found = segments_of_pods(divided, index)
    if not found:
        raise click.UsageError(f"no segment of {', '.join(item.name for item in divided)} has a pod {index}")
    return found
