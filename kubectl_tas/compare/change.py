"""Two fleets, an earlier one and what follows it, and what is known of the clusters that they are for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property

from kubectl_tas.live.cliquesets import GroveState, SetKey
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.podcliqueset import FleetPodCliqueSet


@dataclass(frozen=True, slots=True)
class Earlier:
    """The fleet at a revision."""

    fleet: Fleet
    revision: str
    unreadable: tuple[str, ...] = ()
    """Places there that could not be read."""
    elsewhere: tuple[str, ...] = ()
    """Where there was no file: other folders with a repository at that revision, which is there no more."""
    kept: Mapping[str, bytes] = field(default_factory=dict)
    """The contents of the files that ``outputKeeps`` of its Config names."""

    @property
    def whole(self) -> Fleet | None:
        """The fleet; None where not all of it could be read, or nothing was there: what is missing may not be new."""
        return self.fleet if self.fleet.repository.files and not self.unreadable else None


@dataclass(frozen=True)
class Change:
    """What is compared."""

    before: Fleet
    after: Fleet
    revision: str
    """Where ``before`` comes from, for messages."""
    complete: bool = True
    """False where documents of ``after`` could not be read: what seems to be gone may stand in them."""
    states: Mapping[str, GroveState] = field(default_factory=dict)
    """What is known of Grove in the clusters, by backend."""
    queues: Mapping[tuple[str, str], bool] = field(default_factory=dict)
    """Whether anything runs in a queue, by backend and name, as far as that is known."""
    unreadable: tuple[str, ...] = ()
    """Places at ``revision`` that could not be read."""
    elsewhere: tuple[str, ...] = ()
    """Other folders that had a repository at ``revision``, where this one had no file."""

    @cached_property
    def uses(self) -> Counter[SetKey]:
        """How many clusters a set is declared for."""
        return Counter(item.key for item in self.after.pod_clique_sets)


def kept_sets(change: Change) -> Iterator[tuple[FleetPodCliqueSet, FleetPodCliqueSet]]:
    """The sets that are there before and after, each in its cluster.

    Where there is one set of a name before and after, it is the same: a backend may have been renamed.
    """
    earlier = Counter(item.key for item in change.before.pod_clique_sets)
    after = {(_cluster(item), item.key): item for item in change.after.pod_clique_sets}
    by_key = {item.key: item for item in change.after.pod_clique_sets}
    for item in change.before.pod_clique_sets:
        is_only = earlier[item.key] == 1 == change.uses[item.key]
        same = by_key[item.key] if is_only else after.get((_cluster(item), item.key))
        if same is not None:
            yield item, same


def _cluster(item: FleetPodCliqueSet) -> str | None:
    return item.backend.name if item.backend else None


def state_of(change: Change, item: FleetPodCliqueSet) -> GroveState | None:
    """What is known of Grove in the cluster of a set."""
    return change.states.get(item.backend.name) if item.backend else None


def is_deployed(change: Change, item: FleetPodCliqueSet) -> bool | None:
    """Whether its cluster has a set; None where that is not known."""
    state = state_of(change, item)
    if state is None or state.sets is None or state.namespace not in (None, item.key[0]):
        return None
    return item.key in state.sets


def scheduled_pods(change: Change, item: FleetPodCliqueSet) -> int | None:
    """Pods of a set that have a node; None where that is not known."""
    state = state_of(change, item)
    if state is None or (state.sets is not None and is_deployed(change, item) is None):
        return None
    return state.scheduled(item.key)
