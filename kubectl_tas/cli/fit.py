"""``kubectl tas fit``: whether workflows can be placed, before they are applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click

from kubectl_tas.cli.backends import chosen_backends, cluster_options, given_clusters
from kubectl_tas.cli.options import output_option, repository_option, template_options
from kubectl_tas.cli.session import Session, open_session, refuse_errors, tell_errors
from kubectl_tas.cli.terminal import hand_over, say, show
from kubectl_tas.cli.wordtypes import FILE, SUBMISSION
from kubectl_tas.draw import fit as pages
from kubectl_tas.gangs.admission import VERDICTS
from kubectl_tas.live import kubectl
from kubectl_tas.place.fit import Outcome, fit
from kubectl_tas.place.nodes import Nodes, read_nodes
from kubectl_tas.report import json
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.fleet import Fleet, files_of
from kubectl_tas.resolve.workflows import FleetWorkflow
from kubectl_tas.words import nothing_called


@click.command("fit", epilog="Example: kubectl tas fit --all --nodes nodes.json --nodes pods.json")
@click.argument("workflows", metavar="[WORKFLOW]...", nargs=-1, type=SUBMISSION)
@click.option("--all", "is_all", is_flag=True, help="Answer for each workflow of the repository.")
@click.option(
    "--nodes",
    "files",
    metavar="FILE",
    type=FILE,
    multiple=True,
    help="What `kubectl get nodes -o json` printed, and `kubectl get pods -A -o json`; may be repeated.",
)
@click.option("--live", is_flag=True, help="Ask the cluster for its nodes and pods.")
@output_option("text", "json")
@cluster_options
@template_options
@repository_option
def fit_command(
    workflows: Sequence[str],
    is_all: bool,
    files: Sequence[str],
    live: bool,
    output: str,
    directory: str | None,
    **cluster: Any,
) -> int:
    """Say whether each WORKFLOW has a placement on the nodes that there are, and whether KAI's scheduler finds it.

    Each is taken alone, on what the pods of the cluster leave free; quotas are what `admit` answers. Without
    --nodes, nodes and pods are asked of the backends' clusters. Where nothing fits, the first constraint that fails
    is shown, and changes with which KAI places the workflow. Exits 1 where KAI finds no placement of one.
    """
    session = open_session(directory)
    if refuse_errors(_without_verdicts(session)):
        return 1
    chosen = _chosen(session.fleet, workflows, is_all=is_all, backend=cluster["backend"])
    asks = [name for name, value in cluster.items() if value and name != "backend"]
    if files and (live or asks):
        raise click.UsageError("--nodes is given instead of a cluster: leave --live and the other options out")
    nodes_of = _reader(session.fleet, files, cluster, live=live)
    answers = [answer for item in chosen for answer in fit(session.fleet, item, nodes_of(item))]
    if output == "json":
        hand_over(json.dump(pages.data(answers)))
    else:
        show(pages.render(answers))
    tell_errors(session)
    return 0 if all(answer.outcome in (Outcome.FITS, Outcome.RUNS) for answer in answers) else 1


def _without_verdicts(session: Session) -> Session:
    """What quotas say is another question."""
    return replace(session, diagnostics=tuple(item for item in session.diagnostics if item.rule not in VERDICTS))


def _chosen(fleet: Fleet, wanted: Sequence[str], *, is_all: bool, backend: str | None) -> list[FleetWorkflow]:
    """The workflows that are meant; a usage error where there are none, or where KAI does not place one."""
    if is_all == bool(wanted):
        raise click.UsageError("name workflows, or pass --all")
    known = [item for item in fleet.workflows if backend in (None, item.pool.backend.name)]
    chosen_backends(fleet, backend)
    found = known if is_all else [item for word in wanted for item in _called(fleet, known, word)]
    others = [item for item in fleet.submissions if not isinstance(item, FleetWorkflow)] if is_all else []
    if others:
        say(f"Left out: {plural(len(others), 'workload')}; fit answers for workflows alone.", err=True)
    elsewhere = [item for item in found if not item.pool.backend.is_kai]
    if elsewhere and not is_all:
        name = elsewhere[0].name
        raise click.UsageError(f"workflow {name} is for backend {elsewhere[0].pool.backend.name}, which has no KAI")
    if elsewhere:
        say(f"Left out: {plural(len(elsewhere), 'workflow')} for backends without KAI.", err=True)
    return [item for item in {id(item): item for item in found}.values() if item.pool.backend.is_kai]


def _called(fleet: Fleet, known: Sequence[FleetWorkflow], wanted: str) -> list[FleetWorkflow]:
    """The workflows of that name, or in that file."""
    paths = [*files_of(fleet.repository, wanted), wanted.removeprefix("./")]
    meant = {id(item) for item in fleet.submissions_in(paths, wanted)}
    found = [item for item in known if id(item) in meant]
    if not found:
        raise click.UsageError(nothing_called("workflow", wanted, [item.name for item in known]))
    return found


def _reader(
    fleet: Fleet, files: Sequence[str], cluster: dict[str, Any], *, live: bool
) -> Callable[[FleetWorkflow], Nodes]:
    """What gives the nodes for a workflow; each cluster is read once."""
    if files:
        nodes = _read([item for file in files for item in kubectl.read_file(file)])
        return lambda _: nodes
    clusters = given_clusters(fleet, cluster, live=live)
    known: dict[str, Nodes] = {}

    def of(workflow: FleetWorkflow) -> Nodes:
        name = workflow.pool.backend.name
        if name not in known:
            known[name] = _read(clusters.of(name).nodes_and_pods())
        return known[name]

    return of


def _read(items: list[dict[str, Any]]) -> Nodes:
    nodes = read_nodes(items, kubectl.complete_kinds(items))
    if not nodes.knows_pods:
        say("There are no pods among these: all that nodes have is taken as free.", err=True)
    return nodes
