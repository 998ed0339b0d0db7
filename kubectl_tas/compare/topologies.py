"""Cluster topologies that are removed or changed while something uses them."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compare.change import Change, kept_sets, scheduled_pods, state_of
from kubectl_tas.compare.cluster import the_cluster
from kubectl_tas.diagnostics import Diagnostic, Location, Related, Rule, Severity, Waiving
from kubectl_tas.resolve.topologies import FleetTopology
from kubectl_tas.words import shortened

TOPOLOGY_REMOVED = Rule(
    "topology-removed",
    Severity.ERROR,
    "A cluster topology is removed that is still used.",
    "A finalizer keeps it in the cluster while a PodCliqueSet names it, and what a pool, a workload or a PodGroup asks "
    "of it would never be found. Move its users to another topology first.",
    protects=Waiving.CONFIG,
)
TOPOLOGY_LEVELS_CHANGED = Rule(
    "topology-levels-changed",
    Severity.ERROR,
    "The levels of a cluster topology, or of a pool, change while work is placed by them.",
    "Pods have been placed by the old levels, so Grove's webhook refuses the change until no PodCliqueSet that uses it "
    "has a scheduled pod; the Topology of the scheduler cannot be changed at all, only made anew. For workflows, "
    "workloads and PodGroups that ask for its levels a new level is no matter, one that goes or moves is. Drain them "
    "first, or declare a second topology. With the cluster's state, what does not run does not count.",
    protects=Waiving.CONFIG,
)


def removed_topologies(change: Change) -> Iterator[Diagnostic]:
    """What uses a cluster topology that is gone."""
    if not change.complete:
        return
    after = change.after.cluster_topologies
    for name, topology in change.before.cluster_topologies.items():
        if name in after:
            continue
        hint = "Bring it back, or move what uses it to another topology first."
        related = (Related(f"declared at {change.revision}", topology.declared.at(*topology.path)),)
        for who, place in _users(change, topology):
            message = f'the cluster topology "{name}" is removed since {change.revision}, but {who} uses it'
            yield Diagnostic(TOPOLOGY_REMOVED, message, place, related, hint=hint, cause=related[0].location)


def _users(change: Change, topology: FleetTopology) -> Iterator[tuple[str, Location | None]]:
    """What uses a cluster topology once the change is made, with the place; and sets that only the cluster has."""
    name = topology.name
    for pool in change.after.pools:
        if pool.declared.spec.spec.topology == name:
            yield f"pool {pool.name}", pool.declared.at("spec", "topology")
    for item in change.after.pod_clique_sets:
        if item.topology_name == name:
            yield f"PodCliqueSet {item.namespace}/{item.name}", item.place_of(item.references[0][1])
    for work in change.after.placed_by(topology):
        yield work.what, work.place
    for backend, state in change.states.items():
        declared = {x.key for x in change.after.pod_clique_sets if x.backend is None or x.backend.name == backend}
        for key, live in (state.sets or {}).items():
            if live.topology_name == name and key not in declared:
                yield f"PodCliqueSet {'/'.join(key)} of {the_cluster(change.after, backend)}", None


def changed_levels(change: Change) -> Iterator[Diagnostic]:
    """Cluster topologies whose levels change while pods are, or may be, placed by them."""
    after = {topology.name: topology for topology in change.after.topologies}
    for topology in change.before.topologies:
        name, current = topology.name, after.get(topology.name)
        if current is None or current.levels == topology.levels:
            continue
        users = [] if topology.pool else _placed_by(change, name)
        if not _only_added(topology, current):
            users += _running(change, current)
        if users:
            message = (
                f"the levels of {_called(topology)} change since {change.revision} from "
                f"{_levels(topology)} to {_levels(current)}, but it is used by {shortened(users)}"
            )
            related = (Related(f"the levels at {change.revision}", topology.declared.at(*topology.path)),)
            place = current.declared.origin.locate(current.path, key=True)
            hint = "Drain them first, or declare a second topology."
            if not change.states:
                hint = f"{hint} With --cluster-state, or --context, what does not run does not count."
            yield Diagnostic(TOPOLOGY_LEVELS_CHANGED, message, place, related, hint=hint)


def is_recreated(before: FleetTopology, after: FleetTopology) -> bool:
    """Whether a Topology can only be made anew: its node labels are fixed, the names of its levels are not."""
    return [level.label for level in before.levels] != [level.label for level in after.levels]


def _placed_by(change: Change, name: str) -> list[str]:
    """The sets that have, or may have, pods placed by a topology. What the cluster says of one counts."""
    found = set()
    for before, after in kept_sets(change):
        state = state_of(change, after)
        live = (state.sets or {}).get(after.key) if state else None
        is_placed = live is None or live.topology_name == name
        if before.topology_name == name and is_placed and scheduled_pods(change, after) != 0:
            found.add(after.key)
    for state in change.states.values():
        for key, live in (state.sets or {}).items():
            if live.topology_name == name and state.scheduled(key) != 0:
                found.add(key)
    return ["/".join(key) for key in sorted(found)]


def _running(change: Change, topology: FleetTopology) -> list[str]:
    """The other work that is placed by a topology, but for what is in queues that are known to be idle."""
    return [
        work.what for work in change.after.placed_by(topology) if change.queues.get((work.backend, work.queue), True)
    ]


def _only_added(before: FleetTopology, after: FleetTopology) -> bool:
    """Whether all levels are there still, in their order."""
    rest = iter(after.levels)
    return all(level in rest for level in before.levels)


def _called(topology: FleetTopology) -> str:
    return f"pool {topology.pool}" if topology.pool else f'the cluster topology "{topology.name}"'


def _levels(topology: FleetTopology) -> str:
    return " > ".join(f"{level.key} ({level.label})" for level in topology.levels)
