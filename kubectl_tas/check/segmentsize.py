"""Sizes of segments, and the labels that hold an index: usable, and no larger than what there is to divide."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity, Waiving
from kubectl_tas.gangs.podgrouper import makes_segments, never_runs, row
from kubectl_tas.model import labels
from kubectl_tas.model.base import QUALIFIED_NAME
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.placement import ReplicaType, segment_sizes
from kubectl_tas.resolve.workload import FleetWorkload
from kubectl_tas.words import within

SEGMENT_VALUE = Rule(
    "segment-value",
    Severity.ERROR,
    "The size of segments, or the label that holds a pod's index, cannot be used.",
    "The size is a whole number from 1 to the number of replicas, in quotes as every annotation; a "
    "LeaderWorkerSet's subGroupSize must divide its pods or its workers. KAI takes the size from subGroupSize, "
    "else from the LeaderWorkerSet's annotation, else from workerTemplate's. The index label is a label key.",
)
SEGMENT_NEVER_RUNS = Rule(
    "segment-never-runs",
    Severity.ERROR,
    "KAI makes a PodGroup of these segments that never runs, or refuses to make one.",
    "Up to 0.17.0 KAI refuses segments of a LeaderWorkerSet that has startupPolicy LeaderReady, and segments of one "
    "pod; where one segment has all workers, it waits for one pod more than there is. A subGroupPolicy alone is enough "
    "for that, without any annotation. The message says what works instead.",
    protects=Waiving.ANYBODY,
)
SEGMENT_POLICY = Rule(
    "segment-policy",
    Severity.INFO,
    "A LeaderWorkerSet's subGroupPolicy divides its groups, and KAI does not place the parts.",
    "A LeaderWorkerSet labels its pods by that policy, and KAI makes segments of it, as the preview shows. Without a "
    "level for segments on workerTemplate nothing places them. Nothing is wrong where that is not wanted.",
)


def check_segment_sizes(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every replica type whose template says something about segments, and how a kind itself divides its pods."""
    for workload in fleet.workloads:
        for item in workload.templates:
            if item.template is not None and (item.is_divided or workload.declared.spec.divided is None):
                is_read = item.segments is not None or item.ignored is None
                sizes = [*_own_division(workload, item), *(_sizes(workload, item) if is_read else ())]
                yield from _index_label(workload, item)
                yield from sizes or _made(workload, item)


def _own_division(workload: FleetWorkload, item: ReplicaType) -> Iterator[Diagnostic]:
    """What a LeaderWorkerSet's own webhook demands of a subGroupPolicy."""
    division = workload.declared.spec.own_division
    if division is None or division.size is None or not item.is_divided:
        return
    place, size = workload.declared.at(*division.path), division.size
    pods, name = item.replicas + 1, division.path[-1]
    if not 1 <= size <= pods:
        message = f"{name} must be from 1 to {pods}, the pods of a group, not {size}"
        yield Diagnostic(SEGMENT_VALUE, message, place, hint=within(size, pods))
    elif item.replicas % size and (division.leader_excluded or pods % size):
        parts = f"{item.replicas} workers" if division.leader_excluded else f"{pods} pods or {item.replicas} workers"
        message = f"{name} {size} does not divide the {parts} of a group"
        yield Diagnostic(SEGMENT_VALUE, message, place, hint="Use a divisor.")


def _unplaced(workload: FleetWorkload, item: ReplicaType) -> Iterator[Diagnostic]:
    """Segments that KAI makes because the kind itself divides its pods, and that nothing places."""
    division, segments = workload.declared.spec.own_division, item.segments
    if segments is None or division is None or not makes_segments(workload, item):
        return
    if segments.size_path == division.path and segments.placement is None and not item.ignored:
        message = f"KAI makes segments by this {division.path[-2]}, and nothing places them"
        hint = f"Add {labels.SEGMENT_REQUIRED} to {item.path[-1]} to place each."
        yield Diagnostic(SEGMENT_POLICY, message, workload.declared.at(*division.path), hint=hint)


def _made(workload: FleetWorkload, item: ReplicaType) -> Iterator[Diagnostic]:
    """What is wrong with segments that KAI makes, where their size is right."""
    found = never_runs(workload, item)
    if found is None or item.segments is None:
        yield from _unplaced(workload, item)
    else:
        why, hint = found
        place = workload.declared.at(*item.segments.size_path)
        yield Diagnostic(SEGMENT_NEVER_RUNS, f"the pods never run: {why}", place, hint=hint)


def _index_label(workload: FleetWorkload, item: ReplicaType) -> Iterator[Diagnostic]:
    """Where KAI makes the segments itself it reads another label, which check.segments says."""
    label = item.annotations.get(labels.POD_INDEX_LABEL)
    if label is not None and not makes_segments(workload, item) and not re.fullmatch(QUALIFIED_NAME, label):
        message = f'{labels.POD_INDEX_LABEL} must be a label such as {labels.JOB_INDEX}, not "{label}"'
        place = workload.declared.at(*item.annotations_path, labels.POD_INDEX_LABEL)
        yield Diagnostic(SEGMENT_VALUE, message, place, hint="Name the label that holds the pod's index.")


def _sizes(workload: FleetWorkload, item: ReplicaType) -> Iterator[Diagnostic]:
    """The sizes that annotations have: usable, and all the same."""
    most, sizes, division = _pods(workload, item), segment_sizes(workload.declared.spec, item), None
    if workload.declared.spec.own_division is not None:
        division = workload.declared.spec.own_division.path
    for size in sizes:
        place, first = workload.declared.at(*size.path), sizes[0]
        if size.path == division:
            continue
        if size.pods is None:
            message = f'{labels.SEGMENT_SIZE} must be a whole number from 1, not "{size.written}"'
            yield Diagnostic(SEGMENT_VALUE, message, place, hint=within(0, most))
        elif size.pods > most > 0:
            message = f"a segment of {size.pods} pods is larger than the {_what(workload, item)}"
            hint = within(size.pods, most) if item.replicas else "Remove the annotation, or raise the number of pods."
            yield Diagnostic(SEGMENT_VALUE, message, place, hint=hint)
        elif size.written != first.written:
            owner = f"{first.path[-1]} of this {workload.kind} is {first.written}, which precedes"
            message = f"{labels.SEGMENT_SIZE} is {size.written} here, but {owner}"
            yield Diagnostic(SEGMENT_VALUE, message, place, hint="Remove the annotation, or write the same size.")


def _pods(workload: FleetWorkload, item: ReplicaType) -> int:
    """The most pods that a segment can have; the leader may be in the first one."""
    division = workload.declared.spec.own_division
    leads = item.is_divided and row(workload).leads_segments
    return item.replicas + int(leads and not (division and division.leader_excluded))


def _what(workload: FleetWorkload, item: ReplicaType) -> str:
    """The pods that a segment is part of, in words."""
    pods = _pods(workload, item)
    if pods > item.replicas:
        return f"{pods} pod{'' if pods == 1 else 's'} of a group"
    if item.indices > item.replicas:
        return f"{pods} pods of {item.name} that run at a time"
    return f"{pods} replica{'' if pods == 1 else 's'} of {item.name}"
