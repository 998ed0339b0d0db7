"""``kubectl tas diff`` and ``report``: tell what a change means, and write a static site of the repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kubectl_tas.base.diagnostics import TasError, has_errors
from kubectl_tas.base.late import imported
from kubectl_tas.check.judging import Base, counted_and_waived
from kubectl_tas.cli.backends import (
    CLUSTER,
    DECLARED,
    USED,
    NodeSource,
    cluster_options,
    live_option,
    named_clusters,
    nodes_options,
    refuse_several,
    time_in,
)
from kubectl_tas.cli.clock import clock_options, sets_clock
from kubectl_tas.cli.options import (
    FOLDER,
    REVISION,
    TO_FOLDER,
    base_option,
    output_option,
    repository_option,
    run_options,
    template_options,
    to_option,
)
from kubectl_tas.cli.session import (
    Session,
    foreign_with_findings,
    open_change,
    open_session,
    open_summaries,
    read_revision,
    refuse_errors,
    tell_errors,
    tell_unread,
)
from kubectl_tas.cli.terminal import hand_over, progress, say, show, waiting
from kubectl_tas.compare.change import Change, Earlier
from kubectl_tas.compare.impact import Impact, impact
from kubectl_tas.compare.transitions import compare
from kubectl_tas.compile import compile_fleet
from kubectl_tas.emit.foreign import OUTPUT_FOREIGN, FileBeside, kept_changes
from kubectl_tas.gangs.admission import VERDICTS
from kubectl_tas.gangs.lasting import Past
from kubectl_tas.work.run import JudgedRepository

if TYPE_CHECKING:
    from kubectl_tas.draw.forecasttable import Forecasted
    from kubectl_tas.live.live_cluster import Clusters
    from kubectl_tas.model.artifact import Artifact
    from kubectl_tas.place.node_resources import ClusterNodes


FORMATS = {
    "text": "kubectl_tas.draw.impactsections:render_text",
    "json": "kubectl_tas.report.json:render",
    "markdown": "kubectl_tas.draw.impactmarkdown:render",
    "html": "kubectl_tas.draw.impacthtml:render",
}
"""The function that writes each format."""


@click.command(epilog="Example: kubectl tas diff --base origin/main -o markdown")
@click.argument("revision", metavar="[REF]", required=False, type=REVISION)
@output_option(*FORMATS)
@base_option("The git revision to compare with; the same as REF.")
@template_options
@clock_options
@nodes_options
@run_options
@repository_option
def diff(
    revision: str | None,
    output: str,
    base: str | None,
    files: Sequence[str],
    live: bool,
    directory: str | None,
    **cluster: Any,
) -> int:
    """Show what the changes since a git revision mean.

    The report lists settings, quotas, work that is admitted, refused or waits, gangs that restart, and changes that a
    cluster refuses. The last line names the risk. With --nodes or a cluster it lists the gangs whose starts move,
    as `forecast` plays them.

    Exits 0 if nothing changes, 1 if anything does. If the repository has errors, it prints them to stderr and exits 3.
    """
    if revision is not None and _is_given("base"):
        raise click.UsageError("REF and --base are the same: give one of them")
    since = base if revision is None else revision
    if since is None:
        raise click.UsageError("name the git revision to compare with: kubectl tas diff REF, such as origin/main")
    session, meaning = meaning_of(directory, since)
    if meaning is None:
        refuse_errors(session)
        return 3
    if files or live or any(cluster.values()):
        meaning = _with_moves(meaning, directory, NodeSource(session.fleet, files, cluster, live=live), files, cluster)
    elif sets_clock():
        raise click.UsageError("--assume, --horizon and --now need --nodes or a cluster")
    text = imported(FORMATS[output])(meaning)
    if output == "text":
        show(text)
    else:
        hand_over(text)
    return 0 if meaning.is_empty else 1


def _with_moves(
    meaning: Impact, directory: str | None, source: NodeSource, files: Sequence[str], cluster: Mapping[str, Any]
) -> Impact:
    """Adds the starts that the change moves. Both states are read in full, as work is placed pod by pod."""
    from kubectl_tas.cli.played_shards import moved_by_files  # only with nodes

    session = open_session(directory)
    before = read_revision(session.root, meaning.revision, directory)
    if before.unreadable:
        return replace(
            meaning, unread=(*meaning.unread, f"without all of {meaning.revision}, which starts move is unknown")
        )
    if files:
        refuse_several(
            pool.backend.name for pool in session.fleet.pools if pool.backend.is_kai and not cluster["backend"]
        )
    moves = moved_by_files(before.fleet, session.fleet, source, cluster["backend"])
    if not any(each.moves for each in moves):
        say("No start moves.", err=True)
    return replace(meaning, starts=tuple(moves))


def _is_given(option: str) -> bool:
    """Whether an option stands on the command line, and not in the environment alone."""
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.COMMANDLINE


def meaning_of(directory: str | None, base: str) -> tuple[Session, Impact | None]:
    """Returns the repository, and the meaning of its changes since a revision; None if the repository has errors."""
    session, before, earlier = open_change(directory, base)
    session = session.since(before.fleet, Past(before.whole))
    if session.failed():
        return session, None
    there, wrong = foreign_with_findings(session, before)
    found = (*compare(session.fleet, before, None, complete=session.complete).findings, *wrong)
    judged = session.with_findings(found, Base(before.revision, before.fleet.config.rules))
    rules = {item.rule.code for item in found} - {OUTPUT_FOREIGN.code}
    told = [item for item in judged.shown if item.rule.code in rules]
    counted = {item.location.path for item in judged.diagnostics if item.rule is OUTPUT_FOREIGN and item.location}
    beside = [FileBeside(item.path, None, item.effect) for item in there if item.path in counted]
    beside += kept_changes(session.root, there, before.fleet.config.outputKeeps, before.kept)
    change = Change(before.fleet, session.fleet, before.revision, session.complete, unreadable=before.unreadable)
    with waiting("Comparing"):
        return session, impact(change, told, _objects(before, earlier), compile_fleet(session.fleet), beside)


def _objects(before: Earlier, earlier: JudgedRepository) -> tuple[Artifact, ...] | None:
    """Returns the objects that a revision renders; None if the revision has errors."""
    counted, _ = counted_and_waived(earlier.findings, before.fleet, None, complete=earlier.loaded.complete)
    has_any = before.unreadable or has_errors(counted)
    return None if has_any else compile_fleet(before.fleet)


@click.command("report", epilog="Example: kubectl tas report --to site")
@to_option("DIR", FOLDER, TO_FOLDER, default="site", show_default=True)
@click.option("--title", default="GPU pools", show_default=True, help="What the site is called.")
@click.option("--since", metavar="REF", type=REVISION, help="Add a page of what changed since this git revision.")
@live_option
@cluster_options
@template_options
@repository_option
def report(to: str, title: str, since: str | None, live: bool, directory: str | None, **cluster: Any) -> int:
    """Write a static site of the repository.

    Open index.html; the site needs no server and no network. The folder must be empty, or hold a site that this command
    wrote. The site shows errors of the repository; with any, the command exits 1.
    """
    from kubectl_tas.emit.file_plan import apply_plan, plan_pages
    from kubectl_tas.emit.manifest_text import Deferred, digest_of
    from kubectl_tas.load.revision import last_commit
    from kubectl_tas.site.content import Content
    from kubectl_tas.site.sitefiles import files
    from kubectl_tas.work.processes import TextsOnDisk
    from kubectl_tas.work.run import whole_work

    if not title.strip():
        raise click.UsageError("--title is empty")
    asks = live or any(cluster.values())  # with nodes, each piece of work is placed on them, and all are there in full
    session = open_session(directory) if asks else open_summaries(directory)
    fleet = session.fleet
    asked = named_clusters(fleet, cluster, live=live)
    own = {pool.backend.name for pool in fleet.pools}
    answers = asked.ask(lambda one: one.state().queues, own & asked.names) if asked else None
    source = USED[CLUSTER if asked else DECLARED]
    nodes, forecasts = _nodes(session, asked, asked.names.intersection(own)) if asked else ({}, [])
    content = Content(title, fleet, session.shown, session.waived, answers.found if answers else None, source, nodes)
    content = replace(content, forecasts=tuple(forecasts))
    whole = whole_work(session.run.full) if session.run else None
    content = replace(content, commit=last_commit(session.root), whole=whole)
    if since is not None:
        content = replace(content, since=since, changes=meaning_of(directory, since)[1])
    pages, texts = TextsOnDisk(), dict[str, Deferred]()
    with progress("Drawing") as tick:
        for path, page in files(content, tick):
            pages.put(path, page)
            texts[path] = Deferred(digest_of(page), path, (0, len(page)), lambda name, *_: pages.get(name) or "")
    plan, base = plan_pages(texts, Path(to), session.root, (*fleet.config.sources, fleet.config.output))
    with progress("Writing") as tick:
        apply_plan(plan, base, tick, above=base)
    say(f"Wrote {Path(to) / 'index.html'}: {plan.counts}.", err=True)
    unread = tell_unread(answers.failed) if answers else 0
    return tell_errors(session) or unread


def _nodes(
    session: Session, asked: Clusters, backends: frozenset[str]
) -> tuple[dict[str, ClusterNodes], list[Forecasted]]:
    """Returns the nodes of clusters, for files only if they have nodes, and when work starts on those whose pods are
    known too. Says on stderr what cannot be read.
    """
    from kubectl_tas.cli.starts import forecasts_of
    from kubectl_tas.live.kubectl import complete_kinds
    from kubectl_tas.live.live_cluster import nodes_among
    from kubectl_tas.place.node_resources import read_nodes

    found: dict[str, ClusterNodes] = {}
    forecasts: list[Forecasted] = []
    for name in sorted(backends & asked.known.keys()):
        cluster = asked.of(name)
        try:
            items = cluster.nodes_and_pods()
            if nodes_among(items):
                found[name] = nodes = read_nodes(items, complete_kinds(items))
                backend = next(backend for backend in session.fleet.backends if backend.name == name)
                if nodes.knows_pods and backend.is_kai and not session.without(VERDICTS).failed():
                    items = [*items, *cluster.queued().objects]
                    forecasts += forecasts_of(session.fleet, backend, nodes, items, time_in(cluster, items))
        except TasError as error:
            say(f"Without the nodes of backend {name}: {error.message}", err=True)
    return found, forecasts
