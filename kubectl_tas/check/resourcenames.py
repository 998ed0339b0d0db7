"""Names of resources are those that an API server takes, and GPUs are called what KAI counts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_tas import gpus
from kubectl_tas.check.parts import Part
from kubectl_tas.diagnostics import Diagnostic, Rule, Severity, Waiving
from kubectl_tas.model.base import KeyPath
from kubectl_tas.model.repository import Origin
from kubectl_tas.words import closest, did_you_mean, shortened

RESOURCE_NAME = Rule(
    "resource-name",
    Severity.ERROR,
    "A resource has a name that no API server takes.",
    "A name without a domain must be one of Kubernetes' own, such as cpu, memory or ephemeral-storage; all others are "
    "DOMAIN/NAME, such as nvidia.com/gpu. Correct the name.",
)
GPU_NAME = Rule(
    "gpu-name",
    Severity.ERROR,
    "A resource is nearly called like GPUs.",
    "An API server takes any name with a domain, such as nvidia.com/gpus. KAI counts no GPU for it, so no quota holds, "
    "and where no device plugin serves it the pod stays Pending for ever. Of nvidia.com/mig-1g.10g KAI counts one GPU, "
    "but no GPU has such a MIG profile: 1g.10gb is one. Correct the name; where a plugin serves a resource of that "
    "name, spec.rules of the Config allows it: gpu-name: off.",
    protects=Waiving.CONFIG,
)
NATIVE = ("cpu", "ephemeral-storage", "memory")
"""Resources of Kubernetes' own that a container may ask for; huge pages have a size behind their name."""
_HUGE_PAGES = "hugepages-"
_CLAIMED = "deviceclass.resource.kubernetes.io/"
"""Before the name of a device class, of which one is asked for (Kubernetes 1.34)."""
_DOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_QUALIFIED = re.compile(rf"{_DOMAIN}/[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_SLIPS = 2
"""Slips that a name may have to be taken for one of GPUs."""


def resources_of(origin: Origin, part: Part) -> Iterator[Diagnostic]:
    """Names in limits and requests."""
    what, path, amounts = part
    if what == "annotations":
        for name in amounts:
            if gpus.is_unknown_mig(name):
                yield _profile(origin, (*path, name))
    if what != "amounts":
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
    """Whether a resource is called wrongly, so that nothing else needs to be said of it."""
    return bool(_refused(name) or _meant(name))


def _profile(origin: Origin, path: KeyPath) -> Diagnostic:
    name = str(path[-1])
    slices = name[: name.index("g.") + len("g.")]
    same = [known for known in gpus.MIG_PROFILES if known.startswith(slices)]
    hint = did_you_mean(name, same, f"Known are {shortened(same or gpus.MIG_PROFILES)}.", quote="")
    message = f'KAI counts GPUs for "{name}", but no GPU has that MIG profile: the pod stays Pending'
    return Diagnostic(GPU_NAME, message, origin.locate(path, key=True), hint=hint)


def _name(origin: Origin, path: KeyPath) -> Iterator[Diagnostic]:
    name = str(path[-1])
    meant, refused = _meant(name), _refused(name)
    hint = f"Did you mean {meant}?" if meant else f"Known are {', '.join(NATIVE)} and {gpus.GPU}."
    if refused:
        message = f'"{name}" is no resource: {refused}'
        yield Diagnostic(RESOURCE_NAME, message, origin.locate(path, key=True), hint=hint)
    elif meant:
        yield Diagnostic(GPU_NAME, f'KAI counts no GPU for "{name}"', origin.locate(path, key=True), hint=hint)


def _refused(name: str) -> str:
    """Why an API server refuses it; empty where it does not. Follows ``ValidateContainerResourceName`` of Kubernetes
    1.35 (pkg/apis/core/validation).
    """
    if name.startswith((_HUGE_PAGES, _CLAIMED)):
        return ""
    domain, slash, _ = name.rpartition("/")
    if not slash:
        return "a name without a domain must be one of Kubernetes' own"
    if not _QUALIFIED.fullmatch(name):
        return "it must be DOMAIN/NAME"
    if domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
        return "Kubernetes has none of that name"
    if domain.startswith("requests."):
        return 'its domain must not begin with "requests."'
    return ""


def _meant(name: str) -> str:
    """The resource that a name is a slip of; empty where there is none."""
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
    if not slash and closest(last, ("gpu", "gpus", "nvidia-gpu"), most=1, folds=True) and bare != "cpu":
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
