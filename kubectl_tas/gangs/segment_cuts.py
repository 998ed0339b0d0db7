"""Cuts replicas into segments by a minimum and a segment size, and finds the segment of each index. Pure.

Follows KAI's proposal for segments of SubGroups and, for a LeaderWorkerSet, KAI's podgrouper.
"""

from __future__ import annotations

from kubectl_tas.base.late import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """Pods with consecutive indices."""

    number: int
    """Number of the segment, from 0."""
    first: int
    """Lowest index in the segment."""
    last: int
    """Highest index in the segment; below ``first`` if the segment has only the leader."""
    minimum: int
    """Pods needed before any pod of the gang starts; 0 for an elastic segment."""
    has_leader: bool = False
    """Whether the leader of a LeaderWorkerSet is in the segment too."""

    @property
    def pods(self) -> int:
        """Number of pods with an index, without the leader."""
        return self.last - self.first + 1


def segment_of(index: int, size: int) -> int:
    """Returns the number of the segment with the replica index ``index``, from 0."""
    return index // size


def cut(replicas: int, minimum: int, size: int, at_once: int | None = None) -> tuple[Segment, ...]:
    """Cuts ``replicas`` pods into segments of ``size``; the last segment may have fewer pods. ``at_once`` pods run at a
    time, the lowest indices first; None means all.
    """
    count = -(-replicas // size)
    return tuple(segment_at(number, replicas, minimum, size, at_once) for number in range(count))


def segment_at(number: int, replicas: int, minimum: int, size: int, at_once: int | None = None) -> Segment:
    """Returns one of the segments of ``cut``.

    A segment with any of the first ``minimum`` pods is mandatory, the others are elastic. A segment needs no more pods
    than exist when the gang starts; else the gang would wait for pods that come only when others have ended.
    """
    first = number * size
    last = min(first + size, replicas) - 1
    present = min(last, (replicas if at_once is None else at_once) - 1) - first + 1
    return Segment(number, first, last, present if first < minimum else 0)


def waited_for(replicas: int, minimum: int, size: int, *, least: int) -> int:
    """Returns how many pods start together by ``cut``: all of each mandatory segment, ``least`` of each elastic one."""
    mandatory = -(-min(minimum, replicas) // size)
    elastic = -(-replicas // size) - mandatory
    return min(mandatory * size, replicas) + elastic * least


def worker_segment(index: int, workers: int, size: int) -> int:
    """Returns the segment of a LeaderWorkerSet's worker by its index, from 1: the leader has index 0.

    If ``size`` divides the workers, the leader is one more pod; otherwise the leader counts as the first pod.
    """
    return segment_of(max(0, index - (workers % size == 0)), size)


def cut_group(workers: int, size: int, *, leader_excluded: bool) -> tuple[Segment, ...]:
    """Cuts one group of a LeaderWorkerSet, by the workers' indices 1 to ``workers``. All segments are mandatory."""
    if leader_excluded and not workers:
        return ()
    numbers = range(worker_segment(workers, workers, size) + 1)
    return tuple(group_segment_at(number, workers, size, leader_excluded=leader_excluded) for number in numbers)


def group_segment_at(number: int, workers: int, size: int, *, leader_excluded: bool) -> Segment:
    """Returns one of the segments of ``cut_group``."""
    begin = number * size + (workers % size == 0)
    first, last = max(1, begin), min(begin + size - 1, workers)
    leads = number == 0 and not leader_excluded
    return Segment(number, first, last, last - first + 1 + int(leads), has_leader=leads)
