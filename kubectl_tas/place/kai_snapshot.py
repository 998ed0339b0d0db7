"""Writes a snapshot that KAI's own snapshot tool reads and answers from with the real scheduler's code.

Follows ``cmd/snapshot-tool``, ``pkg/scheduler/plugins/snapshot`` and ``pkg/scheduler/conf`` of the releases 0.12 to
0.17. The same objects give the same bytes: a snapshot does not depend on the machine or the time. It is not compressed,
since libraries compress in different ways.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from io import BytesIO
from typing import Any

from kubectl_tas.base.late import dataclass
from kubectl_tas.facts import times
from kubectl_tas.facts.kai import PRIORITY_CLASSES, Release
from kubectl_tas.live.objects import STATE
from kubectl_tas.model.labels import NODE_POOL, POD_GROUP
from kubectl_tas.model.scheduler_settings import SchedulerSettings
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
class SnapshotScheduler:
    """The scheduler that the snapshot is for."""

    release: Release
    name: str
    """Value of schedulerName in the scheduler's pods."""
    queue_label: str
    shard: str | None
    """Value of the shard label on nodes, queues and work; None stands for those without the label."""
    settings: SchedulerSettings | None = None
    """Settings of the scheduler; None if unknown."""


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


def snapshot(
    scheduler: SnapshotScheduler, existing: Iterable[Object], rendered: Iterable[Object]
) -> tuple[bytes, Doubts]:
    """Returns the archive of a cluster's objects after ``rendered`` is applied, and what the archive lacks.

    The cluster's spec wins for existing pods and PersistentVolumeClaims, the applied spec for all other objects. The
    archive leaves out commands, environment and contents of ConfigMaps. Pods without a UID get one that keeps the given
    order.
    """
    objects = _merged(existing, rendered)
    waiting = [
        manifest
        for manifest in objects
        if manifest["kind"] == "Pod" and _phase(manifest) not in ENDED and not _node(manifest)
    ]
    maps = sorted(_needed(waiting, _config_maps) - _named(objects, "ConfigMap"))
    bound = {
        _place(manifest) for manifest in objects if manifest["kind"] == "PersistentVolumeClaim" and "status" in manifest
    }
    claims = sorted(_needed(waiting, _volume_claims) - bound)
    listed = [
        manifest
        for manifest in objects
        if manifest["kind"] != "PersistentVolumeClaim" or _place(manifest) not in claims
    ]
    listed += ({"kind": "ConfigMap", "metadata": {"namespace": space, "name": name}} for space, name in maps)
    listed += (manifest for claim in claims for manifest in _bound(*claim))
    state = {
        "config": _configuration(scheduler),
        "schedulerParams": _parameters(scheduler),
        "rawObjects": _raw(listed),
    }
    taken = (("ConfigMap", maps), ("PersistentVolumeClaim", claims))
    doubts = replace(
        _doubts(objects),
        taken=tuple(f"{kind} {space}/{name}" for kind, places in taken for space, name in places),
        claims=0 if _named(objects, "ResourceClaim") else sum("resourceClaims" in pod["spec"] for pod in waiting),
    )
    return _archive(json.dumps(state, sort_keys=True, separators=(",", ":")).encode()), doubts


def _doubts(objects: Iterable[Object]) -> Doubts:
    """Returns the missing objects that PodGroups and pods refer to."""
    by_kind: dict[str, list[Object]] = {}
    for manifest in objects:
        by_kind.setdefault(manifest["kind"], []).append(manifest)
    names = {kind: {manifest["metadata"]["name"] for manifest in manifests} for kind, manifests in by_kind.items()}
    specs = [manifest["spec"] for manifest in by_kind.get("PodGroup", ())]
    constrained = [group for spec in specs for group in (spec, *(spec.get("subGroups") or ()))]
    topologies = {(group.get("topologyConstraint") or {}).get("topology") for group in constrained}
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


def _configuration(scheduler: SnapshotScheduler) -> dict[str, Any]:
    """Returns the configuration as KAI's operator writes it for a declared shard; else the scheduler's own."""
    settings = scheduler.settings
    if settings is None or settings.shard is None:
        return {"actions": ACTIONS, "tiers": [{"plugins": list(_plugins(scheduler.release))}]}
    plugins = [
        {"name": plugin.name, **({"arguments": dict(plugin.arguments)} if plugin.arguments else {})}
        for plugin in settings.plugins
    ]
    budgets = settings.budgets and settings.budgets.model_dump(exclude_unset=True)
    return {
        "actions": ", ".join(settings.actions),
        "tiers": [{"plugins": plugins}],
        **({"queueDepthPerAction": dict(settings.queue_depth)} if settings.queue_depth else {}),
        **({"scenarioSearchBudgets": budgets} if budgets else {}),
    }


def _plugins(release: Release) -> Iterator[dict[str, Any]]:
    for name, since in PLUGINS:
        if release.patch[:2] >= since:
            yield {"name": name, **({"arguments": ARGUMENTS[name]} if name in ARGUMENTS else {})}


_BOOLEANS = {
    "restrict-node-scheduling": "restrictSchedulingNodes",
    "schedule-csi-storage": "scheduleCSIStorage",
    "use-scheduling-signatures": "useSchedulingSignatures",
    "full-hierarchy-fairness": "fullHierarchyFairness",
    "allow-consolidating-reclaim": "allowConsolidatingReclaim",
    "detailed-fit-errors": "detailedFitErrors",
    "update-pod-eviction-condition": "updatePodEvictionCondition",
}
_NUMBERS = {
    "max-consolidation-preemptees": "maxNumberConsolidationPreemptees",
    "num-of-status-recording-workers": "numOfStatusRecordingWorkers",
}
_DURATIONS = {
    "default-staleness-grace-period": "globalDefaultStalenessGracePeriod",
    "schedule-period": "schedulePeriod",
    "stuck-in-releasing-threshold": "stuckInReleasingThreshold",
}
"""Fields of the snapshot, by the flag that sets them."""


def _flags(flags: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yields the fields that flags of a shard set; a value that Go refuses leaves the default."""
    for name, value in flags.items():
        if name in _BOOLEANS and value in ("true", "false"):
            yield _BOOLEANS[name], value == "true"
        elif name in _NUMBERS and re.fullmatch("-?[0-9]{1,9}", value):
            yield _NUMBERS[name], int(value)
        elif name in _DURATIONS and (duration := times.nanoseconds(value)) is not None:
            yield _DURATIONS[name], duration


def _parameters(scheduler: SnapshotScheduler) -> dict[str, Any]:
    """Returns the parameters of the scheduler's command line, with the defaults of
    cmd/scheduler/app/options/options.go.
    """
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
        **dict(_flags(scheduler.settings.flags if scheduler.settings else {})),
    }


def _raw(objects: Iterable[Object]) -> dict[str, list[Object]]:
    """Puts each kind into its list, sorted by namespace and name."""
    lists: dict[str, list[Object]] = {name: [] for name in LISTS.values()}
    numbers: Counter[tuple[str, str]] = Counter()
    for manifest in objects:
        trimmed = manifest
        if manifest["kind"] == "Pod":
            gang = manifest["metadata"].get("namespace", ""), _group_of(manifest)
            trimmed = _pod(manifest, numbers[gang])
            numbers[gang] += 1
        elif manifest["kind"] == "ConfigMap":
            trimmed = {key: manifest[key] for key in ("apiVersion", "kind", "metadata") if key in manifest}
        elif manifest["kind"] == "Node":
            trimmed = {
                **manifest,
                "status": {key: value for key, value in (manifest.get("status") or {}).items() if key != "images"},
            }
        lists[LISTS[manifest["kind"]]].append({**trimmed, "metadata": _metadata(trimmed["metadata"])})
    return {name: sorted(manifests, key=_place) for name, manifests in lists.items()}


def _place(manifest: Object) -> tuple[str, str]:
    metadata = manifest["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


def _merged(existing: Iterable[Object], rendered: Iterable[Object]) -> list[Object]:
    """Returns the objects that the scheduler reads, as they are once ``rendered`` is applied; existing objects first.

    Leaves out PodGroups that `kubectl tas cluster state` recorded, since its record lacks what PodGroups ask for.
    """
    merged: dict[tuple[str, str, str], Object] = {}
    in_cluster = list(existing)
    recorded = any(manifest.get("kind") == STATE for manifest in in_cluster)
    for manifest in in_cluster:
        kind = str(manifest.get("kind"))
        if kind in LISTS and not (recorded and kind == "PodGroup"):
            has_spec = "spec" in manifest or kind in ("PodGroup", *FIXED)
            merged[kind, *_place(manifest)] = {**manifest, "spec": manifest.get("spec") or {}} if has_spec else manifest
    for name, value in PRIORITY_CLASSES.items():
        priority_class = {"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1", "metadata": {"name": name}}
        merged.setdefault(("PriorityClass", "", name), {**priority_class, "value": value})
    for manifest in rendered:
        if manifest["kind"] in LISTS:
            key = manifest["kind"], *_place(manifest)
            merged[key] = _applied(manifest, merged[key]) if key in merged else manifest
    return list(merged.values())


def _applied(applied: Object, existing: Object) -> Object:
    """Returns an existing object after it is applied again: applied fields win, unless the cluster decides them."""
    fixed = applied["kind"] in FIXED
    weaker, stronger = (applied, existing) if fixed else (existing, applied)
    metadata = {**weaker["metadata"], **stronger["metadata"]}
    for name in ("labels", "annotations"):
        metadata[name] = {**(weaker["metadata"].get(name) or {}), **(stronger["metadata"].get(name) or {})}
    spec = {"spec": {**weaker["spec"], **stronger["spec"]}} if fixed else {}
    return {**weaker, **stronger, "metadata": metadata, **spec}


def _named(objects: Iterable[Object], kind: str) -> set[tuple[str, str]]:
    return {_place(manifest) for manifest in objects if manifest["kind"] == kind}


def _metadata(metadata: Object) -> Object:
    """Removes the fields in which tools keep copies of the whole object."""
    trimmed = {key: value for key, value in metadata.items() if key != "managedFields"}
    if trimmed.get("annotations"):
        trimmed["annotations"] = {name: text for name, text in trimmed["annotations"].items() if name != LAST_APPLIED}
    return trimmed


def _pod(pod: Object, number: int) -> Object:
    """Returns a pod as the API server would have it: with a UID, a phase, and explicit requests."""
    space, name = _place(pod)
    spec = dict(pod["spec"])
    for field in ("containers", "initContainers"):
        if field in spec:
            spec[field] = [_container(container) for container in spec[field] or ()]
    if "volumes" in spec:
        spec["volumes"] = [_volume(volume) for volume in spec["volumes"] or ()]
    metadata, status = pod["metadata"], pod.get("status") or {}
    uid = metadata.get("uid") or f"{number:08x}-{digest(f'{space}/{name}')}"
    return {**pod, "metadata": {**metadata, "uid": uid}, "spec": spec, "status": {"phase": "Pending", **status}}


def _volume(volume: Object) -> Object:
    """Replaces an ephemeral volume with an emptyDir, since its claim does not exist before the pod does."""
    return {"name": volume.get("name"), "emptyDir": {}} if "ephemeral" in volume else volume


def _container(container: Object) -> Object:
    trimmed = {key: container[key] for key in CONTAINER if key in container}
    resources = dict(trimmed.get("resources") or {})
    if resources.get("limits"):
        resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    env = [variable for variable in container.get("env") or () if "valueFrom" in variable]
    return {**trimmed, **({"env": env} if env else {}), "resources": resources}


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
        yield from ((source.get("configMapRef") or {}).get("name") for source in container.get("envFrom") or ())
        values = (variable.get("valueFrom") or {} for variable in container.get("env") or ())
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
