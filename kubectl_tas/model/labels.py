"""Labels and annotations by name: the tool's own, Kubernetes', KAI's and Argo CD's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto

from kubectl_tas import gpus

POOL = "kubectl-tas/pool"
"""The pool or pool--subpool; on workloads written by the user."""
TARGET_SEPARATOR = "--"
"""Stands between a pool and its subpool, and so in no other name."""
WORKFLOW = "kubectl-tas/workflow"
"""The workflow that an object was made from."""
HOSTS = "kubectl-tas/hosts"
"""The Service below which the pods of a workflow's group have DNS names."""
GROUP = "kubectl-tas/group"
"""The group of a workflow that an object was made from."""
TASK = "kubectl-tas/task"
"""The task of a workflow that a pod runs."""
PRIORITY = "kubectl-tas/priority"
"""HIGH, NORMAL or LOW; on workloads, NORMAL where it is left out."""
OWNED = "kubectl-tas/podgroup"
"""On a workload, with the value owned: the tool writes the PodGroup, not KAI's PodGrouper."""
GANG = "kubectl-tas/gang"
"""On workloads: those with one value are one gang, in a PodGroup of that name."""
REPLACE = "kubectl-tas/replace"
"""On a workload or a companion, with the value true: the GitOps tool deletes it and makes it anew, where it cannot be
changed in place."""
OWN_PREFIX = "kubectl-tas/"

MANAGED_BY = "app.kubernetes.io/managed-by"
SYNC_WAVE = "argocd.argoproj.io/sync-wave"
SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
"""Options of Argo CD for one object, with commas between."""
RECREATE: dict[str, dict[str, str]] = {
    "argocd": {SYNC_OPTIONS: "Force=true,Replace=true"},
    "flux": {"kustomize.toolkit.fluxcd.io/force": "enabled"},
    "none": {},
}
"""Annotations that make each GitOps tool replace an object whose fields are immutable. Argo CD deletes it and makes it
anew in each sync that it takes part in; Flux where the change is refused.
"""
FLUX_SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
"""With the value disabled, post-build substitution of Flux leaves an object as it is (SubstituteVariables in
fluxcd/pkg/kustomize): what looks like a variable is the author's, and what is applied is what was judged. Where a
Kustomization substitutes nothing it changes nothing, as an escaped text would.
"""
PRIORITY_CLASS = "priorityClassName"
"""A label that KAI reads before the field of the same name."""
RAY_PRIORITY_CLASS = "ray.io/priority-class-name"
"""A label that KAI reads on KubeRay's kinds, before priorityClassName."""

QUEUE = "kai.scheduler/queue"
RUNAI_QUEUE = "runai/queue"
"""Where KAI before 0.6 reads the queue."""
PREEMPTIBILITY = "kai.scheduler/preemptibility"
"""A label with the value preemptible or non-preemptible, which KAI reads before any class."""
NODE_POOL = "kai.scheduler/node-pool"
"""The shard of a scheduler, where a cluster has several."""
SUBGROUP = "kai.scheduler/subgroup-name"
SKIP_PODGROUPER = "kai.scheduler/skip-podgrouper"
POD_GROUP = "pod-group-name"

TOPOLOGY = "kai.scheduler/topology"
PLACEMENT_REQUIRED = "kai.scheduler/topology-required-placement"
PLACEMENT_PREFERRED = "kai.scheduler/topology-preferred-placement"
SEGMENT_SIZE = "kai.scheduler/segment-size"
SEGMENT_REQUIRED = "kai.scheduler/segment-topology-required-placement"
SEGMENT_PREFERRED = "kai.scheduler/segment-topology-preferred-placement"
POD_INDEX_LABEL = "kai.scheduler/pod-index-label"
BATCH_MIN_MEMBER = "kai.scheduler/batch-min-member"
PREEMPTION_DELAY = "kai.scheduler/preemption-delay"
STALENESS_GRACE = "kai.scheduler/staleness-grace-period"

SEGMENT_ANNOTATIONS = (SEGMENT_SIZE, SEGMENT_REQUIRED, SEGMENT_PREFERRED, POD_INDEX_LABEL)
"""What a pod template may say about its segments."""

NOTEBOOK_STOPPED = "kubeflow-resource-stopped"
"""An annotation with which Kubeflow's controller keeps no pod of a Notebook."""
JOB_INDEX = "batch.kubernetes.io/job-completion-index"
KUBEFLOW_INDEX = "training.kubeflow.org/replica-index"
LEADER_WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
"""The leader has 0, workers follow."""


class Reader(Flag):
    """On what a key is read."""

    NOBODY = 0
    """Nobody is to write it: KAI, Grove or this tool does."""
    WORK = auto()
    """On a workload itself, and on a Pod that nothing else makes."""
    PODS = auto()
    """On pod templates, and on such a Pod."""
    BOTH = WORK | PODS


@dataclass(frozen=True, slots=True)
class Key:
    """A label or an annotation that KAI, Grove or this tool reads."""

    name: str
    where: str
    """labels, annotations, or both."""
    about: str = ""
    """What it does, for who writes it; empty where nobody is to."""
    reader: Reader = Reader.NOBODY
    choices: tuple[str, ...] = ()
    """What it may be, where that is known."""


_A, _L = "annotations", "labels"
KEYS: tuple[Key, ...] = (
    Key(POOL, _L, "The pool, or pool--subpool, whose quota the work counts against.", Reader.WORK),
    Key(
        PRIORITY,
        _L,
        "HIGH and NORMAL work has its quota for sure; LOW work may have more, until somebody else claims it.",
        Reader.WORK,
        ("HIGH", "NORMAL", "LOW"),
    ),
    Key(OWNED, _L, "With owned, the tool writes the PodGroup, not KAI's PodGrouper.", Reader.WORK, ("owned",)),
    Key(GANG, _L, "Work with one value starts together, as one gang in a PodGroup of that name.", Reader.WORK),
    Key(
        REPLACE,
        _L,
        "With true, Argo CD or Flux deletes it and makes it anew where it cannot be changed in place.",
        Reader.WORK,
        ("true",),
    ),
    Key(WORKFLOW, _L),
    Key(GROUP, _L),
    Key(TASK, _L),
    Key(QUEUE, _L),
    Key(SUBGROUP, _L, "The SubGroup of its PodGroup that a Pod belongs to.", Reader.PODS),
    Key(PRIORITY_CLASS, _L),
    Key(PREEMPTIBILITY, _L),
    Key("kai.scheduler/accounting", _L),
    Key(NODE_POOL, _L),
    Key("kai.scheduler/task-priority", _L),
    Key(RUNAI_QUEUE, _L),
    Key(POD_GROUP, _A, "The PodGroup of this repository that a Pod is a member of.", Reader.PODS),
    Key(SKIP_PODGROUPER, _A),
    Key(TOPOLOGY, _A, "The Topology whose levels the placement below names.", Reader.BOTH),
    Key(PLACEMENT_REQUIRED, _A, "The level, by its node label, within one domain of which all pods run.", Reader.BOTH),
    Key(PLACEMENT_PREFERRED, _A, "The level within one domain of which pods run where there is room.", Reader.BOTH),
    Key(SEGMENT_SIZE, _A, "The pods of a segment: so many neighbours are placed together.", Reader.PODS),
    Key(SEGMENT_REQUIRED, _A, "The level within one domain of which each segment runs.", Reader.PODS),
    Key(SEGMENT_PREFERRED, _A, "The level within one domain of which a segment runs where there is room.", Reader.PODS),
    Key(POD_INDEX_LABEL, _A, "The label in which pods have the index by which they are cut in segments.", Reader.PODS),
    Key(BATCH_MIN_MEMBER, _A, "The pods that must start together.", Reader.WORK),
    Key(PREEMPTION_DELAY, _A, "How long work runs before it may be preempted.", Reader.WORK),
    Key(STALENESS_GRACE, _A, "How long a gang may lack pods before all of it is evicted.", Reader.WORK),
    Key(gpus.FRACTION, _A, "The part of one GPU that a pod gets, such as 0.5.", Reader.PODS),
    Key(gpus.MEMORY, _A, "The MiB of one GPU's memory that a pod gets.", Reader.PODS),
    Key(gpus.DEVICES, _A, "The GPUs of each of which a pod gets that part.", Reader.PODS),
    Key("gpu-fraction-container-name", _A, "The container that gets the part of a GPU.", Reader.PODS),
    Key("kai.scheduler/last-start-timestamp", _A),
    Key("kai.scheduler/stale-podgroup-timestamp", _A),
    Key("kai.scheduler/top-owner-metadata", _A),
    *(
        Key(name, "both")
        for name in (
            "grove.io/base-podgang",
            "grove.io/disable-managed-resource-protection",
            "grove.io/mnnvl-group",
            "grove.io/pod-template-hash",
            "grove.io/podclique",
            "grove.io/podclique-pod-index",
            "grove.io/podcliquescalinggroup",
            "grove.io/podcliquescalinggroup-replica-index",
            "grove.io/podcliqueset-replica-index",
            "grove.io/podgang",
            "grove.io/reconcile-trigger",
            "grove.io/scheduler-name",
            "grove.io/should-not-mirror",
            "grove.io/topology-name",
            "kai.scheduler/numa-placement-observed",
            "kai.scheduler/numa-placement-predicted",
            "runai/pod-index",
            "runai/shared-gpu-configmap",
        )
    ),
)
"""Where each key is read: KAI 0.17.0 (pkg/common/constants, pkg/podgrouper/podgrouper/plugins/constants,
pkg/scheduler/constants/labels) and Grove (operator/api/common); with those that they write themselves.
"""


def keys_on(where: str, reader: Reader) -> tuple[Key, ...]:
    """What people write among the labels or the annotations of such an object."""
    return tuple(key for key in KEYS if key.where == where and key.reader & reader)
