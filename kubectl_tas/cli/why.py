"""``kubectl tas workflow why``: tells why work waits, in the words of the cluster."""

from __future__ import annotations

from typing import Any

import click

from kubectl_tas.cli.addressing import meant, open_work, work_arguments
from kubectl_tas.cli.backends import cluster_options, given_clusters
from kubectl_tas.cli.nodesource import as_given
from kubectl_tas.cli.options import output_option, repository_option, template_options
from kubectl_tas.cli.session import Session, refuse_errors, tell_errors
from kubectl_tas.cli.terminal import hand_over, show
from kubectl_tas.draw import whypage as pages
from kubectl_tas.gangs.admission import VERDICTS
from kubectl_tas.live.reasons import told
from kubectl_tas.place.livework import read_of
from kubectl_tas.place.pending_work import why
from kubectl_tas.report import json
from kubectl_tas.resolve.pools import Submission


@click.command("why", epilog="Example: kubectl tas workflow why train")
@work_arguments()
@output_option("text", "json")
@click.option("--live", is_flag=True, help="Also ask the clusters without a file.")
@cluster_options
@template_options
@repository_option
def why_command(work: str, output: str, live: bool, directory: str | None, **cluster: Any) -> int:
    """Say whether WORK runs, and why it waits.

    The answer has the differences between cluster and files, the messages of KAI and Kubernetes, and the answer of
    `fit`. --cluster-state takes a file of `cluster state`, or the output of kubectl, which has events too:

    kubectl get nodes,pods,events,jobs,queues.scheduling.run.ai,podgroups.scheduling.run.ai -A -o json

    Exits 0 if WORK runs or has succeeded, else 1.
    """
    session = open_work(directory, [work], whole=True)
    if refuse_errors(session.without(VERDICTS)):  # what is refused may be there all the same, and waits for that reason
        return 1
    fleet = session.fleet
    found = _called(session, work, cluster["backend"])
    clusters = given_clusters(fleet, cluster, live=live)
    wanted: dict[tuple[str, str], dict[str, str]] = {}
    for item in found:
        wanted.setdefault((item.pool.backend.name, item.namespace), {}).update(read_of(fleet, item))
    heard = {place: told(clusters.of(place[0]), place[1], more) for place, more in wanted.items()}
    answers = [why(fleet, item, heard[item.pool.backend.name, item.namespace]) for item in found]
    if output == "json":
        hand_over(json.dump(pages.data(answers)))
    else:
        show(pages.render(answers, as_given(cluster, live=live)))
    tell_errors(session)
    return 0 if all(answer.state.is_well for answer in answers) else 1


def _called(session: Session, wanted: str, backend: str | None) -> list[Submission]:
    """Returns the work of that name or file. Raises a usage error if nothing matches, or KAI does not place a match."""
    known = [item for item in session.fleet.submissions if backend in (None, item.pool.backend.name)]
    found = meant(session, wanted, known)
    without = next((item for item in found if not item.pool.backend.is_kai), None)
    if without is not None:
        raise click.UsageError(f"{without.name} is for backend {without.pool.backend.name}, which has no KAI")
    return found
