"""A session with what changed since an earlier revision, and with what differs from a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_tas.cli.session import Session

if TYPE_CHECKING:
    from kubectl_tas.live.grove import GroveState
    from kubectl_tas.resolve.fleet import Fleet


def with_changes(session: Session, base: str | None, cluster: Mapping[str, str | None] | None) -> Session:
    """The session with the findings of both comparisons added; None leaves one out.

    Raises TasError where the revision or the cluster cannot be read.
    """
    from kubectl_tas.check.drift import check_drift
    from kubectl_tas.check.transitions import Change, check_transitions
    from kubectl_tas.diagnostics import in_order

    before = _fleet_at(session, base) if base is not None else None
    found = list(session.diagnostics)
    state = None
    if cluster is not None and any(_uses_grove(fleet) for fleet in (session.fleet, before) if fleet is not None):
        state = read_grove(cluster)
        found += check_drift(session.fleet, state)
    if before is not None and base is not None:
        busy = _busy_queues(cluster) if cluster is not None and before.repository.subpools else frozenset[str]()
        found += check_transitions(Change(before, session.fleet, base, session.complete, state, busy))
    return replace(session, diagnostics=in_order(found))


def read_grove(options: Mapping[str, str | None]) -> GroveState:
    """Grove's objects of the cluster, or of the file, that the options name. Raises TasError."""
    from kubectl_tas.live.grove import from_cluster, from_file
    from kubectl_tas.live.kubectl import Access

    path = options.get("cluster_state")
    if path is not None:
        return from_file(path)
    return from_cluster(Access(options.get("context"), options.get("kubeconfig")))


def _fleet_at(session: Session, base: str) -> Fleet:
    """The fleet at a revision; what was wrong with it then is of no interest now."""
    from kubectl_tas.load.git import GitSource
    from kubectl_tas.load.repository import load_repository
    from kubectl_tas.resolve.resolver import resolve

    return resolve(load_repository(GitSource(session.root, base)).repository)


def _uses_grove(fleet: Fleet) -> bool:
    """Whether there is anything of Grove, so that its objects in the cluster matter."""
    repository = fleet.repository
    return bool(repository.pod_clique_sets or repository.operators or repository.topologies)


def _busy_queues(cluster: Mapping[str, str | None]) -> frozenset[str]:
    """The queues of the cluster in which something runs."""
    from kubectl_tas.cli.cluster import read_cluster

    return frozenset(name for name, usage in read_cluster(cluster).queues.items() if usage.in_use)
