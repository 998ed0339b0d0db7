"""Lists what the container runtimes of makers read: variables, mounts and annotations that give a container devices of
its node. No scheduler knows of such devices, and no queue is charged for them.

Files are judged in Python, pods on their way into a cluster in CEL. Both use the same patterns, which Python's ``re``
and RE2 read alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.facts import gpus
from kubectl_tas.facts.gpus import VISIBLE_DEVICES

_NOTHING = r"([ \t\r\n,]|none|void)*"


@dataclass(frozen=True, slots=True)
class DeviceKey:
    """A variable or an annotation by which a runtime gives devices."""

    maker: str
    names: str
    """Pattern of its whole name."""
    source: str
    """The code that reads it, or the maker's documents if the code is closed."""
    hides: str = _NOTHING
    """Pattern of whole values that give no device."""
    hiding: str = "void"
    """A value that hides all devices."""


VARIABLES: tuple[DeviceKey, ...] = (
    DeviceKey(
        "NVIDIA",
        VISIBLE_DEVICES,
        "NVIDIA/nvidia-container-toolkit 1.20: devicesFromEnvvars of internal/config/image/cuda_image.go",
    ),
    DeviceKey(
        "AMD",
        "AMD_VISIBLE_DEVICES|DOCKER_RESOURCE_.*",
        "ROCm/container-toolkit 1.3: getAMDEnv of internal/oci/oci.go, parseGPUsList of internal/gpu-tracker",
        hiding="none",
    ),
    DeviceKey(
        "Habana",
        "HABANA_VISIBLE_DEVICES.*",  # it looks for the beginning of a name
        "HabanaAI/habana-container-runtime 1.15: IsHabanaContainer of main.go, filterDevicesByENV of specs.go, "
        "getDevicesFromEnvvar of the hook, for which void and nothing mean all",
        hides="none",
        hiding="none",
    ),
    DeviceKey(
        "Huawei",
        "ASCEND_VISIBLE_DEVICES",
        "Ascend/mind-cluster 7: checkVisibleDevice of component/ascend-docker-runtime/runtime/process/process.go",
    ),
    DeviceKey("Iluvatar", "IX_VISIBLE_DEVICES", "Deep-Spark/ix-container-toolkit: internal/modifier/graphics.go"),
    *(
        DeviceKey(maker, f"{prefix}_VISIBLE_DEVICES", f"documents of {maker}")
        for maker, prefix in (
            ("AWS", "AWS_NEURON"),
            ("Cambricon", "CAMBRICON"),
            ("Enflame", "ENFLAME"),
            ("Kunlunxin", "CXPU"),
            ("Moore Threads", "MTHREADS"),
        )
    ),
)
"""Variables of containers. A container's own variable overrides the one that a device plugin sets for its devices."""
ANNOTATIONS: tuple[DeviceKey, ...] = (
    DeviceKey(
        "NVIDIA",
        r"[^/]*cdi[.]k8s[.]io(/.*)?",
        "NVIDIA/nvidia-container-toolkit 1.20: cdiDeviceRequestsFromAnnotations of internal/config/image/cuda_image.go",
        hides="",
    ),
    DeviceKey(
        "NRI",
        r"((cdi-)?devices|mounts)[.](noderesource[.]dev|nri[.]io)(/.*)?",
        "containerd/nri: plugins/device-injector/device-injector.go",
        hides="",
    ),
    DeviceKey(
        "CRI-O",
        r"(io[.]kubernetes[.]cri-o[.]Devices|devices[.]crio[.]io)(/.*)?",
        "cri-o/cri-o: pkg/annotations, where the configuration of the node allows the annotation and the device",
        hides=r"(/dev/(fuse|net/tun)(:[^,]*)?(,|$))*",
    ),
    DeviceKey(
        "Huawei", r"huawei[.]com/Ascend910", "Ascend/ascend-docker-runtime: getDeviceFromPod of runtime/main.go", ""
    ),
)
"""Annotations of pods."""
MOUNTS = "/var/run/nvidia-container-devices"
"""The path below which NVIDIA's runtime takes the name of a mount of /dev/null for that of a device."""
_SAME, _LAST, _ABOVE = r"(/|[.]/)*", "nvidia-container-devices", r"(^|/)[.][.](/|$)"
_MOUNT = rf"^{_SAME}var/{_SAME}run/{_SAME}{_LAST}"
LEGACY = "CUDA_VERSION"
"""The variable with which a container sees all GPUs, if neither it nor its image sets NVIDIA_VISIBLE_DEVICES or
NVIDIA_REQUIRE_CUDA (``IsLegacy`` of cuda_image.go).
"""
RUNTIME_CLASS = r"^nvidia"
"""Pattern of the RuntimeClasses that NVIDIA's GPU operator and toolkit make."""
_VARIABLE, _ANNOTATION = (late_pattern("|".join(key.names for key in keys)) for keys in (VARIABLES, ANNOTATIONS))
_WORDS = "|".join(key.names for key in VARIABLES).replace(".*", r"\w*")
_NAMED = late_pattern(rf"\b({_WORDS})\b|{_LAST}|nvidia\.com(/|~1)(gpu|mig-)|\bcdi\.k8s\.io\b")
_IS_MOUNT, _GOES_UP, _CLASS = late_pattern(_MOUNT), late_pattern(_ABOVE), late_pattern(RUNTIME_CLASS)


def read_by(keys: tuple[DeviceKey, ...], name: str) -> DeviceKey | None:
    """Returns the row of a variable or an annotation. None if no runtime reads it."""
    if (_VARIABLE if keys is VARIABLES else _ANNOTATION).fullmatch(name) is None:  # most names end here
        return None
    return next(key for key in keys if re.fullmatch(key.names, name))


def named_in(text: str) -> str:
    """Returns the first word in a text that gives devices. Empty if no word does."""
    match = _NAMED.search(text)
    return match[0] if match is not None else ""


def is_hidden(key: DeviceKey, value: object) -> bool:
    """Whether a value gives no device. A reference to another variable may give some."""
    return re.fullmatch(key.hides, "" if value is None else str(value)) is not None


def takes_devices(mount_path: str) -> bool:
    """Whether a mount path lies below ``MOUNTS`` once it is cleaned, or may lie there because of a ``..``.

    ``requestsFromMounts`` of NVIDIA's cuda_image.go calls ``filepath.Clean``. The kubelet puts a / before a relative
    path (``makeMounts`` of pkg/kubelet/kubelet_pods.go, Kubernetes 1.35).
    """
    return _LAST in mount_path and bool(_IS_MOUNT.search(mount_path) or _GOES_UP.search(mount_path))


def cel_takes_devices(mount_path: str) -> str:
    """Returns ``takes_devices`` in CEL."""
    patterns = " || ".join(f"{mount_path}.matches({_cel_text(pattern)})" for pattern in (_MOUNT, _ABOVE))
    return f"{mount_path}.contains('{_LAST}') && ({patterns})"


def is_nvidia(runtime_class: str) -> bool:
    """Whether pods of a RuntimeClass run in NVIDIA's container runtime."""
    return _CLASS.search(runtime_class) is not None


def cel_variables() -> tuple[tuple[str, str], ...]:
    """Returns variables in CEL for the pod ``object``; the last one is whether it takes devices of its node.

    They follow ``gpus.cel_variables``. If a container gets a part of a GPU, KAI's webhook lets it read its devices from
    a ConfigMap that KAI writes (``AddGPUSharingEnvVars`` and ``SetGpuCapabilitiesConfigMapName`` of pkg/binder/common,
    0.17).
    """
    notes, containers = "variables.annotations", "object.spec.containers"
    chosen, prefix = f"{notes}['{gpus.CONTAINER}']", f"{notes}['runai/shared-gpu-configmap']"
    names, init = f"{containers}.map(c, c.name)", "variables.initContainers.map(c, c.name)"
    index = (
        f"!('{gpus.CONTAINER}' in {notes}) ? '0' : {chosen} in {names} ? "
        f"string({names}.indexOf({chosen})) : 'i' + string({init}.indexOf({chosen}))"
    )
    is_part = " || ".join(f"'{name}' in {notes}" for name in (gpus.FRACTION, gpus.MEMORY))
    held = f"[{containers}, variables.initContainers].exists(l, l.exists(c, {_cel_container()}))"
    ephemeral = "object.spec.ephemeralContainers"
    added = f"has({ephemeral}) && {ephemeral}.exists(c, {_cel_container()})"
    return (
        ("shared", f"({is_part}) && 'runai/shared-gpu-configmap' in {notes} ? {prefix} + '-' + ({index}) : ''"),
        ("takesDevices", f"{held} || {added} || {_cel_noted()}"),
    )


def _cel_container() -> str:
    """Returns CEL for: the container ``c`` has a variable or a mount that gives devices."""
    source = "e.valueFrom.configMapKeyRef"
    shared = (
        f"e.name == '{VISIBLE_DEVICES}' && has(e.valueFrom) && has({source}) && has({source}.name) && "
        f"{source}.name == variables.shared && {source}.key == '{VISIBLE_DEVICES}'"
    )
    gives_devices = " || ".join(
        f"e.name.matches({names}) && (has(e.valueFrom) || !(has(e.value) ? e.value : '').matches({hides}))"
        for hides, names in _by_hides(VARIABLES)
    )
    mounted = f"has(c.volumeMounts) && c.volumeMounts.exists(m, {cel_takes_devices('m.mountPath')})"
    return f"has(c.env) && c.env.exists(e, !({shared}) && ({gives_devices})) || {mounted}"


def _cel_noted() -> str:
    return f"variables.annotations.exists(k, {cel_is_note('k', 'variables.annotations[k]')})"


def cel_is_note(name: str, value: str) -> str:
    """Returns CEL for: an annotation gives devices."""
    return " || ".join(
        f"{name}.matches({names}) && !{value}.matches({hides})" for hides, names in _by_hides(ANNOTATIONS)
    )


def _by_hides(keys: Iterable[DeviceKey]) -> Iterator[tuple[str, str]]:
    """Yields each pattern of hiding values with the pattern of the names that have it, both for whole texts in CEL."""
    names: dict[str, list[str]] = {}
    for key in keys:
        names.setdefault(key.hides, []).append(key.names)
    for hides, patterns in names.items():
        yield _cel_text(f"^({hides})$"), _cel_text(f"^({'|'.join(patterns)})$")


def _cel_text(text: str) -> str:
    return json.dumps(text)
