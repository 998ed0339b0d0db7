"""Two fleets, an earlier one and what follows it, and what is known of the cluster that they are for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kubectl_tas.live.grove import GroveState, LiveSet, SetKey
from kubectl_tas.resolve.cliqueset import FleetPodCliqueSet
from kubectl_tas.resolve.fleet import Fleet


@dataclass(frozen=True)
class Change:
    """What is compared."""

    before: Fleet
    after: Fleet
    revision: str
    """Where ``before`` comes from, for messages."""
    complete: bool = True
    """False where documents of ``after`` could not be read: what seems to be gone may stand in them."""
    state: GroveState | None = None
    """What is known of Grove in a cluster; None: nothing."""
    busy: Collection[str] = ()
    """Queues in which something runs, as far as that is known."""
    unread: tuple[str, ...] = ()
    """Places at ``revision`` that could not be read."""

    @property
    def is_one_cluster(self) -> bool:
        """Whether ``state`` can be of one cluster only; of several nobody says which one was read."""
        return len(self.after.backends) == 1


def set_key(item: FleetPodCliqueSet) -> SetKey:
    """Namespace and name."""
    return item.namespace, item.name


def kept_sets(change: Change) -> Iterator[tuple[FleetPodCliqueSet, FleetPodCliqueSet]]:
    """The sets that are there before and after, each in its cluster."""
    after = {(item.backend and item.backend.name, set_key(item)): item for item in change.after.pod_clique_sets}
    for item in change.before.pod_clique_sets:
        same = after.get((item.backend and item.backend.name, set_key(item)))
        if same is not None:
            yield item, same


def is_deployed(change: Change, key: SetKey) -> bool | None:
    """Whether the cluster has a set; None where that is not known."""
    known = change.state.sets if change.state else None
    if known is None:
        return None
    declared = sum(set_key(item) == key for item in change.after.pod_clique_sets)
    if change.is_one_cluster or (key in known and declared == 1):
        return key in known
    return None


def scheduled_pods(change: Change, key: SetKey) -> int | None:
    """Pods of a set that have a node; None where that is not known."""
    if change.state is None or (change.state.sets is not None and is_deployed(change, key) is None):
        return None
    return change.state.scheduled(key)


def live_sets(change: Change) -> Mapping[SetKey, LiveSet]:
    """The sets of the cluster, as far as they are known."""
    return (change.state.sets if change.state else None) or {}
