"""Sizes of segments, and the labels that hold an index: usable, and no larger than what there is to divide."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.gangs.podgrouper import makes_segments
from kubectl_tas.model import labels
from kubectl_tas.model.base import QUALIFIED_NAME
from kubectl_tas.model.workload import LeaderWorkerSet, SubGroupPolicy
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.placement import ReplicaType, whole_number
from kubectl_tas.resolve.workload import FleetWorkload
from kubectl_tas.words import within

SEGMENT_VALUE = Rule(
    "segment-value",
    Severity.ERROR,
    "The size of segments, or the label that holds a pod's index, cannot be used.",
    "The size is a whole number from 1 to the number of replicas, in quotes as every annotation; a "
    "LeaderWorkerSet's subGroupSize must divide its pods or its workers. The index label is a label key.",
)
SEGMENT_POLICY = Rule(
    "segment-policy",
    Severity.INFO,
    "A LeaderWorkerSet's subGroupPolicy divides its groups, but KAI does not place the parts.",
    "A LeaderWorkerSet labels its pods by that policy in any case. KAI makes segments of it only where the workload "
    "or workerTemplate asks for a placement or names a topology. Nothing is wrong where that is not wanted.",
)


def check_segment_sizes(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every replica type whose template says something about segments, and every subGroupPolicy."""
    for workload in fleet.workloads:
        spec = workload.declared.spec
        if isinstance(spec, LeaderWorkerSet):
            yield from _sub_group_policy(workload, spec)
        for item in workload.templates:
            if item.template is not None and not item.is_leader:
                yield from _index_label(workload, item)
                yield from _size(workload, item)


def _sub_group_policy(workload: FleetWorkload, spec: LeaderWorkerSet) -> Iterator[Diagnostic]:
    """What the LeaderWorkerSet's own webhook demands of a subGroupPolicy."""
    policy, pods = spec.spec.leaderWorkerTemplate.subGroupPolicy, spec.spec.leaderWorkerTemplate.size
    if policy is None or policy.subGroupSize is None:
        return
    place = workload.declared.at("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize")
    size = policy.subGroupSize
    if not 1 <= size <= pods:
        message = f"subGroupSize must be from 1 to {pods}, the pods of a group, not {size}"
        yield Diagnostic(SEGMENT_VALUE, message, place, hint=within(size, pods))
    elif not _divides(policy, size, pods):
        parts = f"{pods - 1} workers" if policy.leader_excluded else f"{pods} pods or {pods - 1} workers"
        message = f"subGroupSize {size} does not divide the {parts} of a group"
        yield Diagnostic(SEGMENT_VALUE, message, place, hint="Use a divisor.")
    elif makes_segments(workload) and pods > 1 and not any(item.segments or item.ignored for item in workload.replicas):
        message = "KAI makes no segments of this subGroupPolicy, because no placement is asked for"
        hint = f"Add {labels.SEGMENT_REQUIRED} to workerTemplate to place each part."
        yield Diagnostic(SEGMENT_POLICY, message, place, hint=hint)


def _divides(policy: SubGroupPolicy, size: int, pods: int) -> bool:
    return (pods - 1) % size == 0 or (not policy.leader_excluded and pods % size == 0)


def _index_label(workload: FleetWorkload, item: ReplicaType) -> Iterator[Diagnostic]:
    label = item.annotations.get(labels.POD_INDEX_LABEL)
    if label is not None and not re.fullmatch(QUALIFIED_NAME, label):
        message = f'{labels.POD_INDEX_LABEL} must be a label such as {labels.JOB_INDEX}, not "{label}"'
        place = workload.declared.at(*item.annotations_path, labels.POD_INDEX_LABEL)
        yield Diagnostic(SEGMENT_VALUE, message, place, hint="Name the label that holds the pod's index.")


def _size(workload: FleetWorkload, item: ReplicaType) -> Iterator[Diagnostic]:
    text = item.annotations.get(labels.SEGMENT_SIZE)
    if text is None:
        return
    place, size = workload.declared.at(*item.annotations_path, labels.SEGMENT_SIZE), whole_number(text)
    own = _own_size(workload)
    most = _pods(workload, item)
    if size is None:
        message = f'{labels.SEGMENT_SIZE} must be a whole number from 1, not "{text}"'
        yield Diagnostic(SEGMENT_VALUE, message, place, hint=within(size, most))
    elif size > most > 0:
        message = f"a segment of {size} pods is larger than the {_what(workload, item)}"
        yield Diagnostic(SEGMENT_VALUE, message, place, hint=within(size, most))
    elif own is not None and own != size:
        message = f"{labels.SEGMENT_SIZE} is {size}, but subGroupSize of this LeaderWorkerSet is {own}"
        yield Diagnostic(SEGMENT_VALUE, message, place, hint="Remove the annotation, or write the same size.")


def _pods(workload: FleetWorkload, item: ReplicaType) -> int:
    """The most pods that a segment can have; of a LeaderWorkerSet's group the leader is in the first one."""
    spec = workload.declared.spec
    if isinstance(spec, LeaderWorkerSet):
        policy = spec.spec.leaderWorkerTemplate.subGroupPolicy
        return item.replicas + int(policy is None or not policy.leader_excluded)
    return item.replicas


def _what(workload: FleetWorkload, item: ReplicaType) -> str:
    """The pods that a segment is part of, in words."""
    kind, pods = item, _pods(workload, item)
    if pods > kind.replicas:
        return f"{pods} pods of a group"
    if kind.indices > kind.replicas:
        return f"{pods} pods of {kind.name} that run at a time"
    return f"{pods} replica{'' if pods == 1 else 's'} of {kind.name}"


def _own_size(workload: FleetWorkload) -> int | None:
    """The size that a LeaderWorkerSet itself divides its groups by."""
    spec = workload.declared.spec
    policy = spec.spec.leaderWorkerTemplate.subGroupPolicy if isinstance(spec, LeaderWorkerSet) else None
    return policy.subGroupSize if policy else None
