"""Writes a snapshot that KAI's own snapshot tool reads and answers from with the real scheduler's code.

Follows ``cmd/snapshot-tool``, ``pkg/scheduler/plugins/snapshot`` and ``pkg/scheduler/conf`` of the releases 0.12 to
0.17. The same objects give the same bytes: a snapshot does not depend on the machine or the time. It is not compressed,
since libraries compress in different ways.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from typing import Any

from kubectl_tas.kai import PRIORITY_CLASSES, Release
from kubectl_tas.late import dataclass
from kubectl_tas.live.objects import STATE
from kubectl_tas.model.labels import NODE_POOL, POD_GROUP
from kubectl_tas.resolve.names import digest

Object = Mapping[str, Any]

MEMBER = "snapshot.json"
"""Name of the only file in the archive."""
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
"""Name of the snapshot's list for each kind; the scheduler ignores other kinds."""
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
"""The scheduler's own plugins in their order, each with its first release
(pkg/scheduler/conf_util/scheduler_conf_util.go).
"""
ARGUMENTS = {"nodeplacement": {"cpu": "binpack", "gpu": "binpack"}}
FIXED = ("Pod", "PersistentVolumeClaim")
"""Kinds whose spec does not change once the cluster has filled it in."""
CONTAINER = ("name", "image", "ports", "resources", "restartPolicy", "envFrom", "volumeMounts", "volumeDevices")
"""Fields of a container that the snapshot keeps."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
ENDED = ("Succeeded", "Failed")
_SECOND = 10**9
_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Scheduler:
    """The scheduler that the snapshot is for."""

    release: Release
    name: str
    """Value of schedulerName in the scheduler's pods."""
    queue_label: str
    shard: str | None
    """Value of the shard label on nodes, queues and work; None stands for those without the label."""


@dataclass(frozen=True, slots=True)
class Doubts:
    """Objects that the snapshot lacks, so that the scheduler decides without them."""

    classes: tuple[str, ...]
    """PriorityClasses that PodGroups name; a PodGroup without its class has priority 50."""
    topologies: tuple[str, ...]
    """Topologies that PodGroups name; a PodGroup without its Topology stays Pending."""
    strangers: int
    """Number of running pods whose PodGroup is missing: they take up nodes, count for no queue, and stay."""
    taken: tuple[str, ...] = ()
    """ConfigMaps and PersistentVolumeClaims that pods need, as ``Kind NAMESPACE/NAME``; the snapshot adds stand-ins."""
    claims: int = 0
    """Number of pods that ask for missing ResourceClaims; such pods stay Pending."""


def snapshot(scheduler: Scheduler, there: Iterable[Object], rendered: Iterable[Object]) -> tuple[bytes, Doubts]:
    """Returns the archive of a cluster's objects after ``rendered`` is applied, and what the archive lacks.

    The cluster's spec wins for existing pods and PersistentVolumeClaims, the applied spec for all other objects. The
    archive leaves out commands, environment and contents of ConfigMaps. Pods without a UID get one that keeps the given
    order.
    """
    found = _merged(there, rendered)
    waiting = [item for item in found if item["kind"] == "Pod" and _phase(item) not in ENDED and not _node(item)]
    maps = sorted(_needed(waiting, _config_maps) - _named(found, "ConfigMap"))
    bound = {_place(item) for item in found if item["kind"] == "PersistentVolumeClaim" and "status" in item}
    claims = sorted(_needed(waiting, _volume_claims) - bound)
    known = [item for item in found if item["kind"] != "PersistentVolumeClaim" or _place(item) not in claims]
    known += ({"kind": "ConfigMap", "metadata": {"namespace": space, "name": name}} for space, name in maps)
    known += (item for place in claims for item in _bound(*place))
    data = {
        "config": {"actions": ACTIONS, "tiers": [{"plugins": list(_plugins(scheduler.release))}]},
        "schedulerParams": _parameters(scheduler),
        "rawObjects": _raw(known),
    }
    taken = (("ConfigMap", maps), ("PersistentVolumeClaim", claims))
    doubts = replace(
        _doubts(found),
        taken=tuple(f"{kind} {space}/{name}" for kind, places in taken for space, name in places),
        claims=0 if _named(found, "ResourceClaim") else sum("resourceClaims" in pod["spec"] for pod in waiting),
    )
    return _archive(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()), doubts


def _doubts(objects: Iterable[Object]) -> Doubts:
    """Returns the missing objects that PodGroups and pods refer to."""
    by_kind: dict[str, list[Object]] = {}
    for item in objects:
        by_kind.setdefault(item["kind"], []).append(item)
    names = {kind: {item["metadata"]["name"] for item in items} for kind, items in by_kind.items()}
    specs = [item["spec"] for item in by_kind.get("PodGroup", ())]
    parts = [part for spec in specs for part in (spec, *(spec.get("subGroups") or ()))]
    topologies = {(part.get("topologyConstraint") or {}).get("topology") for part in parts}
    classes = {spec.get("priorityClassName") for spec in specs}
    running = [_group_of(pod) for pod in by_kind.get("Pod", ()) if _node(pod) and _phase(pod) not in ENDED]
    return Doubts(
        classes=tuple(sorted(filter(None, classes - names.get("PriorityClass", set())))),
        topologies=tuple(sorted(filter(None, topologies - names.get("Topology", set())))),
        strangers=sum(group not in ("", *names.get("PodGroup", ())) for group in running),
    )


def _archive(content: bytes) -> bytes:
    out, member = BytesIO(), zipfile.ZipInfo(MEMBER, _DATE)
    member.create_system, member.external_attr = 3, 0o644 << 16
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(member, content)
    return out.getvalue()


def _plugins(release: Release) -> Iterator[dict[str, Any]]:
    for name, since in PLUGINS:
        if release.patch[:2] >= since:
            yield {"name": name, **({"arguments": ARGUMENTS[name]} if name in ARGUMENTS else {})}


def _parameters(scheduler: Scheduler) -> dict[str, Any]:
    """Returns the defaults of the scheduler's command line (cmd/scheduler/app/options/options.go)."""
    return {
        "schedulerName": scheduler.name,
        "partitionParams": {"NodePoolLabelKey": NODE_POOL, "NodePoolLabelValue": scheduler.shard or ""},
        "queueLabelKey": scheduler.queue_label,
        "maxNumberConsolidationPreemptees": 16,
        "useSchedulingSignatures": True,
        "fullHierarchyFairness": True,
        "allowConsolidatingReclaim": True,
        "detailedFitErrors": True,
        "numOfStatusRecordingWorkers": 5,
        "globalDefaultStalenessGracePeriod": 60 * _SECOND,
        "schedulePeriod": _SECOND,
        "stuckInReleasingThreshold": 120 * _SECOND,
    }


def _raw(objects: Iterable[Object]) -> dict[str, list[Object]]:
    """Puts each kind into its list, sorted by namespace and name."""
    found: dict[str, list[Object]] = {name: [] for name in LISTS.values()}
    numbers: Counter[tuple[str, str]] = Counter()
    for item in objects:
        written = item
        if item["kind"] == "Pod":
            place = item["metadata"].get("namespace", ""), _group_of(item)
            written = _pod(item, numbers[place])
            numbers[place] += 1
        elif item["kind"] == "ConfigMap":
            written = {key: item[key] for key in ("apiVersion", "kind", "metadata") if key in item}
        elif item["kind"] == "Node":
            written = {
                **item,
                "status": {key: value for key, value in (item.get("status") or {}).items() if key != "images"},
            }
        found[LISTS[item["kind"]]].append({**written, "metadata": _metadata(written["metadata"])})
    return {name: sorted(items, key=_place) for name, items in found.items()}


def _place(item: Object) -> tuple[str, str]:
    metadata = item["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def _merged(there: Iterable[Object], rendered: Iterable[Object]) -> list[Object]:
    """Returns the objects that the scheduler reads, as they are once ``rendered`` is applied; existing objects first.

    Leaves out PodGroups that `kubectl tas cluster state` recorded, since its record lacks what PodGroups ask for.
    """
    found: dict[tuple[str, str, str], Object] = {}
    items = list(there)
    recorded = any(item.get("kind") == STATE for item in items)
    for item in items:
        kind = str(item.get("kind"))
        if kind in LISTS and not (recorded and kind == "PodGroup"):
            has_spec = "spec" in item or kind in ("PodGroup", *FIXED)
            found[kind, *_place(item)] = {**item, "spec": item.get("spec") or {}} if has_spec else item
    for name, value in PRIORITY_CLASSES.items():
        about = {"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1", "metadata": {"name": name}}
        found.setdefault(("PriorityClass", "", name), {**about, "value": value})
    for item in rendered:
        if item["kind"] in LISTS:
            key = item["kind"], *_place(item)
            found[key] = _applied(item, found[key]) if key in found else item
    return list(found.values())


def _applied(item: Object, there: Object) -> Object:
    """Returns an existing object after it is applied again: applied fields win, unless the cluster decides them."""
    fixed = item["kind"] in FIXED
    first, last = (item, there) if fixed else (there, item)
    metadata = {**first["metadata"], **last["metadata"]}
    for name in ("labels", "annotations"):
        metadata[name] = {**(first["metadata"].get(name) or {}), **(last["metadata"].get(name) or {})}
    spec = {"spec": {**first["spec"], **last["spec"]}} if fixed else {}
    return {**first, **last, "metadata": metadata, **spec}


def _named(objects: Iterable[Object], kind: str) -> set[tuple[str, str]]:
    return {_place(item) for item in objects if item["kind"] == kind}


def _metadata(metadata: Object) -> Object:
    """Removes the fields in which tools keep copies of the whole object."""
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    if kept.get("annotations"):
        kept["annotations"] = {name: text for name, text in kept["annotations"].items() if name != LAST_APPLIED}
    return kept


def _pod(item: Object, number: int) -> Object:
    """Returns a pod as the API server would have it: with a UID, a phase, and explicit requests."""
    space, name = _place(item)
    spec = dict(item["spec"])
    for part in ("containers", "initContainers"):
        if part in spec:
            spec[part] = [_container(one) for one in spec[part] or ()]
    if "volumes" in spec:
        spec["volumes"] = [_volume(one) for one in spec["volumes"] or ()]
    metadata, status = item["metadata"], item.get("status") or {}
    uid = metadata.get("uid") or f"{number:08x}-{digest(f'{space}/{name}')}"
    return {**item, "metadata": {**metadata, "uid": uid}, "spec": spec, "status": {"phase": "Pending", **status}}


def _volume(written: Object) -> Object:
    """Replaces an ephemeral volume with an emptyDir, since its claim does not exist before the pod does."""
    return {"name": written.get("name"), "emptyDir": {}} if "ephemeral" in written else written


def _container(written: Object) -> Object:
    kept = {key: written[key] for key in CONTAINER if key in written}
    resources = dict(kept.get("resources") or {})
    if resources.get("limits"):
        resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    env = [item for item in written.get("env") or () if "valueFrom" in item]
    return {**kept, **({"env": env} if env else {}), "resources": resources}


def _group_of(pod: Object) -> str:
    """Returns the PodGroup that a pod names; empty if it names none."""
    return str((pod["metadata"].get("annotations") or {}).get(POD_GROUP) or "")


def _node(pod: Object) -> object:
    return pod["spec"].get("nodeName")


def _phase(pod: Object) -> object:
    return (pod.get("status") or {}).get("phase")


def _needed(pods: Iterable[Object], names: Callable[[Object], Iterable[object]]) -> set[tuple[str, str]]:
    """Returns the objects that ``names`` finds in the pods' specs, each in the namespace of its pod."""
    return {(_place(pod)[0], str(name)) for pod in pods for name in names(pod["spec"]) if name}


def _config_maps(spec: Object) -> Iterator[object]:
    """Yields the ConfigMaps that a pod names, optional ones too. Without the others the scheduler does not place the
    pod (config_maps.go of pkg/scheduler/k8s_internal/predicates, 0.12 to 0.17).
    """
    for volume in spec.get("volumes") or ():
        sources = [volume, *((volume.get("projected") or {}).get("sources") or ())]
        yield from ((source.get("configMap") or {}).get("name") for source in sources)
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        yield from ((item.get("configMapRef") or {}).get("name") for item in container.get("envFrom") or ())
        values = (item.get("valueFrom") or {} for item in container.get("env") or ())
        yield from ((value.get("configMapKeyRef") or {}).get("name") for value in values)


def _volume_claims(spec: Object) -> Iterator[object]:
    volumes = spec.get("volumes") or ()
    return ((volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in volumes)


def _bound(space: str, name: str) -> Iterator[Object]:
    """Yields a claim and a bound volume for it that every node reaches."""
    volume = f"{name}-{digest(f'{space}/{name}')}"
    shared = {"accessModes": ["ReadWriteMany"]}
    yield {
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": space, "name": name, "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
        "spec": {**shared, "volumeName": volume},
        "status": {"phase": "Bound"},
    }
    yield {
        "kind": "PersistentVolume",
        "metadata": {"name": volume},
        "spec": {**shared, "claimRef": {"namespace": space, "name": name}},
        "status": {"phase": "Bound"},
    }
