"""The pods that controllers make of a workload: of which template, and in which SubGroup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.gang import Gang, SubGroup
from kubectl_tas.gangs.workload import sub_group
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.placement import ReplicaType
from kubectl_tas.resolve.workload import FleetWorkload


@dataclass(frozen=True, slots=True)
class Batch:
    """Equal pods of a gang."""

    template: ReplicaType
    sub_group: str | None
    """None: they are in none."""
    pods: int


def batches(workload: FleetWorkload, gang: Gang) -> Iterator[Batch]:
    """All pods of a workload's own gang, by replica type and then by index; ``gang`` is what ``own_gang`` makes of it.

    Where each pod has a PodGroup of its own, it is one pod.
    """
    is_shared = podgrouper.is_one_pod_group(workload)
    for item in workload.replicas:
        left = item.replicas if is_shared else min(1, item.replicas)
        if not gang.parts:
            yield Batch(item, None, left)
        for part in _leaves_of(workload, gang, item):  # pods with the highest indices may not be there yet
            own = min(part.pods, left)
            left -= own
            if own:
                yield Batch(item, part.name, own)


def leaves(workload: FleetWorkload, gang: Gang) -> Iterator[tuple[SubGroup, ReplicaType]]:
    """The SubGroups that have pods of a workload's own gang, each with the replica type of those."""
    return ((part, item) for item in workload.replicas for part in _leaves_of(workload, gang, item))


def _leaves_of(workload: FleetWorkload, gang: Gang, item: ReplicaType) -> Sequence[SubGroup]:
    """The SubGroups that have the pods of a replica type, in the order of their indices."""
    if podgrouper.row(workload).leads_segments:  # segments stand side by side, and the leader has index 0
        own = ((part.indices or (0, 0), part) for part in gang.leaves)
        return [part for span, part in sorted(own, key=lambda pair: pair[0]) if (span == (0, 0)) == item.is_leader]
    name = sub_group(workload, item) or item.name
    top = next((part for part in gang.below(gang) if part.name == name), None)
    return () if top is None else gang.below(top) or (top,)
