"""``kubectl tas snapshot``: writes a repository and a cluster in the format of KAI's own snapshot tool."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from kubectl_tas.cli.addressing import meant, open_work, work_arguments
from kubectl_tas.cli.backends import chosen_backends
from kubectl_tas.cli.nodesource import NodeSource, nodes_options
from kubectl_tas.cli.options import FILE, repository_option, template_options, to_option
from kubectl_tas.cli.session import Session, refuse_errors, tell_warnings
from kubectl_tas.cli.terminal import hand_over_bytes, say, waiting
from kubectl_tas.compile.controllers import seen
from kubectl_tas.diagnostics import TasError
from kubectl_tas.emit.disk import write_file
from kubectl_tas.gangs.admission import VERDICTS
from kubectl_tas.place.kai_snapshot import Doubts, Scheduler, snapshot
from kubectl_tas.report.text import plural
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.words import shortened

MAX_LISTED = 3
"""The most names that a message lists."""


@click.command("snapshot", epilog="Example: kubectl tas snapshot train --nodes nodes.json --to train.zip")
@work_arguments(many=True, required=False)
@to_option("FILE", FILE, "The file to write; - writes to standard output.", required=True)
@nodes_options
@template_options
@repository_option
def snapshot_command(
    work: Sequence[str], to: str, files: Sequence[str], live: bool, directory: str | None, **cluster: Any
) -> int:
    """Write a snapshot for KAI's own snapshot tool.

    KAI's snapshot tool runs the real scheduler on the file. It says what happens to WORK, by default to all work, after
    you apply it.
    """
    if to == "-" and sys.stdout.isatty():
        raise click.UsageError("a snapshot is not for people to read: name a file with --to, or hand it to a program")
    session = open_work(directory, work, whole=True)
    if refuse_errors(session.without(VERDICTS)):  # the scheduler knows quotas
        return 1
    fleet = _chosen(session, work)
    backend = _only_backend(fleet, cluster["backend"])
    fleet = fleet.of_backend(backend.name)
    shard = _only_shard(fleet)
    source = NodeSource(fleet, files, {**cluster, "backend": backend.name}, live=live)
    nodes = source.nodes(backend.name)
    found = seen(fleet, backend)
    assert backend.release is not None
    scheduler = Scheduler(backend.release, backend.scheduler_name, backend.queue_labels[0], shard)
    there = [*found.elsewhere, *source.scheduled(backend.name)]
    with waiting("Writing the snapshot"):
        content, doubts = snapshot(scheduler, there, found.objects)
    if to == "-":
        hand_over_bytes(content)
    else:
        write_file(Path(to), content)
    kinds = Counter(item["kind"] for item in found.objects)
    counts = plural(len(nodes.nodes), "node"), plural(kinds["PodGroup"], "PodGroup"), plural(kinds["Pod"], "pod")
    say(f"{'Printed' if to == '-' else f'Wrote {to}'}: {counts[0]}; {counts[1]} with {counts[2]}.", err=True)
    for line in (*(f"Left out: {name}: {why}." for name, why in found.left_out.items()), *_doubts(doubts)):
        say(line, err=True)
    tell_warnings(session)
    if to != "-":
        say(
            f"Next: ./snapshot-tool -filename {to} -verbosity 6 (KAI's own; docs/fit.md says how it is built)",
            err=True,
        )
    return 0


def _doubts(doubts: Doubts) -> Iterator[str]:
    """Yields a line for each thing that the scheduler decides without."""
    if doubts.taken:
        yield f"Assumed to exist: {shortened(doubts.taken, MAX_LISTED)}."
    if doubts.classes:
        yield f"Missing: PriorityClass {', '.join(doubts.classes)}; PodGroups with it have priority 50."
    if doubts.topologies:
        yield f"Missing: Topology {', '.join(doubts.topologies)}; PodGroups that name it are not placed."
    if doubts.claims:
        yield f"Missing: ResourceClaims of {plural(doubts.claims, 'pod')}, which will not be placed."
    if doubts.strangers:
        count = plural(doubts.strangers, "pod")
        yield f"Missing: the PodGroups of {count} on nodes; no queue is charged for them, and they stay."


def _chosen(session: Session, wanted: Sequence[str]) -> Fleet:
    """Returns the fleet with the chosen work and the work that shares its gangs, else raises a usage error."""
    fleet = session.fleet
    if not wanted:
        if not any((fleet.submissions, fleet.pod_groups)):
            raise TasError("there is no work to place", hint="Declare a workflow or a workload.")
        return fleet
    found: list[Submission] = []
    for word in wanted:
        found += meant(session, word)
    own = {id(item.declared) for item in found}
    shared = {id(item.shared_gang) for item in found if isinstance(item, FleetWorkload) and item.shared_gang}
    return replace(
        fleet,
        workflows=tuple(item for item in fleet.workflows if id(item.declared) in own),
        workloads=tuple(x for x in fleet.workloads if id(x.declared) in own or id(x.shared_gang) in shared),
        pod_groups=tuple(item for item in fleet.pod_groups if id(item.declared) in own),
        pod_clique_sets=tuple(item for item in fleet.pod_clique_sets if id(item.declared) in own),
    )


def _only_backend(fleet: Fleet, name: str | None) -> FleetBackend:
    """Returns the cluster of the work. Raises a usage error if there are several, or it has no KAI."""
    known = {item.name: item for item in chosen_backends(fleet, name)}
    used = {item.pool.backend.name for item in fleet.submissions} | {item.backend.name for item in fleet.pod_groups}
    meant = [known[name] for name in sorted(used & set(known))]
    kai = [item for item in meant if item.is_kai]
    if len(kai) == 1:
        return kai[0]
    if kai:
        listed = ", ".join(item.name for item in kai)
        raise click.UsageError(f"a snapshot is of one cluster; name its backend with --backend: {listed}")
    if meant:
        raise click.UsageError(f"the backend {meant[0].name} has no KAI")
    raise click.UsageError(f"there is no work for the backend {name}")


def _only_shard(fleet: Fleet) -> str | None:
    """Returns the shard of the scheduler for the work. Raises a usage error if there are several."""
    work = {item.name: item.pool.shard for item in fleet.submissions}
    shards = sorted({shard or "" for shard in work.values()})
    if len(shards) < 2:
        return shards[0] or None if shards else None
    listed = ", ".join(shard or "the one without a nodePool" for shard in shards)
    raise click.UsageError(f"a snapshot is of one shard of the scheduler; name work of one: {listed}")
