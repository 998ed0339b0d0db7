"""Defines the fields that the tool reads from workloads. Field names are those of each kind's API."""

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
from kubectl_tas.model.operatorkinds import AnyRay, AnyTrainingJob
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


class JobSpec(Open):
    """Settings of a Job, whose pods run to completion."""

    parallelism: Count | None = None
    """Pods that run at the same time."""
    completions: Count | None = None
    """Pods that must succeed. For an Indexed Job, the number of indices."""
    completionMode: AnyText | None = None
    """Indexed: each pod has an index."""
    template: PodTemplate = PodTemplate.model_construct()
    """Template for the pods."""

    @property
    def wanted(self) -> int:
        """Pods that may run at the same time."""
        return 1 if self.parallelism is None else self.parallelism

    @property
    def at_once(self) -> int:
        """Pods that run at the same time: at most the number that must succeed."""
        return self.wanted if self.completions is None else min(self.wanted, self.completions)


class JobTemplate(Open):
    """Template for Jobs."""

    metadata: Meta = Meta.model_construct()
    """Labels and annotations of the Jobs."""
    spec: JobSpec = JobSpec.model_construct()
    """Settings of the Jobs."""


class Job(Workload):
    """A Kubernetes Job."""

    apiVersion: Literal["batch/v1"]
    kind: Literal["Job"]
    spec: JobSpec
    """Settings of the Job."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """Yields the pods. Pods of an Indexed Job have an index."""
        pods = pod_set("worker", self.spec.at_once, ("spec", "template"), self.spec.template)
        if self.spec.completionMode == "Indexed":
            count = pods.replicas if self.spec.completions is None else self.spec.completions
            pods = replace(pods, indices=count, index_label=labels.JOB_INDEX)
        yield pods


class BarePod(Workload):
    """A Kubernetes Pod without an owner."""

    apiVersion: Literal["v1"]
    kind: Literal["Pod"]
    spec: PodSpec
    """Settings of the Pod."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """Yields the Pod itself."""
        pods = pod_set("pod", 1, (), PodTemplate(metadata=self.metadata, spec=self.spec))
        yield replace(pods, metadata_path=OWN_METADATA)


class CronJobSpec(Open):
    """Settings of a CronJob."""

    jobTemplate: JobTemplate
    """Template for the Jobs."""


class CronJob(Workload):
    """A Kubernetes CronJob."""

    apiVersion: Literal["batch/v1"]
    kind: Literal["CronJob"]
    spec: CronJobSpec
    """Settings of the CronJob."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """Yields the pods of one run."""
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
    """Settings of the Deployment."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """Yields the pods."""
        yield pod_set("pod", self.spec.replicas, ("spec", "template"), self.spec.template)


class StatefulSetSpec(ReplicatedSpec):
    """Settings of a StatefulSet, whose pods have fixed names."""

    podManagementPolicy: Literal["OrderedReady", "Parallel"] = "OrderedReady"
    """OrderedReady: the controller creates a pod once the previous one is ready. Parallel: all pods at once."""


class StatefulSet(Workload):
    """A Kubernetes StatefulSet."""

    apiVersion: Literal["apps/v1"]
    kind: Literal["StatefulSet"]
    spec: StatefulSetSpec
    """Settings of the StatefulSet."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """Yields the pods."""
        yield pod_set("pod", self.spec.replicas, ("spec", "template"), self.spec.template)


class NotebookTemplate(Open):
    """Template for the pod of a Notebook, which has the labels and annotations of the Notebook itself."""

    spec: PodSpec = PodSpec.model_construct()
    """Settings of the pod."""


class NotebookSpec(Open):
    """Settings of a Notebook, which has one pod for interactive work."""

    template: NotebookTemplate = NotebookTemplate.model_construct()
    """Template for the pod."""


class Notebook(Workload):
    """Kubeflow's Notebook."""

    apiVersion: Literal["kubeflow.org/v1", "kubeflow.org/v1beta1"]
    kind: Literal["Notebook"]
    spec: NotebookSpec
    """Settings of the Notebook."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """Yields the pod. A stopped Notebook has none (notebook_controller.go of Kubeflow 1.9)."""
        pod = PodTemplate(metadata=self.metadata, spec=self.spec.template.spec)
        running = labels.NOTEBOOK_STOPPED not in self.metadata.annotations
        yield replace(pod_set("pod", int(running), ("spec", "template"), pod), metadata_path=OWN_METADATA)


class Dependency(Open):
    """A dependency of a replicated job."""

    name: Text
    """Name of another replicated job."""


class ReplicatedJob(Open):
    """Identical Jobs of a JobSet."""

    name: Text
    """Name of the replicated job, unique within the JobSet."""
    replicas: Count = 1
    """Number of Jobs."""
    template: JobTemplate
    """Template for the Jobs."""
    dependsOn: Many[Dependency] = ()
    """Replicated jobs that must be ready or complete before the controller creates these Jobs."""


class StartupPolicy(Open):
    """The start order of a JobSet."""

    startupPolicyOrder: Literal["AnyOrder", "InOrder"] = "AnyOrder"
    """AnyOrder: all Jobs at once. InOrder: a replicated job starts once the previous one is ready."""


RuleName = Annotated[
    str,
    StringConstraints(max_length=128, pattern=r"^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?$"),
    said(
        "must be the name of a failure rule: a letter, then letters, digits, '_', ',' and ':'",
        hint="End it with a letter, a digit or '_', and use at most 128 characters.",
    ),
]


class FailureRule(Open):
    """The effect of certain failed Jobs on their JobSet."""

    name: RuleName = ""
    """Name of the rule. The default is failurePolicyRuleN for the N-th rule, from 0."""


class FailurePolicy(Open):
    """The effect of failed Jobs on their JobSet."""

    rules: Many[FailureRule] = ()
    """Rules. The first matching rule applies."""


class JobSetSpec(Open):
    """Settings of a JobSet."""

    failurePolicy: FailurePolicy = FailurePolicy.model_construct()
    """The effect of failed Jobs on the JobSet."""

    startupPolicy: StartupPolicy = StartupPolicy.model_construct()
    """The start order of the Jobs."""

    replicatedJobs: Many[ReplicatedJob] = ()
    """The Jobs."""


class JobSet(Workload):
    """A JobSet of the Kubernetes special interest groups."""

    apiVersion: Literal["jobset.x-k8s.io/v1alpha2"]
    kind: Literal["JobSet"]
    spec: JobSetSpec
    """Settings of the JobSet."""

    @property
    def is_in_order(self) -> bool:
        """Whether the controller creates each replicated job only once the previous one is ready."""
        return self.spec.startupPolicy.startupPolicyOrder == "InOrder"

    @property
    def implied_names(self) -> Iterator[tuple[KeyPath, str]]:
        """The names of failure rules. JobSet's webhook adds them only on CREATE (pkg/webhooks/jobset_webhook.go, 0.10
        to 0.12), but the CRD requires them.
        """
        for index, rule in enumerate(self.spec.failurePolicy.rules):
            if not rule.name:
                yield ("spec", "failurePolicy", "rules", index, "name"), f"failurePolicyRule{index}"

    def _pod_sets(self) -> Iterator[PodSet]:
        """Yields the pods of each replicated job."""
        for index, item in enumerate(self.spec.replicatedJobs):
            job, path = item.template.spec, ("spec", "replicatedJobs", index)
            below: KeyPath = (*path, "template")
            pods = pod_set(item.name, item.replicas * job.at_once, (*below, "spec", "template"), job.template)
            written = Name("replicated job", item.name, item.name, (*path, "name"))
            metadata = ((*below, "metadata"), item.template.metadata)
            yield replace(pods, written=written, job=metadata, jobs=item.replicas)


class Trainer(Open):
    """Trainer settings of a TrainJob."""

    numNodes: Positive | None = None
    """Number of pods. The default comes from the runtime."""
    resourcesPerNode: Resources = Resources.model_construct()
    """Resource requests and limits of each pod."""


class TrainJobSpec(Open):
    """Settings of a TrainJob. The runtime that it names contains the pod template."""

    trainer: Trainer = Trainer.model_construct()
    """Trainer settings."""
    labels: dict[LabelKey, LabelValue] = nothing()
    """Labels of the objects that the controller creates."""


class TrainJob(Workload):
    """Kubeflow Trainer's TrainJob."""

    apiVersion: Literal["trainer.kubeflow.org/v1alpha1"]
    kind: Literal["TrainJob"]
    spec: TrainJobSpec
    """Settings of the training."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """Yields the nodes. Each node is a pod."""
        trainer = self.spec.trainer
        nodes = trainer.numNodes or 1
        path: KeyPath = ("spec", "trainer")
        asks = trainer.resourcesPerNode.amounts
        yield PodSet("node", nodes, path, None, asks, nodes, metadata_path=(*path, "metadata"), holders=("",))


LEADER, WORKERS = "leader", "workers"
"""Names of the pod sets of a LeaderWorkerSet."""


class SubGroupPolicy(Open):
    """The division of each group of a LeaderWorkerSet into parts."""

    subGroupSize: int | None = None
    """Pods in a part."""
    subGroupPolicyType: Literal["LeaderWorker", "LeaderExcluded"] = "LeaderWorker"
    """LeaderWorker: the leader is in the first part. LeaderExcluded: the leader is in no part."""

    @property
    def leader_excluded(self) -> bool:
        """Whether the leader is in no part."""
        return self.subGroupPolicyType == "LeaderExcluded"


class LeaderWorkerTemplate(Open):
    """Template for a group of a LeaderWorkerSet: one leader and its workers."""

    size: Positive = 1
    """Pods of the group, including the leader."""
    leaderTemplate: PodTemplate | None = None
    """Template for the leader. The default is the workers' template."""
    workerTemplate: PodTemplate = PodTemplate.model_construct()
    """Template for the workers."""
    subGroupPolicy: SubGroupPolicy | None = None
    """The division of the group into parts."""


class LeaderWorkerSetSpec(Open):
    """Settings of a LeaderWorkerSet, which has identical groups of pods."""

    replicas: Count = 1
    """Number of groups."""
    leaderWorkerTemplate: LeaderWorkerTemplate
    """Template for a group."""
    startupPolicy: Literal["LeaderCreated", "LeaderReady"] = "LeaderCreated"
    """LeaderCreated: the workers start with the leader. LeaderReady: the workers start once the leader is ready."""


class LeaderWorkerSet(Workload):
    """A LeaderWorkerSet of the Kubernetes special interest groups."""

    apiVersion: Literal["leaderworkerset.x-k8s.io/v1"]
    divided = WORKERS
    kind: Literal["LeaderWorkerSet"]
    spec: LeaderWorkerSetSpec
    """Settings of the groups."""

    def _pod_sets(self) -> Iterator[PodSet]:
        """Yields the leader and the workers of one group."""
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
        """The number of groups."""
        return self.spec.replicas

    @property
    def own_division(self) -> Division | None:
        """The division by subGroupPolicy."""
        policy, path = self.spec.leaderWorkerTemplate.subGroupPolicy, ("spec", "leaderWorkerTemplate")
        if policy is None:
            return None
        return Division(policy.subGroupSize, (*path, "subGroupPolicy", "subGroupSize"), policy.leader_excluded)

    @property
    def root_annotations(self) -> tuple[str, ...]:
        """The annotation for the segment size, which overrides that of workerTemplate."""
        return (labels.SEGMENT_SIZE,)

    @property
    def leader_first(self) -> bool:
        """Whether startupPolicy is LeaderReady."""
        return self.spec.startupPolicy == "LeaderReady"


_Kubernetes = Job | BarePod | CronJob | Deployment | StatefulSet
_Kubeflow = Notebook | TrainJob | AnyTrainingJob
AnyWorkload = _Kubernetes | _Kubeflow | JobSet | LeaderWorkerSet | AnyRay | PlainWorkload
"""Any workload that the tool reads."""
WORKLOADS: tuple[type[AnyWorkload], ...] = tuple(
    imported(f"kubectl_tas.model.{place}") for place, _ in kindlists.WORKLOADS.values()
)
"""The models, in the order in which messages list their kinds."""


@cache
def kind_of(model: type[AnyWorkload]) -> str:
    """Returns the kind of a model."""
    kinds: tuple[str, ...] = get_args(model.model_fields["kind"].annotation)
    return kinds[0]
