"""Counts the GPUs of a pod, in Python for files, and in CEL for admission policies of an API server.

Follows KAI's scheduler (0.17: ``pod_info.go`` and ``gpu_resource_requirment.go``), which counts the same since 0.14.

- Whole GPUs (``nvidia.com/gpu``, ``amd.com/gpu``) count one each. A MIG device counts its slices:
  ``nvidia.com/mig-3g.20gb`` counts three.
- Containers and sidecars (init containers with restartPolicy: Always) add up. Any other init container runs next to the
  sidecars started before it, and then frees its GPUs. A container asks for its limits, or for its requests if these
  are more; so does the pod itself in ``spec.resources``.
- The annotation ``gpu-fraction`` asks for a part of a GPU, in hundredths, of as many GPUs as
  ``gpu-fraction-num-devices`` says. An annotation such as ``nvidia.com/mig-3g.20gb`` asks for MIG devices. In KAI an
  annotation replaces the GPUs of the containers; here the larger of the two counts, so that neither hides the other.
- The share that ``gpu-memory`` asks for depends on the node, so it counts as one hundredth of each device, not as zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import lru_cache

from kubectl_tas.base.late import dataclass

GPU = "nvidia.com/gpu"
"""The resource name for whole GPUs in Kubernetes."""
GPU_COUNT = "nvidia.com/gpu.count"
"""Label with which NVIDIA's GPU operator says how many GPUs a node has, healthy or not."""
WHOLE = (GPU, "amd.com/gpu")
"""All resources that KAI counts as whole GPUs."""
MIG = r"^nvidia[.]com/mig-([0-9]{1,2})g[.]"
"""A pattern for MIG devices that captures the number of slices."""
NETWORK = (
    r"(?i)(^|[/_.-])(ib|v?nic|eni|efa|hca)s?([0-9_.-]|$)"
    r"|(^|[/_.-])(e?rdma|roce|mlnx|netdev|infiniband|dpdk)"
    r"|^(vpc[.]amazonaws[.]com|networking[.]gke[.]io([.]networks)?|topolvm[.](io|cybozu[.]com)"
    r"|(sgx|qat|dlb|dsa|iaa)[.]intel[.]com)/"
)
"""A pattern for resources with a domain that are never accelerators: network cards, storage, and devices of CPUs. Some
network cards are named for the GPUs beside them.
"""
GENERIC = (
    r"(?i)(^|[/_.-])(vf|tun|kvm|fuse)s?([0-9_.-]|$)"
    r"|(^|[/_.-])(sriov|hostdev|vhost)"
    r"|^(openshift[.]io|mellanox[.]com|smarter-devices|squat[.]ai|aliyun|tke[.]cloud[.]tencent[.]com"
    r"|devices[.]kubevirt[.]io)/"
    r"|^koordinator[.]sh/(batch|mid)-"
)
"""A pattern for resources that are no accelerators unless ``ACCELERATOR`` matches too: functions of network cards,
devices of every node, and devices of plugins that serve any device. Device plugins name all other resources by
configuration, such as ``nvidia.com/GH100_H100``.
"""
ACCELERATOR = (
    r"(?i)/.*(gpu|nvidia|geforce|radeon|cuda|gaudi|habana|ascend)"
    r"|/(.*[_.-])?[hntx]pus?([0-9_.-]|$)"
    r"|^(smarter-devices|squat[.]ai)/(.*[_.-])?(accel|apex|card|davinci|dri|dxg|hl|kfd|mali|neuron|nvhost|nvmap"
    r"|renderd|vfio)([0-9_.-]|$)"
)
"""A pattern for names of accelerators. Two plugins name a device for its file: Linux has renderD128 for most GPUs, kfd
for AMD's, davinci0 for Ascend, neuron0 for AWS, and vfio for any device.
"""
_MIG_PROFILES = (
    "1g.6gb 1g.6gb.me 2g.12gb 2g.12gb.me 4g.24gb",  # A30
    "1g.5gb 1g.5gb.me 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb",  # A100 40 GB
    "1g.10gb 1g.10gb.me 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb",  # A100 80 GB, H100 80 GB
    "1g.12gb 1g.12gb.me 1g.24gb 2g.24gb 3g.47gb 4g.47gb 7g.94gb",  # H100 94 GB
    "1g.12gb 1g.12gb.me 1g.24gb 1g.24gb.me 2g.24gb 3g.48gb 4g.48gb 7g.96gb",  # H100 96 GB, GH200 96 GB, H20
    "1g.18gb 1g.18gb.me 1g.35gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb",  # H200
    "1g.18gb 1g.18gb.me 1g.36gb 2g.36gb 3g.72gb 4g.72gb 7g.144gb",  # GH200 144 GB
    "1g.23gb 1g.23gb.me 1g.45gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb",  # B200
    "1g.23gb 1g.23gb.me 1g.47gb 2g.47gb 3g.93gb 4g.93gb 7g.186gb 3g.95gb 4g.95gb 7g.189gb",  # GB200
    "1g.34gb 1g.34gb.me 1g.67gb 2g.67gb 3g.135gb 4g.135gb 7g.269gb",  # B300
    "1g.35gb 1g.35gb.me 1g.70gb 2g.70gb 3g.139gb 4g.139gb 7g.278gb",  # GB300
)
_MIG_PROFILES_OF_RTX_PRO = (
    "1g.16gb 2g.32gb",  # 4500
    "1g.12gb 1g.24gb 2g.24gb 2g.48gb 4g.48gb",  # 5000
    "1g.24gb 2g.48gb 4g.96gb",  # 6000
)
_ATTRIBUTES_OF_RTX_PRO = ("", ".gfx", ".me", ".me.all", "-me")
"""MIG profiles as the device plugin names them, with a point instead of a plus.

Sources: "Supported MIG Profiles" of NVIDIA's MIG User Guide, deployments/systemd/config-default.yaml and
pkg/mig/builder of NVIDIA/mig-parted 0.15, and internal/resource/nvml-mig-device.go of NVIDIA/k8s-device-plugin 0.20.
"""
MIG_PROFILES = tuple(
    dict.fromkeys(
        f"nvidia.com/mig-{name}{attribute}"
        for table, attributes in ((_MIG_PROFILES, ("",)), (_MIG_PROFILES_OF_RTX_PRO, _ATTRIBUTES_OF_RTX_PRO))
        for names in table
        for name in names.split()
        for attribute in attributes
    )
)
"""All resources of MIG devices."""
FRACTION = "gpu-fraction"
MEMORY = "gpu-memory"
DEVICES = "gpu-fraction-num-devices"
CONTAINER = "gpu-fraction-container-name"
ANNOTATIONS = (FRACTION, MEMORY, DEVICES)
"""Annotations with which a pod asks KAI for GPUs."""
VISIBLE_DEVICES = "NVIDIA_VISIBLE_DEVICES"
"""The variable by which NVIDIA's container runtime exposes GPUs to a container."""
_PART = r"^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,3})?$"
_COUNT = r"^[0-9]{1,9}$"
_HUNDREDTHS = 100

Amounts = Mapping[str, int]
"""Amounts by resource name; resources that are not GPUs may be left out."""


class Hundredths(Decimal):
    """A number of GPUs with fractions, in hundredths; shown without zeros at the end: two times 0.5 is 1."""

    def __add__(self, addend: Gpus) -> Hundredths:
        return _shown(super().__add__(addend))

    __radd__ = __add__

    def __mul__(self, factor: Gpus) -> Hundredths:
        return _shown(super().__mul__(factor))

    __rmul__ = __mul__

    def __sub__(self, subtrahend: Gpus) -> Hundredths:
        return _shown(super().__sub__(subtrahend))

    def __rsub__(self, minuend: Gpus) -> Hundredths:
        return _shown(super().__rsub__(minuend))


Gpus = int | Decimal
"""A number of GPUs: an int, or Hundredths if a GPU is requested in part."""


def _shown(amount: Decimal) -> Hundredths:
    return Hundredths(int(amount) if amount.is_finite() and amount == int(amount) else amount.normalize())


@dataclass(frozen=True, slots=True)
class ContainerRequests:
    """The resources of a container, or of the pod itself."""

    limits: Amounts
    requests: Amounts
    is_sidecar: bool = False
    """For an init container: whether it keeps running next to the containers."""

    @property
    def gpus(self) -> int:
        """The GPUs and MIG slices."""
        return max(
            sum(_slices(name) * amount for name, amount in amounts.items() if is_counted(name))
            for amounts in (self.limits, self.requests)
        )


@lru_cache(maxsize=1024)
def is_counted(resource: str) -> bool:
    """Whether KAI counts a resource as a GPU."""
    return resource in WHOLE or re.search(MIG, resource) is not None


def of_node(allocatable: Mapping[str, Decimal]) -> int:
    """Returns the whole GPUs that a node offers to pods, with MIG devices counted by slices. Source: KAI's
    ``TotalGPUs`` of pkg/scheduler/api/resource_info/resource_vector.go, 0.17.
    """
    return int(sum(_slices(name) * amount for name, amount in allocatable.items() if is_counted(name)))


@lru_cache(maxsize=1024)
def is_uncounted(resource: str) -> bool:
    """Whether a resource, judged by its name, is a device that KAI charges to no queue."""
    if "/" not in resource or is_counted(resource) or re.search(NETWORK, resource):
        return False
    return re.search(GENERIC, resource) is None or re.search(ACCELERATOR, resource) is not None


def is_unknown_mig(name: str) -> bool:
    """Whether a resource or annotation counts as a MIG device although no GPU has that profile."""
    return re.search(MIG, name) is not None and name not in MIG_PROFILES


def of_pod(
    init: Iterable[ContainerRequests],
    containers: Iterable[ContainerRequests],
    pod: ContainerRequests | None,
    annotations: Mapping[str, str],
) -> Gpus:
    """Returns the GPUs of a pod, from its init containers, containers, ``spec.resources`` and annotations."""
    starting = ((container.is_sidecar, container.gpus) for container in init)
    whole = max(at_most(starting, (container.gpus for container in containers)), pod.gpus if pod else 0)
    annotated = _annotated(annotations)
    return whole if whole * _HUNDREDTHS >= annotated else _shown(Decimal(annotated) / _HUNDREDTHS)


def at_most(init: Iterable[tuple[bool, int]], containers: Iterable[int]) -> int:
    """Returns the most that a pod holds at any time, from the amounts of init containers (each with whether it is a
    sidecar) and containers.
    """
    sidecars = most = 0
    for is_sidecar, amount in init:
        if is_sidecar:
            sidecars += amount
        else:
            most = max(most, sidecars + amount)
    return max(most, sidecars + sum(containers))


def _annotated(annotations: Mapping[str, str]) -> int:
    """Returns the hundredths of a GPU that annotations ask for."""
    fraction_text, devices = annotations.get(FRACTION, ""), annotations.get(DEVICES, "")
    fraction = 0
    if re.search(_PART, fraction_text) and 0 < float(fraction_text) <= 1:
        fraction = max(1, int(float(fraction_text) * _HUNDREDTHS + 0.5))
    elif has_memory(annotations):
        fraction = 1
    mig = sum(
        _slices(name) * int(value)
        for name, value in annotations.items()
        if re.search(MIG, name) and re.search(_COUNT, value)
    )
    return max(fraction * (int(devices) if re.search(_COUNT, devices) else 1), mig * _HUNDREDTHS)


def has_memory(annotations: Mapping[str, str]) -> bool:
    """Whether a pod asks for a part of a GPU by memory."""
    return is_count(annotations.get(MEMORY, ""))


def is_count(text: str) -> bool:
    """Whether a text is a whole number of at least 1."""
    return re.search(_COUNT, text) is not None and int(text) > 0


def is_fraction(text: str) -> bool:
    """Whether a text is a fraction of a GPU that KAI's webhook accepts."""
    return re.search(_PART, text) is not None and 0 < float(text) < 1


def _slices(resource: str) -> int:
    match = re.search(MIG, resource)
    return int(match.group(1)) if match else 1


def cel_variables() -> tuple[tuple[str, str], ...]:
    """Returns the same count in CEL for the pod ``object``: variables by name, each of them using only earlier ones.

    The last variable, ``hundredths``, is the number of GPUs times 100.
    """
    init = "variables.initContainers"
    positions = f"{init}.map(i, {init}.indexOf(i))"
    starting, running = cel_at_most(_cel_of, "initGpus")
    notes = "variables.annotations"
    portion = f"double({notes}['{FRACTION}'])"
    is_part = (
        f"'{FRACTION}' in {notes} && {notes}['{FRACTION}'].matches('{_PART}') && {portion} > 0.0 && {portion} <= 1.0"
    )
    memory = f"'{MEMORY}' in {notes} && {notes}['{MEMORY}'].matches('{_COUNT}') && int({notes}['{MEMORY}']) > 0"
    devices = f"'{DEVICES}' in {notes} && {notes}['{DEVICES}'].matches('{_COUNT}') ? int({notes}['{DEVICES}']) : 1"
    fraction = f"{is_part} ? [1, int({portion} * {_HUNDREDTHS}.0 + 0.5)].max() : {memory} ? 1 : 0"
    mig = f"{notes}.filter(k, k.matches('{MIG}') && {notes}[k].matches('{_COUNT}'))"
    return (
        ("initContainers", "has(object.spec.initContainers) ? object.spec.initContainers : []"),
        ("initGpus", f"{init}.map(i, {_cel_of('i')})"),
        ("sidecars", f"{init}.map(i, has(i.restartPolicy) && i.restartPolicy == 'Always')"),
        ("positions", positions),
        ("starting", starting),
        ("gpus", f"([{running}, {_cel_of('object.spec')}] + variables.starting).max()"),
        ("annotations", "has(object.metadata.annotations) ? object.metadata.annotations : {}"),
        ("fraction", f"({fraction}) * ({devices})"),
        ("migs", f"([0] + {mig}.map(k, {_cel_slices()} * int({notes}[k]))).sum()"),
        (
            "hundredths",
            f"[variables.gpus * {_HUNDREDTHS}, variables.fraction, variables.migs * {_HUNDREDTHS}].max()",
        ),
    )


def cel_at_most(amount_of: Callable[[str], str], init: str, zero: str = "0") -> tuple[str, str]:
    """Returns ``at_most`` in CEL, for use among ``cel_variables``.

    The first expression lists what the pod holds while each init container that is not a sidecar runs. The second is
    what the pod holds while its containers run. ``amount_of`` gives a container's amount, ``init`` is the variable with
    the amounts of init containers, and ``zero`` is zero in the same type.
    """
    sidecars, amounts = "variables.sidecars", f"variables.{init}"
    earlier = f"variables.positions.filter(q, q < p && {sidecars}[q]).map(q, {amounts}[q])"
    starting = f"variables.positions.map(p, {sidecars}[p] ? {zero} : {amounts}[p] + ([{zero}] + {earlier}).sum())"
    running = f"([{zero}] + object.spec.containers.map(c, {amount_of('c')})).sum()"
    beside = f"([{zero}] + variables.positions.filter(q, {sidecars}[q]).map(q, {amounts}[q])).sum()"
    return starting, f"{running} + {beside}"


def cel_uncounted() -> str:
    """Returns CEL for whether the pod ``object`` asks for an accelerator that KAI ignores; needs ``cel_variables``."""
    asks = "object.spec.containers.exists(c, {}) || variables.initContainers.exists(c, {})"
    holds_accelerator = " || ".join(
        f"(has(c.resources) && has(c.resources.{field}) && c.resources.{field}.exists(k, "
        f"k.contains('/') && !k.matches('{NETWORK}') && (!k.matches('{GENERIC}') || k.matches('{ACCELERATOR}')) && "
        f"!({_cel_is_counted()}) && "
        f"string(c.resources.{field}[k]) != '0'))"
        for field in ("limits", "requests")
    )
    return asks.format(holds_accelerator, holds_accelerator)


def _cel_of(holder: str) -> str:
    """Returns CEL for the GPUs of an object with ``resources``."""
    amounts = (
        f"([0] + (has({holder}.resources) && has({holder}.resources.{field}) ? "
        f"{holder}.resources.{field}.filter(k, {_cel_is_counted()})"
        f".map(k, {_cel_slices()} * quantity(string({holder}.resources.{field}[k])).asInteger()) : [])).sum()"
        for field in ("limits", "requests")
    )
    return f"[{', '.join(amounts)}].max()"


def _cel_is_counted() -> str:
    return f"k in [{', '.join(map(repr, WHOLE))}] || k.matches('{MIG}')"


def _cel_slices() -> str:
    return f"(k.matches('{MIG}') ? int(k.split('-')[1].split('g')[0]) : 1)"
