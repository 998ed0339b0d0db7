"""A fleet in, and an earlier one or a cluster; the changes that must not be made, and what differs, out.

What Grove guards by webhooks and finalizers, the life of subpools, and the values of PriorityClasses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kubectl_tas.compare.change import Change, Earlier
from kubectl_tas.compare.cliquesets import changed_constraints, changed_references
from kubectl_tas.compare.cluster import check_drift
from kubectl_tas.compare.namespaces import changed_namespaces
from kubectl_tas.compare.pools import gone_pools, moved_pools
from kubectl_tas.compare.priorityclasses import changed_classes
from kubectl_tas.compare.subpools import changed_subpools
from kubectl_tas.compare.topologies import changed_levels, removed_topologies
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity, Waiving
from kubectl_tas.live.cliquesets import GroveState
from kubectl_tas.live.cluster import Cluster
from kubectl_tas.live.kubectl import NoSuchResourceError
from kubectl_tas.resolve.fleet import Fleet

BASE_UNREAD = Rule(
    "base-unread",
    Severity.INFO,
    "Documents of the revision that is compared with have errors.",
    "What cannot be read cannot be compared, so a change that must not be made may pass unseen.",
    protects=Waiving.CONFIG,
)


def compare(
    fleet: Fleet, before: Earlier | None, cluster: Cluster | None, *, complete: bool = True
) -> Iterator[Diagnostic]:
    """What differs from the cluster, and what must not have changed since ``before``; None leaves one out.

    The cluster is asked for no more than the comparison needs; raises TasError where it cannot be read. Where
    loading was not ``complete``, what seems to be gone may stand in a document that could not be read.
    """
    earlier = (before.fleet,) if before else ()
    state = _grove(cluster, fleet, *earlier) if cluster else None
    if state is not None:
        yield from check_drift(fleet, state)
    if before is not None:
        queues = _queues(cluster, before.fleet, fleet) if cluster else {}
        change = Change(before.fleet, fleet, before.revision, complete, state, queues, before.unreadable)
        yield from (diagnostic for check in CHECKS for diagnostic in check(change))


def _grove(cluster: Cluster, *fleets: Fleet) -> GroveState | None:
    """Grove's objects of the cluster; None where there is nothing of Grove to compare.

    Where there are but topologies, which pools may use too, Grove need not be installed.
    """
    repositories = [fleet.repository for fleet in fleets]
    needs_grove = any(item.pod_clique_sets or item.operators for item in repositories)
    if not needs_grove and not any(item.topologies for item in repositories):
        cluster.must_be_readable()
        return None
    try:
        return cluster.grove()
    except NoSuchResourceError:
        if needs_grove:
            raise
        return None


def _queues(cluster: Cluster, before: Fleet, after: Fleet) -> Mapping[str, bool]:
    """Whether anything runs in each queue of the cluster, as far as it says so; nothing without a reason to ask."""
    topologies = before.repository.topologies or before.repository.operators
    work = after.workflows or after.workloads or after.pod_groups
    if not before.pools and not (topologies and work):
        return {}
    known = {name: usage.in_use for name, usage in cluster.state().queues.items()}
    return {name: in_use for name, in_use in known.items() if in_use is not None}


def _unreadable(change: Change) -> Iterator[Diagnostic]:
    if change.unreadable:
        shown = ", ".join(change.unreadable[:3]) + (", ..." if len(change.unreadable) > 3 else "")
        message = f"what has errors at {change.revision}, and what depends on it, is not compared: {shown}"
        hint = "Look at what changed there yourself, or compare with a revision that is valid."
        yield Diagnostic(BASE_UNREAD, message, None, hint=hint)


CHECKS: tuple[Callable[[Change], Iterator[Diagnostic]], ...] = (
    removed_topologies,
    changed_levels,
    changed_constraints,
    changed_references,
    gone_pools,
    moved_pools,
    changed_subpools,
    changed_namespaces,
    changed_classes,
    _unreadable,
)
"""In the order in which they run."""
