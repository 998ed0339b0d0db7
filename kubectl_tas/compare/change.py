"""Holds an earlier and a later fleet, and the known state of their clusters, for comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property

from kubectl_tas.base.late import dataclass
from kubectl_tas.live.cliquesets import GroveState, SetKey
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podcliqueset import FleetPodCliqueSet


@dataclass(frozen=True, slots=True)
class Earlier:
    """The fleet at a revision."""

    fleet: Fleet
    revision: str
    unreadable: tuple[str, ...] = ()
    """Places in the revision that could not be read."""
    elsewhere: tuple[str, ...] = ()
    """Other folders with a repository at the revision but not now. Set only if this folder had no file then."""
    kept: Mapping[str, bytes] = field(default_factory=dict)
    """Contents of the files that ``outputKeeps`` of the revision's Config names."""

    @property
    def whole(self) -> Fleet | None:
        """The fleet; None if parts were unreadable or no file existed, so that seemingly new objects may be old."""
        return self.fleet if self.fleet.repository.files and not self.unreadable else None


@dataclass(frozen=True)
class Change:
    """The two fleets to compare, with the state of their clusters."""

    before: Fleet
    after: Fleet
    revision: str
    """Revision of ``before``, for messages."""
    complete: bool = True
    """False if documents of ``after`` could not be read. Seemingly removed objects may be in these documents."""
    states: Mapping[str, GroveState] = field(default_factory=dict)
    """Known state of Grove in the clusters, by backend."""
    queues: Mapping[tuple[str, str], bool] = field(default_factory=dict)
    """Whether work runs in a queue, by backend and name of the queue, if known."""
    unreadable: tuple[str, ...] = ()
    """Places at ``revision`` that could not be read."""
    elsewhere: tuple[str, ...] = ()
    """Other folders with a repository at ``revision``, if this folder had no file then."""

    @cached_property
    def uses(self) -> Counter[SetKey]:
        """Number of clusters for which a set is declared."""
        return Counter(clique_set.key for clique_set in self.after.pod_clique_sets)


def kept_sets(change: Change) -> Iterator[tuple[FleetPodCliqueSet, FleetPodCliqueSet]]:
    """Yields each set that exists before and after, as a pair of its two states in one cluster.

    If only one set has a name before and after, both are the same set, because a backend may have a new name.
    """
    earlier = Counter(clique_set.key for clique_set in change.before.pod_clique_sets)
    after = {(_cluster(clique_set), clique_set.key): clique_set for clique_set in change.after.pod_clique_sets}
    by_key = {clique_set.key: clique_set for clique_set in change.after.pod_clique_sets}
    for clique_set in change.before.pod_clique_sets:
        is_only = earlier[clique_set.key] == 1 == change.uses[clique_set.key]
        same = by_key[clique_set.key] if is_only else after.get((_cluster(clique_set), clique_set.key))
        if same is not None:
            yield clique_set, same


def _cluster(clique_set: FleetPodCliqueSet) -> str | None:
    return clique_set.backend.name if clique_set.backend else None


def state_of(change: Change, clique_set: FleetPodCliqueSet) -> GroveState | None:
    """Returns the known state of Grove in the cluster of a set."""
    return change.states.get(clique_set.backend.name) if clique_set.backend else None


def is_deployed(change: Change, clique_set: FleetPodCliqueSet) -> bool | None:
    """Whether the cluster has the set; None if unknown."""
    state = state_of(change, clique_set)
    if state is None or state.sets is None or state.namespace not in (None, clique_set.key[0]):
        return None
    return clique_set.key in state.sets


def scheduled_pods(change: Change, clique_set: FleetPodCliqueSet) -> int | None:
    """Returns the number of pods of a set that have a node; None if unknown."""
    state = state_of(change, clique_set)
    if state is None or (state.sets is not None and is_deployed(change, clique_set) is None):
        return None
    return state.scheduled(clique_set.key)
