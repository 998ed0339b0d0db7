"""What pods ask of GPUs is what can be counted, and what KAI accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kubectl_tas import gpus
from kubectl_tas.check.resourcenames import is_misnamed
from kubectl_tas.diagnostics import Diagnostic, Location, Rule, Severity, Waiving
from kubectl_tas.load.kinds import without_nulls
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin
from kubectl_tas.records import dataclass
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.handwritten import FleetPodGroup
from kubectl_tas.resolve.placement import ROOT
from kubectl_tas.resolve.podcliqueset import SubmittedSet
from kubectl_tas.resolve.pools import Submission
from kubectl_tas.resolve.workload import FleetWorkload

if TYPE_CHECKING:
    from kubectl_tas.model.podtemplate import PodSpec

GPUS_UNKNOWN = Rule(
    "gpus-unknown",
    Severity.WARNING,
    "Pods ask for GPUs in a way that no file says the number of.",
    "What gpu-memory comes to depends on the node, what a resource claim asks for is in another object, and KAI "
    "charges no queue for accelerators other than nvidia.com/gpu, amd.com/gpu and MIG devices. A device plugin gives "
    "GPUs under any name that it is configured for, so each resource with a domain is told that is not known as a "
    "network card or the like. Quotas are checked without them. Ask for whole GPUs or a gpu-fraction where the quota "
    "must hold. Where a plugin gives no accelerators, spec.rules of the Config says so: gpus-unknown: off.",
    protects=Waiving.CONFIG,
)
GPU_ANNOTATION = Rule(
    "gpu-annotation",
    Severity.ERROR,
    "An annotation asks for a part of a GPU in a way that KAI refuses, or where KAI does not read it.",
    "KAI's webhook refuses the pods: gpu-fraction is a number between 0 and 1, gpu-memory and "
    "gpu-fraction-num-devices are whole numbers from 1, and of gpu-fraction, gpu-memory and whole GPUs a pod asks "
    "for one alone. KAI reads these annotations of pods alone: on a Deployment itself they ask for nothing, and its "
    "pods run without a GPU. Write them in the pod template.",
)


@dataclass(frozen=True, slots=True)
class _Pod:
    """A pod template, and where its parts stand."""

    origin: Origin
    spec: PodSpec
    path: KeyPath
    """Of its spec."""
    annotations: Mapping[str, str]
    notes: KeyPath
    """Of its annotations."""

    def note(self, name: str) -> Location:
        """Where an annotation stands."""
        return self.origin.locate((*self.notes, name), key=True)


def check_gpu_requests(fleet: Fleet) -> Iterator[Diagnostic]:
    """Pod templates of workloads and PodCliqueSets. What OSMO's tasks ask for themselves is always whole GPUs."""
    for pod in (pod for group in fleet.pod_groups for pod in pods_of(group)):
        yield from _unknown(pod)
        yield from _refused(pod)
    for item in fleet.submissions:
        pods = tuple(pods_of(item))
        for pod in pods:
            yield from _unknown(pod)
            yield from _refused(pod)
        yield from _unread(item, pods)
        if isinstance(item, FleetWorkload):
            for part in item.templates:
                if part.template is None:  # a TrainJob says per node what its runtime's template does not
                    yield from _uncounted(item.declared.origin, part.path)


def check_pod_gpus(origin: Origin, spec: PodSpec, annotations: Mapping[str, str]) -> Iterator[Diagnostic]:
    """A Pod that is made here."""
    pod = _Pod(origin, spec, ("spec",), annotations, ROOT)
    yield from _unknown(pod)
    yield from _refused(pod)


def pods_of(item: object) -> Iterator[_Pod]:
    """The pod templates of a workload or a PodCliqueSet, and the Pods of a hand-written PodGroup; of others none."""
    if isinstance(item, FleetPodGroup):
        for member in item.pods:
            yield _Pod(member.origin, member.spec.spec, ("spec",), member.spec.metadata.annotations, ROOT)
    elif isinstance(item, FleetWorkload):
        for part in item.templates:
            if part.template is not None:
                notes = part.annotations_path
                template, path = part.template, (*part.path, "spec")
                yield _Pod(item.declared.origin, template.spec, path, template.metadata.annotations, notes)
    elif isinstance(item, SubmittedSet):
        for clique in item.set.cliques:
            spec, notes = clique.spec.spec.podSpec, (*clique.path, "annotations")
            if spec is not None:
                path = (*clique.path, "spec", "podSpec")
                yield _Pod(item.declared.origin, spec, path, clique.spec.annotations, notes)


def _unread(item: Submission, pods: Sequence[_Pod]) -> Iterator[Diagnostic]:
    """Annotations that stand above the pod templates, which no controller copies to pods."""
    if not isinstance(item, FleetWorkload | SubmittedSet):
        return
    origin = item.declared.origin
    jobs = item.templates if isinstance(item, FleetWorkload) else ()
    above = [ROOT, *(part.job_annotations[0] for part in jobs if part.job_annotations)]
    for path in dict.fromkeys(above):
        written = origin.value(path)
        if not isinstance(written, dict) or any(pod.notes == path for pod in pods):
            continue
        for name in gpus.ANNOTATIONS:
            if name in written and not (pods and all(name in pod.annotations for pod in pods)):
                templates = " or ".join(".".join(str(step) for step in pod.notes) for pod in pods)
                hint = f"Move it to {templates}." if pods else "Write it in the pod template of its runtime."
                message = f"KAI reads {name} of pods alone: here it asks for no GPU"
                yield Diagnostic(GPU_ANNOTATION, message, origin.locate((*path, name), key=True), hint=hint)


def _unknown(pod: _Pod) -> Iterator[Diagnostic]:
    if gpus.has_memory(pod.annotations):
        message = f"what {gpus.MEMORY} {pod.annotations[gpus.MEMORY]} comes to depends on the node"
        hint = f"It is counted as a hundredth of a GPU; ask by {gpus.FRACTION} where the quota must hold."
        yield Diagnostic(GPUS_UNKNOWN, message, pod.note(gpus.MEMORY), hint=hint)
    if pod.spec.resourceClaims:
        names = ", ".join(claim.name for claim in pod.spec.resourceClaims)
        message = f"the devices of resource claims ({names}) are not known here, and not counted"
        place = pod.origin.locate((*pod.path, "resourceClaims"), key=True)
        yield Diagnostic(GPUS_UNKNOWN, message, place, hint=f"Ask for {gpus.GPU} where the quota must hold.")
    for field in ("containers", "initContainers"):
        for index, _ in enumerate(getattr(pod.spec, field)):
            yield from _uncounted(pod.origin, (*pod.path, field, index))
    yield from _uncounted(pod.origin, pod.path)


def _uncounted(origin: Origin, holder: KeyPath) -> Iterator[Diagnostic]:
    """Accelerators in the resources of a container, of a pod, or of the nodes of a TrainJob."""
    key = "resourcesPerNode" if origin.value((*holder, "resourcesPerNode")) is not None else "resources"
    written = origin.value((*holder, key))
    if not isinstance(written, dict):
        return
    from kubectl_tas.model.podtemplate import Resources  # workflows have none

    resources = Resources.model_validate(without_nulls(written))
    for part in ("limits", "requests"):
        for name in getattr(resources, part).uncounted:
            if not is_misnamed(name) and (part == "limits" or name not in resources.limits.uncounted):
                message = f"KAI charges no queue for {name}"
                place = origin.locate((*holder, key, part, name), key=True)
                hint = "It counts nvidia.com/gpu, amd.com/gpu and MIG devices, in whole numbers."
                yield Diagnostic(GPUS_UNKNOWN, message, place, hint=hint)


def _refused(pod: _Pod) -> Iterator[Diagnostic]:
    """Follows KAI 0.17's ``gpu_request_validator.go``."""
    notes = pod.annotations
    for name, is_right, wanted in (
        (gpus.FRACTION, gpus.is_fraction, "a number between 0 and 1, such as 0.5"),
        (gpus.MEMORY, gpus.is_count, "MiB as a whole number, such as 2000"),
        (gpus.DEVICES, gpus.is_count, "a whole number from 1"),
    ):
        if name in notes and not is_right(notes[name]):
            yield Diagnostic(GPU_ANNOTATION, f'"{notes[name]}" is no {name}', pod.note(name), hint=f"Write {wanted}.")
    parts = [name for name in (gpus.FRACTION, gpus.MEMORY) if name in notes]
    if len(parts) > 1:
        message = f"{gpus.MEMORY} stands beside {gpus.FRACTION}"
        yield Diagnostic(GPU_ANNOTATION, message, pod.note(gpus.MEMORY), hint="Ask by one of them.")
    if parts and pod.spec.gpus_with({}):
        message = f"{parts[0]} stands beside GPUs that the containers ask for"
        yield Diagnostic(GPU_ANNOTATION, message, pod.note(parts[0]), hint="Ask by one of them.")
    if gpus.DEVICES in notes and not parts:
        message = f"{gpus.DEVICES} stands without {gpus.FRACTION} or {gpus.MEMORY}"
        yield Diagnostic(GPU_ANNOTATION, message, pod.note(gpus.DEVICES), hint="Say what part of each, or remove it.")
