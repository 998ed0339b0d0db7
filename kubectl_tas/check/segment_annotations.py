"""Checks segments of workloads: valid sizes, useful levels, and support by the KAI release."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_tas import kinds
from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Waiving
from kubectl_tas.base.words import within
from kubectl_tas.facts import kai
from kubectl_tas.facts.kai import Feature
from kubectl_tas.gangs import podgrouper
from kubectl_tas.gangs.podgrouper import makes_segments, never_runs, row
from kubectl_tas.gangs.segment_cuts import waited_for
from kubectl_tas.gangs.workload_gang import part_placement, whole_placement
from kubectl_tas.kinds.grouping import CutWorkers
from kubectl_tas.model import labels
from kubectl_tas.model.base import QUALIFIED_NAME
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import MAX_SEGMENTS, FleetWorkload
from kubectl_tas.resolve.placement import Ignored, Placement, ReplicaType, segment_sizes

SEGMENT_VALUE = Rule.error(
    "segment-value",
    "The size of segments, or the label of a pod's index, cannot be used.",
    "The size is a whole number from 1 to the number of replicas, in quotes like every annotation. A "
    "subGroupSize must divide the pods or the workers of a group. KAI takes the size from subGroupSize, or else from "
    "the annotation of the workload, or else from workerTemplate's. The index label is a label key.",
)
SEGMENT_NEVER_RUNS = Rule.error(
    "segment-never-runs",
    "KAI makes no PodGroup of these segments, or one that never runs.",
    "Up to 0.17.0 KAI refuses segments of one pod, and segments of workers that wait for their leader (startupPolicy: "
    "LeaderReady). If one segment has all workers, KAI waits for one pod more than exists. A subGroupPolicy alone has "
    "these effects, without any annotation. The message says what works instead.",
    protects=Waiving.ANYBODY,
)
SEGMENT_POLICY = Rule.info(
    "segment-policy",
    "A subGroupPolicy divides the groups of a workload, but KAI does not place the parts.",
    "The operator labels the pods by that policy, and KAI makes segments of it, as the preview shows. Without a "
    "level for segments on workerTemplate, nothing places them. If you need no placement, nothing is wrong.",
)
SEGMENT_IGNORED = Rule.warning(
    "segment-ignored",
    "Annotations about segments are ignored.",
    "Segments need a topology, an index on every pod, and annotations on the pod template. The message says "
    "which of them is missing.",
)
SEGMENT_INCOMPLETE = Rule.warning(
    "segment-incomplete",
    "Segments have a size and no level, or a level and no size.",
    "A size alone divides pods without placing them, and for a job that can run with fewer pods KAI then waits for "
    "whole segments. A level alone does nothing. Add the other annotation.",
)
SEGMENT_UNSUPPORTED = Rule.warning(
    "segment-unsupported",
    "The backend's KAI release makes no segments of this kind.",
    "The preview shows the segments, but this release places the pods without them: KAI divides the workers of "
    "some kinds, from 0.13 on. Nothing else of the workload changes.",
)
SEGMENT_ELASTIC = Rule.warning(
    "segment-elastic",
    "The backend's KAI release waits for more pods than a workload needs.",
    "From 0.16.7 on, KAI starts work without the segments beyond its minimum; before, it waits for all of them. Before "
    "0.15, KAI counts one pod for a SubGroup that needs none. Update KAI, or raise the minimum to all replicas.",
)
SEGMENT_LEVEL = Rule.warning(
    "segment-level",
    "The level of segments is not finer than that of the workload.",
    "All pods are within one such domain anyway, so the segments change nothing. Use a finer level for them.",
)
SEGMENT_COARSER = Rule.error(
    "segment-coarser",
    "Segments require a coarser level than the workload.",
    "KAI looks for a domain of that level within one of the finer level, finds none, and never places the pods. "
    "Require a finer level for the segments, or a coarser one for the workload.",
    protects=Waiving.ANYBODY,
)
SEGMENT_DIFFERS = Rule.error(
    "segment-differs",
    "Two pod templates of a workload differ about the same segments.",
    "KAI reads the annotations of the pod that it handles, so the PodGroup changes with every pod, and segments lose "
    "their levels in turn. Write the annotations on the template of the workers alone.",
    protects=Waiving.ANYBODY,
)
SEGMENT_PREVIEW = Rule.info(
    "segment-preview",
    "The segments of a workload are too many for a preview.",
    "Thousands of SubGroups would hide what a reviewer looks for. `render` still writes the workload itself.",
)


def check_segment_sizes(workload: FleetWorkload, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks every replica type whose template configures segments, and kinds that divide their pods themselves."""
    for template in workload.templates:
        if template.template is not None and (template.is_divided or not workload.declared.spec.page.gang.divided):
            is_read = template.segments is not None or template.ignored is None
            sizes = [*_own_division(workload, template), *(_sizes(workload, template) if is_read else ())]
            # Checks the name of the index label. If KAI makes the segments itself, see `_index` instead.
            label = template.annotations.get(labels.POD_INDEX_LABEL)
            if label is not None and not makes_segments(workload, template) and not re.fullmatch(QUALIFIED_NAME, label):
                message = f'{labels.POD_INDEX_LABEL} must be a label such as {labels.JOB_INDEX}, not "{label}"'
                location = workload.declared.at(*template.annotations_path, labels.POD_INDEX_LABEL)
                yield Diagnostic(SEGMENT_VALUE, message, location, hint="Name the label that holds the pod's index.")
            yield from sizes or _made(workload, template)


def _own_division(workload: FleetWorkload, replica_type: ReplicaType) -> Iterator[Diagnostic]:
    """Checks a subGroupPolicy as LeaderWorkerSet's own webhook does."""
    division = workload.declared.spec.own_division
    if division is None or division.size is None or not replica_type.is_divided:
        return
    location, size = workload.declared.at(*division.path), division.size
    pods, name = replica_type.replicas + 1, division.path[-1]
    if not 1 <= size <= pods:
        message = f"{name} must be from 1 to {pods}, the pods of a group, not {size}"
        yield Diagnostic(SEGMENT_VALUE, message, location, hint=within(size, pods))
    elif replica_type.replicas % size and (division.leader_excluded or pods % size):
        paths_of_division = (
            f"{replica_type.replicas} workers"
            if division.leader_excluded
            else f"{pods} pods or {replica_type.replicas} workers"
        )
        message = f"{name} {size} does not divide the {paths_of_division} of a group"
        listed = CutWorkers(replica_type.replicas, size, division.leader_excluded, leader_first=False).listed
        hint = f"Use {listed}." if listed else f"Remove {division.path[-2]}."
        yield Diagnostic(SEGMENT_VALUE, message, location, hint=hint)


def _made(workload: FleetWorkload, replica_type: ReplicaType) -> Iterator[Diagnostic]:
    """Reports errors in segments with a valid size that KAI makes."""
    reason_and_hint = never_runs(workload, replica_type)
    if reason_and_hint is None or replica_type.segments is None:
        # Segments that KAI makes because the kind divides its pods, but that nothing places.
        division, segments = workload.declared.spec.own_division, replica_type.segments
        is_unplaced = segments is not None and segments.placement is None and not replica_type.ignored
        is_by_kind = segments is not None and division is not None and segments.size_path == division.path
        if division is not None and is_unplaced and is_by_kind and makes_segments(workload, replica_type):
            message = f"KAI makes segments by this {division.path[-2]}, and nothing places them"
            hint = f"Add {labels.SEGMENT_REQUIRED} to {replica_type.path[-1]} to place each."
            yield Diagnostic(SEGMENT_POLICY, message, workload.declared.at(*division.path), hint=hint)
    else:
        reason, hint = reason_and_hint
        location = workload.declared.at(*replica_type.segments.size_path)
        yield Diagnostic(SEGMENT_NEVER_RUNS, f"the pods never run: {reason}", location, hint=hint)


def _sizes(workload: FleetWorkload, replica_type: ReplicaType) -> Iterator[Diagnostic]:
    """Checks that the sizes in annotations are valid and equal."""
    most, sizes, division = _pods(workload, replica_type), segment_sizes(workload.declared.spec, replica_type), None
    if workload.declared.spec.own_division is not None:
        division = workload.declared.spec.own_division.path
    for size in sizes:
        location, first_size = workload.declared.at(*size.path), sizes[0]
        if size.path == division:
            continue
        if size.pods is None:
            message = f'{labels.SEGMENT_SIZE} must be a whole number from 1, not "{size.text}"'
            yield Diagnostic(SEGMENT_VALUE, message, location, hint=within(0, most))
        elif size.pods > most > 0:
            message = f"a segment of {size.pods} pods is larger than the {_pods_of(workload, replica_type)}"
            hint = (
                within(size.pods, most)
                if replica_type.replicas
                else "Remove the annotation, or raise the number of pods."
            )
            counted = (*replica_type.annotations_path[:-3], "replicas")
            if workload.declared.spec.page.pod_rules.by_type and workload.declared.origin.value(counted) is None:
                hint = "Write its replicas, which are 1 if left out, or remove the annotation."
            yield Diagnostic(SEGMENT_VALUE, message, location, hint=hint)
        elif size.text != first_size.text:
            owner = f"{first_size.path[-1]} of this {workload.kind} is {first_size.text}, which precedes"
            message = f"{labels.SEGMENT_SIZE} is {size.text} here, but {owner}"
            yield Diagnostic(SEGMENT_VALUE, message, location, hint="Remove the annotation, or write the same size.")


def _pods(workload: FleetWorkload, replica_type: ReplicaType) -> int:
    """Returns the maximum number of pods in a segment. The first segment may include the leader."""
    division = workload.declared.spec.own_division
    leads = replica_type.is_divided and row(workload).leads_segments
    return replica_type.replicas + int(leads and not (division and division.leader_excluded))


def _pods_of(workload: FleetWorkload, replica_type: ReplicaType) -> str:
    """Returns words for the pods that a segment is part of."""
    pods = _pods(workload, replica_type)
    if pods > replica_type.replicas:
        return f"{pods} pod{'' if pods == 1 else 's'} of a group"
    if replica_type.indices > replica_type.replicas:
        return f"{pods} pods of {replica_type.name} that run at a time"
    return f"{pods} replica{'' if pods == 1 else 's'} of {replica_type.name}"


def check_segments(workload: FleetWorkload, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks every workload that asks for segments."""
    # Segment annotations on a workload. KAI reads most of them only on pod templates.
    for name in labels.SEGMENT_ANNOTATIONS:
        is_read = name == labels.SEGMENT_SIZE and podgrouper.row(workload).reads_size
        if not is_read and name in workload.declared.spec.metadata.annotations:
            message = f"{name} is ignored on the workload: segments belong to the pods of one template"
            location = workload.declared.at_key("metadata", "annotations", name)
            yield Diagnostic(SEGMENT_IGNORED, message, location, hint=podgrouper.row(workload).segment_template)
    divided = next((replica_type for replica_type in workload.replicas if replica_type.is_divided), None)
    differing = [d for t in workload.replicas if divided for d in _differs(workload, t, divided)]
    yield from differing
    if not workload.lists_segments:
        counts = " and ".join(f"{t.segment_count} segments of {t.name}" for t in workload.replicas if t.segments)
        message = f"no preview is written: {counts}; at most {MAX_SEGMENTS} are previewed"
        largest = max(workload.replicas, key=lambda item: item.segment_count)
        yield Diagnostic(SEGMENT_PREVIEW, message, _size_place(workload, largest))
    for replica_type in workload.templates:
        is_copy = (
            divided is not None and replica_type is not divided and (differing or replica_type.path == divided.path)
        )
        if replica_type.template is not None and not is_copy:
            asking = next((name for name in labels.SEGMENT_ANNOTATIONS if name in replica_type.annotations), None)
            if replica_type.ignored and asking is not None:
                reason, hint = _why(workload, replica_type.ignored)
                ignored_annotations = "the levels of the segments" if replica_type.segments else "the segments"
                also = "; KAI divides the pods anyway" if replica_type.segments else ""
                message = f"{ignored_annotations} of {replica_type.name} are ignored: {reason}{also}"
                yield Diagnostic(
                    SEGMENT_IGNORED, message, workload.declared.at(*replica_type.annotations_path, asking), hint=hint
                )
            yield from _incomplete(workload, replica_type)
            label, name = replica_type.annotations.get(labels.POD_INDEX_LABEL), labels.POD_INDEX_LABEL
            if replica_type.segments and label not in (None, replica_type.segments.index_label):
                message = (
                    f"{name} is ignored: of a {workload.kind} KAI reads the label {replica_type.segments.index_label}"
                )
                location = workload.declared.at(*replica_type.annotations_path, name)
                yield Diagnostic(SEGMENT_IGNORED, message, location, hint="Remove it.")
    minimums, needed = podgrouper.minimums(workload), podgrouper.needed(workload)
    for replica_type, minimum, waited in zip(workload.replicas, minimums, needed, strict=True):
        if replica_type.segments is not None:
            yield from _unsupported(workload, replica_type)
            if replica_type.segments.placement is not None:
                yield from _levels(workload, replica_type, replica_type.segments.placement)
        yield from _elastic(workload, replica_type, minimum, waited)


def _differs(workload: FleetWorkload, replica_type: ReplicaType, divided: ReplicaType) -> Iterator[Diagnostic]:
    """Reports templates that differ: KAI reads the current pod's first (pytorch_grouper.go and lws_grouper.go)."""
    size = () if podgrouper.row(workload).leads_segments else (labels.SEGMENT_SIZE,)
    is_made = divided.segments or any(name in replica_type.annotations for name in size)
    if replica_type.path == divided.path or not (is_made and podgrouper.makes_segments(workload, divided)):
        return
    for name in (*size, labels.SEGMENT_REQUIRED, labels.SEGMENT_PREFERRED, labels.TOPOLOGY):
        written_value, divided_value = replica_type.annotations.get(name), divided.annotations.get(name)
        if written_value and written_value not in _same(divided, name):
            there = f'"{divided_value}"' if divided_value else "missing"
            message = (
                f'{name} is "{written_value}" for {replica_type.name} and {there} for {divided.name}: '
                "KAI takes it from either"
            )
            location = workload.declared.at_key(*replica_type.annotations_path, name)
            yield Diagnostic(SEGMENT_DIFFERS, message, location, hint=f"Write it for {divided.name} alone.")


def _same(divided: ReplicaType, name: str) -> tuple[str, ...]:
    """Returns the values that mean the same as an annotation of the divided pods."""
    placement = divided.segments.placement if divided.segments else None
    divided_annotations = divided.annotations.get(name)
    if name == labels.TOPOLOGY and placement is not None:
        return placement.topology, placement.fleet_topology.name if placement.fleet_topology else placement.topology
    for asked_level in placement.asked if placement else ():
        if asked_level.annotation == name:
            return asked_level.level.key, asked_level.level.label
    return (divided_annotations,) if divided_annotations else ()


def _why(workload: FleetWorkload, ignored: Ignored) -> tuple[str, str]:
    """Returns why KAI ignores annotations about segments, and what to do instead."""
    kind, pool, row = workload.kind, workload.pool, podgrouper.row(workload)
    match ignored:
        case Ignored.NO_KAI:
            reason = f"backend {pool.backend.name} has no KAI Scheduler"
            return reason, "Remove them, or choose a pool whose backend runs KAI."
        case Ignored.NOT_IN_GANG:
            return "its pod is no part of the gang", "Remove them."
        case Ignored.NOT_DIVIDED:
            return f"KAI makes segments only of the workers of a {kind}", row.segment_template
        case Ignored.NO_INDEX:
            reason = row.no_index or f"kubectl-tas knows no label with the index of the pods of a {kind}"
            return reason, f"Name the label that holds a pod's index with {labels.POD_INDEX_LABEL}."
        case Ignored.NO_TOPOLOGY:
            hint = f"Add {labels.SEGMENT_REQUIRED}, or name the topology with {labels.TOPOLOGY}."
            if pool.topology is None:
                hint = f"Give pool {pool.name} a topology, or name one with {labels.TOPOLOGY}."
            return "they name no kai.scheduler/topology", hint


def _size_place(workload: FleetWorkload, replica_type: ReplicaType) -> Location | None:
    return workload.declared.at_key(*replica_type.segments.size_path) if replica_type.segments else None


def _incomplete(workload: FleetWorkload, replica_type: ReplicaType) -> Iterator[Diagnostic]:
    annotations, path = replica_type.annotations, replica_type.annotations_path
    other_annotations = [name for name in labels.SEGMENT_ANNOTATIONS if name in annotations]
    if replica_type.segments is not None:
        division = workload.declared.spec.own_division
        is_own = division is not None and replica_type.segments.size_path == division.path
        if replica_type.segments.placement is None and not (replica_type.ignored or is_own):
            message = (
                f"the segments of {replica_type.name} have a size and no level, so nothing "
                f"places them{_whole(workload)}"
            )
            hint = f"Add {labels.SEGMENT_REQUIRED}, or remove {labels.SEGMENT_SIZE}."
            yield Diagnostic(SEGMENT_INCOMPLETE, message, _size_place(workload, replica_type), hint=hint)
    elif other_annotations and labels.SEGMENT_SIZE not in annotations and not replica_type.ignored:
        message = f"{other_annotations[0]} is not read without {labels.SEGMENT_SIZE}"
        location = workload.declared.at_key(*path, other_annotations[0])
        yield Diagnostic(SEGMENT_INCOMPLETE, message, location, hint=f"Add {labels.SEGMENT_SIZE}.")


def _whole(workload: FleetWorkload) -> str:
    """Returns words that KAI waits for whole segments, if these have more pods than the workload needs."""
    minimum_pods, waited = sum(podgrouper.minimums(workload)), sum(podgrouper.needed(workload))
    return f", but KAI waits for whole ones: {waited} pods, not {minimum_pods}" if waited > minimum_pods else ""


def _unsupported(workload: FleetWorkload, replica_type: ReplicaType) -> Iterator[Diagnostic]:
    release = workload.pool.backend.release
    if podgrouper.makes_segments(workload, replica_type) or workload.is_owned or release is None:
        return
    if release.has(Feature.SEGMENTS):
        divided = " and ".join(kinds.divided_kinds())
        message = f"KAI {release.version} makes segments of {divided} only; this {workload.kind} is placed without"
    else:
        first_release = kai.first_with(Feature.SEGMENTS)
        message = f"KAI {release.version} makes no segments; the first release that does is {first_release}"
    shown = release.has(Feature.SUBGROUP_TREE)
    preview = "The preview shows what would be made" if shown else "The preview leaves them out"
    hint = f"{preview}; the pods run in any case."
    yield Diagnostic(SEGMENT_UNSUPPORTED, message, _size_place(workload, replica_type), hint=hint)


def _levels(workload: FleetWorkload, replica_type: ReplicaType, segments: Placement) -> Iterator[Diagnostic]:
    """Checks levels of segments against the level that their replica type or the workload requires."""
    own_placement = part_placement(workload, replica_type) if podgrouper.has_sub_group(workload, replica_type) else None
    above = own_placement if own_placement and own_placement.required else whole_placement(workload)[0]
    if above is None or above.required is None or above.fleet_topology is None or above.topology != segments.topology:
        return
    levels = above.fleet_topology.levels
    never = workload.is_owned or podgrouper.makes_segments(workload, replica_type)
    for asked_level in segments.asked:
        location = workload.declared.at(*asked_level.path)
        is_coarser = levels.index(asked_level.level) < levels.index(above.required.level)
        if is_coarser and asked_level is segments.required and never:
            message = f'no "{asked_level.text}" is within one "{above.required.text}", so the pods never run'
            related = (Related("required here", workload.declared.at(*above.required.path)),)
            hint = f'Require "{above.required.text}" or finer here, or "{asked_level.text}" or coarser there.'
            yield Diagnostic(SEGMENT_COARSER, message, location, related, hint=hint)
        elif levels.index(asked_level.level) <= levels.index(above.required.level):
            message = (
                f'segments in one "{asked_level.text}" have no effect: all pods are in one "{above.required.text}"'
            )
            finer = above.fleet_topology.finer_keys(above.required.level)
            hint = f"Use {' or '.join(finer)}." if finer else "No level is finer; leave the segments out."
            yield Diagnostic(SEGMENT_LEVEL, message, location, hint=hint)


def _elastic(workload: FleetWorkload, replica_type: ReplicaType, minimum: int, waited: int) -> Iterator[Diagnostic]:
    """Reports pods that the release of KAI waits for, but a newer release does not."""
    release = workload.pool.backend.release
    if release is None or not podgrouper.makes_sub_groups(workload) or podgrouper.is_refused(workload, replica_type):
        return
    feature, enough = Feature.ZERO_MIN_MEMBER, minimum
    if replica_type.segments and podgrouper.makes_segments(workload, replica_type):
        feature = Feature.ELASTIC_SEGMENTS
        enough = waited_for(replica_type.indices, minimum, replica_type.segments.size, least=0)
    if waited > enough:
        first_release = kai.first_with(feature, release)
        message = (
            f"KAI {release.version} waits for {waited} of {replica_type.replicas} pods of "
            f"{replica_type.name}, {first_release} for {enough}"
        )
        location = workload.declared.at_key(*(podgrouper.minimum_path(workload) or replica_type.path))
        hint = f"Update KAI there to {first_release} or later, or raise the minimum to all replicas."
        yield Diagnostic(SEGMENT_ELASTIC, message, location, hint=hint)
