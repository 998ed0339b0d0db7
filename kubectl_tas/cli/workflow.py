"""``kubectl tas workflow``: lists and explains work, and tells why it waits, in the words of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from copy import copy
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.base.diagnostics import TasError
from kubectl_tas.cli.addressing import files_meant, meant, open_work, work_arguments
from kubectl_tas.cli.backends import as_given, cluster_options, given_clusters, narrowed
from kubectl_tas.cli.options import (
    LIST,
    PICTURES,
    CommandGroup,
    output_option,
    repository_option,
    template_options,
)
from kubectl_tas.cli.session import Session, open_session, open_summaries, refuse_errors, tell_errors
from kubectl_tas.cli.terminal import hand_over_answer, show, show_figures, show_list
from kubectl_tas.draw import tree
from kubectl_tas.draw import verdicts as pages
from kubectl_tas.draw.gangfigure import Picture, Pictures, WorkSegment, WorkSegments, figure, picture
from kubectl_tas.gangs.admission import VERDICTS
from kubectl_tas.gangs.workload_gang import segments_of_pods
from kubectl_tas.model.labels import WORKFLOW
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.pools import Submission

if TYPE_CHECKING:
    from kubectl_tas.live.live_cluster import Clusters
    from kubectl_tas.live.reasons import ClusterAnswers
    from kubectl_tas.place.pending_work import Why
    from kubectl_tas.place.undeclared_work import UndeclaredWhy

ObjectsOf = Callable[[str], list[dict[str, Any]]]
"""A function that gives the objects of a backend's cluster. Raises TasError."""


@click.group(cls=CommandGroup, epilog="Example: kubectl tas workflow list")
def workflow() -> None:
    """List and explain work, and say why it waits."""


@workflow.command("list", epilog="Example: kubectl tas workflow list -n ml -o wide")
@output_option(*LIST)
@click.option("--live", is_flag=True, help="Add the state of the work in each cluster without a file.")
@cluster_options
@template_options
@repository_option
def list_workflows(output: str, live: bool, directory: str | None, **cluster: Any) -> int:
    """List all work with its queue, the GPUs that it asks for and its verdict.

    With --live, or a cluster that is named, the table has its state there too: RUNS, WAITS, ENDED, FAILED or ABSENT.
    -n lists the work in one namespace.
    """
    is_asked = live or any(cluster[name] for name in ("context", "kubeconfig", "cluster_state"))
    session = open_session(directory) if is_asked else open_summaries(directory)
    fleet = narrowed(session.fleet, cluster["backend"])
    chosen = [work for work in fleet.submissions if cluster["namespace"] in (None, work.namespace)]
    states = _states(fleet, chosen, given_clusters(fleet, cluster, live=live)) if is_asked else None
    show_list(
        output,
        answer=lambda: pages.listed(fleet, chosen, states),
        names=lambda: pages.names(chosen),
        table=lambda: pages.render(fleet, chosen, states, wide=output == "wide"),
        none="There are no workflows.",
    )
    return tell_errors(session)


def _states(fleet: Fleet, works: Sequence[Submission], clusters: Clusters) -> dict[int, str]:
    """Returns the state of each work in its cluster, by the identity of the work; none for a cluster without KAI."""
    from kubectl_tas.place.pending_work import state_in

    asked = [work for work in works if work.pool.backend.is_kai and work.pool.backend.name in clusters.names]
    answers = _answers_of_clusters(fleet, asked, clusters)
    return {id(work): state_in(fleet, work, answer).value for work, answer in zip(asked, answers, strict=True)}


def _answers_of_clusters(fleet: Fleet, works: Sequence[Submission], clusters: Clusters) -> list[ClusterAnswers]:
    """Returns for each work what its cluster says of its namespace, and asks for each namespace once."""
    from kubectl_tas.live.reasons import ask_cluster
    from kubectl_tas.place.livework import read_of

    namespaces = [(work.pool.backend.name, work.namespace) for work in works]
    asked: dict[tuple[str, str], dict[str, str]] = {}
    for namespace, work in zip(namespaces, works, strict=True):
        asked.setdefault(namespace, {}).update(read_of(fleet, work))
    answers = {key: ask_cluster(clusters.of(key[0]), key[1], kinds) for key, kinds in asked.items()}
    return [answers[namespace] for namespace in namespaces]


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
        hand_over_answer(pictures[0] if len(pictures) == 1 else Pictures(pictures))
    else:
        show_figures([figure(item) for item in pictures], output)


def _tell_segments(index: int, found: Sequence[WorkSegment], output: str) -> None:
    if output == "json":
        hand_over_answer(WorkSegments(index, found))
    elif output == "tree":
        show(tree.pod_segments(index, found))
    else:
        raise click.UsageError(f"--pod-index has the formats tree and json, not {output}")


def _segments(items: Sequence[Submission], index: int) -> list[WorkSegment]:
    """Returns the segments of the pods with ``index``. Raises a usage error if there are none."""
    divided = [item for item in items if isinstance(item, FleetWorkload) and item.is_segmented]
    if not divided:
        raise click.UsageError("--pod-index is for workloads with segments; there are none")
    found = segments_of_pods(divided, index)
    if not found:
        raise click.UsageError(f"no segment of {', '.join(item.name for item in divided)} has a pod {index}")
    return [WorkSegment(*segment) for segment in found]


@workflow.command("why", epilog="Example: kubectl tas workflow why train")
@work_arguments()
@output_option("text", "json")
@click.option("--live", is_flag=True, help="Also ask the clusters without a file.")
@cluster_options
@template_options
@repository_option
def why_command(work: str, output: str, live: bool, directory: str | None, **cluster: Any) -> int:
    """Say whether WORK runs, and why it waits.

    WORK may also be a pod or a PodGroup of the cluster.

    The answer has the differences between cluster and files, the messages of KAI and Kubernetes, and the answer of
    `fit`. --cluster-state takes a file of `cluster state`, or the output of kubectl, which has events too:

    kubectl get nodes,pods,events,jobs,queues.scheduling.run.ai,podgroups.scheduling.run.ai -A -o json

    Without a repository, or if no file declares WORK, name a cluster with --live, --context, --kubeconfig or
    --cluster-state.

    Exits 0 if WORK runs or has succeeded, else 1.
    """
    from kubectl_tas.cli.starts import with_starts
    from kubectl_tas.place.pending_work import why

    names_cluster = live or any(cluster[name] for name in ("context", "kubeconfig", "cluster_state"))
    session = open_work(directory, [work], whole=True, allow_empty=names_cluster)
    if refuse_errors(session.without(VERDICTS)):  # what is refused may be there all the same, and waits for that reason
        return 1
    fleet = session.fleet
    clusters_asked = cache(partial(given_clusters, fleet, cluster, live=live))
    objects = cache(lambda backend: _pods_and_groups(clusters_asked(), backend))
    try:
        found = _called(session, work, cluster["backend"], clusters_asked, objects)
    except click.UsageError:
        undeclared = _undeclared(work, clusters_asked(), objects, is_alone=not session.files)
        if not undeclared:
            raise
        return _tell_why(undeclared, as_given(cluster, live=live), output)
    without = next((item for item in found if not item.pool.backend.is_kai), None)
    if without is not None:
        raise click.UsageError(f"{without.name} is for backend {without.pool.backend.name}, which has no KAI")
    clusters = clusters_asked()
    said = _answers_of_clusters(fleet, found, clusters)
    answers = [why(fleet, item, answer) for item, answer in zip(found, said, strict=True)]
    code = _tell_why(with_starts(fleet, answers, said, clusters), as_given(cluster, live=live), output)
    tell_errors(session)
    return code


def _tell_why(answers: Sequence[Why | UndeclaredWhy], cluster_words: str, output: str) -> int:
    """Prints the answers and returns the exit code. ``cluster_words`` are the options that name the cluster."""
    from kubectl_tas.draw import whypage  # only this command asks a cluster

    if output == "json":
        hand_over_answer(whypage.Whys(answers))
    else:
        show(whypage.render(answers, cluster_words))
    return 0 if all(answer.state.is_well for answer in answers) else 1


def _called(
    session: Session, word: str, backend: str | None, clusters_asked: Callable[[], Clusters], objects: ObjectsOf
) -> list[Submission]:
    """Returns the work of that name or file, or of the pod or PodGroup of that name. Raises a usage error if nothing
    matches.
    """
    submissions = [item for item in session.fleet.submissions if backend in (None, item.pool.backend.name)]
    try:
        return meant(session, word, submissions)
    except click.UsageError:
        work = _work_of(word, session.fleet, clusters_asked(), objects)
        if not work:
            raise
        return meant(session, work, submissions)


def _work_of(word: str, fleet: Fleet, clusters: Clusters, objects: ObjectsOf) -> str:
    """Returns the work of a pod or PodGroup, as KIND/NAME: one that a cluster has, or that `render` makes. Empty if no
    cluster that answers has one.
    """
    from kubectl_tas.compile import compile_fleet  # only such a name needs it
    from kubectl_tas.live.live_cluster import work_called

    work = ""
    for backend in clusters.known:
        with suppress(TasError):  # what follows asks it again, and says why
            work = work or work_called(word, objects(backend))
    name = (work or word).rpartition("/")[2]
    for artifact in compile_fleet(fleet):
        metadata = artifact.manifest.metadata
        if artifact.manifest.kind in ("Pod", "PodGroup") and metadata.name == name and WORKFLOW in metadata.labels:
            return f"Workflow/{metadata.labels[WORKFLOW]}"
    return work


def _pods_and_groups(clusters: Clusters, backend: str) -> list[dict[str, Any]]:
    """Returns the pods and PodGroups of a cluster, among others if it is a file. Raises TasError."""
    from kubectl_tas.live import kubectl
    from kubectl_tas.live.live_cluster import POD_GROUPS, PODS

    cluster = clusters.of(backend)
    if cluster.file is not None:
        return kubectl.read_file(cluster.file)
    return [x for kind in (PODS, POD_GROUPS) for x in kubectl.get(cluster.access, kind, namespaced=True)]


def _undeclared(word: str, clusters: Clusters, objects: ObjectsOf, *, is_alone: bool) -> list[UndeclaredWhy]:
    """Returns the answers for a pod or PodGroup whose work no file declares. With ``is_alone``,
    the folder has no files: raises TasError for a cluster that does not answer.
    """
    from kubectl_tas.live.reasons import ask_cluster
    from kubectl_tas.place.undeclared_work import undeclared_works, why_undeclared

    answers = []
    for backend, cluster in clusters.known.items():
        with nullcontext() if is_alone else suppress(TasError):
            for work in undeclared_works(word, objects(backend), cluster.access.namespace):
                answers.append(why_undeclared(work, ask_cluster(cluster, work.namespace)))
    return answers


def _on_top(command: click.Command) -> click.Command:
    """Returns a command of ``workflow`` as it is also called without the group."""
    copied = copy(command)
    copied.epilog = (command.epilog or "").replace(" workflow ", " ")
    return copied


explain_on_top, why_on_top = _on_top(explain), _on_top(why_command)
