"""``kubectl tas diff``: tells what a change means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kubectl_tas.check.run_checks import Base, settled
from kubectl_tas.cli.options import base_option, output_option, repository_option, run_options, template_options
from kubectl_tas.cli.session import Session, found_beside, open_change, refuse_errors
from kubectl_tas.cli.terminal import hand_over, show, waiting
from kubectl_tas.compare.change import Change, Earlier
from kubectl_tas.compare.impact import Impact, impact
from kubectl_tas.compare.transitions import compare
from kubectl_tas.compile import compile_fleet
from kubectl_tas.diagnostics import has_errors
from kubectl_tas.emit.foreign import OUTPUT_FOREIGN, FileBeside, kept_changes
from kubectl_tas.gangs.lasting import Past
from kubectl_tas.late import imported
from kubectl_tas.work.run import Run

if TYPE_CHECKING:
    from kubectl_tas.model.artifact import Artifact

FORMATS = {
    "text": "kubectl_tas.draw.impactsections:render_text",
    "json": "kubectl_tas.draw.impactjson:render",
    "markdown": "kubectl_tas.draw.impactmarkdown:render",
    "html": "kubectl_tas.draw.impacthtml:render",
}
"""The function that writes each format."""


@click.command(epilog="Example: kubectl tas diff --base origin/main -o markdown")
@output_option(*FORMATS)
@base_option("The git revision to compare with.", required=True)
@template_options
@run_options
@repository_option
def diff(output: str, base: str, directory: str | None) -> int:
    """Show what the changes since a git revision mean.

    The report lists settings, quotas, subpools, queues, topologies, work that is admitted, refused or waits, gangs that
    restart, and changes that a cluster refuses. The last line names the risk. Markdown suits a comment on a pull
    request.

    Exits 0 if nothing changes, 1 if anything does. If the repository has errors, it prints them to stderr and exits 3.
    """
    session, meaning = meaning_of(directory, base)
    if meaning is None:
        refuse_errors(session)
        return 3
    text = imported(FORMATS[output])(meaning)
    if output == "text":
        show(text)
    else:
        hand_over(text)
    return 0 if meaning.is_empty else 1


def meaning_of(directory: str | None, base: str) -> tuple[Session, Impact | None]:
    """Returns the repository, and the meaning of its changes since a revision; None if the repository has errors."""
    session, before, earlier = open_change(directory, base)
    session = session.since(before.fleet, Past(before.whole))
    if session.failed():
        return session, None
    there, wrong = found_beside(session, before)
    found = (*compare(session.fleet, before, None, complete=session.complete).found, *wrong)
    judged = session.with_findings(found, Base(before.revision, before.fleet.config.rules))
    rules = {item.rule.code for item in found} - {OUTPUT_FOREIGN.code}
    told = [item for item in judged.shown if item.rule.code in rules]
    counted = {item.location.path for item in judged.diagnostics if item.rule is OUTPUT_FOREIGN and item.location}
    beside = [FileBeside(item.path, None, item.effect) for item in there if item.path in counted]
    beside += kept_changes(session.root, there, before.fleet.config.outputKeeps, before.kept)
    change = Change(before.fleet, session.fleet, before.revision, session.complete, unreadable=before.unreadable)
    with waiting("Comparing"):
        return session, impact(change, told, _objects(before, earlier), compile_fleet(session.fleet), beside)


def _objects(before: Earlier, earlier: Run) -> tuple[Artifact, ...] | None:
    """Returns the objects that a revision renders; None if the revision has errors."""
    counted, _ = settled(earlier.found, before.fleet, None, complete=earlier.loaded.complete)
    has_any = before.unreadable or has_errors(counted)
    return None if has_any else compile_fleet(before.fleet)
