"""Segments of workloads: they say something, the release makes them, and nothing is ignored without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubectl_tas import kai
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity
from kubectl_tas.gangs import podgrouper
from kubectl_tas.kai import Feature
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.workload import WORKERS, LeaderWorkerSet
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.placement import Ignored, Placement, ReplicaType
from kubectl_tas.resolve.workload import MAX_SEGMENTS, FleetWorkload

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


_POLICY_SIZE = ("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize")


def check_segments(fleet: Fleet) -> Iterator[Diagnostic]:
    """Every workload that asks for segments."""
    for workload in fleet.workloads:
        yield from _on_root(workload)
        yield from _leader(workload)
        yield from _preview(workload)
        for item in workload.templates:
            if item.template is not None and not item.is_leader:
                yield from _ignored(workload, item)
                yield from _incomplete(workload, item)
        for item, minimum in zip(workload.replicas, podgrouper.minimums(workload), strict=True):
            if item.segments is not None:
                yield from _unsupported(workload, item)
                yield from _levels(workload, item, item.segments.placement)
            yield from _elastic(workload, item, minimum)


def _on_root(workload: FleetWorkload) -> Iterator[Diagnostic]:
    """KAI reads annotations about segments on pod templates alone."""
    for name in labels.SEGMENT_ANNOTATIONS:
        if name in workload.declared.spec.metadata.annotations:
            message = f"{name} is ignored on the workload: segments belong to the pods of one template"
            place = workload.declared.origin.locate(("metadata", "annotations", name), key=True)
            yield Diagnostic(SEGMENT_IGNORED, message, place, hint=podgrouper.row(workload).segment_template)


def _leader(workload: FleetWorkload) -> Iterator[Diagnostic]:
    """What the templates of a LeaderWorkerSet say about segments that there are not."""
    spec = workload.declared.spec
    if not isinstance(spec, LeaderWorkerSet):
        return
    group, path = spec.spec.leaderWorkerTemplate, ("spec", "leaderWorkerTemplate")
    found = []
    if group.leaderTemplate is not None:
        message = "the leader is no replica type that is divided; segments are read on workerTemplate"
        found.append(("leaderTemplate", group.leaderTemplate, message, "Move the annotations to workerTemplate."))
    if group.size == 1:
        message = "a group of size 1 has a leader and no workers, so there is nothing to divide"
        found.append(("workerTemplate", group.workerTemplate, message, "Raise size, or remove the annotations."))
    for name, template, message, hint in found:
        written = _asking(template.metadata.annotations)
        if written is not None:
            place = workload.declared.at(*path, name, "metadata", "annotations", written)
            yield Diagnostic(SEGMENT_IGNORED, message, place, hint=hint)


def _asking(annotations: Mapping[str, str]) -> str | None:
    """The first annotation that asks for segments."""
    return next((name for name in labels.SEGMENT_ANNOTATIONS if name in annotations), None)


def _ignored(workload: FleetWorkload, item: ReplicaType) -> Iterator[Diagnostic]:
    written = _asking(item.annotations)
    if item.ignored and written is not None:
        message = f"the segments of {item.name} are ignored: {_why(workload, item.ignored)}"
        place = workload.declared.at(*item.annotations_path, written)
        yield Diagnostic(SEGMENT_IGNORED, message, place, hint=_remedy(workload, item.ignored))


def _why(workload: FleetWorkload, ignored: Ignored) -> str:
    match ignored:
        case Ignored.NO_KAI:
            return f"backend {workload.pool.backend.name} has no KAI Scheduler"
        case Ignored.NO_TOPOLOGY:
            return "there is no kai.scheduler/topology"
        case Ignored.NOT_IN_GANG:
            return "its pod is no part of the gang"
        case Ignored.NO_INDEX:
            unknown = f"they are not read on a {workload.kind}, whose pods bear no index that is known"
            return podgrouper.row(workload).no_index or unknown


def _remedy(workload: FleetWorkload, ignored: Ignored) -> str:
    match ignored:
        case Ignored.NO_KAI:
            return "Remove them, or choose a pool whose backend runs KAI."
        case Ignored.NOT_IN_GANG:
            return "Remove them."
        case Ignored.NO_INDEX:
            return f"Name the label that holds a pod's index with {labels.POD_INDEX_LABEL}."
        case Ignored.NO_TOPOLOGY if workload.pool.topology is not None:
            return f"Add {labels.SEGMENT_REQUIRED}, or name the topology with {labels.TOPOLOGY}."
        case Ignored.NO_TOPOLOGY:
            return f"Give pool {workload.pool.name} a topology, or name one with {labels.TOPOLOGY}."


def _preview(workload: FleetWorkload) -> Iterator[Diagnostic]:
    if workload.lists_segments:
        return
    counts = " and ".join(
        f"{item.segment_count} segments of {item.name}" for item in workload.replicas if item.segments
    )
    message = f"no preview is written: {counts}; at most {MAX_SEGMENTS} are previewed"
    largest = max(workload.replicas, key=lambda item: item.segment_count)
    yield Diagnostic(SEGMENT_PREVIEW, message, workload.declared.origin.locate(_size_path(largest), key=True))


def _size_path(item: ReplicaType) -> KeyPath:
    """Where the size of its segments stands."""
    if labels.SEGMENT_SIZE in item.annotations:
        return (*item.annotations_path, labels.SEGMENT_SIZE)
    return _POLICY_SIZE


def _incomplete(workload: FleetWorkload, item: ReplicaType) -> Iterator[Diagnostic]:
    annotations, path = item.annotations, item.annotations_path
    levels = [name for name in (labels.SEGMENT_REQUIRED, labels.SEGMENT_PREFERRED) if name in annotations]
    others = [name for name in (*levels, labels.POD_INDEX_LABEL) if name in annotations]
    if labels.SEGMENT_SIZE in annotations:
        if item.segments is not None and not levels:
            message = f"the segments of {item.name} have a size and no level, so nothing places them"
            place = workload.declared.origin.locate((*path, labels.SEGMENT_SIZE), key=True)
            yield Diagnostic(SEGMENT_INCOMPLETE, message, place, hint=f"Add {labels.SEGMENT_REQUIRED}.")
    elif others and item.segments is None and not item.ignored:
        message = f"{others[0]} is not read without {labels.SEGMENT_SIZE}"
        place = workload.declared.origin.locate((*path, others[0]), key=True)
        yield Diagnostic(SEGMENT_INCOMPLETE, message, place, hint=f"Add {labels.SEGMENT_SIZE}.")


def _unsupported(workload: FleetWorkload, item: ReplicaType) -> Iterator[Diagnostic]:
    release = workload.pool.backend.release
    if podgrouper.makes_segments(workload) or workload.is_owned or release is None:
        return
    if release.has(Feature.SEGMENTS):
        kinds = " and ".join(podgrouper.SEGMENTED_KINDS)
        message = f"KAI {release.version} makes segments of {kinds} only; this {workload.kind} is placed without"
    else:
        first = kai.first_with(Feature.SEGMENTS)
        message = f"KAI {release.version} makes no segments; the first release that does is {first}"
    place = workload.declared.origin.locate(_size_path(item), key=True)
    shown = release.has(Feature.SUBGROUP_TREE)
    preview = "The preview shows what would be made" if shown else "The preview leaves them out"
    hint = f"{preview}; the pods run in any case."
    yield Diagnostic(SEGMENT_UNSUPPORTED, message, place, hint=hint)


def _levels(workload: FleetWorkload, item: ReplicaType, segments: Placement) -> Iterator[Diagnostic]:
    """Levels of segments against what their replica type, or else the workload, requires."""
    own = item.placement if podgrouper.has_sub_group(workload, item) else None
    above = own if own and own.required else workload.placement
    if above is None or above.required is None or above.known is None or above.topology != segments.topology:
        return
    levels = above.known.levels
    for asked in segments.asked:
        if levels.index(asked.level) <= levels.index(above.required.level):
            message = f'segments in one "{asked.written}" say nothing: all pods are in one "{above.required.written}"'
            finer = above.known.finer_keys(above.required.level)
            hint = f"Use {' or '.join(finer)}." if finer else "No level is finer; leave the segments out."
            yield Diagnostic(SEGMENT_LEVEL, message, workload.declared.at(*asked.path), hint=hint)


def _elastic(workload: FleetWorkload, item: ReplicaType, minimum: int) -> Iterator[Diagnostic]:
    """Pods beyond the minimum that make an elastic segment, on a release that cannot say 0."""
    backend, size = workload.pool.backend, item.segments.size if item.segments else item.replicas
    if not backend.has(Feature.SEGMENTS) or backend.has(Feature.ZERO_MIN_MEMBER) or size < 1:
        return
    mandatory = -(-minimum // size) * size
    is_part = item.segments is not None or (podgrouper.has_sub_groups(workload) and item.name != WORKERS)
    if is_part and mandatory < item.indices:
        first, version = kai.first_with(Feature.ZERO_MIN_MEMBER), backend.release.version if backend.release else ""
        message = (
            f"{item.indices - mandatory} of {item.indices} pods of {item.name} are elastic, "
            f"which KAI {version} cannot express; {first} can"
        )
        place = workload.declared.origin.locate(podgrouper.minimum_path(workload) or item.path, key=True)
        hint = "Update KAI there, or raise the minimum to all replicas."
        yield Diagnostic(SEGMENT_ELASTIC, message, place, hint=hint)
