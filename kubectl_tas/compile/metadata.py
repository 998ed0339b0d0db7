"""Makes the metadata of all emitted objects."""

from __future__ import annotations

from kubectl_tas.model.kindlists import sync_wave
from kubectl_tas.model.labels import COMPARE_OPTIONS, FLUX_SUBSTITUTE, MANAGED_BY, RECREATE, SYNC_OPTIONS, SYNC_WAVE
from kubectl_tas.model.manifest import Metadata
from kubectl_tas.resolve.clusters import FleetBackend
from kubectl_tas.resolve.fleet import Fleet

_KEEP = {
    "argocd": {SYNC_OPTIONS: "Delete=false,Prune=false", COMPARE_OPTIONS: "IgnoreExtraneous"},
    "flux": {"kustomize.toolkit.fluxcd.io/prune": "disabled"},
    "none": {},
}
"""Annotations that make each GitOps tool keep an object in the cluster after its removal from the repository. Argo CD
otherwise counts an object that it may not prune as OutOfSync, for ever.
"""


def metadata(
    fleet: Fleet,
    name: str,
    phase: int,
    *,
    namespace: str | None = None,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    recreate: bool = False,
    keep: bool = False,
) -> Metadata:
    """Returns metadata with the label of kubectl-tas and the annotations of the GitOps tool, with sorted keys."""
    gitops = fleet.config.gitops
    notes = dict(annotations or {})
    if gitops == "argocd":
        notes[SYNC_WAVE] = str(sync_wave(phase))
    if gitops == "flux":
        notes[FLUX_SUBSTITUTE] = "disabled"
    if recreate:
        notes |= RECREATE[gitops]
    if keep:
        notes |= _KEEP[gitops]
    marks = {**(labels or {}), MANAGED_BY: "kubectl-tas"}
    return Metadata(
        name=name,
        namespace=namespace,
        labels=dict(sorted(marks.items())),
        annotations=dict(sorted(notes.items())),
    )


def folder(base: str, backend: FleetBackend, namespace: str) -> str:
    """Returns the folder of a namespace: ``base`` itself for the backend's own, else a folder below ``base``."""
    return base if namespace == backend.namespace else f"{base}/{namespace}"
