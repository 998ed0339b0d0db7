"""``kubectl tas workflow``: lists and explains work."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kubectl_tas.cli.addressing import files_meant, open_work, work_arguments
from kubectl_tas.cli.backends import backend_option, narrowed
from kubectl_tas.cli.options import (
    LIST,
    PICTURES,
    Group,
    output_option,
    repository_option,
    template_options,
)
from kubectl_tas.cli.session import open_summaries, refuse_errors, tell_errors
from kubectl_tas.cli.terminal import hand_over, show, show_figures, show_list
from kubectl_tas.draw import gangjson, tree
from kubectl_tas.draw import verdicts as pages
from kubectl_tas.draw.gangfigure import Picture, figure, picture
from kubectl_tas.gangs.admission import VERDICTS
from kubectl_tas.gangs.workload_gang import PodSegment, segments_of_pods
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.pools import Submission


@click.group(cls=Group, later={"why": "kubectl_tas.cli.why:why_command"}, epilog="Example: kubectl tas workflow list")
def workflow() -> None:
    """List and explain work, and say why it waits."""


@workflow.command("list", epilog="Example: kubectl tas workflow list -o wide")
@output_option(*LIST)
@backend_option("List the work of this backend alone.")
@template_options
@repository_option
def list_workflows(output: str, backend: str | None, directory: str | None) -> int:
    """List all work with its queue, the GPUs that it asks for and its verdict."""
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
@work_arguments()
@output_option(*PICTURES, "json")
@click.option(
    "--pod-index", metavar="N", type=click.IntRange(min=0), help="Tell which segment the pod with index N is in."
)
@template_options
@repository_option
def explain(work: str, output: str, pod_index: int | None, directory: str | None) -> int:
    """Show the queue, the admission verdict and the tree of constraints of WORK.

    NAME shows all work of that name, KIND/NAME one.
    """
    session = open_work(directory, [work])
    paths = files_meant(session, work)
    own = session.of_files(paths)
    if refuse_errors(own.without(VERDICTS)):
        return 1
    found = session.fleet.submissions_in(paths, work)
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
        raise click.UsageError(f"--pod-index has the formats tree and json, not {output}")


def _segments(items: Sequence[Submission], index: int) -> list[tuple[FleetWorkload, PodSegment]]:
    """Returns the segments of the pods with ``index``. Raises a usage error if there are none."""
    divided = [item for item in items if isinstance(item, FleetWorkload) and item.is_segmented]
    if not divided:
        raise click.UsageError("--pod-index is for workloads with segments; there are none")
    found = segments_of_pods(divided, index)
    if not found:
        raise click.UsageError(f"no segment of {', '.join(item.name for item in divided)} has a pod {index}")
    return found
