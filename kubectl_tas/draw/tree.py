"""Renders figures as trees for terminals, and segments of pods as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_tas.draw.figure import Bar, Box, BoxLook, Figure
from kubectl_tas.gangs.workload_gang import PodSegment
from kubectl_tas.report import style
from kubectl_tas.report.style import printable
from kubectl_tas.report.text import indices
from kubectl_tas.resolve.fleet_workload import FleetWorkload

_CELLS = 10
"""Length of a bar in characters."""


def render(figures: Sequence[Figure]) -> str:
    """Renders the facts of each figure, then a tree for each top box."""
    return "\n".join(map(_figure, figures))


def lines(box: Box) -> Iterator[str]:
    """Yields a line for the box, and a line for each box below it."""
    yield printable(_line(box))
    yield from _below(box, "")


def bar(figure_bar: Bar) -> str:
    """Renders a bar as characters, followed by its text."""
    taken = (
        min(_CELLS, round(figure_bar.filled * _CELLS / figure_bar.size))
        if figure_bar.size > 0
        else _CELLS
        if figure_bar.filled
        else 0
    )
    added = min(_CELLS - taken, round(figure_bar.added * _CELLS / figure_bar.size)) if figure_bar.size > 0 else 0
    return f"{'█' * taken}{'▒' * added}{'░' * (_CELLS - taken - added)} {figure_bar.text}"


def pod_segments(index: int, segments: Sequence[tuple[FleetWorkload, PodSegment]]) -> str:
    """Renders the segments that contain the pods with ``index``, one line each."""
    return "".join(
        f"{workload.name}: pod {index} of {segment.replica_type} is in segment {segment.segment}, "
        f"{'pod' if segment.indices[0] == segment.indices[1] else 'pods'} {indices(segment.indices)} "
        f"({segment.index_label})\n"
        for workload, segment in segments
    )


def _figure(figure: Figure) -> str:
    facts = style.pairs([(figure.kind, f"{figure.name} ({figure.file})"), *figure.facts])
    return "\n".join([facts, *("".join(f"{line}\n" for line in lines(box)) for box in figure.boxes)])


def _below(box: Box, indent: str) -> Iterator[str]:
    for index, child in enumerate(box.children):
        is_last = index == len(box.children) - 1
        yield printable(f"{indent}{'└─ ' if is_last else '├─ '}{_line(child)}")
        yield from _below(child, indent + ("   " if is_last else "│  "))


def _line(box: Box) -> str:
    words = ", ".join((*box.lines, *map(bar, box.bars)))
    if not words:
        return box.title
    return f"{box.title} ({words})" if box.look in (BoxLook.ITEM, BoxLook.MORE) else f"{box.title}: {words}"
