"""Finds ways by which a container gets GPUs that no scheduler gave it.

Follows internal/config/image/cuda_image.go of NVIDIA/nvidia-container-toolkit 1.20: the runtime takes devices from CDI
annotations, mounts of /dev/null and NVIDIA_VISIBLE_DEVICES. A container's own variable overrides the one that the
device plugin sets for its GPUs. With ``--block-nvidia-visible-devices``, KAI 0.17 refuses the same
(pkg/admission/webhook/v1alpha2/deviceaccess).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from kubectl_tas.check.conflicts import Fields
from kubectl_tas.diagnostics import Diagnostic, Location, Related, Rule, Severity, Waiving
from kubectl_tas.gpus import VISIBLE_DEVICES
from kubectl_tas.kinds.section import mappings
from kubectl_tas.model.backdoors import Part
from kubectl_tas.model.osmo_workflow import Task
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve.companions import FleetCompanion
from kubectl_tas.resolve.fleet import Fleet

GPU_BYPASS = Rule(
    "gpu-bypass",
    Severity.ERROR,
    "A container takes GPUs past the scheduler.",
    "With NVIDIA_VISIBLE_DEVICES: all, a CDI annotation, or a mount below /var/run/nvidia-container-devices, NVIDIA's "
    "container runtime gives a container all GPUs of its node. KAI charges no queue for them, although other work uses "
    "them. Remove it, and ask for nvidia.com/gpu in limits: the device plugin decides what the container sees. If a "
    "container must see GPUs that it does not ask for, allow it in spec.rules of the Config: gpu-bypass: off.",
    protects=Waiving.CONFIG,
)
ConfigMaps = Mapping[tuple[str, str], FleetCompanion]
"""ConfigMaps that set NVIDIA_VISIBLE_DEVICES, by namespace and name."""
_NOTHING = ("", "none", "void")
"""Values that give no device."""
_MOUNTS = "/var/run/nvidia-container-devices"
_CDI = "cdi.k8s.io"
_DEVICES = ("cdi-devices.noderesource.dev", "cdi-devices.nri.io", "devices.noderesource.dev", "devices.nri.io")
"""Annotations of the device injector of containerd/nri-plugins."""
_HINT = "Remove it; a container that needs GPUs asks for them in its resources."


def config_maps(fleet: Fleet) -> ConfigMaps:
    """Returns the ConfigMaps with a key that ends the variable's name, because envFrom may add a prefix."""
    found = {}
    for item in fleet.companions:
        data = item.declared.origin.value(("data",)) if item.kind == "ConfigMap" else None
        if isinstance(data, dict) and any(isinstance(key, str) and VISIBLE_DEVICES.endswith(key) for key in data):
            found[item.namespace, item.name] = item
    return found


def devices_of(
    origin: Origin, part: Part, maps: ConfigMaps, namespace: str = "", but: Collection[str] = ()
) -> Iterator[Diagnostic]:
    """Finds devices that a container or an annotation takes, except for the variables and mount paths in ``but``."""
    what, path, written = part
    if what == "annotations":
        for name in written:
            domain = name.partition("/")[0]
            if domain.endswith(_CDI) or domain in _DEVICES:
                message = f"{name} gives the pod devices of its node that no queue is charged for"
                yield Diagnostic(GPU_BYPASS, message, origin.locate((*path, name), key=True), hint=_HINT)
    elif what == "container":
        container = Fields(origin, path, written)
        yield from _variables(container, maps, namespace, but)
        for index, mount in enumerate(mappings(container.get("volumeMounts"))):
            target = mount.get("mountPath")
            if isinstance(target, str) and takes_devices(target) and target not in but:
                yield mounted(target, origin.locate((*path, "volumeMounts", index, "mountPath")))


def _variables(of: Fields, maps: ConfigMaps, namespace: str, but: Collection[str]) -> Iterator[Diagnostic]:
    said = False
    for index, variable in enumerate(mappings(of.get("env"))):
        if variable.get("name") == VISIBLE_DEVICES and VISIBLE_DEVICES not in but:
            said = True
            elsewhere = variable.get("valueFrom")
            value = None if elsewhere else variable.get("value")
            if elsewhere or sees(value):
                where = (*of.path, "env", index, "valueFrom" if elsewhere else "value")
                yield seen(value, of.origin.locate(where, key=bool(elsewhere)))
    for source in of.each("envFrom") if maps and not said else ():
        name, prefix = source.below("configMapRef").get("name"), str(source.get("prefix") or "")
        item = maps.get((namespace, str(name)))
        key = VISIBLE_DEVICES[len(prefix) :] if VISIBLE_DEVICES.startswith(prefix) else ""
        if item is not None and sees(value := item.declared.origin.value(("data", key))):
            related = (Related(f"ConfigMap {name} sets it", item.declared.at("data", key)),)
            yield seen(value, of.origin.locate(source.path), related)


def sees(value: object) -> bool:
    """Whether a value of NVIDIA_VISIBLE_DEVICES gives devices. A reference to another variable may give some."""
    return any(word.strip() not in _NOTHING for word in str("" if value is None else value).split(","))


def seen(value: object, place: Location, related: tuple[Related, ...] = ()) -> Diagnostic:
    """Returns a finding for NVIDIA_VISIBLE_DEVICES. ``value`` is None if it comes from another object."""
    given = f'is "{value}": the container sees' if value is not None else "comes from elsewhere: the container may see"
    message = f"{VISIBLE_DEVICES} {given} GPUs that no queue is charged for"
    return Diagnostic(GPU_BYPASS, message, place, related, hint=f"{_HINT} To hide all GPUs, write void.")


def takes_devices(mount_path: str) -> bool:
    """Whether the container runtime treats a mount as a device."""
    return mount_path.startswith(_MOUNTS)


def mounted(target: str, place: Location) -> Diagnostic:
    """Returns a finding for a mount that gives devices."""
    message = f"the mount {target} gives the container devices of its node that no queue is charged for"
    return Diagnostic(GPU_BYPASS, message, place, hint=_HINT)


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


def check_visible_devices(fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the tasks of workflows themselves; check.task_platforms covers pod templates."""
    for workflow in fleet.workflows:
        for task in (task for group in workflow.groups for task in group.tasks):
            spec, path, origin = task.spec, task.path, workflow.declared.origin
            if VISIBLE_DEVICES in spec.environment and sees(spec.environment[VISIBLE_DEVICES]):
                yield seen(spec.environment[VISIBLE_DEVICES], origin.locate((*path, "environment", VISIBLE_DEVICES)))
            for name, keys in spec.credentials.items():
                if isinstance(keys, dict) and VISIBLE_DEVICES in keys:
                    yield seen(None, origin.locate((*path, "credentials", name, VISIBLE_DEVICES), key=True))
            for index, mount in enumerate(spec.volumeMounts):
                target = mount.rpartition(":")[2]
                if takes_devices(target):
                    yield mounted(target, origin.locate((*path, "volumeMounts", index)))
