"""What KAI's podgrouper makes of each kind of workload: a table with a row a kind, and functions over it.

Source: KAI's podgrouper, package pkg/podgrouper/podgrouper/plugins, of the releases that the version table has. Of
kinds that the podgrouper makes no SubGroups of, a row says what seed and docs specify; checks say that KAI does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kubectl_tas.gangs.segments import waited_for, worker_segment
from kubectl_tas.kai import Feature
from kubectl_tas.model import labels
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.kubeflow import KubeflowJob
from kubectl_tas.model.ray import RayJob
from kubectl_tas.model.workload import WORKLOADS, AnyWorkload, CronJob
from kubectl_tas.resolve import names
from kubectl_tas.resolve.placement import LevelAnnotation, Placement, ReplicaType, Segments, combined, whole_number
from kubectl_tas.resolve.workload import FleetWorkload

Types = Sequence[ReplicaType]
WORKER = "worker"
"""The replica type of Kubeflow's jobs that a job can do with fewer of."""


@dataclass(frozen=True, slots=True)
class Row:
    """What KAI's podgrouper makes of one kind."""

    minimums: Callable[[AnyWorkload, Types], list[int]]
    """The pods of each replica type that are needed before any pod of the gang starts."""
    minimum_path: Callable[[AnyWorkload], KeyPath | None] = lambda _: None
    """Where the file itself says how many pods are needed at least; None where it does not."""
    starts_one_by_one: bool = False
    """Whether one pod is enough, however many there are, unless the tool makes them a gang."""
    is_predicted: bool = False
    """Whether its PodGroup is known, whatever the workload says."""
    one_gang: Feature | None = None
    """What a release must have to make one PodGroup of all its pods, and to read a minimum; None: all do."""
    sub_groups: Feature | None = None
    """What a release must have to make a SubGroup of each replica type; None: none does."""
    never_runs: Callable[[AnyWorkload, ReplicaType, Segments], tuple[str, str] | None] = lambda *_: None
    """Why the podgrouper's segments of some pods never run, and what to do instead."""
    one_each: str = ""
    """What follows on the UID in the names of its PodGroups, where each copy has one of its own."""
    leads_segments: bool = False
    """Whether its leader is in the first of its segments, which have no SubGroup above them."""
    labels_below: KeyPath | None = None
    """Where it has labels of its own for what is made from it."""
    has_job_templates: bool = False
    """Whether it makes jobs, whose labels are in a template of their own above that of the pods."""
    not_owned: str = ""
    """Why the tool cannot write its PodGroup; empty where it can."""
    segment_template: str = "Move it to the pod template."
    """How to mend segments that are asked for on the workload itself."""
    no_index: str = ""
    """When its pods bear an index; empty where it is not known that they ever do."""


def _all(_: AnyWorkload, types: Types) -> list[int]:
    return [item.replicas for item in types]


def _job_metadata(workload: AnyWorkload) -> tuple[dict[str, str], KeyPath]:
    """The annotations of a Job, or of those that a CronJob makes, and where they stand."""
    if isinstance(workload, CronJob):
        return workload.spec.jobTemplate.metadata.annotations, ("spec", "jobTemplate", "metadata", "annotations")
    return workload.metadata.annotations, ("metadata", "annotations")


def _batch(workload: AnyWorkload, types: Types) -> list[int]:
    """Pods that start one by one, unless the annotation batch-min-member says otherwise."""
    asked = whole_number(_job_metadata(workload)[0].get(labels.BATCH_MIN_MEMBER, ""))
    return [min(asked or 1, item.replicas) for item in types]


def _batch_path(workload: AnyWorkload) -> KeyPath | None:
    annotations, path = _job_metadata(workload)
    return (*path, labels.BATCH_MIN_MEMBER) if labels.BATCH_MIN_MEMBER in annotations else None


def _ray(workload: AnyWorkload, types: Types) -> list[int]:
    """The head, and of each worker group its minReplicas; the pod that submits the job comes later."""
    assert isinstance(workload, RayJob)
    groups = workload.spec.rayClusterSpec.workerGroupSpecs
    least = [1, *(group.minReplicas * group.numOfHosts for group in groups), 0]
    return [min(item.replicas, number) for item, number in zip(types, least, strict=False)]


def _kubeflow(workload: AnyWorkload, types: Types) -> list[int]:
    """All pods, or the minimum that the job says, shared out among the types: workers come last."""
    assert isinstance(workload, KubeflowJob)
    asked, _ = workload.minimum
    if asked is None:
        return [item.replicas for item in types]
    left = max(0, asked)
    shares: dict[str, int] = {}
    for item in sorted(types, key=lambda item: item.name == WORKER):
        shares[item.name] = min(item.replicas, left)
        left -= shares[item.name]
    return [shares[item.name] for item in types]


def _kubeflow_path(workload: AnyWorkload) -> KeyPath | None:
    assert isinstance(workload, KubeflowJob)
    return workload.minimum[1]


def _leader_worker_segments(workload: AnyWorkload, workers: ReplicaType, segments: Segments) -> tuple[str, str] | None:
    """What lws_grouper.go, 0.13 to 0.17.0, makes of a group that nothing can satisfy."""
    whole = f"place the {workload.kind} itself"
    if workload.leader_first:
        why = "until its leader runs KAI counts one pod in a group, and refuses segments that are larger"
        return why, f"Leave out startupPolicy: LeaderReady, or remove the segments and {whole}."
    if segments.size == 1:
        return "KAI refuses segments of 1 pod", f"Use a size from 2, or remove the segments and {whole}."
    if segments.size == workers.replicas:
        why = f"of one segment with all {segments.size} workers KAI waits for one pod more than there is"
        larger = "" if segments.leader_excluded else f", or {segments.size + 1} for the leader and its workers together"
        return why, f"Use a smaller size{larger}, or remove the segments and {whole}."
    if segments.leader_excluded and workers.replicas % segments.size:
        why = f"without the leader, segments of {segments.size} do not divide {workers.replicas} workers"
        return why, "Use a divisor."
    return None


_KUBEFLOW = Row(_kubeflow, _kubeflow_path, is_predicted=True)
TABLE: dict[str, Row] = {
    "Job": Row(
        _batch,
        _batch_path,
        is_predicted=True,
        one_gang=Feature.JOB_GANGS,
        no_index="the pods of a Job bear an index only with completionMode: Indexed",
    ),
    "CronJob": Row(_batch, _batch_path, has_job_templates=True, not_owned="all its runs would join one PodGroup"),
    "Deployment": Row(_all, starts_one_by_one=True),
    "StatefulSet": Row(_all, starts_one_by_one=True),
    "JobSet": Row(_all, has_job_templates=True),
    "RayJob": Row(_ray),
    "TrainJob": Row(
        _all,
        labels_below=("spec", "labels"),
        not_owned="it has no pod template to mark",
        segment_template="Remove it: the pod template of a TrainJob is in its runtime.",
    ),
    "PyTorchJob": Row(
        _kubeflow,
        _kubeflow_path,
        is_predicted=True,
        sub_groups=Feature.REPLICA_SUBGROUPS,
        segment_template="Move it to the pod template of Worker.",
    ),
    "TFJob": _KUBEFLOW,
    "XGBoostJob": _KUBEFLOW,
    "JAXJob": _KUBEFLOW,
    "MPIJob": _KUBEFLOW,
    "LeaderWorkerSet": Row(
        _all,
        is_predicted=True,
        sub_groups=Feature.REPLICA_SUBGROUPS,
        never_runs=_leader_worker_segments,
        one_each="group",
        leads_segments=True,
        not_owned="each of its groups is a gang of its own",
        segment_template="Move it to workerTemplate.",
    ),
}
SEGMENTED_KINDS = tuple(model.__name__ for model in WORKLOADS if model.divided)
"""The kinds that the podgrouper divides into segments."""


def row(workload: FleetWorkload) -> Row:
    """The row of a workload's kind."""
    return TABLE[workload.kind]


def minimums(workload: FleetWorkload) -> list[int]:
    """The pods of each replica type that are needed before any pod of the gang starts."""
    if starts_one_by_one(workload):
        return [min(1, item.replicas) for item in workload.replicas]
    return row(workload).minimums(workload.declared.spec, workload.replicas)


def starts_one_by_one(workload: FleetWorkload) -> bool:
    """Whether each pod starts when it can, because KAI makes no gang of them."""
    return missing_gang(workload) is not None or (row(workload).starts_one_by_one and not workload.is_owned)


def missing_gang(workload: FleetWorkload) -> Feature | None:
    """What the backend's release lacks to make one PodGroup of all pods of this kind; None where it makes one."""
    feature, backend = row(workload).one_gang, workload.pool.backend
    is_lacking = feature is not None and backend.release is not None and not backend.has(feature)
    return feature if is_lacking and not workload.is_owned else None


def minimum_path(workload: FleetWorkload) -> KeyPath | None:
    """Where the file itself says how many pods are needed at least."""
    return row(workload).minimum_path(workload.declared.spec)


def pod_group_name(workload: FleetWorkload) -> str:
    """Name of a workload's PodGroup, or what the podgrouper lets it begin with."""
    if workload.is_owned:
        backend, name = workload.pool.backend, workload.gang or workload.name
        kind = "gang" if workload.gang else workload.kind
        return names.owned_pod_group(name, backend.name, backend.namespace, kind, name)
    return names.shorten(f"pg-{workload.name}", names.MAX_NAME)


def is_predicted(workload: FleetWorkload) -> bool:
    """Whether it is known which PodGroup a workload gets, or asks for."""
    if any(workload.names_its_own(item) for item in workload.replicas):
        return False
    if workload.is_owned or (row(workload).is_predicted and not starts_one_by_one(workload)):
        return True
    return workload.is_segmented and workload.pool.backend.has(Feature.SUBGROUP_TREE)


def makes_segments(workload: FleetWorkload, item: ReplicaType) -> bool:
    """Whether the podgrouper of the backend's release makes the segments of these pods."""
    return item.is_divided and not workload.is_owned and workload.pool.backend.has(Feature.SEGMENTS)


def never_runs(workload: FleetWorkload, item: ReplicaType) -> tuple[str, str] | None:
    """Why the segments that the podgrouper makes of these pods never run, and what to do instead."""
    if item.segments is None or not makes_segments(workload, item):
        return None
    return row(workload).never_runs(workload.declared.spec, item, item.segments)


def is_refused(workload: FleetWorkload, item: ReplicaType) -> bool:
    """Whether KAI's own webhook refuses the PodGroup, because there is a SubGroup above segments, or below one."""
    if item.segments is None or not makes_segments(workload, item):
        return False
    is_flat = row(workload).leads_segments and item.segments.leader_excluded
    return not is_flat and not workload.pool.backend.has(Feature.SEGMENT_PARENTS)


def mandatory(workload: FleetWorkload, item: ReplicaType, minimum: int) -> int:
    """The first pods whose segments are needed: ``minimum``, or all where a release has no elastic segments."""
    is_elastic = not makes_segments(workload, item) or workload.pool.backend.has(Feature.ELASTIC_SEGMENTS)
    return minimum if is_elastic else item.indices


def makes_sub_groups(workload: FleetWorkload) -> bool:
    """Whether the podgrouper of the backend's release makes a SubGroup of each replica type."""
    feature = row(workload).sub_groups
    return feature is not None and not workload.is_owned and workload.pool.backend.has(feature)


def has_sub_groups(workload: FleetWorkload) -> bool:
    """Whether the replica types of a workload are SubGroups of its gang."""
    if workload.is_segmented or makes_sub_groups(workload):
        return True
    return len(workload.replicas) > 1 and (workload.is_owned or any(item.placement for item in workload.replicas))


def has_sub_group(workload: FleetWorkload, item: ReplicaType) -> bool:
    """Whether one SubGroup has all pods of a replica type: not where they are in segments that stand side by side."""
    segments = item.segments
    if not row(workload).leads_segments or segments is None or not makes_segments(workload, item):
        return True
    return not segments.leader_excluded and worker_segment(item.replicas, item.replicas, segments.size) == 0


def whole_placement(workload: FleetWorkload) -> tuple[Placement | None, tuple[LevelAnnotation, ...]]:
    """The placement of a workload's gang as a whole, and the levels that it cannot say.

    Where all pods are of one template and no SubGroup parts them, what the template asks for holds for the whole.
    """
    if has_sub_groups(workload) or len(workload.replicas) != 1:
        return workload.placement, ()
    return combined(workload.placement, workload.replicas[0].placement)


def needed(workload: FleetWorkload) -> list[int]:
    """Pods of each replica type that KAI waits for: of segments that it makes itself, whole ones.

    A SubGroup that needs none counts as 1 where the release cannot say 0.
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
