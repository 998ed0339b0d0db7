"""Companions in; the same text with their namespace and the tool's label added out."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_tas.compile.metadata import folder
from kubectl_tas.compile.workloads import with_demands
from kubectl_tas.gangs.demands import companion_demands
from kubectl_tas.model.artifact import Artifact, PassThrough, Phase
from kubectl_tas.model.manifest import Metadata
from kubectl_tas.resolve import names
from kubectl_tas.resolve.fleet import Fleet

FOLDER = "companions"


def compile_companions(fleet: Fleet) -> Iterator[Artifact]:
    """Every companion of the fleet; those in another namespace than the backend's have a folder of their own."""
    for item in fleet.companions:
        spec, backend = item.declared.spec, item.backend
        manifest = PassThrough(
            apiVersion=spec.apiVersion,
            kind=spec.kind,
            metadata=Metadata(name=item.name, namespace=item.namespace),
            text=with_demands(item.declared.origin, companion_demands(fleet, item)),
        )
        where = folder(FOLDER, backend, item.namespace)
        file = names.file(f"{item.kind.lower()}-{item.name}")
        yield Artifact(backend.name, Phase.COMPANION, where, file, manifest, item.declared.origin.path)
