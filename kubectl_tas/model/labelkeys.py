"""Lists the labels and annotations that KAI, Grove or this tool reads, with their places and their effects."""

from __future__ import annotations

from enum import Flag, auto

from kubectl_tas import gpus
from kubectl_tas.late import dataclass
from kubectl_tas.model import labels


class Reader(Flag):
    """The objects on which a key is read."""

    NOBODY = 0
    """KAI, Grove or this tool writes the key; users must not."""
    WORK = auto()
    """The workload itself, or a Pod without an owner."""
    PODS = auto()
    """Pod templates, or a Pod without an owner."""
    BOTH = WORK | PODS


@dataclass(frozen=True, slots=True)
class Key:
    """A label or an annotation that KAI, Grove or this tool reads."""

    name: str
    where: str
    """labels, annotations, or both."""
    about: str = ""
    """The effect of the key, for its author. Empty if users must not write the key."""
    reader: Reader = Reader.NOBODY
    choices: tuple[str, ...] = ()
    """The possible values, if known."""


_A, _L = "annotations", "labels"
KEYS: tuple[Key, ...] = (
    Key(labels.POOL, _L, "The pool, or pool--subpool, whose quota the work counts against.", Reader.WORK),
    Key(
        labels.PRIORITY,
        _L,
        "HIGH and NORMAL work stays within the quota. LOW work may exceed it until other queues need the GPUs.",
        Reader.WORK,
        ("HIGH", "NORMAL", "LOW"),
    ),
    Key(
        labels.OWNED, _L, "With owned, kubectl-tas writes the PodGroup, not KAI's PodGrouper.", Reader.WORK, ("owned",)
    ),
    Key(
        labels.GANG,
        _L,
        "Work with the same value starts together, as one gang in a PodGroup of that name.",
        Reader.WORK,
    ),
    Key(
        labels.REPLACE,
        _L,
        "With true, Argo CD or Flux deletes and recreates the object if it cannot change in place.",
        Reader.WORK,
        ("true",),
    ),
    Key(labels.WORKFLOW, _L),
    Key(labels.GROUP, _L),
    Key(labels.TASK, _L),
    Key(labels.QUEUE, _L),
    Key(labels.SUBGROUP, _L, "The SubGroup that a Pod belongs to.", Reader.PODS),
    Key(labels.PRIORITY_CLASS, _L),
    Key(labels.PREEMPTIBILITY, _L),
    Key("kai.scheduler/accounting", _L),
    Key(labels.NODE_POOL, _L),
    Key("kai.scheduler/task-priority", _L),
    Key(labels.RUNAI_QUEUE, _L),
    Key(labels.POD_GROUP, _A, "The PodGroup of this repository that a Pod is a member of.", Reader.PODS),
    Key(labels.SKIP_PODGROUPER, _A),
    Key(labels.TOPOLOGY, _A, "The Topology whose levels the placement below names.", Reader.BOTH),
    Key(
        labels.PLACEMENT_REQUIRED,
        _A,
        "The level, by its node label. All pods run within one domain of it.",
        Reader.BOTH,
    ),
    Key(
        labels.PLACEMENT_PREFERRED,
        _A,
        "The level, by its node label. Pods run within one domain of it if it has room.",
        Reader.BOTH,
    ),
    Key(
        labels.SEGMENT_SIZE, _A, "The number of pods in a segment. KAI places neighbouring pods together.", Reader.PODS
    ),
    Key(
        labels.SEGMENT_REQUIRED,
        _A,
        "The level, by its node label. Each segment runs within one domain of it.",
        Reader.PODS,
    ),
    Key(
        labels.SEGMENT_PREFERRED,
        _A,
        "The level, by its node label. A segment runs within one domain of it if it has room.",
        Reader.PODS,
    ),
    Key(
        labels.POD_INDEX_LABEL,
        _A,
        "The label with the index of a pod. KAI divides pods into segments by index.",
        Reader.PODS,
    ),
    Key(labels.BATCH_MIN_MEMBER, _A, "The number of pods that must start together.", Reader.WORK),
    Key(labels.PREEMPTION_DELAY, _A, "How long work must be pending before KAI evicts other work for it.", Reader.WORK),
    Key(labels.STALENESS_GRACE, _A, "How long a gang may lack pods before KAI evicts all of it.", Reader.WORK),
    Key(gpus.FRACTION, _A, "The part of one GPU that a pod gets, such as 0.5.", Reader.PODS),
    Key(gpus.MEMORY, _A, "The MiB of one GPU's memory that a pod gets.", Reader.PODS),
    Key(gpus.DEVICES, _A, "The number of GPUs that a pod gets such a part of.", Reader.PODS),
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
"""All keys that KAI 0.17.0 (pkg/common/constants, pkg/podgrouper/podgrouper/plugins/constants,
pkg/scheduler/constants/labels) and Grove (operator/api/common) read, including keys that they write themselves.
"""
