"""Holds the names of labels and annotations of this tool, Kubernetes, KAI and Argo CD."""

from __future__ import annotations

POOL = "kubectl-tas/pool"
"""The pool or pool--subpool of an object. On workloads the user writes it."""
MAX_LABEL = 63
"""The most characters of an RFC 1123 label and of a label value in Kubernetes."""
MAX_NAME = 253
"""The most characters of a Kubernetes object's name."""
TARGET_SEPARATOR = "--"
"""The separator between a pool and its subpool. No other name contains it."""
WORKFLOW = "kubectl-tas/workflow"
"""The workflow from which `render` made an object."""
HOSTS = "kubectl-tas/hosts"
"""The Service that gives DNS names to the pods of a workflow's group."""
GROUP = "kubectl-tas/group"
"""The group of a workflow from which `render` made an object."""
TASK = "kubectl-tas/task"
"""The task of a workflow that a pod runs."""
PRIORITY = "kubectl-tas/priority"
"""HIGH, NORMAL or LOW. On workloads, the default is NORMAL."""
OWNED = "kubectl-tas/podgroup"
"""The value owned on a workload: the tool writes the PodGroup, not KAI's podgrouper."""
GANG = "kubectl-tas/gang"
"""The gang of a workload. Workloads with the same value form one gang, in a PodGroup of that name."""
REPLACE = "kubectl-tas/replace"
"""The value true on a workload or a companion: the GitOps tool recreates an object that it cannot change in place."""
EXPECTED_RUNTIME = "kubectl-tas/expected-runtime"
"""An annotation on work: the time from its start to its end, as a duration of Go. `forecast` reads it."""
OWN_PREFIX = "kubectl-tas/"

MANAGED_BY = "app.kubernetes.io/managed-by"
SYNC_WAVE = "argocd.argoproj.io/sync-wave"
SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
COMPARE_OPTIONS = "argocd.argoproj.io/compare-options"
"""Argo CD's options for one object, separated by commas."""
RECREATE: dict[str, dict[str, str]] = {
    "argocd": {SYNC_OPTIONS: "Force=true,Replace=true"},
    "flux": {"kustomize.toolkit.fluxcd.io/force": "enabled"},
    "none": {},
}
"""Annotations that make each GitOps tool replace an object with immutable fields. Argo CD deletes and recreates the
object in each sync that includes it. Flux does so only if the API server refuses the change.
"""
FLUX_SUBSTITUTE = "kustomize.toolkit.fluxcd.io/substitute"
"""The value disabled excludes an object from Flux's post-build substitution (SubstituteVariables in
fluxcd/pkg/kustomize). So Flux applies exactly the text that the tool checked, even if it looks like a variable. Unlike
escaped text, this also works for a Kustomization without substitution.
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
"""Labels and annotations, or prefixes of them, by which tools recognize what they applied. Sources: Argo CD 3,
common/common.go; Flux 2, ownerRef of fluxcd/pkg/ssa; Helm 3, pkg/action/validate.go.
"""


def setter(key: str) -> str | None:
    """Names the tool that sets a label or annotation of a Queue, which no file may then set. None: people set it."""
    if key in (MANAGED_BY, NODE_POOL, SYNC_WAVE, FLUX_SUBSTITUTE) or key.startswith(OWN_PREFIX):
        return "kubectl-tas"
    return next((tool for tool, keys in APPLIERS.items() if key in keys or f"{key.split('/')[0]}/" in keys), None)


PRIORITY_CLASS = "priorityClassName"
"""A label that KAI reads before the field of the same name."""
PROJECT = "project"
"""A label from which KAI takes the queue of a pod if neither the pod nor its owner has a label for the queue."""
DYNAMO_QUEUE = "nvidia.com/kai-scheduler-queue"
"""The annotation of a DynamoGraphDeployment from which its operator takes the queue of all pods."""
RAY_PRIORITY_CLASS = "ray.io/priority-class-name"
"""A label that KAI reads on KubeRay's kinds, before priorityClassName."""

QUEUE = "kai.scheduler/queue"
RUNAI_QUEUE = "runai/queue"
"""The label for the queue in KAI before 0.6."""
PREEMPTIBILITY = "kai.scheduler/preemptibility"
"""A label with the value preemptible or non-preemptible, which KAI reads before any PriorityClass."""
NODE_POOL = "kai.scheduler/node-pool"
"""The shard of KAI's scheduler, if a cluster has several."""
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
"""Annotations of a pod template that define its segments."""

NOTEBOOK_STOPPED = "kubeflow-resource-stopped"
"""An annotation that stops a Notebook: Kubeflow's controller then runs no pod."""
JOB_INDEX = "batch.kubernetes.io/job-completion-index"
KUBEFLOW_INDEX = "training.kubeflow.org/replica-index"
LEADER_WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
"""The label with the index of a pod in its group. The leader has 0, and the workers follow."""
MIRROR = "kubernetes.io/config.mirror"
"""An annotation of a mirror pod, which stands for a static pod that its node runs by itself."""
