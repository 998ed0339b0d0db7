"""Replicas, a minimum and a segment size in; the segments, and the segment of each index, out. Pure.

It follows KAI's proposal for segments of SubGroups and, for a LeaderWorkerSet, what its PodGrouper does.
"""

from __future__ import annotations

from kubectl_tas.records import dataclass


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


def cut(replicas: int, minimum: int, size: int, at_once: int | None = None) -> tuple[Segment, ...]:
    """``replicas`` pods in segments of ``size``, of which the last may have fewer; ``at_once`` of them run at a time,
    those with the lowest indices first. None: all of them.
    """
    count = -(-replicas // size)
    return tuple(segment_at(number, replicas, minimum, size, at_once) for number in range(count))


def segment_at(number: int, replicas: int, minimum: int, size: int, at_once: int | None = None) -> Segment:
    """One of the segments of ``cut``.

    A segment with any of the first ``minimum`` pods is mandatory, the others are elastic. No more of its pods are
    needed than there are when the gang starts, or it would wait for pods that come only when others have ended.
    """
    first = number * size
    last = min(first + size, replicas) - 1
    present = min(last, (replicas if at_once is None else at_once) - 1) - first + 1
    return Segment(number, first, last, present if first < minimum else 0)


def waited_for(replicas: int, minimum: int, size: int, *, least: int) -> int:
    """Pods that start together where ``cut`` says so: all of each mandatory segment, ``least`` of each elastic one."""
    mandatory = -(-min(minimum, replicas) // size)
    elastic = -(-replicas // size) - mandatory
    return min(mandatory * size, replicas) + elastic * least


def worker_segment(index: int, workers: int, size: int) -> int:
    """The segment of a LeaderWorkerSet's worker by its index, which counts from 1: the leader has 0.

    Where ``size`` divides the workers, the leader is one more pod; otherwise it is counted as the first.
    """
    return segment_of(max(0, index - _shift(workers, size)), size)


def _shift(workers: int, size: int) -> int:
    """The index that the first segment begins with."""
    return 1 if workers % size == 0 else 0


def cut_group(workers: int, size: int, *, leader_excluded: bool) -> tuple[Segment, ...]:
    """One group of a LeaderWorkerSet, by the workers' indices 1 to ``workers``. All segments are mandatory."""
    if leader_excluded and not workers:
        return ()
    numbers = range(worker_segment(workers, workers, size) + 1)
    return tuple(group_segment_at(number, workers, size, leader_excluded=leader_excluded) for number in numbers)


def group_segment_at(number: int, workers: int, size: int, *, leader_excluded: bool) -> Segment:
    """One of the segments of ``cut_group``."""
    begin = number * size + _shift(workers, size)
    first, last = max(1, begin), min(begin + size - 1, workers)
    leads = number == 0 and not leader_excluded
    return Segment(number, first, last, last - first + 1 + int(leads), has_leader=leads)
