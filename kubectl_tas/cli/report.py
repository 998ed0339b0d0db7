"""``kubectl tas report``: a site of the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kubectl_tas.cli.backends import cluster_options, named_clusters
from kubectl_tas.cli.options import FOLDER, repository_option, template_options, to_option
from kubectl_tas.cli.pool import CLUSTER, DECLARED, SOURCES, live_option
from kubectl_tas.cli.session import open_session, tell_errors, tell_unread
from kubectl_tas.cli.terminal import progress, say
from kubectl_tas.emit.file_plan import apply_plan
from kubectl_tas.emit.site_files import plan_pages
from kubectl_tas.site.content import Content
from kubectl_tas.site.sitefiles import files


@click.command("report", epilog="Example: kubectl tas report --to site")
@to_option("DIR", FOLDER, "The folder of the site.", default="site", show_default=True)
@click.option("--title", default="GPU pools", show_default=True, help="What the site is called.")
@live_option
@cluster_options
@template_options
@repository_option
def report(to: str, title: str, live: bool, directory: str | None, **cluster: Any) -> int:
    """Write a static site of the repository.

    It shows clusters, pools, topologies, work with its verdicts, and findings. It needs no server and no network: open
    index.html. The same input gives the same bytes; what is right already is not written, and pages of an earlier run
    that nothing declares any more are removed. The folder must be empty or a site that this command wrote; what others
    put there is left alone. A repository with errors gets a site that shows them; the command exits 1 then.
    """
    if not title.strip():
        raise click.UsageError("--title is empty")
    session = open_session(directory)
    fleet = session.fleet
    asked = named_clusters(fleet, cluster, live=live)
    own = {pool.backend.name for pool in fleet.pools}
    answers = asked.ask(lambda one: one.state().queues, own & asked.names) if asked else None
    source = SOURCES[CLUSTER if asked else DECLARED]
    content = Content(title, fleet, session.shown, session.waived, answers.found if answers else None, source)
    with progress("Drawing") as tick:
        texts = files(content, tick)
    plan, base = plan_pages(texts, Path(to), session.root, (*fleet.config.sources, fleet.config.output))
    with progress("Writing") as tick:
        apply_plan(plan, base, tick, above=base)
    written = sum(change.after is not None for change in plan.changes)
    counts = f"{written} written, {len(plan.changes) - written} removed, {plan.unchanged} unchanged"
    say(f"Wrote {Path(to) / 'index.html'}: {counts}.", err=True)
    unread = tell_unread(answers.failed) if answers else 0
    return tell_errors(session) or unread
