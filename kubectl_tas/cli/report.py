"""``kubectl tas report``: writes a static site of the repository."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from kubectl_tas.cli.backends import cluster_options, named_clusters
from kubectl_tas.cli.diff import meaning_of
from kubectl_tas.cli.options import FOLDER, REVISION, repository_option, template_options, to_option
from kubectl_tas.cli.pool import CLUSTER, DECLARED, SOURCES, live_option
from kubectl_tas.cli.session import open_session, tell_errors, tell_unread
from kubectl_tas.cli.terminal import progress, say
from kubectl_tas.diagnostics import TasError
from kubectl_tas.emit.file_plan import apply_plan
from kubectl_tas.emit.site_files import plan_pages
from kubectl_tas.live.kubectl import complete_kinds
from kubectl_tas.live.live_cluster import Clusters, nodes_among
from kubectl_tas.place.node_resources import Nodes, read_nodes
from kubectl_tas.site.content import Content
from kubectl_tas.site.sitefiles import files


@click.command("report", epilog="Example: kubectl tas report --to site")
@to_option("DIR", FOLDER, "The folder of the site.", default="site", show_default=True)
@click.option("--title", default="GPU pools", show_default=True, help="What the site is called.")
@click.option("--since", metavar="REF", type=REVISION, help="Add a page of what changed since this git revision.")
@live_option
@cluster_options
@template_options
@repository_option
def report(to: str, title: str, since: str | None, live: bool, directory: str | None, **cluster: Any) -> int:
    """Write a static site of the repository.

    Open index.html; the site needs no server and no network. The folder must be empty, or hold a site that this command
    wrote. If the repository has errors, the site shows them and the command exits 1.
    """
    if not title.strip():
        raise click.UsageError("--title is empty")
    session = open_session(directory)
    fleet = session.fleet
    asked = named_clusters(fleet, cluster, live=live)
    own = {pool.backend.name for pool in fleet.pools}
    answers = asked.ask(lambda one: one.state().queues, own & asked.names) if asked else None
    source = SOURCES[CLUSTER if asked else DECLARED]
    nodes = _nodes(asked, asked.names.intersection(own)) if asked else {}
    content = Content(title, fleet, session.shown, session.waived, answers.found if answers else None, source, nodes)
    if since is not None:
        content = replace(content, since=since, changes=meaning_of(directory, since)[1])
    with progress("Drawing") as tick:
        texts = files(content, tick)
    plan, base = plan_pages(texts, Path(to), session.root, (*fleet.config.sources, fleet.config.output))
    with progress("Writing") as tick:
        apply_plan(plan, base, tick, above=base)
    say(f"Wrote {Path(to) / 'index.html'}: {plan.counts}.", err=True)
    unread = tell_unread(answers.failed) if answers else 0
    return tell_errors(session) or unread


def _nodes(asked: Clusters, backends: frozenset[str]) -> dict[str, Nodes]:
    """Returns the nodes of clusters, for files only if they have nodes; says on stderr which cannot be read."""
    found = {}
    for name in sorted(backends & asked.known.keys()):
        try:
            items = asked.of(name).nodes_and_pods()
            if nodes_among(items):
                found[name] = read_nodes(items, complete_kinds(items))
        except TasError as error:
            say(f"Without the nodes of backend {name}: {error.message}", err=True)
    return found
