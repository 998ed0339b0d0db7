"""Replicas, a minimum and a segment size in; the segments, and the segment of each index, out. Pure.

It follows KAI's proposal for segments of SubGroups and, for a LeaderWorkerSet, what its PodGrouper does.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """Pods with consecutive indices."""

    number: int
    """0-based."""
    first: int
    """Its lowest index."""
    last: int
    """Its highest index; below ``first`` where it has the leader alone."""
    minimum: int
    """Pods needed before any pod of the gang starts; 0 for an elastic segment."""
    has_leader: bool = False
    """Of a LeaderWorkerSet: whether the leader is in it too."""

    @property
    def pods(self) -> int:
        """Pods with an index, the leader not counted."""
        return self.last - self.first + 1


def segment_of(index: int, size: int) -> int:
    """The number of the segment that the pod with the replica index ``index`` (0-based) is in."""
    return index // size


def cut(replicas: int, minimum: int, size: int) -> tuple[Segment, ...]:
    """``replicas`` pods in segments of ``size``, of which the last may have fewer.

    A segment with any of the first ``minimum`` pods is mandatory, the others are elastic.
    """
    segments = []
    for number in range(-(-replicas // size)):
        first = number * size
        last = min(first + size, replicas) - 1
        needed = last - first + 1 if first < minimum else 0
        segments.append(Segment(number, first, last, needed))
    return tuple(segments)


def waited_for(replicas: int, minimum: int, size: int, *, least: int) -> int:
    """Pods that start together where ``cut`` says so: all of each mandatory segment, ``least`` of each elastic one."""
    mandatory = -(-min(minimum, replicas) // size)
    elastic = -(-replicas // size) - mandatory
    return min(mandatory * size, replicas) + elastic * least


def worker_segment(index: int, workers: int, size: int) -> int:
    """The segment of a LeaderWorkerSet's worker by its index, which counts from 1: the leader has 0.

    Where ``size`` divides the workers, the leader is one more pod; otherwise it is counted as the first.
    """
    return segment_of(index - 1 if workers % size == 0 else index, size)


def cut_group(workers: int, size: int, *, leader_excluded: bool) -> tuple[Segment, ...]:
    """One group of a LeaderWorkerSet, by the workers' indices 1 to ``workers``. All segments are mandatory."""
    members: dict[int, list[int]] = {} if leader_excluded else {0: []}
    for index in range(1, workers + 1):
        members.setdefault(worker_segment(index, workers, size), []).append(index)
    segments = []
    for number, indices in members.items():
        leads = number == 0 and not leader_excluded
        first, last = (indices[0], indices[-1]) if indices else (1, 0)
        segments.append(Segment(number, first, last, len(indices) + int(leads), has_leader=leads))
    return tuple(segments)
