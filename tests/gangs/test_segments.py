"""Tests segments: each index is in exactly one, members add up, and mandatory segments cover the minimum."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_tas.gangs.segment_cuts import Segment, cut, cut_group, segment_of, waited_for, worker_segment

COUNTS = st.integers(0, 400)
SIZES = st.integers(1, 64)


@given(replicas=COUNTS, minimum=COUNTS, size=SIZES)
def test_every_index_is_in_exactly_one_segment(replicas: int, minimum: int, size: int) -> None:
    segments = cut(replicas, minimum, size)
    for index in range(replicas):
        holders = [segment.number for segment in segments if segment.first <= index <= segment.last]
        assert holders == [segment_of(index, size)]


@given(replicas=COUNTS, minimum=COUNTS, size=SIZES)
def test_members_add_up(replicas: int, minimum: int, size: int) -> None:
    segments = cut(replicas, minimum, size)
    assert sum(segment.pods for segment in segments) == replicas
    assert len(segments) == -(-replicas // size)
    assert all(segment.pods == size for segment in segments[:-1])
    assert all(1 <= segment.pods <= size for segment in segments)


@given(replicas=COUNTS, minimum=COUNTS, size=SIZES)
def test_mandatory_members_cover_the_minimum(replicas: int, minimum: int, size: int) -> None:
    segments = cut(replicas, minimum, size)
    needed = sum(segment.minimum for segment in segments)
    assert needed >= min(minimum, replicas)
    assert needed - minimum < size
    assert all(segment.minimum in (0, segment.pods) for segment in segments)
    assert [segment.minimum > 0 for segment in segments] == sorted((s.minimum > 0 for s in segments), reverse=True)


@given(replicas=COUNTS, minimum=COUNTS, size=SIZES, least=st.integers(0, 1))
def test_pods_that_are_waited_for(replicas: int, minimum: int, size: int, least: int) -> None:
    segments = cut(replicas, minimum, size)
    expected = sum(max(segment.minimum, least) for segment in segments)
    assert waited_for(replicas, minimum, size, least=least) == expected


def test_elastic_example() -> None:
    """20 replicas of which 12 are needed, 4 to a segment: three mandatory segments and two elastic ones."""
    assert cut(20, 12, 4) == (
        Segment(0, 0, 3, 4),
        Segment(1, 4, 7, 4),
        Segment(2, 8, 11, 4),
        Segment(3, 12, 15, 0),
        Segment(4, 16, 19, 0),
    )


@pytest.mark.parametrize(
    ("replicas", "minimum", "size", "minimums"),
    [
        (16, 16, 4, (4, 4, 4, 4)),
        (10, 10, 4, (4, 4, 2)),
        (10, 9, 4, (4, 4, 2)),
        (10, 8, 4, (4, 4, 0)),
        (10, 5, 4, (4, 4, 0)),
        (10, 1, 4, (4, 0, 0)),
        (10, 0, 4, (0, 0, 0)),
        (3, 3, 4, (3,)),
        (4, 4, 1, (1, 1, 1, 1)),
        (0, 0, 4, ()),
    ],
)
def test_minimums(replicas: int, minimum: int, size: int, minimums: tuple[int, ...]) -> None:
    assert tuple(segment.minimum for segment in cut(replicas, minimum, size)) == minimums


@given(workers=st.integers(1, 200), size=SIZES, leader_excluded=st.booleans())
def test_groups_of_leaders_and_workers(workers: int, size: int, leader_excluded: bool) -> None:
    segments = cut_group(workers, size, leader_excluded=leader_excluded)
    for index in range(1, workers + 1):
        holders = [segment.number for segment in segments if segment.first <= index <= segment.last]
        assert holders == [worker_segment(index, workers, size)]
    assert sum(segment.pods for segment in segments) == workers
    assert sum(segment.minimum for segment in segments) == workers + (0 if leader_excluded else 1)
    assert [segment.number for segment in segments if segment.has_leader] == ([] if leader_excluded else [0])


@pytest.mark.parametrize(
    ("index", "workers", "size", "segment"),
    [
        *((1, 8, 4, 0), (4, 8, 4, 0), (5, 8, 4, 1), (8, 8, 4, 1)),  # the size divides the workers: they are shifted
        *((1, 7, 4, 0), (3, 7, 4, 0), (4, 7, 4, 1), (7, 7, 4, 1)),  # it does not: the leader is the first of eight
    ],
)
def test_shift_by_the_leader(index: int, workers: int, size: int, segment: int) -> None:
    assert worker_segment(index, workers, size) == segment


def test_leader_alone_in_its_segment() -> None:
    assert cut_group(1, 2, leader_excluded=False) == (Segment(0, 1, 1, 2, has_leader=True),)
    assert cut_group(0, 2, leader_excluded=False) == (Segment(0, 1, 0, 1, has_leader=True),)
    assert cut_group(0, 2, leader_excluded=True) == ()


@given(replicas=st.integers(1, 400), share=st.floats(0, 1), size=SIZES)
def test_no_more_is_needed_than_runs_at_a_time(replicas: int, share: float, size: int) -> None:
    at_once = max(1, int(replicas * share))
    segments = cut(replicas, at_once, size, at_once)
    assert sum(segment.minimum for segment in segments) == at_once
