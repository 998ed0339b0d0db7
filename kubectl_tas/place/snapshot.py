"""Objects in, a snapshot of KAI's scheduler out: what its own snapshot tool reads, and answers from with the real
scheduler's code.

Follows ``cmd/snapshot-tool``, ``pkg/scheduler/plugins/snapshot`` and ``pkg/scheduler/conf`` of the releases 0.12 to
0.17. Nothing in it depends on the machine or the time, and it is not compressed, since libraries compress in different
ways: the same objects give the same bytes.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from kubectl_tas.kai import PRIORITY_CLASSES, Release
from kubectl_tas.model.labels import NODE_POOL, POD_GROUP
from kubectl_tas.resolve.names import digest

Object = Mapping[str, Any]

MEMBER = "snapshot.json"
"""The one file in the archive."""
LISTS = {
    "Pod": "pods",
    "Node": "nodes",
    "Queue": "queues",
    "PodGroup": "podGroups",
    "BindRequest": "bindRequests",
    "PriorityClass": "priorityClasses",
    "ConfigMap": "configMaps",
    "PersistentVolume": "persistentVolumes",
    "PersistentVolumeClaim": "persistentVolumeClaims",
    "CSIStorageCapacity": "csiStorageCapacities",
    "StorageClass": "storageClasses",
    "CSIDriver": "csiDrivers",
    "ResourceClaim": "resourceClaims",
    "ResourceSlice": "resourceSlices",
    "DeviceClass": "deviceClasses",
    "Topology": "topologies",
    "NodeResourceTopology": "nodeResourceTopologies",
}
"""Where the objects of each kind stand; those of other kinds are not looked at by the scheduler."""
ACTIONS = "allocate, consolidation, reclaim, preempt, stalegangeviction"
PLUGINS: tuple[tuple[str, tuple[int, int]], ...] = (
    *((name, (0, 0)) for name in ("predicates", "proportion", "priority", "elastic", "kubeflow", "ray")),
    *((name, (0, 0)) for name in ("nodeavailability", "gpusharingorder", "gpupack", "resourcetype", "subgrouporder")),
    *((name, (0, 0)) for name in ("taskorder", "nominatednode", "dynamicresources", "nodeplacement", "minruntime")),
    ("topology", (0, 0)),
    ("snapshot", (0, 13)),
    ("sg-nodelocalgreedy", (0, 16)),
    ("sg-multinodegang", (0, 16)),
)
"""The scheduler's own plugins in their order, each with the release that it came with
(pkg/scheduler/conf_util/scheduler_conf_util.go).
"""
ARGUMENTS = {"nodeplacement": {"cpu": "binpack", "gpu": "binpack"}}
_SECOND = 10**9
_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Scheduler:
    """The scheduler that is asked."""

    release: Release
    name: str
    """schedulerName of its pods."""
    queue_label: str
    shard: str | None = None
    """Value of the label of its nodes, queues and work; None: it has those without the label."""


@dataclass(frozen=True, slots=True)
class Doubts:
    """What the scheduler decides without, since it is not among the objects."""

    classes: tuple[str, ...]
    """PriorityClasses that PodGroups name; without them they have priority 50."""
    config_maps: int
    """ConfigMaps that pods need, and which are taken to be there."""
    claims: int
    """PersistentVolumeClaims that pods have; such pods stay Pending."""
    strangers: int
    """Running pods whose PodGroup is missing: they take up nodes, but count for no queue, and are not preempted."""
