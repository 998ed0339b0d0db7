"""Checks that resource names are valid for an API server, and that pods ask for GPUs in a way that KAI counts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kubectl_tas.base.diagnostics import Diagnostic, Location, Rule, Waiving
from kubectl_tas.base.late import dataclass, late_pattern
from kubectl_tas.base.words import closest, did_you_mean, shortened
from kubectl_tas.facts import gpus, quantities
from kubectl_tas.kinds.backdoors import Part, metadata_in
from kubectl_tas.kinds.section import children
from kubectl_tas.kinds.section import written as dotted
from kubectl_tas.load.kinds import without_nulls
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.kindlists import group_of
from kubectl_tas.model.repository import Origin
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet
from kubectl_tas.resolve.fleet_workload import FleetWorkload
from kubectl_tas.resolve.handwritten import FleetPodGroup
from kubectl_tas.resolve.placement import ROOT
from kubectl_tas.resolve.podcliqueset import SubmittedSet

if TYPE_CHECKING:
    from kubectl_tas.model.podtemplate import PodSpec

RESOURCE_NAME = Rule.error(
    "resource-name",
    "A resource has a name that no API server takes.",
    "A name without a domain must be one of Kubernetes' own, such as cpu, memory or ephemeral-storage. All others are "
    "DOMAIN/NAME, such as nvidia.com/gpu. Correct the name.",
)
GPU_NAME = Rule.error(
    "gpu-name",
    "A resource is nearly called like GPUs.",
    "The API server accepts any name with a domain, such as nvidia.com/gpus. KAI counts no GPU for it, so no quota "
    "holds. Without a device plugin for it, the pod stays Pending for ever. KAI counts one GPU for "
    "nvidia.com/mig-1g.10g, but no GPU has this MIG profile; 1g.10gb exists. Correct the name. If a plugin serves a "
    "resource of that name, allow it in spec.rules of the Config: gpu-name: off.",
    protects=Waiving.CONFIG,
)
NATIVE = ("cpu", "ephemeral-storage", "memory")
"""Kubernetes' own resources for containers. Huge pages are missing, because their names end with a size."""
_HUGE_PAGES = "hugepages-"
_CLAIMS = ("resourceClaims", "resourceSharing")
"""Fields that give claims to pods. Grove makes claims of each resourceSharing, of a set, a group or a clique, and gives
them to its pods (operator/api/core/v1alpha1/podcliqueset.go, 0.1.0-alpha.11).
"""
_REQUESTS = ("resources", "resourcesPerNode", "resourceClaims")
_OF_POD_SPEC = ("", "containers[]", "initContainers[]")
_CLAIMED = "deviceclass.resource.kubernetes.io/"
"""Prefix of a device class that a container requests as a resource (Kubernetes 1.34)."""
_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_QUALIFIED = late_pattern(rf"{_DOMAIN}/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SLIPS = 2
"""Maximum number of typing errors in a name that is still taken for a GPU resource."""
GPUS_UNKNOWN = Rule.warning(
    "gpus-unknown",
    "No file says how many GPUs pods ask for.",
    "How much gpu-memory takes depends on the node. What a resource claim takes is in another object. KAI charges no "
    "queue for accelerators other than nvidia.com/gpu, amd.com/gpu and MIG devices. A device plugin can serve GPUs "
    "under any name, so this finding names each resource with a domain that is not known as, for example, a network "
    "card. GPUs, claims and annotations for GPUs outside of the pod templates of an operator's kind are not counted. "
    "For a DeviceClass, KAI 0.17 charges pods that ask for the extendedResourceName nvidia.com/gpu, and no other "
    "name. kubectl-tas checks quotas without these GPUs. If the quota must hold, ask for whole GPUs or a gpu-fraction. "
    "If no plugin serves accelerators under such names, say so in spec.rules of the Config: gpus-unknown: off.",
    protects=Waiving.CONFIG,
)
GPU_ANNOTATION = Rule.error(
    "gpu-annotation",
    "KAI refuses or does not read an annotation for a part of a GPU.",
    "KAI's webhook accepts a gpu-fraction between 0 and 1, and whole numbers from 1 for gpu-memory and "
    "gpu-fraction-num-devices. A pod may ask for only one of gpu-fraction, gpu-memory and whole GPUs. KAI reads these "
    "annotations on pods alone: on the workload itself they do nothing, and its pods run without a GPU. Write them in "
    "the pod template.",
)


def resources_of(origin: Origin, section_part: Part) -> Iterator[Diagnostic]:
    """Checks the names in limits and requests."""
    owner, path, amounts = section_part
    if owner == "annotations":
        for name in amounts:
            if gpus.is_unknown_mig(name):
                yield _profile(origin, (*path, name))
    if owner != "amounts":
        return
    for name in amounts:
        if name in NATIVE or name in gpus.WHOLE:
            continue
        if gpus.is_counted(name):
            if gpus.is_unknown_mig(name):
                yield _profile(origin, (*path, name))
            continue
        if name == "storage" and any(str(step).startswith("volumeClaim") for step in path):
            continue
        yield from _name(origin, (*path, name))


def is_misnamed(name: str) -> bool:
    """Whether a resource has a wrong name. Other rules then need not report the resource."""
    return bool(_refused(name) or _meant(name))


def _profile(origin: Origin, path: KeyPath) -> Diagnostic:
    name = str(path[-1])
    slices = name[: name.index("g.") + len("g.")]
    same = [known_profile for known_profile in gpus.MIG_PROFILES if known_profile.startswith(slices)]
    hint = did_you_mean(name, same, f"Known: {shortened(same or gpus.MIG_PROFILES)}.", quote="")
    message = f'KAI counts GPUs for "{name}", but no GPU has that MIG profile: the pod stays Pending'
    return Diagnostic(GPU_NAME, message, origin.locate(path, key=True), hint=hint)


def _name(origin: Origin, path: KeyPath) -> Iterator[Diagnostic]:
    name = str(path[-1])
    intended_name, refused = _meant(name), _refused(name)
    hint = f"Did you mean {intended_name}?" if intended_name else f"Known: {', '.join(NATIVE)} and {gpus.GPU}."
    if refused:
        yield Diagnostic(RESOURCE_NAME, f'"{name}" is no resource: {refused}', origin.locate(path, key=True), hint=hint)
    elif intended_name:
        yield Diagnostic(GPU_NAME, f'KAI counts no GPU for "{name}"', origin.locate(path, key=True), hint=hint)


def _refused(name: str) -> str:
    """Returns why an API server refuses a name; empty if the name is valid. Follows ``ValidateContainerResourceName``
    of Kubernetes 1.35 (pkg/apis/core/validation).
    """
    if name.startswith(_HUGE_PAGES):
        size = quantities.parse(name.removeprefix(_HUGE_PAGES))
        is_size = size is not None and size > 0 and size == int(size)
        return "" if is_size else "huge pages have a size behind their name, such as hugepages-2Mi"
    if name.startswith(_CLAIMED):
        return ""
    domain, slash, _ = name.rpartition("/")
    if not slash:
        return "a name without a domain must be one of Kubernetes' own"
    if not _QUALIFIED.fullmatch(name):
        return "it must be DOMAIN/NAME"
    if domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
        return "Kubernetes has no resource of that name"
    if domain.startswith("requests."):
        return 'its domain must not begin with "requests."'
    return ""


def _meant(name: str) -> str:
    """Returns the resource that a name misspells; empty if there is no such resource."""
    domain, slash, last = name.rpartition("/")
    if domain.startswith("requests.") and gpus.is_counted(name.removeprefix("requests.")):
        return name.removeprefix("requests.")
    near = closest(name, gpus.WHOLE, most=_SLIPS, folds=True)
    if near is not None:
        return near
    bare = re.sub(r"[^a-z0-9]", "", name.lower())
    for whole in gpus.WHOLE:
        vendor = whole.partition(".")[0]
        if bare.removesuffix("s") in (f"{vendor}gpu", f"{vendor}comgpu", f"gpu{vendor}", f"{vendor}iogpu"):
            return whole
    if not slash and closest(last, ("gpu", "gpus", "nvidia-gpu"), most=1, folds=True) and bare not in ("cpu", "cpus"):
        return gpus.GPU
    if _refused(name) and "gpu" in bare:
        return gpus.WHOLE[1] if "amd" in bare else gpus.GPU
    if not slash:
        return closest(name, NATIVE, folds=True) or ""
    return (
        closest(name, gpus.MIG_PROFILES, folds=True) or gpus.MIG_PROFILES[0]
        if re.match(r"nvidia[.]com/mig", name.lower())
        else ""
    )


@dataclass(frozen=True, slots=True)
class CountedPod:
    """A pod template, and the places of its parts."""

    origin: Origin
    spec: PodSpec
    path: KeyPath
    """Path of the PodSpec."""
    annotations: Mapping[str, str]
    notes: KeyPath
    """Path of the annotations."""
    count: int = 1
    """Number of pods that the template makes."""
    made_of: KeyPath | None = None
    """Path of the kind's own fields, if the kind has no PodSpec."""

    def note(self, name: str) -> Location:
        """Returns the place of an annotation, which may stand in the pod template below the fields of Spark."""
        below = (*self.path, "template", "metadata", "annotations", name)
        return self.origin.locate((*self.notes, name) if self.origin.value(below) is None else below, key=True)


def check_members(group: FleetPodGroup, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the Pods of a hand-written PodGroup."""
    yield from _of_pods(pods_of(group), _channels(fleet, group.backend, group.namespace))


def check_gpu_requests(sent: FleetWorkload | SubmittedSet, fleet: Fleet) -> Iterator[Diagnostic]:
    """Checks the pod templates of a workload or PodCliqueSet. Tasks of OSMO always ask for whole GPUs."""
    pods = tuple(pods_of(sent))
    yield from _of_pods(pods, _channels(fleet, sent.pool.backend, sent.namespace))
    # Annotations above the pod templates, which no controller copies to pods.
    origin = sent.declared.origin
    for path in dict.fromkeys(notes_above(sent)):
        annotation = origin.value(path)
        if not isinstance(annotation, dict) or any(pod.notes == path for pod in pods):
            continue
        for name in gpus.ANNOTATIONS:
            if name in annotation and not (pods and all(name in pod.annotations for pod in pods)):
                templates = " or ".join(".".join(str(step) for step in pod.notes) for pod in pods)
                hint = f"Move it to {templates}." if pods else "Write it in the pod template of its runtime."
                message = f"KAI reads {name} only on pods: here it asks for no GPU"
                yield Diagnostic(GPU_ANNOTATION, message, origin.locate((*path, name), key=True), hint=hint)
    if isinstance(sent, FleetWorkload):
        for template in sent.templates:
            if template.template is None:  # a TrainJob says per node what its runtime's template does not
                yield from _uncounted(sent.declared.origin, template.path)
            if template.beside:
                yield from _uncounted(sent.declared.origin, template.beside)
        # A runtime with pod templates that no file has, if the workload does not say which GPUs its pods
        # take.
        origin, known_runtimes = sent.declared.origin, sent.declared.spec.page.pod_rules.without_gpus
        says_gpus = any(origin.value((*pods.path, "resourcesPerNode")) for pods in sent.templates)
        if known_runtimes and not says_gpus:
            kind, runtime = (origin.value(("spec", "runtimeRef", key)) for key in ("kind", "name"))
            if isinstance(runtime, str) and (runtime not in known_runtimes or kind == "TrainingRuntime"):
                message = f"the pods of runtime {runtime} may ask for GPUs, which are not counted"
                hint = "Write spec.trainer.resourcesPerNode: it takes the place of what the runtime asks for."
                yield Diagnostic(GPUS_UNKNOWN, message, origin.locate(("spec", "runtimeRef", "name")), hint=hint)
    yield from _outside_of_pods(sent)


def _of_pods(pods: Iterable[CountedPod], channels: Collection[str]) -> Iterator[Diagnostic]:
    for pod in pods:
        yield from _unknown_number(pod, channels)
        yield from _refused_notes(pod)


def _outside_of_pods(workload: FleetWorkload | SubmittedSet) -> Iterator[Diagnostic]:
    """Reports accelerators, resource claims and annotations for GPUs outside of the pods that the tool counts.
    Operators add them to pods or make further pods of them, and no table of the tool says how many.
    """
    origin = workload.declared.origin
    if group_of(workload.declared.spec.apiVersion) in ("", "apps", "batch"):  # an API server knows all their fields
        return
    counted = set(_holders(workload))
    waiting: list[tuple[KeyPath, str, Any]] = [((), "", origin.data)]
    while waiting:
        path, holder, held_value = waiting.pop()
        if isinstance(held_value, list):
            waiting += (((*path, index), f"{holder}[]", value) for index, value in enumerate(held_value))
        for key, value in held_value.items() if isinstance(held_value, dict) else ():
            if key == "gpuMemoryService" and isinstance(value, dict) and value.get("enabled", True):
                message = "Dynamo replaces the GPUs of these pods by a resource claim, and KAI charges no queue for it"
                hint = "Remove gpuMemoryService if the quota must hold."
                yield Diagnostic(GPUS_UNKNOWN, message, origin.locate((*path, key), key=True), hint=hint)
            elif key in _CLAIMS and isinstance(value, list) and value and (key, holder) not in counted:
                names = [str(claim.get("name")) for claim in value if isinstance(claim, dict)]
                yield _unknown_claims(names, origin.locate((*path, key), key=True))
            elif str(key).lower().endswith("resources") and (key, holder) not in counted:
                for amounts_key, name in _accelerators(value):
                    message = f"{name} in {dotted((*path, key))} is not counted: no pod template has it"
                    location = origin.locate((*path, key, amounts_key, name), key=True)
                    yield Diagnostic(
                        GPUS_UNKNOWN, message, location, hint="Ask for it in a container of a pod template."
                    )
            elif metadata_in(str(key)) == "annotations" and path != ("metadata",) and (key, holder) not in counted:
                for name in value if isinstance(value, dict) else ():
                    if name in gpus.ANNOTATIONS or gpus.is_counted(str(name)):
                        message = f"{name} in {dotted((*path, key))} is not counted: no pod template has it"
                        location = origin.locate((*path, key, name), key=True)
                        yield Diagnostic(GPUS_UNKNOWN, message, location, hint="Write it in a pod template.")
            if isinstance(value, dict | list):
                waiting.append(((*path, key), f"{holder}.{key}" if holder else str(key), value))


def _holders(workload: FleetWorkload | SubmittedSet) -> Iterator[tuple[str, str]]:
    """Yields the places of counted requests: a key, and the path of the mapping with it, with [] for each index."""
    places: list[tuple[KeyPath, Sequence[str]]]
    if isinstance(workload, SubmittedSet):
        places = [((*clique.path, "spec", "podSpec"), _OF_POD_SPEC) for clique in workload.set.cliques]
        annotated = [clique.path for clique in workload.set.cliques]
    else:
        places = [(pods.path, pods.holders) for pods in workload.templates]
        places += [(pods.beside, ("",)) for pods in workload.templates]
        annotated = [path for pods in workload.templates for path in (pods.metadata_path, *(pods.job or ())[:1])]
    for path, holders in places:
        for holder in holders:
            yield from ((key, f"{_without_indices(path)}.{holder}".strip(".")) for key in _REQUESTS)
    yield from (("annotations", _without_indices(path)) for path in annotated)


def _without_indices(path: KeyPath) -> str:
    return "".join("[]" if isinstance(step, int) else f".{step}" for step in path).strip(".")


def _accelerators(resources: object) -> Iterator[tuple[str, str]]:
    """Yields the accelerators in limits and requests, each once with the field that it is in."""
    seen: set[str] = set()
    for amounts_key in ("limits", "requests"):
        amounts = resources.get(amounts_key) if isinstance(resources, dict) else None
        for name, amount in amounts.items() if isinstance(amounts, dict) else ():
            is_accelerator = gpus.is_counted(str(name)) or gpus.is_uncounted(str(name))
            if is_accelerator and str(amount) != "0" and name not in seen:
                seen.add(name)
                yield amounts_key, name


def _channels(fleet: Fleet, backend: FleetBackend, namespace: str) -> Collection[str]:
    """Returns the claim templates of ComputeDomains in a namespace, whose claims give no GPUs."""
    domains = fleet.compute_domains
    return (
        [name for cluster, space, name in domains if (cluster, space) == (backend.name, namespace)] if domains else ()
    )


def check_pod_gpus(origin: Origin, spec: PodSpec, annotations: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Checks a Pod that kubectl-tas makes."""
    pod = CountedPod(origin, spec, ("spec",), annotations, ROOT)
    yield from _unknown_number(pod)
    yield from _refused_notes(pod)


def pods_of(submitted: object) -> Iterator[CountedPod]:
    """Yields pod templates of a workload or PodCliqueSet, or the Pods of a hand-written PodGroup; else nothing."""
    if isinstance(submitted, FleetPodGroup):
        for member in submitted.pods:
            for pods in member.spec.pod_sets:
                if pods.template is not None:
                    spec = pods.template.spec
                    yield CountedPod(member.origin, spec, pods.spec_path, member.spec.metadata.annotations, ROOT)
    elif isinstance(submitted, FleetWorkload):
        for pod_template in submitted.templates:
            if pod_template.template is not None:
                notes = pod_template.annotations_path
                template, path = pod_template.template, pod_template.spec_path
                count = submitted.copies * pod_template.replicas
                template_path = None if pod_template.is_pod_spec else pod_template.path
                yield CountedPod(
                    submitted.declared.origin,
                    template.spec,
                    path,
                    template.metadata.annotations,
                    notes,
                    count,
                    template_path,
                )
    elif isinstance(submitted, SubmittedSet):
        scaled = {clique.name: group.spec.replicas for group in submitted.set.groups for clique in group.cliques}
        for clique in submitted.set.cliques:
            spec, notes = clique.spec.spec.podSpec, (*clique.path, "annotations")
            if spec is not None:
                path = (*clique.path, "spec", "podSpec")
                count = submitted.set.replicas * clique.spec.spec.replicas * scaled.get(clique.name, 1)
                yield CountedPod(submitted.declared.origin, spec, path, clique.spec.annotations, notes, count)


def notes_above(workload: FleetWorkload | SubmittedSet) -> list[KeyPath]:
    """Returns the paths of annotations above the pod templates, which ``_unread`` checks."""
    jobs = workload.templates if isinstance(workload, FleetWorkload) else ()
    return [ROOT, *(replica_type.job_annotations[0] for replica_type in jobs if replica_type.job_annotations)]


def _unknown_number(pod: CountedPod, channels: Collection[str] = ()) -> Iterator[Diagnostic]:
    """Reports GPUs whose number no file says. The claims of the claim templates ``channels`` give no GPUs."""
    if gpus.has_memory(pod.annotations):
        message = f"the share of a GPU that {gpus.MEMORY} {pod.annotations[gpus.MEMORY]} asks for depends on the node"
        hint = f"kubectl-tas counts it as a hundredth of a GPU; use {gpus.FRACTION} if the quota must hold."
        yield Diagnostic(GPUS_UNKNOWN, message, pod.note(gpus.MEMORY), hint=hint)
    claims = pod.spec.resourceClaims
    if claims and (unknown := [holder.name for holder in claims if holder.resourceClaimTemplateName not in channels]):
        yield _unknown_claims(unknown, pod.origin.locate((*pod.path, "resourceClaims"), key=True))
    if pod.made_of is not None:
        requests_of_containers = [holder.resources for holder in (*pod.spec.containers, *pod.spec.initContainers)]
        for name in dict.fromkeys(
            name for holder in requests_of_containers for name in (*holder.limits.uncounted, *holder.requests.uncounted)
        ):
            yield from _not_charged(name, _place_of(pod.origin, pod.made_of, name))
        return
    for field in ("containers", "initContainers"):
        for index, _ in enumerate(getattr(pod.spec, field)):
            yield from _uncounted(pod.origin, (*pod.path, field, index))
    yield from _uncounted(pod.origin, pod.path)


def _unknown_claims(names: Sequence[str], location: Location) -> Diagnostic:
    message = f"the devices of resource claims ({', '.join(names)}) are unknown, and not counted"
    return Diagnostic(GPUS_UNKNOWN, message, location, hint=f"Ask for {gpus.GPU} if the quota must hold.")


def _place_of(origin: Origin, path: KeyPath, name: str) -> Location:
    """Returns the first place below a path that names a resource, as a key or as a value."""
    waiting = [path]
    while waiting:
        path = waiting.pop()
        for key, value in children(origin.value(path)):
            if name in (key, value):
                return origin.locate((*path, key), key=key == name)
            waiting.append((*path, key))
    return origin.locate(path)


def _uncounted(origin: Origin, holder: KeyPath) -> Iterator[Diagnostic]:
    """Reports accelerators in the resources of a container, of a pod, or of the nodes of a TrainJob."""
    key = "resourcesPerNode" if origin.value((*holder, "resourcesPerNode")) is not None else "resources"
    amounts = origin.value((*holder, key))
    if not isinstance(amounts, dict) or not any(
        "/" in str(name) and name not in gpus.WHOLE
        for each in amounts.values()
        for name in (each if isinstance(each, dict) else ())
    ):
        return
    from kubectl_tas.model.podtemplate import Resources  # workflows have none

    resources = Resources.model_validate(without_nulls(amounts))
    for amounts_key in ("limits", "requests"):
        for name in getattr(resources, amounts_key).uncounted:
            if amounts_key == "limits" or name not in resources.limits.uncounted:
                yield from _not_charged(name, origin.locate((*holder, key, amounts_key, name), key=True))


def _not_charged(name: str, location: Location) -> Iterator[Diagnostic]:
    if not is_misnamed(name):
        hint = "KAI counts nvidia.com/gpu, amd.com/gpu and MIG devices, in whole numbers."
        if name.startswith(_CLAIMED):
            hint = f"Ask for {gpus.GPU}, and set extendedResourceName: {gpus.GPU} in the DeviceClass (KAI 0.17)."
        yield Diagnostic(GPUS_UNKNOWN, f"KAI charges no queue for {name}", location, hint=hint)


def _refused_notes(pod: CountedPod) -> Iterator[Diagnostic]:
    """Checks annotations for parts of a GPU. Follows ``gpu_request_validator.go`` of KAI 0.17."""
    notes = pod.annotations
    for name, is_right, expected in (
        (gpus.FRACTION, gpus.is_fraction, "a number between 0 and 1, such as 0.5"),
        (gpus.MEMORY, gpus.is_count, "MiB as a whole number, such as 2000"),
        (gpus.DEVICES, gpus.is_count, "a whole number from 1"),
    ):
        if name in notes and not is_right(notes[name]):
            yield Diagnostic(GPU_ANNOTATION, f'"{notes[name]}" is no {name}', pod.note(name), hint=f"Write {expected}.")
    note_names = [name for name in (gpus.FRACTION, gpus.MEMORY) if name in notes]
    if len(note_names) > 1:
        message = f"{gpus.MEMORY} and {gpus.FRACTION} ask for the same GPU twice"
        yield Diagnostic(GPU_ANNOTATION, message, pod.note(gpus.MEMORY), hint="Remove one of the two.")
    if note_names and pod.spec.gpus_with({}):
        message = f"the pod asks for GPUs twice: by {note_names[0]}, and in its containers"
        yield Diagnostic(GPU_ANNOTATION, message, pod.note(note_names[0]), hint="Remove one of the two.")
    if gpus.DEVICES in notes and not note_names:
        message = f"{gpus.DEVICES} needs {gpus.FRACTION} or {gpus.MEMORY} beside it"
        yield Diagnostic(
            GPU_ANNOTATION, message, pod.note(gpus.DEVICES), hint="Set the part of each GPU, or remove it."
        )
