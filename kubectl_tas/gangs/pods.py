"""The pods that controllers make of a workload: of which template, and in which SubGroup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.gang import Gang, SubGroup
from kubectl_tas.gangs.workload import sub_group
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
        pods = item.replicas if is_shared else min(1, item.replicas)
        yield from _spread(item, pods, _leaves_of(workload, gang, item)) if gang.parts else (Batch(item, None, pods),)


def _leaves_of(workload: FleetWorkload, gang: Gang, item: ReplicaType) -> Sequence[SubGroup]:
    """The SubGroups that have the pods of a replica type, in the order of their indices."""
    name = sub_group(workload, item) or item.name
    if podgrouper.row(workload).leads_segments:
        # Segments stand side by side, and the leader has index 0.
        own = [part for part in gang.leaves if (part.indices or (0, 0))[0] > 0] if not item.is_leader else []
        leader = [part for part in gang.leaves if part.indices == (0, 0)]
        return leader if item.is_leader else sorted(own, key=lambda part: part.indices or (0, 0))
    top = next((part for part in gang.below(gang) if part.name == name), None)
    return () if top is None else gang.below(top) or (top,)


def _spread(item: ReplicaType, pods: int, leaves: Sequence[SubGroup]) -> Iterator[Batch]:
    """The pods by SubGroup, each as many as it has; those with the highest indices may not be there yet."""
    for part in leaves:
        own = min(part.pods, pods)
        pods -= own
        if own:
            yield Batch(item, part.name, own)
