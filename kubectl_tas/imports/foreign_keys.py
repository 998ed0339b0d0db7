"""Lists what work says to other schedulers, and which of it has an equal here.

Follows Kueue 0.19 (pkg/controller/constants, pkg/controller/jobs/pod/constants, apis/kueue/v1beta2), Volcano 1.13
(labels.go of scheduling/v1beta1 and batch/v1alpha1), YuniKorn 1.7 (pkg/common/constants), scheduler-plugins
(apis/scheduling/v1alpha1), Koordinator (apis/extension) and KubeRay 1.7 (utils/constant.go).
"""

from __future__ import annotations

from enum import Enum, auto

from kubectl_tas.model import foreign_schedulers, labels


class Says(Enum):
    """The meaning of a label, an annotation or a field for a scheduler."""

    QUEUE = auto()
    PRIORITY = auto()
    """Name of a class."""
    PREEMPTIBLE = auto()
    """true, if other work may preempt this work."""
    REQUIRED = auto()
    PREFERRED = auto()
    SLICE_LEVEL = auto()
    SLICE_SIZE = auto()
    GROUP = auto()
    """Name of a gang."""
    MINIMUM = auto()
    """Number of pods that start together."""
    DEADLINE = auto()
    """Seconds after which the work ends."""
    HERE = auto()
    """Nothing that is lost: KAI or `render` does the same."""


_OF_KUBERAY = ("ray.io/gang-scheduling-enabled", "ray.io/scheduler-name")
_MEANINGS = {
    Says.QUEUE: (
        *("kueue.x-k8s.io/queue-name", "volcano.sh/queue-name", "scheduling.volcano.sh/queue-name"),
        *("yunikorn.apache.org/queue", "quota.scheduling.koordinator.sh/name"),
        *("runai/queue", labels.QUEUE, labels.DYNAMO_QUEUE),
    ),
    Says.PRIORITY: ("kueue.x-k8s.io/priority-class", labels.PRIORITY_CLASS, labels.RAY_PRIORITY_CLASS),
    Says.PREEMPTIBLE: ("volcano.sh/preemptable", "yunikorn.apache.org/allow-preemption"),
    Says.REQUIRED: ("kueue.x-k8s.io/podset-required-topology",),
    Says.PREFERRED: ("kueue.x-k8s.io/podset-preferred-topology",),
    Says.SLICE_LEVEL: ("kueue.x-k8s.io/podset-slice-required-topology",),
    Says.SLICE_SIZE: ("kueue.x-k8s.io/podset-slice-size",),
    Says.GROUP: (
        *("kueue.x-k8s.io/pod-group-name", "scheduling.k8s.io/group-name", "scheduling.x-k8s.io/pod-group"),
        *("pod-group.scheduling.sigs.k8s.io", "pod-group.scheduling.sigs.k8s.io/name"),
        *("gang.scheduling.koordinator.sh/name", "yunikorn.apache.org/task-group-name"),
    ),
    Says.MINIMUM: (
        *("kueue.x-k8s.io/job-min-parallelism", "kueue.x-k8s.io/pod-group-total-count"),
        *("scheduling.volcano.sh/group-min-member", "pod-group.scheduling.sigs.k8s.io/min-available"),
        "gang.scheduling.koordinator.sh/min-available",
    ),
    Says.DEADLINE: ("kueue.x-k8s.io/max-exec-time-seconds",),
    Says.HERE: (
        *("kueue.x-k8s.io/podset-unconstrained-topology", "kueue.x-k8s.io/podset-group-name", "kueue.x-k8s.io/managed"),
        *("kueue.x-k8s.io/pod-group-fast-admission", *_OF_KUBERAY),
        *("kueue.x-k8s.io/pod-suspending-parent", "kueue.x-k8s.io/podset", "kueue.x-k8s.io/workload"),
        *("kueue.x-k8s.io/role-hash", "kueue.x-k8s.io/is-group-workload", "yunikorn.apache.org/app-id"),
        *("yunikorn.apache.org/task-groups", "volcano.sh/task-spec", "volcano.sh/job-name", "volcano.sh/job-version"),
    ),
}
MEANING = {key: says for says, keys in _MEANINGS.items() for key in keys}
FIELDS: dict[str, tuple[Says, str]] = {
    "schedulingPolicy.queue": (Says.QUEUE, ""),
    "schedulingPolicy.priorityClass": (Says.PRIORITY, ""),
    "schedulingPolicy.minResources": (Says.HERE, ""),
    "schedulingPolicy.scheduleTimeoutSeconds": (Says.HERE, "KAI lets work wait for any time"),
    "batchSchedulerOptions.queue": (Says.QUEUE, ""),
    "batchSchedulerOptions.priorityClassName": (Says.PRIORITY, ""),
    "spec.batchScheduler": (Says.HERE, ""),
    "spec.batchSchedulerOptions": (Says.HERE, ""),
    "spec.workloadRef": (Says.HERE, ""),
    "spec.schedulingGroup": (Says.HERE, ""),
}
"""Fields of any kind that only another scheduler reads, with the key above them, and the consequence of their loss."""
OF_FOREIGN: dict[str, tuple[Says, str]] = {
    "spec.queue": (Says.QUEUE, ""),
    "spec.minAvailable": (Says.MINIMUM, ""),
    "spec.minMember": (Says.MINIMUM, ""),
    "spec.networkTopology": (Says.HERE, "its tiers are no levels of a pool"),
}
"""Fields of kinds that belong to another scheduler."""
OLD_KEYS = {"queue": Says.QUEUE, "applicationId": Says.HERE}
"""Labels that YuniKorn reads on its own work."""


def is_of_yunikorn(key: object) -> bool:
    """Whether only YuniKorn reads a label or an annotation."""
    return foreign_schedulers.scheduler_of(str(key)) == foreign_schedulers.YUNIKORN


def scheduler_of(key: str) -> str:
    """Returns who reads a label, an annotation or an apiVersion with a slash behind its group. Empty: none of these."""
    if key.startswith("runai/"):  # KAI writes some of these keys itself
        return foreign_schedulers.RUN_AI
    return "KubeRay" if key in _OF_KUBERAY else foreign_schedulers.scheduler_of(key)
