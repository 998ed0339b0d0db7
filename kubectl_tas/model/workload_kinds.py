"""Kubernetes workloads: what is read of them. Field names are those of the kinds' own APIs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Annotated, Literal, get_args

from pydantic import StringConstraints

from kubectl_tas.late import imported
from kubectl_tas.model import kindlists, labels
from kubectl_tas.model.base import (
    OWN_METADATA,
    AnyText,
    Count,
    KeyPath,
    LabelKey,
    LabelValue,
    Many,
    Positive,
    Text,
    nothing,
    said,
)
from kubectl_tas.model.kubeflow import AnyTrainingJob
from kubectl_tas.model.plain_workload import PlainWorkload
from kubectl_tas.model.podtemplate import (
    Division,
    Meta,
    Name,
    Open,
    PodSet,
    PodSpec,
    PodTemplate,
    ReplicatedSpec,
    Resources,
    Workload,
    pod_set,
)
from kubectl_tas.model.ray import AnyRay


class JobSpec(Open):
    """Pods that run to completion."""

    parallelism: Count | None = None
    """Pods at a time."""
    completions: Count | None = None
    """Pods that must succeed; of an Indexed job the number of indices."""
    completionMode: AnyText | None = None
    """Indexed: each pod has an index."""
    template: PodTemplate = PodTemplate.model_construct()
    """Its pods."""

    @property
    def wanted(self) -> int:
        """Pods that may run at a time."""
        return 1 if self.parallelism is None else self.parallelism

    @property
    def at_once(self) -> int:
        """Pods that run at a time: no more than must still succeed."""
        return self.wanted if self.completions is None else min(self.wanted, self.completions)


class JobTemplate(Open):
    """What jobs are made from."""

    metadata: Meta = Meta.model_construct()
    """Labels and annotations of the jobs."""
    spec: JobSpec = JobSpec.model_construct()
    """The job."""


class Job(Workload):
    """A Kubernetes Job."""

    apiVersion: Literal["batch/v1"]
    kind: Literal["Job"]
    spec: JobSpec
    """The job."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """Its pods; those of an Indexed job bear an index."""
        pods = pod_set("worker", self.spec.at_once, ("spec", "template"), self.spec.template)
        if self.spec.completionMode == "Indexed":
            count = pods.replicas if self.spec.completions is None else self.spec.completions
            pods = replace(pods, indices=count, index_label=labels.JOB_INDEX)
        yield pods


class BarePod(Workload):
    """A Kubernetes Pod that nothing else makes."""

    apiVersion: Literal["v1"]
    kind: Literal["Pod"]
    spec: PodSpec
    """How it runs."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """Itself."""
        pods = pod_set("pod", 1, (), PodTemplate(metadata=self.metadata, spec=self.spec))
        yield replace(pods, metadata_path=OWN_METADATA)


class CronJobSpec(Open):
    """Jobs by the clock."""

    jobTemplate: JobTemplate
    """The jobs."""


class CronJob(Workload):
    """A Kubernetes CronJob."""

    apiVersion: Literal["batch/v1"]
    kind: Literal["CronJob"]
    spec: CronJobSpec
    """The jobs."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """The pods of one run."""
        template, path = self.spec.jobTemplate, ("spec", "jobTemplate")
        job = template.spec
        pods = pod_set("worker", job.at_once, (*path, "spec", "template"), job.template)
        pods = replace(pods, job=((*path, "metadata"), template.metadata))
        if job.completionMode == "Indexed" and job.completions is not None:
            pods = replace(pods, indices=job.completions)
        yield pods


class Deployment(Workload):
    """A Kubernetes Deployment."""

    apiVersion: Literal["apps/v1"]
    kind: Literal["Deployment"]
    spec: ReplicatedSpec
    """Its pods."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """Its pods."""
        yield pod_set("pod", self.spec.replicas, ("spec", "template"), self.spec.template)


class StatefulSetSpec(ReplicatedSpec):
    """A number of equal pods, each with a name of its own."""

    podManagementPolicy: Literal["OrderedReady", "Parallel"] = "OrderedReady"
    """When pods are made: each once the one before it is ready, or all at once."""


class StatefulSet(Workload):
    """A Kubernetes StatefulSet."""

    apiVersion: Literal["apps/v1"]
    kind: Literal["StatefulSet"]
    spec: StatefulSetSpec
    """Its pods."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """Its pods."""
        yield pod_set("pod", self.spec.replicas, ("spec", "template"), self.spec.template)


class NotebookTemplate(Open):
    """What the pod of a Notebook is made from; its labels and annotations are those of the Notebook."""

    spec: PodSpec = PodSpec.model_construct()
    """How it runs."""


class NotebookSpec(Open):
    """One pod for interactive work."""

    template: NotebookTemplate = NotebookTemplate.model_construct()
    """The pod."""


class Notebook(Workload):
    """Kubeflow's Notebook."""

    apiVersion: Literal["kubeflow.org/v1", "kubeflow.org/v1beta1"]
    kind: Literal["Notebook"]
    spec: NotebookSpec
    """Its pod."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """Its pod; none while it is stopped (notebook_controller.go of Kubeflow 1.9)."""
        pod = PodTemplate(metadata=self.metadata, spec=self.spec.template.spec)
        running = labels.NOTEBOOK_STOPPED not in self.metadata.annotations
        yield replace(pod_set("pod", int(running), ("spec", "template"), pod), metadata_path=OWN_METADATA)


class Dependency(Open):
    """What a replicated job waits for."""

    name: Text
    """Another replicated job."""


class ReplicatedJob(Open):
    """Equal jobs of a JobSet."""

    name: Text
    """Unique within the JobSet."""
    replicas: Count = 1
    """Jobs."""
    template: JobTemplate
    """What they are made from."""
    dependsOn: Many[Dependency] = ()
    """Replicated jobs that must be ready or complete before these are made."""


class StartupPolicy(Open):
    """In which order a JobSet starts."""

    startupPolicyOrder: Literal["AnyOrder", "InOrder"] = "AnyOrder"
    """All jobs at once, or each replicated job once the one before it is ready."""


RuleName = Annotated[
    str,
    StringConstraints(max_length=128, pattern=r"^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?$"),
    said(
        "must be the name of a failure rule: a letter, then letters, digits, '_', ',' and ':'",
        hint="End it with a letter, a digit or '_', and use at most 128 characters.",
    ),
]


class FailureRule(Open):
    """What becomes of a JobSet when certain jobs fail."""

    name: RuleName = ""
    """Its name; failurePolicyRuleN of the N-th rule, from 0, where it is left out."""


class FailurePolicy(Open):
    """What becomes of a JobSet when jobs fail."""

    rules: Many[FailureRule] = ()
    """The first that fits counts."""


class JobSetSpec(Open):
    """Jobs that belong together."""

    failurePolicy: FailurePolicy = FailurePolicy.model_construct()
    """What becomes of it when jobs fail."""

    startupPolicy: StartupPolicy = StartupPolicy.model_construct()
    """In which order they start."""

    replicatedJobs: Many[ReplicatedJob] = ()
    """The jobs."""


class JobSet(Workload):
    """A JobSet of the Kubernetes special interest groups."""

    apiVersion: Literal["jobset.x-k8s.io/v1alpha2"]
    kind: Literal["JobSet"]
    spec: JobSetSpec
    """The jobs."""

    @property
    def is_in_order(self) -> bool:
        """Whether each replicated job is made only once the one before it is ready."""
        return self.spec.startupPolicy.startupPolicyOrder == "InOrder"

    @property
    def implied_names(self) -> Iterator[tuple[KeyPath, str]]:
        """The names of failure rules: JobSet's webhook fills them in on CREATE alone (pkg/webhooks/jobset_webhook.go,
        0.10 to 0.12), and the CRD demands them.
        """
        for index, rule in enumerate(self.spec.failurePolicy.rules):
            if not rule.name:
                yield ("spec", "failurePolicy", "rules", index, "name"), f"failurePolicyRule{index}"

    def _pod_sets(self) -> Iterator[PodSet]:
        """The pods of each replicated job."""
        for index, item in enumerate(self.spec.replicatedJobs):
            job, path = item.template.spec, ("spec", "replicatedJobs", index)
            below: KeyPath = (*path, "template")
            pods = pod_set(item.name, item.replicas * job.at_once, (*below, "spec", "template"), job.template)
            written = Name("replicated job", item.name, item.name, (*path, "name"))
            metadata = ((*below, "metadata"), item.template.metadata)
            yield replace(pods, written=written, job=metadata, jobs=item.replicas)


class Trainer(Open):
    """How a TrainJob trains."""

    numNodes: Positive | None = None
    """Pods; the runtime's own number where it is left out."""
    resourcesPerNode: Resources = Resources.model_construct()
    """What each pod asks for."""


class TrainJobSpec(Open):
    """A training; its pod template is in the runtime that it names."""

    trainer: Trainer = Trainer.model_construct()
    """How it trains."""
    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels of what is made from it."""


class TrainJob(Workload):
    """Kubeflow Trainer's TrainJob."""

    apiVersion: Literal["trainer.kubeflow.org/v1alpha1"]
    kind: Literal["TrainJob"]
    spec: TrainJobSpec
    """The training."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """Its nodes."""
        trainer = self.spec.trainer
        nodes = trainer.numNodes or 1
        path: KeyPath = ("spec", "trainer")
        asks = trainer.resourcesPerNode.amounts
        yield PodSet("node", nodes, path, None, asks, nodes, metadata_path=(*path, "metadata"))


LEADER, WORKERS = "leader", "workers"
"""The pod sets of a LeaderWorkerSet."""


class SubGroupPolicy(Open):
    """How a LeaderWorkerSet divides each of its groups."""

    subGroupSize: int | None = None
    """Pods of a part."""
    subGroupPolicyType: Literal["LeaderWorker", "LeaderExcluded"] = "LeaderWorker"
    """LeaderWorker: the leader is in the first part; LeaderExcluded: it is in none."""

    @property
    def leader_excluded(self) -> bool:
        """Whether the leader is in no part."""
        return self.subGroupPolicyType == "LeaderExcluded"


class LeaderWorkerTemplate(Open):
    """A group of a LeaderWorkerSet: one leader and its workers."""

    size: Positive = 1
    """Pods of the group, the leader included."""
    leaderTemplate: PodTemplate | None = None
    """The leader's pod; the workers' where it is left out."""
    workerTemplate: PodTemplate = PodTemplate.model_construct()
    """The workers' pods."""
    subGroupPolicy: SubGroupPolicy | None = None
    """How the group is divided."""


class LeaderWorkerSetSpec(Open):
    """Equal groups of pods."""

    replicas: Count = 1
    """Groups."""
    leaderWorkerTemplate: LeaderWorkerTemplate
    """What a group is made from."""
    startupPolicy: Literal["LeaderCreated", "LeaderReady"] = "LeaderCreated"
    """When workers are made: with the leader, or once it is ready."""


class LeaderWorkerSet(Workload):
    """A LeaderWorkerSet of the Kubernetes special interest groups."""

    apiVersion: Literal["leaderworkerset.x-k8s.io/v1"]
    divided = WORKERS
    kind: Literal["LeaderWorkerSet"]
    spec: LeaderWorkerSetSpec
    """The groups."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """The leader and the workers of one group."""
        group = self.spec.leaderWorkerTemplate
        path: KeyPath = ("spec", "leaderWorkerTemplate")
        own, count = group.leaderTemplate, group.size - 1
        where = "workerTemplate" if own is None else "leaderTemplate"
        leader = pod_set(LEADER, 1, (*path, where), group.workerTemplate if own is None else own)
        workers = pod_set(WORKERS, count, (*path, "workerTemplate"), group.workerTemplate)
        for pods in (replace(leader, is_leader=True), workers):
            yield replace(pods, index_label=labels.LEADER_WORKER_INDEX)

    @property
    def copies(self) -> int:
        """Its groups."""
        return self.spec.replicas

    @property
    def own_division(self) -> Division | None:
        """By its subGroupPolicy."""
        policy, path = self.spec.leaderWorkerTemplate.subGroupPolicy, ("spec", "leaderWorkerTemplate")
        if policy is None:
            return None
        return Division(policy.subGroupSize, (*path, "subGroupPolicy", "subGroupSize"), policy.leader_excluded)

    @property
    def root_annotations(self) -> tuple[str, ...]:
        """The size, which precedes that of workerTemplate."""
        return (labels.SEGMENT_SIZE,)

    @property
    def leader_first(self) -> bool:
        """By its startupPolicy."""
        return self.spec.startupPolicy == "LeaderReady"


_Kubernetes = Job | BarePod | CronJob | Deployment | StatefulSet
_Kubeflow = Notebook | TrainJob | AnyTrainingJob
AnyWorkload = _Kubernetes | _Kubeflow | JobSet | LeaderWorkerSet | AnyRay | PlainWorkload
"""Any workload that is read."""
WORKLOADS: tuple[type[AnyWorkload], ...] = tuple(
    imported(f"kubectl_tas.model.{place}") for place, _ in kindlists.WORKLOADS.values()
)
"""The models, in the order in which messages list their kinds."""


@cache
def kind_of(model: type[AnyWorkload]) -> str:
    """The kind that a model is of."""
    kinds: tuple[str, ...] = get_args(model.model_fields["kind"].annotation)
    return kinds[0]
