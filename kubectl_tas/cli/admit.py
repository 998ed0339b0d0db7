"""``kubectl tas admit``: tells whether a queue would admit work that is submitted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import click

from kubectl_tas.base.diagnostics import has_errors
from kubectl_tas.check.deduplicate import blamed_on_flags
from kubectl_tas.cli.addressing import KINDS, WorkFile, files_meant, open_work, place_of, work_arguments
from kubectl_tas.cli.backends import cluster_options, named_clusters
from kubectl_tas.cli.options import OPEN_TARGET, output_option, repository_option, template_options
from kubectl_tas.cli.session import (
    check_added,
    find_root,
    is_elsewhere,
    read_named,
    replacing,
    show_findings,
    tell_errors,
)
from kubectl_tas.cli.terminal import hand_over_answer, show
from kubectl_tas.draw import verdicts as pages
from kubectl_tas.gangs.admission import VERDICTS, AdmissionAnswers, Answer, answers, sent_by, split_findings
from kubectl_tas.load.source import FolderSource, OverlaySource
from kubectl_tas.load.splice import sent_elsewhere
from kubectl_tas.model.osmo_workflow import Priority
from kubectl_tas.resolve.fleet import Fleet, files_of
from kubectl_tas.resolve.pools import Submission

if TYPE_CHECKING:
    from kubectl_tas.live.live_cluster import Clusters


@click.command(epilog="Example: kubectl tas admit train.yaml --pool team--research --used 8")
@work_arguments()
@click.option("--pool", metavar="POOL", type=OPEN_TARGET, help="Pool, or pool--subpool, instead of the file's.")
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
    work: str,
    pool: str | None,
    priority: str | None,
    used: int | None,
    live: bool,
    output: str,
    directory: str | None,
    **cluster: Any,
) -> int:
    """Check whether the queue of WORK would admit it.

    By default, the usage of the queue is what other HIGH and NORMAL work of the repository declares. --used, --live or
    --cluster-state give another usage. A workload replaces the repository's workload of the same kind and name. Exits 1
    if one is rejected, can never run, or no answer is certain.
    """
    root = find_root(directory)
    place = place_of(root, work) or _declared(directory, work)
    written = read_named(place.full, hint="Name a workflow file.")
    content = sent_elsewhere(place.path, written, pool, priority, place.is_meant)
    source = OverlaySource(FolderSource(root), {place.path: content})
    session = check_added(root, source, place.path, partial(replacing, (place.path,)))
    is_new = is_elsewhere(place.path, session.fleet.repository)
    wrong, others = split_findings(session.diagnostics, place.path, is_new=is_new)
    if has_errors(wrong):
        flags = {"--pool": pool, "--priority": priority}
        show_findings(blamed_on_flags(wrong, place.path, (written, content), flags))
        return 1
    sent = [item for item in sent_by(session.fleet, place.path) if place.is_meant(item.kind, item.name)]
    if not sent:
        raise click.UsageError(f"{work} has no {KINDS}")
    asked = named_clusters(session.fleet, cluster, live=live)
    found = list(_answers(session.fleet, sent, used, asked, is_new=is_new))
    if output == "json":
        hand_over_answer(AdmissionAnswers(found))
    else:
        show(pages.told(found))
    code = tell_errors(replace(session, diagnostics=others))
    verdicts = [answer.verdict for answer in found]
    return 1 if any(item.rule in VERDICTS or item.outcome == "unknown" for item in verdicts) else code


def _declared(directory: str | None, word: str) -> WorkFile:
    """Returns the place of the work that the repository has by NAME or KIND/NAME, else the file of that name. Raises a
    usage error if the word matches several files or none.
    """
    session = open_work(directory, [word])
    bare = None if files_of(session.fleet.repository, word) else place_of(session.root, word, bare=True)
    if bare is not None:
        return bare
    paths = files_meant(session, word)
    if len(paths) > 1:
        called = sorted(f"{item.kind}/{item.name}" for item in session.fleet.submissions_in(paths, word))
        raise click.UsageError(f"{word} is the name of several: {', '.join(called)}; name one, or its FILE")
    return WorkFile(paths[0], str(session.root / paths[0]), name=word)


def _answers(
    fleet: Fleet, sent: Sequence[Submission], used: int | None, asked: Clusters | None, *, is_new: bool
) -> Iterator[Answer]:
    """Yields the answer of each cluster to the work that is sent there."""
    for name in sorted({item.pool.backend.name for item in sent}):
        own = [item for item in sent if item.pool.backend.name == name]
        queues = asked.of(name).state().queues if asked else None
        yield from answers(fleet, own, used, queues, is_new=is_new)
