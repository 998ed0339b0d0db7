"""Lists the labels and annotations that KAI, Grove or this tool reads, with their places and their effects."""

from __future__ import annotations

from enum import Flag, auto

from kubectl_tas import gpus
from kubectl_tas.model import labels
from kubectl_tas.records import dataclass


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
        "HIGH and NORMAL work has its quota for sure; LOW work may have more, until somebody else claims it.",
        Reader.WORK,
        ("HIGH", "NORMAL", "LOW"),
    ),
    Key(labels.OWNED, _L, "With owned, the tool writes the PodGroup, not KAI's PodGrouper.", Reader.WORK, ("owned",)),
    Key(labels.GANG, _L, "Work with one value starts together, as one gang in a PodGroup of that name.", Reader.WORK),
    Key(
        labels.REPLACE,
        _L,
        "With true, Argo CD or Flux deletes it and makes it anew where it cannot be changed in place.",
        Reader.WORK,
        ("true",),
    ),
    Key(labels.WORKFLOW, _L),
    Key(labels.GROUP, _L),
    Key(labels.TASK, _L),
    Key(labels.QUEUE, _L),
    Key(labels.SUBGROUP, _L, "The SubGroup of its PodGroup that a Pod belongs to.", Reader.PODS),
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
        "The level, by its node label, within one domain of which all pods run.",
        Reader.BOTH,
    ),
    Key(
        labels.PLACEMENT_PREFERRED,
        _A,
        "The level within one domain of which pods run where there is room.",
        Reader.BOTH,
    ),
    Key(labels.SEGMENT_SIZE, _A, "The pods of a segment: so many neighbours are placed together.", Reader.PODS),
    Key(labels.SEGMENT_REQUIRED, _A, "The level within one domain of which each segment runs.", Reader.PODS),
    Key(
        labels.SEGMENT_PREFERRED,
        _A,
        "The level within one domain of which a segment runs where there is room.",
        Reader.PODS,
    ),
    Key(
        labels.POD_INDEX_LABEL,
        _A,
        "The label in which pods have the index by which they are cut in segments.",
        Reader.PODS,
    ),
    Key(labels.BATCH_MIN_MEMBER, _A, "The pods that must start together.", Reader.WORK),
    Key(labels.PREEMPTION_DELAY, _A, "How long work runs before it may be preempted.", Reader.WORK),
    Key(labels.STALENESS_GRACE, _A, "How long a gang may lack pods before all of it is evicted.", Reader.WORK),
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
"""All keys that KAI 0.17.0 (pkg/common/constants, pkg/podgrouper/podgrouper/plugins/constants,
pkg/scheduler/constants/labels) and Grove (operator/api/common) read, including keys that they write themselves.
"""
