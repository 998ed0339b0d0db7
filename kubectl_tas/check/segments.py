"""Segments and placements of workloads: levels in order, sizes that fit, and nothing ignored without a word."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_tas import kai
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.kai import Feature
from kubectl_tas.model import labels
from kubectl_tas.model.base import QUALIFIED_NAME
from kubectl_tas.model.repository import KeyPath
from kubectl_tas.model.workload import LeaderWorkerSet, SubGroupPolicy
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.replicas import LEADER, WORKERS, whole_number
from kubectl_tas.resolve.workload import (
    KAI_SUBGROUP_KINDS,
    MAX_SEGMENTS,
    SEGMENTED_KINDS,
    FleetReplicas,
    FleetWorkload,
    Placement,
)

PLACEMENT_ORDER = Rule(
    "placement-order",
    Severity.ERROR,
    "The preferred level of a workload or of its segments is not finer than the required one.",
    "What is required already holds for every coarser level, so the two are the wrong way round or one of "
    "them says nothing. Prefer a finer level than the required one.",
)
PLACEMENT_UNSUPPORTED = Rule(
    "placement-unsupported",
    Severity.WARNING,
    "A pod template has a placement of its own, and KAI makes no SubGroups of this kind's replica types.",
    "The preview shows the SubGroups; KAI's PodGrouper makes one gang without parts. Place the whole workload, "
    "or let the tool own the PodGroup with the label kubectl-tas/podgroup: owned.",
)
SEGMENT_VALUE = Rule(
    "segment-value",
    Severity.ERROR,
    "The size of segments, or the label that holds a pod's index, cannot be used.",
    "The size is a whole number from 1 to the number of replicas, in quotes as every annotation; a "
    "LeaderWorkerSet's subGroupSize must divide its pods or its workers. The index label is a label key.",
)
SEGMENT_IGNORED = Rule(
    "segment-ignored",
    Severity.WARNING,
    "Annotations about segments are ignored.",
    "Segments need a topology, an index on every pod, and annotations on the pod template. The message says "
    "which of them is missing.",
)
SEGMENT_INCOMPLETE = Rule(
    "segment-incomplete",
    Severity.WARNING,
    "Segments have a size and no level, or a level and no size.",
    "A size alone divides pods without placing them; a level alone is not read. Add the other annotation.",
)
SEGMENT_UNSUPPORTED = Rule(
    "segment-unsupported",
    Severity.WARNING,
    "The backend's KAI release makes no segments of this kind.",
    "The preview shows what is asked for, but pods will be placed without it: KAI divides PyTorchJob and "
    "LeaderWorkerSet, from 0.13 on. Nothing else of the workload changes.",
)
SEGMENT_ELASTIC = Rule(
    "segment-elastic",
    Severity.WARNING,
    "Elastic pods need a minimum of 0, which KAI before 0.15 cannot express.",
    "The preview leaves the minimum out, which the scheduler takes for 1: one pod of each elastic segment is "
    "waited for. Update KAI, or raise the minimum to all replicas.",
)
SEGMENT_LEVEL = Rule(
    "segment-level",
    Severity.WARNING,
    "The level of segments is not finer than what the workload as a whole requires.",
    "All pods are within one such domain anyway, so the segments say nothing. Use a finer level for them.",
)
SEGMENT_PREVIEW = Rule(
    "segment-preview",
    Severity.INFO,
    "A workload has so many segments that no preview of them is written.",
    "Thousands of SubGroups would hide what a reviewer looks for. The workload itself is rendered as always.",
)


def check_segments(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every workload that asks for a placement or for segments."""
    for workload in fleet.workloads:
        yield from _order(workload, workload.placement)
        yield from _on_root(workload)
        yield from _preview(workload)
        if isinstance(workload.declared.spec, LeaderWorkerSet):
            yield from _sub_group_policy(workload, workload.declared.spec)
        for item in workload.replicas:
            yield from _order(workload, item.placement)
            yield from _unsupported_placement(workload, item)
            if item.type.template is not None and not _is_shared(workload, item):
                yield from _values(workload, item)
                yield from _incomplete(workload, item)
            if item.segments is not None:
                yield from _order(workload, item.segments.placement)
                yield from _unsupported(workload, item)
                yield from _levels(workload, item, item.segments.placement)
            yield from _elastic(workload, item)


def _is_shared(workload: FleetWorkload, item: FleetReplicas) -> bool:
    """Whether a leader is made from the workers' template: what is wrong there is said once."""
    others = (other for other in workload.replicas if other is not item)
    return item.type.name == LEADER and any(other.type.path == item.type.path for other in others)


def _order(workload: FleetWorkload, placement: Placement | None) -> Iterator[Diagnostic]:
    if placement is None or placement.known is None or not (placement.required and placement.preferred):
        return
    levels = placement.known.levels
    required, preferred = placement.required, placement.preferred
    if levels.index(preferred.level) <= levels.index(required.level):
        message = f'the preferred level "{preferred.written}" is not finer than the required "{required.written}"'
        finer = [level.key for level in levels[levels.index(required.level) + 1 :]]
        hint = f"Prefer {' or '.join(finer)}, or leave it out." if finer else "Nothing is finer; leave it out."
        yield Diagnostic(PLACEMENT_ORDER, message, workload.declared.at(*preferred.path), hint=hint)


def _on_root(workload: FleetWorkload) -> Iterator[Diagnostic]:
    """KAI reads annotations about segments on pod templates alone."""
    for name in labels.SEGMENT_ANNOTATIONS:
        if name in workload.declared.spec.metadata.annotations:
            message = f"{name} is ignored on the workload: segments belong to the pods of one template"
            place = workload.declared.origin.locate(("metadata", "annotations", name), key=True)
            yield Diagnostic(SEGMENT_IGNORED, message, place, hint="Move it to the pod template.")


def _preview(workload: FleetWorkload) -> Iterator[Diagnostic]:
    if workload.lists_segments:
        return
    counts = " and ".join(
        f"{item.segment_count} segments of {item.type.name}" for item in workload.replicas if item.segments
    )
    message = f"no preview is written: {counts}; at most {MAX_SEGMENTS} are previewed"
    largest = max(workload.replicas, key=lambda item: item.segment_count)
    yield Diagnostic(SEGMENT_PREVIEW, message, workload.declared.origin.locate(_size_path(largest), key=True))


def _size_path(item: FleetReplicas) -> KeyPath:
    """Where the size of its segments stands."""
    if labels.SEGMENT_SIZE in item.annotations:
        return (*item.annotations_path, labels.SEGMENT_SIZE)
    return ("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize")


def _sub_group_policy(workload: FleetWorkload, spec: LeaderWorkerSet) -> Iterator[Diagnostic]:
    """What the LeaderWorkerSet's own webhook demands of a subGroupPolicy."""
    policy, pods = spec.spec.leaderWorkerTemplate.subGroupPolicy, spec.spec.leaderWorkerTemplate.size
    if policy is None or policy.subGroupSize is None:
        return
    place = workload.declared.at("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize")
    size = policy.subGroupSize
    if not 1 <= size <= pods:
        message = f"subGroupSize must be from 1 to {pods}, the pods of a group, not {size}"
        yield Diagnostic(SEGMENT_VALUE, message, place, hint=f"Use at most {pods}.")
    elif not _divides(policy, size, pods):
        parts = f"{pods - 1} workers" if _excludes(policy) else f"{pods} pods or {pods - 1} workers"
        message = f"subGroupSize {size} does not divide the {parts} of a group"
        yield Diagnostic(SEGMENT_VALUE, message, place, hint="Use a divisor.")


def _excludes(policy: SubGroupPolicy) -> bool:
    return policy.subGroupPolicyType == "LeaderExcluded"


def _divides(policy: SubGroupPolicy, size: int, pods: int) -> bool:
    return (pods - 1) % size == 0 or (not _excludes(policy) and pods % size == 0)


def _values(workload: FleetWorkload, item: FleetReplicas) -> Iterator[Diagnostic]:
    """The size and the index label of one template, and why they are ignored."""
    path, annotations = item.annotations_path, item.annotations
    text, label = annotations.get(labels.SEGMENT_SIZE), annotations.get(labels.POD_INDEX_LABEL)
    if label is not None and not re.fullmatch(QUALIFIED_NAME, label):
        message = f'{labels.POD_INDEX_LABEL} must be a label such as {labels.JOB_INDEX}, not "{label}"'
        place = workload.declared.at(*path, labels.POD_INDEX_LABEL)
        yield Diagnostic(SEGMENT_VALUE, message, place, hint="Name the label that holds the pod's index.")
    if text is None:
        return
    place, size, pods = workload.declared.at(*path, labels.SEGMENT_SIZE), whole_number(text), item.type.indices
    if size is None:
        message = f'{labels.SEGMENT_SIZE} must be a whole number from 1, not "{text}"'
        yield Diagnostic(SEGMENT_VALUE, message, place, hint=f"Use a number from 1 to {pods}.")
    elif size > pods:
        message = f"a segment of {size} pods is larger than the {pods} replicas of {item.type.name}"
        yield Diagnostic(SEGMENT_VALUE, message, place, hint=f"Use at most {pods}.")
    elif (own := _own_size(workload)) is not None and own != size:
        message = f"{labels.SEGMENT_SIZE} is {size}, but subGroupSize of this LeaderWorkerSet is {own}"
        yield Diagnostic(SEGMENT_VALUE, message, place, hint="Remove the annotation, or write the same size.")
    elif workload.kind == "LeaderWorkerSet" and item.type.name == LEADER:
        message = "the leader is no replica type that is divided; segments are read on workerTemplate"
        yield Diagnostic(SEGMENT_IGNORED, message, place, hint="Move the annotations to workerTemplate.")
    elif item.ignored:
        message = f"the segments of {item.type.name} are ignored: {item.ignored}"
        yield Diagnostic(SEGMENT_IGNORED, message, place, hint=_remedy(workload, item))


def _own_size(workload: FleetWorkload) -> int | None:
    """The size that a LeaderWorkerSet itself divides its groups by."""
    spec = workload.declared.spec
    policy = spec.spec.leaderWorkerTemplate.subGroupPolicy if isinstance(spec, LeaderWorkerSet) else None
    return policy.subGroupSize if policy else None


def _remedy(workload: FleetWorkload, item: FleetReplicas) -> str:
    if not workload.pool.backend.is_kai:
        return "Remove them, or choose a pool whose backend runs KAI."
    if "topology" in item.ignored:
        return f"Give pool {workload.pool.name} a topology, or name one with {labels.TOPOLOGY}."
    return f"Name the label that holds a pod's index with {labels.POD_INDEX_LABEL}."


def _incomplete(workload: FleetWorkload, item: FleetReplicas) -> Iterator[Diagnostic]:
    annotations, path = item.annotations, item.annotations_path
    levels = [name for name in (labels.SEGMENT_REQUIRED, labels.SEGMENT_PREFERRED) if name in annotations]
    others = [name for name in (*levels, labels.POD_INDEX_LABEL) if name in annotations]
    if labels.SEGMENT_SIZE in annotations:
        if item.segments is not None and not levels:
            message = f"the segments of {item.type.name} have a size and no level, so nothing places them"
            place = workload.declared.origin.locate((*path, labels.SEGMENT_SIZE), key=True)
            yield Diagnostic(SEGMENT_INCOMPLETE, message, place, hint=f"Add {labels.SEGMENT_REQUIRED}.")
    elif others and item.segments is None and item.type.name != LEADER:
        message = f"{others[0]} is not read without {labels.SEGMENT_SIZE}"
        place = workload.declared.origin.locate((*path, others[0]), key=True)
        yield Diagnostic(SEGMENT_INCOMPLETE, message, place, hint=f"Add {labels.SEGMENT_SIZE}.")


def _unsupported(workload: FleetWorkload, item: FleetReplicas) -> Iterator[Diagnostic]:
    release = workload.pool.backend.release
    if workload.kai_segments or workload.is_owned or release is None:
        return
    if release.has(Feature.SEGMENTS):
        kinds = " and ".join(SEGMENTED_KINDS)
        message = f"KAI {release.version} makes segments of {kinds} only; this {workload.kind} is placed without"
    else:
        first = kai.first_with(Feature.SEGMENTS)
        message = f"KAI {release.version} makes no segments; the first release that does is {first}"
    place = workload.declared.origin.locate(_size_path(item), key=True)
    shown = release.has(Feature.SUBGROUP_TREE)
    preview = "The preview shows what would be made" if shown else "The preview leaves them out"
    hint = f"{preview}; the pods run in any case."
    yield Diagnostic(SEGMENT_UNSUPPORTED, message, place, hint=hint)


def _unsupported_placement(workload: FleetWorkload, item: FleetReplicas) -> Iterator[Diagnostic]:
    if workload.is_owned or workload.kind in KAI_SUBGROUP_KINDS or len(workload.replicas) < 2:
        return
    if not workload.pool.backend.has(Feature.SUBGROUP_TREE):
        return  # check.versions says it
    for asked in item.placement.asked if item.placement else ():
        message = f"KAI makes no SubGroup of {item.type.name} in a {workload.kind}, so its placement is not kept"
        place = workload.declared.origin.locate(asked.path, key=True)
        hint = "Place the whole workload, or add the label kubectl-tas/podgroup: owned."
        yield Diagnostic(PLACEMENT_UNSUPPORTED, message, place, hint=hint)


def _levels(workload: FleetWorkload, item: FleetReplicas, segments: Placement) -> Iterator[Diagnostic]:
    """Levels of segments against what their replica type, or else the workload, requires."""
    above = item.placement if item.placement and item.placement.required else workload.placement
    if above is None or above.required is None or above.known is None or above.topology != segments.topology:
        return
    levels = above.known.levels
    for asked in segments.asked:
        if levels.index(asked.level) <= levels.index(above.required.level):
            message = f'segments in one "{asked.written}" say nothing: all pods are in one "{above.required.written}"'
            finer = [level.key for level in levels[levels.index(above.required.level) + 1 :]]
            hint = f"Use {' or '.join(finer)}." if finer else "No level is finer; leave the segments out."
            yield Diagnostic(SEGMENT_LEVEL, message, workload.declared.at(*asked.path), hint=hint)


def _elastic(workload: FleetWorkload, item: FleetReplicas) -> Iterator[Diagnostic]:
    """Pods beyond the minimum that make an elastic segment, on a release that cannot say 0."""
    backend, size = workload.pool.backend, item.segments.size if item.segments else item.type.replicas
    if not backend.has(Feature.SEGMENTS) or backend.has(Feature.ZERO_MIN_MEMBER) or size < 1:
        return
    mandatory = -(-item.type.minimum // size) * size
    is_part = item.segments is not None or (workload.has_sub_groups and item.type.name != WORKERS)
    if is_part and mandatory < item.type.indices:
        first, version = kai.first_with(Feature.ZERO_MIN_MEMBER), backend.release.version if backend.release else ""
        message = (
            f"{item.type.indices - mandatory} of {item.type.indices} pods of {item.type.name} are elastic, "
            f"which KAI {version} cannot express; {first} can"
        )
        place = workload.declared.origin.locate(workload.shape.minimum_path or item.type.path, key=True)
        hint = "Update KAI there, or raise the minimum to all replicas."
        yield Diagnostic(SEGMENT_ELASTIC, message, place, hint=hint)
