"""Compares a fleet with an earlier one or with clusters, and finds differences and forbidden changes.

Grove's webhooks and finalizers, states of subpools, and values of PriorityClasses forbid changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kubectl_tas.base.diagnostics import Diagnostic, Related, Rule, Severity, TasError, Waiving
from kubectl_tas.base.late import dataclass
from kubectl_tas.base.words import shortened
from kubectl_tas.compare.change import Change, Earlier
from kubectl_tas.compare.cluster_nodes import check_domains, check_nodes
from kubectl_tas.compare.grove_changes import (
    changed_constraints,
    changed_levels,
    changed_references,
    locked_fields,
    removed_topologies,
)
from kubectl_tas.compare.object_changes import changed_namespaces, unappliable_changes
from kubectl_tas.compare.pool_changes import changed_subpools, gone_pools, moved_pools
from kubectl_tas.compare.topology_drift import check_drift
from kubectl_tas.live.cliquesets import GroveState
from kubectl_tas.live.kubectl import ForbiddenError, NoSuchResourceError
from kubectl_tas.live.live_cluster import Cluster, Clusters, LiveNode
from kubectl_tas.load.rights import misplaced, name_of, outside
from kubectl_tas.model.config import PRIORITY_VALUES
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet

if TYPE_CHECKING:
    from kubectl_tas.model.repository import Deciding


BASE_UNREAD = Rule(
    "base-unread",
    Severity.WARNING,
    "Documents of the base cannot be read.",
    "kubectl-tas cannot compare what it cannot read, so a forbidden change may pass unseen. `--strict` fails for it. "
    "The change that repairs the base has this warning too: merge that fix alone, overriding the check. Or compare "
    "with the last valid revision. Files of a submodule are not compared either, nor is a repository that moves to "
    "another folder.",
    protects=Waiving.CONFIG,
)
BASE_EMPTY = Rule(
    "base-empty",
    Severity.INFO,
    "The base has no file of this repository.",
    "Everything counts as new, as in the first change of a repository. In any other change, `--base` names the wrong "
    "revision or -C the wrong folder.",
    protects=Waiving.CONFIG,
)


CLUSTER_UNREAD = Rule(
    "cluster-unread",
    Severity.ERROR,
    "One of several clusters could not be read.",
    "kubectl-tas did not compare the files with this cluster, so a forbidden change may pass unseen. It compared the "
    "other clusters. Each backend needs a context that kubectl knows. With --backend you ask one of them alone.",
    protects=Waiving.CONFIG,
)
NODES_UNREAD = Rule(
    "nodes-unread",
    Severity.INFO,
    "The nodes of a cluster could not be read.",
    "kubectl-tas cannot compare the guarantees of the pools with the nodes of this cluster. To list nodes you need a "
    "ClusterRole that allows it. A file for --cluster-state may contain the nodes too.",
    protects=Waiving.CONFIG,
)


@dataclass(frozen=True, slots=True)
class _ClusterSeen:
    """The state of a cluster that a comparison needs."""

    grove: GroveState | None
    """State of Grove; None if nothing of Grove needs comparison."""
    queues: Mapping[str, bool]
    """Whether work runs in each queue, if known."""
    nodes: Sequence[LiveNode] | None
    hidden: str = ""
    """The reason why kubectl-tas could not read the nodes."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of a comparison."""

    findings: list[Diagnostic]
    unread: frozenset[str]
    """Backends whose cluster, or its nodes, could not be read."""


def compare(fleet: Fleet, before: Earlier | None, clusters: Clusters | None, *, complete: bool = True) -> Comparison:
    """Compares ``fleet`` with ``clusters`` and with ``before``; None skips either. Reads only the necessary parts of a
    cluster. Raises TasError if the only cluster cannot be read.

    If loading was not ``complete``, seemingly removed objects may be in an unread document.
    """
    seen: dict[str, _ClusterSeen] = {}
    findings: list[Diagnostic] = []
    if clusters is not None:
        answers = clusters.ask(lambda cluster: _look(cluster, fleet, before.fleet if before else None))
        seen = answers.found
        findings += (_unread(fleet, name, error) for name, error in answers.failed.items())
    for backend in fleet.backends:
        if backend.name in seen:
            findings += _differences(fleet, backend, seen[backend.name])
    if before is not None:
        states = {name: in_cluster.grove for name, in_cluster in seen.items() if in_cluster.grove is not None}
        queues = {(name, queue): runs for name, in_cluster in seen.items() for queue, runs in in_cluster.queues.items()}
        change = Change(
            before.fleet, fleet, before.revision, complete, states, queues, before.unreadable, before.elsewhere
        )
        findings += (diagnostic for check in CHECKS for diagnostic in check(change))
    cluster_names = clusters.names if clusters is not None else frozenset()
    read = {name for name, in_cluster in seen.items() if not in_cluster.hidden}
    return Comparison(findings, cluster_names - read)


def _differences(fleet: Fleet, backend: FleetBackend, seen: _ClusterSeen) -> Iterator[Diagnostic]:
    if seen.grove is not None:
        yield from check_drift(fleet, backend.name, seen.grove)
    if seen.nodes is not None:
        yield from check_nodes(fleet, backend, seen.nodes)
        yield from check_domains(fleet, backend, seen.nodes)
    elif seen.hidden:
        message = f"the nodes of backend {backend.name} are not counted: {seen.hidden}"
        hint = "Ask the administrator of the cluster, or pass --cluster-state FILE."
        yield Diagnostic(NODES_UNREAD, message, None, hint=hint)


def _unread(fleet: Fleet, name: str, error: TasError) -> Diagnostic:
    config = fleet.repository.config
    index = next(backend.index for backend in fleet.backends if backend.name == name)
    location = config.at("spec", "backends", index) if config else None
    return Diagnostic(CLUSTER_UNREAD, f"backend {name}: {error.message}", location, hint=error.hint)


def _look(cluster: Cluster, fleet: Fleet, before: Fleet | None) -> _ClusterSeen:
    """Returns the state of a cluster. Raises TasError if a necessary part cannot be read."""
    grove = _grove(cluster, *((fleet, before) if before else (fleet,)))
    queues = _queues(cluster, before, fleet) if before else {}
    try:
        nodes, hidden = cluster.nodes(), ""
    except TasError as error:
        if cluster.file is not None or not isinstance(error, ForbiddenError):
            raise
        nodes, hidden = None, error.message  # they may be hidden from who may see queues
    return _ClusterSeen(grove, queues, nodes, hidden)


def _grove(cluster: Cluster, *fleets: Fleet) -> GroveState | None:
    """Returns Grove's objects; None if nothing needs comparison. Topologies alone do not require Grove."""
    repositories = [fleet.repository for fleet in fleets]
    needs_grove = any(repository.pod_clique_sets or repository.operators for repository in repositories)
    if not needs_grove and not any(repository.topologies for repository in repositories):
        return None
    try:
        return cluster.grove()
    except NoSuchResourceError:
        if needs_grove:
            raise
        return None


def _queues(cluster: Cluster, before: Fleet, after: Fleet) -> Mapping[str, bool]:
    """Returns whether work runs in each queue of the cluster, if known; empty if no comparison needs this."""
    topologies = before.repository.topologies or before.repository.operators
    work = after.workflows or after.workloads or after.pod_groups
    if not before.pools and not (topologies and work):
        return {}
    use_by_queue = {name: usage.in_use for name, usage in cluster.state().queues.items()}
    return {name: in_use for name, in_use in use_by_queue.items() if in_use is not None}


def _unreadable(change: Change) -> Iterator[Diagnostic]:
    if change.unreadable:
        shown = ", ".join(change.unreadable[:3]) + (", ..." if len(change.unreadable) > 3 else "")
        message = f"what cannot be read at {change.revision}, and what depends on it, is not compared: {shown}"
        hint = "Review the changes by hand, or compare with a valid revision."
        yield Diagnostic(BASE_UNREAD, message, None, hint=hint)
    if change.elsewhere:
        message = f"{change.revision} has no file of this repository here, but one in {shortened(change.elsewhere)}"
        hint = "Merge the move in a change of its own, which changes nothing else."
        yield Diagnostic(BASE_UNREAD, f"{message}, which is not compared", None, hint=hint)
    elif not change.before.repository.files:
        message = f"{change.revision} has no file of this repository, so all of it counts as new"
        yield Diagnostic(BASE_EMPTY, message, None)


PRIORITY_CLASS_CHANGED = Rule(
    "priority-class-changed",
    Severity.ERROR,
    "A PriorityClass stands for another priority than before.",
    "Each priority has its own value, and the API server refuses to change the value of a PriorityClass. So nobody "
    "could apply the manifests. Give the priority a class with a name that you have not used before.",
    protects=Waiving.CONFIG,
)
_PATH = ("spec", "priorityClasses")


def changed_classes(change: Change) -> Iterator[Diagnostic]:
    """Reports names of PriorityClasses that change from one priority to another."""
    config, earlier = change.after.repository.config, change.before.repository.config
    is_unreadable = (earlier is None and bool(change.unreadable)) or (config is None and not change.complete)
    if change.before.repository.is_empty or is_unreadable:  # the defaults may stand in for a Config
        return
    before, after = (
        {name: priority for priority, name in fleet.config.priorityClasses.model_dump().items()}
        for fleet in (change.before, change.after)
    )
    for name, priority in after.items():
        old = before.get(name, priority)
        if old == priority:
            continue
        message = (
            f'the PriorityClass "{name}" goes from {old}, value {PRIORITY_VALUES[old]}, to {priority}, value '
            f"{PRIORITY_VALUES[priority]}, since {change.revision}, but the value of a PriorityClass cannot be changed"
        )
        related = (Related(f"{old} at {change.revision}", earlier.at(*_PATH, old)),) if earlier else ()
        location = config.at(*_PATH, priority) if config else None
        hint = f"Choose a name for {priority} that is new."
        yield Diagnostic(PRIORITY_CLASS_CHANGED, message, location, related, hint=hint)


def new_rights(change: Change) -> Iterator[Diagnostic]:
    """Reports new or changed documents outside the admin folders of the revision: nobody may grant themselves the right
    to decide.

    A document that is unchanged at its place is allowed, and so is everything if the revision had no repository.
    """
    before, after = change.before, change.after
    if not before.repository.files:
        return
    folders = before.config.adminSources
    refused = {id(declared) for declared, _ in outside(after.repository, after.config.adminSources)}
    outside_admins = [document for document in outside(after.repository, folders) if id(document[0]) not in refused]
    earlier = {_identity(each): each.origin.data for each in before.repository.deciding} if outside_admins else {}
    for document in outside_admins:
        if earlier.get(_identity(document[0])) != document[0].origin.data:
            yield misplaced(document, folders, change.revision)


def _identity(declared: Deciding) -> tuple[str, str, str]:
    return declared.origin.path, declared.spec.kind, name_of(declared)


CHECKS: tuple[Callable[[Change], Iterator[Diagnostic]], ...] = (
    removed_topologies,
    changed_levels,
    changed_constraints,
    changed_references,
    locked_fields,
    gone_pools,
    moved_pools,
    changed_subpools,
    changed_namespaces,
    changed_classes,
    new_rights,
    unappliable_changes,
    _unreadable,
)
"""The checks, in the order in which they run."""
