"""Labels and annotations by name: the tool's own, Kubernetes', KAI's and Argo CD's."""

from __future__ import annotations

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
APPLIERS: dict[str, tuple[str, ...]] = {
    "kubectl": ("kubectl.kubernetes.io/",),
    "Argo CD or Helm": ("app.kubernetes.io/instance",),
    "Argo CD": ("argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance"),
    "Flux": tuple(
        f"{kind}.toolkit.fluxcd.io/{name}"
        for kind in ("kustomize", "helm")
        for name in ("name", "namespace", "checksum")
    ),
    "Helm": ("meta.helm.sh/", "helm.sh/"),
}
"""Labels and annotations by which tools know what they have applied, and prefixes of such. Sources: Argo CD 3,
common/common.go; Flux 2, ownerRef of fluxcd/pkg/ssa; Helm 3, pkg/action/validate.go.
"""


def setter(key: str) -> str | None:
    """Who sets a label or an annotation of a Queue, so that no file does; None: people."""
    if key in (MANAGED_BY, NODE_POOL, SYNC_WAVE, FLUX_SUBSTITUTE) or key.startswith(OWN_PREFIX):
        return "kubectl-tas"
    return next((tool for tool, keys in APPLIERS.items() if key in keys or f"{key.split('/')[0]}/" in keys), None)


PRIORITY_CLASS = "priorityClassName"
"""A label that KAI reads before the field of the same name."""
DYNAMO_QUEUE = "nvidia.com/kai-scheduler-queue"
"""The annotation of a DynamoGraphDeployment from which its operator takes the queue of all pods."""
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
MIRROR = "kubernetes.io/config.mirror"
"""An annotation of a pod that its node runs by itself."""
