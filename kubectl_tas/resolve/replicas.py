"""A workload in; its replica types, and the pods that KAI's PodGrouper waits for, out: a function for each kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kubectl_tas.model import labels
from kubectl_tas.model.base import MAX_COUNT
from kubectl_tas.model.kubeflow import KubeflowSpec, PyTorchJob
from kubectl_tas.model.podtemplate import PodTemplate, Resources
from kubectl_tas.model.ray import RayJob
from kubectl_tas.model.replicated import ReplicatedSpec
from kubectl_tas.model.repository import KeyPath
from kubectl_tas.model.workload import (
    AnyWorkload,
    CronJob,
    Deployment,
    Job,
    JobSet,
    JobSpec,
    LeaderWorkerSet,
    StatefulSet,
    TrainJob,
)
from kubectl_tas.resolve import names

LEADER, WORKERS, WORKER, HEAD, SUBMITTER = "leader", "workers", "worker", "head", "submitter"
_REPLICA_SPECS = {
    "JAXJob": "jaxReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
}
"""Where Kubeflow's kinds keep their replica types."""
REPLICA_TYPE = "replica type"
"""What Kubeflow's kinds call equal pods."""


@dataclass(frozen=True, slots=True)
class ReplicaType:
    """Equal pods of a workload."""

    name: str
    """An RFC 1123 label, such as worker."""
    replicas: int
    """Pods at a time."""
    minimum: int
    """Those of them that are needed before any pod of the gang starts."""
    gpus: int
    """GPUs of one pod."""
    path: KeyPath
    """Where what they are made from stands."""
    template: PodTemplate | None
    """None where another object has it."""
    indices: int
    """Pods that have an index of their own: ``replicas``, but for an Indexed Job its completions."""
    index_label: str | None = None
    """The label in which pods of this kind bear their index."""

    @property
    def annotations_path(self) -> KeyPath:
        """Where the annotations of its template stand."""
        return (*self.path, "metadata", "annotations")

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of its template."""
        return self.template.metadata.annotations if self.template else {}


@dataclass(frozen=True, slots=True)
class Shape:
    """What a workload consists of."""

    types: tuple[ReplicaType, ...]
    """In the order of the file."""
    minimum_path: KeyPath | None = None
    """Where the file itself says how many pods are needed at least."""
    copies: int = 1
    """Gangs of this shape: the groups of a LeaderWorkerSet."""
    beside: tuple[ReplicaType, ...] = ()
    """Pods that are no part of the gang: what submits a RayJob."""

    @property
    def minimum(self) -> int:
        """Pods needed before any starts."""
        return sum(item.minimum for item in self.types)


def shape(workload: AnyWorkload, *, owned: bool) -> Shape:
    """The shape of a workload; ``owned`` where the tool itself makes it a gang of all its pods."""
    match workload:
        case Job():
            return _job(workload.spec, workload.metadata.annotations, ("spec",), ("metadata",))
        case CronJob():
            job = workload.spec.jobTemplate
            where: KeyPath = ("spec", "jobTemplate")
            run = _job(job.spec, job.metadata.annotations, (*where, "spec"), (*where, "metadata"))
            return replace(run, types=tuple(replace(item, index_label=None) for item in run.types))
        case Deployment() | StatefulSet():
            return Shape((_pods("pod", workload.spec, ("spec",), needs_all=owned),))
        case JobSet():
            return Shape(tuple(_job_set(workload)))
        case RayJob():
            return _ray(workload, owned=owned)
        case TrainJob():
            trainer = workload.spec.trainer
            nodes, gpus = trainer.numNodes or 1, _gpus([trainer.resourcesPerNode])
            return Shape((ReplicaType("node", nodes, nodes, gpus, ("spec", "trainer"), None, nodes),))
        case LeaderWorkerSet():
            return _leader_worker_set(workload)
        case _:
            field = _REPLICA_SPECS[workload.kind]
            return _kubeflow(workload, field, getattr(workload.spec, field))


@dataclass(frozen=True, slots=True)
class TypeName:
    """The name of a part of a workload, as it is written."""

    what: str
    """What the kind calls such a part."""
    name: str
    folded: str
    """What the kind's own controller compares."""
    path: KeyPath
    is_key: bool = False
    """Whether it is a key, and not a value."""


def type_names(workload: AnyWorkload) -> Iterator[TypeName]:
    """The names that a workload itself gives to its replica types."""
    match workload:
        case JobSet():
            for index, job in enumerate(workload.spec.replicatedJobs):
                path: KeyPath = ("spec", "replicatedJobs", index, "name")
                yield TypeName("replicated job", job.name, job.name, path)
        case RayJob():
            for index, group in enumerate(workload.spec.rayClusterSpec.workerGroupSpecs):
                path = ("spec", "rayClusterSpec", "workerGroupSpecs", index, "groupName")
                yield TypeName("worker group", group.groupName, group.groupName, path)
        case _ if workload.kind in _REPLICA_SPECS:
            field = _REPLICA_SPECS[workload.kind]
            for name in getattr(workload.spec, field):
                yield TypeName(REPLICA_TYPE, name, name.lower(), ("spec", field, name), is_key=True)


def pod_gpus(template: PodTemplate) -> int:
    """GPUs of one pod, as Kubernetes counts them.

    Containers and sidecars (init containers that keep running) add up; any other init container runs beside the
    sidecars that were started before it, and frees what it held.
    """
    sidecars = most = 0
    for container in template.spec.initContainers:
        own = _gpus([container.resources])
        if container.restartPolicy == "Always":
            sidecars += own
        else:
            most = max(most, sidecars + own)
    return max(most, sidecars + _gpus(container.resources for container in template.spec.containers))


def _gpus(resources: Iterable[Resources]) -> int:
    """GPUs by their limits; Kubernetes takes a request alone for an error, here it counts."""
    return sum(int(item.limits.gpu or item.requests.gpu or 0) for item in resources)


def whole_number(text: str) -> int | None:
    """A positive number that an annotation holds, as far as Kubernetes counts, or None."""
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(MAX_COUNT)) else 0
    return number if 0 < number <= MAX_COUNT else None


def _pods(name: str, spec: ReplicatedSpec, path: KeyPath, *, needs_all: bool) -> ReplicaType:
    minimum = spec.replicas if needs_all else min(1, spec.replicas)
    where = (*path, "template")
    return ReplicaType(name, spec.replicas, minimum, pod_gpus(spec.template), where, spec.template, spec.replicas)


def _at_once(spec: JobSpec) -> int:
    """Pods that a Job runs at a time."""
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    return parallelism if spec.completions is None else min(parallelism, spec.completions)


def _job(spec: JobSpec, annotations: Mapping[str, str], path: KeyPath, metadata: KeyPath) -> Shape:
    """Pods that KAI starts one by one, unless the annotation batch-min-member says otherwise."""
    asked = annotations.get(labels.BATCH_MIN_MEMBER)
    pods = _at_once(spec)
    indexed = spec.completionMode == "Indexed"
    only = ReplicaType(
        name=WORKER,
        replicas=pods,
        minimum=min(whole_number(asked or "") or 1, pods),
        gpus=pod_gpus(spec.template),
        path=(*path, "template"),
        template=spec.template,
        indices=spec.completions if indexed and spec.completions is not None else pods,
        index_label=labels.JOB_INDEX if indexed else None,
    )
    return Shape((only,), None if asked is None else (*metadata, "annotations", labels.BATCH_MIN_MEMBER))


def _job_set(workload: JobSet) -> Iterator[ReplicaType]:
    jobs = workload.spec.replicatedJobs
    own = names.distinct([(item.name, names.as_label(item.name)) for item in jobs])
    for index, (name, item) in enumerate(zip(own, jobs, strict=True)):
        job = item.template.spec
        pods = item.replicas * _at_once(job)
        where = ("spec", "replicatedJobs", index, "template", "spec", "template")
        yield ReplicaType(name, pods, pods, pod_gpus(job.template), where, job.template, pods)


def _ray(workload: RayJob, *, owned: bool) -> Shape:
    """The head, the worker groups, and the pod that submits the job."""
    cluster = workload.spec.rayClusterSpec
    path = ("spec", "rayClusterSpec")
    groups = cluster.workerGroupSpecs
    wanted = [(group.groupName, names.as_label(names.fold(group.groupName))) for group in groups]
    head_name, *own, submitter_name = names.distinct([(HEAD, HEAD), *wanted, (f"{SUBMITTER}/pod", SUBMITTER)])
    head = cluster.headGroupSpec.template
    types = [ReplicaType(head_name, 1, 1, pod_gpus(head), (*path, "headGroupSpec", "template"), head, 1)]
    for index, (name, group) in enumerate(zip(own, groups, strict=True)):
        pods = (group.minReplicas if group.replicas is None else group.replicas) * group.numOfHosts
        minimum = min(pods, group.minReplicas * group.numOfHosts)
        where = (*path, "workerGroupSpecs", index, "template")
        types.append(ReplicaType(name, pods, minimum, pod_gpus(group.template), where, group.template, pods))
    submitter = tuple(_submitter(workload, submitter_name))
    return Shape((*types, *submitter)) if owned else Shape(tuple(types), beside=submitter)


def _submitter(workload: RayJob, name: str) -> Iterator[ReplicaType]:
    """The pod that comes once the cluster is ready, so that nothing can wait for it.

    In a PodGroup that the tool writes it needs a SubGroup: KAI's PodGrouper would make a second gang of it, which
    waits for pods that are in the first one.
    """
    template = workload.spec.submitterPodTemplate
    if template is not None:
        yield ReplicaType(name, 1, 0, pod_gpus(template), ("spec", "submitterPodTemplate"), template, 1)


def _kubeflow(workload: AnyWorkload, field: str, specs: Mapping[str, ReplicatedSpec]) -> Shape:
    """Replica types by name; the minimum is shared out among them."""
    own = names.distinct([(name, names.as_label(name.lower())) for name in specs])
    types = [
        replace(_pods(name, spec, ("spec", field, written), needs_all=True), index_label=labels.KUBEFLOW_INDEX)
        for name, (written, spec) in zip(own, specs.items(), strict=True)
    ]
    asked, path = _asked_minimum(workload)
    return Shape(tuple(_share_out(types, asked) if asked is not None else types), path)


def _asked_minimum(workload: AnyWorkload) -> tuple[int | None, KeyPath | None]:
    """How many pods a Kubeflow job says it needs, and where."""
    assert isinstance(workload.spec, KubeflowSpec)
    asked = workload.spec.runPolicy.schedulingPolicy.minAvailable
    if asked is not None:
        return asked, ("spec", "runPolicy", "schedulingPolicy", "minAvailable")
    if isinstance(workload, PyTorchJob) and workload.spec.elasticPolicy.minReplicas is not None:
        return workload.spec.elasticPolicy.minReplicas, ("spec", "elasticPolicy", "minReplicas")
    return None, None


def _share_out(types: list[ReplicaType], minimum: int) -> list[ReplicaType]:
    """The types with ``minimum`` pods shared out: workers are what a job can do with fewer of, so they come last."""
    left = max(0, minimum)
    shares: dict[str, int] = {}
    for item in sorted(types, key=lambda item: item.name == WORKER):
        shares[item.name] = min(item.replicas, left)
        left -= shares[item.name]
    return [replace(item, minimum=shares[item.name]) for item in types]


def _leader_worker_set(workload: LeaderWorkerSet) -> Shape:
    group = workload.spec.leaderWorkerTemplate
    path = ("spec", "leaderWorkerTemplate")
    worker, count = group.workerTemplate, group.size - 1
    own = group.leaderTemplate
    leader, where = (worker, "workerTemplate") if own is None else (own, "leaderTemplate")
    label = labels.LEADER_WORKER_INDEX
    types = [ReplicaType(LEADER, 1, 1, pod_gpus(leader), (*path, where), leader, 1, label)]
    if count:
        gpus = pod_gpus(worker)
        types.append(ReplicaType(WORKERS, count, count, gpus, (*path, "workerTemplate"), worker, count, label))
    return Shape(tuple(types), copies=workload.spec.replicas)
