"""Describes what KAI's podgrouper makes of each kind of workload: a table with a row per kind, and functions over it.

Source: KAI's podgrouper, package pkg/podgrouper/podgrouper/plugins, of the releases in the version table. If the
podgrouper makes no SubGroups of a kind, the row has what seed and docs specify; checks say that KAI does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, TypeGuard, cast

from kubectl_tas.gangs.segment_cuts import waited_for, worker_segment
from kubectl_tas.kai import Feature
from kubectl_tas.late import dataclass
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.kindlists import KUBEFLOW, RAY
from kubectl_tas.model.podkinds import PodKind
from kubectl_tas.report.text import plural
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet_workload import MAX_SEGMENTS, FleetWorkload
from kubectl_tas.resolve.placement import ROOT, ReplicaType, Segments, whole_number

if TYPE_CHECKING:
    from kubectl_tas.model.operatorkinds import KubeflowJob, RayWorkload
    from kubectl_tas.model.plain_workload import PlainWorkload
    from kubectl_tas.model.workload_kinds import AnyWorkload

RAY_HEAD = "headgroup"
"""SubGroup of the head of a Ray cluster."""
WORKER = "worker"
"""Replica type of Kubeflow's jobs that may have fewer pods than it asks for."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Row of the table: how KAI's podgrouper groups the pods of one kind."""

    minimums: Callable[[FleetWorkload], list[int]]
    """Number of pods of each replica type that are needed before any pod of the gang starts."""
    minimum_path: Callable[[FleetWorkload], KeyPath | None] = lambda _: None
    """Path in the file of the needed number of pods; None if the file does not say it, or KAI does not read it."""
    starts_one_by_one: bool = False
    """Whether the gang starts with one pod, however many it has, unless this tool makes the pods a gang."""
    one_pod_group: Feature | bool = True
    """Whether all pods are in one PodGroup, or the feature that a release needs for that; else each pod has its own."""
    templates_elsewhere: bool = False
    """Whether the pod templates are in another object, so that the file does not say what the PodGroup will be."""
    unpredicted: str = ""
    """Reason why the file does not say what the PodGroup will be, although the file has the pod templates."""
    named_by: tuple[str, str] = ("", "")
    """Prefix of the PodGroup's name, and what follows in words; empty for pg, the workload's name and a UID."""
    placed_at: KeyPath = ROOT
    """Path of the annotations that place the PodGroup."""
    placed_parts: Feature | None = None
    """Feature that a release needs to read the annotations of each part's template; None if no release reads them."""
    part_name: Callable[[ReplicaType], str] = lambda item: item.name
    """Function that returns the SubGroup of a replica type."""
    replica_types: tuple[str, ...] = ()
    """Replica types without which the podgrouper refuses the job."""
    sub_groups: Feature | None = None
    """Feature that a release needs to make a SubGroup of each replica type; None if no release does."""
    never_runs: Callable[[AnyWorkload, ReplicaType, Segments], tuple[str, str] | None] = lambda *_: None
    """Function that says why the podgrouper's segments of some pods never run, and what to do instead."""
    one_each: str = ""
    """Text behind the UID in the names of the PodGroups, if each copy has its own PodGroup."""
    leads_segments: bool = False
    """Whether the leader is in the first segment, and segments have no SubGroup above."""
    not_owned: str = ""
    """Reason why this tool cannot write the PodGroup; empty if it can."""
    segment_template: str = "Move it to the pod template."
    """Hint for segments that the workload itself asks for."""
    ends_in: str = ""
    """Text behind the UID in the PodGroup's name; if set, the name does not contain the workload's name."""
    no_index: str = ""
    """Condition on which the pods have an index; empty if it is unknown whether they ever have one."""


def _all(workload: FleetWorkload) -> list[int]:
    return [item.replicas for item in workload.replicas]


def _one(workload: FleetWorkload) -> list[int]:
    return [min(1, item.replicas) for item in workload.replicas]


def _batch(workload: FleetWorkload) -> list[int]:
    """Returns 1, since pods start one by one, or the annotation batch-min-member (job_grouper.go)."""
    asked = whole_number(workload.declared.spec.metadata.annotations.get(labels.BATCH_MIN_MEMBER, ""))
    return [min(asked or 1, item.replicas) for item in workload.replicas]


def _batch_path(workload: FleetWorkload) -> KeyPath | None:
    is_asked = labels.BATCH_MIN_MEMBER in workload.declared.spec.metadata.annotations
    return (*ROOT, labels.BATCH_MIN_MEMBER) if is_asked else None


def _ray(workload: FleetWorkload) -> list[int]:
    """Returns the head, and minReplicas or all of each worker group; the submitter comes later (ray_grouper.go)."""
    spec = workload.declared.spec
    assert is_ray(spec)
    groups = spec.cluster.workerGroupSpecs
    needed = [min(group.pods, group.minReplicas * group.numOfHosts) or group.pods for group in groups]
    return [1, *needed, 0][: len(workload.replicas)]


def job_minimums(workload: FleetWorkload) -> list[int]:
    """Returns the needed pods of each job of a JobSet, by replicated job (jobset_grouper.go, from 0.16)."""
    spec = workload.declared.spec
    assert spec.kind == "JobSet"
    jobs = [job.template for job in spec.spec.replicatedJobs]
    asked = [whole_number(job.metadata.annotations.get(labels.BATCH_MIN_MEMBER, "")) for job in jobs]
    return [own or job.spec.wanted for own, job in zip(asked, jobs, strict=True)]


def needed_jobs(workload: FleetWorkload) -> int:
    """Returns how many replicated jobs a JobSet needs; KAI does not wait for jobs that are made in order."""
    spec = workload.declared.spec
    assert spec.kind == "JobSet"
    count = len(workload.replicas)
    asked = whole_number(spec.metadata.annotations.get(labels.BATCH_MIN_MEMBER, ""))
    return min(count, asked or (1 if spec.is_in_order else count))


def _job_set(workload: FleetWorkload) -> list[int]:
    """Returns the needed pods of a JobSet: all of each job from 0.16, one in 0.15, all before that, one before 0.13."""
    spec, backend, types = workload.declared.spec, workload.pool.backend, workload.replicas
    assert spec.kind == "JobSet"
    if workload.is_owned:
        return _all(workload)
    if backend.has(Feature.JOBSET_SUBGROUPS):
        needed = needed_jobs(workload)
        pods = [item.jobs * least for item, least in zip(types, job_minimums(workload), strict=True)]
        return [least if index < needed else 0 for index, least in enumerate(pods)]
    asked = whole_number(spec.metadata.annotations.get(labels.BATCH_MIN_MEMBER, ""))
    waits_for_all = backend.has(Feature.REPLICA_SUBGROUPS) and not backend.has(Feature.STRICT_MIN_MEMBER)
    left = asked if asked and backend.has(Feature.JOB_GANGS) else sum(_all(workload)) if waits_for_all else 1
    if spec.is_in_order:  # a PodGroup for each: what is needed at once is the largest
        pods = [min(left, item.replicas) for item in types]
        return [least if index == pods.index(max(pods)) else 0 for index, least in enumerate(pods)]
    found = []
    for item in types:
        found.append(min(left, item.replicas))
        left -= found[-1]
    return found


def _job_set_path(workload: FleetWorkload) -> KeyPath | None:
    is_read = not workload.is_owned and workload.pool.backend.has(Feature.JOB_GANGS)
    return _batch_path(workload) if is_read else None


def _kubeflow(workload: FleetWorkload) -> list[int]:
    """Returns all pods, or the minimum in the job, shared out among the types: workers come last."""
    spec, types = workload.declared.spec, workload.replicas
    assert is_kubeflow(spec)
    asked, _ = spec.minimum
    if asked is None:
        return [item.replicas for item in types]
    left = max(0, asked)
    shares: dict[str, int] = {}
    for item in sorted(types, key=lambda item: item.name == WORKER):
        shares[item.name] = min(item.replicas, left)
        left -= shares[item.name]
    return [shares[item.name] for item in types]


def _kubeflow_path(workload: FleetWorkload) -> KeyPath | None:
    spec = workload.declared.spec
    assert is_kubeflow(spec)
    return spec.minimum[1]


def _leader_worker_segments(workload: AnyWorkload, workers: ReplicaType, segments: Segments) -> tuple[str, str] | None:
    """Says why a group that lws_grouper.go makes (0.13 to 0.17.0) never runs, and what to do instead."""
    whole = f"place the {workload.kind} itself"
    if workload.leader_first:
        why = "until its leader runs KAI counts one pod in a group, and refuses segments that are larger"
        return why, f"Leave out startupPolicy: LeaderReady, or remove the segments and {whole}."
    if segments.size == 1:
        return "KAI refuses segments of 1 pod", f"Use a size from 2, or remove the segments and {whole}."
    if segments.size == workers.replicas:
        why = f"with one segment for all {segments.size} workers, KAI waits for a pod that never comes"
        larger = "" if segments.leader_excluded else f", or {segments.size + 1} for the leader and its workers together"
        return why, f"Use a smaller size{larger}, or remove the segments and {whole}."
    if segments.leader_excluded and workers.replicas % segments.size:
        why = f"without the leader, segments of {segments.size} do not divide {workers.replicas} workers"
        return why, "Use a divisor."
    return None


_TRAINING = Grouping(_kubeflow, _kubeflow_path)
_RAY = Grouping(
    _ray,
    sub_groups=Feature.REPLICA_SUBGROUPS,
    placed_parts=Feature.RAY_CONSTRAINTS,
    part_name=lambda item: item.written or RAY_HEAD,
)
TABLE: dict[str, Grouping] = {
    "Job": Grouping(
        _batch,
        _batch_path,
        one_pod_group=Feature.JOB_GANGS,
        no_index="the pods of a Job bear an index only with completionMode: Indexed",
    ),
    "CronJob": Grouping(
        _one,
        placed_at=("spec", "jobTemplate", "metadata", "annotations"),
        not_owned="all its runs would join one PodGroup",
    ),
    "Pod": Grouping(_all, segment_template="Remove it: a Pod is not divided."),
    "Notebook": Grouping(_all, segment_template="Remove it: a Notebook is one pod."),
    "Deployment": Grouping(_all, starts_one_by_one=True, one_pod_group=False),
    "StatefulSet": Grouping(_all, starts_one_by_one=True),
    "JobSet": Grouping(
        _job_set,
        _job_set_path,
        placed_parts=Feature.JOBSET_SUBGROUPS,
        part_name=lambda item: item.written or item.name,
    ),
    "RayJob": _RAY,
    "RayCluster": _RAY,
    "RayService": _RAY,
    "TrainJob": Grouping(
        _all,
        templates_elsewhere=True,
        not_owned="it has no pod template to mark",
        segment_template="Remove it: the pod template of a TrainJob is in its runtime.",
    ),
    "PyTorchJob": Grouping(
        _kubeflow,
        _kubeflow_path,
        sub_groups=Feature.REPLICA_SUBGROUPS,
        segment_template="Move it to the pod template of Worker.",
    ),
    "TFJob": _TRAINING,
    "XGBoostJob": replace(_TRAINING, replica_types=("Master", "Worker")),
    "JAXJob": replace(_TRAINING, replica_types=("Worker",)),
    "MPIJob": replace(_TRAINING, replica_types=("Launcher", "Worker")),
    "LeaderWorkerSet": Grouping(
        _all,
        sub_groups=Feature.REPLICA_SUBGROUPS,
        never_runs=_leader_worker_segments,
        one_each="group",
        leads_segments=True,
        not_owned="each of its groups is a gang of its own",
        segment_template="Move it to workerTemplate.",
    ),
}


def is_kubeflow(spec: AnyWorkload) -> TypeGuard[KubeflowJob]:
    """Whether KAI has a plugin of its own for a kind of Kubeflow's training operator."""
    return spec.kind in KUBEFLOW and spec.kind in TABLE


def is_ray(spec: AnyWorkload) -> TypeGuard[RayWorkload]:
    """Whether a workload is of KubeRay."""
    return spec.kind in RAY


def row(workload: FleetWorkload) -> Grouping:
    """Returns the row of a workload's kind."""
    return _row(workload.declared.spec)


def _row(spec: AnyWorkload) -> Grouping:
    kind = getattr(spec, "row", None)
    return TABLE[spec.kind] if kind is None else _plain(kind.with_mode(spec.metadata.annotations))


@cache
def _plain(kind: PodKind) -> Grouping:
    """Returns the row of a kind without a plugin in KAI. KAI makes one PodGroup for the highest owner that it may read,
    and starts the PodGroup with one pod (default_grouper.go). Each pod gets its own PodGroup if the owner is the pod
    itself, a Deployment, or Argo's Workflow, which KAI skips (skiptopowner.go, podjob.go).
    """
    return Grouping(
        {"all": _all, "least": _least}.get(str(kind.minimum)) or partial(_some, kind.minimum),
        partial(_some_path, kind.minimum),
        sub_groups=Feature.KARTA if kind.sub_groups else None,
        one_pod_group=not kind.each,
        ends_in=kind.group_name,
        unpredicted=kind.unpredicted,
        named_by=kind.named_by,
        placed_at=tuple(kind.placed_at.split(".")) if kind.placed_at else ROOT,
        not_owned=kind.not_owned,
        segment_template="Remove it: KAI makes segments of no such workload.",
    )


def _some(asked: int | str, workload: FleetWorkload) -> list[int]:
    """Returns the first pods, as many as start together; for a PodGroup of this tool and a fixed number, all pods."""
    if workload.is_owned and isinstance(asked, int):
        return _all(workload)
    spec = cast("PlainWorkload", workload.declared.spec)
    left = asked if isinstance(asked, int) else spec.number(asked)
    found = []
    for item in workload.replicas:
        found.append(min(left, item.replicas))
        left -= found[-1]
    return found


def _least(workload: FleetWorkload) -> list[int]:
    """Returns the pods that each part needs by its Karta (CalculateSubtreeScale); 1 before KAI reads Kartas."""
    if not workload.is_owned and not workload.pool.backend.has(Feature.KARTA):
        return _some(1, workload)
    return cast("PlainWorkload", workload.declared.spec).least


def _some_path(asked: int | str, workload: FleetWorkload) -> KeyPath | None:
    if isinstance(asked, int) or asked in ("all", "least"):
        return None
    path: KeyPath = tuple(asked.split("."))
    return path if workload.declared.origin.value(path) is not None else None


def minimums(workload: FleetWorkload) -> list[int]:
    """Returns the pods of each replica type that are needed before any pod of the gang starts."""
    own = row(workload)
    if not workload.is_owned and (own.starts_one_by_one or not is_one_pod_group(workload)):
        return _one(workload)
    return own.minimums(workload)


def minimum_path(workload: FleetWorkload) -> KeyPath | None:
    """Returns the path in the file of the needed number of pods; None if the file does not say it."""
    return row(workload).minimum_path(workload)


def is_one_pod_group(workload: FleetWorkload) -> bool:
    """Whether all pods of a workload are in one PodGroup; otherwise each pod has its own."""
    grouped = row(workload).one_pod_group
    return not is_made_by_kai(workload) or (grouped is not False and missing_gang(workload) is None)


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
    return "pg" if _is_of_karta(workload) else names.shorten(f"pg-{workload.name}", names.MAX_NAME)


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
    if spec.kind == "CronJob":
        return "the number of the run and its UID, one for each run"
    if _is_of_karta(workload):
        return f"the UID and -{row(workload).ends_in}"
    text = f"the UID and -{each}-N, one for each of {workload.copies} replicas" if each else "the UID"
    if spec.kind == "JobSet" and len(workload.replicas) < len(spec.spec.replicatedJobs):
        return f"{text} and -{workload.replicas[0].written}"
    if spec.kind == "MPIJob" and spec.spec.launcherCreationPolicy == "WaitForWorkersReady":
        launchers = sum(item.replicas for item in workload.replicas if item.name == "launcher")
        enough = plural(sum(minimums(workload)) - launchers, "pod")
        return f"{text}; until the launcher is made, {enough} {'is' if enough == '1 pod' else 'are'} enough"
    return f"{text}; until the leader is ready, 1 pod is enough" if spec.leader_first else text


def note(workload: FleetWorkload, *, divided: bool) -> str:
    """Returns a one-line note on the gang that is shown for a workload, with its SubGroups if it is ``divided``."""
    name, release = f"{workload.kind} {workload.name}", workload.pool.backend.release
    text = f"What KAI makes of {name}"
    if divided and asks_for_more(workload) and release:
        text = f"What the segment annotations of {name} ask for, and not what KAI {release.version} makes of it"
    return f"{text}; its name goes on with {rest_of_name(workload)}"


def is_made_by_kai(workload: FleetWorkload) -> bool:
    """Whether KAI's podgrouper makes the PodGroup of a workload."""
    return workload.pool.backend.is_kai and not workload.is_owned


def names_its_own(workload: FleetWorkload, item: ReplicaType) -> bool:
    """Whether these pods name their PodGroup themselves, or make KAI's podgrouper skip them."""
    return is_made_by_kai(workload) and (item.pod_group is not None or skipping(workload, item) is not None)


def skipping(workload: FleetWorkload, item: ReplicaType) -> KeyPath | None:
    """Returns the annotation that makes KAI's podgrouper skip these pods; None if there is no such annotation.

    The podgrouper reads the annotation of pods and of all their owners (pod_controller.go, shouldSkipAnyOwner, 0.15.0
    to 0.17.0). It also skips a Pod without owners that names its PodGroup (isOrphanPodWithPodGroup, 0.5 to 0.17).
    """
    if workload.kind == "Pod" and item.pod_group is not None:
        return (*item.annotations_path, labels.POD_GROUP)
    if not workload.pool.backend.has(Feature.SKIP_PODGROUPER):
        return None
    root: KeyPath = ("metadata", "annotations")
    places = [(item.annotations_path, item.annotations), *([item.job_annotations] if item.job_annotations else [])]
    places.append((root, workload.declared.spec.metadata.annotations))
    asked = (path for path, annotations in places if annotations.get(labels.SKIP_PODGROUPER) == "true")
    return next(((*path, labels.SKIP_PODGROUPER) for path in asked), None)


def is_predicted(workload: FleetWorkload) -> bool:
    """Whether the PodGroup that a workload gets or asks for is known."""
    if any(names_its_own(workload, item) for item in workload.replicas):
        return False
    if workload.is_owned:
        return True
    own = row(workload)
    return not (own.unpredicted or own.templates_elsewhere)


def lists_parts(workload: FleetWorkload) -> bool:
    """Whether the SubGroups of a workload are few enough for people to read."""
    jobs = sum(item.jobs for item in workload.replicas) if makes_jobs(workload) else 0
    return workload.lists_segments and jobs <= MAX_SEGMENTS


def by_pod_group(workload: FleetWorkload) -> tuple[FleetWorkload, ...]:
    """Returns the workload once for each PodGroup with a different shape, with only the pods of that PodGroup. Before
    0.16 a JobSet that starts in order has one PodGroup for each replicated job.
    """
    spec, backend = workload.declared.spec, workload.pool.backend
    if len(workload.replicas) > 1 and not is_one_pod_group(workload):
        return tuple(replace(workload, replicas=(item,)) for item in workload.replicas)
    is_split = spec.kind == "JobSet" and spec.is_in_order and is_made_by_kai(workload)
    if not is_split or workload.is_segmented or backend.has(Feature.JOBSET_SUBGROUPS):
        return (workload,)
    return tuple(replace(workload, replicas=(item,)) for item in workload.replicas) or (workload,)


def makes_segments(workload: FleetWorkload, item: ReplicaType) -> bool:
    """Whether the podgrouper of the backend's release makes the segments of these pods."""
    return item.is_divided and not workload.is_owned and workload.pool.backend.has(Feature.SEGMENTS)


def asks_for_more(workload: FleetWorkload) -> bool:
    """Whether annotations ask for segments that KAI must make, but that the backend's release does not make."""
    types = workload.replicas if is_made_by_kai(workload) else ()
    return any(item.segments is not None and not makes_segments(workload, item) for item in types)


def never_runs(workload: FleetWorkload, item: ReplicaType) -> tuple[str, str] | None:
    """Says why the segments that the podgrouper makes of these pods never run, and what to do instead."""
    if item.segments is None or not makes_segments(workload, item):
        return None
    return row(workload).never_runs(workload.declared.spec, item, item.segments)


def is_refused(workload: FleetWorkload, item: ReplicaType) -> bool:
    """Whether KAI's own webhook refuses the PodGroup, because a SubGroup is above segments or below a segment."""
    if item.segments is None or not makes_segments(workload, item):
        return False
    is_flat = row(workload).leads_segments and item.segments.leader_excluded
    return not is_flat and not workload.pool.backend.has(Feature.SEGMENT_PARENTS)


def mandatory(workload: FleetWorkload, item: ReplicaType, minimum: int) -> int:
    """Returns how many first pods have mandatory segments: ``minimum``, or all in releases without elastic ones."""
    is_elastic = not makes_segments(workload, item) or workload.pool.backend.has(Feature.ELASTIC_SEGMENTS)
    return minimum if is_elastic else item.indices


def makes_sub_groups(workload: FleetWorkload) -> bool:
    """Whether the podgrouper of the backend's release makes a SubGroup of each replica type."""
    feature = row(workload).sub_groups
    return feature is not None and not workload.is_owned and workload.pool.backend.has(feature)


def makes_jobs(workload: FleetWorkload) -> bool:
    """Whether each job of a workload is a SubGroup."""
    is_kai = is_made_by_kai(workload) and not workload.is_segmented
    return is_kai and workload.kind == "JobSet" and workload.pool.backend.has(Feature.JOBSET_SUBGROUPS)


def has_sub_groups(workload: FleetWorkload) -> bool:
    """Whether the replica types of a workload are SubGroups of its gang."""
    return workload.is_divided or makes_sub_groups(workload)


def is_part(workload: FleetWorkload, item: ReplicaType) -> bool:
    """Whether a replica type has a SubGroup. KAI makes none without pods, except for PyTorchJob's workers."""
    has_pods = item.replicas > 0 or (workload.kind == "PyTorchJob" and item.name == WORKER)
    return has_pods or not is_made_by_kai(workload)


def part_name(workload: FleetWorkload, item: ReplicaType) -> str:
    """Returns the SubGroup of a replica type, as KAI or this tool names it."""
    return row(workload).part_name(item) if is_made_by_kai(workload) else item.name


def has_sub_group(workload: FleetWorkload, item: ReplicaType) -> bool:
    """Whether one SubGroup has all pods of a replica type, and not several segments side by side."""
    segments = item.segments
    if not row(workload).leads_segments or segments is None or not makes_segments(workload, item):
        return True
    return not segments.leader_excluded and worker_segment(item.replicas, item.replicas, segments.size) == 0


def needed(workload: FleetWorkload) -> list[int]:
    """Returns the pods of each replica type that KAI waits for; segments that KAI makes count as a whole.

    A SubGroup that needs no pod counts as 1 if the release cannot express 0.
    """
    asked = minimums(workload)
    if not makes_sub_groups(workload):
        return asked
    least = 0 if workload.pool.backend.has(Feature.ZERO_MIN_MEMBER) else 1
    return [
        waited_for(item.indices, mandatory(workload, item, minimum), item.segments.size, least=least)
        if item.segments and makes_segments(workload, item)
        else max(minimum, min(item.replicas, least))
        for item, minimum in zip(workload.replicas, asked, strict=True)
    ]
