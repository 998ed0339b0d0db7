"""The GPUs that a pod asks for: one definition, in Python for files, and in CEL for the policies of an API server.

Follows KAI's scheduler (0.17: ``pod_info.go`` and ``gpu_resource_requirment.go``), which counts the same from 0.14 on.

- Whole GPUs (``nvidia.com/gpu``, ``amd.com/gpu``) count one each, a MIG device as many as it has slices:
  ``nvidia.com/mig-3g.20gb`` three.
- Containers and sidecars (init containers with restartPolicy: Always) add up; any other init container runs beside
  the sidecars that were started before it, and frees what it held. A container asks by its limits, or by its
  requests where these are more, as does the pod itself by ``spec.resources``.
- The annotation ``gpu-fraction`` asks for that part of a GPU, in hundredths, ``gpu-fraction-num-devices`` of how many.
  An annotation such as ``nvidia.com/mig-3g.20gb`` asks for MIG devices. KAI lets an annotation replace what the
  containers ask for; here the larger of the two counts, so that none can hide the other.
- What ``gpu-memory`` comes to depends on the node, so of each device it asks for a hundredth is counted: not nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal

from kubectl_tas.records import dataclass

GPU = "nvidia.com/gpu"
"""The resource name under which Kubernetes counts whole GPUs."""
WHOLE = (GPU, "amd.com/gpu")
"""All resources that KAI counts as whole GPUs."""
MIG = r"^nvidia[.]com/mig-([0-9]{1,2})g[.]"
"""MIG devices, and the number of their slices."""
ACCELERATOR = r"gpu|^nvidia[.]com/mig-|^habana[.]ai/|^google[.]com/tpu|^aws[.]amazon[.]com/neuron"
"""Resources that are accelerators by their names, whether or not KAI counts them."""
FRACTION = "gpu-fraction"
MEMORY = "gpu-memory"
DEVICES = "gpu-fraction-num-devices"
ANNOTATIONS = (FRACTION, MEMORY, DEVICES)
"""Annotations of a pod in which KAI reads what it asks for."""
_PART = r"^[+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,3})?$"
_COUNT = r"^[0-9]{1,9}$"
_HUNDREDTHS = 100

Amounts = Mapping[str, int]
"""Resources by name; those that are no GPUs may be left out."""


class Hundredths(Decimal):
    """GPUs that are asked for in part, in hundredths; shown without zeros at the end, two times 0.5 as 1."""

    def __add__(self, other: Gpus) -> Hundredths:
        return _shown(super().__add__(other))

    __radd__ = __add__

    def __mul__(self, other: Gpus) -> Hundredths:
        return _shown(super().__mul__(other))

    __rmul__ = __mul__

    def __sub__(self, other: Gpus) -> Hundredths:
        return _shown(super().__sub__(other))

    def __rsub__(self, other: Gpus) -> Hundredths:
        return _shown(super().__rsub__(other))


Gpus = int | Decimal
"""A number of GPUs: an int, or Hundredths where one of them is asked for in part."""


def _shown(amount: Decimal) -> Hundredths:
    return Hundredths(int(amount) if amount.is_finite() and amount == int(amount) else amount.normalize())


@dataclass(frozen=True, slots=True)
class Asked:
    """What a container, or the pod itself, asks for."""

    limits: Amounts
    requests: Amounts
    is_sidecar: bool = False
    """Of an init container: whether it keeps running beside the containers."""

    @property
    def gpus(self) -> int:
        """Its GPUs and MIG slices."""
        return max(
            sum(_slices(name) * amount for name, amount in part.items() if is_counted(name))
            for part in (self.limits, self.requests)
        )


def is_counted(resource: str) -> bool:
    """Whether KAI counts a resource among GPUs."""
    return resource in WHOLE or re.search(MIG, resource) is not None


def of_node(allocatable: Mapping[str, Decimal]) -> int:
    """The whole GPUs that a node has for pods, MIG devices by their slices: KAI's ``TotalGPUs`` of
    pkg/scheduler/api/resource_info/resource_vector.go, 0.17.
    """
    return int(sum(_slices(name) * amount for name, amount in allocatable.items() if is_counted(name)))


def is_uncounted(resource: str) -> bool:
    """Whether a resource is an accelerator that KAI charges to no queue."""
    return not is_counted(resource) and re.search(ACCELERATOR, resource) is not None


def of_pod(
    init: Iterable[Asked], containers: Iterable[Asked], pod: Asked | None, annotations: Mapping[str, str]
) -> Gpus:
    """GPUs of a pod by its init containers, its containers, ``spec.resources`` and its annotations."""
    starting = ((container.is_sidecar, container.gpus) for container in init)
    whole = max(at_most(starting, (container.gpus for container in containers)), pod.gpus if pod else 0)
    annotated = _annotated(annotations)
    return whole if whole * _HUNDREDTHS >= annotated else _shown(Decimal(annotated) / _HUNDREDTHS)


def at_most(init: Iterable[tuple[bool, int]], containers: Iterable[int]) -> int:
    """The most that a pod holds at a time, by what its init containers, each with whether it is a sidecar, and its
    containers ask for.
    """
    sidecars = most = 0
    for is_sidecar, amount in init:
        if is_sidecar:
            sidecars += amount
        else:
            most = max(most, sidecars + amount)
    return max(most, sidecars + sum(containers))


def _annotated(annotations: Mapping[str, str]) -> int:
    """Hundredths of a GPU that annotations ask for."""
    part, devices = annotations.get(FRACTION, ""), annotations.get(DEVICES, "")
    fraction = 0
    if re.search(_PART, part) and 0 < float(part) <= 1:
        fraction = max(1, int(float(part) * _HUNDREDTHS + 0.5))
    elif has_memory(annotations):
        fraction = 1
    mig = sum(
        _slices(name) * int(value)
        for name, value in annotations.items()
        if re.search(MIG, name) and re.search(_COUNT, value)
    )
    return max(fraction * (int(devices) if re.search(_COUNT, devices) else 1), mig * _HUNDREDTHS)


def has_memory(annotations: Mapping[str, str]) -> bool:
    """Whether a pod asks for a part of a GPU by its memory."""
    return is_count(annotations.get(MEMORY, ""))


def is_count(text: str) -> bool:
    """Whether a text is a whole number from 1."""
    return re.search(_COUNT, text) is not None and int(text) > 0


def is_fraction(text: str) -> bool:
    """Whether a text is a part of a GPU that KAI's webhook takes."""
    return re.search(_PART, text) is not None and 0 < float(text) < 1


def _slices(resource: str) -> int:
    found = re.search(MIG, resource)
    return int(found.group(1)) if found else 1


def cel_variables() -> tuple[tuple[str, str], ...]:
    """The same in CEL, of the pod that is ``object``: variables by name, each of which may use those before it.

    The last one, ``hundredths``, is the number of GPUs times 100.
    """
    init = "variables.initContainers"
    positions = f"{init}.map(i, {init}.indexOf(i))"
    starting, running = cel_at_most(_cel_of, "initGpus")
    notes = "variables.annotations"
    part = f"double({notes}['{FRACTION}'])"
    is_part = f"'{FRACTION}' in {notes} && {notes}['{FRACTION}'].matches('{_PART}') && {part} > 0.0 && {part} <= 1.0"
    memory = f"'{MEMORY}' in {notes} && {notes}['{MEMORY}'].matches('{_COUNT}') && int({notes}['{MEMORY}']) > 0"
    devices = f"'{DEVICES}' in {notes} && {notes}['{DEVICES}'].matches('{_COUNT}') ? int({notes}['{DEVICES}']) : 1"
    fraction = f"{is_part} ? [1, int({part} * {_HUNDREDTHS}.0 + 0.5)].max() : {memory} ? 1 : 0"
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


def cel_at_most(of: Callable[[str], str], init: str, zero: str = "0") -> tuple[str, str]:
    """``at_most`` in CEL, among ``cel_variables``: the list of what a pod holds while each init container runs that is
    no sidecar, and what it holds once its containers do.

    ``of`` gives what a container asks for, ``init`` is the variable with what each init container does, and ``zero``
    nothing, in their type.
    """
    sidecars, amounts = "variables.sidecars", f"variables.{init}"
    earlier = f"variables.positions.filter(q, q < p && {sidecars}[q]).map(q, {amounts}[q])"
    starting = f"variables.positions.map(p, {sidecars}[p] ? {zero} : {amounts}[p] + ([{zero}] + {earlier}).sum())"
    running = f"([{zero}] + object.spec.containers.map(c, {of('c')})).sum()"
    beside = f"([{zero}] + variables.positions.filter(q, {sidecars}[q]).map(q, {amounts}[q])).sum()"
    return starting, f"{running} + {beside}"


def cel_uncounted() -> str:
    """Whether the pod that is ``object`` asks for an accelerator that KAI does not count; after ``cel_variables``."""
    asks = "object.spec.containers.exists(c, {}) || variables.initContainers.exists(c, {})"
    one = " || ".join(
        f"(has(c.resources) && has(c.resources.{part}) && c.resources.{part}.exists(k, "
        f"k.matches('{ACCELERATOR}') && !({_cel_is_counted()}) && string(c.resources.{part}[k]) != '0'))"
        for part in ("limits", "requests")
    )
    return asks.format(one, one)


def _cel_of(holder: str) -> str:
    """GPUs that something with ``resources`` asks for."""
    amounts = (
        f"([0] + (has({holder}.resources) && has({holder}.resources.{part}) ? "
        f"{holder}.resources.{part}.filter(k, {_cel_is_counted()})"
        f".map(k, {_cel_slices()} * quantity(string({holder}.resources.{part}[k])).asInteger()) : [])).sum()"
        for part in ("limits", "requests")
    )
    return f"[{', '.join(amounts)}].max()"


def _cel_is_counted() -> str:
    return f"k in [{', '.join(map(repr, WHOLE))}] || k.matches('{MIG}')"


def _cel_slices() -> str:
    return f"(k.matches('{MIG}') ? int(k.split('-')[1].split('g')[0]) : 1)"
