"""Says what KAI's podgrouper makes of a workload, by the page of its kind.

Source: KAI's podgrouper, package pkg/podgrouper/podgrouper/plugins, of the releases in the version table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kubectl_tas.facts.kai import Feature
from kubectl_tas.gangs.segment_cuts import waited_for, worker_segment
from kubectl_tas.kinds.grouping import ANNOTATIONS, CutWorkers, Gathered, Grouping, one_pod
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.labels import MAX_NAME
from kubectl_tas.report.text import plural
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet_workload import MAX_SEGMENTS, FleetWorkload, fact
from kubectl_tas.resolve.placement import ReplicaType

if TYPE_CHECKING:
    from kubectl_tas.kinds.page import Wait


@fact
def row(workload: FleetWorkload) -> Grouping:
    """Returns what KAI makes of a workload's kind, with the annotations of the workload."""
    spec = workload.declared.spec
    gang = spec.page.gang
    annotation, values = gang.each_where
    if annotation and spec.metadata.annotations.get(annotation) in values:
        return replace(gang, one_pod_group=False, unpredicted="")
    return gang


@fact
def places_at(workload: FleetWorkload) -> KeyPath:
    """Returns the path of the annotations that KAI reads for the gang as a whole; empty if it reads none."""
    placed_at = row(workload).placed_at
    return placed_at if placed_at != ANNOTATIONS or may_be_read(workload) else ()


@fact
def may_be_read(workload: FleetWorkload) -> bool:
    """Whether KAI may read the object itself, or this tool makes its PodGroup."""
    readable = row(workload).may_be_read
    is_read = workload.pool.backend.has(readable) if isinstance(readable, Feature) else readable
    return is_read or not is_made_by_kai(workload)


def copies_waits(workload: FleetWorkload) -> bool:
    """Whether ``render`` copies how long the gang waits to the pods. KAI's chart gives no right to declared kinds."""
    return is_made_by_kai(workload) and (workload.declared.spec.page.is_declared or not may_be_read(workload))


@fact
def gathered(workload: FleetWorkload) -> Gathered:
    """Returns a workload as plain data for the functions of its kind's page."""
    document, has = workload.declared.spec.document, workload.pool.backend.has
    return Gathered(document, workload.replicas, has, workload.is_owned, makes_jobs(workload))


def job_minimums(workload: FleetWorkload) -> list[int]:
    """Returns the needed pods of each job, by replicated job, if each job is a SubGroup."""
    return row(workload).job_minimums(gathered(workload))


def needed_jobs(workload: FleetWorkload) -> int:
    """Returns how many replicated jobs a workload needs, if each job is a SubGroup."""
    return row(workload).needed_jobs(gathered(workload))


def is_in_order(workload: FleetWorkload) -> bool:
    """Whether each replica type starts only once the one before it is ready."""
    return row(workload).in_order(workload.declared.spec.document)


@fact
def minimums(workload: FleetWorkload) -> list[int]:
    """Returns the pods of each replica type that are needed before any pod of the gang starts."""
    grouping = row(workload)
    if not workload.is_owned and (grouping.starts_one_by_one or not is_one_pod_group(workload)):
        return one_pod(gathered(workload))
    if grouping.by_karta and (workload.is_owned or workload.pool.backend.has(Feature.KARTA)):
        return workload.declared.spec.least
    return grouping.minimums(gathered(workload))


@fact
def minimum_path(workload: FleetWorkload) -> KeyPath | None:
    """Returns the path in the file of the needed number of pods; None if the file does not say it."""
    grouping = row(workload)
    since = grouping.minimum_since
    is_read = since is None or (not workload.is_owned and workload.pool.backend.has(since))
    return grouping.minimum_path(workload.declared.spec.document) if is_read else None


@fact
def is_one_pod_group(workload: FleetWorkload) -> bool:
    """Whether all pods of a workload are in one PodGroup; otherwise each pod has its own."""
    grouped = row(workload).one_pod_group
    return not is_made_by_kai(workload) or (grouped is not False and missing_gang(workload) is None)


@fact
def missing_gang(workload: FleetWorkload) -> Feature | None:
    """Returns the feature that the release lacks to make one PodGroup of all pods; None if nothing is lacking."""
    feature = row(workload).one_pod_group
    if not isinstance(feature, Feature) or workload.pool.backend.has(feature) or not is_made_by_kai(workload):
        return None
    return feature


def pod_group_name(workload: FleetWorkload) -> str:
    """Returns the name of a workload's PodGroup, or the prefix of the name that the podgrouper gives."""
    if workload.is_owned:
        name = workload.gang or workload.name
        kind = "gang" if workload.gang else workload.kind
        return names.owned_pod_group(name, workload.pool.backend.name, workload.namespace, kind, name)
    if row(workload).named_by[0]:
        return row(workload).named_by[0]
    return "pg" if _is_of_karta(workload) else names.shorten(f"pg-{workload.name}", MAX_NAME)


def _is_of_karta(workload: FleetWorkload) -> bool:
    """Whether KAI names the PodGroup by a Karta (calcPodGroupName of KAI's plugin)."""
    return bool(row(workload).ends_in) and workload.pool.backend.has(Feature.KARTA)


def rest_of_name(workload: FleetWorkload) -> str:
    """Describes what the podgrouper adds to the name of a PodGroup, and for how many PodGroups."""
    spec, each = workload.declared.spec, row(workload).one_each
    if not is_one_pod_group(workload):
        return f"the name of the pod and its UID, one for each of {plural(workload.pods, 'pod')}"
    if row(workload).named_by[1]:
        return row(workload).named_by[1]
    if _is_of_karta(workload):
        return f"the UID and -{row(workload).ends_in}"
    text = f"the UID and -{each}-N, one for each of {workload.copies} replicas" if each else "the UID"
    if row(workload).in_order(spec.document) and len(workload.replicas) < len(spec.pod_sets):
        return f"{text} and -{workload.replicas[0].written}"
    if late := row(workload).late_part(spec.document):
        enough = plural(sum(minimums(workload)) - sum(i.replicas for i in workload.replicas if i.name == late), "pod")
        return f"{text}; until the {late} is made, {enough} {'is' if enough == '1 pod' else 'are'} enough"
    return f"{text}; until the leader is ready, 1 pod is enough" if spec.leader_first else text


def note(workload: FleetWorkload, *, divided: bool) -> str:
    """Returns a one-line note on the gang that is shown for a workload, with its SubGroups if it is ``divided``."""
    name, release = f"{workload.kind} {workload.name}", workload.pool.backend.release
    text = f"What KAI makes of {name}"
    if divided and asks_for_more(workload) and release:
        text = f"What the segment annotations of {name} ask for, and not what KAI {release.version} makes of it"
    return f"{text}; to its name KAI adds {rest_of_name(workload)}"


@fact
def is_made_by_kai(workload: FleetWorkload) -> bool:
    """Whether KAI's podgrouper makes the PodGroup of a workload."""
    return workload.pool.backend.is_kai and not workload.is_owned


def names_its_own(workload: FleetWorkload, replica_type: ReplicaType) -> bool:
    """Whether these pods name their PodGroup themselves, or make KAI's podgrouper skip them."""
    is_named = replica_type.pod_group is not None or skipping(workload, replica_type) is not None
    return is_named and is_made_by_kai(workload)


def skipping(workload: FleetWorkload, replica_type: ReplicaType) -> KeyPath | None:
    """Returns the annotation that makes KAI's podgrouper skip these pods; None if there is no such annotation.

    The podgrouper reads the annotation of pods and of all their owners (pod_controller.go, shouldSkipAnyOwner, 0.15.0
    to 0.17.0). It also skips a Pod without owners that names its PodGroup (isOrphanPodWithPodGroup, 0.5 to 0.17).
    """
    if row(workload).names_its_own and replica_type.pod_group is not None:
        return (*replica_type.annotations_path, labels.POD_GROUP)
    if not workload.pool.backend.has(Feature.SKIP_PODGROUPER):
        return None
    root: KeyPath = ("metadata", "annotations")
    places = [(replica_type.annotations_path, replica_type.annotations)]
    places += [replica_type.job_annotations] if replica_type.job_annotations else []
    places.append((root, workload.declared.spec.metadata.annotations))
    skipping_paths = (path for path, annotations in places if annotations.get(labels.SKIP_PODGROUPER) == "true")
    return next(((*path, labels.SKIP_PODGROUPER) for path in skipping_paths), None)


def is_predicted(workload: FleetWorkload) -> bool:
    """Whether the PodGroup that a workload gets or asks for is known."""
    if any(names_its_own(workload, replica_type) for replica_type in workload.replicas):
        return False
    if workload.is_owned:
        return True
    grouping = row(workload)
    return not (grouping.unpredicted or grouping.templates_elsewhere)


def lists_parts(workload: FleetWorkload) -> bool:
    """Whether the SubGroups of a workload are few enough for people to read."""
    jobs = sum(replica_type.jobs for replica_type in workload.replicas) if makes_jobs(workload) else 0
    return workload.lists_segments and jobs <= MAX_SEGMENTS


def by_pod_group(workload: FleetWorkload) -> tuple[FleetWorkload, ...]:
    """Returns the workload once for each PodGroup with a different shape, with only the pods of that PodGroup. Before
    0.16 a JobSet that starts in order has one PodGroup for each replicated job.
    """
    backend = workload.pool.backend
    if len(workload.replicas) > 1 and not is_one_pod_group(workload):
        return tuple(replace(workload, replicas=(replica_type,)) for replica_type in workload.replicas)
    is_split = is_in_order(workload) and is_made_by_kai(workload)
    if not is_split or workload.is_segmented or backend.has(Feature.JOBSET_SUBGROUPS):
        return (workload,)
    return tuple(replace(workload, replicas=(replica_type,)) for replica_type in workload.replicas) or (workload,)


def makes_segments(workload: FleetWorkload, replica_type: ReplicaType) -> bool:
    """Whether the podgrouper of the backend's release makes the segments of these pods."""
    return replica_type.is_divided and not workload.is_owned and workload.pool.backend.has(Feature.SEGMENTS)


def asks_for_more(workload: FleetWorkload) -> bool:
    """Whether annotations ask for segments that KAI must make, but that the backend's release does not make."""
    types = workload.replicas if is_made_by_kai(workload) else ()
    return any(replica.segments is not None and not makes_segments(workload, replica) for replica in types)


def never_runs(workload: FleetWorkload, replica_type: ReplicaType) -> tuple[str, str] | None:
    """Says why the segments that the podgrouper makes of these pods never run, and what to do instead."""
    if replica_type.segments is None or not makes_segments(workload, replica_type):
        return None
    segments, leader_first = replica_type.segments, workload.declared.spec.leader_first
    cut_workers = CutWorkers(replica_type.replicas, segments.size, segments.leader_excluded, leader_first)
    return row(workload).never_runs(cut_workers)


@fact
def waits(workload: FleetWorkload) -> list[Wait]:
    """Returns what keeps pods from being made that the gang needs before any pod starts; empty if the gang starts."""
    if not workload.is_owned and (not is_made_by_kai(workload) or not is_one_pod_group(workload)):
        return []
    for of_pod_group in by_pod_group(workload):
        view = gathered(of_pod_group)
        waits = list(workload.declared.spec.page.start.waits(view))
        together = [min(pods) for pods in zip(view.counts, *(wait.first_replicas for wait in waits), strict=True)]
        if not _starts(of_pod_group, view, together):
            return [wait for wait in waits if not _starts(of_pod_group, view, wait.first_replicas)] or waits[-1:]
    return []


def _starts(workload: FleetWorkload, view: Gathered, existing_pods: Sequence[int]) -> bool:
    """Whether a gang starts when only the first pods of each replica type exist."""
    if makes_jobs(workload):
        least = [pods.jobs * number for pods, number in zip(view.pods, job_minimums(workload), strict=True)]
        return sum(pods >= number for pods, number in zip(existing_pods, least, strict=True)) >= needed_jobs(workload)
    if makes_sub_groups(workload):
        return all(pods >= number for pods, number in zip(existing_pods, needed(workload), strict=True))
    return sum(existing_pods) >= sum(view.counts if workload.is_owned else minimums(workload))


def is_refused(workload: FleetWorkload, replica_type: ReplicaType) -> bool:
    """Whether KAI's own webhook refuses the PodGroup, because a SubGroup is above segments or below a segment."""
    if replica_type.segments is None or not makes_segments(workload, replica_type):
        return False
    is_flat = row(workload).leads_segments and replica_type.segments.leader_excluded
    return not is_flat and not workload.pool.backend.has(Feature.SEGMENT_PARENTS)


def mandatory(workload: FleetWorkload, replica_type: ReplicaType, minimum: int) -> int:
    """Returns how many first pods have mandatory segments: ``minimum``, or all in releases without elastic ones."""
    is_elastic = not makes_segments(workload, replica_type) or workload.pool.backend.has(Feature.ELASTIC_SEGMENTS)
    return minimum if is_elastic else replica_type.indices


@fact
def makes_sub_groups(workload: FleetWorkload) -> bool:
    """Whether the podgrouper of the backend's release makes a SubGroup of each replica type."""
    feature = row(workload).sub_groups
    return feature is not None and not workload.is_owned and workload.pool.backend.has(feature)


@fact
def makes_jobs(workload: FleetWorkload) -> bool:
    """Whether each job of a workload is a SubGroup."""
    feature = row(workload).sub_groups_of_jobs
    is_kai = is_made_by_kai(workload) and not workload.is_segmented
    return is_kai and feature is not None and workload.pool.backend.has(feature)


def has_sub_groups(workload: FleetWorkload) -> bool:
    """Whether the replica types of a workload are SubGroups of its gang."""
    return workload.is_divided or makes_sub_groups(workload)


def is_part(workload: FleetWorkload, replica_type: ReplicaType) -> bool:
    """Whether a replica type has a SubGroup. KAI makes none without pods, except for PyTorchJob's workers."""
    has_pods = replica_type.replicas > 0 or replica_type.name == row(workload).empty_part
    return has_pods or not is_made_by_kai(workload)


def part_name(workload: FleetWorkload, replica_type: ReplicaType) -> str:
    """Returns the SubGroup of a replica type, as KAI or this tool names it."""
    return row(workload).part_name(replica_type) if is_made_by_kai(workload) else replica_type.name


def has_sub_group(workload: FleetWorkload, replica_type: ReplicaType) -> bool:
    """Whether one SubGroup has all pods of a replica type, and not several segments side by side."""
    segments = replica_type.segments
    if not row(workload).leads_segments or segments is None or not makes_segments(workload, replica_type):
        return True
    workers = replica_type.replicas
    return not segments.leader_excluded and worker_segment(workers, workers, segments.size) == 0


@fact
def needed(workload: FleetWorkload) -> list[int]:
    """Returns the pods of each replica type that KAI waits for; segments that KAI makes count as a whole.

    A SubGroup that needs no pod counts as 1 if the release cannot express 0.
    """
    pod_minimums = minimums(workload)
    if not makes_sub_groups(workload):
        return pod_minimums
    least = 0 if workload.pool.backend.has(Feature.ZERO_MIN_MEMBER) else 1
    return [
        waited_for(
            replica_type.indices, mandatory(workload, replica_type, minimum), replica_type.segments.size, least=least
        )
        if replica_type.segments and makes_segments(workload, replica_type)
        else max(minimum, min(replica_type.replicas, least))
        for replica_type, minimum in zip(workload.replicas, pod_minimums, strict=True)
    ]
