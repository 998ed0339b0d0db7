"""Finds ways by which a container gets GPUs that no scheduler gave it.

``device_runtimes`` says what runtimes read, and where. With ``--block-nvidia-visible-devices``, KAI 0.17 refuses
NVIDIA's variable in pods too (pkg/admission/webhook/v1alpha2/deviceaccess).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, Related, Rule, Waiving
from kubectl_tas.base.late import late_pattern
from kubectl_tas.check.conflicts import Fields
from kubectl_tas.facts import gpus, quantities
from kubectl_tas.facts.device_runtimes import (
    ANNOTATIONS,
    LEGACY,
    VARIABLES,
    DeviceKey,
    is_hidden,
    is_nvidia,
    named_in,
    read_by,
    takes_devices,
)
from kubectl_tas.facts.gpus import VISIBLE_DEVICES
from kubectl_tas.kinds import environment
from kubectl_tas.kinds.backdoors import Part
from kubectl_tas.kinds.section import listed
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.osmo_workflow import Task
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.workflows import FleetWorkflow

GPU_BYPASS = Rule.error(
    "gpu-bypass",
    "A container takes GPUs past the scheduler.",
    "With NVIDIA_VISIBLE_DEVICES: all, a CDI annotation, or a mount below /var/run/nvidia-container-devices, NVIDIA's "
    "container runtime gives a container all GPUs of its node. Runtimes of other makers read other variables, such as "
    "AMD_VISIBLE_DEVICES. KAI charges no queue for such devices, although other work uses them. Remove it, and ask for "
    "nvidia.com/gpu in limits: the device plugin decides what the container sees. If a container must see GPUs that it "
    "does not ask for, allow it in spec.rules of the Config: gpu-bypass: off.",
    protects=Waiving.CONFIG,
)
GPU_VISIBLE = Rule.warning(
    "gpu-visible",
    "A container that asks for no GPU may see all GPUs of its node.",
    "Images with CUDA set NVIDIA_VISIBLE_DEVICES: all. In NVIDIA's container runtime, such as with runtimeClassName: "
    "nvidia, a container of such an image sees all GPUs of its node if it asks for none. An image without that "
    "variable shows all GPUs if CUDA_VERSION is set. KAI charges no queue for them. Set NVIDIA_VISIBLE_DEVICES: void "
    "in the container, or ask for GPUs. With blockNvidiaVisibleDevices: true, KAI's admission does so in every pod.",
    protects=Waiving.CONFIG,
)
ConfigMaps = Mapping[tuple[str, str], FleetCompanion]
"""ConfigMaps with a variable that may give devices, by namespace and name."""
_HINT = "Remove it; a container that needs GPUs asks for them in its resources."
_VOID = f"Set {VISIBLE_DEVICES}: void in the container, or ask for GPUs."
_OF_LEGACY = f"{LEGACY} shows a container without GPUs all GPUs of its node, unless its image says otherwise"
_IN_CONF = "Write Spark's settings in sparkConf."
_OVERRIDES = ("extraPodSpec",)
"""Field of a service of Dynamo with further fields of its pods."""
_INJECTOR = late_pattern(r"(proxy|sidecar|inject)\.istio\.io/|(vault\.hashicorp\.com|dapr\.io|config\.linkerd\.io)/")
"""Annotations by which Istio, Vault, Dapr or Linkerd change the containers that they add to pods."""
_PLAIN = late_pattern(
    r"(docker\.io/)?(library/)?(alpine|bash|busybox|curlimages/curl|debian|golang|node|python|redis|ubuntu)([:@].*)?"
)
"""Images that set no variable of NVIDIA's runtime."""


def config_maps(fleet: Fleet) -> ConfigMaps:
    """Returns the ConfigMaps with a key that ends a variable's name, because envFrom may add a prefix."""
    found = {}
    for item in fleet.companions:
        data = item.declared.origin.value(("data",)) if item.kind == "ConfigMap" else None
        if isinstance(data, dict) and any(_may_end(key) for key in data):
            found[item.namespace, item.name] = item
    return found


def _may_end(key: object) -> bool:
    if not isinstance(key, str):
        return False
    may_end = any(name.endswith(key) or key.endswith(name) for name in ("VISIBLE_DEVICES", LEGACY, *environment.JAVA))
    return may_end or bool(read_by(VARIABLES, key))


def devices_of(
    origin: Origin,
    part: Part,
    maps: ConfigMaps,
    namespace: str = "",
    but: Collection[str] = (),
    channels: Collection[str] = (),
) -> Iterator[Diagnostic]:
    """Finds devices that a container or an annotation takes, except for the variables and mount paths in ``but``.
    Claims of the claim templates ``channels`` give no GPUs.
    """
    what, path, written = part
    if what == "annotations":
        for name, value in written.items():
            yield from _noted(origin, (*path, name), str(name), value)
    elif what == "container":
        yield from _variables(Fields(origin, path, written), maps, namespace, but)
        for note in environment.pod_annotations(written):
            yield from _noted(origin, (*path, *note.path), note.name, note.value)
    elif what == "mount":
        for below, target in environment.mounts(written):
            if takes_devices(target) and target not in but:
                yield mounted(target, origin.locate((*path, *below)))
    elif what == "runtime":
        yield from _of_runtime(Fields(origin, path, written), channels)


def _noted(origin: Origin, path: KeyPath, name: str, value: object) -> Iterator[Diagnostic]:
    key = read_by(ANNOTATIONS, name)
    if key is not None and not is_hidden(key, value):
        message = f"{name} gives the pod devices of its node that no queue is charged for"
        yield Diagnostic(GPU_BYPASS, message, origin.locate(path, key=True), hint=_HINT)
    device = named_in(value) if isinstance(value, str) and _INJECTOR.match(name) else ""
    if device:
        message = f"{name} names {device}: a container that is added may take devices that no queue is charged for"
        yield Diagnostic(GPU_BYPASS, message, origin.locate(path, key=True), hint=_HINT)


def _variables(fields: Fields, maps: ConfigMaps, namespace: str, but: Collection[str]) -> Iterator[Diagnostic]:
    variables = [*environment.variables(fields.value)]
    given = {item.name: item for item in variables}
    for path, name, value, is_elsewhere in variables:
        key = read_by(VARIABLES, name)
        if key is not None and name not in but and (is_elsewhere or not is_hidden(key, value)):
            location = fields.origin.locate((*fields.path, *path), key=is_elsewhere)
            yield seen(key, name, None if is_elsewhere else value, location)
    legacy = given.get(LEGACY)
    if legacy is not None and VISIBLE_DEVICES not in given and legacy.value != "" and not asks_devices(fields.value):
        yield Diagnostic(GPU_VISIBLE, _OF_LEGACY, fields.origin.locate((*fields.path, *legacy.path)), hint=_VOID)
    for source in fields.each("envFrom"):
        prefix, named = str(source.get("prefix") or ""), str(source.below("configMapRef").get("name"))
        key, item = read_by(VARIABLES, prefix), maps.get((namespace, named))
        if key is not None:
            yield seen(key, prefix, None, fields.origin.locate((*source.path, "prefix")))
        data = item.declared.origin.value(("data",)) if item is not None else None
        for suffix, value in data.items() if isinstance(data, dict) else ():
            name = f"{prefix}{suffix}"
            key = read_by(VARIABLES, name)
            if item is None or name in given:
                continue
            related = (Related(f"ConfigMap {item.name} sets it", item.declared.at("data", suffix)),)
            if key is not None and not is_hidden(key, value):
                yield seen(key, name, value, fields.origin.locate(source.path), related)
            if name == LEGACY and VISIBLE_DEVICES not in given and value != "" and not asks_devices(fields.value):
                yield Diagnostic(GPU_VISIBLE, _OF_LEGACY, fields.origin.locate(source.path), related, hint=_VOID)
            if name in environment.JAVA and "-Dspark." in environment.unquoted(str(value)):
                message = f"{name} sets Spark's settings from elsewhere: its pods may get devices that nobody counts"
                yield Diagnostic(GPU_BYPASS, message, fields.origin.locate(source.path), related, hint=_IN_CONF)


def _of_runtime(pod: Fields, channels: Collection[str]) -> Iterator[Diagnostic]:
    """Finds containers without GPUs in pods of NVIDIA's runtime. In a pod without a list of containers, its operator
    adds the container, and everything counts as one.
    """
    name = pod.get("runtimeClassName")
    if not isinstance(name, str) or not is_nvidia(name) or asks_devices(pod.below("resources").value):
        return
    shared = _shared_container(pod)
    claims = pod.each("resourceClaims") if channels else ()
    without_gpus = {str(claim.get("name")) for claim in claims if claim.get("resourceClaimTemplateName") in channels}
    whole = Fields(pod.origin, pod.path[:-1], pod.origin.value(pod.path[:-1])) if pod.path[-1:] == _OVERRIDES else pod
    for index, container in enumerate([*pod.each("containers", "initContainers")] or [whole]):
        image = str(container.get("image", ""))
        if shared is not None and (container.get("name") == shared if shared else index == 0):
            continue
        if not (asks_devices(container.value, without_gpus) or _hides(container.value) or _PLAIN.fullmatch(image)):
            called = f"container {container.get('name')}" if container is not whole else "its container"
            message = f"runtimeClassName is {name}: {called} asks for no GPU, and sees all GPUs if its image says so"
            yield Diagnostic(GPU_VISIBLE, message, pod.origin.locate((*pod.path, "runtimeClassName")), hint=_VOID)


def _shared_container(pod: Fields) -> str | None:
    """Returns the container that gets the part of a GPU for which annotations of a pod, of its template or of its owner
    ask: its name, or the empty text for the first one. None without such annotations. KAI sets NVIDIA's variable in
    this container alone (``GetFractionContainerRef`` of pkg/common, 0.17).
    """
    above = (pod.origin.value(pod.path[:length]) for length in range(len(pod.path) + 1))
    holders = [Fields(pod.origin, (), value) for value in above]
    notes = [holder.below(*place) for holder in holders for place in (("annotations",), ("metadata", "annotations"))]
    if not any(note.has(key) for note in notes for key in gpus.ANNOTATIONS):
        return None
    return next((str(note.get(gpus.CONTAINER)) for note in notes if note.has(gpus.CONTAINER)), "")


def asks_devices(written: object, without_gpus: Collection[str] = ()) -> bool:
    """Whether a container, or anything in it, asks for a device or for a claim of one. Claims of the names in
    ``without_gpus`` give none.
    """
    for mapping in _mappings(written):
        for part in ("limits", "requests"):
            amounts = mapping[part] if isinstance(mapping.get(part), dict) else {}
            if any(quantities.parse(amount) != 0 and _is_device(str(name)) for name, amount in amounts.items()):
                return True
        claims = {str(claim.get("name")) if isinstance(claim, dict) else "" for claim in listed(mapping.get("claims"))}
        if claims.difference(without_gpus) or mapping.get("quantity"):  # the latter of a SparkApplication
            return True
    return False


def _is_device(resource: str) -> bool:
    """Whether a resource is a device. Dynamo calls GPUs gpu."""
    return resource == "gpu" or gpus.is_counted(resource) or gpus.is_uncounted(resource)


def _hides(written: object) -> bool:
    """Whether anything in a container, or in a pod without a list of containers, sets NVIDIA's variable."""
    return any(i.name == VISIBLE_DEVICES for m in _mappings(written) for i in environment.variables(m))


def _mappings(written: object) -> Iterator[dict[str, Any]]:
    """Yields a mapping, and all mappings in it at any depth."""
    waiting = [written]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def seen(key: DeviceKey, name: str, value: object, location: Location, related: tuple[Related, ...] = ()) -> Diagnostic:
    """Returns a finding for a variable that gives devices. ``value`` is None if it comes from another object."""
    given = f'is "{value}": the container sees' if value is not None else "comes from elsewhere: the container may see"
    devices = "GPUs" if key.maker == "NVIDIA" else f"{key.maker}'s devices"
    hint = f"{_HINT} To hide all {'GPUs' if key.maker == 'NVIDIA' else 'devices'}, write {key.hiding}."
    return Diagnostic(
        GPU_BYPASS, f"{name} {given} {devices} that no queue is charged for", location, related, hint=hint
    )


def mounted(target: str, location: Location) -> Diagnostic:
    """Returns a finding for a mount that gives devices."""
    message = f"the mount {target} gives the container devices of its node that no queue is charged for"
    return Diagnostic(GPU_BYPASS, message, location, hint=_HINT)


def said_by(task: Task) -> set[str]:
    """Returns the variables, mount paths and command-line words that a task itself sets."""
    keys = (keys for keys in task.credentials.values() if isinstance(keys, dict))
    mounts = (mount.rpartition(":")[2] for mount in task.volumeMounts)
    return {
        *task.environment,
        *(name for names in keys for name in names),
        *mounts,
        *map(str, (*task.command, *task.args)),
    }


def check_visible_devices(workflow: FleetWorkflow, _fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the tasks of a workflow; check.task_platforms covers pod templates."""
    origin = workflow.declared.origin
    for task in (task for group in workflow.groups for task in group.tasks):
        spec, path = task.spec, task.path
        for name, value in spec.environment.items():
            key = read_by(VARIABLES, name)
            if key is not None and not is_hidden(key, value):
                yield seen(key, name, value, origin.locate((*path, "environment", name)))
        for secret, name in ((secret, name) for secret, keys in spec.credentials.items() for name in keys):
            key = read_by(VARIABLES, name) if isinstance(spec.credentials[secret], dict) else None
            if key is not None:
                yield seen(key, name, None, origin.locate((*path, "credentials", secret, name), key=True))
        for index, mount in enumerate(spec.volumeMounts):
            target = mount.rpartition(":")[2]
            if takes_devices(target):
                yield mounted(target, origin.locate((*path, "volumeMounts", index)))
